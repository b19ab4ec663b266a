"""Everyday SQL over Spark: it takes the queries of a database, with DuckDB's result.

Random queries of every shape over few rows with NULLs and duplicates, given as rows or as changes
that leave them; ordered rows are returned in their order. Spark has no unsigned integers, so tables
here have none.
"""

from __future__ import annotations

import random
from typing import Any

import duckdb
import everyday
import everyday_queries
import pyarrow as pa
import pytest
import ringview as rv
from amounts import AT_LENGTH
from everyday_queries import Asked
from oracle import Oracle, comparable
from test_everyday_sql import QUERIES, Rows

pytest.importorskip("pyspark", minversion="3.5")

from any_pyspark import arrow_table
from pyspark.sql import DataFrame, SparkSession
from ringview.spark import evaluate, plan, prepare, raising, views
from ringview.spark.explained import explained
from ringview.spark.types import spark_schema

_SIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.int64(),
}
SCHEMAS = {
    name: pa.schema([pa.field(f.name, _SIGNED.get(f.type, f.type)) for f in schema])
    for name, schema in everyday.SCHEMAS.items()
}
SHAPES = sorted(everyday_queries.Queries(random.Random(0)).shapes)
TIMES = "times it is there"


def frames(
    spark: SparkSession, held: Rows, changes: random.Random | None = None
) -> dict[str, DataFrame]:
    """Rows as DataFrames; if there are random numbers, as changes that leave these rows."""
    made = {}
    for name, rows in held.items():
        schema = SCHEMAS[name]
        values: list[tuple[Any, ...]] = [tuple(row.values()) for row in rows]
        if changes is not None:
            gone = [tuple(row.values()) for row in everyday.rows(changes, name, 3)]
            told = [(*row, times) for row in values for times in (2, -1)]
            told += [(*row, times) for row in gone for times in (1, -1)]
            changes.shuffle(told)
            schema, values = schema.append(pa.field(TIMES, pa.int32())), told
        made[name] = spark.createDataFrame(values, spark_schema(schema))
    return made


def database(held: Rows) -> rv.Database:
    db = rv.Database()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
        db.insert(name, pa.Table.from_pylist(held[name], schema=schema))
    return db


def expected(asked: Asked, db: rv.Database, oracle: Oracle, held: Rows) -> pa.Table | None:
    """DuckDB's result, of a query that both it and a database take."""
    try:
        found = oracle.query(asked.sql, held)
        db.create_view("v", asked.sql)
        db.drop_view("v")
    except (duckdb.Error, rv.errors.RingviewError):
        return None
    return found


def same(found: pa.Table, wanted: pa.Table, asked: Asked) -> None:
    assert comparable(found) == comparable(wanted), asked
    if asked.is_ordered:
        for at in range(len(wanted)):
            assert comparable(found.slice(at, 1)) == comparable(wanted.slice(at, 1)), asked


def check(spark: SparkSession, seed: int, shape: str | None, number: int) -> None:
    """Queries that both take are equal over Spark."""
    rng = random.Random(seed)
    oracle = Oracle(SCHEMAS)
    held = {name: everyday.rows(rng, name, 7) for name in SCHEMAS}
    db = database(held)
    given = frames(spark, held)
    counted = frames(spark, held, rng)
    while number:
        asked = everyday_queries.Queries(rng).one(shape)
        wanted = expected(asked, db, oracle, held)
        if wanted is None:
            continue
        number -= 1
        partitions, are_counted = rng.choice([1, 2, 2, 3]), rng.random() < 0.3
        tables, times = (counted, TIMES) if are_counted else (given, None)
        sizes = {name: 10 ** rng.randrange(1, 8) for name in SCHEMAS}
        rows = rng.choice([None, sizes])
        try:
            found = prepare(asked.sql, tables, multiplicity=times, partitions=partitions, rows=rows)
        except rv.errors.UnsupportedError as refused:
            if "lists" in str(refused) or "ASOF" in str(refused):
                continue
            raise
        same(arrow_table(found.result()), wanted, asked)
        found.unpersist()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "asof"])
def test_a_query_of_each_shape_equals_duckdb(quick: SparkSession, shape: str) -> None:
    check(quick, SHAPES.index(shape), shape, 2 if AT_LENGTH else 1)


def test_asof_joins_are_refused(quick: SparkSession) -> None:
    held = {name: everyday.rows(random.Random(3), name, 7) for name in SCHEMAS}
    asked = everyday_queries.Queries(random.Random(3)).one("asof")
    with pytest.raises(rv.errors.UnsupportedError, match="ASOF join is not computed over"):
        prepare(asked.sql, frames(quick, held))


LISTS = [
    "SELECT a, ARRAY_AGG(b ORDER BY b) AS l FROM r GROUP BY a",
    "SELECT HISTOGRAM(s) AS h FROM r",
    "SELECT [a, b] AS l, {'x': a, 'y': s} AS one FROM r",
    "SELECT len(LIST(b)) AS n FROM r",
]


@pytest.mark.parametrize("sql", LISTS)
def test_lists_are_refused(quick: SparkSession, sql: str) -> None:
    held = {name: everyday.rows(random.Random(3), name, 7) for name in SCHEMAS}
    with pytest.raises(rv.errors.UnsupportedError, match="lists, structs and maps"):
        prepare(sql, frames(quick, held))


def test_recursions_are_refused(quick: SparkSession) -> None:
    sql = (
        "WITH RECURSIVE q(a) AS (SELECT a FROM r UNION SELECT a + 1 FROM q WHERE a < 9) SELECT a "
        "FROM q"
    )
    held = {name: everyday.rows(random.Random(3), name, 7) for name in SCHEMAS}
    with pytest.raises(rv.errors.UnsupportedError, match="WITH RECURSIVE is not computed over"):
        prepare(sql, frames(quick, held))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_random_queries_equal_duckdb(quick: SparkSession, seed: int) -> None:
    check(quick, seed, None, 100)


