"""Position of a source of PostgreSQL, as it is kept with the rows.

Invariant: it has all that is compared at the next start: the server, and each table as it was when
it was loaded. Cost: O(tables) a batch.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

State = Literal["loading", "following", "ended"]


@dataclass
class TablePlace:
    """A table: whether it is loaded, since which snapshot it is followed, or why it ended."""

    state: State = "loading"
    snapshot: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    why: str = ""


@dataclass
class Place:
    """The end of the last applied transaction and its number, the server, the tables."""

    lsn: int = 0
    xid: int = 0
    rows: int = 0
    server: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, TablePlace] = field(default_factory=dict)

    def text(self) -> str:
        """The text that `parsed` reads."""
        return json.dumps(asdict(self))

    def of(self, *states: State) -> list[str]:
        """The tables in these states."""
        return [source for source, table in self.tables.items() if table.state in states]

    @staticmethod
    def parsed(text: str, sources: list[str]) -> Place:
        """The place that a text says; that of an earlier version has the state of all tables.

        >>> Place.parsed('{"state": "loading", "rows": 3}', ["public.r"]).of("loading")
        ['public.r']
        """
        kept = json.loads(text)
        if "tables" not in kept:
            whole = TablePlace(kept["state"], kept.get("snapshot", ""))
            tables = {source: TablePlace(whole.state, whole.snapshot) for source in sources}
            return Place(kept.get("lsn", 0), 0, kept.get("rows", 0), {}, tables)
        tables = {source: TablePlace(**table) for source, table in kept["tables"].items()}
        return Place(kept["lsn"], kept["xid"], kept["rows"], kept["server"], tables)


class Snapshot:
    """The transactions that a snapshot has, from its text `xmin:xmax:xip,xip`.

    >>> snapshot = Snapshot("10:13:11")
    >>> [snapshot.has(xid) for xid in (9, 11, 12, 13)]
    [True, False, True, False]
    """

    def __init__(self, text: str) -> None:
        low, high, running = text.split(":")
        self._low, self._high = int(low), int(high)
        self._running = {int(xid) for xid in running.split(",") if xid}

    def has(self, xid: int) -> bool:
        """Whether it has the transaction with a number, of which the log has the lower half."""
        # The other half is that of the nearest one.
        whole = (self._high & ~0xFFFFFFFF) | xid
        if whole - self._high > 1 << 31:
            whole -= 1 << 32
        elif self._high - whole > 1 << 31:
            whole += 1 << 32
        return whole < self._low or (whole < self._high and whole not in self._running)
