"""Routes that read: views, tables, queries.

Invariant: an answer is of one committed state. Cost: that of `View.get`, `where`, a slice, or
`Database.sql`, and O(rows of the answer).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response

from ..convert import json_rows
from ..errors import InvalidValueError, UnsupportedError
from ..sources.batch import Casts
from ..sources.casts import cast
from . import answers
from .answers import RefusedError
from .context import Context, body, of

if TYPE_CHECKING:
    from ..table import Table
    from ..view import View

# Of a number of rows, so that it fits 64 bits.
_DIGITS = 18
_PARTS = "read parts with limit and offset, or set max_rows"


async def views(request: Request) -> Response:
    """All views with their columns and how many rows they have."""
    context = of(request)
    return answers.json(await context.run("read", _views, context))


def _views(context: Context) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "rows": len(view),
            "columns": json_rows.columns(view.schema),
            "key": _key(view),
            "sql": view.sql or None,
        }
        for name, view in context.db.views.items()
    ]


def _key(view: View) -> list[str] | None:
    """The columns that identify the rows of a view; None if rows may be equal."""
    try:
        return [name for name, _ in view._native.view_key(view._handle)]
    except UnsupportedError:
        return None


async def tables(request: Request) -> Response:
    """All tables with their columns and how many rows they have."""
    context = of(request)
    return answers.json(await context.run("read", _tables, context))


def _tables(context: Context) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "rows": len(table),
            "columns": json_rows.columns(table.schema),
            "unique": table.unique,
            "static": table.static,
        }
        for name, table in context.db.tables.items()
    ]


async def view(request: Request) -> Response:
    """The rows of a view."""
    context, name = of(request), request.path_params["name"]
    return await context.run("read", _rows, request, context, lambda: context.db.views[name])


async def table(request: Request) -> Response:
    """The rows of a table."""
    context, name = of(request), request.path_params["name"]
    return await context.run("read", _rows, request, context, lambda: context.db.tables[name])


def _rows(request: Request, context: Context, find: Callable[[], View | Table]) -> Response:
    of_, asked = find(), dict(request.query_params)
    arrow = answers.wants_arrow(request)
    unknown = set(asked) - {"format", "key", "where", "limit", "offset"}
    if unknown:
        raise InvalidValueError(
            f"there is no parameter {sorted(unknown)[0]!r}; known are key, where, limit, offset, "
            "format"
        )
    if "key" in asked and len(asked.keys() & {"where", "limit", "offset"}):
        raise InvalidValueError("key finds one row; leave out where, limit and offset")
    limit, offset = _count(asked, "limit"), _count(asked, "offset") or 0
    if "key" in asked:
        row = of_.get(_values(asked, "key", of_))
        if row is None:
            raise RefusedError(404, "UnknownKeyError", f"no row has the key {asked['key']}")
        found, total = pa.Table.from_pylist([row], schema=of_.schema), 1
    elif "where" in asked:
        whole = of_.where(**_values(asked, "where", of_))
        found, total = whole.slice(offset, limit), whole.num_rows
        check(context, found.num_rows, _PARTS)
    else:
        # One read, for the rows of two are of two states; one row too many is enough to refuse.
        most = context.limits.max_rows + 1
        if limit is None:
            check(context, len(of_) - offset, _PARTS)
        count = most if limit is None else min(limit, most)
        found = of_._slice(offset, offset + count)
        check(context, found.num_rows, _PARTS)
        is_last = 0 < found.num_rows < count
        total = offset + found.num_rows if is_last else len(of_)
    return answers.rows(found, arrow, {"name": of_.name, "total": total})


def check(context: Context, rows: int, advice: str) -> None:
    """Refuse an answer that is too long."""
    most = context.limits.max_rows
    if rows > most:
        raise RefusedError(
            413, "TooLongError", f"an answer has {most} rows at most, and this has more; {advice}"
        )


def _count(asked: dict[str, str], name: str) -> int | None:
    if name not in asked:
        return None
    if not asked[name].isdecimal() or len(asked[name]) > _DIGITS:
        raise InvalidValueError(f"{name} is a number of rows from 0 on, not {asked[name]!r}")
    return int(asked[name])


def _values(asked: dict[str, str], name: str, of_: View | Table) -> dict[str, Any]:
    """Values from JSON, of the types of their columns; unknown columns are said by who reads."""
    try:
        found = json.loads(asked[name])
    except (ValueError, RecursionError) as problem:
        raise InvalidValueError(f"{name} is no JSON: {problem}") from problem
    if not isinstance(found, dict):
        raise InvalidValueError(f'{name} is an object of columns and values, {{"a": 1}}')
    schema = of_.schema
    values = {}
    for column, value in found.items():
        if column not in schema.names:
            values[column] = value
            continue
        array, misfits = cast([value], schema.field(column).type, Casts())
        if misfits:
            raise InvalidValueError(f"{name}: column {column!r}: {misfits[0]}")
        values[column] = array[0].as_py()
    return values


async def query(request: Request) -> Response:
    """The rows of a query over tables and views as they are now."""
    context, arrow = of(request), answers.wants_arrow(request)
    given = await statement(request)

    def asked() -> Response:
        found = context.db.sql(**given)
        check(context, found.num_rows, "add LIMIT, or set max_rows")
        return answers.rows(found, arrow, {"total": found.num_rows})

    return await context.run("query", asked)


async def statement(request: Request) -> dict[str, Any]:
    """A text of SQL and what is said beside it: as text, or in JSON with `sql` and `parameters`."""
    raw = await body(request)
    if "json" not in request.headers.get("content-type", ""):
        try:
            return {"sql": raw.decode()}
        except UnicodeDecodeError as problem:
            raise InvalidValueError(f"the text is no UTF-8: {problem.reason}") from problem
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as problem:
        raise InvalidValueError(f"the body is no JSON: {problem}") from problem
    if not isinstance(found, dict) or not isinstance(found.get("sql"), str):
        raise InvalidValueError('the body is an object with "sql", a text')
    unknown = sorted(set(found) - {"sql", "parameters", "dialect"})
    if unknown:
        raise InvalidValueError(
            f"the body has {unknown[0]!r}; known are sql, parameters and dialect"
        )
    parameters, dialect = found.get("parameters"), found.get("dialect", "duckdb")
    if not isinstance(parameters, list | dict | None) or not isinstance(dialect, str):
        raise InvalidValueError("parameters is a list or an object, dialect a text")
    return {"sql": found["sql"], "parameters": parameters, "dialect": dialect}
