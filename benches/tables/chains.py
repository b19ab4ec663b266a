"""Tables of matrix chains: a changed row by size, and a change by its rank."""

from __future__ import annotations

from collections.abc import Iterable

from results import Line

from .markdown import NONE, figure, table

CHAINS = {
    "ringview": "`MatrixChain`",
    "first-order": "first order, NumPy",
    "recomputed": "NumPy recomputing",
    "sql-factors": "SQL, `update_factorised`",
    "sql-rows": "SQL, rows",
}


def chains(lines: list[Line]) -> list[str]:
    """Milliseconds a change of the middle one of three matrices, by size and by rank."""
    lines = [line for line in lines if line["workload"] == "chain"]
    failures = [f"matrix chains: failed: {line['failed']}" for line in lines if "failed" in line]
    lines = [line for line in lines if "failed" not in line]
    parts = ("change", "size", "rank", "system")
    taken = {tuple(line[part] for part in parts): line["seconds"] for line in lines}

    def row(change: str, size: int, rank: int, systems: Iterable[str]) -> list[str]:
        found = [taken.get((change, size, rank, system)) for system in systems]
        return [NONE if seconds is None else figure(1e3 * seconds) for seconds in found]

    def keys(change: str, part: str) -> list[int]:
        return sorted({line[part] for line in lines if line["change"] == change})

    rows = [[f"{size:,}", *row("row", size, 1, CHAINS)] for size in keys("row", "size")]
    found = [table(["one row of A2, ms; n", *CHAINS.values()], rows, 1)]
    for size in keys("rank", "size"):
        systems = ("ringview", "recomputed")
        rows = [[f"{rank}", *row("rank", size, rank, systems)] for rank in keys("rank", "rank")]
        head = [f"rank r of A2, n = {size:,}, ms; r", *(CHAINS[system] for system in systems)]
        found.append(table(head, rows, 1))
    return found + failures
