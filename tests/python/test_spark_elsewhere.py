"""A checkpoint of mode="partitioned" by a URI, which neither the driver nor a worker has mounted.

The file system is Hadoop's own of another scheme, over a folder of this machine; only Java knows
where that is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import partition_crashes as crashes
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="4.1")

import ringview.spark as rs
from oracle import comparable
from pyspark.sql import SparkSession
from ringview.errors import StorageError, UnsupportedError
from ringview.spark import CheckpointError, ParquetSink
from ringview.spark.streaming import Stream, unsent
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.places import Remote, remove, write
from shop import replayed

NAMES = pa.table({"id": list(range(6)), "name": [f"n{n}" for n in range(6)]})
VIEWS = {
    "v": "SELECT t.id, n.name, COUNT(*) AS n, SUM(x) AS x FROM t JOIN n ON n.id = t.id "
    "GROUP BY t.id, n.name"
}
MORE = {**VIEWS, "w": "SELECT id, MAX(x) AS most FROM t GROUP BY id"}


@pytest.fixture
def bucket(quick: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A folder by a URI."""
    (tmp_path / "bucket").mkdir()
    configuration: Any = quick.sparkContext._jsc.hadoopConfiguration()
    name = f"fs.viewfs.mounttable.{tmp_path.name.replace('_', '-')}.link./bucket"
    configuration.set(name, (tmp_path / "bucket").as_uri())
    yield f"viewfs://{tmp_path.name.replace('_', '-')}/bucket"
    configuration.unset(name)


def asked(spark: SparkSession, folder: Path, views: dict[str, str]) -> Stream:
    read = spark.readStream.schema("id long, x long, times long").option("maxFilesPerTrigger", 1)
    frames = {"t": read.parquet(str(folder / "t")), "n": spark.createDataFrame(NAMES)}
    return rs.stream(views, frames, multiplicity={"t": "times"})


def wanted(files: int) -> dict[str, Counter[Any]]:
    rows = crashes.left(files)
    of: dict[int, list[int]] = {}
    for (i, x), times in rows.items():
        of.setdefault(i, []).extend([x] * times)
    return {
        "v": Counter((i, f"n{i}", len(xs), sum(xs)) for i, xs in of.items()),
        "w": Counter((i, max(xs)) for i, xs in of.items()),
    }


def test_a_checkpoint_by_a_uri(quick: SparkSession, tmp_path: Path, bucket: str) -> None:
    """Restarts with a static table, dead letters, a move, another view, and who has it."""
    at, sink = f"{bucket}/state", ParquetSink(tmp_path / "out")

    def start(views: dict[str, str]) -> rs.streaming.StreamQuery:
        of = asked(quick, tmp_path, views)
        how: dict[str, Any] = {"mode": "partitioned", "on_error": "dead_letter"}
        return of.write_stream(at, sink, dead_letters=tmp_path / "letters", **how).start()

    def goes_on(views: dict[str, str], files: int) -> None:
        with start(views) as q:
            q.process_all_available()
            same(q, files)

    def same(q: rs.streaming.StreamQuery, files: int) -> None:
        for name in q.views:
            rows = q[name].to_arrow()
            assert Counter(tuple(row.values()) for row in rows.to_pylist()) == wanted(files)[name]
            assert replayed(sink.read(name)) == comparable(rows)

    for number in range(2):
        crashes.arrive(tmp_path, number)
        goes_on(VIEWS, number + 1)
    asked(quick, tmp_path, VIEWS).repartition(at, partitions=3)
    crashes.arrive(tmp_path, 2)
    goes_on(VIEWS, 3)
    asked(quick, tmp_path, MORE).evolve(at)
    crashes.arrive(tmp_path, 3)
    first = start(MORE)
    first.process_all_available()
    same(first, 4)
    letters = sorted(path.name for path in (tmp_path / "letters").glob("*.jsonl"))
    assert letters == ["000000000001.jsonl", "000000000003.jsonl"]
    # Whoever takes it has it; the other one ends with its next micro-batch.
    state = first._state
    write(Checkpoint(at, quick).state / "owner", b"another")
    crashes.arrive(tmp_path, 4)
    with pytest.raises(CheckpointError, match="another stream was started with the checkpoint"):
        first.process_all_available()
    assert isinstance(state.failure, CheckpointError)
    first.stop()
    goes_on(MORE, 5)
    with pytest.raises(UnsupportedError, match="give a folder that the driver has mounted, or"):
        asked(quick, tmp_path, VIEWS).write_stream(at, sink)


def test_what_partitions_begin_with_goes(
    quick: SparkSession, tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once each of them has a snapshot of its own, at the next start."""
    small = rs.streaming.partitioned.segments.Sizes(slice=150, entry=50, few=100, least=400)
    monkeypatch.setattr("ringview.spark.streaming.partitioned.layout.SIZES", small)
    base = Checkpoint(f"{bucket}/state", quick).state / "g1"
    for number in range(4):
        crashes.arrive(tmp_path, number)
        of = asked(quick, tmp_path, VIEWS)
        how: dict[str, Any] = {"on_error": "dead_letter", "dead_letters": tmp_path / "letters"}
        writer = of.write_stream(f"{bucket}/state", mode="partitioned", partitions=1, **how)
        with writer.start() as q:
            q.process_all_available()
            rows = q["v"].to_arrow().to_pylist()
        if number == 0:
            assert base.exists()
    assert not base.exists()
    assert rows


def test_a_place_elsewhere_is_like_a_folder(
    quick: SparkSession, tmp_path: Path, bucket: str
) -> None:
    place = Remote.of(f"{bucket}/a", quick)
    assert (place.name, str(place.parent), place.resolve()) == ("a", bucket, place)
    assert not (place / "x").exists()
    assert list(place.glob("*")) == []
    for data in (b"one", b"another"):
        write(place / "x", data)
        assert (place / "x").read_bytes() == data
    assert [found.name for found in place.glob("x*")] == ["x"]
    assert list(place.glob("y*")) == []
    changes = {"v /": pa.table({"a": [1]})}
    unsent.keep(unsent.of_batch(place, 3), changes)
    assert unsent.kept(unsent.of_batch(place, 3)) == changes
    unsent.forget(place)
    assert unsent.kept(unsent.of_batch(place, 3)) is None
    with pytest.raises(FileNotFoundError):
        (place / "y").read_bytes()
    for _ in range(2):
        remove(place)
        assert not place.exists()
    with pytest.raises(StorageError, match="cannot open the checkpoint nowhere:"):
        Checkpoint("nowhere://host/folder", quick)
