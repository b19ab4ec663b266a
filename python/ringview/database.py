"""A database and its tables.

Views are declared in `declaring`, functions in `functions`; rows change in `changeable`.

Invariant: this layer turns names and SQL into what the engine takes and decides nothing.
Cost: of a call, microseconds above what the engine takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from . import _native, arrow, notebook, sizes
from .changeable import Changeable
from .clock import interval
from .declaring import Declaring, either
from .durable import Durable
from .errors import (
    ExistsError,
    TypeMismatchError,
)
from .functions import Functions
from .table import Table
from .view import View

if TYPE_CHECKING:
    pass

Representation = Literal["factorised", "listing"]


class Database(Durable, Declaring, Functions, Changeable):
    """Tables and views in this process; nothing to start.

    Args:
        trust_deletes: Keep no base rows and do not check that deleted rows exist. Less memory and
            faster, but deleting what is not there makes views wrong, and views come before rows.
        memory_limit: Bytes that tables and views may take, with what is read at once: a number, or
            text such as `"512MB"`, `"2GB"` or `"1.5GiB"`. What needs more raises
            `OutOfMemoryError`, which is a `MemoryError`, and changes nothing. By default what the
            machine, or the control group of the process, has.
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

        >>> db = Database()
        >>> table = db.create_table("r", {"a": "int64"}, unique="a")
        >>> db.create_table("r", {"a": "int64"}, unique="a", if_not_exists=True) == table
        True
        """
        held = None if keep_for is None else _kept(keep_for)
        columns = [unique] if isinstance(unique, str) else unique and list(unique)
        either(create_or_replace, if_not_exists)
        if name in self.tables and (create_or_replace or if_not_exists):
            old = self.tables[name]
            # Whether the new one is possible, before the old one goes.
            draft = Database()
            new = draft.create_table(name, schema, unique=columns, static=static, keep_for=keep_for)
            if if_not_exists:
                for what in ("schema", "unique", "static", "keep_for"):
                    if (found := getattr(old, what)) != (asked := getattr(new, what)):
                        raise ExistsError(
                            f"the table {name!r} exists already with another {what}: "
                            f"{_in_line(found)}, not {_in_line(asked)}"
                        )
                return old
            self.drop_table(name)
        self._native.create_table(name, arrow.schema(schema), columns, static, held)
        return self.tables[name]

    def drop_table(self, name: str) -> None:
        """Forget a table; raises InUseError while a view reads it."""
        self._native.drop_table(name)

    def __getitem__(self, name: str) -> View:
        """A view by its name, a sample as `Sample`; raises UnknownViewError."""
        return self.views[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is a view of this name."""
        return name in self.views

    def memory_usage(self) -> dict[str, int]:
        """Bytes held, part by part: each table, each view, the dictionary of texts. O(parts).

        Of a database with a file, "file" is what its pages may take in memory.
        """
        return self._native.memory_usage()

    def close(self) -> None:
        """Forget all tables and views and free their memory; twice does nothing.

        Of a database with a file, the file keeps what happened and is free for others. Whatever is
        asked of the database, its tables and views afterwards raises RingviewError.

        Raises:
            StorageError: The file cannot be written. With durability="transaction" it is free all
                the same, and has all that happened but which rows a sample came to hold. With
                "snapshot" the database stays open, so that nothing is lost: make room and close it
                again, or `save` a copy elsewhere.
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


def _kept(of: object) -> tuple[str, str]:
    """A column and how long rows stay, as the engine takes them."""
    match of:
        case (str() as column, length):
            return column, interval(length)
    raise TypeMismatchError(
        f'keep_for is a column and a length of time, as in ("ts", "7 days"), not {of!r}'
    )


def _in_line(of: object) -> str:
    return ", ".join(str(of).splitlines())
