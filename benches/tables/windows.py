"""The table of window functions and ASOF joins over partitions that change.

Invariant: a ratio is of figures of one run. Cost: O(lines).
"""

from __future__ import annotations

from results import Line

from .markdown import figure, table


def tables(lines: list[Line]) -> list[str]:
    """Milliseconds a batch, beside DuckDB, and how many times faster."""
    found, failures = [], []
    for line in lines:
        if line["workload"] != "windows":
            continue
        if "failed" in line:
            failures.append(f"Windows: failed: {line['failed']}")
            continue
        seconds = [line[f"{how}_seconds"] for how in ("duckdb", "alone", "followed", "read")]
        times = [seconds[0] / one for one in seconds[1:3]]
        name = f"{line['query']}, {line['place']}"
        figures = [figure(1e3 * one) for one in seconds]
        found.append([name, f"{line['moved']:,}", *figures, *(figure(one) for one in times)])
    head = ["windows over 10^6 rows, 1,000 partitions, batches of 1,000", "rows that move"]
    head += ["DuckDB, ms", "a batch, ms", "with its changes, ms", "all rows read, ms"]
    return [table([*head, "times DuckDB", "with its changes"], found, 1), *failures]
