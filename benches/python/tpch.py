"""The 22 queries of TPC-H as views under refreshes, beside DuckDB recomputing; print JSON lines.

    python benches/python/tpch.py [--scale 1] [--batches 15] [--only q3,q21]

A batch is a transaction of about 1,000 rows as RF1 and RF2 have them: 100 orders are inserted with
their lineitems, the 100 oldest are deleted with theirs. One database holds all eight tables; each
view is created over them, lives through its batches and is dropped; at the end all views live
together.

Invariant: each view equals DuckDB's result after its batches, row for row, floats and averages to
nine digits, rows beyond a LIMIT aside where the order leaves a choice. Figures are medians a batch,
time on the core: the transaction alone, as every view is fresh when it ends. DuckDB has the same
rows in tables of its own in memory, one thread, and is timed for the query alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa
import ringview as rv
from tpch_data import Generator

TEXTS = Path(__file__).parents[2] / "tests" / "python" / "data" / "tpch.sql"
ORDERS_A_BATCH = 100
ROUNDS = 3
KEYS: dict[str, list[str]] = {
    "region": ["r_regionkey"],
    "nation": ["n_nationkey"],
    "supplier": ["s_suppkey"],
    "part": ["p_partkey"],
    "partsupp": ["ps_partkey", "ps_suppkey"],
    "customer": ["c_custkey"],
    "orders": ["o_orderkey"],
    "lineitem": ["l_orderkey", "l_linenumber"],
}
Changes = dict[str, tuple[pa.Table, pa.Table]]
Row = tuple[Any, ...]


def queries(texts: Path = TEXTS) -> dict[str, str]:
    """The texts of a file by their names."""
    found = {}
    for text in texts.read_text().split("-- Q")[1:]:
        number, sql = text.split("\n", 1)
        found[f"q{number.strip()}"] = sql.strip().removesuffix(";")
    return found


class Stream:
    """Refreshes of the tables, one after the other."""

    def __init__(self, scale: float) -> None:
        self.generator = Generator(scale)
        self.tables = self.generator.static()
        self.next = self.generator.sizes.orders
        self.tables["orders"], self.tables["lineitem"] = self.generator.orders(0, self.next)
        counts = pa.table({"o": self.tables["lineitem"]["l_orderkey"]}).group_by("o")
        rows = counts.aggregate([("o", "count")]).sort_by("o")
        self.counts: list[int] = rows["o_count"].to_pylist()
        self.gone = self.gone_lines = 0

    @property
    def rows(self) -> int:
        """Of all tables at first."""
        return sum(len(table) for table in self.tables.values())

    def refresh(self) -> Changes:
        """The next batch: by table, the rows to insert and to delete."""
        orders, lineitem = self.generator.orders(self.next, ORDERS_A_BATCH)
        self.next += ORDERS_A_BATCH
        lines = sum(self.counts[self.gone : self.gone + ORDERS_A_BATCH])
        old_orders = self.tables["orders"].slice(self.gone, ORDERS_A_BATCH)
        old_lines = self.tables["lineitem"].slice(self.gone_lines, lines)
        self.gone += ORDERS_A_BATCH
        self.gone_lines += lines
        return {"orders": (orders, old_orders), "lineitem": (lineitem, old_lines)}


class Recomputed:
    """DuckDB on one thread."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        for name, table in tables.items():
            self.connection.register("incoming", table)
            self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
            self.connection.unregister("incoming")

    def change(self, changes: Changes) -> None:
        """Bring the tables up to date."""
        for name, (come, gone) in changes.items():
            key = KEYS[name][0]
            self.connection.register("come", come)
            self.connection.register("gone", gone)
            self.connection.execute(
                f"DELETE FROM {name} WHERE {key} BETWEEN (SELECT min({key}) FROM gone)"
                f" AND (SELECT max({key}) FROM gone)"
            )
            self.connection.execute(f"INSERT INTO {name} SELECT * FROM come")

    def run(self, sql: str) -> pa.Table:
        """The result of a query."""
        return self.connection.sql(sql).to_arrow_table()

    def seconds(self, sql: str) -> float:
        """Time of a query, the median of some rounds."""
        times = []
        for _ in range(ROUNDS):
            start = time.process_time()
            self.run(sql)
            times.append(time.process_time() - start)
        return median(times)


