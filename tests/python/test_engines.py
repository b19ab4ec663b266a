"""The engine by hand: a known name, an unknown one, and the text of `explain`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ringview as rv


def database() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    return db


def test_an_engine_is_taken_by_its_name() -> None:
    db = database()
    view = db.create_view("v", "SELECT COUNT(*) AS n FROM r", engine="viewtree")
    db.insert("r", {"a": [1, 2]})
    assert view.scalar() == 2
    assert "engine: viewtree; asked for by name" in view.explain()
    db.create_view("v", "SELECT SUM(a) AS n FROM r", create_or_replace=True)
    assert "asked for" not in db["v"].explain()


def test_a_plan_is_told_for_an_engine_by_name() -> None:
    db = database()
    sql = "SELECT COUNT(*) AS n FROM r"
    assert "engine: viewtree; asked for by name" in db.explain(sql, engine="viewtree")
    assert "asked for" not in db.explain(sql)
    with pytest.raises(ValueError, match="known engines: viewtree"):
        db.explain(sql, engine="trees")
    assert list(db.views) == []


def test_an_unknown_engine_is_refused_with_those_known() -> None:
    db = database()
    with pytest.raises(ValueError, match="known engines: viewtree"):
        db.create_view("v", "SELECT COUNT(*) AS n FROM r", engine="trees")
    assert list(db.views) == []


TRIANGLES = (
    "SELECT COUNT(*) AS n FROM e a JOIN e b ON a.dst = b.src "
    "JOIN e C ON b.dst = C.src AND C.dst = a.src"
)


def edges() -> rv.Database:
    db = rv.Database()
    db.create_table("e", {"src": "int64", "dst": "int64"})
    db.insert("e", {"src": [1, 2, 3, 1, 2], "dst": [2, 3, 1, 2, 2]})
    return db


@pytest.mark.parametrize(
    ("epsilon", "told"),
    [
        (0, "stand in N^0 tuples or more"),
        (0.3, "stand in N^0.3 tuples or more"),
        (np.float32(0.25), "stand in N^0.25 tuples or more"),
        (1, "stand in N^1 tuples or more"),
        ({"a": 0.25, "c": 1}, "N^0.25 (a with C), N^0.5 (b with a), N^1 (C with b) tuples or more"),
        ({}, "stand in N^0.5 tuples or more"),
    ],
    ids=repr,
)
def test_epsilon_goes_to_the_engine_that_has_it(epsilon: Any, told: str) -> None:
    db = edges()
    for name in (None, "epsilon"):
        text = db.explain(TRIANGLES, engine=name, epsilon=epsilon)
        how = "name" if name else "its epsilon"
        assert f"engine: epsilon; asked for by {how}; " in text
        assert told in text
    view = db.create_view("v", TRIANGLES, epsilon=epsilon)
    # 1 -> 2 is there twice, and 2 -> 2 closes with itself.
    assert view.scalar() == 2 * 3 + 1
    db.delete("e", {"src": [2, 1], "dst": [2, 2]})
    assert view.scalar() == 3


@pytest.mark.parametrize(
    ("epsilon", "error", "reason"),
    [
        (1.5, ValueError, "epsilon: is 1.5, and must be a number from 0 to 1"),
        (-1e-9, ValueError, "must be a number from 0 to 1"),
        (float("nan"), ValueError, "epsilon: is nan, and must be a number from 0 to 1"),
        (float("inf"), ValueError, "must be a number from 0 to 1"),
        (True, TypeError, "a number from 0 to 1, or a dict of them by alias, not True"),
        ("half", TypeError, "not 'half'"),
        ({"a": None}, TypeError, "epsilon of 'a': .* not None"),
        ({1: 0.5}, TypeError, "a relation is named by a text"),
        ({"a": 2}, ValueError, 'epsilon of "a": is 2'),
        ({"e": 0.5}, ValueError, 'no relation "e"; it has a, b, C'),
        ({"c": 0.5, "C": 0.5}, ValueError, "given twice"),
    ],
    ids=repr,
)
def test_an_epsilon_that_is_none_is_refused(
    epsilon: Any, error: type[Exception], reason: str
) -> None:
    db = edges()
    for make in (db.explain, partial(db.create_view, "v")):
        with pytest.raises(error, match=reason):
            make(TRIANGLES, engine="epsilon", epsilon=epsilon)
    assert list(db.views) == []


def test_an_epsilon_without_use_is_refused() -> None:
    db = edges()
    with pytest.raises(ValueError, match='"viewtree" has no heavy and light values') as refused:
        db.create_view("v", TRIANGLES, engine="viewtree", epsilon=0.5)
    assert "leave epsilon out, or the engine" in str(refused.value)
    db.create_view("v", TRIANGLES, engine="viewtree")
    db.create_view("w", TRIANGLES, epsilon=0.5)
    # The engine itself refuses the queries that it cannot keep.
    with pytest.raises(rv.errors.UnsupportedError, match="three relations or more, and here are 1"):
        db.create_view("x", "SELECT COUNT(*) AS n FROM e", epsilon=0.5)


def test_a_job_names_engine_and_epsilon(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n1,2\n2,3\n3,1\n")
    job = f"""
