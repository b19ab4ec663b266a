"""The tables of several views over one join, and of views over full tables.

Invariant: a ratio is of figures of one run. Cost: O(lines).
"""

from __future__ import annotations

from results import Line

from .markdown import figure, table


def tables(lines: list[Line]) -> list[str]:
    """Nanoseconds a row of the fact table."""
    return [several(lines), loading(lines), threads(lines)]


def several(lines: list[Line]) -> str:
    """Views together, beside one."""
    lines = [line for line in lines if line["workload"] == "several"]
    one = next((line["row_seconds"] for line in lines if line["how"] == "one"), 1.0)
    found = []
    for line in lines:
        took = line["row_seconds"]
        name = f"{line['views']} views, {line['how']}" if line["views"] > 1 else "one view"
        figures = [figure(1e9 * took), figure(took / one), figure(line["bytes"] / 1e6)]
        found.append([name, *figures])
    head = ["views over one join, trusted deletes, batches of 1,000", "ns a row"]
    return table([*head, "times one view", "MB"], found, 1)


def loading(lines: list[Line]) -> str:
    """A view over full tables, by query: what was measured last."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line["workload"] == "loading":
            seconds = line["row_seconds"], line["stream_seconds"], line["duckdb_seconds"]
            ratio = figure(seconds[0] / seconds[2])
            figures = [figure(1e9 * one) for one in seconds]
            found[line["query"]] = [line["query"], *figures, ratio]
    head = ["a view over full tables", "ns a row", "ns a row as a stream", "DuckDB once"]
    return table([*head, "times DuckDB"], list(found.values()), 1)


def threads(lines: list[Line]) -> str:
    """Views by one thread and by two."""
    found: dict[int, dict[int, float]] = {}
    for line in lines:
        if line["workload"] == "threads":
            found.setdefault(line["views"], {})[line["threads"]] = 1e9 * line["row_seconds"]
    rows = [
        [
            "one view" if views == 1 else f"{views} views, other groups",
            *(figure(took[count]) for count in sorted(took)),
            figure(took[1] / took[2]),
        ]
        for views, took in found.items()
    ]
    head = ["views, base rows kept, batches of 1,000", "ns a row, 1 thread", "2 threads", "times"]
    return table(head, rows, 1)