def comparable(table: pa.Table) -> Counter[Row]:
    """Rows as a bag, numbers by value."""

    def plain(value: Any) -> Any:
        if isinstance(value, (int, float, Decimal)):
            return float(f"{float(value):.9g}")
        return value

    columns = [[plain(value) for value in column.to_pylist()] for column in table.columns]
    return Counter(zip(*columns, strict=True))


def differ(sql: str, found: pa.Table, recomputed: Recomputed) -> str | None:
    """In what a result differs from DuckDB's; None if in nothing."""
    expected = recomputed.run(sql)
    rows, others = comparable(found), comparable(expected)
    if rows != others:
        # If the order leaves a choice at a LIMIT, any of the rows that are as good will do.
        whole = comparable(recomputed.run(sql.partition("\nlimit ")[0]))
        if len(found) != len(expected) or rows - whole:
            return f"{rows - others} beside DuckDB's {others - rows}"
    return None


def check(name: str, sql: str, view: rv.View, recomputed: Recomputed) -> int:
    """Stop unless a view is what DuckDB computes; how many rows it has."""
    found = view.to_arrow()
    if problem := differ(sql, found, recomputed):
        raise SystemExit(f"{name}: {problem}")
    return len(found)


def apply(db: rv.Database, changes: Changes) -> float:
    """One transaction; its time on the core."""
    start = time.process_time()
    with db.transaction() as tx:
        for name, (come, gone) in changes.items():
            tx.insert(name, come)
            tx.delete(name, gone)
    return time.process_time() - start


def lived(
    db: rv.Database, stream: Stream, recomputed: Recomputed, texts: dict[str, str], batches: int
) -> dict[str, Any]:
    """Some views from their creation to their end."""
    start = time.process_time()
    views = {name: db.create_view(name, sql) for name, sql in texts.items()}
    created = time.process_time() - start
    times = []
    for _ in range(batches):
        changes = stream.refresh()
        times.append(apply(db, changes))
        recomputed.change(changes)
    rows = {name: check(name, texts[name], view, recomputed) for name, view in views.items()}
    anew = sum(recomputed.seconds(sql) for sql in texts.values())
    used = db.memory_usage()
    # Blocks of a view are counted beside it.
    held = sum(size for part, size in used.items() if part.startswith(("view ", "block ")))
    for name in views:
        db.drop_view(name)
    return {
        "create_seconds": created,
        "batch_seconds": median(times) if times else 0.0,
        "duckdb_seconds": anew,
        "bytes": sum(used.values()),
        "view_bytes": held,
        "rows": sum(rows.values()),
    }


def lines(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The lines of all measurements, one after the other."""
    wanted = options.only.split(",") if options.only else None
    texts = {name: sql for name, sql in queries().items() if wanted is None or name in wanted}
    stream = Stream(options.scale)
    known = {"workload": "tpch", "tpch_scale": options.scale, "batches": options.batches}
    decoded = sum(table.nbytes for table in stream.tables.values())
    db = rv.Database()
    start = time.process_time()
    for name, table in stream.tables.items():
        db.create_table(name, table.schema, unique=KEYS[name])
        db.insert(name, table)
    loaded = time.process_time() - start
    recomputed = Recomputed(stream.tables)
    plain = {"load_seconds": loaded, "loaded_rows": stream.rows, "decoded_bytes": decoded}
    yield {**known, "query": "none", **plain, **lived(db, stream, recomputed, {}, options.batches)}
    for name, sql in texts.items():
        try:
            measured = lived(db, stream, recomputed, {name: sql}, options.batches)
        except rv.errors.RingviewError as error:
            measured = {"failed": str(error)}
        yield {**known, "query": name, **measured}
    if len(texts) > 1:
        yield {**known, "query": "all", **lived(db, stream, recomputed, texts, options.batches)}


def main(arguments: list[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's scale factor")
    parser.add_argument("--batches", type=int, default=15, help="of each view")
    parser.add_argument("--only", help="names of queries")
    for line in lines(parser.parse_args(arguments)):
        json.dump(line, sys.stdout)
        print(flush=True)


if __name__ == "__main__":
    main()
