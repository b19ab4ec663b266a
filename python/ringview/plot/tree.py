"""A Chow-Liu tree, its root at the top, edges as thick as their mutual information.

Invariant: subtrees do not overlap: each leaf has a column of its own, a parent is in the middle of
its children. Cost: O(k) for k columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .style import COLOURS, INK, on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..ml import ChowLiu


def chow_liu(model: ChowLiu, *, ax: Axes | None = None) -> Axes:
    """Draw a fitted tree, with the mutual information in nats on each edge.

    Args:
        model: A `ringview.ml.ChowLiu` after `fit`.
        ax: Where to draw; a new figure if None.

    Returns:
        The axes.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    children: dict[str, list[str]] = {name: [] for name in model.parents_}
    for parent, child, _ in model.edges_:
        children[parent].append(child)
    root = next(iter(model.parents_))
    places = layout(root, children)
    widest = max(len(name) for name in places) * 0.085 + 0.55
    columns = 1 + max(x for x, _ in places.values())
    depth = 1 + max(y for _, y in places.values())
    axes = on(ax, max(3.5, columns * max(widest, 1.0)), max(2.0, depth * 0.95))
    most = max(weight for _, _, weight in model.edges_) or 1.0
    for parent, child, weight in model.edges_:
        (x0, y0), (x1, y1) = places[parent], places[child]
        axes.plot(
            [x0, x1],
            [y0, y1],
            color=COLOURS[0],
            alpha=0.75,
            linewidth=0.8 + 4 * weight / most,
            solid_capstyle="round",
            zorder=1,
        )
        axes.text(
            (x0 + x1) / 2,
            (y0 + y1) / 2,
            f"{weight:.2g}",
            fontsize=8,
            color=INK,
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.2},
            zorder=2,
        )
    for name, (x, y) in places.items():
        axes.text(
            x,
            y,
            name,
            fontsize=10,
            color=INK,
            ha="center",
            va="center",
            bbox={"boxstyle": "round,pad=0.4", "facecolor": "#eef4f9", "edgecolor": COLOURS[0]},
            zorder=3,
        )
    axes.set_xlim(-0.6, columns - 0.4)
    axes.set_ylim(depth - 0.6, -0.4)
    axes.set_axis_off()
    return axes


def layout(root: str, children: dict[str, list[str]]) -> dict[str, tuple[float, float]]:
    """Position of each node of a tree: (column, depth)."""
    places: dict[str, tuple[float, float]] = {}
    leaves = 0
    # A stack, since a chain may be deeper than Python's recursion.
    stack = [(root, 0, False)]
    while stack:
        name, depth, done = stack.pop()
        if not children[name]:
            places[name] = (leaves, depth)
            leaves += 1
        elif done:
            across = [places[child][0] for child in children[name]]
            places[name] = ((across[0] + across[-1]) / 2, depth)
        else:
            stack.append((name, depth, True))
            stack += [(child, depth + 1, False) for child in reversed(children[name])]
    return places
