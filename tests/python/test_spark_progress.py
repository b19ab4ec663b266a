"""Progress of a stream for users of Spark; dead letters, and sinks of partitions."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import partition_crashes as crashes
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import ringview.spark as rs
from any_pyspark import needs_state
from pyspark.errors import PySparkException
from pyspark.sql.streaming.listener import StreamingQueryListener
from ringview.errors import (
    InvalidValueError,
    RingviewError,
    TypeMismatchError,
    UnknownViewError,
    UnsupportedError,
)
from ringview.spark.streaming.partitioned import versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Told(StreamingQueryListener):
    """Events of micro-batches at a listener, and ringview's report of each."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[dict[str, Any], dict[str, Any] | None]] = {}
        self.ended = threading.Event()

    def onQueryStarted(self, event: Any) -> None: ...  # noqa: N802

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = event.progress
        observed = progress.observedMetrics.get("ringview")
        if observed is not None and progress.numInputRows:
            self.found[progress.batchId] = observed.asDict(), rs.metrics(progress)

    def onQueryIdle(self, event: Any) -> None: ...  # noqa: N802

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        self.ended.set()


@pytest.fixture
def told(quick: SparkSession) -> Iterator[Told]:
    """A listener; streams end with errors here, which Spark would log at length."""
    quick.sparkContext.setLogLevel("OFF")
    found = Told()
    quick.streams.addListener(found)
    yield found
    quick.streams.removeListener(found)
    quick.sparkContext.setLogLevel("ERROR")


def letters(folder: Path) -> Counter[tuple[Any, ...]]:
    """The rows in a folder of letters, with their batches."""
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    found: Counter[tuple[Any, ...]] = Counter()
    for letter in map(json.loads, lines):
        found[letter["batch_id"], *json.loads(letter["row"]).values()] += 1
    return found


def wanted(files: int) -> Counter[tuple[Any, ...]]:
    return Counter((number, *row) for number in range(files) for row in crashes.wrong(number))


def view(files: int) -> Counter[tuple[Any, ...]]:
    groups: dict[int, list[int]] = {}
    for (i, x), times in crashes.left(files).items():
        n, s = groups.setdefault(i, [0, 0])
        groups[i] = [n + times, s + x * times]
    return Counter((i, n, s) for i, (n, s) in groups.items())


def shown(q: rs.streaming.StreamQuery) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(int, row.values())) for row in q["v"].to_arrow().to_pylist())


def test_a_stream_on_the_driver(quick: SparkSession, tmp_path: Path, told: Told) -> None:
    """A poison row ends it; with letters it continues, and reports the outcome of each row."""
    for number in range(4):
        crashes.arrive(tmp_path, number)
    asked = crashes.asked(quick, tmp_path)
    sink = rs.ParquetSink(tmp_path / "out")
    writer = asked.write_stream(tmp_path / "checkpoint", sink)
    with writer.start() as ended, pytest.raises(RingviewError, match='table "t"'):
        ended.process_all_available()
    assert told.ended.wait(300)
    told.ended.clear()
    writer = asked.write_stream(
        tmp_path / "checkpoint", sink, on_error="dead_letter", dead_letters=tmp_path / "letters"
    )
    with writer.start() as q:
        q.process_all_available()
        assert shown(q) == view(4)
        assert letters(tmp_path / "letters") == wanted(4)
        progress = q.progress
        assert progress is not None
        last = q.query.lastProgress
        assert last is not None
    assert told.ended.wait(300)
    for number, (observed, known) in told.found.items():
        rows = len(crashes.come(number)) + len(crashes.wrong(number))
        assert observed == {"rows.t": rows}
        assert known is not None
        assert known["batch_id"] == number
        assert known["rows"] == {"t": rows}
        dead = len(crashes.wrong(number))
        assert known["dead_letters"] == ({"t": dead} if dead else {})
        assert known["moved"]["v"] > 0
        assert known["engine_seconds"] > 0
        assert known["state_bytes"] > 0
    assert 3 in told.found
    assert progress["ringview"]["batch_id"] == 3
    # A dict before PySpark 4.0.
    number = last["batchId"] if isinstance(last, dict) else last.batchId
    assert rs.metrics(last) == told.found[number][1]


