"""Texts of other dialects and texts with parameters over Spark, as `create_view` takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from oracle import comparable
from ringview import errors

pytest.importorskip("pyspark", minversion="3.5")

import ringview.spark as rs
from any_pyspark import HAS_STATE, arrow_table
from pyspark.sql import DataFrame, SparkSession
from ringview.spark.streaming.checkpoint import difference
from ringview.spark.types import spark_schema

TABLES = {
    "t": pa.table(
        {
            "k": pa.array(["a", "a", "b", None, "b"]),
            "x": pa.array([7, 2, 5, 4, None], pa.int64()),
            "d": pa.array([date(2024, 1, day) for day in (1, 2, 3, 4, 5)]),
            "p": pa.array([Decimal("1.50"), None, Decimal("2.25"), Decimal("0.10"), None]),
        }
    ),
    "u": pa.table({"k": pa.array(["a", "b", "c"]), "y": pa.array([2, 0, 3], pa.int64())}),
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "backticks": ("SELECT `k`, SUM(x) AS `x` FROM t GROUP BY `k`", {"dialect": "spark"}),
    "division by zero": (
        "SELECT t.k, SUM(x / y) AS q FROM t JOIN u USING (k) GROUP BY t.k",
        {"dialect": "spark"},
    ),
    "whole quotients": ("SELECT x / 2 AS q FROM t", {"dialect": "postgres"}),
    "positions": (
        "SELECT k, COUNT(*) AS n FROM t WHERE d >= $1 AND p > $2 GROUP BY k",
        {"parameters": [date(2024, 1, 1), Decimal("0.5")]},
    ),
    "questions": ("SELECT x FROM t WHERE x > ? AND k = ?", {"parameters": [4, "a"]}),
    "names": (
        "SELECT SUM(x) AS x FROM t JOIN u USING (k) WHERE y < $most OR $all",
        {"parameters": {"most": 1.5, "all": False}},
    ),
}


def frames(spark: SparkSession) -> dict[str, DataFrame]:
    return {
        name: spark.createDataFrame(table.to_pylist(), spark_schema(table.schema))
        for name, table in TABLES.items()
    }


def kept(sql: str, **said: Any) -> pa.Table:
    db = rv.Database()
    for name, table in TABLES.items():
        db.create_table(name, table.schema)
        db.insert(name, table)
    return db.create_view("v", sql, **said).to_arrow()


@pytest.mark.parametrize("case", CASES)
def test_a_text_means_what_it_means_in_a_database(spark: SparkSession, case: str) -> None:
    sql, said = CASES[case]
    expected = comparable(kept(sql, **said))
    assert expected
    found = rs.evaluate(sql, frames(spark), partitions=2, **said)
    assert comparable(arrow_table(found)) == expected
    made = rs.plan(
        sql, {name: table.schema for name, table in TABLES.items()}, partitions=2, **said
    )
    assert comparable(arrow_table(made.run(frames(spark))["result"])) == expected


def test_views_that_read_each_other(spark: SparkSession) -> None:
    views = {
        "large": "SELECT `k`, SUM(`x`) AS `x` FROM t WHERE x > :least GROUP BY `k`",
        "most": "SELECT MAX(`x`) AS `x` FROM `large` WHERE x > :least",
    }
    found = rs.views(views, frames(spark), parameters={"least": 2}, dialect="spark")
    assert found["most"].collect() == [(7,)]
    found.unpersist()


def test_a_sample_of_a_text_with_parameters(spark: SparkSession) -> None:
    found = rs.sample(
        "SELECT `k`, x FROM t WHERE x > ?", frames(spark), 9, 1, parameters=[4], dialect="mysql"
    )
    assert sorted(map(tuple, found.collect())) == [("a", 7), ("b", 5)]


def test_what_has_no_value_and_what_is_no_dialect_is_refused(spark: SparkSession) -> None:
    sql = "SELECT x FROM t WHERE x > $1"
    for call in (rs.evaluate, rs.prepare):
        with pytest.raises(errors.InvalidValueError, match=r"\$1 has no value"):
            call(sql, frames(spark))
        with pytest.raises(errors.InvalidValueError, match="no parameter \\$2"):
            call(sql, frames(spark), parameters=[1, 2])
        with pytest.raises(errors.InvalidValueError, match="none of duckdb, postgres"):
            call(sql, frames(spark), parameters=[1], dialect="klingon")


def test_a_stream_goes_on_with_the_same_parameters_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "t").mkdir()
    checkpoint = tmp_path / "checkpoint"

    def write(number: int, *rows: Mapping[str, Any]) -> None:
        text = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / "t" / f"{number}.json").write_text(text)

    def writer(parameters: Any = (2,), dialect: str = "spark", **more: Any) -> Any:
        frame = spark.readStream.schema("k string, x long").json(str(tmp_path / "t"))
        views = {"v": "SELECT `k`, SUM(x) AS x FROM t WHERE x > ? GROUP BY `k`"}
        asked = rs.stream(views, {"t": frame}, parameters=parameters, dialect=dialect)
        return asked.write_stream(checkpoint, **more)

    write(1, {"k": "a", "x": 1}, {"k": "a", "x": 3})
    for mode in ("driver", "partitioned") if HAS_STATE else ("driver",):
        checkpoint = tmp_path / mode
        partitions: dict[str, Any] = {} if mode == "driver" else {"partitions": 2}
        with writer(mode=mode, **partitions).start() as q:
            q.process_all_available()
            assert q["v"].to_arrow().to_pylist() == [{"k": "a", "x": 3}]
        write(2, {"k": "a", "x": 4}, {"k": "b", "x": 2})
        with writer(mode=mode, **partitions).start() as q:
            q.process_all_available()
            assert q["v"].to_arrow().to_pylist() == [{"k": "a", "x": 7}]
        (tmp_path / "t" / "2.json").unlink()
        for wrong, said in (
            ({"parameters": [3]}, r"parameters was \['int 2'\] and is \['int 3'\] now"),
            ({"parameters": ["2"]}, r"is \['str 2'\] now"),
            ({"dialect": "mysql"}, "dialect was spark and is mysql now"),
        ):
            with pytest.raises(rs.CheckpointError, match=said):
                writer(mode=mode, **partitions, **wrong).start()


def test_checkpoints_that_say_nothing_of_texts_go_on() -> None:
    before: dict[str, Any] = {"tables": {}, "views": {}}
    for now, said in (
        ({"parameters": None, "dialect": "duckdb"}, None),
        ({"parameters": None, "dialect": "spark"}, "dialect was duckdb and is spark now"),
        ({"parameters": ["int 1"], "dialect": "duckdb"}, "parameters was None"),
    ):
        found = difference(before, {**before, **now})
        assert found is None if said is None else found is not None and found.startswith(said)
