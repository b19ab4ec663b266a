"""The table of recursive queries over edges that are inserted and deleted.

Invariant: a ratio is of figures of one run. Cost: O(lines).
"""

from __future__ import annotations

from results import Line

from .markdown import figure, table


def tables(lines: list[Line]) -> list[str]:
    """Milliseconds a batch, beside DuckDB, and how many times faster."""
    found = []
    for line in lines:
        if line["workload"] != "recursion":
            continue
        duckdb, own = line["duckdb_seconds"], line["ringview_seconds"]
        numbers = [f"{line[name]:,}" for name in ("edges", "rows", "moved")]
        times = [figure(1e3 * duckdb), figure(1e3 * own), figure(duckdb / own)]
        found.append([line["query"], *numbers, *times, figure(line["bytes"] / line["rows"])])
    head = ["recursion, batches of 100 edges", "edges", "rows", "rows that move"]
    head += ["DuckDB, ms", "a batch with its changes, ms", "times DuckDB", "bytes a row"]
    return [table(head, found, 1)]
