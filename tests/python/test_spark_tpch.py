"""The 22 queries of TPC-H over Spark, unchanged, against DuckDB, in their order."""

from __future__ import annotations

import random

import pytest
from test_tpch import QUERIES, Rows, same
from tpch_rows import SCHEMAS, row

pytest.importorskip("pyspark", minversion="3.5")

from amounts import some
from any_pyspark import arrow_table
from oracle import Oracle
from pyspark.sql import SparkSession
from ringview.spark import views
from ringview.spark.types import spark_schema


@pytest.mark.parametrize(("partitions", "every"), some([(2, 4), (2, 1), (1, 1)]))
def test_the_queries_equal_duckdb(quick: SparkSession, partitions: int, every: int) -> None:
    """Each of the queries, or some of them."""
    rng = random.Random(3)
    held: Rows = {}
    for table in SCHEMAS:
        size = {"region": 8, "nation": 12, "lineitem": 90, "orders": 30}.get(table, 12)
        held[table] = [row(rng, table) for _ in range(size)]
    frames = {
        table: quick.createDataFrame([tuple(one.values()) for one in held[table]], of)
        for table, of in ((table, spark_schema(schema)) for table, schema in SCHEMAS.items())
    }
    sizes = {table: len(rows) for table, rows in held.items()}
    oracle = Oracle(SCHEMAS)
    queries = dict(list(QUERIES.items())[::every])
    found = views(queries, frames, partitions=partitions, rows=sizes)
    rows = 0
    for name in queries:
        result = arrow_table(found[name])
        same(name, result, oracle, held)
        rows += len(result)
    found.unpersist()
    assert rows > 0
