"""Responses: rows as JSON or Arrow, and problems with their reasons.

Invariant: an answer is of one state of the database: its rows are read before the first byte is
sent. An error is JSON with its kind and message, and its status says whose fault it is. Cost:
O(rows).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from .. import errors
from ..convert import json_rows

ARROW = "application/vnd.apache.arrow.stream"
_JSON = "application/json"
_BATCH = 8_192

_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (errors.UnknownTableError, 404),
    (errors.UnknownViewError, 404),
    (errors.OverDeleteError, 409),
    (errors.DuplicateKeyError, 409),
    (errors.UnknownKeyError, 409),
    (errors.ExistsError, 409),
    (errors.InUseError, 409),
    (errors.StaticTableError, 409),
    (errors.StorageError, 503),
    (errors.SuspendedError, 503),
    (errors.OutOfMemoryError, 507),
    (errors.RingviewError, 400),
)


class RefusedError(Exception):
    """A request that is refused, with its status and why."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


def problem(status: int, kind: str, message: str) -> Response:
    """An error as JSON."""
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    body = {"error": {"type": kind, "message": message}}
    return JSONResponse(body, status, headers)


def failed(raised: Exception) -> Response:
    """The answer for what was raised."""
    if isinstance(raised, RefusedError):
        return problem(raised.status, raised.kind, str(raised))
    status = next((code for kind, code in _STATUS if isinstance(raised, kind)), 500)
    message = "\n".join([str(raised), *getattr(raised, "__notes__", [])])
    return problem(status, type(raised).__name__, message)


def wants_arrow(request: Request) -> bool:
    """Whether `Accept` requests Arrow, or `?format=arrow` where headers are hard to set.

    Raises:
        RefusedError: Another format.
    """
    said = request.query_params.get("format")
    if said not in (None, "json", "arrow"):
        raise RefusedError(400, "InvalidValueError", f'format is "json" or "arrow", not {said!r}')
    return ARROW in request.headers.get("accept", "") if said is None else said == "arrow"


def rows(table: pa.Table, arrow: bool, about: dict[str, Any]) -> Response:
    """Rows, as a stream of Arrow or as JSON behind what is said about them; from a thread."""
    parts: Iterator[str] | Iterator[bytes] = _arrow(table) if arrow else _json(table, about)
    kind = ARROW if arrow else _JSON
    if table.num_rows > _BATCH:
        # Written in parts, as they are read.
        return StreamingResponse(parts, media_type=kind)
    whole = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return Response(whole, media_type=kind)


def json(value: Any) -> Response:
    """A value as JSON, as cells are written."""
    return Response(json_rows.text(value), media_type=_JSON)


def _arrow(table: pa.Table) -> Iterator[bytes]:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.to_batches(_BATCH):
            writer.write_batch(batch)
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def _json(table: pa.Table, about: dict[str, Any]) -> Iterator[str]:
    head = json_rows.text({**about, "columns": json_rows.columns(table.schema)})
    yield f'{head[:-1]},"rows":['
    for at, part in enumerate(json_rows.chunks(table, _BATCH)):
        listed = json_rows.dumped(json_rows.rows(part))[1:-1]
        yield f",{listed}" if at else listed
    yield "]}\n"
