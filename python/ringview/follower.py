"""A reader of the changes of a view, with a place of its own.

Invariant: it is given each change once, in the order of transactions; changes that a call did not
return, for it failed, was interrupted or cancelled, are returned by the next one. Replayed over
nothing, the changes that a follower was given are the view as it was at its last call. Cost: a call
costs the groups touched since the last one; while it waits, nothing. For each follower a view
remembers at most the rows that it had at the follower's place, and the rows that it has.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from . import asyncio_waiter
from .errors import RingviewError, UnknownViewError
from .text import quoted

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Iterator

    import pyarrow as pa

    from . import _native


class Follower:
    """The changes of a view, for one reader; made by `View.follow`.

    A view remembers changes as long as a follower has yet to read them: until `close()`, the end of
    the `with` block, or the end of the object; for one with a name until `View.unfollow(name)`.

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

    __slots__ = ("_kept", "_native", "_place", "_timeout", "name", "view")

    def __init__(
        self,
        native: _native.Follower,
        view: str,
        name: str | None,
        timeout: float | None,
        place: asyncio_waiter.CursorKey = (),
    ) -> None:
        self._native = native
        self._timeout = timeout
        # Followers at one place move together; that of nobody else is the object itself.
        self._place = place or (id(native),)
        # Changes that were on their way to tasks when these were cancelled.
        self._kept: list[pa.Table] = []
        self.view = view
        self.name = name

    def changes(self) -> pa.Table:
        """Changes since the last call, at once; without rows if there are none.

        The columns and multiplicities are those of `View.changes`. A call that fails loses nothing.
        A follower that resumes by its name is first given, in parts and a part a call, the changes
        that it had not committed: those that it was given before, and those of the last write of
        the file.

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

        if self._kept and not self.closed:
            return self._kept.pop(0)
        found: pa.Table = self._native.changes(pa.table)
        return found

    def commit(self) -> None:
        """Say that all that it was given is done with: nobody of its name is given that again.

        On return the place is as durable as a transaction; with durability="snapshot" it is in the
        next snapshot. A process that dies before this call is given the same changes again. An
        effect that must happen once needs a `batch_id` that identifies it, or must be idempotent.

        Raises:
            UnsupportedError: It has no name.
            StorageError: The file cannot be written; the place is where it was.
            RingviewError: A task was cancelled while changes were on their way to it: nobody has
                seen them yet, and the next call of `changes` hands them over.
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
        if self._kept and not self.closed:
            raise RingviewError(
                f"a cancelled task has not seen all that the follower of {quoted(self.view)} "
                "was given; take that by changes() or next_changes(), and commit then"
            )
        self._native.commit()

    def poll(self, timeout: float | None = 0.0) -> pa.Table | None:
        """Changes since the last call; waits for them, and is None if there are none in that time.

        Other threads run meanwhile, and Ctrl-C ends the wait.

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

        if self._kept and not self.closed:
            return self.changes()
        end = None if timeout is None else monotonic() + timeout
        while self._native.wait(None if end is None else max(0.0, end - monotonic())):
            # Changes may have cancelled out; then there is nothing to return.
            if (found := self.changes()).num_rows:
                return found
        return None

    async def next_changes(self, timeout: float | None = None) -> pa.Table | None:
        """Changes since the last call, for a task of asyncio; as `poll`, without blocking the loop.

        It looks in a thread of the loop's executor, as a look waits for a transaction that is on
        its way; tasks that wait for one view share one more thread. A task that is cancelled loses
        nothing: what it was not handed, the next call gives.

        Args:
            timeout: How many seconds to wait; for ever if None.

        Returns:
            The changes; None if nothing moved in that time.

        Raises:
            UnknownViewError, RingviewError: As `poll`.

        >>> import asyncio
        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> async def first() -> list[dict[str, int]]:
        ...     async with view.follow() as follower:
        ...         waits = asyncio.create_task(follower.next_changes())
        ...         await asyncio.to_thread(db.insert, "r", {"a": [1]})
        ...         return (await waits).to_pylist()
        >>> asyncio.run(first())
        [{'a': 1, 'n': 1, 'multiplicity': 1}]
        """
        import asyncio

        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        while True:
            found = await self._taken(loop)
            if found is not None and found.num_rows:
                return found
            try:
                async with asyncio.timeout_at(end):
                    await asyncio_waiter.wait_for_changes(self._place, self._native)
            except TimeoutError:
                return None

    async def _taken(self, loop: asyncio.AbstractEventLoop) -> pa.Table | None:
        """Changes that can be taken now."""
        import asyncio

        if self._kept and not self.closed:
            return self.changes()
        poll = Poll(self._native)
        try:
            return await loop.run_in_executor(None, poll)
        except asyncio.CancelledError:
            if (taken := poll.withdraw()) is not None and taken.num_rows:
                self._kept.append(taken)
            raise

    def __iter__(self) -> Iterator[pa.Table]:
        """Batches of changes as they happen, each with the changes since the one before.

        Waits for the next one, at most for the `timeout` of `View.follow`. Ends then, and when the
        follower or the database is closed, or the view dropped.
        """
        while not self.closed:
            try:
                found = self.poll(self._timeout)
            except RingviewError as problem:
                if self._is_end(problem):
                    return
                raise
            if found is None:
                return
            yield found

    async def __aiter__(self) -> AsyncIterator[pa.Table]:
        """The same for `async for`: the loop of asyncio keeps running while it waits.

        A task that is cancelled here loses nothing, see `next_changes`.
        """
        while not self.closed:
            try:
                found = await self.next_changes(self._timeout)
            except RingviewError as problem:
                if self._is_end(problem):
                    return
                raise
            if found is None:
                return
            yield found

    def _is_end(self, problem: RingviewError) -> bool:
        """Whether no more changes are possible."""
        # A daemon thread has nobody who reads its trace while the interpreter ends.
        is_exit = str(problem).startswith("the interpreter ends")
        return self.closed or is_exit or isinstance(problem, UnknownViewError)

    def close(self) -> None:
        """End it, from any thread; what was kept for it alone is freed. Twice does nothing."""
        self._native.close()
        self._kept.clear()
        asyncio_waiter.wake(self._place)

    @property
    def closed(self) -> bool:
        """Whether it was closed, or the database was."""
        return self._native.is_closed()

    def __enter__(self) -> Self:
        """The follower itself, which the end of the block closes."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        """The follower itself, which the end of the block closes."""
        return self

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        # It waits for a transaction that is on its way, and the loop does not.
        await asyncio.shield(asyncio.to_thread(self.close))

    def __repr__(self) -> str:
        name = "" if self.name is None else f", {self.name!r}"
        return f"Follower({self.view!r}{name}{', closed' if self.closed else ''})"


class _WithdrawnError(Exception):
    """Nobody wants the changes any more."""


class Poll:
    """One look of a follower in a thread, for a task that may be cancelled meanwhile.

    It is called once. Changes are taken and handed over, or neither: they stay with the follower if
    the task withdrew before they were taken, and are given to who withdraws later.
    """

    def __init__(self, native: _native.Follower) -> None:
        self._native = native
        self._lock = threading.Lock()
        self._wanted = True
        self._taken: pa.Table | None = None

    def __call__(self) -> pa.Table | None:
        """Changes since the last look; None if there are none, or if it was withdrawn."""
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
        """Take nothing from now on; returns what was taken already, for the caller to keep."""
        with self._lock:
            self._wanted = False
            return self._taken
