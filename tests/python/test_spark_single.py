"""Texts in one cell: one engine computes them at once, as a database does for one query."""

from __future__ import annotations

import pickle
from datetime import datetime

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

from any_pyspark import from_arrow
from pyspark.sql import SparkSession
from ringview.errors import OverDeleteError, UnsupportedError
from ringview.spark import evaluate, plan, prepare, raising, views
from ringview.spark.planning import Planner

ORDERS = pa.table({"id": [1, 2, 3, 4], "day": [3, 1, 2, None], "m": [1, 2, -1, 1]})
EVERYDAY = (
    "SELECT id, CASE WHEN day > 1 THEN 'late' ELSE 'soon' END AS due FROM orders "
    "WHERE day IS NOT NULL ORDER BY day DESC, id LIMIT 2"
)


def test_everyday_texts_take_one_stage_and_keep_their_order(spark: SparkSession) -> None:
    steps = prepare(EVERYDAY, {"orders": from_arrow(spark, ORDERS)}, partitions=1)
    assert steps.explain() == "1 partition"
    assert [tuple(row) for row in steps.result().collect()] == [(1, "late"), (3, "late")]
    made = plan(EVERYDAY, {"orders": ORDERS.schema}, partitions=1)
    assert len(pickle.loads(pickle.dumps(made)).stages) == 1
    assert len(plan(EVERYDAY, {"orders": ORDERS.schema}, partitions=2).stages) > 1


def test_the_columns_are_those_of_many_cells() -> None:
    planner = Planner()
    planner.create_table("orders", ORDERS.schema, None, [])
    once = planner.once(EVERYDAY)
    assert once is not None
    assert once[1] == planner.result(planner.queries({"v": EVERYDAY})["v"], planner.schemas)


def test_columns_that_give_a_text_its_meaning_are_there(spark: SparkSession) -> None:
    kinds = [pa.bool_(), pa.int8(), pa.float64(), pa.string(), pa.date32(), pa.decimal128(15, 2)]
    kinds += [pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.int64()]
    fields = [pa.field(f"c{at}", kind, at % 2 == 0) for at, kind in enumerate(kinds)]
    values = {pa.bool_(): True, pa.string(): "7"}
    columns = [pa.repeat(pa.scalar(values.get(kind, 1), kind), 3) for kind in kinds]
    rows = pa.table(columns, schema=pa.schema(fields)).append_column("m", [[1, 2, 1]])
    # A row without a partner is identified by all of its columns, of which few are read.
    sql = (
        "SELECT x, COUNT(*) AS m, SUM(n) AS n FROM (SELECT a.c8 AS x, COUNT(b.c1) AS n FROM r a "
        "LEFT JOIN r b ON a.c8 = b.c8 AND b.c4 > DATE '1960-01-01' GROUP BY a.c8) GROUP BY x"
    )
    steps = prepare(sql, {"r": from_arrow(spark, rows)}, multiplicity="m", partitions=1)
    (relation,) = steps.plan.grids[0].relations
    assert relation.whole is not None
    assert len(relation.schema) < len(relation.whole)
    assert [tuple(row) for row in steps.result().collect()] == [(1, 1, 16)]
    natural = "SELECT COUNT(*) AS n FROM r NATURAL JOIN (SELECT * FROM r WHERE c8 > 0) AS o"
    found = evaluate(natural, {"r": from_arrow(spark, rows)}, multiplicity="m", partitions=1)
    assert found.collect()[0].n == 16


def test_rows_that_no_step_takes_do_not_move(spark: SparkSession) -> None:
    sql = (
        "SELECT CASE WHEN id > 1 THEN 1 ELSE 0 END AS a, COUNT(*) AS n FROM orders WHERE day < 3 "
        "GROUP BY 1 ORDER BY 1"
    )
    frames = {"orders": from_arrow(spark, ORDERS)}
    steps = prepare(sql, frames, partitions=1)
    # One row more is of no table: it makes the task run.
    assert steps.slots().count() == 2 + 1
    assert [tuple(row) for row in steps.result().collect()] == [(1, 2)]
    none = {"orders": from_arrow(spark, ORDERS.slice(0, 0))}
    assert evaluate("SELECT COUNT(*) AS n FROM orders", none, partitions=1).collect()[0].n == 0


def test_views_are_found_in_one_pass(spark: SparkSession) -> None:
    texts = {
        "late": "SELECT COUNT(*) AS n FROM orders WHERE day > 1",
        "days": "SELECT day, COUNT(*) AS n FROM orders GROUP BY day ORDER BY day NULLS LAST",
        "most": "SELECT MAX(day) AS day FROM days",
    }
    found = views(texts, {"orders": from_arrow(spark, ORDERS)}, partitions=1)
    assert found.plan.stages[0].names == ("late", "days")
    assert found["late"].collect()[0].n == 2
    assert [row.day for row in found["days"].collect()] == [1, 2, 3, None]
    assert found["most"].collect()[0].day == 3
    assert found.reads("most") == ["orders"]
    found.unpersist()


def test_multiplicities_parameters_and_the_clock(spark: SparkSession) -> None:
    frames = {"orders": from_arrow(spark, ORDERS.slice(0, 2))}
    sql = "SELECT id + $1 AS id FROM orders WHERE id > 1 ORDER BY id"
    found = evaluate(sql, frames, parameters=[10], multiplicity="m", partitions=1)
    assert [row.id for row in found.collect()] == [12, 12]
    gone = {"orders": from_arrow(spark, ORDERS)}
    count = "SELECT COUNT(*) AS n FROM orders"
    with pytest.raises(OverDeleteError, match="orders"), raising():
        evaluate(count, gone, multiplicity="m", partitions=1).collect()
    shifts = pa.table({"until": [datetime(2026, 3, 9), datetime(2026, 3, 11)]})
    timed = "SELECT COUNT(*) AS n FROM shifts WHERE now() <= until"
    frames = {"shifts": from_arrow(spark, shifts)}
    assert evaluate(timed, frames, now="2026-03-10", partitions=1).collect()[0].n == 1


@pytest.mark.parametrize("partitions", [1, 2])
def test_texts_are_refused_in_any_number_of_cells(partitions: int) -> None:
    sql = (
        "WITH RECURSIVE r AS (SELECT id FROM orders UNION "
        "SELECT day FROM orders JOIN r USING (id)) SELECT * FROM r"
    )
    with pytest.raises(UnsupportedError, match="RECURSIVE"):
        plan(sql, {"orders": ORDERS.schema}, partitions=partitions)
