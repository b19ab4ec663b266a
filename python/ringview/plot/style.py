"""Parts that the pictures share: their colours, and axes to draw on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#333333"
FAINT = "#b8b8b8"
# Okabe and Ito's, which colour-blind readers can distinguish, without their yellow.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]


def on(axes: Axes | None, width: float, height: float) -> Axes:
    """The axes given, or those of a new figure of so many inches."""
    if axes is not None:
        return axes
    # pyplot picks a backend that works here, and notebooks show its figures.
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    return axes
