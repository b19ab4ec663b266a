"""Linear and ridge regression from a cofactor: any label, any subset of features.

Invariant: the coefficients are those of scikit-learn's `LinearRegression` and `Ridge` on the rows
of the view, to rounding; the rows are never read.
Cost: O(p^3) for p columns by Cholesky, O(p^2) a step by gradient descent.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import InvalidValueError, TooFewRowsError
from ..stats.cofactor import Cofactor, rounding
from ..stats.cofactor_origin import total
from ..text import quoted
from .encoding import Encoding
from .solve import Equations, cholesky, descend
from .source import is_source, of_arrays, read, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Solver = Literal["cholesky", "gradient"]


class LinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares from a view.

    A categorical feature has a column for each category but the first, which is what the others
    are compared with.

    Args:
        label: The numeric column to predict; needed for a view.
        features: The columns to predict it from; all others if None.
        fit_intercept: Whether there is a constant term.
        solver: "cholesky" is exact and says which features make a system singular; "gradient"
            descends from the coefficients of the last fit, and ends near them if many fit best.
        warm_start: Whether "gradient" begins at the last coefficients, or at zero.
        tol: When "gradient" ends: the largest component of the gradient, columns and label being
            scaled to unit norm.
        max_iter: The most steps that "gradient" takes.

    Attributes:
        coef_: A coefficient for each column of the model.
        coef_names_: The columns of the model: a numeric feature's name, or "feature=category".
        intercept_: The constant term, 0.0 without one.
        feature_names_in_, n_features_in_: The features.
        categories_: The categories of each categorical feature.
        n_rows_: How many rows the view had.
        n_iter_: Steps of gradient descent; 1 by Cholesky.
        converged_: Whether the gradient fell below `tol`; True by Cholesky.
        gradient_: Its largest component in the end; 0.0 by Cholesky.

    >>> import numpy as np
    >>> from ringview.stats import Cofactor
    >>> rows = np.array([[1.0, 5.0], [2.0, 7.0], [4.0, 11.0]])
    >>> cofactor = Cofactor(["x", "y"], 3, rows.sum(axis=0), rows.T @ rows)
    >>> model = LinearRegression(label="y").fit(cofactor)
    >>> {name: round(value, 6) for name, value in model.coefficients().items()}
    {'intercept': 3.0, 'x': 2.0}
    >>> model.predict({"x": [10.0]}).round(6)
    array([23.])
    """

    def __init__(
        self,
        label: str | None = None,
        features: Sequence[str] | None = None,
        *,
        fit_intercept: bool = True,
        solver: Solver = "cholesky",
        warm_start: bool = True,
        tol: float = 1e-8,
        max_iter: int = 10_000,
    ) -> None:
        self.label = label
        self.features = features
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.warm_start = warm_start
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Learn from a view or a Cofactor; or from arrays X and y, as scikit-learn does.

        Raises:
            UnknownColumnError: The label or a feature is not in the cofactor.
            InvalidValueError: The label is among the features, or a parameter has no sense.
            TooFewRowsError: No rows, or by Cholesky without a penalty fewer than coefficients.
            SingularSystemError: By Cholesky without a penalty: features depend on each other.
            ArithmeticOverflowError: A sum of the view is infinite.
        """
        alpha = self._penalty()
        if self.solver not in ("cholesky", "gradient"):
            raise InvalidValueError(
                f"there is no solver {self.solver!r}; there are 'cholesky' and 'gradient'"
            )
        if is_source(X):
            cofactor, label = read(X), self._check_label()
            encoding = Encoding.of(cofactor, self._choose(cofactor, label), alpha == 0)
            self.feature_names_in_ = np.array(encoding.features, dtype=object)
            self.n_features_in_ = len(encoding.features)
        else:
            cofactor = self._of_arrays(X, y)
            label = cofactor.names[-1]
            encoding = Encoding(cofactor.names[:-1], {}, False)
        self._fitted_on_view = is_source(X)
        self._solve(encoding, encoding.expand(cofactor, label), alpha)
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The label expected for each row.

        Args:
            X: A pandas or polars frame, a pyarrow table, a dict of columns (features by name), or
                an array (features in order).

        Raises:
            UnknownColumnError: A feature is missing.
            InvalidValueError: NaN or infinity, a new category, or the wrong number of columns.
        """
        rows = rows_of(self, X)
        # About the mean, where the columns have the digits in which rows differ.
        found: Array = (rows - self._center[:-1]) @ self.coef_ + self._center[-1]
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: N803
        """R squared: on rows `X` with labels `y`, or on all rows of a view, without reading them.

        Raises:
            InvalidValueError: The view has a category that the model has not seen.
        """
        check_is_fitted(self)
        if not is_source(X):
            return float(super().score(X, y, sample_weight))
        both = self._encoding.expand(read(X), self._check_label())
        # The residual y - a - w'x is a linear form of the columns, so its sum of squares is too.
        form = np.append(-self.coef_, 1.0)
        scatter = both.scatter()
        residual = form @ scatter @ form
        residual += both.count * ((both.mean() - self._center) @ form) ** 2
        if scatter[-1, -1] == 0:
            return 1.0 if residual <= rounding(both.count) * both.matrix[-1, -1] else 0.0
        return float(1 - residual / scatter[-1, -1])

    def coefficients(self) -> dict[str, float]:
        """The intercept (if there is one) and the coefficients by name."""
        check_is_fitted(self)
        found = {"intercept": float(self.intercept_)} if self.fit_intercept else {}
        return {**found, **dict(zip(self.coef_names_, self.coef_.tolist(), strict=True))}

    def _penalty(self) -> float:
        return 0.0

    def _check_label(self) -> str:
        if self.label is None:
            raise InvalidValueError(
                f"a view has no y of its own: {type(self).__name__}(label=..) says which column "
                "to predict"
            )
        return self.label

    def _choose(self, cofactor: Cofactor, label: str) -> list[str]:
        """The features, checked together with the label."""
        cofactor.check_names([label])
        if label in cofactor.categories:
            raise InvalidValueError(f"the label {quoted(label)} is categorical; a number is wanted")
        if self.features is None:
            features = [name for name in cofactor.columns if name != label]
        else:
            features = cofactor.check_names(self.features)
        if label in features:
            raise InvalidValueError(f"the label {quoted(label)} is among the features")
        if not features:
            raise InvalidValueError(f"there are no features to predict {label!r} from")
        return features

    def _of_arrays(self, X: Any, y: Any) -> Cofactor:  # noqa: N803
        if self.label is not None or self.features is not None:
            raise InvalidValueError(
                "label= and features= choose among the columns of a view, and this is "
                f"{type(X).__name__}: fit(view), or leave them out and fit(X, y)"
            )
        if y is None:
            raise InvalidValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "fit(X, y) with arrays, or fit(view) with a view that has a COFACTOR"
            )
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)  # noqa: N806
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])
        label = "y"
        while label in names:
            label += "'"
        return of_arrays([*names, label], X, y)

    def _solve(self, encoding: Encoding, both: Cofactor, alpha: float) -> None:
        """Set the attributes; `both` holds the columns of the model, then the label."""
        names = encoding.names
        rows = both.count
        unknowns = len(names) + bool(self.fit_intercept)
        exact = self.solver == "cholesky"
        if exact and alpha == 0 and rows < unknowns:
            raise TooFewRowsError(
                f"{rows} row{'s' * (rows != 1)} (n_samples={rows}) cannot give {unknowns} "
                "coefficients: wait for more rows, take fewer features, or Ridge with alpha > 0"
            )
        if self.fit_intercept:
            gram = both.scatter()
        else:
            both.check_finite()
            gram = both.matrix
        noise = rounding(rows)
        squares = (both.squares() if self.fit_intercept else gram.diagonal())[:-1]
        equations = Equations(names, gram[:-1, :-1], gram[:-1, -1], squares, noise)
        if exact:
            coefficients = cholesky(equations, alpha)
            steps, gradient, converged = 1, 0.0, True
        else:
            norm = float(np.sqrt(gram[-1, -1]))
            coefficients, steps, gradient, converged = descend(
                equations, alpha, norm, self._start(names), self.tol, self.max_iter
            )
            if not converged:
                warnings.warn(
                    f"gradient descent has not converged in {steps} steps: its gradient is "
                    f"{gradient:.1e}, tol is {self.tol:.1e}; raise max_iter or alpha, or fit again",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        self.coef_ = coefficients
        self.coef_names_ = np.array(names, dtype=object)
        self.intercept_ = 0.0
        self._center = np.zeros(len(names) + 1)
        if self.fit_intercept:
            origin, sums = both.origin, both.shifted_sums
            near = float(sums[-1] - sums[:-1] @ coefficients) / rows
            self.intercept_ = total([near, float(origin[-1])], origin[:-1], coefficients)
            # The label at the mean of the features; with a penalty too.
            self._center = both.mean()
        self.categories_ = encoding.categories
        self.n_rows_ = rows
        self.n_iter_ = steps
        self.gradient_ = gradient
        self.converged_ = converged
        self._encoding = encoding

    def _start(self, names: list[str]) -> Array:
        """Start of the descent: coefficients of the last fit by name, zero for a new column."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return np.zeros(len(names))
        last = dict(zip(self.coef_names_, self.coef_, strict=True))
        return np.array([last.get(name, 0.0) for name in names])


class Ridge(LinearRegression):
    """Least squares with a penalty of `alpha` times the squared coefficients, from a view.

    With `alpha` > 0 there is always one answer: a categorical feature has a column for each
    category, and columns may depend on each other.

    Args:
        label: The numeric column to predict; needed for a view.
        features: The columns to predict it from; all others if None.
        alpha: The penalty, as scikit-learn counts it; 0 is LinearRegression.
        fit_intercept: Whether there is a constant term; it is not penalised.
        solver: "cholesky" or "gradient".
        warm_start: Whether "gradient" begins at the last coefficients, or at zero.
        tol: When "gradient" ends.
        max_iter: The most steps that "gradient" takes.

    The attributes are those of LinearRegression.

    >>> import numpy as np
    >>> from ringview.stats import Cofactor
    >>> rows = np.array([[1.0, 5.0], [2.0, 7.0], [3.0, 9.0]])
    >>> cofactor = Cofactor(["x", "y"], 3, rows.sum(axis=0), rows.T @ rows)
    >>> Ridge(label="y", alpha=2.0).fit(cofactor).coef_
    array([1.])
    """

    def __init__(
        self,
        label: str | None = None,
        features: Sequence[str] | None = None,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: Solver = "cholesky",
        warm_start: bool = True,
        tol: float = 1e-8,
        max_iter: int = 10_000,
    ) -> None:
        super().__init__(
            label,
            features,
            fit_intercept=fit_intercept,
            solver=solver,
            warm_start=warm_start,
            tol=tol,
            max_iter=max_iter,
        )
        self.alpha = alpha

    def _penalty(self) -> float:
        if not 0 <= self.alpha < float("inf"):
            raise InvalidValueError(f"alpha must be finite and not negative, not {self.alpha}")
        return float(self.alpha)
