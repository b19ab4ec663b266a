"""A database: tables, views, and the changes that flow from one to the other.

Invariant: a change is validated, applied to its tables and to every view over them, or refused and
nothing moved. This layer turns names, rows and SQL into what the engine takes and decides nothing.
Cost: of a call, microseconds above what the engine takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar

from . import _native, arrow, notebook, sizes
from .errors import UnsupportedError, after
from .factors import Factors, products
from .rows import Rows, to_arrow
from .table import Table
from .transaction import Change, Transaction
from .view import Format, View

if TYPE_CHECKING:
    from .sql.order import Order

Progress = Callable[[int], object]
Representation = Literal["factorised", "listing"]
Item = TypeVar("Item")


class Database:
    """Tables and views in this process; nothing to start.

    Args:
        trust_deletes: Keep no base rows and do not check that deleted rows exist. Less memory and
            faster, but deleting what is not there makes views wrong, and views come before rows.
        memory_limit: Bytes that tables and views may take, with what is read at once: a number, or
            text such as `"512MB"`, `"2GB"` or `"1.5GiB"`. What needs more raises
            `OutOfMemoryError`, which is a `MemoryError`, and changes nothing. By default what the
            machine, or the control group of the process, has.

    Raises:
        InvalidValueError: `memory_limit` is not a size.

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

    def __init__(
        self, *, trust_deletes: bool = False, memory_limit: int | str | None = None
    ) -> None:
        limit = None if memory_limit is None else sizes.size(memory_limit)
        self._native = _native.Database(trust_deletes, limit)

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        unique: Sequence[str] | None = None,
        static: bool = False,
    ) -> Table:
        """Declare a table; it starts empty.

        Args:
            name: Its name in SQL.
            schema: `{"id": "int64", "price": "decimal128(12, 2) not null"}`, a `pyarrow.Schema`, or
                any data with a schema (its rows are not inserted).
            unique: Columns that no two rows share together. Saves memory, and is checked.
            static: The table is filled before views read it and then stays as it is, which lets
                views store less.

        Raises:
            ExistsError: The name is taken.
            TypeMismatchError: A type that is not stored.
            UnknownColumnError: `unique` names a column that is not there.

        Complexity: O(columns).
        """
        columns = None if unique is None else list(unique)
        self._native.create_table(name, arrow.schema(schema), columns, static)
        return Table(self._native, name)

    def create_view(
        self,
        name: str,
        sql: str,
        *,
        order: Order | None = None,
        nulls: Literal["refuse", "skip"] | None = None,
        representation: Representation | None = None,
    ) -> View:
        """Declare a view and fill it from the rows that are there.

        Args:
            name: Its name.
            sql: `SELECT` of group columns, aggregates and expressions over them, from inner joins;
                or of plain columns (`*`): the rows of the join, each once with DISTINCT.
            order: A variable order: names of columns, nested, as
                `{"postcode": {"h.house": {}, "s.shop": {}}}`; chosen by cost if None.
            nulls: What a COFACTOR does with rows that have NULL in a feature: "refuse" the change
                that brings one, as it does by default, or "skip" the row.
            representation: How the rows of a join are kept: "factorised" as unions and products
                that take no more room than the tables' joins on each variable, "listing" one by
                one; if None, factorised unless there is only one table, or DISTINCT leaves out a
                column that joins, with which there are no products.

        Raises:
            ExistsError: The name is taken.
            QueryError: The text is no SQL, a name is ambiguous, a value out of place.
            UnknownTableError: No such table.
            UnknownColumnError: No such column.
            TypeMismatchError: Types do not fit, such as the SUM of a text.
            UnsupportedError: What a view cannot keep; the message says what can be kept.
            ArithmeticOverflowError: A sum over the rows that are there leaves its type.
            KeyboardInterrupt: Ctrl-C; there is no such view, or the message says that there is.

        Complexity: that of loading all rows of its tables at once.
        """
        query = self._query(sql, order, representation, nulls)
        try:
            self._native.create_view(name, query)
        except KeyboardInterrupt as interrupt:
            after(interrupt, name in self._native.views(), f"there is a view {name!r}")
            raise
        return View(self._native, name)

    def explain(
        self,
        sql: str,
        *,
        order: Order | None = None,
        representation: Representation | None = None,
        format: Format = "text",
    ) -> str:
        """How a view of this SQL would be kept and what changes would cost; creates nothing.

        Args:
            sql: As for `create_view`, whose errors it raises.
            order: As there.
            representation: As there.
            format: As for `View.explain`.

        >>> db = Database()
        >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
        >>> print(db.explain("SELECT a, SUM(b) AS b FROM r GROUP BY a", format="mermaid"))
        graph BT
            n0["r[a]<br/>count, 2 sums"]
        <BLANKLINE>
        """
        return self._native.plan(self._query(sql, order, representation), format)

    def insert(
        self,
        table: str,
        rows: Rows,
        *,
        multiplicity: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Add rows to a table; every view over it moves before the call returns.

        Args:
            table: Where to.
            rows: Arrow data (pyarrow, polars, DuckDB, ..), a pandas frame, a dict of columns or a
                list of dicts. Columns are matched by name. All batches of a stream are read before
                any is applied; for the main thread by a thread of its own, so that Ctrl-C is heard
                whatever the producer does. One that is bound to its thread, such as a cursor of
                sqlite3, goes in as a generator of batches, which is read where it is.
            multiplicity: A further column of integers: how often each row counts; negative deletes.
            progress: Called now and then with the number of rows done so far.

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

        >>> db = Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> db.insert("r", {"a": [1, 2, 3]})
        >>> len(table)
        3
        """
        self._apply(table, 1, rows, multiplicity, progress)

    def delete(
        self,
        table: str,
        rows: Rows,
        *,
        multiplicity: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Take rows from a table; the arguments and errors of `insert`.

        Raises:
            OverDeleteError: More of a row than the table holds; nothing was deleted.

        >>> db = Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> db.delete("r", {"a": [1]})
        Traceback (most recent call last):
        ringview.errors.OverDeleteError: ...
        """
        self._apply(table, -1, rows, multiplicity, progress)

    def transaction(self) -> Transaction:
        """A block whose changes are applied together when it ends, or not at all."""
        return Transaction(self)

    def drop_table(self, name: str) -> None:
        """Forget a table; raises InUseError while a view reads it."""
        self._native.drop_table(name)

    def drop_view(self, name: str) -> None:
        """Forget a view; raises UnknownViewError if there is none."""
        self._native.drop_view(name)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name; `db.tables["r"]` raises UnknownTableError if there is none."""
        return _Named(self._native, self._native.tables, Table, self._native.table_info)

    @property
    def views(self) -> Mapping[str, View]:
        """The views by name; `db.views["v"]` raises UnknownViewError if there is none."""
        return _Named(self._native, self._native.views, View, self._native.view_len)

    def __getitem__(self, name: str) -> View:
        """A view by its name; raises UnknownViewError."""
        return self.views[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is a view of this name."""
        return name in self.views

    def memory_usage(self) -> dict[str, int]:
        """Bytes held, part by part: each table, each view, the dictionary of texts. O(parts)."""
        return self._native.memory_usage()

    def save(self, path: str | PathLike[str]) -> NoReturn:
        """Write a snapshot: not supported yet."""
        raise UnsupportedError("snapshots are not supported yet; keep the rows in Parquet files")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> NoReturn:
        """Read a snapshot: not supported yet."""
        raise UnsupportedError("snapshots are not supported yet; insert the rows again")

    def create_sample(self, name: str, sql: str, *, k: int, seed: int) -> NoReturn:
        """Keep a uniform sample of a join: not supported yet."""
        raise UnsupportedError("samples of joins are not supported yet; keep its aggregates")

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
            UnknownTableError, UnknownColumnError, TypeMismatchError, NullKeyError, OverDeleteError,
            DuplicateKeyError, StaticTableError, ArithmeticOverflowError: As `insert` and `delete`.

        Complexity: views of sums and counts take O(rows of the factors) a level where a sibling is
        met by one factor, and O(rows of the product) for a view on the way that is kept with
        columns of several. Where base rows are kept (without `trust_deletes`), so much is written.
        Views of COFACTOR, MIN, MAX or COUNT(DISTINCT), and rows of joins kept factorised, take the
        product row by row.

        >>> db = Database()
        >>> table = db.create_table("m", {"i": "int64", "j": "int64"})
        >>> db.update_factorised("m", {"u": {"i": [1, 2, 3]}, "v": {"j": [10, 20]}})
        >>> len(table)
        6
        """
        sign = -1 if delete else 1
        terms = products(factors, self.tables[table], multiplicity)
        self._change([(table, sign, term) for term in terms], None)

    def _repr_html_(self) -> str:
        """The tables and views, with rows and bytes, for notebooks."""
        return notebook.database(self.tables, self.views, self.memory_usage())

    def __repr__(self) -> str:
        return f"Database(tables={self._native.tables()}, views={self._native.views()})"

    def _apply(
        self, name: str, sign: int, rows: Rows, multiplicity: str | None, progress: Progress | None
    ) -> None:
        parts = to_arrow(rows, self.tables[name], multiplicity)
        self._change([(name, sign, part, multiplicity) for part in parts], progress)

    def _change(self, changes: Sequence[Change], progress: Progress | None) -> None:
        done: list[int] = []
        try:
            self._native.apply(changes, progress, done)
        except BaseException as raised:
            after(raised, done, "the changes were applied, and stay")
            raise

    def _query(
        self,
        sql: str,
        order: Order | None,
        representation: Representation | None,
        nulls: str | None = None,
    ) -> str:
        """The logical query of `sql`, as the engine takes it."""
        import json

        from .sql import translate
        from .sql.cofactor import treat_nulls

        catalog = {name: table.schema for name, table in self.tables.items()}
        query = translate(sql, catalog, order, representation)
        return json.dumps(query if nulls is None else treat_nulls(query, nulls))


class _Named(Mapping[str, Item], Generic[Item]):
    """Tables or views by name, as they are at each look."""

    def __init__(
        self,
        native: _native.Database,
        names: Callable[[], list[str]],
        make: Callable[[_native.Database, str], Item],
        check: Callable[[str], object],
    ) -> None:
        self._native, self._names, self._make, self._check = native, names, make, check

    def __getitem__(self, name: str) -> Item:
        self._check(name)
        return self._make(self._native, name)

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        return repr(dict(self))
