"""Databases that are kept in a file: opened, copied, read.

Invariant: what a call did is on disk when it returns, or when the next snapshot does, as was asked
for; a call that did not return, in a process that was killed, is there wholly or not at all. Cost:
see `open`.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Literal, Self

from . import sizes
from ._native import Database as NativeDatabase
from .changing import Progress
from .errors import InvalidValueError

Durability = Literal["transaction", "snapshot"]


class Durable:
    """The half of a database that has to do with files."""

    _native: NativeDatabase

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        durability: Durability = "transaction",
        tell_last: bool = False,
        trust_deletes: bool = False,
        memory_limit: int | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Open the database of a file, or make one; whatever it does from then on is kept there.

        One process at a time has a file; its forks do not. `close`, or the end of a `with` block,
        lets it go. Changes of several threads that come while the disk is busy are written
        together. Who follows a view under a name goes on (`View.follow`); what other readers had
        seen of changes is not kept: `View.changes` begins anew. A sample goes on as it was at the
        last `snapshot` or `close`, over the changes since.

        Args:
            path: The file.
            durability: With "transaction" every call that returned is on disk. With "snapshot" what
                was there at the last `snapshot` or `close` is, and calls cost as much as in memory.
            tell_last: `View.changes` begins with what the last transaction moved, if nothing came
                after it; without, with the whole view. Who hands changes on, and cannot know
                whether it did so before it was killed, gets them again.
            trust_deletes: As of `Database`; of a file that is there, as it was made. Such a file
                keeps all changes since the last `snapshot`, as rows are not kept.
            memory_limit: As of `Database`.
            progress: Called now and then with the number of rows read so far; what it raises ends
                it.

        Raises:
            SnapshotError: The file is no database, is damaged, or was written by a later version.
            StorageError: It cannot be opened or made, or is open elsewhere.
            InvalidValueError: Another `durability`; another `trust_deletes` than the file's.
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
        limit = None if memory_limit is None else sizes.size(memory_limit)
        each = durability == "transaction"
        return cls._of(NativeDatabase.open(path, each, tell_last, trust_deletes, limit, progress))

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        memory_limit: int | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Read a database from a file into memory; the file stays as it is.

        Args:
            path: A file that `save` wrote, or that `open` made and nobody has open.
            memory_limit: As of `open`.
            progress: As of `open`.

        Raises:
            SnapshotError, StorageError, OutOfMemoryError: As `open`; also if there is no file.

        Complexity: as `open`.
        """
        limit = None if memory_limit is None else sizes.size(memory_limit)
        return cls._of(NativeDatabase.load(path, limit, progress))

    @classmethod
    def _of(cls, native: NativeDatabase) -> Self:
        database = cls.__new__(cls)
        database._native = native
        return database

    @property
    def path(self) -> Path | None:
        """The file that keeps it; None in memory."""
        return self._native.path()

    def save(self, path: str | PathLike[str]) -> None:
        """Write a copy to a file, in the place of one that is there, whole or not at all.

        Args:
            path: Where to.

        Raises:
            StorageError: It cannot be written.
            UnsupportedError: Tables whose rows are not kept (`trust_deletes`), if no file has their
                changes, or if more rows went than came.

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
        self._native.save(path)

    def snapshot(self) -> None:
        """Write the file anew from what is there: opening it then costs that, not what happened.

        On return all that happened is durable, whatever `durability` says. Where rows are not kept
        (`trust_deletes`), those that are left are counted from the changes in the file; if more
        went than came, the file stays as it is.

        Raises:
            StorageError: The file cannot be written; it has what it had.
            UnsupportedError: A database in memory; with durability="snapshot", tables whose rows
                are not kept.
            OutOfMemoryError: `memory_limit` is too low to count the rows that are left.

        Complexity: O(rows); where rows are not kept, O(changes since the last one), and for that
        time the memory of the rows that are left.
        """
        self._native.snapshot()
