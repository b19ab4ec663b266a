"""Samples with weights: chances, what is refused, and models that learn from a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors

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
    # The last order, which weighs less than nothing, is deleted; NaN is inserted.
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
