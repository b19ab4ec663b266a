"""What declares the views of a database: by their SQL, one or several, samples; queries for once.

Invariant: a view is declared whole, or nothing is. Cost: of a call, microseconds above what the
engine takes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from . import _native
from .errors import (
    CostWarning,
    ExistsError,
    InvalidValueError,
    TypeMismatchError,
    UnknownViewError,
    after,
)
from .named import Named
from .queries import Definition, Epsilon, Order, Parameters, Refresh
from .tabling import either
from .view import Format, View
from .words import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from .sample import Sample

Representation = Literal["factorised", "listing"]


class Declaring:
    """The part of a database by which views come and go."""

    _native: _native.Database

    def create_view(
        self,
        name: str,
        sql: str,
        *,
        order: Order | None = None,
        nulls: Literal["refuse", "skip"] | None = None,
        representation: Representation | None = None,
        engine: str | None = None,
        epsilon: Epsilon | None = None,
        parameters: Parameters | None = None,
        dialect: str = "duckdb",
        refresh: Refresh = "full",
        create_or_replace: bool = False,
        if_not_exists: bool = False,
    ) -> View:
        """Declare a view and fill it from the rows that are there.

        Args:
            name: Its name.
            sql: One `SELECT` over tables, other views, subqueries and names of WITH: docs/sql.md
                lists what a view keeps, and what a change costs.
            order: A variable order: names of columns, nested, as
                `{"postcode": {"h.house": {}, "s.shop": {}}}`; chosen by cost if None.
            nulls: What a COFACTOR does with rows that have NULL in a feature: "refuse" the change
                that brings one, as it does by default, or "skip" the row.
            representation: How the rows of a join are kept: "factorised" as unions and products
                that take no more room than the tables' joins on each variable, "listing" one by
                one; if None, factorised unless there is only one table, or DISTINCT leaves out a
                column that joins, with which there are no products.
            engine: The name of the engine that keeps it, such as "viewtree"; if None, the one whose
                changes cost the least. `explain` tells which that is, and of the others why not.
            epsilon: For the engine "epsilon": a value is heavy where it stands in N^epsilon of N
                rows or more. A number from 0 to 1 for all relations, or a dict of them by alias,
                each for what its relation shares with the one before it in FROM (the first with
                the last); 0.5, at which changes cost least, where none is given. Without
                `engine` it asks for that engine.
            parameters: The values of `$1`, `$2` or of each `?` in their order, or by name those of
                `$name` and `:name`: constants of the view from now on.
            dialect: That of the text: "duckdb", "postgres", "spark", "databricks", "snowflake",
                "bigquery", "mysql" or "ansi".
            refresh: How much a change may compute anew at the most: "incremental" the rows around
                those that it moves, as LAG and frames of so many ROWS do; "part" the rows of the
                partitions or groups that it touches, as window functions with PARTITION BY and
                MEDIAN with GROUP BY do; "full" all rows, as they do without. A view that would cost
                more is refused.
            create_or_replace: The view takes the place of one of this name, which stays if the new
                one is refused. Handles and followers of the old one say that it is gone.
            if_not_exists: A view of this name with the same SQL stays, and is returned.

        Raises:
            ExistsError: The name is taken; with `if_not_exists`, by a table or another view.
            QueryError: The text is no SQL, a name is ambiguous, a value out of place.
            UnknownTableError: No such table or view.
            UnknownColumnError: No such column.
            InUseError: The view to be replaced is read by others.
            TypeMismatchError: Types do not fit, such as the SUM of a text.
            UnsupportedError: What a view cannot keep; the message says what can be kept. What the
                engine that was asked for cannot keep, with its reason.
            InvalidValueError: No engine has this name; the message has those that are known.
                `epsilon` is not from 0 to 1, names no relation of the query, or is given for an
                engine that has no use for it.
            ArithmeticOverflowError: A sum over the rows that are there leaves its type.
            KeyboardInterrupt: Ctrl-C; there is no such view, or the message says that there is.

        Warns:
            CostWarning: A change may cost more than the rows of the keys that it has: a product of
                tables, a condition that no index serves. Not where `engine` is named.

        Complexity: that of loading all rows of its tables and of the views that it reads at once.
        """
        either(create_or_replace, if_not_exists)
        if not isinstance(sql, str):
            raise TypeMismatchError(f"the SQL of view {quoted(name)} is a text, not {sql!r}")
        if if_not_exists and name in self.views:
            old = self.views[name]
            if old.sql != sql:
                raise ExistsError(
                    f"the view {quoted(name)} exists already with other SQL: {old.sql}"
                )
            return old
        of = Definition(
            sql, order, representation, nulls, epsilon, parameters, dialect, refresh=refresh
        ).native()

        def create() -> None:
            self._native.create_view(name, of, create_or_replace, engine)

        return self._declared(name, create, 4 if engine is None else None)

    def _declared(self, name: str, create: Callable[[], None], above: int | None) -> View:
        """Create a view, and warn of what its changes cost, where so many calls are above."""
        before = self.views.get(name)
        try:
            create()
            view = self.views[name]
            if above is not None:
                self._warn(name, above)
            return view
        except KeyboardInterrupt as interrupt:
            made = self.views.get(name)
            after(interrupt, made is not None and made != before, f"there is a view {quoted(name)}")
            raise

    def _warn(self, name: str, above: int) -> None:
        for why in self._native.view_warnings(name):
            warnings.warn(f"view {quoted(name)}: {why}", CostWarning, stacklevel=above)

    def create_views(
        self,
        views: Mapping[str, str],
        *,
        engine: str | None = None,
        parameters: Parameters | None = None,
        dialect: str = "duckdb",
        refresh: Refresh = "full",
    ) -> dict[str, View]:
        """Declare several views, all or none, and fill them together from the rows that are there.

        Views over one join with the same groups are kept in one tree, which reads the rows once
        for all of them, and those with other groups in one where they have inner views in common.
        Created one after the other they are too, but then the rows are read anew for each.

        Args:
            views: Their SQL by name. A view may read those before it.
            engine: As for `create_view`, of each.
            parameters: As there, of each.
            dialect: As there.
            refresh: As there.

        Raises:
            ExistsError: A name is taken.
            Others: As `create_view`; then there is none of them.

        Warns:
            CostWarning: As `create_view`.

        Complexity: that of loading all rows of their tables, and of the views that they read, at
        once.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> views = db.create_views({
        ...     "sums": "SELECT a, SUM(b) AS total FROM r GROUP BY a",
        ...     "means": "SELECT a, AVG(b) AS mean FROM r GROUP BY a",
        ...     "large": "SELECT COUNT(*) AS n FROM sums WHERE total > 10",
        ... })
        >>> db.insert("r", [{"a": 1, "b": 20}, {"a": 2, "b": 4}])
        >>> views["large"].scalar(), views["means"].get({"a": 2})
        (1, {'a': 2, 'mean': 4.0})
        """
        definitions = []
        for name, sql in views.items():
            if not isinstance(sql, str):
                raise TypeMismatchError(f"the SQL of view {quoted(name)} is a text, not {sql!r}")
            of = Definition(sql, parameters=parameters, dialect=dialect, refresh=refresh)
            definitions.append((name, of.native()))
        self._native.create_views(definitions, engine)
        if engine is None:
            for name in views:
                self._warn(name, 3)
        return {name: self.views[name] for name in views}

    def explain(
        self,
        sql: str,
        *,
        order: Order | None = None,
        representation: Representation | None = None,
        engine: str | None = None,
        epsilon: Epsilon | None = None,
        parameters: Parameters | None = None,
        dialect: str = "duckdb",
        refresh: Refresh = "full",
        format: Format = "text",
    ) -> str:
        """How a view of this SQL would be kept and what changes would cost; creates nothing.

        Args:
            sql: As for `create_view`, whose errors it raises.
            order: As there.
            representation: As there.
            engine: As there.
            epsilon: As there.
            parameters: As there.
            dialect: As there.
            refresh: As there.
            format: As for `View.explain`.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> print(db.explain("SELECT a, SUM(b) AS b FROM r GROUP BY a", format="mermaid"))
        graph BT
            n0["r[a]<br/>count, 2 sums"]
        <BLANKLINE>
        """
        of = Definition(
            sql, order, representation, None, epsilon, parameters, dialect, refresh=refresh
        )
        return self._native.plan(of.native(), format, engine)

    def sql(
        self,
        sql: str,
        *,
        parameters: Parameters | None = None,
        dialect: str = "duckdb",
    ) -> pa.Table:
        """The rows of a query over tables and views as they are now; keeps nothing.

        Args:
            sql: One `SELECT`, as for `create_view`, and with its meaning.
            parameters: As there.
            dialect: As there.

        Raises:
            UnsupportedError: What no view can keep; a table whose rows are not kept.
            OutOfMemoryError: The rows in between have no room.
            Others: As `create_view`.

        Complexity: that of filling a view of the query from tables that do not change, and of
            reading it. Where a view maintains the same, or its sums over the same join, that of
            reading the result.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> db.insert("r", {"a": [1, 2, 2], "b": [10, 20, 30]})
        >>> query = "SELECT a, SUM(b) AS total FROM r WHERE b > ? GROUP BY a ORDER BY total DESC"
        >>> [row["a"] for row in db.sql(query, parameters=[5]).to_pylist()]
        [2, 1]
        """
        import pyarrow as pa

        if not isinstance(sql, str):
            raise TypeMismatchError(f"a query is a text, not {sql!r}")
        of = Definition(sql, parameters=parameters, dialect=dialect)
        return pa.RecordBatchReader.from_stream(self._native.evaluate(of.native())).read_all()

    def create_sample(self, name: str, sql: str, *, k: int, seed: int) -> Sample:
        """Keep k rows of a join, a uniform sample without replacement, fresh after every change.

        Args:
            name: Its name, which no table and no view has.
            sql: `SELECT` of columns of an inner join, as for `create_view`: with filters,
                self-joins, cycles and products.
            k: How many rows; all of the join while it has fewer.
            seed: Of the random numbers, 0 to 2^64 - 1. The same seed and the same changes give the
                same sample on every machine.

        Raises:
            InvalidValueError: `k` is not positive, or `seed` out of range.
            OutOfMemoryError: There is no room for `k` rows.
            UnsupportedError: Aggregates or DISTINCT; the message says what can be sampled.
            Others: As `create_view`.

        Complexity: a row that comes costs O(log rows) amortised, whatever it joins with, and
        k log(rows of the join) in all for what the sample takes in. A row that leaves costs what
        it moves, and O(log rows) for each sampled row that goes with it. In a cyclic join N rows
        cost as much as O(N^width) for the fractional hypertree width, 3/2 for triangles.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> sample = db.create_sample(
        ...     "paths", "SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a", k=2, seed=1)
        >>> db.insert("r", {"a": [1, 2, 3], "b": [2, 3, 4]})
        >>> sorted(row["a"] for row in sample.to_arrow().to_pylist())
        [1, 2]
        """
        from .sample import Sample

        if not isinstance(sql, str):
            raise TypeMismatchError(f"the SQL of sample {quoted(name)} is a text, not {sql!r}")
        for what, number in (("k", k), ("seed", seed)):
            if isinstance(number, bool) or not isinstance(number, int):
                raise TypeMismatchError(f"{what}={number!r} is not an integer")
            if not (what == "k") <= number < 2**64:
                raise InvalidValueError(
                    f"{what}={number} is out of range; k is 1 or more, a seed 0 to 2^64 - 1"
                )
        of = Definition(sql, only_joins=True)
        try:
            self._native.create_sample(name, of.native(), k, seed)
        except KeyboardInterrupt as interrupt:
            after(interrupt, name in self.views, f"there is a sample {quoted(name)}")
            raise
        return Sample(self._native, name, self._native.view_id(name))

    def drop_view(self, name: str, *, cascade: bool = False) -> None:
        """Forget a view; if `cascade`, with those that read it, all or none.

        Raises UnknownViewError; InUseError while others read it, if nothing is said of them.
        """
        self._native.drop_view(name, cascade)

    @property
    def views(self) -> Mapping[str, View]:
        """The views by name, samples as `Sample`; `db.views["v"]` raises UnknownViewError."""

        def view(name: str, number: int) -> View:
            # A view that was dropped since the look has a handle, which says so.
            with suppress(UnknownViewError):
                if self._native.view_is_sample((name, number)):
                    from .sample import Sample

                    return Sample(self._native, name, number)
            return View(self._native, name, number)

        return Named(self._native.view_ids, self._native.view_id, view)
