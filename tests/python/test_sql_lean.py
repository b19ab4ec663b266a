"""Blocks of a query leave out unread columns, and rows that no condition passes.

Each view equals DuckDB under changes; its explanation shows the columns and rows that it keeps.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from oracle import Oracle, comparable


def columns(*, nullable: bool, **types: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, of, nullable) for name, of in types.items()])


SCHEMAS = {
    name: columns(
        nullable=False,
        **{"a": pa.int64(), "b": pa.int64(), "kind": pa.string(), "price": pa.decimal128(9, 2)},
        **{f"unread_{name}": pa.string()},
    )
    for name in ("r", "s")
}
# A query, and a word of the explanation for data that must not be kept.
LEAN = {
    "left join": (
        "SELECT r.a, s.kind FROM r LEFT JOIN s ON r.a = s.a AND r.b < s.b",
        "unread",
    ),
    "anti join behind a filter": (
        "SELECT r.kind, COUNT(*) AS n FROM r, s WHERE NOT EXISTS (SELECT * FROM s t "
        "WHERE t.a = r.a AND t.b <> r.b) AND r.a = s.b AND s.kind = 'x' GROUP BY r.kind",
        "unread",
    ),
    "nothing is read": (
        "SELECT COUNT(*) AS n FROM r LEFT JOIN s ON r.a = s.a",
        "unread",
    ),
    "union of columns": (
        "SELECT a FROM (SELECT a, kind, price FROM r UNION ALL SELECT b, kind, price FROM s) q",
        "unread",
    ),
    "a choice across tables": (
        "SELECT r.b, SUM(CASE WHEN s.kind = 'x' THEN r.price * (1 - r.a) ELSE 0 END) AS total, "
        "AVG(CASE WHEN s.kind = 'x' OR s.b > 2 THEN r.price ELSE 0 END) AS mean "
        "FROM r JOIN s ON r.a = s.a GROUP BY r.b",
        "block rows",
    ),
    "an OR across tables": (
        "SELECT SUM(r.price) AS total FROM r JOIN s ON r.a = s.a "
        "WHERE (r.kind = 'x' AND s.kind = 'y' AND r.b > 1) OR (r.kind = 'y' AND s.kind = 'x')",
        "unread",
    ),
}


@pytest.mark.parametrize("name", LEAN)
def test_what_is_not_kept(name: str) -> None:
    sql, absent = LEAN[name]
    oracle, rng = Oracle(SCHEMAS), random.Random(7)
    db = rv.Database()
    for table, schema in SCHEMAS.items():
        db.create_table(table, schema)
    view = db.create_view("v", sql)
    assert absent not in str(view.explain())
    held: dict[str, list[dict[str, Any]]] = {table: [] for table in SCHEMAS}
    for _ in range(12):
        with db.transaction() as tx:
            for table, schema in SCHEMAS.items():
                gone = [held[table].pop() for _ in range(min(len(held[table]), rng.randrange(3)))]
                come = []
                for _ in range(rng.randrange(5)):
                    numbers = {"a": rng.randrange(4), "b": rng.randrange(4)}
                    price = rng.choice([100, 250, -75])
                    come.append(
                        {**numbers, "kind": rng.choice("xyz"), "price": price}
                        | {f"unread_{table}": rng.choice("pq")}
                    )
                held[table] += come
                rng.shuffle(held[table])
                tx.delete(table, pa.Table.from_pylist(gone, schema=schema))
                tx.insert(table, pa.Table.from_pylist(come, schema=schema))
        assert comparable(view.to_arrow()) == oracle.rows(sql, held)


def test_an_or_keeps_rows_out_of_the_join() -> None:
    db = rv.Database()
    for table, schema in SCHEMAS.items():
        db.create_table(table, schema)
    view = db.create_view("v", LEAN["an OR across tables"][0])
    row = {"b": 2, "price": 1, "kind": "z"}
    db.insert("r", [{**row, "a": a, "unread_r": ""} for a in range(50)])
    db.insert("s", [{**row, "a": a, "unread_s": ""} for a in range(50)])
    assert view.scalar() is None
    steps = str(view.explain())
    assert "50 rows" not in steps
