"""Single rows, gathered and inserted together.

Invariant: rows are inserted in the order in which they were appended, each once; those that a flush
could not insert are gathered no longer, and its error says why, as that of `Table.insert` would. No
view shows rows that are not flushed yet. Cost: some tenths of a microsecond a row, and with each
flush the cost of an insert of its rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from .changes import Change, apply_changes
from .convert.rows import Handle, Row, to_arrow
from .errors import InvalidValueError
from .text import counted, quoted

if TYPE_CHECKING:
    import asyncio

    from . import _native


class Writer:
    """Gathers rows of a table and inserts them together; `Table.writer` makes one.

    Rows are inserted once there are `rows` of them, and once the oldest has waited `seconds`, which
    is checked at each append. Under `async with` a task checks it too, so that none waits longer if
    no more are appended. `flush` inserts what there is. At the end of a `with` block the rest is
    inserted. If the block ends in an exception, the rest is dropped, as a transaction would be, and
    the exception has a note that says how many rows that were; flushed rows stay.

    A row is read when it is appended: a dict, a tuple of all columns, or a dataclass. One that
    cannot be read is refused at once, and those before it stay gathered. A writer is of one thread.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> table = db.create_table("trades", {"stock": "string", "units": "int64"})
    >>> view = db.create_view("total", "SELECT SUM(units) AS units FROM trades")
    >>> with table.writer(rows=2) as writer:
    ...     for units in 10, 20, 30:
    ...         writer.insert({"stock": "ACME", "units": units})
    ...     print(view.scalar(), writer)
    30 Writer('trades', rows=1 of 2, seconds=0.1)
    >>> view.scalar()
    60
    """

    def __init__(
        self,
        native: _native.Database,
        table: Handle,
        rows: int = 1000,
        seconds: float | None = 0.1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if rows < 1 or (seconds is not None and not seconds >= 0):
            raise InvalidValueError(
                f"a writer flushes after rows={rows} and seconds={seconds}; "
                "give at least 1 row, and no negative time"
            )
        self._native, self._table = native, table
        self._rows, self._seconds, self._clock = rows, seconds, clock
        self._buffer = native.row_buffer(table[0])
        self._append = self._buffer.append
        # Rows that pyarrow read, and those before them, in their order.
        self._parts: list[Any] = []
        self._parted = 0
        self._due: float | None = None
        self._task: asyncio.Task[None] | None = None

    def insert(self, row: Row) -> None:
        """Gather a row; insert all that are gathered if it is time.

        Raises:
            TypeMismatchError: It is no row, or has a value of another type.
            InvalidValueError: A value that does not fit.
            UnknownColumnError: A column that the table lacks.
            RingviewError: What the insert of the gathered rows raises, by a flush.

        Complexity: O(columns); with a flush that of `Table.insert`.
        """
        gathered = self._append(row) or self._read(row)
        if gathered + self._parted >= self._rows:
            self.flush()
        elif self._seconds is not None:
            now = self._clock()
            if self._due is None:
                self._due = now + self._seconds
            elif now >= self._due:
                self.flush()

    def flush(self) -> None:
        """Insert the rows that are gathered, in one transaction; raises as `Table.insert`."""
        changes: list[Change] = [(self._table[0], 1, part, None) for part in self._take()]
        if changes:
            apply_changes(self._native, changes)

    def _take(self) -> list[Any]:
        parts = self._parts
        if len(self._buffer):
            parts.append(self._buffer.take())
        self._parts, self._parted, self._due = [], 0, None
        return parts

    def _read(self, row: Row) -> int:
        """Gather a row that is not of plain values."""
        parts = to_arrow([row], self._native, self._table)
        # The owner of the memory that it points to may write there before the flush.
        taken = [self._native.take(part) for part in parts]
        if len(self._buffer):
            self._parted += len(self._buffer)
            self._parts.append(self._buffer.take())
        self._parts += taken
        self._parted += 1
        return 0

    def __len__(self) -> int:
        """The number of rows gathered and not inserted."""
        return self._parted + len(self._buffer)

    def __bool__(self) -> bool:
        """A writer is true, whether rows are gathered or not."""
        return True

    def __repr__(self) -> str:
        return (
            f"Writer({self._table[0]!r}, rows={len(self)} of {self._rows}, seconds={self._seconds})"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, *_: object
    ) -> None:
        if raised is None:
            self.flush()
        elif dropped := len(self):
            self._take()
            raised.add_note(
                f"not inserted: {counted(dropped, 'row')} gathered for table "
                f"{quoted(self._table[0])}"
            )

    async def __aenter__(self) -> Self:
        import asyncio

        if self._seconds is not None:
            self._task = asyncio.create_task(self._look(self._seconds))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, *_: object
    ) -> None:
        import asyncio

        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            failed = (await asyncio.gather(task, return_exceptions=True))[0]
            if raised is None and not isinstance(failed, asyncio.CancelledError | None):
                raise failed
        self.__exit__(kind, raised)

    async def _look(self, seconds: float) -> None:
        """Flush rows that have waited, until cancelled."""
        import asyncio

        while True:
            await asyncio.sleep(seconds)
            if self._due is not None and self._clock() >= self._due:
                self.flush()
