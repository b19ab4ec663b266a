"""The tables of views over DataFrames and over streams of Spark, beside Spark SQL.

Invariant: a figure is one that a program printed: `benches/python/spark_batch.py`, `spark_tpch.py`
or `spark_stream.py`. Cost: O(lines).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median

from results import Line
from workloads import OVER_SPARK, SPARK_CORES, SPARK_STREAM, SPARK_TPCH

from .markdown import NONE, figure, table

TITLES = {
    "aggregates": "lineitem by two flags, nine aggregates",
    "priority": "orders with lineitem, by priority",
    "order": "orders with lineitem, by order",
    "chain": "lineitem to region, five tables",
    "self-join": "lineitem with itself, by part",
    "many-to-many": "chain of three, each row with twenty",
    "triangles": "triangles",
}
SYSTEMS = {"spark-sql": "Spark SQL", "ringview": "`evaluate`"}
MODES = {
    "driver": '`mode="driver"`',
    "partitioned": '`mode="partitioned"`',
    "recompute": "Spark SQL recomputing",
}
# Fewer micro-batches than this are marked.
MANY = 10
Ratios = dict[int, list[float]]


def tables(lines: list[Line]) -> list[str]:
    """Seconds of all processors, and what streams take by the size of their state."""
    lines = [line for line in lines if line["workload"].startswith(OVER_SPARK)]
    failures = [
        " ".join(filter(None, (line["workload"], line.get("query"), "failed:", line["failed"])))
        for line in lines
        if "failed" in line
    ]
    lines = [line for line in lines if "failed" not in line]
    return [workloads(lines), tpch(lines), streams(lines), *failures]


def workloads(lines: list[Line]) -> str:
    """By workload and number of cores."""
    graph = next((line["graph"] for line in lines if "graph" in line), "")
    rows = []
    for name, title in TITLES.items():
        mine = [line for line in lines if line["workload"] == OVER_SPARK + name]
        named = f"{title} of {graph}" if name == "triangles" else title
        rows.append([named, *beside(mine, {})])
    return table(head("over Spark, seconds of all processors"), rows, 1)


def tpch(lines: list[Line]) -> str:
    """By text and number of cores, and the median of the ratios."""
    lines = [line for line in lines if line["workload"] == SPARK_TPCH]
    if not lines:
        return ""
    ratios: Ratios = {}
    queries = dict.fromkeys(line["query"] for line in lines)
    rows = [
        [query, *beside([line for line in lines if line["query"] == query], ratios)]
        for query in queries
    ]
    last = ["median"]
    for cores in SPARK_CORES:
        found = ratios.get(cores)
        last += ["", "", figure(median(found)) if found else NONE]
    scale = lines[0]["tpch_scale"]
    title = f"TPC-H at scale factor {scale:g} over Spark, seconds of all processors"
    return table(head(title), [*rows, last], 1)


def head(title: str) -> list[str]:
    """The head of a table of both systems."""
    found = [title]
    for cores in SPARK_CORES:
        found += [f"local[{cores}]: {title}" for title in SYSTEMS.values()] + ["ratio"]
    return found


def beside(lines: Iterable[Line], ratios: Ratios) -> list[str]:
    """The figures of one query by number of cores; its ratios are noted."""
    taken = {(line["cores"], line["system"]): line["cpu_seconds"] for line in lines}
    row = []
    for cores in SPARK_CORES:
        found = [taken.get((cores, system)) for system in SYSTEMS]
        row += [NONE if each is None else figure(each) for each in found]
        theirs, ours = found
        if theirs is None or ours is None:
            row.append(NONE)
        else:
            ratios.setdefault(cores, []).append(ours / theirs)
            row.append(figure(ours / theirs))
    return row


def streams(lines: list[Line]) -> str:
    """By the rows that were there before, and where the state is."""
    columns: dict[str, Callable[[Line], float | None]] = {
        "s a batch": lambda line: line["cpu_seconds"],
        "kB written": lambda line: line["written_kb"] + line["uploaded_kb"],
        "kB at most": lambda line: line["written_most_kb"],
        "MB of memory": lambda line: line.get("memory_mb"),
        "MB of tables and views": lambda line: line.get("state_mb"),
    }
    mine = [line for line in lines if line["workload"] == SPARK_STREAM and line["mode"] in MODES]
    rows = []
    for line in sorted(mine, key=lambda line: (line["rows"], [*MODES].index(line["mode"]))):
        star = "" if line["batches"] >= MANY else "*"
        values = [value(line) for value in columns.values()]
        figures = [NONE if each is None else figure(each) for each in values]
        rows.append([f"{line['rows']:,}", MODES[line["mode"]] + star, *figures])
    return table(["a stream of Spark, rows before", "the view is kept by", *columns], rows, 2)