[[table]]
name = "e"
path = "e.csv"

[[view]]
name = "half"
sql = "{TRIANGLES}"
engine = "epsilon"

[[view]]
name = "mixed"
sql = "{TRIANGLES}"
epsilon = {{a = 0.25, b = 1}}
"""
    (tmp_path / "job.toml").write_text(job)
    loaded = rv.job.load(tmp_path / "job.toml")
    told = rv.job.explain(loaded)
    assert "asked for by name" in told["half"]
    assert "asked for by its epsilon" in told["mixed"]
    assert [view.result.to_pylist() for view in rv.job.run(loaded).views] == [[{"n": 3}]] * 2
    (tmp_path / "job.toml").write_text(job.replace("0.25", "nan"))
    with pytest.raises(ValueError, match="view \"mixed\": epsilon of 'a': is nan"):
        rv.job.run(rv.job.load(tmp_path / "job.toml"))


def test_small_tables_beside_a_large_one_are_looked_up() -> None:
    db = rv.Database()
    for name, columns, rows in (("shops", "s x", 100), ("items", "i y", 100), ("sales", "s i", 0)):
        db.create_table(name, dict.fromkeys(columns.split(), "int64"))
        db.insert(name, {column: range(rows) for column in columns.split()})
    db.insert(
        "sales", {"s": [n % 100 for n in range(20_000)], "i": [n % 99 for n in range(20_000)]}
    )
    sql = "SELECT SUM(x * y) AS v FROM sales JOIN shops USING (s) JOIN items USING (i)"
    assert "engine: viewtree;" in db.explain(sql)
    for name, columns in (("shops", "s x"), ("items", "i y")):
        db.insert(name, {column: range(100, 10_000) for column in columns.split()})
    assert "engine: epsilon;" in db.explain(sql)


def test_heavy_and_light_parts_are_taken_where_the_sizes_say_so() -> None:
    db = rv.Database()
    db.create_table("e", {"src": "int64", "dst": "int64"})
    small = db.create_view("small", TRIANGLES)
    text = small.explain()
    assert "engine: viewtree; joins by equality" in text
    assert (
        "not taken: epsilon, which could, at O(N^0.5) a change; taken by name, or from 10000 "
        in text
    )
    # A star has no triangles; at its end there is one.
    db.insert("e", {"src": range(1, 9_998), "dst": [0] * 9_997})
    assert "engine: viewtree;" in db.explain(TRIANGLES)
    db.insert("e", {"src": [0, 5, 5], "dst": [5, 6, 5]})
    large = db.create_view("large", TRIANGLES)
    text = large.explain()
    assert "engine: epsilon; the smallest table that changes has 10000 rows, and from" in text
    assert "costs O(N^0.5) at the worst; the join is of the class 3R3" in text
    assert "not taken: viewtree, which could, at O(N) a change; joins by equality" in text
    assert "one relation at three places" in text
    db.insert("e", {"src": [6], "dst": [0]})
    db.insert("e", {"src": [0], "dst": [6]})
    db.delete("e", {"src": [5], "dst": [5]})
    assert small.scalar() == large.scalar()
    # Groups it does not keep, and so says nothing.
    grouped = db.explain(TRIANGLES.replace("COUNT", "a.src, COUNT") + " GROUP BY a.src")
    assert "engine: viewtree;" in grouped
