"""Moments of the clock of a database, from Python's and to them.

Invariant: a moment is a number of microseconds since 1970-01-01 00:00 UTC; what has no time zone is
of UTC. Cost: O(1).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from ..errors import InvalidValueError, TypeMismatchError

Moment = datetime | date | str
"""A datetime, a date (its midnight), or either as an ISO text."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(of: Moment) -> int:
    """The number of a moment.

    Raises:
        TypeMismatchError: Neither datetime, date nor text.
        InvalidValueError: A text that is no moment.

    >>> microseconds("1970-01-02"), microseconds("1970-01-01T00:00:01+00:00")
    (86400000000, 1000000)
    """
    if isinstance(of, str):
        try:
            of = datetime.fromisoformat(of)
        except ValueError:
            raise InvalidValueError(
                f"{of!r} is no moment; write it as '2026-03-09' or '2026-03-09T12:00:00'"
            ) from None
    if not isinstance(of, date):
        raise TypeMismatchError(
            f"a moment is a datetime, a date or an ISO text such as '2026-03-09', not {of!r}"
        )
    if not isinstance(of, datetime):
        of = datetime(of.year, of.month, of.day)
    # `astimezone` would take what has no zone for local time.
    of = of.replace(tzinfo=UTC) if of.tzinfo is None else of
    return (of - _EPOCH) // timedelta(microseconds=1)


def moment(number: int) -> datetime:
    """The moment of a number, in UTC."""
    return _EPOCH + timedelta(microseconds=number)


def interval(of: object) -> str:
    """A length of time as the text that the engine reads.

    Raises:
        TypeMismatchError: Neither text nor timedelta.

    >>> interval(timedelta(days=7, hours=1))
    '7 days 3600 seconds 0 microseconds'
    """
    if isinstance(of, timedelta):
        return f"{of.days} days {of.seconds} seconds {of.microseconds} microseconds"
    if not isinstance(of, str):
        raise TypeMismatchError(
            f"an interval is a text such as '7 days' or a timedelta, not {of!r}"
        )
    return of
