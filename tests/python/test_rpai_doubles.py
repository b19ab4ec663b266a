"""Rows compared with sums of doubles by an index: each exact and rounded once, as by fsum."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
import ringview as rv
from ringview.errors import InvalidValueError, NullKeyError

Row = tuple[int, float | None, float | None]
Rows = list[Row]


def total(values: Any) -> float | None:
    """SUM: exact, rounded once; NULL of nothing."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


def holds(left: float | None, right: float | None) -> bool:
    """`left < right`, and not NULL."""
    return left is not None and right is not None and left < right


def scaled(by: float, value: float | None) -> float | None:
    return None if value is None else by * value


def vwap(rows: Rows) -> Rows:
    share = scaled(0.75, total(volume for _, _, volume in rows))
    return [
        row
        for row in rows
        if row[1] is not None
        and holds(
            share, total(other[2] for other in rows if other[1] is not None and other[1] <= row[1])
        )
    ]


def first_half(rows: Rows) -> Rows:
    share = scaled(0.5, total(volume for _, _, volume in rows))
    before = [
        (row, total(o[2] for o in rows if None not in (o[1], row[1]) and o[1] > row[1]))  # type: ignore[operator]
        for row in rows
    ]
    return [row for row, sum in before if sum is not None and holds(scaled(2.0, sum), share)]


def of_key(rows: Rows) -> Rows:
    limit = scaled(0.3, total(volume for _, _, volume in rows))
    return [row for row in rows if holds(limit, total(o[2] for o in rows if o[0] == row[0]))]


QUERIES: dict[str, Callable[[Rows], Rows]] = {
    "WHERE 0.75 * (SELECT SUM(b1.volume) FROM b b1) < "
    "(SELECT SUM(b2.volume) FROM b b2 WHERE b2.price <= b.price)": vwap,
    "WHERE 2.0 * (SELECT SUM(b2.volume) FROM b b2 WHERE b2.price > b.price) < "
    "0.5 * (SELECT SUM(b1.volume) FROM b b1)": first_half,
    "WHERE 0.3 * (SELECT SUM(b1.volume) FROM b b1) < "
    "(SELECT SUM(b2.volume) FROM b b2 WHERE b2.k = b.k)": of_key,
}

DRAWS: dict[str, Callable[[random.Random], float | None]] = {
    "cents": lambda draw: round(draw.random() * 1000, 2),
    "thirds": lambda draw: draw.randrange(1, 10) / 3,
    "any size": lambda draw: draw.random() * 10.0 ** draw.randrange(-300, 300),
    "signs and NULL": lambda draw: draw.choice([None, 1.1, -1.1, 0.1, -0.3, 7e20, -7e20]),
    "ties": lambda draw: draw.choice([0.1, 0.2, 0.3, 0.7]),
}


@pytest.mark.parametrize("volumes", DRAWS)
@pytest.mark.parametrize("threads", [1, 2])
def test_views_equal_brute_force(volumes: str, threads: int) -> None:
    draw = random.Random(f"{volumes} {threads}")
    db = rv.Database(threads=threads)
    db.create_table("b", {"k": "int64", "price": "float64", "volume": "float64"})
    shown = "SELECT COUNT(*) AS n, SUM(b.k) AS k, SUM(b.price) AS price, SUM(b.volume) AS volume"
    views = {
        db.create_view(f"v{at}", f"{shown} FROM b {where}"): of
        for at, (where, of) in enumerate(QUERIES.items())
    }
    for view in views:
        assert "rpai; aggregate indexes" in view.explain(), view
    rows: Rows = []
    for step in range(60):
        with db.transaction() as tx:
            for _ in range(draw.randrange(1, 9)):
                if rows and draw.random() < 0.4:
                    gone = rows.pop(draw.randrange(len(rows)))
                    tx.delete("b", [dict(zip(("k", "price", "volume"), gone, strict=True))])
                else:
                    price = None if draw.random() < 0.05 else draw.randrange(40) / 10
                    row = (draw.randrange(6), price, DRAWS[volumes](draw))
                    rows.append(row)
                    tx.insert("b", [dict(zip(("k", "price", "volume"), row, strict=True))])
        for view, of in views.items():
            found = of(rows)
            [got] = view.to_arrow().to_pylist()
            assert got == {
                "n": len(found),
                "k": sum(row[0] for row in found) if found else None,
                "price": total(row[1] for row in found),
                "volume": total(row[2] for row in found),
            }, (step, of.__name__, rows)


def test_a_sum_that_leaves_the_doubles() -> None:
    db = rv.Database()
    db.create_table("b", {"k": "int64", "price": "float64", "volume": "float64"})
    where = next(iter(QUERIES))
    view = db.create_view("v", f"SELECT COUNT(*) AS n FROM b {where}")
    db.insert("b", {"k": [1, 2], "price": [1.0, 2.0], "volume": [1.5, 2.5]})
    assert view.scalar() == 1
    for volume in (math.inf, math.nan):
        with pytest.raises((InvalidValueError, NullKeyError)):
            db.insert("b", {"k": [3], "price": [3.0], "volume": [volume]})
        assert view.scalar() == 1
    db.insert("b", {"k": [3], "price": [3.0], "volume": [50.0]})
    assert view.scalar() == 1
    db.delete("b", {"k": [3], "price": [3.0], "volume": [50.0]})
    assert view.scalar() == 1
