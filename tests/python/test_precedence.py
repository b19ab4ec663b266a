"""Operators bind as DuckDB's: expressions without brackets, each pair of operators."""

from __future__ import annotations

from itertools import product
from typing import Any

import duckdb
import pytest
import ringview as rv

INFIX = [
    *("+", "-", "*", "/", "//", "%", "^", "**", "&", "|", "<<", ">>", "||"),
    *("=", "<", "<>", "IS NOT DISTINCT FROM"),
]
PREFIX = ["-", "+", "~"]
BEHIND = [*INFIX, "BETWEEN 1 AND", "IN (1, 4) =", "IS NULL ="]
OTHERS = [
    "a + b BETWEEN b AND c + 1",
    "a | b BETWEEN 0 AND 9",
    "a = b IS NULL",
    "NOT a = b AND false",
    "a IS NULL = false",
    "- a ^ 2",
    "-a % 2 ^ 2",
    "a & 1 = 1",
    "c << 1 + 1",
    "a = 1 OR b = 2 AND c = 3",
    "a - 1 || 'x'",
    "a & ~b + 1",
    "a + ~b + 1",
    "~a + ~b",
    "~a + b * ~c | 1",
    "a | b * ~c | 1",
    "~a + 1 + ~b & 3",
    "a - ~b | a - ~c",
    "-a + ~b & 7",
    "a * ~b + ~c",
    "a * -b",
    "a - -b",
    "a & -a",
    "-(a | b)",
    "-(a & b)",
    "b | -b",
    "s || 'a' LIKE 'x' || '_'",
    "s || 'a' IN ('xa', 'ya')",
    "2 ^ 3 ^ 2 + a",
    "a IS DISTINCT FROM b + 1",
]
ROWS: list[dict[str, Any]] = [
    {"a": 1, "b": 2, "c": 4, "s": "x"},
    {"a": 5, "b": 3, "c": 6, "s": "y"},
    {"a": -7, "b": 9, "c": 2, "s": "z"},
    {"a": -4, "b": 5, "c": 1, "s": None},
    {"a": 1, "b": None, "c": 4, "s": "x"},
]
SCHEMA = {"a": "int64 not null", "b": "int64", "c": "int64", "s": "string"}


def values(rows: list[dict[str, Any]]) -> list[str]:
    """Values without order; a number is a number whatever its type, and -0.0 is 0.0."""
    found = (row["v"] for row in rows)
    is_plain = (bool, str, type(None))
    return sorted(repr(v if isinstance(v, is_plain) else float(v) + 0.0) for v in found)


def differing(expressions: list[str], dialect: str = "duckdb") -> tuple[int, list[str]]:
    """Number of DuckDB's expressions that are taken, and those with another result."""
    con = duckdb.connect()
    con.execute("CREATE TABLE t (a BIGINT, b BIGINT, c BIGINT, s VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [list(row.values()) for row in ROWS])
    db = rv.Database()
    db.create_table("t", SCHEMA)
    db.insert("t", ROWS)
    taken, wrong = 0, []
    for expression in expressions:
        sql = f"SELECT {expression} AS v FROM t"
        try:
            expected = con.sql(sql).to_arrow_table().to_pylist()
        except duckdb.Error:
            continue
        try:
            view = db.create_view("v", sql, dialect=dialect, create_or_replace=True)
        except rv.errors.RingviewError:
            # Of another type: texts beside numbers, numbers as truths.
            continue
        taken += 1
        if values(view.to_arrow().to_pylist()) != values(expected):
            wrong.append(expression)
    return taken, wrong


def test_infix_operators() -> None:
    pairs = [f"a {one} b {other} c" for one, other in product(INFIX, repeat=2)]
    taken, wrong = differing(pairs)
    assert wrong == []
    assert taken > 200


def test_prefix_operators() -> None:
    both = [f"{sign}a {op} b" for sign, op in product(PREFIX, BEHIND)]
    behind = [f"b {op} {sign}a {op} c" for sign, op in product(PREFIX, INFIX)]
    taken, wrong = differing(both + behind)
    assert wrong == []
    assert taken > 60


def test_other_forms() -> None:
    taken, wrong = differing(OTHERS)
    assert wrong == []
    assert taken == len(OTHERS)


@pytest.mark.parametrize(
    ("expression", "value"),
    [("-a ^ 2", 4), ("~a + b", -8), ("a + b ^ 2", 27), ("1 | a & 3", 3), ("8 - b || 'x'", "3x")],
)
def test_postgres_binds_alike(expression: str, value: Any) -> None:
    db = rv.Database()
    db.create_table("t", {"a": "int64", "b": "int64"})
    db.insert("t", [{"a": 2, "b": 5}])
    view = db.create_view("v", f"SELECT {expression} AS v FROM t", dialect="postgres")
    assert view.to_arrow().to_pylist() == [{"v": value}]
