"""Functions and clauses by what a dialect means by their names, as queries and as kept views.

Each expected value is that of the dialect's own manual, not of DuckDB.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
import ringview as rv

TABLE = "CREATE TABLE t (k BIGINT, x DOUBLE, s VARCHAR, d DATE)"
ROWS = (
    "INSERT INTO t VALUES (1, 2.7, 'abc', '2024-05-05'), (2, -2.7, 'é', '2024-12-30'), "
    "(3, NULL, NULL, NULL)"
)


@pytest.fixture
def db() -> rv.Database:
    found = rv.Database()
    found.execute(TABLE)
    found.execute(ROWS)
    return found


def values(db: rv.Database, expr: str, dialect: str) -> list[Any]:
    """An expression of each row in the order of k, run once and kept through an insert."""
    sql = f"SELECT k, {expr} AS v FROM t"
    asked = sorted(db.sql(sql, dialect=dialect).to_pylist(), key=lambda row: row["k"])
    view = db.create_view("v", sql, dialect=dialect)
    db.execute("INSERT INTO t VALUES (4, 1.5, 'x', '2024-01-01'); DELETE FROM t WHERE k = 4")
    kept = sorted(view.to_arrow().to_pylist(), key=lambda row: row["k"])
    assert kept == asked
    return [row["v"] for row in asked]


@pytest.mark.parametrize(
    ("dialect", "expr", "expected"),
    [
        ("spark", "weekday(d)", [6, 0, None]),
        ("spark", "dayofweek(d)", [1, 2, None]),
        ("spark", "EXTRACT(dayofweek FROM d)", [1, 2, None]),
        ("bigquery", "EXTRACT(dayofweek FROM d)", [1, 2, None]),
        ("snowflake", "dayofweek(d)", [0, 1, None]),
        ("bigquery", "EXTRACT(isoweek FROM d)", [18, 1, None]),
        ("bigquery", "log(8, 2)", [3.0] * 3),
        ("spark", "log(2, 8)", [3.0] * 3),
        ("snowflake", "greatest(k, x)", [2.7, 2.0, None]),
        ("bigquery", "least(k, x)", [1.0, -2.7, None]),
        ("mysql", "greatest(k, x)", [2.7, 2.0, None]),
        ("spark", "greatest(k, x)", [2.7, 2.0, 3.0]),
        ("postgres", "greatest(k, x)", [2.7, 2.0, 3.0]),
        ("spark", "substring(s, 0, 2)", ["ab", "é", None]),
        ("snowflake", "substr(s, k - 1, 1)", ["a", "é", None]),
        ("bigquery", "substr(s, 0, 2)", ["ab", "é", None]),
        ("postgres", "substring(s, -1, 4)", ["ab", "é", None]),
        ("postgres", "substring(s, 0)", ["abc", "é", None]),
        ("postgres", "substr(s, k - 1, 2)", ["a", "é", None]),
        ("duckdb", "substring(s, -1)", ["c", "é", None]),
        ("spark", "left(s, -1)", ["", "", ""]),
        ("mysql", "right(s, k - 2)", ["", "", None]),
        ("postgres", "left(s, -1)", ["ab", "", None]),
        ("spark", "position('b', s)", [2, 0, None]),
        ("postgres", "s ~ 'b'", [True, False, None]),
        ("postgres", "regexp_extract(s, 'b.')", ["bc", "", None]),
        ("mysql", "length(s)", [3, 2, None]),
        ("spark", "length(s)", [3, 1, None]),
        ("postgres", "to_hex(k + 9)", ["a", "b", "c"]),
        ("duckdb", "to_hex(k + 9)", ["A", "B", "C"]),
        ("bigquery", "format('%d!', k)", ["1!", "2!", "3!"]),
        ("spark", "CAST(x AS INT)", [2, -2, None]),
        ("spark", "CAST('7' AS INT) + k", [8, 9, 10]),
        ("databricks", "CAST(k / 2 AS BIGINT)", [0, 1, 1]),
        ("duckdb", "CAST(x AS INT)", [3, -3, None]),
        ("postgres", "CAST(s AS VARCHAR(2))", ["ab", "é", None]),
        ("mysql", "CAST(s AS CHAR(2))", ["ab", "é", None]),
        ("spark", "CAST(s AS VARCHAR(2))", ["abc", "é", None]),
        ("spark", "array_position(array(k, 7), 7)", [2, 2, 2]),
        ("spark", "array_position(array(k, 7), 9)", [0, 0, 0]),
    ],
)
def test_a_function_means_what_the_dialect_means(
    db: rv.Database, dialect: str, expr: str, expected: list[Any]
) -> None:
    assert values(db, expr, dialect) == expected


@pytest.mark.parametrize(
    ("dialect", "expr", "expected"),
    [
        ("mysql", "stddev(x)", 2.7),
        ("mysql", "variance(k)", 2 / 3),
        ("postgres", "variance(k)", 1.0),
        ("snowflake", "listagg(s)", "abcé"),
        ("duckdb", "listagg(s)", "abc,é"),
        ("mysql", "group_concat(s)", "abc,é"),
    ],
)
def test_an_aggregate_means_what_the_dialect_means(
    db: rv.Database, dialect: str, expr: str, expected: Any
) -> None:
    sql = f"SELECT {expr} AS v FROM t"
    [row] = db.sql(sql, dialect=dialect).to_pylist()
    assert row["v"] == pytest.approx(expected) if isinstance(expected, float) else expected
    view = db.create_view("v", sql, dialect=dialect)
    assert view.to_arrow().to_pylist() == [row]


@pytest.mark.parametrize(
    ("dialect", "expr", "words"),
    [
        ("mysql", "week(d)", "counts weeks from Sunday"),
        ("mysql", "EXTRACT(week FROM d)", "counts weeks from Sunday"),
        ("bigquery", "EXTRACT(week FROM d)", "counts weeks from Sunday"),
        ("spark", "initcap(s)", "begins words at blanks"),
        ("spark", "skewness(x)", "of a population"),
        ("postgres", "format('%s', s)", "is not DuckDB's"),
        ("postgres", "regexp_matches(s, 'a')", "gives rows of lists"),
        ("bigquery", "regexp_extract(s, '(a)b')", "the group of the pattern"),
        ("snowflake", "array_position(k, [k])", "counts from 0"),
    ],
)
def test_a_function_that_is_not_duckdbs_is_refused_at_its_place(
    db: rv.Database, dialect: str, expr: str, words: str
) -> None:
    with pytest.raises(rv.errors.UnsupportedError, match=words) as refused:
        db.sql(f"SELECT {expr} AS v FROM t", dialect=dialect)
    assert "line 1, column " in str(refused.value)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("WITH ROLLUP", [(1, 1), (2, 1), (3, 1), (None, 3)]),
        ("WITH CUBE", [(1, 1), (2, 1), (3, 1), (None, 3)]),
    ],
)
def test_groups_of_groups_of_spark(db: rv.Database, clause: str, expected: list[Any]) -> None:
    sql = f"SELECT k, count(*) AS n FROM t GROUP BY k {clause}"
    view = db.create_view("v", sql, dialect="spark")
    for rows in (db.sql(sql, dialect="spark"), view.to_arrow()):
        found = [(row["k"], row["n"]) for row in rows.to_pylist()]
        assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_results_are_of_the_types_that_duckdb_gives(db: rv.Database) -> None:
    sql = "SELECT coalesce(d, '2024-05-06') AS d, coalesce(x, 0) AS x FROM t WHERE k = 3"
    assert db.sql(sql).to_pylist() == [{"d": dt.date(2024, 5, 6), "x": 0.0}]
    [row] = db.sql("SELECT sum(k) // 4 AS q FROM t").to_pylist()
    assert row == {"q": Decimal(1)}
