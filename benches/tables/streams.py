"""Tables of sums and matrices over the streams: by system, by size of the batch, and in memory."""

from __future__ import annotations

from collections.abc import Mapping

import anchors
from anchors import SIZES
from results import Line
from workloads import ORDERS, STREAMS

from .lines import FAILED, TITLES, Lines, bytes_a_tuple, compiled, pairs
from .markdown import NONE, table

SUMS = {
    "handwritten-arrays": "by hand, arrays",
    "handwritten-tables": "by hand, tables",
    "ringview-trusted": "ringview, trusted deletes",
    "ringview-checked": "ringview",
    "python-trusted": "Python, trusted deletes",
    "python-checked": "Python",
    "first-order": "first order",
    "duckdb": "DuckDB recomputing †",
}
COFACTORS = {
    "ringview-trusted": "ringview, trusted deletes",
    "ringview-checked": "ringview",
    "python-trusted": "Python, trusted deletes",
    "ringview-scalars": "a number an entry",
    "recursive": "recursive",
    "first-order": "first order",
    "duckdb": "DuckDB recomputing †",
}


def sums(lines: Lines) -> str:
    """Every system in batches of 1,000, inserts and deletes."""
    rows = []
    for (stream, _), order in pairs(STREAMS):
        for phase, doing in (("insert", "insert"), ("delete-back", "delete")):
            cells = lines.speeds(stream, order, SUMS, phase=phase)
            anchor = compiled(stream, order) if phase == "insert" else NONE
            rows.append([TITLES[stream], order, doing, *cells, anchor])
    head = ["SUM, batches of 1,000, M tuples/s", "order", "", *SUMS.values(), "C++ ‡"]
    return table(head, rows, 3)


def cofactors(lines: Lines) -> str:
    """Degree-m matrices in batches of 1,000: inserts, and deletes of the first system."""
    rows = []
    for (stream, _), order in pairs(STREAMS):
        workload = f"{stream}-cofactor"
        cells = lines.speeds(workload, order, COFACTORS)
        trusted = next(iter(COFACTORS))
        cells += lines.speeds(workload, order, [trusted], phase="delete-back")
        rows.append([TITLES[stream], order, *cells, compiled(workload, order)])
    head = ["degree-m matrix, batches of 1,000, M tuples/s", "order", *COFACTORS.values()]
    return table([*head, "deletes, trusted", "C++ ‡"], rows, 2)


def by_size(lines: Lines, workload: str, systems: Mapping[str, str], asked: str) -> str:
    """One workload by batch size, inserts; systems of one size only are left out."""
    sizes = [size for size in SIZES if size != 1_000]
    several = {
        system: title
        for system, title in systems.items()
        if any(
            lines.speeds(workload, order, [system], batch=size) != [NONE]
            for order in ORDERS
            for size in sizes
        )
    }
    rows = [
        [
            order,
            f"{size:,}",
            *lines.speeds(workload, order, several, batch=size),
            compiled(workload, order, size),
        ]
        for order in ORDERS
        for size in SIZES
    ]
    title = f"{TITLES[workload.removesuffix('-cofactor')]}: {asked}, M tuples/s"
    return table([title, "batch", *several.values(), "C++ ‡"], rows, 2) if several else ""


def memory(lines: Lines, suffix: str, systems: Mapping[str, str]) -> str:
    """Bytes a tuple after all inserts: as the system counts, and as its process grew."""
    alone = {name: title for name, title in systems.items() if not name.startswith("python")}
    alone = {name: title for name, title in alone.items() if name != "duckdb"}
    rows = []
    for stream, _ in STREAMS:
        workload = stream + suffix
        cells = []
        for system in alone:
            values = [
                lines.cell(value, workload, "shuffled", system, phase="memory")
                for value in (bytes_a_tuple, resident)
            ]
            cells.append(values[0] if values[1] in (NONE, FAILED) else "{} ({})".format(*values))
        rows.append([TITLES[stream], *cells, str(anchors.BYTES[workload])])
    asked = "matrix" if suffix else "SUM"
    head = [f"{asked}, bytes a tuple: counted (resident)", *alone.values(), "C++ ‡"]
    return table(head, rows, 1)


def resident(line: Line) -> float | None:
    """By how much the process grew, a tuple."""
    grown = line.get("resident_bytes")
    return None if grown is None else max(grown, 0) / max(line["tuples"], 1)
