"""Conditions on every pair of types: DuckDB's answer, or a refusal with the place in the text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from oracle import Oracle

SCHEMA = pa.schema(
    {
        "d": pa.date32(),
        "s": pa.timestamp("s"),
        "us": pa.timestamp("us"),
        "ns": pa.timestamp("ns"),
        "tz": pa.timestamp("us", tz="UTC"),
        "b": pa.bool_(),
        "t": pa.string(),
        "i": pa.int32(),
        "l": pa.int64(),
        "u": pa.uint64(),
        "f": pa.float64(),
        "p": pa.decimal128(10, 2),
    }
)


def _row(day: date, at: datetime, b: bool | None, t: str, i: int, large: int, u: int) -> list[Any]:
    second = at.replace(microsecond=0)
    half = Decimal(i) - Decimal("0.5")
    return [day, second, at, at, at.replace(tzinfo=UTC), b, t, i, large, u, float(half), half]


VALUES = [
    _row(date(1995, 1, 31), datetime(1995, 1, 31), True, "a%b", 1, 2**63 - 1, 2**64 - 1),
    _row(date(1995, 2, 1), datetime(1995, 1, 31, 12, 0, 0, 5), False, "A\nb", 2, -(2**63), 2**63),
    _row(date(1969, 12, 31), datetime(1969, 12, 31, 23, 59, 59, 999_999), None, "É", -2, 0, 0),
    [None] * len(SCHEMA),
]
ROWS = [dict(zip(SCHEMA.names, row, strict=True)) for row in VALUES]
MOMENTS = [
    "DATE '1995-01-31'",
    "DATE '1995-01-31' + INTERVAL '1' DAY",
    "DATE '1995-01-31' + INTERVAL '1' MONTH",
    "CAST('1995-01-31' AS DATE)",
    "TIMESTAMP '1995-01-31'",
    "TIMESTAMP '1995-01-31 12:00:00'",
    "TIMESTAMP '1995-01-31 12:00:00.000005'",
    "TIMESTAMP '1969-12-31 23:59:59'",
    "TIMESTAMP '1969-12-31 23:59:59.999999'",
    "'1995-01-31'",
]
CONDITIONS = [
    *(f"{c} {o} {m}" for c in ("d", "s", "us", "ns") for o in ("=", "<", ">=") for m in MOMENTS),
    *(f"tz {o} TIMESTAMPTZ '1995-01-31 12:00:00.000005+00'" for o in ("=", "<", ">=")),
    *(f"{one} {o} {other}" for one in ("d", "us") for other in ("s", "ns") for o in ("=", "<")),
    *("tz = DATE '1995-01-31'", "d = TIMESTAMPTZ '1995-01-31 12:00:00+00'"),
    *("d < us", "d IN ('1995-01-31', NULL)", "us IN ('1995-01-31')"),
    "d BETWEEN '1995-01-01' AND TIMESTAMP '1995-01-31 12:00:00'",
    "d NOT BETWEEN DATE '1995-01-31' AND TIMESTAMP '1995-01-31 12:00:00'",
    *("b", "NOT b", "b = TRUE", "b IS NULL", "b IS NOT TRUE", "b IS FALSE", "b < TRUE"),
    *("t LIKE '%\n%'", "t LIKE '_\nb'", "t LIKE 'a\\%b' ESCAPE '\\'", "t LIKE ''", "t ILIKE 'é'"),
    *("t = 'É'", "t < 'b'", "t >= 'A' AND t < 'b'", "t = NULL", "t = t", "t NOT ILIKE 'A%'"),
    *("i = 1.0", "i = 1.5", "i < 1.5", "i IN (1, 2.0)", "i IN (1.5)", "i IN (NULL)"),
    *("i NOT IN (1, NULL)", "i BETWEEN 0 AND 1.5", "i BETWEEN NULL AND 5", "i = -(-1)"),
    *("NOT (i BETWEEN NULL AND 0)", "i + NULL > 0", "i = 1 OR NULL", "i = '1'"),
    *("p = 0.5", "p = 0.500", "p < 0.501", "p = 0.505", "p IN (0.5, 1.505)", "p > '0.4'"),
    *("p = f", "i = p", "f > i", "p * 2 = i", "p * f > 0", "i + f = p + 1", "f > '0.4'"),
    *("f = f", "NOT (f = f)", "f = 0.5", "f IN (0.5, 1)", "l = 1e30", "l * 0.5 > 0"),
    *("l = 9223372036854775807", "l < 99999999999999999999", "l > -99999999999999999999"),
    *("u > 18446744073709551614", "u >= 9223372036854775808", "u > -1", "u = l", "l < u"),
    "p < 123456789012345678901234567890.12345",
    *("f = 1e400", "i / 2 = 1", "i % 2 = 0", "ABS(i) = 2", "t LIKE t"),
    *("i IS DISTINCT FROM 1", "i IS DISTINCT FROM 1 AND l > 0 OR b", "(i > 1) = b"),
    *("(i > 1) IS TRUE", "(i > f) IS NOT TRUE", "(d < us) IS UNKNOWN", "(l > u) IS NOT UNKNOWN"),
    *("(i IN (1, NULL)) IS UNKNOWN", "(t > 'b' AND i > 0) IS NOT FALSE", "(i > 1 OR b) IS NULL"),
    *("(NOT b) IS NOT NULL", "((i > 1) IS NULL) IS FALSE", "NOT ((p < 1 AND b) IS FALSE)"),
    *("1 = 1", "1 = 0", "NULL", "FALSE OR NULL", "NULL = NULL", "1 = 1 AND NULL", "TRUE"),
]
REFUSED = [
    *("b = 1", "i = TRUE", "t > 5", "d > 5", "d = 'no day'", "us < 'no moment'", "i > 'x'"),
    *("d", "us", "t LIKE 5", "i IN (1, 'x')", "d BETWEEN 1 AND 5", "CASE WHEN i = 'x' THEN b END"),
]


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle({"r": SCHEMA})


@pytest.fixture(scope="module")
def db() -> rv.Database:
    db = rv.Database()
    db.create_table("r", SCHEMA)
    db.insert("r", ROWS)
    return db


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(db: rv.Database, oracle: Oracle, condition: str) -> None:
    sql = f"SELECT COUNT(*) AS n FROM r WHERE {condition}"
    try:
        found = db.create_view("v", sql).scalar()
    finally:
        if "v" in db:
            db.drop_view("v")
    assert found == oracle.query(sql, {"r": ROWS}).column(0)[0].as_py()


@pytest.mark.parametrize("condition", REFUSED)
def test_conditions_that_are_refused(db: rv.Database, condition: str) -> None:
    with pytest.raises(rv.RingviewError, match=r"^line 1, column \d+: "):
        db.create_view("v", f"SELECT COUNT(*) AS n FROM r WHERE {condition}")
    assert "v" not in db


@pytest.mark.parametrize("expression", ["l + 1", "-l", "l * l * l"])
def test_arithmetic_of_a_condition_never_wraps(db: rv.Database, expression: str) -> None:
    with pytest.raises(rv.errors.ArithmeticOverflowError, match="overflow in"):
        db.create_view("v", f"SELECT COUNT(*) AS n FROM r WHERE {expression} > 0")
    assert "v" not in db
