"""How much a test runs before each change, and how much at length.

Random examples: a quarter, the same each time (`derandomize` in conftest.py); two thirds of the
suite without Spark went to them. Seeds and modes of one test: the first few; nine tenths of the
suite with Spark went to repeating streams. Options of a database: one of two. `make test-long` runs
all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

AT_LENGTH = os.environ.get("HYPOTHESIS_PROFILE") == "random"


def examples(count: int) -> settings:
    """`count` random examples at length; before each change a quarter, and at least five."""
    return settings(max_examples=count if AT_LENGTH else min(count, max(count // 4, 5)))


def some(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Values of a parameter: the first few before each change, the others at length."""
    return [
        value
        if place < count
        else pytest.param(*(value if isinstance(value, tuple) else [value]), marks=pytest.mark.long)
        for place, value in enumerate(values)
    ]
