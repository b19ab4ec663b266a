"""Errors in the form of PostgreSQL's clients: a code, a message, a place in the text.

Invariant: each exception of ringview has a code of the class that PostgreSQL has for it, so that
drivers raise what their users expect. Cost: O(length of the message).
"""

from __future__ import annotations

import re

from ... import errors

# Code, message, hint, the character from 1.
Report = tuple[str, str, str | None, int | None]

_CODES: dict[type[BaseException], str] = {
    errors.UnknownTableError: "42P01",
    errors.UnknownViewError: "42P01",
    errors.UnknownColumnError: "42703",
    errors.UnknownFunctionError: "42883",
    errors.UnknownKeyError: "40001",
    errors.OverDeleteError: "40001",
    errors.ViewChangedError: "40001",
    errors.SuspendedError: "55000",
    errors.DuplicateKeyError: "23505",
    errors.NullKeyError: "23502",
    errors.ExistsError: "42P07",
    errors.InUseError: "2BP01",
    errors.TypeMismatchError: "42804",
    errors.InvalidValueError: "22023",
    errors.ArithmeticOverflowError: "22003",
    errors.OutOfMemoryError: "53200",
    errors.StaticTableError: "55000",
    errors.QueryError: "42601",
    errors.UnsupportedError: "0A000",
    errors.FunctionError: "38000",
    errors.StorageError: "58030",
    errors.SnapshotError: "58030",
    errors.RingviewError: "55000",
    KeyboardInterrupt: "57014",
}
# Messages that are more specific than their class.
_SAID: list[tuple[str, str]] = [
    (r"ambiguous", "42702"),
    (r"[Dd]ivide by zero|[Dd]ivision by zero", "22012"),
    (r"Cast error|Parser error|cannot cast|Cannot cast", "22P02"),
    (r"there is no parameter|has no value; pass parameters", "42P02"),
    (r": no function ", "42883"),
]
_DUCKDB = {
    "BinderException": "42703",
    "CatalogException": "42P01",
    "InterruptException": "57014",
    "OutOfMemoryException": "53200",
    "ParserException": "42601",
    "PermissionException": "42501",
}
_PLACE = re.compile(r"line (\d+), column (\d+): ")


class SqlStateError(Exception):
    """A failure that has its code already."""

    def __init__(
        self, code: str, message: str, hint: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.report: Report = (code, message, hint, position)


def report(problem: BaseException, sql: str = "", start: int = 0) -> Report:
    """Report of an exception to a client, about a text that begins at `start`.

    >>> problem = errors.UnknownTableError('line 1, column 15: no table "s"; known: r')
    >>> report(problem, "SELECT * FROM s")
    ('42P01', 'no table "s"; known: r', None, 15)
    """
    if isinstance(problem, SqlStateError):
        return problem.report
    if isinstance(problem, KeyboardInterrupt):
        return ("57014", "canceling statement due to user request", None, None)
    lines = str(problem).splitlines() or [type(problem).__name__]
    place, message, position = _PLACE.match(lines[0]), str(problem), None
    if place is not None:
        # The rest shows the place in the text, which clients do themselves.
        message = lines[0][place.end() :]
        position = start + _offset(sql, int(place[1]), int(place[2])) + 1
    return (_code(problem, message), message, None, position)


def _code(problem: BaseException, message: str) -> str:
    if type(problem).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        return _DUCKDB.get(type(problem).__name__, "0A000")
    if isinstance(problem, errors.QueryError | errors.InvalidValueError | errors.UnsupportedError):
        for said, code in _SAID:
            if re.search(said, f": {message}"):
                return code
    for kind in type(problem).__mro__:
        if kind in _CODES:
            return _CODES[kind]
    return "XX000"


def _offset(sql: str, line: int, column: int) -> int:
    """The place of a line and a column, both from 1, in a text."""
    before = sql.splitlines(keepends=True)[: line - 1]
    return sum(map(len, before)) + column - 1
