"""Mutual information of the categorical columns of a view, from counts by pairs of categories.

Invariant: equals scikit-learn's `mutual_info_score` of each two columns, in nats; of a column with
itself it is the entropy. Cost: O(k * l) for each pair of columns with k and l categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..errors import InvalidValueError
from ..stats.cofactor import Cofactor
from ..text import quoted
from .source import read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class MutualInformation(BaseEstimator):  # type: ignore[misc]
    """Mutual information of each two categorical columns.

    Args:
        features: The columns; all categorical ones if None.

    Attributes:
        mutual_information_: In nats, (k, k), symmetric; the entropies on the diagonal.
        feature_names_in_, n_features_in_: The columns.

    >>> import numpy as np
    >>> from ringview.stats import Cofactor
    >>> cofactor = Cofactor(
    ...     [], 4, [], np.zeros((0, 0)),
    ...     categories={"a": ["x", "y"], "b": ["u", "v"]},
    ...     category_counts={"a": [2, 2], "b": [2, 2]},
    ...     category_sums={"a": [[], []], "b": [[], []]},
    ...     pair_counts={("a", "b"): [[2, 0], [0, 2]]})
    >>> MutualInformation().fit(cofactor).ranking()
    [('a', 'b', 0.6931471805599453)]
    """

    def __init__(self, features: Sequence[str] | None = None) -> None:
        self.features = features

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Read a view or a Cofactor.

        Raises:
            TypeMismatchError: Neither a view nor a Cofactor.
            UnknownColumnError: A column, or the counts of a pair, are not in the cofactor.
            InvalidValueError: A column is not categorical, or there are fewer than two.
            TooFewRowsError: The view has no rows.
        """
        del y
        cofactor, names = read_categorical(X, self.features)
        self.mutual_information_ = matrix(cofactor, names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def ranking(self, label: str | None = None) -> list[tuple[str, str, float]]:
        """Pairs of columns, those of the greatest mutual information first.

        Args:
            label: Only pairs with this column, which is first in each.

        Raises:
            UnknownColumnError: There is no such column.
        """
        check_is_fitted(self)
        names = self.feature_names_in_.tolist()
        if label is not None:
            if label not in names:
                raise InvalidValueError(f"there is no column {quoted(label)} among {names}")
            at = names.index(label)
            pairs = [(at, other) for other in range(len(names)) if other != at]
        else:
            pairs = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
        found = self.mutual_information_
        pairs.sort(key=lambda pair: (-rounded(found.item(pair)), pair))
        return [(names[a], names[b], float(found[a, b])) for a, b in pairs]


def read_categorical(source: Any, features: Sequence[str] | None) -> tuple[Cofactor, list[str]]:
    """The cofactor of a view, and columns of it: known, categorical, and two of them at least."""
    cofactor = read(source)
    found = cofactor.check_names(list(cofactor.categories) if features is None else features)
    for name in found:
        if name in cofactor.names:
            raise InvalidValueError(
                f"column {quoted(name)} is a number; CATEGORICAL({name}) in the COFACTOR of the "
                "view counts its values"
            )
    if len(found) < 2:
        raise InvalidValueError(f"two categorical columns are needed, there is {len(found)}")
    return cofactor, found


def matrix(cofactor: Cofactor, names: Sequence[str]) -> Array:
    """Mutual information of each two columns, entropies on the diagonal."""
    found = np.zeros((len(names), len(names)))
    for i, a in enumerate(names):
        found[i, i] = entropy(cofactor.category_counts[a])
        for j, b in enumerate(names[:i]):
            found[i, j] = found[j, i] = of_counts(cofactor.pairs(a, b))
    return found


def entropy(counts: Array) -> float:
    """Minus the mean logarithm of the frequencies, in nats."""
    shares = np.sort(counts[counts > 0]) / counts.sum()
    return float(-(shares * np.log(shares)).sum()) + 0.0


def of_counts(pairs: Array) -> float:
    """Mutual information of a table of counts, in nats; never negative."""
    total = pairs.sum()
    a, b = np.nonzero(pairs > 0)
    counts = pairs[a, b]
    expected = pairs.sum(axis=1)[a] * pairs.sum(axis=0)[b] / total
    terms = counts / total * np.log(counts / expected)
    # In one order, whatever the order of the categories: ties must stay ties.
    return max(float(np.sort(terms).sum()), 0.0)


def rounded(information: float) -> float:
    """To 12 digits after the point: what differs by less is a tie."""
    return round(float(information), 12)
