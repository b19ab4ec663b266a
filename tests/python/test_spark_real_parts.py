"""Streams with real parts: a Kafka broker, Debezium's changes, Delta Lake; drivers and workers are
killed. At the end every view, and the sink's changes, equal DuckDB over all rows."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import delta_driver
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="4.1")

import parts
from conftest import SPARK
from kafka_driver import VIEWS
from ringview.spark import ParquetSink

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[parts.Broker]:
    with parts.Broker(tmp_path_factory.mktemp("kafka")) as started:
        yield started


class Shop:
    """Events of a shop, as Debezium would report them; and the resulting rows."""

    def __init__(self, broker: parts.Broker, draw: random.Random, topics: dict[str, str]) -> None:
        self.broker, self.draw, self.topics = broker, draw, topics
        self.orders: dict[int, dict[str, int]] = {}
        self.accounts: dict[int, str] = {}
        self.made = 0

    def happens(self, changes: int) -> None:
        """So many changes."""
        for _ in range(changes):
            self.draw.choice([self.comes, self.comes, self.moves, self.goes, self.is_named])()
        self.broker.flush()

    def comes(self) -> None:
        self.made += 1
        row = {
            "id": self.made,
            "customer": self.draw.randrange(9),
            "price": self.draw.randrange(99),
        }
        self.orders[row["id"]] = row
        self.tell(None, row, self.draw.choice("cr"))

    def moves(self) -> None:
        if self.orders:
            before = self.draw.choice(list(self.orders.values()))
            after = {**before, "price": self.draw.randrange(99)}
            if self.draw.random() < 0.3:
                after["customer"] = self.draw.randrange(9)
            self.orders[before["id"]] = after
            self.tell(before, after, "u")

    def goes(self) -> None:
        if self.orders:
            before = self.orders.pop(self.draw.choice(list(self.orders)))
            self.tell(before, None, "d")
            # A tombstone follows.
            self.broker.send(self.topics["orders"], before["id"] % 2, None)

    def is_named(self) -> None:
        customer = self.draw.randrange(9)
        self.accounts[customer] = name = self.draw.choice(["Ada", "Grace", "Edgar"])
        row = json.dumps({"customer": customer, "name": name})
        self.broker.send(self.topics["accounts"], customer % 2, row)

    def tell(self, before: dict[str, int] | None, after: dict[str, int] | None, op: str) -> None:
        row = before or after
        assert row is not None
        message = {"before": before, "after": after, "op": op, "ts_ms": 0}
        self.broker.send(self.topics["orders"], row["id"] % 2, json.dumps(message))

    def wanted(self) -> dict[str, Counter[tuple[Any, ...]]]:
        con = duckdb.connect(config={"threads": 1})
        orders = list(self.orders.values())
        accounts = [{"customer": c, "name": n} for c, n in self.accounts.items()]
        con.register("orders", pa.Table.from_pylist(orders))
        con.register("accounts", pa.Table.from_pylist(accounts))
        return {name: counted(con.sql(sql).to_arrow_table()) for name, sql in VIEWS.items()}


def counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(value if isinstance(value, str) else int(value) for value in row.values())
        for row in rows.to_pylist()
    )


class Driver:
    """A driver in a process of its own, with the lines that it writes."""

    def __init__(self, asked: dict[str, Any]) -> None:
        command = [sys.executable, str(HERE / "kafka_driver.py"), json.dumps(asked)]
        self.log = (Path(asked["folder"]) / "driver.log").open("a")
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            cwd=HERE,
            start_new_session=True,
        )

    def lines(self) -> Iterator[list[str]]:
        """Lines of its output, until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("SAID "):
                yield line.split()[1:]

    def kill(self) -> None:
        """Kill it, with its JVM and its workers, as a machine that fails does."""
        for pid in [self.process.pid, *self._processes()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def kill_worker(self, draw: random.Random) -> bool:
        """Kill one of its Python workers; whether there was one."""
        daemons = {pid for pid, (_, name) in self._processes().items() if "pyspark.daemon" in name}
        workers = [pid for pid, (parent, _) in self._processes().items() if parent in daemons]
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(workers), signal.SIGKILL)
        return bool(workers)

    def _processes(self) -> dict[int, tuple[int, str]]:
        """The processes of its session: of each its parent, and its command."""
        asked = ["ps", "-eo", "pid,sess,ppid,args"]
        text = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        found = {}
        for line in text.splitlines()[1:]:
            pid, group, parent, command = line.split(None, 3)
            if int(group) == self.process.pid:
                found[int(pid)] = int(parent), command
        return found


