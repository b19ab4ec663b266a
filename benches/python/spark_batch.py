"""Views over DataFrames beside Spark SQL, in one session; print JSON lines.

Invariant: both systems read the same Parquet files, in turn, on the same cores, and their results
agree. Time is that of all processors: the driver, the JVM and the Python workers, with those that
have ended. The first round of each is not counted: it starts workers and compiles.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class Workload:
    """A query over tables that a seed makes, at a scale."""

    sql: str
    tables: Callable[[int], Tables]


def orders(rows: int) -> Tables:
    """A chain of five: lineitems, orders, customers, nations, regions."""
    draw = np.random.default_rng(1)
    keys, customers = max(rows // 4, 1), max(rows // 40, 1)
    return {
        "l": pa.table({"ok": draw.integers(0, keys, rows), "p": draw.integers(0, 10_000, rows)}),
        "o": pa.table({"ok": np.arange(keys), "ck": draw.integers(0, customers, keys)}),
        "c": pa.table({"ck": np.arange(customers), "nk": draw.integers(0, 25, customers)}),
        "n": pa.table({"nk": np.arange(25), "rk": draw.integers(0, 5, 25)}),
        "g": pa.table({"rk": np.arange(5), "name": list("abcde")}),
    }


def pairs(rows: int) -> Tables:
    """Two relations that join on a column of few values: each row with hundreds."""
    draw = np.random.default_rng(2)
    half, values = rows // 2, max(rows // 1_000, 1)
    return {
        "r": pa.table({"a": draw.integers(0, 1_000, half), "b": draw.integers(0, values, half)}),
        "s": pa.table({"b": draw.integers(0, values, half), "x": draw.integers(0, 100, half)}),
    }


def edges(rows: int) -> Tables:
    """A graph with hubs, as three relations."""
    draw = np.random.default_rng(3)
    count = rows // 3
    tables = {}
    for name, one, other in (("r", "a", "b"), ("s", "b", "c"), ("t", "c", "a")):
        ends = [(draw.random(count) ** 2 * (count // 8 + 1)).astype(np.int64) for _ in range(2)]
        tables[name] = pa.table({one: ends[0], other: ends[1]})
    return tables


WORKLOADS = {
    "chain": Workload(
        "SELECT g.name, SUM(l.p) AS s, COUNT(*) AS n FROM l JOIN o USING (ok) JOIN c USING (ck) "
        "JOIN n USING (nk) JOIN g USING (rk) GROUP BY g.name",
        orders,
    ),
    "key": Workload(
        "SELECT o.ck, SUM(l.p) AS s, COUNT(*) AS n FROM l JOIN o USING (ok) GROUP BY o.ck", orders
    ),
    "many": Workload(
        "SELECT r.a, SUM(s.x) AS x, COUNT(*) AS n FROM r JOIN s USING (b) GROUP BY r.a", pairs
    ),
    "triangle": Workload(
        "SELECT COUNT(*) AS n FROM r JOIN s ON r.b = s.b JOIN t ON s.c = t.c AND t.a = r.a", edges
    ),
}


def seconds() -> float:
    """Seconds that this process and all below it have used of the processors."""
    below: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(folder.name)
        below.setdefault(int(fields[1]), []).append(number)
        # User and system time, its own and that of children that have ended.
        used[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total, left = 0.0, [os.getpid()]
    while left:
        number = left.pop()
        total += used.get(number, 0.0)
        left += below.get(number, ())
    return total


def main() -> None:
    """Measure every workload under both systems."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    # Imported here, for they start nothing and take seconds.
    import ringview.spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = ringview.spark.session(
        "bench",
        {
            "spark.master": f"local[{options.cores}]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": str(options.cores),
            "spark.driver.memory": "3g",
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only.split(","):
            measure(spark, name, WORKLOADS[name], options, Path(folder))


def measure(
    spark: Any, name: str, workload: Workload, options: argparse.Namespace, folder: Path
) -> None:
    """The lines of one workload."""
    import ringview.spark

    frames = {}
    for table, rows in workload.tables(options.rows).items():
        path = folder / f"{name}-{table}.parquet"
        pq.write_table(rows, path)
        frames[table] = spark.read.parquet(str(path))
        frames[table].createOrReplaceTempView(table)
    systems: dict[str, Callable[[], Any]] = {
        "spark-sql": lambda: spark.sql(workload.sql),
        "ringview": lambda: ringview.spark.evaluate(workload.sql, frames),
    }
    results = set()
    for number in range(options.rounds + 1):
        for system, run in systems.items():
            start, begun = time.perf_counter(), seconds()
            rows = sorted(map(tuple, run().collect()))
            line = {"cpu_seconds": seconds() - begun, "seconds": time.perf_counter() - start}
            results.add(repr(rows))
            if number:
                line = {key: round(value, 2) for key, value in line.items()}
                print(json.dumps({"workload": name, "system": system, **line}), flush=True)
    if len(results) > 1:
        sys.exit(f"{name}: results differ")


if __name__ == "__main__":
    main()
