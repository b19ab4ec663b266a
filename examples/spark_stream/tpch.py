"""TPC-H as a stream of Spark: orders arrive and are cancelled, and revenue moves with them.

    make demo-spark                              # from nothing
    python examples/spark_stream/tpch.py         # with ringview[spark] and Java 17

Orders and their items arrive as files, as a job elsewhere would write them; customers too. Nations
do not change. Every row has a multiplicity: 1 for an insert, -1 for a delete. Each line is the
views once another file of each table was read; their changes are written to Parquet files by the
number of the micro-batch. In the middle the driver stops, and resumes where it was.

prints

    files  orders   items  busiest nation         revenue
        1      48     192  INDIA                579805.47
        2     186     728  PERU                1440647.39
        3     230     895  PERU                1703086.14
        4     300    1198  IRAQ                2577709.35
    the driver stops, and goes on
        5     300    1167  CHINA               2654039.95
        6     300    1220  ROMANIA             2813264.15
        7     300    1219  CANADA              2806945.15
        8     300    1230  CANADA              3859892.29
    the changes that the sink was told of come to that: True
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import ringview.spark as rs
from pyspark.sql import SparkSession
from ringview.spark.streaming import Stream, StreamQuery

DATA = Path(__file__).parents[1] / "data"
TABLES = ("customer", "orders", "lineitem")
FILES = 8
VIEWS = {
    "revenue": """
        SELECT n.name AS nation, SUM(l.extendedprice * (1 - l.discount)) AS revenue
        FROM lineitem l
        JOIN orders o ON l.orderkey = o.orderkey
        JOIN customer c ON o.custkey = c.custkey
        JOIN nation n ON c.nationkey = n.nationkey
        GROUP BY n.name
    """,
    "size": """
        SELECT COUNT(DISTINCT o.orderkey) AS orders, COUNT(*) AS items
        FROM lineitem l JOIN orders o ON l.orderkey = o.orderkey
    """,
}
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}


def main() -> None:
    """Files in, views out, with a restart."""
    spark = rs.session("tpch", QUIET)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        feed, sink = Feed(folder), rs.ParquetSink(folder / "changes")
        writer = stream(spark, folder).write_stream(folder / "checkpoint", sink)
        print("files  orders   items  busiest nation         revenue")
        with writer.start() as query:
            for _ in range(FILES // 2):
                feed.write()
                query.process_all_available()
                show(feed, query)
        print("the driver stops, and goes on")
        with writer.start() as query:
            for _ in range(FILES // 2):
                feed.write()
                query.process_all_available()
                show(feed, query)
            rows = Counter({tuple(row.values()): 1 for row in query["revenue"]})
            print("the changes that the sink was told of come to that:", replayed(sink) == rows)
    spark.stop()


def stream(spark: SparkSession, folder: Path) -> Stream:
    """The views over the files of a folder, whatever is in it by now."""
    tables = {}
    for name in TABLES:
        schema = spark.read.parquet(str(DATA / f"tpch_stream_{name}.parquet")).schema
        tables[name] = spark.readStream.schema(schema).parquet(str(folder / name))
    nation = spark.read.parquet(str(DATA / "tpch_stream_nation.parquet"))
    return rs.stream(VIEWS, {**tables, "nation": nation}, multiplicity="mult")


def show(feed: Feed, query: StreamQuery) -> None:
    """A line of what the views have."""
    size = next(iter(query["size"]))
    best = max(query["revenue"], key=lambda row: row["revenue"])
    print(
        f"{feed.written:5}{size['orders']:8}{size['items']:8}  {best['nation']:16}"
        f"{best['revenue']:14.2f}"
    )


def replayed(sink: rs.ParquetSink) -> Counter[tuple[object, ...]]:
    """The rows that the changes of a view leave."""
    left: Counter[tuple[object, ...]] = Counter()
    for *row, times in (change.values() for change in sink.read("revenue").to_pylist()):
        left[tuple(row)] += times
    return +left


class Feed:
    """The stream in files, a part of its sequence at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written = 0
        self.tables = {name: pq.read_table(DATA / f"tpch_stream_{name}.parquet") for name in TABLES}
        for name in TABLES:
            (folder / name).mkdir()

    def write(self) -> None:
        """The next file of each table: there whole as soon as it is seen."""
        for name, part in self.parts().items():
            draft = self.folder / f"{name}.parquet"
            pq.write_table(part, draft)
            draft.rename(self.folder / name / f"{self.written:03d}.parquet")
        self.written += 1

    def parts(self) -> dict[str, pa.Table]:
        """The rows that are next."""
        last = max(pc.max(table["seq"]).as_py() for table in self.tables.values()) + 1
        low, high = (last * part // FILES for part in (self.written, self.written + 1))
        return {
            name: table.filter((pc.field("seq") >= low) & (pc.field("seq") < high))
            for name, table in self.tables.items()
        }


if __name__ == "__main__":
    main()
