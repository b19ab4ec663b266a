"""Streams of changes that a reader may leave and resume.

Invariant: the events that a reader applied, from a snapshot on, are the view as it was at one of
its commits, once it had an event without `more`. Nothing is lost and nothing is sent twice, for a
reader whose place is not kept any more is given a snapshot, which replaces all it had. Cost: of a
stream the cost of its follower, and the events that it keeps; a slow reader is given the changes
made meanwhile at once, so nothing piles up for it.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from .. import sinks
from ..errors import UnsupportedError
from ..sinks.sender import TABLE
from .events import NOTHING, Event, EventPosition, Log, Token, events

if TYPE_CHECKING:
    from ..database import Database
    from ..view import View

KEPT = 2**20
"""Bytes of events that a stream keeps for a reader that comes back."""


class Stream(ABC):
    """Events of one view for one reader; `next` may be called from any thread."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.owner = uuid4().hex
        self.reader = 0
        """Counts who reads; who finds another number was followed by somebody else, and ends."""
        self._log = Log(KEPT)
        # The kept events are read on the event loop, so their lock is never held while the database
        # is read.
        self._lock = threading.Lock()
        self._looking = threading.Lock()

    def resume(self, token: Token | None) -> EventPosition | None:
        """The place to resume at; None if the log does not have it."""
        with self._lock:
            if token is None or token.owner != self.owner or self._log.after(token.place) is None:
                return None
            return token.place

    def after(self, place: EventPosition) -> list[Event]:
        """The events behind a place that are kept."""
        with self._lock:
            return self._log.after(place) or []

    def next(self, sent: EventPosition) -> bool:
        """Look what moved, where all up to `sent` was handed on; whether anything had."""
        with self._looking:
            if self.after(sent):
                return True
            found = self._look(sent)
            with self._lock:
                self._log.add(found)
            return bool(found)

    @abstractmethod
    def _look(self, sent: EventPosition) -> list[Event]:
        """The events of the next batch."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources that it holds."""


class Passing(Stream):
    """A stream of who has no name: it ends with this process, or a while after its reader left.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> stream = Passing(db.create_view("v", "SELECT COUNT(*) AS n FROM r"))
    >>> stream.next(NOTHING), stream.next(EventPosition(1, 0)), len(stream.after(NOTHING))
    (True, False, 1)
    >>> stream.close()
    """

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._follower = view.follow()
        self._batch = 0

    def __repr__(self) -> str:
        return f"Passing({self.view.name!r}, batches={self._batch})"

    def _look(self, sent: EventPosition) -> list[Event]:
        changes = self._follower.changes()
        # A view without rows has a snapshot, too.
        if not changes.num_rows and self._batch:
            return []
        self._batch += 1
        return list(events(self.owner, self.view.name, self._batch, changes))

    def close(self) -> None:
        """Forget its place."""
        self._follower.close()


class _Found(Exception):  # noqa: N818
    """A batch that is numbered, and to be handed on before it is committed."""

    def __init__(self, batch: int, changes: pa.Table) -> None:
        super().__init__(batch)
        self.batch = batch
        self.changes = changes


