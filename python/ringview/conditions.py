"""Rows that are changed by a condition: statements of SQL from the parts that are given.

Invariant: a part is what it is given as: one expression a column, one condition; a text that is
more, or less, is refused. Cost: linear in the texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Required, TypedDict

from . import _native
from .changing import Progress
from .errors import QueryError, TypeMismatchError, after
from .queries import Parameters

if TYPE_CHECKING:
    import pyarrow as pa


class Condition(TypedDict, total=False):
    """How rows are found that `delete` and `update` are given no keys of."""

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


def change_stated(
    native: _native.Database,
    statement: _native.Statement,
    progress: Progress | None = None,
    batch_id: int | str | None = None,
) -> int:
    """Do a statement that changes rows; how many it changed."""
    return changed_by(native, statement, progress, batch_id)[0]


def changed_by(
    native: _native.Database,
    statement: _native.Statement,
    progress: Progress | None = None,
    batch_id: int | str | None = None,
) -> tuple[int, _native.Rows | None]:
    """Do a statement that changes rows; how many it changed, and what RETURNING shows of them."""
    done: list[int] = []
    try:
        return native.change(statement, progress, done, batch_id)
    except BaseException as raised:
        after(raised, done, "the changes were applied, and stay")
        raise


def shown(changed: tuple[int, _native.Rows | None]) -> int | pa.Table:
    """What a statement that changed rows gives: how many, or the rows of RETURNING."""
    count, rows = changed
    if rows is None:
        return count
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(rows).read_all()


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
