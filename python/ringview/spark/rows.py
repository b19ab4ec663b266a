"""Blocks of computed rows as stages: projections and filters, orders, windows, conditions on time.

Rows that are computed each by itself are computed where they are. A computation over the rows of a
partition is distributed by its columns to tasks, one engine each. Without such columns it is one
task, over the first rows in an order no more than each task's own.

Invariant: a stage holds plain data, made without Spark and without rows. Of a map whose rows say
how often they are there, they add up to what is there; all others give each row as often as it is.
Cost: a map none of Spark's shuffles, else one of the columns that are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from ringview import _native
from ringview.errors import UnsupportedError
from ringview.spark import frames
from ringview.spark.partition import Relation
from ringview.spark.planning import kind_of, tables_below
from ringview.spark.row_steps import BlockRows, MapRows
from ringview.spark.ship import Shipped
from ringview.spark.slots import with_multiplicity
from ringview.spark.stage import columns_of
from ringview.spark.types import shown_schema, spark_schema
from ringview.spark.variables import Query


@dataclass(frozen=True)
class RowStage:
    """A block of computed rows.

    ``tables`` are the columns of each table, ``inputs`` those that are read, and ``multiplicities``
    the columns of tables that say how often a row is there, if any do. ``schema`` are the columns
    of the result.
    """

    name: str
    query: Query
    tables: Mapping[str, pa.Schema]
    inputs: Mapping[str, pa.Schema]
    multiplicities: Mapping[str, str]
    schema: pa.Schema
    partitions: int
    now: int | None

    @property
    def multiplicity(self) -> str | None:
        """The column of the result that says how often a row is there, if one does."""
        if not self.is_map:
            return None
        takes = any(branch.get("minus") for branch in self.query["rows"]["branches"])
        return with_multiplicity(self.schema).names[-1] if takes or self.multiplicities else None

    @property
    def names(self) -> tuple[str, ...]:
        """The name of its result."""
        return (self.name,)

    def read_by(self, number: int) -> frozenset[str]:
        """The tables that it reads."""
        return frozenset(self.inputs)

    @property
    def kind(self) -> str:
        """Its kind of row computation."""
        return kind_of(self.query) or ""

    @property
    def is_map(self) -> bool:
        """Whether each row is computed by itself."""
        return self.kind == "map"

    @property
    def by(self) -> list[str]:
        """The columns that identify a partition."""
        found: list[str] = self.query["rows"].get("partition", [])
        return found

    @property
    def readings(self) -> list[tuple[str, str, str | None]]:
        """Each atom: its alias, its table, and the condition of rows that it takes, if it has."""
        atoms = self.query["atoms"]
        taken: list[str | None] = [None] * len(atoms)
        if self.is_map:
            taken = [branch.get("filter") for branch in self.query["rows"]["branches"]]
        return [(a["alias"], a["table"], f) for a, f in zip(atoms, taken, strict=True)]

    @property
    def is_sorted(self) -> bool:
        """Whether all rows are shown, in an order."""
        rows = self.query["rows"]
        shows_all = rows.get("keep") is None and not rows.get("skip")
        return self.kind == "ordered" and shows_all and not self.by

    @property
    def first(self) -> int | None:
        """Number of rows in an order that suffice of each task; None if all are needed."""
        rows = self.query["rows"]
        if self.kind != "ordered" or self.by or rows.get("keep") is None or self.multiplicities:
            return None
        return int(rows.get("skip", 0)) + int(rows["keep"])

    @property
    def table(self) -> str:
        """The table of the first atom."""
        found: str = self.query["atoms"][0]["table"]
        return found

    def plain(self, atom: int) -> Sequence[str | None] | None:
        """The columns that a branch of a map hands on as they are, if it does nothing else."""
        branch = self.query["rows"]["branches"][atom]
        if branch.get("unnested"):
            return None
        schema = self.inputs[self.query["atoms"][atom]["table"]]
        names = {'"' + name.replace('"', '""') + '"': name for name in schema.names}
        found = [None if text is None else names.get(text, text) for text in branch["columns"]]
        for text, name, field in zip(branch["columns"], found, self.schema, strict=True):
            if text is not None and (text not in names or schema.field(name).type != field.type):
                return None
        return found if branch.get("filter") in (None, "false") else None


def row_stage(
    name: str,
    query: Query,
    tables: Mapping[str, pa.Schema],
    multiplicities: Mapping[str, str],
    schema: pa.Schema,
    partitions: int,
    now: int | None,
) -> RowStage:
    """The stage of a query of computed rows over tables of these columns.

    Raises:
        UnsupportedError: The query is an ASOF join or a recursion, or makes lists, structs or maps.
    """
    if kind_of(query) == "latest":
        raise UnsupportedError(
            "an ASOF join is not computed over DataFrames; keep it in a ringview.Database, or join "
            "by a range of time and take the first row of each key with QUALIFY"
        )
    if kind_of(query) == "recursive":
        raise UnsupportedError(
            "WITH RECURSIVE is not computed over DataFrames; keep the view in a ringview.Database, "
            "or join as often as the recursion is deep"
        )
    below = tables_below(query)
    if any(
        pa.types.is_nested(field.type)
        for one in (schema, *map(tables.get, below))
        for field in one or ()
    ):
        raise UnsupportedError(
            "lists, structs and maps are not computed over DataFrames; keep the view in a "
            "ringview.Database, or gather lists with Spark's functions"
        )
    read = _native.columns_read(json.dumps(query), [(name, tables[name]) for name in below])
    used: dict[str, set[str]] = {name: set() for name in below}
    for atom, names in zip(query["atoms"], read, strict=True):
        used[atom["table"]] |= {*names}
    columns = {name: tables[name] for name in below}
    # An expression on time may name columns whose values it needs not.
    inputs = {
        name: schema if kind_of(query) == "timed" else columns_of(schema, used[name])
        for name, schema in columns.items()
    }
    told = {name: multiplicities[name] for name in below if name in multiplicities}
    return RowStage(name, query, columns, inputs, told, schema, partitions, now)


def run(stage: RowStage, tables: Mapping[str, DataFrame]) -> DataFrame:
    """Result of a stage over DataFrames; nothing runs until it is used."""
    if stage.is_map:
        return reduce(DataFrame.union, _mapped(stage, tables))
    rows = tables[stage.table]
    schema = stage.inputs[stage.table]
    told = stage.multiplicities.get(stage.table)
    columns = _columns(schema)
    if stage.kind == "timed" and told is None:
        return _block(stage, stage.query, rows.selectExpr(*columns), told)
    if stage.is_sorted and told is None:
        return rows
    if stage.by or stage.is_sorted or stage.kind == "timed":
        by = [name for name in stage.by if name in schema.names] or schema.names
        keys = [frames.alike(frames.identifier(name), schema.field(name).type) for name in by]
        spread = rows.repartition(stage.partitions, *map(sf.expr, keys))
        rows = spread.selectExpr(*columns, *_often(told))
        if stage.is_sorted:
            return _block(stage, _with_outputs(stage.query, schema.names), rows, told, schema)
        return _block(stage, stage.query, rows, told)
    if stage.first is not None and stage.partitions > 1:
        local = _with_outputs(stage.query, schema.names, skip=0, keep=stage.first)
        rows = _block(stage, local, rows.selectExpr(*columns), None, schema)
    return _alone(stage, rows, schema, told)


def _mapped(stage: RowStage, tables: Mapping[str, DataFrame]) -> list[DataFrame]:
    """Results of a map, one a table, in one pass over it; Spark itself projects plain columns."""
    found = []
    computed: dict[str, list[int]] = {}
    for atom, one in enumerate(stage.query["atoms"]):
        plain = stage.plain(atom)
        if plain is None:
            computed.setdefault(one["table"], []).append(atom)
        else:
            found.append(_handed_on(stage, atom, plain, tables[one["table"]]))
    fields = [*shown_schema(stage.schema)]
    if stage.multiplicity is not None:
        fields.append(pa.field(stage.multiplicity, pa.int64()))
    schema = pa.schema(fields)
    for table, atoms in computed.items():
        read, told = stage.inputs[table], stage.multiplicities.get(table)
        rows = _by_place(tables[table].selectExpr(*_columns(read), *_often(told)))
        counted = stage.multiplicity is not None
        tables_read = dict(stage.tables)
        step = MapRows(stage.query, tables_read, tuple(atoms), read, told, schema, counted)
        found.append(rows.mapInArrow(Shipped(step), spark_schema(schema)))
    return found


def _handed_on(
    stage: RowStage, atom: int, names: Sequence[str | None], rows: DataFrame
) -> DataFrame:
    """The columns of a table under the names of a map."""
    branch = stage.query["rows"]["branches"][atom]
    columns = [
        f"{frames.cast('NULL' if name is None else frames.identifier(name), field.type)}"
        f" AS {frames.identifier(field.name)}"
        for name, field in zip(names, stage.schema, strict=True)
    ]
    if stage.multiplicity is not None:
        told = stage.multiplicities.get(stage.query["atoms"][atom]["table"])
        often = "1" if told is None else frames.identifier(told)
        # Widened first: the least of a narrow type has no opposite there.
        signed = ("-" if branch.get("minus") else "") + frames.cast(often, pa.int64())
        columns.append(f"{signed} AS {frames.identifier(stage.multiplicity)}")
    if branch.get("filter") is not None:
        rows = rows.where("false")
    return rows.selectExpr(*columns)


def _block(
    stage: RowStage,
    query: Query,
    rows: DataFrame,
    told: str | None,
    schema: pa.Schema | None = None,
) -> DataFrame:
    """Result of an engine in each task over the rows of the task."""
    relation = Relation(stage.table, stage.table, (), stage.inputs[stage.table], told)
    shown = shown_schema(stage.schema if schema is None else schema)
    step = BlockRows(query, relation, shown, stage.now)
    return _by_place(rows).mapInArrow(Shipped(step), spark_schema(shown))


def _alone(stage: RowStage, rows: DataFrame, schema: pa.Schema, told: str | None) -> DataFrame:
    """Result of one task over all rows; it runs over none, too."""
    often = _often(told) or [frames.cast("1", pa.int64())]
    nobody = rows.sparkSession.range(1).selectExpr(
        *(frames.cast("NULL", field.type) for field in schema), frames.cast("0", pa.int64())
    )
    together = rows.selectExpr(*_columns(schema), *often).union(nobody)
    one = together.coalesce(1) if stage.partitions == 1 else together.repartition(1)
    return _block(stage, stage.query, one, told or "rows")


def _columns(schema: pa.Schema) -> list[str]:
    """The columns of a table, as an engine reads them."""
    named = [(frames.identifier(field.name), field.type) for field in schema]
    return [f"{frames.one_zero(name, kind)} AS {name}" for name, kind in named]


def _with_outputs(query: Query, names: Sequence[str], **window: int) -> Query:
    """A query of rows in an order that shows these columns, of this window."""
    return {**query, "rows": {**query["rows"], "names": names, **window}}


def _often(told: str | None) -> list[str]:
    """The column that says how often a row is there, if one does."""
    return [] if told is None else [frames.cast(frames.identifier(told), pa.int64())]


def _by_place(rows: DataFrame) -> DataFrame:
    # A step takes columns by place; PySpark looks them up by name, where a dot means a field.
    return rows.toDF(*(f"column{at}" for at in range(len(rows.columns))))


def finished(stage: RowStage, found: DataFrame) -> DataFrame:
    """The rows of a view in its order, and its columns alone."""
    if not stage.is_sorted:
        return found
    keys = [_ordered(key) for key in stage.query["rows"]["order"]]
    # Ties in the order are sorted too, so that the same rows have the same order.
    shown = [frames.column(name) for name in stage.schema.names]
    return found.orderBy(*keys, *shown).select(*shown)


def _ordered(key: Mapping[str, object]) -> Column:
    column = frames.column(str(key["column"]))
    first = bool(key.get("nulls_first"))
    if key.get("descending"):
        return column.desc_nulls_first() if first else column.desc_nulls_last()
    return column.asc_nulls_first() if first else column.asc_nulls_last()
