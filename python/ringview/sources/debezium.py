"""Messages of Debezium as changes of rows.

Invariant: a message becomes one row with a word that says what it does, two if it moves a row to
another key, or none if it changes no row. A message about changed columns or tables is an error
that says what to do. If a message has its schema, moments and decimals are cast by it; else they
stay as they are written. Cost: parsing the JSON.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UnsupportedError
from ..text import quoted
from .batch import EpochUnit, Rejected
from .keys import key_columns, key_names, unwrapped
from .keys import named as _named
from .values import Epoch, Kept, unscaled

OP = "ringview_op"
"""The column with the words, in rows that are decoded."""
_WORDS = {"c": "upsert", "u": "upsert", "r": "upsert", "d": "d"}
TRUNCATE = "t"
UNAVAILABLE = "__debezium_unavailable_value"
"""The text that a connector sends for a large value that a change did not touch."""

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


def decode(
    messages: Iterable[Message],
    name: str = "the messages",
    *,
    key: Sequence[str] = (),
    unavailable: str = UNAVAILABLE,
) -> Decoded:
    """Envelopes of Debezium in JSON, with their schemas or without, as rows.

    Rows that are created, updated or read in a snapshot are upserts: a connector that was killed
    sends some of them again. A deleted row has the columns of `before`, or of the key; a tombstone
    deletes the row of its key. Apply them with `Change(.., net=True)`: a delete of a row that is
    not there does nothing then. An update of a row to another key is a delete and an upsert.
    Heartbeats and messages of PostgreSQL's `pg_logical_emit_message` are left out.

    Args:
        messages: Of each its number, key and value.
        name: Where they are from, for errors.
        key: The columns of the key, in the table; by default those that the message's key has.
        unavailable: The text in the place of values that a change did not touch. They become
            `Kept.KEPT`, for which a reader takes what the table has.

    Raises:
        UnsupportedError: A message is about a change of tables or columns, or about transactions.

    Complexity: O(length).

    >>> envelope = '{"before": null, "after": {"id": 1, "price": 0.5}, "op": "c", "ts_ms": 0}'
    >>> found = decode([(7, '{"id": 1}', envelope), (8, '{"id": 1}', None), (9, None, "{")])
    >>> found.rows[0]
    {'ringview_op': 'upsert', 'id': 1, 'price': Decimal('0.5')}
    >>> found.rows[1], found.numbers
    ({'ringview_op': 'd', 'id': 1}, [7, 8])
    >>> found.rejected[0].place
    'the messages, offset 9'
    """
    envelopes, found = Envelopes(key, unavailable), Decoded()
    for number, key_text, value in messages:
        place = f"{name}, offset {number}"
        try:
            rows = envelopes.rows(value, key_text)
        except UnsupportedError as problem:
            raise UnsupportedError(f"{place}: {problem}") from None
        except ValueError as problem:
            text = key_text if value is None else value
            found.rejected.append(Rejected(place, _text(text or ""), str(problem)))
            continue
        if rows == EMPTIES:
            found.truncates.append(number)
            continue
        found.rows += rows
        found.numbers += [number] * len(rows)
    return found


EMPTIES: list[dict[str, Any]] = [{OP: TRUNCATE}]
"""The rows of a message that empties the table."""


class Envelopes:
    """A decoder of envelopes; see `decode`."""

    def __init__(self, key: Sequence[str] = (), unavailable: str = UNAVAILABLE) -> None:
        self._key = tuple(key)
        coded = base64.b64encode(unavailable.encode()).decode()
        self._unavailable = frozenset({unavailable, coded})
        # Most messages have neither, so that their values need no look.
        is_plain = unavailable.isascii() and unavailable.replace("_", "").isalnum()
        self._marks = [coded.encode(), unavailable.encode()] if is_plain else [b""]

    def rows(self, value: str | bytes | None, key: str | bytes | None) -> list[dict[str, Any]]:
        """The rows of a message; `EMPTIES` if it empties the table.

        Raises:
            ValueError: It is no such message.
            UnsupportedError: As `decode`.
        """
        if value is None:
            return [self._checked({OP: "d", **self._of_key(key)})]
        payload, schema = unwrapped(value)
        if payload is None or _is_beside(payload):
            return []
        op = payload["op"]
        if op == "m":
            return []
        if op == TRUNCATE:
            return EMPTIES
        if op not in _WORDS:
            raise ValueError(f"the op {op!r} is none of c, u, d, r, t")
        side = "before" if op == "d" else "after"
        row = payload.get(side)
        if row is None and op == "d" and key is not None:
            return [self._checked({OP: "d", **self._of_key(key)})]
        if not isinstance(row, dict):
            raise ValueError(f"an envelope with op {op!r} has no {side!r}")
        types = _named(schema.get(side))
        found = {name: _value(row[name], types.get(name)) for name in row}
        if OP in found:
            raise ValueError(f"a column is named {quoted(OP)}")
        before = payload.get("before")
        if op == "d":
            return [{OP: "d", **found}]
        rows = [{OP: _WORDS[op], **found}]
        raw = value.encode(errors="replace") if isinstance(value, str) else value
        leaves_out = any(mark in raw for mark in self._marks)
        if op == "u" and isinstance(before, dict):
            old = _named(schema.get("before"))
            was = {name: _value(before[name], old.get(name)) for name in before}
            if leaves_out:
                self._keep(rows[0], was)
            keys = self._key or key_names(key)
            if any(was.get(name) is None for name in keys):
                return rows
            if any(was[name] != found.get(name) for name in keys):
                rows.insert(0, {OP: "d", **{name: was[name] for name in keys}})
            return rows
        if leaves_out:
            self._keep(rows[0], {})
        return rows

    def _of_key(self, key: str | bytes | None) -> dict[str, Any]:
        columns, types = key_columns(key, self._key)
        return {name: _value(value, types.get(name)) for name, value in columns.items()}

    def _checked(self, row: dict[str, Any]) -> dict[str, Any]:
        if row[OP] != "d":
            raise ValueError(f"a column is named {quoted(OP)}")
        return row

    def _keep(self, row: dict[str, Any], before: Mapping[str, Any]) -> None:
        """Put the values of `before`, or `KEPT`, where the message leaves them out."""
        for name, value in row.items():
            if self._is_unavailable(value):
                old = before.get(name, Kept.KEPT)
                row[name] = Kept.KEPT if self._is_unavailable(old) else old

    def _is_unavailable(self, value: Any) -> bool:
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return isinstance(value, str) and value in self._unavailable


def _is_beside(payload: Mapping[str, Any]) -> bool:
    """Whether a message is a heartbeat; raises if it is no envelope."""
    if "ddl" in payload or "tableChanges" in payload:
        said = str(payload.get("ddl") or "its columns")[:200]
        raise UnsupportedError(
            f"the tables of the source change ({said}). Read the topics of tables, not "
            "that of the connector; where columns changed, make the table here with them, and "
            "fill it under another name="
        )
    if "op" in payload:
        return False
    if set(payload) <= {"ts_ms", "ts_us", "ts_ns"}:
        return True
    if "status" in payload and "event_count" in payload:
        raise UnsupportedError(
            "it tells of transactions, not of rows; read the topics of tables alone"
        )
    raise ValueError("it is no envelope of Debezium: it has no op; say format='json' of rows")


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
