"""Messages of a topic's partition as rows, with the columns of their places.

Invariant: each message is rows, a message that empties the table, or one that is rejected with its
place, key and bytes. Cost: parsing the JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import InvalidValueError, UnsupportedError
from ..text import quoted
from .batch import Letter, Origin, Rejected
from .debezium import EMPTIES, OP
from .files import parsed
from .keys import key_columns, text_of
from .values import Epoch

PLACES = ("topic", "partition", "offset", "timestamp", "key", "headers")
_HEADER = "headers."


class Decoder(Protocol):
    """A decoder of values: Debezium's envelopes, or plain objects."""

    def rows(self, value: bytes | None, key: bytes | None) -> list[dict[str, Any]]:
        """The rows of a message."""


class Objects:
    """Plain objects as rows.

    Args:
        key: The columns of the table's key.
        upserts: Whether rows replace those with their key, so that a message without a value
            deletes the row of its key.
    """

    def __init__(self, key: Sequence[str], upserts: bool) -> None:
        self._key = tuple(key)
        self._upserts = upserts

    def rows(self, value: bytes | None, key: bytes | None) -> list[dict[str, Any]]:
        """The row of a message; one that is deleted has a word under `OP`.

        Raises:
            ValueError: It is no row.
        """
        if value is None:
            if not self._upserts:
                raise ValueError(
                    'it has no value: it deletes the row of its key, as how="upsert" does'
                )
            return [{**key_columns(key, self._key)[0], OP: "d"}]
        row = parsed(text_of(value))
        if OP in row:
            raise ValueError(f"a column is named {quoted(OP)}")
        if key is not None and any(name not in row for name in self._key):
            # Columns of the key may be in the message's key alone.
            lacking = [name for name in self._key if name not in row]
            row |= key_columns(key, lacking)[0]
        return [row]


class Messages(Origin):
    """The messages of the rows of a change, of any partitions."""

    def __init__(self, name: str, messages: Sequence[Any]) -> None:
        super().__init__(name, "offset")
        object.__setattr__(self, "_messages", messages)

    def at(self, row: int) -> str:
        """The place of a row: topic, partition and offset."""
        return place_of(self._messages[row])

    def letter(self, row: int) -> Letter:
        """The message of a row."""
        return letter_of(self._messages[row])

    _messages: Sequence[Any]


@dataclass
class Part:
    """Messages of a partition, as rows.

    Attributes:
        rows: The rows, and of each its message.
        rejected: Messages that are none.
        truncates: Messages that empty the table; rows before and behind are apart.
        last: The offset of the last message.
    """

    topic: str
    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    truncates: list[Any] = field(default_factory=list)
    last: int = -1


def decoded(
    messages: Sequence[Any], decoder: Decoder, columns: Mapping[str, str], keys: Sequence[str]
) -> Part:
    """The messages of one partition as rows.

    Args:
        messages: The client's messages.
        decoder: What becomes of their keys and values.
        columns: By place (`PLACES`), the column that has it.
        keys: The columns of the table's key, the only ones of rows that are deleted.

    Raises:
        UnsupportedError: As `decode` of Debezium.
    """
    first = messages[0]
    found = Part(first.topic(), f"{first.topic()}[{first.partition()}]")
    for message in messages:
        try:
            rows = decoder.rows(message.value(), message.key())
            if rows and columns and rows != EMPTIES:
                _add_places(rows, message, columns, keys)
        except UnsupportedError as problem:
            raise UnsupportedError(f"{place_of(message)}: {problem}") from None
        except ValueError as problem:
            text = _text(message.key() if message.value() is None else message.value())
            place = place_of(message)
            found.rejected.append(Rejected(place, text, str(problem), letter_of(message)))
            continue
        if rows == EMPTIES:
            found.truncates.append(message)
            continue
        found.rows += rows
        found.messages += [message] * len(rows)
    found.last = messages[-1].offset()
    return found


def place_of(message: Any) -> str:
    """The place of a message, for people."""
    return f"{message.topic()}[{message.partition()}], offset {message.offset()}"


def letter_of(message: Any) -> Letter:
    """A message as it is."""
    return Letter(
        message.topic(), message.partition(), message.offset(), message.key(), message.value()
    )


def checked_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """The columns of places, checked.

    Raises:
        InvalidValueError: There is no such place.

    >>> checked_columns({"offset": "o", "headers.trace": "trace"})
    {'offset': 'o', 'headers.trace': 'trace'}
    """
    for name in columns or {}:
        if name not in PLACES and not name.startswith(_HEADER):
            raise InvalidValueError(
                f"columns: a message has no {quoted(name)}; it has {', '.join(PLACES)}, and "
                "headers.NAME"
            )
    return dict(columns or {})


def _add_places(
    rows: Sequence[dict[str, Any]], message: Any, columns: Mapping[str, str], keys: Sequence[str]
) -> None:
    for row in rows:
        is_deleted = row.get(OP) == "d"
        for place, column in columns.items():
            if is_deleted and column not in keys:
                continue
            if column in row:
                raise ValueError(f"it has a column {quoted(column)}, which columns= names, too")
            row[column] = _place(message, place)


def _place(message: Any, place: str) -> Any:
    if place == "timestamp":
        kind, at = message.timestamp()
        return Epoch(at, "ms") if kind else None
    if place == "key":
        return None if message.key() is None else text_of(message.key())
    if place == "headers":
        pairs = [[name, _text(value)] for name, value in message.headers() or ()]
        return json.dumps(pairs, ensure_ascii=False)
    if place.startswith(_HEADER):
        name = place.removeprefix(_HEADER)
        values = [value for each, value in message.headers() or () if each == name]
        return None if not values or values[-1] is None else text_of(values[-1])
    found = {"topic": message.topic, "partition": message.partition, "offset": message.offset}
    return found[place]()


def _text(data: bytes | None) -> str:
    return "" if data is None else data.decode(errors="replace")
