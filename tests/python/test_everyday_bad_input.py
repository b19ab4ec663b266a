"""Rows and texts that everyday SQL must bear: errors of a row undo its transaction, and say why.

DuckDB's meaning is the measure: what it computes is computed, what it refuses is refused.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv
from amounts import some
from oracle import Oracle, comparable

SCHEMAS = {
    "t": pa.schema({"k": pa.int64(), "x": pa.int32(), "s": pa.string()}),
    "u": pa.schema({"k": pa.int64(), "y": pa.int64()}),
}


def database(**rows: list[dict[str, Any]]) -> rv.Database:
    db = rv.Database()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
        db.insert(name, pa.Table.from_pylist(rows.get(name, []), schema=schema))
    return db


def row(k: int | None, x: int | None, s: str | None = None) -> dict[str, Any]:
    return {"k": k, "x": x, "s": s}


@pytest.mark.parametrize("expression", ["k // x", "k % x", "mod(k, x)", "1.5 // x"])
def test_an_integer_by_zero_undoes_the_transaction(expression: str) -> None:
    db = database(t=[row(7, 2)])
    sql = f"SELECT k, {expression} AS q FROM t"
    view = db.create_view("v", sql)
    before = comparable(view.to_arrow())
    with pytest.raises(duckdb.Error):
        Oracle(SCHEMAS).query(sql, {"t": [row(1, 0)]})
    with pytest.raises(rv.errors.RingviewError, match=r"[Zz]ero"):
        db.insert("t", [row(9, 3), row(1, 0)])
    assert comparable(view.to_arrow()) == before
    db.insert("t", [row(9, 3), row(1, None)])
    assert len(view) == 3


def test_a_double_by_zero_is_infinite_or_not_a_number() -> None:
    sql = "SELECT k / x AS q, k / 0.0 AS z, CAST(k AS DOUBLE) % x AS m FROM t"
    rows = {"t": [row(1, 0), row(-1, 0), row(0, 0), row(None, 0), row(6, 4)]}
    view = database(**rows).create_view("v", sql)
    assert comparable(view.to_arrow()) == Oracle(SCHEMAS).rows(sql, rows)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("CAST(s AS INTEGER)", "twelve"),
        ("CAST(s AS DATE)", "2024-02-30"),
        ("CAST(s AS DOUBLE)", "1,5"),
        ("CAST(s AS BOOLEAN)", "perhaps"),
    ],
)
def test_a_cast_that_fails_names_the_value(expression: str, text: str) -> None:
    db = database()
    view = db.create_view("v", f"SELECT COUNT({expression}) AS n FROM t")
    tried = expression.replace("CAST", "TRY_CAST")
    other = db.create_view("w", f"SELECT {tried} AS x FROM t")
    with pytest.raises(rv.errors.RingviewError, match=text), db.transaction() as tx:
        tx.insert("u", [{"k": 1, "y": 1}])
        tx.insert("t", [row(1, 1, text)])
    assert view.scalar() == 0
    assert len(other) == 0
    assert len(db.tables["u"].to_arrow()) == 0
    db.drop_view("v")
    db.insert("t", [row(1, 1, text)])
    assert other.to_arrow().to_pylist() == [{"x": None}]


def test_a_constant_that_cannot_be_cast_is_refused_at_once() -> None:
    with pytest.raises(rv.errors.RingviewError, match="x1"):
        database().create_view("v", "SELECT CAST('x1' AS INTEGER) AS n, year(NULL) AS y FROM t")


def test_regular_expressions_take_linear_time() -> None:
    pattern, text = "(a+)+$", "a" * 20_000 + "b"
    db = database(t=[row(1, 1, text)])
    for at, call in enumerate(["regexp_matches", "regexp_full_match"]):
        view = db.create_view(f"v{at}", f"SELECT {call}(s, '{pattern}') AS m FROM t")
        assert view.to_arrow().to_pylist() == [{"m": False}]
    with pytest.raises(rv.errors.RingviewError):
        db.create_view("w", "SELECT regexp_full_match(s, '(') AS m FROM t")


@pytest.mark.parametrize("inner", ["SELECT y FROM u", "SELECT y FROM u WHERE y > 100"])
@pytest.mark.parametrize("shown", ["k FROM t WHERE x NOT IN ({})", "k, x NOT IN ({}) AS m FROM t"])
def test_not_in_with_null(inner: str, shown: str) -> None:
    sql = "SELECT " + shown.format(inner)
    held: dict[str, list[dict[str, Any]]] = {"t": [row(1, 1), row(2, 5), row(3, None)], "u": []}
    db = database(**held)
    view, oracle = db.create_view("v", sql), Oracle(SCHEMAS)
    for y in [1, None, 7, None]:
        assert comparable(view.to_arrow()) == oracle.rows(sql, held)
        db.insert("u", pa.Table.from_pylist([{"k": 1, "y": y}], schema=SCHEMAS["u"]))
        held["u"].append({"k": 1, "y": y})
    while held["u"]:
        db.delete("u", pa.Table.from_pylist([held["u"].pop()], schema=SCHEMAS["u"]))
        assert comparable(view.to_arrow()) == oracle.rows(sql, held)


@pytest.mark.parametrize("kind", ["LEFT", "RIGHT", "FULL", "SEMI", "ANTI"])
def test_keys_that_are_null_meet_nobody(kind: str) -> None:
    shown = "t.k, t.x" if kind in ("SEMI", "ANTI") else "t.k, t.x, u.y"
    sql = f"SELECT {shown} FROM t {kind} JOIN u ON t.k = u.k"
    held: dict[str, list[dict[str, Any]]] = {
        "t": [row(None, 1), row(None, 1), row(1, 2), row(2, 3)],
        "u": [{"k": None, "y": 1}, {"k": 1, "y": 2}, {"k": 3, "y": None}],
    }
    db = database(**held)
    view, oracle = db.create_view("v", sql), Oracle(SCHEMAS)
    assert comparable(view.to_arrow()) == oracle.rows(sql, held)
    for table in ("u", "t"):
        gone = held[table].pop(0)
        db.delete(table, pa.Table.from_pylist([gone], schema=SCHEMAS[table]))
        assert comparable(view.to_arrow()) == oracle.rows(sql, held)


@pytest.mark.parametrize("negated", some(["", "NOT "]))
def test_a_list_of_a_hundred_thousand_values(negated: str) -> None:
    # Quadratic work, or a stack as deep as the list, would not end within the limit of a test.
    values = ", ".join(str(value * 2) for value in range(100_000))
    db = database(t=[row(1, 4), row(2, 5), row(3, None), row(4, 199_998)])
    view = db.create_view("v", f"SELECT k FROM t WHERE x {negated}IN ({values})")
    found = sorted(one["k"] for one in view.to_arrow().to_pylist())
    assert found == ([2] if negated else [1, 4])


def test_texts_shorter_than_nothing() -> None:
    sql = (
        "SELECT lpad(s, x, '*') AS l, rpad(s, x, '*') AS r, left(s, x) AS a, right(s, x) AS b, "
        "substring(s, x) AS c, substring(s, x, 2) AS d, split_part(s, '-', x) AS e, "
        "repeat(s, x) AS f FROM t"
    )
    rows = {
        "t": [row(1, x, s) for x in (-3, -1, 0, 1, 5, None) for s in ("a-b", "", "h\u00e9", None)]
    }
    view = database(**rows).create_view("v", sql)
    assert comparable(view.to_arrow()) == Oracle(SCHEMAS).rows(sql, rows)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT k, UNNEST(x) AS a FROM t", "unnest"),
        ("SELECT UNNEST({'x': x}) FROM t", "UNNEST of a struct|unnest"),
        ("SELECT LIST(x).y AS a FROM t", "y"),
        ("SELECT SUM(LIST(x)) AS a FROM t", "a sum needs numbers"),
        ("SELECT other.t.k FROM other.t", "other"),
        ("SELECT k FROM t WHERE k = $1", "parameter|no value|\\$"),
    ],
)
def test_refusals_say_why(sql: str, words: str) -> None:
    db = database()
    with pytest.raises(rv.errors.RingviewError, match=f"(?is){words}"):
        db.create_view("v", sql)
    assert not db.views


ONE_ROW = {
    "alone": "SELECT k, (SELECT y FROM u) AS v FROM t",
    "by key": "SELECT k, (SELECT y FROM u WHERE u.k = t.k) AS v FROM t",
    "compared": "SELECT k FROM t WHERE x = (SELECT y FROM u WHERE u.k = t.k)",
    "distinct": "SELECT COUNT(*) AS n FROM t WHERE k < (SELECT DISTINCT y FROM u)",
    "computed": "SELECT SUM(x * (SELECT y + 1 FROM u)) AS n FROM t",
}


@pytest.mark.parametrize("sql", ONE_ROW.values(), ids=ONE_ROW)
def test_a_second_row_of_a_subquery_that_is_a_value_undoes_the_transaction(sql: str) -> None:
    db, oracle = database(), Oracle(SCHEMAS)
    view = db.create_view("v", sql)
    held: dict[str, list[dict[str, Any]]] = {"t": [], "u": []}

    def check() -> None:
        assert comparable(view.to_arrow()) == oracle.rows(sql, held)

    check()
    held["t"] = [row(1, 5), row(2, 5), row(None, 7)]
    db.insert("t", held["t"])
    check()
    held["u"] = [{"k": 1, "y": 5}]
    db.insert("u", held["u"])
    check()
    with pytest.raises(rv.errors.InvalidValueError, match="gives 2 rows, not one"):
        db.insert("u", [{"k": 1, "y": 6}])
    check()
    with db.transaction() as tx:
        tx.insert("u", [{"k": 1, "y": 6}])
        tx.delete("u", held["u"])
    held["u"] = [{"k": 1, "y": 6}]
    check()
    db.delete("u", held["u"])
    held["u"] = []
    check()


def test_a_filter_may_leave_its_where_out() -> None:
    db, oracle = database(), Oracle(SCHEMAS)
    sql = "SELECT COUNT(*) FILTER (x > 1) AS n, SUM(k) filter(WHERE x < 9) AS m FROM t"
    view = db.create_view("v", sql)
    held = {"t": [row(1, 1), row(2, 2), row(3, 9)]}
    db.insert("t", held["t"])
    assert comparable(view.to_arrow()) == oracle.rows(sql, held)


@pytest.mark.parametrize(
    "sql",
    [
        "FROM t",
        "WITH q AS (SELECT k, x FROM t), p(a) AS MATERIALIZED (FROM q SELECT x) FROM p",
        "WITH q AS (FROM t) FROM q WHERE x > 1",
        "SELECT k FROM (FROM t) AS q WHERE (x) > 1",
    ],
)
def test_a_query_may_begin_with_from(sql: str) -> None:
    held = {"t": [row(1, 1, "a"), row(2, 2), row(None, 9, "b")]}
    view = database(**held).create_view("v", sql)
    assert comparable(view.to_arrow()) == Oracle(SCHEMAS).rows(sql, held)
