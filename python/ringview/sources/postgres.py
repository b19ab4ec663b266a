"""Tables of PostgreSQL as a source: their rows first, then what happens to them.

Invariant: the rows are those of one snapshot, and of the transactions in the log of a replication
slot those are applied that the snapshot does not have, each once, wholly, in their order. The slot
keeps the log behind the last applied transaction: a reader that was killed resumes there. Cost: the
first load costs the rows; then a look costs what PostgreSQL decodes, and one batch of transactions
in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import InvalidValueError
from ..extras import load
from ..masking import masking
from ..text import quoted
from .batch import Batch, Casts, Change, Origin
from .debezium import OP
from .folder import shaped
from .pgoutput import transactions

_LOADING, _FOLLOWING = "loading", "following"


class Postgres:
    """Tables of PostgreSQL and those that they fill; made by `postgres`."""

    def __init__(
        self,
        connection: str,
        tables: Mapping[str, str],
        slot: str,
        name: str,
        shape: Mapping[str, object],
        watch: bool,
        rows: int,
    ) -> None:
        self.name = name
        self._connection = connection
        self._tables = {
            source if "." in source else f"public.{source}": table
            for source, table in tables.items()
        }
        self._slot = slot
        self._shape = shape
        self._watch = watch
        self._rows = rows

    def __repr__(self) -> str:
        return f"Postgres({self._tables}, slot={self._slot!r})"

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        """The rows or the transactions behind `positions`; see `Source`."""
        con = _connected(self._connection)
        try:
            place = json.loads(positions[""]) if "" in positions else None
            again = place is not None
            if place is None:
                if _has_slot(con, self._slot):
                    raise InvalidValueError(
                        f"source {quoted(self.name)}: PostgreSQL has a slot {quoted(self._slot)} "
                        "already, of "
                        "another reader maybe; give this one another slot=, or drop that one"
                    )
                # From here on a slot of this name is known to be this reader's.
                place = {"state": _LOADING, "rows": 0}
                yield Batch([], {"": json.dumps(place)})
            self._prepare(con, place["state"] == _FOLLOWING)
            if place["state"] == _LOADING:
                for batch, reached in self._load(con, again):
                    yield batch
                    place = reached
            yield from self._follow(con, place)
        finally:
            con.close()

    def drop(self) -> None:
        """Drop the slot and the publication, for which PostgreSQL keeps its log otherwise.

        Raises:
            psycopg.Error: What PostgreSQL raises.
        """
        con = _connected(self._connection)
        try:
            if _has_slot(con, self._slot):
                con.execute("SELECT pg_drop_replication_slot(%s)", [self._slot])
            con.execute(f"DROP PUBLICATION IF EXISTS {_quoted(self._slot)}")
        finally:
            con.close()

    def _prepare(self, con: Any, follows: bool) -> None:
        """Make the publication and the slot if they are not there; a slot that was is needed."""
        known = con.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", [self._slot])
        if known.fetchone() is None:
            listed = ", ".join(map(_qualified, self._tables))
            con.execute(f"CREATE PUBLICATION {_quoted(self._slot)} FOR TABLE {listed}")
        if _has_slot(con, self._slot):
            return
        if follows:
            raise InvalidValueError(
                f"source {quoted(self.name)}: PostgreSQL lost the slot {quoted(self._slot)}, so "
                "nobody knows what happened meanwhile; fill the tables anew under another name="
            )
        made = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"
        con.execute(made, [self._slot])

    def _load(self, con: Any, again: bool) -> Iterator[tuple[Batch, dict[str, Any]]]:
        """The rows of a snapshot, a chunk at a time; one that was not read to its end is left."""
        count, place = 0, {"state": _LOADING, "rows": -1}
        if again:
            empties = [self._change(source, [], 0, "truncate") for source in self._tables]
            yield Batch(empties, {"": json.dumps(place)}), place
        con.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        snapshot = con.execute("SELECT pg_current_snapshot()::text").fetchone()[0]
        for source in self._tables:
            sql, names = self._selected(con, source)
            with con.cursor(name="ringview") as cursor:
                cursor.execute(sql)
                while block := cursor.fetchmany(self._rows):
                    rows = [dict(zip(names, row, strict=True)) for row in block]
                    change = self._change(source, rows, count, "insert")
                    count += len(rows)
                    place = {"state": _LOADING, "rows": count}
                    yield Batch([change], {"": json.dumps(place)}), place
        con.execute("COMMIT")
        place = {"state": _FOLLOWING, "snapshot": snapshot, "lsn": 0}
        yield Batch([], {"": json.dumps(place)}), place

    def _selected(self, con: Any, source: str) -> tuple[str, list[str]]:
        """A query of all columns as texts, as the log has them."""
        found = con.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
            "AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
            [_qualified(source)],
        )
        names = [name for (name,) in found.fetchall()]
        columns = ", ".join(f"{_quoted(name)}::text" for name in names)
        return f"SELECT {columns} FROM ONLY {_qualified(source)}", names

    def _follow(self, con: Any, place: Mapping[str, Any]) -> Iterator[Batch | None]:
        lsn, snapshot = place["lsn"], _Snapshot(place["snapshot"])
        peek = (
            "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, NULL, %s, "
            "'proto_version', '1', 'publication_names', %s)"
        )
        while True:
            came = con.execute(peek, [self._slot, self._rows, _quoted(self._slot)]).fetchall()
            reached, changes = lsn, dict[str, list[dict[str, Any]]]()
            emptied: set[str] = set()
            for done in transactions(bytes(data) for (data,) in came):
                if done.end <= lsn:
                    continue
                reached = done.end
                if snapshot.has(done.xid):
                    continue
                for source in done.emptied & set(self._tables):
                    # A truncation supersedes all changes before it.
                    changes.pop(source, None)
                    emptied.add(source)
                for source, rows in done.rows.items():
                    if source in self._tables:
                        changes.setdefault(source, []).extend(rows)
            if reached > lsn:
                listed = [self._change(source, [], 0, "truncate") for source in sorted(emptied)]
                listed += [
                    self._change(source, rows, 0, "apply", f", log to {_lsn(reached)}")
                    for source, rows in changes.items()
                ]
                position = {**place, "lsn": reached}
                yield Batch(listed, {"": json.dumps(position)})
                lsn = reached
            if came:
                # It was committed here, so the slot may advance to it.
                con.execute("SELECT pg_replication_slot_advance(%s, %s)", [self._slot, _lsn(lsn)])
            elif self._watch:
                yield None
            else:
                return

    def _change(
        self, source: str, rows: Sequence[dict[str, Any]], first: int, how: str, where: str = ""
    ) -> Change:
        origin = Origin(f"{source}{where}", "change" if how == "apply" else "row", first)
        shape: dict[str, Any] = {**self._shape, "table": self._tables[source], "how": how}
        return Change(rows=rows, origin=origin, **shape, op=OP if how == "apply" else None)


def postgres(
    connection: str,
    tables: Mapping[str, str],
    *,
    slot: str = "ringview",
    watch: bool = True,
    ignore: Sequence[str] = (),
    rows: int = 10_000,
    name: str | None = None,
) -> Postgres:
    """Tables of PostgreSQL: their rows first, then each transaction. Needs psycopg.

    PostgreSQL runs with `wal_level = logical`, and the user may replicate and owns the tables. The
    slot and a publication of the same name are made at the first read, and keep PostgreSQL's log
    from growing only while they are read: `source.drop()` drops them. While rows are read first,
    statements that lock whole tables, such as TRUNCATE, wait there.

    Args:
        connection: How to connect, as psycopg takes it: `"host=.. dbname=.."` or a URL.
        tables: By table of PostgreSQL, with its schema unless that is `public`, the table that it
            fills, which is declared with `unique`, the key of the other.
        slot: The name of the slot and of the publication.
        watch: Whether to wait for new transactions for ever; else it ends when there are none.
        ignore: As for `folder`.
        rows: How many rows a chunk of the first load has; then about how many changes a batch has,
            beside the rest of its last transaction.
        name: What its position is kept under; by default the slot.

    Raises:
        InvalidValueError: `rows` below 1, or no table.

    Raises, when it is read:
        UnsupportedError: psycopg is not installed; an update left a long value out.
        InvalidValueError: The slot is of somebody else, or was lost; a row does not fit.
        UnknownColumnError: PostgreSQL's table has other columns.
        psycopg.Error: What PostgreSQL raises.

    Complexity: O(rows), then O(changes); one batch in memory.

    >>> from ringview import sources
    >>> sources.postgres("dbname=shop", {"orders": "orders"})
    Postgres({'public.orders': 'orders'}, slot='ringview')
    """
    if rows < 1:
        raise InvalidValueError(f"rows={rows!r}: a batch has at least 1 row")
    if not tables:
        raise InvalidValueError("tables={} names no table")
    shape = shaped("", "insert", None, None, ignore, Casts())
    shape = {part: shape[part] for part in ("ignore", "casts")}
    return Postgres(connection, tables, slot, name or f"postgres {slot}", shape, watch, rows)


class _Snapshot:
    """The transactions that a snapshot has, from its text `xmin:xmax:xip,xip`."""

    def __init__(self, text: str) -> None:
        low, high, running = text.split(":")
        self._low, self._high = int(low), int(high)
        self._running = {int(xid) for xid in running.split(",") if xid}

    def has(self, xid: int) -> bool:
        # The log has the lower half of a number; the other is that of the nearest one.
        whole = (self._high & ~0xFFFFFFFF) | xid
        if whole - self._high > 1 << 31:
            whole -= 1 << 32
        elif self._high - whole > 1 << 31:
            whole += 1 << 32
        return whole < self._low or (whole < self._high and whole not in self._running)


def _connected(connection: str) -> Any:
    psycopg = load("psycopg", "sources.postgres", "postgres")
    # As the casts of texts take values.
    options = "-c datestyle=ISO -c timezone=UTC -c extra_float_digits=1"
    with masking():
        return psycopg.connect(connection, autocommit=True, options=options)


def _has_slot(con: Any, slot: str) -> bool:
    found = con.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", [slot])
    return found.fetchone() is not None


def _lsn(number: int) -> str:
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


def _qualified(table: str) -> str:
    return ".".join(map(_quoted, table.split(".")))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
