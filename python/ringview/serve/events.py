"""Events of one stream of changes: numbered, kept a while, found again by their numbers.

Invariant: events that were not yet sent to the reader are kept; of those sent, the last `kept`
bytes. So a reader that names the last event it had gets each one behind it once, or learns that
some were dropped. Cost: O(events found); the bytes that are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ..convert import json_rows

_LONGEST = 100
ROWS = 2_000
"""Rows of one event at the most."""


@dataclass(frozen=True, order=True)
class EventPosition:
    """A batch of changes, and a part of it: `-left`, so that later parts are greater."""

    batch: int
    part: int

    @property
    def is_whole(self) -> bool:
        """Whether the batch ends with it."""
        return self.part == 0


NOTHING = EventPosition(0, -1)
"""The place of who had nothing yet."""


@dataclass(frozen=True)
class Token:
    """The last event that a returning reader had: the owner of its numbers, and its place."""

    owner: str
    place: EventPosition

    def __str__(self) -> str:
        return f"{self.owner}.{self.place.batch}.{-self.place.part}"

    @classmethod
    def read(cls, text: str) -> Token | None:
        """A token from its text; None if it is none.

        >>> str(Token.read("ab.3.0")), Token.read("ab"), Token.read("ab.3.x")
        ('ab.3.0', None, None)
        """
        parts = text.split(".")
        if (
            len(parts) != 3
            or len(text) > _LONGEST
            or not (parts[1].isdecimal() and parts[2].isdecimal())
        ):
            return None
        return cls(parts[0], EventPosition(int(parts[1]), -int(parts[2])))


@dataclass(frozen=True)
class Event:
    """A part of a batch as it is sent."""

    place: EventPosition
    data: bytes


def events(owner: str, view: str, batch: int, changes: pa.Table) -> Iterator[Event]:
    """The events of a batch: the first one is a snapshot, which takes the place of all before.

    Batch 0 is the snapshot of a view that has no rows to begin with.

    >>> found = events("ab", "v", 1, pa.table({"a": [5], "multiplicity": [1]}))
    >>> print(next(found).data.decode().splitlines()[1])
    event: snapshot
    """
    parts = list(json_rows.chunks(changes, ROWS))
    for at, part in enumerate(parts):
        place = EventPosition(batch, at + 1 - len(parts))
        body: dict[str, Any] = {"view": view, "batch": batch, "more": not place.is_whole}
        is_snapshot = batch < 2 and at == 0
        if is_snapshot:
            body["columns"] = json_rows.columns(changes.schema)
        # The rows are last, so that the text before them is written separately.
        head, listed = json_rows.text(body)[:-1], json_rows.dumped(json_rows.rows(part))
        kind = "snapshot" if is_snapshot else "changes"
        text = f'id: {Token(owner, place)}\nevent: {kind}\ndata: {head},"rows":{listed}}}\n\n'
        yield Event(place, text.encode())


class Log:
    """The last events of a stream.

    >>> log = Log(kept=1)
    >>> log.add([Event(EventPosition(1, 0), b"one")]); log.add([Event(EventPosition(2, 0), b"two")])
    >>> [event.data for event in log.after(EventPosition(1, 0))], log.after(NOTHING)
    ([b'two'], None)
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._events: deque[Event] = deque()
        self._bytes = 0
        self._before = NOTHING

    def __repr__(self) -> str:
        return f"Log(events={len(self._events)}, bytes={self._bytes})"

    def add(self, found: list[Event]) -> None:
        """Add events; old ones are dropped, the first one first, while they take too much."""
        fresh = sum(len(event.data) for event in found)
        while self._events and self._bytes + fresh > self._kept:
            event = self._events.popleft()
            self._before = event.place
            self._bytes -= len(event.data)
        self._events.extend(found)
        self._bytes += fresh

    def begin(self, before: EventPosition) -> None:
        """Begin behind a place: the next event follows it."""
        self._events.clear()
        self._bytes = 0
        self._before = before

    def after(self, place: EventPosition) -> list[Event] | None:
        """The events behind a place; None if some of them were dropped, or it is of no event."""
        last = self._events[-1].place if self._events else self._before
        if place < self._before or place > last:
            return None
        return [event for event in self._events if event.place > place]
