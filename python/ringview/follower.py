"""A reader of the changes of a view, with a place of its own.

Invariant: it is given each change once, in the order of transactions; what a call did not hand
over, for it failed or was interrupted, the next one does. Replayed over nothing, what a follower
was given is the view as it was at its last look. Cost: a look costs the groups touched since the
last one; while it waits, nothing. What a view remembers is at most, for each follower, the rows
that it had at their place, and the rows that it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from .errors import RingviewError, UnknownViewError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    import pyarrow as pa

    from . import _native


class Follower:
    """What moves in a view, for one reader; made by `View.follow`.

    A view remembers what moved as long as somebody is to be told: until `close()`, the end of the
    `with` block, or the end of the object; for one with a name until `View.unfollow(name)`.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    >>> db.insert("r", {"a": [1]})
    >>> with view.follow(timeout=0) as follower:
    ...     for batch in follower:
    ...         print(batch.to_pylist())
    [{'a': 1, 'n': 1, 'multiplicity': 1}]
    """

    __slots__ = ("_native", "_timeout", "name", "view")

    def __init__(
        self, native: _native.Follower, view: str, name: str | None, timeout: float | None
    ) -> None:
        self._native = native
        self._timeout = timeout
        self.view = view
        self.name = name

    def changes(self) -> pa.Table:
        """What moved since the last call, at once; without rows if nothing did.

        The columns and multiplicities are those of `View.changes`. A call that fails loses nothing.
        A follower with a name that goes on is first given, in parts and a part a call, what it had
        not committed: what it was given before, and what the file was last written with.

        Raises:
            UnknownViewError: The view was dropped.
            InvalidValueError: The name was forgotten.
            RingviewError: The follower is closed.

        Complexity: O(groups touched since the last call); of a join O(rows that moved).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> follower = db.create_view("v", "SELECT COUNT(*) AS n FROM r").follow(initial=False)
        >>> db.insert("r", {"a": [1, 2]})
        >>> follower.changes().to_pylist()
        [{'n': 0, 'multiplicity': -1}, {'n': 2, 'multiplicity': 1}]
        """
        import pyarrow as pa

        found: pa.Table = self._native.changes(pa.table)
        return found

    def commit(self) -> None:
        """Say that all that it was given is done with: nobody of its name is given that again.

        On return the place is as durable as a transaction; with durability="snapshot" it is in the
        next snapshot. What is done with changes and must happen once can be told apart by a
        `batch_id`, or be such that twice is the same as once: a process that dies before this call
        is given them again.

        Raises:
            UnsupportedError: It has no name.
            StorageError: The file cannot be written; the place is where it was.
            UnknownViewError, InvalidValueError, RingviewError: As `changes`.

        Complexity: a commit of the file; nothing if nothing was given since the last one.

        >>> import tempfile
        >>> import ringview as rv
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/r.ringview"
        >>> with rv.Database.open(path) as db:
        ...     _ = db.create_table("r", {"a": "int64"})
        ...     follower = db.create_view("v", "SELECT COUNT(*) AS n FROM r").follow("mail")
        ...     _ = follower.changes()
        ...     follower.commit()
        ...     db.insert("r", {"a": [1, 2]})
        >>> with rv.Database.open(path) as db:
        ...     db["v"].follow("mail").changes().to_pylist()
        [{'n': 0, 'multiplicity': -1}, {'n': 2, 'multiplicity': 1}]
        """
        self._native.commit()

    def poll(self, timeout: float | None = 0.0) -> pa.Table | None:
        """What moved since the last look; waits for it, and is None if nothing did in that time.

        Other threads go on meanwhile, and Ctrl-C ends the wait.

        Args:
            timeout: How many seconds to wait; for ever if None.

        Raises:
            UnknownViewError: The view was dropped, maybe while this waited.
            RingviewError: The follower is closed.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> follower = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a").follow()
        >>> follower.poll() is None
        True
        >>> db.insert("r", {"a": [1]})
        >>> follower.poll(timeout=60).to_pylist()
        [{'a': 1, 'n': 1, 'multiplicity': 1}]
        """
        from time import monotonic

        end = None if timeout is None else monotonic() + timeout
        while self._native.wait(None if end is None else max(0.0, end - monotonic())):
            # What moved may have moved back, and then there is nothing to tell.
            if (found := self.changes()).num_rows:
                return found
        return None

    def __iter__(self) -> Iterator[pa.Table]:
        """Batches of changes as they come, each what moved since the one before.

        Waits for the next one, at most as long as `View.follow` was told. Ends then, and when the
        follower or the database is closed, or the view dropped.
        """
        while not self._native.is_closed():
            try:
                found = self.poll(self._timeout)
            except UnknownViewError:
                return
            except RingviewError:
                if self._native.is_closed():
                    return
                raise
            if found is None:
                return
            yield found

    def close(self) -> None:
        """End it, from any thread; what was kept for it alone is freed. Twice does nothing."""
        self._native.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed, or the database was."""
        return self._native.is_closed()

    def __enter__(self) -> Self:
        """The follower itself, which the end of the block closes."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        name = "" if self.name is None else f", {self.name!r}"
        return f"Follower({self.view!r}{name}{', closed' if self.closed else ''})"