def run(broker: parts.Broker, folder: Path, mode: str, seed: int, kills: int) -> Counter[str]:
    """A stream from its first row to its last, through so many kills; what happened how often."""
    draw, happened = random.Random(seed), Counter[str]()
    # Each run has a history of its own.
    topics = {name: f"{name}-{mode}-{seed}" for name in ("orders", "accounts")}
    for topic in topics.values():
        broker.create(topic, 2)
    shop = Shop(broker, draw, topics)
    folder.mkdir(exist_ok=True)
    config = {
        **SPARK,
        "spark.master": "local[2,4]",
        "spark.jars": parts.connector_jars(),
        "spark.sql.streaming.minBatchesToRetain": "3",
        "spark.python.worker.reuse": "true",
    }
    asked = {
        "mode": mode,
        "address": broker.address,
        "topics": topics,
        "folder": str(folder),
        "config": config,
    }
    shop.happens(60)
    ended = False
    while not ended:
        driver = Driver({**asked, "seed": draw.randrange(2**32)})
        happened["start"] += 1
        try:
            ended = follow(driver, shop, draw, happened, kills, folder)
        finally:
            driver.kill()
    wanted = shop.wanted()
    sink = ParquetSink(folder / "sink")
    for name in VIEWS:
        assert counted(pq.read_table(folder / f"{name}.parquet")) == wanted[name]
        told: Counter[tuple[Any, ...]] = Counter()
        for *row, times in (tuple(each.values()) for each in sink.read(name).to_pylist()):
            told[tuple(row)] += times
        assert min(told.values()) >= 0
        assert +told == wanted[name]
    print(mode, dict(happened))
    return happened


def follow(
    driver: Driver,
    shop: Shop,
    draw: random.Random,
    happened: Counter[str],
    kills: int,
    folder: Path,
) -> bool:
    """Watch a driver until it is killed, or has ended well."""
    left = draw.randrange(1, 9)
    for what, *_ in driver.lines():
        happened[what] += 1
        if what == "ended":
            driver.process.wait()
            return True
        if what in ("took", "started"):
            shop.happens(draw.randrange(30))
        left -= 1
        done = happened["driver killed"] + happened["worker killed"]
        if done >= kills:
            (folder / "end").touch()
        elif left <= 0:
            # At some moment after a line: in the engine, in Spark, at the sink.
            threading.Event().wait(draw.random() * draw.choice([0.05, 0.5, 2]))
            left = draw.randrange(1, 9)
            if draw.random() < 0.5:
                happened["driver killed"] += 1
                return False
            happened["worker killed"] += driver.kill_worker(draw)
    raise AssertionError((folder / "driver.log").read_text()[-5000:])


@pytest.mark.long
@pytest.mark.parametrize("mode", ["driver", "partitioned"])
def test_kafka_through_kills(broker: parts.Broker, tmp_path: Path, mode: str) -> None:
    happened = run(broker, tmp_path / "stream", mode, seed=1, kills=2)
    assert happened["ended"] == 1
    assert happened["driver killed"] + happened["worker killed"] >= 2


@pytest.mark.long
@pytest.mark.parametrize("mode", ["driver", "partitioned"])
def test_kafka_through_many_kills(broker: parts.Broker, tmp_path: Path, mode: str) -> None:
    happened = run(broker, tmp_path / "stream", mode, seed=2, kills=50)
    assert happened["driver killed"] > 10
    assert happened["sink-failed"] > 0
    if mode == "partitioned":
        assert happened["worker killed"] > 10


@pytest.mark.long
def test_delta_tables_are_what_views_are(tmp_path: Path) -> None:
    """On the PySpark that Delta Lake is made for, if another one is installed."""
    config = {
        **SPARK,
        "spark.jars": parts.delta_jars(),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    asked = json.dumps({"folder": str(tmp_path), "config": config})
    paths = [str(HERE.parents[1] / "python"), os.environ.get("PYTHONPATH", "")]
    if (other := parts.delta_pyspark()) is not None:
        paths.insert(0, str(other))
    done = subprocess.run(
        [sys.executable, str(HERE / "delta_driver.py"), asked],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    assert "ran on 4.2." in done.stdout
    for life, rows in enumerate(delta_driver.LIVES):
        con = duckdb.connect(config={"threads": 1})
        con.register("changes", pa.concat_tables([pa.table(each) for each in rows]))
        con.sql(
            "CREATE TABLE r AS SELECT k, x FROM (SELECT k, x, CAST(SUM(times) AS BIGINT) AS n "
            "FROM changes GROUP BY k, x), range(n)"
        )
        wanted = counted(con.sql(delta_driver.VIEW).to_arrow_table())
        for mode in ("driver", "partitioned"):
            assert counted(pq.read_table(tmp_path / f"{mode}-{life}.parquet")) == wanted


@pytest.mark.long
def test_a_checkpoint_in_objects(tmp_path: Path) -> None:
    """Of S3, which has no folders and no locks, and renames by copying."""
    with parts.object_store() as at:
        s3a = {
            "endpoint": at,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "access.key": "test",
            "secret.key": "test",
            # The object store here sends "100 Continue", which Hadoop's fast way of uploads does
            # not understand.
            "connection.expect.continue": "false",
            "optimized.copy.from.local.enabled": "false",
        }
        config = {f"spark.hadoop.fs.s3a.{name}": value for name, value in s3a.items()}
        config |= {**SPARK, "spark.jars": parts.s3a_jars()}
        paths = [str(HERE.parents[1] / "python"), os.environ.get("PYTHONPATH", "")]
        asked = [str(tmp_path), "s3a://bucket/states", json.dumps(config)]
        done = subprocess.run(
            [sys.executable, str(HERE / "elsewhere.py"), *asked],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-5000:]
    assert "went through" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"driver", "partitioned"}
    for folder in tmp_path.iterdir():
        assert {path.name for path in folder.iterdir()} == {"t", "out", "letters"}
