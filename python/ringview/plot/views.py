"""The tree of views that keeps a view, its result at the top, with its auxiliary trees.

Invariant: boxes of a level do not overlap; each leaf has columns of its own, a parent is in the
middle of its children. Cost: O(nodes).
"""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from ..errors import TypeMismatchError
from .style import COLOURS, FAINT, INK, on
from .tree import layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..structures.matrix_chain import MatrixChain
    from ..view import View

# Inches a letter of size 9 takes, and a level.
_LETTER, _LEVEL = 0.078, 1.0


def view_tree(view: View | MatrixChain, *, ax: Axes | None = None) -> Axes:
    """Draw how a view is kept: changes climb from the relations at the bottom to the result.

    A solid frame is kept, a dashed one is not; indicator projections are rounded and orange. Under
    the name of a node are its payload for a key, its rows and the updates that have reached it.
    Further boxes show the auxiliary trees: those that MIN, MAX, COUNT(DISTINCT x) and categories
    are read from, and the views and subqueries that it reads.

    Args:
        view: A view, or a MatrixChain.
        ax: Where to draw; a new figure if None.

    Returns:
        The axes.

    Raises:
        TypeMismatchError: Something else was given, such as a whole database.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> axes = view_tree(db.create_view("v", "SELECT COUNT(*) AS n FROM r"))
    >>> [text.get_text().split(chr(10))[0] for text in axes.texts]
    ['r[]']
    """
    if not hasattr(view, "explain") or hasattr(view, "views"):
        raise TypeMismatchError(
            f"view_tree draws a view or a MatrixChain, this is a {type(view).__name__}; "
            'of a database draw a view: plot.view_tree(db["name"])'
        )
    explanation = json.loads(view.explain("json"))
    trees = [_Tree("", explanation["nodes"])]
    trees += _auxiliary_trees(explanation, "beside it")
    for below in explanation["below"]:
        trees.append(_Tree(f"below it, {below['what']}", below["view"]["nodes"]))
        trees += _auxiliary_trees(below["view"], f"beside {below['what']}")
    columns = sum(tree.columns for tree in trees)
    depth = max(tree.depth for tree in trees)
    widest = max(tree.widest for tree in trees) * _LETTER + 0.5
    titled = len(trees) > 1
    height = depth * _LEVEL + (0.7 if titled else 0.0)
    axes = on(ax, max(3.5, columns * widest), max(1.6, height))
    left = 0.0
    for tree in trees:
        tree.draw(axes, left, round(widest / _LETTER))
        left += tree.columns
    axes.set_xlim(-0.6, columns - 0.4)
    axes.set_ylim(depth - 0.5, -1.2 if titled else -0.5)
    axes.set_axis_off()
    return axes


class _Tree:
    """One tree: its nodes with the texts of their boxes, and their positions."""

    def __init__(self, title: str, nodes: list[dict[str, Any]]) -> None:
        self.title, self.nodes = title, nodes
        children = {
            str(at): [str(child) for child in node["children"]] for at, node in enumerate(nodes)
        }
        self.places = layout(str(len(nodes) - 1), children)
        self.labels = [_lines(node) for node in nodes]
        self.widest = max(len(line) for lines in self.labels for line in lines)
        self.columns = 1 + max(x for x, _ in self.places.values())
        self.depth = 1 + max(y for _, y in self.places.values())

    def draw(self, axes: Axes, left: float, letters: int) -> None:
        """Draw it, its first column at `left`; a column is so many letters wide."""
        for at, node in enumerate(self.nodes):
            x, y = self.places[str(at)]
            for child in node["children"]:
                below, under = self.places[str(child)]
                across = [left + below, left + x]
                axes.plot(across, [under, y], color=FAINT, linewidth=1.2, zorder=1)
            indicator = node["kind"] == "indicator"
            edge = COLOURS[1] if indicator else COLOURS[0] if node["stored"] else FAINT
            face = "#fdf3ea" if indicator else "#eef4f9" if node["stored"] else "white"
            axes.text(
                left + x,
                y,
                _plain("\n".join(self.labels[at])),
                fontsize=9,
                color=INK,
                ha="center",
                va="center",
                bbox={
                    "boxstyle": f"{'round' if indicator else 'square'},pad=0.4",
                    "facecolor": face,
                    "edgecolor": edge,
                    "linestyle": "-" if node["stored"] else "--",
                },
                zorder=2,
            )
        if self.title:
            wide = max(24, round(self.columns * letters))
            # Above its root, over the middle of its columns.
            axes.text(
                left + (self.columns - 1) / 2,
                -0.55,
                _plain(textwrap.fill(self.title, wide)),
                fontsize=8,
                color=INK,
                style="italic",
                ha="center",
                va="bottom",
            )


def _auxiliary_trees(explanation: dict[str, Any], where: str) -> list[_Tree]:
    """The auxiliary trees of a view."""
    found = explanation["beside"]
    return [_Tree(f"{where}, {beside['what']}", beside["view"]["nodes"]) for beside in found]


def _plain(text: str) -> str:
    """Dollars, between which Matplotlib would see a formula, as they are."""
    return text.replace("$", r"\$")


def _lines(node: dict[str, Any]) -> list[str]:
    """The text of a box."""
    name = node["label"]
    if node["kind"] == "relation" and node["table"] != node["name"]:
        name += f" of {node['table']}"
    rows = None if node["rows"] is None else f"{node['rows']:,} rows"
    held = [rows, f"{node['updates']:,} updates"]
    return [name, node["payload"], ", ".join(part for part in held if part is not None)]
