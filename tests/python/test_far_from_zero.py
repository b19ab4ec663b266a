"""COFACTOR and every estimator over columns far from zero: NumPy in long doubles on centred rows.

Streams of inserts and deletes, over joins and sliding windows, around numbers whose squares leave a
double no digits for how they differ: seconds and microseconds since 1970, prices around a billion.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import ringview as rv
from amounts import examples
from centred import NAMES, Long, centred, database, is_near
from hypothesis import given
from hypothesis import strategies as st
from ringview import ml
from sklearn.metrics import mutual_info_score


@st.composite
def streams(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "seed": draw(st.integers(0, 2**32)),
        "base": draw(st.sampled_from([0.0, 1e6, -1.7e9, 1e12])),
        "spread": draw(st.sampled_from([1e-2, 1.0, 1e3])),
        "drift": draw(st.sampled_from([0.0, 0.5, 3.0])),
        "window": draw(st.sampled_from([1, 3, 100])),
        "batch": draw(st.sampled_from([1, 2, 17])),
        "trust": draw(st.booleans()),
    }


@given(streams())
@examples(60)
def test_streams_of_joins_and_windows(case: dict[str, Any]) -> None:
    random = np.random.default_rng(case["seed"])
    db, view = database(case["trust"])
    base, spread, batch = case["base"], case["spread"], case["batch"]
    window: list[pd.DataFrame] = []
    s = pd.DataFrame({"k": [0, 1, 1, 2], "z": base + spread * random.normal(size=4)})
    db.insert("s", s)
    for step in range(12):
        at = base + case["drift"] * spread * step
        new = pd.DataFrame(
            {
                "k": random.integers(0, 4, batch),
                "x": at + spread * random.normal(size=batch),
                "y": spread * random.normal(size=batch) - at,
                "t": (int(at) + random.integers(0, 1000, batch)).astype("int64"),
            }
        )
        with db.transaction() as tx:
            tx.insert("r", new)
            if len(window) == case["window"]:
                tx.delete("r", window.pop(0))
        window.append(new)
        if step % 3 == 2:
            gone, rest = window[-1].iloc[: batch // 2], window[-1].iloc[batch // 2 :]
            db.delete("r", gone)
            window[-1] = rest
        joined = pd.concat(window).merge(s, on="k")[NAMES]
        is_near(view.cofactor(), joined, least=spread)
    for rest in window:
        db.delete("r", rest)
    assert view.cofactor().count == 0
    assert not view.cofactor().matrix.any()


@pytest.mark.parametrize("unit", [1, 10**6], ids=["seconds", "microseconds"])
@pytest.mark.parametrize("kind", ["int64", "float64"])
@pytest.mark.parametrize("trust", [False, True])
def test_slopes_over_epochs(unit: int, kind: str, trust: bool) -> None:
    """Slopes, intercepts and what is predicted are those of least squares on centred rows."""
    random = np.random.default_rng(7)
    db = rv.Database(trust_deletes=trust)
    db.create_table("r", {"k": "int64", "t": kind, "y": "float64"})
    db.create_table("s", {"k": "int64", "w": "float64"})
    view = db.create_view("v", "SELECT COFACTOR(t, w, y) FROM r JOIN s USING (k)")
    s = pd.DataFrame({"k": range(8), "w": 1e9 + random.normal(size=8)})
    db.insert("s", s)
    start, window = 1_700_000_000 * unit, []
    for hour in range(24):
        ticks = start + hour * 3600 * unit + random.integers(0, 3600 * unit, 50)
        rows = pd.DataFrame({"k": random.integers(0, 8, 50), "t": ticks.astype(kind)})
        rows["y"] = 0.25 * (rows["t"] - start) / unit + random.normal(size=50)
        db.insert("r", rows)
        window.append(rows)
        if len(window) > 6:
            db.delete("r", window.pop(0))
        joined = pd.concat(window).merge(s, on="k")[["t", "w", "y"]]
        mean, scatter = centred(joined)
        scale = np.sqrt(np.diag(scatter))
        scaled = np.asarray(scatter / np.outer(scale, scale), float)
        exact = np.linalg.solve(scaled[:2, :2], scaled[:2, 2]) * np.asarray(scale[2] / scale[:2])
        found = ml.LinearRegression("y").fit(view)
        # As shares of what a coefficient may be.
        off = (found.coef_ - exact.astype(float)) * np.asarray(scale[:2] / scale[2], float)
        assert np.abs(off).max() < 1e-12
        assert found.coef_[0] == pytest.approx(float(exact[0]), rel=1e-11)
        intercept = mean[2] - Long(found.coef_[0]) * mean[0] - Long(found.coef_[1]) * mean[1]
        assert found.intercept_ == pytest.approx(float(intercept), rel=1e-12)
        expected = mean[2] + (joined[["t", "w"]].to_numpy(Long) - mean[:2]) @ exact
        np.testing.assert_allclose(
            found.predict(joined), expected.astype(float), rtol=1e-9, atol=1e-6
        )
        alpha = 1e-6 * float(scatter[0, 0])
        ridge = ml.Ridge("y", ["t"], alpha=alpha).fit(view)
        slope = float(scatter[0, 2] / (scatter[0, 0] + Long(alpha)))
        assert ridge.coef_[0] == pytest.approx(slope, rel=1e-10)
        left = expected - joined["y"].to_numpy(Long)
        told = float(1 - (left @ left) / scatter[2, 2])
        assert found.score(view) == pytest.approx(told, abs=1e-9)


def test_descent_goes_on_where_it_ended() -> None:
    random = np.random.default_rng(3)
    db, view = database()
    db.insert("s", {"k": [0, 1], "z": [1e9, 1e9 + 1]})
    descent = ml.Ridge("y", ["x", "t", "z"], alpha=1e-3, solver="gradient", tol=1e-12)
    steps = []
    for hour in range(5):
        x = 1.7e9 + random.normal(size=200)
        t = 1_700_000_000 + random.integers(0, 100, 200)
        rows = {"k": random.integers(0, 2, 200), "x": x, "t": t}
        db.insert("r", {**rows, "y": (x - 1.7e9) - (t - 1.7e9) + 1e6 * hour**0})
        descent.fit(view)
        assert descent.converged_
        steps.append(descent.n_iter_)
        exact = ml.Ridge("y", ["x", "t", "z"], alpha=1e-3).fit(view)
        np.testing.assert_allclose(descent.coef_, exact.coef_, rtol=1e-8, atol=1e-9)
    descent.fit(view)
    assert descent.n_iter_ <= 1 < steps[0]


def test_components_and_information() -> None:
    """PCA of far columns is that of near ones; counts do not mind where numbers are."""
    random = np.random.default_rng(5)
    db = rv.Database()
    db.create_table(
        "r", {"x": "float64", "y": "float64", "z": "int64", "c": "string", "d": "int64"}
    )
    view = db.create_view("v", "SELECT COFACTOR(x, y, z, c, CATEGORICAL(d)) FROM r")
    near = random.normal(size=(300, 3)) @ np.array([[1, 2, 0], [0, 1, 30], [0, 0, 40]])
    rows = pd.DataFrame(
        {
            "x": 1e9 + near[:, 0],
            "y": near[:, 1] - 1e8,
            "z": (1.7e15 + near[:, 2]).round().astype("int64"),
            "c": random.choice(list("abc"), 300),
            "d": 10**12 + random.integers(0, 3, 300),
        }
    )
    db.insert("r", rows)
    gone = rows.iloc[100:200]
    db.delete("r", gone)
    rows = rows.drop(gone.index)
    for scale in (False, True):
        found = ml.PCA(features=["x", "y", "z"], scale=scale).fit(view)
        mean, scatter = centred(rows[["x", "y", "z"]])
        covariance = np.asarray(scatter, float) / (len(rows) - 1)
        if scale:
            size = np.sqrt(covariance.diagonal())
            covariance /= np.outer(size, size)
        values, vectors = np.linalg.eigh(covariance)
        np.testing.assert_allclose(found.explained_variance_, values[::-1], rtol=1e-9)
        turned = np.abs((found.components_ * vectors.T[::-1]).sum(axis=1))
        np.testing.assert_allclose(turned, 1, atol=1e-9)
        np.testing.assert_allclose(found.mean_, np.asarray(mean, float), rtol=1e-15)
        turned_rows = found.transform(rows)
        # A mean in doubles is no closer than this.
        np.testing.assert_allclose(turned_rows.mean(axis=0), 0, atol=0.2)
    told = ml.MutualInformation().fit(view).mutual_information_
    assert told[0, 1] == pytest.approx(mutual_info_score(rows["c"], rows["d"]), abs=1e-12)
    assert ml.ChowLiu().fit(view).edges_[0][2] == pytest.approx(told[0, 1])


def test_categories_of_far_numbers() -> None:
    """Sums within a category, and a ridge that has a column a category."""
    random = np.random.default_rng(11)
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "float64", "y": "float64", "c": "string"})
    db.create_table("s", {"k": "int64", "t": "int64"})
    view = db.create_view("v", "SELECT COFACTOR(x, t, y, c) FROM r JOIN s USING (k)")
    s = pd.DataFrame({"k": range(50), "t": 1_700_000_000_000 + random.integers(0, 10**6, 50)})
    db.insert("s", s)
    size = 400
    rows = pd.DataFrame(
        {
            "k": random.integers(0, 50, size),
            "x": 1e9 + random.normal(size=size),
            "c": random.choice(list("abc"), size),
        }
    )
    shift = rows["c"].map({"a": 0.0, "b": 1.0, "c": -2.0})
    rows["y"] = 1e9 + 3 * (rows["x"] - 1e9) + shift + 0.1 * random.normal(size=size)
    db.insert("r", rows)
    db.delete("r", rows.iloc[: size // 2])
    joined = rows.iloc[size // 2 :].merge(s, on="k")
    found = view.cofactor()
    for at, value in enumerate(found.categories["c"]):
        own = joined[joined["c"] == value]
        for i, name in enumerate(["x", "t", "y"]):
            total = sum((Fraction(v) for v in own[name].tolist()), Fraction())
            assert found.category_sums["c"][at, i] == pytest.approx(float(total), rel=1e-15)
            apart = float(total - len(own) * Fraction(found.origin[i]))
            assert found.shifted_category_sums["c"][at, i] == pytest.approx(apart, rel=1e-12)
    model = ml.Ridge("y", ["x", "t", "c"], alpha=1e-2).fit(view)
    design = joined[["x", "t"]].to_numpy(Long)
    design = np.column_stack([design, *[(joined["c"] == v).to_numpy(Long) for v in "abc"]])
    near = np.asarray(design - design.mean(axis=0), float)
    label = np.asarray(joined["y"].to_numpy(Long) - joined["y"].to_numpy(Long).mean(), float)
    scale = np.sqrt((near**2).sum(axis=0))
    gram = near.T @ near + 1e-2 * np.eye(5)
    best = np.linalg.solve(gram / np.outer(scale, scale), near.T @ label / scale) / scale
    np.testing.assert_allclose(model.coef_, best, rtol=1e-6, atol=1e-9)
