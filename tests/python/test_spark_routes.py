"""Destinations of DataFrames' rows: routes, sizes, data sent along; results stay the same."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest
from oracle import comparable

pytest.importorskip("pyspark", minversion="3.5")

from any_pyspark import arrow_table, from_arrow
from pyspark.sql import SparkSession
from ringview.spark import evaluate, plan, prepare
from ringview.spark.explained import explained
from test_spark import QUERIES, expected, frames, tables


def test_rows_are_where_the_route_says(spark: SparkSession) -> None:
    data = tables(seed=6)
    steps = prepare(QUERIES["broadcast"], frames(spark, data), partitions=3)
    assert steps.explain() == "routed by id: o, i; sent along: c; 3 partitions"
    lies = (
        steps.slots()
        .rdd.mapPartitionsWithIndex(
            lambda place, rows: [(row.atom, place, row.partition) for row in rows]
        )
        .collect()
    )
    assert all(place == wanted for _, place, wanted in lies)
    sent = {atom: sum(atom == found for found, _, _ in lies) for atom in range(3)}
    # Rows without a key cannot join: they stay at home; those of a small table are in the plan.
    [o, i] = [data[name].num_rows - data[name]["id"].null_count for name in ("orders", "items")]
    names = [relation.name for relation in steps.plan.grids[0].relations]
    assert dict(zip(names, sent.values(), strict=True))["items"] == i
    assert sent[names.index("orders")] <= o
    assert sent[names.index("customers")] == 0


def test_rows_need_not_be_counted(spark: SparkSession) -> None:
    data = tables(seed=6)
    rows = {"orders": 10**6, "items": 10**4, "customers": 10**7}
    steps = prepare(QUERIES["broadcast"], frames(spark, data), partitions=2, rows=rows)
    assert "customer" in steps.explain().split(":")[0]
    assert comparable(arrow_table(steps.result())) == expected(QUERIES["broadcast"], data)


def test_one_value_in_every_row(spark: SparkSession) -> None:
    rows = pa.table({"k": pa.array([7] * 500), "x": pa.array(range(500))})
    sql = "SELECT a.k, SUM(a.x * b.x) AS s, COUNT(*) AS n FROM r a JOIN r b USING (k) GROUP BY a.k"
    found = evaluate(sql, {"r": from_arrow(spark, rows)}, partitions=4)
    assert comparable(arrow_table(found)) == expected(sql, {"r": rows})


def test_one_partition_takes_no_shuffle(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tables(seed=9, orders=40)
    sql = QUERIES["by others"]
    for partitions, shuffled in ((1, False), (3, True)):
        rows = dict.fromkeys(data, 10**6)
        steps = prepare(sql, frames(spark, data), partitions=partitions, rows=rows)
        assert steps.slots().rdd.getNumPartitions() == partitions
        steps.slots().explain()
        assert ("Exchange" in capsys.readouterr().out) == shuffled
        assert comparable(arrow_table(steps.result())) == expected(sql, data)


def test_tables_that_are_joined_are_counted(spark: SparkSession) -> None:
    """A large one stays where it lies, and a small one is sent to it; groups by the key do not."""
    large = spark.range(120_000).selectExpr("id % 30000 AS k", "id AS x")
    keys = spark.range(30_000).selectExpr("id AS k", "id % 3 AS g")
    given = {"l": large, "r": keys}
    by = "SELECT {0}, COUNT(*) AS n FROM l JOIN r USING (k) GROUP BY {0}"
    few = prepare(by.format("g"), given, partitions=2)
    assert few.explain() == "in place: l; sent along: r; 2 partitions"
    assert [tuple(row) for row in few.result().orderBy("g").collect()] == [
        (group, 40_000) for group in range(3)
    ]
    assert prepare(by.format("k"), given, partitions=2).explain().startswith("routed by k")


def test_small_tables_are_sent_as_they_are(spark: SparkSession) -> None:
    """Of other types, with how often rows are there, with rows or none; no slot is theirs."""
    large = spark.range(700).selectExpr("id % 7 AS k", "id AS x")
    told = [(k, f"n{k % 2}", 2) for k in range(5)] + [
        (k, "n0", times) for k in (0, 6) for times in (1, -1)
    ]
    names = spark.createDataFrame(told, "k long, name string, m long")
    days = spark.createDataFrame(
        [("n0", datetime(2026, 1, 1)), ("n1", datetime(2026, 1, 2))], "name string, day timestamp"
    )
    sql = (
        "SELECT d.day, SUM(l.x) AS x, COUNT(*) AS n "
        "FROM l JOIN n USING (k) JOIN d USING (name) GROUP BY d.day"
    )
    sizes = {"l": 10**7, "n": 9, "d": 2}
    for few in (days, days.where("name = ''")):
        given = {"l": large, "n": names, "d": few}
        steps = prepare(sql, given, multiplicity={"n": "m"}, partitions=2, rows=sizes)
        assert steps.explain() == "in place: l; sent along: n, d; 2 partitions"
        assert steps.slots().columns == ["atom", "partition", "slot0", "slot1"]
        found = sorted((row.day.day, row.x, row.n) for row in steps.result().collect())
        sums = [2 * sum(x for x in range(700) if x % 7 in of) for of in ((0, 2, 4), (1, 3))]
        assert found == ([(1, sums[0], 600), (2, sums[1], 400)] if few is days else [])


def test_heavy_values_are_found_and_split(spark: SparkSession) -> None:
    left = spark.range(120_000).selectExpr("IF(id % 3 > 0, 7, id) AS k", "id % 10 AS x")
    right = spark.range(2_000).selectExpr("IF(id < 20, 7, id) AS k", "id AS y")
    sql = "SELECT x, COUNT(*) AS n, MAX(y) AS y FROM l JOIN r USING (k) GROUP BY x"
    steps = prepare(sql, {"l": left, "r": right}, partitions=2, rows={"l": 120_000, "r": 150_000})
    assert "heavy values of k split: 7" in steps.explain()
    left.createOrReplaceTempView("l")
    right.createOrReplaceTempView("r")
    assert comparable(arrow_table(steps.result())) == comparable(arrow_table(spark.sql(sql)))


@pytest.mark.parametrize(
    ("sql", "is_plain"),
    [
        ("SELECT SUM(x) AS s FROM r WHERE a > 1", True),
        ("SELECT a, x + 1 AS y FROM r WHERE x > 1", True),
        ("SELECT a, SUM(x) AS s FROM r GROUP BY a", False),
        ("SELECT SUM(p.x) AS s FROM r p JOIN r q ON p.a = q.a", False),
        ("SELECT MAX(n) AS n FROM (SELECT COUNT(*) AS n FROM r GROUP BY a)", False),
        ("SELECT a FROM r WHERE x > (SELECT AVG(x) FROM r)", False),
    ],
)
@pytest.mark.parametrize("partitions", [1, 2])
def test_explain_names_what_spark_computes_for_less(
    sql: str, is_plain: bool, partitions: int
) -> None:
    schema = pa.schema({"a": pa.int64(), "x": pa.int64()})
    found = explained(plan(sql, {"r": schema}, partitions=partitions), None)
    assert ("Spark SQL computes it for less" in found) is is_plain, found
