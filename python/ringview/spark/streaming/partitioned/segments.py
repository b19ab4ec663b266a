"""The state of one partition as segments in Spark's state store. Plain Python without Spark.

           kept ..    first ..               next .. end
    rows   outdated   the snapshot           the next one, as far as it is
    log    outdated   behind the snapshot    behind the next one, too

A snapshot is the rows of all tables after some micro-batch, in slices; views are filled from them.
The log is the micro-batches since. When the log is half as large as the snapshot, the next one is
taken, and written over as many micro-batches as it needs: each writes its own rows, and twice as
many bytes of slices. Once all slices are written, the log before them and the old slices are
outdated, and are removed a few at a time.

Invariant: snapshot and log are all of the state at any time. The order of a snapshot's rows depends
on the rows alone: an engine that takes over draws the same slices, and writes those that are left.
Cost: of a micro-batch of d bytes, with the names of `Sizes`, at most d + max(2 (d + entry), least)
+ slice bytes, whatever is kept; of a restart one snapshot, and a log that costs half of it and half
of the next one. An LSM tree would write each row once for each of its levels, and need the net rows
of changes by key.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from ringview.errors import SnapshotError

ROWS, LOG = "rows", "log"
"""The two kinds of segments."""

Delta = Sequence[bytes]
"""The rows of one micro-batch for one partition, in messages."""

R = TypeVar("R")


@dataclass(frozen=True)
class Sizes:
    """In bytes, how much is written at once, and when."""

    slice: int = 3 << 14
    """What a slice has before it is compressed; a version names those of its own snapshot."""
    entry: int = 1 << 12
    """What applying a micro-batch costs beside its bytes; so a log of small ones ends, too."""
    few: int = 1 << 16
    """A log that costs less is left as it is."""
    least: int = 1 << 13
    """What is written of a snapshot with a micro-batch that has fewer."""


SIZES = Sizes()


@dataclass(frozen=True)
class Span:
    """The segments of one kind, which have consecutive numbers."""

    kept: int = 0
    """The first that the store holds."""
    first: int = 0
    """The first that is read."""
    next: int = 0
    """The first that is read once the next snapshot is written."""
    end: int = 0
    size: int = 0
    """Of those from ``first`` to ``next``."""
    next_size: int = 0
    """Of those behind them."""

    def grown(self, count: int, size: int) -> Span:
        """With more of them at the end."""
        return replace(self, end=self.end + count, next_size=self.next_size + size)

    def marked(self) -> Span:
        """With the end as ``next``."""
        return replace(self, next=self.end, size=self.size + self.next_size, next_size=0)

    def turned(self) -> Span:
        """With ``next`` as the first."""
        return replace(self, first=self.next, size=0)

    def swept(self, count: int) -> Span:
        """Without so many of those that are outdated."""
        return replace(self, kept=min(self.first, self.kept + count))


@dataclass(frozen=True)
class Meta:
    """Description of an engine in a version."""

    token: str
    has_base: bool = False
    """Whether the rows that the partition began with are the first snapshot."""
    slice: int = 0
    """The size of slices of the snapshot that is being written; 0 if none is."""
    rows: Span = Span()
    log: Span = Span()

    @property
    def written(self) -> int:
        """Number of slices of the next snapshot that are written."""
        return self.rows.end - self.rows.next


@dataclass(frozen=True)
class Segments:
    """Content of a version."""

    rows: Sequence[bytes] = ()
    log: Sequence[tuple[int, int, bytes]] = ()
    """Messages, each with its own number and that of its micro-batch, in order."""
    has_base: bool = False
    """Whether ``rows`` are what the partition began with."""


Read = Callable[[], Segments]
"""Reads the segments of a version, where they are needed."""


class PartitionState(Protocol):
    """One partition's share of a version of the state store; what is written is the next one."""

    def meta(self) -> Meta | None:
        """Description of the engine in the version; None before the partition had a row."""

    def base(self, is_needed: bool) -> Sequence[bytes] | None:
        """First rows of the partition; None if there are none, which raises if they are needed."""

    def forget_base(self) -> None:
        """Remove it, if it is there."""

    def get(self, kind: str, number: int) -> tuple[int, bytes] | None:
        """A segment, with the number of the micro-batch that wrote it; None if it is not there."""

    def put(self, kind: str, number: int, batch: int, message: bytes) -> None:
        """Add a segment."""

    def remove(self, kind: str, number: int) -> None:
        """Remove one."""

    def update(self, meta: Meta) -> None:
        """Replace what the version says."""


