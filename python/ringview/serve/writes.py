"""Routes that change: rows of a table, several tables at once, statements of SQL.

Invariant: a request is one transaction, applied wholly or not at all; with a `batch_id` it is
applied once, however often it is sent. Values are cast into the types of the table as those of a
source are, and nothing is cut off. Cost: that of the change, and O(values) to read JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias, cast

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response

from .. import _native
from ..convert.ipc import read_stream
from ..database import Database
from ..errors import InvalidValueError, QueryError, UnknownColumnError
from ..sources.batch import Change, How, Origin
from ..sources.casts import Ready, ready
from ..sources.files import parsed
from . import answers
from .answers import ARROW
from .context import Context, body, of
from .reads import check, statement

_OPS = ("insert", "delete", "upsert", "update")
Rows: TypeAlias = "pa.Table | list[dict[str, Any]]"


async def rows(request: Request) -> Response:
    """Insert, delete, upsert or update rows of a table."""
    context, name = of(request), request.path_params["name"]
    context.must_write()
    asked = dict(request.query_params)
    if unknown := sorted(set(asked) - {"op", "multiplicity", "batch_id"}):
        raise InvalidValueError(
            f"there is no parameter {unknown[0]!r}; known are op, multiplicity, batch_id"
        )
    whole, kind = await body(request), request.headers.get("content-type", "")
    entry = {
        "table": name,
        "op": asked.get("op", "insert"),
        "multiplicity": asked.get("multiplicity"),
    }

    def change() -> dict[str, Any]:
        return _apply(
            context,
            [{**entry, "rows": _read(whole, kind, context.limits.max_body)}],
            asked.get("batch_id"),
        )

    return answers.json(await context.run("change", change))


async def transaction(request: Request) -> Response:
    """Change several tables at once, in the order of the changes."""
    context = of(request)
    context.must_write()
    whole = await body(request)

    def change() -> dict[str, Any]:
        found = _object(whole, {"changes", "batch_id"})
        listed, identity = found.get("changes"), found.get("batch_id")
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise InvalidValueError('"changes" is a list of objects with table, op and rows')
        for at, each in enumerate(listed):
            if unknown := sorted(set(each) - {"table", "op", "rows", "multiplicity"}):
                raise InvalidValueError(
                    f"changes[{at}] has {unknown[0]!r}; known are table, op, rows, multiplicity"
                )
        return _apply(context, listed, identity)

    return answers.json(await context.run("change", change))


def _apply(context: Context, changes: list[dict[str, Any]], identity: Any) -> dict[str, Any]:
    db = context.db
    if not isinstance(identity, str | int | None) or isinstance(identity, bool):
        raise InvalidValueError(f"batch_id is a text or a whole number, not {identity!r}")
    if identity is not None and db.is_applied(identity):
        return {"applied": False, "rows": 0}
    listed = [_cast(db, change, at) for at, change in enumerate(changes)]
    with db.transaction(batch_id=identity) as tx:
        for op, each in listed:
            table, times = each.change.table, each.change.multiplicity
            if op in ("insert", "delete"):
                put = tx.insert if op == "insert" else tx.delete
                put(table, each.rows, multiplicity=times)
            else:
                (tx.upsert if op == "upsert" else tx.update)(table, each.rows)
    count = sum(each.rows.num_rows for _, each in listed)
    context.note(count)
    return {"applied": True, "rows": count}


def _cast(db: Database, change: Mapping[str, Any], at: int) -> tuple[str, Ready]:
    """The rows of a change in the types of its table, all of them or an error."""
    name, op, times = change.get("table"), change.get("op", "insert"), change.get("multiplicity")
    found = change.get("rows")
    if not isinstance(name, str):
        raise InvalidValueError(f"changes[{at}].table is the name of a table, not {name!r}")
    if op not in _OPS:
        raise InvalidValueError(f"op is one of {', '.join(_OPS)}, not {op!r}")
    if times is not None and (not isinstance(times, str) or op not in ("insert", "delete")):
        raise InvalidValueError("multiplicity names a column, and is for insert and delete")
    if not isinstance(found, pa.Table) and not (
        isinstance(found, list) and all(isinstance(row, dict) for row in found)
    ):
        raise InvalidValueError(
            "rows are a list of objects, each a row by the names of its columns"
        )
    table = db.tables[name]
    of_: Any = _PartialRows(table, found) if op in ("delete", "update") else table
    as_ = Change(name, found, Origin("the body"), cast(How, op), multiplicity=times)
    try:
        cast_ = ready(as_, of_)
    except UnknownColumnError as problem:
        # The rest of the message is for users of Python.
        why = str(problem).partition("; leave it out with")[0]
        raise UnknownColumnError(f"{why}; nothing was changed") from problem
    if cast_.rejected:
        first = cast_.rejected[0]
        raise InvalidValueError(f"{first.place}: {first.reason}; nothing was changed")
    return op, cast_


class _PartialRows:
    """A table of which rows are given by some of their columns, such as its key."""

    def __init__(self, table: Any, found: Rows) -> None:
        there = found.column_names if isinstance(found, pa.Table) else {n for r in found for n in r}
        named = [field for field in table.schema if field.name in there]
        self.name = table.name
        self.unique = table.unique
        self.schema = pa.schema(named or list(table.schema))

    def __repr__(self) -> str:
        return f"_PartialRows({self.name!r}, {self.schema.names})"


def _read(whole: bytes, kind: str, most: int) -> Rows:
    """The rows of a body: a stream of Arrow, lines of JSON, or a list of JSON."""
    if ARROW in kind:
        try:
            return read_stream(whole, most)
        except InvalidValueError as problem:
            raise InvalidValueError(f"the body: {problem}") from problem
    if "ndjson" in kind or "jsonl" in kind or "json-lines" in kind:
        return [_line(at, line) for at, line in enumerate(whole.splitlines()) if line.strip()]
    found = _json(whole)
    return [found] if isinstance(found, dict) else found


def _line(at: int, line: bytes) -> dict[str, Any]:
    try:
        return parsed(line)
    except ValueError as problem:
        raise InvalidValueError(f"the body, line {at + 1}: {problem}") from problem


def _json(whole: bytes) -> Any:
    try:
        return json.loads(whole, parse_float=Decimal)
    except (ValueError, RecursionError) as problem:
        raise InvalidValueError(f"the body is no JSON: {problem}") from problem


def _object(whole: bytes, known: set[str]) -> dict[str, Any]:
    found = _json(whole)
    if not isinstance(found, dict):
        raise InvalidValueError("the body is a JSON object")
    if unknown := sorted(set(found) - known):
        raise InvalidValueError(
            f"the body has {unknown[0]!r}; known are {', '.join(sorted(known))}"
        )
    return found


async def execute(request: Request) -> Response:
    """Do a script of SQL; what its last statement gives is the answer."""
    context, arrow = of(request), answers.wants_arrow(request)
    context.must_write()
    given = await statement(request)

    def script() -> Response:
        # A transaction that one script begins is none of another's.
        own = context.db._of(context.db._native)
        found = own.execute(**given)
        if own._open is not None:
            raise QueryError("the script ends in a transaction; COMMIT it. Nothing of it was done")
        if isinstance(found, pa.Table):
            # The statement has changed the rows already, so RETURNING shows them.
            if _native.script(**given)[-1].kind == "select":
                check(context, found.num_rows, "add LIMIT, or set max_rows")
            else:
                context.note(found.num_rows)
            return answers.rows(found, arrow, {"total": found.num_rows})
        context.note(found or 0)
        return answers.json({"changed": found})

    return await context.run("change", script)
