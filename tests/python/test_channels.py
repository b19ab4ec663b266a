"""Reports over three channels of sales, as in TPC-DS, against DuckDB after each batch.

Its features by name, in `data/channels.sql`: ROLLUP with GROUPING and RANK over aggregates,
INTERSECT and EXCEPT of channels, correlated scalar subqueries, FULL JOIN of channels, CASE as
pivots, windows over aggregates, self-joins of a WITH, and what its queries are made of beside.
"""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from oracle import Oracle, comparable

Row = dict[str, Any]
MONEY = pa.decimal128(9, 2)
STATES, CATEGORIES, CLASSES, BRANDS = ("TN", "OH", "CA"), ("Books", "Music", "Home"), "abc", "xyz"
BATCHES = 8


def numbers(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, pa.int64()) for name in names]


def texts(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, pa.string()) for name in names]


def money(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, MONEY) for name in names]


def sales(prefix: str, number: str, customer: str) -> pa.Schema:
    keys = numbers(*(f"{prefix}_{of}" for of in ("sold_date_sk", "item_sk", customer, number)))
    figures = ("list_price", "ext_sales_price", "net_profit")
    stores = numbers("ss_store_sk") if prefix == "ss" else []
    priced = money(*(f"{prefix}_{of}" for of in figures))
    return pa.schema([*keys, *stores, *numbers(f"{prefix}_quantity"), *priced])


def returns(prefix: str, number: str, amount: str, *others: str) -> pa.Schema:
    keys = (f"{prefix}_{of}" for of in ("item_sk", number, "return_quantity", *others))
    return pa.schema([*numbers(*keys), *money(f"{prefix}_{amount}")])


SCHEMAS = {
    "date_dim": pa.schema(
        [
            *numbers("d_date_sk", "d_year", "d_moy", "d_month_seq", "d_week_seq"),
            *texts("d_day_name"),
            ("d_date", pa.date32()),
        ]
    ),
    "item": pa.schema(
        [
            *numbers("i_item_sk"),
            *texts("i_category", "i_class", "i_brand"),
            *money("i_current_price"),
        ]
    ),
    "store": pa.schema([*numbers("s_store_sk"), *texts("s_state")]),
    "customer": pa.schema(
        [
            *numbers("c_customer_sk", "c_birth_year"),
            *texts("c_first_name", "c_last_name", "c_state"),
        ]
    ),
    "store_sales": sales("ss", "ticket_number", "customer_sk"),
    "catalog_sales": sales("cs", "order_number", "bill_customer_sk"),
    "web_sales": sales("ws", "order_number", "bill_customer_sk"),
    "store_returns": returns(
        *("sr", "ticket_number", "return_amt", "customer_sk", "store_sk", "returned_date_sk")
    ),
    "catalog_returns": returns("cr", "order_number", "return_amount"),
    "web_returns": returns("wr", "order_number", "return_amt"),
}
DAYS = [
    dt.date(2001, 1, 5) + dt.timedelta(days=days) for days in (0, 2, 3, 7, 30, 33, 60, 365, 395)
]
ITEMS, CUSTOMERS, STORES = 5, 4, 3


def queries() -> dict[str, str]:
    """The texts by their names."""
    text = (Path(__file__).parent / "data" / "channels.sql").read_text()
    parts = (part.partition("\n") for part in text.split("\n-- ")[1:])
    return {name: sql.strip() for name, _, sql in parts}


QUERIES = queries()


def dimensions() -> dict[str, list[Row]]:
    """The rows that stay."""
    first = DAYS[0].replace(day=1)
    return {
        "date_dim": [
            {
                **{"d_date_sk": at, "d_year": day.year, "d_moy": day.month, "d_date": day},
                "d_month_seq": 12 * (day.year - first.year) + day.month - 1,
                "d_week_seq": (day - first).days // 7,
                "d_day_name": day.strftime("%A"),
            }
            for at, day in enumerate(DAYS)
        ],
        "item": [
            {
                **{"i_item_sk": at, "i_category": CATEGORIES[at % 3], "i_class": CLASSES[at % 2]},
                **{"i_brand": BRANDS[at // 2], "i_current_price": 3 + 4 * at},
            }
            for at in range(ITEMS)
        ],
        "store": [{"s_store_sk": at, "s_state": STATES[at // 2]} for at in range(STORES)],
        "customer": [
            {
                **{"c_customer_sk": at, "c_birth_year": 1970 + at, "c_first_name": f"f{at % 2}"},
                **{"c_last_name": f"l{at % 3}", "c_state": STATES[at % 2]},
            }
            for at in range(CUSTOMERS)
        ],
    }


def row(rng: random.Random, table: str) -> Row:
    """A sale, or what was returned; numbers repeat, and some are missing."""
    domains = {
        **{"date_sk": len(DAYS), "item_sk": ITEMS, "customer_sk": CUSTOMERS, "store_sk": STORES},
        **{"number": 6, "quantity": 10},
    }

    def value(name: str, ty: pa.DataType) -> int | None:
        if ty == MONEY:
            return rng.choice([None, -5, 0, 1, 8, 12, 17, 30])
        most = next(most for suffix, most in domains.items() if name.endswith(suffix))
        return None if rng.random() < 0.05 else rng.randrange(most)

    return {field.name: value(field.name, field.type) for field in SCHEMAS[table]}


def table(name: str, rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMAS[name])


@pytest.mark.parametrize("name", QUERIES)
def test_each_report(name: str) -> None:
    sql, rng, oracle = QUERIES[name], random.Random(name), Oracle(SCHEMAS)
    held: dict[str, list[Row]] = {table: [] for table in SCHEMAS} | dimensions()
    changing = [table for table in SCHEMAS if table.endswith(("_sales", "_returns"))]
    db = rv.Database()
    for one, schema in SCHEMAS.items():
        db.create_table(one, schema)
        db.insert(one, table(one, held[one]))
    view = db.create_view(name, sql)
    most = 0
    for batch in range(BATCHES):
        with db.transaction() as tx:
            for one in changing:
                rows = held[one]
                left = [
                    rows.pop(rng.randrange(len(rows)))
                    for _ in range(rng.randrange(len(rows) // 3 + 1))
                ]
                come = [row(rng, one) for _ in range(rng.randrange(30 if batch == 0 else 8))]
                rows += come
                tx.insert(one, table(one, come))
                tx.delete(one, table(one, left))
        found = view.to_arrow()
        assert comparable(found) == oracle.rows(sql, held), sql
        most = max(most, len(found))
    assert most > 0
