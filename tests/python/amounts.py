"""Number of examples of a test, before each change and in the long suite.

Random examples: a quarter, the same each time (`derandomize` in conftest.py); they took two thirds
of the suite without Spark. Seeds and modes of one test: the first few; repeated streams took nine
tenths of the suite with Spark. Options of a database: one of two. `make test-long` runs all of
them.
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
