"""Versions of the state as DataFrames: to look at views, to begin, and to move rows.

Spark's own reader gives what its state store holds as of a micro-batch; together with what
partitions begin with that is all of the state. Invariant: a version is read as of one micro-batch,
whatever runs meanwhile. Cost: a job over the state store; for a view, a second one over the
segments of partitions whose engine no worker has live.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from ringview import Database
from ringview.spark.exchange import to_partitions
from ringview.spark.ship import Shipped
from ringview.spark.slots import PARTITION
from ringview.spark.streaming import paths
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.locations import Location
from ringview.spark.streaming.partitioned.bases import SENT, Bases, FileBases, SentBases
from ringview.spark.streaming.partitioned.gathered import Gathered
from ringview.spark.streaming.partitioned.layout import Partitions
from ringview.spark.streaming.partitioned.routing import LABEL, PACKED, Pack, routed, unpacked
from ringview.spark.streaming.partitioned.setting import Setting
from ringview.spark.streaming.partitioned.worker import LOOKED, VERSION, Begin, Look
from ringview.spark.streaming.plan import Plan
from ringview.view import View


def last(checkpoint: Checkpoint) -> int:
    """The last micro-batch that Spark notes as done; -1 if there is none."""
    done = (checkpoint.spark / "commits").glob("[0-9]*")
    return max((int(path.name) for path in done if path.name.isdigit()), default=-1)


def version(
    spark: SparkSession,
    setting: Setting,
    checkpoint: Checkpoint,
    batch: int,
    partitions: Collection[int] | None = None,
    *,
    reads: bool = True,
) -> DataFrame:
    """A version of the state: rows of ``VERSION``, each partition's in one task.

    Args:
        spark: The session.
        setting: The options of the stream for workers.
        checkpoint: Where the state is.
        batch: The micro-batch behind which the version is.
        partitions: Of these alone; by default of all.
        reads: Whether the segments are in it.
    """
    count = len(setting.partitions)
    there = spark.range(count).select(
        sf.col("id").cast("int").alias(PARTITION),
        *[sf.lit(None).cast(kind).alias(name) for name, kind in _columns()],
    )
    if batch >= 0:
        there = there.union(_metas(spark, setting, checkpoint, batch))
        if reads:
            there = there.union(_segments(spark, setting, checkpoint, batch))
    if partitions is not None:
        there = there.where(sf.col(PARTITION).isin(list(partitions)))
    return to_partitions(there, count, sf.col(PARTITION))


def view(
    spark: SparkSession,
    plan: Plan,
    setting: Setting,
    bases: Bases,
    checkpoint: Checkpoint,
    name: str,
    batch: int,
) -> View:
    """A view of a plan as of a micro-batch."""
    if name in setting.plan.views:
        found = Gathered(plan, [name])
        parts: Iterable[str] = [name]
    else:
        over = [view for view in plan.views if view not in setting.plan.views]
        parts = setting.gathered
        found = Gathered(plan, parts, over)
    found.add(looked(spark, setting, bases, checkpoint, parts, batch))
    return found[name]


def gathered(
    spark: SparkSession,
    plan: Plan,
    setting: Setting,
    bases: Bases,
    checkpoint: Checkpoint,
    batch: int,
) -> Gathered:
    """The driver's views as of a micro-batch; all changes up to it were sent."""
    over = [view for view in plan.views if view not in setting.plan.views]
    found = Gathered(plan, setting.gathered, over)
    if setting.gathered and batch >= 0:
        found.add(looked(spark, setting, bases, checkpoint, setting.gathered, batch, told=True))
    return found


def looked(
    spark: SparkSession,
    setting: Setting,
    bases: Bases,
    checkpoint: Checkpoint,
    views: Iterable[str],
    batch: int,
    *,
    told: bool = False,
) -> Iterator[tuple[str, pa.Table]]:
    """The partials of views that partitions have as of a micro-batch.

    Of live engines first, and then of those that are made of their segments.
    """
    wanted = tuple(views)
    shown = version(spark, setting, checkpoint, batch, reads=False)
    look = Shipped(Look(setting, bases, wanted, False, told))
    found = shown.mapInArrow(look, LOOKED).toArrow().to_pylist()
    lacking = {row["partition"] for row in found if row["message"] is None}
    if lacking:
        shown = version(spark, setting, checkpoint, batch, lacking)
        look = Shipped(Look(setting, bases, wanted, True, told))
        found += shown.mapInArrow(look, LOOKED).toArrow().to_pylist()
    for row in found:
        if row["message"] is not None:
            yield row["view"], unpacked([row["message"]])