@needs_state
def test_a_stream_in_partitions(
    quick: SparkSession, tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a sink in a worker that fails, a restart, and a batch that is repeated; the process that
    has the engines is killed before, and in the end they are all in the next one."""
    failed = tmp_path / "failed"

    def fails_once(partition: int, batch: int) -> None:
        if batch == 1 and not failed.exists():
            failed.touch()
            raise RuntimeError("the sink is not there")

    def start() -> rs.streaming.StreamQuery:
        return (
            crashes.asked(quick, tmp_path)
            .write_stream(
                tmp_path / "checkpoint",
                mode="partitioned",
                partitions=2,
                partition_sink={"v": crashes.by_partition(tmp_path / "out", fails_once)},
                on_error="dead_letter",
                dead_letters=tmp_path / "letters",
            )
            .start()
        )

    for number in range(3):
        crashes.arrive(tmp_path, number)
    while True:
        with start() as q:
            try:
                q.process_all_available()
            except PySparkException:
                crashes.kill_servers(os.getpid())
                continue
            assert len(crashes.servers(driver=os.getpid())) == 1
            # Looks find them there, and need no segments.
            with monkeypatch.context() as patch:
                patch.setattr(versions, "_segments", lambda *_: 1 / 0)
                assert shown(q) == view(3)
            progress = q.progress
            assert progress is not None
            break
    assert failed.exists()
    assert crashes.told(tmp_path / "out") == view(3)
    assert letters(tmp_path / "letters") == wanted(3)
    assert told.ended.wait(300)
    for number, (observed, known) in told.found.items():
        rows = len(crashes.come(number)) + len(crashes.wrong(number))
        dead = len(crashes.wrong(number))
        assert known is not None
        assert (observed["rows.t"], observed["dead_letters.t"]) == (rows, dead)
        assert observed["moved.v"] == known["moved"]["v"] > 0
        assert known["rows"] == {"t": rows}
        assert known["dead_letters"] == ({"t": dead} if dead else {})
        engines = known["engines"]
        assert engines == {
            "found": observed["engines.found"],
            "rebuilt": observed["engines.rebuilt"],
        }
        assert sum(engines.values()) == known["partitions"]["touched"]
        assert observed["state_bytes"] > 0
        assert known["engine_seconds"] > 0
    assert 2 in told.found


@needs_state
def test_what_does_not_go_together(quick: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    asked = crashes.asked(quick, tmp_path)
    two = rs.stream({"v": crashes.VIEW, "w": crashes.VIEW}, {"t": _frame(quick, tmp_path)})

    def write(of: rs.streaming.Stream = asked, **options: Any) -> None:
        of.write_stream(tmp_path / "checkpoint", **options).start()

    parted: dict[str, Any] = {"mode": "partitioned"}
    lock = threading.Lock()
    tried: list[tuple[Any, type[Exception], str]] = [
        (lambda: write(partition_sink=print), InvalidValueError, 'goes with mode="partitioned"'),
        (
            lambda: write(two, partition_sink=print, **parted),
            InvalidValueError,
            'is not told which one moved; give one by view: {"v": .., "w": ..}',
        ),
        (
            lambda: write(partition_sink=7, **parted),
            InvalidValueError,
            "partition_sink=7 is no sink",
        ),
        (
            lambda: write(partition_sink={"w": print}, **parted),
            UnknownViewError,
            'partition_sink: there is no view "w"',
        ),
        (
            lambda: write(partition_sink=lambda *_: lock.acquire(), **parted),
            TypeMismatchError,
            "cannot be pickled",
        ),
        (lambda: write(dead_letters="here"), InvalidValueError, 'goes with on_error="dead_letter"'),
    ]
    for run, error, said in tried:
        with pytest.raises(error) as raised:
            run()
        assert said in str(raised.value)
    assert not (tmp_path / "checkpoint").exists()


@needs_state
def test_rows_that_lie_everywhere_have_no_letters(quick: SparkSession, tmp_path: Path) -> None:
    for name in ("t", "s"):
        (tmp_path / name).mkdir()
    frames = {name: _frame(quick, tmp_path, name) for name in ("t", "s")}
    views = {"v": "SELECT t.id, COUNT(*) AS n FROM t, s GROUP BY t.id"}
    asked = rs.stream(views, frames)
    with pytest.raises(UnsupportedError, match=r'rows of table "s" lie in every partition'):
        asked.write_stream(
            tmp_path / "checkpoint",
            print,
            mode="partitioned",
            on_error="dead_letter",
            dead_letters=tmp_path / "letters",
        ).start()


def _frame(quick: SparkSession, folder: Path, name: str = "t") -> Any:
    return quick.readStream.schema("id long, x long, times long").parquet(str(folder / name))


def survive(quick: SparkSession, folder: Path, times: int, seed: int) -> None:
    """Kills of drivers behind the states of partitions, and in sinks before them, in turn."""
    files = crashes.outlive(crashes.__file__, folder, times, seed, crashes.arrive)
    writer = crashes.asked(quick, folder).write_stream(
        folder / "checkpoint",
        mode="partitioned",
        partition_sink=crashes.by_partition(folder / "out"),
        on_error="dead_letter",
        dead_letters=folder / "letters",
    )
    with writer.start() as q:
        q.process_all_available()
        assert shown(q) == view(files)
    assert crashes.told(folder / "out") == view(files)
    assert letters(folder / "letters") == wanted(files)


@needs_state
@pytest.mark.long
def test_a_stream_in_partitions_that_is_killed_50_times(
    quick: SparkSession, tmp_path: Path
) -> None:
    survive(quick, tmp_path, times=50, seed=1)
