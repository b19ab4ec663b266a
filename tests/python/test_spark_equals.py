"""Views over random DataFrames equal Spark SQL over the same, at 1, 3 and 8 partitions."""

from __future__ import annotations

import random

import pytest
from oracle import comparable

pytest.importorskip("pyspark", minversion="3.5")

from amounts import some
from any_pyspark import arrow_table
from cells import Tables
from pyspark.sql import SparkSession
from ringview.spark import prepare
from test_spark import frames
from test_spark_cells import QUERIES, SCHEMAS, expected, query, tables

PARTITIONS = (1, 3, 8)
# Spark has no correlation with a query further out than the next.
REFUSED = [sql for sql in QUERIES if "t.c = r.b" in sql]


def check(
    spark: SparkSession, sql: str, data: Tables, draw: random.Random, partitions: tuple[int, ...]
) -> None:
    given = frames(spark, data)
    for name, frame in given.items():
        frame.createOrReplaceTempView(name)
    said = expected(sql, data) if sql in REFUSED else comparable(arrow_table(spark.sql(sql)))
    for number in partitions:
        # The given sizes of tables choose the route, and not these few rows.
        sizes = {name: 10 ** draw.randrange(1, 8) for name in SCHEMAS}
        found = prepare(sql, given, partitions=number, rows=draw.choice([None, sizes, sizes]))
        assert comparable(arrow_table(found.result())) == said, (sql, found, data)


@pytest.mark.parametrize("place", range(len(QUERIES)))
def test_a_query_equals_spark_sql(quick: SparkSession, place: int) -> None:
    draw = random.Random(place)
    check(quick, QUERIES[place], tables(draw), draw, (PARTITIONS[place % 3],))


def check_random(spark: SparkSession, seed: int) -> None:
    draw = random.Random(seed)
    check(spark, query(draw), tables(draw, rows=20), draw, PARTITIONS)


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_random_queries_equal_spark_sql(quick: SparkSession, seed: int) -> None:
    check_random(quick, seed)


@pytest.mark.long
def test_many_random_queries_equal_spark_sql(quick: SparkSession) -> None:
    for seed in range(1_000, 1_300):
        check_random(quick, seed)
