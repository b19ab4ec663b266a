"""Steps in workers: a micro-batch of a partition, and a look at the views of one.

Invariant: a version of Spark's state store holds of a partition what `store` says; `client` finds
the live engines. Cost: that of `store`, of the way to the engines and back for the rows and the
changes, and a few calls to Spark's server of state.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import Row

from ringview.convert.ipc import read_stream
from ringview.spark.streaming.partitioned.bases import Bases, FileBases
from ringview.spark.streaming.partitioned.client import engines
from ringview.spark.streaming.partitioned.counts import Counts
from ringview.spark.streaming.partitioned.engine import rows_of, slices
from ringview.spark.streaming.partitioned.heavy import Value
from ringview.spark.streaming.partitioned.routing import batch_of_task, in_slots, packed, unpacked
from ringview.spark.streaming.partitioned.segments import (
    Meta,
    Read,
    Segments,
    Span,
    Taken,
    select_segments,
    step,
)
from ringview.spark.streaming.partitioned.setting import Report, Setting, StreamEngines
from ringview.spark.streaming.partitioned.store import PartitionBatch
from ringview.spark.streaming.partitioned.times import gathered
from ringview.spark.streaming.plan import Plan, TablePlan
from ringview.spark.streaming.sinks import PartitionSink

COUNTS, LETTERS = -1, -2
"""In the place of a view's number: what happened in a partition, and dead letters."""


class SparkState:
    """A partition's share of Spark's state store, in a task."""

    def __init__(self, meta: Any, segments: Any, bases: Bases, partition: int) -> None:
        self._meta, self._segments = meta, segments
        self._bases, self._partition = bases, partition

    def meta(self) -> Meta | None:
        """Description of the engine in the version."""
        return _meta(*self._meta.get()) if self._meta.exists() else None

    def base(self, is_needed: bool) -> Sequence[bytes] | None:
        """First rows of the partition."""
        return self._bases.read(self._partition, is_needed)

    def forget_base(self) -> None:
        """Remove it."""
        self._bases.remove(self._partition)

    def get(self, kind: str, number: int) -> tuple[int, bytes] | None:
        """A segment."""
        found = self._segments.getValue((kind, number))
        return None if found is None else (found[0], bytes(found[1]))

    def put(self, kind: str, number: int, batch: int, message: bytes) -> None:
        """Add one."""
        self._segments.updateValue((kind, number), (batch, message))

    def remove(self, kind: str, number: int) -> None:
        """Remove one."""
        self._segments.removeKey((kind, number))

    def update(self, meta: Meta) -> None:
        """Replace what the version says."""
        rows, log = list(astuple(meta.rows)), list(astuple(meta.log))
        self._meta.update((meta.token, meta.has_base, meta.slice, rows, log))


def _meta(token: str, has_base: bool, size: int, rows: Iterable[int], log: Iterable[int]) -> Meta:
    return Meta(token, has_base, size, Span(*rows), Span(*log))


@dataclass(frozen=True)
class Keep:
    """A micro-batch of a partition: into its engine, and what moved out of it."""

    setting: Setting
    bases: Bases
    tells: bool
    """Whether somebody is to be told what moved."""
    leaves_out: bool = False
    """Whether rows that break a contract are left out, and told of."""
    sinks: bytes = b""
    """Sinks that are called here, by view, pickled."""

    def __call__(self, meta: Any, segments: Any, label: int, rows: Iterable[Any]) -> Iterator[Row]:
        """Messages in, changes out."""
        partition = self.setting.partitions.get(label)
        if partition is None:
            # Of an earlier generation.
            meta.clear()
            segments.clear()
            return
        delta = gathered([bytes(row.message) for row in rows])
        batch = batch_of_task()
        sinks = _sinks(self.sinks) if self.sinks else {}
        of = StreamEngines(self.setting, self.tells, frozenset(sinks), self.leaves_out)

        def take(version: Meta | None, read: Read) -> Taken[Report]:
            return engines().take(of, PartitionBatch(partition, version, batch, delta), read)

        taken = step(SparkState(meta, segments, self.bases, partition), batch, take)
        report = taken.report
        counts = Counts.of(self.setting.plan).listed(_counted(taken))
        yield Row(partition=partition, view=COUNTS, message=None, counts=counts)
        here = {view: rows for view, rows in report.moved.items() if view not in sinks}
        sent = {**here, **report.parts}
        views = enumerate(self.setting.plan.views)
        told = {number: sent[view] for number, view in views if view in sent}
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


def _counted(taken: Taken[Report]) -> dict[str, int]:
    """Metrics of a partition."""
    return {
        **taken.report.numbers,
        "engines.found": int(taken.was_live),
        "engines.rebuilt": int(not taken.was_live),
        "log_bytes": sum(map(len, taken.logged)),
        "snapshots": int(bool(taken.slices) and not taken.meta.slice),
        "snapshot_bytes": sum(map(len, taken.slices)),
    }


