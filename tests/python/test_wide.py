"""Tables of more columns than a join has variables."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from oracle import Oracle, comparable

SCHEMA = pa.schema({f"c{at}": pa.string() if at % 7 == 1 else pa.int64() for at in range(140)})
QUERIES = [
    "SELECT * FROM t",
    "SELECT * FROM t WHERE c0 > 1",
    "SELECT DISTINCT * FROM t",
    "SELECT *, c0 + c2 AS z FROM t",
    "SELECT * FROM t UNION ALL SELECT * FROM t WHERE c2 < 2",
    "SELECT * FROM t UNION SELECT * FROM t",
    "SELECT c0, COUNT(*) AS n FROM (SELECT DISTINCT * FROM t) w GROUP BY c0",
]


def rows(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows of which some are equal."""

    def row() -> dict[str, Any]:
        same = rng.randrange(3)
        return {
            field.name: None
            if (at + same) % 11 == 0
            else same + at % 2
            if pa.types.is_integer(field.type)
            else f"text {same}"
            for at, field in enumerate(SCHEMA)
        }

    return [row() for _ in range(count)]


@pytest.mark.parametrize("sql", QUERIES)
def test_wide_rows_equal_duckdb(sql: str) -> None:
    rng, oracle, db = random.Random(1), Oracle({"t": SCHEMA}), rv.Database()
    db.create_table("t", SCHEMA)
    view = db.create_view("v", sql)
    held: list[dict[str, Any]] = []
    for _ in range(3):
        come = rows(rng, 5)
        go = [held.pop(rng.randrange(len(held))) for _ in range(len(held) // 2)]
        with db.transaction() as tx:
            tx.delete("t", pa.Table.from_pylist(go, schema=SCHEMA))
            tx.insert("t", pa.Table.from_pylist(come, schema=SCHEMA))
        held += come
        wanted = oracle.rows(sql, {"t": held})
        assert comparable(view.to_arrow()) == wanted
        assert comparable(db.sql(sql)) == wanted


def test_a_join_of_more_columns_is_refused() -> None:
    db = rv.Database()
    db.create_table("t", SCHEMA)
    with pytest.raises(rv.errors.UnsupportedError, match="a query with 140 variables"):
        db.create_view("v", "SELECT t.* FROM t JOIN t u ON t.c0 = u.c2")
