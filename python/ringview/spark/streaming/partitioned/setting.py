"""The options of a stream for its workers, and the calls of its engines in their process.

Invariant: both can be pickled for Spark, and sent by `codec` to a server of engines, and so can the
reports: rows as Arrow's stream format. Cost: of a micro-batch that of `store`, and of the changes,
packed once.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from ringview.convert.moments import microseconds
from ringview.spark.streaming.clock import CLOCK, EXPIRED
from ringview.spark.streaming.latest import LATE
from ringview.spark.streaming.letters import NAME, counted, letters
from ringview.spark.streaming.partitioned.codec import registered
from ringview.spark.streaming.partitioned.counts import MOVED, ROWS, named
from ringview.spark.streaming.partitioned.engine import PartitionEngine
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.routing import packed
from ringview.spark.streaming.partitioned.segments import SIZES, Read, Sizes, Taken
from ringview.spark.streaming.partitioned.store import PartitionBatch, SnapshottedEngine, Store
from ringview.spark.streaming.plan import Plan, TablePlan

for _kind in (Plan, Sizes, TablePlan):
    registered(_kind)


@registered
@dataclass(frozen=True)
class Setting:
    """The options of a stream for its workers."""

    plan: Plan
    """With the views that partitions keep alone."""
    name: str
    """Of the stream and its generation."""
    partitions: Mapping[int, int]
    """The number of a partition by its label."""
    everywhere: frozenset[str]
    """Tables and views that each partition has whole, of which the first one speaks."""
    gathered: frozenset[str]
    """Views of which partitions send parts, which the driver adds up."""
    is_first: bool
    """Whether what partitions begin with is news to the sink."""
    sizes: Sizes = SIZES
    memory_limit: int | None = None
    """The bytes of each engine."""

    @property
    def stream(self) -> Hashable:
        """The key of live engines: those of another limit are none."""
        return self.name, self.memory_limit

    def store(self) -> Store[PartitionEngine]:
        """The engines of the stream."""
        limit = self.memory_limit
        start = partial(PartitionEngine.start, self.plan, self.is_first, memory_limit=limit)
        return Store(self.stream, start, self.sizes)

    def speaks(self, partition: int, name: str) -> bool:
        """Whether a partition reports its rows of a table or view."""
        return partition == 0 or name not in self.everywhere


@registered
@dataclass(frozen=True)
class Report:
    """Result of a micro-batch in a partition."""

    numbers: Mapping[str, int]
    """What happened, as `counts` names it."""
    moved: Mapping[str, list[bytes]]
    """The rows that moved, by view, if the partition speaks of it and there are some."""
    parts: Mapping[str, list[bytes]]
    """The same as parts, of views that are gathered."""
    letters: list[bytes]


@registered
@dataclass(frozen=True)
class StreamEngines:
    """The engines of a stream, as they are called: see `requests.Served`."""

    setting: Setting
    tells: bool = False
    """Whether somebody is to be told what moved."""
    in_partitions: frozenset[str] = frozenset()
    """Views with a sink in partitions, gathered or not."""
    leaves_out: bool = False
    """Whether rows that break a contract are left out, and told of."""

    def take(
        self, cache: Cache[SnapshottedEngine[PartitionEngine]], of: PartitionBatch, read: Read
    ) -> Taken[Report]:
        """Let the engine of a partition take a micro-batch."""
        told = partial(self._report, of.partition, of.batch)
        return self.setting.store().take(cache, of, read, self._open, told)

    def look(
        self,
        cache: Cache[SnapshottedEngine[PartitionEngine]],
        partition: int,
        token: str,
        view: str,
    ) -> list[bytes] | None:
        """Partials of a view in a version's live engine, to be merged; None if there is none."""
        with cache.look(self.setting.stream, partition, token) as held:
            if held is None:
                return None
            partial = held.engine.database[view].partial()
        return list(packed(partial))

    def _open(self, engine: PartitionEngine) -> None:
        engine.leaves_out = self.leaves_out
        if self.tells:
            gathered = self.setting.gathered
            apart = [name for name in self.setting.plan.views if name not in gathered]
            engine.follow({*apart, *self.in_partitions}, gathered)

    def _spoken(self, partition: int, changes: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Changes of views that the partition reports."""
        return {
            view: rows
            for view, rows in changes.items()
            if rows.num_rows and self.setting.speaks(partition, view)
        }

    def _report(self, partition: int, batch: int, engine: PartitionEngine) -> Report:
        applied = engine.applied
        assert applied is not None
        moved = self._spoken(partition, engine.changes())
        parts = self._spoken(partition, engine.parts())
        by_table = {
            ROWS: applied.rows,
            LATE: applied.late,
            EXPIRED: applied.expired,
            NAME: counted(applied.refused),
        }
        now = engine.database.now
        numbers = {
            f"{what}.{table}": number
            for what, by_name in by_table.items()
            for table, number in by_name.items()
            if self.setting.speaks(partition, table)
        }
        numbers |= {
            **named(MOVED, {view: rows.num_rows for view, rows in {**moved, **parts}.items()}),
            CLOCK: 0 if now is None else microseconds(now),
            "engine_nanoseconds": int(applied.seconds * 1e9),
            "state_bytes": sum(engine.database.memory_usage().values()),
        }
        refused = applied.refused
        return Report(
            numbers,
            {view: list(packed(changes)) for view, changes in moved.items()},
            {view: list(packed(changes)) for view, changes in parts.items()},
            list(packed(letters(refused, batch))) if refused else [],
        )
