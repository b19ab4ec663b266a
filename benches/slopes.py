"""Exponents from counts: the slope of steps and of keys against N, both as logarithms.

Invariant: nothing here uses a clock; the slope is that of least squares over all sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import Any

Line = dict[str, Any]


def slope(points: Iterable[tuple[float, float]]) -> float | None:
    """The slope of logarithms; None where fewer than two points are above 0.

    >>> slope([(10, 300), (100, 3000), (1000, 30000)])
    1.0
    """
    logs = [(log(x), log(y)) for x, y in points if y > 0]
    if len(logs) < 2:
        return None
    middle = [sum(values) / len(logs) for values in zip(*logs, strict=True)]
    across = sum((x - middle[0]) ** 2 for x, _ in logs)
    along = sum((x - middle[0]) * (y - middle[1]) for x, y in logs)
    return float(round(along / across, 6))


def time(lines: list[Line], epsilon: float) -> float | None:
    """Of the data that cost most: those against heavy values, or against light ones."""
    found = [_of(lines, epsilon, data, "steps") for data in ("heavy", "light")]
    return max((one for one in found if one is not None), default=None)


def space(lines: list[Line], epsilon: float) -> float | None:
    """Of the keys of views; None where they have none."""
    return _of(lines, epsilon, "views", "keys")


def _of(lines: list[Line], epsilon: float, data: str, what: str) -> float | None:
    own = [line for line in lines if (line["epsilon"], line["data"]) == (epsilon, data)]
    return slope((line["size"], line[what]) for line in own)
