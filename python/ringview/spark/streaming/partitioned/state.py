"""mode="partitioned": the state of a stream in one engine for each partition of its rows.

    slots -> label, message -> transformWithState: store, by partition -> changes -> sink

Invariant: a micro-batch counts once in each partition, for Spark commits the versions of its state
store with the micro-batch, and `store` ties an engine to a version. The sink is given a micro-batch
after all partitions have it, and again, with the same rows, if it failed or the driver was killed
before Spark noted that it was done.
Cost: of a micro-batch one shuffle of its rows, the engines' work in parallel, and its changes to
the driver, which adds up views of which partitions have parts; of a look at a view a job over the
partitions, and its rows to the driver.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from ringview.convert.moments import moment
from ringview.errors import RingviewError, UnknownViewError, UnsupportedError, did_you_mean
from ringview.extras import missing
from ringview.sinks.protocol import Sink, begin
from ringview.spark.failure import error_of, raising
from ringview.spark.session import cores
from ringview.spark.ship import Shipped
from ringview.spark.streaming import letters, locations, paths, source, unsent
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.clock import CLOCK, EXPIRED
from ringview.spark.streaming.latest import LATE
from ringview.spark.streaming.locations import Location, Remote
from ringview.spark.streaming.partitioned import versions
from ringview.spark.streaming.partitioned.bases import Bases
from ringview.spark.streaming.partitioned.counts import MOVED as MOVED_ROWS
from ringview.spark.streaming.partitioned.counts import ROWS, Counts, by
from ringview.spark.streaming.partitioned.engine import as_rows
from ringview.spark.streaming.partitioned.gathered import Gathered
from ringview.spark.streaming.partitioned.holding import Holding
from ringview.spark.streaming.partitioned.layout import asked_of, new_partitions
from ringview.spark.streaming.partitioned.memory import limit_of
from ringview.spark.streaming.partitioned.processor import MOVED, ShippedProcessor
from ringview.spark.streaming.partitioned.routing import LABEL, PACKED, Pack, routed, unpacked
from ringview.spark.streaming.partitioned.worker import COUNTS, LETTERS, Keep
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.sinks import PartitionSinks
from ringview.spark.streaming.source import Source
from ringview.spark.streaming.state import OBSERVED, State
from ringview.view import View

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_SHUFFLE = "spark.sql.shuffle.partitions"


class PartitionedState(State):
    """The engines of a stream in Spark's partitions."""

    def __init__(
        self,
        plan: Plan,
        sources: Mapping[str, Source],
        checkpoint: Checkpoint,
        sink: Sink | None,
        partitions: int | None = None,
        letters: Sink | None = None,
        sinks: PartitionSinks | None = None,
        memory_limit: int | str | None = None,
    ) -> None:
        if importlib.util.find_spec("google.protobuf") is None:
            # Spark speaks of state by it.
            raise missing("protobuf", 'mode="partitioned"', "spark")
        super().__init__(plan, checkpoint, sink, letters)
        self._sources, self._sinks = sources, sinks
        self._spark = next(iter(sources.values())).frame.sparkSession
        paths.for_state_reader(self._spark, checkpoint.spark)
        self._settings: dict[str, str | None] = {}
        whole = () if sinks is None else sinks.by_view
        self._partitions = asked_of(checkpoint, partitions) or new_partitions(
            plan, self._spark, _count(self._spark, partitions), whole
        )
        self._partitions.check_told(plan, whole)
        described = {"mode": "partitioned", "sink": self._tells}
        checkpoint.agree({**plan.described(), **described, **self._partitions.described()})
        self._open: Holding | None = Holding(checkpoint)
        limit = limit_of(self._spark, len(self._partitions.labels), memory_limit)
        self._setting = replace(self._partitions.setting(plan, checkpoint), memory_limit=limit)
        self._counts = Counts.of(self._setting.plan)
        self._bytes: dict[int, int] = {}
        self._clock: str | None = None
        try:
            self._last = versions.last(checkpoint)
            # Of generations that were never completed.
            unsent.forget_from(checkpoint.state, self._partitions.generation + 1)
            self._begin_sinks()
            if not checkpoint.has_begun:
                checkpoint.clear()
                self._begin()
            self._bases = self._begun()
            self._gathered = self._added_up()
        except BaseException:
            self._open.close()
            raise

    @property
    def _tells(self) -> bool:
        """Whether a sink is given the changes."""
        return self._sink is not None or self._sinks is not None

    def metrics(self) -> dict[str, Any]:
        """Of the last micro-batch: its rows by table, what moved by view, and the partitions."""
        return self._metrics

    def writer(self) -> DataStreamWriter:
        """All streams as one, routed to the engines; a micro-batch ends at the sink."""
        slots = source.slots(self._plan, self._sources)
        placed = self._partitions
        lies = placed.placement, placed.heavy
        labelled = routed(slots, self._plan.layout, self._plan.streams, lies, placed.labels)
        pack = Pack(self._plan, placed.labels, placed.retired, placed.since)
        packed = labelled.mapInArrow(Shipped(pack), PACKED)
        keep = Keep(
            self._setting,
            self._bases,
            self._tells,
            self._letters is not None,
            b"" if self._sinks is None else self._sinks.pickled(),
        )
        processor = ShippedProcessor(keep)
        moved = packed.groupBy(LABEL).transformWithState(processor, MOVED, "update", "none")
        moved = moved.observe(OBSERVED, *self._counts.columns("counts"))
        # Spark reads both when the stream starts, and keeps them with its checkpoint.
        self._set(_PROVIDER, _ROCKSDB, lambda given: "RocksDB" not in given)
        # Else each micro-batch writes files of RocksDB for each partition.
        self._set(_CHANGELOG, "true", lambda given: True)
        self._set(_SHUFFLE, str(self._partitions.spread), lambda given: True)
        return moved.writeStream.outputMode("update").foreachBatch(self.take)

    def view(self, name: str) -> View:
        """A view as it was after the last micro-batch; it stays so.

        Raises:
            UnknownViewError: There is none of this name.
            RingviewError: The stream was stopped.
        """
        if name not in self._plan.views:
            raise UnknownViewError(f'no view "{name}"{did_you_mean(name, self._plan.views)}')
        if self._open is None:
            raise RingviewError("the stream was stopped")
        while True:
            batch = self._last
            try:
                return self._view(name, batch)
            except PySparkException as raised:
                # The version may have been removed, if there were two micro-batches meanwhile.
                if self._last == batch:
                    raise (error_of(raised) or raised) from None

    def _view(self, name: str, batch: int) -> View:
        of = self._spark, self._plan, self._setting, self._bases, self._checkpoint
        return versions.view(*of, name, batch)

    def close(self) -> None:
        """Wait for the micro-batch that runs, and release the checkpoint."""
        self._unset()
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    def _begin(self) -> None:
        """Load the static tables, into files that partitions begin with."""
        if not self._plan.static:
            return
        rows = as_rows(self._plan.static)
        slots = source.slots(rows, self._sources)
        folder = self._partitions.folder(self._checkpoint)
        with raising():
            versions.begin(slots, self._partitions, self._setting, rows, folder)

    def _begun(self) -> Bases:
        """First rows of partitions; those that Spark keeps are removed once none needs them."""
        folder = self._partitions.folder(self._checkpoint)
        if isinstance(folder, Remote) and folder.exists() and self._checkpoint.has_begun:
            with raising():
                is_needed = versions.need(self._spark, self._setting, self._checkpoint, self._last)
            if not is_needed:
                folder.remove()
        with raising():
            return versions.bases(self._spark, folder)

    def _added_up(self) -> Gathered | None:
        """The views of the driver as of the last micro-batch, if there is a sink for them."""
        if self._sink is None:
            return None
        of = self._spark, self._plan, self._setting, self._bases, self._checkpoint
        with raising():
            found = versions.gathered(*of, self._last)
        if self._last >= 0:
            # The sink has all of it.
            found.add([])
        return found

    def _take(self, rows: DataFrame, batch_id: int) -> None:
        self._unset()
        if self._open is None:
            raise RingviewError("the stream was stopped")
        self._open.check()
        with raising():
            found = rows.toArrow().to_pylist()
        found.sort(key=lambda row: (row["view"], row["partition"]))
        views = dict(enumerate(self._setting.plan.views))
        of = {number: _together(found, number) for number in (LETTERS, *views)}
        sent = {views[number]: of[number] for number in views}
        moved = {name: table for name, table in sent.items() if table is not None}
        changes = self._whole(moved)
        state = self._checkpoint.state
        unsent.forget_before(state, batch_id)
        if self._sink is not None:
            changes = unsent.with_evolutions(state, batch_id, changes, self._plan.views)
        self._last = batch_id
        counts = [row for row in found if row["view"] == COUNTS]
        self._metrics = self._counted(batch_id, counts, changes)
        if self._sink is not None:
            # The first time it is given every view, for the columns that they have.
            first = versions.nothing(self._plan) if batch_id == 0 else {}
            elsewhere = {} if self._sinks is None else self._sinks.by_view
            for name, table in {**first, **changes}.items():
                if name not in elsewhere:
                    self._sink(name, batch_id, table)
        self._send_letters(of[LETTERS], batch_id)

    def _whole(self, moved: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Changes of all views, from those that partitions sent of theirs."""
        if self._gathered is None:
            return dict(moved)
        gathered = self._setting.gathered
        parts = [(name, table) for name, table in moved.items() if name in gathered]
        whole = {**moved, **dict.fromkeys(gathered), **self._gathered.add(parts)}
        return {name: table for name in self._plan.views if (table := whole.get(name)) is not None}

    def _begin_sinks(self) -> None:
        """Call `begin` of sinks with the identity, and find the batches that are repeated."""
        identity, is_new = self._checkpoint.identity, self._last < 0
        if self._sink is not None:
            begin(self._sink, identity, list(self._plan.views), is_new)
        if self._sinks is not None:
            for folder in unsent.evolutions(self._checkpoint.state, self._last + 1):
                if told := self._sinks.by_view.keys() & (unsent.read(folder) or {}).keys():
                    raise UnsupportedError(
                        f'view "{min(told)}" is new in the checkpoint, and what it holds is told '
                        f"on the driver with micro-batch {self._last + 1}: give it sink=.. for "
                        "that one"
                    )
            self._sinks.begin(identity, is_new)
        if self._letters is not None:
            placed = self._partitions
            names = [table.name for table in self._plan.streams]
            copied = [name for name in names if placed.placement[name] is None]
            copied += [] if placed.heavy is None else placed.heavy.copied
            if copied:
                raise UnsupportedError(
                    f'on_error="dead_letter": rows of table "{copied[0]}" lie in every partition, '
                    "and one might be refused in some and not in others; let them end the stream, "
                    'or keep it with mode="driver"'
                )
            begin(self._letters, identity, [letters.NAME], not self._has_letters.exists())
        # A target may have wrong letters of a repeated batch, if the source was mended.
        self._again = self._last + 1 if self._checkpoint.has_noted(self._last + 1) else None

    def _send_letters(self, found: pa.Table | None, batch_id: int) -> None:
        """Pass on the dead letters of a micro-batch; of a repeated one even if there are none."""
        if self._letters is None or (found is None and batch_id != self._again):
            return
        found = letters.SCHEMA.empty_table() if found is None else letters.in_order(found)
        letters.send(self._letters, batch_id, found)
        if not self._has_letters.exists():
            locations.write(self._has_letters, b"")

    @property
    def _has_letters(self) -> Location:
        """The file that is there once the target of dead letters took some."""
        return self._checkpoint.state / "letters"

    def _counted(
        self, batch_id: int, rows: list[dict[str, Any]], changes: Mapping[str, pa.Table]
    ) -> dict[str, Any]:
        """Metrics of a micro-batch from the counts of its partitions, and its changes."""
        counts = self._counts
        for row in rows:
            self._bytes[row["partition"]] = counts.added([row["counts"]])["state_bytes"]
        found = counts.added(row["counts"] for row in rows)
        placed, heavy = self._partitions.placement, self._partitions.heavy
        if rows and self._plan.watermarked:
            self._clock = moment(found[CLOCK]).isoformat()
        return {
            "batch_id": batch_id,
            "rows": by(ROWS, found),
            LATE: {name: found[f"{LATE}.{name}"] for name in self._plan.histories},
            letters.NAME: by(letters.NAME, found),
            **self._timed(found),
            "moved": self._moved(by(MOVED_ROWS, found), changes),
            "engine_seconds": found["engine_nanoseconds"] / 1e9,
            "state_bytes": sum(self._bytes.values()),
            "engines": {
                "found": found["engines.found"],
                "rebuilt": found["engines.rebuilt"],
            },
            "partitions": {
                "touched": len(rows),
                "snapshots": found["snapshots"],
                "bytes": found["log_bytes"] + found["snapshot_bytes"],
                "copied": [table.name for table in self._plan.tables if placed[table.name] is None],
                "heavy": {} if heavy is None else {n: list(heavy.values) for n in heavy.spread},
            },
        }

    def _moved(self, counted: Mapping[str, int], changes: Mapping[str, pa.Table]) -> dict[str, int]:
        """The rows that moved, by view: where partitions have parts, those of the whole."""
        if self._gathered is None:
            return dict(counted)
        names = self._gathered.names
        apart = {name: number for name, number in counted.items() if name not in names}
        return apart | {name: changes[name].num_rows for name in names if name in changes}

    def _timed(self, found: Mapping[str, int]) -> dict[str, Any]:
        """Metrics of the clock, if the stream has one."""
        if not self._plan.watermarked:
            return {}
        expired = {table.name: found[f"{EXPIRED}.{table.name}"] for table in self._plan.expiring}
        return {CLOCK: self._clock, EXPIRED: expired}

    def _set(self, name: str, value: str, where: Callable[[str], bool]) -> None:
        given = self._spark.conf.get(name, None)
        if where(given or ""):
            self._settings[name] = given
            self._spark.conf.set(name, value)

    def _unset(self) -> None:
        """Give the session back what it had."""
        while self._settings:
            name, given = self._settings.popitem()
            if given is None:
                self._spark.conf.unset(name)
            else:
                self._spark.conf.set(name, given)


def _count(spark: Any, asked: int | None) -> int:
    if asked is not None:
        return asked
    given = spark.conf.get(_SHUFFLE, "200")
    shuffle = int(given) if given.isdigit() else 200
    return min(shuffle, cores(spark) or shuffle)


def _together(found: list[dict[str, Any]], number: int) -> pa.Table | None:
    """The rows that partitions sent under a number; None if there are none."""
    messages = [row["message"] for row in found if row["view"] == number]
    return unpacked(messages) if messages else None
