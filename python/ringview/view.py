"""A view as a user sees it: its rows now, what moved, and how it is kept.

Invariant: reads the engine at each question; two reads without a change between them are equal.
Cost: O(rows) to read all, O(groups that moved) for the changes, O(1) for the length.
"""

from __future__ import annotations

from html import escape
from operator import index
from typing import TYPE_CHECKING, Any, Literal, overload

from . import arrow, lookup, notebook
from .errors import InvalidValueError, UnknownColumnError, UnsupportedError
from .follower import Follower

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas
    import polars
    import pyarrow as pa

    from . import _native
    from .cofactor import Cofactor
    from .rows import Rows

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

    Reads raise UnknownViewError once it is dropped, even if another view has its name by then.
    Handles of one view are equal.

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

    __slots__ = ("_handle", "_native", "name")

    def __init__(self, native: _native.Database, name: str, number: int) -> None:
        self._native = native
        self.name = name
        self._handle = (name, number)

    def to_arrow(self) -> pa.Table:
        """The rows of the view, in no particular order. O(rows)."""
        return self.to_reader().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of the view as a pandas frame; pandas must be installed. O(rows)."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The rows of the view as a polars frame; polars must be installed. O(rows).

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
        and comes. So does a group that begins or ends to pass HAVING. What came and left again is
        not told. The first call gives the whole view. Of a join, each row that moved comes with how
        much its multiplicity did.

        All handles of a view share this place in its changes; `follow()` gives one of your own. A
        call that fails, or that Ctrl-C ends, loses nothing: the next one gives the whole. From the
        first call on the view remembers what moved, at most the rows that it had and has;
        `unfollow()` ends that. If the view has a column `multiplicity`, the last column is
        `multiplicity_`.

        Complexity: O(groups touched since the last call); of a join O(rows that moved).

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

        found: pa.Table = self._native.view_changes(self._handle, pa.table)
        return found

    def unfollow(self) -> None:
        """End what `changes()` began: nothing is remembered for it until it is called again. O(1).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> db.insert("r", {"a": [1]})
        >>> _ = view.changes()
        >>> view.unfollow()
        >>> view.changes().to_pylist()
        [{'a': 1, 'n': 1, 'multiplicity': 1}]
        """
        self._native.forget_changes(self._handle)

    def follow(self, *, initial: bool = True, timeout: float | None = None) -> Follower:
        """A reader with a place of its own in the changes of the view; any number at a time.

        Args:
            initial: Whether it is given the whole view first, as it is at its first look; if not,
                only what moves from here on.
            timeout: How many seconds its iteration waits for the next change before it ends; for
                ever if None.

        Complexity: O(1). A transaction remembers what it moved once, however many follow.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> with view.follow() as early, view.follow(initial=False) as late:
        ...     db.insert("r", {"a": [1]})
        ...     _ = early.changes()
        ...     db.insert("r", {"a": [2]})
        ...     early.changes().to_pylist()
        ...     late.changes().num_rows
        [{'a': 2, 'n': 1, 'multiplicity': 1}]
        2
        """
        return Follower(self._native.follow(self._handle, not initial), self.name, timeout)

    def get(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """The row of one group, by its key; None if there is none, or HAVING leaves it out.

        Args:
            key: A value for each column of GROUP BY, by the name that the view shows it under (its
                own name if it does not). None finds the group of NULL. A view without GROUP BY has
                one row: `get({})`.

        Raises:
            UnknownColumnError: The view is not grouped by such a column.
            InvalidValueError: A column of the key is missing.
            TypeMismatchError: A value of another type than its column.
            UnsupportedError: The view shows rows of a join, which no key tells apart.

        Complexity: O(columns), however many groups there are; a few microseconds.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "string", "x": "int64"})
        >>> view = db.create_view("v", "SELECT a, SUM(x) AS s FROM r GROUP BY a")
        >>> db.insert("r", [{"a": "Ada", "x": 3}, {"a": "Ada", "x": 4}])
        >>> view.get({"a": "Ada"}), view.get({"a": "Grace"})
        ({'a': 'Ada', 's': 7}, None)
        """
        try:
            found = self._native.view_get(self._handle, key if type(key) is dict else dict(key))
        except NotImplementedError:
            # A value that is none of Python's own scalars.
            return self.get_many([key])[0]
        return self.get_many([key])[0] if found is NotImplemented else found

    def get_many(self, keys: Rows) -> list[dict[str, Any] | None]:
        """The rows of several groups, one a key and in their order; None where there is none.

        Args:
            keys: A list of dicts, or columns: Arrow data, a pandas or polars frame, a dict of
                lists; each key as for `get`, whose errors are raised.

        Complexity: O(keys), however many groups there are.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> view = db.create_view("v", "SELECT a, b, COUNT(*) AS n FROM r GROUP BY a, b")
        >>> db.insert("r", {"a": [1, 1], "b": [5, None]})
        >>> view.get_many([{"a": 1, "b": None}, {"a": 2, "b": 5}])
        [{'a': 1, 'b': None, 'n': 1}, None]
        >>> view.get_many({"a": [1], "b": [5]})
        [{'a': 1, 'b': 5, 'n': 1}]
        """
        import pyarrow as pa

        types = {name: arrow.data_type(kind) for name, kind in self._native.view_key(self._handle)}
        listed = lookup.keys(keys, types)
        rows, places = self._native.view_get_rows(self._handle, listed)
        found: list[dict[str, Any] | None] = [None] * len(listed)
        for place, row in zip(places, pa.table(rows).to_pylist(), strict=True):
            found[place] = row
        return found

    def where(self, **values: Any) -> pa.Table:
        """The rows that have these values in these columns; None finds NULL.

        Raises:
            UnknownColumnError: The view has no such column.
            TypeMismatchError: A value of another type than its column.

        Complexity: O(1) and the row if the columns are all those of GROUP BY, which an index has.
        With some of them, O(groups) to compare, and only the rows that agree are made. With other
        columns, and of a join, O(rows): they are read as a stream and what agrees is kept.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> view = db.create_view("v", "SELECT a, b, COUNT(*) AS n FROM r GROUP BY a, b")
        >>> db.insert("r", {"a": [1, 1, 2], "b": [5, 6, 6]})
        >>> view.where(b=6).sort_by("a").to_pylist()
        [{'a': 1, 'b': 6, 'n': 1}, {'a': 2, 'b': 6, 'n': 1}]
        """
        import pyarrow as pa

        schema = self.schema
        for name in values:
            if name not in schema.names:
                known = ", ".join(schema.names)
                raise UnknownColumnError(
                    f"view {self.name!r} has no column {name!r}; known columns: {known}"
                )
        types = {name: schema.field(name).type for name in values}
        try:
            [key] = lookup.keys([values], types)
            return pa.table(self._native.view_where(self._handle, key))
        except UnsupportedError:
            return lookup.filtered(self.to_reader(), values, types)

    @property
    def sql(self) -> str:
        """The SQL that the view was created with.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> db.create_view("v", "SELECT COUNT(*) AS n FROM r").sql
        'SELECT COUNT(*) AS n FROM r'
        """
        return self._native.view_sql(self._handle) or ""

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
        return self._native.view_explain(self._handle, format)

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
        return self._native.view_len(self._handle)

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
                return pa.table(self._native.view_slice(self._handle, start, max(start, stop)))
            places = range(start, stop, step)
            if not places:
                return pa.table(self._native.view_slice(self._handle, 0, 0))
            low, high = min(places), max(places)
            found = pa.table(self._native.view_slice(self._handle, low, high + 1))
            return found.take([place - low for place in places])
        place = index(at)
        if not -rows <= place < rows:
            raise IndexError(f"view {self.name!r} has {rows} rows, so there is no row {place}")
        place %= rows
        row: dict[str, Any] = pa.table(
            self._native.view_slice(self._handle, place, place + 1)
        ).to_pylist()[0]
        return row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows one by one, as `to_reader` streams them."""
        for batch in self.to_reader():
            yield from batch.to_pylist()

    def __eq__(self, other: object) -> bool:
        """Whether it is a handle of the same view: of one database, and not of an older one."""
        if not isinstance(other, View):
            return NotImplemented
        return self._native is other._native and self._handle == other._handle

    def __hash__(self) -> int:
        """Equal for handles of the same view."""
        return hash((id(self._native), self._handle))

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
