"""Hands mutated streams of Arrow to a server's tables: `python fuzz_ipc.py FIRST COUNT`.

A case changes some bytes of a stream that is right, of its lengths, offsets, indices and views or
of anything. It is refused with an error of ringview, or taken, all of it or nothing, and the rows
that were taken can be read. The last line printed is `done`; the one before names the seed.
"""

from __future__ import annotations

import random
import struct
import sys
from decimal import Decimal
from typing import Any

import pyarrow as pa
import ringview as rv
from ringview.serve import writes
from ringview.serve.answers import ARROW
from ringview.serve.authentication import Limits
from ringview.serve.context import Context

_SCHEMA = {
    "i": "int64",
    "f": "float64",
    "b": "bool",
    "s": "string",
    "d": "decimal128(10, 2)",
    "t": "timestamp[us]",
}
_TEXTS = ["", "a", "bé", "exactly 12 ..", "longer than what a view holds", None, "日本語" * 9]
_NUMBERS = [0, 1, -1, 7, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63), 64, 255]
MOST = 1 << 20


def context() -> Context:
    db = rv.Database()
    db.create_table("r", _SCHEMA)
    db.create_view("v", "SELECT s, COUNT(*) AS n, SUM(i) AS i, MAX(t) AS t FROM r GROUP BY s")
    return Context(db, Limits(max_body=MOST), writable=True, followers=False, connectors=[])


def table(at: random.Random) -> pa.Table:
    """Rows in one of the layouts that a column may have."""
    count = at.choice([0, 1, 3, 9, 40])
    texts = [at.choice(_TEXTS) for _ in range(count)]
    kind = at.choice(
        [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    )
    columns: dict[str, pa.Array] = {
        "i": pa.array([at.choice([None, 5, -3]) for _ in range(count)], pa.int64()),
        "f": pa.array([at.random() for _ in range(count)], pa.float64()),
        "b": pa.array([at.choice([None, True]) for _ in range(count)], pa.bool_()),
        "s": pa.array(texts, pa.string()).cast(kind),
        "d": pa.array([Decimal(at.randrange(999)) / 4 for _ in range(count)], pa.decimal128(10, 2)),
        "t": pa.array([at.randrange(9**9) for _ in range(count)], pa.timestamp("us")),
    }
    if at.random() < 0.2:
        nested: dict[str, Any] = {
            "l": pa.array([texts] * count, pa.list_(kind)),
            "v": pa.array([texts] * count, pa.list_view(pa.string())),
            "m": pa.array([{"a": text} for text in texts], pa.struct({"a": pa.string()})),
            "n": pa.nulls(count),
            "r": pa.RunEndEncodedArray.from_arrays(
                pa.array([max(count, 1)], pa.int32()), pa.array(["a"])
            )[:count],
        }
        name = at.choice(list(nested))
        columns[at.choice(["i", "s"])] = nested[name]
    return pa.table(columns)


def body(at: random.Random) -> bytes:
    """A stream that is right."""
    rows = table(at)
    options = pa.ipc.IpcWriteOptions(compression=at.choice([None, None, None, "lz4", "zstd"]))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        for _ in range(at.choice([1, 1, 2])):
            writer.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())


def mutated(at: random.Random, data: bytes) -> bytes:
    """The same with a few bytes that say something else."""
    changed = bytearray(data)
    for _ in range(at.choice([1, 1, 1, 2, 4])):
        kind = at.randrange(6)
        if kind == 0:
            changed[at.randrange(len(changed))] ^= 1 << at.randrange(8)
        elif kind == 1:
            changed[at.randrange(len(changed))] = at.choice([0, 1, 127, 128, 255])
        elif kind in (2, 3):
            # A number where one is likely to be.
            place, wide = at.randrange(0, len(changed) - 8, 4), at.choice("iq")
            number = at.choice(_NUMBERS)
            size = 8 * struct.calcsize(wide)
            number = (number + 2 ** (size - 1)) % 2**size - 2 ** (size - 1)
            struct.pack_into(f"<{wide}", changed, place, number)
        elif kind == 4:
            one, two = at.randrange(len(changed)), at.randrange(len(changed))
            changed[one : one + 8] = changed[two : two + 8]
        else:
            del changed[at.randrange(max(len(changed) - 64, 1)) :][: at.randrange(64)]
    return bytes(changed)


def case(seed: int, of: Context) -> bool:
    """One mutation; whether it was taken."""
    at = random.Random(seed)
    data = body(at)
    if seed % 10:
        data = mutated(at, data)
    held = of.db.tables["r"]
    before = len(held)
    try:
        rows = writes._read(data, ARROW, MOST)
        found = writes._apply(of, [{"table": "r", "op": "insert", "rows": rows}], None)
    except rv.errors.RingviewError:
        assert len(held) == before
        return False
    assert len(held) == before + found["rows"]
    of.db["v"].to_arrow().validate(full=True)
    if len(held) > 2000:
        held.to_arrow().validate(full=True)
        of.db.delete("r", held.to_arrow())
        assert len(held) == 0
    return True


def main(first: int, count: int) -> None:
    of, taken = context(), 0
    for seed in range(first, first + count):
        print(seed, flush=True)
        taken += case(seed, of)
    assert taken > count // 20, taken
    of.close()
    print("done", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
