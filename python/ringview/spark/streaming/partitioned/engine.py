"""The database of one partition, as the store keeps it.

Invariant: it has the plan's tables, with the rows of the partition, the clock of the stream, and
the plan's views over them; a micro-batch is one transaction. Rows are kept, so that a delete of an
absent row raises. Cost: the engine's; of slices, all rows are sorted, and packed but for those that
are skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from ringview import Database
from ringview.convert.ipc import read_stream
from ringview.errors import OutOfMemoryError
from ringview.follower import Follower
from ringview.spark.streaming.applying import Applied, Applier
from ringview.spark.streaming.clock import Clock
from ringview.spark.streaming.partitioned import memory, times
from ringview.spark.streaming.partitioned.routing import in_slots, message
from ringview.spark.streaming.partitioned.segments import Delta
from ringview.spark.streaming.plan import Plan, TablePlan


class PartitionEngine:
    """Tables and views of one partition."""

    def __init__(
        self, plan: Plan, database: Database, is_new: bool, memory_limit: int | None = None
    ) -> None:
        self.database = database
        self._memory_limit = memory_limit
        self._plan = plan
        self._applier = Applier(plan, database)
        self.is_new = is_new
        """Whether its content is still news to the sink."""
        self._rows: dict[str, Follower] = {}
        self._parts: dict[str, Follower] = {}
        self.leaves_out = False
        """Whether rows that break a contract are left out; the log has none of them."""
        self.applied: Applied | None = None
        """What came of the last micro-batch."""

    @staticmethod
    def start(
        plan: Plan,
        is_first: bool,
        slices: Sequence[bytes],
        begins: bool,
        *,
        memory_limit: int | None = None,
    ) -> PartitionEngine:
        """From slices. The views of a first engine are changes that no sink has received yet."""
        database = Database(memory_limit=memory_limit)
        with _room(memory_limit):
            # Static tables take rows only before there are views.
            plan.create_tables(database)
            plan.create_histories(database)
            if slices:
                PartitionEngine(rows_of(plan), database, True).apply(slices)
                Clock(plan, database).restore()
            plan.create_views(database)
        is_new = begins and (is_first or not slices)
        return PartitionEngine(plan, database, is_new, memory_limit)

    def apply(self, delta: Delta) -> Delta:
        """One micro-batch, as one transaction; what of it was applied."""
        messages, came = times.split(delta)
        batches = [batch for message in messages for batch in read_stream(message).to_batches()]
        arrived = self._plan.arrived(batches)
        with _room(self._memory_limit):
            applied = self._applier.apply(arrived, leaves_out=self.leaves_out, came=came)
        self.is_new = False
        self.applied = applied
        if not applied.refused:
            return delta
        layout, names = self._plan.layout, [table.name for table in self._plan.streams]
        kept = [
            message(batch, layout)
            for name, rows in applied.kept.items()
            for batch in in_slots(self._plan, names.index(name), rows)
        ]
        if came:
            kept.append(times.message(came))
        # A micro-batch of which nothing is left has a message all the same: the log counts it.
        nothing = [pa.array([], kind) for kind in layout.schema.types]
        return kept or [message(pa.record_batch(nothing, schema=layout.schema), layout)]

    def slices(self, size: int, skip: int = 0) -> list[bytes]:
        """The rows of all tables, without the first few slices; see `slices`."""
        rows = rows_of(self._plan)
        tables = {
            table.name: self.database.tables[table.name].to_arrow(multiplicity=table.multiplicity)
            for table in rows.streams
        }
        return list(slices(rows, tables, size, skip))

    def follow(self, rows: Collection[str], parts: Collection[str]) -> None:
        """Begin to remember what moves in views, as rows or as parts of groups.

        The first time, all that they hold.
        """
        for name in rows:
            if name not in self._rows:
                self._rows[name] = self.database[name].follow(initial=self.is_new)
        for name in parts:
            if name not in self._parts:
                follower = self.database[name].follow_partials(initial=self.is_new)
                self._parts[name] = follower

    def changes(self) -> dict[str, pa.Table]:
        """The rows that moved since the last look, by view."""
        return {name: each.changes() for name, each in self._rows.items()}

    def parts(self) -> dict[str, pa.Table]:
        """Changes of the partials of views since the last call, by view."""
        return {name: each.changes() for name, each in self._parts.items()}


@contextmanager
def _room(limit: int | None) -> Iterator[None]:
    """Says what to do where there is none."""
    try:
        yield
    except OutOfMemoryError as error:
        raise (error if limit is None else memory.advised(error, limit)) from None


def rows_of(plan: Plan) -> Plan:
    """All tables of the state, as if they were streams of rows."""
    return as_rows(plan.kept)


def as_rows(tables: Sequence[TablePlan]) -> Plan:
    """Tables as if they were streams of rows with multiplicities, which move no clock."""
    plain = [
        replace(table, static=False, changes="rows", order=None, keep_for=None, watermark=None)
        for table in tables
    ]
    return Plan(tuple(plain), {})


def slices(rows: Plan, tables: Mapping[str, pa.Table], size: int, skip: int = 0) -> Iterator[bytes]:
    """Rows of tables with multiplicities as messages, in an order that depends on the rows alone.

    Slices that were written for one engine are counted by another, so nothing but the rows and
    ``size``, the bytes of a slice, may decide where one ends.
    """
    number = 0
    for atom, table in enumerate(rows.streams):
        found = tables.get(table.name)
        if found is None or not found.num_rows:
            continue
        keys = [(name, "ascending") for name in table.columns.names]
        found = found.take(pc.sort_indices(found, sort_keys=keys)).combine_chunks()
        count = max(1, size * found.num_rows // _bytes(found))
        for start in range(0, found.num_rows, count):
            number += 1
            if number > skip:
                for batch in in_slots(rows, atom, found.slice(start, count)):
                    yield message(batch, rows.layout, "zstd")


def _bytes(rows: pa.Table) -> int:
    """Number of bytes of rows, however their arrays were made."""
    found = 0
    for column in rows.columns:
        if pa.types.is_string(column.type):
            found += (pc.sum(pc.binary_length(column)).as_py() or 0) + 4 * len(column)
        else:
            found += len(column) * max(8, column.type.bit_width) // 8
    return found
