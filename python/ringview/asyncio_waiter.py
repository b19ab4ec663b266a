"""Wakes tasks of asyncio when the views that they follow move.

Invariant: a task that waits is woken once its follower has something, however the wait of another
ended: by a move, by cancellation, by the end of a follower, a view or a database. One thread waits
for all tasks of one view; it ends within `_SLICE` once none waits, and holds no process open.
Cost: a move wakes each task once, O(1). While nothing moves, the thread looks up once a `_SLICE`,
whatever the number of tasks.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import _native

CursorKey = tuple[object, ...]
"""What followers that move together have in common."""

# Between two looks of a thread at who waits still.
_SLICE = 0.05


class _Waiter:
    """A task that waits for its follower."""

    def __init__(self, native: _native.Follower) -> None:
        import asyncio

        self.native = native
        # Something may have moved between its last look and its wait.
        self.is_new = True
        self._loop = asyncio.get_running_loop()
        self.woken = self._loop.create_future()

    @property
    def is_lost(self) -> bool:
        """Whether nobody will ever run the task."""
        return self._loop.is_closed()

    def has_changes(self, longest: float) -> bool:
        """Whether there is something to look at, waiting for it a while; an error is, too."""
        try:
            return self.native.wait(longest)
        except Exception:
            return True

    def wake(self) -> None:
        """Let the task look, from any thread."""
        # Nobody is there to be woken in a loop that was closed.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)


class _Watch:
    """The tasks that wait for one view, and the thread that waits for them."""

    def __init__(self, place: CursorKey) -> None:
        self._place = place
        self._waiters: list[_Waiter] = []
        # A daemon would be stopped in the midst of the extension when the interpreter ends.
        self._thread = threading.Thread(target=self._watch, name="ringview waits", daemon=False)

    def add(self, waiter: _Waiter) -> None:
        self._waiters.append(waiter)
        if self._thread.ident is None:
            try:
                self._thread.start()
            except BaseException:
                self.discard(waiter)
                raise

    def discard(self, waiter: _Waiter) -> None:
        with suppress(ValueError):
            self._waiters.remove(waiter)

    def wake(self) -> None:
        woken, self._waiters[:] = self._waiters.copy(), []
        for waiter in woken:
            waiter.wake()

    def _watch(self) -> None:
        while waiters := self._waiting():
            new = [waiter for waiter in waiters if waiter.is_new]
            for waiter in new:
                waiter.is_new = False
                if waiter.has_changes(0.0):
                    with _LOCK:
                        self.discard(waiter)
                    waiter.wake()
            # All tasks wait at one place, and a change there wakes all of them: one wait serves
            # all.
            if waiters[0].has_changes(_SLICE):
                with _LOCK:
                    self.wake()

    def _waiting(self) -> list[_Waiter]:
        """Tasks that still wait; without any, this thread ends, and a new task starts another."""
        with _LOCK:
            self._waiters[:] = [waiter for waiter in self._waiters if not waiter.is_lost]
            if not threading.main_thread().is_alive():
                self._waiters.clear()
            if not self._waiters:
                del _WATCHES[self._place]
            return self._waiters.copy()


_LOCK = threading.Lock()
_WATCHES: dict[CursorKey, _Watch] = {}


async def wait_for_changes(place: CursorKey, native: _native.Follower) -> None:
    """Wait until a follower may have something or be at its end; there may be nothing after all.

    Cancelling it leaves nothing behind.
    """
    waiter = _Waiter(native)
    with _LOCK:
        watch = _WATCHES.get(place)
        if watch is None:
            watch = _WATCHES[place] = _Watch(place)
        watch.add(waiter)
    try:
        await waiter.woken
    finally:
        with _LOCK:
            watch.discard(waiter)


def wake(place: CursorKey) -> None:
    """Let all who wait at a place look again: one of its followers was closed."""
    with _LOCK:
        if watch := _WATCHES.get(place):
            watch.wake()


def _forget() -> None:
    """In a process that was forked: its parent's threads and loops are not there."""
    global _LOCK
    _LOCK = threading.Lock()
    _WATCHES.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