@pytest.mark.long
def test_what_people_ask_equals_duckdb(quick: SparkSession) -> None:
    rng = random.Random(0)
    held = {name: everyday.rows(rng, name, 9) for name in SCHEMAS}
    given, oracle = frames(quick, held), Oracle(SCHEMAS)
    for sql in QUERIES:
        wanted = oracle.query(sql, held)
        is_ordered = sql.upper().rpartition(")")[2].find("ORDER BY") >= 0
        same(arrow_table(evaluate(sql, given)), wanted, Asked("", sql, is_ordered))


def test_views_read_each_other(quick: SparkSession) -> None:
    rng = random.Random(5)
    held = {name: everyday.rows(rng, name, 9) for name in SCHEMAS}
    db = database(held)
    asked = {
        "months": "SELECT month(d) AS m, SUM(CASE WHEN b > 0 THEN b END) AS t FROM r GROUP BY 1",
        "outer_rows": "SELECT r.a, r.s, s.t FROM r LEFT JOIN s USING (a)",
        "texts": "SELECT t FROM outer_rows EXCEPT ALL SELECT s FROM r WHERE a = 1",
        "best": "SELECT m, t FROM months ORDER BY t DESC NULLS LAST, m LIMIT 2",
        "sum_of_best": "SELECT SUM(t) AS t, COUNT(*) AS n FROM best",
    }
    found = views(asked, frames(quick, held), partitions=2)
    for name, sql in asked.items():
        wanted = db.create_view(name, sql).to_arrow()
        assert comparable(arrow_table(found[name])) == comparable(wanted), name
    found.unpersist()


ORDERED = "SELECT a, b FROM r ORDER BY b DESC NULLS LAST, a"
TEXTS = {
    "SELECT a + 1 AS x FROM r": "computed: computed where rows lie: r\n"
    "result: computed where rows lie: computed; "
    "Spark SQL computes it for less, as it neither joins nor groups",
    ORDERED: "computed: computed where rows lie: r\nresult: sorted: computed",
    f"{ORDERED} LIMIT 3 OFFSET 2": "computed: computed where rows lie: r\n"
    "result: first 5 of each task, then in 1 task: computed",
    "SELECT a, MEDIAN(f) AS m FROM r GROUP BY a": "groups: by a in 4 tasks: r\n"
    "result: computed where rows lie: groups",
    "SELECT MEDIAN(f) AS m FROM r": "groups: in 1 task: r\nresult: computed where rows lie: groups",
    "SELECT ts FROM r WHERE ts > now()": "timed: chosen by time where rows lie: r\n"
    "result: computed where rows lie: timed",
}


@pytest.mark.parametrize("sql", TEXTS)
def test_it_is_told_what_runs_where(sql: str) -> None:
    made = plan(sql, SCHEMAS, partitions=4, now="2024-02-01")
    assert explained(made, None) == TEXTS[sql]


def test_all_rows_come_in_their_order(spark: SparkSession) -> None:
    frame = spark.range(0, 1000, numPartitions=8).selectExpr("id * 7 % 10 AS a", "id AS b")
    rows = evaluate(ORDERED, {"r": frame}, partitions=4).collect()
    assert [row.b for row in rows] == list(range(999, -1, -1))
    rows = evaluate("SELECT b FROM r ORDER BY a, b DESC LIMIT 3 OFFSET 99", {"r": frame}).collect()
    assert [row.b for row in rows] == [0, 993, 983]


def test_the_clock_is_what_is_said(quick: SparkSession) -> None:
    held = {name: everyday.rows(random.Random(1), name, 9) for name in SCHEMAS}
    given, counted = frames(quick, held), frames(quick, held, random.Random(2))
    sql = "SELECT a, ts FROM r WHERE ts <= now() - INTERVAL '1 hour' AND b IS NOT NULL"
    with pytest.raises(rv.errors.InvalidValueError, match="now="):
        evaluate(sql, given)
    for moment in ("2024-01-01", "2024-02-01", "2024-03-01"):
        db = database(held)
        db.advance(moment)
        wanted = comparable(db.create_view("v", sql).to_arrow())
        assert comparable(arrow_table(evaluate(sql, given, now=moment))) == wanted
        found = evaluate(sql, counted, multiplicity=TIMES, partitions=2, now=moment)
        assert comparable(arrow_table(found)) == wanted


def test_over_no_rows_there_is_the_row_of_no_groups(quick: SparkSession) -> None:
    given = frames(quick, {name: [] for name in SCHEMAS})
    sql = "SELECT MEDIAN(f) AS m, COUNT(*) AS n FROM r"
    assert [tuple(row) for row in evaluate(sql, given).collect()] == [(None, 0)]
    assert evaluate("SELECT a FROM r ORDER BY a LIMIT 1", given, partitions=2).collect() == []


def test_unsigned_results_are_shown_as_wider_ones(quick: SparkSession) -> None:
    given = frames(quick, {name: everyday.rows(random.Random(1), name, 3) for name in SCHEMAS})
    sql = "SELECT 3::UTINYINT AS a, 4::UBIGINT AS b, COUNT(*) AS n FROM r GROUP BY ALL"
    assert [tuple(row) for row in evaluate(sql, given).collect()] == [(3, 4, 3)]


def test_a_row_that_cannot_be_computed_is_told(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("x",)], "t string")
    with pytest.raises(rv.errors.InvalidValueError, match="CAST"), raising():
        evaluate("SELECT CAST(t AS INTEGER) AS n FROM r", {"r": frame}).collect()
