"""What runs in workers: a micro-batch of a partition, and a look at the views of one.

Invariant: what a version of Spark's state store holds of a partition is what `store` says; the live
engines are in a cache of the worker's process, which no two tasks use at once. Cost: that of
`store`, and for each message a call to Spark's server of state where it goes into the log.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import Row

from ringview.spark.streaming.latest import LATE
from ringview.spark.streaming.letters import NAME, counted, letters
from ringview.spark.streaming.partitioned.counts import MOVED, ROWS, Counts, named
from ringview.spark.streaming.partitioned.engine import PartitionEngine
from ringview.spark.streaming.partitioned.routing import ROWS_A_MESSAGE, in_slots
from ringview.spark.streaming.partitioned.store import Cache, Delta, Meta, Step, Store
from ringview.spark.streaming.plan import Plan, TablePlan
from ringview.spark.streaming.sinks import PartitionSink

COUNTS, LETTERS = -1, -2
"""In the place of a view's number: what happened in a partition, and dead letters."""

_live: Cache[PartitionEngine] = Cache()


@dataclass(frozen=True)
class Setting:
    """What a worker must know of a stream."""

    plan: Plan
    folder: Path
    """Of the snapshots."""
    partitions: Mapping[int, int]
    """The number of a partition by its label."""
    everywhere: frozenset[str]
    """Views that each partition has whole, of which the first one speaks."""
    every: int
    """After how many micro-batches a snapshot is written."""
    is_first: bool
    """Whether what partitions begin with is news to the sink."""

    def store(self) -> Store[PartitionEngine]:
        """The engines of the stream."""
        start = partial(PartitionEngine.start, self.plan, self.is_first)
        return Store(str(self.folder), self.folder, start, self.every)

    def speaks(self, partition: int, view: str) -> bool:
        """Whether what a partition has of a view is asked for."""
        return partition == 0 or view not in self.everywhere


class SparkKept:
    """A partition's share of Spark's state store, in a task."""

    def __init__(self, meta: Any, log: Any) -> None:
        self._meta, self._log = meta, log

    def meta(self) -> Meta | None:
        """What the version says."""
        return Meta(*self._meta.get()) if self._meta.exists() else None

    def log(self) -> Iterator[tuple[int, bytes]]:
        """The messages since the snapshot."""
        for batch, message in self._log.get() if self._log.exists() else ():
            yield batch, bytes(message)

    def append(self, batch: int, delta: Delta) -> None:
        """Add messages to the log."""
        self._log.appendList([(batch, message) for message in delta])

    def clear(self) -> None:
        """Empty the log."""
        self._log.clear()

    def update(self, meta: Meta) -> None:
        """Replace what the version says."""
        self._meta.update((meta.token, meta.snapshot, meta.log, meta.log_bytes))


@dataclass(frozen=True)
class Keep:
    """A micro-batch of a partition: into its engine, and what moved out of it."""

    setting: Setting
    tells: bool
    """Whether somebody is to be told what moved."""
    leaves_out: bool = False
    """Whether rows that break a contract are left out, and told of."""
    sinks: bytes = b""
    """Sinks that are called here, by view, pickled."""

    def __call__(self, meta: Any, log: Any, label: int, rows: Iterable[Any]) -> Iterator[Row]:
        """Messages in, changes out."""
        partition = self.setting.partitions[label]
        delta = [bytes(row.message) for row in rows]
        context = TaskContext.get()
        assert context is not None
        batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        step = self.setting.store().step(
            partition, SparkKept(meta, log), batch, delta, _live, self._open
        )
        moved = {
            view: changes
            for view, changes in step.engine.moved().items()
            if changes.num_rows and self.setting.speaks(partition, view)
        }
        counts = Counts.of(self.setting.plan).listed(_counted(step, delta, moved))
        yield Row(partition=partition, view=COUNTS, message=None, counts=counts)
        sinks = _sinks(self.sinks) if self.sinks else {}
        found = [
            (number, moved[view])
            for number, view in enumerate(self.setting.plan.views)
            if view in moved and view not in sinks
        ]
        assert step.engine.applied is not None
        if step.engine.applied.refused:
            found.append((LETTERS, letters(step.engine.applied.refused, batch)))
        for number, table in found:
            for message in packed(table):
                yield Row(partition=partition, view=number, message=message, counts=None)
        for view, sink in sinks.items():
            if view in moved:
                sink(partition, batch, moved[view])

    def _open(self, engine: PartitionEngine) -> None:
        engine.leaves_out = self.leaves_out
        if self.tells:
            engine.follow()


