"""The exponents of time and space over epsilon, as counted, beside the theorem (figures 1 and 7 of
the paper on epsilon); what an event of an order book costs (figure 8 of the paper on RPAI).

Invariant: the same counts give the same file. Cost: small.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import slopes

Line = dict[str, Any]
TIME, SPACE = "#0072b2", "#d55e00"


def draw(lines: list[Line], path: Path) -> None:
    """Write the figure as SVG."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "ringview", "svg.fonttype": "none"}):
        picture = Figure(figsize=(6.4, 4), layout="constrained")
        axes = picture.subplots()
        grid = [at / 100 for at in range(101)]
        axes.plot(grid, [max(at, 1 - at) for at in grid], color=TIME, label="time: theorem")
        views = [max(1, min(1 + at, 2 - 2 * at)) for at in grid]
        axes.plot(grid, views, color=SPACE, label="space: theorem")
        only = [min(1 + at, 2 - 2 * at) for at in grid]
        axes.plot(grid, only, color=SPACE, linestyle=":", label="views alone: theorem")
        measured = sorted({line["epsilon"] for line in lines})
        for of, colour, mark, label in (
            (slopes.time, TIME, "o", "steps of a change, counted"),
            (slopes.space, SPACE, "s", "keys of views, counted"),
        ):
            found = [(at, slope) for at in measured if (slope := of(lines, at)) is not None]
            axes.plot(*zip(*found, strict=True), mark, color=colour, label=label)
        axes.set_xlabel("epsilon")
        axes.set_ylabel("exponent of N")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.5)
        axes.grid(visible=True, alpha=0.4)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small", ncols=2, loc="lower center")
        picture.savefig(path, format="svg", metadata={"Date": None})


def draw_costs(lines: list[Line], path: Path) -> None:
    """Write what an event costs against the orders that are there, a line for each query."""
    import matplotlib
    from matplotlib.figure import Figure

    if not lines:
        return
    with matplotlib.rc_context({"svg.hashsalt": "ringview", "svg.fonttype": "none"}):
        picture = Figure(figsize=(6.4, 4), layout="constrained")
        axes = picture.subplots()
        for query in dict.fromkeys(line["query"] for line in lines):
            own = [line for line in lines if line["query"] == query]
            costs = [line["nanoseconds"] / 1e3 for line in own]
            axes.plot([line["orders"] for line in own], costs, "o-", markersize=4, label=query)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("orders of each side")
        axes.set_ylabel("microseconds an event, result included")
        axes.grid(visible=True, alpha=0.4)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small", ncols=2)
        picture.savefig(path, format="svg", metadata={"Date": None})
