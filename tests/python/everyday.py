"""Everyday SQL: tables with NULLs, duplicates and all types, and rows for them.

`r` and `s` join by `a`; `w` has the types that those lack. Domains are small, so that rows repeat
and meet. Random queries over them: `everyday_queries`.
"""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa

SCHEMAS = {
    "r": pa.schema(
        {
            "a": pa.int64(),
            "b": pa.int32(),
            "s": pa.string(),
            "d": pa.date32(),
            "p": pa.decimal128(10, 2),
            "f": pa.float64(),
            "ts": pa.timestamp("us"),
        }
    ),
    "s": pa.schema({"a": pa.int64(), "c": pa.int32(), "t": pa.string()}),
    "w": pa.schema(
        {
            "a": pa.int16(),
            "ok": pa.bool_(),
            "tiny": pa.int8(),
            "u1": pa.uint8(),
            "u2": pa.uint16(),
            "u4": pa.uint32(),
            "u8": pa.uint64(),
            "g": pa.float32(),
            "q": pa.decimal128(18, 4),
            "Day": pa.date32(),
            "at": pa.timestamp("us"),
            "My Text": pa.string(),
        }
    ),
}
LEAVES = {
    "r": {
        "integer": ["r.a", "r.b"],
        "decimal": ["r.p"],
        "double": ["r.f"],
        "text": ["r.s"],
        "day": ["r.d"],
        "moment": ["r.ts"],
        "truth": ["r.a = 1", "r.b > 0", "r.s = 'x'", "r.d IS NULL"],
    },
    "s": {"integer": ["s.a", "s.c"], "text": ["s.t"], "truth": ["s.c > 0", "s.t = 'x'"]},
    "w": {
        "integer": ["w.a", "w.tiny", "w.u1", "w.u2", "w.u4", "w.u8"],
        "decimal": ["w.q"],
        "double": ["CAST(w.g AS DOUBLE)"],
        "text": ['w."My Text"', 'W."my text"'],
        "day": ["w.day"],
        "moment": ["w.at"],
        "truth": ["w.ok", "NOT w.ok", "w.u8 > 3", "w.g < 1"],
    },
}
_DAYS = [dt.date(2024, month, day) for month in (1, 2, 3) for day in (1, 15, 29)]
_MOMENTS = [dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(2024, 2, 29, 23, 0, 0)]
_PRICES = [Decimal("1.50"), Decimal("2.25"), Decimal("-3.10")]
_VALUES: dict[str, dict[str, list[Any]]] = {
    "r": {
        "a": [None, 1, 2, 3],
        "b": [None, 0, 1, 2, 5, -4],
        "s": [None, "x", "yy", "Zed", ""],
        "d": [None, *_DAYS],
        "p": [None, *_PRICES],
        "f": [None, 0.5, 1.25, -2.0],
        "ts": [None, *_MOMENTS],
    },
    "s": {"a": [None, 1, 2, 3], "c": [0, 1, 2], "t": [None, "x", "q"]},
    "w": {
        "a": [None, 1, 2, 4],
        "ok": [None, True, False],
        "tiny": [None, -3, 0, 7],
        "u1": [None, 0, 1, 200],
        "u2": [1, 3],
        "u4": [None, 2, 70000],
        "u8": [None, 0, 5, 10**12],
        "g": [None, 0.25, -1.5],
        "q": [None, Decimal("0.0001"), Decimal("12.5000")],
        "Day": [None, dt.date(2023, 12, 31), dt.date(2024, 2, 29)],
        "at": [None, dt.datetime(1969, 7, 20, 20, 17, 40), *_MOMENTS],
        "My Text": [None, "", "x", "Yes, yes", "h\u00e9 y", "7", "2024-05-06"],
    },
}


def rows(rng: random.Random, table: str, number: int) -> list[dict[str, Any]]:
    """Rows of small domains, so that they repeat."""
    values = _VALUES[table]
    return [{name: rng.choice(values[name]) for name in values} for _ in range(number)]


def columns(table: str) -> list[str]:
    """The columns of a table as a text names them, all of which order its rows in full."""
    return [f'{table}."{name}"' for name in SCHEMAS[table].names]
