"""Texts in one cell: one engine that has all their rows computes them, as a database does once.

The stages that a text would take in many cells are planned all the same: they say what is refused,
which columns are read, and which rows no reader takes.

Invariant: a text is refused in one cell if it is in many, and has the same result. Cost: one task,
without a shuffle, that holds the columns which are read of all tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ringview.queries import Definition
from ringview.spark.partition import Relation, Result
from ringview.spark.planning import Planner, catalog_of
from ringview.spark.route import Route
from ringview.spark.rows import RowStage
from ringview.spark.slots import Layout
from ringview.spark.stage import Reading, Stage, Wanted, columns_of, layout_of, stage_of
from ringview.spark.types import shown_schema
from ringview.spark.variables import Query

Steps = Sequence[Wanted | RowStage]


@dataclass(frozen=True)
class Single:
    """A view as a definition for one engine, with its query and its columns."""

    name: str
    definition: Definition
    query: Query
    schema: pa.Schema


@dataclass(frozen=True)
class Read:
    """The columns of tables that the steps of some views read, and the rows that they take."""

    schemas: Mapping[str, pa.Schema]
    readings: tuple[Reading, ...]


def read_by(steps: Steps, schemas: Mapping[str, pa.Schema]) -> Read:
    """Tables, columns and readings of steps over tables of these columns."""
    used: dict[str, set[str]] = {}
    readings: dict[Reading, None] = {}
    for table, columns, reading in (each for step in steps for each in _reads(step)):
        if table in schemas:
            used.setdefault(table, set()).update(columns)
            readings[reading] = None
    read = {table: columns_of(schemas[table], columns) for table, columns in used.items()}
    return Read(read, tuple(readings))


def in_one_cell(
    views: Sequence[Single], read: Read, multiplicities: Mapping[str, str], planner: Planner
) -> Stage:
    """The stage that finds views, in one pass over the rows that are read.

    Columns that no step reads have no effect, so where a text needs them for its meaning, a table
    has them with any values.
    """
    enough = all(planner.means_the_same(view.definition.sql, read.schemas) for view in views)
    relations = tuple(
        Relation(
            table,
            table,
            (),
            schema,
            multiplicities.get(table),
            whole=None if enough else planner.schemas[table],
        )
        for table, schema in read.schemas.items()
    )
    results = tuple(
        Result(view.name, view.query, shown_schema(view.schema), True, 1, view.definition)
        for view in views
    )
    route = Route((), True, 0.0)
    wanted = tuple(
        Wanted(view.name, view.query, catalog_of(view.query, planner.schemas), route, view.schema)
        for view in views
    )
    return Stage(
        wanted,
        relations,
        results,
        read.readings,
        layout_of(relations, ()),
        None if len(results) == 1 else Layout.of([result.schema for result in results]),
        1,
        None,
        gathered=True,
        now=planner.now,
    )


def _reads(step: Wanted | RowStage) -> Iterator[tuple[str, Sequence[str], Reading]]:
    """Inputs of a step: a table, its columns, and the rows that it takes."""
    if isinstance(step, RowStage):
        for alias, table, condition in step.readings:
            yield table, step.inputs[table].names, Reading(table, alias, condition, ())
        return
    stage = stage_of([step], step.catalog.tables, {})
    relations = {relation.name: relation for relation in stage.relations}
    for one in stage.readings:
        relation = relations[one.relation]
        table = relation.table
        partners = tuple(
            replace(partner, relation=relations[partner.relation].table) for partner in one.partners
        )
        reading = Reading(table, one.alias, one.filter, one.joined, partners)
        yield table, relation.schema.names, reading
