"""The cofactor of a view: how many rows, their sums, and the sums of all products of two columns.

Invariant: `count`, `sums` and `matrix` are those of one bag of rows, so any statistic of second
order follows from them and never from the rows (F-IVM, section 7.2). They are kept as those of the
distances of each column from an origin near its mean, which have the digits of its variation:
statistics are of these, and `sums` and `matrix` add the origin again.
Cost: m(m + 1)/2 doubles for m numeric columns; categorical columns add a count and m sums for each
category, and a count for each pair of categories. Every operation is O(size of its result).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import notebook
from ..errors import (
    ArithmeticOverflowError,
    InvalidValueError,
    TooFewRowsError,
    TypeMismatchError,
    UnknownColumnError,
    UnsupportedError,
)
from ..text import quoted
from .cofactor_arrow import groups, is_cofactor, names_of, parts
from .cofactor_origin import shifted, shifted_sums, two_sum

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Pair = tuple[str, str]

__all__ = ["Cofactor", "cofactors", "rounding"]

# Of a column of categories no more are shown.
_CATEGORIES = 20


class Cofactor:
    """Count, sums and sums of products of the numeric columns of a view, and its categories.

    Args:
        names: The numeric columns, m of them.
        count: How many rows.
        sums: The sum of each numeric column, (m,).
        matrix: The sum of x * y for each two of them, (m, m), symmetric.
        categories: The values of each categorical column.
        category_counts: How many rows each category has, (k,) a column.
        category_sums: The sums of the numeric columns within each category, (k, m) a column.
        pair_counts: How many rows each pair of categories of two columns has, (k, l) a pair.
        origin: What the numeric columns are counted from, (m,); zero if None. With an origin,
            `sums`, `matrix` and `category_sums` are given as those of the distances from it.
        reach: Distance that each origin has moved while sums were rounded, (m,); zero if None. A
            column that varies less than the rounding of that is taken to be constant.

    The attributes are called as the arguments, and `sums`, `matrix` and `category_sums` are those
    of the columns as they are; `shifted_sums`, `shifted_matrix` and `shifted_category_sums` are
    those of their distances from `origin`.

    Raises:
        InvalidValueError: A shape that does not fit the names, or a name that is given twice.

    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 9.0]])
    >>> cofactor = Cofactor(["x", "y"], 3, rows.sum(axis=0), rows.T @ rows)
    >>> cofactor
    Cofactor(count=3, names=['x', 'y'])
    >>> cofactor.covariance()
    array([[ 1. ,  3.5],
           [ 3.5, 13. ]])

    Seconds since 1970, of which a sum of squares keeps nothing below a minute:

    >>> seconds = np.array([[1.7e9 + 1], [1.7e9 + 2], [1.7e9 + 6]])
    >>> near = seconds - 1.7e9
    >>> Cofactor(["t"], 3, near.sum(axis=0), near.T @ near, origin=[1.7e9]).covariance()
    array([[7.]])
    """

    __slots__ = (
        "_plain",
        "_plain_categories",
        "categories",
        "category_counts",
        "count",
        "names",
        "origin",
        "pair_counts",
        "reach",
        "shifted_category_sums",
        "shifted_matrix",
        "shifted_sums",
    )

    def __init__(
        self,
        names: Sequence[str],
        count: int,
        sums: ArrayLike,
        matrix: ArrayLike,
        categories: Mapping[str, Sequence[Any]] | None = None,
        category_counts: Mapping[str, ArrayLike] | None = None,
        category_sums: Mapping[str, ArrayLike] | None = None,
        pair_counts: Mapping[Pair, ArrayLike] | None = None,
        *,
        origin: ArrayLike | None = None,
        reach: ArrayLike | None = None,
    ) -> None:
        m = len(names)
        self.names: list[str] = list(names)
        self.count = int(count)
        self.origin: Array = np.asarray(np.zeros(m) if origin is None else origin, np.float64)
        self.reach: Array = np.asarray(np.zeros(m) if reach is None else reach, np.float64)
        self.shifted_sums: Array = np.asarray(sums, dtype=np.float64)
        self.shifted_matrix: Array = np.asarray(matrix, dtype=np.float64)
        self.categories: dict[str, list[Any]] = {}
        self.category_counts: dict[str, Array] = {}
        self.shifted_category_sums: dict[str, Array] = {}
        self.pair_counts: dict[Pair, Array] = {}
        self._plain: tuple[Array, Array] | None = None
        self._plain_categories: dict[str, Array] | None = None
        _check_shape("sums", self.shifted_sums, (m,))
        _check_shape("matrix", self.shifted_matrix, (m, m))
        _check_shape("origin", self.origin, (m,))
        _check_shape("reach", self.reach, (m,))
        if categories:
            self._take_categories(
                categories, category_counts or {}, category_sums or {}, pair_counts or {}
            )
        if len(set(self.names) | set(self.categories)) < m + len(self.categories):
            raise InvalidValueError(f"a column comes twice among {self.columns}")

    def _take_categories(
        self,
        categories: Mapping[str, Sequence[Any]],
        counts: Mapping[str, ArrayLike],
        sums: Mapping[str, ArrayLike],
        pairs: Mapping[Pair, ArrayLike],
    ) -> None:
        for name, values in categories.items():
            size = len(values)
            self.categories[name] = list(values)
            for kept, given, what, shape in (
                (self.category_counts, counts, "counts", (size,)),
                (self.shifted_category_sums, sums, "sums", (size, len(self.names))),
            ):
                if name not in given:
                    raise InvalidValueError(f"the {what} of the categories of {name!r} are missing")
                kept[name] = np.asarray(given[name], dtype=np.float64)
                _check_shape(f"{what} of {name!r}", kept[name], shape)
        for pair, values_of_pair in pairs.items():
            found = np.asarray(values_of_pair, dtype=np.float64)
            shape = (len(self.categories[pair[0]]), len(self.categories[pair[1]]))
            _check_shape(f"counts of the pair {pair}", found, shape)
            self.pair_counts[pair] = found

    @classmethod
    def of_rows(cls, names: Sequence[str], rows: Array) -> Cofactor:
        """That of rows at hand, (n, m), counted from their means. O(n m^2)."""
        with np.errstate(over="ignore"):
            origin = rows.mean(axis=0) if len(rows) else np.zeros(len(names))
        origin = np.where(np.isfinite(origin), origin, 0.0)
        near = rows - origin
        return cls(names, len(rows), near.sum(axis=0), near.T @ near, origin=origin)

    @classmethod
    def from_arrow(
        cls, column: pa.StructArray | pa.ChunkedArray, field: pa.Field, row: int = 0
    ) -> Cofactor:
        """The cofactor in one row of the column that `COFACTOR(x, y)` gives.

        Args:
            column: Structs of count, sums and products (upper triangle, row by row), and of
                `shifted`, the sums and products of distances from an origin; with categorical
                columns also of `categories`, a list of (value, count, sums, shifted) for each
                of them, and `pairs`, a list of (left, right, count) for each two. Without
                `shifted` the origin is zero.
            field: Its field; the metadata `ringview.cofactor` holds the names as JSON.
            row: Which row.

        Raises:
            TypeMismatchError: The field is not one of COFACTOR.
        """
        if not is_cofactor(field):
            raise TypeMismatchError(
                f"column {quoted(field.name)} is {field.type}, not a cofactor: write COFACTOR(x, "
                "y) in the SELECT of the view"
            )
        if hasattr(column, "combine_chunks"):
            column = column.slice(row, 1).combine_chunks()
            row = 0
        names = names_of(field)
        one = column.slice(row, 1)
        given, distances = parts(one, len(names))
        return cls(names, *given, **distances)

    @classmethod
    def from_table(cls, table: pa.Table) -> Cofactor:
        """The cofactor of a view without GROUP BY.

        Raises:
            UnsupportedError: The view has groups, or not one column of COFACTOR.
            TooFewRowsError: HAVING leaves no row.
        """
        found = list(cofactors(table.slice(0, 2)))
        if len(found) > 1 or groups(table):
            raise UnsupportedError("the view has a cofactor for each group: cofactors() gives them")
        if not found:
            raise TooFewRowsError("the view has no row: its HAVING leaves none")
        return found[0][1]

    @property
    def columns(self) -> list[str]:
        """All columns: the numeric ones, then the categorical ones."""
        return [*self.names, *self.categories]

    @property
    def sums(self) -> Array:
        """The sum of each numeric column, (m,)."""
        return self._as_they_are()[0]

    @property
    def matrix(self) -> Array:
        """The sum of x * y for each two numeric columns, (m, m), symmetric."""
        return self._as_they_are()[1]

    @property
    def category_sums(self) -> dict[str, Array]:
        """The sums of the numeric columns within each category, (k, m) a categorical column."""
        if self._plain_categories is None:
            counts, by = self.category_counts, (self.origin, np.zeros_like(self.origin))
            self._plain_categories = {
                name: shifted_sums(counts[name][:, None], sums, by)
                for name, sums in self.shifted_category_sums.items()
            }
        return self._plain_categories

    def _as_they_are(self) -> tuple[Array, Array]:
        if self._plain is None:
            by = (self.origin, np.zeros_like(self.origin))
            self._plain = shifted(self.count, self.shifted_sums, self.shifted_matrix, by)
        return self._plain

    def mean(self) -> Array:
        """The mean of each numeric column.

        Raises:
            TooFewRowsError: There are no rows.
        """
        self._need_rows(1, "a mean")
        found: Array = self.origin + self.shifted_sums / self.count
        return found

    def covariance(self, ddof: int = 1) -> Array:
        """The covariance matrix of the numeric columns, as `numpy.cov` gives it. O(m^2).

        Args:
            ddof: What is taken from the count: 1 for a sample, 0 for a population.

        Raises:
            TooFewRowsError: There are not more than `ddof` rows.
            ArithmeticOverflowError: A sum is infinite.
        """
        self._need_rows(ddof + 1, "a covariance")
        return self.scatter() / (self.count - ddof)

    def correlation(self) -> Array:
        """Pearson's correlation of the numeric columns; NaN where a column is constant. O(m^2).

        Raises:
            TooFewRowsError: There are fewer than two rows.
            ArithmeticOverflowError: A sum is infinite.
        """
        self._need_rows(2, "a correlation")
        scatter = self.scatter()
        deviation = np.sqrt(scatter.diagonal())
        deviation[deviation == 0] = np.nan
        found: Array = np.clip(scatter / deviation[:, None] / deviation, -1, 1)
        np.fill_diagonal(found, np.where(np.isnan(deviation), np.nan, 1.0))
        return found

    def scatter(self) -> Array:
        """Sums of products of the distances from the means: `matrix` minus `sums` squared / count.

        The rest of a constant column is rounding: its row and column are set to zero.
        """
        self.check_finite()
        sums = self.shifted_sums
        found: Array = self.shifted_matrix - np.outer(sums, sums / max(self.count, 1))
        constant = found.diagonal() <= rounding(self.count) * self.squares()
        if constant.any():
            found[constant] = 0
            found[:, constant] = 0
        return found

    def squares(self) -> Array:
        """Sums of squares of distances from the origin, (m,): their rounding is in `scatter`."""
        found: Array = self.shifted_matrix.diagonal() + max(self.count, 0) * self.reach**2
        return found

    def subset(self, names: Iterable[str]) -> Cofactor:
        """The cofactor of some of the columns, in the order given.

        Raises:
            UnknownColumnError: There is no such column; the nearest name is given.
        """
        wanted = self.check_names(names)
        place = {name: i for i, name in enumerate(self.names)}
        at = [place[name] for name in wanted if name in place]
        kept = [name for name in wanted if name in self.categories]
        return Cofactor(
            [self.names[i] for i in at],
            self.count,
            self.shifted_sums[at],
            self.shifted_matrix[np.ix_(at, at)],
            {name: self.categories[name] for name in kept},
            {name: self.category_counts[name] for name in kept},
            {name: self.shifted_category_sums[name][:, at] for name in kept},
            {p: found for p, found in self.pair_counts.items() if p[0] in kept and p[1] in kept},
            origin=self.origin[at],
            reach=self.reach[at],
        )

    def pairs(self, a: str, b: str) -> Array:
        """Number of rows of each category of `a` with each of `b`.

        Raises:
            UnknownColumnError: The view does not count this pair.
        """
        if (a, b) in self.pair_counts:
            return self.pair_counts[a, b]
        if (b, a) in self.pair_counts:
            return self.pair_counts[b, a].T
        self.check_names([a, b])
        raise UnknownColumnError(f"there are no counts by pairs of {quoted(a)} and {quoted(b)}")

    def check_names(self, names: Iterable[str]) -> list[str]:
        """The names as a list, each of them known and none of them twice.

        Raises:
            TypeMismatchError: A single string, where a list of names is meant.
            UnknownColumnError: There is no such column.
            InvalidValueError: A name is given twice.
        """
        if isinstance(names, str):
            raise TypeMismatchError(f"a list of columns is wanted; write [{names!r}]")
        found = list(names)
        known = set(self.names) | set(self.categories)
        for name in found:
            if name not in known:
                near = difflib.get_close_matches(str(name), self.columns, n=1, cutoff=0.5)
                hint = f"did you mean {quoted(near[0])}?" if near else f"there are {self.columns}"
                raise UnknownColumnError(f"the cofactor has no column {quoted(name)}; {hint}")
        if len(set(found)) < len(found):
            twice = next(name for name in found if found.count(name) > 1)
            raise InvalidValueError(f"column {quoted(twice)} is named twice")
        return found

    def check_finite(self) -> None:
        """Refuse infinite sums.

        Raises:
            ArithmeticOverflowError: With the name of the column.
        """
        sums, matrix = self.shifted_sums, self.shifted_matrix
        if np.isfinite(matrix).all() and np.isfinite(sums).all():
            return
        bad = ~(np.isfinite(matrix.diagonal()) & np.isfinite(sums))
        culprits = [name for name, wrong in zip(self.names, bad, strict=True) if wrong]
        raise ArithmeticOverflowError(
            f"the sums of {', '.join(map(repr, culprits or self.names))} went to infinity: divide "
            "the column by a constant in the view, or delete the rows that hold such values"
        )

    def _need_rows(self, rows: int, what: str) -> None:
        if self.count < rows:
            raise TooFewRowsError(
                f"{what} needs {rows} row{'s' * (rows != 1)}, the view has {self.count}"
            )

    def __add__(self, other: Cofactor) -> Cofactor:
        """The cofactor of the rows of both: what two groups, or two shards, have together."""
        return self._plus(other, 1) if isinstance(other, Cofactor) else NotImplemented

    def __sub__(self, other: Cofactor) -> Cofactor:
        """The cofactor without the rows of `other`: all but one group, for cross-validation."""
        return self._plus(other, -1) if isinstance(other, Cofactor) else NotImplemented

    def _plus(self, other: Cofactor, sign: int) -> Cofactor:
        if set(self.names) != set(other.names) or set(self.categories) != set(other.categories):
            raise TypeMismatchError(
                f"cofactors of different columns do not add: {self.columns} and {other.columns}; "
                "take a subset() that both have"
            )
        # From the origin of the larger part, so that the smaller one is rounded.
        here = self.origin if self.count >= other.count else other.subset(self.names).origin
        return self.counted_from(here)._plus_aligned(
            other.subset(self.columns).counted_from(here), sign
        )

    def counted_from(self, origin: ArrayLike) -> Cofactor:
        """The same, kept as sums of distances from another origin, (m,). O(m^2)."""
        origin = np.asarray(origin, np.float64)
        _check_shape("origin", origin, self.origin.shape)
        by = two_sum(self.origin, -origin)
        if not np.any(by[0]):
            return self
        sums, matrix = shifted(self.count, self.shifted_sums, self.shifted_matrix, by)
        counts = self.category_counts
        return Cofactor(
            self.names,
            self.count,
            sums,
            matrix,
            self.categories,
            counts,
            {
                name: shifted_sums(counts[name][:, None], found, by)
                for name, found in self.shifted_category_sums.items()
            },
            self.pair_counts,
            origin=origin,
            reach=np.maximum(self.reach, np.abs(by[0]) if self.count else 0.0),
        )

    def _plus_aligned(self, other: Cofactor, sign: int) -> Cofactor:
        values = {
            name: list(dict.fromkeys([*mine, *other.categories[name]]))
            for name, mine in self.categories.items()
        }

        def spread(part: Cofactor, found: Array, names: tuple[str, ...]) -> Array:
            wide = np.zeros((*(len(values[n]) for n in names), *found.shape[len(names) :]))
            wide[np.ix_(*([values[n].index(v) for v in part.categories[n]] for n in names))] = found
            return wide

        def added(mine: Array, theirs: Array, *names: str) -> Array:
            return spread(self, mine, names) + sign * spread(other, theirs, names)

        counts, sums = other.category_counts, other.shifted_category_sums
        return Cofactor(
            self.names,
            self.count + sign * other.count,
            self.shifted_sums + sign * other.shifted_sums,
            self.shifted_matrix + sign * other.shifted_matrix,
            values,
            {
                name: added(found, counts[name], name)
                for name, found in self.category_counts.items()
            },
            {
                name: added(found, sums[name], name)
                for name, found in self.shifted_category_sums.items()
            },
            {
                (a, b): added(found, other.pairs(a, b), a, b)
                for (a, b), found in self.pair_counts.items()
            },
            origin=self.origin,
            reach=np.maximum(self.reach, other.reach),
        )

    def _repr_html_(self) -> str:
        """The count, sums, products and categories as tables, for notebooks."""
        names, rows = self.names, notebook.rows
        html = [f"<div>{self.count} rows</div>"]
        if names:
            lines = zip(["sum", *names], [self.sums, *self.matrix], strict=True)
            shown = [
                {"": name, **dict(zip(names, map(_short, of), strict=True))} for name, of in lines
            ]
            html.append(rows(["", *names], shown))
        for name, values in self.categories.items():
            counts = list(zip(values, map(_short, self.category_counts[name]), strict=True))
            most = counts[:_CATEGORIES]
            html.append(rows([name, "rows"], [{name: value, "rows": n} for value, n in most]))
            if more := len(counts) - len(most):
                html.append(f"<div>and {more} more</div>")
        return "".join(html)

    def __repr__(self) -> str:
        kinds = f", categories={list(self.categories)}" if self.categories else ""
        return f"Cofactor(count={self.count}, names={self.names}{kinds})"


def cofactors(table: pa.Table) -> Iterator[tuple[tuple[Any, ...], Cofactor]]:
    """The cofactor of each row of a view, after the values of the columns by which it groups.

    Raises:
        UnsupportedError: The view has no column of COFACTOR, or several.
    """
    found = [field for field in table.schema if is_cofactor(field)]
    if len(found) != 1:
        what = f"{len(found)} columns of COFACTOR, one is wanted"
        raise UnsupportedError(f"the view has {what}: write SELECT COFACTOR(x, y) FROM ..")
    field = found[0]
    column = table[field.name].combine_chunks()
    keys = [table[name].to_pylist() for name in groups(table)]
    for row in range(table.num_rows):
        yield tuple(key[row] for key in keys), Cofactor.from_arrow(column, field, row)


def rounding(count: int) -> float:
    """The relative error to expect of a sum of so many floats, errors being of either sign."""
    return float(np.finfo(np.float64).eps) * (16 + math.sqrt(max(count, 0)))


def _short(number: float) -> str:
    return f"{number:.6g}"


def _check_shape(what: str, found: Array, shape: tuple[int, ...]) -> None:
    if found.shape != shape:
        raise InvalidValueError(f"the {what} have shape {found.shape}, {shape} is wanted")
