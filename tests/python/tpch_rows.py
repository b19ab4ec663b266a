"""TPC-H in miniature: random rows of small domains, so that every one of its 22 queries finds some.

Names carry the prefixes of the standard. The values of a column are those that the queries name,
and a few beside them; keys meet, repeat and miss each other.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

PREFIX = {
    "region": "r",
    "nation": "n",
    "supplier": "s",
    "part": "p",
    "partsupp": "ps",
    "customer": "c",
    "orders": "o",
    "lineitem": "l",
}
_MONEY = pa.decimal128(12, 2)
_TYPES: dict[str, dict[str, pa.DataType]] = {
    "region": {"regionkey": pa.int64(), "name": pa.string()},
    "nation": {"nationkey": pa.int64(), "name": pa.string(), "regionkey": pa.int64()},
    "supplier": {
        "suppkey": pa.int64(),
        "name": pa.string(),
        "address": pa.string(),
        "nationkey": pa.int64(),
        "phone": pa.string(),
        "acctbal": _MONEY,
        "comment": pa.string(),
    },
    "part": {
        "partkey": pa.int64(),
        "name": pa.string(),
        "mfgr": pa.string(),
        "brand": pa.string(),
        "type": pa.string(),
        "size": pa.int64(),
        "container": pa.string(),
    },
    "partsupp": {
        "partkey": pa.int64(),
        "suppkey": pa.int64(),
        "availqty": pa.int64(),
        "supplycost": _MONEY,
    },
    "customer": {
        "custkey": pa.int64(),
        "name": pa.string(),
        "address": pa.string(),
        "nationkey": pa.int64(),
        "phone": pa.string(),
        "acctbal": _MONEY,
        "mktsegment": pa.string(),
        "comment": pa.string(),
    },
    "orders": {
        "orderkey": pa.int64(),
        "custkey": pa.int64(),
        "orderstatus": pa.string(),
        "totalprice": _MONEY,
        "orderdate": pa.date32(),
        "orderpriority": pa.string(),
        "shippriority": pa.int64(),
        "comment": pa.string(),
    },
    "lineitem": {
        "orderkey": pa.int64(),
        "partkey": pa.int64(),
        "suppkey": pa.int64(),
        "quantity": pa.int64(),
        "extendedprice": _MONEY,
        "discount": _MONEY,
        "tax": _MONEY,
        "returnflag": pa.string(),
        "linestatus": pa.string(),
        "shipdate": pa.date32(),
        "commitdate": pa.date32(),
        "receiptdate": pa.date32(),
        "shipinstruct": pa.string(),
        "shipmode": pa.string(),
    },
}
SCHEMAS = {
    table: pa.schema([(f"{PREFIX[table]}_{name}", of) for name, of in columns.items()])
    for table, columns in _TYPES.items()
}
_NATIONS = ["FRANCE", "GERMANY", "BRAZIL", "SAUDI ARABIA", "CANADA", "JAPAN"]
_REGIONS = ["EUROPE", "AMERICA", "ASIA", "AFRICA"]
_DAYS = [
    *(dt.date(1993, 7, 5), dt.date(1993, 10, 9), dt.date(1994, 1, 1), dt.date(1994, 5, 2)),
    *(dt.date(1995, 3, 10), dt.date(1995, 3, 20), dt.date(1995, 9, 15), dt.date(1996, 1, 20)),
    dt.date(1996, 3, 30),
]
_NUMBERS: dict[str, list[Any]] = {
    "regionkey": [0, 1, 2, 3],
    "nationkey": [0, 1, 2, 3, 4, 5],
    "suppkey": [1, 2, 3, 4],
    "partkey": [1, 2, 3, 4, 5],
    "custkey": [1, 2, 3, 4],
    "orderkey": list(range(1, 13)),
    "size": [1, 3, 5, 9, 15],
    "availqty": [0, 1, 40],
    "shippriority": [0],
    "quantity": [1, 5, 11, 20, 30, 160],
    "supplycost": [Decimal("1.00"), Decimal("2.50"), Decimal("100.01")],
    "acctbal": [Decimal("-3.10"), Decimal("0.00"), Decimal("7.25"), Decimal("9.99")],
    "totalprice": [Decimal("10.00"), Decimal("20.50")],
    "extendedprice": [Decimal("10.00"), Decimal("99.90"), Decimal("1234.56")],
    "discount": [Decimal("0.00"), Decimal("0.05"), Decimal("0.06")],
    "tax": [Decimal("0.00"), Decimal("0.08")],
    "orderdate": _DAYS,
    "shipdate": _DAYS,
    "commitdate": _DAYS,
    "receiptdate": _DAYS,
    "address": ["here", "there"],
    "phone": ["13-1", "31-2", "99-3"],
    "mktsegment": ["BUILDING", "MACHINERY"],
    "mfgr": ["Manufacturer#1"],
    "brand": ["Brand#12", "Brand#23", "Brand#34", "Brand#45"],
    "type": ["ECONOMY ANODIZED STEEL", "PROMO BRASS", "MEDIUM POLISHED TIN", "LARGE BRASS"],
    "container": ["SM CASE", "MED BOX", "MED BAG", "LG PKG"],
    "orderstatus": ["F", "O"],
    "orderpriority": ["1-URGENT", "2-HIGH", "5-LOW"],
    "returnflag": ["R", "A", "N"],
    "linestatus": ["F", "O"],
    "shipinstruct": ["DELIVER IN PERSON", "NONE"],
    "shipmode": ["MAIL", "SHIP", "AIR", "AIR REG"],
    "comment": ["", "special packed requests", "Customer heard Complaints"],
}
_NAMES: dict[str, list[str]] = {
    "region": _REGIONS,
    "nation": _NATIONS,
    "supplier": ["S1", "S2", "S3"],
    "part": ["forest green", "dim green", "forest", "blue"],
    "customer": ["C1", "C2"],
}


def row(rng: random.Random, table: str) -> dict[str, Any]:
    """A random row; a region and a nation have the name of their key."""
    found: dict[str, Any] = {}
    for name in _TYPES[table]:
        found[name] = rng.choice(_NAMES[table] if name == "name" else _NUMBERS[name])
    if table == "region":
        found["name"] = _REGIONS[found["regionkey"]]
    if table == "nation":
        found["name"] = _NATIONS[found["nationkey"]]
        found["regionkey"] = found["nationkey"] % len(_REGIONS)
    if table == "customer":
        found["custkey"] = rng.randrange(1, 9)
    if table == "lineitem":
        # They are committed to after they are shipped; one in four arrives later than that.
        day = dt.timedelta(days=1)
        found["commitdate"] = found["shipdate"] + rng.choice([3, 9, 15]) * day
        found["receiptdate"] = found["shipdate"] + rng.choice([1, 1, 5, 12]) * day
    return {f"{PREFIX[table]}_{name}": value for name, value in found.items()}


def queries() -> dict[str, str]:
    """The 22 texts by their names."""
    text = (Path(__file__).parent / "data" / "tpch.sql").read_text()
    parts = text.split("-- Q")[1:]
    found = {}
    for part in parts:
        number, sql = part.split("\n", 1)
        found[f"q{number.strip()}"] = sql.strip().removesuffix(";")
    return found


# By query: the columns of its ORDER BY among those that it shows.
ORDERS: dict[str, list[int]] = {
    **{"q1": [0, 1], "q2": [0, 2, 1, 3], "q3": [1, 2], "q4": [0], "q5": [1], "q7": [0, 1, 2]},
    **{"q8": [0], "q9": [0, 1], "q10": [2], "q11": [1], "q12": [0], "q13": [1, 0], "q15": [0]},
    **{"q16": [3, 0, 1, 2], "q18": [4, 3], "q20": [0], "q21": [1, 0], "q22": [0]},
}


def in_order(name: str, table: pa.Table, plain: Callable[[pa.Table], list[Any]]) -> list[Any]:
    """The sort keys of the rows, one after the other."""
    columns = ORDERS.get(name, [])
    found = [plain(table.slice(at, 1).select(columns)) for at in range(len(table))]
    return found if columns else []
