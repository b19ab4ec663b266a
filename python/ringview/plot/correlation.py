"""The correlations of the numeric columns of a view as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..stats.cofactor import Cofactor
from .style import INK, on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WRITTEN = 14


def correlation(source: Any, names: Sequence[str] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw Pearson's correlation of each two columns, with numbers while they are few.

    Args:
        source: A view with a COFACTOR, or a Cofactor.
        names: The columns; all numeric ones if None.
        ax: Where to draw; a new figure if None.

    Returns:
        The axes; a constant column is grey.

    Raises:
        UnknownColumnError: There is no such column.
        TooFewRowsError: There are fewer than two rows.
    """
    cofactor: Cofactor = source if isinstance(source, Cofactor) else source.cofactor()
    cofactor = cofactor.subset(cofactor.names if names is None else names)
    found = cofactor.correlation()
    size = len(found)
    axes = on(ax, 2.4 + 0.48 * size, 1.6 + 0.48 * size)
    from matplotlib import colormaps

    colours = colormaps["RdBu_r"].with_extremes(bad="#dddddd")
    image = axes.imshow(found, cmap=colours, vmin=-1, vmax=1)
    axes.set_xticks(range(size), cofactor.names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(size), cofactor.names)
    axes.tick_params(length=0, colors=INK)
    axes.spines[:].set_visible(False)
    # White lines between the cells.
    axes.set_xticks(np.arange(size - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(size - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    if size <= _WRITTEN:
        for (row, column), value in np.ndenumerate(found):
            text = (
                "\N{EN DASH}" if np.isnan(value) else f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
            )
            dark = abs(value) > 0.6
            axes.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else INK,
            )
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.8, ticks=[-1, 0, 1])
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, colors=INK)
    return axes
