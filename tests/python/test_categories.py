"""Categorical features: COFACTOR with categories equals plain counting after every batch."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from durable_twin import durable_twin
from hypothesis import given
from hypothesis import strategies as st
from ringview import errors, ml
from ringview.stats.cofactor import Cofactor
from sklearn import linear_model
from sklearn.metrics import mutual_info_score

Row = dict[str, Any]
SCHEMAS = {
    "sales": {
        "item": "int64",
        "store": "int16 not null",
        "units": "int64 not null",
        "color": "string not null",
        "day": "date32",
    },
    "items": {
        "item": "int64",
        "price": "decimal128(8, 2)",
        "kind": "string",
        "fresh": "bool",
    },
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "item": st.one_of(st.none(), st.integers(0, 2)),
    "store": st.integers(-2, 2),
    "units": st.integers(-3, 9),
    "color": st.sampled_from(["red", "green", ""]),
    "day": st.sampled_from([datetime.date(2026, 1, 1), datetime.date(1960, 5, 3)]),
    "price": st.decimals(-2, 9, places=2).map(lambda price: price.quantize(Decimal("0.01"))),
    "kind": st.sampled_from(["fruit", "jam"]),
    "fresh": st.booleans(),
}
"""The SQL, the columns of GROUP BY, the numbers, the categories; over the join, or over sales."""
VIEWS = [
    (
        "SELECT COFACTOR(units, price, CATEGORICAL(store), color, kind) "
        "FROM sales NATURAL JOIN items",
        [],
        ["units", "price"],
        ["store", "color", "kind"],
    ),
    (
        "SELECT kind, COFACTOR(*) FROM sales NATURAL JOIN items GROUP BY kind",
        ["kind"],
        ["item", "store", "units", "price"],
        ["color"],
    ),
    (
        "SELECT COFACTOR(CATEGORICAL(item), CATEGORICAL(day), CATEGORICAL(fresh), "
        "CATEGORICAL(price)) FROM sales NATURAL JOIN items",
        [],
        [],
        ["item", "day", "fresh", "price"],
    ),
    (
        "SELECT store, fresh, COFACTOR(price, units, CATEGORICAL(item)) "
        "FROM sales NATURAL JOIN items GROUP BY store, fresh",
        ["store", "fresh"],
        ["price", "units"],
        ["item"],
    ),
    (
        "SELECT color, COFACTOR(units, color) FROM sales WHERE store > 0 GROUP BY color",
        ["color"],
        ["units"],
        ["color"],
    ),
]


def rows_of(table: str) -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries({name: VALUES[name] for name in SCHEMAS[table]})


Step = tuple[str, list[Row], list[int]]
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.sampled_from(sorted(SCHEMAS)).flatmap(
        lambda table: st.tuples(
            st.just(table),
            st.lists(rows_of(table), max_size=6),
            st.lists(st.integers(0, 20), max_size=4),
        )
    ),
    min_size=1,
    max_size=6,
)


def arrow(table: str, rows: Iterable[Row]) -> pa.Table:
    kinds = {"int64": pa.int64(), "int16": pa.int16(), "string": pa.string(), "bool": pa.bool_()}
    kinds |= {"date32": pa.date32(), "decimal128(8, 2)": pa.decimal128(8, 2)}
    fields = [(n, kinds[kind.removesuffix(" not null")]) for n, kind in SCHEMAS[table].items()]
    return pa.Table.from_pylist(list(rows), schema=pa.schema(fields))


def plain(rows: list[Row], numbers: list[str], categories: list[str]) -> Cofactor:
    """A cofactor by counting, categories in order."""
    table = np.array([[float(row[name]) for name in numbers] for row in rows])
    table = table.reshape(len(rows), len(numbers))
    values = {name: sorted({row[name] for row in rows}) for name in categories}

    def chosen(**wanted: Any) -> list[int]:
        return [i for i, row in enumerate(rows) if all(row[n] == v for n, v in wanted.items())]

    return Cofactor(
        numbers,
        len(rows),
        table.sum(axis=0),
        table.T @ table,
        values,
        {n: [len(chosen(**{n: v})) for v in found] for n, found in values.items()},
        {
            n: np.array([table[chosen(**{n: v})].sum(axis=0) for v in found]).reshape(
                len(found), len(numbers)
            )
            for n, found in values.items()
        },
        {
            (a, b): np.array(
                [[len(chosen(**{a: x, b: y})) for y in values[b]] for x in values[a]]
            ).reshape(len(values[a]), len(values[b]))
            for a, b in combinations(categories, 2)
        },
    )


def same(found: Cofactor, expected: Cofactor) -> None:
    assert (found.names, found.count) == (expected.names, expected.count)
    close: Callable[[Any, Any], None] = lambda a, b: np.testing.assert_allclose(a, b, atol=1e-9)  # noqa: E731
    close(found.sums, expected.sums)
    close(found.matrix, expected.matrix)
    assert found.categories == expected.categories
    for name in expected.categories:
        np.testing.assert_array_equal(found.category_counts[name], expected.category_counts[name])
        close(found.category_sums[name], expected.category_sums[name])
    assert found.pair_counts.keys() == expected.pair_counts.keys()
    for pair, counts in expected.pair_counts.items():
        np.testing.assert_array_equal(found.pair_counts[pair], counts)


def joined(tables: dict[str, list[Row]], sql: str) -> list[Row]:
    if "JOIN" not in sql:
        return [row for row in tables["sales"] if row["store"] > 0]
    return [
        {**sale, **item}
        for sale in tables["sales"]
        for item in tables["items"]
        if sale["item"] is not None and sale["item"] == item["item"]
    ]


def check(view: rv.View, tables: dict[str, list[Row]], spec: Any) -> None:
    sql, group, numbers, categories = spec
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    if not group:
        groups[()] = []
    for row in joined(tables, sql):
        groups[tuple(row[name] for name in group)].append(row)
    found = dict(view.cofactors())
    assert found.keys() == groups.keys()
    for key, rows in groups.items():
        same(found[key], plain(rows, numbers, categories))


@pytest.mark.parametrize("spec", VIEWS, ids=lambda spec: spec[0][7:40])
@examples(25)
@given(steps=STEPS, trust=st.booleans())
def test_categories_are_counted_after_every_batch(
    spec: Any, steps: list[Step], trust: bool
) -> None:
    db = rv.Database(trust_deletes=trust)
    tables: dict[str, list[Row]] = {name: [] for name in SCHEMAS}

    def define(db: rv.Database) -> rv.View:
        for name, schema in SCHEMAS.items():
            db.create_table(name, schema)
        return db.create_view("v", spec[0])

    view = define(db)
    seen = Counter(map(str, view.changes().drop_columns("multiplicity").to_pylist()))
    with durable_twin(define) as file:
        for table, new, gone in [*steps, *[(name, [], [0] * 99) for name in SCHEMAS]]:
            leaving = []
            tables[table] += new
            for place in gone:
                if tables[table]:
                    leaving.append(tables[table].pop(place % len(tables[table])))
            for each in (db, file.next()):
                with each.transaction() as tx:
                    tx.insert(table, arrow(table, new))
                    tx.delete(table, arrow(table, leaving))
                check(each["v"], tables, spec)
            for row in view.changes().to_pylist():
                times = row.pop("multiplicity")
                seen[str(row)] += times
            assert sorted(seen.elements()) == sorted(map(str, view.to_arrow().to_pylist()))
    assert all(not count or not spec[1] for count in seen.values())


def shop(rows: int = 80, **options: Any) -> tuple[rv.Database, rv.View, list[Row]]:
    random = np.random.default_rng(5)
    db = rv.Database(**options)
    db.create_table("r", {"y": "float64", "x": "float64", "c": "string", "d": "int64"})
    view = db.create_view("v", "SELECT COFACTOR(y, x, c, CATEGORICAL(d)) FROM r")
    found: list[Row] = [
        {
            "y": float(random.normal()),
            "x": float(random.normal()),
            "c": "abc"[random.integers(3)],
            "d": int(random.integers(4)),
        }
        for _ in range(rows)
    ]
    for row in found:
        row["y"] += 2 * row["x"] + 3 * (row["c"] == "b") - row["d"]
    db.insert("r", found)
    return db, view, found


def one_hot(rows: list[Row], drop_first: bool) -> Any:
    columns = [[row["x"] for row in rows]]
    for name in ("c", "d"):
        values = sorted({row[name] for row in rows})[drop_first:]
        columns += [[float(row[name] == value) for row in rows] for value in values]
    return np.array(columns).T


def test_models_of_categories_are_scikit_learns() -> None:
    db, view, rows = shop()
    for _ in range(4):
        y = [row["y"] for row in rows]
        ridge = ml.Ridge("y", alpha=0.7).fit(view)
        oracle = linear_model.Ridge(alpha=0.7).fit(one_hot(rows, False), y)
        np.testing.assert_allclose(ridge.coef_, oracle.coef_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ridge.intercept_, oracle.intercept_, rtol=1e-9, atol=1e-9)
        plainly = ml.LinearRegression("y").fit(view)
        line = linear_model.LinearRegression().fit(one_hot(rows, True), y)
        np.testing.assert_allclose(plainly.coef_, line.coef_, rtol=1e-8, atol=1e-9)
        frame = {name: [row[name] for row in rows] for name in ("x", "c", "d")}
        np.testing.assert_allclose(plainly.predict(frame), line.predict(one_hot(rows, True)))
        information = ml.MutualInformation().fit(view)
        assert information.feature_names_in_.tolist() == ["c", "d"]
        expected = mutual_info_score(frame["c"], frame["d"])
        np.testing.assert_allclose(information.mutual_information_[0, 1], expected, atol=1e-12)
        tree = ml.ChowLiu(["c", "d"]).fit(view)
        assert [edge[:2] for edge in tree.edges_] == [("c", "d")]
        db.delete("r", rows[:15])
        rows = rows[15:]


NULLS = [{"y": None}, {"x": None}, {"c": None}, {"d": None}]


@pytest.mark.parametrize("gap", NULLS, ids=lambda gap: next(iter(gap)))
def test_null_features_are_refused_by_name(gap: Row) -> None:
    db, view, rows = shop(10)
    before = view.to_arrow()
    (name,) = gap
    with pytest.raises(
        errors.InvalidValueError, match=f"row 1 of table .r.: NULL in column .{name}."
    ):
        db.insert("r", [rows[0], {**rows[0], **gap}])
    assert view.to_arrow() == before


@pytest.mark.parametrize("trust", [False, True])
def test_null_features_are_skipped_on_request(trust: bool) -> None:
    db, refusing, rows = shop(12, trust_deletes=trust)
    db.drop_view("v")
    assert refusing.name not in db
    if trust:
        db = rv.Database(trust_deletes=True)
        db.create_table("r", {"y": "float64", "x": "float64", "c": "string", "d": "int64"})
    view = db.create_view("v", "SELECT COFACTOR(y, x, c, CATEGORICAL(d)) FROM r", nulls="skip")
    if trust:
        db.insert("r", rows)
    expected = plain(rows, ["y", "x"], ["c", "d"])
    same(view.cofactor(), expected)
    for gap in NULLS:
        db.insert("r", [{**rows[0], **gap}])
        same(view.cofactor(), expected)
    for gap in NULLS:
        db.delete("r", [{**rows[0], **gap}])
    same(view.cofactor(), expected)
    db.delete("r", rows)
    same(view.cofactor(), plain([], ["y", "x"], ["c", "d"]))


def test_a_refused_transaction_leaves_the_categories() -> None:
    db, view, rows = shop(20)
    before = view.to_arrow()
    _ = view.changes()
    with pytest.raises(errors.OverDeleteError), db.transaction() as tx:
        tx.insert("r", [{"y": 1.0, "x": 2.0, "c": "new", "d": 9}])
        tx.delete("r", [rows[0]])
        tx.delete("r", [{"y": 1.0, "x": 2.0, "c": "never", "d": 9}])
    assert view.to_arrow() == before
    assert view.changes().num_rows == 0


REFUSED: list[tuple[str, type[Exception], str]] = [
    ("SELECT COFACTOR(day) FROM sales", errors.TypeMismatchError, r"CATEGORICAL\(day\)"),
    ("SELECT COFACTOR(CATEGORICAL(units + 1)) FROM sales", errors.UnsupportedError, "is a column"),
    (
        "SELECT COFACTOR(CATEGORICAL(units, store)) FROM sales",
        errors.UnsupportedError,
        "one column",
    ),
    ("SELECT CATEGORICAL(units) FROM sales", errors.UnsupportedError, "stands in COFACTOR"),
    ("SELECT COFACTOR(units, CATEGORICAL(unit)) FROM sales", errors.UnknownColumnError, "units"),
    ("SELECT COFACTOR(units, hue) FROM sales", errors.UnknownColumnError, "hue"),
    (
        "SELECT COFACTOR(s.item, CATEGORICAL(i.item)) FROM sales s, items i WHERE s.item = i.item",
        errors.ExistsError,
        "item",
    ),
]


@pytest.mark.parametrize(("sql", "error", "says"), REFUSED)
def test_refusals(sql: str, error: type[Exception], says: str) -> None:
    db = rv.Database()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
    with pytest.raises(error, match=says):
        db.create_view("v", sql)


def test_nulls_need_a_cofactor_and_a_known_word() -> None:
    db = rv.Database()
    db.create_table("r", {"x": "int64"})
    with pytest.raises(errors.QueryError, match="COFACTOR"):
        db.create_view("v", "SELECT SUM(x) FROM r", nulls="skip")
    with pytest.raises(errors.InvalidValueError, match="'refuse', 'skip' or None"):
        db.create_view("v", "SELECT COFACTOR(x) FROM r", nulls="drop")  # type: ignore[arg-type]


def test_explain_and_memory_know_the_categories() -> None:
    db, view, _ = shop(200)
    text = view.explain()
    assert "degree-2 matrix: count, 2 sums, 3 products" in text
    for part in (
        "the categories of c ",
        "the categories of d ",
        "the pairs of categories of c, d ",
    ):
        assert f"beside it, {part}" in text
    small = db.memory_usage()
    db.insert("r", {"y": [0.0] * 999, "x": [0.0] * 999, "c": ["z"] * 999, "d": list(range(999))})
    grown = sum(db.memory_usage().values()) - sum(small.values())
    assert grown > 999 * 2 * 8
    assert len(view.cofactor().categories["d"]) == 999


def test_a_category_may_be_a_group_and_hold_floats() -> None:
    db = rv.Database()
    db.create_table("r", {"x": "float64", "c": "string"})
    view = db.create_view(
        "v", "SELECT c, COFACTOR(CATEGORICAL(x), CATEGORICAL(c)) FROM r GROUP BY c"
    )
    db.insert("r", {"x": [1.5, -2.0, 1.5], "c": ["a", "a", None]} | {"c": ["a", "a", "b"]})
    ((_, a), (_, b)) = sorted(view.cofactors())
    assert a.categories == {"x": [-2.0, 1.5], "c": ["a"]}
    assert a.pairs("x", "c").tolist() == [[1], [1]]
    assert b.categories == {"x": [1.5], "c": ["b"]}
