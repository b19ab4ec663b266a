"""Intervals of estimates hold the true value as often as they say, and are narrow; fixed seeds."""

from __future__ import annotations

from collections import Counter
from statistics import NormalDist

import numpy as np
import pytest
from ringview.stats.estimates import Estimator


def spreads(rows: int, held: int) -> Estimator:
    """As of a sample of so many rows, at 95%."""
    return Estimator.of(held, (rows, rows, 1.0), NormalDist().inv_cdf(0.975))


RUNS = 300


@pytest.mark.parametrize("expected", [0.05, 0.37, 1, 3, 12, 30, 39, 60])
@pytest.mark.parametrize("kind", ["indicator", "amounts", "both signs", "mostly one"])
def test_intervals_hold_what_few_rows_have(expected: float, kind: str) -> None:
    """Of a rare value the sample has so many rows on average: none in two thirds of the samples, or
    more. By the normal approximation alone 31% of the intervals held the sum at 0.37."""
    chance = np.random.default_rng([int(expected * 100), len(kind)])
    rows, held = 20_000, 200
    all_values = np.zeros(rows)
    few = int(expected * rows / held)
    within: tuple[float, float] | None = None
    if kind == "indicator":
        all_values[:few] = 1
    elif kind == "mostly one":
        all_values[few:] = 1
    elif kind == "amounts":
        all_values[:few] = chance.exponential(1, few)
        within = 0.0, float(all_values.max())
    else:
        all_values[:few] = chance.choice([-1.0, 2.0], few)
        within = -1.0, 2.0
    hits = Counter[str]()
    spread, total = spreads(rows, held), float(all_values.sum())
    for _ in range(RUNS):
        values = chance.choice(all_values, held, replace=False)
        everywhere = np.ones(held, bool)
        for what, truth in (("sum", total), ("avg", total / rows)):
            found = spread.estimate(what, values, everywhere, 0.5, within)  # type: ignore[arg-type]
            hits[what] += found.low - 1e-9 <= truth <= found.high + 1e-9
        count = spread.estimate("count", None, values == 1, 0.5, None)
        hits["count"] += count.low <= (all_values == 1).sum() <= count.high
    # Of 300 at 95%: 267 or fewer have a chance of 10^-5.
    assert min(hits.values()) > 267, hits


def test_intervals_of_few_rows_tell_something() -> None:
    """They are as narrow as what was seen allows: power, where coverage alone is cheap."""
    rows, held = 1_000_000, 1000
    spread = spreads(rows, held)
    for seen, most in ((0, 3.7), (1, 5.6), (10, 18.4), (39, 53.4)):
        values = np.zeros(held)
        values[:seen] = 1
        count = spread.estimate("count", None, values == 1, 0.5, None)
        for found in (count, spread.estimate("sum", values, values < 2, 0.5, (0, 1))):
            assert found.value == seen * 1000
            assert seen * 0.02 * 1000 <= found.low <= found.value
            assert seen * 1000 < found.high < most * 1000
    # From 40 on the normal approximation, which is hardly narrower.
    by_seen = {}
    for seen in (39, 40):
        values = np.zeros(held)
        values[:seen] = 1
        found = spread.estimate("sum", values, values < 2, 0.5, None)
        by_seen[seen] = (found.high - found.low) / found.value
    assert 0.8 < by_seen[40] / by_seen[39] < 1
    # If most rows are sampled, little is uncertain.
    values = np.zeros(900)
    values[:3] = 1
    found = spreads(1000, 900).estimate("sum", values, values < 2, 0.5, None)
    assert found.low > 1.5
    assert found.high < 7


def test_means_of_few_rows_are_as_sure_as_they_say() -> None:
    chance = np.random.default_rng(3)
    for held in (2, 5, 20, 40, 41):
        hits = 0
        for _ in range(RUNS):
            values = chance.normal(5, 1, held)
            found = spreads(10**6, held).estimate("avg", values, values < 99, 0.5, None)
            hits += found.low <= 5 <= found.high
        assert hits > 267, held


@pytest.mark.parametrize(("q", "held"), [(0.5, 3), (0.5, 5), (0.5, 6), (0.5, 60)])
@pytest.mark.parametrize("is_far", [False, True])
def test_quantiles_are_as_sure_as_they_say(q: float, held: int, is_far: bool) -> None:
    """Near the ends, too: there only what may be at all bounds them."""
    chance = np.random.default_rng([held, is_far])
    q = 1 - 1 / held if is_far else q
    all_values = chance.exponential(1, 10_000)
    truth = float(np.quantile(all_values, q))
    within = 0.0, float(all_values.max())
    for given, end in ((None, np.inf), (within, within[1])):
        hits = 0
        for _ in range(RUNS):
            values = chance.choice(all_values, held, replace=False)
            found = spreads(10_000, held).estimate("quantile", values, values >= 0, q, given)
            hits += found.low <= truth <= found.high
            assert found.low <= found.value <= found.high
            if is_far or held < 6:
                assert found.high == end
        assert hits > 267
