"""Steps in a Spark worker that sample a join: the part of a cell, and parts to the whole.

Both steps are plain callables from Arrow batches to Arrow batches, without Spark.

Invariant: the draw of a cell depends on its rows alone, in whatever order (equal rows are added up,
then sorted), on the cell's number, and on k and the seed. The merge depends on the draws of the
parts alone. Cost: the engine's for the rows of the cell, which are held; k rows of each cell in one
task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc

from ringview._native import Database, merge_samples
from ringview.errors import InvalidValueError, UnsupportedError
from ringview.spark.partition import Relation
from ringview.spark.slots import PARTITION, Layout, with_multiplicity
from ringview.spark.variables import Query
from ringview.text import quoted

_PART = pa.field("part", pa.int32())
# As text, for a join may have more rows than fit an integer of Spark's.
_RESULTS = pa.field("results", pa.string())
_PLACE = pa.field("place", pa.int64())
_OWN = 3


def drawn_schema(sample: pa.Schema) -> pa.Schema:
    """The columns of what a cell draws: whose it is, how many there were, the place, the row."""
    columns = [pa.field(f"column{at}", field.type) for at, field in enumerate(sample)]
    return pa.schema([_PART, _RESULTS, _PLACE, *columns])


@dataclass(frozen=True)
class Draw:
    """Draws k rows of the join of a cell's rows, or all, and counts them."""

    relations: tuple[Relation, ...]
    layout: Layout
    query: Query
    schema: pa.Schema
    k: int
    seed: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Slots in, drawn rows out."""
        schemas = [relation.schema for relation in self.relations]
        held: dict[int, list[list[pa.RecordBatch]]] = {}
        for batch in batches:
            for cell, rows in _by_cell(batch):
                mine = held.setdefault(cell, [[] for _ in self.relations])
                for number, found in self.layout.relations(rows, schemas):
                    mine[number].append(found)
        for cell in sorted(held):
            yield from self._cell(cell, held.pop(cell))

    def _cell(self, cell: int, rows: Sequence[list[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        database = Database(True)
        for relation, batches in zip(self.relations, rows, strict=True):
            # Static: rows are kept until the sample has read them.
            database.create_table(relation.name, relation.schema, None, True)
            summed = _added_up(relation, batches)
            database.apply([(relation.name, 1, summed, summed.schema.names[-1])])
        database.create_sample_of("sample", json.dumps(self.query), 1, 0)
        low, high, _ = database.sample_join_size("sample")
        if low != high:
            raise UnsupportedError(
                "the rows of this join cannot be counted exactly, and parts of a sample are put "
                "together by counts; sample the join without the condition, and filter the sample"
            )
        seed = derived(self.seed, cell)
        drawn = pa.table(database.sample_draw("sample", self.k, seed, False, None))
        drawn = drawn.cast(self.schema).combine_chunks()
        number = drawn.num_rows
        columns = [
            pa.array([cell] * number, _PART.type),
            pa.array([str(low)] * number, _RESULTS.type),
            pa.array(range(number), _PLACE.type),
            *drawn.columns,
        ]
        yield from pa.table(columns, schema=drawn_schema(self.schema)).to_batches(10_000)


@dataclass(frozen=True)
class MergeDrawn:
    """Makes k rows of the whole join of what cells drew, every set of k with equal chances."""

    schema: pa.Schema
    k: int
    seed: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of all cells in, those of the sample out."""
        wanted = drawn_schema(self.schema)
        tables = [pa.table(batch.columns, names=wanted.names) for batch in batches]
        if not tables:
            return
        all_rows = pa.concat_tables(tables).cast(wanted)
        found = all_rows.sort_by([(_PART.name, "ascending"), (_PLACE.name, "ascending")])
        runs = pc.run_end_encode(found[_PART.name].combine_chunks())
        ends = runs.run_ends.to_pylist()
        starts = [0, *ends][: len(ends)]
        results = found[_RESULTS.name]
        parts = [
            (int(results[start].as_py()), end - start)
            for start, end in zip(starts, ends, strict=True)
        ]
        chosen = merge_samples(parts, self.k, derived(self.seed, "merge"))
        places = [
            start + place
            for start, of_part in zip(starts, chosen, strict=True)
            for place in of_part
        ]
        sample = found.take(pa.array(places, pa.int64()))
        yield from pa.table(sample.columns[_OWN:], schema=self.schema).to_batches(10_000)


def derived(seed: int, of: int | str) -> int:
    """A seed of its own for each part, the same on every machine.

    >>> derived(7, 0) == derived(7, 0) != derived(7, 1)
    True
    """
    digest = blake2b(f"{seed} {of}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _by_cell(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The runs of rows of one cell: a Spark partition is one, unless configured otherwise."""
    runs = pc.run_end_encode(batch.column(PARTITION))
    start = 0
    for cell, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield cell, batch.slice(start, end - start)
        start = end


def _added_up(relation: Relation, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """The rows of a relation, each once with how often it is there, sorted."""
    schema = with_multiplicity(relation.schema)
    times = schema.names[-1]
    if batches and batches[0].num_columns == len(relation.schema):
        # No table says how often rows are there.
        rows = pa.Table.from_batches(batches)
        once = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
        rows = rows.append_column(schema.field(times), once)
    else:
        rows = pa.Table.from_batches(batches, schema)
    if rows[times].null_count:
        raise InvalidValueError(
            f"multiplicity: {relation.multiplicity!r} is NULL in a row of table "
            f"{quoted(relation.table)}; how often a row is there is an integer"
        )
    for at, field in enumerate(relation.schema):
        if pa.types.is_floating(field.type):
            # Zeros of both signs are one value.
            zero = pa.scalar(0.0, field.type)
            rows = rows.set_column(at, field, pc.add(rows.column(at), zero))
    names = relation.schema.names
    summed = rows.group_by(names, use_threads=False).aggregate([(times, "sum")])
    summed = summed.rename_columns([*names, times]).select(schema.names)
    if pc.any(pc.less(summed[times], 0)).as_py():
        raise InvalidValueError(
            f"table {quoted(relation.table)}: a row is deleted more often than it is inserted"
        )
    there = summed.filter(pc.not_equal(summed[times], 0)).cast(schema)
    return there.sort_by([(name, "ascending") for name in names])
