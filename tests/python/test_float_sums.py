"""Sums of floats carry three doubles: results are right to 1e-12, far from zero too, after any
inserts and deletes, over joins and windows; against exact rational arithmetic."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

TOLERANCE = Fraction(1, 10**12)
"""Relative, wherever a mean is less than 1e10 deviations."""

FUNCTIONS = {
    "s": "SUM({x})",
    "a": "AVG({x})",
    "vp": "VAR_POP({x})",
    "vs": "VAR_SAMP({x})",
    "dp": "STDDEV_POP({x})",
    "ds": "STDDEV_SAMP({x})",
    "cp": "COVAR_POP({y}, {x})",
    "cs": "COVAR_SAMP({y}, {x})",
    "c": "CORR({y}, {x})",
    "m": "REGR_SLOPE({y}, {x})",
    "i": "REGR_INTERCEPT({y}, {x})",
    "r2": "REGR_R2({y}, {x})",
}


def columns(x: str, y: str) -> str:
    return ", ".join(f"{sql.format(x=x, y=y)} AS {name}" for name, sql in FUNCTIONS.items())


def exact(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Fraction | float | None]:
    """Values of the columns for pairs of x and y; roots are exact to a double's digits."""
    xs = [(Fraction(x), Fraction(y)) for x, y in pairs]
    n = len(xs)
    if not n:
        return dict.fromkeys(FUNCTIONS)
    zero = Fraction(0)
    sx, sy = sum((x for x, _ in xs), zero), sum((y for _, y in xs), zero)
    sxy = sum((x * y for x, y in xs), zero)
    cxx = n * sum((x * x for x, _ in xs), zero) - sx * sx
    cyy = n * sum((y * y for _, y in xs), zero) - sy * sy
    cxy = n * sxy - sx * sy
    sample = n * (n - 1)
    return {
        "s": sx,
        "a": sx / n,
        "vp": cxx / n**2,
        "vs": cxx / sample if sample else None,
        "dp": root(cxx / n**2),
        "ds": root(cxx / sample) if sample else None,
        "cp": cxy / n**2,
        "cs": cxy / sample if sample else None,
        "c": cxy / root(cxx * cyy) if cxx and cyy else math.nan,
        "m": cxy / cxx if cxx else math.nan,
        "i": (sy * cxx - cxy * sx) / (n * cxx) if cxx else None,
        "r2": (cxy * cxy / (cxx * cyy) if cyy else Fraction(1)) if cxx else None,
    }


def root(square: Fraction) -> Fraction:
    """A root to 30 digits."""
    shift = 10**30
    return Fraction(math.isqrt(int(square * shift**4)), shift**2)


def assert_close(found: dict[str, Any], expected: dict[str, Any], scale: Fraction) -> None:
    for name, value in expected.items():
        if value is None or isinstance(value, float):
            assert str(found[name]) == str(value), name
        else:
            # Next to nothing where terms of this scale cancel to nothing.
            room = TOLERANCE * abs(value) + scale / 10**35
            assert abs(Fraction(found[name]) - value) <= room, (name, found[name], float(value))


def scale_of(pairs: Iterable[tuple[Any, Any]]) -> Fraction:
    values = [abs(Fraction(value)) for pair in pairs for value in pair]
    return (sum(values, Fraction(1))) ** 2


def test_the_variance_of_values_far_from_zero() -> None:
    db = rv.Database()
    db.create_table("r", {"x": "float64"})
    view = db.create_view("v", "SELECT VAR_POP(x) AS p, STDDEV_SAMP(x) AS s FROM r")
    db.insert("r", {"x": [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]})
    assert view.to_arrow().to_pylist() == [{"p": 22.5, "s": math.sqrt(30)}]


def test_a_large_value_leaves_nothing_behind() -> None:
    db = rv.Database()
    db.create_table("r", {"x": "float64"})
    view = db.create_view("v", "SELECT SUM(x) AS s, AVG(x) AS a FROM r")
    db.insert("r", {"x": [1e16, 1.0, None]})
    db.delete("r", {"x": [1e16]})
    assert view.to_arrow().to_pylist() == [{"s": 1.0, "a": 1.0}]
    db.insert("r", {"x": [1e300, -0.5]})
    db.delete("r", {"x": [1.0, 1e300]})
    db.insert("r", {"x": [0.5]})
    assert [str(value) for value in view.to_arrow().to_pylist()[0].values()] == ["0.0", "0.0"]
    db.delete("r", {"x": [0.5, -0.5]})
    assert view.to_arrow().to_pylist() == [{"s": None, "a": None}]


