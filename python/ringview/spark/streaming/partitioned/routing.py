"""Rows on their way to partitions: which they need, and how they are packed for the way.

A partition has a label, by which Spark groups; labels are chosen so that their hashes spread over
all of Spark's own partitions, as those of 0, 1, 2, .. do not.

Invariant: rows that a placement wants together, whatever the width of their integers and the sign
of their zeros, reach one partition; rows that lie everywhere reach all; a delete of a row of a
heavy value reaches the partition that the row was sent to. Cost: one pass over the rows; one
message for each partition that has rows of an Arrow batch, instead of a row of Spark for each of
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from ringview.convert.ipc import read_stream
from ringview.spark.slots import ATOM, MULTIPLICITY, PARTITION, Layout
from ringview.spark.streaming.clock import greatest_of, greatest_times
from ringview.spark.streaming.partitioned import times
from ringview.spark.streaming.partitioned.heavy import Heavy, Value, can_be_heavy
from ringview.spark.streaming.partitioned.placement import Placement
from ringview.spark.streaming.plan import Plan, TablePlan
from ringview.spark.types import INTEGERS

LABEL = "label"
PACKED = f"{LABEL} long, message binary"
"""What goes into the shuffle, for Spark."""

ROWS_A_MESSAGE = 1 << 18

_FLOATS = (pa.float32(), pa.float64())


def labels(spark: SparkSession, partitions: int, spread: int, generation: int) -> list[int]:
    """A label for each partition, in turn over ``spread`` partitions of Spark.

    Those of two generations are different. Cost: a job over a few numbers.
    """
    first, tried = generation << 32, 64 * max(partitions, spread)
    numbers = spark.range(first, first + tried).select("id", sf.pmod(sf.hash("id"), sf.lit(spread)))
    free: dict[int, list[int]] = {}
    for number, lies in sorted(tuple(row) for row in numbers.collect()):
        free.setdefault(lies, []).append(number)
    found = []
    for partition in range(partitions):
        # As good as never does none of 64 labels a partition lie in it.
        there = free.get(partition % spread) or next(iter(free.values()))
        found.append(there.pop(0))
    return found


def routed(
    slots: DataFrame,
    layout: Layout,
    tables: Sequence[TablePlan],
    lies: tuple[Placement, Heavy | None],
    labels: Sequence[int],
) -> DataFrame:
    """Rows in slots with the label of the partition that needs them, in the place of its number."""
    placement, heavy = lies
    ways = [
        _partitions(layout, atom, table, placement[table.name], heavy, len(labels))
        for atom, table in enumerate(tables)
    ]
    needed = reduce(
        lambda otherwise, way: sf.when(sf.col(ATOM) == way[0], way[1]).otherwise(otherwise),
        enumerate(ways),
        sf.array(sf.lit(0)),
    )
    names = sf.array(*map(sf.lit, labels)).cast("array<bigint>")
    columns = [sf.col(name) for name in slots.columns if name != PARTITION]
    copied = heavy is not None or any(placement[table.name] is None for table in tables)
    number = sf.explode(needed) if copied else sf.element_at(needed, 1)
    return slots.select(number.alias(PARTITION), *columns).select(
        sf.element_at(names, sf.col(PARTITION) + 1).alias(LABEL),
        *[sf.col(name) for name in slots.columns],
    )


def _partitions(
    layout: Layout,
    atom: int,
    table: TablePlan,
    column: str | None,
    heavy: Heavy | None,
    partitions: int,
) -> Column:
    everywhere = sf.sequence(sf.lit(0), sf.lit(partitions - 1))
    if column is None:
        return everywhere
    value = _hashed(layout, atom, table, column)
    there = _place([value], partitions)
    role = None if heavy is None else heavy.role(table.name)
    if heavy is None or role is None:
        return there
    # By its key, if it has one: a later change may hold no more of the row.
    own = [_hashed(layout, atom, table, name) for name in table.keys or table.columns.names]
    other = everywhere if role == "copied" else _place(own, partitions)
    return sf.when(value.isin(list(heavy.values)), other).otherwise(there)


def _place(values: Sequence[Column], partitions: int) -> Column:
    """The only partition of rows with these values."""
    return sf.array(sf.pmod(sf.hash(*values), sf.lit(partitions)).cast("int"))


def _hashed(layout: Layout, atom: int, table: TablePlan, column: str) -> Column:
    """A column whose equal values have equal hashes."""
    place = layout.places[atom][table.travelling.names.index(column)]
    value, kind = sf.col(layout.names[place]), layout.slots[place]
    if kind in INTEGERS:
        return value.cast("bigint")
    return value + sf.lit(0.0) if kind in _FLOATS else value


def heavy_values(
    slots: DataFrame, rows: Plan, tables: Collection[str], placement: Placement, partitions: int
) -> dict[str, list[Value]]:
    """By table the values that more than half of a partition's share of its rows have.

    Of rows in slots, and of these tables; first the table with the most such rows. Cost: a job.
    """
    columns: dict[int, Column] = {}
    kinds: dict[int, pa.DataType] = {}
    for atom, table in enumerate(rows.streams):
        column = placement.get(table.name)
        if column is not None and table.name in tables:
            kind = table.columns.field(column).type
            if can_be_heavy(kind):
                columns[atom] = _hashed(rows.layout, atom, table, column).cast("string")
                kinds[atom] = kind
    if not columns or partitions == 1:
        return {}
    shown = reduce(
        lambda otherwise, of: sf.when(sf.col(ATOM) == of[0], of[1]).otherwise(otherwise),
        columns.items(),
        sf.lit(None).cast("string"),
    )
    counted = slots.select(ATOM, shown.alias("value"), MULTIPLICITY)
    counted = counted.groupBy(ATOM, "value").agg(sf.sum(MULTIPLICITY).alias("rows"))
    share = sf.sum("rows").over(Window.partitionBy(ATOM)) / partitions
    many = counted.withColumn("share", share).where("value IS NOT NULL AND rows > share / 2")
    values: dict[int, list[Value]] = {}
    number: dict[int, int] = {}
    for atom, text, count, _ in many.orderBy("value").collect():
        value = text if pa.types.is_string(kinds[atom]) else int(text)
        values.setdefault(atom, []).append(value)
        number[atom] = number.get(atom, 0) + count
    order = sorted(values, key=lambda atom: -number[atom])
    return {rows.streams[atom].name: values[atom] for atom in order}


@dataclass(frozen=True)
class Pack:
    """Rows in slots, with a label, as messages: for ``mapInArrow``."""

    plan: Plan
    labels: Sequence[int] = ()
    """Those of all partitions, which get the greatest times."""
    retired: Sequence[int] = ()
    """Labels that get NULL, by which their state goes."""
    since: int = 0
    """In which micro-batch."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One message for each label of a batch; behind them the greatest times, for all."""
        if self.retired and batch_of_task() == self.since:
            arrays = [pa.array(self.retired, pa.int64()), pa.nulls(len(self.retired), pa.binary())]
            yield pa.RecordBatch.from_arrays(arrays, names=[LABEL, "message"])
        greatest: dict[str, int] = {}
        for batch in batches:
            if self.plan.watermarked:
                came = greatest_times(self.plan, self.plan.arrived([_unlabelled(batch)]))
                greatest = greatest_of([greatest, came])
            found = list(messages(batch, self.plan.layout))
            if found:
                yield _sent(found)
        if self.plan.watermarked:
            # Without any, the first partition reports the time of the clock all the same.
            said = self.labels if greatest else self.labels[:1]
            yield _sent([(label, times.message(greatest)) for label in said])


