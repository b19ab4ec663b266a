"""Coefficients over time, a line each, named at its end.

Invariant: names do not overlap, and each is as near to the end of its line as that allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidValueError
from .style import COLOURS, FAINT, INK, on

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def coefficients(
    history: Sequence[Mapping[str, float]],
    times: Sequence[Any] | None = None,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the coefficients of a model moved.

    Args:
        history: The `model.coefficients()` of each fit; a name may be missing in some.
        times: When the fits were: numbers or dates; 0, 1, .. if None.
        names: Which coefficients; all but the intercept if None.
        ax: Where to draw; a new figure if None.

    Returns:
        The axes.

    Raises:
        InvalidValueError: There is nothing to draw, or `times` has another length.

    >>> history = [{"intercept": 0.0, "price": -1.0}, {"intercept": 0.1, "price": -1.2}]
    >>> coefficients(history).get_lines()[-1].get_ydata()
    array([-1. , -1.2])
    """
    moments = list(range(len(history)) if times is None else times)
    if len(moments) != len(history):
        raise InvalidValueError(f"there are {len(moments)} times for {len(history)} fits")
    known = dict.fromkeys(name for fit in history for name in fit)
    shown = list(names) if names is not None else [name for name in known if name != "intercept"]
    if not shown or not set(shown) <= set(known):
        raise InvalidValueError(f"the history has {list(known)}; none, or not all, of {shown}")

    axes = on(ax, 8, 4.5)
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    ends = []
    for i, name in enumerate(shown):
        values = np.array([fit.get(name, np.nan) for fit in history])
        colour = COLOURS[i % len(COLOURS)]
        style = ["-", "--", ":"][i // len(COLOURS) % 3]
        mark = "o" if np.isfinite(values).sum() == 1 else None
        axes.plot(moments, values, color=colour, linestyle=style, linewidth=1.8, marker=mark)
        if np.isfinite(values).any():
            ends.append((float(values[np.isfinite(values)][-1]), name, colour))
    axes.margins(x=0.01)
    axes.set_ylabel("coefficient", color=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(colors=INK)
    axes.grid(axis="y", color=FAINT, alpha=0.35, linewidth=0.6)
    axes.set_axisbelow(True)
    _name_lines(axes, ends)
    return axes


def _name_lines(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Write each name to the right of the end of its line, moved apart where they would touch."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    inches = axes.get_window_extent().height / axes.figure.dpi
    gap = (high - low) * 0.17 / max(inches, 1)  # a line of text of size 9
    ends.sort()
    places: list[float] = []
    for value, _, _ in ends:
        places.append(max(value, places[-1] + gap) if places else value)
    # Names that were pushed up are moved back by half, so that a cluster is centred on its lines.
    start = 0
    for stop in range(1, len(places) + 1):
        if stop == len(places) or places[stop] - places[stop - 1] > gap * 1.001:
            excess = sum(places[i] - ends[i][0] for i in range(start, stop)) / (stop - start)
            floor = places[start - 1] + gap if start else -np.inf
            shift = min(excess, places[start] - floor)
            places[start:stop] = [place - shift for place in places[start:stop]]
            start = stop
    for place, (_, name, colour) in zip(places, ends, strict=True):
        axes.annotate(
            name,
            (1, place),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            fontsize=9,
            va="center",
            annotation_clip=False,
        )
