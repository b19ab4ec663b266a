"""Tables of PostgreSQL as a source: their rows first, then what happens to them.

Invariant: the rows of a table are those of one snapshot, and of the transactions in the log of a
replication slot those are applied that the snapshot does not have, each once, wholly, in their
order. The slot keeps the log behind the last applied transaction: a reader that was killed resumes
there. A table of which changes could be missing is loaded anew or ends, and the others do not; its
end is an error that says what to do. Cost: the first load costs the rows; then a look costs what
PostgreSQL decodes and a query of its catalogue, and one batch of transactions in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValueError
from ..extras import load
from ..log import log
from ..masking import masking
from ..text import quoted
from .batch import Batch, Casts, Evolve
from .folder import shaped
from .postgres_follow import Follower
from .postgres_place import Place, TablePlace
from .postgres_state import (
    ANEW,
    differences,
    differences_of_server,
    facts_of_server,
    facts_of_tables,
    misfits,
    refusal,
)
from .postgres_tables import create_tables, matching, qualified, quoted_name

if TYPE_CHECKING:
    from ..database import Database


class Postgres:
    """Tables of PostgreSQL and those that they fill; made by `postgres`."""

    def __init__(
        self,
        connection: str,
        tables: Mapping[str, str] | Sequence[str],
        slot: str,
        name: str,
        shape: Mapping[str, Any],
        watch: bool,
        rows: int,
        evolve: Evolve | None,
        refill: bool,
    ) -> None:
        self.name = name
        self._connection = connection
        self._patterns = None if isinstance(tables, Mapping) else list(tables)
        self._tables: dict[str, str] = {}
        if isinstance(tables, Mapping):
            self._tables = {
                source if "." in source else f"public.{source}": table
                for source, table in tables.items()
            }
        self._slot = slot
        self._shape = shape
        self._watch = watch
        self._rows = rows
        self._evolve = evolve
        self._refill = refill
        self._db: Database | None = None

    def __repr__(self) -> str:
        return f"Postgres({self._patterns or self._tables}, slot={self._slot!r})"

    def prepare(self, db: Database) -> None:
        """Learn whose tables are filled; those of patterns are made if they are not there."""
        self._db = db
        if self._patterns is not None:
            self.create_tables(db)

    def create_tables(self, db: Database) -> None:
        """Make the tables that it fills and that are not there, with PostgreSQL's columns and key.

        Types without a counterpart here, such as `uuid`, `jsonb` and arrays, are texts; `numeric`
        without digits is `decimal128(38, 10)`.

        Raises:
            InvalidValueError: A pattern without a table, or two tables of one name.
            psycopg.Error: What PostgreSQL raises.
        """
        con = connected(self._connection)
        try:
            self._resolve(con)
            facts = facts_of_tables(con, dict.fromkeys(self._tables), self._slot)
            create_tables(db, self._tables, facts, self._shape["ignore"])
        finally:
            con.close()

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        """The rows or the transactions behind `positions`; see `Source`."""
        con = connected(self._connection)
        try:
            self._resolve(con)
            if "" in positions:
                place = Place.parsed(positions[""], list(self._tables))
            elif facts_of_server(con, self._slot, self._slot)["slot"] is not None:
                raise InvalidValueError(
                    f"source {quoted(self.name)}: PostgreSQL has a slot {quoted(self._slot)} "
                    "already, of another reader maybe; give this one another slot=, or drop that "
                    "one"
                )
            else:
                # From here on a slot of this name is known to be this reader's.
                place = Place(tables={source: TablePlace() for source in self._tables})
                yield Batch([], {"": place.text()})
            again = "" in positions
            db = self._db
            if db is None:
                raise InvalidValueError("a source of PostgreSQL is read by sources.Reader")
            follower = self._follower(con, db)
            self._prepare(con, place)
            yield from follower.run(place, again, self._watch)
            ended = [f"{source}: {place.tables[source].why}" for source in place.of("ended")]
            if ended:
                raise InvalidValueError(
                    f"source {quoted(self.name)}: {len(ended)} of {len(place.tables)} tables "
                    f"ended, the others were read: {'; '.join(ended)}; {ANEW}"
                )
        finally:
            con.close()

    def differences(self, db: Database) -> list[str]:
        """Differences between PostgreSQL and what was read of it, and advice.

        Nothing is changed. A table that ended is said with its reason, one that is not read yet
        with why it does not fit.

        Raises:
            psycopg.Error: What PostgreSQL raises.
        """
        from . import positions

        con = connected(self._connection)
        try:
            self._resolve(con)
            kept = {}
            if positions.TABLE in db.tables:
                kept = positions.read(db, self.name)
            place = Place.parsed(kept[""], list(self._tables)) if "" in kept else Place()
            server = facts_of_server(con, self._slot, self._slot)
            refused = self._refusals(place, server)
            if place.server and not refused and self._follower(con, db).put_back(place):
                refused = ["the cluster was put back"]
            said = [f"slot {quoted(self._slot)}: {each}" for each in refused]
            numbers = {
                source: place.tables[source].facts.get("oid") if source in place.tables else None
                for source in self._tables
            }
            for source, facts in facts_of_tables(con, numbers, self._slot).items():
                said += [f"{source}: {text}" for text in self._said(db, place, source, facts)]
            return said
        finally:
            con.close()

    def drop(self) -> None:
        """Drop the slot and the publication, for which PostgreSQL keeps its log otherwise.

        Raises:
            psycopg.Error: What PostgreSQL raises.
        """
        con = connected(self._connection)
        try:
            found = con.execute(
                "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", [self._slot]
            )
            if found.fetchone() is not None:
                con.execute("SELECT pg_drop_replication_slot(%s)", [self._slot])
            con.execute(f"DROP PUBLICATION IF EXISTS {quoted_name(self._slot)}")
        finally:
            con.close()

    def _follower(self, con: Any, db: Database) -> Follower:
        return Follower(
            con, db, self.name, self._slot, self._tables, self._shape, self._rows, self._evolve
        )

    def _said(
        self, db: Database, place: Place, source: str, facts: Mapping[str, Any]
    ) -> Iterator[str]:
        target, kept = self._tables[source], place.tables.get(source)
        if kept is not None and kept.state == "ended":
            yield f"it ended: {kept.why}; {ANEW}"
            return
        if target not in db.tables:
            yield f"there is no table {quoted(target)} here yet"
            return
        table, ignore = db.tables[target], self._shape["ignore"]
        if kept is None or not kept.facts:
            yield "it is not loaded yet"
            loose = [*ignore, "*"] if self._evolve in ("add", "ignore") else ignore
            yield from (e.text for e in misfits(facts, table.schema.names, table.unique, loose))
            return
        for each in differences(kept.facts, facts, table.schema.names, self._evolve):
            yield each.text + ("; it will be loaded anew" if each.effect == "load" else "")

    def _resolve(self, con: Any) -> None:
        if self._patterns is not None:
            self._tables = matching(con, self._patterns)

    def _refusals(self, place: Place, server: Mapping[str, Any]) -> list[str]:
        """Why the log cannot be read on; nothing before the slot is made."""
        if not place.server:
            return []
        found = [each.text for each in differences_of_server(place.server, server)]
        if not found and server["log"] < place.lsn:
            found.append("the log of the server ends before the place that was read")
        if not found and server["confirmed"] > place.lsn:
            found.append("the slot was made anew, or somebody else read it on")
        return found

    def _prepare(self, con: Any, place: Place) -> None:
        """Compare the server, and make the publication and the slot, or add and drop tables."""
        server = facts_of_server(con, self._slot, self._slot)
        publication = quoted_name(self._slot)
        refused = self._refusals(place, server)
        if not place.server and place.of("following") and server["slot"] is None:
            refused = ["PostgreSQL lost the slot"]
        if refused:
            raise InvalidValueError(refusal(self.name, self._slot, refused))
        if self._refill:
            for source in place.of("ended"):
                place.tables[source] = TablePlace()
        if server["publication"] is None:
            made = f"CREATE PUBLICATION {publication} WITH (publish_via_partition_root = true)"
            con.execute(made)
        facts = facts_of_tables(con, dict.fromkeys(self._tables), self._slot)
        for source in self._tables:
            new = source not in place.tables
            place.tables.setdefault(source, TablePlace())
            is_to_load = place.tables[source].state == "loading"
            if facts[source]["kind"] in ("r", "p") and is_to_load:
                if facts[source]["published"] is None:
                    self._publish(con, source, facts[source]["kind"])
                if new:
                    log("info", "source %s: %s is added", self.name, source)
        for source in [each for each in place.tables if each not in self._tables]:
            del place.tables[source]
            try:
                con.execute(f"ALTER PUBLICATION {publication} DROP TABLE {qualified(source)}")
            except load("psycopg", "sources.postgres", "postgres").Error as problem:
                log("info", "source %s: %s was not published: %s", self.name, source, problem)
        if server["slot"] is None:
            made = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"
            con.execute(made, [self._slot])
        now = facts_of_server(con, self._slot, self._slot)
        if not place.lsn:
            place.lsn = now["confirmed"]
        parts = ("system", "timeline", "database", "publication", "options", "slot")
        place.server = {part: now[part] for part in parts}

    def _publish(self, con: Any, source: str, kind: str) -> None:
        """Add a table to the publication, when no transaction that is open changed it."""
        only = "ONLY " if kind == "r" else ""
        with con.transaction():
            con.execute(f"LOCK TABLE {only}{qualified(source)} IN SHARE ROW EXCLUSIVE MODE")
            con.execute(
                f"ALTER PUBLICATION {quoted_name(self._slot)} ADD TABLE {only}{qualified(source)}"
            )


def postgres(
    connection: str,
    tables: Mapping[str, str] | Sequence[str],
    *,
    slot: str = "ringview",
    watch: bool = False,
    ignore: Sequence[str] = (),
    evolve: Evolve | None = None,
    refill: bool = False,
    rows: int = 10_000,
    name: str | None = None,
) -> Postgres:
    """Tables of PostgreSQL: their rows first, then each transaction. Needs psycopg.

    PostgreSQL runs with `wal_level = logical`, and the user may replicate and owns the tables. The
    slot and a publication of the same name are made at the first read, and keep PostgreSQL's log
    from growing only while they are read: `source.drop()` drops them. While rows are read first,
    statements that lock whole tables, such as TRUNCATE, wait there.

    A table of which changes could be missing ends, and the others do not; without `watch` that is
    an error at the end of each read, with it a line of the log at each start.

    Args:
        connection: How to connect, as psycopg takes it: `"host=.. dbname=.."` or a URL.
        tables: By table of PostgreSQL, with its schema unless that is `public`, the table that it
            fills, which is declared with `unique`, the key of the other, or without one. Or a list
            of names and patterns such as `"public.*"`: each fills the table of its name, which is
            made if it is not there. One that is added later is loaded at the next start.
        slot: The name of the slot and of the publication.
        watch: Whether to wait for new transactions for ever; else it ends when there are none.
        ignore: As for `folder`.
        evolve: Whether columns that the table here lacks are left out (`"ignore"`), are added to
            it and filled (`"add"`), or end the table (`"refuse"`). By default those at the first
            load end it, and those added later are left out.
        refill: Whether tables that ended are emptied and filled anew at the start.
        rows: How many rows a chunk of the first load has; then about how many changes a batch has,
            beside the rest of its last transaction.
        name: What its position is kept under; by default the slot.

    Raises:
        InvalidValueError: `rows` below 1, or no table.

    Raises, when it is read:
        UnsupportedError: psycopg is not installed.
        InvalidValueError: The slot is of somebody else, or was lost or made anew; the cluster is
            another one or was restored; a table ended; a row does not fit.
        psycopg.Error: What PostgreSQL raises.

    Complexity: O(rows), then O(changes); one batch in memory.

    >>> from ringview import sources
    >>> sources.postgres("dbname=shop", {"orders": "orders"})
    Postgres({'public.orders': 'orders'}, slot='ringview')
    >>> sources.postgres("dbname=shop", ["public.*"])
    Postgres(['public.*'], slot='ringview')
    """
    if rows < 1:
        raise InvalidValueError(f"rows={rows!r}: a batch has at least 1 row")
    if not tables:
        raise InvalidValueError(f"tables={tables!r} names no table")
    if isinstance(tables, str):
        raise InvalidValueError(f"tables={tables!r} is a text; give a list or a mapping")
    if evolve not in (None, "ignore", "add", "refuse"):
        raise InvalidValueError(f'evolve is "ignore", "add" or "refuse", not {evolve!r}')
    shape = shaped("", "insert", None, None, ignore, Casts())
    shape = {part: shape[part] for part in ("ignore", "casts")}
    called = name or f"postgres {slot}"
    return Postgres(connection, tables, slot, called, shape, watch, rows, evolve, refill)


def connected(connection: str) -> Any:
    """A connection whose texts are those that casts take."""
    psycopg = load("psycopg", "sources.postgres", "postgres")
    options = "-c datestyle=ISO -c timezone=UTC -c extra_float_digits=1"
    with masking():
        return psycopg.connect(connection, autocommit=True, options=options)
