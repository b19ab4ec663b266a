"""Views over DataFrames beside Spark SQL, in one session; print JSON lines.

    python benches/python/spark_batch.py [WORKLOAD ..] [--rows 1000000] [--edges edges.i32]

Invariant: both systems read the same Parquet files, in turn, on the same cores, and their results
agree. Time is that of all processors: the driver, the JVM and the Python workers, with those that
have ended. The first rounds of each are not counted: they start workers and compile.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Tables = dict[str, pa.Table]
Row = tuple[Any, ...]

# Rounds that are not counted: workers start, and what runs often is compiled.
WARM = 2
SECONDS = 60.0


@dataclass(frozen=True)
class Workload:
    """A query over tables that a seed makes, at a scale."""

    sql: str
    tables: Callable[[int, Path | None], Tables]


def money(cents: NDArray[np.int64]) -> pa.Array:
    """Cents as decimals."""
    words = np.stack([cents, cents >> 63], axis=1)
    return pa.Array.from_buffers(
        pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(np.ascontiguousarray(words))]
    )


def shop(rows: int, _: Path | None = None) -> Tables:
    """The columns of TPC-H's tables that the queries read, four lineitems an order."""
    draw = np.random.default_rng(1)
    orders, customers = max(rows // 4, 1), max(rows // 40, 1)
    parts = max(rows // 30, 1)

    def one_of(names: Sequence[str], number: int) -> pa.Array:
        return pa.array(names).take(pa.array(draw.integers(0, len(names), number)))

    return {
        "lineitem": pa.table(
            {
                "orderkey": draw.integers(0, orders, rows),
                "partkey": draw.integers(0, parts, rows),
                "quantity": draw.integers(1, 51, rows),
                "extendedprice": money(draw.integers(100, 10_000_000, rows)),
                "discount": money(draw.integers(0, 11, rows)),
                "tax": money(draw.integers(0, 9, rows)),
                "returnflag": one_of("ANR", rows),
                "linestatus": one_of("FO", rows),
            }
        ),
        "orders": pa.table(
            {
                "orderkey": np.arange(orders),
                "custkey": draw.integers(0, customers, orders),
                "orderpriority": one_of(("1-URGENT", "2-HIGH", "3-MEDIUM", "4-LOW"), orders),
            }
        ),
        "customer": pa.table(
            {"custkey": np.arange(customers), "nationkey": draw.integers(0, 25, customers)}
        ),
        "nation": pa.table({"nationkey": np.arange(25), "regionkey": draw.integers(0, 5, 25)}),
        "region": pa.table({"regionkey": np.arange(5), "name": list("ABCDE")}),
    }


def links(rows: int, _: Path | None = None) -> Tables:
    """Three relations in a chain, each row of one with twenty of the next."""
    draw = np.random.default_rng(2)
    count = rows // 5
    values = max(count // 20, 1)
    made = {"r": ("a", "b"), "s": ("b", "c"), "t": ("c", "d")}
    return {
        name: pa.table({column: draw.integers(0, values, count) for column in columns})
        for name, columns in made.items()
    }


def graph(rows: int, edges: Path | None) -> Tables:
    """The edges of a graph: of a file with pairs of int32, else one with hubs."""
    if edges is not None:
        ends = np.fromfile(edges, np.int32).reshape(-1, 2)[: max(rows, 1)]
    else:
        draw = np.random.default_rng(3)
        count = rows // 2
        ends = (draw.random((count, 2)) ** 2 * (count // 8 + 1)).astype(np.int32)
    return {"edge": pa.table({"src": ends[:, 0], "dst": ends[:, 1]})}


PRICE = "l.extendedprice * (1 - l.discount)"
WORKLOADS = {
    "aggregates": Workload(
        "SELECT l.returnflag, l.linestatus, SUM(l.quantity) AS q, SUM(l.extendedprice) AS e, "
        f"SUM({PRICE}) AS d, SUM({PRICE} * (1 + l.tax)) AS c, AVG(l.quantity) AS aq, "
        "AVG(l.extendedprice) AS ae, AVG(l.discount) AS ad, COUNT(*) AS n, SUM(l.tax) AS t "
        "FROM lineitem l GROUP BY l.returnflag, l.linestatus",
        shop,
    ),
    "priority": Workload(
        f"SELECT o.orderpriority, SUM({PRICE}) AS s, COUNT(*) AS n "
        "FROM orders o JOIN lineitem l ON o.orderkey = l.orderkey GROUP BY o.orderpriority",
        shop,
    ),
    "order": Workload(
        f"SELECT o.orderkey, SUM({PRICE}) AS s, COUNT(*) AS n "
        "FROM orders o JOIN lineitem l ON o.orderkey = l.orderkey GROUP BY o.orderkey",
        shop,
    ),
    "chain": Workload(
        f"SELECT r.name, SUM({PRICE}) AS s, COUNT(*) AS n FROM lineitem l "
        "JOIN orders o ON l.orderkey = o.orderkey JOIN customer c ON o.custkey = c.custkey "
        "JOIN nation n ON c.nationkey = n.nationkey JOIN region r ON n.regionkey = r.regionkey "
        "GROUP BY r.name",
        shop,
    ),
    "self-join": Workload(
        "SELECT COUNT(*) AS n, SUM(a.quantity * b.quantity) AS q "
        "FROM lineitem a JOIN lineitem b ON a.partkey = b.partkey",
        shop,
    ),
    "many-to-many": Workload(
        "SELECT r.a, COUNT(*) AS n, SUM(t.d) AS d "
        "FROM r JOIN s ON r.b = s.b JOIN t ON s.c = t.c GROUP BY r.a",
        links,
    ),
    "triangles": Workload(
        "SELECT COUNT(*) AS n FROM edge r JOIN edge s ON r.dst = s.src "
        "JOIN edge t ON s.dst = t.src AND t.dst = r.src",
        graph,
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


def arguments() -> argparse.ArgumentParser:
    """The options of every comparison."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="where a workload is cut")
    return parser


@contextmanager
def session(cores: int) -> Iterator[Any]:
    """A session on so many cores, and its end."""
    # Imported here, for it starts nothing and takes seconds.
    import ringview.spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = ringview.spark.session(
        "bench",
        {
            "spark.master": f"local[{cores}]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": str(cores),
            "spark.driver.memory": "3g",
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    yield spark
    spark.stop()


def main() -> None:
    """Measure workloads under both systems."""
    parser = arguments()
    parser.add_argument("workload", nargs="*", default=[*WORKLOADS])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--edges", type=Path, help="a graph as pairs of int32")
    options = parser.parse_args()
    with session(options.cores) as spark, tempfile.TemporaryDirectory() as folder:
        for name in options.workload:
            workload = WORKLOADS[name]
            tables = workload.tables(options.rows, options.edges)
            frames = written(spark, tables, Path(folder) / name)
            for line in compared(spark, workload.sql, frames, options):
                print(json.dumps({"workload": f"spark-{name}", **line}), flush=True)
            for table in frames:
                spark.catalog.dropTempView(table)


def written(spark: Any, tables: Tables, folder: Path) -> dict[str, Any]:
    """The tables as Parquet files, each a DataFrame and a name of Spark SQL."""
    folder.mkdir()
    frames = {}
    for table, rows in tables.items():
        path = folder / f"{table}.parquet"
        # So that tasks can share a file.
        pq.write_table(rows, path, row_group_size=100_000)
        frames[table] = spark.read.parquet(str(path))
        frames[table].createOrReplaceTempView(table)
    return frames


def compared(
    spark: Any, sql: str, frames: dict[str, Any], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """The line of each system under one query."""
    import ringview.spark

    systems: dict[str, Callable[[], Any]] = {
        "spark-sql": lambda: spark.sql(sql).toArrow(),
        "ringview": lambda: ringview.spark.evaluate(sql, frames).toArrow(),
    }
    taken: dict[str, list[tuple[float, float]]] = {system: [] for system in systems}
    found: dict[str, list[Row]] = {}
    began = time.perf_counter()
    for number in range(options.rounds + WARM):
        if number > WARM and time.perf_counter() - began > options.seconds:
            break
        for system, run in systems.items():
            start, begun = time.perf_counter(), seconds()
            result = run()
            spent = seconds() - begun, time.perf_counter() - start
            if number >= WARM:
                taken[system].append(spent)
            elif number == 0:
                found[system] = plain(result)
    first, *others = found.values()
    agreed = all(alike(first, other) for other in others)
    lines = []
    for system, times in taken.items():
        line: dict[str, Any] = {"system": system, "cores": options.cores}
        line["cpu_seconds"] = round(median(cpu for cpu, _ in times), 2)
        line |= {"seconds": round(median(wall for _, wall in times), 2), "rounds": len(times)}
        if not agreed:
            line["failed"] = "the results of the two differ"
        lines.append(line)
    return lines


def plain(result: pa.Table) -> list[Row]:
    """Rows as plain values, numbers as doubles, in the order of their groups."""
    columns = [
        [float(v) if isinstance(v, Decimal) else v for v in column.to_pylist()]
        for column in result.columns
    ]
    return sorted(zip(*columns, strict=True))


def alike(one: list[Row], other: list[Row]) -> bool:
    """Whether two results are the same, but for how means are rounded."""
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) if isinstance(a, float) else a == b
        for left, right in zip(one, other, strict=True)
        for a, b in zip(left, right, strict=True)
    )


if __name__ == "__main__":
    main()
