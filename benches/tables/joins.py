"""Tables of the rows of joins: kept, and read."""

from __future__ import annotations

from collections.abc import Callable

import anchors
from results import Line
from workloads import SCALES

from .lines import TITLES, Lines, bytes_a_tuple, compiled, pairs
from .markdown import NONE, table

JOINS = {
    "ringview-trusted": "factorised",
    "ringview-listing": "listing",
    "duckdb": "DuckDB recomputing †",
}


def joins(lines: Lines) -> str:
    """The rows of joins: speed of maintenance, and bytes a tuple."""
    rows = []
    kept = [system for system in JOINS if system != "duckdb"]
    streams = [("retailer-fact-join", None), *(("housing-join", scale) for scale in SCALES)]
    for (workload, scale), order in pairs(streams):
        title = TITLES[workload.removesuffix("-join")]
        cells = lines.speeds(workload, order, JOINS, scale=scale)
        anchored = scale == anchors.SCALE
        cells.append(compiled(workload, order) if anchored else NONE)
        cells += [lines.cell(bytes_a_tuple, workload, order, name, scale=scale) for name in kept]
        cells.append(str(anchors.BYTES[workload]) if anchored else NONE)
        rows.append([title + (f", scale {scale}" if scale else ""), order, *cells])
    head = ["rows of the natural join, M tuples/s", "order", *JOINS.values(), "C++, factorised ‡"]
    head += [*(f"bytes a tuple: {JOINS[name]}" for name in kept), "C++ ‡"]
    return table(head, rows, 2)


def reading(lines: Lines) -> str:
    """All rows of factorised joins, read once."""

    def of(name: str, unit: float, over: str | None = None) -> Callable[[Line], float | None]:
        def value(line: Line) -> float | None:
            found = line.get("reading")
            if not found:
                return None
            return unit * float(found[name]) / (found[over] if over else 1)

        return value

    values = {
        "rows": of("rows", 1),
        "`len`, us": of("len_seconds", 1e6),
        "M rows/s": of("rows", 1e-6, "seconds"),
        "by time on the core": of("rows", 1e-6, "cpu_seconds"),
        "memory, MB": of("resident_bytes", 1e-6),
    }
    rows = []
    streams = [("retailer-fact-join", None), *(("housing-join", scale) for scale in SCALES)]
    for (workload, scale), order in pairs(streams):
        title = TITLES[workload.removesuffix("-join")]
        found = [
            lines.cell(value, workload, order, "ringview-trusted", scale=scale)
            for value in values.values()
        ]
        rows.append([title + (f", scale {scale}" if scale else ""), order, *found])
    return table(["reading a factorised join", "order", *values], rows, 2)