class Named(Stream):
    """A stream whose place is in the file of the database, under the name of its reader.

    It is a sender whose sink is the reader: a batch is numbered on disk, passed to the reader, and
    committed when the next one is requested. So after a kill the same rows have the same number.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> stream = Named(db, db.create_view("v", "SELECT COUNT(*) AS n FROM r"), "mail")
    >>> stream.next(NOTHING), stream.next(EventPosition(1, 0)), db["v"].followers
    (True, False, ['mail'])
    """

    def __init__(self, db: Database, view: View, name: str) -> None:
        super().__init__(view)
        self._db = db
        self._name = name
        self._sent = 0
        self._start()

    def __repr__(self) -> str:
        return f"Named({self.view.name!r}, {self._name!r})"

    def _start(self) -> None:
        self._sender = sinks.Sender(self._db, {self.view.name: self}, name=self._name, every=0)

    def begin(self, owner: str, views: list[str], is_new: bool) -> None:
        """Take the identity of the sender, by which the following batches are numbered."""
        if owner != self.owner:
            with self._lock:
                self.owner, self._sent = owner, 0
                self._log.begin(NOTHING)

    def __call__(self, view: str, batch: int, changes: pa.Table) -> None:
        """The sender has a batch: handed on already, or to be handed on now."""
        if batch > self._sent:
            raise _Found(batch, changes)

    def resume(self, token: Token | None) -> EventPosition | None:
        """The place to resume at; None if the log does not have it: a snapshot follows then."""
        with self._looking:
            found = super().resume(token)
            if found is None and token is not None and self._is_next(token):
                with self._lock:
                    self._log.begin(token.place)
                found = token.place
            if found is None and self._noted():
                self.view.unfollow(self._name)
                self._start()
        return found

    def _is_next(self, token: Token) -> bool:
        """Whether what the file has next follows what a token names."""
        place, noted = token.place, self._noted()
        if token.owner != self.owner or place.batch > noted or not self._distinguishes_batches():
            return False
        found = self._pending(place.batch - 1)
        following = noted + 1 if found is None else found.batch
        if following == place.batch:
            # It was numbered and not committed; the rest of its parts is yet to be sent.
            return True
        return place.is_whole and following == place.batch + 1

    def _distinguishes_batches(self) -> bool:
        """Whether two batches in a row differ; those of rows that may be equal need not."""
        try:
            self.view.get_many([])
        except UnsupportedError:
            return False
        return True

    def _noted(self) -> int:
        """The number of the last batch."""
        rows = self._db.tables[TABLE].where(view=self.view.name, name=self._name)
        return int(rows["batch"][0].as_py()) if rows.num_rows else 0

    def _pending(self, sent: int) -> _Found | None:
        """The next batch that is not handed on, if there is any; those up to `sent` are done."""
        self._sent = max(self._sent, sent)
        try:
            while self._sender.step():
                pass
        except _Found as found:
            return found
        return None

    def _look(self, sent: EventPosition) -> list[Event]:
        owner = self.owner
        found = self._pending(sent.batch if sent.is_whole else sent.batch - 1)
        if self.owner != owner:
            # The view was followed anew; who reads here begins anew, too.
            sent = NOTHING
        if found is not None:
            listed = events(self.owner, self.view.name, found.batch, found.changes)
            return [event for event in listed if event.place > sent]
        if sent != NOTHING:
            return []
        with self.view.follow(initial=False) as follower:
            empty = follower.changes().slice(0, 0)
        return list(events(self.owner, self.view.name, 0, empty))

    def close(self) -> None:
        """Release the resources that it holds; its place stays in the file."""


class Streams:
    """The streams that are read, and those whose readers left and may return.

    Args:
        db: Where the views are.
        seconds: How long a stream without a name waits for its reader.
        most: How many of them wait at once.
    """

    def __init__(self, db: Database, seconds: float = 60.0, most: int = 64) -> None:
        self._db = db
        self.seconds = seconds
        self._most = most
        self._passing: dict[str, Passing] = {}
        self._named: dict[tuple[View, str], Named] = {}
        self._left: dict[str, float] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Streams(passing={len(self._passing)}, named={len(self._named)})"

    def open(
        self, view: View, name: str | None, token: Token | None
    ) -> tuple[Stream, EventPosition, int]:
        """The stream that a reader resumes, or a new one; its place there; its number.

        Raises:
            RingviewError: What `View.follow` raises, and with a name `ringview.sinks.Sender`.
        """
        with self._lock:
            stream: Stream
            if name is not None:
                found = self._named.get((view, name))
                stream = self._named[view, name] = found or Named(self._db, view, name)
                place = stream.resume(token)
            else:
                known = None if token is None else self._passing.get(token.owner)
                stream = known if known is not None and known.view == view else Passing(view)
                place = stream.resume(token)
                if place is None and stream is known:
                    stream = Passing(view)
                self._passing[stream.owner] = stream
                # Until `begin`: a reader may leave before it is sent anything.
                self._left.pop(stream.owner, None)
                self._left[stream.owner] = time.monotonic()
            stream.reader += 1
            return stream, NOTHING if place is None else place, stream.reader

    def begin(self, stream: Stream) -> None:
        """A reader is sent its first event; the stream waits for nobody from here on."""
        with self._lock:
            self._left.pop(stream.owner, None)

    def leave(self, stream: Stream, reader: int) -> None:
        """A reader left; the stream waits for it unless another one reads it by now."""
        with self._lock:
            if isinstance(stream, Passing) and stream.reader == reader:
                self._left[stream.owner] = time.monotonic()
        self.expire()

    def expire(self) -> None:
        """Forget streams whose readers did not return."""
        with self._lock:
            late = time.monotonic() - self.seconds
            waiting = list(self._left)
            for at, owner in enumerate(waiting):
                if self._left[owner] <= late or at < len(waiting) - self._most:
                    del self._left[owner]
                    self._passing.pop(owner).close()

    def forget(self, view: View, name: str) -> None:
        """Forget the place of a name; raises what `View.unfollow` raises."""
        with self._lock:
            self._named.pop((view, name), None)
            view.unfollow(name)

    def close(self) -> None:
        """Release all of them; the places of names stay."""
        with self._lock:
            for stream in self._passing.values():
                stream.close()
            self._passing.clear()
            self._named.clear()
            self._left.clear()
