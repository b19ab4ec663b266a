"""Statements of SQL on a database: those that change rows, and those that declare something.

Invariant: a statement is done wholly or not at all. A part of an UPDATE or DELETE is what it is
given as: one expression a column, one condition; a text that is more, or less, is refused.
Cost: linear in the texts, and that of what the statements do.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Required, TypedDict, TypeVar

from . import _native
from .errors import (
    CostWarning,
    ExistsError,
    QueryError,
    TypeMismatchError,
    UnsupportedError,
    after,
)
from .queries import Parameters
from .text import quoted

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

CHANGES = ("insert", "update", "delete")
"""The kinds of statements that change rows."""


class Condition(TypedDict, total=False):
    """Condition of rows for `delete` and `update` without keys."""

    where: Required[str]
    parameters: Parameters | None
    dialect: str


def update_where(
    table: str, sets: Any, where: str, parameters: Parameters | None, dialect: str
) -> _native.Statement:
    """The UPDATE of a table, with its expressions by column.

    >>> update_where("r", {"a": "a + 1"}, "b > 0", None, "duckdb").columns
    ['a']
    """
    if not isinstance(sets, Mapping) or not sets:
        raise TypeMismatchError(
            "with where=, update takes a dict of expressions by column, such as "
            f'{{"x": "x + 1"}}, not {sets!r}'
        )
    for name, text in [*sets.items(), ("where", where)]:
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeMismatchError(f"{name!r}: an expression is a text of SQL, not {text!r}")
    quoted = _quotes(dialect)
    # A line each, as a comment may end one; in brackets, as a comma would begin another.
    each = ",\n    ".join(f"{quoted(name)} = ({text}\n)" for name, text in sets.items())
    sql = f"UPDATE {quoted(table)} SET\n    {each}\nWHERE ({where}\n)"
    return _one(sql, "update", list(sets), parameters, dialect)


def delete_where(
    table: str, where: str, parameters: Parameters | None, dialect: str
) -> _native.Statement:
    """The DELETE of the rows of a table that meet a condition."""
    if not isinstance(where, str):
        raise TypeMismatchError(f"where: a condition is a text of SQL, not {where!r}")
    sql = f"DELETE FROM {_quotes(dialect)(table)} WHERE ({where}\n)"
    return _one(sql, "delete", [], parameters, dialect)


def shown(changed: tuple[int, _native.Rows | None]) -> int | pa.Table:
    """Result of a statement that changed rows: their count, or the rows of RETURNING."""
    count, rows = changed
    return count if rows is None else read_rows(rows)


def read_rows(rows: _native.Rows) -> pa.Table:
    """Rows of the engine as a table, read once."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(rows).read_all()


def define(native: _native.Database, statement: _native.Statement) -> int | None:
    """Do a statement that declares, alters or drops something; of a table filled, how many rows."""
    match statement.kind:
        case "alter_table":
            native.alter(statement)
        case "create_table":
            return _create_table(native, statement)
        case "create_view":
            _create_view(native, statement)
        case _:
            name = native.dropped(statement)
            if name is not None:
                drop = native.drop_view if statement.kind == "drop_view" else native.drop_table
                drop(name, statement.options["cascade"])
    return None


def _create_table(native: _native.Database, statement: _native.Statement) -> int | None:
    [name], options = statement.names, statement.options
    known = spelt(name, native.tables())
    if known is not None and options["if_not_exists"]:
        return None
    taken = known or spelt(name, native.views())
    if taken is not None and not (known is not None and options["or_replace"]):
        kind = "view" if known is None else "table"
        raise ExistsError(
            f"there is a {kind} {quoted(taken)} already; DROP it first, or take another name"
        )
    if statement.schema is None:
        if known is not None:
            raise UnsupportedError(
                "CREATE OR REPLACE TABLE .. AS is not supported: the rows might come of the "
                "table that goes; create another and DROP this one"
            )
        return native.create_table_filled(statement, name)
    unique, static, keep_for = options["unique"], options["static"], options["keep_for"]
    if known is not None:
        # The new table must be possible before the old one is dropped.
        draft = _native.Database()
        draft.create_table(known, statement.schema, unique, static, keep_for, statement)
        native.drop_table(known)
    native.create_table(known or name, statement.schema, unique, static, keep_for, statement)
    return None


def _create_view(native: _native.Database, statement: _native.Statement) -> None:
    [name], options = statement.names, statement.options
    known = spelt(name, native.views())
    if known is not None and options["if_not_exists"]:
        return
    taken = known or spelt(name, native.tables())
    if taken is not None and not (known is not None and options["or_replace"]):
        kind = "table" if known is None else "view"
        advice = "CREATE OR REPLACE VIEW takes its place" if known else "take another name"
        raise ExistsError(f"there is a {kind} {quoted(taken)} already; {advice}")
    name = known or name

    def create() -> None:
        native.create_view_stated(statement, name, known is not None)
        warn_of_cost(native, name)

    created(native, name, create)


def created(native: _native.Database, name: str, create: Callable[[], T], kind: str = "view") -> T:
    """Create a view; an interrupt says whether there is one."""
    before = native.find_view(name)
    try:
        return create()
    except KeyboardInterrupt as interrupt:
        made = native.find_view(name)
        is_made = made is not None and made != before
        after(interrupt, is_made, f"there is a {kind} {quoted(name)}")
        raise


def warn_of_cost(native: _native.Database, name: str) -> None:
    """Warn of what changes of a view cost, at the first line above that is not of ringview."""
    for why in native.view_warnings(name):
        warnings.warn(f"view {quoted(name)}: {why}", CostWarning, stacklevel=_depth())


def _depth() -> int:
    """Number of calls of ringview above, as `stacklevel` counts them from the caller of this."""
    depth = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, depth = frame.f_back, depth + 1
    return depth


_PACKAGE = __file__.removesuffix("statements.py")


def spelt(name: str, known: Iterable[str]) -> str | None:
    """The one of some names that a name of SQL is: spelt so, else without case.

    >>> spelt("R", ["r", "s"]), spelt("t", ["r", "s"])
    ('r', None)
    """
    names = list(known)
    if name in names:
        return name
    return next((one for one in names if one.lower() == name.lower()), None)


def _quotes(dialect: str) -> Any:
    mark = "`" if dialect.lower() in ("mysql", "bigquery", "spark", "databricks") else '"'
    return lambda name: mark + name.replace(mark, mark * 2) + mark


def _one(
    sql: str, kind: str, columns: list[str], parameters: Parameters | None, dialect: str
) -> _native.Statement:
    statements = _native.script(sql, dialect, parameters)
    said = [(one.kind, one.columns, one.returns) for one in statements]
    if said != [(kind, columns, False)]:
        raise QueryError(
            f"an expression or condition is one, without a semicolon; together they are: {sql}"
        )
    return statements[0]
