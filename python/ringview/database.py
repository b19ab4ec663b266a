"""A database.

Tables are declared in `tabling`, views in `declaring`, functions in `functions`; rows change in
`changeable` and `by_key`; `statements` takes SQL.

Invariant: this layer turns names and SQL into what the engine takes and decides nothing.
Cost: of a call, microseconds above what the engine takes.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from . import _native, notebook, sizes
from .durable import Durable
from .functions import Functions
from .log import log
from .statements import Executing
from .view import View

if TYPE_CHECKING:
    from collections.abc import Iterator

Representation = Literal["factorised", "listing"]


class Database(Durable, Executing, Functions):
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
