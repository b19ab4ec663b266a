"""ASOF joins against DuckDB after every batch, with NULLs, deletes and failing batches."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from oracle import Oracle, comparable
from ringview import errors

SCHEMAS = {
    "trades": pa.schema(
        [("id", pa.int64()), ("sym", pa.string()), ("t", pa.int64()), ("px", pa.int64())]
    ),
    "quotes": pa.schema(
        [("qid", pa.int64()), ("sym", pa.string()), ("t", pa.int32()), ("bid", pa.float64())]
    ),
}
QUERIES = [
    *(
        f"SELECT a.id, b.bid FROM trades a ASOF {kind} quotes b ON a.sym = b.sym AND {inequality}"
        for kind in ("JOIN", "LEFT JOIN")
        for inequality in ("a.t >= b.t", "a.t > b.t", "b.t >= a.t", "a.t < b.t")
    ),
    "SELECT id, bid FROM trades ASOF JOIN quotes USING (sym, t)",
    "SELECT * FROM trades ASOF LEFT OUTER JOIN quotes USING (sym, t)",
    "SELECT a.sym, SUM(a.px * b.bid) AS s FROM trades a ASOF JOIN quotes b "
    "ON a.sym = b.sym AND a.t >= b.t WHERE b.bid > 1 GROUP BY a.sym",
    "SELECT a.id, q.qid FROM trades a ASOF JOIN quotes q "
    "ON a.t >= q.t + 1 AND upper(a.sym) = upper(q.sym)",
    "SELECT a.id, q.qid FROM trades a ASOF INNER JOIN "
    "(SELECT sym, t, qid FROM quotes WHERE bid > 1) q ON a.sym = q.sym AND a.t >= q.t",
    "SELECT COUNT(*) AS n FROM trades a ASOF LEFT JOIN quotes q "
    "ON a.sym = q.sym AND a.t >= q.t WHERE q.qid IS NULL",
    "SELECT a.id, q.qid, r.px FROM trades a ASOF JOIN quotes q ON a.sym = q.sym AND a.t >= q.t "
    "ASOF LEFT JOIN trades r ON a.sym = r.sym AND a.t > r.t",
    "SELECT a.id, q.qid FROM trades a ASOF JOIN quotes q ON a.t >= q.t",
    "SELECT a.id, b.qid FROM trades a ASOF JOIN quotes b ON a.px = b.bid AND a.t >= b.t",
    "SELECT DISTINCT b.bid FROM trades a ASOF JOIN quotes b ON a.sym = b.sym AND a.t >= b.t",
    "SELECT t.id, x.bid FROM trades t LEFT JOIN (SELECT a.id, b.bid FROM trades a "
    "ASOF JOIN quotes b ON a.sym = b.sym AND a.t <= b.t) x ON t.id = x.id",
]
Rows = dict[str, list[dict[str, Any]]]


def database() -> rv.Database:
    db = rv.Database()
    for table, schema in SCHEMAS.items():
        db.create_table(table, schema)
    return db


def row(rng: random.Random, table: str, number: int, taken: set[int]) -> dict[str, Any]:
    """A row, at a time of its own in its table: between equal ones DuckDB takes any."""
    free = [time for time in range(24) if time not in taken]
    time = rng.choice([None, *free])
    if time is not None:
        taken.add(time)
    own: dict[str, Any] = {"sym": rng.choice(["A", "B", "b", None]), "t": time}
    if table == "trades":
        return {"id": number, **own, "px": rng.choice([0, 1, 2, None])}
    return {"qid": number, **own, "bid": rng.choice([-0.0, 1.0, 2.5, None])}


def changes(rng: random.Random, rows: Rows, number: int) -> tuple[Rows, Rows]:
    """Rows to insert and delete, some of them twice."""
    come: Rows = {}
    gone: Rows = {}
    for table, held in rows.items():
        gone[table] = [held.pop(rng.randrange(len(held))) for _ in range(min(len(held), 2))]
        taken = {one["t"] for one in held}
        come[table] = [row(rng, table, number + at, taken) for at in range(rng.randrange(4))]
        if table == "trades":
            come[table] += come[table][:1]
        held.extend(come[table])
    return come, gone


def batch(tx: rv.Transaction, come: Rows, gone: Rows) -> None:
    for table, schema in SCHEMAS.items():
        tx.insert(table, pa.Table.from_pylist(come[table], schema=schema))
        tx.delete(table, pa.Table.from_pylist(gone[table], schema=schema))


@pytest.mark.parametrize("seed", range(4))
def test_as_duckdb_after_every_batch(seed: int) -> None:
    rng = random.Random(seed)
    oracle = Oracle(SCHEMAS)
    db = database()
    rows: Rows = {table: [] for table in SCHEMAS}
    views = {sql: db.create_view(f"v{at}", sql) for at, sql in enumerate(QUERIES)}
    followed = {sql: Counter[str]() for sql in QUERIES}
    for step in range(12):
        come, gone = changes(rng, rows, 10 * step)
        if rng.random() < 0.3:
            with pytest.raises(errors.OverDeleteError), db.transaction() as tx:
                batch(tx, come, gone)
                tx.delete("quotes", [{"qid": -1, "sym": "A", "t": 0, "bid": 0.0}])
        with db.transaction() as tx:
            batch(tx, come, gone)
        for sql, view in views.items():
            expected = oracle.query(sql, rows)
            assert comparable(view.to_arrow()) == comparable(expected), sql
            assert len(view) == len(expected)
            changed = view.changes()
            for one in changed.to_pylist():
                often = one.pop("multiplicity")
                followed[sql][repr(list(one.values()))] += often
            there = Counter(repr(list(one.values())) for one in view.to_arrow().to_pylist())
            assert +followed[sql] == there, sql


def test_full_tables_and_files(tmp_path: Path) -> None:
    rng = random.Random(9)
    oracle = Oracle(SCHEMAS)
    rows: Rows = {table: [] for table in SCHEMAS}
    with rv.Database.open(tmp_path / "file") as db:
        for table, schema in SCHEMAS.items():
            db.create_table(table, schema)
        for step in range(4):
            come, gone = changes(rng, rows, 10 * step)
            with db.transaction() as tx:
                batch(tx, come, gone)
        for at, sql in enumerate(QUERIES):
            db.create_view(f"v{at}", sql)
    with rv.Database.open(tmp_path / "file") as db:
        for at, sql in enumerate(QUERIES):
            assert comparable(db[f"v{at}"].to_arrow()) == comparable(oracle.query(sql, rows)), sql


def test_of_equal_times_one_is_the_match() -> None:
    db = database()
    view = db.create_view("v", QUERIES[0])
    db.insert("trades", [{"id": 1, "sym": "A", "t": 5, "px": 0}])
    quotes = [{"qid": qid, "sym": "A", "t": 5, "bid": float(qid)} for qid in range(3)]
    db.insert("quotes", quotes + quotes[2:])
    assert view.to_arrow().to_pylist() == [{"id": 1, "bid": 2.0}]
    db.delete("quotes", quotes[2:])
    assert view.to_arrow().to_pylist() == [{"id": 1, "bid": 2.0}]
    db.delete("quotes", quotes[1:])
    assert view.to_arrow().to_pylist() == [{"id": 1, "bid": 0.0}]


def test_a_change_moves_the_rows_between_it_and_the_next() -> None:
    db = database()
    view = db.create_view("v", QUERIES[0])
    trades = [{"id": at, "sym": "A", "t": at, "px": 0} for at in range(1000)]
    db.insert("trades", trades)
    quotes = [{"qid": at, "sym": "A", "t": at, "bid": 1.0 + at} for at in range(0, 1000, 10)]
    db.insert("quotes", quotes)
    view.changes()
    db.insert("quotes", [{"qid": 1, "sym": "A", "t": 505, "bid": -1.0}])
    moved = view.changes().to_pylist()
    assert len(moved) == 10
    assert [one["multiplicity"] for one in moved] == [-1] * 5 + [1] * 5
    assert "rows of both sides by key and time" in str(view.explain())


def test_snowflake_keeps_rows_without_a_match() -> None:
    db = database()
    view = db.create_view(
        "v",
        "SELECT a.id, b.bid FROM trades a ASOF JOIN quotes b MATCH_CONDITION (a.t >= b.t) "
        "ON a.sym = b.sym",
        dialect="snowflake",
    )
    db.insert("trades", [{"id": at, "sym": "A", "t": at, "px": 0} for at in (1, 5)])
    db.insert("quotes", [{"qid": 1, "sym": "A", "t": 3, "bid": 9.0}])
    found = view.to_arrow().to_pylist()
    assert sorted(found, key=str) == [{"id": 1, "bid": None}, {"id": 5, "bid": 9.0}]


@pytest.mark.parametrize(
    ("behind", "advice"),
    [
        ("JOIN quotes b ON a.sym = b.sym", "a.t >= b.t"),
        ("JOIN quotes b ON a.t >= b.t AND a.px > b.bid", "WHERE"),
        ("JOIN quotes b ON a.sym >= b.t", "int32"),
        ("JOIN quotes b ON a.t >= a.px", "a.t >= b.t"),
    ],
)
def test_refused(behind: str, advice: str) -> None:
    db = database()
    with pytest.raises(errors.RingviewError, match=advice):
        db.create_view("v", f"SELECT COUNT(*) AS n FROM trades a ASOF {behind}")
    assert not db.views
