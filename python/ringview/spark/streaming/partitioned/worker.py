"""What runs in workers: a micro-batch of a partition, and a look at the views of one.

Invariant: what a version of Spark's state store holds of a partition is what `store` says; the live
engines are where `client` finds them. Cost: that of `store`, of the way to the engines and back for
the rows and what moved, and a few calls to Spark's server of state.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import Row

from ringview.spark.streaming.partitioned.client import engines
from ringview.spark.streaming.partitioned.counts import Counts
from ringview.spark.streaming.partitioned.engine import PartitionEngine
from ringview.spark.streaming.partitioned.routing import in_slots, packed, unpacked
from ringview.spark.streaming.partitioned.setting import Report, Setting, StreamEngines
from ringview.spark.streaming.partitioned.store import Delta, Log, Meta, Taken, step
from ringview.spark.streaming.plan import Plan, TablePlan
from ringview.spark.streaming.sinks import PartitionSink

COUNTS, LETTERS = -1, -2
"""In the place of a view's number: what happened in a partition, and dead letters."""


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
        of = StreamEngines(self.setting, self.tells, self.leaves_out)

        def take(meta: Meta | None, log: Log) -> Taken[Report]:
            return engines().take(of, partition, meta, log, batch, delta)

        taken = step(SparkKept(meta, log), batch, take)
        report = taken.report
        counts = Counts.of(self.setting.plan).listed(_counted(taken, delta))
        yield Row(partition=partition, view=COUNTS, message=None, counts=counts)
        sinks = _sinks(self.sinks) if self.sinks else {}
        told = {
            number: report.moved[view]
            for number, view in enumerate(self.setting.plan.views)
            if view in report.moved and view not in sinks
        }
        for number, messages in {**told, LETTERS: report.letters}.items():
            for message in messages:
                yield Row(partition=partition, view=number, message=message, counts=None)
        for view, sink in sinks.items():
            if view in report.moved:
                sink(partition, batch, unpacked(report.moved[view]))


@lru_cache(maxsize=8)
def _sinks(pickled: bytes) -> Mapping[str, PartitionSink]:
    found: Mapping[str, PartitionSink] = pickle.loads(pickled)
    return found


def _counted(taken: Taken[Report], delta: Delta) -> dict[str, int]:
    """What happened in a partition."""
    return {
        **taken.report.numbers,
        "engines.found": int(taken.was_live),
        "engines.rebuilt": int(not taken.was_live),
        "log_bytes": 0 if taken.snapshot_bytes else sum(map(len, delta)),
        "snapshots": int(taken.snapshot_bytes > 0),
        "snapshot_bytes": taken.snapshot_bytes,
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
            of = StreamEngines(self.setting)
            found = engines().look(of, partition, meta.token, self.view) if meta else None
            if found is None:
                engine = self.setting.store().restore(partition, meta, log)
                found = list(packed(engine.database[self.view].partial()))
            for message in found:
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
            engine = self.setting.store().restore(partition, meta, log)
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