@lru_cache(maxsize=8)
def _sinks(pickled: bytes) -> Mapping[str, PartitionSink]:
    found: Mapping[str, PartitionSink] = pickle.loads(pickled)
    return found


def _counted(
    step: Step[PartitionEngine], delta: Delta, moved: Mapping[str, pa.Table]
) -> dict[str, int]:
    """What happened in a partition."""
    applied = step.engine.applied
    assert applied is not None
    return {
        **named(ROWS, applied.rows),
        **named(LATE, applied.late),
        **named(NAME, counted(applied.refused)),
        **named(MOVED, {view: changes.num_rows for view, changes in moved.items()}),
        "engines.found": int(step.was_live),
        "engines.rebuilt": int(not step.was_live),
        "engine_nanoseconds": int(applied.seconds * 1e9),
        "state_bytes": sum(step.engine.database.memory_usage().values()),
        "log_bytes": 0 if step.snapshot_bytes else sum(map(len, delta)),
        "snapshots": int(step.snapshot_bytes > 0),
        "snapshot_bytes": step.snapshot_bytes,
    }


@dataclass(frozen=True)
class Begin:
    """What partitions begin with: their rows of some tables, as files."""

    setting: Setting
    rows: Plan
    """The tables that have rows, as if they were streams of rows."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Messages in, with the labels of partitions of this task; nothing out."""
        found: dict[int, list[bytes]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                partition = self.setting.partitions[row["label"]]
                found.setdefault(partition, []).append(row["message"])
        for partition, delta in found.items():
            engine = PartitionEngine.begin(self.setting.plan, self.rows, delta)
            self.setting.store().begin(partition, engine)
        yield from ()


VERSION = (
    "partition int, batch long, message binary, token string, snapshot string, "
    "batches int, bytes long"
)
"""A version of the state as rows: of each partition one that says it is there, one with a token of
what its version says, and the messages of its log."""


@dataclass(frozen=True)
class Look:
    """What partitions have of a view, as a version of the state has it: to be merged."""

    setting: Setting
    view: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A version in, the partials of the view as messages out."""
        for partition, meta, log in versions(batches):
            if not self.setting.speaks(partition, self.view):
                continue
            store = self.setting.store()
            engine = _live.get(store.stream, partition, meta.token) if meta else None
            if engine is None:
                engine = store.restore(partition, meta, iter(log))
            for message in packed(engine.database[self.view].partial()):
                yield pa.RecordBatch.from_pylist([{"message": message}], _MESSAGE)


@dataclass(frozen=True)
class Empty:
    """The rows of all tables in the partitions, in slots, as a version of the state has them."""

    setting: Setting
    rows: Plan
    """The tables, as if they were streams of rows; columns that are new have NULL."""
    copied: frozenset[str]
    """Tables whose rows lie everywhere, of which the first partition speaks."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A version in, slots out."""
        for partition, meta, log in versions(batches):
            engine = self.setting.store().restore(partition, meta, iter(log))
            for atom, table in enumerate(self.rows.streams):
                if partition and table.name in self.copied:
                    continue
                found = engine.database.tables[table.name].to_arrow(multiplicity=table.multiplicity)
                yield from in_slots(self.rows, atom, _widened(found, table))


def _widened(rows: pa.Table, table: TablePlan) -> pa.Table:
    """Rows with all columns of a table, NULL in those that they lack."""
    schema = table.columns.append(rows.schema.field(table.multiplicity))
    columns = [
        rows[field.name] if field.name in rows.column_names else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.table(columns, schema)


def versions(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[tuple[int, Meta | None, list[tuple[int, bytes]]]]:
    """By partition what its version says, and its log in order."""
    metas: dict[int, Meta | None] = {}
    logs: dict[int, list[tuple[int, bytes]]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            partition = row["partition"]
            metas.setdefault(partition, None)
            log = logs.setdefault(partition, [])
            if row["token"] is not None:
                metas[partition] = Meta(row["token"], row["snapshot"], row["batches"], row["bytes"])
            elif row["message"] is not None:
                log.append((row["batch"], row["message"]))
    for partition in sorted(metas):
        yield partition, metas[partition], sorted(logs[partition], key=itemgetter(0))


_MESSAGE = pa.schema({"message": pa.binary()})


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
    """What `packed` packed."""
    return pa.concat_tables(pa.ipc.open_stream(message).read_all() for message in messages)
