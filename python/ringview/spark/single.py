"""Texts in one cell: one engine that has all their rows computes them, as a database does once.

The stages that a text would take in many cells are planned all the same: they say what is refused,
which columns are read, and which rows no reader takes.

Invariant: a text is refused in one cell if it is in many, and has the same result. Cost: one task,
without a shuffle, that holds the columns which are read of all tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ringview.queries import Definition
from ringview.spark.partition import Relation, Result
from ringview.spark.planning import catalog_of
from ringview.spark.route import Route
from ringview.spark.rows import RowStage
from ringview.spark.slots import Layout
from ringview.spark.stage import Reading, Stage, Wanted, columns_of, layout_of, stage_of
from ringview.spark.types import shown_schema
from ringview.spark.variables import Query


@dataclass(frozen=True)
class Asked:
    """A view by its text, with its query and the steps that it would take in many cells."""

    name: str
    definition: Definition
    query: Query
    schema: pa.Schema
    steps: Sequence[Wanted | RowStage]


def in_one_cell(
    views: Sequence[Asked],
    schemas: Mapping[str, pa.Schema],
    multiplicities: Mapping[str, str],
    now: int | None,
) -> Stage:
    """The stage that finds views over tables of these columns, in one pass over the rows."""
    used: dict[str, set[str]] = {}
    readings: list[Reading] = []
    for step in (step for view in views for step in view.steps):
        for table, columns, reading in _reads(step):
            if table in schemas:
                used.setdefault(table, set()).update(columns)
                readings.append(reading)
    relations = tuple(
        Relation(table, table, (), columns_of(schemas[table], columns), multiplicities.get(table))
        for table, columns in used.items()
    )
    results = tuple(
        Result(view.name, view.query, shown_schema(view.schema), True, 1, view.definition)
        for view in views
    )
    route = Route((), True, 0.0)
    return Stage(
        tuple(
            Wanted(view.name, view.query, catalog_of(view.query, schemas), route, view.schema)
            for view in views
        ),
        relations,
        results,
        tuple(dict.fromkeys(readings)),
        layout_of(relations, ()),
        None if len(results) == 1 else Layout.of([result.schema for result in results]),
        1,
        None,
        gathered=True,
        now=now,
    )


def _reads(step: Wanted | RowStage) -> Iterator[tuple[str, Sequence[str], Reading]]:
    """What a step reads: a table, its columns, and the rows that it takes."""
    if isinstance(step, RowStage):
        for alias, table, condition in step.readings:
            yield table, step.inputs[table].names, Reading(table, alias, condition, ())
        return
    stage = stage_of([step], step.catalog.tables, {})
    relations = {relation.name: relation for relation in stage.relations}
    for one in stage.readings:
        relation = relations[one.relation]
        table = relation.table
        yield table, relation.schema.names, Reading(table, one.alias, one.filter, one.joined)
