"""Views over views, subqueries and WITH: after each batch what DuckDB says, in one transaction."""

from __future__ import annotations

import json
from typing import Any

import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparable
from ringview import errors, ml
from stacks import Stack, check_stack
from streams import Batch, batches

SUMS = "SELECT a, b, SUM(x) AS total, COUNT(*) AS n FROM r GROUP BY a, b"
STACKS: dict[str, dict[str, str]] = {
    "the greatest sum": {
        "sums": "SELECT a, SUM(x) AS total FROM r GROUP BY a",
        "v": "SELECT MAX(total) AS most, MIN(total) AS least FROM sums",
    },
    "averages of counts": {
        "counts": "SELECT a, b, COUNT(*) AS n, COUNT(x) AS k FROM r GROUP BY a, b",
        "v": "SELECT a, AVG(n) AS mean, SUM(k) AS k FROM counts GROUP BY a",
    },
    "DISTINCT, then a join": {
        "names": "SELECT DISTINCT a, b FROM r",
        "v": "SELECT c, COUNT(*) AS n FROM names JOIN s USING (b) GROUP BY c",
    },
    "counts of counts": {
        "v": "SELECT n, COUNT(*) AS groups FROM "
        "(SELECT a, COUNT(*) AS n FROM r GROUP BY a) AS q GROUP BY n",
    },
    "HAVING below": {
        "many": "SELECT b, SUM(x) AS total FROM r GROUP BY b HAVING COUNT(*) > 1",
        "v": "SELECT COUNT(*) AS n, SUM(total) AS total, SUM(price) AS price "
        "FROM many JOIN s USING (b)",
    },
    "floats below": {
        "sums": "SELECT a, c, SUM(w) AS w, AVG(w) AS mean FROM t GROUP BY a, c",
        "v": "SELECT a, SUM(w) AS w, MAX(w) AS most, MIN(mean) AS least FROM sums GROUP BY a",
        "joined": "SELECT one.a, SUM(one.w * other.w) AS w FROM sums one JOIN sums other "
        "ON one.a = other.c GROUP BY one.a",
    },
    "a factorised join below": {
        "pairs": "SELECT r.a, r.b, x, price, day FROM r JOIN s USING (b)",
        "v": "SELECT a, SUM(x) AS x, MAX(price) AS dear, COUNT(day) AS days, COUNT(*) AS n "
        "FROM pairs GROUP BY a",
        "again": "SELECT pairs.b, t.w FROM pairs JOIN t USING (a)",
    },
    "a listing below": {
        "texts": "SELECT name, x, b FROM r WHERE x >= 0",
        "v": "SELECT name, COUNT(*) AS n, MAX(x) AS x FROM texts GROUP BY name",
        "joined": "SELECT DISTINCT texts.name, price FROM texts JOIN s USING (b)",
    },
    "a diamond": {
        "low": SUMS,
        "left_": "SELECT a, SUM(total) AS total FROM low GROUP BY a",
        "right_": "SELECT a, MAX(n) AS most FROM low WHERE b > 0 GROUP BY a",
        "v": "SELECT left_.a, total, most, COUNT(*) AS n FROM left_ JOIN right_ USING (a) "
        "JOIN r USING (a) GROUP BY left_.a, total, most",
    },
    "one row below, even over nothing": {
        "all_": "SELECT COUNT(*) AS n, SUM(x) AS total, MAX(name) AS last FROM r",
        "v": "SELECT n, COUNT(*) AS rows, SUM(total) AS total, MAX(last) AS last "
        "FROM all_ GROUP BY n",
        "crossed": "SELECT c, SUM(n) AS n FROM s CROSS JOIN all_ GROUP BY c",
    },
    "the same twice": {
        "low": SUMS,
        "v": "SELECT p.a, SUM(p.total * q.n) AS x FROM low p JOIN low q ON p.b = q.a GROUP BY p.a",
    },
    "texts and dates through": {
        "low": "SELECT name, day, COUNT(*) AS n FROM r NATURAL JOIN u GROUP BY name, day",
        "v": "SELECT name, MAX(day) AS day, COUNT(DISTINCT day) AS days, SUM(n) AS n "
        "FROM low GROUP BY name",
        "w": "SELECT day, MIN(name) AS name FROM v GROUP BY day",
    },
    "a text that is made below": {
        "low": "SELECT b, COALESCE(MAX(name), 'none') AS last, COUNT(*) AS n FROM r GROUP BY b",
        "v": "SELECT last, SUM(n) AS n FROM low GROUP BY last",
    },
    "expressions and filters": {
        "low": "SELECT a, SUM(x) + COUNT(*) AS y, SUM(x) / COUNT(*) AS z FROM r GROUP BY a",
        "v": "SELECT SUM(y) AS y, COUNT(z) AS k, COUNT(*) AS n FROM low "
        "WHERE y > 0 OR z < 0 OR a IS NULL",
    },
    "depth four": {
        "one": "SELECT a, b, x FROM r WHERE a IS NOT NULL",
        "two": "SELECT a, b, SUM(x) AS x FROM one GROUP BY a, b",
        "three": "SELECT b, MAX(x) AS x FROM two GROUP BY b HAVING COUNT(*) > 1",
        "v": "SELECT x, COUNT(*) AS n, SUM(price) AS price FROM three JOIN s USING (b) GROUP BY x",
    },
    "conditions across tables": {
        "v": "SELECT COUNT(*) AS n, SUM(x) AS x FROM "
        "(SELECT r.a, s.c, x FROM r JOIN s USING (b)) AS q WHERE a < c OR x > 1",
    },
    "WITH over WITH": {
        "v": "WITH low AS (SELECT a, b, SUM(x) AS x FROM r GROUP BY a, b), "
        "high(k, most) AS (SELECT a, MAX(x) FROM low GROUP BY a), unread AS (SELECT c FROM s) "
        "SELECT low.b, SUM(most) AS most, COUNT(*) AS n FROM low JOIN high ON a = k "
        "JOIN (SELECT DISTINCT b FROM s) AS z USING (b) GROUP BY low.b",
    },
    "a name of WITH that hides a table": {
        "v": "WITH r AS (SELECT a, SUM(x) AS x FROM r GROUP BY a) "
        "SELECT SUM(x) AS x, MAX(w) AS w, COUNT(*) AS n FROM r JOIN t USING (a)",
        "w": "SELECT r.b, n FROM v, r",
    },
    "multiplicity as a name below": {
        "low": "SELECT a, SUM(x) AS multiplicity FROM r GROUP BY a",
        "v": "SELECT multiplicity, COUNT(*) AS n FROM low GROUP BY multiplicity",
        "rows": "SELECT multiplicity, a FROM low",
    },
}


