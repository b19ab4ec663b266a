"""The argument of `fit`: a view, its cofactor, or plain arrays as scikit-learn has them.

Invariant: a model sees a Cofactor and nothing else. Cost: that of reading one row of the view; for
arrays O(rows * columns^2), once.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import TooFewRowsError, TypeMismatchError
from ..stats.cofactor import Cofactor


def is_source(value: object) -> bool:
    """Whether `value` is a Cofactor or has one, as views do."""
    return isinstance(value, Cofactor) or callable(getattr(value, "cofactor", None))


def read(source: Any) -> Cofactor:
    """The cofactor of a view, or the one given.

    Raises:
        TypeMismatchError: Neither a view nor a Cofactor.
        TooFewRowsError: The view has no rows.
    """
    if not is_source(source):
        raise TypeMismatchError(
            f"fit wants a view with a COFACTOR, or a Cofactor, not {type(source).__name__}"
        )
    found: Cofactor = source if isinstance(source, Cofactor) else source.cofactor()
    if found.count < 1:
        raise TooFewRowsError("the view has no rows to learn from; fit again when it has some")
    return found


def rows_of(model: Any, X: Any) -> NDArray[np.float64]:  # noqa: N803
    """The columns of rows, as a fitted model has them: those of its view, or of its arrays.

    Raises:
        NotFittedError: It is not fitted.
        UnknownColumnError, InvalidValueError: As `Encoding.design`.
    """
    check_is_fitted(model)
    if model._fitted_on_view:
        return cast("NDArray[np.float64]", model._encoding.design(X))
    return cast("NDArray[np.float64]", validate_data(model, X, reset=False, dtype=np.float64))


def of_arrays(names: list[str], *columns: Any) -> Cofactor:
    """The cofactor of columns at hand, each 1-d or 2-d."""
    return Cofactor.of_rows(names, np.column_stack(columns))
