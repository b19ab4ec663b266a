"""The table of TPC-H: each view alone and all of them under refreshes, beside DuckDB recomputing.

Invariant: a query that misses its aim says so by its ratio. Cost: O(lines).
"""

from __future__ import annotations

from results import Line

from .markdown import NONE, figure, table

NAMES = {"none": "tables alone", "all": "all 22 together"}


def tables(lines: list[Line]) -> list[str]:
    """Milliseconds a batch, ratios and bytes, and what loading takes."""
    lines = [line for line in lines if line["workload"] == "tpch"]
    failures = [
        f"TPC-H {line.get('query', '')}: failed: {line['failed']}"
        for line in lines
        if "failed" in line
    ]
    lines = [line for line in lines if "failed" not in line]
    if not lines:
        return failures
    loads = [line for line in lines if "load_seconds" in line]
    rows = loads[0]["loaded_rows"] if loads else 0
    found: list[list[str]] = []
    for line in lines:
        ours, anew = 1e3 * line["batch_seconds"], 1e3 * line["duckdb_seconds"]
        ratio = figure(anew / ours) if anew else NONE
        mega = figure(line["view_bytes"] / 1e6)
        created = figure(line["create_seconds"])
        name: str = NAMES.get(line["query"]) or line["query"]
        found.append([name, figure(ours), figure(anew) if anew else NONE, ratio, created, mega])
    scale = lines[0]["tpch_scale"]
    head = [f"TPC-H at scale factor {scale:g}, batches of 1,000 rows", "ms a batch"]
    head += ["DuckDB recomputing, ms", "ratio", "s to create", "MB"]
    return [table(head, found, 1), *(loading(line, rows) for line in loads), *failures]


def once(lines: list[Line]) -> list[str]:
    """Milliseconds of each query that is run once, beside DuckDB."""
    lines = [line for line in lines if line["workload"] == "ad-hoc"]
    if not lines or "failed" in lines[0]:
        return [f"TPC-H asked once: failed: {line['failed']}" for line in lines]
    found = []
    for line in lines:
        ours, theirs = 1e3 * line["seconds"], 1e3 * line["duckdb_seconds"]
        found.append([line["query"], figure(ours), figure(theirs), figure(ours / theirs)])
    head = [f"TPC-H at scale factor {lines[0]['tpch_scale']:g}, asked once", "ms", "DuckDB, ms"]
    return [table([*head, "times DuckDB"], found, 1)]


def loading(line: Line, rows: int) -> str:
    """Cost of the tables before there are views."""
    speed, bytes_ = rows / line["load_seconds"] / 1e6, line["bytes"]
    row = [f"{rows:,}", figure(speed), figure(bytes_ / rows), figure(line["decoded_bytes"] / rows)]
    head = ["rows of TPC-H, bulk loading without views", "M rows/s", "bytes a row"]
    return table([*head, "bytes a row as Arrow"], [row], 1)
