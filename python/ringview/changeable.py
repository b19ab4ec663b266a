"""What changes a database: rows that come and go, products of factors, transactions.

Invariant: a change is validated, applied to its tables and to every view over them, or refused and
nothing moved. Cost: of a call, microseconds above what the engine takes.
"""

from __future__ import annotations

from typing import Unpack, overload

from .by_key import ByKey
from .changing import Progress, change, change_rows
from .conditions import Condition, change_stated, delete_where
from .errors import TypeMismatchError
from .factors import Factors, products
from .queries import Parameters
from .rows import Rows
from .timely import Timely
from .transaction import Transaction


class Changeable(ByKey, Timely):
    """The half of a database by which rows come and go."""

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
                `Table.writer`. All batches of a stream are read before
                any is applied; for the main thread by a thread of its own, so that Ctrl-C is heard
                whatever the producer does. One that is bound to its thread, such as a cursor of
                sqlite3, goes in as a generator of batches, which is read where it is.
            multiplicity: A further column of integers: how often each row counts; negative deletes.
            progress: Called now and then with the number of rows done so far.
            batch_id: What tells this change from all others, a number or a text: one that was
                applied before does nothing, so that a source may send it again. See `is_applied`.

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
        change_rows(self.tables[table], 1, rows, multiplicity, progress, batch_id)

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

        With every column given, that very row goes. With the columns of the table's `unique` key
        alone, whatever row has that key goes.

        Args:
            table: Which one.
            rows: As for `insert`.
            where: In their place a condition of SQL, as behind `DELETE FROM table WHERE`; rows that
                are there several times go as often.
            parameters: Values of `$1`, `?`, `$name` and `:name` in it.
            dialect: That of the condition, as of `create_view`.
            multiplicity: As for `insert`, of rows that are given.
            progress: As for `insert`.
            batch_id: As for `insert`.

        Returns:
            With `where`, how many rows went.

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

        Complexity: as `insert`; with `where` that of asking for the rows, too, O(rows of the table)
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
            return change_stated(self._native, statement, progress, batch_id)
        if rows is None:
            raise TypeMismatchError("delete takes rows, or where=; give one of them")
        change_rows(self.tables[table], -1, rows, multiplicity, progress, batch_id)
        return None

    def transaction(self, *, net: bool = False, batch_id: int | str | None = None) -> Transaction:
        """A block whose changes are applied together when it ends, or not at all.

        Args:
            net: The net effect counts: a delete may stand before the insert of its row, and deletes
                and unique keys are checked on what all changes of a table come to. By default each
                change is checked on what those before it left. Changes by key do not mix with
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
        return Transaction(self, net=net, batch_id=batch_id)

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
        columns of several. Where base rows are kept (without `trust_deletes`), so much is written.
        Views of COFACTOR, MIN, MAX or COUNT(DISTINCT), and rows of joins kept factorised, take the
        product row by row.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("m", {"i": "int64", "j": "int64"})
        >>> db.update_factorised("m", {"u": {"i": [1, 2, 3]}, "v": {"j": [10, 20]}})
        >>> len(table)
        6
        """
        sign = -1 if delete else 1
        terms = products(factors, self.tables[table], multiplicity)
        change(self._native, [(table, sign, term) for term in terms], None)
