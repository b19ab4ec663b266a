"""What `fit` is given: a view, its cofactor, or plain arrays as scikit-learn has them.

Invariant: a model sees a Cofactor and nothing else. Cost: that of reading one row of the view; for
arrays O(rows * columns^2), once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..cofactor import Cofactor
from ..errors import TooFewRowsError, TypeMismatchError


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


def of_arrays(names: list[str], *columns: Any) -> Cofactor:
    """The cofactor of columns at hand, each 1-d or 2-d."""
    rows = np.column_stack(columns)
    with np.errstate(over="ignore"):
        origin = rows.mean(axis=0)
    origin = np.where(np.isfinite(origin), origin, 0.0)
    rows = rows - origin
    return Cofactor(names, len(rows), rows.sum(axis=0), rows.T @ rows, origin=origin)
