"""Principal components of the columns of a view, from its covariance matrix.

Invariant: the components are those of scikit-learn's PCA on the rows, to rounding, signs included:
the largest entry of each is positive. Cost: O(p^3) for p columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..errors import InvalidValueError, TooFewRowsError
from ..stats.cofactor import Cofactor
from .encoding import Encoding
from .source import is_source, of_arrays, read, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The directions in which the columns of a view vary most.

    Args:
        n_components: How many; all if None. A fraction between 0 and 1: as many as explain it.
        features: The columns; all numeric ones if None. A categorical one has a column for each
            category.
        scale: Whether each column is first divided by its standard deviation. Columns in different
            units want this.

    Attributes:
        components_: A direction a row, (n_components, columns).
        explained_variance_, explained_variance_ratio_: Of each, in descending order.
        mean_: The mean of each column.
        scale_: What each column is divided by: its standard deviation (1 if constant), or 1.
        n_components_, n_samples_: How many components, and how many rows there were.
        feature_names_in_, n_features_in_: The features.
        column_names_: The columns: a numeric feature's name, or "feature=category".

    >>> import numpy as np
    >>> from ringview.stats import Cofactor
    >>> rows = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> pca = PCA(1).fit(Cofactor(["x", "y"], 3, rows.sum(axis=0), rows.T @ rows))
    >>> pca.components_.round(6), pca.explained_variance_.round(6)
    (array([[0.6, 0.8]]), array([25.]))
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        features: Sequence[str] | None = None,
        scale: bool = False,
    ) -> None:
        self.n_components = n_components
        self.features = features
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Learn from a view or a Cofactor; or from an array X, as scikit-learn does.

        Raises:
            UnknownColumnError: A feature is not in the cofactor.
            InvalidValueError: There are not so many components.
            TooFewRowsError: Fewer than two rows.
            ArithmeticOverflowError: A sum of the view is infinite.
        """
        del y
        if is_source(X):
            cofactor = read(X)
            names = cofactor.names if self.features is None else self.features
            encoding = Encoding.of(cofactor, cofactor.check_names(names), False)
            self.feature_names_in_ = np.array(encoding.features, dtype=object)
            self.n_features_in_ = len(encoding.features)
        else:
            X = validate_data(self, X, dtype=np.float64)  # noqa: N806
            names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])
            cofactor = of_arrays(list(names), X)
            encoding = Encoding(cofactor.names, {}, False)
        self._fitted_on_view = is_source(X)
        self._encoding = encoding
        self._decompose(encoding.expand(cofactor))
        return self

    def transform(self, X: Any) -> Array:  # noqa: N803
        """The rows in the coordinates of the components; `X` as `predict` of a regression takes it.

        Raises:
            UnknownColumnError: A feature is missing.
            InvalidValueError: NaN or infinity, a new category, or the wrong number of columns.
        """
        rows = rows_of(self, X)
        found: Array = (rows - self.mean_) / self.scale_ @ self.components_.T
        return found

    def inverse_transform(self, X: Any) -> Array:  # noqa: N803
        """From the coordinates of the components back to columns."""
        check_is_fitted(self)
        X = check_array(X, dtype=np.float64)  # noqa: N806
        found: Array = X @ self.components_ * self.scale_ + self.mean_
        return found

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _decompose(self, cofactor: Cofactor) -> None:
        if cofactor.count < 2:
            raise TooFewRowsError(
                f"components need 2 rows, there is {cofactor.count} (n_samples={cofactor.count})"
            )
        if not cofactor.names:
            raise InvalidValueError("there are no features to find components of")
        covariance = cofactor.covariance()
        width = len(covariance)
        self.mean_ = cofactor.mean()
        self.scale_ = np.ones(width)
        if self.scale:
            deviation = np.sqrt(covariance.diagonal())
            self.scale_ = np.where(deviation > 0, deviation, 1.0)
            covariance = covariance / self.scale_ / self.scale_[:, None]
        values, vectors = np.linalg.eigh(covariance)
        values = np.maximum(values[::-1], 0)
        components = vectors.T[::-1]
        largest = components[np.arange(width), np.abs(components).argmax(axis=1)]
        components = components * np.sign(largest)[:, None]
        total = float(values.sum())
        ratio = values / total if total else np.zeros(width)
        kept = self._how_many(ratio, min(width, cofactor.count))
        self.components_ = components[:kept]
        self.explained_variance_ = values[:kept]
        self.explained_variance_ratio_ = ratio[:kept]
        self.n_components_ = kept
        self.n_samples_ = cofactor.count
        self.column_names_ = np.array(cofactor.names, dtype=object)

    def _how_many(self, ratio: Array, most: int) -> int:
        wanted = self.n_components
        if wanted is None:
            return most
        if isinstance(wanted, float) and 0 < wanted < 1:
            return min(int(np.searchsorted(ratio.cumsum(), wanted)) + 1, most)
        if int(wanted) != wanted or not 1 <= wanted <= most:
            raise InvalidValueError(
                f"n_components={wanted}, and there are 1 to {most} of {len(ratio)} columns"
            )
        return int(wanted)
