"""COFACTOR beside other aggregates, MIN, MAX and HAVING: one row, and all of it DuckDB's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from durable_twin import durable_twin
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparable
from ringview import errors, ml
from ringview.stats.cofactor_arrow import is_cofactor
from streams import (
    ORACLE,
    Batch,
    Tables,
    apply,
    batches,
    database,
    everything_leaves,
    tables_of,
    twin_of,
)

FROM_R = "FROM r WHERE x IS NOT NULL AND a IS NOT NULL"
JOIN = "FROM r NATURAL JOIN s WHERE x IS NOT NULL AND price IS NOT NULL"
LOOP = "FROM r JOIN s USING (b) JOIN t USING (a, c) WHERE x IS NOT NULL AND w IS NOT NULL"
QUERIES = [
    # The count is in the payload; other aggregates need a tree of sums, or companions.
    (f"a, COUNT(*) AS n, {{}} {FROM_R} GROUP BY a", ("x", "a")),
    (f"{{}}, COUNT(*) AS n, MAX(name) AS m, COUNT(DISTINCT b) AS d {FROM_R}", ("x",)),
    (f"{{}}, SUM(x) AS s, AVG(b) AS v, COUNT(name) AS n {FROM_R}", ("a", "x")),
    (f"b, SUM(x) AS s, {{}}, MIN(x) AS m, VAR_POP(a) AS v {FROM_R} GROUP BY b", ("x", "a")),
    (f"{{}}, SUM(price) / COUNT(*) AS p, SUM(x * price) AS q {JOIN}", ("x", "price")),
    (
        f"name, {{}}, SUM(price * a) AS p, MAX(day) AS m {JOIN} GROUP BY name "
        "HAVING COUNT(*) > 1 AND MAX(x) > -2",
        ("price", "x"),
    ),
    (f"day, {{}} {JOIN} GROUP BY day HAVING COUNT(*) > 1", ("x", "price")),
    (f"{{}}, COUNT(*) AS n {JOIN} HAVING SUM(x) > 1", ("x",)),
    (f"t.c, SUM(x * w) AS s, {{}}, COUNT(DISTINCT name) AS d {LOOP} GROUP BY t.c", ("x", "w")),
]


def view_sql(body: str, features: tuple[str, ...]) -> str:
    called = f"COFACTOR({', '.join(features)}) AS cofactor"
    return f"SELECT {body.format(called)}"


def oracle_sql(body: str, features: tuple[str, ...]) -> str:
    """The same with the payload's numbers as columns."""
    products = [(x, y) for at, x in enumerate(features) for y in features[at:]]
    sums = [f"SUM({x}::DOUBLE)" for x in features]
    sums += [f"SUM({x}::DOUBLE * {y})" for x, y in products]
    columns = ["COUNT(*) AS k0", *(f"COALESCE({s}, 0) AS k{at}" for at, s in enumerate(sums, 1))]
    return f"SELECT {body.format(', '.join(columns))}"


def flat(table: pa.Table) -> pa.Table:
    """A view's rows with the payload's numbers as columns."""
    columns: dict[str, Any] = {}
    for field in table.schema:
        if not is_cofactor(field):
            columns[field.name] = table[field.name]
            continue
        payload = table[field.name].combine_chunks()
        numbers = [payload.field("count").to_pylist()]
        for part in ("sums", "products"):
            lists = np.array(payload.field(part).to_pylist())
            numbers += lists.reshape(len(payload), payload.field(part).type.list_size).T.tolist()
        columns.update({f"k{at}": values for at, values in enumerate(numbers)})
    return pa.table(columns)


