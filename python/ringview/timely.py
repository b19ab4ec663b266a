"""The clock of a database, which its user moves.

Invariant: no clock of the machine is read. Cost: see `advance`.
"""

from __future__ import annotations

from datetime import datetime

from . import _native
from .changing import Change, Progress, change
from .clock import Moment, microseconds, moment


class Timely:
    """The part of a database that has to do with time."""

    _native: _native.Database

    @property
    def now(self) -> datetime | None:
        """The moment that the clock is at, in UTC; None before the first `advance`. O(1).

        It is the clock of this database, which `advance` alone moves; no other is read.
        """
        found = self._native.now()
        return None if found is None else moment(found)

    def advance(
        self,
        to: Moment,
        *,
        progress: Progress | None = None,
        batch_id: int | str | None = None,
    ) -> None:
        """Let the clock go on: what is too old by then leaves, in one transaction.

        Rows of tables with `keep_for` that are older are deleted, and rows of views that compare a
        column with `now()` or `current_date` come and leave; views move once, and who follows them
        gets the difference. A file keeps the clock.

        Args:
            to: The moment: a datetime, which is of UTC unless it has a zone; a date, which is its
                midnight; or either as an ISO text. The one that the clock is at changes nothing.
            progress: As for `insert`, with the rows of tables that leave.
            batch_id: As for `insert`.

        Raises:
            InvalidValueError: A moment before `now`, for what left by then is gone; a text that is
                no moment.
            TypeMismatchError: Neither datetime, date nor text.
            OutOfMemoryError, ArithmeticOverflowError, KeyboardInterrupt: As `insert`; the clock is
                where it was then.

        Complexity: for each row that comes or leaves O(log n) and what an insert or a delete costs
        the views above; O(tables + views) where none does.

        >>> import ringview as rv
        >>> from datetime import datetime
        >>> db = rv.Database()
        >>> db.advance("2026-03-09T12:00:00")
        >>> columns = {"ts": "timestamp", "x": "int64"}
        >>> table = db.create_table("r", columns, keep_for=("ts", "7 days"))
        >>> view = db.create_view(
        ...     "last_hour", "SELECT SUM(x) AS x FROM r WHERE ts > now() - INTERVAL '1 hour'")
        >>> db.insert("r", {"ts": [datetime(2026, 3, 9, 11, 10), datetime(2026, 3, 9, 11, 50)],
        ...                 "x": [1, 2]})
        >>> view.scalar()
        3
        >>> db.advance("2026-03-09T12:30:00")
        >>> view.scalar(), len(table)
        (2, 2)
        >>> db.advance("2026-03-17")
        >>> len(table), db.now.isoformat()
        (0, '2026-03-17T00:00:00+00:00')
        """
        step: Change = ("", "advance", microseconds(to))
        change(self._native, [step], progress, batch_id=batch_id)
