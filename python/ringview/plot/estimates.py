"""Estimates from a sample over time, or by group, with their intervals.

Invariant: one point an estimate, in the order given; the band, or the bar of a group, is that of
the intervals. Cost: O(estimates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .style import COLOURS, FAINT, INK, on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..stats.estimates import Estimate


def estimates(
    found: Sequence[Estimate] | Mapping[Any, Estimate],
    *,
    truth: Sequence[float] | Mapping[Any, float] | None = None,
    at: Sequence[float] | None = None,
    label: str = "estimate",
    axes: Axes | None = None,
) -> Axes:
    """Draw estimates as a line in the band of their intervals, beside the true values if known.

    Those of groups are points with bars, a group beside the other.

    Args:
        found: What `Sample.estimate` gave, one after the other; or with `by`.
        truth: The true values; of groups by their keys.
        at: Position of each; 0, 1, .. by default. Groups are placed by their keys.
        label: What they are called.
        axes: Where to; new ones by default.

    >>> import ringview as rv
    >>> from ringview.stats import Estimate
    >>> axes = rv.plot.estimates([Estimate(5, 4, 6), Estimate(7, 6, 8)], truth=[5.5, 7])
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['estimate', 'the whole join']
    >>> axes = rv.plot.estimates({"east": Estimate(5, 4, 6), "west": Estimate(7, 6, 8)})
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['east', 'west']
    """
    axes = on(axes, 7, 4)
    if isinstance(found, Mapping):
        return _groups(axes, found, truth, label)
    if isinstance(truth, Mapping):
        truth = list(truth.values())
    places = list(range(len(found))) if at is None else list(at)
    low, high = [one.low for one in found], [one.high for one in found]
    axes.fill_between(places, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)
    axes.plot(places, [one.value for one in found], color=COLOURS[0], label=label)
    if truth is not None:
        axes.plot(places, list(truth), color=INK, linestyle="--", label="the whole join")
    return _finished(axes)


def _groups(
    axes: Axes,
    found: Mapping[Any, Estimate],
    truth: Sequence[float] | Mapping[Any, float] | None,
    label: str,
) -> Axes:
    places = range(len(found))
    values = [one.value for one in found.values()]
    bars = (
        [one.value - one.low for one in found.values()],
        [one.high - one.value for one in found.values()],
    )
    axes.errorbar(places, values, bars, color=COLOURS[0], fmt="o", capsize=3, label=label)
    if truth is not None:
        true = [truth[key] for key in found] if isinstance(truth, Mapping) else list(truth)
        axes.plot(places, true, "_", color=INK, markersize=14, label="the whole join")
    axes.set_xticks(places, [str(key) for key in found])
    return _finished(axes)


def _finished(axes: Axes) -> Axes:
    axes.grid(visible=True, color=FAINT, alpha=0.4)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes
