"""Epsilon: in how many rows a value is heavy, as a power of their number.

Invariant: each is a number, whose range and whose relation the engine checks; NaN, which JSON does
not have, is refused here. Cost: O(relations).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real

from ..errors import InvalidValueError, TypeMismatchError
from .scalars import Json

Epsilon = float | Mapping[str, float]


def with_thresholds(query: Json, epsilon: Epsilon) -> Json:
    """The logical query with the thresholds: one for all relations, or by alias."""
    if isinstance(epsilon, Mapping):
        named = {alias: _number(one, f"epsilon of {alias!r}") for alias, one in epsilon.items()}
        for alias in named:
            if not isinstance(alias, str):
                raise TypeMismatchError(
                    f"epsilon: a relation is named by a text, its alias in FROM, not {alias!r}"
                )
        return {**query, "epsilon": named}
    return {**query, "epsilon": _number(epsilon, "epsilon")}


def _number(value: object, place: str) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeMismatchError(
            f"{place}: a number from 0 to 1, or a dict of them by alias, not {value!r}"
        )
    if not math.isfinite(value):
        raise InvalidValueError(f"{place}: is {value}, and must be a number from 0 to 1")
    return float(value)
