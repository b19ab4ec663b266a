"""The base of tables and views: their rows, all of them, some by place, those with values.

Invariant: reads the engine at each question; two reads without a change between them are equal.
Cost: O(rows) to read all, O(1) for the length.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, overload

from .convert import arrow, lookup
from .errors import (
    InvalidValueError,
    RingviewError,
    TypeMismatchError,
    UnknownColumnError,
    UnknownTableError,
    UnknownViewError,
    did_you_mean,
)
from .text import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas
    import polars
    import pyarrow as pa

    from . import _native


class Relation(ABC):
    """A table or a view: a handle by which its rows are read."""

    __slots__ = ("_handle", "_native", "name")
    _noun: ClassVar[str]

    def __init__(self, native: _native.Database, name: str, number: int) -> None:
        self._native = native
        self.name = name
        self._handle = (name, number)

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns and their types."""

    @abstractmethod
    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of batches."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    @abstractmethod
    def _slice(self, start: int, stop: int) -> pa.Table:
        """The rows at some places."""

    def _agreeing(self, values: Mapping[str, Any], types: Mapping[str, pa.DataType]) -> pa.Table:
        """The rows that have some values."""
        return lookup.filtered(self.to_reader(), values, types)

    def to_arrow(self) -> pa.Table:
        """The rows, in no particular order. O(rows)."""
        return self.to_reader().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame; pandas must be installed. O(rows).

        Sums of integers, which are `decimal128(38, 0)` in Arrow, become int64 where all of a column
        fit it; a column of larger ones holds `decimal.Decimal`.
        """
        return arrow.to_pandas(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame; polars must be installed. O(rows).

        `polars.DataFrame(view)` is the same; `polars.from_arrow(view)` makes one column of structs,
        as polars does of whatever is not pyarrow's.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> db.insert("r", {"a": [1, 1]})
        >>> view.to_polars().to_dicts()
        [{'a': 1, 'n': 2}]
        """
        return arrow.to_polars(self.to_arrow())

    def arrow(self) -> pa.Table:
        """`to_arrow()`, by DuckDB's name for it. O(rows)."""
        return self.to_arrow()

    def df(self) -> pandas.DataFrame:
        """`to_pandas()`, by DuckDB's name for it. O(rows)."""
        return self.to_pandas()

    def pl(self) -> polars.DataFrame:
        """`to_polars()`, by DuckDB's name for it. O(rows).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> table.insert({"a": [1, 2]})
        >>> table.pl()["a"].sum(), int(table.df()["a"].sum()), table.arrow().num_rows
        (3, 3, 2)
        """
        return self.to_polars()

    @property
    def columns(self) -> list[str]:
        """The names of the columns. O(columns).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> db.create_view("v", "SELECT COUNT(*) AS n FROM r").columns
        ['n']
        """
        names: list[str] = self.schema.names
        return names

    def head(self, n: int = 5) -> pa.Table:
        """The first rows, at most `n`, in the order of `to_reader`: for a look at them.

        Raises:
            InvalidValueError: `n` is negative.

        Complexity: that of the slice `[:n]`.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> db.insert("r", {"a": range(100)})
        >>> table.head(2).to_pylist()
        [{'a': 0}, {'a': 1}]
        """
        if n < 0:
            raise InvalidValueError(f"head({n}): the number of rows is 0 or more")
        return self[:n]

    def where(self, **values: Any) -> pa.Table:
        """The rows that have these values in these columns; None finds NULL.

        Raises:
            UnknownColumnError: There is no such column.
            TypeMismatchError: A value of another type than its column.

        Complexity: O(1) and the row if the columns are all those of GROUP BY, or of a table's
        `unique` key, which an index has. With some columns of GROUP BY, O(groups) to compare, and
        only the rows that agree are made. With other columns, and of a join, O(rows): they are read
        as a stream and what agrees is kept.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> view = db.create_view("v", "SELECT a, b, COUNT(*) AS n FROM r GROUP BY a, b")
        >>> db.insert("r", {"a": [1, 1, 2], "b": [5, 6, 6]})
        >>> view.where(b=6).sort_by("a").to_pylist()
        [{'a': 1, 'b': 6, 'n': 1}, {'a': 2, 'b': 6, 'n': 1}]
        """
        for name in values:
            self._check_column(name)
        schema = self.schema
        types = {name: schema.field(name).type for name in values}
        return self._agreeing(values, types)

    def _check_column(self, name: str) -> None:
        if name not in (names := self.columns):
            raise UnknownColumnError(
                f"{self._noun} {quoted(self.name)} has no column {quoted(name)}; known columns: "
                f"{', '.join(names)}{did_you_mean(name, names)}"
            )

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> pa.Table: ...

    @overload
    def __getitem__(self, at: str) -> pa.ChunkedArray: ...

    def __getitem__(self, at: int | slice | str) -> dict[str, Any] | pa.Table | pa.ChunkedArray:
        """A row by its place, the rows of a slice as a table, or a column by its name. O(rows).

        Places are fixed between two changes and the same as those of `to_reader`. Of a factorised
        join a row costs a binary search a variable (and the first after a change the groups on its
        way); of any other view, and of a table, O(rows).

        Raises:
            IndexError: No row has this place.
            UnknownColumnError: No column has this name.
            TypeMismatchError: It is neither a place, a slice nor a name.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a FROM r")
        >>> db.insert("r", {"a": [5, 6, 6]})
        >>> view[-1], view[:2].to_pylist(), view["a"].to_pylist()
        ({'a': 6}, [{'a': 5}, {'a': 6}], [5, 6, 6])
        """
        if isinstance(at, str):
            self._check_column(at)
            return self.to_arrow().column(at)
        if not isinstance(at, slice) and not hasattr(at, "__index__"):
            raise TypeMismatchError(
                f"{self._noun} {quoted(self.name)}: a row has a place, such as [0], and a column "
                "a name, "
                f'such as ["{self.columns[0]}"], not {at!r}; get(..) finds a row by its key'
            )
        rows = len(self)
        if isinstance(at, slice):
            start, stop, step = at.indices(rows)
            if step == 1:
                return self._slice(start, max(start, stop))
            places = range(start, stop, step)
            if not places:
                return self._slice(0, 0)
            low, high = min(places), max(places)
            found = self._slice(low, high + 1)
            return found.take([place - low for place in places])
        place = index(at)
        if not -rows <= place < rows:
            raise IndexError(
                f"{self._noun} {quoted(self.name)} has {counted(rows, 'row')}, so there is no "
                f"row {place}"
            )
        place %= rows
        return arrow.rows(self._slice(place, place + 1))[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows one by one, as `to_reader` streams them."""
        for batch in self.to_reader():
            yield from arrow.rows(batch)

    def __eq__(self, other: object) -> bool:
        """Whether it is a handle of the same one: of one database, and not of an older one."""
        if not isinstance(other, Relation):
            return NotImplemented
        return (
            self._native is other._native
            and self._noun == other._noun
            and self._handle == other._handle
        )

    def __hash__(self) -> int:
        """Equal for handles of the same one."""
        return hash((id(self._native), self._handle))

    def __bool__(self) -> bool:
        """It is true, empty or not."""
        return True

    def _gone(self, problem: RingviewError) -> str:
        """Reason for a `repr` without rows, which never fails in the midst of other things."""
        if self._native.is_closed():
            return "closed"
        unknown = isinstance(problem, UnknownTableError | UnknownViewError)
        return "dropped" if unknown else type(problem).__name__

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows for any reader of the Arrow C interface, such as polars."""
        return self.to_reader().__arrow_c_stream__(requested_schema)
