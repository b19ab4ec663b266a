"""Rows of several relations in one table of typed slots.

Spark moves one table at a time, so the relations travel in one. A row names its relation
(``atom``), its target (``partition``) and, if some relation counts its rows, its multiplicity
(``multiplicity``). Its columns are in slots that relations share by type, as many of a type as the
relation with most columns of it needs.

Invariant: a slot has one type, and an atom uses a slot for at most one column.
Cost: reading back slices a batch where the atom changes; rows are copied only where that is often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

ATOM, PARTITION, MULTIPLICITY = "atom", "partition", "multiplicity"
NOBODY = -1
"""The atom of a row that belongs to no relation, sent so that some partition runs."""


@dataclass(frozen=True)
class Layout:
    """Slots of columns: ``places[atom][i]`` is the slot of the i-th column of an atom.

    Rows say how often they are there if they are ``counted``, else each is there once.
    """

    slots: tuple[pa.DataType, ...]
    places: tuple[tuple[int, ...], ...]
    counted: bool = True

    @staticmethod
    def of(schemas: Sequence[pa.Schema], *, counted: bool = True) -> Layout:
        """The narrowest layout for relations of these ``schemas``."""
        slots: list[pa.DataType] = []
        places = []
        for schema in schemas:
            taken: list[int] = []
            for kind in schema.types:
                free = (i for i, slot in enumerate(slots) if slot == kind and i not in taken)
                place = next(free, len(slots))
                if place == len(slots):
                    slots.append(kind)
                taken.append(place)
            places.append(tuple(taken))
        return Layout(tuple(slots), tuple(places), counted)

    @property
    def names(self) -> list[str]:
        """The names of the slots."""
        return [f"slot{number}" for number in range(len(self.slots))]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the whole table."""
        fields = [pa.field(ATOM, pa.int16()), pa.field(PARTITION, pa.int32())]
        if self.counted:
            fields.append(pa.field(MULTIPLICITY, pa.int64()))
        return pa.schema([*fields, *map(pa.field, self.names, self.slots)])

    def relations(
        self, batch: pa.RecordBatch, schemas: Sequence[pa.Schema]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows of one relation after another: its columns, and multiplicity if counted."""
        for atom, rows in _by_relation(batch, len(schemas)):
            if atom == NOBODY:
                continue
            schema, first = schemas[atom], len(self.schema) - len(self.slots)
            columns = [
                _cast(rows.column(first + place), kind)
                for place, kind in zip(self.places[atom], schema.types, strict=True)
            ]
            if self.counted:
                columns.append(rows.column(MULTIPLICITY))
                schema = with_multiplicity(schema)
            yield atom, pa.RecordBatch.from_arrays(columns, schema=schema)

    def filled(self, atom: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of one relation in the slots, once each."""
        number = rows.num_rows
        arrays = [pa.nulls(number, kind) for kind in self.schema.types]
        for place, value in ((0, atom), (1, 0), (2, 1)):
            arrays[place] = pa.repeat(pa.scalar(value, self.schema.types[place]), number)
        first = len(self.schema) - len(self.slots)
        for place, column in zip(self.places[atom], rows.columns, strict=True):
            arrays[first + place] = column
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def with_multiplicity(schema: pa.Schema) -> pa.Schema:
    """The columns of a relation, then how often a row is there, under a name of its own."""
    name = MULTIPLICITY
    while name in schema.names:
        name += "_"
    return schema.append(pa.field(name, pa.int64()))


def rows_to_batches(
    rows: Iterable[Sequence[object]], schema: pa.Schema, size: int = 10_000
) -> Iterator[pa.RecordBatch]:
    """Plain rows as batches of ``schema``, ``size`` at a time."""
    chunk: list[Sequence[object]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield _from_rows(chunk, schema)
            chunk = []
    if chunk:
        yield _from_rows(chunk, schema)


def _from_rows(rows: list[Sequence[object]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _by_relation(batch: pa.RecordBatch, relations: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Slices where relations are in runs; filtered rows where they alternate."""
    runs = pc.run_end_encode(batch.column(ATOM))
    atoms = runs.values
    if len(atoms) > _RUNS * relations + 1:
        for atom in pc.unique(atoms).to_pylist():
            yield atom, batch.filter(pc.equal(batch.column(ATOM), atom))
        return
    start = 0
    for atom, end in zip(atoms.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield atom, batch.slice(start, end - start)
        start = end


# So many slices of a batch cost about as much as a filter.
_RUNS = 4


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    # Spark writes timestamps in the zone of the session, which changes only their label.
    return column if column.type == kind else column.cast(kind)
