"""Turn measured lines into the tables of docs/benchmarks.md.

Invariant: every figure is the median of its repetitions; nothing is typed in but the anchors, which
were measured elsewhere and are marked so.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

RUST_SYSTEMS = (
    "handwritten-arrays",
    "handwritten-tables",
    "ringview-trusted",
    "ringview-checked",
    "first-order",
)
COLUMNS = {
    "handwritten-arrays": "by hand, arrays",
    "handwritten-tables": "by hand, tables",
    "ringview-trusted": "ringview, trusted deletes",
    "ringview-checked": "ringview",
    "python-trusted": "Python, trusted deletes",
    "python-checked": "Python",
    "first-order": "first order",
    "duckdb": "DuckDB recomputing †",
}
WORKLOADS = {
    "retailer": "Retailer SUM, all change",
    "retailer-fact": "Retailer SUM, only Inventory changes",
    "housing": "Housing SUM",
}
COFACTOR_SYSTEMS = (
    "ringview-trusted",
    "ringview-checked",
    "ringview-scalars",
    "recursive",
    "first-order",
)
COFACTOR_COLUMNS = {
    "ringview-trusted": "ringview, trusted deletes",
    "ringview-checked": "ringview",
    "python-trusted": "Python, trusted deletes",
    "ringview-scalars": "one SUM a number",
    "recursive": "recursive",
    "first-order": "first order",
}
COFACTORS = {
    "retailer-cofactor": "Retailer, 43 attributes, all change",
    "retailer-fact-cofactor": "Retailer, 43 attributes, only Inventory changes",
    "housing-cofactor": "Housing, 27 attributes",
}
# F-IVM's own compiled C++, million tuples a second, by batch size.
SIZES = (1, 100, 1_000, 10_000, 100_000)
ANCHORS = {
    ("retailer", "sorted"): dict(zip(SIZES, (3.3, 9.3, 9.3, 8.1, 6.9), strict=True)),
    ("retailer", "shuffled"): dict(zip(SIZES, (1.2, 2.1, 3.1, 3.2, 2.2), strict=True)),
    ("retailer-fact", "sorted"): {1_000: 50.0},
    ("retailer-fact", "shuffled"): {1_000: 13.2},
    ("housing", "sorted"): dict(zip(SIZES, (5.9, 39.0, 51.0, 50.0, 42.0), strict=True)),
    ("housing", "shuffled"): dict(zip(SIZES, (2.3, 9.5, 10.4, 11.0, 20.0), strict=True)),
    ("retailer-cofactor", "sorted"): dict(zip(SIZES, (1.15, 6.3, 6.7, 6.0, 5.3), strict=True)),
    ("retailer-cofactor", "shuffled"): dict(
        zip(SIZES, (0.35, 0.54, 0.64, 0.92, 1.03), strict=True)
    ),
    ("retailer-fact-cofactor", "sorted"): {1_000: 23.8},
    ("retailer-fact-cofactor", "shuffled"): {1_000: 0.95},
    ("housing-cofactor", "sorted"): dict(zip(SIZES, (2.8, 15.0, 18.0, 17.0, 15.0), strict=True)),
    ("housing-cofactor", "shuffled"): dict(zip(SIZES, (0.72, 1.65, 1.41, 1.43, 2.9), strict=True)),
}
ANCHOR_BYTES = {
    "retailer": 109,
    "retailer-fact": 0,
    "housing": 13,
    "retailer-cofactor": 160,
    "retailer-fact-cofactor": 0,
    "housing-cofactor": 36,
}
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
NONE = "-"
Line = dict[str, Any]


def tables(results: dict[str, Any]) -> str:
    """All tables, with the machine's description above them."""
    described = "; ".join(f"{name}: {value}" for name, value in results["machine"].items())
    lines = Lines(results["lines"])
    sizes = [lines.by_size(workload) for workload in WORKLOADS if lines.has(workload)]
    parts = [described, lines.at_a_thousand(), *sizes, lines.memory()]
    if any(map(lines.has, COFACTORS)):
        parts += lines.cofactors()
    return "\n\n".join([*parts, *chains(results.get("chains", []))])


def replace(path: Path, text: str) -> None:
    """Put the tables between the marks of the page."""
    page = path.read_text()
    head, tail = page.split(BEGIN)[0], page.split(END)[1]
    path.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}")