@pytest.mark.parametrize("name", STACKS)
@examples(6)
@given(stream=st.lists(batches(), max_size=5))
def test_stacks_equal_duckdb(name: str, stream: list[Batch]) -> None:
    check_stack(STACKS[name], stream)


@pytest.mark.parametrize("static", [("r",), ("t", "u"), ("r", "s", "t", "u")])
@examples(6)
@given(fixed=batches(), stream=st.lists(batches(), max_size=3))
def test_static_tables_below(static: tuple[str, ...], fixed: Batch, stream: list[Batch]) -> None:
    views = {
        "low": "SELECT a, b, SUM(x) AS x, COUNT(*) AS n FROM r GROUP BY a, b",
        "sums": "SELECT a, SUM(w) AS w FROM t GROUP BY a",
        "v": "SELECT low.b, SUM(x) AS x, SUM(w) AS w FROM low JOIN sums USING (a) GROUP BY low.b",
        "top": "SELECT MAX(x) AS x, COUNT(*) AS n FROM v JOIN s USING (b)",
    }
    stack = Stack(views, static)
    stack.run(fixed)
    stack.create()
    stack.check()
    for batch in stream:
        stack.run([(table, body) for table, body in batch if table not in static])
        stack.check()


def small(**options: Any) -> rv.Database:
    db = rv.Database(**options)
    db.create_table("r", {"g": "int64", "x": "int64"})
    db.create_view("sums", "SELECT g, SUM(x) AS x FROM r GROUP BY g")
    return db


def test_overflow_above_undoes_all_below() -> None:
    db = small()
    squares = db.create_view("squares", "SELECT SUM(x * x * x) AS y FROM sums")
    other = db.create_view("other", "SELECT COUNT(*) AS n, SUM(x) AS x FROM r")
    db.insert("r", {"g": [1, 2], "x": [10, 20]})
    before = {name: comparable(view.to_arrow()) for name, view in db.views.items()}
    for view in db.views.values():
        view.changes()
    with pytest.raises(errors.ArithmeticOverflowError), db.transaction() as tx:
        tx.insert("r", {"g": [3], "x": [1]})
        tx.insert("r", {"g": [1, 4], "x": [2**62, 2**62]})
    assert {name: comparable(view.to_arrow()) for name, view in db.views.items()} == before
    assert len(db.tables["r"]) == 2
    assert all(view.changes().num_rows == 0 for view in db.views.values())
    db.insert("r", {"g": [3], "x": [-1]})
    assert (squares.scalar(), other.to_arrow().to_pylist()) == (8999, [{"n": 3, "x": 29}])


def test_a_view_that_cannot_be_filled_is_not_there() -> None:
    db = small()
    db.insert("r", {"g": [1, 2], "x": [2**62, 2**62]})
    for sql in (
        "SELECT SUM(x * x * x) AS y FROM sums",
        "SELECT SUM(y) AS y FROM (SELECT g, SUM(x * x * x) AS y FROM sums GROUP BY g) AS q",
    ):
        with pytest.raises(errors.ArithmeticOverflowError):
            db.create_view("squares", sql)
    assert list(db.views) == ["sums"]
    db.drop_view("sums")
    db.drop_table("r")


