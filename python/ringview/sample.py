"""A uniform sample of a join, fresh after every change, and estimates of the whole join from it.

Invariant: after each change the sample holds k rows of the join, every set of k with equal chances
and no row of the join twice, or all rows if they are fewer. An interval of `estimate` holds the
value of the whole join with about the requested confidence. Cost: reading is O(k); an exact join
size O(rows of the tables).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._native import product_columns
from .convert.sizes import whole
from .errors import (
    InvalidValueError,
    TypeMismatchError,
    UnknownColumnError,
    did_you_mean,
)
from .stats.estimates import Estimate, Estimator, What
from .text import quoted
from .view import View

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from .stats.cofactor import Cofactor

    Expression = str | Callable[[pa.Table], Any]

__all__ = ["Bounds", "Estimate", "Sample"]


class Bounds(NamedTuple):
    """Bounds of the row count of a join where counting is too dear: neither fewer nor more rows."""

    low: int
    high: int


class Sample(View):
    """A uniform sample of a join, without replacement, as a view: it is read and followed as one.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64", "b": "int64"})
    >>> _ = db.create_table("s", {"b": "int64", "c": "int64"})
    >>> sample = db.create_sample("few", "SELECT a, c FROM r JOIN s USING (b)", k=100, seed=7)
    >>> db.insert("r", {"a": range(1000), "b": [x % 10 for x in range(1000)]})
    >>> db.insert("s", {"b": [x % 10 for x in range(1000)], "c": range(1000)})
    >>> len(sample), sample.join_size()
    (100, 100000)
    >>> mean = sample.estimate("avg", "a")
    >>> mean.low < 499.5 < mean.high
    True
    """

    __slots__ = ()

    def join_size(self) -> int | Bounds:
        """The number of rows of the whole join, exactly. O(rows of the tables).

        With a condition across tables that is known where the sample holds all rows, or the join
        without the condition is small; else these are certain `Bounds`, and `estimate("count")`
        says how many there are about.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> db.insert("r", {"a": range(70_000)})
        >>> pairs = "SELECT x.a AS x, y.a AS y FROM r x CROSS JOIN r y"
        >>> db.create_sample("pairs", pairs, k=3, seed=1).join_size()
        4900000000
        """
        low, high, _ = self._native.sample_join_size(self._handle)
        return low if low == high else Bounds(low, high)

    def draw(
        self, m: int, *, seed: int, replacement: bool = True, weight: str | None = None
    ) -> pa.Table:
        """Fresh rows of the whole join, independent of those that the sample holds.

        Args:
            m: How many.
            seed: Of the random numbers, 0 to 2^64 - 1; equal seeds draw equal rows from the same
                rows inserted in the same order.
            replacement: Each row is drawn from all, so that one may be drawn more than once; else
                from those that were not drawn yet, and there may be fewer than `m`.
            weight: A product of columns of the sample, such as `"price * units"`: each row is drawn
                with a chance in proportion to it, of all or of those not drawn yet. NULL weighs
                nothing.

        Raises:
            InvalidValueError: The join has no rows; `m` or `seed` is negative or too large; a
                weight is negative or no number.
            UnknownColumnError: A weight is no column of the sample.
            TypeMismatchError: A weight is not of numbers.
            UnsupportedError: A weight is no product of columns; or without replacement too few rows
                have nearly all the weight.

        Complexity: O(log rows) expected a row; with weights O(rows of the tables) once.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> db.insert("r", {"a": [1, 2, 3]})
        >>> sample = db.create_sample("one", "SELECT a FROM r", k=1, seed=1)
        >>> sorted(sample.draw(5, seed=2, replacement=False).column("a").to_pylist())
        [1, 2, 3]
        >>> drawn = sample.draw(600, seed=2, weight="a").column("a").to_pylist()
        >>> drawn.count(1) < drawn.count(2) < drawn.count(3)
        True
        """
        import pyarrow as pa

        whole("m", m)
        whole("seed", seed)
        columns = None if weight is None else product_columns(weight)
        return pa.table(self._native.sample_draw(self._handle, m, seed, replacement, columns))

    def cofactor(self) -> Cofactor:
        """The counts, sums and products of its numeric columns, to train a model on: O(k m^2).

        The estimators of `ringview.ml` learn the same from it as from a view: rows with NULL are
        left out, and so are columns that are no numbers. For categories make a view with COFACTOR
        over the sample.

        Raises:
            TypeMismatchError: No column is one of numbers.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"x": "int64", "y": "float64", "z": "string"})
        >>> db.insert("r", {"x": range(9), "y": [2.0 * x + 1 for x in range(9)], "z": ["?"] * 9})
        >>> sample = db.create_sample("few", "SELECT x, y, z FROM r", k=5, seed=1)
        >>> model = rv.ml.LinearRegression(label="y").fit(sample)
        >>> {name: round(value, 6) for name, value in model.coefficients().items()}
        {'intercept': 1.0, 'x': 2.0}
        """
        import pyarrow as pa

        from .stats.cofactor import Cofactor

        rows = self.to_arrow()
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        names = [
            name
            for name, kind in zip(rows.column_names, rows.schema.types, strict=True)
            if any(is_of(kind) for is_of in kinds)
        ]
        if not names:
            raise TypeMismatchError(
                "the sample has no column of numbers to learn from; select one, or make a view "
                "with COFACTOR over the sample"
            )
        values = np.column_stack([_values(rows, name, number=True) for name in names])
        values = values[~np.isnan(values).any(axis=1)]
        return Cofactor.of_rows(names, values)

    def estimate(
        self,
        what: What,
        of: Expression | None = None,
        *,
        by: str | Sequence[str] | None = None,
        q: float = 0.5,
        confidence: float = 0.95,
        within: tuple[float, float] | None = None,
    ) -> Any:
        """An aggregate of the whole join, estimated from the sample, with an interval.

        Args:
            what: "count" of rows, or of values of `of` that are not NULL; "sum", "avg" or
                "quantile" of these.
            of: A column of the sample, or a function from the sample as a table to an array of a
                value a row, such as `lambda rows: pc.multiply(rows["price"], rows["units"])`.
            by: Columns to group by.
            q: Which quantile, 0 to 1. Near 0 and 1, and of a few rows, no row may have been drawn
                beyond the true one: then that end of the interval is that of `within`, or infinite.
            confidence: With which chance the interval shall hold the true value. From 40 sampled
                rows on that have a value, and differ from what most have, by the normal
                approximation; with fewer by bounds that hold for what is rare (of Clopper and
                Pearson for counts, of Stringer for sums and means of values of which most are the
                same, of Student for others).
            within: The least and the greatest that a value of `of` may be, where that is known. An
                interval allows for rows of which the sample has none: with values in this range, or
                no larger than those that it has, and than 1 or -1 where it has only zeros.

        Returns:
            An `Estimate`; with `by` a dict of one for each group in the sample, by its value, or by
            the tuple of its values for several columns.

        Raises:
            InvalidValueError: There is no value to estimate from, or an argument is out of range.
            UnknownColumnError: No such column.
            TypeMismatchError: The values are not numbers.

        Complexity: O(k log k), and that of `join_size`.
        """
        if what not in ("count", "sum", "avg", "quantile"):
            raise InvalidValueError(f"{what!r} is none of count, sum, avg and quantile")
        if not (0 <= q <= 1 and 0 < confidence < 1):
            raise InvalidValueError(
                f"q={q} and confidence={confidence} must be within 0 and 1, the latter not at them"
            )
        if of is None and what != "count":
            raise InvalidValueError(f"{what} of what? name a column")
        rows = self.to_arrow()
        values = None if of is None else _values(rows, of, number=what != "count")
        if within is not None and not within[0] <= within[1]:
            raise InvalidValueError(
                f"within={within}: the first is the least value, not above the other"
            )
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        estimator = Estimator.of(len(rows), self._native.sample_join_size(self._handle), z)
        if by is None and of is None:
            return estimator.all_rows()
        if by is None:
            return estimator.estimate(what, values, np.ones(len(rows), bool), q, within)
        names = [by] if isinstance(by, str) else list(by)
        columns = [_column(rows, name).to_pylist() for name in names]
        keys = columns[0] if isinstance(by, str) else list(zip(*columns, strict=True))
        groups: dict[Any, list[int]] = {}
        for row, key in enumerate(keys):
            groups.setdefault(key, []).append(row)
        found = {}
        for key, members in groups.items():
            inside = np.zeros(len(rows), bool)
            inside[members] = True
            known = inside if values is None else inside & ~np.isnan(values)
            if what == "count" or known.any():
                found[key] = estimator.estimate(what, values, inside, q, within)
        return found


def _column(rows: pa.Table, name: str) -> Any:
    if name not in rows.column_names:
        known = ", ".join(rows.column_names)
        raise UnknownColumnError(
            f"the sample has no column {quoted(name)}; known columns: {known}"
            + did_you_mean(name, rows.column_names)
        )
    return rows.column(name)


def _values(rows: pa.Table, of: Expression, *, number: bool) -> NDArray[np.float64]:
    """A value a row, NaN for NULL; 0 for what is counted and no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: Any = _column(rows, of) if isinstance(of, str) else of(rows)
    if isinstance(found, pa.Scalar):
        found = pa.array([found.as_py()] * len(rows))
    if not isinstance(found, pa.Array | pa.ChunkedArray):
        found = pa.array(np.asarray(found))
    if len(found) != len(rows):
        raise InvalidValueError(f"{len(found)} values for {len(rows)} rows; one a row is needed")
    if not number:
        return np.where(pc.is_null(found).to_numpy(zero_copy_only=False), np.nan, 0.0)
    try:
        numbers = pc.cast(found, pa.float64()).to_numpy(zero_copy_only=False)
        return np.asarray(numbers, dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TypeMismatchError(
            f"estimates are of numbers, not of {found.type}; cast what is estimated"
        ) from None
