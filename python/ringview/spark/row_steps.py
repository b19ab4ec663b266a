"""Steps in a Spark worker for a block of computed rows.

Plain callables from Arrow batches to Arrow batches, as in `partition`: they hold queries and
schemas, and a worker builds what evaluates them. Columns are in the order of the schema, followed
by the multiplicity, if there is one.

Invariant: rows are computed by the code that a database computes them with. Cost: `MapRows` holds
one batch at a time, `BlockRows` the rows of its task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ringview._native import Database, RowMap
from ringview.spark.partition import Op, Relation, insert, rows_of
from ringview.spark.slots import with_multiplicity
from ringview.spark.variables import Query


@dataclass(frozen=True)
class MapRows:
    """Rows of some atoms of a query of projections and filters, over the rows of their table.

    ``tables`` are the columns of each table, ``read`` those that are sent of this one; ``schema``
    are those of the result as Spark has them, and the last says how often a row is there, if the
    result is ``counted``.
    """

    query: Query
    tables: dict[str, pa.Schema]
    atoms: tuple[int, ...]
    read: pa.Schema
    multiplicity: str | None
    schema: pa.Schema
    counted: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of the table in, rows of the result out."""
        rows = RowMap(json.dumps(self.query), [*self.tables.items()])
        name = None if self.multiplicity is None else with_multiplicity(self.read).names[-1]
        for batch in batches:
            given = _given(batch, self.read, self.multiplicity)
            for atom in self.atoms:
                found = pa.table(rows.rows(atom, given, name))
                columns = found.columns if self.counted else found.columns[:-1]
                yield from pa.table(
                    [
                        column.cast(field.type)
                        for column, field in zip(columns, self.schema, strict=True)
                    ],
                    schema=self.schema,
                ).to_batches()


@dataclass(frozen=True)
class BlockRows:
    """A query over the rows of one relation that this task has: all that it needs.

    ``schema`` are the columns of the result as Spark has them; ``now`` is the moment of the clock.
    """

    query: Query
    relation: Relation
    schema: pa.Schema
    now: int | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of the relation in, rows of the result out."""
        database = Database(True)
        if self.now is not None:
            database.apply([("", "advance", self.now)])
        relation = self.relation
        database.create_table(relation.name, relation.schema, None, True)
        deletions: list[Op] = []
        for batch in batches:
            rows = _given(batch, relation.schema, relation.multiplicity)
            if relation.multiplicity is not None:
                # One that is there no time was sent so that this task runs.
                rows = rows.filter(pc.not_equal(pc.fill_null(rows.column(-1), 1), 0))
            insert(database, relation, [rows], deletions)
        if deletions:
            database.apply(deletions)
        view = f"{relation.name}'"
        database.create_view_of(view, json.dumps(self.query))
        for found in rows_of(database, view):
            yield from found.cast(self.schema).to_batches()


def _given(batch: pa.RecordBatch, schema: pa.Schema, multiplicity: str | None) -> pa.RecordBatch:
    """Spark's rows in the types of the engine."""
    wanted = schema if multiplicity is None else with_multiplicity(schema)
    columns = [
        column if column.type == kind else column.cast(kind)
        for column, kind in zip(batch.columns, wanted.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)
