"""Messages of Debezium as changes of rows.

Invariant: a message becomes one row with a word that says what it does, or none if it changes no
row. A message about changed columns or tables is an error that says what to do. If a message has
its schema, moments and decimals are cast by it; else they stay as they are written. Cost: parsing
the JSON.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import UnsupportedError
from ..text import quoted
from .batch import EpochUnit, Rejected
from .files import parsed
from .values import Epoch, unscaled

OP = "ringview_op"
"""The column with the words, in rows that are decoded."""
_WORDS = {"c": "upsert", "u": "upsert", "r": "upsert", "d": "d"}
_TRUNCATE = "t"

_UNITS: dict[str, EpochUnit] = {
    "io.debezium.time.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
    "org.apache.kafka.connect.data.Timestamp": "ms",
}
_DAYS = frozenset({"io.debezium.time.Date", "org.apache.kafka.connect.data.Date"})
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_VARIABLE = "io.debezium.data.VariableScaleDecimal"


@dataclass
class Decoded:
    """Messages as rows.

    Attributes:
        rows: Of each change its columns, and the word that `Database.apply` takes under `OP`.
        numbers: Of each row, the number of its message.
        rejected: Messages that cannot be read.
        truncates: Numbers of messages that empty the table; rows before and behind are apart.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    truncates: list[int] = field(default_factory=list)


Message = tuple[int, "str | bytes | None", "str | bytes | None"]
"""The number of a message, its key and its value."""


def decode(messages: Iterable[Message], name: str = "the messages") -> Decoded:
    """Envelopes of Debezium in JSON, with their schemas or without, as rows.

    Rows that are created, updated or read in a snapshot are upserts: a connector that was killed
    sends some of them again. A deleted row has the columns of `before`, or of the key. Tombstones,
    heartbeats and messages of PostgreSQL's `pg_logical_emit_message` are left out.

    Args:
        messages: Of each its number, key and value.
        name: Where they are from, for errors.

    Raises:
        UnsupportedError: A message is about a change of tables or columns, or about transactions.

    Complexity: O(length).

    >>> envelope = '{"before": null, "after": {"id": 1, "price": 0.5}, "op": "c", "ts_ms": 0}'
    >>> found = decode([(7, '{"id": 1}', envelope), (8, '{"id": 1}', None), (9, None, "{")])
    >>> found.rows, found.numbers
    ([{'ringview_op': 'upsert', 'id': 1, 'price': Decimal('0.5')}], [7])
    >>> found.rejected[0].place
    'the messages, offset 9'
    """
    found = Decoded()
    for number, key, value in messages:
        if value is None:
            continue
        place = f"{name}, offset {number}"
        try:
            row = _row(value, key, place)
        except ValueError as problem:
            if isinstance(problem, UnsupportedError):
                raise
            found.rejected.append(Rejected(place, _text(value), str(problem)))
            continue
        if row is None:
            continue
        if row[OP] == _TRUNCATE:
            found.truncates.append(number)
            continue
        found.rows.append(row)
        found.numbers.append(number)
    return found


def _row(value: str | bytes, key: str | bytes | None, place: str) -> dict[str, Any] | None:
    """The row of a message; None if it changes none."""
    payload, schema = _unwrapped(parsed(value))
    if payload is None:
        return None
    if "ddl" in payload or "tableChanges" in payload:
        said = str(payload.get("ddl") or "its columns")[:200]
        raise UnsupportedError(
            f"{place}: the tables of the source change ({said}). Read the topics of tables, not "
            "that of the connector; where columns changed, make the table here with them, and "
            "fill it under another name="
        )
    if "op" not in payload:
        if set(payload) <= {"ts_ms", "ts_us", "ts_ns"}:
            return None
        if "status" in payload and "event_count" in payload:
            raise UnsupportedError(
                f"{place}: it tells of transactions, not of rows; read the topics of tables alone"
            )
        raise ValueError("it is no envelope of Debezium: it has no op; say format='json' of rows")
    op = payload["op"]
    if op == "m":
        return None
    if op == _TRUNCATE:
        return {OP: op}
    if op not in _WORDS:
        raise ValueError(f"the op {op!r} is none of c, u, d, r, t")
    side = "before" if op == "d" else "after"
    row = payload.get(side)
    types = _fields(schema, side)
    if row is None and op == "d" and key is not None:
        row, key_schema = _unwrapped(parsed(key))
        types = key_schema
    if not isinstance(row, dict):
        raise ValueError(f"an envelope with op {op!r} has no {side!r}")
    if OP in row:
        raise ValueError(f"a column is named {quoted(OP)}")
    return {OP: _WORDS[op], **{name: _value(row[name], types.get(name)) for name in row}}


def _unwrapped(message: dict[str, Any]) -> tuple[dict[str, Any] | None, Mapping[str, Any]]:
    """The payload of a message, and the schemas of its fields by name if it has them."""
    if set(message) != {"schema", "payload"}:
        return message, {}
    payload, schema = message["payload"], message["schema"]
    if payload is not None and not isinstance(payload, dict):
        raise ValueError("its payload is no object")
    return payload, _named(schema)


def _named(schema: Any) -> Mapping[str, Any]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list):
        return {}
    return {each["field"]: each for each in fields if isinstance(each, dict) and "field" in each}


def _fields(schema: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    return _named(schema.get(side))


def _value(value: Any, schema: Any) -> Any:
    """A value as what its schema says that it is."""
    if value is None or not isinstance(schema, dict):
        return value
    name = schema.get("name")
    if name in _UNITS and isinstance(value, int):
        return Epoch(value, _UNITS[name])
    if name in _DAYS and isinstance(value, int):
        return Epoch(value * 86_400, "s")
    try:
        if name == _DECIMAL and isinstance(value, str):
            return unscaled(base64.b64decode(value, validate=True), int(_scale(schema)))
        if name == _VARIABLE and isinstance(value, dict):
            data = base64.b64decode(value["value"], validate=True)
            return unscaled(data, int(value["scale"]))
    except (binascii.Error, KeyError, TypeError, ValueError) as problem:
        raise ValueError(
            f"column {quoted(schema.get('field'))}: {value!r} is no decimal ({problem})"
        ) from None
    return value


def _scale(schema: Mapping[str, Any]) -> Any:
    return schema["parameters"]["scale"]


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
