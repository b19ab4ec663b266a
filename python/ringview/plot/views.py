"""The tree of views that keeps a view, its result at the top.

Invariant: boxes of a level do not overlap; each leaf has columns of its own, a parent stands in the
middle of its children. Cost: O(nodes).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .style import COLOURS, FAINT, INK, on
from .tree import layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..matrix_chain import MatrixChain
    from ..view import View

# Inches a letter of size 9 takes, and a level.
_LETTER, _LEVEL = 0.078, 1.0


def view_tree(view: View | MatrixChain, *, ax: Axes | None = None) -> Axes:
    """Draw how a view is kept: changes climb from the relations at the bottom to the result.

    A solid frame is kept, a dashed one is not; indicator projections are rounded and orange. Under
    the name of a node stand what it holds for a key, its rows and the updates that have reached it.

    Args:
        view: A view, or a MatrixChain.
        ax: Where to draw; a new figure if None.

    Returns:
        The axes.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> axes = view_tree(db.create_view("v", "SELECT COUNT(*) AS n FROM r"))
    >>> [text.get_text().split(chr(10))[0] for text in axes.texts]
    ['r[]']
    """
    nodes: list[dict[str, Any]] = json.loads(view.explain("json"))["nodes"]
    children = {
        str(at): [str(child) for child in node["children"]] for at, node in enumerate(nodes)
    }
    places = layout(str(len(nodes) - 1), children)
    labels = [_lines(node) for node in nodes]
    widest = max(len(line) for lines in labels for line in lines) * _LETTER + 0.5
    columns = 1 + max(x for x, _ in places.values())
    depth = 1 + max(y for _, y in places.values())
    axes = on(ax, max(3.5, columns * widest), max(1.6, depth * _LEVEL))
    for at, node in enumerate(nodes):
        x, y = places[str(at)]
        for child in node["children"]:
            below, under = places[str(child)]
            axes.plot([below, x], [under, y], color=FAINT, linewidth=1.2, zorder=1)
        indicator = node["kind"] == "indicator"
        edge = COLOURS[1] if indicator else COLOURS[0] if node["stored"] else FAINT
        axes.text(
            x,
            y,
            "\n".join(labels[at]).replace("$", r"\$"),
            fontsize=9,
            color=INK,
            ha="center",
            va="center",
            bbox={
                "boxstyle": f"{'round' if indicator else 'square'},pad=0.4",
                "facecolor": "#fdf3ea" if indicator else "#eef4f9" if node["stored"] else "white",
                "edgecolor": edge,
                "linestyle": "-" if node["stored"] else "--",
            },
            zorder=2,
        )
    axes.set_xlim(-0.6, columns - 0.4)
    axes.set_ylim(depth - 0.5, -0.5)
    axes.set_axis_off()
    return axes


def _lines(node: dict[str, Any]) -> list[str]:
    """What is written into a box."""
    name = node["label"]
    if node["kind"] == "relation" and node["table"] != node["name"]:
        name += f" of {node['table']}"
    rows = None if node["rows"] is None else f"{node['rows']:,} rows"
    held = [rows, f"{node['updates']:,} updates"]
    return [name, node["payload"], ", ".join(part for part in held if part is not None)]
