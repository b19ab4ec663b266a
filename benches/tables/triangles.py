"""Tables of triangles: streams of edges, toggled edges, and exponents of what was counted."""

from __future__ import annotations

from typing import Any

import anchors
import slopes
from results import Line
from workloads import ORDERS, TRIANGLES

from .lines import Lines, bytes_a_tuple, compiled, speed
from .markdown import NONE, figure, table

CYCLES = {
    "ringview-trusted": "indicators, trusted deletes",
    "ringview-checked": "indicators",
    "python-trusted": "Python, trusted deletes",
    "ringview-epsilon": "heavy and light, trusted deletes",
    "python-epsilon": "Python, heavy and light, trusted deletes",
    "ringview-plain": "no indicators",
    "ringview-scalars": "a number an entry",
    "recursive": "recursive",
    "first-order": "first order",
    "duckdb": "DuckDB recomputing †",
}
TOGGLES = {
    "ringview-epsilon": "heavy and light",
    "ringview-trusted": "indicators",
    "first-order": "first order",
}


def triangles(lines: Lines) -> str:
    """Triangles with and without indicators: speed and memory."""
    known = [line for workload in TRIANGLES if (line := lines.first(workload))]
    if not known:
        return ""
    rows = []
    for workload, title in TRIANGLES.items():
        for order in ORDERS:
            for value, unit in ((speed, "M tuples/s"), (bytes_a_tuple, "bytes a tuple")):
                cells = [lines.cell(value, workload, order, system) for system in CYCLES]
                anchor = NONE
                if workload in anchors.BYTES:
                    anchor = str(anchors.BYTES[workload])
                    anchor = compiled(workload, order) if value is speed else anchor
                rows.append([title, order, unit, *cells, anchor])
    head = [f"triangles of {known[0].get('graph')}", "order", "", *CYCLES.values()]
    return table([*head, "C++, no indicators, Epinions ‡"], rows, 3)


def toggles(lines: list[Line]) -> str:
    """Microseconds of an insert or delete of an edge between hubs, and in a clique, by size."""
    lines = [line for line in lines if line["workload"] == "toggles"]
    failures = [f"toggled edges: failed: {line['failed']}" for line in lines if "failed" in line]
    lines = [line for line in lines if "failed" not in line]
    taken = {(line["data"], line["size"], line["system"]): line["cpu_seconds"] for line in lines}

    def cell(*key: Any) -> str:
        return figure(1e6 * taken[key]) if key in taken else NONE

    cells = sorted({key[:2] for key in taken}, key=lambda key: (key[0] != "hub", key[1]))
    rows = [
        [data, f"{size:,}", *(cell(data, size, name) for name in TOGGLES)] for data, size in cells
    ]
    head = ["an edge comes or goes, us", "edges", *TOGGLES.values()]
    return "\n\n".join(filter(None, [table(head, rows, 2), *failures]))


def exponents(lines: list[Line]) -> str:
    """The slopes of counted steps and keys against N, beside the theorem's."""
    lines = [line for line in lines if line["workload"] == "exponents" and "failed" not in line]
    rows = []
    for at in sorted({line["epsilon"] for line in lines}):
        time, space = slopes.time(lines, at), slopes.space(lines, at)
        rows.append(
            [
                f"{at:.1f}",
                *("0" if found is None else f"{found:.2f}" for found in (time, space)),
                f"{max(at, 1 - at):.1f}",
                f"{min(1 + at, 2 - 2 * at):.1f}",
            ]
        )
    head = ["epsilon", "steps a change, slope", "keys of views, slope"]
    return table([*head, "steps: theorem", "keys: theorem"], rows, 1)
