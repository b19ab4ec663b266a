"""Measured lines, looked up by cell, and what is read off them.

Invariant: a figure is the median of its repetitions; a star marks streams that were cut, `<` a
bound. Cost: O(lines).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import anchors
from results import Line
from workloads import ORDERS

from .markdown import NONE, figure

TITLES = {
    "retailer": "Retailer, all change",
    "retailer-fact": "Retailer, only Inventory changes",
    "housing": "Housing",
}
FAILED = "failed"


class Lines:
    """Measured lines, looked up by cell."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._cells: dict[tuple[Any, ...], list[Line]] = {}
        for line in lines:
            parts = ("workload", "order", "scale", "batch", "system", "phase")
            self._cells.setdefault(tuple(line.get(part) for part in parts), []).append(line)

    def cell(
        self,
        value: Callable[[Line], float | None],
        workload: str,
        order: str,
        system: str,
        *,
        scale: int | None = None,
        batch: int = 1_000,
        phase: str = "insert",
    ) -> str:
        """The median of a value over the repetitions, or why there is none."""
        if scale is None and workload.startswith("housing"):
            scale = anchors.SCALE
        lines = self._cells.get((workload, order, scale, batch, system, phase), [])
        if any("failed" in line for line in lines):
            return FAILED
        lines = [line for line in lines if value(line) is not None]
        if not lines:
            return NONE
        bound = "< " if any(line.get("bound") for line in lines) else ""
        whole = all("extrapolated_from_batches" in line or line["complete"] for line in lines)
        found = median(number for line in lines if (number := value(line)) is not None)
        return bound + figure(found) + ("" if whole else "*")

    def speeds(self, workload: str, order: str, systems: Iterable[str], **cell: Any) -> list[str]:
        """Million tuples a second."""
        return [self.cell(speed, workload, order, system, **cell) for system in systems]

    def first(self, workload: str) -> Line | None:
        """Any line of a workload."""
        return next((lines[0] for key, lines in self._cells.items() if key[0] == workload), None)


def speed(line: Line) -> float | None:
    """Million tuples a second."""
    return float(line["tuples_per_second"]) / 1e6


def on_core(line: Line) -> float | None:
    """Million tuples a second that the thread was on a core."""
    return float(line["tuples"]) / float(line["cpu_seconds"]) / 1e6


def bytes_a_tuple(line: Line) -> float | None:
    """Bytes a tuple, as the system reports them."""
    return float(line["bytes"]) / max(line["tuples"], 1) if "bytes" in line else None


def compiled(workload: str, order: str, size: int = 1_000) -> str:
    """The C++ figure, where there is one."""
    speed = anchors.SPEED.get((workload, order), {}).get(size)
    return NONE if speed is None else figure(speed)


def pairs(streams: Iterable[tuple[str, int | None]]) -> list[tuple[tuple[str, int | None], str]]:
    """Every stream in both orders."""
    return [(stream, order) for stream in streams for order in ORDERS]
