"""What changes a database: rows, rows by their key, products of factors, transactions.

Invariant: a change is validated, applied to its tables and to every view over them, or refused and
nothing moved. Cost: of a call, microseconds above what the engine takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from . import _native
from .changing import Change, Progress, change, change_by_key, change_rows
from .clock import Moment, microseconds, moment
from .factors import Factors, products
from .named import Named
from .rows import Rows
from .table import Table
from .transaction import Transaction


class Changeable:
    """The half of a database by which rows come and go."""

    _native: _native.Database

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name; `db.tables["r"]` raises UnknownTableError if there is none."""

        def table(name: str, number: int) -> Table:
            return Table(self._native, name, number)

        return Named(self._native.table_ids, self._native.table_id, table)

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

    def delete(
        self,
        table: str,
        rows: Rows,
        *,
        multiplicity: str | None = None,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
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

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"id": "int64", "a": "int64"}, unique=["id"])
        >>> db.insert("r", {"id": [1, 2, 3], "a": [10, 20, 30]})
        >>> db.delete("r", {"id": [2, 3]})
        >>> len(table)
        1
        >>> db.delete("r", {"id": [1], "a": [11]})
        Traceback (most recent call last):
        ringview.errors.OverDeleteError: ...
        """
        change_rows(self.tables[table], -1, rows, multiplicity, progress, batch_id)

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
            UnknownTableError, UnknownColumnError, TypeMismatchError, InvalidValueError,
            StaticTableError, ArithmeticOverflowError: As `insert`.

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
        change_by_key(self.tables[table], "upsert", rows, None, progress, batch_id)

    def update(
        self,
        table: str,
        rows: Rows,
        *,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> None:
        """Change rows that are there, found by their `unique` key.

        Args:
            table: Whose rows; declared with `unique`.
            rows: The key, and the columns that change; those that are not given stay.
            progress: As for `insert`.
            batch_id: As for `insert`.

        Raises:
            UnknownKeyError: No row has a key; nothing was changed.
            Others: As `upsert`.

        Complexity: as `upsert`.

        >>> import ringview as rv
        >>> db = rv.Database()
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
        change_by_key(self.tables[table], "update", rows, None, progress, batch_id)

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
                the row comes, and none with its key may be there. `update`, `U`, `u`: it takes the
                place of the one that has its key. `delete`, `D`, `-D`, `d`, and the old half of an
                update, `-U`, `update_preimage`: the row with this key goes. `upsert`, `r`, `read`,
                and the new half of an update, `+U`, `update_postimage`: as `Database.upsert`.
            progress: As for `insert`.
            batch_id: As for `insert`.

        Raises:
            InvalidValueError: Another word; the message names row and word.
            DuplicateKeyError: An insert of a key that is there.
            UnknownKeyError: An update of a key that is not.
            OverDeleteError: A delete of a key that is not.
            Others: As `upsert`. Whatever was raised, nothing was changed.

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
        change_by_key(self.tables[table], "apply", rows, op, progress, batch_id)

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
        """Let the clock go on: what is too old by then leaves, in one transaction.

        Rows of tables with `keep_for` that are older are deleted, and rows of views that compare a
        column with `now()` or `current_date` come and leave; views move once, and who follows them
        gets the difference. A file keeps the clock.

        Args:
            to: The moment: a datetime, which is of UTC unless it has a zone; a date, which is its
                midnight; or either as an ISO text. The one that the clock is at changes nothing.
            progress: As for `insert`, with the rows of tables that leave.
            batch_id: As for `insert`.

        Raises:
            InvalidValueError: A moment before `now`, for what left by then is gone; a text that is
                no moment.
            TypeMismatchError: Neither datetime, date nor text.
            OutOfMemoryError, ArithmeticOverflowError, KeyboardInterrupt: As `insert`; the clock is
                where it was then.

        Complexity: for each row that comes or leaves O(log n) and what an insert or a delete costs
        the views above; O(tables + views) where none does.

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
        change(self._native, [step], progress, batch_id=batch_id)

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
            UnknownTableError, UnknownColumnError, TypeMismatchError, NullKeyError, OverDeleteError,
            DuplicateKeyError, StaticTableError, ArithmeticOverflowError: As `insert` and `delete`.

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