def test_a_regression_over_seconds_since_1970() -> None:
    db = rv.Database()
    db.create_table("r", {"t": "float64", "y": "float64"})
    view = db.create_view("v", f"SELECT {columns('t', 'y')} FROM r")
    chance = random.Random(3)
    pairs = [(1.7e9 + i / 8, 20 + 1e-4 * i + chance.gauss(0, 0.1)) for i in range(1_000)]
    db.insert("r", pa.table({"t": [t for t, _ in pairs], "y": [y for _, y in pairs]}))
    assert_close(view.to_arrow().to_pylist()[0], exact(pairs), scale_of(pairs))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_of_many_values(seed: int) -> None:
    """Inserts twenty thousand values over twelve orders of magnitude, and deletes all but ten."""
    db = rv.Database()
    db.create_table("r", {"x": "float64", "y": "float64"})
    view = db.create_view("v", f"SELECT {columns('x', 'y')} FROM r")
    chance = random.Random(seed)

    def value() -> float:
        return chance.choice([-1, 1]) * float(10.0 ** chance.uniform(-6, 6))

    def table(rows: list[tuple[float, float]]) -> pa.Table:
        return pa.table({"x": [x for x, _ in rows], "y": [y for _, y in rows]})

    pairs = [(value(), value()) for _ in range(20_000)]
    for start in range(0, 20_000, 5_000):
        db.insert("r", table(pairs[start : start + 5_000]))
    chance.shuffle(pairs)
    for start in range(0, 19_990, 4_000):
        db.delete("r", table(pairs[start : min(start + 4_000, 19_990)]))
    assert_close(view.to_arrow().to_pylist()[0], exact(pairs[19_990:]), Fraction(0))


@st.composite
def far(draw: st.DrawFn) -> list[float]:
    """A few values around one that is up to 1e9 times as far from zero as from them.

    They differ by an eighth of a unit or more, so that a variance or a slope is of differences that
    the page promises digits of; thirds of units have all the digits of a double.
    """
    centre = draw(st.sampled_from([0.0, 1.0, 1e3, -1e6, 1e9, -1e9, 1e15]))
    unit = max(abs(centre) / 2**28, 2.0**-10) / draw(st.sampled_from([1, 3]))
    steps = st.one_of(st.integers(-20, 20), st.integers(-72, 72).map(lambda eighth: eighth / 8))
    return [centre + unit * step for step in draw(st.lists(steps, min_size=1, max_size=6))]


