"""Draws pictures of docs/benchmarks.md from measured lines.

Invariant: the same lines draw the same bytes, so that a picture changes only with its figures; what
was not measured, or failed, is not drawn. Cost: O(lines), and seconds of matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from results import Line
from tables.streams import SUMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, THEIRS, INK = "#00798c", "#9aa3ab", "#24292f"
SYSTEMS = ("handwritten-arrays", "ringview-checked", "python-checked", "first-order", "duckdb")

NO_INDEX = "SQ1"
"""The query that no index keeps, for comparison."""
BOOK = ("VWAP", "MST", "PSP", NO_INDEX)


def streams(lines: list[Line], axes: Axes) -> None:
    """Tuples a second of a five-way join in batches of 1,000, by system."""
    wanted = {"workload": "retailer", "order": "shuffled", "batch": 1_000, "phase": "insert"}
    speeds = {}
    for system in SYSTEMS:
        found = [
            line["tuples_per_second"]
            for line in _good(lines, {**wanted, "system": system})
            if line["tuples_per_second"]
        ]
        if found:
            speeds[SUMS[system].removesuffix(" †")] = median(found)
    _bars(axes, speeds, {"ringview", "Python"}, "tuples a second, log scale", lambda x: f"{x:,.0f}")
    axes.set_title("SUM over a join of five tables, all of which change", loc="left")


def tpch(lines: list[Line], axes: Axes) -> None:
    """DuckDB's time for the query in times of a batch, by query of TPC-H."""
    found = [line for line in _good(lines, {"workload": "tpch"}) if line["duckdb_seconds"]]
    ratios = {line["query"]: line["duckdb_seconds"] / line["batch_seconds"] for line in found}
    ratios.pop("all", None)
    axes.bar(list(ratios), list(ratios.values()), color=OURS)
    axes.set_yscale("log")
    axes.set_ylim(bottom=1)
    axes.axhline(10, color=INK, linewidth=0.8, linestyle="--")
    axes.set_ylabel("DuckDB's query / a batch")
    axes.tick_params(axis="x", labelsize=8)
    axes.set_title("TPC-H: a batch of 1,000 rows beside computing the query anew", loc="left")


def order_book(lines: list[Line], axes: Axes) -> None:
    """Cost of an event by the number of orders that are there."""
    costs: dict[str, dict[int, float]] = {}
    for line in _good(lines, {"workload": "order-book-cost"}):
        if line["query"] in BOOK:
            costs.setdefault(line["query"], {})[line["orders"]] = line["nanoseconds"] / 1e3
    for query, by_size in costs.items():
        sizes = sorted(by_size)
        colour = THEIRS if query == NO_INDEX else OURS
        axes.plot(sizes, [by_size[size] for size in sizes], marker="o", markersize=3, color=colour)
        axes.annotate(query, (sizes[-1], by_size[sizes[-1]]), (5, -3), textcoords="offset points")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("orders of a side")
    axes.set_ylabel("microseconds an event")
    axes.set_title("Aggregates that are compared: an event by size", loc="left")


PICTURES: dict[str, tuple[Callable[[list[Line], Axes], None], float]] = {
    "streams": (streams, 2.6),
    "tpch": (tpch, 3.2),
    "order-book": (order_book, 3.6),
}


def draw(results: dict[str, Any], folder: Path) -> list[Path]:
    """Write a picture a subject; where they are."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    drawn = []
    fixed: Any = {"svg.hashsalt": "ringview", "svg.fonttype": "none", "font.size": 9}
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(fixed):
        for name, (draw_one, height) in PICTURES.items():
            figure = Figure(figsize=(8, height), layout="constrained")
            FigureCanvasSVG(figure)
            axes = figure.add_subplot()
            axes.spines[["top", "right"]].set_visible(False)
            draw_one(results["lines"], axes)
            path = folder / f"{name}.svg"
            figure.savefig(path, metadata={"Date": None, "Creator": None}, facecolor="white")
            # Trailing blanks are matplotlib's.
            text = "\n".join(line.rstrip() for line in path.read_text().splitlines())
            path.write_text(f"{text}\n")
            drawn.append(path)
    return drawn


def _good(lines: list[Line], wanted: dict[str, object]) -> list[Line]:
    """The lines with these values that did not fail."""
    return [
        line
        for line in lines
        if "failed" not in line and all(line.get(key) == value for key, value in wanted.items())
    ]


def _bars(
    axes: Axes,
    values: dict[str, float],
    ours: set[str],
    label: str,
    shown: Callable[[float], str],
) -> None:
    names = list(reversed(values))
    lengths = [values[name] for name in names]
    bars = axes.barh(names, lengths, color=[OURS if name in ours else THEIRS for name in names])
    axes.bar_label(bars, [shown(value) for value in lengths], padding=4)
    axes.set_xscale("log")
    axes.set_xlabel(label)
    if lengths:
        axes.set_xlim(1_000, 6 * max(lengths))
