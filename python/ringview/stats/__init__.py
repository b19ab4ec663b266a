"""Statistics of views: cofactors with what follows from them, and estimates from samples.

Invariant: a statistic is computed from what a view holds, never from the rows below it.
Cost: each file states its own. Needs NumPy, which the extra `ml` installs.
"""

from ..extras import missing

try:
    import numpy as _numpy  # noqa: F401
except ImportError as error:
    raise missing("numpy", "ringview.stats", "ml") from error

from .cofactor import Cofactor
from .estimates import Estimate

__all__ = ["Cofactor", "Estimate"]
