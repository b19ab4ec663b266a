"""Window functions, and aggregates that need all rows of a group, against DuckDB.

Random queries are views over random transactions, some of which fail; each is compared with DuckDB
after every batch.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import everyday
import pyarrow as pa
import pytest
import ringview as rv
import windows
from amounts import some
from everyday import SCHEMAS
from oracle import Oracle
from test_everyday_sql import database, expects, follow, play, same


@pytest.mark.parametrize("seed", some(range(6), 2))
def test_random_windows(seed: int) -> None:
    compare(seed, 60)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 130))
def test_many_random_windows(seed: int) -> None:
    compare(seed, 300)


def compare(seed: int, number: int) -> None:
    """Every query that DuckDB takes is a view, and equal to DuckDB's result after every batch."""
    rng = random.Random(seed)
    oracle = Oracle(SCHEMAS)
    asked = 0
    while asked < number:
        held = {table: everyday.rows(rng, table, 8) for table in SCHEMAS}
        db = database(held)
        views = {}
        # Half of them are followed: the others are computed as they are read.
        shown = {}
        for at in range(15):
            sql = windows.Windows(rng).one()
            if expects(sql, oracle, held):
                views[sql] = db.create_view(f"v{at}", sql)
                asked += 1
                if at % 2:
                    shown[sql] = Counter[str]()
        assert len(views) >= 10
        for _ in range(4):
            for sql, view in views.items():
                same(view, sql, oracle, held)
                assert len(view) == len(view.to_arrow())
                if sql in shown:
                    follow(view, shown[sql])
            play(db, held, rng)


def table(rows: list[dict[str, int | None]], kind: pa.DataType | None = None) -> rv.Database:
    db = rv.Database()
    db.create_table("t", pa.schema({"g": pa.int64(), "x": kind or pa.int64()}))
    db.insert("t", rows)
    return db


def test_what_duckdb_leaves_open_is_the_first_in_the_order_of_values() -> None:
    db = table([{"g": 1, "x": 3}, {"g": 1, "x": 2}, {"g": 2, "x": 2}, {"g": 2, "x": 3}])
    view = db.create_view("v", "SELECT MODE(x) AS m, ARG_MAX(g, x) AS a FROM t")
    assert view.to_arrow().to_pylist() == [{"m": 2, "a": 1}]
    db.delete("t", [{"g": 1, "x": 2}])
    assert view.to_arrow().to_pylist() == [{"m": 3, "a": 1}]
    db.delete("t", [{"g": 1, "x": 3}])
    assert view.to_arrow().to_pylist() == [{"m": 2, "a": 2}]


def test_a_sum_that_overflows_undoes_the_transaction() -> None:
    kind = pa.decimal128(38, 0)
    db = table([{"g": 1, "x": 9 * 10**37}], kind)
    view = db.create_view("v", "SELECT g, SUM(x) OVER (PARTITION BY g) AS s FROM t")
    with pytest.raises(OverflowError):
        db.insert("t", [{"g": 2, "x": 1}, {"g": 1, "x": 9 * 10**37}])
    assert [(row["g"], int(row["s"])) for row in view.to_arrow().to_pylist()] == [(1, 9 * 10**37)]
    db.insert("t", [{"g": 2, "x": 1}])
    assert len(view) == 2


def test_only_the_partitions_that_change_are_told() -> None:
    db = table([{"g": g, "x": x} for g in range(3) for x in range(3)])
    view = db.create_view("v", "SELECT g, x, SUM(x) OVER (PARTITION BY g ORDER BY x) AS s FROM t")
    view.changes()
    db.insert("t", [{"g": 1, "x": 1}])
    moved = view.changes().to_pylist()
    assert {row["g"] for row in moved} == {1}
    assert "for the rows that move" in str(view.explain())
    some = db.create_view("u", "SELECT x, NTILE(2) OVER (PARTITION BY g ORDER BY x) AS n FROM t")
    assert "the rows of the keys that change" in str(some.explain())
    whole = db.create_view("w", "SELECT x, CUME_DIST() OVER (ORDER BY x) AS c FROM t")
    assert "all rows" in str(whole.explain())


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT LAG(x, g) OVER (ORDER BY x) AS l FROM t", "constant"),
        ("SELECT QUANTILE_CONT(x, 1.5) AS q FROM t", "from 0 to 1"),
        ("SELECT NTILE(0) OVER (ORDER BY x) AS q FROM t", "a number from 1"),
        ("SELECT SUM(x) OVER (ORDER BY x RANGE -1 PRECEDING) AS q FROM t", "window frame"),
        (
            "SELECT SUM(x) OVER (ORDER BY CAST('2024-01-01' AS TIMESTAMP) + x * INTERVAL '1 day' "
            "RANGE 3 PRECEDING) AS q FROM t",
            "moments is an INTERVAL",
        ),
    ],
)
def test_refusals_say_why(sql: str, words: str) -> None:
    db = table([])
    with pytest.raises(rv.errors.RingviewError) as refused:
        db.create_view("v", sql)
    assert re.search(words, str(refused.value), re.IGNORECASE), str(refused.value)
    assert not db.views


