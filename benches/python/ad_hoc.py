"""TPC-H's queries run once, `db.sql(..)`, beside DuckDB over the same rows; print JSON lines.

    python benches/python/ad_hoc.py [--scale 0.1] [--only q3,q21]

Invariant: each result is what DuckDB computes, as in `tpch.py`. Figures are time on the core, of
one thread, the median of some rounds in turns; both read their own tables in memory and give Arrow.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import pyarrow as pa
import ringview as rv
from tpch import KEYS, Recomputed, Stream, differ, queries

ROUNDS = 3


def filled(tables: dict[str, pa.Table]) -> rv.Database:
    """A database with these tables, by their keys."""
    db = rv.Database()
    for name, table in tables.items():
        db.create_table(name, table.schema, unique=KEYS[name])
        db.insert(name, table)
    return db


def lines(scale: float, wanted: list[str] | None) -> Iterator[dict[str, Any]]:
    """The seconds of each query."""
    tables = Stream(scale).tables
    db, recomputed = filled(tables), Recomputed(tables)
    for name, sql in queries().items():
        if wanted is not None and name not in wanted:
            continue
        times: dict[str, list[float]] = {"seconds": [], "duckdb_seconds": []}
        for _ in range(ROUNDS):
            for system, run in (("seconds", db.sql), ("duckdb_seconds", recomputed.run)):
                start = time.process_time()
                found = run(sql)
                times[system].append(time.process_time() - start)
                if system == "seconds" and (problem := differ(sql, found, recomputed)):
                    raise SystemExit(f"{name}: {problem}")
        figures = {system: median(all_times) for system, all_times in times.items()}
        yield {"workload": "ad-hoc", "tpch_scale": scale, "query": name, **figures}


def main(arguments: list[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H's scale factor")
    parser.add_argument("--only", help="names of queries")
    given = parser.parse_args(arguments)
    for line in lines(given.scale, given.only.split(",") if given.only else None):
        json.dump(line, sys.stdout)
        print(flush=True)


if __name__ == "__main__":
    main()
