"""From rows of a sample to a value of the whole join, and how far it may be off.

Invariant: where the sample is all of the join an interval is the value itself; else it holds the
true value with about the requested confidence, also where few rows have the value (`intervals`).
Cost: O(rows) for each estimate, and a sort for quantiles.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ..errors import InvalidValueError
from . import intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .intervals import Range

What = Literal["count", "sum", "avg", "quantile"]


class Estimate(NamedTuple):
    """Estimate of a value of the whole join, and an interval that holds the true one.

    If the sample is the whole join, all three are the true value.
    """

    value: float
    low: float
    high: float


class Estimator(NamedTuple):
    """Estimator of a sample: rows held, rows of the join, deviations of the interval's ends."""

    held: int
    size: float
    z: float
    # Relative error of the number of rows; and bounds of it.
    off: float
    low: float
    high: float

    @classmethod
    def of(cls, held: int, size: tuple[int, int, float], z: float) -> Estimator:
        """From what is known of the number of rows.

        If only bounds are certain, the largest of the uniform keys held gives the estimate.
        """
        least, most, w = size
        if least == most:
            return cls(held, least, z, 0.0, least, most)
        # The number times w has nearly a gamma law; its quantiles by Wilson and Hilferty.
        middle, side = 1 - 1 / (9 * held), z / (3 * sqrt(held))
        low, high = (held * max(middle + by, 0.0) ** 3 / w for by in (-side, side))
        found = min(max((held - 1) / w, least), most)
        off = 1 / sqrt(held - 2) if held > 2 else 1.0
        return cls(held, found, z, off, max(low, least), min(high, most))

    def all_rows(self) -> Estimate:
        """The number of rows."""
        return Estimate(self.size, self.low, self.high)

    def _scaled(self, one: Estimate) -> Estimate:
        """A mean of a row times the number of rows: both have errors, which are independent."""
        value = one.value * self.size
        more = self.z * self.off * value
        low, high = (
            np.hypot((bound - one.value) * self.size, more) for bound in (one.low, one.high)
        )
        return Estimate(value, float(value - low), float(value + high))

    def estimate(
        self,
        what: What,
        values: NDArray[np.float64] | None,
        inside: NDArray[np.bool_],
        q: float,
        within: Range | None,
    ) -> Estimate:
        """An aggregate of the values of some rows."""
        known = inside if values is None else inside & ~np.isnan(values)
        if what == "count" or values is None:
            return self._count(int(known.sum()))
        if not known.any():
            raise InvalidValueError(
                f"the sample has no values to estimate {what} from; it has {self.held} rows"
            )
        if what == "sum":
            # Rows outside count as 0.
            if within is not None:
                within = min(within[0], 0.0), max(within[1], 0.0)
            return self._scaled(self._mean(np.where(known, values, 0.0), within))
        if what == "avg":
            return self._mean(values[known], within)
        return self._quantile(np.sort(values[known]), q, within)

    @property
    def _rest(self) -> float:
        """Share of the variance that is left, as the sample is a part of a finite whole."""
        return (self.size - self.held) / (self.size - 1) if self.size > 1 else 0.0

    @property
    def _tail(self) -> float:
        """The chance of a true value beyond one end of an interval."""
        return NormalDist().cdf(-self.z)

    def _interval(self, value: float, bounds: Range) -> Estimate:
        """An interval for all rows of a population without end, for one that has an end."""
        low, high = ((bound - value) * sqrt(self._rest) for bound in bounds)
        return Estimate(value, value + min(low, 0.0), value + max(high, 0.0))

    def _count(self, found: int) -> Estimate:
        """By the interval of Wilson, or of Clopper and Pearson near 0 and near all."""
        if self.held == 0 or (self._rest == 0 and not self.off):
            return Estimate(found, found, found)
        share = found / self.held
        exact = intervals.share(found, self.held, self._tail)
        if exact is not None:
            part = self._interval(share, exact)
        else:
            z2 = self.z**2 * self._rest
            middle = (share + z2 / (2 * self.held)) / (1 + z2 / self.held)
            wide = sqrt(z2 * (share * (1 - share) / self.held + z2 / (4 * self.held**2)))
            wide /= 1 + z2 / self.held
            part = Estimate(share, max(middle - wide, 0.0), min(middle + wide, 1.0))
        all_rows = self._scaled(part)
        return Estimate(all_rows.value, max(all_rows.low, found), min(all_rows.high, self.high))

    def _mean(self, values: NDArray[np.float64], within: Range | None) -> Estimate:
        mean = float(values.mean())
        if not self._rest:
            return Estimate(mean, mean, mean)
        rare = intervals.mean(values, self._tail, within)
        if rare is not None:
            return self._interval(mean, rare)
        few = 1 < len(values) <= intervals.FEW
        z = intervals.student(len(values) - 1, self._tail) if few else self.z
        deviation = float(values.std(ddof=1)) if len(values) > 1 else float("inf")
        wide = z * deviation * sqrt(self._rest / len(values))
        return Estimate(mean, mean - wide, mean + wide)

    def _quantile(self, values: NDArray[np.float64], q: float, within: Range | None) -> Estimate:
        """Between the order statistics that the true one has its place between.

        If that place may be beyond all that were drawn, so may the value.
        """
        value = float(np.quantile(values, q))
        if not self._rest:
            return Estimate(value, value, value)
        last = len(values) - 1
        wide = self.z * sqrt(len(values) * q * (1 - q) * self._rest)
        least, greatest = within or (-np.inf, np.inf)
        from_, to = int(np.floor(q * last - wide)), int(np.ceil(q * last + wide))
        if not 0 < q < 1:
            # The least and the greatest of all: nothing drawn is beyond them, all else may be.
            from_, to = (-1, 0) if q == 0 else (last, last + 1)
        low = float(values[from_]) if from_ >= 0 else min(least, float(values[0]))
        high = float(values[to]) if to <= last else max(greatest, float(values[last]))
        return Estimate(value, low, high)