SHAPES = {
    "incremental": "SELECT g, LAG(x) OVER (PARTITION BY g ORDER BY x) AS l, "
    "SUM(x) OVER (ORDER BY x ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s FROM t",
    "part": "SELECT g, NTILE(3) OVER (PARTITION BY g ORDER BY x) AS k FROM t",
    "full": "SELECT g, NTILE(3) OVER (ORDER BY x) AS k, SUM(x) OVER () AS s FROM t",
}
MEDIANS = {
    "incremental": "SELECT g, SUM(x) AS s FROM t GROUP BY g ORDER BY s LIMIT 3",
    "part": "SELECT g, MEDIAN(x) AS m FROM t GROUP BY g",
    "full": "SELECT MEDIAN(x) AS m FROM t",
}


@pytest.mark.parametrize("shapes", [SHAPES, MEDIANS])
def test_refresh_bounds_what_is_computed_anew(shapes: dict[str, str]) -> None:
    db = table([{"g": 1, "x": 2}])
    order = ["incremental", "part", "full"]
    for most in order:
        for needed, sql in shapes.items():
            if order.index(needed) <= order.index(most):
                db.create_view("v", sql, refresh=most)  # type: ignore[arg-type]
                db.drop_view("v")
                continue
            words = f"refresh=.{most}.*anew.*refresh=.{needed}"
            with pytest.raises(rv.errors.UnsupportedError, match=words):
                db.create_view("v", sql, refresh=most)  # type: ignore[arg-type]
            with pytest.raises(rv.errors.UnsupportedError, match=words):
                db.create_views({"v": sql}, refresh=most)  # type: ignore[arg-type]
            with pytest.raises(rv.errors.UnsupportedError, match=words):
                db.explain(sql, refresh=most)  # type: ignore[arg-type]
            assert not db.views


FRAMES = [
    "LAG(x) OVER (PARTITION BY g {by})",
    "LEAD(x, 2, -1) OVER ({by} DESC)",
    "x - LAG(x, 3) OVER (PARTITION BY g {by})",
    "SUM(x) OVER ({by} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "AVG(x) OVER (PARTITION BY g {by} ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING)",
    "MAX(x) OVER ({by} ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING)",
    "LAST_VALUE(x IGNORE NULLS) OVER ({by} ROWS BETWEEN 4 PRECEDING AND 1 FOLLOWING)",
    "COUNT(*) OVER ({by} ROWS CURRENT ROW)",
    "NTH_VALUE(x, 2) OVER (PARTITION BY g {by} ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)",
]


@pytest.mark.parametrize("seed", some(range(2)))
def test_frames_of_few_rows_over_long_partitions(seed: int) -> None:
    """Views, the changes of their followers, and views above, beside DuckDB."""
    rng = random.Random(seed)
    schema = {"t": pa.schema({"g": pa.int64(), "x": pa.int64()})}
    oracle = Oracle(schema)

    def some(number: int) -> list[dict[str, int | None]]:
        values = [None, *range(30)]
        return [{"g": rng.randrange(2), "x": rng.choice(values)} for _ in range(number)]

    held = {"t": some(80)}
    db = table(held["t"])
    queries = [f"SELECT g, x, {one.format(by='ORDER BY x, g')} AS w FROM t" for one in FRAMES]
    queries += [f"SELECT w, COUNT(*) AS n FROM ({sql}) AS q GROUP BY w" for sql in queries]
    views = {sql: db.create_view(f"v{at}", sql) for at, sql in enumerate(queries)}
    shown = {sql: Counter[tuple[Any, ...]]() for sql in queries}
    for turn in range(8):
        for sql, view in views.items():
            same(view, sql, oracle, held)
            moved = view.changes()
            numbers = moved.column(moved.num_columns - 1).to_pylist()
            # Old rows are first.
            assert numbers == sorted(numbers, key=lambda number: number > 0)
            for row in moved.to_pylist():
                *values, number = row.values()
                shown[sql][tuple(values)] += number
            rows = [tuple(row.values()) for row in view.to_arrow().to_pylist()]
            assert +shown[sql] == Counter(rows), sql
        gone = [held["t"].pop(rng.randrange(len(held["t"]))) for _ in range(rng.randrange(4))]
        come = some(rng.randrange(4))
        with db.transaction() as tx:
            tx.delete("t", gone)
            tx.insert("t", come)
        held["t"] += come
        if turn == 4:
            with pytest.raises(rv.errors.OverDeleteError), db.transaction() as tx:
                tx.insert("t", some(3))
                tx.delete("t", [{"g": 99, "x": 99}])


