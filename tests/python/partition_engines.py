"""The engines of a stream in partitions, and what Spark does for them, without Spark.

A micro-batch is cut into tasks that pack rows; each partition that gets a message takes it, with a
state store that is a dict. A restart leaves the store and nothing else.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from ringview import Database
from ringview.spark.slots import ATOM
from ringview.spark.streaming.letters import SCHEMA
from ringview.spark.streaming.partitioned.gathered import Gathered
from ringview.spark.streaming.partitioned.layout import queries, setting
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.placement import choose_placement
from ringview.spark.streaming.partitioned.routing import LABEL, Pack, unpacked
from ringview.spark.streaming.partitioned.segments import (
    Meta,
    Read,
    Sizes,
    Taken,
    select_segments,
    step,
)
from ringview.spark.streaming.partitioned.setting import Report, StreamEngines
from ringview.spark.streaming.partitioned.store import PartitionBatch
from ringview.spark.streaming.partitioned.times import gathered
from ringview.spark.streaming.plan import Plan

SMALL = Sizes(slice=300, entry=50, few=200, least=100)
"""So small that a stream of a few rows has several snapshots."""


class DictState:
    """One partition's share of a state store."""

    def __init__(self) -> None:
        self.said: Meta | None = None
        self.held: dict[tuple[str, int], tuple[int, bytes]] = {}

    def meta(self) -> Meta | None:
        return self.said

    def base(self, is_needed: bool) -> Sequence[bytes] | None:
        assert not is_needed
        return None

    def forget_base(self) -> None:
        pass

    def get(self, kind: str, number: int) -> tuple[int, bytes] | None:
        return self.held.get((kind, number))

    def put(self, kind: str, number: int, batch: int, message: bytes) -> None:
        self.held[kind, number] = batch, message

    def remove(self, kind: str, number: int) -> None:
        del self.held[kind, number]

    def update(self, meta: Meta) -> None:
        self.said = meta


class PartitionEngines:
    """The engines of a plan of which each stream lies by its column ``id``, or everywhere."""

    def __init__(self, plan: Plan, count: int, *, leaves_out: bool = False) -> None:
        placement = choose_placement(plan, queries(plan), plan.views)
        assert set(placement.values()) <= {"id", None}
        self.plan, self.placement = plan, placement
        self.labels = [100 + partition for partition in range(count)]
        numbers = {label: partition for partition, label in enumerate(self.labels)}
        self.setting = setting(plan, (placement, None), "twin", numbers, True, SMALL)
        self.engines = StreamEngines(self.setting, tells=True, leaves_out=leaves_out)
        self.states: dict[int, DictState] = defaultdict(DictState)
        self.restart()

    def restart(self) -> None:
        """Drop all state in memory."""
        self.cache: Cache[Any] = Cache()

    def take(
        self, batch: int, tables: Sequence[pa.Table], tasks: int, drawn: random.Random
    ) -> list[Report]:
        """Rows of streams in slots, one table after the other, through so many tasks."""
        cut: list[list[pa.RecordBatch]] = [[] for _ in range(tasks)]
        for rows in tables:
            for row in range(rows.num_rows):
                cut[drawn.randrange(tasks)] += self._labelled(rows.slice(row, 1))
        delta: dict[int, list[bytes]] = defaultdict(list)
        for rows_of_task in cut:
            for sent in Pack(self.plan, self.labels)(rows_of_task):
                for row in sent.to_pylist():
                    delta[self.setting.partitions[row[LABEL]]].append(row["message"])
        return [self._step(batch, each, delta[each]) for each in sorted(delta)]

    def view(self, name: str) -> pa.Table:
        """A view: its rows in all partitions together."""
        return self._together(name, lambda database: database[name].to_arrow())

    def merged(self, name: str) -> pa.Table:
        """The same as the driver merges it from what partitions send."""
        sent = self._together(name, lambda database: database[name].partial())
        gathered = Gathered(self.plan, [name])
        gathered.add([(name, sent)])
        return gathered[name].to_arrow()

    def rows(self, name: str) -> pa.Table:
        """The rows of a table."""
        return self._together(name, lambda database: database.tables[name].to_arrow())

    def letters(self, reports: Sequence[Report]) -> pa.Table:
        """The dead letters of a micro-batch."""
        found = [message for report in reports for message in report.letters]
        return unpacked(found) if found else SCHEMA.empty_table()

    def moved(self, reports: Sequence[Report]) -> Mapping[str, list[pa.Table]]:
        """Changes of a micro-batch, by view."""
        found: dict[str, list[pa.Table]] = {name: [] for name in self.plan.views}
        for report in reports:
            for name, messages in report.moved.items():
                found[name].append(unpacked(messages))
        return found

    def _labelled(self, row: pa.Table) -> Iterator[pa.RecordBatch]:
        table = self.plan.streams[row[ATOM][0].as_py()]
        labels = self.labels
        if self.placement[table.name] is not None:
            place = self.plan.layout.places[row[ATOM][0].as_py()][table.columns.names.index("id")]
            labels = [labels[row[self.plan.layout.names[place]][0].as_py() % len(labels)]]
        for label in labels:
            column = pa.array([label], pa.int64())
            yield from row.add_column(0, LABEL, column).combine_chunks().to_batches()

    def _step(self, batch: int, partition: int, delta: Sequence[bytes]) -> Report:
        def take(version: Meta | None, read: Read) -> Taken[Report]:
            of = PartitionBatch(partition, version, batch, gathered(delta))
            return self.engines.take(self.cache, of, read)

        return step(self.states[partition], batch, take).report

    def _together(self, name: str, read: Callable[[Database], pa.Table]) -> pa.Table:
        """Rows of all partitions by name; partitions with the same whole are read once."""
        parts = [each for each in range(len(self.labels)) if self.setting.speaks(each, name)]
        return pa.concat_tables(self._read(each, read) for each in parts)

    def _read(self, partition: int, read: Callable[[Database], pa.Table]) -> pa.Table:
        """From the live engine, or from one that is made anew of what the store has."""
        state, setting = self.states[partition], self.setting
        with self.cache.look(
            setting.stream, partition, state.said.token if state.said else ""
        ) as held:
            if held is not None:
                return read(held.engine.database)
        there = [(*key, *value) for key, value in state.held.items()]
        segments = select_segments(state.said, there, state.base)
        return read(setting.store().restore(state.said, segments).database)
