"""Rows compared with the least and greatest value of a table, under changes and undone ones."""

from __future__ import annotations

import random
from contextlib import suppress

import duckdb
import pytest
import ringview as rv
from ringview.errors import OverDeleteError

QUERIES = [
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM t WHERE x >= (SELECT MAX(x) FROM t)",
    "SELECT COUNT(*) AS n, SUM(f) AS s FROM t WHERE f > 0.5 * (SELECT MAX(f) FROM t)",
    "SELECT SUM(x) AS s FROM t WHERE x > (SELECT MAX(x) FROM t) - 3",
    "SELECT SUM(x) AS s FROM t WHERE x <= (SELECT MIN(x) FROM t WHERE f > 0.5) + 1",
    "SELECT COUNT(*) AS n FROM t WHERE x * 2 < (SELECT MAX(x) + MIN(x) FROM t)",
    "SELECT SUM(t.x) AS s FROM t, u WHERE t.k = u.k AND u.x >= (SELECT MAX(u.x) FROM u)",
    "SELECT SUM(x) AS s FROM t WHERE x >= (SELECT MAX(x) FROM u WHERE x < 7 AND k = 1)",
    "SELECT COUNT(*) AS n FROM t WHERE x = (SELECT MAX(x) FROM t)",
    "SELECT COUNT(*) AS n FROM t WHERE (SELECT MAX(f) FROM t) > 2 * f",
]


@pytest.mark.parametrize("seed", range(4))
def test_views_equal_duckdb(seed: int) -> None:
    draw = random.Random(seed)
    db, other = rv.Database(), duckdb.connect()
    views = {}
    for table in ("t", "u"):
        db.create_table(table, {"k": "int64", "x": "int64", "f": "float64"})
        other.execute(f"CREATE TABLE {table} (k BIGINT, x BIGINT, f DOUBLE)")
    for at, sql in enumerate(QUERIES):
        views[db.create_view(f"v{at}", sql)] = sql
    held: dict[str, list[tuple[int, int | None, float | None]]] = {"t": [], "u": []}
    for _ in range(40):
        for table in ("t", "u"):
            for _ in range(draw.randrange(4)):
                rows = held[table]
                if rows and draw.random() < 0.45:
                    row = rows.pop(draw.randrange(len(rows)))
                    db.delete(table, [dict(zip("kxf", row, strict=True))])
                else:
                    x = None if draw.random() < 0.1 else draw.randrange(-5, 10)
                    f = None if draw.random() < 0.1 else draw.randrange(-8, 8) / 8
                    rows.append((draw.randrange(3), x, f))
                    db.insert(table, [dict(zip("kxf", rows[-1], strict=True))])
        # A change that is refused leaves the extremes as they were.
        with suppress(OverDeleteError), db.transaction() as tx:
            tx.insert("t", [{"k": 1, "x": 1_000, "f": 1e9}])
            tx.insert("u", [{"k": 1, "x": -1_000, "f": -1e9}])
            tx.delete("t", [{"k": 77, "x": 7, "f": 7.0}])
        for table, rows in held.items():
            other.execute(f"DELETE FROM {table}")
            if rows:
                other.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)
        for view, sql in views.items():
            expected = other.sql(sql).fetchall()
            assert [tuple(row.values()) for row in view] == expected, sql
