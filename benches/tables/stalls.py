"""The table of stalls: the slowest batch beside the median one, while tables grow."""

from __future__ import annotations

from results import Line

from .markdown import NONE, figure, table


def stalls(lines: list[Line]) -> str:
    """The median batch in microseconds; beside it others and the first delete, in medians."""
    lines = [line for line in lines if line["workload"] == "stalls"]
    failures = [f"stalls: failed: {line['failed']}" for line in lines if "failed" in line]
    rows = []
    for line in lines:
        if "failed" in line:
            continue
        first = line["first_delete"]
        ratios = [line["p99"], line["max"], first]
        cells = [NONE if ratio is None else figure(ratio) for ratio in ratios]
        rows.append(
            [line["data"], f"{line['rows']:,}", figure(1e6 * line["median_seconds"]), *cells]
        )
    head = [
        "what grows, batches of 1,000",
        "rows",
        "median, us",
        "p99 ÷ median",
        "slowest ÷ median",
    ]
    found = table([*head, "first delete ÷ median"], rows, 1)
    return "\n\n".join(filter(None, [found, *failures]))
