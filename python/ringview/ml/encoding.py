"""From features to the columns of a linear model: a number is one column, a category one each.

Invariant: `expand` of a cofactor equals the cofactor of `design` of the same rows. Categories are
sorted, and those without rows are left out, so the columns do not depend on the order of the
values. With `drop_first` the first category of each feature has no column: the others are compared
with it.
Cost: O(p^2) for p columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidValueError, TypeMismatchError, UnknownColumnError
from ..stats.cofactor import Cofactor
from ..text import quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Encoding:
    """Mapping of features to columns.

    Args:
        features: Numeric or categorical columns.
        categories: The categories of those that are categorical.
        drop_first: Whether the first category of each has no column.
    """

    __slots__ = ("_kept", "categories", "drop_first", "features", "names")

    def __init__(
        self, features: Sequence[str], categories: Mapping[str, Sequence[Any]], drop_first: bool
    ) -> None:
        self.features = list(features)
        self.categories = {name: list(values) for name, values in categories.items()}
        self.drop_first = drop_first
        self._kept = {name: found[drop_first:] for name, found in self.categories.items()}
        self.names: list[str] = []
        for name in self.features:
            values = self._kept.get(name)
            self.names += [name] if values is None else [f"{name}={value}" for value in values]

    @classmethod
    def of(cls, cofactor: Cofactor, features: Sequence[str], drop_first: bool) -> Encoding:
        """The encoding of features of a cofactor, its categories being those that have rows."""
        found = {
            name: [cofactor.categories[name][i] for i in _in_order(cofactor, name)]
            for name in features
            if name in cofactor.categories
        }
        return cls(features, found, drop_first)

    def expand(self, cofactor: Cofactor, label: str | None = None) -> Cofactor:
        """The cofactor of the columns of the model, and of a numeric label as the last one.

        Raises:
            InvalidValueError: A category that the encoding does not have.
            UnknownColumnError: A pair of categorical features that is not counted.
        """
        wanted = self.features if label is None else [*self.features, label]
        place = {name: i for i, name in enumerate(cofactor.names)}
        numeric = np.array([place[n] for n in wanted if n not in self.categories], np.intp)
        if not self.categories:
            return Cofactor(
                wanted,
                cofactor.count,
                cofactor.shifted_sums[numeric],
                cofactor.shifted_matrix[numeric][:, numeric],
                origin=cofactor.origin[numeric],
                reach=cofactor.reach[numeric],
            )

        names = self.names if label is None else [*self.names, label]
        sums = np.zeros(len(names))
        matrix = np.zeros((len(names), len(names)))
        at = np.array(
            [i for name, i in self._starts(label) if name not in self.categories], np.intp
        )
        sums[at] = cofactor.shifted_sums[numeric]
        matrix[np.ix_(at, at)] = cofactor.shifted_matrix[np.ix_(numeric, numeric)]
        # Indicators are counted from zero.
        origin, reach = np.zeros(len(names)), np.zeros(len(names))
        origin[at], reach[at] = cofactor.origin[numeric], cofactor.reach[numeric]
        blocks: list[tuple[str, NDArray[np.intp], NDArray[np.intp]]] = []
        for name, start in self._starts(label):
            if name not in self.categories:
                continue
            mine, theirs = self._match(cofactor, name)
            mine = mine + start
            counts = cofactor.category_counts[name][theirs]
            sums[mine] = counts
            matrix[mine, mine] = counts
            within = cofactor.shifted_category_sums[name][np.ix_(theirs, numeric)]
            matrix[np.ix_(mine, at)] = within
            matrix[np.ix_(at, mine)] = within.T
            for other, other_mine, other_theirs in blocks:
                pairs = cofactor.pairs(name, other)[np.ix_(theirs, other_theirs)]
                matrix[np.ix_(mine, other_mine)] = pairs
                matrix[np.ix_(other_mine, mine)] = pairs.T
            blocks.append((name, mine, theirs))
        return Cofactor(names, cofactor.count, sums, matrix, origin=origin, reach=reach)

    def design(self, rows: Any) -> Array:
        """The matrix of the model for rows: a frame, a table, a dict of columns or an array.

        Named columns are taken by name, and those that the model does not read are ignored; the
        columns of an array must be the features, in order.

        Raises:
            UnknownColumnError: A feature is missing.
            TypeMismatchError: Not rows, or text where numbers are wanted.
            InvalidValueError: NaN or infinity, or a category that the model has not seen.
        """
        found: list[Array] = []
        for name, column in zip(self.features, columns(rows, self.features), strict=True):
            if name in self._kept:
                found.append(self._indicators(name, column))
            else:
                found.append(_numbers(name, column)[:, None])
        return np.hstack(found)

    def _starts(self, label: str | None) -> list[tuple[str, int]]:
        """Each feature, and the label, with its first column."""
        starts, at = [], 0
        for name in self.features:
            starts.append((name, at))
            at += len(self._kept[name]) if name in self._kept else 1
        return starts if label is None else [*starts, (label, at)]

    def _match(self, cofactor: Cofactor, name: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns of the model within the feature, and the categories of the cofactor for them."""
        place = {value: i for i, value in enumerate(self._kept[name])}
        mine, theirs = [], []
        for i in _in_order(cofactor, name):
            value = cofactor.categories[name][i]
            if value in place:
                mine.append(place[value])
                theirs.append(i)
            elif value not in self.categories[name]:
                raise _unseen(name, value)
        return np.array(mine, dtype=np.intp), np.array(theirs, dtype=np.intp)

    def _indicators(self, name: str, column: NDArray[Any]) -> Array:
        place = {value: i - self.drop_first for i, value in enumerate(self.categories[name])}
        found = np.zeros((len(column), len(self._kept[name])))
        for row, value in enumerate(column.tolist()):
            if value not in place:
                raise _unseen(name, value)
            if place[value] >= 0:
                found[row, place[value]] = 1
        return found


