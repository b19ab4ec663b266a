"""Sends what moves in views to sinks, each batch once where the sink allows that.

Invariant: a batch is made durable, then numbered, then sent, then committed, each step on disk
before the next. So a sender that is killed sends the same rows under the same number again, and a
sink that notes the number with the rows has them once. Cost: that of the sink, and three commits of
a file a batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..background_loop import Loop
from ..errors import (
    DuplicateKeyError,
    InvalidValueError,
    OverDeleteError,
    RingviewError,
    UnsupportedError,
)
from ..log import log
from ..text import quoted
from .protocol import Sink, begin, close

if TYPE_CHECKING:
    import pyarrow as pa

    from ..database import Database

TABLE = "ringview_sent"
_SCHEMA = {
    "view": "string not null",
    "name": "string not null",
    "owner": "string not null",
    "batch": "int64 not null",
    "digest": "string not null",
}


@dataclass(frozen=True)
class _Sent:
    """The last batch of a view that was numbered, as the table has it."""

    view: str
    name: str
    owner: str
    batch: int
    digest: str

    def row(self) -> tuple[object, ...]:
        return (self.view, self.name, self.owner, self.batch, self.digest)


class Sender(Loop):
    """Sends what moves in views to sinks: step by step, all there is, or in a thread.

    The first batch of a view is all that it has; its changes follow, as `View.changes` gives them.
    The place is that of the follower `name`, so a database in a file resumes where it was; one in
    memory starts again with the whole view.

    Args:
        db: The database of the views; of a file with durability="transaction".
        sinks: The target of the changes of each view: a sink of this module, or a function of the
            view, the number of the batch, from 1 on without gaps, and the rows.
        name: Whose places these are: senders of other sinks have other names.
        every: How many seconds to wait before views that did not move are looked at again.

    Raises:
        UnknownViewError: No such view.
        UnsupportedError: A sample, or a view that reads one; a database with `trust_deletes`, or a
            file with durability="snapshot", which forgets what was sent.
        InvalidValueError: A follower of the view has this name already; `every` below 0.
        CheckpointError: A sink holds what another sender, or another database, sent.

    Complexity: O(rows that moved), and three commits of the file a batch.

    >>> import ringview as rv
    >>> from ringview import sinks
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> _ = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    >>> def show(view, batch, changes):
    ...     print(batch, changes.to_pylist())
    >>> sender = sinks.Sender(db, {"v": show})
    >>> db.insert("r", {"a": [1]})
    >>> sender.step(), sender.step()
    1 [{'a': 1, 'n': 1, 'multiplicity': 1}]
    (True, False)
    """

    def __init__(
        self,
        db: Database,
        sinks: Mapping[str, Sink],
        *,
        name: str = "sinks",
        every: float = 1.0,
    ) -> None:
        super().__init__("the sender of changes", every)
        if not every >= 0:
            raise InvalidValueError(f"every={every!r} is not a number of seconds from 0 on")
        for view, sink in sinks.items():
            if not callable(sink):
                raise InvalidValueError(
                    f"the sink of view {quoted(view)} is no function but {sink!r}"
                )
            # Raises if there is none.
            _ = db.views[view]
        self._db = db
        self._sinks = dict(sinks)
        self._follower = name
        # Of views whose last batch may not have been committed: the next one may be the same.
        self._maybe = set(sinks)
        self._last: dict[str, _Sent] = {}
        self.batches = 0
        """How many batches were sent."""
        self.rows = 0
        """How many rows were sent."""
        try:
            db.create_table(TABLE, _SCHEMA, unique=["view", "name"], if_not_exists=True).to_arrow()
        except UnsupportedError as problem:
            raise UnsupportedError(
                "a database with trust_deletes=True keeps no rows, so that no sender could go on "
                "where it was; make the database without it"
            ) from problem
        for view in self._sinks:
            self._prepare(view)

    def __repr__(self) -> str:
        return f"Sender({list(self._sinks)}, batches={self.batches}, rows={self.rows})"

    def step(self) -> bool:
        """Send what moved in each view; whether anything had.

        Raises:
            CheckpointError: As at its start.
            RingviewError: Somebody else sends under the same name.
            Exception: What a sink raises; the next step sends the same batch again.
        """
        with self._stepping:
            moved = [self._send(view, sink) for view, sink in self._sinks.items()]
            return any(moved)

    def close(self) -> None:
        """Let sinks close their files and connections; a later step opens them again."""
        for sink in self._sinks.values():
            close(sink)

    def _prepare(self, view: str) -> None:
        """Find the last batch of a view, or start with none; then call `begin` of its sink."""
        rows = self._db.tables[TABLE].to_arrow().to_pylist()
        found = [row for row in rows if (row["view"], row["name"]) == (view, self._follower)]
        follows = self._follower in self._db[view].followers
        if found:
            self._last[view] = _Sent(**found[0])
        elif follows:
            raise InvalidValueError(
                f"view {quoted(view)} is followed as {quoted(self._follower)} already, by no "
                "sender; give this one another name="
            )
        if not follows:
            # A view that was replaced since begins anew, too, for sinks have rows of the old one.
            new = _Sent(view, self._follower, uuid4().hex, 0, "")
            self._note(self._last.get(view), new)
            self._db[view].follow(self._follower)
        last = self._last[view]
        begin(self._sinks[view], last.owner, [view], last.batch == 0)

    def _note(self, old: _Sent | None, new: _Sent) -> None:
        """Write the number of a batch before it is sent; refused if another sender wrote one."""
        before = self._db.status()
        try:
            with self._db.transaction() as tx:
                if old is not None:
                    tx.delete(TABLE, [old.row()])
                tx.insert(TABLE, [new.row()])
        except (OverDeleteError, DuplicateKeyError) as problem:
            raise RingviewError(
                f"view {quoted(new.view)} is sent as {quoted(new.name)} by somebody else; give one "
                "of both another name="
            ) from problem
        after = self._db.status()
        if before is not None and after is not None and after.commits == before.commits:
            raise UnsupportedError(
                'a file that is opened with durability="snapshot" forgets what was sent; open it '
                'with durability="transaction"'
            )
        self._last[new.view] = new

    def _send(self, view: str, sink: Sink) -> bool:
        handle = self._db[view]
        if self._follower not in handle.followers:
            self._prepare(view)
        if not handle.follow(self._follower).changes().num_rows:
            return False
        # Looked at, and not committed: under its name the follower is given that again. A commit
        # before it is puts the rows into the file, so that they are the same after a crash, too.
        follower = handle.follow(self._follower)
        follower.commit()
        changes = follower.changes()
        last, digest = self._last[view], _digest(changes)
        if view not in self._maybe or last.batch == 0 or digest != last.digest:
            new = _Sent(view, self._follower, last.owner, last.batch + 1, digest)
            self._maybe.add(view)
            self._note(last, new)
            last = new
        else:
            log("info", "view %s: batch %d is sent again", view, last.batch)
        sink(view, last.batch, changes)
        follower.commit()
        self._maybe.discard(view)
        log("debug", "view %s: batch %d, %d rows sent", view, last.batch, changes.num_rows)
        self.batches += 1
        self.rows += changes.num_rows
        return True


def run(
    db: Database, sinks: Mapping[str, Sink], *, name: str = "sinks", every: float = 1.0
) -> Sender:
    """Send all that moved by now to sinks, here; the arguments and errors of `Sender`.

    `Sender(..).start()` sends in a thread what moves from then on, too.

    Returns:
        The sender, which says how much it sent.

    >>> import sqlite3
    >>> import tempfile
    >>> import ringview as rv
    >>> from ringview import sinks
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = folder.name + "/shop.sqlite"
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> _ = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    >>> db.insert("r", {"a": [1, 1, 2]})
    >>> sinks.run(db, {"v": sinks.sqlite(file, "counts", key="a")})
    Sender(['v'], batches=1, rows=2)
    >>> sqlite3.connect(file).execute("SELECT * FROM counts ORDER BY a").fetchall()
    [(1, 2), (2, 1)]
    """
    sender = Sender(db, sinks, name=name, every=every)
    try:
        while sender.step():
            pass
    finally:
        sender.close()
    return sender


def _digest(changes: pa.Table) -> str:
    """Identity of a batch: a digest of its rows, whatever buffers they are in."""
    import pyarrow as pa

    found = hashlib.sha256()
    for column in changes.columns:
        whole: Any = column
        if pa.types.is_timestamp(column.type):
            # Python has no nanoseconds.
            whole = column.cast(pa.int64())
        found.update(repr(whole.to_pylist()).encode())
    return found.hexdigest()
