"""Streams of Spark on the driver: files in, every view equal to DuckDB over all their rows."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shop as shops
import test_docs as docs
from shop import VIEWS, Shop, asked, replayed, shown
from test_spark_streaming_checkpoint import NAMES

pytest.importorskip("pyspark", minversion="3.5")

import ringview.spark as rs
from ringview.errors import (
    InvalidValueError,
    OverDeleteError,
    RingviewError,
    StorageError,
    TypeMismatchError,
    UnknownColumnError,
    UnknownTableError,
    UnsupportedError,
)
from ringview.spark.streaming.paths import for_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def quiet(spark: SparkSession) -> Iterator[None]:
    """Streams end with errors here, which Spark would log at length."""
    spark.sparkContext.setLogLevel("OFF")
    yield
    spark.sparkContext.setLogLevel("ERROR")


def check(q: rs.streaming.StreamQuery, shop: Shop, sink: rs.ParquetSink) -> None:
    expected = shop.expected()
    assert shown(q) == expected
    for name in VIEWS:
        assert replayed(sink.read(name)) == expected[name], name


def test_views_follow_files(spark: SparkSession, tmp_path: Path) -> None:
    """Two streams and a static table, with deletes, a restart in between, and an empty stream."""
    shop, sink = Shop(tmp_path, seed=1), rs.ParquetSink(tmp_path / "out")
    writer = asked(spark, tmp_path).write_stream(tmp_path / "checkpoint", sink, name="shop")
    with writer.start() as q:
        assert q.batch_id is None
        assert q["by_kind"].to_arrow().num_rows == 0
        assert q["most"].to_arrow().to_pylist() == [{"units": None, "customers": 0}]
        for _ in range(3):
            shop.step()
        q.process_all_available()
        check(q, shop, sink)
        assert q.batch_id == 2
        assert q.is_active
        assert q.exception is None
        assert q.views == list(VIEWS)
        assert "batch 2, runs" in repr(q)
        progress = q.progress
        assert progress is not None
        assert progress["name"] == "shop"
        assert set(progress["ringview"]["rows"]) <= {"items", "orders"}
        assert set(progress["ringview"]["moved"]) == set(VIEWS)
        assert progress["ringview"]["state_bytes"] > 0
        with pytest.raises(StorageError, match="open elsewhere"):
            writer.start()
        follower = q["by_kind"].follow(initial=False)
        shop.steps += 1
        shop.write("items", shops.ITEMS, [(7, "pot", 2, Decimal("1.50"), 1, None)])
        shop.items.append((7, "pot", 2, Decimal("1.50")))
        q.process_all_available()
        assert follower.changes().num_rows
    assert not q.is_active
    assert q.exception is None
    with pytest.raises(RingviewError, match="closed"):
        q["by_kind"].to_arrow()
    shop.step()
    shop.step()
    # Existing files are taken, and the stream ends by itself.
    with (
        asked(spark, tmp_path, files=9)
        .write_stream(tmp_path / "checkpoint", sink, trigger="available now")
        .start() as q
    ):
        assert q.await_termination(300)
        check(q, shop, sink)
        assert not q.await_termination(0.001) or not q.is_active


NAME = "Grüße #1, 50%20 + [2]"


def test_a_checkpoint_of_any_name_and_of_another_life(
    spark: SparkSession, tmp_path: Path, quiet: None
) -> None:
    """Over restarts the state is where it should be; a new one does not mix with old changes."""
    shop, sink = Shop(tmp_path, seed=5), rs.ParquetSink(tmp_path / "out")
    writer = asked(spark, tmp_path).write_stream(tmp_path / NAME / "state", sink)
    for _ in range(2):
        shop.step()
        with writer.start() as q:
            q.process_all_available()
            check(q, shop, sink)
    assert {path.name for path in tmp_path.iterdir()} == {NAME, "out", "items", "orders"}
    assert {path.name for path in (tmp_path / NAME / "state").iterdir()} == {
        "plan.json",
        "spark",
        "ringview",
    }
    shutil.rmtree(tmp_path / NAME)
    with pytest.raises(rs.CheckpointError, match=r"changes of another checkpoint, .* remove it"):
        writer.start()
    # A refused stream leaves nothing that blocks the next.
    shutil.rmtree(sink.folder)
    with writer.start() as q:
        q.process_all_available()
        check(q, shop, sink)


@pytest.mark.parametrize("name", NAMES)
def test_spark_finds_what_a_path_names(spark: SparkSession, tmp_path: Path, name: str) -> None:
    spark.range(3).write.parquet(for_spark(tmp_path / name / "rows"))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name / "rows" / "_SUCCESS").exists()


def test_what_fails_changes_nothing_and_goes_on_later(
    spark: SparkSession, tmp_path: Path, quiet: None
) -> None:
    shop, sink = Shop(tmp_path, seed=2), rs.ParquetSink(tmp_path / "out")
    told: list[tuple[str, int]] = []
    fails = {"most"}

    def once(view: str, batch_id: int, changes: pa.Table) -> None:
        told.append((view, batch_id))
        if view in fails:
            fails.discard(view)
            raise ZeroDivisionError("no room")
        sink(view, batch_id, changes)

    writer = asked(spark, tmp_path).write_stream(tmp_path / "checkpoint", once)
    shop.step()
    q = writer.start()
    with pytest.raises(ZeroDivisionError, match="no room"):
        q.process_all_available()
    assert isinstance(q.exception, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError, match="no room"):
        q.await_termination()
    # A stream that ended releases its state when the next one starts.
    q = writer.start()
    q.process_all_available()
    assert told.count(("by_kind", 0)) == told.count(("most", 0)) == 2
    check(q, shop, sink)
    before = shown(q)
    shop.steps += 1
    shop.write("items", shops.ITEMS, [(99, "tea", 1, Decimal("2.00"), -1, None)])
    for _ in range(2):
        with pytest.raises(OverDeleteError, match=r'table "items" holds 0 of the row \(order_id'):
            q.process_all_available()
        assert shown(q) == before
        assert q.batch_id == 0
        q.stop()
        q = writer.start()
    q.stop()
    # The file is taken back to what it should have been.
    shop.write("items", shops.ITEMS, [(99, "tea", 1, Decimal("2.00"), 1, None)])
    shop.items.append((99, "tea", 1, Decimal("2.00")))
    shop.step()
    with writer.start() as q:
        q.process_all_available()
        check(q, shop, sink)


ROW = "struct<id: int, name: string>"
DEBEZIUM = f"op string, ts_ms long, before {ROW}, after {ROW}"
FEED = [
    [
        {"op": "r", "ts_ms": 1, "after": {"id": 1, "name": "Ada"}},
        {"op": "c", "ts_ms": 2, "after": {"id": 2, "name": "Grace"}},
        {"op": "c", "ts_ms": 3, "after": {"id": 3, "name": "Emmy"}},
    ],
    [
        {"op": "d", "ts_ms": 6, "before": {"id": 2, "name": "Grace"}},
        {},
        {
            "op": "u",
            "ts_ms": 4,
            "before": {"id": 1, "name": "Ada"},
            "after": {"id": 1, "name": "Edsger"},
        },
        {
            "op": "u",
            "ts_ms": 5,
            "before": {"id": 3, "name": "Emmy"},
            "after": {"id": 30, "name": "Emmy"},
        },
    ],
]


@pytest.mark.parametrize("keys", [{"t": "id"}, None])
def test_debezium(spark: SparkSession, tmp_path: Path, keys: dict[str, str] | None) -> None:
    """Rows before and after, tombstones, a key that moves; with a key and as a bag."""
    (tmp_path / "t").mkdir()
    frame = spark.readStream.schema(DEBEZIUM).json(str(tmp_path / "t"))
    stream = rs.stream(
        {"v": "SELECT id, name FROM t"},
        {"t": frame},
        op="op",
        keys=keys,
        order={"t": "ts_ms"} if keys else None,
    )
    with stream.write_stream(tmp_path / "checkpoint").start() as q:
        for number, rows in enumerate(FEED):
            text = "\n".join(map(json.dumps, rows))
            (tmp_path / "draft").write_text(text)
            (tmp_path / "draft").rename(tmp_path / "t" / f"{number}.json")
            q.process_all_available()
        found = q["v"].to_arrow().sort_by("id").to_pylist()
    assert found == [{"id": 1, "name": "Edsger"}, {"id": 30, "name": "Emmy"}]


def test_a_stream_of_rows_with_keys_keeps_the_last(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    frame = spark.readStream.schema("id int, x double, at timestamp").json(str(tmp_path / "t"))
    stream = rs.stream(
        {"v": "SELECT SUM(x) AS x, COUNT(*) AS n FROM t"},
        {"t": frame},
        keys={"t": "id"},
        order="at",
    )
    with stream.write_stream(tmp_path / "checkpoint").start() as q:
        lines = [
            '{"id": 1, "x": 2.5, "at": "2026-01-01T00:00:09Z"}',
            '{"id": 1, "x": 9.0, "at": "2026-01-01T00:00:03Z"}',
            '{"id": 2, "x": 0.5, "at": "1999-01-01T00:00:00Z"}',
        ]
        (tmp_path / "draft").write_text("\n".join(lines))
        (tmp_path / "draft").rename(tmp_path / "t" / "1.json")
        q.process_all_available()
        assert q["v"].to_arrow().to_pylist() == [{"x": 3.0, "n": 2}]


YEAR = 365 * 24 * 3600
NOW = 2**30


def test_files_of_other_times_and_of_other_columns(
    spark: SparkSession, tmp_path: Path, quiet: None
) -> None:
    """A clock that jumps a year ahead and back, late files, columns that appear, vanish, change."""
    (tmp_path / "t").mkdir()
    # Without it Spark passes by what is a week older than the newest file.
    reader = spark.readStream.schema("a long, x long").option("maxFileAge", "100000d")
    stream = rs.stream(
        {"v": "SELECT COUNT(*) AS n, SUM(a) AS a, SUM(x) AS x FROM t"},
        {"t": reader.parquet(str(tmp_path / "t"))},
    )
    writer = stream.write_stream(tmp_path / "checkpoint")

    def arrive(name: str, at: int, columns: dict[str, list[Any]]) -> None:
        draft = tmp_path / "draft"
        pq.write_table(pa.table(columns), draft)
        os.utime(draft, (at, at))
        draft.rename(tmp_path / "t" / f"{name}.parquet")

    def shown(q: rs.streaming.StreamQuery) -> list[Any]:
        q.process_all_available()
        return [list(row.values()) for row in q["v"].to_arrow().to_pylist()]

    with writer.start() as q:
        assert shown(q) == [[0, None, None]]
        arrive("first", NOW, {"a": [1], "x": [1]})
        assert shown(q) == [[1, 1, 1]]
        arrive("in a year", NOW + YEAR, {"a": [2], "x": [2]})
        assert shown(q) == [[2, 3, 3]]
        arrive("late", NOW - YEAR, {"a": [3], "x": [3]})
        assert shown(q) == [[3, 6, 6]]
        arrive("nothing", NOW, {"a": pa.array([], pa.int64()), "x": pa.array([], pa.int64())})
        assert shown(q) == [[3, 6, 6]]
        arrive("more", NOW, {"new": ["?"], "x": [4], "a": [4]})
        assert shown(q) == [[4, 10, 10]]
        arrive("fewer", NOW, {"a": [5]})
        assert shown(q) == [[5, 15, 10]]
        before = q.batch_id
        arrive("other", NOW, {"a": ["six"], "x": [6]})
        with pytest.raises(Exception, match=r"other\.parquet"):
            q.process_all_available()
        assert q["v"].to_arrow()["n"].to_pylist() == [5]
        assert q.batch_id == before
    # The owner of the source repairs it.
    arrive("other", NOW, {"a": [6], "x": [6]})
    with writer.start() as q:
        assert shown(q) == [[6, 21, 16]]


def test_a_checkpoint_of_another_query_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()

    def start(sql: str, schema: str, **more: Any) -> None:
        frame = spark.readStream.schema(schema).json(str(tmp_path / "t"))
        rs.stream({"v": sql}, {"t": frame}, **more).write_stream(tmp_path / "c").start().stop()

    sql = "SELECT a, COUNT(*) AS n FROM t GROUP BY a"
    start(sql, "a int, b string")
    # A column that no view reads says nothing.
    start(sql, "a int, c string")
    for said, wrong in (
        ('column "a" of table "t" was int32 and is string now', (sql, "a string")),
        ('view "v" was SELECT a', ("SELECT a, COUNT(*) AS m FROM t GROUP BY a", "a int")),
        ('column "b" of table "t" is new', (f"{sql}, b", "a int, b int")),
    ):
        with pytest.raises(rs.CheckpointError, match=f"of another query: {said}"):
            start(*wrong)
    with pytest.raises(rs.CheckpointError, match='of table "t" was'):
        start(sql, "a int", keys={"t": "a"})


def test_what_cannot_be_right_is_told_before_anything_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    def frame(schema: str) -> DataFrame:
        return spark.readStream.schema(schema).json(str(tmp_path))

    stream, static = frame("a int, b string, m double, l array<int>"), spark.range(3)
    views = {"v": "SELECT COUNT(*) AS n FROM t"}

    def told(error: type[Exception], said: str, **given: Any) -> None:
        arguments = {"views": views, "tables": {"t": stream}, **given}
        with pytest.raises(error, match=said):
            rs.stream(**arguments)

    told(InvalidValueError, "there is no view to keep", views={})
    told(InvalidValueError, "none of the tables is a stream", tables={"t": static})
    told(TypeMismatchError, 'table "t" is a DataFrame', tables={"t": [1]})
    told(UnknownTableError, "no table", views={"v": "SELECT COUNT(*) FROM nowhere"})
    told(UnknownColumnError, 'no column "mm"; did you mean .m.\\?', multiplicity="mm")
    told(UnknownTableError, 'multiplicity: there is no table "tt"', multiplicity={"tt": "a"})
    told(TypeMismatchError, 'multiplicity: column "m" .* double; it must be', multiplicity="m")
    told(TypeMismatchError, 'op: column "a" of table "t" is int; it must be of texts', op="a")
    told(InvalidValueError, "a multiplicity and an op", op="b", multiplicity="a")
    told(UnknownTableError, 'keys: there is no table "tt"', keys={"tt": "a"})
    told(UnknownColumnError, 'keys: table "t" has no column "id"', keys={"t": ["id"]})
    told(InvalidValueError, "a key without columns", keys={"t": []})
    told(InvalidValueError, "matters only to changes by key", order={"t": "a"})
    told(TypeMismatchError, 'order: column "l"', order="l", keys={"t": "a"})
    both = {"t": stream, "s": spark.createDataFrame([("c", 1)], "op string, id long")}
    told(InvalidValueError, 'op: table "s" is static', tables=both, op={"s": "op"})
    with pytest.raises(UnknownColumnError) as raised:
        rs.stream({"v": "SELECT l FROM t"}, {"t": stream})
    assert "t.l (array<int>)" in raised.value.__notes__[0]
    asked = rs.stream(views, {"t": stream})
    assert repr(asked) == "Stream(v)"
    for wrong in ({"mode": "other"}, {"trigger": 5}):
        with pytest.raises(InvalidValueError, match=r"mode is|trigger=5"):
            asked.write_stream(tmp_path / "c", **wrong)
    with pytest.raises(UnsupportedError, match="give one by its path, or a URI"):
        asked.write_stream("file://host/folder")


def test_spark_connect_is_refused() -> None:
    class DataFrame:
        """As `pyspark.sql.connect.dataframe` has it; its requests to a server are not needed."""

    DataFrame.__module__ = "pyspark.sql.connect.dataframe"
    with pytest.raises(UnsupportedError, match=r"Connect: .* cannot see the engine"):
        rs.stream({"v": "SELECT COUNT(*) FROM t"}, {"t": DataFrame()})  # type: ignore[dict-item]


def test_the_page_prints_what_it_shows(spark: SparkSession) -> None:
    docs.check("docs/spark-streaming.md")


def kill(folder: Path, times: int, seed: int) -> None:
    """Let drivers follow the stream, each until it is killed within its first micro-batches."""
    drawn = random.Random(seed)
    for _ in range(times):
        command = [sys.executable, shops.__file__, str(folder), str(drawn.randrange(1, 500))]
        done = subprocess.run(command, capture_output=True, start_new_session=True)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-3000:]


def survive(spark: SparkSession, folder: Path, times: int, steps: int, seed: int) -> None:
    shop, sink = Shop(folder, seed), rs.ParquetSink(folder / "out")
    for _ in range(steps):
        shop.step()
    kill(folder, times, seed)
    with asked(spark, folder).write_stream(folder / "checkpoint", sink).start() as q:
        q.process_all_available()
        check(q, shop, sink)
        assert q.batch_id == steps - 1


def test_a_driver_that_is_killed_loses_nothing(spark: SparkSession, tmp_path: Path) -> None:
    survive(spark, tmp_path, times=1, steps=5, seed=3)


@pytest.mark.long
def test_a_driver_that_is_killed_50_times_loses_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    survive(spark, tmp_path, times=50, steps=150, seed=4)
