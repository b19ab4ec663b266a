"""Values of every type: they are returned as inserted, and sums are as exact as promised."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors

MOST = 2**63 - 1


def test_decimals_are_exact() -> None:
    db = rv.Database()
    db.create_table("r", {"p": "decimal128(12, 2)", "q": "decimal128(12, 4)"})
    view = db.create_view("v", "SELECT SUM(p) AS p, SUM(p * (1 - q)) AS d, AVG(p) AS m FROM r")
    chance = random.Random(1)
    rows = [
        {"p": Decimal(chance.randrange(-(10**12), 10**12)) / 100, "q": Decimal(i) / 10_000}
        for i in range(1_000)
    ]
    db.insert("r", rows)
    db.delete("r", rows[::3])
    left = [row for i, row in enumerate(rows) if i % 3]
    found = view.to_arrow().to_pylist()[0]
    assert found["p"] == sum(row["p"] for row in left)
    assert found["d"] == sum(row["p"] * (1 - row["q"]) for row in left)
    assert math.isclose(found["m"], sum(row["p"] for row in left) / len(left), rel_tol=1e-15)


def test_sums_of_floats_are_the_nearest_doubles() -> None:
    """After many inserts and deletes, as if what is left had been added without rounding."""
    db = rv.Database()
    db.create_table("r", {"w": "float64"})
    view = db.create_view("v", "SELECT SUM(w) AS s FROM r")
    chance = random.Random(2)
    values = [chance.gauss(0, 1) * 10.0 ** chance.randrange(6) for _ in range(20_000)]
    for i in range(0, 20_000, 500):
        db.insert("r", {"w": values[i : i + 500]})
        if i:
            db.delete("r", {"w": values[i - 500 : i - 250]})
    left = [w for i, w in enumerate(values) if i % 500 >= 250 or i >= 19_500]
    assert view.scalar() == math.fsum(left)
    db.delete("r", {"w": left})
    assert view.scalar() is None


VALUES: dict[str, list[Any]] = {
    "bool": [True, False],
    "int8": [-128, 0, 127],
    "int16": [-(2**15), 0, 2**15 - 1],
    "int32": [-(2**31), 0, 2**31 - 1],
    "int64": [-(2**63), -1, 0, MOST],
    "uint8": [0, 255],
    "uint16": [0, 2**16 - 1],
    "uint32": [0, 2**32 - 1],
    "uint64": [0, 2**63, 2**64 - 1],
    "float32": [-math.inf, -1.5, 0.0, 2.0**-149, math.inf],
    "float64": [-math.inf, -1.5, 0.0, 5e-324, 1.7e308, math.inf],
    "decimal128(5, 2)": [Decimal("-999.99"), Decimal("0.00"), Decimal("999.99")],
    "decimal128(38, 0)": [Decimal(-(10**38) + 1), Decimal(0), Decimal(10**38 - 1)],
    "string": ["", "a", "a\x00b", "é", "🦀", "x" * 10_000],
    "date32": [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)],
    "timestamp[s]": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)],
    "timestamp[ms]": [datetime(1969, 12, 31, 23, 59, 59, 999_000)],
    "timestamp[us]": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)],
    "timestamp[ns]": [datetime(1700, 1, 1), datetime(2200, 1, 1, 0, 0, 0, 1)],
    "timestamp[us, tz=UTC]": [datetime(1995, 1, 31, 12, tzinfo=UTC)],
}


@pytest.mark.parametrize("kind", VALUES)
def test_every_type_groups_joins_and_comes_back(kind: str) -> None:
    values = [*VALUES[kind], None]
    db = rv.Database()
    schema = db.create_table("r", {"x": kind, "n": "int64"}).schema
    db.create_table("s", {"x": kind, "m": "int64"})
    groups = db.create_view("groups", "SELECT x, SUM(n) AS n, COUNT(x) AS c FROM r GROUP BY x")
    joined = db.create_view("joined", "SELECT x, SUM(n * m) AS v FROM r NATURAL JOIN s GROUP BY x")
    db.insert("r", pa.table({"x": values * 2, "n": [1] * 2 * len(values)}, schema=schema))
    db.insert("s", {"x": values, "m": list(range(1, len(values) + 1))})
    assert groups.to_arrow().schema.field("x").type == schema.field("x").type
    found = {row["x"]: (row["n"], row["c"]) for row in groups.to_arrow().to_pylist()}
    assert found == {value: (2, 0 if value is None else 2) for value in values}
    products = {row["x"]: row["v"] for row in joined.to_arrow().to_pylist()}
    assert products == {value: 2 * (i + 1) for i, value in enumerate(VALUES[kind])}
    with pytest.raises(errors.OverDeleteError):
        db.delete("r", pa.table({"x": values * 3, "n": [1] * 3 * len(values)}, schema=schema))
    db.delete("r", pa.table({"x": values * 2, "n": [1] * 2 * len(values)}, schema=schema))
    assert len(groups) == len(joined) == 0
