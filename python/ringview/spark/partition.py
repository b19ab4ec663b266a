"""Steps in a Spark worker: one engine a cell, and the step that adds up the results of cells.

Both steps are plain callables from Arrow batches to Arrow batches. They hold queries and schemas,
never an engine: a worker builds its own.

Invariant: rows are inserted before views are created, for a cell needs one result and not one after
each change; insertions precede deletions, for Spark keeps no order. Cost: the engine's, for the
rows of the cell; they are held until the views are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ringview._native import Database
from ringview.convert.ipc import read_stream
from ringview.errors import InvalidValueError
from ringview.queries import Definition
from ringview.spark.grid import Distribution
from ringview.spark.slots import PARTITION, Layout, rows_to_batches
from ringview.spark.variables import Query
from ringview.text import quoted

# Spark takes a batch as a whole.
_ROWS_A_BATCH = 100_000

Op = tuple[str, int, pa.RecordBatch, str | None]


@dataclass(frozen=True)
class Relation:
    """Rows of a table in a cell: their name, their distribution, and their columns.

    ``multiplicity`` is the column of the table that says how often a row is there; ``sent`` are its
    rows as an Arrow stream, if they are part of the plan. The table has the columns of ``whole``,
    if that is given: those that are not sent have any values.
    """

    name: str
    table: str
    distribution: Distribution
    schema: pa.Schema
    multiplicity: str | None = None
    sent: bytes | None = None
    whole: pa.Schema | None = None

    def filled(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as they are received, with all columns of the table."""
        if self.whole is None:
            return rows
        fields = [*self.whole, *[*rows.schema][len(self.schema) :]]
        columns = [
            rows.column(field.name)
            if field.name in rows.schema.names
            else pa.repeat(_any_value(field.type), rows.num_rows)
            for field in fields
        ]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _any_value(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_boolean(kind):
        return pa.scalar(False)
    return pa.scalar("" if pa.types.is_string(kind) else 0, kind)


@dataclass(frozen=True)
class Result:
    """A view as a cell computes it: all of its groups that are there, or parts of them.

    Of the cells only the first ``cells`` have rows for it. ``schema`` are the columns as Spark has
    them. A view whose rows are all in one cell is computed from its text, ``definition``, as a
    single query, in its order.
    """

    name: str
    query: Query
    schema: pa.Schema
    whole: bool
    cells: int
    definition: Definition | None = None


@dataclass(frozen=True)
class Partition:
    """Runs views over the rows of one cell.

    As it is for ``mapInArrow``; ``on_rows`` does the same for ``mapPartitions``. Several results
    are returned in the slots of ``output``; ``now`` is the moment of the clock.
    """

    relations: tuple[Relation, ...]
    results: tuple[Result, ...]
    layout: Layout
    output: Layout | None = None
    now: int | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Slots in, results out."""
        database = Database(True)
        if self.now is not None:
            database.apply([("", "advance", self.now)])
        for relation in self.relations:
            # Static: rows are kept until views have read them, and views store less.
            database.create_table(relation.name, relation.whole or relation.schema, None, True)
        deletions: list[Op] = []
        cell = self._load(database, batches, deletions)
        if cell is None:
            return
        for relation in self.relations:
            if relation.sent is not None:
                rows = read_stream(relation.sent)
                insert(database, relation, rows.to_batches(), deletions)
        if deletions:
            database.apply(deletions)
        for number, result in enumerate(self.results):
            if cell < result.cells:
                yield from self._found(database, number, result)

    def on_rows(self, rows: Iterable[Sequence[object]]) -> Iterator[tuple[Any, ...]]:
        """The same for plain rows, as ``rdd.mapPartitions`` hands them over."""
        for batch in self(rows_to_batches(rows, self.layout.schema)):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _load(
        self, database: Any, batches: Iterable[pa.RecordBatch], deletions: list[Op]
    ) -> int | None:
        """Insert Spark's rows into their tables; returns this cell's number if there was a row."""
        cell: int | None = None
        schemas = [relation.schema for relation in self.relations]
        for batch in batches:
            if cell is None and batch.num_rows:
                cell = batch.column(PARTITION)[0].as_py()
            for number, rows in self.layout.relations(batch, schemas):
                relation = self.relations[number]
                insert(database, relation, [relation.filled(rows)], deletions)
        return cell

    def _found(self, database: Any, number: int, result: Result) -> Iterator[pa.RecordBatch]:
        for rows in _rows_found(database, result):
            for batch in rows.cast(result.schema).to_batches(max_chunksize=_ROWS_A_BATCH):
                yield batch if self.output is None else self.output.filled(number, batch)


@dataclass(frozen=True)
class Merge:
    """Adds partial results in the ring, group by group, with the same engine.

    ``view`` is what cells give parts of, ``schema`` are its columns as Spark has them;
    ``relations`` are empty.
    """

    relations: tuple[Relation, ...]
    view: Result
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Partial results in, those of whole groups out."""
        database = Database(True)
        for relation in self.relations:
            database.create_table(relation.name, relation.schema, None, False)
        name = self.view.name
        database.create_view_of(name, json.dumps(self.view.query))
        partial = pa.schema(database.partial_schema(name)).remove_metadata()
        merged = False
        for batch in batches:
            if batch.num_rows:
                rows = pa.table(batch.columns, names=partial.names).cast(partial)
                database.merge_partials(name, rows)
                merged = True
        # Of the partitions that got nothing none may say that there is a row.
        if merged:
            for rows in rows_of(database, name):
                yield from rows.cast(self.schema).to_batches()


def _rows_found(database: Any, result: Result) -> Iterator[pa.Table]:
    if result.definition is not None:
        return iter([pa.table(database.evaluate(result.definition.native()))])
    database.create_view_of(result.name, json.dumps(result.query))
    if result.whole:
        return rows_of(database, result.name)
    return iter([pa.table(database.view_partials(result.name))])


def rows_of(database: Any, view: str) -> Iterator[pa.Table]:
    """The rows of a view, some at a time."""
    stream = database.view_stream(view)
    while (rows := stream.next()) is not None:
        yield pa.table(rows)


def insert(
    database: Any, relation: Relation, batches: Iterable[pa.RecordBatch], deletions: list[Op]
) -> None:
    """Insert rows into a table; those to be deleted wait in ``deletions``."""
    for rows in batches:
        columns = len(relation.whole or relation.schema)
        if rows.num_columns == columns:
            database.apply([(relation.name, 1, rows, None)])
            continue
        name, multiplicity = rows.schema.names[-1], rows.column(columns)
        if multiplicity.null_count:
            raise InvalidValueError(
                f"multiplicity: {relation.multiplicity!r} is NULL in a row of table "
                f"{quoted(relation.table)}; how often a row is there is an integer"
            )
        if len(rows) and pc.min(multiplicity).as_py() < 0:
            negative = pc.less(multiplicity, 0)
            deletions.append((relation.name, 1, rows.filter(negative), name))
            rows = rows.filter(pc.invert(negative))
        database.apply([(relation.name, 1, rows, name)])
