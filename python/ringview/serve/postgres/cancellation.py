"""Cancellation of the call that a thread of the server runs, for calls that are not the database's.

The extension raises a flag of a session's thread when its client cancels or disconnects, when the
statement takes too long, and when the server is closed. A wait of the database reads that flag; the
wait for a view that never changes is here.

Invariant: `check` changes nothing, and takes about a millisecond. Cost: an empty database for each
object.
"""

from __future__ import annotations

# Seconds; a wait looks at the flag when it has lasted, so it must outlast the way to it.
_MOMENT = 1e-3


class Cancellation:
    """A look at whether the call of this thread is to end.

    >>> cancellation = Cancellation()
    >>> cancellation.check()
    >>> cancellation.close()
    """

    def __init__(self) -> None:
        from ...database import Database

        self._db = Database()
        self._db.create_table("never", {"changes": "int64"})
        view = self._db.create_view("nothing", "SELECT changes FROM never")
        self._follower = view.follow(initial=False)

    def check(self) -> None:
        """Raise KeyboardInterrupt if it is."""
        self._follower.poll(timeout=_MOMENT)

    def close(self) -> None:
        """Free the database."""
        self._follower.close()
        self._db.close()

    def __repr__(self) -> str:
        return "Cancellation()"
