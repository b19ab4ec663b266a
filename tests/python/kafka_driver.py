"""A driver for tests to kill: a stream from Kafka that runs until a test ends it.

    python kafka_driver.py '{"mode": .., "address": .., "folder": .., ..}'

It writes a line for each event, so that a test can choose the moment of the kill.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from ringview.spark import ParquetSink, session, stream
from ringview.spark.streaming import StreamQuery

ORDER = "id long, customer long, price long"
VIEWS = {
    "spent": "SELECT o.customer, a.name, SUM(o.price) AS price, COUNT(*) AS n, "
    "MAX(o.price) AS most FROM orders o JOIN accounts a ON a.customer = o.customer "
    "GROUP BY o.customer, a.name",
    "orders_of": "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer",
}


class SinkError(Exception):
    """The sink is not there."""


def say(*words: object) -> None:
    """A line for the test: one word for what happened, and more about it."""
    print("SAID", *words, flush=True)


def read(spark: SparkSession, asked: dict[str, Any], topic: str) -> DataFrame:
    """A topic as a stream, a few messages a micro-batch."""
    raw = spark.readStream.format("kafka").options(
        **{
            "kafka.bootstrap.servers": asked["address"],
            "subscribe": asked["topics"][topic],
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": 40,
        }
    )
    return raw.load().selectExpr("CAST(value AS string) AS value", "offset")


def tables(spark: SparkSession, asked: dict[str, Any]) -> dict[str, DataFrame]:
    """Orders as Debezium writes them, accounts as they are now."""
    orders = read(spark, asked, "orders").mapInArrow(flaky, "value string, offset long")
    orders = orders.select(sf.from_json("value", _schema()).alias("c"))
    accounts = read(spark, asked, "accounts").select(
        sf.from_json("value", "customer long, name string").alias("c"), "offset"
    )
    return {
        "orders": orders.select("c.before", "c.after", "c.op"),
        "accounts": accounts.select("c.customer", "c.name", "offset"),
    }


def _schema() -> str:
    row = f"struct<{ORDER.replace(' long', ': bigint')}>"
    return f"before {row}, after {row}, op string, ts_ms bigint"


def flaky(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows as they are; now and then a task fails before it has handed on all of them."""
    context = TaskContext.get()
    assert context is not None
    batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
    fails = context.attemptNumber() == 0 and batch % 3 == 1
    for rows in batches:
        yield rows.slice(0, len(rows) // 2) if fails else rows
        if fails:
            raise RuntimeError("this attempt fails")


def main(asked: dict[str, Any]) -> None:
    """Until there is a file `end`: then all that is there is taken, and the views are written."""
    folder = Path(asked["folder"])
    draw = random.Random(asked["seed"])
    spark = session("driver", asked["config"])
    spark.sparkContext.setLogLevel("OFF")
    keep = ParquetSink(folder / "sink")

    def sink(view: str, batch: int, changes: pa.Table) -> None:
        say("sink", batch)
        if not (folder / "end").exists() and draw.random() < 0.1:
            raise SinkError
        keep(view, batch, changes)
        if draw.random() < 0.1 and not (folder / "end").exists():
            raise SinkError

    def start() -> StreamQuery:
        given = stream(
            VIEWS,
            tables(spark, asked),
            op={"orders": "op"},
            keys={"accounts": "customer"},
            order={"accounts": "offset"},
        )
        count = 2 if asked["mode"] == "partitioned" else None
        return given.write_stream(
            folder / "state", sink, mode=asked["mode"], partitions=count
        ).start()

    while True:
        with start() as q:
            say("started", q.batch_id)
            try:
                while not (folder / "end").exists():
                    q.process_all_available()
                    say("took", q.batch_id)
                    time.sleep(0.2)
                q.process_all_available()
                for name in VIEWS:
                    pq.write_table(q[name].to_arrow(), folder / f"{name}.parquet")
                say("ended", q.batch_id)
                return
            except SinkError:
                say("sink-failed")
            except PySparkException as raised:
                # Workers that were killed, more often than a task is tried.
                if not any(text in str(raised) for text in _KILLED):
                    raise
                say("workers-failed")


_KILLED = ("Python worker exited", "failed to connect back", "Connection reset", "this attempt")

if __name__ == "__main__":
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    main(json.loads(sys.argv[1]))
