"""Everyday SQL against DuckDB: a list of common queries, and random queries of several shapes.

A view is compared after every batch of inserts and deletes; a batch that fails leaves it as it was.
Ordered rows are returned in their order. Queries that DuckDB takes and no view takes are counted:
at most one in a hundred of many queries.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import everyday
import everyday_queries
import own_functions
import pyarrow as pa
import pytest
import ringview as rv
from amounts import some
from everyday import SCHEMAS
from oracle import Oracle, comparable

QUERIES = [
    line
    for line in (Path(__file__).parent / "data" / "everyday.sql").read_text().splitlines()
    if not line.startswith("--")
]
Rows = dict[str, list[dict[str, Any]]]


def database(held: Rows, *, share: bool = True) -> rv.Database:
    db = own_functions.declare(rv.Database(share=share))
    for table, schema in SCHEMAS.items():
        db.create_table(table, schema)
        db.insert(table, pa.Table.from_pylist(held[table], schema=schema))
    return db


def taken(db: rv.Database, name: str, sql: str) -> rv.View | None:
    """The view of a query, or None if it is refused with a reason."""
    why = ""
    try:
        return db.create_view(name, sql)
    except rv.errors.RingviewError as refusal:
        why = str(refusal)
    assert why
    return None


def play(db: rv.Database, held: Rows, rng: random.Random) -> None:
    """A transaction of inserts and deletes; one in four is begun twice, and fails first."""
    next_held = {table: list(rows) for table, rows in held.items()}
    come, gone = {}, {}
    for table, rows in next_held.items():
        often = rng.randrange(min(4, len(rows) + 1))
        gone[table] = [rows.pop(rng.randrange(len(rows))) for _ in range(often)]
        come[table] = everyday.rows(rng, table, rng.randrange(4)) + gone[table][:1]
        rows.extend(come[table])

    def change(fails: bool) -> None:
        with db.transaction() as tx:
            for table, schema in SCHEMAS.items():
                tx.delete(table, pa.Table.from_pylist(gone[table], schema=schema))
                tx.insert(table, pa.Table.from_pylist(come[table], schema=schema))
            if fails:
                tx.delete("s", [{"a": 99, "c": 99, "t": "not there"}])

    if rng.random() < 0.25:
        with pytest.raises(rv.errors.OverDeleteError):
            change(True)
    change(False)
    held.update(next_held)


def same(
    view: rv.View, sql: str, oracle: Oracle, held: Rows, is_ordered: bool | None = None
) -> None:
    expected = oracle.query(sql, held)
    found = view.to_arrow()
    assert comparable(found) == comparable(expected), sql
    if is_ordered is None:
        is_ordered = sql.upper().rpartition(")")[2].find("ORDER BY") >= 0
    if is_ordered:
        for at in range(len(found)):
            assert comparable(found.slice(at, 1)) == comparable(expected.slice(at, 1)), sql


def follow(view: rv.View, shown: Counter[str]) -> None:
    """The changes, applied, give the rows; old rows precede those in their place."""
    moved = view.changes()
    numbers = moved.column(moved.num_columns - 1).to_pylist()
    assert numbers == sorted(numbers, key=lambda number: number > 0), view.sql
    for row in moved.to_pylist():
        *values, number = row.values()
        shown[repr(values)] += number
    there = Counter(repr([*row.values()]) for row in view.to_arrow().to_pylist())
    assert {row: often for row, often in shown.items() if often} == there, view.sql


def expects(sql: str, oracle: Oracle, held: Rows) -> bool:
    """Whether DuckDB takes a query."""
    try:
        oracle.query(sql, held)
    except duckdb.Error:
        return False
    return True


@pytest.mark.parametrize("part", range(6))
def test_what_people_ask(part: int) -> None:
    rng = random.Random(part)
    oracle = Oracle(SCHEMAS)
    held = {table: everyday.rows(rng, table, 9) for table in SCHEMAS}
    db = database(held)
    asked = QUERIES[part::6]
    views = {sql: taken(db, f"v{at}", sql) for at, sql in enumerate(asked)}
    shown = {sql: Counter[str]() for sql in asked}
    for _ in range(5):
        for sql, view in views.items():
            if view is not None:
                same(view, sql, oracle, held)
                follow(view, shown[sql])
        play(db, held, rng)
    assert [sql for sql, view in views.items() if view is None] == []


@pytest.mark.parametrize("seed", some(range(4)))
def test_random_queries(seed: int) -> None:
    assert share_taken(seed, 60) >= 0.95


@pytest.mark.long
def test_many_random_queries() -> None:
    assert fmean(share_taken(seed, 400) for seed in range(100, 120)) >= 0.99


def share_taken(seed: int, number: int) -> float:
    """Share of the queries of DuckDB that are views, each compared after every batch."""
    rng = random.Random(seed)
    oracle = own_functions.oracle()
    asked, refused = Counter[str](), Counter[str]()
    while asked.total() < number:
        held = {table: everyday.rows(rng, table, 7) for table in SCHEMAS}
        db = database(held)
        views, shown = {}, {}
        for at in range(20):
            query = everyday_queries.Queries(rng, functions=True).one()
            if not expects(query.sql, oracle, held):
                continue
            asked[query.shape] += 1
            view = taken(db, f"v{at}", query.sql)
            if view is None:
                refused[query.shape] += 1
                print("refused:", query.sql)
            else:
                views[query] = view
                shown[query] = Counter[str]()
        for _ in range(4):
            for query, view in views.items():
                if expects(query.sql, oracle, held):
                    same(view, query.sql, oracle, held, query.is_ordered)
                    follow(view, shown[query])
            try:
                play(db, held, rng)
            except (rv.errors.RingviewError, OverflowError):
                # A row that a query cannot compute undoes the batch; DuckDB fails over it, too.
                break
    print({shape: f"{asked[shape] - refused[shape]} of {asked[shape]}" for shape in asked})
    return 1 - refused.total() / asked.total()


def test_a_field_hides_a_table_of_an_outer_scope() -> None:
    """In FROM of the subquery, `s` is a struct: DuckDB reads `s.x` as its field."""
    db = rv.Database()
    db.create_table("t", {"a": "int64", "x": "int64"})
    db.create_table("s", {"x": "int64"})
    db.create_view("r", "SELECT a, {'x': x} AS s FROM t")
    sql = "SELECT x, (SELECT COUNT(*) FROM r WHERE r.a = s.x) AS n FROM s"
    view = db.create_view("v", sql)
    rows = pa.table({"a": [1, 5], "x": [5, 5]})
    db.insert("t", rows)
    db.insert("s", {"x": [1, 5]})
    with duckdb.connect() as con:
        con.register("t", rows)
        con.execute("CREATE TABLE s AS SELECT unnest([1, 5]) AS x")
        con.execute("CREATE VIEW r AS SELECT a, {'x': x} AS s FROM t")
        assert sorted(map(tuple, con.sql(sql).fetchall())) == [(1, 1), (5, 1)]
    assert comparable(view.to_arrow()) == [(1, 1), (5, 1)]
