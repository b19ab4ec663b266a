"""A table of every type, and what a query of it gives: here, as a live view, and in DuckDB.

A query that fails there fails here: at once, or with the first rows that cannot be computed.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import ringview as rv
from oracle import Oracle, comparable

SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "n": pa.int32(),
        "b": pa.int8(),
        "u": pa.uint8(),
        "m": pa.decimal128(12, 2),
        "f": pa.float64(),
        "s": pa.string(),
        "d": pa.date32(),
        "ts": pa.timestamp("us"),
        "t": pa.bool_(),
    }
)
_VALUES: list[tuple[Any, ...]] = [
    (1, 2, 3, 4, "2.40", 2.5, "1", dt.datetime(2024, 2, 29, 12, 34, 56), True),
    (0, 0, 0, 0, "0.00", 0.0, "ab", dt.datetime(2023, 12, 31), False),
    (-7, -5, -100, 200, "-2.60", -1.5, "xaz", dt.datetime(2024, 1, 1, 23, 59, 59), True),
]
ROWS: list[dict[str, Any]] = [
    {
        **dict(zip("inbu", row, strict=False)),
        "m": Decimal(row[4]),
        "f": row[5],
        "s": row[6],
        "d": row[7].date(),
        "ts": row[7],
        "t": row[8],
    }
    for row in _VALUES
] + [dict.fromkeys(SCHEMA.names)]
FAILS = "it fails"
ORACLE = Oracle({"x": SCHEMA})
# Its rewriting of comparisons takes away operands that fail.
ORACLE.connection.execute("PRAGMA disable_optimizer")


def statement(text: str) -> str:
    """A query of the table; an expression alone is a column of it."""
    return text if text.upper().startswith("SELECT") else f"SELECT {text} AS v FROM x"


def expected(text: str) -> Any:
    """The rows that DuckDB gives."""
    try:
        return ORACLE.rows(statement(text), {"x": ROWS})
    except duckdb.Error:
        return FAILS


def database() -> rv.Database:
    db = rv.Database()
    db.create_table("x", SCHEMA)
    return db


def asked(text: str) -> Any:
    """The rows of the query here."""
    db = database()
    db.insert("x", ROWS)
    try:
        return comparable(db.sql(statement(text)))
    except rv.RingviewError:
        return FAILS


def kept(text: str) -> Any:
    """The rows of a view created before its rows, after some were deleted and inserted again."""
    db = database()
    try:
        view = db.create_view("v", statement(text))
        db.insert("x", ROWS)
        db.delete("x", ROWS[:2])
        db.insert("x", ROWS[:2])
    except rv.RingviewError:
        return FAILS
    return comparable(view.to_arrow())


def check(text: str) -> None:
    """The query gives the same as in DuckDB, run once and kept."""
    wanted = expected(text)
    for how in (asked, kept):
        found = how(text)
        assert found == wanted, (how.__name__, text, found, wanted)
