"""Arrow data made by hand, byte by byte, as the C interface has it: odd, and wrong.

Its structures never point to memory that is not there: no reader could detect that. Buffers are
longer than they need be, so that any other error of the structures is safe to read.
"""

from __future__ import annotations

import ctypes
import random
import struct
from collections.abc import Callable
from typing import Any

SLACK = 4096
"""Bytes behind each buffer."""


class CSchema(ctypes.Structure):
    """`struct ArrowSchema`."""


class CArray(ctypes.Structure):
    """`struct ArrowArray`."""


class CStream(ctypes.Structure):
    """`struct ArrowArrayStream`."""


Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
GetError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

CSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
CArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.c_void_p),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
CStream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", ctypes.c_void_p),
    ("get_last_error", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

PLAIN: dict[bytes, str] = {
    b"c": "b", b"C": "B", b"s": "h", b"S": "H", b"i": "i", b"I": "I", b"l": "q", b"L": "Q",
    b"f": "f", b"g": "d",
}  # fmt: skip
"""Formats of numbers, as Arrow and as `struct` write them."""
TEXTS = [b"u", b"U", b"vu"]
KEYS = [b"c", b"C", b"s", b"S", b"i", b"I", b"l", b"L"]


class Maker:
    """Makes structures, and keeps alive what they point to."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.alive: list[Any] = []
        self.released = 0
        self._release_schema = Release(self._forget_schema)
        self._release_array = Release(self._forget_array)

    def _forget_schema(self, pointer: int) -> None:
        CSchema.from_address(pointer).release = None

    def _forget_array(self, pointer: int) -> None:
        CArray.from_address(pointer).release = None
        self.released += 1

    def memory(self, data: bytes) -> int:
        """The address of a copy: at a multiple of 16, or sometimes beside one."""
        buffer = ctypes.create_string_buffer(len(data) + SLACK)
        self.alive.append(buffer)
        address = ctypes.addressof(buffer)
        address += -address % 16 + (self.random.random() < 0.2) * self.random.randrange(1, 16)
        ctypes.memmove(address, data, len(data))
        return address

    def pointers(self, addresses: list[int | None]) -> int:
        """An array of pointers, with NULLs behind it."""
        array = (ctypes.c_void_p * (len(addresses) + 64))(*addresses)
        self.alive.append(array)
        return ctypes.addressof(array)

    def schema(self, format: bytes, name: bytes = b"", *inner: CSchema, **more: Any) -> CSchema:
        made = CSchema(format=format, name=name, flags=2, n_children=len(inner), **more)
        made.children = self.pointers([ctypes.addressof(one) for one in inner])
        made.release = ctypes.cast(self._release_schema, ctypes.c_void_p).value
        self.alive += [made, *inner]
        return made

    def array(self, length: int, offset: int, buffers: list[int | None]) -> CArray:
        made = CArray(length=length, offset=offset, null_count=-1, n_buffers=len(buffers))
        made.buffers = self.pointers(buffers)
        made.children = self.pointers([])
        made.release = ctypes.cast(self._release_array, ctypes.c_void_p).value
        self.alive.append(made)
        return made

    def bits(self, offset: int, values: list[bool]) -> int:
        """Bits behind `offset` others."""
        data = bytearray(self.random.randbytes((offset + len(values)) // 8 + 1))
        for at, value in enumerate(values, offset):
            data[at // 8] = data[at // 8] & ~(1 << at % 8) | value << at % 8
        return self.memory(bytes(data))

    def column(self, format: bytes, values: list[Any]) -> CArray:
        """An array of values at a random offset, with anything before them and under its NULLs."""
        offset = self.random.choice([0, 0, 1, 3, 8, 13])
        nulls = [value is None for value in values]
        validity = None
        if any(nulls) or self.random.random() < 0.3:
            validity = self.bits(offset, [not null for null in nulls])
        if format == b"n":
            return self.array(len(values), offset, [])
        data: list[int | None]
        if format == b"b":
            data = [self.bits(offset, [bool(value) for value in values])]
        elif format == b"vu":
            data = self._views(offset, values)
        elif format in TEXTS:
            data = self._texts("i" if format == b"u" else "q", offset, values)
        else:
            data = [self.memory(self._numbers(format, offset, values))]
        made = self.array(len(values), offset, [validity, *data])
        if self.random.random() < 0.3:
            made.null_count = sum(nulls)
        return made

    def dictionary(self, key: bytes, format: bytes, values: list[Any]) -> CArray:
        """Keys, some of entries that are NULL."""
        entries = [*dict.fromkeys([value for value in values if value is not None]), "unused", None]
        self.random.shuffle(entries)
        null = entries.index(None)
        inside = [None if value is None else entries.index(value) for value in values]
        keys = [null if key is None and self.random.random() < 0.5 else key for key in inside]
        made = self.column(key, keys)
        held = self.column(format, entries)
        made.dictionary = ctypes.addressof(held)
        return made

    def _numbers(self, format: bytes, offset: int, values: list[Any]) -> bytes:
        if format.startswith(b"d:"):
            before = self.random.randbytes(16 * offset)
            return before + b"".join(
                (0 if value is None else value).to_bytes(16, "little", signed=True)
                for value in values
            )
        code = PLAIN[format]
        before = self.random.randbytes(struct.calcsize(code) * offset)
        return before + b"".join(struct.pack("=" + code, value or 0) for value in values)

    def _texts(self, code: str, offset: int, values: list[Any]) -> list[int | None]:
        # Before the first there are texts too, and NULLs have bytes.
        bodies = [b"\xff\xfe"] * offset
        bodies += [b"\xff" if value is None else value.encode() for value in values]
        ends = [0]
        for body in bodies:
            ends.append(ends[-1] + len(body))
        texts = b"".join(bodies)
        return [
            self.memory(struct.pack(f"={len(ends)}{code}", *ends)),
            self.memory(texts) if texts else None,
        ]

    def _views(self, offset: int, values: list[Any]) -> list[int | None]:
        views, texts = [self.random.randbytes(16) for _ in range(offset)], [b"", b"other", b""]
        for value in values:
            body = b"" if value is None else value.encode()
            at = self.random.randrange(3)
            if value is None:
                views.append(self.random.randbytes(16))
            elif len(body) <= 12:
                views.append(struct.pack("=i", len(body)) + body.ljust(12, b"\0"))
            else:
                views.append(struct.pack("=i4sii", len(body), body[:4], at, len(texts[at])))
                texts[at] += body
        lengths = struct.pack("=3q", *map(len, texts))
        pointers = [self.memory(text) if text else None for text in texts]
        return [self.memory(b"".join(views)), *pointers, self.memory(lengths)]

    def batch(self, columns: list[CArray], rows: int) -> CArray:
        """A struct of columns, which may all begin later."""
        made = self.array(rows, 0, [None])
        made.n_children = len(columns)
        made.children = self.pointers([ctypes.addressof(column) for column in columns])
        return made


def capsule(struct: ctypes.Structure, name: bytes) -> object:
    made: object = _new(ctypes.addressof(struct), name, None)
    return made


class Exported:
    """A batch, handed out as an array."""

    def __init__(self, maker: Maker, schema: CSchema, array: CArray) -> None:
        # The maker keeps what they point to.
        self.maker, self.schema, self.array = maker, schema, array

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        return capsule(self.schema, b"arrow_schema"), capsule(self.array, b"arrow_array")


class Streamed:
    """A batch, handed out as a stream that may fail."""

    def __init__(self, maker: Maker, schema: CSchema, array: CArray) -> None:
        self.stream = CStream()
        self.calls: dict[str, Any] = {
            "get_schema": GetNext(self._move(schema)),
            "get_next": GetNext(self._next(array)),
            "get_last_error": GetError(self._error(maker)),
            "release": Release(self._release),
        }
        for name, call in self.calls.items():
            setattr(self.stream, name, ctypes.cast(call, ctypes.c_void_p).value)
        self.code, self.text, self.left = 0, b"the disk is gone", 1

    def _move(self, of: ctypes.Structure) -> Callable[[int, int], int]:
        def move(stream: int, into: int) -> int:
            ctypes.memmove(into, ctypes.addressof(of), ctypes.sizeof(of))
            of.release = None
            return 0

        return move

    def _next(self, array: CArray) -> Callable[[int, int], int]:
        move = self._move(array)

        def next_(stream: int, into: int) -> int:
            if self.left:
                self.left -= 1
                return move(stream, into)
            return self.code

        return next_

    def _error(self, maker: Maker) -> Callable[[int], int | None]:
        return lambda stream: maker.memory(self.text + b"\0") if self.text else None

    def _release(self, stream: int) -> None:
        CStream.from_address(stream).release = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return capsule(self.stream, b"arrow_array_stream")
