"""Window functions and ASOF joins over partitions that change; print JSON lines.

    python benches/python/windowed.py [--rows 1000000] [--partitions 1000] [--quick]

A table of so many rows has so many partitions of equal size. A batch takes 500 rows away and
inserts 500, anywhere in the order of their partitions (`anywhere`), or both at its end (`latest`):
there few rows move. Each view is measured where nobody follows it, where its changes are read after
each batch, and once as a whole; beside DuckDB, which takes the same batch and computes all again.

Invariant: all ends are compared with DuckDB; figures are time on the core, of one thread, the
median of the batches.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import ringview as rv

BATCH = 1_000
BATCHES = 5
OVER = "OVER (PARTITION BY p ORDER BY t)"
QUERIES = {
    "RANK": f"SELECT id, p, t, RANK() {OVER} AS w FROM t",
    "ROW_NUMBER": f"SELECT id, p, t, ROW_NUMBER() {OVER} AS w FROM t",
    "running sum": f"SELECT id, p, t, SUM(x) {OVER} AS w FROM t",
    "moving sum": "SELECT id, p, t, SUM(x) OVER (PARTITION BY p ORDER BY t ROWS 9 PRECEDING) AS w "
    "FROM t",
    "LAG": f"SELECT id, p, t, x - LAG(x) {OVER} AS w FROM t",
    "share of total": "SELECT id, p, x / SUM(x) OVER (PARTITION BY p) AS w FROM t",
    "ASOF": "SELECT a.id, a.p, b.id AS w FROM t a ASOF JOIN s b ON a.p = b.p AND a.t >= b.t",
}
Line = dict[str, Any]


class Stream:
    """The rows of both tables, and batches of them; times differ, so that orders have no ties."""

    def __init__(self, rows: int, partitions: int, place: str) -> None:
        self.rng = np.random.default_rng(17)
        self.partitions, self.place, self.next = partitions, place, rows
        self.held = {name: self.rows(np.arange(rows), spread=True) for name in ("t", "s")}

    def rows(self, ids: Any, spread: bool) -> pa.Table:
        """New rows: anywhere, or behind all others."""
        number = len(ids)
        times = self.rng.integers(0, 2**40, number) if spread else 2**40 + ids
        return pa.table(
            {
                "id": ids,
                "p": self.rng.integers(0, self.partitions, number),
                "t": times * 2**20 + ids % 2**20,
                "x": self.rng.integers(0, 1_000, number),
            }
        )

    def batch(self) -> dict[str, tuple[pa.Table, pa.Table]]:
        """By table, rows to insert and rows to delete."""
        changes = {}
        for name, held in self.held.items():
            ids = np.arange(self.next, self.next + BATCH // 2)
            come = self.rows(ids, spread=self.place == "anywhere")
            if self.place == "anywhere":
                at = np.sort(self.rng.choice(len(held), BATCH // 2, replace=False))
            else:
                at = np.argsort(held.column("t").to_numpy())[-(BATCH // 2) :]
            gone = held.take(at)
            stays = np.ones(len(held), dtype=bool)
            stays[at] = False
            self.held[name] = pa.concat_tables([held.filter(pa.array(stays)), come])
            changes[name] = (come, gone)
        self.next += BATCH // 2
        return changes


class Recomputed:
    """DuckDB on one thread."""

    def __init__(self, held: dict[str, pa.Table]) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        for name, table in held.items():
            self.connection.register("incoming", table)
            self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
            self.connection.unregister("incoming")

    def change(self, name: str, come: pa.Table, gone: pa.Table) -> None:
        """Bring a table up to date."""
        self.connection.register("come", come)
        self.connection.register("gone", gone)
        self.connection.execute(f"DELETE FROM {name} WHERE id IN (SELECT id FROM gone)")
        self.connection.execute(f"INSERT INTO {name} SELECT * FROM come")

    def run(self, sql: str) -> pa.Table:
        """The result of a query."""
        return self.connection.sql(sql).to_arrow_table()


def took(work: Callable[[], object]) -> float:
    """Seconds on the core."""
    start = time.process_time()
    work()
    return time.process_time() - start


def same(one: pa.Table, other: pa.Table) -> bool:
    """Whether rows with ids are equal, numbers to nine digits."""

    def columns(table: pa.Table) -> list[Any]:
        doubles = [column.cast(pa.float64(), safe=False) for column in table.sort_by("id").columns]
        return [column.fill_null(np.nan).to_numpy() for column in doubles]

    pairs = zip(columns(one), columns(other), strict=True)
    return len(one) == len(other) and all(
        np.allclose(found, expected, rtol=1e-9, atol=0, equal_nan=True) for found, expected in pairs
    )


def measured(query: str, place: str, rows: int, partitions: int) -> Line:
    """One query under one kind of batches."""
    sql = QUERIES[query]
    tables = ("t", "s") if query == "ASOF" else ("t",)
    stream = Stream(rows, partitions, place)
    views, databases = {}, {}
    for how in ("alone", "followed"):
        db = rv.Database(trust_deletes=True)
        for name in tables:
            db.create_table(name, stream.held[name].schema)
        databases[how], views[how] = db, db.create_view("v", sql)
        for name in tables:
            db.insert(name, stream.held[name])
    recomputed = Recomputed({name: stream.held[name] for name in tables})
    views["followed"].changes()
    times: dict[str, list[float]] = {name: [] for name in ("alone", "followed", "read", "duckdb")}
    moved = []

    def batch(db: rv.Database, changes: dict[str, tuple[pa.Table, pa.Table]]) -> None:
        with db.transaction() as tx:
            for name in tables:
                come, gone = changes[name]
                tx.delete(name, gone)
                tx.insert(name, come)

    def again(changes: dict[str, tuple[pa.Table, pa.Table]]) -> None:
        for name in tables:
            recomputed.change(name, *changes[name])
        recomputed.run(sql)

    for _ in range(BATCHES):
        changes = stream.batch()
        times["alone"].append(took(lambda: batch(databases["alone"], changes)))  # noqa: B023
        spent = took(lambda: batch(databases["followed"], changes))  # noqa: B023
        start = time.process_time()
        moved.append(len(views["followed"].changes()))
        times["followed"].append(spent + time.process_time() - start)
        times["read"].append(took(views["alone"].to_arrow))
        times["duckdb"].append(took(lambda: again(changes)))  # noqa: B023
    expected = recomputed.run(sql)
    if not all(same(view.to_arrow(), expected) for view in views.values()):
        raise SystemExit(f"{sql}: not what DuckDB computes")
    held = databases["alone"].memory_usage()
    seconds = {f"{name}_seconds": statistics.median(all_of) for name, all_of in times.items()}
    line = {"workload": "windows", "query": query, "place": place, "moved": int(np.median(moved))}
    size = sum(size for part, size in held.items() if part.startswith("view "))
    return {**line, **seconds, "bytes": size, "rows": rows, "partitions": partitions}


def lines(rows: int, partitions: int, only: list[str]) -> Iterator[Line]:
    """All of them."""
    for query in only:
        for place in ("anywhere", "latest"):
            yield measured(query, place, rows, partitions)


def main(arguments: list[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each table")
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--quick", action="store_true", help="20,000 rows, 20 partitions")
    parser.add_argument("--only", default=",".join(QUERIES), help="which queries, with commas")
    given = parser.parse_args(arguments)
    rows, partitions = (20_000, 20) if given.quick else (given.rows, given.partitions)
    for line in lines(rows, partitions, given.only.split(",")):
        json.dump(line, sys.stdout)
        print(flush=True)


if __name__ == "__main__":
    main()
