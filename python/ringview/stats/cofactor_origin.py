"""Sums and products of columns that are counted from another origin.

Of rows x + d the sum is s + c d, and the products are Q + d s' + s d' + c d d'. Invariant: each
number is rounded once, from twice its digits (error-free transformations: two-sum, two-product), so
whole numbers below 2^53 stay exact. Cost: O(m^2) for m columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    # A number, and what it is off by.
    Pair = tuple[Any, Any]


def two_sum(a: Any, b: Any) -> Pair:
    """`a + b` and what it is off by."""
    total = a + b
    from_b = total - a
    return total, (a - (total - from_b)) + (b - from_b)


def two_product(a: Any, b: Any) -> Pair:
    """`a * b` and what it is off by."""
    product = a * b
    (a1, a0), (b1, b0) = _split(a), _split(b)
    return product, ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0


def _split(a: Any) -> Pair:
    """Two halves of 26 bits."""
    scaled = 134217729.0 * a
    high = scaled - (scaled - a)
    return high, a - high


def _sum(x: Pair, y: Pair) -> Pair:
    high, low = two_sum(x[0], y[0])
    return two_sum(high, low + (x[1] + y[1]))


def _product(x: Pair, y: Pair) -> Pair:
    high, low = two_product(x[0], y[0])
    return two_sum(high, low + (x[0] * y[1] + x[1] * y[0]))


def _exact(count: int | Array) -> Pair:
    if isinstance(count, int):
        high = float(count)
        return high, float(count - int(high))
    return count, 0.0


def shifted_sums(counts: int | Array, sums: Array, by: Pair) -> Array:
    """The sums of x + `by`, (m,) or (.., m), of so many rows each; `by` is (m,) and exact."""
    with np.errstate(all="ignore"):
        exact = _sum((sums, 0.0), _product(by, _exact(counts)))[0]
        found: Array = np.where(np.isfinite(exact), exact, sums + by[0] * counts)
        return found


def shifted(count: int, sums: Array, matrix: Array, by: Pair) -> tuple[Array, Array]:
    """The sums and products of x + `by`, (m,) and (m, m)."""
    if not np.any(by[0]):
        return sums, matrix
    with np.errstate(all="ignore"):
        there = _sum((sums, 0.0), _product(by, _exact(count)))
        down = (by[0][:, None], by[1][:, None])
        # Q_ij + d_i s_j + d_j (s_i + c d_i)
        one = _product(down, (sums[None, :], 0.0))
        other = _product(by, (there[0][:, None], there[1][:, None]))
        found = _sum(_sum((matrix, 0.0), one), other)[0]
        plain = matrix + down[0] * sums + by[0] * there[0][:, None]
        found = np.where(np.isfinite(found), found, plain)
    upper = np.triu(found)
    return shifted_sums(count, sums, by), upper + np.triu(found, 1).T


def total(numbers: list[float], weights: Array, values: Array) -> float:
    """The sum of some numbers less that of `weights` times `values`, rounded once."""
    with np.errstate(all="ignore"):
        high, low = two_product(weights, values)
        found = [*numbers, *(-high).tolist(), *(-low).tolist()]
        if np.isfinite(found).all():
            return math.fsum(found)
        return float(sum(numbers) - weights @ values)
