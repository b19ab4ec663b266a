"""DataFrames in and out of the slots that partitions read.

Invariant: a row of a routed relation reaches one partition, a row of a broadcast
relation reaches every partition, and no partition is split or merged on the way.
Cost: one shuffle of the needed columns; none if there is one relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from ringview.spark.route import Route
from ringview.spark.slots import ATOM, MULTIPLICITY, NOBODY, PARTITION, Layout
from ringview.spark.types import to_spark

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FLOATS = (pa.float32(), pa.float64())


def union_of_slots(
    frames: Sequence[DataFrame],
    schemas: Sequence[pa.Schema],
    multiplicities: Sequence[str | None],
    layout: Layout,
    route: Route,
    partitions: int,
) -> DataFrame:
    """The rows of every atom's frame, in slots and in the partitions they are needed in."""
    parts = [
        frame.select(
            sf.lit(atom).cast("smallint").alias(ATOM),
            _partition(atom, schema, route, partitions).alias(PARTITION),
            (column(name) if name else sf.lit(1)).cast("bigint").alias(MULTIPLICITY),
            *_slots(layout, layout.places[atom], schema),
        )
        for atom, (frame, schema, name) in enumerate(
            zip(frames, schemas, multiplicities, strict=True)
        )
    ]
    union = reduce(DataFrame.union, [*parts, _nobody(frames[0], layout)])
    if len(frames) == 1:
        # One relation may lie anywhere: its partial results are added anyway.
        return union
    return union.repartitionById(partitions, sf.col(PARTITION))


def column(name: str) -> Column:
    """The column called ``name``, whatever characters are in it."""
    return sf.col("`" + name.replace("`", "``") + "`")


def without_nulls(frame: DataFrame, names: Mapping[int, str], atom: int) -> DataFrame:
    """``frame`` without the rows that cannot join: NULL never does."""
    return frame.where(column(names[atom]).isNotNull()) if atom in names else frame


def _slots(layout: Layout, places: Sequence[int], schema: pa.Schema) -> list[Column]:
    holds = dict(zip(places, schema.names, strict=True))
    return [
        (column(holds[slot]) if slot in holds else sf.lit(None)).cast(to_spark(kind)).alias(name)
        for slot, (name, kind) in enumerate(zip(layout.names, layout.slots, strict=True))
    ]


def _partition(atom: int, schema: pa.Schema, route: Route, partitions: int) -> Column:
    if atom in route.columns:
        name = route.columns[atom]
        return _hashed([_alike(column(name), schema.field(name).type)], partitions)
    if atom == route.scattered:
        # By value and not by position, so that a task that runs twice does the same.
        return _hashed([column(name) for name in schema.names], partitions)
    return sf.explode(sf.sequence(sf.lit(0), sf.lit(partitions - 1)))


def _hashed(columns: list[Column], partitions: int) -> Column:
    return sf.pmod(sf.hash(*columns), sf.lit(partitions)).cast("int")


def _alike(value: Column, kind: pa.DataType) -> Column:
    """Values that join must hash alike: integers of all widths, 0.0 and -0.0."""
    if kind in _INTEGERS:
        return value.cast("bigint")
    return value + sf.lit(0.0) if kind in _FLOATS else value


def _nobody(frame: DataFrame, layout: Layout) -> DataFrame:
    """One row of no relation: over empty tables too, a partition runs and says COUNT = 0."""
    return frame.sparkSession.range(1).select(
        sf.lit(NOBODY).cast("smallint").alias(ATOM),
        sf.lit(0).alias(PARTITION),
        sf.lit(0).cast("bigint").alias(MULTIPLICITY),
        *_slots(layout, (), pa.schema([])),
    )
