"""A view as a user sees it: its rows now, what moved, and how it is kept.

Invariant: reads the engine at each question; two reads without a change between them are equal, and
no reader of changes is given one twice. Cost: O(rows) to read all, O(1) for the length, O(groups
that moved) for the changes; what nobody follows costs nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import notebook
from .convert import arrow, lookup
from .convert.sizes import whole
from .errors import InvalidValueError, RingviewError, SuspendedError, UnsupportedError
from .follower import Follower
from .relation import Relation
from .text import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from . import _native
    from .convert.rows import Rows
    from .stats.cofactor import Cofactor

_SHOWN = 10
Format = Literal["text", "mermaid", "graphviz", "json", "html"]


class Suspension(NamedTuple):
    """A view that a change made fail: since when it is suspended, in UTC, and why."""

    since: datetime
    why: str


class View(Relation):
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
    _noun = "view"

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
        """The plan of the view, its reasons, and the cost of each change.

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

    @property
    def suspension(self) -> Suspension | None:
        """The moment since which the view is suspended, and why; None while it is kept. O(1).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> r = db.create_table("r", {"a": "string"})
        >>> view = db.create_view(
        ...     "v", "SELECT SUM(CAST(a AS BIGINT)) AS n FROM r", on_error="suspend")
        >>> view.suspension is None
        True
        """
        found = self._native.suspension(self.name)
        if found is None:
            return None
        since, why = found
        return Suspension(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=since), why)

    def resume(self) -> list[str]:
        """Fill the view again after a change suspended it: from the rows that are there now.

        The suspended views that it reads, those above it and those of an equal query are resumed
        with it, all or none; their names are returned. Followers are given the difference from the
        rows that they have read. Does nothing where the view is not suspended.

        Raises:
            Others: The error by which one of them still fails, as `Database.create_view`; they are
                suspended as before.

        Complexity: that of creating these views.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> r = db.create_table("r", {"a": "string"})
        >>> view = db.create_view(
        ...     "v", "SELECT SUM(CAST(a AS BIGINT)) AS n FROM r", on_error="suspend")
        >>> db.insert("r", {"a": ["1", "two"]})
        >>> view
        View('v', suspended)
        >>> db.delete("r", {"a": ["two"]})
        >>> view.resume(), view.scalar()
        (['v'], 1)
        """
        return self._native.resume_view(self.name)

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

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows of the view as a stream of batches: those that it has now, and no others.

        Rows of a factorised join are made as they are read, in constant delay, so memory is that of
        a batch whatever the number of rows; so are rows of a join that the engine "epsilon" keeps.
        When such a view moves, its reader ends: reading on raises ViewChangedError, once the view
        is dropped UnknownViewError, and never gives a mix. Rows of all other views (groups,
        listings, samples) are made by this call, O(rows), and can be read whatever becomes of the
        view, until the database is closed.

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

    # Not by the reader, whose C++ calls Python: a thread that the interpreter's end stops in there
    # aborts the process.
    def to_arrow(self) -> pa.Table:
        """The rows, in no particular order. O(rows)."""
        import pyarrow as pa

        batches = _batches(self._native.view_stream(self._handle))
        return pa.Table.from_batches(batches, self.schema)

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
            UnsupportedError: The view shows rows of a join, which no key identifies.

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
        """The columns that identify its groups."""
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

    def draw(self, m: int, *, seed: int) -> pa.Table:
        """Rows of a factorised join, each drawn from all with equal chances.

        Draws are independent: a row may be drawn more than once. The same seed draws the same from
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

        whole("m", m)
        whole("seed", seed)
        return pa.table(self._native.view_draw(self._handle, m, seed))

    def changes(self) -> pa.Table:
        """Changes since the last call: rows with a last column `multiplicity`.

        An inserted row has multiplicity 1, a deleted one -1; a row whose aggregate moved is deleted
        and inserted again. So is a group that begins or ends to pass HAVING. A row that was
        inserted and deleted again is left out. The first call gives the whole view. Of a join, each
        row that moved has the change of its multiplicity.

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

    def unfollow(self, name: str | None = None) -> None:
        """End what `changes()` began: nothing is remembered for it until it is called again. O(1).

        Args:
            name: Of a follower with a name, whose place is forgotten instead.

        Raises:
            StorageError: The file of the database cannot be written.

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
        if name is None:
            self._native.forget_changes(self._handle)
        else:
            self._native.forget_follower(self._handle, name)

    @property
    def followers(self) -> list[str]:
        """The names of those who follow the view under one, in the order of the alphabet."""
        return self._native.followers(self._handle)

    def follow(
        self, name: str | None = None, *, initial: bool = True, timeout: float | None = None
    ) -> Follower:
        """A reader with a place of its own in the changes of the view; any number at a time.

        A follower with a name has its place in the file of the database: followed under this name
        again, also after a crash, it is given all that moved since its last `commit`. The view
        remembers what that is until `unfollow(name)`, or until it is dropped or replaced. Of a name
        that is there, `initial` says nothing.

        Args:
            name: Whose place it is; all who follow under one name share it.
            initial: Whether it is given the whole view first, as it is at its first look; if not,
                only what moves from here on.
            timeout: How many seconds its iteration waits for the next change before it ends; for
                ever if None.

        Raises:
            UnsupportedError: A name, of a sample or a view that reads one: after a crash it may
                hold other rows, and the changes are lost.
            StorageError: A name, and the file cannot be written.

        Complexity: O(1), with a name a commit of the file. A transaction remembers what it moved
        once, however many follow.

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
        native = self._native.follow(self._handle, not initial, name)
        place = (id(self._native), self._handle, name)
        return Follower(native, self.name, name, timeout, place)

    def follow_partials(self, *, initial: bool = True, timeout: float | None = None) -> Follower:
        """A reader of what the view adds to the same view over more rows, as that changes.

        Its `changes()` are partials, as those of `partial()`; merged into another database's view
        of this query (`merge`), all that was given so far is the content of this view. So a view
        over rows of several databases follows its parts. Removed sums, counts and values of MIN,
        MAX and COUNT(DISTINCT) have numbers below 0, which databases with ``trust_deletes=True``
        take. A group may be given more than once; partials are kept until they are read, for each
        transaction those of the groups that it changed. Of a view of rows they are the rows, as
        `follow` gives them.

        Args:
            initial: Whether it is given the whole partial first, as it is at its first look; if
                not, only what changes from here on.
            timeout: As `follow`.

        Raises:
            UnsupportedError: The view is a sample, or its groups are computed as they are read.

        Complexity: O(1). A transaction remembers O(groups and values that it changed), once,
        however many follow.

        Source: the ring of payloads of "Incremental View Maintenance with Triple Lock
        Factorization Benefits" (Nikolic and Olteanu, SIGMOD 2018): deltas of views are views.

        >>> import ringview as rv
        >>> def database(**options: bool) -> rv.Database:
        ...     db = rv.Database(**options)
        ...     _ = db.create_table("r", {"a": "int64", "x": "int64"})
        ...     _ = db.create_view("v", "SELECT a, COUNT(*) AS n, MAX(x) AS m FROM r GROUP BY a")
        ...     return db
        >>> whole = database(trust_deletes=True)
        >>> parts = [database(), database()]
        >>> followers = [part["v"].follow_partials() for part in parts]
        >>> def gather() -> list[dict[str, int]]:
        ...     for follower in followers:
        ...         whole["v"].merge(follower.changes())
        ...     return whole["v"].to_arrow().to_pylist()
        >>> for part, x in zip(parts, (3, 5)):
        ...     part.insert("r", {"a": [1], "x": [x]})
        >>> gather()
        [{'a': 1, 'n': 2, 'm': 5}]
        >>> parts[1].delete("r", {"a": [1], "x": [5]})
        >>> gather()
        [{'a': 1, 'n': 1, 'm': 3}]
        """
        native = self._native.follow_partials(self._handle, not initial)
        place = (id(self._native), self._handle, None)
        return Follower(native, self.name, None, timeout, place)

    def partial(self) -> pa.Table:
        """Contribution of this view to the same view over more rows, to be added by `merge`.

        A row a group: the columns of GROUP BY, each under the name that the view shows it by (its
        own if it does not), then `payload` (binary), all that is kept of the group: exact numbers,
        sums of floats with all their digits, a COFACTOR, every value of MIN, MAX and
        COUNT(DISTINCT), the inputs of HAVING and expressions; groups that HAVING leaves out too. If
        all tables are static, of MIN and MAX the ends alone, for no row can leave. Without GROUP BY
        one row. Of a join that the view shows row by row: the rows, each with `multiplicity`. Names
        that are taken get a `_`.

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
        rows, whatever the order of the parts: if each row of the join was made in one part. So
        parts are made by what joins and correlates (a subquery must see in one part all that it
        looks at), or by splitting one table that the query reads once and copying the others. A
        merge is a transaction; views that read this one move with it. From the first merge on the
        view takes partials alone: changing its tables is refused, and so is saving the database.

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
            UnsupportedError: A group whose condition compares with subqueries is in two parts;
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

        return live(self, lambda: self.follow(initial=False), rows, every)

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
        from .stats.cofactor import Cofactor

        return Cofactor.from_table(self.to_arrow())

    def cofactors(self) -> Iterator[tuple[tuple[Any, ...], Cofactor]]:
        """Each group of a COFACTOR view: its key and its counts, sums and products.

        Other aggregates may be listed with the COFACTOR; `to_arrow()` has them.

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
        from .stats.cofactor import cofactors

        return cofactors(self.to_arrow())

    def __len__(self) -> int:
        """The number of rows. O(1), or O(groups) with HAVING and for listings."""
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

    def __repr__(self) -> str:
        try:
            state = f"rows={len(self)}"
        except SuspendedError:
            state = "suspended"
        except RingviewError as problem:
            state = self._gone(problem)
        return f"{type(self).__name__}({self.name!r}, {state})"

    def _repr_html_(self) -> str:
        """The first rows as a table, and how the view is kept, for notebooks."""
        if self._native.is_closed() or self.suspension is not None:
            return escape(repr(self))
        found = self[:_SHOWN]
        try:
            from .stats.cofactor import Cofactor
        except ImportError:
            # Without NumPy there is no Cofactor to show.
            shown = notebook.result(found)
        else:
            shown = notebook.result(found, lambda *of: Cofactor.from_arrow(*of)._repr_html_())
        note = f"{escape(self.name)}: {counted(len(self), 'row')}"
        return f"{shown}<details><summary>{note}</summary>{self.explain('html')}</details>"


def _batches(stream: _native.RowStream) -> Iterator[pa.RecordBatch]:
    """The blocks of a stream as pyarrow batches.

    A stream that failed continues to fail: its end would look like that of all rows.
    """
    import pyarrow as pa

    def batch(rows: _native.Rows) -> pa.RecordBatch:
        return pa.RecordBatchReader.from_stream(rows).read_next_batch()

    return map(batch, iter(stream.next, None))
