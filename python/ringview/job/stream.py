"""From the sources of a job to the batches that are applied, in order.

Invariant: every row is yielded once. Tables without ``order_by`` are first, one after another, then
all tables with it, interleaved by that column; rows of equal sequence number keep the order of the
tables in the job. A batch never holds more than ``batch_size`` rows. Cost: reading, plus one sort
of the sequence numbers, O(n log n).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ringview.job.checks import JobError
from ringview.job.read import Source
from ringview.text import quoted


@dataclass(frozen=True)
class TableBatch:
    """The rows of one table in one batch."""

    source: Source
    rows: pa.Table


def batches(sources: Sequence[Source], batch_size: int) -> Iterator[list[TableBatch]]:
    """The batches of a job in the order in which they are applied."""
    for source in (source for source in sources if source.spec.order_by is None):
        cursor = _Cursor(source)
        while (rows := cursor.take(batch_size)).num_rows:
            yield [TableBatch(source, rows)]
    ordered = [source for source in sources if source.spec.order_by is not None]
    if ordered:
        yield from _interleave(ordered, batch_size)


def _interleave(sources: list[Source], batch_size: int) -> Iterator[list[TableBatch]]:
    owners = _merge_order(sources)
    cursors = [_Cursor(source) for source in sources]
    for start in range(0, len(owners), batch_size):
        # A source is sorted in itself, so its share of a batch is its next rows.
        shares = Counter(owners[start : start + batch_size].to_pylist())
        yield [
            TableBatch(sources[owner], cursors[owner].take(shares[owner]))
            for owner in sorted(shares)
        ]


def _merge_order(sources: list[Source]) -> pa.Array:
    """For each row of the interleaved stream, the index of the source that yields it."""
    sequences = [source.sequence() for source in sources]
    kind = sequences[0].type
    for source, values in zip(sources, sequences, strict=True):
        if values.type != kind:
            raise JobError(
                f"table {quoted(source.spec.name)}, order_by: {quoted(source.spec.order_by)} is "
                f"{values.type}, but that of table {quoted(sources[0].spec.name)} is {kind}"
            )
    owners = pa.concat_arrays(
        [
            pa.repeat(pa.scalar(number, pa.int16()), len(values))
            for number, values in enumerate(sequences)
        ]
    )
    merged = pa.chunked_array([chunk for values in sequences for chunk in values.chunks], type=kind)
    # sort_indices is stable, so ties stay in the order of the tables.
    return owners.take(pc.sort_indices(merged))


class _Cursor:
    """Takes the next rows of a source, across the batches it reads."""

    def __init__(self, source: Source) -> None:
        self._batches = source.batches()
        self._rest: pa.RecordBatch | None = None
        self._schema = source.schema
        if source.spec.multiplicity is not None:
            self._schema = self._schema.append(pa.field(source.spec.multiplicity, pa.int64()))

    def take(self, rows: int) -> pa.Table:
        """The next ``rows`` rows; fewer at the end."""
        taken: list[pa.RecordBatch] = []
        while rows and (batch := self._next()) is not None:
            head, self._rest = batch.slice(0, rows), batch.slice(rows)
            taken.append(head)
            rows -= head.num_rows
        return pa.Table.from_batches(taken, self._schema)

    def _next(self) -> pa.RecordBatch | None:
        if self._rest is not None and self._rest.num_rows:
            return self._rest
        return next(self._batches, None)