def streams(values: Callable[[Any], st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Rows, and batches of (row, whether it is inserted)."""
    picks = st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=8)
    return st.tuples(far(), far()).flatmap(
        lambda pair: st.tuples(values(pair), st.lists(picks, min_size=1, max_size=6))
    )


def batches(
    rows: Sequence[Any], stream: list[list[tuple[int, bool]]]
) -> Iterable[tuple[list[Any], list[int]]]:
    """Rows with signs; none is deleted before its insert."""
    there: list[Any] = []
    for picks in stream:
        out: list[Any] = []
        signs: list[int] = []
        for pick, comes in picks:
            if comes or not there:
                row, sign = rows[pick % len(rows)], 1
                there.append(row)
            else:
                row, sign = there.pop(pick % len(there)), -1
            out.append(row)
            signs.append(sign)
        yield out, signs


@examples(60)
@given(
    streams(
        lambda pair: st.lists(
            st.tuples(
                st.integers(0, 1),
                st.sampled_from([*pair[0], None]),
                st.sampled_from([*pair[1], None]),
            ),
            min_size=1,
            max_size=12,
        )
    )
)
def test_streams_of_floats_far_from_zero(given_: Any) -> None:
    rows, stream = given_
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "float64", "y": "float64"})
    view = db.create_view("v", f"SELECT k, {columns('x', 'y')} FROM r GROUP BY k")
    total = db.create_view(
        "t", "SELECT SUM(x * y - y * y + 3 * x) AS e, AVG(x * x * y) AS q FROM r"
    )
    held: list[Any] = []
    for batch, signs in batches(rows, stream):
        k, x, y = zip(*batch, strict=True)
        db.insert("r", {"k": k, "x": x, "y": y, "n": signs}, multiplicity="n")
        for row, sign in zip(batch, signs, strict=True):
            held.append(row) if sign > 0 else held.remove(row)
        for found in view.to_arrow().to_pylist():
            group = [row[1:] for row in held if row[0] == found["k"]]
            pairs = [(a, b) for a, b in group if a is not None and b is not None]
            expected = exact(pairs)
            xs = [(a, a) for a, _ in group if a is not None]
            alone = exact(xs)
            expected |= {name: alone[name] for name in ("s", "a", "vp", "vs", "dp", "ds")}
            assert_close(found, expected, scale_of(pairs + xs))
        pairs = [(Fraction(a), Fraction(b)) for _, a, b in held if a is not None and b is not None]
        terms = {
            "e": sum(a * b - b * b + 3 * a for a, b in pairs) if pairs else None,
            "q": sum(a * a * b for a, b in pairs) / len(pairs) if pairs else None,
        }
        assert_close(total.to_arrow().to_pylist()[0], terms, scale_of(pairs) ** 2)


@examples(40)
@given(
    streams(
        lambda pair: st.tuples(
            st.lists(
                st.tuples(st.integers(0, 1), st.sampled_from(pair[0])), min_size=1, max_size=8
            ),
            st.lists(
                st.tuples(
                    st.integers(0, 1),
                    st.sampled_from(pair[1]),
                    st.integers(-(2**62), 2**62),
                    st.integers(-(10**20), 10**20).map(lambda d: Decimal(d).scaleb(-7)),
                    st.floats(-1e4, 1e4, width=32),
                ),
                min_size=1,
                max_size=8,
            ),
        )
    )
)
def test_joins_of_floats_far_from_zero(given_: Any) -> None:
    (lefts, rights), stream = given_
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "float64"})
    db.create_table(
        "s",
        {"k": "int64", "y": "float64", "i": "int64", "d": "decimal128(30, 7)", "f": "float32"},
    )
    view = db.create_view("v", f"SELECT {columns('x', 'y')} FROM r JOIN s USING (k)")
    mixed = db.create_view(
        "m",
        "SELECT SUM(x * i) AS i, SUM(x * d) AS d, SUM(x * f) AS f, "
        "SUM(x * y + d * f - i * f) AS e FROM r JOIN s USING (k)",
    )
    held: dict[str, list[Any]] = {"r": [], "s": []}
    left, right = batches(lefts, stream), batches(rights, stream[::-1])
    for (a, a_signs), (b, b_signs) in zip(left, right, strict=True):
        for table, rows, signs in (("r", a, a_signs), ("s", b, b_signs)):
            names = ["k", "x"] if table == "r" else ["k", "y", "i", "d", "f"]
            data = dict(zip(names, zip(*rows, strict=True), strict=True))
            db.insert(table, {**data, "n": signs}, multiplicity="n")
            for row, sign in zip(rows, signs, strict=True):
                held[table].append(row) if sign > 0 else held[table].remove(row)
        joined = [(one, other) for one in held["r"] for other in held["s"] if one[0] == other[0]]
        pairs = [(one[1], other[1]) for one, other in joined]
        assert_close(view.to_arrow().to_pylist()[0], exact(pairs), scale_of(pairs))
        exactly = [tuple(map(Fraction, (one[1], *other[1:]))) for one, other in joined]
        expected: dict[str, Any] = dict.fromkeys("idfe")
        if exactly:
            expected = {
                "i": sum(x * i for x, _, i, _, _ in exactly),
                "d": sum(x * d for x, _, _, d, _ in exactly),
                "f": sum(x * f for x, _, _, _, f in exactly),
                "e": sum(x * y + d * f - i * f for x, y, i, d, f in exactly),
            }
        room = sum((abs(v) for row in exactly for v in row), Fraction(1)) ** 2
        assert_close(mixed.to_arrow().to_pylist()[0], expected, room)


@pytest.mark.parametrize("odd", [0.0, 0.01, 0.5])
def test_batches_that_are_mostly_whole_numbers(odd: float) -> None:
    """Sums that are doubles are computed as such, until a row in mid-batch is none."""
    chance = random.Random(f"odd {odd}")
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "float64"})
    db.create_table("s", {"k": "int64", "y": "float64"})
    view = db.create_view("v", f"SELECT {columns('x', 'y')} FROM r JOIN s USING (k)")
    total = db.create_view("t", "SELECT k, SUM(0.1 * x) AS e, SUM(1.5 * x) AS h FROM r GROUP BY k")

    def value() -> float:
        if chance.random() < odd:
            return chance.choice([1e16, -1e16, 0.1, 1e-6, chance.gauss(0, 1e5)])
        return float(chance.randrange(-50, 50))

    held: dict[str, list[tuple[int, float]]] = {"r": [], "s": []}
    for _ in range(4):
        for table, column, rows in (("r", "x", 300), ("s", "y", 60)):
            there = held[table]
            chance.shuffle(there)
            gone = [there.pop() for _ in range(len(there) // 2)]
            new = [(chance.randrange(20), value()) for _ in range(rows)]
            there.extend(new)
            new.sort()
            batch, signs = new + gone, [1] * len(new) + [-1] * len(gone)
            keys, values = zip(*batch, strict=True)
            db.insert(table, {"k": keys, column: values, "n": signs}, multiplicity="n")
        by_key: dict[int, list[float]] = {}
        for k, y in held["s"]:
            by_key.setdefault(k, []).append(y)
        pairs = [(x, y) for k, x in held["r"] for y in by_key.get(k, [])]
        assert_close(view.to_arrow().to_pylist()[0], exact(pairs), scale_of(pairs))
        for found in total.to_arrow().to_pylist():
            xs = [Fraction(x) for k, x in held["r"] if k == found["k"]]
            tenth = Fraction(0.1)
            expected = {"e": sum(tenth * x for x in xs), "h": sum(3 * x / 2 for x in xs)}
            assert_close(found, expected, sum((abs(x) for x in xs), Fraction(1)))


def test_a_window_that_slides() -> None:
    """A hundred windows pass, each far from the one before."""
    db = rv.Database()
    db.create_table("r", {"x": "float64", "y": "float64"})
    view = db.create_view("v", f"SELECT {columns('x', 'y')} FROM r")
    chance = random.Random(7)
    window: deque[tuple[float, float]] = deque()
    for step in range(100):
        centre = 10.0 ** chance.uniform(-3, 9)
        new = [(centre + chance.random(), 1e8 - step + chance.random() / 64) for _ in range(20)]
        old = [window.popleft() for _ in range(20)] if step > 2 else []
        window.extend(new)
        with db.transaction() as tx:
            for rows, change in ((new, tx.insert), (old, tx.delete)):
                change("r", {"x": [x for x, _ in rows], "y": [y for _, y in rows]})
        assert_close(view.to_arrow().to_pylist()[0], exact(window), scale_of(window))


@pytest.mark.parametrize("widest", [0, 40, 150])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_behind_has_a_bound(seed: int, widest: int) -> None:
    """Each change leaves at most 2^-148 of the largest sum of magnitudes that there ever was, and
    nothing where all digits are within 148 places; over values from 1e-150 to 1e150."""
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "float64"})
    view = db.create_view("v", "SELECT SUM(x) AS s FROM r")
    joined = db.create_view("j", "SELECT SUM(r.x * p.x) AS s FROM r JOIN r p ON r.k = p.k")
    chance = random.Random(f"{seed} {widest}")
    held: list[tuple[int, float]] = []
    largest, squares, changes = Fraction(0), Fraction(0), 0
    for step in range(30):
        come = [
            (chance.randrange(10**9), chance.gauss(0, 1) * 10.0 ** chance.uniform(-widest, widest))
            for _ in range(chance.randrange(1, 9))
        ]
        chance.shuffle(held)
        gone = [held.pop() for _ in range(min(len(held), chance.randrange(9)))]
        held += come
        rows = [*come, *gone]
        signs = [1] * len(come) + [-1] * len(gone)
        keys, values = zip(*rows, strict=True)
        db.insert("r", {"k": keys, "x": values, "n": signs}, multiplicity="n")
        changes += len(rows)
        there = [abs(Fraction(x)) for _, x in (*held, *gone)]
        largest = max(largest, sum(there, Fraction(0)))
        squares = max(squares, sum((x * x for x in there), Fraction(0)))
        for found, exactly, most in (
            (view.scalar(), sum(Fraction(x) for _, x in held), largest),
            (joined.scalar(), sum(Fraction(x) ** 2 for _, x in held), squares),
        ):
            if not held:
                assert found is None, step
                continue
            off = abs(Fraction(found) - exactly)
            # The output is one double.
            rounded = abs(Fraction(float(exactly)) - exactly)
            assert (
                off <= rounded * Fraction(101, 100) + changes * most / 2**148 + Fraction(2) ** -1000
            )
            if widest == 0 and most is largest:
                assert found == float(exactly)


def test_sums_do_not_depend_on_the_order() -> None:
    """If three doubles hold all digits, to the last bit: batches of any size in any order."""
    chance = random.Random(11)
    rows = [
        (chance.randrange(5), chance.gauss(0, 1) * 10.0 ** chance.randrange(-6, 7))
        for _ in range(600)
    ]
    seen = set()
    for size in (1, 7, 600):
        chance.shuffle(rows)
        db = rv.Database()
        db.create_table("r", {"k": "int64", "x": "float64"})
        view = db.create_view("v", "SELECT k, SUM(x) AS s FROM r GROUP BY k")
        bounds = [*range(0, 600, size), 600]
        for start, end in pairwise(bounds):
            part = rows[start:end]
            db.insert("r", {"k": [k for k, _ in part], "x": [x for _, x in part]})
        table = view.to_arrow().sort_by("k")
        seen.add(tuple(value.hex() for value in table["s"].to_pylist()))
        sums = [math.fsum(x for k, x in rows if k == key) for key in range(5)]
        assert table["s"].to_pylist() == sums
    assert len(seen) == 1
