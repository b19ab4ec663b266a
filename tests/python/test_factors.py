"""Changes in factors: the same as the rows of their products, whatever the view, or refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from ringview import errors

TABLES = {
    "a": {"i": "int64", "x": "int64"},
    "b": {"i": "int64", "j": "int64", "w": "int64", "name": "string"},
    "c": {"j": "int64", "y": "float64"},
}

VIEWS = [
    "SELECT COUNT(*) AS n, SUM(a.x * b.w) AS s FROM a JOIN b USING (i)",
    "SELECT b.i, b.j, SUM(w) AS s FROM b GROUP BY b.i, b.j",
    "SELECT b.j, SUM(a.x * b.w * c.y) AS s, COUNT(*) AS n "
    "FROM a JOIN b USING (i) JOIN c USING (j) GROUP BY b.j",
    "SELECT a.x, c.y, SUM(b.w * b.i) AS s FROM a JOIN b USING (i) JOIN c USING (j) "
    "GROUP BY a.x, c.y",
    "SELECT name, AVG(w) AS m FROM b WHERE i + j > 1 GROUP BY name",
    "SELECT name, SUM(i * j) AS s FROM b WHERE w > 0 AND name LIKE '%b' GROUP BY name",
    "SELECT SUM(i + w) AS s, SUM((i - 1) * (w + 2)) AS t, VAR_POP(w) AS v FROM b",
    "SELECT x.i, y.j, SUM(x.w * y.w) AS s FROM b x JOIN b y ON x.j = y.i GROUP BY x.i, y.j",
    "SELECT i, MIN(w) AS low, MAX(name) AS high, COUNT(DISTINCT j) AS d FROM b GROUP BY i",
    "SELECT * FROM a JOIN b USING (i)",
    "SELECT b.w, c.y, a.x FROM a JOIN b USING (i) JOIN c USING (j)",
    "SELECT DISTINCT i, w FROM b",
]

SPLITS = [
    [["i", "j", "w", "name"]],
    [["i"], ["j", "w", "name"]],
    [["i", "w"], ["j", "name"]],
    [["i", "j"], ["w"], ["name"]],
    [["i"], ["j"], ["w"], ["name"]],
]

VALUES = {
    "i": st.sampled_from([None, 0, 1, 2]),
    "j": st.sampled_from([None, 0, 1, 2]),
    "w": st.sampled_from([None, -2, 0, 3]),
    "name": st.sampled_from([None, "ab", "b", ""]),
}


def database(**options: Any) -> rv.Database:
    db = rv.Database(**options)
    for name, schema in TABLES.items():
        db.create_table(name, schema)
    for at, sql in enumerate(VIEWS):
        db.create_view(f"v{at}", sql)
    return db


def seeded(**options: Any) -> rv.Database:
    db = database(**options)
    db.insert("a", {"i": [0, 1, 1, 2], "x": [1, 2, 3, 4]})
    db.insert("c", {"j": [0, 0, 2, 1], "y": [1.0, 0.5, 2.0, 4.0]})
    return db


def contents(db: rv.Database) -> dict[str, list[str]]:
    return {
        name: sorted(str(sorted(row.items())) for row in view.to_arrow().to_pylist())
        for name, view in db.views.items()
    }


def multiplied(term: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    rows = []
    for parts in product(*term.values()):
        row: dict[str, Any] = {"times": 1}
        for part in parts:
            times = row["times"] * part.get("times", 1)
            row = {**row, **part, "times": times}
        rows.append(row)
    return rows


@st.composite
def terms(draw: st.DrawFn) -> dict[str, list[dict[str, Any]]]:
    term = {}
    for at, columns in enumerate(draw(st.sampled_from(SPLITS))):
        fields = {column: VALUES[column] for column in columns}
        if draw(st.booleans()):
            fields["times"] = st.integers(1, 2)
        term[f"f{at}"] = draw(st.lists(st.fixed_dictionaries(fields), min_size=1, max_size=3))
    return term


@examples(60)
@given(st.lists(terms(), min_size=1, max_size=4), st.booleans())
def test_equals_the_rows_of_the_product(batches: list[dict[str, Any]], trusted: bool) -> None:
    factorised, listed = seeded(trust_deletes=trusted), seeded(trust_deletes=trusted)
    for term in batches:
        factorised.update_factorised("b", term, multiplicity="times")
        listed.insert("b", multiplied(term), multiplicity="times")
        assert contents(factorised) == contents(listed)
        assert len(factorised.tables["b"]) == len(listed.tables["b"])
    factorised.update_factorised("b", batches[::2], delete=True, multiplicity="times")
    for term in batches[::2]:
        listed.delete("b", multiplied(term), multiplicity="times")
    assert contents(factorised) == contents(listed)
    with factorised.transaction() as tx:
        tx.update_factorised("b", batches[1::2], delete=True, multiplicity="times")
    assert len(factorised.tables["b"]) == 0
    assert contents(factorised) == contents(seeded())


def test_a_transaction_takes_products_and_rows_or_nothing() -> None:
    db = seeded()
    term = {"u": {"i": [0, 1]}, "v": {"j": [1, 2], "w": [1, 1], "name": ["ab", "b"]}}
    with db.transaction() as tx:
        tx.update_factorised("b", term)
        tx.delete("b", [{"i": 0, "j": 1, "w": 1, "name": "ab"}])
    assert len(db.tables["b"]) == 3
    before = contents(db)
    for delete in (True, False):
        with pytest.raises(errors.OverDeleteError), db.transaction() as tx:
            tx.update_factorised("b", {**term, "u": {"i": [7, 8]}})
            tx.update_factorised("b", term, delete=delete)
            tx.delete("b", [{"i": 5, "j": 5, "w": 5, "name": "no"}])
        assert contents(db) == before
        assert len(db.tables["b"]) == 3
    with pytest.raises(errors.RingviewError, match="inside its with block"):
        tx.update_factorised("b", term)


def test_cofactors_and_extremes_take_the_rows_of_the_product() -> None:
    db = rv.Database()
    db.create_table("m", {"i": "int64 not null", "j": "int64 not null"})
    cofactor = db.create_view("c", "SELECT COFACTOR(i, j) FROM m")
    most = db.create_view("most", "SELECT MAX(i) AS i, MIN(j) AS j FROM m")
    db.update_factorised("m", {"u": {"i": [1, 2]}, "v": {"j": [3, 5]}})
    assert cofactor.cofactor().matrix.tolist() == [[10.0, 24.0], [24.0, 68.0]]
    assert most.to_arrow().to_pylist() == [{"i": 2, "j": 3}]


def test_an_overflow_leaves_everything_as_it_was() -> None:
    db = rv.Database()
    db.create_table("m", {"i": "int64", "j": "int64", "w": "int64"})
    groups = db.create_view("g", "SELECT i, COUNT(*) AS n FROM m GROUP BY i")
    total = db.create_view("t", "SELECT SUM(w) AS s FROM m")
    db.insert("m", [{"i": 1, "j": 1, "w": 1}])
    before = groups.to_arrow().to_pylist(), total.scalar(), len(db.tables["m"])
    for term in (
        {"u": {"i": [1, 2], "w": [5, 2**62]}, "v": {"j": [1, 2]}},
        {"u": {"i": [1], "w": [1], "n": [2**40]}, "v": {"j": [1], "n": [2**40]}},
    ):
        with pytest.raises(errors.ArithmeticOverflowError):
            db.update_factorised("m", term, multiplicity="n")
        assert (groups.to_arrow().to_pylist(), total.scalar(), len(db.tables["m"])) == before


def test_a_matrix_chain_in_sql() -> None:
    """A value of the second matrix is p * q, so that a change u v^T is a product of factors."""
    rng = np.random.default_rng(0)
    size = 12
    db = rv.Database(trust_deletes=True)
    for name in ("a1", "a2", "a3"):
        db.create_table(name, {"r": "int64", "c": "int64", "p": "float64", "q": "float64"})
    view = db.create_view(
        "product",
        "SELECT a1.r, a3.c, SUM(a1.p * a2.p * a2.q * a3.p) AS p FROM a1 "
        "JOIN a2 ON a1.c = a2.r JOIN a3 ON a2.c = a3.r GROUP BY a1.r, a3.c",
    )
    matrices = [rng.normal(size=(size, size)) for _ in range(3)]
    r, c = np.indices((size, size)).reshape(2, -1)
    for name, matrix in zip(("a1", "a2", "a3"), matrices, strict=True):
        db.insert(name, {"r": r, "c": c, "p": matrix.ravel(), "q": np.ones(size**2)})
    indices = np.arange(size)
    for _ in range(3):
        u, v = rng.normal(size=size), rng.normal(size=size)
        db.update_factorised("a2", {"u": {"r": indices, "p": u}, "v": {"c": indices, "q": v}})
        matrices[1] += np.outer(u, v)
        found, table = np.zeros((size, size)), view.to_arrow()
        found[table["r"].to_numpy(), table["c"].to_numpy()] = table["p"].to_numpy()
        np.testing.assert_allclose(found, matrices[0] @ matrices[1] @ matrices[2], atol=1e-12)


@pytest.mark.parametrize(
    ("factors", "error", "message"),
    [
        ({"u": {"i": [1]}, "v": {"i": [1], "j": [2]}}, errors.InvalidValueError, "two factors"),
        ({"u": {"i": [1]}}, errors.InvalidValueError, '"j".*is in no factor'),
        ({"u": {"i": [1]}, "v": {"k": [2]}}, errors.UnknownColumnError, "k"),
        ({"u": {"i": [1]}, "v": pa.table({"k": [2]})}, errors.UnknownColumnError, "k"),
        ({"u": {"i": [1]}, "v": {"j": ["x"]}}, errors.TypeMismatchError, "j"),
        ({"u": {"i": [None]}, "v": {"j": [2]}}, errors.NullKeyError, '"i"'),
        ({"u": [{"i": 1}, {"j": 1}], "v": {"j": [2]}}, errors.InvalidValueError, "row 1"),
        ({"u": {"n": [1]}, "v": {"i": [1], "j": [2]}}, errors.InvalidValueError, "no column"),
        ({"u": {"i": [1], "n": [None]}, "v": {"j": [2]}}, errors.NullKeyError, '"n"'),
        ({"u": {"i": [1], "n": [0.5]}, "v": {"j": [2]}}, errors.RingviewError, "n"),
        ({"u": {"i": [1, 2], "j": [1]}}, errors.InvalidValueError, "different lengths"),
        ({}, errors.TypeMismatchError, "no factors"),
        ([{}], errors.TypeMismatchError, "no factors"),
        ("uv", errors.TypeMismatchError, "no factors"),
        (3, errors.TypeMismatchError, "no factors"),
        ([[1]], errors.TypeMismatchError, "no factors"),
        ({"u": 3, "v": {"j": [1]}}, errors.TypeMismatchError, "no rows"),
    ],
)
def test_wrong_factors_are_refused(factors: Any, error: type[Exception], message: str) -> None:
    db = rv.Database()
    table = db.create_table("m", {"i": "int64 not null", "j": "int64 not null"})
    view = db.create_view("v", "SELECT i, SUM(j) AS s FROM m GROUP BY i")
    good = {"u": {"i": [1, 2]}, "v": {"j": [3, 4]}}
    db.update_factorised("m", good)
    view.changes()
    with pytest.raises(error, match=message):
        db.update_factorised("m", factors, multiplicity="n")
    # A bad term takes the good ones before it with it.
    with pytest.raises(error, match=message), db.transaction() as tx:
        tx.update_factorised("m", good)
        tx.update_factorised("m", factors, multiplicity="n")
    assert len(table) == 4
    assert view.changes().num_rows == 0
    assert sorted(view.to_arrow().to_pydict()["s"]) == [7, 7]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("trusted", [False, True])
def test_factors_that_are_not_finite(value: float, trusted: bool) -> None:
    """A sum takes no such number, since no delete takes it out again; a key takes no NaN."""
    db = rv.Database(trust_deletes=trusted)
    db.create_table("m", {"i": "int64", "k": "float64", "w": "float64"})
    for name, sql in {
        "sums": "SELECT i, SUM(w) AS s FROM m GROUP BY i",
        "keys": "SELECT k, COUNT(*) AS n FROM m GROUP BY k",
        "cofactor": "SELECT COFACTOR(i, w) FROM m WHERE i IS NOT NULL",
    }.items():
        db.create_view(name, sql)
    db.update_factorised("m", {"u": {"i": [1, 2], "w": [0.25, 0.5]}, "v": {"k": [0.5, 1.5]}})
    before = contents(db)
    for factors in (
        {"u": {"i": [1]}, "v": {"k": [1.0, 2.0]}, "w": {"w": [1.0, value]}},
        {"u": {"i": [1, 2], "w": [value, 1.0]}, "v": {"k": [1.0]}},
    ):
        with pytest.raises(errors.InvalidValueError, match="w of m"):
            db.update_factorised("m", factors)
        assert contents(db) == before
    bad_key = {"u": {"i": [1]}, "v": {"w": [1.0]}, "k": {"k": [0.0, value]}}
    if value != value:
        with pytest.raises(errors.NullKeyError, match='"k"'):
            db.update_factorised("m", bad_key)
    else:
        db.update_factorised("m", bad_key)
        db.update_factorised("m", bad_key, delete=True)
    assert len(db.tables["m"]) == 4
    assert contents(db) == before


def test_other_refusals() -> None:
    db = rv.Database()
    db.create_table("once", {"i": "int64 not null", "j": "int64 not null"}, unique=["i"])
    db.create_table("fixed", {"i": "int64", "j": "int64"}, static=True)
    db.create_view("v", "SELECT COUNT(*) AS n FROM fixed")
    with pytest.raises(errors.UnknownTableError):
        db.update_factorised("nothing", {"u": {"i": [1]}})
    with pytest.raises(errors.DuplicateKeyError):
        db.update_factorised("once", {"u": {"i": [1]}, "v": {"j": [1, 2]}})
    with pytest.raises(errors.StaticTableError):
        db.update_factorised("fixed", {"u": {"i": [1]}, "v": {"j": [1, 2]}})
    with pytest.raises(errors.OverDeleteError):
        db.update_factorised("once", {"u": {"i": [1]}, "v": {"j": [1]}}, delete=True)
    assert len(db.tables["once"]) == 0


@pytest.mark.parametrize("nothing", [[], {"i": []}, pa.table({"i": pa.array([], pa.int64())})])
def test_a_factor_without_rows_changes_nothing(nothing: Any) -> None:
    db = rv.Database()
    table = db.create_table("m", {"i": "int64", "j": "int64"})
    db.update_factorised("m", {"u": nothing, "v": {"j": [1, 2]}})
    db.update_factorised("m", [])
    assert len(table) == 0


def test_data_in_several_batches() -> None:
    db = rv.Database()
    table = db.create_table("m", {"i": "int64", "s": "string"})
    view = db.create_view("v", "SELECT s, SUM(i) AS t FROM m GROUP BY s")
    chunks = pa.chunked_array([pa.array([1, None, 2]), pa.array([3])])
    strings = pa.chunked_array([pa.array(["a"]), pa.array([None, "b"])])
    db.update_factorised("m", {"u": pa.table({"i": chunks}), "v": pa.table({"s": strings})})
    assert len(table) == 12
    assert {row["s"]: row["t"] for row in view.to_arrow().to_pylist()} == {"a": 6, None: 6, "b": 6}


@examples(100)
@given(terms(), st.booleans())
def test_a_product_is_decomposed_and_nothing_else(term: dict[str, Any], spoil: bool) -> None:
    columns = [[name for name in part[0] if name != "times"] for part in term.values()]
    rows = multiplied(term)
    if spoil:
        rows[0]["times"] += 1
    found = rv.decompose(rows, columns, multiplicity="times")
    if found is None:
        assert spoil
        return
    parts: dict[str, Any] = {name: factor.to_pylist() for name, factor in found.items()}
    assert counted(multiplied(parts)) == counted(rows)


def counted(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], int]:
    counts: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in TABLES["b"])
        counts[key] = counts.get(key, 0) + row["times"]
    return counts


def test_what_decompose_finds_updates_a_table() -> None:
    db = rv.Database()
    table = db.create_table("m", {"i": "int64", "j": "string"})
    rows = {"i": [1, 1, 2, 2, 2, 2], "j": ["a", "b", "a", "b", "a", "b"]}
    found = rv.decompose(rows, [["i"], ["j"]])
    assert found is not None
    assert found["i"]["multiplicity"].to_pylist() == [1, 2]
    db.update_factorised("m", found, multiplicity="multiplicity")
    db.delete("m", rows)
    assert len(table) == 0
    empty = rv.decompose({"i": [], "j": []}, [["i"], ["j"]])
    assert empty is not None
    assert [len(factor) for factor in empty.values()] == [0, 0]


@pytest.mark.parametrize("columns", [[["i"]], [["i"], ["i", "j"]], [["i"], ["j"], ["k"]]])
def test_decompose_wants_each_column_once(columns: list[list[str]]) -> None:
    with pytest.raises(errors.InvalidValueError, match="one factor"):
        rv.decompose({"i": [1], "j": [1]}, columns)


def test_decompose_refuses_other_forms() -> None:
    with pytest.raises(errors.TypeMismatchError):
        rv.decompose(3, [["i"]])  # type: ignore[arg-type]
    with pytest.raises(errors.TypeMismatchError, match="no integers"):
        rv.decompose({"i": [1], "n": [0.5]}, [["i"]], multiplicity="n")
