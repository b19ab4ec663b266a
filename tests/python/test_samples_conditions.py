"""Samples with conditions across tables: rows that pass, what is known of how many there are."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
import ringview as rv
from amounts import some
from ringview import errors
from ringview.sample import Bounds
from sample_streams import Stream

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


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("k", some([3, 10_000]))
def test_rows_pass_the_condition_at_every_checkpoint(condition: str, k: int) -> None:
    sql = f"SELECT a, c, x, y FROM r JOIN s ON r.b = s.b WHERE {CONDITIONS[condition]}"
    Stream(KINDS, row).check(sql, k, steps=10, seed=condition)


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