def test_what_is_read_is_not_dropped() -> None:
    db = small()
    db.create_view("low", "SELECT MAX(x) AS x FROM sums")
    db.create_view("top", "WITH q AS (SELECT g FROM sums) SELECT COUNT(*) AS n FROM q, low")
    for drop, name, readers in (
        (db.drop_view, "sums", ("low", "top")),
        (db.drop_view, "low", ("top",)),
        (db.drop_table, "r", ("sums",)),
    ):
        with pytest.raises(errors.InUseError, match=f'"{name}" is in use by {", ".join(readers)};'):
            drop(name)
    assert list(db.views) == ["sums", "low", "top"]
    for name in ("top", "low", "sums"):
        db.drop_view(name)
    db.drop_table("r")


def test_what_is_read_is_replaced_by_what_can_be_read() -> None:
    db = small()
    db.create_view("top", "SELECT MAX(x) AS x FROM sums")
    db.insert("r", {"g": [1, 1, 2], "x": [1, 2, 5]})
    with pytest.raises(errors.InUseError, match='view "sums" is in use by top'):
        db.create_view("sums", "SELECT g FROM r", create_or_replace=True)
    # A cycle cannot be written.
    with pytest.raises(errors.RingviewError):
        db.create_view("sums", "SELECT x AS g, x FROM top", create_or_replace=True)
    with pytest.raises(errors.UnknownTableError, match='no table or view "sums"'):
        db.create_view("sums", "SELECT g, x FROM (FROM sums) AS q", create_or_replace=True)
    assert db["top"].scalar() == 5
    db.insert("r", {"g": [3], "x": [7]})
    assert db["top"].scalar() == 7


def test_a_lower_view_that_is_refused_is_not_read() -> None:
    db = small()
    with pytest.raises(errors.UnsupportedError):
        db.create_view("bad", "SELECT g, random() AS m FROM r")
    with pytest.raises(errors.UnknownTableError, match='no table or view "bad"; known: r, sums'):
        db.create_view("top", "SELECT MAX(m) AS m FROM bad")
    with pytest.raises(errors.UnsupportedError, match="line 1, column 36"):
        db.create_view("top", "SELECT MAX(m) AS m FROM (SELECT g, random() AS m FROM r) AS q")
    assert list(db.views) == ["sums"]


def test_names_of_blocks_are_free_outside() -> None:
    db = small()
    sql = "WITH q AS (SELECT g, COUNT(*) AS n FROM r GROUP BY g) SELECT MAX(n) AS n FROM q"
    db.create_view("one", sql)
    db.create_view("two", sql.replace("MAX", "MIN"))
    db.create_view("q", "SELECT COUNT(*) AS n FROM r")
    assert list(db.views) == ["sums", "one", "two", "q"]
    db.insert("r", {"g": [1, 1, 2], "x": [1, 2, 3]})
    assert [db[name].scalar() for name in ("one", "two", "q")] == [2, 1, 3]
    assert db["one"].sql == sql
    db.drop_view("one")
    db.insert("r", {"g": [2, 2], "x": [1, 2]})
    assert db["two"].scalar() == 2


def test_multiplicity_as_a_column_below() -> None:
    """The last column of changes() gets another name, whatever columns are below."""
    db = rv.Database()
    db.create_table("r", {"a": "int64", "multiplicity": "int64"})
    db.create_view("low", "SELECT a, SUM(multiplicity) AS multiplicity FROM r GROUP BY a")
    high = db.create_view(
        "high", "SELECT multiplicity, COUNT(*) AS n FROM low GROUP BY multiplicity"
    )
    db.insert("r", {"a": [1, 1, 2], "multiplicity": [3, 4, 7]})
    assert high.changes().to_pylist() == [{"multiplicity": 7, "n": 2, "multiplicity_": 1}]
    db.delete("r", {"a": [2], "multiplicity": [7]})
    assert sorted(high.changes().to_pylist(), key=repr) == [
        {"multiplicity": 7, "n": 1, "multiplicity_": 1},
        {"multiplicity": 7, "n": 2, "multiplicity_": -1},
    ]
    # As a column of multiplicities it can be read further.
    db.insert("r", {"a": [5], "multiplicity": [1], "k": [2]}, multiplicity="k")
    assert db["low"].get({"a": 5}) == {"a": 5, "multiplicity": 2}


