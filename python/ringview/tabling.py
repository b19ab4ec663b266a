"""The tables of a database: declared, found, dropped.

Invariant: a table is there whole or not at all. Cost: O(columns).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from . import _native, arrow
from .clock import interval
from .errors import ExistsError, InvalidValueError, TypeMismatchError
from .named import Named
from .table import Table
from .words import quoted


class Tabling:
    """The part of a database by which tables come and go."""

    _native: _native.Database

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name; `db.tables["r"]` raises UnknownTableError if there is none."""

        def table(name: str, number: int) -> Table:
            return Table(self._native, name, number)

        return Named(self._native.table_ids, self._native.table_id, table)

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
                `("ts", "7 days")`, `("day", "3 months")` or `("ts", timedelta(hours=12))`: a row
                leaves as soon as its moment is so much before the clock, see `advance`. One that
                is too old when it comes is taken and leaves at once. With NULL there it stays.
            create_or_replace: A table of this name goes first, and its rows with it.
            if_not_exists: A table of this name with the same columns stays, and is returned.

        Raises:
            ExistsError: The name is taken; with `if_not_exists`, by a view or a table that differs.
            InUseError: The table to be replaced is read by a view.
            TypeMismatchError: A type that is not stored; `keep_for` names a column of another type.
            UnknownColumnError: `unique` or `keep_for` names a column that is not there.
            InvalidValueError: The name is empty, or there are no columns; `keep_for` has no length
                of time above 0.
            UnsupportedError: `keep_for` of a static table, or with `trust_deletes`.

        Complexity: O(columns). With `keep_for` a row that comes costs O(log n) more, and about as
        much memory again.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"}, unique="a")
        >>> db.create_table("r", {"a": "int64"}, unique="a", if_not_exists=True) == table
        True
        """
        held = None if keep_for is None else _retention(keep_for)
        columns = [unique] if isinstance(unique, str) else unique and list(unique)
        either(create_or_replace, if_not_exists)
        if name in self.tables and (create_or_replace or if_not_exists):
            old = self.tables[name]
            # Whether the new one is possible, before the old one goes.
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
            cascade: Whether the views that read it, and those that read these, go with it: all of
                them, or nothing, in a file too.

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


def either(create_or_replace: bool, if_not_exists: bool) -> None:
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
