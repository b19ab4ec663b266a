"""COFACTOR and every estimator over columns far from zero: NumPy in long doubles on centred rows.

Streams of inserts and deletes, over joins and sliding windows, around numbers whose squares leave a
double no digits for how they differ: seconds and microseconds since 1970, prices around a billion.
"""

from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import ringview as rv
from hypothesis import given, settings
from hypothesis import strategies as st
from ringview import errors, ml
from ringview.cofactor import Cofactor, cofactors
from sklearn.metrics import mutual_info_score

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
@settings(max_examples=60, deadline=None)
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


def test_whole_numbers_are_exact_wherever_they_are() -> None:
    """Sums and products of distances below 2^53 are exact through moves, and add up to nothing."""
    random = np.random.default_rng(2)
    db = rv.Database()
    db.create_table("r", {"g": "int64", "a": "int64", "b": "int32", "c": "decimal128(20, 0)"})
    total = db.create_view("t", "SELECT COFACTOR(a, b, c) FROM r")
    groups = db.create_view("g", "SELECT g, SUM(a) AS s, COFACTOR(a, b, c) FROM r GROUP BY g")
    kept: list[tuple[int, int, int, int | Decimal]] = []
    origins = set()
    for step in range(60):
        at = 10**15 + step * 997
        new = [
            (int(g), at + int(a), step * 50 + int(b), Decimal(10**17 + step + int(a)))
            for g, a, b in zip(*random.integers(0, [[3], [100], [9]], (3, 6)), strict=True)
        ]
        kept += new
        db.insert("r", table(new))
        if step >= 5:
            db.delete("r", table(kept[:6]))
            kept = kept[6:]
        found = total.cofactor()
        origins.add(tuple(found.origin))
        exact(found, kept)
        for (g,), part in groups.cofactors():
            exact(part, [row for row in kept if row[0] == g])
    # It wandered a hundred windows far: the origins moved now and then.
    assert 4 < len(origins) < 30
    db.delete("r", table(kept))
    assert total.cofactor().count == 0
    assert groups.to_arrow().num_rows == 0


def table(rows: Sequence[tuple[int, int, int, int | Decimal]]) -> pa.Table:
    kinds = [pa.int64(), pa.int64(), pa.int32(), pa.decimal128(20, 0)]
    columns = [
        pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)
    ]
    return pa.table(columns, names=["g", "a", "b", "c"])


def exact(found: Cofactor, rows: Sequence[tuple[int, int, int, int | Decimal]]) -> None:
    columns = [[int(row[i]) for row in rows] for i in (1, 2, 3)]
    assert found.count == len(rows)
    assert found.sums.tolist() == [float(sum(values)) for values in columns]
    products = [[float(dot(u, v)) for v in columns] for u in columns]
    assert found.matrix.tolist() == products
    near = [[v - int(o) for v in values] for values, o in zip(columns, found.origin, strict=True)]
    assert found.shifted_sums.tolist() == [sum(values) for values in near]
    products = [[dot(u, v) for v in near] for u in near]
    assert found.shifted_matrix.tolist() == products
    assert not found.reach.any()


