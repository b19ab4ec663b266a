"""Texts of other dialects and texts with parameters, lowered and kept: what their users expect."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from catalog import translate

SCHEMA = pa.schema(
    {
        "k": pa.int64(),
        "x": pa.int64(),
        "s": pa.string(),
        "d": pa.date32(),
        "p": pa.decimal128(8, 2),
    }
)
ROWS: list[dict[str, Any]] = [
    {"k": 7, "x": 2, "s": "a", "d": dt.date(2024, 2, 4), "p": Decimal("1.50")},
    {"k": -7, "x": 2, "s": "b", "d": dt.date(2024, 2, 5), "p": Decimal("2.25")},
    {"k": None, "x": 4, "s": None, "d": None, "p": None},
]
DIALECTS = ["duckdb", "postgres", "spark", "databricks", "snowflake", "bigquery", "mysql", "ansi"]


def kept(sql: str, parameters: Any = None, dialect: str = "duckdb") -> rv.View:
    """The view of a text that is lowered."""
    db = rv.Database()
    db.create_table("t", SCHEMA)
    db.insert("t", pa.Table.from_pylist(ROWS, schema=SCHEMA))
    return db.create_view("v", sql, parameters=parameters, dialect=dialect)


def rows(view: rv.View) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in view.to_arrow().to_pylist()]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_takes_the_common_part(dialect: str) -> None:
    sql = (
        "SELECT s, COUNT(*) AS n, SUM(x) AS t FROM t WHERE s IS NOT NULL GROUP BY s "
        "HAVING SUM(x) > 0 ORDER BY s DESC LIMIT 5"
    )
    assert rows(kept(sql, dialect=dialect)) == [("b", 1, 2), ("a", 1, 2)]


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("duckdb", [-3.5, 3.5]),
        ("spark", [-3.5, 3.5]),
        ("mysql", [-3.5, 3.5]),
        ("bigquery", [-3.5, 3.5]),
        ("snowflake", [-3.5, 3.5]),
        ("postgres", [-3, 3]),
        ("ansi", [-3, 3]),
    ],
)
def test_division_of_integers(dialect: str, expected: list[float]) -> None:
    view = kept("SELECT k / x AS q FROM t WHERE k IS NOT NULL ORDER BY q", dialect=dialect)
    assert [row[0] for row in rows(view)] == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_division_by_zero(dialect: str) -> None:
    sql = "SELECT k / (x - 2) AS q FROM t WHERE k > 0"
    if dialect == "duckdb":
        assert rows(kept(sql, dialect=dialect)) == [(float("inf"),)]
    elif dialect in ("spark", "databricks", "mysql"):
        assert rows(kept(sql, dialect=dialect)) == [(None,)]
    else:
        with pytest.raises(rv.errors.RingviewError, match=r"(?i)by zero"):
            kept(sql, dialect=dialect)


@pytest.mark.parametrize(
    ("dialect", "ascending", "descending"),
    [
        ("duckdb", "last", "last"),
        ("postgres", "last", "first"),
        ("snowflake", "last", "first"),
        ("ansi", "last", "first"),
        ("spark", "first", "last"),
        ("databricks", "first", "last"),
        ("bigquery", "first", "last"),
        ("mysql", "first", "last"),
    ],
)
def test_where_null_stands(dialect: str, ascending: str, descending: str) -> None:
    for direction, place in (("", ascending), (" DESC", descending)):
        found = [
            row[0] for row in rows(kept(f"SELECT k FROM t ORDER BY k{direction}", None, dialect))
        ]
        assert found.index(None) == (0 if place == "first" else 2)
        chosen = kept(
            f"SELECT k FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY k{direction}) AS n FROM t) q "
            "WHERE n = 1",
            None,
            dialect,
        )
        assert rows(chosen) == [(found[0],)]


@pytest.mark.parametrize("dialect", ["mysql", "bigquery", "spark", "databricks"])
def test_backticks(dialect: str) -> None:
    sql = "SELECT `t`.`k` AS `my k` FROM `t` WHERE `s` = 'a'"
    assert kept(sql, dialect=dialect).to_arrow().to_pylist() == [{"my k": 7}]


def test_other_words_of_other_dialects() -> None:
    assert rows(kept("SELECT concat(s, '!') AS c FROM t WHERE s IS NULL")) == [("!",)]
    for dialect in ("spark", "mysql", "bigquery", "snowflake"):
        sql = "SELECT concat(s, '!') AS c FROM t WHERE s IS NULL"
        assert rows(kept(sql, dialect=dialect)) == [(None,)]
    assert rows(kept("SELECT x ^ 3 AS b FROM t WHERE k = 7", dialect="mysql")) == [(1,)]
    assert rows(kept("SELECT x ^ 3 AS b FROM t WHERE k = 7", dialect="postgres")) == [(8.0,)]
    sql = "SELECT dayofweek(d) AS w FROM t WHERE k = 7"
    assert rows(kept(sql, dialect="spark")) == [(1,)]
    assert rows(kept(sql)) == [(0,)]


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(rv.errors.RingviewError, match="none of duckdb"):
        kept("SELECT k FROM t", dialect="cobol")


@pytest.mark.parametrize(
    ("where", "parameters"),
    [
        ("k = $1", [7]),
        ("k = ?", [7]),
        ("s = ? AND k > ?", ["a", -8]),
        ("k > $2 AND s = $1", ["a", -8]),
        ("s = $name", {"name": "a"}),
        ("s = :name AND k BETWEEN :low AND :high", {"name": "a", "low": -9, "high": 9}),
        ("d = $day", {"day": dt.date(2024, 2, 4)}),
        ("d < ?", [dt.datetime(2024, 2, 4, 0, 0, 0, 1)]),
        ("p < $1", [Decimal("2.25")]),
        ("k * 1.0 > $1", [6.5]),
        ("(s = 'a') = $1", [True]),
        ("s = $1 OR k = $2", [None, 7]),
        ("k NOT IN ($1, $2)", [-7, 1]),
        ("s = $1 OR s = 'it''s'", ["a"]),
    ],
)
def test_parameters_stand_for_constants(where: str, parameters: Any) -> None:
    assert rows(kept(f"SELECT k FROM t WHERE {where}", parameters)) == [(7,)]


def test_parameters_stand_anywhere() -> None:
    sql = "SELECT k + $1 AS y FROM t WHERE s <> $2 ORDER BY k LIMIT $3"
    assert rows(kept(sql, [10, "it's", 1])) == [(3,)]
    assert rows(kept("SELECT s FROM t WHERE s = ?", ["'; DROP TABLE t"])) == []


@pytest.mark.parametrize(
    ("sql", "parameters", "words"),
    [
        ("SELECT k FROM t WHERE k = $1", None, "no value"),
        ("SELECT k FROM t WHERE k = $2", [1], "no value"),
        ("SELECT k FROM t WHERE k = $1", [1, 2], "no parameter"),
        ("SELECT k FROM t WHERE k = $a", {"b": 1}, "no value"),
        ("SELECT k FROM t", {"b": 1}, "no parameter"),
    ],
)
def test_parameters_that_do_not_fit(sql: str, parameters: Any, words: str) -> None:
    with pytest.raises(rv.errors.RingviewError, match=words):
        kept(sql, parameters)
    with pytest.raises(TypeError, match="a parameter is"):
        kept("SELECT k FROM t WHERE k = $1", [object()])


@pytest.mark.parametrize("name", ["main.t", "public.t", '"main"."t"', "MAIN.T"])
def test_schemas_in_front(name: str) -> None:
    assert rows(kept(f"SELECT {name}.k FROM {name} WHERE t.s = 'a'")) == [(7,)]
    with pytest.raises(rv.errors.RingviewError, match="other"):
        kept("SELECT k FROM other.t")


def test_twice_the_same_name_is_numbered() -> None:
    for sql in ("SELECT k, k FROM t", "SELECT k AS k, x AS k FROM t", "SELECT k, x AS k FROM t"):
        assert kept(sql).to_arrow().column_names == ["k", "k_1"]


def test_the_query_has_its_outputs() -> None:
    query = translate("SELECT year(d) AS y FROM t", {"t": SCHEMA})
    assert [output["name"] for output in query["outputs"]] == ["y"] or query["rows"]
