"""TPC-H queries that need views over views, on the stream with deletes: DuckDB's after each batch.

Q13 counts over inner joins, so customers without orders are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from oracle import comparable
from ringview import Database
from ringview.job import embedded, load
from ringview.job.model import ViewSpec
from ringview.job.read import Source
from test_examples_tpch import EXAMPLE, Mirror

# Q13 (customer distribution), Q15 (top supplier) and Q18 (large orders), of named views.
STACKS = {
    "orders_of": "SELECT c.custkey, COUNT(*) AS c_count FROM customer c JOIN orders o "
    "ON c.custkey = o.custkey GROUP BY c.custkey",
    "q13": "SELECT c_count, COUNT(*) AS custdist FROM orders_of GROUP BY c_count",
    "revenue": "SELECT suppkey, SUM(extendedprice * (1 - discount)) AS total FROM lineitem "
    "WHERE shipdate >= DATE '1996-01-01' AND shipdate < DATE '1996-04-01' GROUP BY suppkey",
    "top": "SELECT MAX(total) AS total FROM revenue",
    "q15": "SELECT s.suppkey, s.nationkey, revenue.total FROM supplier s "
    "JOIN revenue ON s.suppkey = revenue.suppkey JOIN top ON revenue.total = top.total",
    "large": "SELECT orderkey, SUM(quantity) AS quantity FROM lineitem GROUP BY orderkey "
    "HAVING SUM(quantity) > 200",
    "q18": "SELECT c.name, c.custkey, o.orderkey, o.orderdate, SUM(l.quantity) AS quantity "
    "FROM customer c JOIN orders o ON c.custkey = o.custkey "
    "JOIN lineitem l ON o.orderkey = l.orderkey JOIN large ON o.orderkey = large.orderkey "
    "GROUP BY c.name, c.custkey, o.orderkey, o.orderdate",
}
# The same as the standard has them: subqueries and WITH.
WHOLE = {
    "q13": "SELECT c_count, COUNT(*) AS custdist FROM (SELECT c.custkey, COUNT(o.orderkey) "
    "FROM customer c JOIN orders o ON c.custkey = o.custkey GROUP BY c.custkey) "
    "AS c_orders (c_custkey, c_count) GROUP BY c_count",
    "q15": "WITH revenue (supplier_no, total_revenue) AS (SELECT suppkey, "
    "SUM(extendedprice * (1 - discount)) FROM lineitem WHERE shipdate >= DATE '1996-01-01' "
    "AND shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH GROUP BY suppkey) "
    "SELECT suppkey, nationkey, total_revenue FROM supplier, revenue, "
    "(SELECT MAX(total_revenue) AS most FROM revenue) AS top "
    "WHERE suppkey = supplier_no AND total_revenue = most",
    "q18": "SELECT c.name, c.custkey, o.orderkey, o.orderdate, SUM(l.quantity) AS quantity "
    "FROM customer c, orders o, lineitem l, (SELECT DISTINCT orderkey FROM "
    "(SELECT orderkey, SUM(quantity) AS q FROM lineitem GROUP BY orderkey) AS sums "
    "WHERE q > 200) AS large WHERE o.orderkey = large.orderkey AND c.custkey = o.custkey "
    "AND o.orderkey = l.orderkey GROUP BY c.name, c.custkey, o.orderkey, o.orderdate",
}


def check(mirror: Mirror, db: Database, views: Mapping[str, str]) -> None:
    for name in views:
        expected = mirror.connection.sql(f"SELECT * FROM {name}").to_arrow_table()
        found = db[name].to_arrow()
        assert found.column_names == expected.column_names
        assert comparable(found) == comparable(expected), name


@pytest.mark.parametrize("views", [STACKS, WHOLE], ids=["named", "whole"])
def test_stacks_equal_duckdb_after_every_batch(views: dict[str, str]) -> None:
    specs = tuple(ViewSpec(name, sql) for name, sql in views.items())
    job = replace(load(EXAMPLE), views=specs, outputs=(), batch_size=700)
    sources = [Source(spec) for spec in job.tables]
    mirror, db = Mirror(sources), embedded.database(job, sources)
    for name, sql in views.items():
        mirror.connection.execute(f"CREATE VIEW {name} AS {sql}")
    most = dict.fromkeys(views, 0)
    for step in embedded.steps(job, db, sources):
        mirror.apply(step.parts)
        if all(name in db for name in views):
            check(mirror, db, views)
            most = {name: max(rows, len(db[name])) for name, rows in most.items()}
    # Each of them has had something to say.
    assert all(most.values()), most
    changing = [source.spec.name for source in sources if not source.spec.static]
    for table in reversed(changing):
        db.delete(table, mirror.rows(table))
        mirror.connection.execute(f"DELETE FROM {table}")
        check(mirror, db, views)
    assert {name: len(db[name]) for name in views if name != "top"} == {
        name: 0 for name in views if name != "top"
    }
    # An aggregate without groups has its one row over nothing.
    if "top" in views:
        assert db["top"].scalar() is None
