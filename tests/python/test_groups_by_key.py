"""Groups by their keys, rows by their columns, and what else a handle gives."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from ringview import errors

KINDS: dict[str, tuple[str, list[Any]]] = {
    "bool": ("bool", [True, False, None]),
    "int8": ("int8", [-128, 0, 127, None]),
    "uint64": ("uint64", [0, 2**64 - 1, None]),
    "int64": ("int64", [-(2**63), -1, 2**63 - 1, None]),
    "float32": ("float32", [0.5, -1.25, None]),
    "float64": ("float64", [0.1, -1e300, 0.0, None]),
    "string": ("string", ["", "Ada", "ünï", None]),
    "decimal": ("decimal128(20, 2)", [Decimal("-1.50"), Decimal("123456789012345678.90"), None]),
    "date": ("date32", [dt.date(1969, 1, 1), dt.date(2026, 11, 22), None]),
    "time": ("timestamp[us]", [dt.datetime(2026, 11, 22, 3, 4, 5, 6), None]),
    "zoned": (
        "timestamp[ms, tz=UTC]",
        [dt.datetime(2026, 11, 22, 3, tzinfo=dt.UTC), None],
    ),
}


# A subquery in HAVING, which holds, makes of a view one over a block of its groups.
HELD = " HAVING COUNT(*) > (SELECT COUNT(*) FROM nothing)"


@pytest.mark.parametrize("having", ["", HELD])
@pytest.mark.parametrize("name", KINDS)
def test_groups_of_every_type_are_found_by_their_key(name: str, having: str) -> None:
    kind, values = KINDS[name]
    db = rv.Database()
    db.create_table("r", {"k": kind, "x": "int64"})
    db.create_table("nothing", {"y": "int64"})
    sql = "SELECT k, SUM(x) AS s, COUNT(*) AS n, MAX(k) AS m FROM r GROUP BY k"
    if kind == "bool":
        sql = sql.replace(", MAX(k) AS m", "")
    view = db.create_view("v", sql + having)
    for value in values:
        assert view.get({"k": value}) is None
    db.insert("r", [{"k": value, "x": x} for x, value in enumerate(values)])
    expected = {row["k"]: row for row in view.to_arrow().to_pylist()}
    assert len(expected) == len(values)
    keys = [{"k": value} for value in values]
    for key in keys:
        assert view.get(key) == expected[key["k"]]
        assert view.where(**key).to_pylist() == [expected[key["k"]]]
    assert view.get_many(keys) == [expected[value] for value in values]
    assert view.get_many(pa.table({"k": view.to_arrow()["k"]})) == list(expected.values())


@examples(40)
@given(
    rows=st.lists(
        st.tuples(*[st.sampled_from([None, 0, 1, 2])] * 2, st.integers(-3, 3)), max_size=20
    ),
    gone=st.integers(0, 20),
)
def test_keys_of_several_columns_equal_a_scan(rows: list[Any], gone: int) -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64", "x": "int64"})
    sql = "SELECT b AS second, a AS first, SUM(x) AS s, MIN(x) AS m FROM r GROUP BY a, b"
    db.create_table("t", {"y": "int64"})
    havings = ["", " HAVING SUM(x) > 0", " HAVING SUM(x) > (SELECT COUNT(*) FROM t)"]
    views = [db.create_view(f"v{at}", sql + having) for at, having in enumerate(havings)]
    dicts = [dict(zip("abx", row, strict=True)) for row in rows]
    db.insert("r", dicts)
    db.delete("r", dicts[:gone])
    values = [None, 0, 1, 2, 3]
    for view in views:
        listed = view.to_arrow().to_pylist()
        for a in values:
            keys = [{"first": a, "second": b} for b in values]
            found = [
                next((row for row in listed if row["first"] == a and row["second"] == b), None)
                for b in values
            ]
            assert [view.get(key) for key in keys] == found
            assert view.get_many(keys) == found
            for name in ("first", "second"):
                some = [row for row in listed if row[name] == a]
                assert sorted(view.where(**{name: a}).to_pylist(), key=str) == sorted(some, key=str)


def test_a_key_that_is_none_is_refused_with_what_to_do() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64", "s": "string"})
    view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a, s")
    with pytest.raises(errors.InvalidValueError, match=r"lacks \"s\""):
        view.get({"a": 1})
    with pytest.raises(errors.UnknownColumnError, match="known columns: a, s"):
        view.get({"a": 1, "s": "x", "c": 1})
    with pytest.raises(errors.UnsupportedError, match="is computed"):
        view.get({"a": 1, "s": "x", "n": 1})
    for wrong in ("1", 1.5, True, dt.date(2026, 1, 1)):
        with pytest.raises(errors.TypeMismatchError):
            view.get({"a": wrong, "s": "x"})
    with pytest.raises(errors.TypeMismatchError):
        view.get({"a": 1, "s": 5})
    assert view.get({"a": 2**70, "s": "x"}) is None
    assert view.get({"a": None, "s": None}) is None
    rows = db.create_view("rows", "SELECT * FROM r")
    with pytest.raises(errors.UnsupportedError, match="where"):
        rows.get({"a": 1})
    with pytest.raises(errors.UnknownColumnError):
        view.where(z=1)
    assert db.memory_usage()["dictionary"] == rv.Database().memory_usage()["dictionary"]


def test_a_subquery_in_having_leaves_the_key_as_it_is() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "s": "string"})
    db.create_table("t", {"y": "int64"})
    more = "HAVING SUM(a) > (SELECT AVG(y) FROM t)"
    view = db.create_view("v", f"SELECT s, SUM(a) AS total FROM r GROUP BY s {more}")
    hidden = db.create_view("h", f"SELECT SUM(a) AS total FROM r GROUP BY s {more}")
    whole = db.create_view("w", f"SELECT SUM(a) AS total FROM r {more}")
    db.insert("r", {"a": [5, 1, 9], "s": ["x", "y", None]})
    assert view.get({"s": "x"}) is None
    db.insert("t", {"y": [2]})
    assert view.get({"s": "x"}) == {"s": "x", "total": 5}
    assert view.get({"s": "y"}) is None, "left out"
    assert view.get({"s": "z"}) is None, "never there"
    assert hidden.get({"s": "x"}) == {"total": 5}
    assert whole.get({}) == {"total": 15}
    assert view.get_many({"s": ["y", None, "x"]}) == [
        None,
        {"s": None, "total": 9},
        {"s": "x", "total": 5},
    ]
    assert view.where(s="x").to_pylist() == view.where(total=5).to_pylist()
    with pytest.raises(errors.InvalidValueError, match=r'lacks "s"'):
        view.get({})
    with pytest.raises(errors.UnsupportedError, match="is computed"):
        view.get({"s": "x", "total": 5})
    with pytest.raises(errors.TypeMismatchError):
        view.get({"s": 1})


def test_a_view_without_groups_has_one_row() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    view = db.create_view("v", "SELECT COUNT(*) AS n, SUM(a) AS s FROM r")
    some = db.create_view("w", "SELECT COUNT(*) AS n FROM r HAVING COUNT(*) > 1")
    assert view.get({}) == {"n": 0, "s": None}
    assert some.get({}) is None
    db.insert("r", {"a": [1, 2]})
    assert view.get_many([{}, {}]) == [{"n": 2, "s": 3}] * 2
    assert some.get({}) == {"n": 2}
    assert view.where().to_pylist() == [{"n": 2, "s": 3}]


@pytest.mark.parametrize("representation", ["factorised", "listing"])
def test_rows_of_a_join_by_some_columns(representation: Any) -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "string"})
    db.create_table("s", {"b": "string", "c": "float64"})
    sql = "SELECT a, b, c FROM r NATURAL JOIN s"
    view = db.create_view("v", sql, representation=representation)
    db.insert("r", {"a": [1, 1, 2, None], "b": ["x", "x", "y", "x"]})
    db.insert("s", {"b": ["x", "y"], "c": [0.5, None]})
    assert view.where(a=1, b="x").to_pylist() == [{"a": 1, "b": "x", "c": 0.5}] * 2
    assert view.where(c=None).to_pylist() == [{"a": 2, "b": "y", "c": None}]
    assert view.where(a=None).num_rows == 1
    assert view.where(b="z").num_rows == 0
    assert view.where(b="z").schema == view.schema
    computed = db.create_view("n", "SELECT b, COUNT(*) AS n FROM r GROUP BY b")
    assert computed.where(n=3).to_pylist() == [{"b": "x", "n": 3}]


def test_a_table_gives_its_rows() -> None:
    db = rv.Database()
    table = db.create_table("r", {"a": "int64", "b": "string"})
    assert table.to_arrow().schema == table.schema
    rows: list[dict[str, Any]]
    rows = [{"a": 1, "b": "x"}, {"a": 1, "b": "x"}, {"a": None, "b": None}]
    table.insert(rows)
    table.insert(rows[:1])
    assert sorted(table.to_arrow().to_pylist(), key=str) == sorted([*rows, rows[0]], key=str)
    counted = table.to_arrow(multiplicity="times")
    assert sorted(counted["times"].to_pylist()) == [1, 3]
    copied = db.create_table("copy", table.schema)
    copied.insert(counted, multiplicity="times")
    copied.delete(rows[:1])
    assert len(copied) == 3
    assert table.to_polars().shape == (4, 2)
    assert table.to_pandas().shape == (4, 2)
    with pytest.raises(errors.InvalidValueError, match="another name"):
        table.to_arrow(multiplicity="a")
    trusting = rv.Database(trust_deletes=True).create_table("r", {"a": "int64"})
    with pytest.raises(errors.UnsupportedError, match="not kept"):
        trusting.to_arrow()


def test_a_view_goes_to_polars_as_a_frame() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    db.insert("r", {"a": [1, 1]})
    expected = pl.DataFrame({"a": [1], "n": [2]})
    assert view.to_polars().equals(expected)
    assert pl.DataFrame(view).equals(expected)


def test_what_is_there_already_is_kept_or_replaced() -> None:
    db = rv.Database()
    table = db.create_table("r", {"a": "int64"}, unique="a")
    assert table.unique == ["a"]
    assert db.create_table("r", {"a": "int64"}, unique=["a"], if_not_exists=True) == table
    with pytest.raises(errors.ExistsError, match="another unique"):
        db.create_table("r", {"a": "int64"}, if_not_exists=True)
    with pytest.raises(errors.ExistsError, match="another schema"):
        db.create_table("r", {"b": "int64"}, if_not_exists=True)
    table.insert({"a": [1, 2]})
    sql = "SELECT COUNT(*) AS n FROM r"
    view = db.create_view("v", sql)
    assert (view.sql, view.schema.names) == (sql, ["n"])
    assert db.create_view("v", sql, if_not_exists=True) == view
    with pytest.raises(errors.ExistsError, match="other SQL"):
        db.create_view("v", "SELECT SUM(a) AS n FROM r", if_not_exists=True)
    with pytest.raises(errors.InUseError):
        db.create_table("r", {"a": "int64"}, create_or_replace=True)
    for refused in ("SELECT COUNT(*) AS n FROM none", "SELECT SUM(COUNT(*)) FROM r"):
        with pytest.raises(errors.RingviewError):
            db.create_view("v", refused, create_or_replace=True)
    table.insert({"a": [3]})
    assert view.scalar() == 3
    db.create_view("v", "SELECT SUM(a) AS n FROM r", create_or_replace=True)
    table.insert({"a": [4]})
    assert db["v"].scalar() == 10
    with pytest.raises(errors.UnknownViewError, match="was dropped"):
        view.scalar()
    with pytest.raises(errors.InvalidValueError):
        db.create_view("v", sql, create_or_replace=True, if_not_exists=True)
    db.drop_view("v")
    new = db.create_table("r", {"b": "string"}, create_or_replace=True)
    assert (new.schema.names, len(new)) == (["b"], 0)
    with pytest.raises(errors.ExistsError):
        db.create_view("r", "SELECT COUNT(*) FROM r", create_or_replace=True)


def test_a_database_closes() -> None:
    with rv.Database() as db:
        table = db.create_table("r", {"a": "int64"})
        view = db.create_view("v", "SELECT COUNT(*) AS n FROM r")
        follower = view.follow()
    calls: list[Any] = [view.to_arrow, table.to_arrow, lambda: len(db.tables), follower.changes]
    for call in calls:
        with pytest.raises(errors.RingviewError, match="closed"):
            call()
    db.close()
    assert repr(db) == "Database(closed)"


def test_names_and_columns_that_cannot_be_are_refused() -> None:
    db = rv.Database()
    with pytest.raises(errors.InvalidValueError, match="empty"):
        db.create_table("", {"a": "int64"})
    with pytest.raises(errors.InvalidValueError, match="there are none"):
        db.create_table("r", {})
    db.create_table("r", {"a": "int64"})
    with pytest.raises(errors.InvalidValueError, match="empty"):
        db.create_view("", "SELECT COUNT(*) FROM r")
    wrong: Any
    for wrong in (None, 5, b"SELECT COUNT(*) FROM r"):
        with pytest.raises(errors.TypeMismatchError, match="is a text"):
            db.create_view("x", wrong)
    with pytest.raises(errors.UnknownColumnError, match='"id"'):
        db.create_table("s", {"i": "int64", "d": "int64"}, unique="id")


def test_pandas_decimals_go_into_floats() -> None:
    db = rv.Database()
    table = db.create_table("r", {"x": "float64"})
    decimals = [Decimal("0.1"), Decimal("123456789.123456789"), None]
    table.insert(pd.DataFrame({"x": decimals}))
    table.insert({"x": decimals})
    assert table.to_arrow()["x"].to_pylist() == [0.1, 123456789.123456789, None] * 2
