"""A view as a user sees it: its rows now, what moved, and how it is kept.

Invariant: reads the engine at each question; two reads without a change between them are equal.
Cost: O(rows) to read all, O(groups that moved) for the changes, O(1) for the length.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Literal

from . import arrow, lookup, notebook
from .errors import RingviewError, UnknownViewError
from .followed import Followed
from .words import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from .cofactor import Cofactor
    from .rows import Rows

_SHOWN = 10
Format = Literal["text", "mermaid", "graphviz", "json", "html"]


class View(Followed):
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

    __slots__ = ()

    def get(self, key: lookup.Key) -> dict[str, Any] | None:
        """The row of one group, by its key; None if there is none, or HAVING leaves it out.

        Args:
            key: A value for each column of GROUP BY, by the name that the view shows it under (its
                own name if it does not). Or the values alone, a tuple in the order of GROUP BY; of
                a single column the value itself. None finds the group of NULL. A view without
                GROUP BY has one row: `get({})`.

        Raises:
            UnknownColumnError: The view is not grouped by such a column.
            InvalidValueError: A column of the key is missing.
            TypeMismatchError: A value of another type than its column; as many values without
                names as there are not columns.
            UnsupportedError: The view shows rows of a join, which no key tells apart.

        Complexity: O(columns), however many groups there are; a few microseconds.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "string", "x": "int64"})
        >>> view = db.create_view("v", "SELECT a, SUM(x) AS s FROM r GROUP BY a")
        >>> db.insert("r", [{"a": "Ada", "x": 3}, {"a": "Ada", "x": 4}])
        >>> view.get({"a": "Ada"}), view.get("Ada"), view.get("Grace")
        ({'a': 'Ada', 's': 7}, {'a': 'Ada', 's': 7}, None)
        """
        if type(key) is not dict:
            key = lookup.named(key, self._key(), f"view {quoted(self.name)}")
        try:
            found = self._native.view_get(self._handle, key)
        except NotImplementedError:
            # A value that is none of Python's own scalars.
            return self.get_many([key])[0]
        return self.get_many([key])[0] if found is NotImplemented else found

    def _key(self) -> list[str]:
        """The columns that tell its groups."""
        return [name for name, _ in self._native.view_key(self._handle)]

    def get_many(self, keys: Rows | Iterable[lookup.Key]) -> list[dict[str, Any] | None]:
        """The rows of several groups, one a key and in their order; None where there is none.

        Args:
            keys: A list of keys, or columns: Arrow data, a pandas or polars frame, a dict of
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
        listed = lookup.keys(
            lookup.all_named(keys, list(types), f"view {quoted(self.name)}"), types
        )
        rows, places = self._native.view_get_rows(self._handle, listed)
        found: list[dict[str, Any] | None] = [None] * len(listed)
        for place, row in zip(places, pa.table(rows).to_pylist(), strict=True):
            found[place] = row
        return found

    def partial(self) -> pa.Table:
        """What this view adds to the same view over more rows, to be added by `merge`.

        A row a group: the columns of GROUP BY, each under the name that the view shows it by (its
        own if it does not), then `payload` (binary), all that is kept of the group: exact numbers,
        sums of floats with all their digits, a COFACTOR, every value of MIN, MAX and
        COUNT(DISTINCT), what HAVING and expressions need; groups that HAVING leaves out too. Where
        all tables are static, of MIN and MAX the ends alone, for no row can leave.
        Without GROUP BY one row. Of a join that the view shows row by row: the rows, each with
        `multiplicity`. Names that are taken get a `_`.

        The bytes are the same whatever engine keeps the view, and begin with a version.

        Raises:
            UnsupportedError: The view is a sample.
            OutOfMemoryError: There is no room for it.

        Complexity: O(groups and values); of a join O(rows).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "string", "x": "int64"})
        >>> view = db.create_view("v", "SELECT a, MAX(x) AS most FROM r GROUP BY a")
        >>> db.insert("r", {"a": ["Ada", "Ada"], "x": [3, 4]})
        >>> partial = view.partial()
        >>> partial.schema.names, partial["a"].to_pylist()
        (['a', 'payload'], ['Ada'])
        """
        import pyarrow as pa

        return pa.table(self._native.view_partials(self._handle))

    def merge(self, partial: arrow.Arrow) -> None:
        """Add what the same view over other rows has: its `partial()`, or several of them as one.

        The view becomes the sum of what it was and of what is merged, as if one database had all
        rows, in whatever order parts come: if each row of the join was made in one part. So parts
        are made by what joins and correlates (a subquery must see in one part all that it looks
        at), or by splitting one table that the query reads once and copying the others. A merge is
        a transaction; views that read this one move with it. From the first merge on partials alone
        come to the view: changing its tables is refused, and so is saving the database.

        Numbers and rows are exact; sums of floats are the same to the last bit as long as three
        doubles hold them, whatever the order, and a COFACTOR of whole numbers below 2^53. Counts
        below 0, of rows that were deleted where they were not inserted, are taken by
        `Database(trust_deletes=True)` alone; sums of floats must be deleted where they were
        inserted, and a COFACTOR too.

        Args:
            partial: Arrow data with the columns of `partial()`, in any order.

        Raises:
            InvalidValueError: A payload of another view, of another version, cut off or damaged; a
                count below 0.
            UnknownColumnError, TypeMismatchError: Columns of another view.
            UnsupportedError: A group whose condition compares with subqueries comes in two parts;
                somebody follows the view already; the database is in a file.
            ArithmeticOverflowError: A sum does not fit. The view is as it was, in any case.

        Complexity: O(groups of the partial), and O(log n) for each value of MIN and MAX; the first
        merge reads the view too.

        >>> import ringview as rv
        >>> def part(rows):
        ...     db = rv.Database()
        ...     _ = db.create_table("r", {"a": "int64", "x": "int64"})
        ...     sql = "SELECT a, MAX(x) AS most, COUNT(*) AS n FROM r GROUP BY a"
        ...     view = db.create_view("v", sql)
        ...     db.insert("r", rows)
        ...     return view
        >>> whole = part([{"a": 1, "x": 3}])
        >>> whole.merge(part([{"a": 1, "x": 5}, {"a": 2, "x": 4}]).partial())
        >>> whole.to_arrow().sort_by("a").to_pylist()
        [{'a': 1, 'most': 5, 'n': 2}, {'a': 2, 'most': 4, 'n': 1}]
        """
        self._native.merge_partials(self._handle, partial)

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

    def explain(self, format: Format = "text") -> str:
        """How the view is kept, why, and what each change costs.

        First what a change of each table costs: what it meets on its way up; the tree, with rows,
        bytes and updates a node. Then why: the engine, and which conditions hold that bound the
        cost of changes and reading (acyclic, free-connex, hierarchical, q-hierarchical), or what
        they fail by. Then the same of each view and subquery that it reads.

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

    def live(self, rows: int = 20, *, every: float = 0.5) -> Any:
        """The view as a widget of Jupyter or marimo, which moves as the view does.

        Args:
            rows: How many rows it shows, the first ones.
            every: How many seconds to wait between two looks.

        Returns:
            A widget, to be shown as the value of a cell; its `close()` ends it.

        Raises:
            UnsupportedError: anywidget is not installed.
            InvalidValueError: No rows, or no time.

        Complexity: a thread; a look at what moved, and a read of these rows.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> widget = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a").live()
        >>> db.insert("r", {"a": [1, 1]})
        >>> _ = widget.refresh()
        >>> widget.shown["rows"]
        [{'a': 1, 'n': 2}]
        >>> widget.close()
        """
        from .live import live

        return live(self, rows, every)

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

    def __repr__(self) -> str:
        if self._native.is_closed():
            state = "closed"
        else:
            try:
                state = f"rows={len(self)}"
            except RingviewError as problem:
                # A view is shown in the midst of other things, and never ends them.
                gone = isinstance(problem, UnknownViewError)
                state = "dropped" if gone else type(problem).__name__
        return f"{type(self).__name__}({self.name!r}, {state})"

    def _repr_html_(self) -> str:
        """The first rows as a table, and how the view is kept, for notebooks."""
        if self._native.is_closed():
            return escape(repr(self))
        found = self[:_SHOWN]
        try:
            from .cofactor import Cofactor
        except ImportError:
            # Without NumPy there is no Cofactor to show.
            shown = notebook.result(found)
        else:
            shown = notebook.result(found, Cofactor.from_arrow)
        note = f"{escape(self.name)}: {counted(len(self), 'row')}"
        return f"{shown}<details><summary>{note}</summary>{self.explain('html')}</details>"
