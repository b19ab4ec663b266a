"""The table of views over DataFrames beside Spark SQL.

Invariant: rows are workloads of `benches/python/spark_batch.py`; a figure is one that it printed.
Cost: O(lines).
"""

from __future__ import annotations

from results import Line
from workloads import OVER_SPARK, SPARK_CORES

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


def tables(lines: list[Line]) -> list[str]:
    """Seconds of all processors, by workload and number of cores."""
    lines = [line for line in lines if line["workload"].startswith(OVER_SPARK)]
    failures = [
        f"{line['workload']}: failed: {line['failed']}" for line in lines if "failed" in line
    ]
    taken = {
        (line["workload"], line["cores"], line["system"]): line["cpu_seconds"]
        for line in lines
        if "failed" not in line
    }
    graph = next((line["graph"] for line in lines if "graph" in line), "")
    rows = []
    for name, title in TITLES.items():
        row = [f"{title} of {graph}" if name == "triangles" else title]
        for cores in SPARK_CORES:
            found = [taken.get((OVER_SPARK + name, cores, system)) for system in SYSTEMS]
            row += [NONE if each is None else figure(each) for each in found]
            theirs, ours = found
            row.append(NONE if theirs is None or ours is None else figure(ours / theirs))
        rows.append(row)
    head = ["over Spark, seconds of all processors"]
    for cores in SPARK_CORES:
        head += [f"local[{cores}]: {title}" for title in SYSTEMS.values()] + ["ratio"]
    return [table(head, rows, 1), *failures]
