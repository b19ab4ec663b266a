"""Semi-joins by Spark before rows move: fewer rows arrive, and the result is that of all rows."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import ringview as rv
from any_pyspark import arrow_table, from_arrow
from oracle import comparable
from pyspark.sql import SparkSession
from ringview.spark import evaluate, options, prepare, semi_joins, views

SCHEMAS = {
    "fact": pa.schema({"k": pa.int64(), "j": pa.int32(), "x": pa.int64(), "m": pa.int64()}),
    "dim": pa.schema({"k": pa.int32(), "name": pa.string(), "f": pa.float64()}),
    "side": pa.schema({"j": pa.int64(), "partner": pa.int64()}),
}
JOINED = "SELECT SUM(x) AS s FROM fact, dim WHERE fact.k = dim.k AND name LIKE 'a%'"
TEXTS = [
    JOINED,
    "SELECT side.partner, COUNT(*) AS n FROM fact, dim, side WHERE fact.k = dim.k "
    "AND fact.j = side.j AND name = 'b' AND side.partner > 1 GROUP BY side.partner",
    # One reading joins, the other does not.
    "SELECT SUM(a.x) AS s, (SELECT SUM(x) FROM fact) AS all_of FROM fact a JOIN dim ON a.k = dim.k "
    "WHERE name = 'a'",
    "SELECT fact.x, name FROM fact LEFT JOIN dim ON fact.k = dim.k AND name = 'a'",
    "SELECT SUM(x) AS s FROM fact WHERE k IN (SELECT k FROM dim WHERE name = 'c')",
    "SELECT SUM(a.x) AS s FROM fact a JOIN fact b ON a.k = b.j WHERE b.x > 2",
    "SELECT SUM(x) AS s FROM fact, dim WHERE fact.x = dim.f AND name = 'a'",
]


def rows(seed: int) -> dict[str, pa.Table]:
    draw = random.Random(seed)
    small = [None, 0, 1, 2, 3]

    def column(kind: pa.DataType, name: str, number: int) -> pa.Array:
        if name == "m":
            return pa.array([draw.choice([1, 1, 2]) for _ in range(number)], kind)
        values: list[object] = ["a", "ab", "b", "c", None] if kind == pa.string() else [*small]
        return pa.array([draw.choice(values) for _ in range(number)], kind)

    return {
        name: pa.table([column(field.type, field.name, number) for field in schema], schema=schema)
        for (name, schema), number in zip(SCHEMAS.items(), (40, 6, 8), strict=True)
    }


@pytest.fixture
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is large enough, and small enough."""
    monkeypatch.setattr(options, "estimated", lambda frames: 1)
    monkeypatch.setattr(semi_joins, "_LARGE", 0)
    monkeypatch.setattr(semi_joins, "_TIMES", 1)


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("sql", TEXTS)
def test_the_result_is_that_of_all_rows(spark: SparkSession, sql: str) -> None:
    for seed in range(3):
        tables = rows(seed)
        db = rv.Database()
        for name, table in tables.items():
            db.create_table(name, table.schema)
            db.insert(name, table)
        frames = {name: from_arrow(spark, table) for name, table in tables.items()}
        found = arrow_table(evaluate(sql, frames, partitions=1))
        assert comparable(found) == comparable(db.sql(sql))


@pytest.mark.usefixtures("_always")
def test_rows_without_a_partner_do_not_move(spark: SparkSession) -> None:
    fact = pa.table({"k": [1, 2, 3, None], "x": [1, 2, 4, 8], "m": [1, 1, 2, 1]})
    dim = pa.table({"k": [1, 2, 3], "name": ["b", "c", "a"]})
    frames = {"fact": from_arrow(spark, fact), "dim": from_arrow(spark, dim)}
    steps = prepare(JOINED, frames, multiplicity={"fact": "m"}, partitions=1)
    # Of the small table its own filter lets one row through; one more is of no table.
    assert steps.slots().count() == 1 + 1 + 1
    assert steps.result().collect()[0].s == 8
    # Another text that reads all rows of the table needs them.
    both = views({"v": JOINED, "w": "SELECT SUM(x) AS s FROM fact"}, frames, partitions=1)
    assert [both[name].collect()[0].s for name in ("v", "w")] == [4, 15]
    both.unpersist()


def test_tables_are_large_and_small_by_estimate(spark: SparkSession) -> None:
    tables = rows(1)
    frames = {name: from_arrow(spark, table) for name, table in tables.items()}
    steps = prepare(JOINED, frames, partitions=1)
    stage = steps.plan.grids[0]
    (partner,) = next(one for one in stage.readings if one.relation == "fact").partners
    assert (partner.column, partner.relation, partner.key) == ("k", "dim", "k")
    # Spark has no estimate for rows in memory, and so none is requested.
    assert semi_joins.reduced(stage, frames) == frames