@dataclass(frozen=True)
class Taken(Generic[R]):
    """Result of a micro-batch in an engine, and its share of the next version."""

    meta: Meta
    logged: Delta
    slices: Sequence[bytes]
    was_live: bool
    report: R

    def with_logged(self, logged: Delta) -> Taken[R]:
        """The same with other messages for the log."""
        return replace(self, logged=logged)


def step(
    state: PartitionState, batch: int, take: Callable[[Meta | None, Read], Taken[R]]
) -> Taken[R]:
    """Let an engine take a micro-batch, wherever it is, and write the version behind it."""
    before = state.meta()
    taken = take(before, lambda: _read(state, before))
    if before is not None and before.rows.first == 0 < before.rows.next:
        # The first snapshot is whole, and Spark has committed the version that says so.
        state.forget_base()
    before, after = before or Meta(""), taken.meta
    for kind, messages in ((LOG, taken.logged), (ROWS, taken.slices)):
        old, new = _span(before, kind), _span(after, kind)
        assert new.end - old.end == len(messages)
        for number, message in enumerate(messages, old.end):
            state.put(kind, number, batch, message)
        for number in range(old.kept, new.kept):
            state.remove(kind, number)
    state.update(after)
    return taken


def select_segments(
    meta: Meta | None,
    found: Iterable[tuple[str, int, int, bytes]],
    base: Callable[[bool], Sequence[bytes] | None],
) -> Segments:
    """Those of a version, out of all that a store holds: kind, number, micro-batch and message.

    Raises:
        SnapshotError: One is not there.
    """
    there = {(kind, number): (batch, message) for kind, number, batch, message in found}
    return _segments(meta, lambda kind, number: there.get((kind, number)), base)


def advanced(
    meta: Meta,
    token: str,
    logged: Delta,
    unwritten: deque[bytes],
    draw: Callable[[int], None],
    sizes: Sizes,
) -> tuple[Meta, list[bytes]]:
    """The version behind a micro-batch, and the slices that are written with it.

    Args:
        meta: The version before.
        token: That of the new one.
        logged: What the log gets.
        unwritten: The slices that are left; those that are written are taken from it.
        draw: Called to fill it, where a snapshot is taken, with slices of so many bytes.
        sizes: How much is written.
    """
    cost = sum(map(len, logged)) + sizes.entry
    rows, log, size = meta.rows, meta.log.grown(len(logged), cost), meta.slice
    if not size and log.size + log.next_size > max(sizes.few, rows.size // 2):
        size, log = sizes.slice, log.marked()
        draw(size)
    slices: list[bytes] = []
    has_base = meta.has_base
    if size:
        wanted = max(sizes.least, 2 * cost)
        while unwritten and sum(map(len, slices)) < wanted:
            slices.append(unwritten.popleft())
        rows = rows.grown(len(slices), sum(map(len, slices)))
        if not unwritten:
            rows, log, size, has_base = rows.turned().marked(), log.turned(), 0, False
    # More are removed than added, so that outdated segments do not pile up.
    swept = 2 * (len(slices) + len(logged)) + 2
    return Meta(token, has_base, size, rows.swept(swept), log.swept(swept)), slices


def _read(state: PartitionState, meta: Meta | None) -> Segments:
    return _segments(meta, state.get, state.base)


def _segments(
    meta: Meta | None,
    get: Callable[[str, int], tuple[int, bytes] | None],
    base: Callable[[bool], Sequence[bytes] | None],
) -> Segments:
    def found(kind: str, number: int) -> tuple[int, bytes]:
        segment = get(kind, number)
        if segment is None:
            raise SnapshotError(
                f"segment {number} of the {kind} of a partition is not in the state store: it is "
                "damaged; start with an empty folder"
            )
        return segment

    if meta is None:
        began = base(False)
        return Segments(began or (), has_base=began is not None)
    numbers = range(meta.log.first, meta.log.end)
    log = [(number, *found(LOG, number)) for number in numbers]
    if meta.has_base:
        return Segments(base(True) or (), log, has_base=True)
    return Segments([found(ROWS, n)[1] for n in range(meta.rows.first, meta.rows.next)], log)


def _span(meta: Meta, kind: str) -> Span:
    return meta.rows if kind == ROWS else meta.log
