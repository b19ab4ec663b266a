"""Notification of tasks that wait for a view to change.

Invariant: a view that moved behind a look wakes each who waits since that look, whatever thread
changed it. Cost: one thread for each view that somebody waits for, and a look at what moved.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

from ..errors import RingviewError

if TYPE_CHECKING:
    from ..view import View


class ViewNotifier:
    """One view, watched by a thread until `close`.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> watch = ViewNotifier(db.create_view("v", "SELECT COUNT(*) AS n FROM r"))
    >>> db.insert("r", {"a": [1]})
    >>> asyncio.run(watch.wait_for_changes(0, 60))
    True
    >>> watch
    ViewNotifier('v', moves=1)
    >>> watch.close()
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.moves = 0
        """How often it was seen to move."""
        self.at: float | None = None
        """When it last did, by `time.time()`."""
        self.ended = False
        """Whether nothing comes any more: the view was dropped, or all is closed."""
        self.users = 0
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()
        self._follower = view.follow(initial=False)
        name = f"ringview watch {view.name}"
        self._thread = threading.Thread(target=self._look, name=name, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"ViewNotifier({self.view.name!r}, moves={self.moves})"

    def _look(self) -> None:
        while not self.ended:
            try:
                found = self._follower.poll(None)
            except RingviewError:
                self.ended = True
            else:
                if found is None:
                    continue
                self.moves += 1
                self.at = time.time()
            self.wake()

    def wake(self) -> None:
        """Wake all who wait, moved or not."""
        with self._lock:
            for loop, event in self._waiting:
                # A loop that is closed has nobody who waits.
                if not loop.is_closed():
                    loop.call_soon_threadsafe(event.set)

    async def wait_for_changes(self, since: int, seconds: float) -> bool:
        """Wait until there were more than `since` moves, or for so long; whether there were.

        Ends early, too, if it is woken for another reason.
        """
        waiting = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiting.add(waiting)
        try:
            if self.moves == since and not self.ended:
                async with asyncio.timeout(seconds):
                    await waiting[1].wait()
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._waiting.discard(waiting)
        return self.moves > since

    def close(self) -> None:
        """End the thread; twice does nothing."""
        self.ended = True
        self._follower.close()
        self.wake()
        self._thread.join()


class ViewNotifiers:
    """The watches of those views that somebody waits for; each is ended by its last user."""

    def __init__(self) -> None:
        self._open: dict[View, ViewNotifier] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"ViewNotifiers({[watch.view.name for watch in self._open.values()]})"

    def join(self, view: View) -> ViewNotifier:
        """The watch of a view, which `leave` gives back; it blocks while the view is changed."""
        with self._lock:
            watch = self._open.get(view)
            if watch is None or watch.ended:
                watch = self._open[view] = ViewNotifier(view)
            watch.users += 1
            return watch

    def leave(self, watch: ViewNotifier) -> None:
        """Give a watch back; it blocks while the view is changed."""
        with self._lock:
            watch.users -= 1
            if watch.users:
                return
            if self._open.get(watch.view) is watch:
                del self._open[watch.view]
        watch.close()

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            found = list(self._open.values())
            self._open.clear()
        for watch in found:
            watch.close()
