"""Changes of rows that are found: by their unique key, or by a condition.

Invariant: rows act in their order, each on what those before it left; an UPDATE takes away all that
meets its condition before it adds what that becomes. Cost: a look-up a row, or the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack, overload

from .changing import Progress, change_by_key
from .conditions import Condition, change_stated, update_where
from .queries import Parameters
from .rows import Rows
from .tabling import Tabling


class ByKey(Tabling):
    """The part of a database by which rows that are there change."""

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
        change_by_key(self.tables[table], "upsert", rows, None, progress, batch_id)

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

        Complexity: as `upsert`; with `where` that of asking for the rows, too, O(rows of the table)
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
            return change_stated(self._native, statement, progress, batch_id)
        change_by_key(self.tables[table], "update", rows, None, progress, batch_id)
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
