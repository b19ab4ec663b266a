"""Hands Arrow data made by hand to a database: `python fuzz_arrow.py FIRST COUNT`.

A case is odd or wrong. Odd data is as the format allows, at odd places: it must be read as it is.
Wrong data lies somewhere: it is refused with an error of ringview, or read, all of it or nothing;
and the database continues. In any case, the structures that were taken are released once. The last
line printed is `done`.
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
import time
from decimal import Decimal
from typing import Any

import ringview as rv
from c_arrow import KEYS, PLAIN, TEXTS, CArray, CSchema, Exported, Maker, Streamed

COLUMNS = ["i", "f", "b", "s", "d"]
WORDS = ["", "a", "bé", "exactly 12 ..", "longer than what a view holds", "日本語" * 9]
_WRITTEN = (
    "|n|b|i|l|z|Z|vz|+l|+s|+r|+ud:0|+w:-1|d:|d:999,2|d:10,-3|d:10,2,32|d:10,2,256|w:x|tsu|tsu:"
    "|tsn:no zone|ts\xff|tdD|tdm|ttn|tiD|e|\xff|uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"
)
FORMATS = [text.encode("latin-1") for text in _WRITTEN.split("|")]
HUGE = [-1, -(2**63), 2**63 - 1, 2**62, 2**50]


def database() -> rv.Database:
    db = rv.Database()
    kinds = ["int64", "float64", "bool", "string", "decimal128(10, 2)"]
    db.create_table("r", dict(zip(COLUMNS, kinds, strict=True)))
    db.create_view("v", f"SELECT {', '.join(COLUMNS)} FROM r")
    db.create_view("n", "SELECT s, COUNT(*) AS n, SUM(i) AS i FROM r GROUP BY s")
    return db


def value(name: str, at: random.Random) -> Any:
    if at.random() < 0.25:
        return None
    made = {
        "i": at.randrange(100),
        "f": at.randrange(-100, 100) / 4,
        "b": at.random() < 0.5,
        "s": at.choice(WORDS),
        "d": at.randrange(-(10**9), 10**9),
    }
    return made[name]


class Case:
    """One batch and its schema."""

    def __init__(self, seed: int) -> None:
        self.random = at = random.Random(seed)
        self.maker = maker = Maker(at)
        self.count = at.choice([0, 1, 2, 7, 8, 9, 30])
        values = {name: [value(name, at) for _ in range(self.count)] for name in COLUMNS}
        if at.random() < 0.1:
            values[at.choice(COLUMNS)] = [None] * self.count
        self.rows = [
            (i, f, b, s, None if d is None else Decimal(d).scaleb(-2))
            for i, f, b, s, d in zip(*values.values(), strict=True)
        ]
        self.schemas: list[CSchema] = []
        self.columns: list[CArray] = []
        # The batch may begin later than its columns do.
        before = at.choice([0, 0, 0, 1, 5])
        for name in at.sample(COLUMNS, len(COLUMNS)):
            junk = [value(name, at) for _ in range(before)]
            self._column(name, junk + values[name])
        self.array = maker.batch(self.columns, self.count)
        self.array.offset = before
        self.schema = maker.schema(b"+s", b"", *self.schemas)

    def _column(self, name: str, values: list[Any]) -> None:
        at, maker, label = self.random, self.maker, name.encode()
        if all(one is None for one in values) and at.random() < 0.5:
            self.schemas.append(maker.schema(b"n", label))
            self.columns.append(maker.column(b"n", values))
            return
        if name == "s" and at.random() < 0.5:
            key, texts = at.choice(KEYS), at.choice(TEXTS)
            held = ctypes.addressof(maker.schema(texts))
            self.schemas.append(maker.schema(key, label, dictionary=held))
            self.columns.append(maker.dictionary(key, texts, values))
            return
        integers = [code for code in PLAIN if code not in (b"f", b"g")]
        formats = {"i": integers, "f": [b"f", b"g"], "b": [b"b"], "s": TEXTS, "d": [b"d:10,2"]}
        chosen = at.choice(formats[name])
        self.schemas.append(maker.schema(chosen, label))
        self.columns.append(maker.column(chosen, values))

    def source(self) -> Exported | Streamed:
        if self.random.random() < 0.3:
            return Streamed(self.maker, self.schema, self.array)
        return Exported(self.maker, self.schema, self.array)


def lie(case: Case) -> None:
    """Make one thing wrong, that need not point anywhere."""
    at = case.random
    column = at.choice(case.columns)
    array = at.choice([case.array, column, column])
    if column.dictionary and at.random() < 0.3:
        array = CArray.from_address(column.dictionary)
    schema = at.choice([case.schema, *case.schemas])
    choice = at.randrange(16)
    if choice == 0:
        array.length = at.choice(HUGE)
    elif choice == 1:
        array.offset = at.choice(HUGE)
    elif choice == 2:
        array.null_count = at.choice([5, 2**62, -7, 0])
    elif choice == 3:
        array.n_buffers = at.choice([-1, 0, 1, 2, 3, 9, -(2**63)])
    elif choice == 4:
        array.n_children = at.choice([-1, 0, 1, 4, 6, 2**62])
    elif choice == 5:
        array.buffers = None
    elif choice == 6:
        array.children = None
    elif choice == 7:
        array.dictionary = None
    elif choice == 8:
        array.release = None
    elif choice == 9 and array.buffers:
        (ctypes.c_void_p * 4).from_address(array.buffers)[at.randrange(4)] = None
    elif choice == 10:
        array.length = max(0, array.length - at.randrange(1, 9))
    elif choice in (11, 12, 13):
        scribble(case, column)
    elif choice == 14:
        lie_of_schema(case, schema)
    else:
        schema.format = at.choice(FORMATS)


def scribble(case: Case, column: CArray) -> None:
    """Write anything over the offsets of texts, but not over the last, which is their length."""
    at = case.random
    if column.n_buffers < 2 or not column.buffers:
        return
    which = case.columns.index(column)
    format = case.schemas[which].format
    target = column
    if column.dictionary and at.random() < 0.5:
        target = CArray.from_address(column.dictionary)
        if not target.buffers or not case.schemas[which].dictionary:
            return
        format = CSchema.from_address(case.schemas[which].dictionary).format
    if not 0 < target.length < 2**20 or not 0 <= target.offset < 2**20:
        return
    row = target.offset + at.randrange(target.length)
    start = (ctypes.c_void_p * 2).from_address(target.buffers)[1]
    if start is None:
        return
    if format in (b"u", b"U"):
        wide = ctypes.c_int32 if format == b"u" else ctypes.c_int64
        places = (wide * (target.offset + target.length + 1)).from_address(start)
        places[row] = at.choice([-1, -(2**31), 2**31 - 1, 3, 0, places[row] + 1])
    elif format == b"vu":
        words = (ctypes.c_int32 * 4).from_address(start + 16 * row)
        words[at.randrange(4)] = at.choice([-1, 2**31 - 1, -(2**31), 13, 100, 0])
    else:
        ctypes.memmove(start + row, at.randbytes(8), 8)


def lie_of_schema(case: Case, schema: CSchema) -> None:
    at = case.random
    if not schema.children:
        return
    children = (ctypes.c_void_p * 8).from_address(schema.children)
    choice = at.randrange(9)
    if choice == 0:
        schema.format = None
    elif choice == 1:
        schema.name = at.choice([None, b"\xff\xfe", b"i", b"", b"x" * 5000])
    elif choice == 2:
        schema.n_children = at.choice([-1, 0, 1, 4, 6, 60, -(2**63)])
    elif choice == 3:
        schema.children = None
    elif choice == 4:
        children[at.randrange(6)] = None
    elif choice == 5:
        schema.release = None
    elif choice == 6:
        # Round in a circle.
        children[at.randrange(5)] = ctypes.addressof(case.schema)
        schema.n_children = max(1, schema.n_children)
    elif choice == 7:
        schema.dictionary = ctypes.addressof(at.choice([case.schema, *case.schemas]))
    else:
        schema.flags = at.choice([0, 1, 4, -1])


def rows(db: rv.Database) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in db["v"]), key=repr)


def take(db: rv.Database, case: Case, source: Exported | Streamed) -> None:
    """The rows of a case, at once or in a transaction."""
    if case.random.random() < 0.5:
        db.insert("r", source)
        return
    with db.transaction() as tx:
        tx.insert("r", source)
        # Buffers that were taken are not read again.
        for buffer in case.maker.alive:
            if isinstance(buffer, ctypes.Array) and buffer._type_ is ctypes.c_char:
                ctypes.memset(buffer, 0xFF, ctypes.sizeof(buffer))


def check_released(case: Case, times: int) -> None:
    """A thread that reads may need a moment, and what an exception holds a collection."""
    for _ in range(1000):
        if case.maker.released == times:
            return
        gc.collect()
        time.sleep(0.01)
    raise AssertionError((case.maker.released, times))


def odd(seed: int, db: rv.Database) -> None:
    case = Case(seed)
    take(db, case, case.source())
    found, expected = rows(db), sorted(case.rows, key=repr)
    assert found == expected, (found, expected)
    check_released(case, 1)
    db.delete("r", db["v"].to_arrow())


def wrong(seed: int, db: rv.Database) -> None:
    case = Case(seed)
    source = case.source()
    for _ in range(case.random.choice([1, 1, 2])):
        lie(case)
    if isinstance(source, Streamed) and case.random.random() < 0.3:
        field = case.random.choice(["get_schema", "get_next", "get_last_error", "release"])
        setattr(source.stream, field, None)
    if isinstance(source, Streamed) and case.random.random() < 0.3:
        source.code, source.text = 5, case.random.choice([b"", b"the disk is gone"])
    before, size = len(db.tables["r"]), case.array.length
    alive = case.array.release is not None
    try:
        take(db, case, source)
        size = size if len(db.tables["r"]) > before else 0
        assert len(db.tables["r"]) == before + size
    except rv.errors.RingviewError:
        assert len(db.tables["r"]) == before
    check_released(case, alive and case.array.release is None)
    if len(db.tables["r"]) > 1000:
        db.delete("r", db["v"].to_arrow())
        assert len(db.tables["r"]) == 0
        assert len(db["n"]) == 0


def main(first: int, count: int) -> None:
    odd_ones, wrong_ones = database(), database()
    for seed in range(first, first + count):
        print(seed, flush=True)
        if seed % 3:
            wrong(seed, wrong_ones)
        else:
            odd(seed, odd_ones)
    print("done", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