@pytest.mark.parametrize("query", QUERIES, ids=[body for body, _ in QUERIES])
@examples(12)
@given(stream=st.lists(batches(), max_size=5), last=batches())
def test_rows_equal_duckdb(
    query: tuple[str, tuple[str, ...]], stream: list[Batch], last: Batch
) -> None:
    """After each batch; the changes add up, and what is refused leaves no trace."""
    db, trusting, tables = database(), database(trust_deletes=True), Tables()
    sql = view_sql(*query)
    view, twin = db.create_view("v", sql), trusting.create_view("v", sql)
    seen: Counter[tuple[Any, ...]] = Counter()
    with durable_twin(lambda db: tables_of(db).create_view("v", sql)) as file:
        for batch in [*stream, *everything_leaves()]:
            with pytest.raises(errors.OverDeleteError):
                absent = {"a": 99, "b": 99, "x": 99, "name": "absent"}
                apply(db, [*twin_of(tables).change(last), ("r", -1, [absent])])
            changes = tables.change(batch)
            apply(db, changes)
            apply(trusting, changes)
            apply(file.next(), changes)
            expected = ORACLE.rows(oracle_sql(*query), tables.rows)
            assert comparable(flat(view.to_arrow())) == expected
            assert comparable(flat(twin.to_arrow())) == expected
            assert comparable(flat(file.db["v"].to_arrow())) == expected
            assert len(view) == len(expected)
            for *row, multiplicity in comparable(flat(view.changes())):
                seen[tuple(row)] += int(multiplicity)
            assert sorted(seen.elements(), key=repr) == expected
            assert all(count >= 0 for count in seen.values())
            found = list(view.cofactors())
            width = int("GROUP BY" in sql)
            assert [len(key) for key, _ in found] == [width] * len(expected)
    late = db.create_view("late", sql)
    assert comparable(flat(late.to_arrow())) == comparable(flat(view.to_arrow()))


def shop(**options: Any) -> rv.Database:
    db = rv.Database(**options)
    db.create_table("r", {"g": "int64", "x": "float64", "y": "int64", "c": "string"})
    return db


def test_categories_in_company() -> None:
    db = shop()
    view = db.create_view(
        "v", "SELECT g, SUM(y) AS s, COFACTOR(x, c), MAX(c) AS m FROM r GROUP BY g"
    )
    alone = db.create_view("alone", "SELECT g, COFACTOR(x, c) FROM r GROUP BY g")
    rng = np.random.default_rng(3)
    held: list[dict[str, Any]] = []
    for _ in range(8):
        numbers = rng.integers(0, 4, (12, 3)).tolist()
        come = [{"g": g, "x": x / 2, "y": y, "c": "abcd"[x]} for g, x, y in numbers]
        go, held = held[:7], [*held[7:], *come]
        with db.transaction() as tx:
            tx.insert("r", come)
            tx.delete("r", go)
        (name,) = (field.name for field in view.to_arrow().schema if is_cofactor(field))
        rows = {row["g"]: row for row in view.to_arrow().to_pylist()}
        assert {g: row[name] for g, row in rows.items()} == {
            row["g"]: row[name] for row in alone.to_arrow().to_pylist()
        }
        for g, row in rows.items():
            mine = [other for other in held if other["g"] == g]
            assert row["s"] == sum(other["y"] for other in mine)
            assert row["m"] == max(other["c"] for other in mine)
    # A change that no column but the payload shows, and one that only the sum shows.
    for moved in ({"x": held[-1]["x"] + 8, "c": held[-1]["c"]}, {"y": held[-1]["y"] + 1}):
        view.changes()
        with db.transaction() as tx:
            tx.delete("r", held[-1:])
            tx.insert("r", [{**held[-1], **moved}])
        held[-1] = {**held[-1], **moved}
        old, new = view.changes().to_pylist()
        assert (old["multiplicity"], new["multiplicity"]) == (-1, 1)
        assert (old["s"] != new["s"]) == ("y" in moved)
    # One that no column shows at all.
    db.create_view("mean", "SELECT AVG(y) AS a, COFACTOR(x) FROM r").changes()
    twice = [{**row, "x": 0.0} for row in held]
    with db.transaction() as tx:
        tx.insert("r", twice)
        tx.delete("r", twice)
    assert db["mean"].changes().num_rows == view.changes().num_rows == 0
    db.delete("r", held)
    assert len(view) == 0


