"""A database: tables, views, and the changes that flow from one to the other.

Invariant: a change is validated, applied to its tables and to every view over them, or refused and
nothing moved. This layer turns names, rows and SQL into what the engine takes and decides nothing.
Cost: of a call, microseconds above what the engine takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Self, TypeVar

from . import _native, arrow, notebook, sizes
from .changing import Progress, change, change_by_key, change_rows
from .errors import ExistsError, InvalidValueError, TypeMismatchError, UnsupportedError, after
from .factors import Factors, products
from .rows import Rows
from .table import Table
from .transaction import Transaction
from .view import Format, View

if TYPE_CHECKING:
    from .sql.order import Order

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
        unique: str | Sequence[str] | None = None,
        static: bool = False,
        create_or_replace: bool = False,
        if_not_exists: bool = False,
    ) -> Table:
        """Declare a table; it starts empty.

        Args:
            name: Its name in SQL.
            schema: `{"id": "int64", "price": "decimal128(12, 2) not null"}`, a `pyarrow.Schema`, or
                any data with a schema (its rows are not inserted).
            unique: Columns that no two rows share together, or the name of one. Saves memory, and
                is checked.
            static: The table is filled before views read it and then stays as it is, which lets
                views store less.
            create_or_replace: A table of this name goes first, and its rows with it.
            if_not_exists: A table of this name with the same columns stays, and is returned.

        Raises:
            ExistsError: The name is taken; with `if_not_exists`, by a view or a table that differs.
            InUseError: The table to be replaced is read by a view.
            TypeMismatchError: A type that is not stored.
            UnknownColumnError: `unique` names a column that is not there.
            InvalidValueError: The name is empty, or there are no columns.

        Complexity: O(columns).

        >>> db = Database()
        >>> table = db.create_table("r", {"a": "int64"}, unique="a")
        >>> db.create_table("r", {"a": "int64"}, unique="a", if_not_exists=True) == table
        True
        """
        columns = [unique] if isinstance(unique, str) else unique and list(unique)
        _either(create_or_replace, if_not_exists)
        if name in self.tables and (create_or_replace or if_not_exists):
            old = self.tables[name]
            # Whether the new one is possible, before the old one goes.
            draft = Database()
            new = draft.create_table(name, schema, unique=columns, static=static)
            if if_not_exists:
                for what in ("schema", "unique", "static"):
                    if (found := getattr(old, what)) != (asked := getattr(new, what)):
                        raise ExistsError(
                            f"the table {name!r} exists already with another {what}: "
                            f"{_in_line(found)}, not {_in_line(asked)}"
                        )
                return old
            self.drop_table(name)
        self._native.create_table(name, arrow.schema(schema), columns, static)
        return self.tables[name]

    def create_view(
        self,
        name: str,
        sql: str,
        *,
        order: Order | None = None,
        nulls: Literal["refuse", "skip"] | None = None,
        representation: Representation | None = None,
        engine: str | None = None,
        create_or_replace: bool = False,
        if_not_exists: bool = False,
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
            engine: The name of the engine that keeps it, such as "viewtree"; if None, the one whose
                changes cost the least. `explain` tells which that is, and of the others why not.
            create_or_replace: The view takes the place of one of this name, which stays if the new
                one is refused. Handles and followers of the old one say that it is gone.
            if_not_exists: A view of this name with the same SQL stays, and is returned.

        Raises:
            ExistsError: The name is taken; with `if_not_exists`, by a table or another view.
            QueryError: The text is no SQL, a name is ambiguous, a value out of place.
            UnknownTableError: No such table.
            UnknownColumnError: No such column.
            TypeMismatchError: Types do not fit, such as the SUM of a text.
            UnsupportedError: What a view cannot keep; the message says what can be kept. What the
                engine that was asked for cannot keep, with its reason.
            InvalidValueError: No engine has this name; the message has those that are known.
            ArithmeticOverflowError: A sum over the rows that are there leaves its type.
            KeyboardInterrupt: Ctrl-C; there is no such view, or the message says that there is.

        Complexity: that of loading all rows of its tables at once.
        """
        _either(create_or_replace, if_not_exists)
        if not isinstance(sql, str):
            raise TypeMismatchError(f"the SQL of view {name!r} is a text, not {sql!r}")
        if if_not_exists and name in self.views:
            old = self.views[name]
            if old.sql != sql:
                raise ExistsError(f"the view {name!r} exists already with other SQL: {old.sql}")
            return old
        query = self._query(sql, order, representation, nulls)
        before = self.views.get(name)
        try:
            self._native.create_view(name, query, sql, create_or_replace, engine)
            return self.views[name]
        except KeyboardInterrupt as interrupt:
            made = self.views.get(name)
            after(interrupt, made is not None and made != before, f"there is a view {name!r}")
            raise

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
        change_rows(self.tables[table], 1, rows, multiplicity, progress)

    def delete(
        self,
        table: str,
        rows: Rows,
        *,
        multiplicity: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Take rows from a table; the arguments and errors of `insert`.

        With every column given, that very row goes. With the columns of the table's `unique` key
        alone, whatever row has that key goes.

        Raises:
            OverDeleteError: More of a row than the table holds, or no row of a key; nothing was
                deleted.
            InvalidValueError: Some of the columns beside the key, but not all; multiplicities of
                keys.
            NullKeyError: NULL in a key.
            UnsupportedError: Keys, where no base rows are kept (`trust_deletes`).

        >>> db = Database()
        >>> table = db.create_table("r", {"id": "int64", "a": "int64"}, unique=["id"])
        >>> db.insert("r", {"id": [1, 2, 3], "a": [10, 20, 30]})
        >>> db.delete("r", {"id": [2, 3]})
        >>> len(table)
        1
        >>> db.delete("r", {"id": [1], "a": [11]})
        Traceback (most recent call last):
        ringview.errors.OverDeleteError: ...
        """
        change_rows(self.tables[table], -1, rows, multiplicity, progress)

    def upsert(self, table: str, rows: Rows, *, progress: Progress | None = None) -> None:
        """Add rows, each in the place of the one with the same `unique` key if there is one.

        A row that equals the one in its place changes nothing. Of rows with the same key the last
        stays.

        Args:
            table: Where to; declared with `unique`.
            rows: Whole rows, as for `insert`.
            progress: As there.

        Raises:
            NullKeyError: NULL in a key: it equals nothing, so no row can be found by it.
            UnsupportedError: A table without `unique`, or whose base rows are not kept
                (`trust_deletes`).
            UnknownTableError, UnknownColumnError, TypeMismatchError, InvalidValueError,
            StaticTableError, ArithmeticOverflowError: As `insert`.

        Complexity: one look-up a row; in the views, a delete and an insert for each row that moves.

        >>> db = Database()
        >>> _ = db.create_table("r", {"id": "int64", "a": "int64"}, unique=["id"])
        >>> view = db.create_view("v", "SELECT SUM(a) AS a FROM r")
        >>> db.upsert("r", {"id": [1, 2], "a": [10, 20]})
        >>> db.upsert("r", {"id": [2, 3], "a": [21, 30]})
        >>> view.scalar()
        61
        """
        change_by_key(self.tables[table], "upsert", rows, None, progress)

    def update(self, table: str, rows: Rows, *, progress: Progress | None = None) -> None:
        """Change rows that are there, found by their `unique` key.

        Args:
            table: Whose rows; declared with `unique`.
            rows: The key, and the columns that change; those that are not given stay.
            progress: As for `insert`.

        Raises:
            UnknownKeyError: No row has a key; nothing was changed.
            Others: As `upsert`.

        Complexity: as `upsert`.

        >>> db = Database()
        >>> _ = db.create_table("r", {"id": "int64", "a": "int64", "b": "int64"}, unique=["id"])
        >>> view = db.create_view("v", "SELECT SUM(a + b) AS sum FROM r")
        >>> db.insert("r", {"id": [1, 2], "a": [10, 20], "b": [1, 2]})
        >>> db.update("r", [{"id": 2, "b": 5}])
        >>> view.scalar()
        36
        >>> db.update("r", [{"id": 3, "b": 5}])
        Traceback (most recent call last):
        ringview.errors.UnknownKeyError: table "r" holds no row with the unique key (id = 3), ...
        """
        change_by_key(self.tables[table], "update", rows, None, progress)

    def apply(self, table: str, rows: Rows, *, op: str, progress: Progress | None = None) -> None:
        """Apply a feed of changes: rows, each with a word that says what it does, in their order.

        Args:
            table: Whose rows; declared with `unique`.
            rows: Whole rows and the column `op`; rows that delete need no more than their key, and
                may hold NULL else.
            op: A further column of texts, upper or lower case. `insert`, `I`, `+I`, `c`, `create`:
                the row comes, and none with its key may be there. `update`, `U`, `u`: it takes the
                place of the one that has its key. `delete`, `D`, `-D`, `d`, and the old half of an
                update, `-U`, `update_preimage`: the row with this key goes. `upsert`, `r`, `read`,
                and the new half of an update, `+U`, `update_postimage`: as `Database.upsert`.
            progress: As for `insert`.

        Raises:
            InvalidValueError: Another word; the message names row and word.
            DuplicateKeyError: An insert of a key that is there.
            UnknownKeyError: An update of a key that is not.
            OverDeleteError: A delete of a key that is not.
            Others: As `upsert`. Whatever was raised, nothing was changed.

        Complexity: as `upsert`.

        >>> db = Database()
        >>> _ = db.create_table("r", {"id": "int64", "a": "int64"}, unique=["id"])
        >>> view = db.create_view("v", "SELECT COUNT(*) AS n, SUM(a) AS a FROM r")
        >>> feed = {"op": ["I", "I", "U", "D"], "id": [1, 2, 1, 2], "a": [10, 20, 11, None]}
        >>> db.apply("r", feed, op="op")
        >>> view.to_arrow().to_pylist()
        [{'n': 1, 'a': 11}]
        """
        change_by_key(self.tables[table], "apply", rows, op, progress)

    def transaction(self, *, net: bool = False) -> Transaction:
        """A block whose changes are applied together when it ends, or not at all.

        Args:
            net: The net effect counts: a delete may stand before the insert of its row, and deletes
                and unique keys are checked on what all changes of a table come to. By default each
                change is checked on what those before it left. Changes by key do not mix with
                others of the same table in a net transaction.

        >>> db = Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> with db.transaction(net=True) as tx:
        ...     tx.delete("r", {"a": [1]})
        ...     tx.insert("r", {"a": [1, 2]})
        >>> len(table)
        1
        """
        return Transaction(self, net=net)

    def drop_table(self, name: str) -> None:
        """Forget a table; raises InUseError while a view reads it."""
        self._native.drop_table(name)

    def drop_view(self, name: str) -> None:
        """Forget a view; raises UnknownViewError if there is none."""
        self._native.drop_view(name)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name; `db.tables["r"]` raises UnknownTableError if there is none."""

        def table(name: str) -> Table:
            return Table(self._native, name, self._native.table_info(name)["id"])

        return _Named(self._native.tables, table)

    @property
    def views(self) -> Mapping[str, View]:
        """The views by name; `db.views["v"]` raises UnknownViewError if there is none."""

        def view(name: str) -> View:
            return View(self._native, name, self._native.view_id(name))

        return _Named(self._native.views, view)

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
        change(self._native, [(table, sign, term) for term in terms], None)

    def close(self) -> None:
        """Forget all tables and views and free their memory; twice does nothing.

        Whatever is asked of the database, its tables and views afterwards raises RingviewError.
        """
        self._native.close()

    def __enter__(self) -> Self:
        """The database itself, which the end of the block closes.

        >>> with Database() as db:
        ...     table = db.create_table("r", {"a": "int64"})
        ...     table.insert({"a": [1]})
        >>> db
        Database(closed)
        """
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """The tables and views, with rows and bytes, for notebooks."""
        return notebook.database(self.tables, self.views, self.memory_usage())

    def __repr__(self) -> str:
        if self._native.is_closed():
            return "Database(closed)"
        return f"Database(tables={self._native.tables()}, views={self._native.views()})"

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


def _either(create_or_replace: bool, if_not_exists: bool) -> None:
    if create_or_replace and if_not_exists:
        raise InvalidValueError(
            "create_or_replace and if_not_exists exclude each other; give one of them"
        )


def _in_line(of: object) -> str:
    return ", ".join(str(of).splitlines())


class _Named(Mapping[str, Item], Generic[Item]):
    """Tables or views by name, as they are at each look."""

    def __init__(self, names: Callable[[], list[str]], make: Callable[[str], Item]) -> None:
        self._names, self._make = names, make

    def __getitem__(self, name: str) -> Item:
        return self._make(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        return repr(dict(self))
