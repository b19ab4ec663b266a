"""Several views over one join, and views over tables that are full; print JSON lines.

    python benches/python/several.py [--rows 1000000] [--only several,loading,threads]

A fact table of some rows joins two dimensions. *Several*: 16 views in one database, whose queries
are equal, or differ in their sums, or in their groups, beside one; rows of the fact are inserted in
batches of 1,000, deletes are trusted. *Loading*: a view that is created over the full tables beside
the same rows in batches of 1,000, and beside DuckDB computing it once, on one thread; also with the
facts in the order of their keys. *Threads*: one view and eight with other groups, base rows kept,
by one thread and by two.

Invariant: all ends are compared with DuckDB. Figures are time on the core, those of threads on the
clock, the median of three in turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import ringview as rv
from tpch import Recomputed, comparable

BATCH = 1_000
VIEWS = 16
REPEATED = 3
JOIN = "FROM fact JOIN product USING (product) JOIN shop USING (shop)"
SUM = f"SELECT SUM(units * price * rate) AS total {JOIN}"
FACTORS = [f"{fact} * {product}" for fact in ("units", "cost") for product in ("price", "weight")]
KEYS = ("kind", "region", "day", "shop")
Line = dict[str, Any]


def tables(rows: int) -> dict[str, pa.Table]:
    """The fact and its dimensions."""
    rng = np.random.default_rng(16)

    def below(most: int, number: int = rows) -> Any:
        return rng.integers(0, most, number)

    products, shops = rows // 20, 1_000
    return {
        "fact": pa.table(
            {
                **{"product": below(products), "shop": below(shops), "day": below(365)},
                **{"units": below(100), "cost": below(100)},
            }
        ),
        "product": pa.table(
            {
                **{"product": np.arange(products), "kind": below(50, products)},
                **{"price": below(100, products), "weight": below(100, products)},
            }
        ),
        "shop": pa.table(
            {
                **{"shop": np.arange(shops), "region": below(20, shops)},
                "rate": below(10, shops),
            }
        ),
    }


def queries() -> dict[str, list[str]]:
    """By how they differ: the queries of some views."""
    factors = [f"SUM({of}) AS total {JOIN}" for of in FACTORS]
    factors += [f"SUM({of} * rate) AS total {JOIN}" for of in FACTORS]
    factors += [f"SUM({of} + rate) AS total {JOIN}" for of in FACTORS]
    factors += [f"AVG({of}) AS total {JOIN}" for of in FACTORS]
    groups = [
        f"SELECT {key}, SUM(units * {of}) AS total {JOIN}"
        for key in KEYS
        for of in ("price", "weight", "price * rate", "weight * rate")
    ]
    grouped = [f"{text} GROUP BY {text.split()[1]}" for text in groups]
    return {
        "one": [SUM],
        "equal": [SUM] * VIEWS,
        "other sums": [f"SELECT {text}" for text in factors],
        "other groups": grouped,
    }


def filled(found: dict[str, pa.Table], facts: bool, **options: Any) -> rv.Database:
    """A database with the dimensions, and with the facts or not."""
    db = rv.Database(**options)
    for name, table in found.items():
        db.create_table(name, table.schema)
        if facts or name != "fact":
            db.insert(name, table)
    return db


def several(found: dict[str, pa.Table], recomputed: Recomputed) -> Iterator[Line]:
    """Nanoseconds a row of some views together."""
    for how, texts in queries().items():
        db = rv.Database(trust_deletes=True)
        for name, table in found.items():
            db.create_table(name, table.schema)
        views = [db.create_view(f"v{at}", sql) for at, sql in enumerate(texts)]
        for name in ("product", "shop"):
            db.insert(name, found[name])
        start = time.process_time()
        for batch in found["fact"].to_batches(max_chunksize=BATCH):
            db.insert("fact", batch)
        took = time.process_time() - start
        for view, sql in zip(views, texts, strict=True):
            if comparable(view.to_arrow()) != comparable(recomputed.run(sql)):
                raise SystemExit(f"{sql}: not what DuckDB computes")
        held = sum(size for part, size in db.memory_usage().items() if part.startswith("view "))
        line = {"workload": "several", "how": how, "views": len(views), "bytes": held}
        yield {**line, "row_seconds": took / len(found["fact"])}


def loading(found: dict[str, pa.Table], recomputed: Recomputed) -> Iterator[Line]:
    """A view over full tables, beside its stream and DuckDB."""
    rows = len(found["fact"])
    in_order = found | {
        "fact": found["fact"].sort_by([("product", "ascending"), ("shop", "ascending")])
    }
    groups = queries()["other groups"][0]
    cases = (("total", SUM, found), ("groups", groups, found), ("total, in order", SUM, in_order))
    for name, sql, full in cases:
        db = filled(full, True)
        start = time.process_time()
        view = db.create_view("v", sql)
        loaded = time.process_time() - start
        if comparable(view.to_arrow()) != comparable(recomputed.run(sql)):
            raise SystemExit(f"{sql}: not what DuckDB computes")
        db = filled(full, False)
        db.create_view("v", sql)
        batches = full["fact"].to_batches(max_chunksize=BATCH)
        start = time.process_time()
        for batch in batches:
            db.insert("fact", batch)
        streamed = time.process_time() - start
        line = {"workload": "loading", "query": name, "row_seconds": loaded / rows}
        line |= {
            "stream_seconds": streamed / rows,
            "duckdb_seconds": recomputed.seconds(sql) / rows,
        }
        yield line


def threads(found: dict[str, pa.Table], recomputed: Recomputed) -> Iterator[Line]:
    """Nanoseconds of the clock a row, by one thread and by two."""
    for texts in ([SUM], queries()["other groups"][:8]):
        took: dict[int, list[float]] = {1: [], 2: []}
        for count in list(took) * REPEATED:
            db = filled(found, False, threads=count)
            views = [db.create_view(f"v{at}", sql) for at, sql in enumerate(texts)]
            batches = found["fact"].to_batches(max_chunksize=BATCH)
            start = time.perf_counter()
            for batch in batches:
                db.insert("fact", batch)
            took[count].append(time.perf_counter() - start)
            for view, sql in zip(views, texts, strict=True):
                if comparable(view.to_arrow()) != comparable(recomputed.run(sql)):
                    raise SystemExit(f"{sql}: not what DuckDB computes")
        for count, all_seconds in took.items():
            seconds = statistics.median(all_seconds) / len(found["fact"])
            yield {
                **{"workload": "threads", "views": len(texts), "threads": count},
                "row_seconds": seconds,
            }


MEASURES = {"several": several, "loading": loading, "threads": threads}


def main(arguments: list[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the fact table")
    parser.add_argument("--only", default=",".join(MEASURES), help="which parts, with commas")
    given = parser.parse_args(arguments)
    found = tables(given.rows)
    recomputed = Recomputed(found)
    for measure in (MEASURES[part] for part in given.only.split(",")):
        for line in measure(found, recomputed):
            json.dump({**line, "rows": len(found["fact"])}, sys.stdout)
            print(flush=True)


if __name__ == "__main__":
    main()
