"""WITH RECURSIVE against DuckDB after every batch; its changes, explanation, and refusals."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import recursions
import ringview as rv
from oracle import Oracle
from recursions import ALL, ANEW, BAGS, DISTINCT, SCHEMAS, Rows
from test_everyday_sql import follow, same

CLOSURE = DISTINCT["closure"]


def database(held: Rows) -> rv.Database:
    db = rv.Database()
    for table, schema in SCHEMAS.items():
        db.create_table(table, schema)
        db.insert(table, pa.Table.from_pylist(held[table], schema=schema))
    return db


def play(db: rv.Database, there: Rows, rng: random.Random) -> Rows:
    """A transaction; one in four is begun twice, and fails first."""
    come, gone, then = recursions.changes(rng, there)

    def change(fails: bool) -> None:
        with db.transaction() as tx:
            for table, schema in SCHEMAS.items():
                tx.delete(table, pa.Table.from_pylist(gone[table], schema=schema))
                tx.insert(table, pa.Table.from_pylist(come[table], schema=schema))
            if fails:
                tx.delete("s", [{"n": 99}])

    if rng.random() < 0.25:
        with pytest.raises(rv.errors.OverDeleteError):
            change(True)
    change(False)
    return then


@pytest.mark.parametrize("name", ALL)
def test_recursions_are_those_of_duckdb(name: str) -> None:
    compare(name, range(1), 12)


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_many_recursions_are_those_of_duckdb(name: str) -> None:
    compare(name, range(100, 130), 40)


def compare(name: str, seeds: range, batches: int) -> None:
    sql = ALL[name]
    oracle = Oracle(SCHEMAS)
    for seed in seeds:
        rng = random.Random(seed)
        held = recursions.held(rng)
        db = database(held)
        # One is followed, one is there before the first row.
        view, shown = db.create_view("v", sql), Counter[str]()
        early = rv.Database()
        for table, schema in SCHEMAS.items():
            early.create_table(table, schema)
        empty = early.create_view("v", sql)
        for table, schema in SCHEMAS.items():
            early.insert(table, pa.Table.from_pylist(held[table], schema=schema))
        same(empty, sql, oracle, held)
        for _ in range(batches):
            same(view, sql, oracle, held)
            assert len(view) == len(view.to_arrow())
            follow(view, shown)
            held = play(db, held, rng)
        same(view, sql, oracle, held)
        anew = database(held).create_view("v", sql)
        same(anew, sql, oracle, held)


def test_all_of_them_together_share_a_database() -> None:
    oracle, rng = Oracle(SCHEMAS), random.Random(5)
    held = recursions.held(rng)
    db = database(held)
    views = {name: db.create_view(name, sql) for name, sql in ALL.items()}
    for _ in range(8):
        held = play(db, held, rng)
        for name, view in views.items():
            same(view, ALL[name], oracle, held)


def test_views_below_and_above() -> None:
    oracle, rng = Oracle(SCHEMAS), random.Random(11)
    held = recursions.held(rng)
    db = database(held)
    db.create_view("joined", "SELECT e.a, d.b FROM e JOIN d ON e.b = d.a")
    db.create_view(
        "reached",
        "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM joined UNION SELECT r.a, j.b FROM r JOIN "
        "joined j ON r.b = j.a) SELECT a, b FROM r",
    )
    view = db.create_view("counted", "SELECT a, COUNT(*) AS n FROM reached GROUP BY a")
    sql = (
        "WITH RECURSIVE joined AS (SELECT e.a, d.b FROM e JOIN d ON e.b = d.a), r(a, b) AS (SELECT "
        "a, b FROM joined UNION SELECT r.a, j.b FROM r JOIN joined j ON r.b = j.a) SELECT a, "
        "COUNT(*) AS n FROM r GROUP BY a"
    )
    for _ in range(20):
        held = play(db, held, rng)
        same(view, sql, oracle, held)


def chain(number: int) -> rv.Database:
    db = rv.Database()
    db.create_table("e", SCHEMAS["e"])
    db.insert("e", {"a": range(number), "b": range(1, number + 1)})
    return db


def test_one_edge_moves_its_rows() -> None:
    db = chain(20)
    view = db.create_view("v", CLOSURE)
    assert len(view) == 20 * 21 // 2
    view.changes()
    db.insert("e", [{"a": 20, "b": 21}])
    moved = view.changes()
    assert len(moved) == 21
    assert {row["b"] for row in moved.to_pylist()} == {21}
    # A second edge beside another changes no row.
    db.insert("e", [{"a": 3, "b": 4}])
    assert len(view.changes()) == 0
    db.delete("e", [{"a": 3, "b": 4}])
    assert len(view.changes()) == 0
    db.delete("e", [{"a": 3, "b": 4}])
    assert len(view.changes()) == 4 * 18


def test_cycles_go_as_they_came() -> None:
    db = chain(5)
    view = db.create_view("v", CLOSURE)
    before = len(view)
    db.insert("e", [{"a": 5, "b": 0}])
    assert len(view) == 36
    db.delete("e", [{"a": 5, "b": 0}])
    assert len(view) == before
    assert view.to_arrow().num_rows == before


def test_without_an_end_it_stops_and_undoes() -> None:
    db = rv.Database()
    db.create_table("s", SCHEMAS["s"])
    sql = "WITH RECURSIVE t(n) AS (SELECT n FROM s UNION ALL SELECT n + 1 FROM t) SELECT n FROM t"
    view = db.create_view("v", sql.replace("FROM t)", "FROM t WHERE n < 5 OR n > 50)"))
    db.insert("s", [{"n": 2}])
    assert sorted(view.to_arrow()["n"].to_pylist()) == [2, 3, 4, 5]
    with pytest.raises(rv.errors.RingviewError, match="may have no end") as stopped:
        db.insert("s", [{"n": 51}, {"n": 3}])
    assert "WHERE depth < 100" in str(stopped.value)
    assert sorted(view.to_arrow()["n"].to_pylist()) == [2, 3, 4, 5]
    db.insert("s", [{"n": 4}])
    assert sorted(view.to_arrow()["n"].to_pylist()) == [2, 3, 4, 4, 5, 5]
    with pytest.raises(rv.errors.RingviewError, match="may have no end"):
        db.create_view("w", sql)
    assert list(db.views) == ["v"]


def test_what_the_message_advises_ends() -> None:
    db = rv.Database()
    db.create_table("e", SCHEMAS["e"])
    db.insert("e", [{"a": 1, "b": 2}, {"a": 2, "b": 1}])
    sql = (
        "WITH RECURSIVE r(n, depth) AS (SELECT a, 0 FROM e UNION ALL SELECT e.b, depth + 1 FROM r "
        "JOIN e ON r.n = e.a WHERE depth < 100) SELECT n, COUNT(*) AS k FROM r GROUP BY n"
    )
    assert sum(db.create_view("v", sql).to_arrow()["k"].to_pylist()) == 2 * 101
    once = (
        "WITH RECURSIVE r(n) AS (SELECT a FROM e UNION SELECT e.b FROM r JOIN e ON r.n = e.a) "
        "SELECT n FROM r"
    )
    assert sorted(db.create_view("w", once).to_arrow()["n"].to_pylist()) == [1, 2]


def test_a_limit_of_memory_undoes() -> None:
    db = rv.Database(memory_limit="40MB")
    db.create_table("e", SCHEMAS["e"])
    view = db.create_view("v", CLOSURE)
    db.insert("e", {"a": range(100), "b": range(1, 101)})
    before = len(view)
    # All pairs of 3,000 nodes are more than there is room for.
    with pytest.raises(MemoryError):
        db.insert("e", {"a": range(100, 3_000), "b": range(101, 3_001)})
    assert len(view) == before
    db.insert("e", [{"a": 100, "b": 101}])
    assert len(view) == before + 101


def test_an_overflow_undoes() -> None:
    db = rv.Database()
    db.create_table("s", SCHEMAS["s"])
    sql = (
        "WITH RECURSIVE t(n) AS (SELECT n FROM s UNION ALL SELECT n * n FROM t WHERE n > 1) SELECT "
        "* FROM t"
    )
    view = db.create_view("v", sql.replace("n > 1", "n > 1 AND n < 100"))
    db.insert("s", [{"n": 3}])
    assert sorted(view.to_arrow()["n"].to_pylist()) == [3, 9, 81, 6561]
    with pytest.raises(rv.errors.RingviewError):
        db.create_view("w", sql)
    assert sorted(view.to_arrow()["n"].to_pylist()) == [3, 9, 81, 6561]


def test_rows_that_are_there_for_a_moment_refuse_nothing() -> None:
    db = rv.Database()
    db.create_table("e", SCHEMAS["e"])
    # Division by zero undoes a transaction; the edge that would divide by zero is reached no more.
    db.insert("e", [{"a": 1, "b": 2}, {"a": 2, "b": 3}])
    sql = (
        "WITH RECURSIVE r(n, k) AS (SELECT 1, CAST(8 AS BIGINT) UNION ALL SELECT e.b, 8 // (e.b - "
        "7 + r.n - r.n) FROM r JOIN e ON r.n = e.a) SELECT n, k FROM r"
    )
    view = db.create_view("v", sql)
    assert len(view) == 3
    with db.transaction() as tx:
        tx.delete("e", [{"a": 1, "b": 2}])
        tx.insert("e", [{"a": 2, "b": 7}])
    assert view.to_arrow().to_pylist() == [{"n": 1, "k": 8}]
    with pytest.raises(rv.errors.RingviewError, match="zero"):
        db.insert("e", [{"a": 1, "b": 2}])
    assert view.to_arrow().to_pylist() == [{"n": 1, "k": 8}]


def test_files_have_them(tmp_path: Path) -> None:
    oracle, rng = Oracle(SCHEMAS), random.Random(3)
    held = recursions.held(rng)
    queries = {"a": CLOSURE, "b": BAGS["paths"], "c": ANEW["the greatest"]}
    path = tmp_path / "db"
    with rv.Database.open(path) as db:
        for table, schema in SCHEMAS.items():
            db.create_table(table, schema)
            db.insert(table, pa.Table.from_pylist(held[table], schema=schema))
        for name, sql in queries.items():
            db.create_view(name, sql)
        held = play(db, held, rng)
    with rv.Database.open(path) as db:
        for _ in range(3):
            for name, sql in queries.items():
                same(db[name], sql, oracle, held)
            held = play(db, held, rng)
        db.save(tmp_path / "saved")
    saved = rv.Database.load(tmp_path / "saved")
    for _ in range(3):
        for name, sql in queries.items():
            same(saved[name], sql, oracle, held)
        held = play(saved, held, rng)


def test_explain_says_how() -> None:
    db = database({table: [] for table in SCHEMAS})
    words = {
        CLOSURE: ["semi-naive evaluation", "lower level", "delete-and-rederive", "viewtree"],
        DISTINCT["IN"]: ["delete-and-rederive", "derived again"],
        BAGS["walks as rows"]: ["level by level"],
        ANEW["the greatest"]: ["all rows anew"],
    }
    for at, (sql, said) in enumerate(words.items()):
        told = db.create_view(f"v{at}", sql).explain("json")
        for word in said:
            assert word in told, told
    assert sum(db.memory_usage().values()) > 0


def test_refresh_bounds_what_is_computed_anew() -> None:
    db = database({table: [] for table in SCHEMAS})
    for at, sql in enumerate([CLOSURE, DISTINCT["IN"], BAGS["walks"]]):
        db.create_view(f"v{at}", sql, refresh="incremental")
    for sql in ANEW.values():
        for refresh in ("incremental", "part"):
            with pytest.raises(rv.errors.UnsupportedError, match='refresh="full"'):
                db.create_view("w", sql, refresh=refresh)
    # The advice: what reads the recursion may aggregate, order and compare.
    db.create_view(
        "w",
        "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT b FROM r JOIN e ON n = a) SELECT "
        "MAX(n) AS n FROM r WHERE n NOT IN (SELECT a FROM p WHERE a IS NOT NULL)",
        refresh="incremental",
    )


REFUSED = [
    (
        "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT n + 1 FROM r WHERE n < 3 ORDER BY n "
        "LIMIT 2) SELECT * FROM r",
        "rows come in rounds",
        "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT n + 1 FROM r WHERE n < 3) SELECT * "
        "FROM r ORDER BY n LIMIT 2",
    ),
    (
        "WITH RECURSIVE r(n) AS (SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
        "a start and a step",
        "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT n + 1 FROM r WHERE n < 3) SELECT * "
        "FROM r",
    ),
    (
        "WITH RECURSIVE r(n) AS (SELECT n + 1 FROM r WHERE n < 3 UNION SELECT n FROM r) SELECT * "
        "FROM r",
        "where it starts",
        "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION (SELECT n + 1 FROM r WHERE n < 3 UNION "
        "SELECT n FROM r)) SELECT * FROM r",
    ),
    (
        "WITH RECURSIVE r(n) AS (WITH q AS (SELECT n FROM s) SELECT n FROM q UNION SELECT n + 1 "
        "FROM r WHERE n < 3) SELECT * FROM r",
        "stands within the recursion",
        "WITH RECURSIVE q AS (SELECT n FROM s), r(n) AS (SELECT n FROM q UNION SELECT n + 1 FROM r "
        "WHERE n < 3) SELECT * FROM r",
    ),
    (
        "WITH RECURSIVE r(a, b) AS (SELECT n, 1 FROM s UNION SELECT a FROM r) SELECT * FROM r",
        "same number of columns",
        None,
    ),
    (
        "WITH r(n) AS (SELECT n FROM s UNION SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
        'no table or view "r"',
        None,
    ),
]


@pytest.mark.parametrize(("sql", "words", "advised"), REFUSED)
def test_refusals_say_what_to_do(sql: str, words: str, advised: str | None) -> None:
    oracle, held = Oracle(SCHEMAS), recursions.held(random.Random(1))
    db = database(held)
    with pytest.raises(rv.errors.RingviewError, match=words):
        db.create_view("v", sql)
    assert not db.views
    if advised is not None:
        same(db.create_view("v", advised), advised, oracle, held)


def test_names_that_do_not_read_themselves_are_as_without_the_word() -> None:
    oracle, held = Oracle(SCHEMAS), recursions.held(random.Random(2))
    db = database(held)
    queries = [
        "WITH RECURSIVE q AS (SELECT a FROM e), r(n) AS ((SELECT a FROM q) UNION SELECT 1) SELECT "
        "* FROM r",
        "WITH RECURSIVE e AS (SELECT b FROM e) SELECT COUNT(*) AS n FROM e",
        "WITH RECURSIVE t(n) AS ((SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 4)) SELECT "
        "* FROM t",
        "SELECT n FROM (WITH RECURSIVE t(n) AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE "
        "n < 4) SELECT * FROM t) q",
        "WITH RECURSIVE t(n) AS (SELECT 1 AS n UNION ALL SELECT z.m + 1 FROM t AS z(m) WHERE z.m < "
        "4) SELECT * FROM t",
    ]
    for at, sql in enumerate(queries):
        same(db.create_view(f"v{at}", sql), sql, oracle, held, is_ordered=False)
    # DuckDB takes all names of such a WITH for recursive, and refuses an order in them.
    sql = "WITH q AS (SELECT a FROM e UNION ALL SELECT n FROM s ORDER BY 1 LIMIT 3) SELECT a FROM q"
    same(db.create_view("v", sql.replace("WITH", "WITH RECURSIVE")), sql, oracle, held)


def test_a_query_that_is_asked_once() -> None:
    db = chain(5)
    assert len(db.sql(CLOSURE)) == 15
    assert not db.views


def test_parameters_and_dialects() -> None:
    db = chain(9)
    sql = (
        "WITH RECURSIVE r(n) AS (SELECT $1 AS n UNION SELECT b FROM r JOIN e ON n = a) SELECT n "
        "FROM r"
    )
    view = db.create_view("v", sql.replace("$1", "CAST($1 AS BIGINT)"), parameters=[4])
    assert sorted(view.to_arrow()["n"].to_pylist()) == [4, 5, 6, 7, 8, 9]
    told = db.create_view("w", CLOSURE, dialect="postgres")
    assert len(told) == 45


def test_samples_take_no_recursion() -> None:
    db = chain(3)
    with pytest.raises(rv.errors.RingviewError, match="WITH RECURSIVE"):
        db.create_sample("v", CLOSURE, k=2, seed=1)


def test_conditions_on_the_clock_stand_below_or_above() -> None:
    db = rv.Database()
    db.create_table("e", {"a": "int64", "b": "int64", "ts": "timestamp[us]"})
    db.advance(datetime(2026, 1, 2))
    sql = (
        "WITH RECURSIVE {0}r(n, ts) AS (SELECT 1, TIMESTAMP '2026-01-01' UNION SELECT e.b, e.ts "
        "FROM r JOIN {1} e ON r.n = e.a {2}) SELECT n FROM r"
    )
    ago = "WHERE {}ts > now() - INTERVAL '3 days'"
    with pytest.raises(rv.errors.UnsupportedError, match="WITH recent AS"):
        db.create_view("v", sql.format("", "e", ago.format("r.")))
    recent = f"recent AS (SELECT a, b, ts FROM e {ago.format('')}), "
    view = db.create_view("v", sql.format(recent, "recent", ""))
    db.insert("e", {"a": [1, 2], "b": [2, 3], "ts": [datetime(2026, 1, 1), datetime(2026, 1, 2)]})
    assert sorted(view.to_arrow()["n"].to_pylist()) == [1, 2, 3]
    db.advance(datetime(2026, 1, 4, 12))
    assert view.to_arrow()["n"].to_pylist() == [1]


def test_functions_of_the_user_may_be_called_in_a_step() -> None:
    db = chain(4)
    db.create_function("twice", lambda x: pc.multiply(x, 2), ["int64"], "int64")
    sql = (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT twice(n) FROM r WHERE n < 30) "
        "SELECT n FROM r"
    )
    view = db.create_view("v", sql.replace("SELECT 1", "SELECT a FROM e WHERE a = 1"))
    assert sorted(view.to_arrow()["n"].to_pylist()) == [1, 2, 4, 8, 16, 32]


def test_rows_that_double_are_counted_and_not_made() -> None:
    db = rv.Database()
    db.create_table("s", SCHEMAS["s"])
    db.insert("s", [{"n": 1}])
    doubling = (
        "WITH RECURSIVE t(n) AS (SELECT n FROM s UNION ALL "
        "SELECT t.n + 1 FROM t, (VALUES (1), (2)) v(x) WHERE n < 60) SELECT {} FROM t"
    )
    view = db.create_view("v", doubling.format("COUNT(*) AS c"))
    assert view.scalar() == 2**60 - 1
    db.insert("s", [{"n": 60}])
    assert view.scalar() == 2**60
    rows = db.create_view("rows", doubling.format("n"))
    with pytest.raises(rv.errors.OutOfMemoryError, match="1152921504606846976 rows"):
        rows.to_arrow()
    assert view.scalar() == 2**60
