"""What runs in a Spark worker: one engine a partition, and the step that adds results.

Both steps are plain callables from Arrow batches to Arrow batches. They hold the
query and schemas, never an engine: a worker builds its own.

Invariant: in a partition all insertions are applied before the first deletion, for
Spark keeps no order, and a group that loses rows it does not yet have would be
taken for empty. Cost: the engine's, for the rows of the partition.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ringview._native import Database
from ringview.spark.partial import PARTIALS, Split
from ringview.spark.route import Query
from ringview.spark.slots import MULTIPLICITY, Layout, rows_to_batches

_VIEW = "result"
Op = tuple[str, int, pa.RecordBatch, str | None]


@dataclass(frozen=True)
class Partition:
    """Runs the query over the rows of one partition.

    As it is for ``mapInArrow``; ``on_rows`` does the same for ``mapPartitions``.
    """

    query: Query
    layout: Layout
    schemas: tuple[pa.Schema, ...]
    result: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Slots in, the partition's result out."""
        database = Database(trust_deletes=True)
        for atom, schema in enumerate(self.schemas):
            database.create_table(table_name(atom), schema, None, False)
        database.create_view(_VIEW, json.dumps(self.query))
        deletions: list[Op] = []
        for batch in batches:
            insertions: list[Op] = []
            for atom, rows in self.layout.relations(batch, self.schemas):
                inserted, deleted = _by_sign(rows)
                insertions.append((table_name(atom), 1, inserted, MULTIPLICITY))
                if deleted is not None:
                    deletions.append((table_name(atom), 1, deleted, MULTIPLICITY))
            database.apply(insertions)
        if deletions:
            database.apply(deletions)
        stream = database.view_stream(_VIEW)
        while (rows := stream.next()) is not None:
            yield from pa.table(rows).cast(self.result).to_batches()

    def on_rows(self, rows: Iterable[Sequence[object]]) -> Iterator[tuple[Any, ...]]:
        """The same for plain rows, as ``rdd.mapPartitions`` hands them over."""
        for batch in self(rows_to_batches(rows, self.layout.schema)):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@dataclass(frozen=True)
class Merge:
    """Adds partial results in the ring, group by group, with the same engine."""

    split: Split
    partial: pa.Schema
    result: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Partial results in, those of whole groups out."""
        database = Database(trust_deletes=True)
        database.create_table(PARTIALS, self.partial, None, False)
        database.create_view(_VIEW, json.dumps(self.split.second))
        for batch in batches:
            rows = pa.table(batch.columns, names=self.partial.names).cast(self.partial)
            database.apply([(PARTIALS, 1, rows, None)])
        summed = pa.table(database.view_result(_VIEW))
        yield from self.split.finish(summed, self.result).to_batches()


def table_name(atom: int) -> str:
    """The table that holds the rows of ``atom``: one each, for they are routed apart."""
    return f"atom{atom}"


def _by_sign(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    multiplicity = rows.column(MULTIPLICITY)
    if not len(rows) or pc.min(multiplicity).as_py() >= 0:
        return rows, None
    negative = pc.less(multiplicity, 0)
    return rows.filter(pc.invert(negative)), rows.filter(negative)
