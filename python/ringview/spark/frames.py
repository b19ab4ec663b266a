"""DataFrames in and out of the slots that cells read.

Invariant: each row is scanned once, and goes to the cells that `grid.cells` tells, once for each
role that it has there; no cell is split or merged on the way. Rows that no reader takes, by its
filter or for a NULL in what it joins on, are left out before they move.
Cost: one shuffle of the needed columns; none where a table stays in place, or one cell was asked
for. Tables that are sent along come in one job, and take no slots of those that move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add, and_, or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from ringview import _native
from ringview.spark.grid import Along
from ringview.spark.partition import Relation
from ringview.spark.slots import ATOM, MULTIPLICITY, NOBODY, PARTITION, Layout, with_multiplicity
from ringview.spark.stage import Stage
from ringview.spark.types import to_spark

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FLOATS = (pa.float32(), pa.float64())
_TARGET = "target"
_SAMPLE = 50_000


def in_cells(stage: Stage, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of every relation of a stage, in slots and in the cells they are needed in."""
    shuffled = stage.shuffled
    # In the order of the tables, so that the same query is the same job.
    parts = [_table(stage, numbers, frames[table]) for table, numbers in shuffled.items()]
    union = reduce(DataFrame.union, [*parts, _nobody(next(iter(frames.values())), stage.layout)])
    if stage.in_place is not None or stage.gathered:
        return union.coalesce(stage.cells)
    return union.repartitionById(stage.cells, sf.col(PARTITION))


def of_result(stage: Stage, number: int, found: DataFrame) -> DataFrame:
    """The rows of one of several results."""
    if stage.output is None:
        return found
    names = stage.output.names
    columns = [
        sf.col(names[place]).alias(name)
        for place, name in zip(
            stage.output.places[number], stage.results[number].schema.names, strict=True
        )
    ]
    return found.where(sf.col(ATOM) == number).select(*columns)


def column(name: str) -> Column:
    """The column called ``name``, whatever characters are in it."""
    return sf.col("`" + name.replace("`", "``") + "`")


def _table(stage: Stage, numbers: Sequence[int], frame: DataFrame) -> DataFrame:
    """The rows of one table for all of its relations."""
    relations = [stage.relations[number] for number in numbers]
    first = relations[0]
    taken = [_taken(stage, relation) for relation in relations]
    rest = _columns(stage.layout, numbers[0], first)
    wanted = _wanted(frame, taken)
    if stage.in_place is not None:
        return wanted.select(_atom(sf.lit(numbers[0])), sf.lit(0).alias(PARTITION), *rest)
    targets = [_targets(relation, stage.cells) for relation in relations]
    if len(relations) == 1 and isinstance(targets[0], Column):
        return wanted.select(_atom(sf.lit(numbers[0])), targets[0].alias(PARTITION), *rest)
    coded = [
        _coded(number, target, take if len(relations) > 1 else None, stage.cells)
        for number, target, take in zip(numbers, targets, taken, strict=True)
    ]
    exploded = wanted.select(
        sf.explode(sf.concat(*coded) if len(coded) > 1 else coded[0]).alias(_TARGET), *rest
    )
    code, cells = sf.col(_TARGET), sf.lit(stage.cells)
    return exploded.select(
        _atom(sf.floor(code / cells)),
        sf.pmod(code, cells).cast("int").alias(PARTITION),
        *(sf.col(name) for name in stage.layout.schema.names[2:]),
    )


def small(stage: Stage, frames: Mapping[str, DataFrame]) -> dict[str, pa.Table]:
    """The rows of tables, each for one of its relations, on the driver: in one job."""
    if not frames:
        return {}
    relations = [next(each for each in stage.relations if each.table == t) for t in frames]
    schemas = [relation.schema for relation in relations]
    layout = Layout.of(schemas, counted=any(relation.multiplicity for relation in relations))
    parts = []
    for number, relation in enumerate(relations):
        takers = [_taken(stage, each) for each in stage.relations if each.table == relation.table]
        rows = _wanted(frames[relation.table], takers)
        columns = _columns(layout, number, relation)
        parts.append(rows.select(_atom(sf.lit(number)), sf.lit(0).alias(PARTITION), *columns))
    found: list[list[pa.RecordBatch]] = [[] for _ in relations]
    for batch in reduce(DataFrame.union, parts).toArrow().to_batches():
        for number, rows in layout.relations(batch, schemas):
            wanted = _as_they_come(relations[number])
            found[number].append(rows.select(wanted.names))
    return {
        relation.table: pa.Table.from_batches(batches, _as_they_come(relation))
        for relation, batches in zip(relations, found, strict=True)
    }


def as_sent(stage: Stage, table: str, rows: pa.Table) -> pa.Table:
    """The same of rows that are here."""
    relation = next(each for each in stage.relations if each.table == table)
    columns = [rows[name] for name in relation.schema.names]
    if relation.multiplicity is not None:
        columns.append(rows[relation.multiplicity])
    wanted = _as_they_come(relation)
    return pa.table(columns, names=wanted.names).cast(wanted)


def _as_they_come(relation: Relation) -> pa.Schema:
    """The columns of a relation's rows: how often each is there only where a column says it."""
    if relation.multiplicity is None:
        return relation.schema
    return with_multiplicity(relation.schema)