def test_all_that_reads_a_view_reads_one_over_views() -> None:
    db = small()
    top = db.create_view("top", "SELECT x, COUNT(*) AS n FROM sums GROUP BY x HAVING COUNT(*) < 3")
    listing = db.create_view("listing", "SELECT g, x FROM sums WHERE x > 1")
    with top.follow(initial=False) as follower:
        db.insert("r", {"g": [1, 2, 3], "x": [5, 5, 7]})
        moved = follower.changes()
    assert sorted(moved.to_pylist(), key=repr) == [
        {"x": 5, "n": 2, "multiplicity": 1},
        {"x": 7, "n": 1, "multiplicity": 1},
    ]
    assert top.get({"x": 5}) == {"x": 5, "n": 2}
    assert top.where(n=1).to_pylist() == [{"x": 7, "n": 1}]
    assert len(listing) == 3
    assert {row["g"] for row in listing} == {1, 2, 3}
    assert set(db.memory_usage()) >= {"view sums", "view top", "view listing"}
    assert "top" in db._repr_html_()
    db.update_factorised("r", {"u": {"g": [1, 2]}, "v": {"x": [1, 2]}})
    assert top.get({"x": 8}) == {"x": 8, "n": 2}
    with db.transaction(net=True) as tx:
        tx.delete("r", {"g": [3], "x": [8]})
        tx.insert("r", {"g": [3, 3], "x": [8, 1]})
    assert top.get({"x": 8}) is None
    assert db["sums"].get({"g": 3}) == {"g": 3, "x": 8}


def test_changes_by_key_reach_what_stands_above() -> None:
    db = rv.Database()
    db.create_table("r", {"id": "int64", "g": "int64", "x": "int64"}, unique="id")
    db.create_view("sums", "SELECT g, SUM(x) AS x FROM r GROUP BY g")
    most = db.create_view("most", "SELECT MAX(x) AS x FROM sums")
    db.upsert("r", {"id": [1, 2], "g": [1, 2], "x": [5, 7]})
    db.update("r", {"id": [2], "x": [3]})
    assert most.scalar() == 5
    db.delete("r", {"id": [1]})
    assert most.scalar() == 3


def test_trusted_deletes() -> None:
    db = small(trust_deletes=True)
    most = db.create_view("most", "SELECT MAX(x) AS x FROM sums")
    db.insert("r", {"g": [1, 1, 2], "x": [1, 2, 9]})
    db.delete("r", {"g": [2], "x": [9]})
    assert most.scalar() == 3
    # Of a view no base rows are needed.
    late = db.create_view("late", "SELECT COUNT(*) AS n, SUM(x) AS x FROM sums")
    assert late.to_arrow().to_pylist() == [{"n": 1, "x": 3}]
    with pytest.raises(errors.UnsupportedError, match="trust_deletes"):
        db.create_view("later", "SELECT COUNT(*) AS n FROM sums, r")


def test_models_fit_on_a_view_over_views() -> None:
    db = rv.Database()
    db.create_table("sales", {"shop": "int64", "units": "int64 not null"})
    db.create_table("shops", {"shop": "int64", "size": "int64 not null"})
    db.create_view("sold", "SELECT shop, SUM(units) AS units FROM sales GROUP BY shop")
    view = db.create_view(
        "features",
        "SELECT COFACTOR(size, units) FROM sold JOIN shops USING (shop)",
        nulls="skip",
    )
    db.insert("shops", {"shop": range(20), "size": range(20)})
    # 3 * size + 2, in several rows a shop.
    db.insert("sales", {"shop": range(20), "units": [2 * size for size in range(20)]})
    db.insert("sales", {"shop": range(20), "units": [size + 2 for size in range(20)]})
    model = ml.LinearRegression(label="units").fit(view)
    assert (round(model.coef_[0], 9), round(model.intercept_, 9)) == (3.0, 2.0)
    db.insert("sales", {"shop": [0] * 3, "units": [1] * 3})
    db.delete("sales", {"shop": [0] * 3, "units": [1] * 3})
    model = ml.LinearRegression(label="units").fit(view)
    assert (round(model.coef_[0], 9), round(model.intercept_, 9)) == (3.0, 2.0)
    with pytest.raises(errors.UnsupportedError, match="is not read by another view"):
        db.create_view("bad", "SELECT * FROM features")


def test_explain_shows_what_stands_below() -> None:
    db = small()
    top = db.create_view(
        "top", "WITH q AS (SELECT x, COUNT(*) AS n FROM sums GROUP BY x) SELECT MAX(n) AS n FROM q"
    )
    text = top.explain()
    assert "sums" in text
    assert "q" in text
    for form in ("mermaid", "graphviz", "html", "json"):
        assert "sums" in top.explain(form)
    assert json.loads(top.explain("json"))
    assert "sums" in db.explain("SELECT MAX(x) AS x FROM sums")
    assert "SELECT" not in db.explain("SELECT MAX(x) AS x FROM (SELECT g AS x FROM r) AS q")
    assert list(db.views) == ["sums", "top"]
