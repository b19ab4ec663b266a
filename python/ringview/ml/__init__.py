"""Models that read the cofactor of a view, never its rows.

    ridge = ringview.ml.Ridge(label="units", alpha=1.0).fit(view)

They follow scikit-learn's conventions; `fit` takes a view (or a `Cofactor`) where scikit-learn
takes arrays. After a batch, `fit` again costs the solve alone, however many rows the join has.
Any label and any subset of the columns will do: choose again without a new view.

Needs the extra `ml`: NumPy and scikit-learn.
"""

from ..extras import missing

try:
    import numpy  # noqa: F401
    import sklearn  # noqa: F401
except ImportError as error:
    raise missing(error.name, "ringview.ml", "ml") from error

from .chow_liu import ChowLiu
from .information import MutualInformation
from .linear import LinearRegression, Ridge
from .pca import PCA

__all__ = ["PCA", "ChowLiu", "LinearRegression", "MutualInformation", "Ridge"]
