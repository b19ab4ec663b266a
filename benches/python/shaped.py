"""Tables shaped as those of TPC-DS and LDBC are, and the paper's queries over them.

Rows are drawn from a seed: keys of the dimensions are dense, facts refer to them, a few often. At
scale 1 there are as many rows as the benchmarks have; smaller scales have fewer facts and people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Query:
    """Join that is sampled: tables with their columns, those that are unique, and the SQL."""

    name: str
    tables: dict[str, pa.RecordBatch]
    unique: Mapping[str, str | list[str]]
    sql: str


class Rows:
    """Columns of ids, from one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)

    def some(self, rows: int, of: int) -> Ids:
        """So many ids of so many, all as often."""
        return self.chance.integers(0, of, rows, dtype=np.int32)

    def skewed(self, rows: int, of: int) -> Ids:
        """So many ids of so many, the small ones often."""
        return (self.chance.random(rows) ** 2 * of).astype(np.int32)


def batch(**columns: Ids) -> pa.RecordBatch:
    """Columns under their names."""
    return pa.RecordBatch.from_pydict(columns)


def ids(rows: int) -> Ids:
    """0, 1, .."""
    return np.arange(rows, dtype=np.int32)


def sales(scale: float, seed: int = 1) -> dict[str, pa.RecordBatch]:
    """Store sales, of which one in ten is returned, catalog sales, and their dimensions."""
    rows = Rows(seed)
    sold, bought = int(2_880_404 * scale), int(1_441_548 * scale)
    customers, items, days, groups = max(int(100_000 * scale), 10), 18_000, 1_826, 7_200
    item, customer = rows.skewed(sold, items), rows.skewed(sold, customers)
    ticket = np.sort(rows.some(sold, max(sold // 12, 1)))
    back = rows.chance.permutation(sold)[: sold // 10]
    return {
        "store_sales": batch(
            ss_item_sk=item,
            ss_ticket_number=ticket,
            ss_customer_sk=customer,
            ss_sold_date_sk=rows.some(sold, days),
        ),
        "store_returns": batch(
            sr_item_sk=item[back], sr_ticket_number=ticket[back], sr_customer_sk=customer[back]
        ),
        "catalog_sales": batch(
            cs_bill_customer_sk=rows.skewed(bought, customers),
            cs_sold_date_sk=rows.some(bought, days),
        ),
        "date_dim": batch(d_date_sk=ids(days)),
        "customer": batch(
            c_customer_sk=ids(customers), c_current_hdemo_sk=rows.some(customers, groups)
        ),
        "household_demographics": batch(
            hd_demo_sk=ids(groups), hd_income_band_sk=rows.some(groups, 20)
        ),
        "item": batch(i_item_sk=ids(items), i_category_id=rows.some(items, 10)),
    }


def network(scale: float, seed: int = 2) -> dict[str, pa.RecordBatch]:
    """People in places, their friendships, and their messages that have tags."""
    rows = Rows(seed)
    people, messages = max(int(10_000 * scale), 10), int(3_000_000 * scale)
    tagged, known = int(3_600_000 * scale), int(360_000 * scale)
    tags, kinds, cities, countries = 16_080, 71, 1_343, 111
    return {
        "message": batch(m_id=ids(messages), m_creator_person_id=rows.skewed(messages, people)),
        "has_tag": batch(
            ht_message_id=rows.some(tagged, messages), ht_tag_id=rows.skewed(tagged, tags)
        ),
        "tag": batch(t_id=ids(tags), t_type_tag_class_id=rows.skewed(tags, kinds)),
        "tag_class": batch(tc_id=ids(kinds)),
        "person": batch(p_id=ids(people), p_location_city_id=rows.skewed(people, cities)),
        "city": batch(ci_id=ids(cities), ci_part_of_place_id=rows.some(cities, countries)),
        "country": batch(co_id=ids(countries)),
        "knows": batch(
            k_person1_id=rows.skewed(known, people), k_person2_id=rows.skewed(known, people)
        ),
    }


UNIQUE = {
    "date_dim": "d_date_sk",
    "customer": "c_customer_sk",
    "household_demographics": "hd_demo_sk",
    "item": "i_item_sk",
    "message": "m_id",
    "tag": "t_id",
    "tag_class": "tc_id",
    "person": "p_id",
    "city": "ci_id",
    "country": "co_id",
}
SALES = {
    "QX": (
        "store_sales store_returns catalog_sales date_dim",
        "SELECT ss.ss_item_sk, ss.ss_ticket_number, cs.cs_bill_customer_sk, d1.d_date_sk AS sold, "
        "d2.d_date_sk AS bought FROM store_sales ss JOIN store_returns sr "
        "ON ss.ss_item_sk = sr.sr_item_sk AND ss.ss_ticket_number = sr.sr_ticket_number "
        "JOIN catalog_sales cs ON sr.sr_customer_sk = cs.cs_bill_customer_sk "
        "JOIN date_dim d1 ON d1.d_date_sk = ss.ss_sold_date_sk "
        "JOIN date_dim d2 ON d2.d_date_sk = cs.cs_sold_date_sk",
    ),
    "QY": (
        "store_sales customer household_demographics",
        "SELECT ss.ss_item_sk, ss.ss_ticket_number, c1.c_customer_sk AS c1, c2.c_customer_sk AS c2 "
        "FROM store_sales ss JOIN customer c1 ON ss.ss_customer_sk = c1.c_customer_sk "
        "JOIN household_demographics h1 ON c1.c_current_hdemo_sk = h1.hd_demo_sk "
        "JOIN household_demographics h2 ON h1.hd_income_band_sk = h2.hd_income_band_sk "
        "JOIN customer c2 ON h2.hd_demo_sk = c2.c_current_hdemo_sk",
    ),
    "QZ": (
        "store_sales customer household_demographics item",
        "SELECT ss.ss_ticket_number, c2.c_customer_sk AS c2, i1.i_item_sk AS i1, "
        "i2.i_item_sk AS i2 "
        "FROM store_sales ss JOIN customer c1 ON ss.ss_customer_sk = c1.c_customer_sk "
        "JOIN household_demographics h1 ON c1.c_current_hdemo_sk = h1.hd_demo_sk "
        "JOIN item i1 ON ss.ss_item_sk = i1.i_item_sk "
        "JOIN household_demographics h2 ON h1.hd_income_band_sk = h2.hd_income_band_sk "
        "JOIN customer c2 ON h2.hd_demo_sk = c2.c_current_hdemo_sk "
        "JOIN item i2 ON i1.i_category_id = i2.i_category_id",
    ),
}
Q10 = (
    "SELECT m.m_id, t1.t_id AS t1, t2.t_id AS t2, p1.p_id AS p1, p2.p_id AS p2 FROM message m "
    "JOIN has_tag h1 ON m.m_id = h1.ht_message_id JOIN tag t1 ON h1.ht_tag_id = t1.t_id "
    "JOIN has_tag h2 ON m.m_id = h2.ht_message_id JOIN tag t2 ON h2.ht_tag_id = t2.t_id "
    "JOIN tag_class tc ON t2.t_type_tag_class_id = tc.tc_id "
    "JOIN person p1 ON m.m_creator_person_id = p1.p_id "
    "JOIN city ci ON p1.p_location_city_id = ci.ci_id "
    "JOIN country co ON ci.ci_part_of_place_id = co.co_id "
    "JOIN knows k ON p1.p_id = k.k_person1_id JOIN person p2 ON k.k_person2_id = p2.p_id"
)


def relational(name: str, scale: float) -> Query:
    """One of QX, QY, QZ and Q10.

    Raises:
        KeyError: It is none of these.
    """
    if name == "Q10":
        return Query(name, network(scale), UNIQUE, Q10)
    used, sql = SALES[name]
    made = sales(scale)
    return Query(name, {table: made[table] for table in used.split()}, UNIQUE, sql)


def of_edges(name: str, edges: Ids) -> Query:
    """A line, a star or the dumbbell over copies of the edges: line-3, star-4, ...

    Raises:
        ValueError: It is none of these.
    """
    kind, _, number = name.partition("-")
    if name == "dumbbell":
        return _over(edges, 7, name, _DUMBBELL, unique=True)
    if kind not in ("line", "star") or not number.isdecimal() or int(number) < 2:
        raise ValueError(f"{name} is not line-N, star-N or dumbbell")
    copies = range(1, int(number) + 1)
    end = "dst" if kind == "line" else "src"
    joined = "".join(
        f" JOIN g{at} ON g{at - 1 if kind == 'line' else 1}.{end} = g{at}.src" for at in copies[1:]
    )
    columns = ", ".join(f"g{at}.src AS s{at}, g{at}.dst AS d{at}" for at in copies)
    return _over(edges, int(number), name, f"SELECT {columns} FROM g1{joined}", unique=False)


_DUMBBELL = """SELECT g1.src AS a, g1.dst AS b, g2.dst AS c, g4.src AS d, g4.dst AS e, g5.dst AS f
    FROM g1 JOIN g2 ON g1.dst = g2.src JOIN g3 ON g2.dst = g3.src AND g3.dst = g1.src
    JOIN g7 ON g7.src = g1.src
    JOIN g4 ON g4.src = g7.dst JOIN g5 ON g4.dst = g5.src JOIN g6 ON g5.dst = g6.src
        AND g6.dst = g4.src"""


def _over(edges: Ids, copies: int, name: str, sql: str, *, unique: bool) -> Query:
    tables = {f"g{at}": batch(src=edges[0], dst=edges[1]) for at in range(1, copies + 1)}
    return Query(name, tables, {of: ["src", "dst"] for of in tables if unique}, sql)
