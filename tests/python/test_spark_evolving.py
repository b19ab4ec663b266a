"""Views that are added, changed and removed in a checkpoint, and columns; mostly without Java."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import evolve_crashes as crashes
import ringview as rv
import ringview.spark as rs
import state_crashes
from any_pyspark import needs_state
from evolve_crashes import become, plan
from evolving_streams import Stream, fail, replayed
from micro_batches import slots
from oracle import comparable
from ringview.errors import CheckpointError, InvalidValueError, RingviewError, UnsupportedError
from ringview.spark import ParquetSink
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.evolving import evolve, widened
from ringview.spark.streaming.plan import Plan, TablePlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("has_sink", [True, False])
def test_a_checkpoint_becomes_one_query_after_the_other(
    tmp_path: Path, seed: int, has_sink: bool
) -> None:
    """Its views and the sink's changes are those of the rows, with or without batches between, and
    if the sink fails at the first one behind it."""
    of = Stream(tmp_path, seed)
    if not has_sink:
        of.sink = None
    for number in range(len(crashes.QUERIES)):
        if number:
            of.of = become(of.checkpoint, number)
        # Twice changes nothing.
        if number and of.drawn.random() < 0.5:
            of.of = become(of.checkpoint, number)
        if number == 0 or of.drawn.random() < 0.7 or number == len(crashes.QUERIES) - 1:
            of.take(fails=has_sink and bool(number) and of.drawn.random() < 0.5)
            of.take()
    assert of.of.tables[0].columns.names == ["a", "x", "y"]
    assert not list(of.checkpoint.state.glob("evolv*"))
    with pytest.raises(CheckpointError, match=r'view "rows" is new'):
        DriverState(widened(plan(1), crashes.SOURCES, of.checkpoint), {}, of.checkpoint, of.sink)


def killed_while_it_evolves(folder: Path, kills: int, seed: int) -> None:
    """Queries that follow each other, each of which is begun until it is done."""
    of = Stream(folder, seed)
    of.take()
    done, turn = 0, 0
    while done < kills:
        turn += 1
        number = turn % len(crashes.QUERIES)
        if number == 0:
            of = Stream(folder / str(turn), seed + turn)
            of.take()
            continue
        while True:
            steps = of.drawn.randrange(1, 8_000)
            command = [sys.executable, crashes.__file__, str(of.checkpoint.folder), str(number)]
            code = subprocess.run([*command, str(steps)]).returncode
            assert code in (0, -signal.SIGKILL)
            if code == 0:
                break
            done += 1
        of.of = widened(plan(number), crashes.SOURCES, of.checkpoint)
        of.take()


@pytest.mark.long
def test_a_checkpoint_that_is_killed_as_it_evolves(tmp_path: Path) -> None:
    killed_while_it_evolves(tmp_path, kills=2, seed=3)


@pytest.mark.long
def test_a_checkpoint_that_is_killed_50_times_as_it_evolves(tmp_path: Path) -> None:
    killed_while_it_evolves(tmp_path, kills=50, seed=4)


def test_a_checkpoint_on_its_way_is_told_from_one_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Stream(tmp_path, 1)
    of.take()

    def fail(self: Plan, database: rv.Database) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(Plan, "create_views", fail)
        of.sink = None
        with pytest.raises(ZeroDivisionError):
            become(of.checkpoint, 1)
    of.sink = ParquetSink(tmp_path / "out")
    assert "becoming" not in of.checkpoint.noted()
    real, calls = Plan.create_views, [0]

    def fails_second(self: Plan, database: rv.Database) -> None:
        calls[0] += 1
        if calls[0] == 2:
            raise ZeroDivisionError
        real(self, database)

    with monkeypatch.context() as patch:
        patch.setattr(Plan, "create_views", fails_second)
        with pytest.raises(ZeroDivisionError):
            become(of.checkpoint, 1)
    of.of = plan(1)
    with pytest.raises(CheckpointError, match=r"between two queries, .* evolve it once more"):
        of.start()
    with pytest.raises(CheckpointError, match=r'becoming another query: view "rows" is gone; ask'):
        become(of.checkpoint, 0)
    of.of = become(of.checkpoint, 1)
    of.take()


def test_what_a_checkpoint_cannot_become(tmp_path: Path) -> None:
    of = Stream(tmp_path, 2)
    of.take()
    at, table = of.checkpoint, of.of.tables[0]

    def refused(asked: Plan, error: type[RingviewError], said: str, **columns: list[str]) -> None:
        with pytest.raises(error, match=said):
            evolve(asked, crashes.SOURCES, at, columns)
        of.take()

    views = of.of.views
    refused(plan(3), CheckpointError, r'column "y" of table "t" is new; .* new_columns=')
    refused(plan(3), InvalidValueError, 'new_columns: there is no table "r"', r=["y"])
    refused(plan(0), InvalidValueError, 'no view reads column "y" of table "t"', t=["y"])
    keyed = TablePlan("t", table.columns, ("a",), "upserts", False)
    refused(Plan((keyed,), views), CheckpointError, "changes of table .* was rows and is upserts")
    refused(Plan((table,), views, [1]), CheckpointError, "parameters was None and is")
    wider = {**views, "sums": "SELECT a, SUM(x) AS x FROM t GROUP BY a"}
    refused(Plan((table,), wider), UnsupportedError, r'view "sums" had the columns .* another name')
    with pytest.raises(CheckpointError, match="nothing to evolve"):
        evolve(of.of, crashes.SOURCES, Checkpoint(tmp_path / "nowhere"), {})


def test_a_sink_that_waits_is_told_first(tmp_path: Path) -> None:
    of = Stream(tmp_path, 2)
    of.take()
    own, of.sink = of.sink, fail
    state = of.start()
    batch: Any = state_crashes.Frame(slots(of.of, (1, 2, 1)))
    with pytest.raises(ZeroDivisionError):
        state.take(batch, 1)
    state.close()
    with pytest.raises(CheckpointError, match=r"has not taken micro-batch 1; start the stream"):
        become(of.checkpoint, 1)
    of.sink = own
    state = of.start()
    state.take(batch, 1)
    state.close()
    of.rows.append((1, 2, None))
    of.batch = 2
    of.of = become(of.checkpoint, 1)
    of.take()


KINDS = ["boolean", "byte", "short", "int", "long", "float", "double", "string", "date"]
KINDS += ["timestamp", "timestamp_ntz", "decimal(9, 2)"]


@needs_state
@pytest.mark.parametrize("is_ended", [False, True])
@pytest.mark.long
def test_a_stream_in_partitions_evolves(
    quick: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ended: bool
) -> None:
    """A view replaced and others added, and a column; before that on a way that is ended."""
    (tmp_path / "t").mkdir()
    sink, at = ParquetSink(tmp_path / "out"), tmp_path / "checkpoint"
    frame = quick.readStream.schema("a long, x long, y long").parquet(str(tmp_path / "t"))
    sums = "SELECT a, COUNT(*) AS n, SUM(x) AS x FROM t GROUP BY a"
    first = rs.stream({"sums": sums}, {"t": frame})
    views = {
        "sums": sums.replace("GROUP", "WHERE x > 1 GROUP"),
        "high": "SELECT a, x FROM sums WHERE x > 5",
        "by_y": "SELECT a, y, COUNT(*) AS n FROM t GROUP BY a, y",
    }
    second = rs.stream(views, {"t": frame})
    rows: list[dict[str, int | None]] = []

    def run(asked: rs.streaming.Stream) -> None:
        new: list[dict[str, int | None]] = [
            {"a": len(rows) % 3, "x": len(rows), "y": 7},
            {"a": 9, "x": len(rows), "y": None},
        ]
        pq.write_table(pa.Table.from_pylist(new), tmp_path / "draft")
        (tmp_path / "draft").rename(tmp_path / "t" / f"{len(rows)}.parquet")
        # Rows older than a kept column have NULL there.
        keeps = "by_y" in asked.plan.views
        rows.extend({"a": row["a"], "x": row["x"], "y": row["y"] if keeps else None} for row in new)
        with asked.write_stream(at, sink, mode="partitioned", partitions=2).start() as q:
            q.process_all_available()
            read = {name: comparable(q[name].to_arrow()) for name in q.views if name == "high"}
        db = rv.Database()
        db.create_table("t", {"a": "int64", "x": "int64", "y": "int64"})
        db.insert("t", rows)
        db.create_views(asked.plan.views)
        for name in asked.plan.views:
            wanted = comparable(db[name].to_arrow())
            assert replayed(sink.read(name)) == wanted, name
            assert read.get(name, wanted) == wanted

    run(first)
    if is_ended:
        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "note", lambda self, described: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                second.evolve(at, new_columns={"t": ["y"]})
        run(first)
    second.evolve(at, new_columns={"t": ["y"]})
    with pytest.raises(CheckpointError, match="is gone"):
        first.write_stream(at, sink, mode="partitioned").start()
    by_worker = {"by_y": lambda *told: None}
    with pytest.raises(UnsupportedError, match=r'view "by_y" is new .* give it sink='):
        second.write_stream(at, sink, mode="partitioned", partition_sink=by_worker).start()
    run(second)
    # Views that the driver keeps, and those without it again.
    whole = {
        **views,
        "all": "SELECT SUM(x) AS x, COUNT(*) AS n FROM t",
        "top": "SELECT a, x FROM sums ORDER BY x DESC, a LIMIT 2",
    }
    third = rs.stream(whole, {"t": frame})
    third.evolve(at)
    run(third)
    second.evolve(at)
    run(second)
    ordered = rs.stream({"first": "SELECT a, x FROM t ORDER BY x LIMIT 1"}, {"t": frame})
    with pytest.raises(UnsupportedError, match="is not kept in partitions"):
        ordered.evolve(at)


def test_a_stream_of_spark_evolves(quick: SparkSession, tmp_path: Path) -> None:
    """A view more, and columns of all types that only later files have."""
    (tmp_path / "t").mkdir()
    sink = ParquetSink(tmp_path / "out")
    late = [f"c{place}" for place in range(len(KINDS))]
    schema = ", ".join(["a long", *(f"{n} {k}" for n, k in zip(late, KINDS, strict=True))])
    frame = quick.readStream.schema(schema).parquet(str(tmp_path / "t"))
    count = {"n": "SELECT a, COUNT(*) AS n FROM t GROUP BY a"}
    first = rs.stream(count, {"t": frame})

    def arrive(name: str, rows: pa.Table) -> None:
        pq.write_table(rows, tmp_path / "draft")
        (tmp_path / "draft").rename(tmp_path / "t" / f"{name}.parquet")

    def run(asked: rs.streaming.Stream) -> dict[str, list[tuple[Any, ...]]]:
        with asked.write_stream(tmp_path / "checkpoint", sink).start() as q:
            q.process_all_available()
            with pytest.raises(RingviewError):
                asked.evolve(tmp_path / "checkpoint")
            found = {name: comparable(q[name].to_arrow()) for name in q.views}
        for name, rows in found.items():
            assert replayed(sink.read(name)) == rows
        return found

    arrive("1", pa.table({"a": [1, 2]}))
    assert run(first) == {"n": [(1, 1), (2, 1)]}
    listed = ", ".join(late)
    second = rs.stream({**count, "late": f"SELECT a, {listed} FROM t"}, {"t": frame})
    with pytest.raises(CheckpointError, match=r'"late" is new|is new'):
        second.write_stream(tmp_path / "checkpoint", sink).start()
    with pytest.raises(CheckpointError, match=r'column "c0" of table "t" is new'):
        second.evolve(tmp_path / "checkpoint")
    second.evolve(tmp_path / "checkpoint", new_columns={"t": late})
    arrive("2", pa.table({"a": [1], "c4": pa.array([7], pa.int64())}))
    found = run(second)
    assert found["n"] == [(1, 2), (2, 1)]
    assert {(row[0], row[5]) for row in found["late"]} == {(1, None), (2, None), (1, 7)}
    # Columns that no view reads any more are kept.
    first.evolve(tmp_path / "checkpoint")
    arrive("3", pa.table({"a": [2]}))
    assert run(first) == {"n": [(1, 2), (2, 2)]}
