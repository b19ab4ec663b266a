"""The rows of a view: a stream of them, some by place, some drawn, those with some values.

Invariant: reads the engine at each question; two reads without a change between them are equal.
Cost: O(rows) to read all, O(1) for the length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import arrow, lookup
from .errors import InvalidValueError, UnsupportedError
from .reading import Reading
from .words import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from . import _native


def _batches(stream: _native.RowStream) -> Iterator[pa.RecordBatch]:
    """The blocks of a stream as pyarrow batches.

    A stream that failed goes on to fail: its end would look like that of all rows.
    """
    import pyarrow as pa

    def batch(rows: _native.Rows) -> pa.RecordBatch:
        return pa.RecordBatchReader.from_stream(rows).read_next_batch()

    return map(batch, iter(stream.next, None))


class ViewRows(Reading):
    """The half of a view by which its rows are read."""

    __slots__ = ()
    _noun = "view"

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows of the view as a stream of batches: those that it has now, and no others.

        Rows of a factorised join are made as they are read, in constant delay, so memory is that
        of a batch whatever the number of rows; so are rows of a join that the engine "epsilon"
        keeps. Where such a view moves, its reader ends: reading on raises ViewChangedError, once
        the view is dropped UnknownViewError, and never gives a mix. Rows of all other views
        (groups, listings, samples) are made by this call, O(rows), and can be read whatever becomes
        of the view, until the database is closed.

        Raises:
            OutOfMemoryError: There is no room for the rows.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> _ = db.create_table("s", {"b": "int64", "c": "int64"})
        >>> view = db.create_view("v", "SELECT * FROM r NATURAL JOIN s")
        >>> db.insert("r", {"a": [1, 2], "b": [5, 5]})
        >>> db.insert("s", {"b": [5, 5], "c": [7, 8]})
        >>> sum(len(batch) for batch in view.to_reader())
        4
        """
        import pyarrow as pa

        batches = _batches(self._native.view_stream(self._handle))
        return pa.RecordBatchReader.from_batches(self.schema, batches)

    def draw(self, m: int, *, seed: int) -> pa.Table:
        """Rows of a factorised join, each drawn from all with equal chances.

        Draws are independent: a row may come more than once. The same seed draws the same from
        the same rows.

        Args:
            m: How many.
            seed: Of the random numbers, 0 to 2^64 - 1.

        Raises:
            InvalidValueError: The view has no rows; `m` or `seed` is negative or too large.
            UnsupportedError: The view is not a factorised join.

        Complexity: a binary search a variable and draw, however many rows there are.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> _ = db.create_table("s", {"b": "int64"})
        >>> view = db.create_view("v", "SELECT a, b FROM r CROSS JOIN s")
        >>> db.insert("r", {"a": range(1000)})
        >>> db.insert("s", {"b": range(1000)})
        >>> len(view), len(view.draw(3, seed=1))
        (1000000, 3)
        """
        import pyarrow as pa

        for what, number in (("m", m), ("seed", seed)):
            if not 0 <= number < 2**64:
                raise InvalidValueError(f"{what} is {number}; it must be 0 to 2^64 - 1")
        return pa.table(self._native.view_draw(self._handle, m, seed))

    def scalar(self) -> Any:
        """The only value of a view with one row and one column; a sum of integers is an int.

        Raises:
            InvalidValueError: The view has more, or fewer.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> db.create_view("v", "SELECT COUNT(*) FROM r").scalar()
        0
        """
        found = self[:2]
        if found.shape != (1, 1):
            rows, columns = len(self), found.num_columns
            raise InvalidValueError(
                f"view {quoted(self.name)} has {counted(rows, 'row')} and "
                f"{counted(columns, 'column')}; "
                "scalar() reads a view of one row and one column, to_arrow() any"
            )
        (value,) = arrow.rows(found)[0].values()
        return value

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types, as `to_arrow` has them. O(columns).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> db.create_view("v", "SELECT COUNT(*) AS n FROM r").schema
        n: int64 not null
        """
        import pyarrow as pa

        return pa.schema(self._native.view_schema(self._handle))

    def __len__(self) -> int:
        """How many rows the view has. O(1), or O(groups) with HAVING and for listings."""
        return self._native.view_len(self._handle)

    def _slice(self, start: int, stop: int) -> pa.Table:
        import pyarrow as pa

        return pa.table(self._native.view_slice(self._handle, start, stop))

    def _agreeing(self, values: Mapping[str, Any], types: Mapping[str, pa.DataType]) -> pa.Table:
        import pyarrow as pa

        try:
            [key] = lookup.keys([values], types)
            return pa.table(self._native.view_where(self._handle, key))
        except UnsupportedError:
            return super()._agreeing(values, types)
