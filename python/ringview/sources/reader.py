"""Reads sources into the tables of a database, each batch once.

Invariant: the rows of a batch, its rejected rows and its positions are one transaction; the next
batch is requested when that is committed. So a reader that is killed resumes behind the last batch
that returned, and no more than one batch a source is in memory. Cost: that of the changes, and of a
batch with rows that the engine refuses, O(log rows) attempts for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..background_loop import Loop
from ..errors import (
    DuplicateKeyError,
    InvalidValueError,
    NullKeyError,
    OverDeleteError,
    RingviewError,
    UnknownKeyError,
    UnreachableError,
)
from ..log import log
from ..text import quoted
from . import dead_letters as letters
from . import positions
from .batch import Batch, Change, Rejected, Source
from .casts import Ready, ready, refuse
from .evolve import add_columns
from .net import filled, netted

if TYPE_CHECKING:
    from ..database import Database
    from ..transaction import Transaction

_OF_ROWS = (DuplicateKeyError, InvalidValueError, NullKeyError, OverDeleteError, UnknownKeyError)
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
MOST_REFUSED = 100
"""So many rows of a batch may be refused by the engine; more are no accident."""


class Reader(Loop):
    r"""Reads sources in turn, a batch of each: step by step, to their end, or in a thread.

    Args:
        db: The database of the tables; one in a file resumes where it was when it is opened again.
        sources: What is read; each has a name of its own.
        dead_letters: A table for rows that cannot be applied, which is made if it is not there:
            `source`, `place`, `row` as JSON or as it was read, `reason`; of messages of topics
            `topic`, `partition`, `offset`, `key_base64` and `value_base64`, too. Without it such a
            row is an error, and its batch is not applied.
        every: How many seconds to wait before sources that had nothing are polled again.

    Raises:
        InvalidValueError: Two sources of one name; `every` below 0.
        ExistsError: A table of the name of `dead_letters` with other columns.
        UnsupportedError: A database with `trust_deletes`.

    Complexity: a batch costs its changes, and one commit.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import ringview as rv
    >>> from ringview import sources
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name) / "a.csv"
    >>> _ = file.write_text("id,price\n1,10\n2,x\n")
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"id": "int64", "price": "int64"})
    >>> given = [sources.folder(f"{folder.name}/*.csv", table="r")]
    >>> reader = sources.Reader(db, given, dead_letters="rejected")
    >>> reader.step(), reader.step(), reader.finished
    (True, False, True)
    >>> reader
    Reader(batches=1, rows=1, rejected=1)
    >>> db.tables["rejected"].to_arrow()["reason"].to_pylist()
    ['column "price": \'x\' is no int64']
    """

    def __init__(
        self,
        db: Database,
        sources: Sequence[Source],
        *,
        dead_letters: str | None = None,
        every: float = 1.0,
    ) -> None:
        super().__init__("the reader of sources", every)
        names = [source.name for source in sources]
        for name in names:
            if names.count(name) > 1:
                raise InvalidValueError(
                    f"two sources are named {quoted(name)}; give one of them another name="
                )
        if not every >= 0:
            raise InvalidValueError(f"every={every!r} is not a number of seconds from 0 on")
        self._db = db
        self._sources = list(sources)
        self._open: dict[str, Iterator[Batch | None]] = {}
        self._known: dict[str, dict[str, str]] = {}
        self._ended: set[str] = set()
        self._letters = dead_letters
        positions.prepare(db)
        self._kept_as = {source.name: getattr(source, "kept_as", None) for source in sources}
        if dead_letters is not None:
            of_topics = any(getattr(source, "has_letters", False) for source in sources)
            letters.prepare(db, dead_letters, of_topics)
        self._wait = _FIRST_WAIT
        self.problem: str | None = None
        """The server that is away, as its error says; None if all of them answer. A thread that
        `start()` made tries again, after half a second and at the most a minute."""
        self.batches = 0
        """How many batches were applied."""
        self.rows = 0
        """How many rows of changes were applied."""
        self.rejected = 0
        """How many rows went to the dead letters."""

    def __repr__(self) -> str:
        return f"Reader(batches={self.batches}, rows={self.rows}, rejected={self.rejected})"

    @property
    def finished(self) -> bool:
        """Whether all sources ended."""
        return len(self._ended) == len(self._sources)

    def step(self) -> bool:
        """Apply the next batch of each source; whether there was any.

        Raises:
            InvalidValueError: A row that cannot be read or cast, with its file, row and column.
            RingviewError: What the tables refuse, with its source and place; or somebody else
                reads the same source. The batch was not applied, and the next step tries it again.
            Exception: What a source raises.
        """
        with self._stepping:
            moved = [self._next(source) for source in self._sources]
            return any(moved)

    def _step_again(self) -> bool:
        """A step of the thread: a server that is away is waited for, longer each time."""
        try:
            moved = self.step()
        except UnreachableError as problem:
            if self.problem is None:
                log("warning", "%s waits: %s", self._name, problem)
            self.problem = str(problem)
            self._stopping.wait(self._wait)
            self._wait = min(2 * self._wait, _LONGEST_WAIT)
            return True
        if self.problem is not None:
            log("info", "%s continues", self._name)
        self.problem, self._wait = None, _FIRST_WAIT
        return moved

    def close(self) -> None:
        """Release files and connections; a later step resumes behind the last batch."""
        for name in list(self._open):
            self._leave(name)

    def _next(self, source: Source) -> bool:
        name = source.name
        if name in self._ended:
            return False
        try:
            if name not in self._open:
                self._begin(source)
                log("info", "source %s begins, %s", name, self._known[name] or "at its start")
                self._open[name] = iter(source.batches(dict(self._known[name])))
            batch = next(self._open[name], _END)
            if isinstance(batch, Batch):
                self._apply(name, batch)
        except BaseException:
            # It may be ahead of what was applied: it begins anew behind that.
            self._leave(name)
            raise
        if batch is _END:
            log("info", "source %s ended", name)
            self._ended.add(name)
            self._leave(name)
        return isinstance(batch, Batch)

    def _begin(self, source: Source) -> None:
        """Read the positions of a source, and let it look at its tables."""
        kept_as, adopts = self._kept_as[source.name], getattr(source, "adopts", None)
        if kept_as is not None and adopts is not None:
            positions.adopt(self._db, kept_as, adopts)
        self._known[source.name] = positions.read(self._db, source.name, kept_as)
        prepare = getattr(source, "prepare", None)
        if prepare is not None:
            prepare(self._db)

    def _leave(self, name: str) -> None:
        close = getattr(self._open.pop(name), "close", None) if name in self._open else None
        if close is not None:
            close()

    def _apply(self, source: str, batch: Batch) -> None:
        known = self._known[source]
        reached = {part: at for part, at in batch.positions.items() if known.get(part) != at}
        if batch.positions and not reached:
            return
        if batch.batch_id is not None and self._db.is_applied(batch.batch_id):
            # Under no identity, so that the positions move all the same.
            batch = Batch((), batch.positions)
        changes = [self._ready(change) for change in batch.changes]
        rejected = [*batch.rejected, *(each for change in changes for each in change.rejected)]
        if rejected and self._letters is None:
            refuse(rejected[0], source)
        try:
            self._commit(source, changes, rejected, reached, batch.batch_id)
        except _OF_ROWS as problem:
            if positions.TABLE in str(problem):
                raise RingviewError(
                    f"source {quoted(source)} was read by somebody else meanwhile; let one "
                    "reader read it"
                ) from problem
            if self._refusal(changes, sum(change.rows.num_rows for change in changes)) is None:
                # Somebody else changed the table meanwhile; the same is taken now.
                pass
            elif self._letters is None:
                _, place, why = self._first_refused(changes, 0, problem)
                raise type(problem)(f"source {quoted(source)}: {place}: {why}") from problem
            else:
                changes = self._without_refused(source, changes, rejected, problem)
            self._commit(source, changes, rejected, reached, batch.batch_id)
        known.update(reached)
        rows = sum(change.rows.num_rows for change in changes)
        log("debug", "source %s: %d rows applied, %d rejected", source, rows, len(rejected))
        self.batches += 1
        self.rows += rows
        self.rejected += len(rejected)

    def _ready(self, change: Change) -> Ready:
        """The rows of a change as their table has them, which may get columns for them."""
        add_columns(self._db, change)
        table = self._db.tables[change.table]
        return ready(filled(change, table), table)

    def _commit(
        self,
        source: str,
        changes: Sequence[Ready],
        rejected: Sequence[Rejected],
        reached: Mapping[str, str],
        batch_id: int | str | None,
    ) -> None:
        with self._db.transaction(batch_id=batch_id) as tx:
            positions.move(tx, source, self._known[source], reached, self._kept_as[source])
            for change in changes:
                self._put(tx, change, change.rows.num_rows)
            if rejected and self._letters is not None:
                tx.insert(self._letters, letters.rows(self._db, self._letters, source, rejected))

    def _put(self, tx: Transaction, ready: Ready, count: int) -> None:
        """Let a transaction do what the first `count` rows of a change say."""
        change, rows = ready.change, ready.rows.slice(0, count)
        if change.how == "truncate":
            rows = self._db.tables[change.table].to_arrow()
        if change.net and change.op is not None:
            rows = netted(rows, change.op, self._db.tables[change.table])
        if not rows.num_rows:
            return
        if change.how == "apply" and change.op is not None:
            tx.apply(change.table, rows, op=change.op)
        elif change.how == "upsert":
            tx.upsert(change.table, rows)
        elif change.how in ("delete", "truncate"):
            tx.delete(change.table, rows, multiplicity=change.multiplicity)
        else:
            tx.insert(change.table, rows, multiplicity=change.multiplicity)

    def _without_refused(
        self,
        source: str,
        changes: Sequence[Ready],
        rejected: list[Rejected],
        problem: RingviewError,
    ) -> list[Ready]:
        """The changes without the rows that the engine refuses, which are added to `rejected`."""
        left, passed = list(changes), 0
        for _ in range(MOST_REFUSED):
            passed, place, why = self._first_refused(left, passed, problem)
            at, row = _located(left, passed)
            rejected.append(replace(left[at].rejects(row, why), place=place))
            left[at] = left[at].without(row)
            found = self._refusal(left, sum(change.rows.num_rows for change in left))
            if found is None:
                return left
            problem = found
        raise type(problem)(
            f"source {quoted(source)}: more than {MOST_REFUSED} rows of one batch are refused, so "
            f"it is not applied; the last one: {problem}"
        )

    def _first_refused(
        self, changes: Sequence[Ready], passed: int, problem: RingviewError
    ) -> tuple[int, str, str]:
        """The number of the first row that the engine refuses, its place, and why.

        Found by attempts with fewer rows, each of which is undone.
        """
        low, high = passed, sum(change.rows.num_rows for change in changes)
        while high - low > 1:
            middle = (low + high) // 2
            found = self._refusal(changes, middle)
            if found is None:
                low = middle
            else:
                high, problem = middle, found
        at, row = _located(changes, low)
        why = str(problem).removesuffix("; nothing of this transaction was applied")
        return low, changes[at].rejects(row, why).place, why

    def _refusal(self, changes: Sequence[Ready], count: int) -> RingviewError | None:
        """Why the first so many rows are refused, or None; nothing changes."""
        try:
            with self._db.transaction() as tx:
                for change in changes:
                    self._put(tx, change, count)
                    count = max(0, count - change.rows.num_rows)
                # This row is not there, so the transaction is refused here at the latest.
                tx.delete(positions.TABLE, [(_NOBODY, "", "")])
        except _OF_ROWS as problem:
            return None if _NOBODY in str(problem) else problem
        raise RingviewError(f"a source is named {quoted(_NOBODY)}")


def run(
    db: Database,
    sources: Sequence[Source],
    *,
    dead_letters: str | None = None,
    every: float = 1.0,
) -> Reader:
    """Read sources to their end, here; the arguments and errors of `Reader`.

    One that watches has no end: it is read until Ctrl-C. `Reader(..).start()` reads in a thread.

    Returns:
        The reader, which says how much it read.

    >>> import sqlite3
    >>> import ringview as rv
    >>> from ringview import sources
    >>> shop = sqlite3.connect(":memory:")
    >>> _ = shop.execute("CREATE TABLE r (a, b)")
    >>> _ = shop.execute("INSERT INTO r VALUES (1, 'x'), (2, 'y')")
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64", "b": "string"})
    >>> sources.run(db, [sources.query(shop, "SELECT a, b FROM r", table="r")])
    Reader(batches=1, rows=2, rejected=0)
    """
    return Reader(db, sources, dead_letters=dead_letters, every=every).run()


def _located(changes: Sequence[Ready], number: int) -> tuple[int, int]:
    """The change that a row is in, and its number there."""
    for at, change in enumerate(changes):
        if number < change.rows.num_rows:
            return at, number
        number -= change.rows.num_rows
    raise IndexError(number)


_END = object()
_NOBODY = "ringview: nobody"