def nothing(plan: Plan) -> dict[str, pa.Table]:
    """The changes of views that have none."""
    draft = Database()
    plan.create_tables(draft)
    plan.create_views(draft)
    return {name: draft[name].changes().slice(0, 0) for name in plan.views}


def begin(
    slots: DataFrame, partitions: Partitions, setting: Setting, rows: Plan, folder: Location
) -> None:
    """Write what partitions begin with, from the rows of some tables in slots."""
    lies = partitions.placement, partitions.heavy
    labelled = routed(slots, rows.layout, rows.streams, lies, partitions.labels)
    packed = labelled.mapInArrow(Shipped(Pack(rows)), PACKED)
    numbers = sf.create_map(*[sf.lit(each) for pair in setting.partitions.items() for each in pair])
    number = sf.element_at(numbers, sf.col(LABEL)).cast("int")
    together = to_partitions(packed, len(partitions.labels), number)
    files = FileBases(folder) if isinstance(folder, Path) else None
    slices = together.mapInArrow(Shipped(Begin(setting, files, rows)), SENT)
    if files is not None:
        slices.toArrow()
    else:
        slices.write.mode("overwrite").parquet(str(folder))


def bases(spark: SparkSession, folder: Location) -> Bases:
    """First rows of partitions, for the workers; sent to them where these cannot read them."""
    if isinstance(folder, Path):
        return FileBases(folder)
    if not folder.exists():
        return SentBases(None, str(folder))
    found: dict[int, list[bytes]] = {}
    for partition, message in spark.read.parquet(str(folder)).collect():
        found.setdefault(partition, []).append(bytes(message))
    return SentBases(spark.sparkContext.broadcast(found), str(folder))


def need(spark: SparkSession, setting: Setting, checkpoint: Checkpoint, batch: int) -> bool:
    """Whether a partition still needs what it began with, as of a micro-batch."""
    metas = version(spark, setting, checkpoint, batch, reads=False)
    whole = metas.where("token IS NOT NULL AND NOT has_base").select(PARTITION)
    return whole.count() < len(setting.partitions)


def _columns() -> list[tuple[str, str]]:
    named = [column.split() for column in VERSION.split(", ")]
    return [(name, kind) for name, kind in named if name != PARTITION]


def _metas(spark: SparkSession, setting: Setting, checkpoint: Checkpoint, batch: int) -> DataFrame:
    frame = _read(spark, checkpoint, batch, "meta")
    return _rows(frame, setting, {"value": ("token", "has_base", "slice", "rows", "log")})


def _segments(
    spark: SparkSession, setting: Setting, checkpoint: Checkpoint, batch: int
) -> DataFrame:
    frame = _read(spark, checkpoint, batch, "segments", flattenCollectionTypes="true")
    holds = {"user_map_key": ("kind", "number"), "user_map_value": ("batch", "message")}
    return _rows(frame, setting, holds)


def _read(
    spark: SparkSession, checkpoint: Checkpoint, batch: int, name: str, **options: str
) -> DataFrame:
    reader = spark.read.format("statestore").option("stateVarName", name).option("batchId", batch)
    return reader.options(**options).load(paths.for_state_reader(spark, checkpoint.spark))


def _rows(frame: DataFrame, setting: Setting, holds: Mapping[str, Sequence[str]]) -> DataFrame:
    """A state variable, which has fields in its columns, in the columns of a version."""
    numbers = sf.create_map(*[sf.lit(each) for pair in setting.partitions.items() for each in pair])
    number = sf.element_at(numbers, sf.col("key").getField(LABEL)).cast("int")
    found = {name: sf.col(column).getField(name) for column in holds for name in holds[column]}
    return frame.select(
        number.alias(PARTITION),
        *[found.get(name, sf.lit(None)).cast(kind).alias(name) for name, kind in _columns()],
    ).where(sf.col(PARTITION).isNotNull())
