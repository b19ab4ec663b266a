"""A stream with mode="partitioned", of which some rows are wrong, that is killed.

Run as `python partition_crashes.py FOLDER SEED WHERE`: a driver that follows the stream until it is
killed, with its Java: "driver" after some steps of ringview's own code in a micro-batch, which is
behind the states of partitions, "worker" in the sink of a partition, which is before them. The sink
kills the process that has the engines now and then, in both.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from ringview.spark.streaming import Stream

SCHEMA = pa.schema({"id": pa.int64(), "x": pa.int64(), "times": pa.int64()})
VIEW = "SELECT id, COUNT(*) AS n, SUM(x) AS x FROM t GROUP BY id"

Row = tuple[Any, ...]


def come(number: int) -> list[Row]:
    """Valid rows of a file; some of them delete rows of the file before."""
    drawn = random.Random(number)
    new = [(drawn.randrange(6), drawn.randrange(9), 1) for _ in range(9)]
    gone = [(i, x, -1) for i, x, _ in come(number - 1)[:3]] if number else []
    return [*new, *gone]


def wrong(number: int) -> list[Row]:
    """The others, in every second file: deletes of what never was, and NULLs."""
    drawn, rows = random.Random(-number - 1), number % 2 * 3
    return [(drawn.randrange(6), 99, drawn.choice([None, -1])) for _ in range(rows)]


def arrive(folder: Path, number: int) -> None:
    """One file, whole when it is seen, later than those before."""
    (folder / "t").mkdir(exist_ok=True)
    rows = [dict(zip(SCHEMA.names, row, strict=True)) for row in come(number) + wrong(number)]
    draft = folder / f"{number}.part"
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), draft)
    os.utime(draft, (2**30 + 10 * number,) * 2)
    draft.rename(folder / "t" / f"{number:06d}.parquet")


def left(files: int) -> Counter[Row]:
    """The rows behind so many files."""
    found: Counter[Row] = Counter()
    for number in range(files):
        for i, x, times in come(number):
            found[i, x] += times
    return +found


def asked(spark: SparkSession, folder: Path) -> Stream:
    """The view over the stream, a file a micro-batch."""
    import ringview.spark as rs

    read = spark.readStream.schema("id long, x long, times long")
    read = read.option("maxFilesPerTrigger", 1).option("maxFileAge", "100000d")
    return rs.stream(
        {"v": VIEW}, {"t": read.parquet(str(folder / "t"))}, multiplicity={"t": "times"}
    )


def by_partition(
    folder: Path, before: Callable[[int, int], None] = lambda partition, batch: None
) -> Callable[[int, int, pa.Table], None]:
    """A sink of partitions: a file for each of a batch, which a namesake replaces."""

    def sink(partition: int, batch: int, rows: pa.Table) -> None:
        before(partition, batch)
        folder.mkdir(exist_ok=True)
        draft = folder / f".{partition}.{batch}.{os.getpid()}"
        pq.write_table(rows, draft)
        draft.rename(folder / f"{partition}-{batch}.parquet")

    return sink


def servers(session: int | None = None, driver: int | None = None) -> list[int]:
    """The processes that have the engines of executors: of a session, or of a driver's Java."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_text().split("\0")
            if not any("partitioned.server" in part for part in command):
                continue
            # Behind `python -c SCRIPT PATHS`.
            executor = Path("/proc", command[4], "stat")
            of = {session: os.getsid(int(path.name))}
            if driver is not None:
                of = {driver: int(executor.read_text().rpartition(")")[2].split()[1])}
        except OSError:
            continue
        if all(wanted == number for wanted, number in of.items()):
            found.append(int(path.name))
    return found


def kill_servers(driver: int) -> None:
    """End them, as a machine out of memory would."""
    for process in servers(driver=driver):
        os.kill(process, signal.SIGKILL)


def told(folder: Path) -> Counter[Row]:
    """Sum of the files of such a sink."""
    found: Counter[Row] = Counter()
    for path in folder.glob("*.parquet"):
        for *row, times in (list(each.values()) for each in pq.read_table(path).to_pylist()):
            found[tuple(map(int, row))] += times
    assert min(found.values(), default=0) >= 0
    return +found


def outlive(
    script: str, folder: Path, times: int, seed: int, arrive: Callable[[Path, int], None]
) -> int:
    """Kills of drivers behind the states of partitions, and in sinks before them, in turn.

    Returns:
                Number of files that arrived.
    """
    # Workers find the sinks of a script that imports them.
    own = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, own))}
    drawn, files, kills = random.Random(seed), 0, 0
    while kills < times:
        for _ in range(2):
            arrive(folder, files)
            files += 1
        where = ("driver", "worker")[kills % 2]
        command = [sys.executable, script, str(folder), str(drawn.randrange(10**9)), where]
        to = subprocess.PIPE
        with subprocess.Popen(
            command, stdout=to, stderr=to, env=env, start_new_session=True
        ) as done:
            said = b"".join(done.communicate())
        assert done.returncode in (0, -signal.SIGKILL), said.decode()[-3000:]
        kills += done.returncode != 0
        while servers(done.pid):
            # None outlives its executor.
            threading.Event().wait(0.05)
    return files


def main(asked: Callable[[SparkSession, Path], Stream] = asked) -> None:
    """Until it is killed, or all is taken."""
    import ringview.spark as rs
    from ringview.spark.streaming.partitioned import layout
    from ringview.spark.streaming.partitioned.segments import Sizes
    from ringview.spark.streaming.partitioned.state import PartitionedState

    # So small that a few files are several snapshots.
    setattr(layout, "SIZES", Sizes(slice=150, entry=50, few=200, least=100))  # noqa: B010
    folder, seed, where = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    own, take, group = os.path.dirname(rs.__file__), PartitionedState.take, os.getpgid(0)
    driver = os.getpid()
    steps = random.Random(seed).randrange(1, 250)

    def step(frame: FrameType, *_: object) -> None:
        nonlocal steps
        steps -= frame.f_code.co_filename.startswith(own)
        if steps <= 0:
            os.killpg(group, signal.SIGKILL)

    def counted(state: PartitionedState, rows: DataFrame, batch_id: int) -> None:
        sys.setprofile(step)
        try:
            take(state, rows, batch_id)
        finally:
            sys.setprofile(None)

    def kill(partition: int, batch: int) -> None:
        drawn = random.Random(f"{seed} {partition} {batch}")
        if drawn.random() < 0.2:
            kill_servers(driver)
        if where == "worker" and drawn.random() < 0.3:
            # Workers are a group of their own.
            os.killpg(group, signal.SIGKILL)

    if where == "driver":
        setattr(PartitionedState, "take", counted)  # noqa: B010
    spark = rs.session("crashes", SPARK)
    spark.sparkContext.setLogLevel("OFF")
    sink = by_partition(folder / "out", kill)
    writer = asked(spark, folder).write_stream(
        folder / "checkpoint",
        mode="partitioned",
        partitions=2,
        partition_sink=sink,
        on_error="dead_letter",
        dead_letters=folder / "letters",
    )
    with writer.start() as q:
        q.process_all_available()


if __name__ == "__main__":
    main()
