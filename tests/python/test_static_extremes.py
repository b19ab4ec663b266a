"""MIN and MAX over tables that never change, of which a group keeps its two ends alone.

Texts over all types equal DuckDB when they are run once, as views over static tables, and merged of
parts; the same texts over tables that change keep every value, and equal them.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, comparable

SCHEMAS = {
    "r": pa.schema(
        {
            "a": pa.int64(),
            "i": pa.int32(),
            "u": pa.uint64(),
            "f": pa.float64(),
            "d": pa.decimal128(38, 2),
            "t": pa.timestamp("us"),
            "s": pa.string(),
        }
    ),
    "s": pa.schema({"a": pa.int64(), "b": pa.int16(), "y": pa.date32(), "e": pa.decimal128(5, 1)}),
    "w": pa.schema({"b": pa.int64(), "o": pa.bool_(), "h": pa.float32()}),
}
ORACLE = Oracle(SCHEMAS)

LARGE = Decimal("123456789012345678901234567890123456.78")
VALUES: dict[str, list[Any]] = {
    "i": [-(2**31), -1, 0, 1, 2**31 - 1],
    "u": [0, 1, 2**63, 2**64 - 1],
    "f": [float("-inf"), -1.5, -0.0, 0.0, 5e-324, 1e300, float("inf")],
    "d": [-LARGE, Decimal("-0.01"), Decimal("0.00"), Decimal("0.01"), LARGE],
    "t": [datetime(1969, 12, 31, 23, 59, 59, 1), datetime(1970, 1, 1), datetime(2024, 2, 29)],
    "s": ["", "Ada", "ada", "é", "Zoë"],
    "y": [date(1960, 1, 1), date(1970, 1, 1), date(2400, 1, 1)],
    "e": [Decimal("-9999.9"), Decimal("0.0"), Decimal("0.1")],
    "o": [False, True],
    "h": [-2.5, 0.0, 1.0],
    "a": [0, 1],
    "b": [0, 1],
}
ENDS = "MIN({0}) AS {1}_least, MAX({0}) AS {1}_most"


def ends(*columns: str) -> str:
    """The least and the greatest of some columns."""
    return ", ".join(ENDS.format(column, column.replace(".", "")) for column in columns)


ALL = ends("r.i", "r.u", "r.f", "r.d", "r.t", "r.s")
TEXTS = [
    f"SELECT {ALL}, COUNT(*) AS n FROM r",
    f"SELECT a, {ALL} FROM r GROUP BY a",
    "SELECT a, MIN(i) AS x FROM r GROUP BY a",
    "SELECT s, MAX(d) AS x, COUNT(DISTINCT i) AS n, MIN(i) AS y FROM r GROUP BY s",
    f"SELECT r.a, {ends('r.d', 's.b', 's.y', 's.e')} FROM r JOIN s ON s.a = r.a GROUP BY r.a",
    f"SELECT s.b, {ends('r.i', 's.a', 'r.a')}, SUM(r.i) AS x FROM r JOIN s ON s.a = r.a "
    "GROUP BY s.b",
    "SELECT r.a, w.o, "
    + ends("r.f", "s.e", "w.h", "w.b")
    + " FROM r JOIN s ON s.a = r.a JOIN w ON w.b = s.b GROUP BY r.a, w.o",
    f"SELECT {ends('r.u', 'w.h')} FROM r, s, w WHERE r.a = s.a AND s.b = w.b AND r.i > s.b",
    "SELECT a, MAX(f) AS x FROM r GROUP BY a HAVING MIN(i) < 1 AND MAX(u) > 0",
    f"SELECT r.a, {ends('s.b', 'w.o')} FROM r LEFT JOIN s ON s.a = r.a LEFT JOIN w ON w.b = s.b "
    "GROUP BY r.a",
    "SELECT a, MIN(i // 2) AS x, MAX(CASE WHEN i > 0 THEN d END) AS y FROM r GROUP BY a",
    "SELECT a, MIN(i) FILTER (WHERE u > 0) AS x, MAX(t) FILTER (WHERE s = 'Ada') AS y FROM r "
    "GROUP BY a",
    "SELECT x.a, x.i, y.i AS j FROM r x, r y WHERE x.a = y.a AND y.i = "
    "(SELECT MIN(z.i) FROM r z WHERE z.a = x.a)",
    "SELECT MAX(x) AS most FROM (SELECT a, MIN(i) AS x FROM r GROUP BY a) AS least",
]


@st.composite
def contents(draw: st.DrawFn) -> dict[str, list[dict[str, Any]]]:
    """A few rows of each table."""
    found = {}
    for name, schema in SCHEMAS.items():
        columns = {c: st.one_of(st.none(), st.sampled_from(VALUES[c])) for c in schema.names}
        found[name] = draw(st.lists(st.fixed_dictionaries(columns), max_size=6))
    return found


def database(rows: dict[str, list[dict[str, Any]]], static: bool) -> rv.Database:
    """A database with these rows."""
    db = rv.Database()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema, static=static)
        db.insert(name, pa.Table.from_pylist(rows[name], schema=schema))
    return db


@pytest.mark.parametrize("sql", TEXTS)
@examples(25)
@given(rows=contents())
def test_rows_equal_duckdb(sql: str, rows: dict[str, list[dict[str, Any]]]) -> None:
    expected = ORACLE.rows(sql, rows)
    changing = database(rows, static=False)
    assert comparable(changing.sql(sql)) == expected
    assert comparable(changing.create_view("v", sql).to_arrow()) == expected
    assert comparable(database(rows, static=True).create_view("v", sql).to_arrow()) == expected


@pytest.mark.parametrize("sql", TEXTS[:6])
@examples(25)
@given(one=contents(), other=contents(), split=st.sampled_from(["r", "s"]))
def test_parts_of_static_tables_make_the_whole(
    sql: str,
    one: dict[str, list[dict[str, Any]]],
    other: dict[str, list[dict[str, Any]]],
    split: str,
) -> None:
    if split == "s" and " s " not in sql:
        split = "r"
    parts = [one, {**one, split: other[split]}]
    whole = {**one, split: one[split] + other[split]}
    views = [database(rows, static=True).create_view("v", sql) for rows in parts]
    for whose in (database(parts[0], static=False).create_view("v", sql), views[0]):
        whose.merge(views[1].partial())
        assert comparable(whose.to_arrow()) == ORACLE.rows(sql, whole)


def test_a_group_keeps_its_ends_alone() -> None:
    rows = pa.table({"k": [i % 10 for i in range(20_000)], "x": list(range(20_000))})
    sql = "SELECT k, MIN(x) AS least, MAX(x) AS most FROM t GROUP BY k"
    taken = {}
    for static in (False, True):
        db = rv.Database()
        db.create_table("t", {"k": "int64", "x": "int64"}, static=static)
        db.insert("t", rows)
        view = db.create_view("v", sql)
        assert view[3] == {"k": 3, "least": 3, "most": 19_993}
        taken[static] = db.memory_usage()["view v"]
        assert ("the least and the greatest of" in view.explain()) is static
    assert taken[True] < taken[False] / 100


def test_values_that_are_counted_too_are_all_kept() -> None:
    db = rv.Database()
    db.create_table("t", {"k": "int64", "x": "int64", "y": "string"}, static=True)
    db.insert("t", [{"k": 1, "x": x, "y": str(x)} for x in range(5)])
    sql = "SELECT k, MIN(x) AS a, COUNT(DISTINCT x) AS n, MAX(y) AS y FROM t GROUP BY k"
    view = db.create_view("v", sql)
    assert view.to_arrow().to_pylist() == [{"k": 1, "a": 0, "n": 5, "y": "4"}]
    assert "the least and the greatest" not in view.explain()


def test_a_value_that_is_no_number_is_refused_as_in_a_view() -> None:
    db = rv.Database()
    db.create_table("t", {"x": "float64"})
    db.insert("t", [{"x": float("nan")}])
    for read in (db.sql, lambda text: db.create_view("v", text)):
        with pytest.raises(rv.errors.RingviewError, match="NaN"):
            read("SELECT MIN(x) AS x FROM t")


def test_moments_of_all_zones_keep_their_order() -> None:
    first = datetime(2020, 1, 1, tzinfo=UTC)
    moments = [first + timedelta(days=day) for day in (3, -20_000, 1)]
    db = rv.Database()
    db.create_table("t", pa.schema({"x": pa.timestamp("us", "UTC")}))
    db.insert("t", pa.table({"x": pa.array(moments, pa.timestamp("us", "UTC"))}))
    found = db.sql("SELECT MIN(x) AS a, MAX(x) AS b FROM t").to_pylist()
    assert found == [{"a": moments[1], "b": moments[0]}]