def frequent(frame: DataFrame, name: str, rows: int, share: int) -> dict[object, float]:
    """About how many rows have each value that is heavy, from a sample."""
    if isinstance(frame.schema[name].dataType, (st.FloatType, st.DoubleType)):
        # Zeros of both signs are one value here and two in a list.
        return {}
    part = min(1.0, _SAMPLE / max(rows, 1))
    drawn = frame.select(column(name).alias("value")).where(sf.col("value").isNotNull())
    sampled = drawn if part == 1.0 else drawn.sample(fraction=part, seed=1)
    counts = sampled.groupBy("value").agg(sf.count(sf.lit(1)).alias("rows"))
    heavy = counts.where(sf.col("rows") > rows * part / (2 * share)).collect()
    return {row["value"]: row["rows"] / part for row in heavy}


def _atom(number: Column) -> Column:
    return number.cast("smallint").alias(ATOM)


def _taken(stage: Stage, relation: Relation) -> Column | None:
    """Whether some reader of a relation takes a row; nothing if one takes all."""
    found = None
    for reading in stage.readings:
        if reading.relation != relation.name:
            continue
        conjuncts = [column(name).isNotNull() for name in reading.joined]
        if reading.filter is not None:
            filtered = _native.spark_filter(reading.filter, relation.schema)
            if filtered is not None:
                conjuncts.append(sf.expr(filtered))
        if not conjuncts:
            return None
        taken = reduce(and_, conjuncts)
        found = taken if found is None else found | taken
    return found


def _targets(relation: Relation, cells: int) -> Column | list[Column]:
    """The cell of each row, or for each dimension the cells that it goes to, to be combined."""
    fixed: list[Column] = []
    several: list[Column] = []
    stride = 1
    for along in relation.distribution:
        share = _share(relation, along)
        if isinstance(share, Column):
            fixed.append(share * sf.lit(stride))
        else:
            several.append(share[0] if stride == 1 else _times(share[0], stride))
        stride *= along.share
    one = reduce(add, fixed) if fixed else sf.lit(0)
    return [one.cast("int"), *several] if several else one.cast("int")


def _times(shares: Column, stride: int) -> Column:
    return sf.transform(shares, lambda share: share * sf.lit(stride))


def _share(relation: Relation, along: Along) -> Column | list[Column]:
    """The share of each row along one dimension, or in a list the array of its shares."""
    everywhere = sf.sequence(sf.lit(0), sf.lit(along.share - 1))
    # By value and not by position, so that a task that runs twice does the same.
    anywhere = _hashed([column(name) for name in relation.schema.names], along.share)
    if not along.columns:
        return anywhere if along.scattered else [everywhere]
    values = [alike(column(c), relation.schema.field(c).type) for c in along.columns]
    hashed = _hashed(values, along.share)
    if not along.heavy:
        return hashed
    heavy = column(along.columns[0]).isin(list(along.heavy))
    if along.scattered:
        return sf.when(heavy, anywhere).otherwise(hashed)
    return [sf.when(heavy, everywhere).otherwise(sf.array(hashed))]


def _coded(number: int, target: Column | list[Column], taken: Column | None, cells: int) -> Column:
    """The array of what tells relation and cell of each copy of a row."""
    first, *several = target if isinstance(target, list) else [target]
    found = sf.array(first + sf.lit(number * cells))
    for shares in several:
        found = _sums(found, shares)
    if taken is None:
        return found
    return sf.when(taken, found).otherwise(sf.array().cast("array<int>"))


def _sums(one: Column, other: Column) -> Column:
    """Every sum of two numbers, one of each array."""
    return sf.flatten(sf.transform(one, lambda a: sf.transform(other, lambda b: a + b)))


def _wanted(frame: DataFrame, taken: Sequence[Column | None]) -> DataFrame:
    """The rows that some reader takes."""
    takers = [each for each in taken if each is not None]
    return frame.where(reduce(or_, takers)) if len(takers) == len(taken) else frame


def _columns(layout: Layout, number: int, relation: Relation) -> list[Column]:
    """The columns of a relation in their slots, after how often a row is there if that is told."""
    columns = _slots(layout, layout.places[number], relation.schema)
    if layout.counted:
        how_often = column(relation.multiplicity) if relation.multiplicity else sf.lit(1)
        columns.insert(0, how_often.cast("bigint").alias(MULTIPLICITY))
    return columns


def _slots(layout: Layout, places: Sequence[int], schema: pa.Schema) -> list[Column]:
    holds = dict(zip(places, schema.names, strict=True))
    return [
        (column(holds[slot]) if slot in holds else sf.lit(None)).cast(to_spark(kind)).alias(name)
        for slot, (name, kind) in enumerate(zip(layout.names, layout.slots, strict=True))
    ]


def _hashed(columns: list[Column], share: int) -> Column:
    return sf.pmod(sf.hash(*columns), sf.lit(share)).cast("int")


def alike(value: Column, kind: pa.DataType) -> Column:
    """Values that join must hash alike: integers of all widths, 0.0 and -0.0."""
    if kind in _INTEGERS:
        return value.cast("bigint")
    return one_zero(value, kind)


def one_zero(value: Column, kind: pa.DataType) -> Column:
    """A number whose zero has one sign, as an engine has it."""
    return value + sf.lit(0.0).cast(to_spark(kind)) if kind in _FLOATS else value


def _nobody(frame: DataFrame, layout: Layout) -> DataFrame:
    """One row of no relation: over empty tables too, a cell runs and says COUNT = 0."""
    return frame.sparkSession.range(1).select(
        _atom(sf.lit(NOBODY)),
        sf.lit(0).alias(PARTITION),
        *([sf.lit(0).cast("bigint").alias(MULTIPLICITY)] if layout.counted else []),
        *_slots(layout, (), pa.schema([])),
    )
