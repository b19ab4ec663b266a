"""Rows of Arrow as JSON, without a digit lost.

Invariant: a value is written in one way, by its column's type: a whole number as a number up to
2^53 - 1 either side of 0 and as text beyond, where readers of JSON round; a decimal with digits
behind the point as text; NaN and the infinities as text; dates and times as ISO 8601; bytes as
base64. The casts of `ringview.sources` read all of it back. Cost: O(values).
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

SAFE = 2**53 - 1
"""The largest whole number that every reader of JSON reads exactly."""


def columns(schema: pa.Schema) -> list[dict[str, Any]]:
    """The columns of a table: name, type, whether it may hold NULL.

    >>> columns(pa.schema([pa.field("a", pa.int64(), nullable=False)]))
    [{'name': 'a', 'type': 'int64', 'nullable': False}]
    """
    return [
        {"name": field.name, "type": str(field.type), "nullable": field.nullable}
        for field in schema
    ]


def rows(table: pa.Table) -> list[dict[str, Any]]:
    r"""The rows as dicts of what JSON has. O(values).

    >>> rows(pa.table({"a": [1, 2**60], "x": [0.5, float("nan")], "b": [b"\x00", None]}))
    [{'a': 1, 'x': 0.5, 'b': 'AA=='}, {'a': '1152921504606846976', 'x': 'NaN', 'b': None}]
    """
    names = table.column_names
    listed = [_listed(column) for column in table.columns]
    return [dict(zip(names, values, strict=True)) for values in zip(*listed, strict=True)]


def text(value: Any) -> str:
    """JSON in one line, in which each value of Python is written as a cell is.

    >>> text({"price": Decimal("1.50"), "day": date(2026, 3, 9)})
    '{"price":"1.50","day":"2026-03-09"}'
    """
    return dumped(plain(value))


def dumped(value: Any) -> str:
    """JSON in one line of what is plain already, such as `rows`."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def plain(value: Any) -> Any:
    """A value of Python, of any depth, as what JSON has."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    return str(value)


def _whole(value: int) -> int | str:
    return value if -SAFE <= value <= SAFE else str(value)


def _real(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")


def _decimal(value: Decimal) -> int | str:
    digits = value.as_tuple().exponent
    return _whole(int(value)) if isinstance(digits, int) and digits >= 0 else f"{value:f}"


def _bytes(value: bytes) -> str:
    return b64encode(value).decode("ascii")


def _iso(value: date | time) -> str:
    return value.isoformat()


_WRITERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, _whole),
    (float, _real),
    (Decimal, _decimal),
    (bytes, _bytes),
    (datetime, _iso),
    (date, _iso),
    (time, _iso),
    (timedelta, str),
)


def _listed(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    is_of = pa.types
    if is_of.is_dictionary(kind):
        return _listed(column.cast(kind.value_type))
    if is_of.is_timestamp(kind):
        # Python has no nanoseconds, so Arrow writes them.
        zone = kind.tz and "UTC"
        texts = column.cast(pa.timestamp(kind.unit, zone)).cast(pa.string())
        return [each and each.replace(" ", "T", 1) for each in texts.to_pylist()]
    if is_of.is_decimal(kind) and kind.scale == 0:
        # Sums of integers are such, and mostly short.
        with suppress(pa.ArrowInvalid):
            return _listed(column.cast(pa.int64()))
    found: list[Any] = column.to_pylist()
    return found if _is_plain(column) else [plain(value) for value in found]


def _is_plain(column: pa.ChunkedArray) -> bool:
    """Whether JSON has all values of a column as Python has them."""
    kind, is_of = column.type, pa.types
    if is_of.is_integer(kind):
        ends = pc.min_max(column).as_py()
        return ends["min"] is None or (ends["min"] >= -SAFE and ends["max"] <= SAFE)
    if is_of.is_floating(kind):
        return pc.all(pc.is_finite(column)).as_py() is not False
    return bool(is_of.is_boolean(kind) or is_of.is_string(kind) or is_of.is_large_string(kind))


def chunks(table: pa.Table, size: int) -> Iterator[pa.Table]:
    """A table in parts of at most so many rows; one without rows is one part.

    >>> [part.num_rows for part in chunks(pa.table({"a": range(5)}), 2)]
    [2, 2, 1]
    """
    for start in range(0, max(1, table.num_rows), size):
        yield table.slice(start, size)