ORDERED = [
    "SELECT r.a, r.b, RANK() OVER (PARTITION BY r.a ORDER BY r.b) AS n FROM r",
    "SELECT r.a, r.p, SUM(r.p) OVER (PARTITION BY r.a ORDER BY r.p) AS s, COUNT(*) OVER "
    "(PARTITION BY r.a ORDER BY r.p) AS n FROM r WHERE r.a > 1",
    "SELECT r.a, r.f, AVG(r.f) OVER (ORDER BY r.f DESC) AS m FROM r",
    "SELECT r.a, r.b / SUM(r.b) OVER (PARTITION BY r.a) AS share FROM r",
    "SELECT r.s, MIN(r.d) OVER (PARTITION BY r.s) AS d FROM r QUALIFY COUNT(*) OVER () > 3",
]


def test_windows_stay_in_files(tmp_path: Path) -> None:
    rng = random.Random(5)
    oracle = Oracle(SCHEMAS)
    held = {table: everyday.rows(rng, table, 30) for table in SCHEMAS}
    path = tmp_path / "windows"
    with rv.Database.open(path) as db:
        for name, schema in SCHEMAS.items():
            db.create_table(name, schema)
            db.insert(name, pa.Table.from_pylist(held[name], schema=schema))
        for at, sql in enumerate(ORDERED):
            db.create_view(f"v{at}", sql)
        play(db, held, rng)
    for _ in range(2):
        with rv.Database.open(path) as db:
            assert "numbers and sums" in str(db["v0"].explain())
            shown = {sql: Counter[str]() for sql in ORDERED}
            for _ in range(3):
                for at, sql in enumerate(ORDERED):
                    same(db[f"v{at}"], sql, oracle, held)
                    follow(db[f"v{at}"], shown[sql])
                play(db, held, rng)


def test_rows_of_a_window_are_found_by_their_columns() -> None:
    db = table([{"g": g, "x": x} for g in (1, None) for x in (3, 2, 3)])
    view = db.create_view("v", "SELECT g, x, RANK() OVER (PARTITION BY g ORDER BY x) AS n FROM t")
    found = view.where(g=None, n=2).to_pylist()
    assert found == [{"g": None, "x": 3, "n": 2}] * 2
    assert view.where(x=2, n=5).num_rows == 0
    with pytest.raises(rv.errors.UnknownColumnError, match="n"):
        view.where(y=1)


@pytest.mark.parametrize("followed", [False, True])
def test_a_running_sum_that_overflows_undoes_the_transaction(followed: bool) -> None:
    most = 10**38 - 1
    db = table([{"g": 1, "x": most - 5}], pa.decimal128(38, 0))
    view = db.create_view("v", "SELECT x, SUM(x) OVER (PARTITION BY g ORDER BY g) AS s FROM t")
    if followed:
        view.changes()
    with pytest.raises(OverflowError, match="window 1"):
        db.insert("t", [{"g": 1, "x": 6}])
    # Rows before it in the order may compensate.
    db.insert("t", [{"g": 1, "x": -(10**37)}, {"g": 1, "x": 6}, {"g": 2, "x": 6}])
    sums = {int(row["s"]) for row in view.to_arrow().to_pylist()}
    assert sums == {most + 1 - 10**37, 6}
    db.delete("t", [{"g": 1, "x": most - 5}])
    assert {int(row["s"]) for row in view.to_arrow().to_pylist()} == {6 - 10**37, 6}


def test_refresh_is_one_of_three() -> None:
    db = table([])
    with pytest.raises(rv.errors.InvalidValueError, match="incremental"):
        db.create_view("v", SHAPES["part"], refresh="sometimes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ("w PARTITION BY x", "w: a window that extends it has its PARTITION BY"),
        ("v ORDER BY g", "v: it has an ORDER BY"),
        ("u ORDER BY g", "no window of this name"),
    ],
)
def test_windows_that_extend_others(over: str, words: str) -> None:
    db = table([])
    sql = (
        f"SELECT SUM(x) OVER ({over}) AS s FROM t WINDOW w AS (PARTITION BY g), v AS (w ORDER BY x)"
    )
    with pytest.raises(rv.errors.QueryError, match=words):
        db.create_view("v", sql)
