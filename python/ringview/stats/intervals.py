"""Intervals for estimates from few rows: shares and means near an end, small samples.

The normal approximation takes the spread of the rows that were drawn for that of all rows. If few
of them have a value, or none, it is far too narrow. Instead:

- for a share, the bounds of Clopper and Pearson: the shares at which what was seen is just as rare
  as the confidence allows;
- for a mean of values of which most are equal, Stringer's bound: the rows that differ are counted
  with those bounds, each further one with the next smaller difference, and one that was not seen
  with the largest that is possible;
- for a mean of few values that all differ, Student's law.

Invariant: an interval for a share has at least its confidence, whatever the share; so in practice
has Stringer's for values within the range that it is given. Cost: O(`FEW`^2) once for a number of
rows and a confidence.
"""

from __future__ import annotations

from functools import lru_cache
from math import cos, lgamma, pi, sin, sqrt, tan
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 40
"""With so many rows that have a value, or differ from most, the normal approximation is taken."""

_STEPS = 60
Range = tuple[float, float]


@lru_cache(maxsize=64)
def shares(held: int, tail: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """By count below `FEW`, of so many rows: the least share and the greatest, each with this tail.

    >>> low, high = shares(100, 0.025)
    >>> round(high[0], 4), round(low[1], 5), round(high[1], 4)
    (np.float64(0.0362), np.float64(0.00025), np.float64(0.0545))
    """
    counts = np.arange(min(FEW, held + 1))
    at_most = _solved(held, counts, tail)
    at_most[counts == held] = 1.0
    at_least = np.zeros(len(counts))
    at_least[1:] = _solved(held, counts[1:] - 1, 1 - tail)
    return at_least, at_most


def _solved(held: int, counts: NDArray[np.int64], chance: float) -> NDArray[np.float64]:
    """The shares at which at most so many rows are found with this chance, by bisection."""
    if not len(counts):
        return np.zeros(0)
    number = np.arange(counts.max() + 1)
    ways = np.array([lgamma(held + 1) - lgamma(i + 1) - lgamma(held - i + 1) for i in number])
    low, high = np.zeros(len(counts)), np.ones(len(counts))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        # No share is 0 or 1, so that both logarithms are numbers.
        inside = np.clip(middle, 1e-300, 1 - 1e-16)
        found, others = np.log(inside), np.log1p(-inside)
        terms = np.exp(ways + np.outer(found, number) + np.outer(others, held - number))
        reached = np.where(number <= counts[:, None], terms, 0.0).sum(axis=1)
        low = np.where(reached > chance, middle, low)
        high = np.where(reached > chance, high, middle)
    return (low + high) / 2


def share(found: int, held: int, tail: float) -> Range | None:
    """The share of rows that have something that so many of the held have; None where many do."""
    if found < FEW:
        low, high = shares(held, tail)
        return float(low[found]), float(high[found])
    if held - found < FEW:
        low, high = shares(held, tail)
        return 1 - float(high[held - found]), 1 - float(low[held - found])
    return None


def mean(values: NDArray[np.float64], tail: float, within: Range | None) -> Range | None:
    """The mean of all values that these were drawn from, where most of these are the same.

    None where they are not, or many differ. ``within`` is the range of all values; if it is not
    known they are taken to be no larger than those seen, and than one where all are zero.
    """
    kinds, counts = np.unique(values, return_counts=True)
    most = int(counts.argmax())
    held, usual = len(values), float(kinds[most])
    if held - counts[most] >= FEW or 2 * counts[most] <= held or (held == 1 and within is None):
        return None
    above = np.sort(values[values > usual] - usual)
    below = np.sort(usual - values[values < usual])
    if within is None:
        one = 0.0 if len(kinds) > 1 else abs(usual) or 1.0
        room_above = above[-1] if len(above) else one
        room_below = below[-1] if len(below) else one
    else:
        room_above, room_below = max(within[1] - usual, 0.0), max(usual - within[0], 0.0)
    # If both sides may be off, each has half of the chance.
    low, high = shares(held, tail / 2 if room_above and room_below else tail)
    up, down = (
        (_least(part, low), _greatest(part, high, room))
        for part, room in ((above, room_above), (below, room_below))
    )
    return usual + up[0] - down[1], usual + up[1] - down[0]


def _least(parts: NDArray[np.float64], low: NDArray[np.float64]) -> float:
    """At least so much are these, in rising order, on average of all rows."""
    return float(np.diff(low[: len(parts) + 1]) @ parts[::-1])


def _greatest(parts: NDArray[np.float64], high: NDArray[np.float64], room: float) -> float:
    """At most so much, where none is more than ``room``."""
    return float(high[0] * room + np.diff(high[: len(parts) + 1]) @ parts[::-1])


@lru_cache(maxsize=256)
def student(freedom: int, tail: float) -> float:
    """Deviations that a mean of few values may be off: the quantile of Student's law.

    >>> [round(student(freedom, 0.025), 3) for freedom in (1, 2, 5, 30)]
    [12.706, 4.303, 2.571, 2.042]
    """
    low, high = 0.0, pi / 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _central_probability(freedom, middle) < 1 - 2 * tail:
            low = middle
        else:
            high = middle
    return sqrt(freedom) * tan((low + high) / 2)


def _central_probability(freedom: int, angle: float) -> float:
    """The chance of less than sqrt(freedom) tan(angle), of either sign: a sum of few terms."""
    cosine = cos(angle)
    term, total = (1.0, 0.0) if freedom % 2 == 0 else (cosine, 0.0)
    for at in range(freedom % 2 + 2, freedom + 1, 2):
        total += term
        term *= cosine**2 * (at - 1) / at
    if freedom % 2 == 0:
        return sin(angle) * total
    return 2 / pi * (angle + sin(angle) * total)
