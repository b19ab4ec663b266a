"""A random stream of a shop's changes as files, and DuckDB over all of them.

Run as `python shop.py FOLDER STEPS`: a driver that follows the stream and kills itself, with its
Java, after so many steps of ringview's own code in micro-batches: at the same place however busy
the machine is.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from conftest import SPARK
from oracle import comparable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from ringview.spark.streaming import Stream, StreamQuery

ITEMS = pa.schema(
    {
        "order_id": pa.int64(),
        "product": pa.string(),
        "units": pa.int32(),
        "price": pa.decimal128(12, 2),
        "times": pa.int16(),
        "comment": pa.list_(pa.string()),
    }
)
ORDERS = pa.schema(
    {
        "order_id": pa.int64(),
        "customer": pa.string(),
        "day": pa.date32(),
        "op": pa.string(),
        "seq": pa.int64(),
    }
)
PRODUCTS = pa.table({"product": ["tea", "cup", "pot"], "kind": ["drink", "ware", "ware"]})

VIEWS = {
    "by_kind": "SELECT p.kind, SUM(i.units * i.price) AS sales, COUNT(*) AS n "
    "FROM items i JOIN products p USING (product) GROUP BY p.kind",
    "by_customer": "SELECT o.customer, SUM(i.units) AS units, MAX(i.price) AS top "
    "FROM orders o JOIN items i USING (order_id) GROUP BY o.customer",
    "most": "SELECT MAX(units) AS units, COUNT(*) AS customers FROM by_customer",
    "days": "SELECT DISTINCT o.day FROM orders o JOIN items i USING (order_id)",
}


class Shop:
    """Files of changes in folders, and what is left of them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.drawn = random.Random(seed)
        self.items: list[tuple[Any, ...]] = []
        self.orders: dict[int, tuple[Any, ...]] = {}
        self.steps = 0
        self.seq = 0
        for name in ("items", "orders"):
            (folder / name).mkdir(parents=True)

    def step(self) -> None:
        """A file of each table: inserted and deleted rows, in no order."""
        self.steps += 1
        self.write("items", ITEMS, self._items())
        self.write("orders", ORDERS, self._orders())

    def write(self, name: str, schema: pa.Schema, rows: list[tuple[Any, ...]]) -> None:
        """One file, whole when it is seen, later than those before."""
        self.drawn.shuffle(rows)
        listed = [dict(zip(schema.names, row, strict=True)) for row in rows]
        draft, path = (self.folder / name / f"{dot}{self.steps:06d}.parquet" for dot in (".", ""))
        pq.write_table(pa.Table.from_pylist(listed, schema), draft)
        # Spark takes files by their time, and times of one second lie in no order.
        os.utime(draft, (2**30 + 10 * self.steps,) * 2)
        draft.rename(path)

    def _items(self) -> list[tuple[Any, ...]]:
        drawn = self.drawn
        fresh = [
            (
                drawn.randrange(30),
                drawn.choice(["tea", "cup", "pot", "hat", None]),
                drawn.choice([None, *range(5)]),
                Decimal(drawn.randrange(1, 999)) / 100,
            )
            for _ in range(drawn.randrange(20))
        ]
        gone = drawn.sample(self.items, min(len(self.items), drawn.randrange(8)))
        for row in gone:
            self.items.remove(row)
        self.items += fresh
        return [(*row, 1, ["x"]) for row in fresh] + [(*row, -1, None) for row in gone]

    def _orders(self) -> list[tuple[Any, ...]]:
        drawn, rows = self.drawn, []
        for _ in range(drawn.randrange(12)):
            self.seq += 1
            key = drawn.randrange(30)
            words = ["u", "D", "r"] if key in self.orders else ["c", "upsert"]
            word = drawn.choice(words)
            day = date(2026, 1, 1) + timedelta(days=drawn.randrange(6))
            row: tuple[Any, ...] = (key, drawn.choice(["Ada", "Grace", "Emmy"]), day)
            if word == "D":
                del self.orders[key]
                row = (key, None, None)
            else:
                self.orders[key] = row
            rows.append((*row, word, self.seq))
        return rows

    def expected(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every view by DuckDB over all rows that are left."""
        connection = duckdb.connect(config={"threads": 1})
        for name, schema, rows in (
            ("items", ITEMS, self.items),
            ("orders", ORDERS, list(self.orders.values())),
        ):
            names = schema.names[: len(rows[0])] if rows else schema.names
            listed = [dict(zip(names, row, strict=True)) for row in rows]
            kept = pa.schema([schema.field(column) for column in names])
            connection.register(name, pa.Table.from_pylist(listed, kept))
        connection.register("products", PRODUCTS)
        found = {}
        for name, sql in VIEWS.items():
            table = connection.sql(sql).to_arrow_table()
            connection.register(name, table)
            found[name] = comparable(table)
        return found


def frames(spark: SparkSession, folder: Path, files: int) -> dict[str, DataFrame]:
    """The tables of a shop, so many files a micro-batch."""
    from any_pyspark import from_arrow
    from pyspark.sql import types as st
    from ringview.spark.types import to_spark

    def schema(of: pa.Schema) -> st.StructType:
        listed = st.ArrayType(st.StringType())
        kinds = [listed if pa.types.is_list(f.type) else to_spark(f.type) for f in of]
        return st.StructType([st.StructField(n, k) for n, k in zip(of.names, kinds, strict=True)])

    def stream(name: str, of: pa.Schema) -> DataFrame:
        read = spark.readStream.schema(schema(of)).option("maxFilesPerTrigger", files)
        return read.parquet(str(folder / name))

    static = from_arrow(spark, PRODUCTS)
    return {"items": stream("items", ITEMS), "orders": stream("orders", ORDERS), "products": static}


def asked(spark: SparkSession, folder: Path, files: int = 1) -> Stream:
    """The views of a shop over its streams."""
    import ringview.spark as rs

    return rs.stream(
        VIEWS,
        frames(spark, folder, files),
        multiplicity={"items": "times"},
        op={"orders": "op"},
        keys={"orders": "order_id", "products": "product"},
        order={"orders": "seq"},
    )


def shown(q: StreamQuery) -> dict[str, list[tuple[Any, ...]]]:
    """Every view as the stream has it."""
    return {name: comparable(q[name].to_arrow()) for name in VIEWS}


def replayed(changes: pa.Table) -> list[tuple[Any, ...]]:
    """The rows that changes leave, as often as they say."""
    rows: dict[tuple[Any, ...], int] = {}
    for *row, times in zip(*(column.to_pylist() for column in changes.columns), strict=True):
        rows[tuple(row)] = rows.get(tuple(row), 0) + times
    assert all(times in (0, 1) for times in rows.values())
    left = [row for row, times in rows.items() if times]
    columns = list(zip(*left, strict=True)) or [()] * (changes.num_columns - 1)
    kinds = changes.schema.types[:-1]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return comparable(pa.table(arrays, changes.column_names[:-1]))


def main() -> None:
    """Until it is killed, or all is taken."""
    import ringview.spark as rs
    from ringview.spark.streaming.driver import DriverState

    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    own, take = os.path.dirname(rs.__file__), DriverState.take

    def step(frame: FrameType, *_: object) -> None:
        nonlocal steps
        steps -= frame.f_code.co_filename.startswith(own)
        if steps <= 0:
            # Its Java is killed with it.
            os.killpg(0, signal.SIGKILL)

    def counted(state: DriverState, rows: DataFrame, batch_id: int) -> None:
        sys.setprofile(step)
        try:
            take(state, rows, batch_id)
        finally:
            sys.setprofile(None)

    setattr(DriverState, "take", counted)  # noqa: B010
    spark = rs.session("shop", SPARK)
    spark.sparkContext.setLogLevel("OFF")
    sink = rs.ParquetSink(folder / "out")
    with asked(spark, folder).write_stream(folder / "checkpoint", sink).start() as q:
        q.process_all_available()


if __name__ == "__main__":
    main()