@dataclass(frozen=True)
class Begin:
    """First rows of partitions: those of some tables, as slices."""

    setting: Setting
    bases: FileBases | None
    """Where they are written; None where Spark writes them."""
    rows: Plan
    """The tables that have rows, as if they were streams of rows."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Messages in, with the labels of partitions of this task; slices out that Spark writes."""
        found: dict[int, list[bytes]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                partition = self.setting.partitions[row["label"]]
                found.setdefault(partition, []).append(row["message"])
        rows, size = rows_of(self.setting.plan), self.setting.sizes.slice
        for partition, delta in found.items():
            arrived = (part for each in delta for part in read_stream(each).to_batches())
            drawn = list(slices(rows, self.rows.arrived(arrived), size))
            if self.bases is not None:
                self.bases.write(partition, drawn)
                continue
            for message in drawn:
                row = {"partition": partition, "message": message}
                yield pa.RecordBatch.from_pylist([row], _SLICE)


VERSION = (
    "partition int, token string, has_base boolean, slice int, rows array<long>, log array<long>, "
    "kind string, number long, batch long, message binary"
)
"""A version of the state as rows: of each partition one that says it is there, one with a token of
what its version says, and those of its segments."""

LOOKED = "partition int, view string, message binary"
"""What partitions have of views; NULL of one whose engine is not live."""


@dataclass(frozen=True)
class Look:
    """Partials of views in partitions, as a version of the state has them: to be merged."""

    setting: Setting
    bases: Bases
    views: tuple[str, ...]
    reads: bool
    """Whether the version has its segments, for engines that are not live."""
    told: bool = False
    """Whether what nobody was told of yet is left out."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A version in, the partials of the views as messages out."""
        for partition, meta, segments in versions(batches, self.bases, self.reads):
            views = [view for view in self.views if self.setting.speaks(partition, view)]
            if not views:
                continue
            found = self._live(partition, meta, views)
            if found is None and (self.reads or meta is None):
                engine = self.setting.store().restore(meta, segments)
                views = [] if self.told and engine.is_new else views
                parts = ((view, engine.database[view].partial()) for view in views)
                found = [(view, message) for view, rows in parts for message in packed(rows)]
            for view, message in [(None, None)] if found is None else found:
                row = {"partition": partition, "view": view, "message": message}
                yield pa.RecordBatch.from_pylist([row], _LOOKED)

    def _live(
        self, partition: int, meta: Meta | None, views: Sequence[str]
    ) -> list[tuple[str, bytes]] | None:
        """Partials of views in the live engine; None if there is none."""
        if meta is None:
            return None
        found: list[tuple[str, bytes]] = []
        for view in views:
            messages = engines().look(StreamEngines(self.setting), partition, meta.token, view)
            if messages is None:
                return None
            found += ((view, message) for message in messages)
        return found


@dataclass(frozen=True)
class Empty:
    """The rows of all tables in the partitions, in slots, as a version of the state has them."""

    setting: Setting
    bases: Bases
    rows: Plan
    """The tables, as if they were streams of rows; columns that are new have NULL."""
    copied: Mapping[str, tuple[str, Sequence[Value]] | None]
    """Tables whose rows lie everywhere, of which the first partition speaks: all of them, or those
    with these values in a column."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A version in, slots out."""
        for partition, meta, segments in versions(batches, self.bases, reads=True):
            engine = self.setting.store().restore(meta, segments)
            for atom, table in enumerate(self.rows.streams):
                rows = engine.database.tables[table.name].to_arrow(multiplicity=table.multiplicity)
                own = self._own(partition, table.name, rows)
                yield from in_slots(self.rows, atom, _widened(own, table))

    def _own(self, partition: int, table: str, rows: pa.Table) -> pa.Table:
        """The rows that a partition speaks of."""
        if partition == 0 or table not in self.copied:
            return rows
        if (of := self.copied[table]) is None:
            return rows.slice(0, 0)
        column, values = of
        heavy = pc.is_in(rows[column], pa.array(values, rows[column].type))
        return rows.filter(pc.invert(heavy))


def _widened(rows: pa.Table, table: TablePlan) -> pa.Table:
    """Rows with all columns of a table, NULL in those that they lack."""
    schema = table.columns.append(rows.schema.field(table.multiplicity))
    columns = [
        rows[field.name] if field.name in rows.column_names else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.table(columns, schema)


def versions(
    batches: Iterable[pa.RecordBatch], bases: Bases, reads: bool
) -> Iterator[tuple[int, Meta | None, Segments]]:
    """By partition what its version says, and its segments if they are there."""
    metas: dict[int, Meta | None] = {}
    there: dict[int, list[tuple[str, int, int, bytes]]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            partition = row["partition"]
            metas.setdefault(partition, None)
            if row["token"] is not None:
                metas[partition] = _meta(*(row[name] for name in _OF_META))
            elif row["kind"] is not None:
                segment = row["kind"], row["number"], row["batch"], row["message"]
                there.setdefault(partition, []).append(segment)
    for partition, meta in sorted(metas.items(), key=itemgetter(0)):
        if reads or meta is None:
            base = partial(bases.read, partition)
            yield partition, meta, select_segments(meta, there.get(partition, ()), base)
        else:
            yield partition, meta, Segments()


_OF_META = ("token", "has_base", "slice", "rows", "log")
_LOOKED = pa.schema({"partition": pa.int32(), "view": pa.string(), "message": pa.binary()})
_SLICE = pa.schema({"partition": pa.int32(), "message": pa.binary()})
