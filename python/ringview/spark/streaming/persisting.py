"""Persistence of a stream's state on the driver: a file beside the checkpoint, or objects.

In a folder of this machine the database is a file there, and each transaction a commit of it. By a
URI the database is in memory: what was applied is appended to a log of objects before a sink gets
it, and now and then a copy of the database takes the place of the log. That a sink took a batch is
appended with the next one, or at the end; where it was lost, Spark's note that the batch is done
says the same.

Invariant: after a crash the state has every micro-batch that a sink was given, and repeats its
changes with the same rows unless the sink took them. Cost: by a URI a micro-batch writes one file,
with its rows, compressed; a copy of the database is in a temporary folder while it is read or
written.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import pyarrow as pa

from ringview import Database
from ringview.errors import CheckpointError, InvalidValueError, StorageError
from ringview.spark.streaming import letters, marks
from ringview.spark.streaming.applying import Applier
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.entries import Batch, Entry, Group, Sent, Taken, grouped, packed
from ringview.spark.streaming.entries import unpacked as entries_of
from ringview.spark.streaming.locations import Remote
from ringview.spark.streaming.objects import ObjectLog
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.refusals import Refused
from ringview.transaction import Transaction

STATE = "state.ringview"
"""The name of the file."""

# A file is written anew where it is several times what it was, and worth it.
_GROWN, _WORTH_IT = 3, 1 << 26


class Persistence(ABC):
    """A database, and how it survives the process; the end of a `with` block closes it."""

    database: Database

    forgets: bool
    """Whether the moves of its last batch are lost once it is closed or has one more table."""

    @abstractmethod
    def begin(self) -> None:
        """Keep the tables and views that were made, if the state is a new one."""

    @abstractmethod
    def last_moved(self, views: Iterable[str]) -> dict[str, pa.Table]:
        """Changes of the last batch, where the state was opened and no sink took them."""

    @abstractmethod
    def note(self, entry: Entry) -> None:
        """Remember what was done to the database."""

    @abstractmethod
    def flush(self, *, has_marks: bool = False) -> None:
        """Have all batches that were applied survive a crash.

        Args:
            has_marks: Also what is noted of batches that are there.

        Raises:
            CheckpointError: Another stream has the checkpoint.
            StorageError: They cannot be written; it may be tried again.
        """

    @abstractmethod
    def compact(self) -> None:
        """Write the state anew, if it takes much more than its rows; raises as `flush`."""

    @abstractmethod
    def rewrite(self) -> None:
        """Keep the database as it is now, whatever was done to it; raises as `flush`."""

    @abstractmethod
    def close(self) -> None:
        """Release the state."""

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FilePersistence(Persistence):
    """A database in a file, which keeps itself."""

    forgets = True

    def __init__(
        self, folder: Path, *, tells_last: bool, memory_limit: int | str | None = None
    ) -> None:
        path = folder / STATE
        self.database = Database.open(path, tell_last=tells_last, memory_limit=memory_limit)
        self._snapshot_bytes = 0

    def begin(self) -> None:
        """Nothing: each of them was a commit."""

    def last_moved(self, views: Iterable[str]) -> dict[str, pa.Table]:
        """As `Persistence.last_moved`."""
        return {name: self.database[name].changes() for name in views}

    def note(self, entry: Entry) -> None:
        """Nothing: it was a commit."""

    def flush(self, *, has_marks: bool = False) -> None:
        """Nothing: each of them was a commit."""

    def compact(self) -> None:
        """As `Persistence.compact`."""
        if self._size() > max(_GROWN * self._snapshot_bytes, _WORTH_IT):
            self.database.snapshot()
            self._snapshot_bytes = self._size()

    def rewrite(self) -> None:
        """Nothing: each change was a commit."""

    def close(self) -> None:
        """As `Persistence.close`."""
        self.database.close()

    def _size(self) -> int:
        return self.database.path.stat().st_size if self.database.path else 0


class LogPersistence(Persistence):
    """A database in memory, of which a copy and a log are where Spark reaches them by a URI."""

    forgets = False

    def __init__(
        self,
        checkpoint: Checkpoint,
        plan: Plan,
        views: Mapping[str, str],
        memory_limit: int | str | None = None,
    ) -> None:
        """Read it.

        Args:
            checkpoint: Where it is.
            plan: The tables; the log may be of fewer columns.
            views: Those that it has, if it is there.
            memory_limit: That of the database.

        Raises:
            CheckpointError: Something is missing or damaged.
            StorageError: It cannot be read.
        """
        state = checkpoint.state
        assert isinstance(state, Remote)
        self._unwritten: list[Entry] = []
        self._moved: dict[str, pa.Table] = {}
        self._log = ObjectLog(state, str(checkpoint.folder))
        if not self._log.is_made:
            if checkpoint.has_begun:
                raise CheckpointError(
                    f"the checkpoint {checkpoint.folder} lacks its state in {state}; bring it "
                    "back, or start with an empty folder"
                )
            self.database = Database(memory_limit=memory_limit)
            return
        with _scratch() as path:
            self._log.fetch(path)
            self.database = Database.load(path, memory_limit=memory_limit)
        try:
            self._replay(checkpoint, _as_kept(plan, self.database, views))
        except BaseException:
            self.database.close()
            raise

    def begin(self) -> None:
        """As `Persistence.begin`."""
        if not self._log.is_made:
            self.rewrite()

    def last_moved(self, views: Iterable[str]) -> dict[str, pa.Table]:
        """As `Persistence.last_moved`."""
        return {name: self._moved[name] for name in views if name in self._moved}

    def note(self, entry: Entry) -> None:
        """As `Persistence.note`."""
        self._unwritten.append(entry)

    def flush(self, *, has_marks: bool = False) -> None:
        """As `Persistence.flush`."""
        if (has_marks and self._unwritten) or any(
            isinstance(entry, Batch) for entry in self._unwritten
        ):
            self._append()

    def compact(self) -> None:
        """As `Persistence.compact`."""
        if self._log.outgrows:
            self.rewrite()

    def rewrite(self) -> None:
        """As `Persistence.rewrite`."""
        with _scratch() as path:
            self.database.save(path)
            self._log.rewrite(path)
        self._unwritten.clear()

    def close(self) -> None:
        """As `Persistence.close`; marks that cannot be written are found at the next start."""
        try:
            if self._unwritten:
                self._append()
        except (CheckpointError, StorageError):
            # Spark sends a batch again that it has not noted as done, and notes say what marks do.
            self._unwritten.clear()
        finally:
            self.database.close()

    def _append(self) -> None:
        self._log.append(packed(self._unwritten))
        self._unwritten.clear()

    def _replay(self, checkpoint: Checkpoint, plan: Plan) -> None:
        """Do again what the log says, and note what its last batch moves."""
        applier = Applier(plan, self.database)
        before: Group | None = None
        for group in grouped(e for data in self._log.entries() for e in _entries(data, checkpoint)):
            if before is not None:
                self._apply(applier, plan, before)
            before = group
        if before is not None:
            self._apply_last(applier, plan, before)
        last = marks.last_batch(self.database)
        if last >= 0 and checkpoint.has_done(last):
            self._end(plan, last, before.batch if before else None)

    def _apply_last(self, applier: Applier, plan: Plan, group: Group) -> None:
        if group.batch is None or any(isinstance(mark, Sent) for mark in group.marks):
            self._apply(applier, plan, group)
            return
        followers = {name: self.database[name].follow(initial=False) for name in plan.views}
        self._apply(applier, plan, group)
        for name, follower in followers.items():
            self._moved[name] = follower.changes()
            follower.close()

    def _apply(self, applier: Applier, plan: Plan, group: Group) -> None:
        if (batch := group.batch) is not None:
            if batch.letters is not None:
                letters.prepare(plan, self.database)
            beside = partial(_keep_letters, plan, batch.letters)
            applier.apply(batch.rows, batch.number, beside=beside, came=batch.came)
        for mark in group.marks:
            mark.apply(plan, self.database)

    def _end(self, plan: Plan, last: int, batch: Batch | None) -> None:
        """Note what was taken of a batch that Spark has noted as done, which is behind that."""
        ends: list[Sent | Taken] = [Taken(n) for n in letters.waiting(plan, self.database)]
        if batch is not None and batch.has_sink and marks.is_waiting(self.database, last):
            ends.append(Sent(last))
            self._moved = {}
        for mark in ends:
            mark.apply(plan, self.database)
            self.note(mark)


def opened(
    checkpoint: Checkpoint,
    plan: Plan,
    views: Mapping[str, str],
    *,
    tells_last: bool = True,
    memory_limit: int | str | None = None,
) -> Persistence:
    """The state of a stream on the driver.

    Args:
        checkpoint: Its checkpoint.
        plan: Its tables.
        views: The views that its state has, if it is there.
        tells_last: Whether `Persistence.last_moved` is called.
        memory_limit: That of the database.

    Raises:
        CheckpointError: Something is missing or damaged.
        StorageError: It cannot be read, or is open elsewhere.
    """
    if isinstance(checkpoint.state, Path):
        return FilePersistence(checkpoint.state, tells_last=tells_last, memory_limit=memory_limit)
    return LogPersistence(checkpoint, plan, views, memory_limit)


def _as_kept(plan: Plan, database: Database, views: Mapping[str, str]) -> Plan:
    """The plan with the columns that a state has, and with its views."""
    tables = []
    for table in plan.tables:
        if table.name in database.tables:
            names = database.tables[table.name].schema.names
            columns = pa.schema([table.columns.field(name) for name in names])
            table = replace(table, columns=columns)
        tables.append(table)
    return replace(plan, tables=tuple(tables), views=views)


def _entries(data: bytes, checkpoint: Checkpoint) -> Iterable[Entry]:
    try:
        yield from entries_of(data)
    except (InvalidValueError, KeyError) as problem:
        raise CheckpointError(
            f"the log of the checkpoint {checkpoint.folder} is of another version: {problem}"
        ) from problem


def _keep_letters(
    plan: Plan, kept: pa.Table | None, transaction: Transaction, refused: Sequence[Refused]
) -> None:
    if kept is not None:
        transaction.insert(plan.letters, kept)


@contextmanager
def _scratch() -> Iterator[Path]:
    """Folder of a copy of the database, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="ringview-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / STATE
