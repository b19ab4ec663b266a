"""Messages of PostgreSQL's `pgoutput`, as the changes of its transactions.

Invariant: a transaction is read wholly, its changes in their order; values are texts, as PostgreSQL
writes them. A value that an update leaves out is named, never NULL. Cost: O(bytes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from struct import unpack_from
from typing import Any

_BOOL = 16
"""The type whose texts are t and f."""


@dataclass(frozen=True)
class Relation:
    """A table as the log describes it: of each column its type, and whether it is of the key."""

    oid: int
    name: str
    identity: str
    columns: list[str]
    key: list[bool]
    types: list[int]
    modifiers: list[int]


@dataclass(frozen=True)
class RowChange:
    """An insert, an update or a delete of a row.

    Attributes:
        kind: `I`, `U` or `D`.
        relation: Its table then.
        old: The row before: whole, or its key; None if that is the key of `new`.
        is_whole: Whether `old` is whole.
        new: The row then, without the values in `left`.
        left: Columns with long values that the update left alone.
    """

    kind: str
    relation: Relation
    old: dict[str, Any] | None = None
    is_whole: bool = False
    new: dict[str, Any] | None = None
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Truncation:
    """A table that is emptied."""

    relation: Relation


@dataclass
class Transaction:
    """Changes of a transaction, in its order.

    Attributes:
        xid: Its number, of 32 bits.
        end: Its end in the log; a reader that has it resumes there.
        changes: What it does.
    """

    xid: int
    end: int = 0
    changes: list[RowChange | Truncation] = field(default_factory=list)


def transactions(messages: Iterable[bytes]) -> Iterator[Transaction]:
    r"""The transactions of a stream of messages, from the first one on.

    Complexity: O(bytes).

    >>> import struct
    >>> begin = b"B" + struct.pack(">QQI", 100, 0, 7)
    >>> columns = b"\x01id\0" + struct.pack(">Ii", 20, -1) + b"\0x\0" + struct.pack(">Ii", 25, -1)
    >>> names = struct.pack(">I", 1) + b"public\0r\0d" + struct.pack(">H", 2)
    >>> insert = b"I" + struct.pack(">I", 1) + b"N" + struct.pack(">H", 2) + b"t\0\0\0\x015n"
    >>> end = b"C" + struct.pack(">BQQQ", 0, 90, 100, 0)
    >>> (found,) = transactions([begin, b"R" + names + columns, insert, end])
    >>> found.xid, found.end, found.changes[0].relation.name, found.changes[0].new
    (7, 100, 'public.r', {'id': '5', 'x': None})
    """
    relations: dict[int, Relation] = {}
    open_: Transaction | None = None
    for message in messages:
        kind = message[:1]
        if kind == b"B":
            (xid,) = unpack_from(">I", message, 17)
            open_ = Transaction(xid)
        elif kind == b"R":
            relation = _relation(message)
            relations[relation.oid] = relation
        elif kind == b"C" and open_ is not None:
            (open_.end,) = unpack_from(">Q", message, 10)
            yield open_
            open_ = None
        elif kind == b"T" and open_ is not None:
            (count,) = unpack_from(">I", message, 1)
            numbers = unpack_from(f">{count}I", message, 6)
            open_.changes += [Truncation(relations[number]) for number in numbers]
        elif kind in (b"I", b"U", b"D") and open_ is not None:
            (number,) = unpack_from(">I", message, 1)
            open_.changes.append(_change(relations[number], message))


def _relation(message: bytes) -> Relation:
    (number,) = unpack_from(">I", message, 1)
    space, at = _string(message, 5)
    name, at = _string(message, at)
    identity = chr(message[at])
    (count,) = unpack_from(">H", message, at + 1)
    at += 3
    found = Relation(number, f"{space or 'pg_catalog'}.{name}", identity, [], [], [], [])
    for _ in range(count):
        found.key.append(bool(message[at] & 1))
        column, at = _string(message, at + 1)
        kind, modifier = unpack_from(">Ii", message, at)
        at += 8
        found.columns.append(column)
        found.types.append(kind)
        found.modifiers.append(modifier)
    return found


def _change(relation: Relation, message: bytes) -> RowChange:
    kind, at = chr(message[0]), 5
    side = message[at : at + 1]
    old: dict[str, Any] | None = None
    new: dict[str, Any] | None = None
    is_whole, left = side == b"O", tuple[str, ...]()
    if side in (b"K", b"O"):
        old, _, at = _tuple(relation, message, at + 1)
        if not is_whole:
            keyed = dict(zip(relation.columns, relation.key, strict=True))
            old = {name: value for name, value in old.items() if keyed[name]}
        side = message[at : at + 1]
    if side == b"N":
        new, left, _ = _tuple(relation, message, at + 1)
    return RowChange(kind, relation, old, is_whole, new, left)


def _tuple(
    relation: Relation, message: bytes, at: int
) -> tuple[dict[str, Any], tuple[str, ...], int]:
    """The values of a row by column, the columns that are left out, and where it ends."""
    (count,) = unpack_from(">H", message, at)
    at += 2
    found: dict[str, Any] = {}
    left: list[str] = []
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
        else:
            left.append(name)
    return found, tuple(left), at


def _string(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1
