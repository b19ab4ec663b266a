"""`db.sql`: what a view of the query would have, and nothing changes.

Random queries of the everyday generator, over tables with and without views that share with them,
are compared with DuckDB after every batch.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import everyday
import everyday_queries
import pyarrow as pa
import pytest
import ringview as rv
from amounts import some
from everyday import SCHEMAS
from everyday_queries import Asked
from oracle import Oracle, comparable
from ringview.cli.prompt import split
from test_everyday_sql import QUERIES, Rows, database, expects, play, taken


def equal(db: rv.Database, query: Asked, oracle: Oracle, held: Rows) -> None:
    found, expected = db.sql(query.sql), oracle.query(query.sql, held)
    assert comparable(found) == comparable(expected), query.sql
    if query.is_ordered:
        for at in range(len(found)):
            one, other = found.slice(at, 1), expected.slice(at, 1)
            assert comparable(one) == comparable(other), query.sql


def state(db: rv.Database) -> tuple[Any, ...]:
    """State that a query must not change."""
    rooms = ("buffers", "dictionary")
    held = {name: size for name, size in db.memory_usage().items() if name not in rooms}
    # As texts, for NaN equals nothing, itself included.
    rows = {name: str(db[name].to_arrow().to_pydict()) for name in db.views}
    return (held, list(db.views), list(db.tables), rows)


@pytest.mark.parametrize("part", range(3))
def test_what_people_ask(part: int) -> None:
    rng, oracle = random.Random(part), Oracle(SCHEMAS)
    held = {table: everyday.rows(rng, table, 9) for table in SCHEMAS}
    db = database(held)
    for _ in range(3):
        before = state(db)
        for sql in QUERIES[part::3]:
            equal(db, Asked("", sql), oracle, held)
        assert state(db) == before
        play(db, held, rng)


@pytest.mark.parametrize("seed", some(range(3)))
def test_random_queries(seed: int) -> None:
    compare(seed, 50)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_random_queries(seed: int) -> None:
    compare(seed, 400)


def compare(seed: int, number: int) -> None:
    rng, oracle = random.Random(seed), Oracle(SCHEMAS)
    asked = refused = 0
    while asked < number:
        held = {table: everyday.rows(rng, table, 7) for table in SCHEMAS}
        db = database(held, share=rng.random() < 0.8)
        queries = [everyday_queries.Queries(rng).one() for _ in range(15)]
        queries = [query for query in queries if expects(query.sql, oracle, held)]
        # Some are views, whose state the query reads; some share sums with a view.
        for at, query in enumerate(queries[::3]):
            taken(db, f"v{at}", query.sql)
        for _ in range(3):
            before = state(db)
            for query in queries:
                if not expects(query.sql, oracle, held):
                    continue
                asked += 1
                try:
                    db.sql(query.sql)
                except rv.errors.RingviewError:
                    refused += 1
                    print("refused:", query.sql)
                    continue
                equal(db, query, oracle, held)
            assert state(db) == before
            try:
                play(db, held, rng)
            except (rv.errors.RingviewError, OverflowError):
                break
    assert refused <= asked / 20


def shop() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64", "s": "string"})
    rows = [{"a": a, "b": b, "s": s} for a, b, s in [(1, 10, "x"), (2, 20, "y"), (2, 5, None)]]
    db.insert("r", rows)
    return db


def test_views_and_samples_are_read_and_parameters_stand_for_constants() -> None:
    db = shop()
    db.create_view("sums", "SELECT a, SUM(b) AS t FROM r GROUP BY a")
    db.create_view("ranks", "SELECT a, RANK() OVER (ORDER BY t DESC) AS k FROM sums")
    db.create_sample("some", "SELECT a, b FROM r", k=2, seed=1)
    found = db.sql("SELECT a, k FROM ranks JOIN sums USING (a) WHERE t > $1", parameters=[15])
    assert found.to_pylist() == [{"a": 2, "k": 1}]
    assert db.sql("SELECT COUNT(*) AS n FROM some").to_pylist() == [{"n": 2}]
    found = db.sql("SELECT b FROM r WHERE s = $name", parameters={"name": "y"})
    assert found.to_pylist() == [{"b": 20}]
    assert db.sql("SELECT 7 / 2 AS x", dialect="postgres").to_pylist() == [{"x": 3}]
    assert db.sql("SELECT s || '!' AS t FROM r ORDER BY a, b").to_pylist() == [
        {"t": "x!"},
        {"t": None},
        {"t": "y!"},
    ]


def test_what_a_view_maintains_is_read() -> None:
    db = shop()
    view = db.create_view("sums", "SELECT a, SUM(b) AS t, COUNT(*) AS n FROM r GROUP BY a")
    assert db.sql("SELECT a, AVG(b) AS m FROM r GROUP BY a ORDER BY a").to_pylist() == [
        {"a": 1, "m": 10.0},
        {"a": 2, "m": 12.5},
    ]
    assert db.sql(view.sql or "").sort_by("a") == view.to_arrow().sort_by("a")
    assert db.sql("SELECT * FROM sums").sort_by("a") == view.to_arrow().sort_by("a")


def test_strings_of_queries_are_let_go() -> None:
    db = shop()
    sizes = []
    for number in range(60):
        found = db.sql("SELECT s || $1 || a || b AS t FROM r", parameters=[f"-{number}-"])
        assert found.num_rows == 3
        sizes.append(db.memory_usage()["dictionary"])
    assert sizes[-1] == sizes[5]


def test_followers_and_transactions_see_nothing_of_it() -> None:
    db = shop()
    view = db.create_view("v", "SELECT a, SUM(b) AS t FROM r GROUP BY a")
    follower = view.follow(initial=False)
    with db.transaction() as tx:
        tx.insert("r", [{"a": 3, "b": 1, "s": "z"}])
        assert db.sql("SELECT COUNT(*) AS n FROM r").to_pylist() == [{"n": 3}]
    assert db.sql("SELECT a + 100 AS k, s || 'new' AS t FROM r").num_rows == 4
    assert [row["a"] for row in follower.changes().to_pylist()] == [3]
    assert len(follower.changes()) == 0


def test_a_file_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "shop.ringview"
    with rv.Database.open(path) as db:
        db.create_table("r", {"a": "int64", "s": "string"})
        db.insert("r", [{"a": 1, "s": "x"}])
        before = db.status()
        assert db.sql("SELECT upper(s) AS s FROM r").to_pylist() == [{"s": "X"}]
        assert db.status() == before
    with rv.Database.open(path) as db:
        assert list(db.views) == []
        assert db.sql("SELECT a FROM r").to_pylist() == [{"a": 1}]


@pytest.mark.parametrize(
    ("sql", "kind", "words"),
    [
        ("SELEC a FROM r", rv.errors.QueryError, "SELEC"),
        ("SELECT c FROM r", rv.errors.UnknownColumnError, "c"),
        ("SELECT a FROM nowhere", rv.errors.UnknownTableError, "nowhere"),
        ("INSERT INTO r VALUES (1, 2, 'x')", rv.errors.RingviewError, ""),
        ("DROP TABLE r", rv.errors.RingviewError, ""),
        ("SELECT a FROM r; SELECT b FROM r", rv.errors.RingviewError, ""),
        ("SELECT a // (b - 10) AS q FROM r", rv.errors.RingviewError, "zero"),
        ("SELECT 9223372036854775807 + a AS q FROM r", rv.errors.ArithmeticOverflowError, ""),
        ("SELECT b FROM r WHERE s = $name", rv.errors.RingviewError, "name"),
        (5, rv.errors.TypeMismatchError, "a text"),
    ],
)
def test_errors_leave_everything_as_it_was(sql: Any, kind: type[Exception], words: str) -> None:
    db = shop()
    db.create_view("v", "SELECT a, s || '-' AS t FROM r")
    before = state(db)
    with pytest.raises(kind) as refused:
        db.sql(sql)
    assert words.lower() in str(refused.value).lower()
    assert state(db) == before
    db.insert("r", [{"a": 4, "b": 4, "s": "w"}])
    assert db.sql("SELECT COUNT(*) AS n FROM v").to_pylist() == [{"n": 4}]


def test_rows_that_are_not_kept_cannot_be_asked() -> None:
    db = rv.Database(trust_deletes=True)
    db.create_table("r", {"a": "int64"})
    assert db.sql("SELECT COUNT(*) AS n FROM r").to_pylist() == [{"n": 0}]
    db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    db.insert("r", [{"a": 1}])
    with pytest.raises(rv.errors.UnsupportedError, match="rows are not kept"):
        db.sql("SELECT MAX(a) AS m FROM r")
    assert db.sql("SELECT SUM(n) AS n FROM v").to_pylist() == [{"n": 1}]


def test_memory_has_its_limit() -> None:
    db = rv.Database(memory_limit="8MB")
    db.create_table("r", {"a": "int64"})
    db.insert("r", pa.table({"a": range(1_000)}))
    with pytest.raises(rv.errors.OutOfMemoryError):
        db.sql("SELECT x.a, y.a AS b FROM r AS x CROSS JOIN r AS y WHERE x.a < y.a ORDER BY b")
    assert db.sql("SELECT COUNT(*) AS n FROM r").to_pylist() == [{"n": 1_000}]


def test_queries_of_a_text_end_with_semicolons() -> None:
    assert split("SELECT ';' AS a; -- one;\n/* ; */ SELECT \";\" FROM t;;\n") == (
        ["SELECT ';' AS a", ' -- one;\n/* ; */ SELECT ";" FROM t'],
        "\n",
    )
    assert split("SELECT 'it''s;") == ([], "SELECT 'it''s;")
