"""The Chow-Liu tree: the best approximation of the joint distribution by a tree of pairs.

Invariant: the edges are a maximum spanning tree of the mutual informations (Chow and Liu, 1968);
ties are won by the columns named first, so equal counts give equal trees. Cost: that of the mutual
informations and O(k^3) for k columns (Prim).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from ..errors import InvalidValueError
from .information import matrix, read_categorical, rounded


class ChowLiu(BaseEstimator):  # type: ignore[misc]
    """The tree of categorical columns that explains most of their joint distribution.

    Args:
        features: The columns; all categorical ones if None.
        root: Which of them the edges lead away from; the first if None.

    Attributes:
        edges_: `(parent, child, mutual information)`, parents before their children.
        parents_: The parent of each column; None for the root.
        log_likelihood_: Of the rows of the view under the tree with their own frequencies, in nats.
        mutual_information_: Of each two columns, (k, k).
        feature_names_in_, n_features_in_: The columns.

    >>> import numpy as np
    >>> from ringview.stats import Cofactor
    >>> cofactor = Cofactor(
    ...     [], 4, [], np.zeros((0, 0)),
    ...     categories={"a": ["x", "y"], "b": ["u", "v"]},
    ...     category_counts={"a": [2, 2], "b": [2, 2]},
    ...     category_sums={"a": [[], []], "b": [[], []]},
    ...     pair_counts={("a", "b"): [[2, 0], [0, 2]]})
    >>> ChowLiu(root="b").fit(cofactor).parents_
    {'b': None, 'a': 'b'}
    """

    def __init__(self, features: Sequence[str] | None = None, *, root: str | None = None) -> None:
        self.features = features
        self.root = root

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
        root = names[0] if self.root is None else self.root
        if root not in names:
            raise InvalidValueError(f"the root {root!r} is not among the columns {names}")
        information = matrix(cofactor, names)
        places = _spanning_tree(information, names.index(root))
        self.edges_ = [(names[a], names[b], float(information[a, b])) for a, b in places]
        self.parents_: dict[str, str | None] = {root: None}
        self.parents_ |= {child: parent for parent, child, _ in self.edges_}
        told = sum(weight for _, _, weight in self.edges_)
        self.log_likelihood_ = cofactor.count * (told - float(information.trace()))
        self.mutual_information_ = information
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self


def _spanning_tree(
    weights: np.ndarray[Any, np.dtype[np.float64]], root: int
) -> list[tuple[int, int]]:
    """Edges of a maximum spanning tree from the root outwards."""
    inside = [root]
    outside = [i for i in range(len(weights)) if i != root]
    edges = []
    while outside:
        # A total order of the edges: the tree does not depend on the root.
        parent, child = min(
            ((a, b) for a in inside for b in outside),
            key=lambda edge: (-rounded(weights.item(edge)), *sorted(edge)),
        )
        edges.append((parent, child))
        inside.append(child)
        outside.remove(child)
    return edges
