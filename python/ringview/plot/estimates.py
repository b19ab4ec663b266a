"""Estimates from a sample over time, with their intervals.

Invariant: one point an estimate, in the order given; the band is that of the intervals. Cost:
O(estimates).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .style import COLOURS, FAINT, INK, on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..sample import Estimate


def estimates(
    found: Sequence[Estimate],
    *,
    truth: Sequence[float] | None = None,
    at: Sequence[float] | None = None,
    label: str = "estimate",
    axes: Axes | None = None,
) -> Axes:
    """Draw estimates as a line in the band of their intervals, beside the true values if known.

    Args:
        found: What `Sample.estimate` gave, one after the other.
        truth: The true values.
        at: Where each stands; 0, 1, .. by default.
        label: What they are called.
        axes: Where to; new ones by default.

    >>> import ringview as rv
    >>> from ringview.sample import Estimate
    >>> axes = rv.plot.estimates([Estimate(5, 4, 6), Estimate(7, 6, 8)], truth=[5.5, 7])
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['estimate', 'the whole join']
    """
    axes = on(axes, 7, 4)
    places = list(range(len(found))) if at is None else list(at)
    low, high = [one.low for one in found], [one.high for one in found]
    axes.fill_between(places, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)
    axes.plot(places, [one.value for one in found], color=COLOURS[0], label=label)
    if truth is not None:
        axes.plot(places, list(truth), color=INK, linestyle="--", label="the whole join")
    axes.grid(visible=True, color=FAINT, alpha=0.4)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes
