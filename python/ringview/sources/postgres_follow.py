"""Loading tables of PostgreSQL, and applying the log of a slot to those that are loaded.

Invariant: the catalogue is compared behind each look at the log, so what it says is at least as new
as the log; a message of the log is compared, too, before the first change under it is applied. A
table that ends keeps what it had; one that is loaded anew has the rows of one snapshot. Cost: a
look at the log and a query of the catalogue; a table that is loaded costs its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValueError, UnsupportedError
from ..log import log
from .batch import Batch, Change, Origin
from .debezium import OP
from .pgoutput import Transaction, Truncation, transactions
from .postgres_place import Place, Snapshot
from .postgres_rows import TIMES, TableChanges
from .postgres_state import (
    Difference,
    Facts,
    differences,
    facts_of_relation,
    facts_of_tables,
    misfits,
    refusal,
)
from .postgres_tables import add_columns, qualified, quoted_name

if TYPE_CHECKING:
    from ..database import Database


class Follower:
    """One reading of a source, from a place on."""

    def __init__(
        self,
        con: Any,
        db: Database,
        name: str,
        slot: str,
        tables: Mapping[str, str],
        shape: Mapping[str, Any],
        rows: int,
        evolve: str | None,
    ) -> None:
        self._con = con
        self._db = db
        self._name = name
        self._slot = slot
        self._tables = tables
        self._shape = shape
        self._rows = rows
        self._evolve = evolve

    def run(self, place: Place, again: bool, watch: bool) -> Iterator[Batch | None]:
        """Load what is not loaded, then follow the log, changing `place` with it."""
        for source in place.of("ended"):
            log("error", "source %s: %s ended: %s", self._name, source, place.tables[source].why)
        yield from self._load(place, again)
        resumed = self._confirmed() < place.lsn
        while True:
            came = self._peeked()
            found = list(transactions(came))
            if resumed:
                resumed = self._resumes(place, found)
            yield from self._compare(place)
            batch = self._applied(place, found)
            if batch is not None:
                yield batch
            yield from self._load(place, True)
            if came:
                # It was committed here, so the slot may advance to it.
                self._advance(min(place.lsn, max((each.end for each in found), default=place.lsn)))
            elif watch:
                yield None
            else:
                return

    def _peeked(self) -> list[bytes]:
        sql = (
            "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, NULL, %s, "
            "'proto_version', '1', 'publication_names', %s)"
        )
        rows = self._con.execute(sql, [self._slot, self._rows, quoted_name(self._slot)])
        return [bytes(data) for (data,) in rows.fetchall()]

    def _confirmed(self) -> int:
        sql = (
            "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots "
            "WHERE slot_name = %s"
        )
        confirmed: int = self._con.execute(sql, [self._slot]).fetchone()[0]
        return confirmed

    def _advance(self, lsn: int) -> None:
        self._con.execute("SELECT pg_replication_slot_advance(%s, %s)", [self._slot, _lsn(lsn)])

    def put_back(self, place: Place) -> bool:
        """Whether the log of the slot is that of a cluster that was put back, as far as is known.

        The slot may be behind the place that was read, if a reader was killed; then the log has the
        last transaction that was applied.
        """
        if self._confirmed() >= place.lsn:
            return False
        found = list(transactions(self._peeked()))
        return _is_past(place, found) and not _has(place, found)

    def _resumes(self, place: Place, found: Sequence[Transaction]) -> bool:
        """Whether the place that was read is still ahead in the log."""
        if _has(place, found):
            return False
        if _is_past(place, found):
            why = "its log lacks the last transaction that was read: the cluster was put back"
            raise InvalidValueError(refusal(self._name, self._slot, [why]))
        return True

    def _compare(self, place: Place) -> Iterator[Batch]:
        """Compare the tables that are followed with the catalogue."""
        followed = place.of("following")
        numbers = {source: place.tables[source].facts.get("oid") for source in followed}
        changed = False
        for source, facts in self._facts(numbers).items():
            table = place.tables[source]
            if not table.facts:
                # The position of an earlier version says nothing of its tables.
                listed, table.facts = self._misfits(source, facts), facts
            else:
                listed = self._differs(source, table.facts, facts)
            changed |= self._take(place, source, listed, facts)
        if changed:
            yield self._placed([], place)

    def _facts(self, numbers: Mapping[str, int | None]) -> dict[str, dict[str, Any]]:
        return facts_of_tables(self._con, numbers, self._slot) if numbers else {}

    def _differs(self, source: str, kept: Facts, found: Facts) -> list[Difference]:
        used = self._db.tables[self._tables[source]].schema.names
        return list(differences(kept, found, used, self._evolve))

    def _misfits(self, source: str, facts: Facts) -> list[Difference]:
        table, ignore = self._db.tables[self._tables[source]], self._shape["ignore"]
        loose = ["*"] if self._evolve in ("ignore", "add") else ignore
        return list(misfits(facts, table.schema.names, table.unique, loose))

    def _take(
        self, place: Place, source: str, listed: Sequence[Difference], facts: Facts | None
    ) -> bool:
        """Draw the conclusion of differences of a table; whether its place is another one."""
        table = place.tables[source]
        ends = [each.text for each in listed if each.effect == "end"]
        loads = [each.text for each in listed if each.effect == "load"]
        for each in listed:
            if each.effect == "note":
                log("info", "source %s: %s: %s", self._name, source, each.text)
        if ends:
            table.state, table.why = "ended", "; ".join(ends)
            log("error", "source %s: %s ended: %s", self._name, source, table.why)
        elif loads:
            table.state = "loading"
            said = "; ".join(loads)
            log("warning", "source %s: %s is loaded anew: %s", self._name, source, said)
        elif listed and facts is not None:
            table.facts = dict(facts)
        return bool(listed)

    def _load(self, place: Place, again: bool) -> Iterator[Batch]:
        """The rows of tables that are not loaded, of one snapshot, a chunk at a time."""
        waiting = place.of("loading")
        if not waiting:
            return
        place.rows += 1
        if again:
            yield self._placed(
                [self._change(source, [], 0, "truncate") for source in waiting], place
            )
        there = self._facts(dict.fromkeys(waiting))
        self._con.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for source, facts in there.items():
            if facts["kind"] in ("r", "p"):
                # A truncation behind the snapshot would be seen by it; so it waits.
                self._con.execute(f"LOCK TABLE {qualified(source)} IN ACCESS SHARE MODE")
        snapshot = self._con.execute("SELECT pg_current_snapshot()::text").fetchone()[0]
        count = 0
        for source, facts in self._facts(dict.fromkeys(waiting)).items():
            table = place.tables[source]
            if self._evolve == "add" and facts["oid"] is not None:
                add_columns(self._db, self._tables[source], facts, self._shape["ignore"])
            self._take(place, source, self._misfits(source, facts), None)
            if table.state == "ended":
                continue
            names = self._db.tables[self._tables[source]].schema.names
            with self._con.cursor(name="ringview") as cursor:
                cursor.execute(_selected(source, facts, names))
                while block := cursor.fetchmany(self._rows):
                    rows = [dict(zip(names, row, strict=True)) for row in block]
                    change = self._change(source, rows, count, "insert")
                    count += len(rows)
                    place.rows += len(rows)
                    yield self._placed([change], place)
            table.snapshot, table.facts = snapshot, facts
        self._con.execute("COMMIT")
        for source in waiting:
            if place.tables[source].state == "loading":
                place.tables[source].state = "following"
        yield self._placed([], place)

    def _applied(self, place: Place, found: Sequence[Transaction]) -> Batch | None:
        """One batch of transactions, without what the tables' snapshots have."""
        start = place.lsn
        followed = {source: self._tables[source] for source in place.of("following")}
        snapshots = {source: Snapshot(place.tables[source].snapshot) for source in followed}
        changes: dict[str, TableChanges] = {}
        seen: set[tuple[str, int]] = set()
        for done in found:
            if done.end <= place.lsn:
                continue
            place.lsn, place.xid = done.end, done.xid
            for each in done.changes:
                source = each.relation.name
                if source not in followed or snapshots[source].has(done.xid):
                    continue
                if (source, id(each.relation)) not in seen:
                    seen.add((source, id(each.relation)))
                    facts = facts_of_relation(each.relation)
                    listed = self._differs(source, place.tables[source].facts, facts)
                    self._take(place, source, [d for d in listed if d.effect != "note"], None)
                    if place.tables[source].state != "following":
                        del followed[source]
                        continue
                rows = changes.get(source)
                if rows is None:
                    rows = changes[source] = TableChanges(self._db.tables[followed[source]])
                if isinstance(each, Truncation):
                    rows.truncate()
                    continue
                try:
                    rows.add(each)
                except UnsupportedError as problem:
                    self._take(place, source, [Difference("end", str(problem))], None)
                    # Of a transaction that cannot be read nothing is applied, nor of those behind.
                    del followed[source]
                    changes.pop(source)
        if place.lsn == start:
            return None
        emptied = sorted(source for source, rows in changes.items() if rows.emptied)
        listed_ = [self._change(source, [], 0, "truncate") for source in emptied]
        for source, rows in changes.items():
            found_rows = rows.rows()
            if found_rows:
                where = f", log to {_lsn(place.lsn)}"
                listed_.append(self._change(source, found_rows, 0, "apply", where))
        return self._placed(listed_, place)

    def _placed(self, changes: Sequence[Change], place: Place) -> Batch:
        return Batch(changes, {"": place.text()})

    def _change(
        self, source: str, rows: Sequence[dict[str, Any]], first: int, how: str, where: str = ""
    ) -> Change:
        origin = Origin(f"{source}{where}", "change" if how == "apply" else "row", first)
        target = self._tables[source]
        shape: dict[str, Any] = {**self._shape, "table": target, "how": how}
        if how == "apply" and self._db.tables[target].unique is None:
            return Change(
                rows=rows, origin=origin, **{**shape, "how": "insert"}, multiplicity=TIMES
            )
        return Change(rows=rows, origin=origin, **shape, op=OP if how == "apply" else None)


def _has(place: Place, found: Sequence[Transaction]) -> bool:
    """Whether the last transaction that was applied is among these."""
    return any(each.end == place.lsn and place.xid in (0, each.xid) for each in found)


def _is_past(place: Place, found: Sequence[Transaction]) -> bool:
    return not found or found[-1].end >= place.lsn


def _selected(source: str, facts: Facts, names: Sequence[str]) -> str:
    """A query of columns as texts, as the log has them."""
    columns = ", ".join(f"{quoted_name(name)}::text" for name in names)
    # Rows of a table with partitions are in those; other tables below it are tables of their own.
    only = "" if facts["kind"] == "p" else "ONLY "
    return f"SELECT {columns} FROM {only}{qualified(source)}"


def _lsn(number: int) -> str:
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"
