"""Pictures of live models: coefficients over time, a correlation heat map, a Chow-Liu tree.

    axes = ringview.plot.correlation(view)
    axes.figure.savefig("correlation.png")

Each draws on the axes given, or on new ones, and returns them. Needs the extra `plot`.
"""

try:
    import matplotlib  # noqa: F401
    import numpy  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"ringview.plot needs Matplotlib and NumPy, and there is no {error.name} here: "
        "pip install 'ringview[ml,plot]'"
    ) from error

from .coefficients import coefficients
from .correlation import correlation
from .tree import chow_liu

__all__ = ["chow_liu", "coefficients", "correlation"]
