"""One look of a follower in a thread, for a task that may be cancelled meanwhile.

Invariant: changes are taken and handed over, or neither: they stay with the follower if the task
withdrew before they were taken, and are given to who withdraws later. Cost: a look, and a lock.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from . import _native


class _WithdrawnError(Exception):
    """Nobody wants the changes any more."""


class Taking:
    """A look at a follower; called once, in any thread."""

    def __init__(self, native: _native.Follower) -> None:
        self._native = native
        self._lock = threading.Lock()
        self._wanted = True
        self._taken: pa.Table | None = None

    def __call__(self) -> pa.Table | None:
        """What moved since the last look; None if nothing did, or if it was withdrawn."""
        try:
            if self._wanted and self._native.wait(0.0):
                return self._native.changes(self._take)
        except _WithdrawnError:
            pass
        return None

    def _take(self, rows: _native.Rows) -> pa.Table:
        import pyarrow as pa

        found = pa.table(rows)
        with self._lock:
            if not self._wanted:
                raise _WithdrawnError
            self._taken = found
        return found

    def withdraw(self) -> pa.Table | None:
        """Take nothing from now on; what was taken already, which somebody has to keep."""
        with self._lock:
            self._wanted = False
            return self._taken
