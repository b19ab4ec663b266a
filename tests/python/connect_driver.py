"""Views over DataFrames of Spark Connect, in a process of its own: one cannot be of both kinds.

Run as `python connect_driver.py [SETTINGS]`, the settings of its server as JSON if it is to be on a
cluster. Prints what was found as a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from decimal import Decimal
from typing import Any

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
# The server is started here, and its workers take the Python that the environment names.
os.environ["PYSPARK_PYTHON"] = sys.executable

import ringview.spark as rs
from pyspark.sql import SparkSession
from ringview.errors import ArithmeticOverflowError

CONFIG = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
SPENT = "SELECT name, SUM(cents) AS cents FROM orders JOIN items USING (id) GROUP BY name"
BEST = (
    "WITH top AS (SELECT MAX(cents) AS c FROM spent) SELECT name FROM spent JOIN top ON cents = c"
)


def found(spark: Any) -> dict[str, Any]:
    orders = spark.createDataFrame([(1, "Ada"), (2, "Grace"), (3, "Ada")], "id long, name string")
    items = spark.createDataFrame([(1, 500), (2, 800), (3, 400), (3, 50)], "id long, cents long")
    tables = {"orders": orders, "items": items}
    large = dict.fromkeys(tables, 10**6)

    def rows(frame: Any) -> list[list[Any]]:
        # Sums of integers are decimals, which JSON has none of.
        plain = [[int(v) if isinstance(v, Decimal) else v for v in row] for row in frame.collect()]
        return sorted(plain)

    told: dict[str, Any] = {"session": type(spark).__module__}
    told["one"] = rows(rs.evaluate(SPENT, tables, partitions=1))
    told["sent"] = rows(rs.evaluate(SPENT, tables, partitions=2))
    told["shuffled"] = rows(rs.evaluate(SPENT, tables, partitions=3, rows=large))
    several = rs.views({"spent": SPENT, "best": BEST}, tables)
    told["views"] = {name: rows(frame) for name, frame in several.to_df().items()}
    several.unpersist()
    plan = rs.plan(SPENT, {name: of.schema for name, of in tables.items()}, partitions=2)
    told["plan"] = rows(plan.run(tables)["result"])
    drawn = rs.sample("SELECT name, cents FROM orders JOIN items USING (id)", tables, 9, 1)
    told["sample"] = rows(drawn)
    most = spark.createDataFrame([(1.5e308,), (1.5e308,)], "x double")
    try:
        with rs.raising():
            rs.evaluate("SELECT SUM(x) AS x FROM most", {"most": most}).collect()
    except ArithmeticOverflowError as error:
        told["raised"] = type(error).__name__
    return told


def main() -> None:
    settings = json.loads(sys.argv[1]) if sys.argv[1:] else None
    if settings is None:
        builder = SparkSession.builder.remote("local[2]")
    else:
        builder = SparkSession.builder.config("spark.api.mode", "connect")
    config = {**CONFIG, **(settings or {})}
    for key, value in config.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        print(json.dumps(found(spark)))
    finally:
        spark.stop()


def check(told: dict[str, Any]) -> None:
    """That it is what rows of two tables make."""
    assert told.pop("session").startswith("pyspark.sql.connect")
    spent = [["Ada", 950], ["Grace", 800]]
    assert told == {
        "one": spent,
        "sent": spent,
        "shuffled": spent,
        "views": {"spent": spent, "best": [["Ada"]]},
        "plan": spent,
        "sample": [["Ada", 50], ["Ada", 400], ["Ada", 500], ["Grace", 800]],
        "raised": "ArithmeticOverflowError",
    }


if __name__ == "__main__":
    main()