def columns(rows: Any, names: Sequence[str]) -> list[NDArray[Any]]:
    """The named columns of a frame, a table or a dict; or all columns of an array of that width."""
    known: Any = None
    if isinstance(rows, Mapping):
        known = list(rows)
    elif hasattr(rows, "column_names"):  # pyarrow
        known = rows.column_names
    elif hasattr(rows, "columns") and hasattr(rows, "__getitem__"):  # pandas, polars
        known = list(rows.columns)
    if known is not None:
        missing = [name for name in names if name not in known]
        if missing:
            raise UnknownColumnError(
                f"the rows have no column {quoted(missing[0])}; they have {known}"
            )
        found = [np.asarray(rows[name]) for name in names]
        if len({column.shape for column in found}) > 1 or any(c.ndim != 1 for c in found):
            raise InvalidValueError("the columns must be flat and of one length")
        return found
    array = np.asarray(rows)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InvalidValueError(
            f"rows are wanted as a frame, a table, a dict of columns, or an array of "
            f"{len(names)} columns {list(names)}; got {type(rows).__name__} of shape {array.shape}"
        )
    return list(array.T)


def _numbers(name: str, column: NDArray[Any]) -> Array:
    try:
        found: Array = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeMismatchError(f"feature {quoted(name)} must be numbers: {error}") from error
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        raise InvalidValueError(f"feature {quoted(name)} is {found[row]} in row {row}")
    return found


def _unseen(name: str, value: object) -> InvalidValueError:
    return InvalidValueError(
        f"feature {quoted(name)} has a category {value!r} that the model has not seen; fit it again"
    )


def _in_order(cofactor: Cofactor, name: str) -> list[int]:
    """Places of the categories that have rows, sorted by value (and by type, should they mix)."""
    values = cofactor.categories[name]
    with_rows = np.flatnonzero(cofactor.category_counts[name] > 0).tolist()
    return sorted(with_rows, key=lambda i: (type(values[i]).__name__, values[i]))
