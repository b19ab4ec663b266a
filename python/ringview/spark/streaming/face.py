"""`stream`: views that follow streams of Spark.

Invariant: nothing runs before `start`; `stream` raises errors of the query, `start` those of a
checkpoint. Cost: that of planning.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal
from weakref import WeakValueDictionary

from pyspark.sql import DataFrame, SparkSession

from ringview.errors import InvalidValueError
from ringview.queries import Parameters
from ringview.sinks.protocol import Sink
from ringview.spark.releases import STATE, require
from ringview.spark.session import use_this_python
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.evolving import Columns, evolve, widened
from ringview.spark.streaming.letters import target_of
from ringview.spark.streaming.partitioned.moving import move
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.progress import watch
from ringview.spark.streaming.query import StreamQuery
from ringview.spark.streaming.sinks import Ends, PartitionSink, PartitionSinks, sink_of
from ringview.spark.streaming.source import Keys, Named, Source, Times, prepare
from ringview.spark.streaming.state import State

Mode = Literal["driver", "partitioned"]
OnError = Literal["fail", "dead_letter"]
Trigger = str | Mapping[str, Any]


def stream(
    views: Mapping[str, str],
    tables: Mapping[str, DataFrame],
    *,
    multiplicity: Named | None = None,
    op: Named | None = None,
    keys: Keys | None = None,
    order: Named | None = None,
    keep_for: Times | None = None,
    watermark: Times | None = None,
    parameters: Parameters | None = None,
    dialect: str = "duckdb",
) -> Stream:
    """Views over streams of Spark, exact after every micro-batch.

    Columns that say how rows count are no columns of the tables.

    Args:
        views: SQL by name, as `ringview.Database.create_view` takes it; views read tables, and
            views before them.
        tables: The DataFrame of every table that views name, at least one of them a stream. Those
            that are no streams are loaded once, at the first start, and stay as they were then.
        multiplicity: The integer column that says how often a row is inserted, negative for
            deletes; of all streams, or by table. A micro-batch counts by its net effect.
        op: The column of words that say what a row does, as `ringview.Database.apply` takes them;
            of all streams, or by table. A frame that also has `before` and `after`, as Debezium
            writes them, is read as such. Without `keys` only whole rows are inserted and deleted.
        keys: The columns that identify the rows of a table, by table. A stream with keys, and
            neither `multiplicity` nor `op`, brings rows that take the place of those with their
            key.
        order: The column that orders the changes of a key, such as an offset or a time; of all
            streams, or by table. With it the last change of a key counts, whichever micro-batch it
            is in; its place is kept for every key that ever was. Spark keeps no order within a
            micro-batch: without one, inserts precede updates, and updates deletes. Two changes of a
            key at the same place are refused.
        keep_for: By table a column of dates or timestamps and how long rows stay, as in
            ``{"orders": ("ts", "7 days")}``: a row leaves once its moment is so much before the
            clock of the stream, as `ringview.Database.create_table` says.
        watermark: By table the column of dates or timestamps that the clock follows, and how late
            rows may be, as in ``{"orders": ("ts", "10 minutes")}``. The clock is that much behind
            the greatest moment received; with several tables, at the slowest. It is the value of
            `now()` in a query, and begins in 1970. All partitions have the same.
        parameters: As for `ringview.Database.create_views`.
        dialect: As there.

    Raises:
        UnknownTableError, UnknownColumnError, TypeMismatchError, InvalidValueError: A name or a
            type that does not fit.
        UnsupportedError: Spark Connect.
        Others: As `ringview.Database.create_view`.

    Example:
        ::

            query = rs.stream(
                {"spent": "SELECT customer, SUM(total) AS total FROM orders GROUP BY customer"},
                tables={"orders": spark.readStream.schema(schema).parquet("orders")},
                multiplicity="times",
            )
            with query.write_stream(checkpoint="state", sink=rs.ParquetSink("out")).start() as q:
                q.process_all_available()
                q["spent"].to_arrow()
    """
    plan, sources = prepare(
        views, tables, multiplicity, op, keys, order, parameters, dialect, keep_for, watermark
    )
    return Stream(plan, sources)


class Stream:
    """Views and the streams that they follow; made by `stream`."""

    def __init__(self, plan: Plan, sources: Mapping[str, Source]) -> None:
        self.plan = plan
        self._sources = sources

    def write_stream(
        self,
        checkpoint: str | os.PathLike[str],
        sink: Sink | Mapping[str, Sink] | None = None,
        *,
        mode: Mode = "driver",
        trigger: Trigger | None = None,
        name: str | None = None,
        partitions: int | None = None,
        partition_sink: PartitionSink | Mapping[str, PartitionSink] | None = None,
        on_error: OnError = "fail",
        dead_letters: str | os.PathLike[str] | Sink | None = None,
        memory_limit: int | str | None = None,
    ) -> StreamWriter:
        """A writer that runs the stream; its `start` begins it.

        Args:
            checkpoint: A folder of this stream alone, on the driver's machine or mounted there; or
                a URI where Spark reads and writes, such as "s3a://bucket/spent". A stream that is
                started with it again resumes where it was.
            sink: The target of changes: called as ``sink(view, batch_id, changes)`` for each view
                that a micro-batch moved, with an Arrow table as `ringview.View.changes` gives; a
                `ParquetSink`; or a dict of these by view. Its first batch has all rows of every
                view, even if there are none. After a crash it may be given the last batch again,
                with the same rows. One that has a method ``begin(checkpoint, views, is_new)`` gets
                the checkpoint's identity at each start, the names of the views that it is given,
                and whether it took none of this checkpoint's batches yet.
            mode: Where the state is. "driver": in one engine on the driver. "partitioned": in one
                engine for each partition, beside Spark's workers, which have the checkpoint's
                folder mounted too, unless it is a URI. Views are then such that no group has rows
                in two partitions.
            trigger: How often a micro-batch begins: "5 seconds"; "available now" ends the stream
                once all that is there was taken; or what `DataStreamWriter.trigger` takes, as a
                dict. By default as soon as the one before is done.
            name: Of the query, in Spark's progress and pages.
            partitions: With mode="partitioned", how many; by default those of the checkpoint, else
                ``spark.sql.shuffle.partitions``, on one machine at most one a core.
            partition_sink: With mode="partitioned", the target of changes from the workers, in
                parallel: called as ``sink(partition, batch_id, changes)`` where a partition has
                rows that moved; or a dict of these by view. It is pickled. A task that Spark runs
                again calls it again, with the same rows under the same numbers. A method ``begin``
                is called as that of ``sink``, on the driver. ``sink`` is not given these views.
            on_error: Treatment of rows that break a contract: a NULL in a key, a delete of an
                absent row, a key that is taken, a word that says no change, .. "fail" ends the
                stream. With "dead_letter" they are sent to ``dead_letters``, and the other rows of
                the micro-batch count as if there had been no others.
            dead_letters: Their target: a folder, which gets a file of JSON lines for each
                micro-batch that has some; or a sink as above, called with the name "dead_letters":
                a `ParquetSink`, or a function. Columns are "batch_id", "table", "row" as JSON,
                "error" and "reason".
            memory_limit: What the engine may take, as for `ringview.Database`; of each partition,
                where it is by default what `spark.executor.memoryOverhead` leaves it on a cluster.
                A micro-batch beyond it ends the stream, and nothing of it counts.

        Raises:
            InvalidValueError, UnknownViewError, TypeMismatchError, ExistsError: Arguments that
                exclude each other, or are none.
            UnsupportedError: The PySpark that is installed has not what the mode needs.

        Complexity: see `ringview.spark.streaming`; letters cost O(log rows) attempts a row.

        Example:
            ::

                writer = query.write_stream(
                    "state", sink, on_error="dead_letter", dead_letters="refused"
                )
        """
        if (partitions is not None or partition_sink is not None) and mode != "partitioned":
            what = "partitions" if partitions is not None else "partition_sink"
            raise InvalidValueError(f'{what}= goes with mode="partitioned"')
        views = self.plan.views
        ends = Ends(
            sink_of(sink, views),
            PartitionSinks.of(partition_sink, views),
            target_of(on_error, dead_letters, views),
        )
        return StreamWriter(
            self.plan,
            self._sources,
            Checkpoint(checkpoint, self._spark),
            ends,
            _mode(mode),
            _trigger(trigger),
            name,
            partitions,
            memory_limit,
        )

    def repartition(
        self,
        checkpoint: str | os.PathLike[str],
        partitions: int,
        *,
        split_heavy: bool = False,
    ) -> None:
        """Move the state of a stream with mode="partitioned" to another number of partitions.

        The stream must not run. It continues with the checkpoint as if it had always had that
        number; killed in between, it continues as it was. The stream's first number of partitions
        limits the engines that work at once, for Spark's own state has as many parts.

        Args:
            checkpoint: Its folder.
            partitions: How many engines from now on.
            split_heavy: Whether rows of values that are too frequent for one engine are spread over
                all of them: values that more than half of an engine's share of a stream's rows have
                by now. The rows of other tables with these values are copied to all engines, and
                what they have of a group is added up on the driver. The next move decides anew.

        Warns:
            CostWarning: There are such values, and they stay where they are; the message says why.

        Raises:
            CheckpointError: It is of another query or mode, or has no micro-batch yet.
            StorageError: It cannot be written, or the stream runs.
            UnsupportedError: The PySpark that is installed has not what the mode needs.

        Complexity: one shuffle of all rows that are there; every view is filled anew.

        Example:
            ::

                query.repartition("state", partitions=64)
                query.write_stream(checkpoint="state", sink=sink, mode="partitioned").start()
        """
        require(STATE, 'a stream with mode="partitioned"', "move its state where it runs")
        at = Checkpoint(checkpoint, self._spark)
        plan = widened(self.plan, self._sources, at)
        move(plan, self._sources, at, partitions, split_heavy=split_heavy)

    def evolve(
        self, checkpoint: str | os.PathLike[str], *, new_columns: Columns | None = None
    ) -> None:
        """Let a checkpoint of another query be of this one: other views, more columns.

        The stream must not run. Views that are new or have another text are filled from the rows
        that the checkpoint keeps; no row of a stream is read again. The sink is given the resulting
        changes with the next micro-batch: of a new view all rows, of a replaced one the rows that
        are deleted and those that are inserted, of a dropped one nothing. Killed in between, the
        stream continues as it was, or does not start until it was evolved again.

        Args:
            checkpoint: Its folder.
            new_columns: By table the columns that the checkpoint does not keep and that views read
                now. Somebody must vouch for them: earlier rows have NULL there, which is right
                where the source has the column only from now on.

        Raises:
            CheckpointError: Something differs beside views and columns that are named; the sink
                has not taken the last micro-batch.
            UnsupportedError: A view that a sink was given would have other columns, or is not kept
                in partitions.
            InvalidValueError: A new column is none.
            StorageError: It cannot be written, or the stream runs; by a URI, where there are no
                locks, one that runs ends with its next micro-batch.

        Complexity: as `ringview.Database.create_view` for each view that is filled; those that are
        replaced are read whole. With mode="partitioned" as `repartition`.

        Example:
            ::

                more = rs.stream({**views, "by_day": "SELECT day, COUNT(*) .."}, tables)
                more.evolve("state")
                more.write_stream("state", sink).start()
        """
        at = Checkpoint(checkpoint, self._spark)
        evolve(self.plan, self._sources, at, new_columns or {})

    @property
    def _spark(self) -> SparkSession:
        return next(iter(self._sources.values())).frame.sparkSession

    def __repr__(self) -> str:
        return f"Stream({', '.join(self.plan.views)})"


# By folder, so that a stream that ended releases its state when the next one is started.
_started: WeakValueDictionary[str, StreamQuery] = WeakValueDictionary()


class StreamWriter:
    """A stream with its checkpoint and its sink, ready to start."""

    def __init__(
        self,
        plan: Plan,
        sources: Mapping[str, Source],
        checkpoint: Checkpoint,
        ends: Ends,
        mode: Mode,
        trigger: Mapping[str, Any] | None,
        name: str | None,
        partitions: int | None,
        memory_limit: int | str | None,
    ) -> None:
        self._plan, self._sources = plan, sources
        self._checkpoint, self._ends = checkpoint, ends
        self._mode, self._trigger, self._name = mode, trigger, name
        self._partitions, self._memory_limit = partitions, memory_limit

    def start(self) -> StreamQuery:
        """Begin, or resume where the stream with this checkpoint was.

        Raises:
            CheckpointError: The checkpoint is of another query, or lacks a part; the message says
                what.
            StorageError: It cannot be opened, or another stream has it open; by a URI, where there
                are no locks, one of the two ends with its next micro-batch.
            UnsupportedError: The mode cannot keep these views.
        """
        place = str(self._checkpoint.folder.resolve())
        before = _started.get(place)
        if before is not None and not before.is_active:
            before.stop()
        for source in self._sources.values():
            use_this_python(source.frame.sparkSession)
        state = self._state()
        try:
            writer = state.writer().option("checkpointLocation", self._checkpoint.location)
            if self._trigger is not None:
                writer = writer.trigger(**self._trigger)
            if self._name is not None:
                writer = writer.queryName(self._name)
            query = StreamQuery(writer.start(), state, list(self._plan.views))
            watch(str(query.query.runId), state)
        except BaseException:
            state.close()
            raise
        _started[place] = query
        return query

    def _state(self) -> State:
        sources, checkpoint, ends = self._sources, self._checkpoint, self._ends
        plan = widened(self._plan, sources, checkpoint)
        if self._mode == "driver":
            limit = self._memory_limit
            return DriverState(plan, sources, checkpoint, ends.sink, ends.letters, limit)
        # PySpark before 4.0 has no processors, of which its own is one.
        from ringview.spark.streaming.partitioned.state import PartitionedState

        return PartitionedState(
            plan,
            sources,
            checkpoint,
            ends.sink,
            self._partitions,
            ends.letters,
            ends.in_partitions,
            self._memory_limit,
        )


def _mode(given: Mode) -> Mode:
    if given not in ("driver", "partitioned"):
        raise InvalidValueError(f'mode is "driver" or "partitioned", not {given!r}')
    if given == "partitioned":
        require(STATE, 'mode="partitioned"', 'keep the stream with mode="driver"')
    return given


def _trigger(given: Trigger | None) -> Mapping[str, Any] | None:
    if given is None or isinstance(given, Mapping):
        return given
    if not isinstance(given, str):
        raise InvalidValueError(
            f'trigger={given!r}; give "available now", an interval such as "5 seconds", or a dict'
        )
    return {"availableNow": True} if given == "available now" else {"processingTime": given}
