"""Constants against DuckDB: casts, float32, letters of every case, queries as deep as can be."""

from __future__ import annotations

from datetime import date, datetime
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparable
from ringview import errors

FLOATS = [0.1, 1.5, -0.1, 0.0, 16777216.0, 1e-3, 3.4e38, None]
R = {"f": "float32", "g": "float64", "a": "int64"}
ROWS = [{"f": f, "g": f, "a": number} for number, f in enumerate(FLOATS)]


def filled() -> tuple[rv.Database, pa.Table]:
    db = rv.Database()
    table = db.create_table("r", R)
    db.insert("r", ROWS)
    return db, pa.Table.from_pylist(ROWS, schema=table.schema)


@cache
def oracle() -> tuple[rv.Database, duckdb.DuckDBPyConnection]:
    """The same rows in both, once: the tests only read them."""
    db, rows = filled()
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.register("r", rows)
    return db, connection


def check(sql: str) -> None:
    db, connection = oracle()
    expected = comparable(connection.sql(sql).to_arrow_table())
    view = db.create_view("v", sql)
    try:
        assert comparable(view.to_arrow()) == expected, sql
    finally:
        db.drop_view("v")


CASTS = [
    *("CAST(1.5 AS INT)", "CAST(2.5 AS INT)", "CAST(-2.5 AS INT)", "CAST(2.5e0 AS INT)"),
    *("CAST(TRUE AS INT)", "CAST(5 AS UTINYINT)", "5::HUGEINT"),
    *("CAST(1.2345 AS DECIMAL)", "CAST(1.5 AS DECIMAL(5))", "CAST(1.255 AS DECIMAL(4, 2))"),
    *("CAST(1e0 AS DECIMAL(4, 2))", "CAST(127 AS TINYINT)", "CAST(0.1 AS DOUBLE)"),
]
SINGLES = ["0.1", "0.1e0", "-0.1", "1", "1.5", "16777217", "'0.1'", "CAST(0.1 AS FLOAT)", "1e300"]


@pytest.mark.parametrize("constant", CASTS)
def test_casts_of_constants(constant: str) -> None:
    check(f"SELECT COUNT(*) FROM r WHERE a < {constant}")
    check(f"SELECT COUNT(*) FROM r WHERE a = {constant}")


@pytest.mark.parametrize(
    "constant",
    [
        *("CAST(300 AS TINYINT)", "CAST(3000000000 AS INT)", "CAST(-1 AS UTINYINT)"),
        *("CAST(99999999999999999999 AS BIGINT)", "CAST(128 AS TINYINT)"),
        "CAST(1e39 AS FLOAT)",
        *("CAST(123456 AS DECIMAL(5, 2))", "CAST(5 AS DECIMAL(2, 3))", "CAST('x' AS INT)"),
    ],
)
def test_casts_out_of_range_are_refused(constant: str) -> None:
    sql = f"SELECT COUNT(*) FROM r WHERE a = {constant}"
    db, connection = oracle()
    with pytest.raises(duckdb.Error):
        connection.sql(sql).to_arrow_table()
    with pytest.raises(errors.QueryError):
        db.create_view("v", sql)


@pytest.mark.parametrize("constant", SINGLES)
@pytest.mark.parametrize("column", ["f", "g"])
def test_float32_beside_constants(column: str, constant: str) -> None:
    for comparison in ("=", "<>", "<", "<=", ">", ">="):
        check(f"SELECT COUNT(*) FROM r WHERE {column} {comparison} {constant}")
        check(f"SELECT COUNT(*) FROM r WHERE {constant} {comparison} {column}")
        check(
            f"SELECT a, MIN({column}) AS m FROM r GROUP BY a "
            f"HAVING MIN({column}) {comparison} {constant}"
        )
    check(f"SELECT COUNT(*) FROM r WHERE {column} IN ({constant})")
    check(f"SELECT COUNT(*) FROM r WHERE {column} BETWEEN {constant} AND {constant}")


@given(st.decimals(-1000, 1000, places=3))
def test_float32_finds_what_was_written(value: Any) -> None:
    db = rv.Database()
    db.create_table("r", {"f": "float32"})
    db.insert("r", {"f": [float(value)]})
    assert db.create_view("v", f"SELECT COUNT(*) FROM r WHERE f = {value}").scalar() == 1
    assert db.create_view("w", f"SELECT COUNT(*) FROM r WHERE f <> {value}").scalar() == 0


def test_ilike_folds_case() -> None:
    db = rv.Database()
    db.create_table("r", {"n": "string"})
    db.insert("r", {"n": ["ΟΔΟΣ", "οδος", "İx", "\u0131x", "Straße", "STRASSE", "\u212a"]})

    def count(pattern: str) -> object:
        db.create_view("v", f"SELECT COUNT(*) FROM r WHERE n ILIKE '{pattern}'")
        found = db["v"].scalar()
        db.drop_view("v")
        return found

    patterns = ["οδοσ", "ΟΔΟς", "_X", "k", "strasse", "STRAßE", "%Σ"]
    assert [count(pattern) for pattern in patterns] == [2, 2, 2, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("schema", "row", "sql"),
    [
        (
            {"t": "timestamp[ns]", "d": "date32"},
            {"t": None, "d": date(9999, 12, 31)},
            "SELECT COALESCE(MIN(t), MAX(d)) AS m FROM r",
        ),
        (
            {"t": "timestamp[ns]", "d": "timestamp[s]"},
            {"t": None, "d": datetime(9000, 1, 1)},
            "SELECT COALESCE(MIN(t), MAX(d)) AS m FROM r",
        ),
    ],
)
def test_moments_out_of_range_do_not_wrap(
    schema: dict[str, str], row: dict[str, Any], sql: str
) -> None:
    db = rv.Database()
    db.create_table("r", schema)
    view = db.create_view("v", sql)

    def insert_and_read() -> None:
        db.insert("r", [row])
        view.to_arrow()

    with pytest.raises(errors.ArithmeticOverflowError, match='column "m"'):
        insert_and_read()
    # The same query computes values in range.
    db.drop_view("v")
    if len(db.tables["r"]):
        db.delete("r", [row])
    db.insert("r", [{**row, "d": date(2000, 1, 1)}])
    assert str(db.create_view("w", sql).scalar()).startswith("2000-01-01 00:00:00")


@pytest.mark.parametrize("terms", [33, 125, 126, 200])
def test_long_sums_and_products(terms: int) -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    db.insert("r", {"a": [1, 2]})
    for text, expected in (
        (f"SUM({' + '.join(['a'] * terms)})", 3 * terms),
        (f"SUM(0{' + a + 1' * (terms // 2)})", 5 * (terms // 2)),
        (" + ".join(["SUM(a)"] * terms), 3 * terms),
        (" * ".join(["COUNT(*)"] * 40), 2**40),
    ):
        view = db.create_view("v", f"SELECT {text} AS s FROM r")
        assert view.scalar() == expected
        db.drop_view("v")


def test_what_is_too_deep_says_so() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    order: dict[str, Any] = {}
    for _ in range(125):
        order = {"a": order}
    for sql in (
        ("SELECT SUM(" + "-(1 + " * 100 + "a" + ")" * 100 + ") FROM r"),
        ("SELECT SUM(" + " - ".join(["a"] * 202) + ") FROM r"),
    ):
        with pytest.raises(errors.UnsupportedError, match="nested too deeply"):
            db.create_view("v", sql)
    # An order is no text, and as deep as there are variables.
    with pytest.raises(errors.UnsupportedError, match="twice"):
        db.create_view("v", "SELECT COUNT(*) FROM r GROUP BY a", order=order)
