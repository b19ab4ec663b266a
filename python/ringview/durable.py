"""Databases that are kept in a file: opened, copied, read.

Invariant: what a call did is on disk when it returns, or when the next snapshot does, as was asked
for; a call that did not return, in a process that was killed, is there wholly or not at all. Cost:
see `open`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Literal, Self

from . import sizes
from ._native import Database as NativeDatabase
from .changing import Progress
from .errors import InvalidValueError
from .functions import Given, declare_rest, finder
from .log import log

Durability = Literal["transaction", "snapshot"]


@dataclass(frozen=True)
class FileStatus:
    """What is known of the file of a database."""

    path: Path
    """Where it is."""
    file_bytes: int
    """Bytes of the file; some are room for what comes."""
    snapshot_bytes: int
    """Bytes of what was there when it was last written anew."""
    log_bytes: int
    """Bytes of what happened since."""
    last_snapshot: datetime | None
    """When it was last written anew."""
    commits: int
    """How often it was written since it was opened."""
    cache_bytes: int
    """What its pages may take in memory; part of `memory_limit`."""
    problem: str | None
    """Why it could not be written anew when that was due; None once it could."""


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
        compact_at: float | None = 2.0,
        share: bool = True,
        threads: int = 1,
        functions: Given | None = None,
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
            memory_limit: As of `Database`; an eighth of it, 16 MiB at the most, is for the file.
            progress: Called now and then with the number of rows read so far; what it raises ends
                it.
            compact_at: The file is written anew, as by `snapshot`, when its log takes so many times
                what the rows took when it last was, and more than a megabyte: the change that
                comes then waits for it. So the file, and opening it, cost what is there and not
                what happened. With None only `snapshot` and `close` do it.
            share: As of `Database`.
            threads: As of `Database`.
            functions: The functions that its views call, by name: a file keeps what they take and
                return, not what they do. Each a function of Python, or a `Function` with its types,
                which is then there whether a view calls it or not; `db.functions` are such.

        Raises:
            UnknownFunctionError: Functions that views call are not given, or have other types.
            FunctionError: A function fails by a row.
            SnapshotError: The file is no database, is damaged, or was written by a later version.
            StorageError: It cannot be opened or made, or is open elsewhere.
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
        limit = None if memory_limit is None else sizes.size(memory_limit)
        each = durability == "transaction"
        opened = cls._of(
            NativeDatabase.open(
                path,
                each,
                tell_last,
                trust_deletes,
                limit,
                progress,
                compact_at,
                share,
                sizes.threads(threads),
                finder(functions or {}),
            ),
            functions or {},
        )
        opened._log_contents("opened %s: %d tables, %d views", path)
        return opened

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
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
        native = NativeDatabase.load(path, limit, progress, share, workers, found)
        loaded = cls._of(native, functions or {})
        loaded._log_contents("read %s into memory: %d tables, %d views", path)
        return loaded

    def _log_contents(self, text: str, path: str | PathLike[str]) -> None:
        log("info", text, path, len(self._native.tables()), len(self._native.views()))

    @classmethod
    def _of(cls, native: NativeDatabase, functions: Given) -> Self:
        try:
            declare_rest(native, functions)
        except Exception:
            native.close()
            raise
        database = cls.__new__(cls)
        database._native = native
        return database

    @property
    def path(self) -> Path | None:
        """The file that keeps it; None in memory."""
        return self._native.path()

    def status(self) -> FileStatus | None:
        """What is known of the file: its size, its log, its last snapshot; None in memory. O(1).

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

    def save(self, path: str | PathLike[str]) -> None:
        """Write a copy to a file, in the place of one that is there, whole or not at all.

        Args:
            path: Where to; of a link, where that leads.

        Raises:
            StorageError: It cannot be written; it is the database's own file, or open elsewhere.
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
        log("info", "saved a copy as %s", path)

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
        log("info", "wrote %s anew", self.path)
