"""Values as bytes, for two processes that need not believe each other.

    magic, length of the header | header: JSON | bytes, one after the other

Invariant: reading makes plain values, Arrow schemas, and objects of classes that are `registered`;
it runs no code that the bytes name. A value and its decoded copy are equal; the types are those
that are named here, never a class that derives from one. Cost: linear; bytes are copied once on
each side, everything else is encoded as JSON.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeVar

import pyarrow as pa

_HEAD = struct.Struct("!4sI")
_MAGIC = b"rve1"
_T = TypeVar("_T")

_CLASSES: dict[str, type] = {}


class CodecError(ValueError):
    """A value that cannot be written, or bytes that are none."""


def registered(kind: type[_T]) -> type[_T]:
    """Let objects of a dataclass be written and read; a decorator."""
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} is not a dataclass")
    _CLASSES[kind.__qualname__] = kind
    return kind


def encode(value: object) -> bytes:
    """The bytes of a value.

    >>> decode(encode((1, "a", b"b", {2: [None, Decimal("0.10")]})))
    (1, 'a', b'b', {2: [None, Decimal('0.10')]})

    Raises:
        CodecError: It has something that cannot be written.
    """
    parts: list[bytes] = []
    shown = _shown(value, parts)
    header = json.dumps([shown, [len(part) for part in parts]], separators=(",", ":")).encode()
    return b"".join((_HEAD.pack(_MAGIC, len(header)), header, *parts))


def decode(data: bytes) -> Any:
    """The value of bytes.

    >>> decode(b"rve1" + bytes(4))
    Traceback (most recent call last):
    ringview.spark.streaming.partitioned.codec.CodecError: these bytes are no message

    Raises:
        CodecError: They are no message, or name a class that is not registered.
    """
    try:
        magic, size = _HEAD.unpack_from(data)
        shown, sizes = json.loads(data[_HEAD.size : _HEAD.size + size])
        parts, at = [], _HEAD.size + size
        for length in sizes:
            if not 0 <= length <= len(data) - at:
                raise CodecError("these bytes end too early")
            parts.append(bytes(data[at : at + length]))
            at += length
        if magic != _MAGIC or at != len(data):
            raise CodecError("these bytes are no message")
        return _read(shown, parts)
    except CodecError:
        raise
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError, struct.error):
        raise CodecError("these bytes are no message") from None


def _shown(value: object, parts: list[bytes]) -> object:
    """A value as JSON; everything but plain scalars is a list that begins with its kind."""
    for scalar in (bool, int, float, str):
        if isinstance(value, scalar):
            return scalar(value)
    if value is None:
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        parts.append(bytes(value))
        return ["bytes", len(parts) - 1]
    if isinstance(value, tuple | list | frozenset):
        kind = next(k.__name__ for k in (tuple, list, frozenset) if isinstance(value, k))
        return [kind, *(_shown(item, parts) for item in value)]
    if isinstance(value, Mapping):
        return ["dict", *([_shown(k, parts), _shown(v, parts)] for k, v in value.items())]
    for name, (temporal, _) in _TEXTS.items():
        if isinstance(value, temporal):
            return [name, str(value)]
    if isinstance(value, pa.Schema | pa.DataType):
        schema = value if isinstance(value, pa.Schema) else pa.schema([("type", value)])
        parts.append(schema.serialize().to_pybytes())
        return ["schema" if isinstance(value, pa.Schema) else "type", len(parts) - 1]
    name = type(value).__qualname__
    if is_dataclass(value) and _CLASSES.get(name) is type(value):
        content = (_shown(getattr(value, field.name), parts) for field in fields(value))
        return ["object", name, *content]
    raise CodecError(f"a {name} cannot be sent")


def _read(shown: Any, parts: list[bytes]) -> object:
    if not isinstance(shown, list):
        return shown
    kind, content = shown[0], shown[1:]
    if kind == "bytes":
        return parts[content[0]]
    if kind in _SEQUENCES:
        return _SEQUENCES[kind](_read(item, parts) for item in content)
    if kind == "dict":
        return {_read(key, parts): _read(value, parts) for key, value in content}
    if kind in _TEXTS:
        return _TEXTS[kind][1](content[0])
    if kind in ("schema", "type"):
        try:
            schema = pa.ipc.read_schema(pa.py_buffer(parts[content[0]]))
        except (pa.ArrowException, OSError):
            raise CodecError("these bytes are no schema") from None
        return schema if kind == "schema" else schema.field(0).type
    if kind == "object" and content[0] in _CLASSES:
        return _CLASSES[content[0]](*(_read(item, parts) for item in content[1:]))
    raise CodecError(f"{content[:1] if kind == 'object' else kind!r} cannot be read")


_SEQUENCES: dict[str, Any] = {"tuple": tuple, "list": list, "frozenset": frozenset}
# A datetime is a date, too, so it is first.
_TEXTS: dict[str, Any] = {
    "Decimal": (Decimal, Decimal),
    "datetime": (datetime, datetime.fromisoformat),
    "date": (date, date.fromisoformat),
}