def dot(left: list[int], right: list[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def test_first_values_that_fail_leave_no_origin() -> None:
    """What was undone does not show, not in the bits of what comes later."""
    results = []
    for fails in (False, True):
        db, view = database()
        db.insert("s", {"k": [1], "z": [0.5]})
        if fails:
            with pytest.raises(errors.RingviewError), db.transaction() as tx:
                tx.insert("r", {"k": [1], "x": [1e9 + 0.1], "y": [7.0], "t": [10**15]})
                tx.delete("r", {"k": [5], "x": [0.0], "y": [0.0], "t": [0]})
        assert view.cofactor().origin.tolist() == [0] * 4
        db.insert("r", {"k": [1, 1], "x": [0.1, 0.7], "y": [1e6, 1e6 + 0.3], "t": [5, 6]})
        results.append(view.to_arrow())
    assert results[0].equals(results[1])


def test_a_view_that_empties_begins_anew() -> None:
    db, view = database()
    db.insert("s", {"k": [1], "z": [0.5]})
    for base in (1e9, -1e12, 3.0):
        values = [base + 4, base + 7, base + 13, base + 16]
        rows = {"k": [1] * 4, "x": values, "y": values, "t": [int(v) for v in values]}
        db.insert("r", rows)
        assert view.cofactor().covariance(ddof=0)[0].tolist() == [22.5, 22.5, 22.5, 0]
        db.delete("r", rows)
        assert view.cofactor().count == 0


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=25, deadline=None)
def test_changes_add_up_to_what_is_shown(seed: int, company: bool) -> None:
    """A follower that takes out old rows and puts in new ones has the view's, to the bit."""
    random = np.random.default_rng(seed)
    others = "SUM(x) AS s, MAX(t) AS m, " if company else ""
    sql = f"SELECT k, {others}COFACTOR(x, t, z) FROM r JOIN s USING (k) GROUP BY k"
    db, view = database(sql=sql)
    db.insert("s", {"k": [0, 1, 2, 2], "z": (1e9 + random.normal(size=4)).tolist()})
    follower: Counter[str] = Counter()

    def follow() -> None:
        for row in view.changes().to_pylist():
            follower[repr({**row, "multiplicity": None})] += row["multiplicity"]
        shown = Counter(repr({**row, "multiplicity": None}) for row in view.to_arrow().to_pylist())
        assert +follower == shown
        assert not -follower

    follow()
    kept: list[pd.DataFrame] = []
    for step in range(25):
        at = 1e9 + 40 * step
        new = pd.DataFrame(
            {
                "k": random.integers(0, 4, 3),
                "x": at + random.normal(size=3),
                "y": [0.0] * 3,
                "t": (int(at) + random.integers(0, 9, 3)).astype("int64"),
            }
        )
        db.insert("r", new)
        kept.append(new)
        if len(kept) > 3:
            db.delete("r", kept.pop(0))
        if random.random() < 0.7:
            follow()
    follow()


def test_kinds_of_numbers() -> None:
    """Floats of 32 bits, decimals, unsigned and small integers, NULLs left out, at two atoms."""
    random = np.random.default_rng(9)
    db = rv.Database()
    schema = {
        "k": "int64",
        "f": "float32",
        "d": "decimal128(18, 4)",
        "u": "uint32",
        "w": "int64",
        "x": "float64",
    }
    db.create_table("r", schema)
    view = db.create_view("v", "SELECT COFACTOR(f, d, u, w, x) FROM r", nulls="skip")
    pair = db.create_view(
        "p", "SELECT COFACTOR(a.d, b.d, b.w) FROM r a JOIN r b ON a.k = b.k", nulls="skip"
    )
    size = 200
    rows = pd.DataFrame(
        {
            "k": random.integers(0, 40, size),
            "f": (1e6 + random.integers(0, 9, size) / 16).astype("float32"),
            "d": [Decimal(10**12 + int(v)) / 10**4 for v in random.integers(0, 99, size)],
            "u": (4 * 10**9 + random.integers(0, 50, size)).astype("uint32"),
            # Nanoseconds: doubles are 256 of them apart.
            "w": 1_700_000_000_000_000_000 + random.integers(0, 1000, size),
            "x": 1e9 + random.normal(size=size),
        }
    )
    whole = pa.Table.from_pandas(rows, preserve_index=False)
    arrow = whole.set_column(2, "d", whole["d"].cast(pa.decimal128(18, 4)))
    missing = pa.array([None if i % 10 == 3 else v for i, v in enumerate(rows["x"])])
    db.insert("r", arrow.set_column(5, "x", missing))
    known = rows[missing.is_valid().to_numpy(zero_copy_only=False)]
    is_near(view.cofactor(), known[["f", "d", "u", "w", "x"]])
    both = rows.merge(rows, on="k")[["d_x", "d_y", "w_y"]]
    is_near(pair.cofactor(), both)


def test_products_of_factors() -> None:
    db, view = database()
    db.insert("s", {"k": [1, 2], "z": [1e9, 1e9 + 0.5]})
    x = [1e9 + 0.25, 1e9 + 0.75, 1e9 + 3]
    db.update_factorised(
        "r", {"u": {"k": [1, 2], "t": [10**12, 10**12 + 1]}, "v": {"x": x, "y": [1.0, 2.0, 3.0]}}
    )
    r = pd.DataFrame({"k": [1, 2], "t": [10**12, 10**12 + 1]}).merge(
        pd.DataFrame({"x": x, "y": [1.0, 2.0, 3.0]}), how="cross"
    )
    joined = r.merge(pd.DataFrame({"k": [1, 2], "z": [1e9, 1e9 + 0.5]}))[NAMES]
    is_near(view.cofactor(), joined)


def test_a_column_that_became_constant() -> None:
    """It is told from rounding after its origin has moved from far away."""
    db, view = database(sql="SELECT COFACTOR(x, y) FROM r")
    random = np.random.default_rng(1)
    old = pd.DataFrame({"k": 0, "x": random.normal(size=50), "y": random.normal(size=50), "t": 0})
    new = pd.DataFrame({"k": 0, "x": 1e9 / 3, "y": random.normal(size=500), "t": 0})
    db.insert("r", old)
    db.insert("r", new)
    db.delete("r", old)
    db.insert("r", new)
    found = view.cofactor()
    assert found.origin[0] == pytest.approx(1e9 / 3)
    assert found.covariance()[0].tolist() == [0, 0]
    with pytest.raises(errors.SingularSystemError, match="'x' is constant"):
        ml.LinearRegression("y").fit(view)


def test_the_order_of_what_fails_not() -> None:
    """Same input, same bits: two databases that saw the same have the same."""
    tables = []
    for _ in range(2):
        random = np.random.default_rng(4)
        db, view = database()
        db.insert("s", {"k": [0, 1], "z": [1e9, 1e9 + 1 / 3]})
        for step in range(20):
            x = 1e9 + 100 * step + random.normal(size=9)
            db.insert("r", {"k": [0, 1, 2] * 3, "x": x, "y": -x, "t": [step] * 9})
        tables.append(view.to_arrow())
    assert tables[0].equals(tables[1])


@given(st.lists(st.tuples(st.sampled_from([0.0, 1e9, -1e12]), st.integers(0, 9)), max_size=6))
@settings(deadline=None)
def test_parts_of_other_origins_add_up(parts: list[tuple[float, int]]) -> None:
    """Partial results, each from its own origin, as a fleet of workers hands them in."""
    random = np.random.default_rng(len(parts))
    total, all_rows = Cofactor(["x", "y"], 0, [0, 0], np.zeros((2, 2))), []
    found = []
    for base, size in parts:
        rows = np.column_stack([base + random.integers(0, 99, size), random.integers(0, 9, size)])
        rows = rows.astype(float)
        db = rv.Database()
        db.create_table("r", {"x": "float64", "y": "float64"})
        view = db.create_view("v", "SELECT COFACTOR(x, y) FROM r")
        db.insert("r", {"x": rows[:, 0], "y": rows[:, 1]})
        (_, part), *_ = cofactors(pa.ipc.open_stream(ipc(view.to_arrow())).read_all())
        part = pickle.loads(pickle.dumps(part))
        assert not (base and size) or abs(part.origin[0] - base) < 99
        total = total + part
        found.append(part)
        all_rows.append(rows)
    rows = np.concatenate(all_rows) if all_rows else np.zeros((0, 2))
    assert total.count == len(rows)
    exact = [math.fsum(column) for column in rows.T]
    np.testing.assert_allclose(total.sums, exact, rtol=1e-15)
    if len(rows) > 1:
        long = rows.astype(Long)
        scatter = (long - long.mean(axis=0)).T @ (long - long.mean(axis=0))
        spread = np.sqrt(np.maximum(np.diag(scatter), 1))
        apart = np.abs(total.scatter() - scatter) / np.outer(spread, spread)
        assert apart.max() < 1e-10
    largest = max([float(np.abs(total.shifted_matrix).max()), 1.0])
    for part in found:
        total = total - part
    assert total.count == 0
    assert np.abs(total.shifted_matrix).max() <= 1e-14 * largest


def ipc(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_columns_of_before_have_no_origin() -> None:
    """A table without `shifted`, from an older version, is read from zero."""
    db = rv.Database()
    db.create_table("r", {"x": "int64", "c": "string"})
    db.create_view("v", "SELECT COFACTOR(x, c) FROM r")
    db.insert("r", {"x": [1000, 1001, 1005], "c": ["a", "b", "a"]})
    now = db["v"].to_arrow()
    field, column = now.schema.field(0), now.column(0).combine_chunks()
    entries = column.field("categories").field("c")
    values = entries.values
    kept = pa.StructArray.from_arrays(
        [values.field(n) for n in ("value", "count", "sums")], ["value", "count", "sums"]
    )
    lists = pa.ListArray.from_arrays(entries.offsets, kept)
    old = pa.StructArray.from_arrays(
        [
            *(column.field(n) for n in ("count", "sums", "products")),
            pa.StructArray.from_arrays([lists], ["c"]),
        ],
        ["count", "sums", "products", "categories"],
    )
    field = pa.field(field.name, old.type, metadata=field.metadata)
    read = Cofactor.from_arrow(old, field)
    fresh = db["v"].cofactor()
    assert read.origin.tolist() == [0]
    assert fresh.origin.tolist() == [1001]
    for name in ("sums", "matrix"):
        assert getattr(read, name).tolist() == getattr(fresh, name).tolist()
    assert read.category_sums["c"].tolist() == fresh.category_sums["c"].tolist()


@pytest.mark.parametrize("undone", [False, True])
@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_a_few_rows_before_the_many(kind: str, undone: bool) -> None:
    """A row to try it with, then the data, then the first row goes: it has cost no digits."""
    random = np.random.default_rng(8)
    db = rv.Database()
    db.create_table("r", {"k": "int64", "t": kind, "y": "float64"})
    db.create_table("s", {"k": "int64", "w": "int64"})
    view = db.create_view("v", "SELECT COFACTOR(t, y, w) FROM r JOIN s USING (k)")
    groups = db.create_view("g", "SELECT k, SUM(y) AS s, COFACTOR(t, y) FROM r GROUP BY k")
    db.insert("s", {"k": [0, 1, 2], "w": [1, 2, 4]})
    db.insert("r", {"k": [0, 2], "t": [1, 2], "y": [1.0, 2.0]})
    k = random.integers(0, 3, 5000)
    t = (1_700_000_000 + random.integers(0, 86400, 5000)).astype(kind)
    rows = pd.DataFrame({"k": k, "t": t, "y": 1e5 + 10 * random.normal(size=5000)})
    before = [v.to_arrow() for v in (view, groups)]
    groups.changes()
    if undone:
        with pytest.raises(errors.RingviewError), db.transaction() as tx:
            tx.insert("r", rows)
            tx.delete("r", {"k": [7], "t": [7], "y": [7.0]})
        assert [v.to_arrow() for v in (view, groups)] == before
        assert groups.changes().num_rows == 0
    db.insert("r", rows)
    assert groups.changes().num_rows == 5
    db.delete("r", {"k": [0, 2], "t": [1, 2], "y": [1.0, 2.0]})
    joined = rows.merge(pd.DataFrame({"k": [0, 1, 2], "w": [1, 2, 4]}), on="k")
    is_near(view.cofactor(), joined[["t", "y", "w"]], 1e-9)
    for (key,), part in groups.cofactors():
        is_near(part, rows.loc[rows["k"] == key, ["t", "y"]], 1e-9)
