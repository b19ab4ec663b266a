"""A view as a user sees it: its rows now, what moved, and how it is kept.

Invariant: reads the engine at each question; two reads without a change between them are equal.
Cost: O(rows) to read all, O(groups that moved) for the changes, O(1) for the length.
"""

from __future__ import annotations

from html import escape
from operator import index
from typing import TYPE_CHECKING, Any, Literal, overload

from . import notebook
from .errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas
    import pyarrow as pa

    from . import _native
    from .cofactor import Cofactor

_SHOWN = 10
Format = Literal["text", "mermaid", "graphviz", "json", "html"]


def _batches(stream: _native.RowStream) -> Iterator[pa.RecordBatch]:
    """The blocks of a stream as pyarrow batches.

    A stream that failed goes on to fail: its end would look like that of all rows.
    """
    import pyarrow as pa

    def batch(rows: _native.Rows) -> pa.RecordBatch:
        return pa.RecordBatchReader.from_stream(rows).read_next_batch()

    return map(batch, iter(stream.next, None))


class View:
    """A view of a database, exact after every change.

    Reads raise UnknownViewError once it is dropped.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    >>> db.insert("r", {"a": [1, 1, 2]})
    >>> view
    View('v', rows=2)
    >>> db.delete("r", {"a": [2]})
    >>> view.to_arrow().to_pylist()
    [{'a': 1, 'n': 2}]
    """

    __slots__ = ("_native", "name")

    def __init__(self, native: _native.Database, name: str) -> None:
        self._native = native
        self.name = name

    def to_arrow(self) -> pa.Table:
        """The rows of the view, in no particular order. O(rows)."""
        return self.to_reader().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of the view as a pandas frame; pandas must be installed. O(rows)."""
        return self.to_arrow().to_pandas()

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows of the view as a stream of batches.

        Rows of a factorised join are made as they are read, in constant delay, so memory is that
        of a batch whatever the number of rows. Such a reader shows the rows of the time when it
        was made: reading on after a change raises ViewChangedError.

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

        schema = pa.schema(self._native.view_schema(self.name))
        batches = _batches(self._native.view_stream(self.name))
        return pa.RecordBatchReader.from_batches(schema, batches)

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
        return pa.table(self._native.view_draw(self.name, m, seed))

    def scalar(self) -> Any:
        """The only value of a view with one row and one column.

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
                f"view {self.name!r} has {rows} rows and {columns} columns; scalar() reads a view "
                "of one row and one column, to_arrow() any"
            )
        return found.column(0)[0].as_py()

    def changes(self) -> pa.Table:
        """What moved since the last call: rows with a last column `multiplicity`.

        A row that came has multiplicity 1, one that left has -1; a row whose aggregate moved leaves
        and comes. So does a group that begins or ends to pass HAVING. The first call gives the
        whole view. O(groups that moved). Of a join, each row that moved comes with how much its
        multiplicity did, and the cost is that of those rows.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> db.insert("r", {"a": [1, 2]})
        >>> _ = view.changes()
        >>> db.delete("r", {"a": [2]})
        >>> view.changes().to_pylist()
        [{'a': 2, 'n': 1, 'multiplicity': -1}]
        """
        import pyarrow as pa

        return pa.table(self._native.view_changes(self.name))

    @property
    def columns(self) -> list[str]:
        """The names of the columns. O(columns).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> db.create_view("v", "SELECT COUNT(*) AS n FROM r").columns
        ['n']
        """
        import pyarrow as pa

        names: list[str] = pa.schema(self._native.view_schema(self.name)).names
        return names

    def explain(self, format: Format = "text") -> str:
        """How the view is kept, why, and what each change costs.

        First what a change of each table costs: what it meets on its way up; the tree, with rows,
        bytes and updates a node. Then why: the engine, and which conditions hold that bound the
        cost of changes and reading (acyclic, free-connex, hierarchical, q-hierarchical), or what
        they fail by.

        Args:
            format: "text"; "mermaid" or "graphviz", the source of a graph; "json", all of it as a
                JSON object; "html", what notebooks show.

        Raises:
            InvalidValueError: There is no such format.

        Complexity: that of planning the query; of the rows nothing is read.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> _ = db.create_table("s", {"b": "int64", "c": "int64"})
        >>> view = db.create_view(
        ...     "v", "SELECT b, COUNT(*) AS n FROM r NATURAL JOIN s GROUP BY b")
        >>> print(view.explain().split(chr(10) * 2)[1])
        a change of one row
          r  O(1)
          s  O(1)
        >>> import json
        >>> [node["label"] for node in json.loads(view.explain("json"))["nodes"]]
        ['r[b]', 's[b]', 'V@b[b]']
        """
        return self._native.view_explain(self.name, format)

    def cofactor(self) -> Cofactor:
        """The counts, sums and products of a COFACTOR view without groups. O(m^2).

        Raises:
            UnsupportedError: The view has groups: read `cofactors()`. Or it has no COFACTOR.
            TooFewRowsError: HAVING leaves no row.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"x": "int64 not null", "y": "int64 not null"})
        >>> view = db.create_view("v", "SELECT COFACTOR(x, y) FROM r")
        >>> db.insert("r", {"x": [1, 2], "y": [3, 5]})
        >>> view.cofactor().matrix.tolist()
        [[5.0, 13.0], [13.0, 34.0]]
        """
        from .cofactor import Cofactor

        return Cofactor.from_table(self.to_arrow())

    def cofactors(self) -> Iterator[tuple[tuple[Any, ...], Cofactor]]:
        """Each group of a COFACTOR view: its key and its counts, sums and products.

        Other aggregates may stand beside the COFACTOR; `to_arrow()` has them.

        Raises:
            UnsupportedError: The view has no COFACTOR.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64 not null", "x": "int64 not null"})
        >>> view = db.create_view("v", "SELECT a, COFACTOR(x) FROM r GROUP BY a")
        >>> db.insert("r", {"a": [7, 7], "x": [1, 2]})
        >>> [(key, found.count, found.sums.tolist()) for key, found in view.cofactors()]
        [((7,), 2, [3.0])]
        """
        from .cofactor import cofactors

        return cofactors(self.to_arrow())

    def __len__(self) -> int:
        """How many rows the view has. O(1), or O(groups) with HAVING and for listings."""
        return self._native.view_len(self.name)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> pa.Table: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | pa.Table:
        """A row by its place, or the rows of a slice as a table.

        Places are fixed between two changes and the same as those of `to_reader`. Of a factorised
        join a row costs a binary search a variable (and the first after a change the groups on its
        way); of any other view, O(rows).

        Raises:
            IndexError: No row has this place.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a FROM r")
        >>> db.insert("r", {"a": [5, 6, 6]})
        >>> view[-1], view[:2].to_pylist()
        ({'a': 6}, [{'a': 5}, {'a': 6}])
        """
        import pyarrow as pa

        rows = len(self)
        if isinstance(at, slice):
            start, stop, step = at.indices(rows)
            if step == 1:
                return pa.table(self._native.view_slice(self.name, start, max(start, stop)))
            places = range(start, stop, step)
            if not places:
                return pa.table(self._native.view_slice(self.name, 0, 0))
            low, high = min(places), max(places)
            found = pa.table(self._native.view_slice(self.name, low, high + 1))
            return found.take([place - low for place in places])
        place = index(at)
        if not -rows <= place < rows:
            raise IndexError(f"view {self.name!r} has {rows} rows, so there is no row {place}")
        place %= rows
        row: dict[str, Any] = pa.table(
            self._native.view_slice(self.name, place, place + 1)
        ).to_pylist()[0]
        return row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows one by one, as `to_reader` streams them."""
        for batch in self.to_reader():
            yield from batch.to_pylist()

    def __bool__(self) -> bool:
        """A view is true, empty or not."""
        return True

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows of the view for any reader of the Arrow C interface, such as polars."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"View({self.name!r}, rows={len(self)})"

    def _repr_html_(self) -> str:
        """The first rows as a table, and how the view is kept, for notebooks."""
        found = self[:_SHOWN]
        shown = notebook.result(found)
        note = f"{escape(self.name)}: {len(self)} rows"
        return f"{shown}<details><summary>{note}</summary>{self.explain('html')}</details>"
