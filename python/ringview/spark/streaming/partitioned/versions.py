"""Versions of the state as DataFrames: to look at views, to begin, and to move rows.

Spark's own reader gives what its state store holds as of a micro-batch; together with the
snapshots beside it that is all of the state. Invariant: a version is read as of one micro-batch,
whatever runs meanwhile. Cost: a job over the state store; engines that are live in a worker are not
read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from ringview import Database
from ringview.spark.ship import Shipped
from ringview.spark.slots import PARTITION
from ringview.spark.streaming import paths
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.partitioned.layout import Partitions
from ringview.spark.streaming.partitioned.routing import LABEL, PACKED, Pack, routed, unpacked
from ringview.spark.streaming.partitioned.setting import Setting
from ringview.spark.streaming.partitioned.worker import VERSION, Begin, Look
from ringview.spark.streaming.plan import Plan, TablePlan
from ringview.view import View


def last(checkpoint: Checkpoint) -> int:
    """The last micro-batch that Spark notes as done; -1 if there is none."""
    done = (checkpoint.spark / "commits").glob("[0-9]*")
    return max((int(path.name) for path in done if path.name.isdigit()), default=-1)


def version(spark: SparkSession, setting: Setting, checkpoint: Checkpoint, batch: int) -> DataFrame:
    """A version of the state: rows of ``VERSION``, each partition's in one task."""
    count = len(setting.partitions)
    there = spark.range(count).select(
        sf.col("id").cast("int").alias(PARTITION),
        *[sf.lit(None).cast(kind).alias(name) for name, kind in _columns()],
    )
    if batch >= 0:
        there = there.union(_metas(spark, setting, checkpoint, batch))
        there = there.union(_logs(spark, setting, checkpoint, batch))
    return there.repartitionById(count, sf.col(PARTITION))


def view(
    spark: SparkSession, setting: Setting, checkpoint: Checkpoint, name: str, batch: int
) -> View:
    """A view as of a micro-batch."""
    look = Shipped(Look(setting, name))
    found = version(spark, setting, checkpoint, batch).mapInArrow(look, "message binary").toArrow()
    return merged(setting.plan, name, (message.as_py() for message in found["message"]))


def nothing(plan: Plan) -> dict[str, pa.Table]:
    """The changes of views that have none."""
    draft = Database()
    plan.create_tables(draft)
    plan.create_views(draft)
    return {name: draft[name].changes().slice(0, 0) for name in plan.views}


def merged(plan: Plan, name: str, messages: Iterable[bytes]) -> View:
    """A view of which partitions have parts."""
    shown = Database()
    plan.create_tables(shown)
    plan.create_views(shown)
    for message in messages:
        shown[name].merge(unpacked([message]))
    return shown[name]


def as_rows(tables: Sequence[TablePlan]) -> Plan:
    """Tables as if they were streams of rows with multiplicities."""
    plain = [replace(table, static=False, changes="rows", order=None) for table in tables]
    return Plan(tuple(plain), {})


def begin(slots: DataFrame, partitions: Partitions, setting: Setting, rows: Plan) -> None:
    """Write what partitions begin with, from the rows of some tables in slots."""
    labelled = routed(slots, rows.layout, rows.streams, partitions.placement, partitions.labels)
    packed = labelled.mapInArrow(Shipped(Pack(rows.layout)), PACKED)
    numbers = sf.create_map(*[sf.lit(each) for pair in setting.partitions.items() for each in pair])
    number = sf.element_at(numbers, sf.col(LABEL)).cast("int")
    together = packed.repartitionById(len(partitions.labels), number)
    together.mapInArrow(Shipped(Begin(setting, rows)), "nothing int").toArrow()


def _columns() -> list[tuple[str, str]]:
    named = [column.split() for column in VERSION.split(", ")]
    return [(name, kind) for name, kind in named if name != PARTITION]


def _metas(spark: SparkSession, setting: Setting, checkpoint: Checkpoint, batch: int) -> DataFrame:
    names = ("token", "snapshot", "batches", "bytes")
    return _rows(
        _read(spark, checkpoint, batch, "meta"),
        setting,
        {name: sf.col("value").getField(name) for name in names},
    )


def _logs(spark: SparkSession, setting: Setting, checkpoint: Checkpoint, batch: int) -> DataFrame:
    frame = _read(spark, checkpoint, batch, "log", flattenCollectionTypes="true")
    names = ("batch", "message")
    return _rows(frame, setting, {name: sf.col("list_element").getField(name) for name in names})


def _read(
    spark: SparkSession, checkpoint: Checkpoint, batch: int, name: str, **options: str
) -> DataFrame:
    reader = spark.read.format("statestore").option("stateVarName", name).option("batchId", batch)
    return reader.options(**options).load(paths.for_state_reader(spark, checkpoint.spark))


def _rows(frame: DataFrame, setting: Setting, holds: dict[str, object]) -> DataFrame:
    """What a state variable holds, in the columns of a version."""
    numbers = sf.create_map(*[sf.lit(each) for pair in setting.partitions.items() for each in pair])
    number = sf.element_at(numbers, sf.col("key").getField(LABEL)).cast("int")
    return frame.select(
        number.alias(PARTITION),
        *[
            (holds[name] if name in holds else sf.lit(None)).cast(kind).alias(name)  # type: ignore[attr-defined]
            for name, kind in _columns()
        ],
    ).where(sf.col(PARTITION).isNotNull())
