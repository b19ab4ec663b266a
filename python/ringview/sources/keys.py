"""Keys and values of messages: out of their framing, and the columns that a key has.

Invariant: what cannot be read is a ValueError that says why. Cost: parsing the JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..text import quoted
from .files import parsed

_HEAD = 5
"""Bytes that a Schema Registry's clients put before a message: a zero, and the schema's number."""


def text_of(data: str | bytes) -> str:
    r"""The text of a key or a value.

    Raises:
        ValueError: It is no UTF-8, or is framed for a Schema Registry.

    >>> text_of(b"\x00\x00\x00\x00\x07\x02a")
    Traceback (most recent call last):
    ValueError: it is framed for a Schema Registry (schema 7), which is not read: write plain JSON
    """
    if isinstance(data, str):
        return data
    if data[:1] == b"\0" and len(data) >= _HEAD:
        number = int.from_bytes(data[1:_HEAD], "big")
        raise ValueError(
            f"it is framed for a Schema Registry (schema {number}), which is not read: write plain "
            "JSON"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise ValueError(f"it is no UTF-8: {problem.reason}") from None


def unwrapped(data: str | bytes) -> tuple[dict[str, Any] | None, Mapping[str, Any]]:
    """The payload of a message, and the schemas of its fields by name if it has them.

    Raises:
        ValueError: It is no JSON object.

    >>> unwrapped('{"a": 1}')
    ({'a': 1}, {})
    >>> unwrapped('{"schema": {"fields": [{"field": "a", "type": "int64"}]}, "payload": null}')
    (None, {'a': {'field': 'a', 'type': 'int64'}})
    """
    message = parsed(text_of(data))
    if set(message) != {"schema", "payload"}:
        return message, {}
    payload, schema = message["payload"], message["schema"]
    if payload is not None and not isinstance(payload, dict):
        raise ValueError("its payload is no object")
    return payload, named(schema)


def named(schema: Any) -> Mapping[str, Any]:
    """The fields of a schema of Kafka Connect by name.

    >>> named({"fields": [{"field": "a", "type": "int64"}]}), named(None)
    ({'a': {'field': 'a', 'type': 'int64'}}, {})
    """
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list):
        return {}
    return {each["field"]: each for each in fields if isinstance(each, dict) and "field" in each}


def key_columns(
    key: str | bytes | None, wanted: Sequence[str]
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    r"""The columns of a message's key, and their schemas: of an object, or of a single value.

    Args:
        key: The key.
        wanted: The columns of the table's key; without them all that the key has.

    Raises:
        ValueError: It has not these columns.

    >>> key_columns('{"id": 7, "shop": "a"}', ["id"]), key_columns(b"k-7", ["name"])
    (({'id': 7}, {}), ({'name': 'k-7'}, {}))
    """
    columns = ", ".join(quoted(name) for name in wanted) or "those of a row"
    if key is None:
        raise ValueError(f"it has no key, which would say whose row is deleted ({columns})")
    try:
        text = text_of(key)
    except ValueError as problem:
        raise ValueError(f"its key cannot be read: {problem}") from None
    try:
        found, types = unwrapped(text)
    except ValueError as problem:
        if len(wanted) == 1 and not text.lstrip().startswith("{"):
            return {wanted[0]: _single(text)}, {}
        raise ValueError(f"its key cannot be read as {columns}: {problem}") from None
    if found is None:
        raise ValueError("its key is null")
    lacking = [name for name in wanted if name not in found]
    if lacking:
        raise ValueError(f"its key has no column {quoted(lacking[0])}, but {', '.join(found)}")
    return {name: found[name] for name in wanted or found}, types


def key_names(key: str | bytes | None) -> Sequence[str]:
    """The names of a key's columns, as far as it has any.

    >>> key_names('{"id": 7}'), key_names(b"7"), key_names(None)
    (['id'], [], [])
    """
    if key is None:
        return []
    try:
        return [*(unwrapped(key)[0] or {})]
    except ValueError:
        return []


def _single(text: str) -> str:
    """A key that is one value: a text of JSON, or as it is written."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if found is None or isinstance(found, list):
        raise ValueError(f"its key is {text}, and no value of a column")
    return found if isinstance(found, str) else text
