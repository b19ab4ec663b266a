"""A database: its tables and views, their definitions, changes, queries and file.

Invariant: names and SQL become arguments of the engine, which decides all else; a call does all of
it or nothing. A database with a file has the effect of a call on disk when the call returns, or
when the next snapshot does, as `durability` says. After the process is killed, the effect of a call
that had not returned is in the file wholly or not at all. No clock of the machine is read. Cost: of
a call, microseconds above the engine's own; of files see `open`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from os import PathLike, fsdecode, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, get_args, overload

from . import _native, notebook
from .atomic_write import NotAFileError, check_file
from .changes import Change, Progress, apply_changes, execute_change
from .convert import arrow, sizes
from .convert.factors import Factors, products
from .convert.moments import Moment, interval, microseconds, moment
from .convert.rows import Rows
from .errors import (
    ExistsError,
    InvalidValueError,
    QueryError,
    RingviewError,
    StorageError,
    TypeMismatchError,
    UnknownViewError,
)
from .functions import Function, Functions, Given, Kind, NullHandling, declare, declare_rest, finder
from .log import log
from .names import ByName
from .queries import Definition, Epsilon, OnError, Order, Parameters, Refresh
from .statements import (
    CHANGES,
    Condition,
    created,
    define,
    delete_where,
    read_rows,
    shown,
    update_where,
    warn_of_cost,
)
from .table import Table
from .text import quoted
from .transaction import SqlTransaction, Transaction
from .view import Format, View

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from .sample import Sample

Durability = Literal["transaction", "snapshot"]
Place = str | bytes | PathLike[str] | PathLike[bytes]
Representation = Literal["factorised", "listing"]


@dataclass(frozen=True)
class FileStatus:
    """State of the file of a database."""

    path: Path
    """Path of the file."""
    file_bytes: int
    """Bytes of the file; some are room for what comes."""
    snapshot_bytes: int
    """Bytes of what was there when it was last written anew."""
    log_bytes: int
    """Bytes of what happened since."""
    last_snapshot: datetime | None
    """Time of the last writing anew."""
    commits: int
    """Number of writes since it was opened."""
    cache_bytes: int
    """Bytes that its pages may take in memory; part of `memory_limit`."""
    problem: str | None
    """Why it could not be written anew when that was due; None once it could."""


class Database:
    """Tables and views in this process; nothing to start.

    Args:
        trust_deletes: Keep no base rows and do not check that deleted rows exist. Less memory and
            faster, but deleting an absent row makes views wrong, and views are declared before rows
            are inserted.
        memory_limit: Bytes that tables, views and the data being read may take: a number, or text
            such as `"512MB"`, `"2GB"` or `"1.5GiB"`. A call that needs more raises
            `OutOfMemoryError`, which is a `MemoryError`, and changes nothing. By default the memory
            of the machine, or of the process's control group.
        share: Whether views, and blocks of their queries, are kept once where their queries are
            equal, and in one tree where they have the same join and groups and other sums. Inner
            views that the trees of other groups have in common are kept once by one thread.
            `explain` names those that a view shares with.
        threads: How many threads share the work of a transaction, that of the caller among them:
            each view, and the base rows, are a task of their own. Results are the same for any
            number, to the last bit.

    Raises:
        InvalidValueError: `memory_limit` is not a size, or `threads` not above 0.

    >>> db = Database()
    >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
    >>> _ = db.create_table("s", {"b": "int64", "c": "int64"})
    >>> view = db.create_view("v", "SELECT SUM(a * c) AS total FROM r NATURAL JOIN s")
    >>> db.insert("r", [{"a": 2, "b": 1}])
    >>> db.insert("s", [{"b": 1, "c": 5}, {"b": 1, "c": 6}])
    >>> view.scalar()
    22
    >>> db
    Database(tables=['r', 's'], views=['v'])
    """

    _open: SqlTransaction | None = None

    def __init__(
        self,
        *,
        trust_deletes: bool = False,
        memory_limit: int | str | None = None,
        share: bool = True,
        threads: int = 1,
    ) -> None:
        limit = None if memory_limit is None else sizes.size(memory_limit)
        self._native = _native.Database(trust_deletes, limit, share, sizes.threads(threads))

    @classmethod
    def open(
        cls,
        path: Place,
        *,
        durability: Durability = "transaction",
        tell_last: bool = False,
        trust_deletes: bool = False,
        memory_limit: int | str | None = None,
        progress: Progress | None = None,
        compact_at: float | None = 2.0,
        share: bool = True,
        threads: int = 1,
        functions: Given | None = None,
    ) -> Self:
        """Open the database of a file, or make one; whatever it does from then on is kept there.

        One process at a time has a file; its forks do not. `close`, or the end of a `with` block,
        releases it. Changes that several threads make while the disk is busy are written together.
        A follower with a name resumes at its place (`View.follow`). The positions of other readers
        are not kept: `View.changes` starts with the whole view. A sample resumes as it was at the
        last `snapshot` or `close`, over the changes since.

        Args:
            path: The file.
            durability: With "transaction" every call that returned is on disk. With "snapshot" what
                was there at the last `snapshot` or `close` is, and calls cost as much as in memory.
            tell_last: `View.changes` starts with the changes of the last transaction, if the file
                has none after it; without, with the whole view. A program that passes changes to
                another system, and cannot be sure whether it did so before it was killed, receives
                them again.
            trust_deletes: As of `Database`; of a file that is there, as it was made. Such a file
                keeps all changes since the last `snapshot`, as rows are not kept.
            memory_limit: As of `Database`; an eighth of it, 16 MiB at the most, is for the file.
            progress: Called now and then with the number of rows read so far; what it raises ends
                it.
            compact_at: The file is rewritten, as by `snapshot`, when its log takes this many times
                the bytes that the rows took at the last rewrite, and more than a megabyte: the next
                change waits for it. So the cost of the file, and of opening it, follows the rows
                that are there and not the history. With None only `snapshot` and `close` rewrite
                it.
            share: As of `Database`.
            threads: As of `Database`.
            functions: The functions that its views call, by name: a file keeps what they take and
                return, not what they do. Each a function of Python, or a `Function` with its types,
                which is then there whether a view calls it or not; `db.functions` are such.

        Raises:
            UnknownFunctionError: Functions that views call are not given, or have other types.
            FunctionError: A function fails by a row.
            SnapshotError: The file is no database, is damaged, or was written by a later version.
            StorageError: It cannot be opened or made, or is open elsewhere; it is a device, a pipe
                or a folder, which stays as it is.
            InvalidValueError: Another `durability`; another `trust_deletes` than the file's; a
                `compact_at` or `threads` that is not above 0.
            OutOfMemoryError: `memory_limit` is too low for it.

        Complexity: O(rows that are there, and of the changes since the last snapshot); each view is
        filled once. A change then costs its rows as Arrow, written and synced to disk.

        >>> import tempfile
        >>> import ringview as rv
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/sales.ringview"
        >>> with rv.Database.open(path) as db:
        ...     _ = db.create_table("sales", {"shop": "string", "units": "int64"})
        ...     _ = db.create_view("v", "SELECT SUM(units) AS units FROM sales")
        ...     db.insert("sales", {"shop": ["a", "b"], "units": [3, 4]})
        >>> db = rv.Database.open(path)
        >>> db["v"].scalar()
        7
        >>> db.close()
        """
        if durability not in ("transaction", "snapshot"):
            raise InvalidValueError(
                f'durability is "transaction" or "snapshot", not {durability!r}'
            )
        if compact_at is not None and not 0 < compact_at < float("inf"):
            raise InvalidValueError(
                f"compact_at={compact_at!r} is not above 0; write a number such as 2.0, or None"
            )
        path = _decoded(path)
        _check_place(path)
        limit = None if memory_limit is None else sizes.size(memory_limit)
        native = _native.Database.open(
            path,
            durability == "transaction",
            tell_last,
            trust_deletes,
            limit,
            progress,
            compact_at,
            share,
            sizes.threads(threads),
            finder(functions or {}),
        )
        return cls._read(native, functions or {}, "opened %s: %d tables, %d views", path)

    @classmethod
    def load(
        cls,
        path: Place,
        *,
        memory_limit: int | str | None = None,
        progress: Progress | None = None,
        share: bool = True,
        threads: int = 1,
        functions: Given | None = None,
    ) -> Self:
        """Read a database from a file into memory; the file stays as it is.

        Args:
            path: A file that `save` wrote, or that `open` made and nobody has open.
            memory_limit: As of `open`.
            progress: As of `open`.
            share: As of `Database`.
            threads: As of `Database`.
            functions: As of `open`.

        Raises:
            SnapshotError, StorageError, OutOfMemoryError: As `open`; also if there is no file.
            UnknownFunctionError, FunctionError: As `open`.
            InvalidValueError: `threads` is not above 0.

        Complexity: as `open`.
        """
        limit = None if memory_limit is None else sizes.size(memory_limit)
        workers = sizes.threads(threads)
        found = finder(functions or {})
        path = _decoded(path)
        native = _native.Database.load(path, limit, progress, share, workers, found)
        text = "read %s into memory: %d tables, %d views"
        return cls._read(native, functions or {}, text, path)

    @classmethod
    def _of(cls, native: _native.Database) -> Self:
        """A database over another one's engine or a draft, with no transaction open."""
        made = cls.__new__(cls)
        made._native = native
        return made

    @classmethod
    def _read(cls, native: _native.Database, functions: Given, text: str, path: Place) -> Self:
        """A database that was read from a file."""
        try:
            declare_rest(native, functions)
        except Exception:
            native.close()
            raise
        log("info", text, path, len(native.tables()), len(native.views()))
        return cls._of(native)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name; `db.tables["r"]` raises UnknownTableError if there is none."""

        def table(name: str, number: int) -> Table:
            return Table(self._native, name, number)

        return ByName(self._native.table_ids, self._native.table_id, table)

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

        return ByName(self._native.view_ids, self._native.view_id, view)

    @property
    def functions(self) -> Mapping[str, Function]:
        """The functions by name, as they were declared.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> db.create_function("count_letters", lambda t: [len(x.as_py()) for x in t],
        ...                    ["string"], "int64")
        >>> db.functions["count_letters"].parameters
        (DataType(string),)
        """
        return Functions(self._native.functions())

    def __getitem__(self, name: str) -> View:
        """A view by its name, a sample as `Sample`; raises UnknownViewError."""
        return self.views[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is a view of this name."""
        return name in self.views

    def __iter__(self) -> Iterator[str]:
        """The names of the views, as `in` and `db[name]` have them; of tables see `tables`.

        >>> db = Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> _ = db.create_view("v", "SELECT COUNT(*) AS n FROM r")
        >>> list(db), list(db.tables), "v" in db, "r" in db
        (['v'], ['r'], True, False)
        """
        return iter(self.views)

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        unique: str | Sequence[str] | None = None,
        static: bool = False,
        keep_for: tuple[str, str | timedelta] | None = None,
        create_or_replace: bool = False,
        if_not_exists: bool = False,
    ) -> Table:
        """Declare a table; it starts empty.

        Args:
            name: Its name in SQL, 1,024 bytes at the most, as names of columns are.
            schema: `{"id": "int64", "price": "decimal128(12, 2) not null"}`, a `pyarrow.Schema`, or
                any data with a schema (its rows are not inserted).
            unique: Columns that no two rows share together, or the name of one. Saves memory, and
                is checked.
            static: The table is filled before views read it and then stays as it is, which lets
                views store less.
            keep_for: A column of dates or timestamps and how long rows stay, as in
                `("ts", "7 days")`, `("day", "3 months")` or `("ts", timedelta(hours=12))`: a row is
                deleted as soon as its moment is that long before the clock, see `advance`. A row
                that is too old when it is inserted is accepted and deleted at once. A row with NULL
                there stays.
            create_or_replace: A table of this name is dropped first, with its rows.
            if_not_exists: A table of this name with the same columns stays, and is returned.

        Raises:
            ExistsError: The name is taken; with `if_not_exists`, by a view or a table that differs.
            InUseError: The table to be replaced is read by a view.
            TypeMismatchError: A type that is not stored; `keep_for` names a column of another type.
            UnknownColumnError: `unique` or `keep_for` names a column that is not there.
            InvalidValueError: The name is empty, or there are no columns; `keep_for` has no length
                of time above 0.
            UnsupportedError: `keep_for` of a static table, or with `trust_deletes`.

        Complexity: O(columns). With `keep_for` an inserted row costs O(log n) more, and about as
        much memory again.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"}, unique="a")
        >>> db.create_table("r", {"a": "int64"}, unique="a", if_not_exists=True) == table
        True
        """
        held = None if keep_for is None else _retention(keep_for)
        columns = [unique] if isinstance(unique, str) else unique and list(unique)
        _check_one(create_or_replace, if_not_exists)
        if name in self.tables and (create_or_replace or if_not_exists):
            old = self.tables[name]
            # The new table must be possible before the old one is dropped.
            draft = _native.Database()
            draft.create_table(name, arrow.schema(schema), columns, static, held)
            new = Table(draft, name, draft.table_id(name))
            if if_not_exists:
                for what in ("schema", "unique", "static", "keep_for"):
                    if (found := getattr(old, what)) != (asked := getattr(new, what)):
                        raise ExistsError(
                            f"the table {quoted(name)} exists already with another {what}: "
                            f"{_in_line(found)}, not {_in_line(asked)}"
                        )
                return old
            self.drop_table(name)
        self._native.create_table(name, arrow.schema(schema), columns, static, held)
        return self.tables[name]

    def drop_table(self, name: str, *, cascade: bool = False) -> None:
        """Forget a table.

        Args:
            name: Its name.
            cascade: Whether the views that read it, and those that read these, are dropped with it:
                all of them, or nothing, in a file too.

        Raises:
            UnknownTableError: There is no table of this name.
            InUseError: Views read it, and nothing was said of them.

        Complexity: O(bytes that are given back).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> _ = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> _ = db.create_view("w", "SELECT SUM(n) AS n FROM v")
        >>> db.drop_table("r", cascade=True)
        >>> db
        Database(tables=[], views=[])
        """
        self._native.drop_table(name, cascade)

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
        on_error: OnError = "refuse",
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
            nulls: Treatment of rows that have NULL in a feature of a COFACTOR: "refuse" the change
                that brings one, the default, or "skip" the row.
            representation: How the rows of a join are kept: "factorised" as unions and products
                that take no more room than the tables' joins on each variable, "listing" one by
                one; if None, factorised unless there is only one table, or DISTINCT leaves out a
                column that joins, with which there are no products.
            engine: The name of the engine that keeps it, such as "viewtree"; if None, the one whose
                changes cost the least. `explain` names it, and says why each other engine was not
                chosen.
            epsilon: For the engine "epsilon": a value is heavy where N^epsilon or more of N rows
                hold it. A number from 0 to 1 for all relations, or a dict of them by alias, each
                for the columns that its relation shares with the one before it in FROM (the first
                with the last); 0.5, at which changes cost least, where none is given. Without
                `engine` it selects that engine.
            parameters: The values of `$1`, `$2` or of each `?` in their order, or by name those of
                `$name` and `:name`: constants of the view from now on.
            dialect: That of the text: "duckdb", "postgres", "spark", "databricks", "snowflake",
                "bigquery", "mysql" or "ansi".
            refresh: How much a change may compute anew at the most: "incremental" the rows around
                those that it moves, as LAG and frames of so many ROWS do; "part" the rows of the
                partitions or groups that it touches, as window functions with PARTITION BY and
                MEDIAN with GROUP BY do; "full" all rows, as they do without. A view that would cost
                more is refused.
            on_error: A change whose values the view cannot take, such as a text that is no number
                or a sum that overflows, is refused by default: "refuse". With "null" a cast or a
                call of a function that fails for a row is NULL there. With "suspend" the change
                is applied and the view is suspended, with the views above it: reads raise
                SuspendedError until `View.resume()` fills it from the rows of that time. If a view
                above it refuses, the change is refused.
            create_or_replace: The view takes the place of one of this name, which stays if the new
                one is refused. Handles and followers of the old one raise that it was dropped.
            if_not_exists: A view of this name with the same SQL stays, and is returned.

        Raises:
            ExistsError: The name is taken; with `if_not_exists`, by a table or another view.
            QueryError: The text is no SQL, a name is ambiguous, a value out of place.
            UnknownTableError: No such table or view.
            UnknownColumnError: No such column.
            InUseError: The view to be replaced is read by others.
            TypeMismatchError: Types do not fit, such as the SUM of a text.
            UnsupportedError: The view cannot be kept; the message lists what can be kept. With
                `engine`, that engine cannot keep it, with its reason.
            InvalidValueError: No engine has this name; the message lists the engines. `epsilon` is
                not from 0 to 1, names no relation of the query, or is given for an engine that has
                no use for it. `on_error` is another word.
            ArithmeticOverflowError: A sum over the rows that are there leaves its type.
            KeyboardInterrupt: Ctrl-C; there is no such view, or the message says that there is.

        Warns:
            CostWarning: A change may cost more than the rows of the keys that it has: a product of
                tables, a condition that no index serves. Not where `engine` is named.

        Complexity: that of loading all rows of its tables and of the views that it reads at once.
        """
        _check_one(create_or_replace, if_not_exists)
        if not isinstance(sql, str):
            raise TypeMismatchError(f"the SQL of view {quoted(name)} is a text, not {sql!r}")
        if if_not_exists and name in self.views:
            old = self.views[name]
            if old.sql != sql:
                raise ExistsError(
                    f"the view {quoted(name)} exists already with other SQL: {old.sql}"
                )
            return old
        if on_error not in get_args(OnError):
            raise InvalidValueError(f"on_error is 'refuse', 'null' or 'suspend', not {on_error!r}")
        of = Definition(
            sql,
            order,
            representation,
            nulls,
            epsilon,
            parameters,
            dialect,
            refresh=refresh,
            errors_as_null=on_error == "null",
        ).native()

        def create() -> View:
            self._native.create_view(name, of, create_or_replace, engine, on_error == "suspend")
            if engine is None:
                warn_of_cost(self._native, name)
            return self.views[name]

        return created(self._native, name, create)

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
                warn_of_cost(self._native, name)
        return {name: self.views[name] for name in views}

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

        Complexity: an inserted row costs O(log rows) amortised, whatever it joins with, and k
        log(rows of the join) in all for the rows that the sample admits. A deleted row costs the
        entries that it moves, and O(log rows) for each sampled row that is lost with it. In a
        cyclic join N rows cost as much as O(N^width) for the fractional hypertree width, 3/2 for
        triangles.

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
        sizes.whole("k", k, least=1)
        sizes.whole("seed", seed)
        of = Definition(sql, only_joins=True)

        def create() -> Sample:
            self._native.create_sample(name, of.native(), k, seed)
            return Sample(self._native, name, self._native.view_id(name))

        return created(self._native, name, create, "sample")

    def create_function(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Sequence[str | pa.DataType],
        return_type: str | pa.DataType,
        *,
        kind: Kind = "scalar",
        null_handling: NullHandling = "default",
    ) -> None:
        """Declare a function of Python, which SQL calls by its name in any expression.

        It must return the same for the same arguments, whenever it is called: what a row that is
        deleted computes is what it computed when it was inserted, and nothing checks that. So it
        reads no clock, draws no random numbers, and looks nothing up that may change.

        Args:
            name: Its name in SQL, found in any case: letters, digits and underscores.
            function: Called with a `pyarrow.Array` for each parameter. Of kind "scalar" it is
                given a batch of rows, of any number, and returns an array of as many values (of
                pyarrow, NumPy, pandas or polars, or a list); of kind "aggregate" it is given the
                rows of one group and returns one value. It may be called by any thread, and does
                not use the database.
            parameters: The types of its arguments, as of `create_table`: "int64", "string",
                "decimal128(10, 2)", or of pyarrow. Arguments become them where no value is
                rounded: an integer or a decimal becomes a float64, a text no number.
            return_type: The type of its values. A returned value is cast to it within numbers,
                texts, dates or timestamps, and refused where it does not fit.
            kind: "scalar" for a value of each row, "aggregate" for one of all rows of a group. A
                change computes an aggregate anew for the groups that it touches.
            null_handling: With "default" it sees no NULL: the value of a row with NULL among the
                arguments is NULL, and an aggregate leaves the row out, and is NULL of no rows. With
                "special" it is given all rows, and an aggregate of no rows is called too.

        Raises:
            ExistsError: There is a function of this name, of SQL or of yours.
            InvalidValueError: The name cannot be called; there are no parameters.
            TypeMismatchError: A type that is not stored.

        Complexity: O(1). A change calls a function once for the rows that it brings or takes away,
        and an aggregate once for each group that it touches, with all rows of that.

        >>> import pyarrow.compute as pc
        >>> import ringview as rv
        >>> db = rv.Database()
        >>> sales = db.create_table("sales", {"shop": "string", "price": "float64"})
        >>> db.create_function("slug", pc.utf8_lower, ["string"], "string")
        >>> def spread(prices):
        ...     return pc.subtract(pc.max(prices), pc.min(prices))
        >>> db.create_function("spread", spread, ["float64"], "float64", kind="aggregate")
        >>> view = db.create_view(
        ...     "spreads",
        ...     "SELECT slug(shop) AS shop, spread(price) AS spread FROM sales GROUP BY slug(shop)")
        >>> sales.insert({"shop": ["North", "NORTH", "south"], "price": [3.0, 5.5, 4.0]})
        >>> list(view)
        [{'shop': 'north', 'spread': 2.5}, {'shop': 'south', 'spread': 0.0}]
        """
        declare(
            self._native, name, Function(function, parameters, return_type, kind, null_handling)
        )

    def drop_view(self, name: str, *, cascade: bool = False) -> None:
        """Forget a view; if `cascade`, with those that read it, all or none.

        Raises UnknownViewError; InUseError while others read it, if nothing is said of them.
        """
        self._native.drop_view(name, cascade)

    def drop_function(self, name: str) -> None:
        """Forget a function; raises InUseError while a view calls it, UnknownFunctionError."""
        self._native.drop_function(name)

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
        """The plan of a view of this SQL, and the cost of changes; creates nothing.

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
        reading it. If a view maintains the same, or its sums over the same join, that of reading
        the result.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> db.insert("r", {"a": [1, 2, 2], "b": [10, 20, 30]})
        >>> query = "SELECT a, SUM(b) AS total FROM r WHERE b > ? GROUP BY a ORDER BY total DESC"
        >>> [row["a"] for row in db.sql(query, parameters=[5]).to_pylist()]
        [2, 1]
        """
        if not isinstance(sql, str):
            raise TypeMismatchError(f"a query is a text, not {sql!r}")
        of = Definition(sql, parameters=parameters, dialect=dialect)
        return read_rows(self._native.evaluate(of.native()))

    def execute(
        self,
        sql: str,
        parameters: Parameters | None = None,
        *,
        dialect: str = "duckdb",
        progress: Progress | None = None,
    ) -> Any:
        """Do a statement of SQL, or a script of several.

        `CREATE TABLE`, `CREATE VIEW`, `ALTER TABLE`, `DROP`, `INSERT`, `UPDATE`, `DELETE`,
        `TRUNCATE`, `BEGIN`, `COMMIT`, `ROLLBACK` and `SELECT`, as docs/changes.md has them. Each is
        a transaction of its own, so those before one that fails stay; between `BEGIN` and `COMMIT`
        all are one, definitions too, over as many calls as it takes. There, statements see what
        those before them did, nobody else does, and views move at `COMMIT`, which also checks keys.
        After one that fails only `ROLLBACK` is left. A script that is no SQL somewhere does
        nothing.

        Args:
            sql: Statements, with `;` between them.
            parameters: The values of `$1`, `$2` or of each `?` of the script in their order, or by
                name those of `$name` and `:name`.
            dialect: That of the text, as of `create_view`.
            progress: As of `insert`.

        Returns:
            The result of the last statement: of a `SELECT`, or a statement with `RETURNING`, its
            rows, a `pyarrow.Table`; of other `INSERT`, `UPDATE`, `DELETE`, `TRUNCATE` and
            `CREATE TABLE .. AS` the number of rows that it changed, an int; else None.

        Raises:
            QueryError: A text that is no SQL, with its place in the script; a statement of a
                transaction that failed; `COMMIT` without `BEGIN`.
            UnknownTableError, UnknownColumnError: A name that is not there.
            ExistsError: A name that is taken; InUseError: what views read is dropped, or altered.
            InvalidValueError: A value that its column cannot hold; the message has column and row.
            NullKeyError: NULL in a key, or in a column that is NOT NULL.
            UnsupportedError: A statement, or a part of one, that is not done; the message says what
                is. Between `BEGIN` and `COMMIT`, a view replaced that others read.
            Others: As `create_table`, `create_view`, `insert`, `sql`.

        Warns:
            CostWarning: As `create_view`.

        Complexity: that of the calls that do the same. An UPDATE, and a DELETE with a condition,
        query their rows first, O(rows of the table) for a plain condition; a statement that reads
        tables which its transaction changed copies them for that. The first definition of a
        transaction plans all views once more.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> db.execute('''
        ...     CREATE TABLE r (id BIGINT PRIMARY KEY, a VARCHAR NOT NULL, x DECIMAL(9, 2));
        ...     CREATE VIEW v AS SELECT a, SUM(x) AS x FROM r GROUP BY a;
        ...     INSERT INTO r VALUES (1, 'one', 1.5), (2, 'two', 2)''')
        2
        >>> db.execute("UPDATE r SET x = x + ? WHERE a = 'two'", [0.25])
        1
        >>> db.execute("DELETE FROM r WHERE id = 3 RETURNING *").num_rows
        0
        >>> db.execute("SELECT x FROM v ORDER BY x").to_pylist()
        [{'x': Decimal('1.50')}, {'x': Decimal('2.25')}]
        >>> db.execute("DELETE FROM s")
        Traceback (most recent call last):
        ringview.errors.UnknownTableError: line 1, column 13: no table "s"; known: r
            DELETE FROM s
                        ^
        """
        if not isinstance(sql, str):
            raise TypeMismatchError(f"a script is a text, not {sql!r}")
        statements = _native.script(sql, dialect, parameters)
        found: pa.Table | int | None = None
        for number, statement in enumerate(statements, start=1):
            try:
                found = self._done(statement, progress)
            except BaseException as problem:
                if self._open is not None and statement.kind not in ("begin", "commit"):
                    self._open.failed = statement.line
                if len(statements) > 1:
                    problem.add_note(
                        f"in statement {number} of {len(statements)}, at line {statement.line}; "
                        + _outcome(number - 1, self._open is not None)
                    )
                raise
        return found

    def _done(
        self, statement: _native.Statement, progress: Progress | None
    ) -> pa.Table | int | None:
        kind, held = statement.kind, self._open
        if kind in ("begin", "commit", "rollback"):
            self._bounded(kind, held)
            return None
        if held is not None and held.failed is not None:
            raise QueryError(
                f"the transaction failed at its statement of line {held.failed}; ROLLBACK ends it"
            )
        if kind == "select":
            select = self._native.select
            return read_rows(select(statement, []) if held is None else held.select(statement))
        if held is not None:
            return held.do(statement)
        if kind in CHANGES:
            return shown(execute_change(self._native, statement, progress))
        return define(self._native, statement)

    def _bounded(self, kind: str, held: SqlTransaction | None) -> None:
        """BEGIN, COMMIT, ROLLBACK."""
        if kind == "begin":
            if held is not None:
                raise QueryError("a transaction has begun already; COMMIT or ROLLBACK ends it")
            self._open = SqlTransaction(self._native)
            return
        if held is None:
            raise QueryError(f"{kind.upper()} without BEGIN; each statement is there already")
        self._open = None
        if kind == "rollback":
            return
        if held.failed is not None:
            raise QueryError(
                f"the transaction failed at its statement of line {held.failed} and is undone; "
                "begin another"
            )
        held.commit()

    def insert(
        self,
        table: str,
        rows: Rows,
        *,
        multiplicity: str | None = None,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> None:
        """Add rows to a table; every view over it moves before the call returns.

        Args:
            table: Where to.
            rows: Arrow data (pyarrow, polars, DuckDB, ..), a pandas frame, a dict of columns; one
                row, or a list of rows: a dict, a tuple of all columns in the table's order, or a
                dataclass. Else columns are matched by name. For many single rows see
                `Table.writer`. All batches of a stream are read before any is applied; for the main
                thread by a thread of its own, so that Ctrl-C is heard whatever the producer does. A
                producer that is bound to its thread, such as a cursor of sqlite3, is passed as a
                generator of batches, which is read in the calling thread.
            multiplicity: A further column of integers: how often each row counts; negative deletes.
            progress: Called now and then with the number of rows done so far.
            batch_id: Identity of this change, a number or a text: a change that was applied before
                does nothing, so that a source may send it again. See `is_applied`.

        Raises:
            UnknownTableError: No such table.
            UnknownColumnError: A column that the table lacks.
            TypeMismatchError: A column of another type.
            InvalidValueError: A value that does not fit, columns of different lengths.
            NullKeyError: NULL in a column that is not nullable, NaN in a key.
            DuplicateKeyError: A second row with a unique key.
            StaticTableError: A static table that a view reads.
            ArithmeticOverflowError: A sum leaves its type.
            KeyboardInterrupt: Ctrl-C; nothing was inserted, or the message says that all was.
            Exception: What a producer of batches raises; nothing was inserted.

        Complexity: for each row and view, O(1) a node from its leaf to the root if every sibling is
        met by a full key, else the size of the groups met. See `View.explain`.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> db.insert("r", {"a": [1, 2, 3]})
        >>> db.insert("r", {"a": 4})
        >>> db.insert("r", [(5,), (6,)])
        >>> len(table)
        6
        """
        self.tables[table]._change(1, rows, multiplicity, progress, batch_id)

    @overload
    def delete(
        self,
        table: str,
        rows: Rows,
        *,
        multiplicity: str | None = None,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> None: ...

    @overload
    def delete(
        self,
        table: str,
        *,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
        **condition: Unpack[Condition],
    ) -> int: ...

    def delete(
        self,
        table: str,
        rows: Rows | None = None,
        *,
        where: str | None = None,
        parameters: Parameters | None = None,
        dialect: str = "duckdb",
        multiplicity: str | None = None,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> int | None:
        """Take rows from a table: those given, or those that meet a condition.

        With every column given, that very row is deleted. With the columns of the table's `unique`
        key alone, the row with that key is deleted.

        Args:
            table: Which one.
            rows: As for `insert`.
            where: In their place a condition of SQL, as behind `DELETE FROM table WHERE`; of a row
                that is there several times, every copy is deleted.
            parameters: Values of `$1`, `?`, `$name` and `:name` in it.
            dialect: That of the condition, as of `create_view`.
            multiplicity: As for `insert`, of rows that are given.
            progress: As for `insert`.
            batch_id: As for `insert`.

        Returns:
            With `where`, the number of deleted rows.

        Raises:
            OverDeleteError: More of a row than the table holds, or no row of a key; nothing was
                deleted.
            InvalidValueError: Some of the columns beside the key, but not all; multiplicities of
                keys.
            NullKeyError: NULL in a key.
            UnsupportedError: Keys, or a condition, where no base rows are kept (`trust_deletes`).
            TypeMismatchError: Both `rows` and `where`, or neither.
            QueryError: The condition is no SQL.
            Others: As `insert`.

        Complexity: as `insert`; with `where` that of querying the rows, too, O(rows of the table)
        for a plain condition.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"id": "int64", "a": "int64"}, unique=["id"])
        >>> db.insert("r", {"id": [1, 2, 3, 4], "a": [10, 20, 30, 40]})
        >>> db.delete("r", {"id": [2, 3]})
        >>> db.delete("r", where="a > ?", parameters=[35])
        1
        >>> len(table)
        1
        >>> db.delete("r", {"id": [1], "a": [11]})
        Traceback (most recent call last):
        ringview.errors.OverDeleteError: ...
        """
        if where is not None:
            if rows is not None or multiplicity is not None:
                raise TypeMismatchError("delete takes rows, or where=; give one of them")
            statement = delete_where(table, where, parameters, dialect)
            return execute_change(self._native, statement, progress, batch_id)[0]
        if rows is None:
            raise TypeMismatchError("delete takes rows, or where=; give one of them")
        self.tables[table]._change(-1, rows, multiplicity, progress, batch_id)
        return None

    def upsert(
        self,
        table: str,
        rows: Rows,
        *,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> None:
        """Add rows, each in the place of the one with the same `unique` key if there is one.

        A row that equals the one in its place changes nothing. Of rows with the same key the last
        stays.

        Args:
            table: Where to; declared with `unique`.
            rows: Whole rows, as for `insert`.
            progress: As there.
            batch_id: As there.

        Raises:
            NullKeyError: NULL in a key: it equals nothing, so no row can be found by it.
            UnsupportedError: A table without `unique`, or whose base rows are not kept
                (`trust_deletes`).
            Others: As `insert`.

        Complexity: one look-up a row; in the views, a delete and an insert for each row that moves.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"id": "int64", "a": "int64"}, unique=["id"])
        >>> view = db.create_view("v", "SELECT SUM(a) AS a FROM r")
        >>> db.upsert("r", {"id": [1, 2], "a": [10, 20]})
        >>> db.upsert("r", {"id": [2, 3], "a": [21, 30]})
        >>> view.scalar()
        61
        """
        self.tables[table]._change("upsert", rows, None, progress, batch_id)

    @overload
    def update(
        self,
        table: str,
        rows: Rows,
        *,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> None: ...

    @overload
    def update(
        self,
        table: str,
        rows: Mapping[str, str],
        *,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
        **condition: Unpack[Condition],
    ) -> int: ...

    def update(
        self,
        table: str,
        rows: Rows | Mapping[str, str],
        *,
        where: str | None = None,
        parameters: Parameters | None = None,
        dialect: str = "duckdb",
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> int | None:
        """Change rows that are there: found by their `unique` key, or by a condition.

        Args:
            table: Whose rows; without `where` declared with `unique`.
            rows: The key, and the columns that change; those that are not given stay. With `where`
                expressions of SQL by column, as behind `UPDATE table SET`: they read the row as it
                was, and other tables and views in subqueries.
            where: A condition of SQL; `"true"` for all rows.
            parameters: Values of `$1`, `?`, `$name` and `:name` in both.
            dialect: That of the texts, as of `create_view`.
            progress: As for `insert`.
            batch_id: As for `insert`.

        Returns:
            With `where`, how many rows met it.

        Raises:
            UnknownKeyError: No row has a key; nothing was changed.
            QueryError: A text is no SQL.
            InvalidValueError: A value that its column cannot hold; the message has its row.
            DuplicateKeyError: Two rows would have one key. Keys may trade places.
            UnsupportedError: A condition, where no base rows are kept (`trust_deletes`).
            Others: As `upsert`.

        Complexity: as `upsert`; with `where` that of querying the rows, too, O(rows of the table)
        for a plain condition, and of deletes and inserts.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"id": "int64", "a": "int64", "b": "int64"}, unique=["id"])
        >>> view = db.create_view("v", "SELECT SUM(a + b) AS sum FROM r")
        >>> db.insert("r", {"id": [1, 2], "a": [10, 20], "b": [1, 2]})
        >>> db.update("r", [{"id": 2, "b": 5}])
        >>> view.scalar()
        36
        >>> db.update("r", {"a": "a * 2", "b": "id"}, where="b < ?", parameters=[5])
        1
        >>> view.scalar()
        46
        >>> db.update("r", [{"id": 3, "b": 5}])
        Traceback (most recent call last):
        ringview.errors.UnknownKeyError: table "r" holds no row with the unique key (id = 3), ...
        """
        if where is not None:
            statement = update_where(table, rows, where, parameters, dialect)
            return execute_change(self._native, statement, progress, batch_id)[0]
        self.tables[table]._change("update", rows, None, progress, batch_id)
        return None

    def apply(
        self,
        table: str,
        rows: Rows,
        *,
        op: str,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> None:
        """Apply a feed of changes: rows, each with a word that says what it does, in their order.

        Args:
            table: Whose rows; declared with `unique`.
            rows: Whole rows and the column `op`; rows that delete need no more than their key, and
                may hold NULL else.
            op: A further column of texts, upper or lower case. `insert`, `I`, `+I`, `c`, `create`:
                the row is inserted, and none with its key may be there. `update`, `U`, `u`: it
                takes the place of the one that has its key. `delete`, `D`, `-D`, `d`, and the old
                half of an update, `-U`, `update_preimage`: the row with this key is deleted.
                `upsert`, `r`, `read`, and the new half of an update, `+U`, `update_postimage`: as
                `Database.upsert`.
            progress: As for `insert`.
            batch_id: As for `insert`.

        Raises:
            InvalidValueError: Another word; the message names row and word.
            DuplicateKeyError: An insert of a key that is there.
            UnknownKeyError: An update of a key that is not.
            OverDeleteError: A delete of a key that is not.
            Others: As `upsert`. An error of any kind leaves everything unchanged.

        Complexity: as `upsert`.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"id": "int64", "a": "int64"}, unique=["id"])
        >>> view = db.create_view("v", "SELECT COUNT(*) AS n, SUM(a) AS a FROM r")
        >>> feed = {"op": ["I", "I", "U", "D"], "id": [1, 2, 1, 2], "a": [10, 20, 11, None]}
        >>> db.apply("r", feed, op="op")
        >>> list(view)
        [{'n': 1, 'a': 11}]
        """
        self.tables[table]._change("apply", rows, op, progress, batch_id)

    def update_factorised(
        self,
        table: str,
        factors: Factors,
        *,
        delete: bool = False,
        multiplicity: str | None = None,
    ) -> None:
        """Add the Cartesian product of factors to a table, or take it away; views take the factors.

        Args:
            table: Where to.
            factors: Rows over some of the columns each, under any names, such as
                `{"u": rows, "v": rows}`. Each column of the table belongs to one factor. A list of
                such dicts is a sum of products. A factor without rows makes its product empty.
            delete: Take the rows away.
            multiplicity: A further column of integers in some of the factors: how often each of
                their rows counts. A row of the product counts as often as those multiplied.

        Raises:
            InvalidValueError: A column is in two factors, or in none.
            Others: As `insert` and `delete`.

        Complexity: views of sums and counts take O(rows of the factors) a level where a sibling is
        met by one factor, and O(rows of the product) for a view on the way that is kept with
        columns of several. If base rows are kept (without `trust_deletes`), O(rows of the
        product) are written. Views of COFACTOR, MIN, MAX or COUNT(DISTINCT), and rows of joins kept
        factorised, take the product row by row.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("m", {"i": "int64", "j": "int64"})
        >>> db.update_factorised("m", {"u": {"i": [1, 2, 3]}, "v": {"j": [10, 20]}})
        >>> len(table)
        6
        """
        sign = -1 if delete else 1
        held = (table, self._native.table_id(table))
        terms = products(factors, self._native, held, multiplicity)
        apply_changes(self._native, [(table, sign, term) for term in terms])

    def transaction(self, *, net: bool = False, batch_id: int | str | None = None) -> Transaction:
        """A block whose changes are applied together when it ends, or not at all.

        Args:
            net: The net effect counts: a delete may precede the insert of its row, and deletes and
                unique keys are checked on the sum of all changes of a table. By default each change
                is checked on the state that those before it left. Changes by key do not mix with
                others of the same table in a net transaction.
            batch_id: As for `insert`, of all its changes together.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> with db.transaction(net=True) as tx:
        ...     tx.delete("r", {"a": [1]})
        ...     tx.insert("r", {"a": [1, 2]})
        >>> len(table)
        1
        """
        return Transaction(self._native, net=net, batch_id=batch_id)

    def is_applied(self, batch_id: int | str) -> bool:
        """Whether a change with this `batch_id` was applied, in this process or an earlier one.

        Raises:
            InvalidValueError: Neither an integer of 64 bits nor a text.

        Complexity: O(log n). Numbers without gaps take no memory each; a text keeps its bytes.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> for _ in range(2):
        ...     db.insert("r", {"a": [1]}, batch_id=17)
        >>> len(table), db.is_applied(17), db.is_applied(18)
        (1, True, False)
        """
        return self._native.is_applied(batch_id)

    @property
    def now(self) -> datetime | None:
        """The moment that the clock is at, in UTC; None before the first `advance`. O(1).

        It is the clock of this database, which `advance` alone moves; no other is read.
        """
        found = self._native.now()
        return None if found is None else moment(found)

    def advance(
        self,
        to: Moment,
        *,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> None:
        """Advance the clock: rows that are too old by then are deleted, in one transaction.

        Rows of tables with `keep_for` that are older are deleted, and rows of views that compare a
        column with `now()` or `current_date` are inserted and deleted; views move once, and their
        followers get the difference. A file keeps the clock.

        Args:
            to: The moment: a datetime, which is of UTC unless it has a zone; a date, which is its
                midnight; or either as an ISO text. The one that the clock is at changes nothing.
            progress: As for `insert`, with the rows of tables that leave.
            batch_id: As for `insert`.

        Raises:
            InvalidValueError: A moment before `now`, for rows deleted by then cannot be restored; a
                text that is no moment.
            TypeMismatchError: Neither datetime, date nor text.
            OutOfMemoryError, ArithmeticOverflowError, KeyboardInterrupt: As `insert`; the clock is
                where it was then.

        Complexity: for each inserted or deleted row O(log n) and the cost of that insert or delete
        for the views above; O(tables + views) without any.

        >>> import ringview as rv
        >>> from datetime import datetime
        >>> db = rv.Database()
        >>> db.advance("2026-03-09T12:00:00")
        >>> columns = {"ts": "timestamp", "x": "int64"}
        >>> table = db.create_table("r", columns, keep_for=("ts", "7 days"))
        >>> view = db.create_view(
        ...     "last_hour", "SELECT SUM(x) AS x FROM r WHERE ts > now() - INTERVAL '1 hour'")
        >>> db.insert("r", {"ts": [datetime(2026, 3, 9, 11, 10), datetime(2026, 3, 9, 11, 50)],
        ...                 "x": [1, 2]})
        >>> view.scalar()
        3
        >>> db.advance("2026-03-09T12:30:00")
        >>> view.scalar(), len(table)
        (2, 2)
        >>> db.advance("2026-03-17")
        >>> len(table), db.now.isoformat()
        (0, '2026-03-17T00:00:00+00:00')
        """
        step: Change = ("", "advance", microseconds(to))
        apply_changes(self._native, [step], progress, batch_id=batch_id)

    @property
    def path(self) -> Path | None:
        """The file that keeps it; None in memory."""
        return self._native.path()

    def status(self) -> FileStatus | None:
        """State of the file: its size, its log, its last snapshot; None in memory. O(1).

        >>> import tempfile
        >>> import ringview as rv
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with rv.Database.open(folder + "/sales.ringview") as db:
        ...         _ = db.create_table("sales", {"shop": "string", "units": "int64"})
        ...         db.snapshot()
        ...         before = db.status()
        ...         db.insert("sales", {"shop": ["a", "b"], "units": [3, 4]})
        ...         after = db.status()
        >>> before.log_bytes, after.log_bytes > 0, after.commits - before.commits
        (0, True, 1)
        """
        path, status = self.path, self._native.file_status()
        if path is None or status is None:
            return None
        (file, snapshot, log), seconds, (commits, cache), problem = status
        when = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        return FileStatus(path, file, snapshot, log, when, commits, cache, problem)

    def save(self, path: Place) -> None:
        """Write a copy to a file, in the place of one that is there, whole or not at all.

        Args:
            path: Where to; of a link, where that leads.

        Raises:
            StorageError: It cannot be written; it is the database's own file, or open elsewhere;
                it is a device, a pipe or a folder, which stays as it is.
            UnsupportedError: Tables whose rows are not kept (`trust_deletes`), if no file has their
                changes, or if more rows were deleted than inserted.

        Complexity: O(rows); where rows are not kept, as `snapshot`.

        >>> import tempfile
        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> table.insert({"a": [1, 1, 2]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     db.save(folder + "/copy.ringview")
        ...     copy = rv.Database.load(folder + "/copy.ringview")
        >>> len(copy.tables["r"])
        3
        """
        path = _decoded(path)
        _check_place(path)
        self._native.save(path)
        log("info", "saved a copy as %s", path)

    def snapshot(self) -> None:
        """Write the file anew from what is there: opening it then costs that, not what happened.

        On return all that happened is durable, whatever `durability` says. If rows are not kept
        (`trust_deletes`), the remaining rows are counted from the changes in the file; if more were
        deleted than inserted, the file stays as it is.

        Raises:
            StorageError: The file cannot be written; it has what it had.
            UnsupportedError: A database in memory; with durability="snapshot", tables whose rows
                are not kept.
            OutOfMemoryError: `memory_limit` is too low to count the rows that are left.

        Complexity: O(rows); where rows are not kept, O(changes since the last one), and for that
        time the memory of the rows that are left.
        """
        self._native.snapshot()
        log("info", "wrote %s anew", self.path)

    def memory_usage(self) -> dict[str, int]:
        """Bytes held, part by part: each table, each view, the dictionary of texts. O(parts).

        Of a database with a file, "file" is what its pages may take in memory.
        """
        return self._native.memory_usage()

    def close(self) -> None:
        """Forget all tables and views and free their memory; twice does nothing.

        Of a database with a file, the file keeps what happened and is free for others. Any later
        call of the database, its tables or views raises RingviewError.

        Raises:
            StorageError: The file cannot be written. With durability="transaction" it is free all
                the same, and has all that happened except which rows the samples hold. With
                "snapshot" the database stays open, so that nothing is lost: free space on the disk
                and close it again, or `save` a copy elsewhere.
        """
        file = None if self._native.is_closed() else self._native.path()
        self._native.close()
        if file is not None:
            log("info", "closed %s", file)

    def __enter__(self) -> Self:
        """The database itself, which the end of the block closes.

        >>> with Database() as db:
        ...     table = db.create_table("r", {"a": "int64"})
        ...     table.insert({"a": [1]})
        >>> db
        Database(closed)
        """
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """The tables and views, with rows and bytes, for notebooks."""
        found, memory = [], self.memory_usage()
        for kind, relations in (("table", self.tables), ("view", self.views)):
            for name, relation in relations.items():
                # One that another thread drops meanwhile is left out: its reads raise this.
                with suppress(KeyError):
                    columns, size = ", ".join(relation.columns), f"{memory[f'{kind} {name}']:,}"
                    try:
                        rows: int | str = len(relation)
                    except RingviewError as problem:
                        rows = str(problem)
                    line = {"": kind, "name": name, "columns": columns, "rows": rows, "bytes": size}
                    found.append(line)
        return notebook.rows(["", "name", "columns", "rows", "bytes"], found)

    def __repr__(self) -> str:
        if self._native.is_closed():
            return "Database(closed)"
        return f"Database(tables={self._native.tables()}, views={self._native.views()})"


def _check_one(create_or_replace: bool, if_not_exists: bool) -> None:
    """Refuses both at once."""
    if create_or_replace and if_not_exists:
        raise InvalidValueError(
            "create_or_replace and if_not_exists exclude each other; give one of them"
        )


def _retention(of: object) -> tuple[str, str]:
    """A column and how long rows stay, as the engine takes them."""
    match of:
        case (str() as column, length):
            return column, interval(length)
    raise TypeMismatchError(
        f'keep_for is a column and a length of time, as in ("ts", "7 days"), not {of!r}'
    )


def _in_line(of: object) -> str:
    return ", ".join(str(of).splitlines())


def _outcome(before: int, is_open: bool) -> str:
    """Outcome of the statements before one that failed."""
    if is_open:
        return "ROLLBACK undoes the transaction"
    if before == 0:
        return "nothing was done"
    return f"the {before} before it {'was' if before == 1 else 'were'} done"


def _decoded(path: Place) -> str | PathLike[str]:
    """A path whose bytes are decoded, as the functions of `os` take it."""
    whole = fspath(path) if isinstance(path, PathLike) else path
    return fsdecode(whole) if isinstance(whole, bytes) else whole


def _check_place(path: str | PathLike[str]) -> None:
    """That a file may be written there; whatever else is wrong the engine says."""
    try:
        check_file(path)
    except NotAFileError as problem:
        raise StorageError(str(problem)) from problem
    except (OSError, ValueError, TypeError):
        return
