"""Pictures of live models and of view trees.

Coefficients over time, a correlation heat map, a Chow-Liu tree; the views that keep a view;
estimates from a sample; the triangles of a graph over time.

    axes = ringview.plot.correlation(view)
    axes.figure.savefig("correlation.png")

Each draws on the axes given, or on new ones, and returns them. Needs the extra `plot`.
"""

from ..extras import missing

try:
    import matplotlib  # noqa: F401
    import numpy  # noqa: F401
except ImportError as error:
    raise missing(error.name, "ringview.plot", "ml,plot") from error

from .coefficients import coefficients
from .correlation import correlation
from .estimates import estimates
from .tree import chow_liu
from .triangles import triangles
from .views import view_tree

__all__ = ["chow_liu", "coefficients", "correlation", "estimates", "triangles", "view_tree"]
