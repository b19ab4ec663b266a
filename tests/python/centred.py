"""Expected values of a cofactor: NumPy in long doubles, on rows that are exactly centred before."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import ringview as rv
from ringview.stats.cofactor import Cofactor

JOIN = "SELECT COFACTOR(x, y, t, z) FROM r JOIN s USING (k)"
NAMES = ["x", "y", "t", "z"]
Long = np.longdouble


def centred(rows: pd.DataFrame) -> tuple[Any, Any]:
    """Means, and the scatter in long doubles of what is exactly apart from them."""
    columns = [[Fraction(value) for value in rows[name].tolist()] for name in rows.columns]
    means = [sum(values, Fraction()) / len(rows) for values in columns]
    apart = [[v - mean for v in values] for values, mean in zip(columns, means, strict=True)]
    numbers = np.array([[long(v) for v in values] for values in apart])
    return np.array([long(mean) for mean in means]), numbers @ numbers.T


def long(value: Fraction) -> Any:
    high = float(value)
    return Long(high) + Long(float(value - Fraction(high)))


def is_near(found: Cofactor, rows: pd.DataFrame, share: float = 1e-10, least: float = 0.0) -> None:
    """Means, covariances and correlations are right as shares of the deviations.

    Of some rows that happen to be near each other, as shares of `least`, which others deviate by.
    """
    assert found.count == len(rows)
    if len(rows) < 2:
        return
    mean, scatter = centred(rows)
    size = np.sqrt(np.diag(scatter))
    spread = np.maximum(np.where(size > 0, size, 1), least)
    apart = np.abs(found.covariance() * (len(rows) - 1) - scatter) / np.outer(spread, spread)
    assert apart.max() < share, apart
    ulp = np.spacing(np.abs(np.asarray(mean, float)))
    assert np.all(np.abs(found.mean() - mean) <= 2 * ulp + share * spread)
    varies = size > least / 10
    both = np.ix_(varies, varies)
    expected = scatter[both] / np.outer(size[varies], size[varies])
    correlation = found.correlation()[both]
    np.testing.assert_allclose(correlation, np.asarray(expected, float), atol=100 * share)


def database(trust: bool = False, sql: str = JOIN) -> tuple[rv.Database, rv.View]:
    db = rv.Database(trust_deletes=trust)
    db.create_table("r", {"k": "int64", "x": "float64", "y": "float64", "t": "int64"})
    db.create_table("s", {"k": "int64", "z": "float64"})
    return db, db.create_view("v", sql)