def test_models_read_a_view_with_company() -> None:
    db = shop()
    view = db.create_view("v", "SELECT SUM(y) AS s, COUNT(*) AS n, COFACTOR(x, y) FROM r")
    x = np.arange(50.0)
    db.insert("r", {"g": [1] * 50, "x": x, "y": 3 * np.arange(50) + 1, "c": ["a"] * 50})
    model = ml.LinearRegression("y").fit(view)
    np.testing.assert_allclose([*model.coef_, model.intercept_], [3.0, 1.0])
    assert view.cofactor().count == 50
    db.create_view("none", "SELECT COFACTOR(x) FROM r HAVING COUNT(*) > 50")
    with pytest.raises(errors.TooFewRowsError, match="HAVING"):
        db["none"].cofactor()


@pytest.mark.parametrize("nulls", ["refuse", "skip"])
def test_nulls_in_company(nulls: Any) -> None:
    """Rows with NULL in a feature are refused, or left out of all columns."""
    db = shop()
    view = db.create_view(
        "v", "SELECT COUNT(*) AS n, SUM(y) AS s, COUNT(x) AS k, COFACTOR(x) FROM r", nulls=nulls
    )
    db.insert("r", {"g": [1], "x": [2.0], "y": [5], "c": [None]})
    before = view.to_arrow().to_pylist()
    row = {"g": [1, 1], "x": [1.0, None], "y": [7, 7], "c": ["a", "b"]}
    if nulls == "refuse":
        with pytest.raises(errors.InvalidValueError, match=r'row 1 of.*NULL in column "x"'):
            db.insert("r", row)
        assert view.to_arrow().to_pylist() == before
        assert len(db.tables["r"]) == 1
    else:
        db.insert("r", row)
        (found,) = view.to_arrow().to_pylist()
        assert (found["n"], found["s"], found["k"]) == (2, 12, 2)
        db.delete("r", row)
        assert view.to_arrow().to_pylist() == before


def test_overflow_in_company() -> None:
    """If either tree refuses, both are as before."""
    db = shop()
    view = db.create_view("v", "SELECT g, SUM(y) AS s, COFACTOR(x) FROM r GROUP BY g")
    good = {"g": [1, 2], "x": [1.5, 2.5], "y": [2**62, 1], "c": ["a", "b"]}
    db.insert("r", good)
    before = view.to_arrow().sort_by("g").to_pylist()
    for bad in ({"x": -1e200, "y": 2**62}, {"x": 1e200, "y": 1}):
        with pytest.raises(errors.ArithmeticOverflowError):
            db.insert("r", [{"g": 2, "x": 1.0, "y": 1, "c": "a"}, {"g": 1, "c": "a", **bad}])
        assert view.to_arrow().sort_by("g").to_pylist() == before
    db.delete("r", good)
    assert len(view) == 0


def test_a_product_of_factors_in_company() -> None:
    db = shop()
    view = db.create_view("v", "SELECT g, SUM(y) AS s, COFACTOR(x) AS m FROM r GROUP BY g")
    factors = {"u": {"g": [1, 2]}, "v": {"x": [1.0, 2.0], "y": [3, 4], "c": ["", "a"]}}
    db.update_factorised("r", factors)
    assert [row["s"] for row in view.to_arrow().to_pylist()] == [7, 7]
    assert [row["m"]["products"] for row in view.to_arrow().to_pylist()] == [[5.0], [5.0]]


def test_two_cofactors_are_one_too_many() -> None:
    with pytest.raises(errors.UnsupportedError, match="second COFACTOR"):
        shop().create_view("v", "SELECT COFACTOR(x) AS a, COFACTOR(y) AS b FROM r")