def batch_of_task() -> int:
    """The micro-batch that the task of this worker is of."""
    context = TaskContext.get()
    assert context is not None
    return int(context.getLocalProperty("streaming.sql.batchId") or 0)


def messages(batch: pa.RecordBatch, layout: Layout) -> Iterator[tuple[int, bytes]]:
    """The rows of a batch by label, relation by relation, as Arrow's stream format."""
    if not batch.num_rows:
        return
    order = pc.sort_indices(batch, sort_keys=[(LABEL, "ascending"), (ATOM, "ascending")])
    batch = batch.take(order)
    rows = _unlabelled(batch)
    runs = pc.run_end_encode(batch.column(0))
    start = 0
    for label, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield label, message(rows.slice(start, end - start), layout)
        start = end


def _unlabelled(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows in slots without their label."""
    return pa.RecordBatch.from_arrays(batch.columns[1:], names=batch.schema.names[1:])


def _sent(found: Sequence[tuple[int, bytes]]) -> pa.RecordBatch:
    """Messages by label, for Spark."""
    arrays = [
        pa.array([label for label, _ in found], pa.int64()),
        pa.array([message for _, message in found], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[LABEL, "message"])


def message(rows: pa.RecordBatch, layout: Layout, compression: str = "lz4") -> bytes:
    """Rows in slots as bytes."""
    # Spark writes timestamps in the zone of the session, which changes only their label.
    columns = [
        column if column.type == kind else column.cast(kind)
        for column, kind in zip(rows.columns, layout.schema.types, strict=True)
    ]
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, layout.schema, options=options) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=layout.schema))
    found: bytes = sink.getvalue().to_pybytes()
    return found


def in_slots(plan: Plan, atom: int, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of a table with their multiplicities, in slots."""
    layout, schema = plan.layout, plan.layout.schema
    first = len(schema) - len(layout.slots)
    for batch in rows.to_batches(max_chunksize=ROWS_A_MESSAGE):
        columns = [pa.nulls(len(batch), kind) for kind in schema.types]
        columns[0] = pa.repeat(pa.scalar(atom, pa.int16()), len(batch))
        columns[1] = pa.repeat(pa.scalar(0, pa.int32()), len(batch))
        columns[2] = batch.columns[-1].cast(pa.int64())
        for place, column in zip(layout.places[atom], batch.columns[:-1], strict=True):
            columns[first + place] = column.cast(layout.slots[place])
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def packed(rows: pa.Table) -> Iterator[bytes]:
    """Rows as messages; none if there are none."""
    for batch in rows.to_batches(max_chunksize=ROWS_A_MESSAGE):
        if not batch.num_rows:
            continue
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(batch)
        yield sink.getvalue().to_pybytes()


def unpacked(messages: Iterable[bytes]) -> pa.Table:
    """The rows of `packed` messages."""
    return pa.concat_tables(map(read_stream, messages))