class Lines:
    """Measured lines, looked up by cell."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._cells: dict[tuple[str, str, int, str, str], list[Line]] = {}
        for line in lines:
            key = tuple(line[part] for part in ("workload", "order", "batch", "system", "phase"))
            self._cells.setdefault(key, []).append(line)

    def has(self, workload: str) -> bool:
        """Whether anything was measured for it."""
        return any(key[0] == workload for key in self._cells)

    def speed(self, workload: str, order: str, batch: int, system: str, phase: str) -> str:
        """The median in million tuples a second, or a dash."""
        lines = self._cells.get((workload, order, batch, system, phase))
        if not lines:
            return NONE
        return figure(median(line["tuples_per_second"] for line in lines) / 1e6)

    def at_a_thousand(self) -> str:
        """Every system in batches of 1,000, inserts and deletes."""
        rows = []
        for workload, title in WORKLOADS.items():
            for order in ("sorted", "shuffled"):
                for phase, doing in (("insert", "insert"), ("delete-back", "delete")):
                    cells = [
                        self.speed(workload, order, 1_000, system, phase) for system in COLUMNS
                    ]
                    anchor = ANCHORS[workload, order].get(1_000) if phase == "insert" else None
                    if set(cells) != {NONE}:
                        rows.append([title, order, doing, *cells, figure(anchor)])
        head = ["batches of 1,000, M tuples/s", "order", "", *COLUMNS.values(), "C++ ‡"]
        return table(head, rows)

    def by_size(self, workload: str) -> str:
        """One workload by batch size, inserts."""
        systems = [name for name in COLUMNS if name != "handwritten-tables"]
        rows = []
        for order in ("sorted", "shuffled"):
            for size in SIZES:
                cells = [self.speed(workload, order, size, system, "insert") for system in systems]
                if set(cells) != {NONE}:
                    anchor = figure(ANCHORS[workload, order].get(size))
                    rows.append([order, f"{size:,}", *cells, anchor])
        head = [f"{WORKLOADS[workload]}, M tuples/s", "batch", *(COLUMNS[s] for s in systems)]
        return table([*head, "C++ ‡"], rows)

    def cofactors(self) -> list[str]:
        """Cofactor matrices by batch size, inserts; and their memory."""
        rows = []
        for workload, title in COFACTORS.items():
            for order in ("sorted", "shuffled"):
                for size in SIZES:
                    cells = [
                        self.speed(workload, order, size, system, "insert")
                        for system in COFACTOR_COLUMNS
                    ]
                    if set(cells) != {NONE}:
                        anchor = figure(ANCHORS[workload, order].get(size))
                        rows.append([title, order, f"{size:,}", *cells, anchor])
        head = ["cofactor, M tuples/s", "order", "batch", *COFACTOR_COLUMNS.values(), "C++ ‡"]
        return [table(head, rows), self.memory(COFACTORS, COFACTOR_SYSTEMS, COFACTOR_COLUMNS)]

    def memory(
        self,
        workloads: dict[str, str] = WORKLOADS,
        systems: tuple[str, ...] = RUST_SYSTEMS,
        columns: dict[str, str] = COLUMNS,
    ) -> str:
        """Bytes a tuple after all inserts: as the system counts, and as its process grew."""
        rows = []
        for workload, title in workloads.items():
            cells = []
            for system in systems:
                lines = self._cells.get((workload, "shuffled", 1_000, system, "memory"), [])
                for line in lines[:1]:
                    grown = (line["resident_bytes"] or 0) / line["tuples"]
                    cells.append(f"{line['bytes'] / line['tuples']:.0f} ({grown:.0f})")
                cells += [NONE] * (not lines)
            rows.append([title, *cells, str(ANCHOR_BYTES[workload])])
        head = ["bytes a tuple: counted (resident)", *(columns[s] for s in systems), "C++ ‡"]
        return table(head, rows)


CHAINS = {
    "ringview": "`MatrixChain`",
    "first-order": "first order, NumPy",
    "recomputed": "NumPy recomputing",
    "sql-factors": "SQL, `update_factorised`",
    "sql-rows": "SQL, rows",
}


def chains(lines: list[Line]) -> list[str]:
    """Milliseconds a change of the middle one of three matrices, by size and by rank."""
    parts = ("change", "size", "rank", "system")
    taken = {tuple(line[part] for part in parts): line["seconds"] for line in lines}

    def row(change: str, size: int, rank: int, systems: Iterable[str]) -> list[str]:
        found = [taken.get((change, size, rank, system)) for system in systems]
        return [figure(None if seconds is None else 1e3 * seconds) for seconds in found]

    def keys(change: str, part: str) -> list[int]:
        return sorted({line[part] for line in lines if line["change"] == change})

    tables = []
    if sizes := keys("row", "size"):
        rows = [[f"{size:,}", *row("row", size, 1, CHAINS)] for size in sizes]
        tables.append(table(["one row of A2, ms; n", *CHAINS.values()], rows))
    for size in keys("rank", "size"):
        systems = ("ringview", "recomputed")
        rows = [[f"{rank}", *row("rank", size, rank, systems)] for rank in keys("rank", "rank")]
        head = [f"rank r of A2, n = {size:,}, ms; r", *(CHAINS[system] for system in systems)]
        tables.append(table(head, rows))
    return tables


def figure(value: float | None) -> str:
    """Two significant digits, or a dash for nothing."""
    if value is None:
        return NONE
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))
