"""Origins of COFACTOR's features: whole numbers stay exact, parts of other origins add up.

Changes that failed, were undone or were deleted leave no origin behind.
"""

from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from centred import NAMES, Long, database, is_near
from hypothesis import given
from hypothesis import strategies as st
from ringview import errors, ml
from ringview.stats.cofactor import Cofactor, cofactors


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
    """Undone changes do not show, not in the bits of later results."""
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
@examples(25)
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
    """It is recognised despite rounding after its origin has moved from far away."""
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
    """A trial row is inserted, then the data, then the row is deleted: it has cost no digits."""
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
