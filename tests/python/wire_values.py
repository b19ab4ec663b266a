"""A table of all types that COPY reads, and random rows of it with what is hard to write."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema(
    {
        "b": pa.bool_(),
        "i1": pa.int8(),
        "i2": pa.int16(),
        "i4": pa.int32(),
        "i8": pa.int64(),
        "u1": pa.uint8(),
        "u8": pa.uint64(),
        "f4": pa.float32(),
        "f8": pa.float64(),
        "d": pa.decimal128(20, 4),
        "t": pa.string(),
        "day": pa.date32(),
        "at": pa.timestamp("us"),
        "z": pa.timestamp("us", "UTC"),
    }
)
# PostgreSQL's names of these types, for drivers that send binary values.
TYPES = [
    *("bool", "int2", "int2", "int4", "int8", "int2", "numeric", "float4", "float8", "numeric"),
    *("text", "date", "timestamp", "timestamptz"),
]
TEXTS = ["", " ", "\\", "\\N", "\\.", "NULL", "null", '"', '""', ",", ";", "\t", "\n", "\r\n", "\r"]
TEXTS += ["a'b", "ä€😀", "{}", "{a,b}", "x\\ny", "\x01", "\x0b\x08\x0c", "end\\", "a\n\\.\nb", "|"]


def _text(chosen: random.Random) -> str:
    return "".join(chosen.choices([*TEXTS, "x", "yz"], k=chosen.randrange(5)))


def _row(chosen: random.Random) -> dict[str, Any]:
    whole = {"i1": (7, True), "i2": (15, True), "i4": (31, True), "i8": (63, True)}
    whole |= {"u1": (8, False), "u8": (64, False)}
    row: dict[str, Any] = {"b": chosen.random() < 0.5}
    for name, (bits, signed) in whole.items():
        ends = [-(2**bits) if signed else 0, 2**bits - 1, 0]
        row[name] = chosen.choice([*ends, chosen.randrange(ends[0], ends[1])])
    # Those whose shortest text is that of a double, too.
    row["f4"] = chosen.choice([0.5, -1234.75, 2.0**-10, float("inf"), float(chosen.randrange(999))])
    row["f8"] = chosen.choice([0.1, -1e300, 5e-324, float("-inf"), chosen.random(), 1e16])
    row["d"] = Decimal(chosen.randrange(-(10**20) + 1, 10**20)).scaleb(-4)
    row["t"] = _text(chosen)
    row["day"] = date(1, 1, 1) + timedelta(chosen.randrange(3_000_000))
    moment = datetime(1, 1, 1) + timedelta(seconds=chosen.randrange(10**10))
    row["at"] = moment + timedelta(microseconds=chosen.randrange(10**6))
    row["z"] = row["at"].replace(tzinfo=UTC)
    return {name: None if chosen.random() < 0.2 else value for name, value in row.items()}


def random_rows(seed: int, count: int) -> pa.Table:
    """So many rows, the same for the same seed."""
    chosen = random.Random(seed)
    return pa.Table.from_pylist([_row(chosen) for _ in range(count)], SCHEMA)
