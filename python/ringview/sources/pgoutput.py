"""Messages of PostgreSQL's `pgoutput`, as rows of its transactions.

Invariant: a transaction is read wholly; its rows are texts, as PostgreSQL writes values, each with
a word that says what it does. Cost: O(bytes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from struct import unpack_from
from typing import Any

from ..errors import UnsupportedError
from .debezium import OP

_BOOL = 16
"""The type whose texts are t and f."""


@dataclass
class Transaction:
    """Changes of a transaction to each table, in its order.

    Attributes:
        xid: Its number, of 32 bits.
        end: Its end in the log; a reader that has it resumes there.
        rows: By table, with its schema, the rows and the words that `Database.apply` takes.
        emptied: Tables that were truncated before those rows.
    """

    xid: int
    end: int = 0
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    emptied: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Relation:
    name: str
    columns: list[str]
    key: list[bool]
    types: list[int]


def transactions(messages: Iterable[bytes]) -> Iterator[Transaction]:
    r"""The transactions of a stream of messages, from the first one on.

    Raises:
        UnsupportedError: A row lacks a value that its update left alone.

    Complexity: O(bytes).

    >>> import struct
    >>> begin = b"B" + struct.pack(">QQI", 100, 0, 7)
    >>> columns = b"\x01id\0" + struct.pack(">II", 20, 0) + b"\0x\0" + struct.pack(">II", 25, 0)
    >>> names = struct.pack(">I", 1) + b"public\0r\0d" + struct.pack(">H", 2)
    >>> insert = b"I" + struct.pack(">I", 1) + b"N" + struct.pack(">H", 2) + b"t\0\0\0\x015n"
    >>> end = b"C" + struct.pack(">BQQQ", 0, 90, 100, 0)
    >>> (found,) = transactions([begin, b"R" + names + columns, insert, end])
    >>> found.xid, found.end, found.rows
    (7, 100, {'public.r': [{'ringview_op': 'upsert', 'id': '5', 'x': None}]})
    """
    relations: dict[int, _Relation] = {}
    open_: Transaction | None = None
    for message in messages:
        kind = message[:1]
        if kind == b"B":
            (xid,) = unpack_from(">I", message, 17)
            open_ = Transaction(xid)
        elif kind == b"R":
            number, relation = _relation(message)
            relations[number] = relation
        elif kind == b"C" and open_ is not None:
            (open_.end,) = unpack_from(">Q", message, 10)
            yield open_
            open_ = None
        elif kind == b"T" and open_ is not None:
            (count,) = unpack_from(">I", message, 1)
            for number in unpack_from(f">{count}I", message, 6):
                name = relations[number].name
                open_.rows.pop(name, None)
                open_.emptied.add(name)
        elif kind in (b"I", b"U", b"D") and open_ is not None:
            (number,) = unpack_from(">I", message, 1)
            relation = relations[number]
            open_.rows.setdefault(relation.name, []).extend(_rows(relation, message))


def _relation(message: bytes) -> tuple[int, _Relation]:
    (number,) = unpack_from(">I", message, 1)
    space, at = _string(message, 5)
    name, at = _string(message, at)
    (count,) = unpack_from(">H", message, at + 1)
    at += 3
    columns, key, types = [], [], []
    for _ in range(count):
        key.append(bool(message[at] & 1))
        column, at = _string(message, at + 1)
        (kind,) = unpack_from(">I", message, at)
        at += 8
        columns.append(column)
        types.append(kind)
    return number, _Relation(f"{space or 'pg_catalog'}.{name}", columns, key, types)


def _rows(relation: _Relation, message: bytes) -> Iterator[dict[str, Any]]:
    """Rows of an insert, an update or a delete: at most a delete by key, and a new row."""
    at, old = 5, None
    side = message[at : at + 1]
    if side in (b"K", b"O"):
        old, at = _tuple(relation, message, at + 1)
        keyed = {
            name: old[name]
            for name, is_key in zip(relation.columns, relation.key, strict=True)
            if is_key and name in old
        }
        # An update may change the key, so the old row is deleted first.
        yield {OP: "d", **(old if side == b"O" else keyed)}
        side = message[at : at + 1]
    if side == b"N":
        new, _ = _tuple(relation, message, at + 1)
        for name in relation.columns:
            if name not in new and old is not None and name in old:
                new[name] = old[name]
            if name not in new:
                raise UnsupportedError(
                    f"an update of {relation.name} left its long value {name!r} alone, which "
                    "PostgreSQL then leaves out; let it write whole rows: ALTER TABLE "
                    f"{relation.name} REPLICA IDENTITY FULL"
                )
        yield {OP: "upsert", **new}


def _tuple(relation: _Relation, message: bytes, at: int) -> tuple[dict[str, Any], int]:
    """The values of a row by column, without those that are left out, and where it ends."""
    (count,) = unpack_from(">H", message, at)
    at += 2
    found: dict[str, Any] = {}
    for name, kind in zip(relation.columns[:count], relation.types, strict=False):
        tag, at = message[at : at + 1], at + 1
        if tag == b"n":
            found[name] = None
        elif tag == b"t":
            (length,) = unpack_from(">I", message, at)
            at += 4
            text = message[at : at + length].decode()
            at += length
            found[name] = text == "t" if kind == _BOOL else text
    return found, at


def _string(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1
