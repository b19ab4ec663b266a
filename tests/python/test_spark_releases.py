"""Differences between releases of PySpark: the exchange, and refusals of older ones."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", minversion="3.5")

import pyspark
from amounts import some
from oracle import comparable
from pyspark.sql import functions as sf
from ringview.errors import UnsupportedError
from ringview.spark import exchange, frames, options, prepare, releases, stream
from ringview.spark.session import check_java
from test_spark import QUERIES, expected, tables
from test_spark import frames as made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_hash_is_sparks(spark: SparkSession) -> None:
    draw = random.Random(1)
    values = [0, -1, 2**31 - 1, -(2**31), *(draw.randrange(-(2**31), 2**31) for _ in range(500))]
    rows = spark.createDataFrame([(value,) for value in values], "x int")
    hashed = rows.selectExpr("hash(x) AS h").collect()
    assert [row.h for row in hashed] == [exchange.murmur3(value) for value in values]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 200, 1000])
def test_keys_hash_to_every_partition(spark: SparkSession, count: int) -> None:
    keys = exchange.keys(count)
    rows = spark.createDataFrame([(key,) for key in keys], "x int")
    found = rows.selectExpr(f"pmod(hash(x), {count}) AS p").collect()
    assert [row.p for row in found] == list(range(count))


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("count", some([5, 64, 1, 2, 300], 2))
def test_a_row_is_in_the_partition_that_it_names(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, count: int, ansi: str
) -> None:
    before = str(spark.conf.get("spark.sql.ansi.enabled", "false"))
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    rows = spark.range(3 * count).selectExpr(f"CAST(id % {count} AS INT) AS p", "id")
    # Few rows in many partitions: what adaptive execution would put together, if it might.
    few = rows.where(f"p IN (0, {count - 1}) AND id < {count}")
    one = rows.selectExpr("CAST(0 AS INT) AS p", "id")
    try:
        for way in (exchange.to_partitions, exchange.by_hash):
            for numbered in (rows, few, one):
                exchanged = way(numbered, count, sf.col("p"))
                found = exchanged.select("p", sf.spark_partition_id().alias("at")).collect()
                assert all(row.p == row.at for row in found), (way, count)
                assert len(found) == numbered.count()
            assert way(few, count, sf.col("p")).rdd.getNumPartitions() == count
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


@pytest.mark.parametrize("name", ["by the root", "self-join on one side", "rows of a join"])
def test_cells_are_the_same_by_the_hash(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    counts: Counter[int] = Counter()

    def exchanged(frame: object, count: int, number: object) -> object:
        counts[count] += 1
        return exchange.by_hash(frame, count, number)  # type: ignore[arg-type]

    monkeypatch.setattr(frames, "to_partitions", exchanged)
    data = tables(5)
    many = dict.fromkeys(data, 10**7)
    steps = prepare(QUERIES[name], made(spark, data), partitions=7, rows=many)
    found = releases.arrow_table(steps.result())
    assert comparable(found) == expected(QUERIES[name], data)
    assert counts, steps.explain()


def test_arrow_tables_keep_types_without_rows(spark: SparkSession) -> None:
    kinds = "a long, t timestamp, n timestamp_ntz, d decimal(9,2), s struct<x: array<double>>"
    found = releases.arrow_table(spark.createDataFrame([], kinds))
    said = ["int64", "timestamp[us, tz=UTC]", "timestamp[us]", "decimal128(9, 2)"]
    assert [str(kind) for kind in found.schema.types[:4]] == said
    assert found.num_rows == 0


def test_an_older_pyspark_is_refused_partitioned_streams(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    rows = spark.readStream.schema("k long").parquet(str(tmp_path / "in"))
    asked = stream({"v": "SELECT COUNT(*) AS n FROM r"}, {"r": rows})
    monkeypatch.setattr(pyspark, "__version__", "4.0.5")
    said = r'"partitioned" needs PySpark 4\.1 or later, and 4\.0\.5 is installed.*mode="driver"'
    with pytest.raises(UnsupportedError, match=said):
        asked.write_stream(tmp_path / "state", mode="partitioned")
    with pytest.raises(UnsupportedError, match=r"4\.1 or later.*move its state where it runs"):
        asked.repartition(tmp_path / "state", 3)
    assert not (tmp_path / "state").exists()


def test_an_older_pyspark_is_refused_spark_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    remote = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    with pytest.raises(UnsupportedError, match=r"Spark Connect needs PySpark 4\.0 or later"):
        options.check_frame("r", remote())


def test_older_releases_run_on_older_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    check_java()
