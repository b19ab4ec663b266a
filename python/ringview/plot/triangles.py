"""The number of triangles of a graph over time.

Invariant: one point a call that changed the graph, at the changes done by then. Cost: O(calls).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import InvalidValueError
from .style import COLOURS, FAINT, INK, on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..graph import Moment


def triangles(history: Sequence[Moment], *, edges: bool = True, axes: Axes | None = None) -> Axes:
    """Draw how the number of triangles moved, and on a second axis that of the edges.

    Args:
        history: What `TriangleCounter.history` has.
        edges: Whether to draw the edges too.
        axes: Where to; new ones by default.

    Returns:
        The axes of the triangles; those of the edges share their x axis.

    Raises:
        InvalidValueError: There is nothing to draw.

    >>> import ringview as rv
    >>> graph = rv.graph.TriangleCounter(history=True)
    >>> for last in range(1, 8):
    ...     _ = graph.insert([(last, vertex) for vertex in range(last)])
    >>> axes = rv.plot.triangles(graph.history)
    >>> [int(count) for count in axes.get_lines()[0].get_ydata()]
    [0, 1, 4, 10, 20, 35, 56]
    """
    if not history:
        raise InvalidValueError("the history is empty: no edge came or went since it began")
    axes = on(axes, 7, 4)
    done = [moment.changes for moment in history]
    axes.plot(done, [moment.triangles for moment in history], color=COLOURS[0], label="triangles")
    axes.set_xlabel("edges that came or went")
    axes.set_ylabel("triangles", color=COLOURS[0])
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, color=FAINT, alpha=0.4)
    axes.spines[["top", "right"]].set_visible(False)
    if edges:
        beside = axes.twinx()
        beside.plot(done, [moment.edges for moment in history], color=INK, linestyle="--")
        beside.set_ylabel("edges (dashed)", color=INK)
        beside.set_ylim(bottom=0)
        beside.spines[["top", "left"]].set_visible(False)
    return axes
