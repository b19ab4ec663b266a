"""Checkpoints by a URI, which neither the driver nor a worker has mounted.

The file system is Hadoop's own of another scheme, over a folder of this machine; only Java has its
path.
where that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import elsewhere
import partition_crashes as crashes
import pyarrow as pa
import pytest
from amounts import some

pytest.importorskip("pyspark", minversion="4.1")

import ringview.spark as rs
from pyspark.sql import SparkSession
from ringview.errors import StorageError
from ringview.spark.streaming import unsent
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.locations import Remote, remove, write


@pytest.fixture
def bucket(quick: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A folder by a URI."""
    (tmp_path / "bucket").mkdir()
    configuration: Any = quick.sparkContext._jsc.hadoopConfiguration()
    name = f"fs.viewfs.mounttable.{tmp_path.name.replace('_', '-')}.link./bucket"
    configuration.set(name, (tmp_path / "bucket").as_uri())
    yield f"viewfs://{tmp_path.name.replace('_', '-')}/bucket"
    configuration.unset(name)


@pytest.mark.parametrize(("mode", "name"), some(elsewhere.MODES))
def test_a_checkpoint_by_a_uri(
    quick: SparkSession,
    tmp_path: Path,
    bucket: str,
    mode: Literal["driver", "partitioned"],
    name: str,
) -> None:
    elsewhere.follow(quick, tmp_path, f"{bucket}/{name}", mode)


@pytest.mark.long
def test_what_partitions_begin_with_goes(
    quick: SparkSession, tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once each of them has a snapshot of its own, at the next start."""
    small = rs.streaming.partitioned.segments.Sizes(slice=150, entry=50, few=100, least=400)
    monkeypatch.setattr("ringview.spark.streaming.partitioned.layout.SIZES", small)
    base = Checkpoint(f"{bucket}/state", quick).state / "g1"
    for number in range(4):
        crashes.arrive(tmp_path, number)
        of = elsewhere.asked(quick, tmp_path, elsewhere.VIEWS)
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
    with pytest.raises(FileExistsError):
        (place / "x").create_bytes(b"a third")
    # Two writers check at the same time, as one of them writes.
    with pytest.raises(FileExistsError):
        (place / "x")._write(lambda stream: stream.write(b"a third"), False)
    assert (place / "x").read_bytes() == b"another"
    (place / "new" / "y").create_bytes(b"one")
    assert (place / "new" / "y").read_bytes() == b"one"
    assert [found.name for found in place.glob("x*")] == ["x"]
    (tmp_path / "large").write_bytes(bytes(range(256)) * 1_000)
    for _ in range(2):
        (place / "new" / "y").write_from(tmp_path / "large")
        (place / "new" / "y").read_to(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "large").read_bytes()
    with pytest.raises(FileNotFoundError):
        (place / "new" / "z").read_to(tmp_path / "again")
    assert list(place.glob("y*")) == []
    changes = {"v /": pa.table({"a": [1]})}
    unsent.keep(unsent.of_batch(place, 3), changes)
    assert unsent.read(unsent.of_batch(place, 3)) == changes
    unsent.forget(place)
    assert unsent.read(unsent.of_batch(place, 3)) is None
    with pytest.raises(FileNotFoundError):
        (place / "y").read_bytes()
    for _ in range(2):
        remove(place)
        assert not place.exists()
    with pytest.raises(StorageError, match="cannot open the checkpoint nowhere:"):
        Checkpoint("nowhere://host/folder", quick)
