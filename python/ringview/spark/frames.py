"""DataFrames in and out of the slots that cells read.

Expressions are texts of Spark SQL: a column that is built by methods costs some calls to the JVM
for each of them, which for many columns is more than the query.

Invariant: each row is scanned once, and is sent to the cells that `grid.cells` names, once for each
role that it has there; no cell is split or merged on the way. Rows that no reader takes, by its
filter or for a NULL in a join column, are left out before they move.
Cost: one shuffle of the needed columns; none where a table stays in place, or there is one cell.
Tables that are sent along are collected in one job, and take no slots of those that move.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from ringview import _native
from ringview.spark.exchange import to_partitions
from ringview.spark.grid import Along
from ringview.spark.partition import Relation
from ringview.spark.releases import arrow_table
from ringview.spark.slots import ATOM, MULTIPLICITY, NOBODY, PARTITION, Layout, with_multiplicity
from ringview.spark.stage import Stage
from ringview.spark.types import INTEGERS, to_spark

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
    return to_partitions(union, stage.cells, sf.col(PARTITION))


def of_result(stage: Stage, number: int, found: DataFrame) -> DataFrame:
    """The rows of one of several results."""
    if stage.output is None:
        return found
    names = stage.output.names
    columns = [
        f"{names[place]} AS {identifier(name)}"
        for place, name in zip(
            stage.output.places[number], stage.results[number].schema.names, strict=True
        )
    ]
    return found.where(f"{ATOM} = {number}").selectExpr(*columns)


def column(name: str) -> Column:
    """The column called ``name``, whatever characters are in it."""
    return sf.col(identifier(name))


def identifier(name: str) -> str:
    """The same as text."""
    return "`" + name.replace("`", "``") + "`"


def cast(value: str, kind: pa.DataType) -> str:
    """A value in the type that Spark has for ``kind``."""
    return f"CAST({value} AS {to_spark(kind).simpleString()})"


def _table(stage: Stage, numbers: Sequence[int], frame: DataFrame) -> DataFrame:
    """The rows of one table for all of its relations."""
    relations = [stage.relations[number] for number in numbers]
    taken = [_taken(stage, relation) for relation in relations]
    rest = _columns(stage.layout, numbers[0], relations[0])
    wanted = _wanted(frame, taken)
    if stage.in_place is not None:
        return wanted.selectExpr(_atom(numbers[0]), _to_cell("0"), *rest)
    wanted, marks = _marked(wanted, relations)
    targets = [_targets(relation, stage.cells, marks) for relation in relations]
    if len(relations) == 1 and isinstance(targets[0], str):
        return wanted.selectExpr(_atom(numbers[0]), _to_cell(targets[0]), *rest)
    coded = [
        _coded(stage, number, target, take if len(relations) > 1 else None)
        for number, target, take in zip(numbers, targets, taken, strict=True)
    ]
    exploded = wanted.selectExpr(f"explode(concat({', '.join(coded)})) AS {_TARGET}", *rest)
    return exploded.selectExpr(
        _atom(f"{_TARGET} DIV {stage.cells}"),
        _to_cell(f"pmod({_TARGET}, {stage.cells})"),
        *stage.layout.schema.names[2:],
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
        parts.append(rows.selectExpr(_atom(number), _to_cell("0"), *columns))
    found: list[list[pa.RecordBatch]] = [[] for _ in relations]
    for batch in arrow_table(reduce(DataFrame.union, parts)).to_batches():
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
    drawn = frame.selectExpr(f"{identifier(name)} AS `value`").where("`value` IS NOT NULL")
    sampled = drawn if part == 1.0 else drawn.sample(fraction=part, seed=1)
    counts = sampled.groupBy("value").agg(sf.count(sf.lit(1)).alias("rows"))
    heavy = counts.where(f"`rows` > {rows * part / (2 * share)!r}D").collect()
    return {row["value"]: row["rows"] / part for row in heavy}


def _atom(number: int | str) -> str:
    return f"CAST({number} AS SMALLINT) AS {ATOM}"


def _to_cell(cell: str) -> str:
    return f"CAST({cell} AS INT) AS {PARTITION}"


def _taken(stage: Stage, relation: Relation) -> str | None:
    """Whether some reader of a relation takes a row; nothing if one takes all."""
    found: dict[str, None] = {}
    for reading in stage.readings:
        if reading.relation != relation.name:
            continue
        conjuncts = [f"{identifier(name)} IS NOT NULL" for name in reading.joined]
        if reading.filter is not None:
            filtered = _native.spark_filter(reading.filter, relation.schema)
            if filtered is not None:
                conjuncts.append(f"({filtered})")
        if not conjuncts:
            return None
        found[" AND ".join(conjuncts)] = None
    return _any(found) if found else None


def _any(conditions: Collection[str]) -> str:
    return " OR ".join(f"({condition})" for condition in conditions)


def _marked(
    frame: DataFrame, relations: Sequence[Relation]
) -> tuple[DataFrame, dict[tuple[str, tuple[object, ...]], str]]:
    """The rows with columns that say whether a value is heavy, and the names of these columns."""
    marks: dict[tuple[str, tuple[object, ...]], str] = {}
    found = []
    for relation in relations:
        for along in relation.distribution:
            if along.heavy and (along.columns[0], along.heavy) not in marks:
                mark = free(f"heavy{len(marks)}", frame.columns)
                marks[along.columns[0], along.heavy] = identifier(mark)
                # Values of any type, which have no text that all sessions read alike.
                values = column(along.columns[0]).isin(list(along.heavy))
                found.append(values.alias(mark))
    return (frame.select("*", *found) if found else frame), marks


def free(name: str, taken: Collection[str]) -> str:
    """A name that no column has; Spark ignores the case of letters."""
    others = {each.lower() for each in taken}
    while name.lower() in others:
        name += "_"
    return name


def _targets(
    relation: Relation, cells: int, marks: Mapping[tuple[str, tuple[object, ...]], str]
) -> str | list[str]:
    """The cell of each row, or for each dimension the cells of its copies, to be combined."""
    fixed: list[str] = []
    several: list[str] = []
    stride = 1
    for along in relation.distribution:
        share = _share(relation, along, marks)
        if isinstance(share, str):
            fixed.append(f"{share} * {stride}")
        else:
            several.append(share[0] if stride == 1 else _times(share[0], stride))
        stride *= along.share
    one = " + ".join(fixed) or "0"
    return [one, *several] if several else one


def _times(shares: str, stride: int) -> str:
    return f"transform({shares}, share -> share * {stride})"


def _share(
    relation: Relation, along: Along, marks: Mapping[tuple[str, tuple[object, ...]], str]
) -> str | list[str]:
    """The share of each row along one dimension, or in a list the array of its shares."""
    everywhere = f"sequence(0, {along.share - 1})"
    # By value and not by position, so that a task that runs twice does the same.
    anywhere = _hashed([identifier(name) for name in relation.schema.names], along.share)
    if not along.columns:
        return anywhere if along.scattered else [everywhere]
    values = [alike(identifier(c), relation.schema.field(c).type) for c in along.columns]
    hashed = _hashed(values, along.share)
    if not along.heavy:
        return hashed
    heavy = marks[along.columns[0], along.heavy]
    if along.scattered:
        return f"if({heavy}, {anywhere}, {hashed})"
    return [f"if({heavy}, {everywhere}, array({hashed}))"]


def _coded(stage: Stage, number: int, target: str | list[str], taken: str | None) -> str:
    """The array of the codes of relation and cell, one for each copy of a row."""
    first, *several = target if isinstance(target, list) else [target]
    found = f"array(CAST({first} + {number * stage.cells} AS INT))"
    for shares in several:
        found = _sums(found, shares, stage.relations[number].schema.names)
    if taken is None:
        return found
    return f"if({taken}, {found}, CAST(array() AS ARRAY<INT>))"


def _sums(one: str, other: str, names: Sequence[str]) -> str:
    """Every sum of two numbers, one of each array, which name columns of these names."""
    a = free("one", names)
    b = free("other", names)
    return f"flatten(transform({one}, {a} -> transform({other}, {b} -> {a} + {b})))"


def _wanted(frame: DataFrame, taken: Sequence[str | None]) -> DataFrame:
    """The rows that some reader takes."""
    takers = dict.fromkeys(each for each in taken if each is not None)
    return frame if None in taken else frame.where(_any(takers))


def _columns(layout: Layout, number: int, relation: Relation) -> list[str]:
    """The columns of a relation in their slots, after the multiplicity if the layout has one."""
    columns = _slots(layout, layout.places[number], relation.schema)
    if layout.counted:
        how_often = identifier(relation.multiplicity) if relation.multiplicity else "1"
        columns.insert(0, f"{cast(how_often, pa.int64())} AS {MULTIPLICITY}")
    return columns


def _slots(layout: Layout, places: Sequence[int], schema: pa.Schema) -> list[str]:
    holds = dict(zip(places, schema.names, strict=True))
    return [
        f"{cast(identifier(holds[slot]) if slot in holds else 'NULL', kind)} AS {name}"
        for slot, (name, kind) in enumerate(zip(layout.names, layout.slots, strict=True))
    ]


def _hashed(values: Sequence[str], share: int) -> str:
    return f"pmod(hash({', '.join(values)}), {share})"


def alike(value: str, kind: pa.DataType) -> str:
    """Values that join must hash alike: integers of all widths, 0.0 and -0.0."""
    if kind in INTEGERS:
        return cast(value, pa.int64())
    return one_zero(value, kind)


def one_zero(value: str, kind: pa.DataType) -> str:
    """A number whose zero has one sign, as an engine has it."""
    return f"{value} + {cast('0.0', kind)}" if kind in _FLOATS else value


def _nobody(frame: DataFrame, layout: Layout) -> DataFrame:
    """One row of no relation: over empty tables too, a cell runs and says COUNT = 0."""
    return frame.sparkSession.range(1).selectExpr(
        _atom(NOBODY),
        _to_cell("0"),
        *([f"{cast('0', pa.int64())} AS {MULTIPLICITY}"] if layout.counted else []),
        *_slots(layout, (), pa.schema([])),
    )
