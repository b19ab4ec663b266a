"""Samples with weights and with conditions across tables: chances, intervals, what is refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors
from ringview.sample import Bounds

LINES = "SELECT o.id AS id, price, units, note FROM orders o JOIN line l ON l.order_id = o.id"


@pytest.fixture
def db() -> rv.Database:
    db = rv.Database()
    db.create_table("orders", {"id": "int64", "price": "decimal128(12, 2)", "note": "string"})
    db.create_table("line", {"order_id": "int64", "units": "float32", "day": "date"})
    return db


def orders(ids: range, price: Callable[[int], str]) -> pa.Table:
    from decimal import Decimal

    rows = [{"id": i, "price": Decimal(price(i)), "note": f"note {i % 2}"} for i in ids]
    return pa.Table.from_pylist(
        rows, pa.schema([("id", "int64"), ("price", pa.decimal128(12, 2)), ("note", "string")])
    )


def lines(rows: list[tuple[int, float | None]]) -> dict[str, list[Any]]:
    return {
        "order_id": [row[0] for row in rows],
        "units": [row[1] for row in rows],
        "day": [None for _ in rows],
    }


@pytest.mark.parametrize("unique", [False, True])
def test_chances_are_those_of_the_weights(unique: bool) -> None:
    db = rv.Database()
    kinds = {"id": "int64", "price": "decimal128(12, 2)", "note": "string"}
    db.create_table("orders", kinds, unique=["id"] if unique else None)
    db.create_table("line", {"order_id": "int64", "units": "float32", "day": "date"})
    sample = db.create_sample("few", LINES, k=3, seed=1)
    db.insert("orders", orders(range(5), lambda i: f"{i}.50"))
    db.insert("line", lines([(i, float(u)) for i in range(5) for u in range(4)] + [(2, None)]))
    weights = {(i, u): (i + 0.5) * u for i in range(5) for u in range(1, 4)}
    total = sum(weights.values())
    runs = 20_000
    rows = sample.draw(runs, seed=3, weight="price * units").to_pylist()
    found = Counter((row["id"], row["units"]) for row in rows)
    assert set(found) == set(weights)
    expected = {key: runs * weight / total for key, weight in weights.items()}
    statistic = sum((found[key] - n) ** 2 / n for key, n in expected.items())
    # 14 degrees: above 50 with a chance of 10^-5.
    assert statistic < 50
    evenly = runs / len(weights)
    assert sum((found[key] - evenly) ** 2 / evenly for key in weights) > 50
    first = Counter[tuple[int, float]]()
    for seed in range(2000):
        drawn = sample.draw(15, seed=seed, weight="price * units", replacement=False).to_pylist()
        keys = [(row["id"], row["units"]) for row in drawn]
        assert sorted(keys) == sorted(weights)
        first[keys[0]] += 1
    statistic = sum((first[key] - n / 10) ** 2 * 10 / n for key, n in expected.items())
    assert statistic < 50


def test_weights_that_are_none_are_refused(db: rv.Database) -> None:
    sample = db.create_sample("few", LINES, k=3, seed=1)
    with pytest.raises(errors.InvalidValueError, match="no result weighs anything"):
        sample.draw(1, seed=1, weight="units")
    assert sample.draw(1, seed=1, weight="units", replacement=False).num_rows == 0
    db.insert("orders", orders(range(3), lambda i: f"{1 - i}.00"))
    db.insert("line", lines([(0, 1.0), (1, 2.0)]))
    cases: list[tuple[str, type[Exception], str]] = [
        ("price", errors.InvalidValueError, "it is -1 in some row"),
        ("note", errors.TypeMismatchError, "number"),
        ("unit", errors.UnknownColumnError, "unit"),
        ("price + units", errors.UnsupportedError, "no product of columns"),
        ("2 * units", errors.UnsupportedError, "no product of columns"),
        ("price, units", errors.UnsupportedError, "no product of columns"),
    ]
    for weight, error, words in cases:
        with pytest.raises(error, match=words):
            sample.draw(1, seed=1, weight=weight)
    assert sample.draw(4, seed=1, weight="units").num_rows == 4
    # The last order, which weighs less than nothing, goes; NaN comes.
    db.delete("orders", orders(range(2, 3), lambda i: f"{1 - i}.00"))
    assert sample.draw(4, seed=1, weight="(price) * units").num_rows == 4
    db.insert("line", lines([(1, float("nan"))]))
    with pytest.raises(errors.InvalidValueError, match="it is NaN in some row"):
        sample.draw(1, seed=1, weight="units")


def test_a_sample_is_learnt_from(db: rv.Database) -> None:
    sample = db.create_sample("few", LINES, k=200, seed=1)
    db.insert("orders", orders(range(50), lambda i: f"{3 * i + 2}.00"))
    db.insert("line", lines([(i % 50, float(i % 7)) for i in range(2000)]))
    model = rv.ml.LinearRegression(label="price", features=["id"]).fit(sample)
    found = {name: round(value, 6) for name, value in model.coefficients().items()}
    assert found == {"intercept": 2.0, "id": 3.0}
    rows = sample.to_arrow()
    assert sample.cofactor().count == 200
    assert sample.cofactor().names == ["id", "price", "units"]
    assert sample.cofactor().sums[0] == pytest.approx(sum(rows.column("id").to_pylist()))
    with pytest.raises(errors.TypeMismatchError, match="no column of numbers"):
        db.create_sample("texts", "SELECT note FROM orders", k=3, seed=1).cofactor()


# Conditions across tables.

KINDS = {
    "r": {"a": "int64", "b": "int64", "x": "decimal128(20, 2)", "t": "string"},
    "s": {"b": "int64", "c": "int32", "y": "float64", "t": "string"},
}
CONDITIONS = {
    "less": "a < c",
    "decimals and doubles": "x < y",
    "arithmetic": "a + c > 2 * x - 1",
    "or": "a > c OR r.t = 'one'",
    "or of rows": "r.t LIKE 'o%' OR s.t LIKE 't%' OR y > 2",
    "not": "NOT (a < c AND x >= y)",
    "strings": "r.t = s.t OR r.t <> 'one'",
    "null": "x IS NULL OR y > x",
    "pushed": "a < c AND r.a > 0 AND s.y < 3",
}


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    kinds = KINDS[name].items()
    return pa.Table.from_pylist(
        rows, pa.schema([(column, rv.arrow.data_type(kind)) for column, kind in kinds])
    )


def row(name: str, chance: random.Random) -> dict[str, Any]:
    from decimal import Decimal

    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.15 else value

    made = {
        "a": maybe(chance.randrange(5)),
        "b": chance.randrange(3),
        "c": maybe(chance.randrange(5)),
        "x": maybe(Decimal(chance.randrange(20)) / 4),
        "y": maybe(chance.choice([0.25, 1.0, 2.5, 4.0, float("nan")])),
        "t": maybe(chance.choice(["one", "two", "three"])),
    }
    return {column: made[column] for column in KINDS[name]}


def rows_of(found: pa.Table) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in found.to_pylist())


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("k", [3, 10_000])
def test_rows_pass_the_condition_at_every_checkpoint(condition: str, k: int) -> None:
    chance = random.Random(f"{condition} {k}")
    sql = f"SELECT a, c, x, y FROM r JOIN s ON r.b = s.b WHERE {CONDITIONS[condition]}"
    db = rv.Database()
    for name, kinds in KINDS.items():
        db.create_table(name, kinds)
    held: dict[str, list[dict[str, Any]]] = {name: [] for name in KINDS}
    sample = db.create_sample("few", sql, k=k, seed=5)
    seen = 0
    for step in range(10):
        with db.transaction() as tx:
            for name, rows in held.items():
                come = [row(name, chance) for _ in range(chance.randrange(6))]
                rows.extend(come)
                tx.insert(name, table(name, come))
                chance.shuffle(rows)
                gone = [rows.pop() for _ in range(min(len(rows), step % 3))]
                tx.delete(name, table(name, gone))
        with duckdb.connect() as con:
            for name, rows in held.items():
                con.register(name, table(name, rows))
            expected = rows_of(con.sql(sql).to_arrow_table())
        seen += expected.total()
        found = rows_of(sample.to_arrow())
        assert found <= expected
        assert len(sample) == min(k, expected.total())
        assert sample.join_size() == expected.total()
        assert rows_of(sample.draw(10**6, seed=step, replacement=False)) == expected
        if expected:
            assert set(rows_of(sample.draw(5, seed=step))) <= set(expected)
    assert seen > 20


def test_a_join_that_is_too_large_to_count_is_told_between_bounds() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    rows = range(3000)
    db.insert("r", {"a": rows, "b": [0] * 3000})
    db.insert("s", {"c": rows, "b": [0] * 3000})
    sql = "SELECT a, c FROM r JOIN s ON r.b = s.b WHERE a < c"
    true = {"count": 3000 * 2999 / 2, "avg": 2998 / 3}
    true["sum"] = true["count"] * true["avg"]
    true["group"] = 2000.0
    hits = Counter[str]()
    runs = 60
    for seed in range(runs):
        sample = db.create_sample(f"few {seed}", sql, k=300, seed=seed)
        assert sample.join_size() == Bounds(300, 9_000_000)
        assert "condition across tables" in sample.explain()
        whats: list[Any] = ["count", "avg", "sum"]
        for what in whats:
            found = sample.estimate(what, None if what == "count" else "a")
            hits[what] += found.low <= true[what] <= found.high
            assert found.low < found.value < found.high
        below = sample.estimate("count", by="a")
        assert all(one.low <= one.value <= one.high for one in below.values())
        db.drop_view(f"few {seed}")
    # Of 60 at 95%: 48 or fewer have a chance of 10^-5.
    assert min(hits.values()) > 48
    assert sum(hits.values()) < 3 * runs


def test_queries_within_are_refused() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    sql = "SELECT a FROM r WHERE a < (SELECT SUM(b) FROM r)"
    with pytest.raises(errors.UnsupportedError, match="subquer"):
        db.create_sample("few", sql, k=3, seed=1)
