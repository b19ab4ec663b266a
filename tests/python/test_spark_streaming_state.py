"""The state of a stream on the driver: each micro-batch once, through crashes; no Java runs."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import ringview as rv
import state_crashes as crashes
from micro_batches import VIEWS, begun, plan, slots, table
from oracle import Oracle, comparable, plain_rows
from ringview.errors import RingviewError, StorageError
from ringview.spark import CheckpointError, ParquetSink
from ringview.spark.streaming import persisting
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.locations import remove
from ringview.spark.streaming.marks import last_batch
from ringview.spark.streaming.partitioned.engine import PartitionEngine
from shop import replayed


class Log:
    """A sink that records its changes, and fails on demand."""

    def __init__(self) -> None:
        self.told: dict[tuple[str, int], list[tuple[Any, ...]]] = {}
        self.fails: set[tuple[str, int]] = set()

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        rows = plain_rows([tuple(row.values()) for row in changes.to_pylist()])
        assert self.told.setdefault((view, batch_id), rows) == rows, "a batch came twice, changed"
        if (view, batch_id) in self.fails:
            self.fails.discard((view, batch_id))
            raise ZeroDivisionError(view)

    def replayed(self, view: str) -> list[tuple[Any, ...]]:
        """Sum of the changes of a view."""
        total: dict[tuple[Any, ...], int] = {}
        for (name, _), rows in self.told.items():
            for *row, times in rows if name == view else ():
                total[tuple(row)] = total.get(tuple(row), 0) + int(times)
        assert set(total.values()) <= {0, 1}
        return plain_rows([row for row, times in total.items() if times])


def shown(state: DriverState, view: str) -> list[tuple[Any, ...]]:
    rows = state.view(view).to_arrow().to_pylist()
    return plain_rows([tuple(row.values()) for row in rows])


@pytest.mark.parametrize("seed", range(10))
def test_a_state_counts_each_batch_once(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated batches, sinks that fail, restarts in between, in a random order."""
    if seed % 2:
        # The file is written anew behind every batch.
        monkeypatch.setattr(persisting, "_WORTH_IT", 0)
        monkeypatch.setattr(persisting, "_GROWN", 0)
    drawn, log = random.Random(seed), Log()
    of = plan(table("rows"), **VIEWS)
    checkpoint = begun(Checkpoint(tmp_path / "checkpoint"), of)
    state = DriverState(of, {}, checkpoint, log)
    rows: list[tuple[int, int]] = []
    batch_id = 0
    while batch_id < 12:
        fresh = [(drawn.randrange(4), drawn.randrange(9)) for _ in range(drawn.randrange(5))]
        gone = drawn.sample(rows, min(len(rows), drawn.randrange(3)))
        batch = slots(of, *((*row, 1) for row in fresh), *((*row, -1) for row in gone))
        for row in gone:
            rows.remove(row)
        rows += fresh
        log.fails = {(name, batch_id) for name in VIEWS if drawn.random() < 0.3}
        again = True
        while again:
            with contextlib.suppress(ZeroDivisionError):
                state.take(crashes.Frame(batch), batch_id)  # type: ignore[arg-type]
                again = drawn.random() < 0.2
            if drawn.random() < 0.4:
                state.close()
                state = DriverState(of, {}, checkpoint, log)
                assert state.batch_id == batch_id
        batch_id += 1
        for name in VIEWS:
            assert log.replayed(name) == shown(state, name)
        assert len(shown(state, "v")) == len({row[0] for row in rows})
    assert not list(checkpoint.state.glob("unsent-*"))
    state.close()


def test_a_poison_batch_changes_nothing(tmp_path: Path) -> None:
    of, log = plan(table("rows"), **VIEWS), Log()
    state = DriverState(of, {}, begun(Checkpoint(tmp_path), of), log)
    state.take(crashes.Frame(slots(of, (1, 10, 1))), 0)  # type: ignore[arg-type]
    before = {name: shown(state, name) for name in VIEWS}
    for poison, said in (
        ([(2, 5, 1), (1, 11, -1)], r'table "t" holds 0 of the row \(id = 1, x = 11\)'),
        ([(2, 5, None)], "NULL"),
        ([(1, 1, 2**63 - 1), (1, 1, 5)], "overflow in"),
    ):
        with pytest.raises(RingviewError, match=said):
            state.take(crashes.Frame(slots(of, *poison)), 1)  # type: ignore[arg-type]
        assert {name: shown(state, name) for name in VIEWS} == before
        assert state.batch_id == 0
    assert {batch for _, batch in log.told} == {0}
    state.take(crashes.Frame(slots(of, (1, 11, 1))), 1)  # type: ignore[arg-type]
    assert shown(state, "v") == log.replayed("v")
    state.close()


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    code = """
        import resource, signal, sys
        from pathlib import Path
        import pyarrow as pa
        import state_crashes as crashes
        from ringview.errors import StorageError
        from ringview.spark.streaming.checkpoint import Checkpoint
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        folder = Path(sys.argv[1])
        checkpoint = Checkpoint(folder / "checkpoint")
        state = crashes.state(checkpoint, folder)
        state.take(crashes.frame(0), 0)
        large = crashes.frame(1)
        large.rows = pa.concat_tables([large.rows, *[crashes.frame(0).rows] * 5_000])
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, hard))
        before = state.view("sums").to_arrow()
        try:
            state.take(large, 1)
        except StorageError as problem:
            print(problem)
        print(state.batch_id, state.view("sums").to_arrow() == before)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        state.close()
        state = crashes.state(checkpoint, folder)
        print(state.batch_id, sorted(state.view("rows").to_arrow().to_pylist(), key=str) ==
            [{"a": a, "x": x} for a, x in sorted(crashes.left(1), key=str)])
        state.take(crashes.frame(1), 1)
        print(state.batch_id)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=here)
    problem, *states = done.stdout.splitlines()
    assert "cannot write" in problem
    assert states == ["0 True", "0 True", "1"]


def test_a_sink_may_come_later_and_not_go(tmp_path: Path) -> None:
    of, log = plan(table("rows"), **VIEWS), Log()
    checkpoint = begun(Checkpoint(tmp_path), of)
    for number, sink in enumerate([None, None, log, log]):
        state = DriverState(of, {}, checkpoint, sink)
        for _ in range(2):
            state.take(crashes.Frame(slots(of, (number, 1, 1))), number)  # type: ignore[arg-type]
        if sink is not None:
            assert log.replayed("v") == shown(state, "v")
        state.close()
        state.close()
        with pytest.raises(RingviewError, match="stopped"):
            state.take(crashes.Frame(slots(of)), number + 1)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match=r"has a sink, .* give sink="):
        DriverState(of, {}, checkpoint, None)


def test_parts_of_different_times_are_refused(tmp_path: Path) -> None:
    of = plan(table("rows"), **VIEWS)
    checkpoint = begun(Checkpoint(tmp_path), of)
    state = DriverState(of, {}, checkpoint, None)
    with pytest.raises(StorageError, match="open elsewhere"):
        DriverState(of, {}, checkpoint, None)
    for number in range(3):
        state.take(crashes.Frame(slots(of, (1, 1, 1))), number)  # type: ignore[arg-type]
    for number in (1, 4):
        with pytest.raises(
            CheckpointError, match=f"is at micro-batch {number}, and the state at 2"
        ):
            state.take(crashes.Frame(slots(of, (1, 1, 1))), number)  # type: ignore[arg-type]
    assert shown(state, "v") == [(1, 3, 3)]
    state.close()
    remove(checkpoint.spark / "offsets" / "0")
    with pytest.raises(CheckpointError, match=r"behind micro-batch 2"):
        DriverState(of, {}, checkpoint, None)


def test_a_late_change_does_not_win_over_a_restart(tmp_path: Path) -> None:
    """On the driver, and in a partition with its snapshot and its log."""
    of = plan(table("words", keys=("id",), ordered=True), v="SELECT id, x FROM t")
    batches: list[list[tuple[Any, ...]]] = [
        [(1, 10, "c", 5, 1), (2, 20, "c", 6, 1), (3, 30, "c", 7, 1)],
        [(2, None, "d", 9, 1), (1, 9, "u", 4, 1)],
        [(2, 21, "u", 8, 1), (3, 31, "u", 8, 1), (4, None, "d", 3, 1)],
        [(4, 40, "c", 2, 1), (2, 22, "c", 10, 1)],
    ]
    steps = [[(1, 10), (2, 20), (3, 30)], [(1, 10), (3, 30)], [(1, 10), (3, 31)]]
    steps.append([(1, 10), (2, 22), (3, 31)])
    late = [0, 1, 1, 1]
    checkpoint, log = begun(Checkpoint(tmp_path / "checkpoint"), of), Log()
    saved: list[bytes] | None = None
    for number, (rows, left) in enumerate(zip(batches, steps, strict=True)):
        batch = slots(of, *rows)
        state = DriverState(of, {}, checkpoint, log)
        state.take(crashes.Frame(batch), number)  # type: ignore[arg-type]
        assert shown(state, "v") == log.replayed("v") == left
        assert state.metrics()["late"] == {"t": late[number]}
        assert state.metrics()["rows"] == {"t": len(rows)}
        state.close()
        engine = PartitionEngine.start(of, True, saved or [], saved is None)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_table(batch)
        engine.apply([sink.getvalue().to_pybytes()])
        found = engine.database["v"].to_arrow().to_pylist()
        assert plain_rows([tuple(row.values()) for row in found]) == left
        assert engine.applied is not None
        assert engine.applied.late == {"t": late[number]}
        saved = engine.slices(10)


def killed_while_it_takes(folder: Path, times: int, seed: int) -> None:
    drawn = random.Random(seed)
    checkpoint = Checkpoint(folder / "checkpoint")
    for _ in range(times):
        steps = drawn.randrange(1, 20_000)
        done = subprocess.run([sys.executable, crashes.__file__, str(folder), str(steps)])
        assert done.returncode == -signal.SIGKILL
    state = crashes.state(checkpoint, folder)
    number = crashes.noted(checkpoint)
    state.take(crashes.frame(number), number)
    oracle = Oracle({"t": crashes.COLUMNS})
    rows = [dict(zip(("a", "x"), row, strict=True)) for row in crashes.left(number + 1)]
    for name, sql in crashes.VIEWS.items():
        found = comparable(state.view(name).to_arrow())
        if name == "above":
            sql = sql.replace("sums", f"({crashes.VIEWS['sums']})")
        assert found == oracle.rows(sql, {"t": rows}), name
        assert replayed(ParquetSink(folder / "out").read(name)) == found, name
    state.close()
    assert number


def test_a_state_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    killed_while_it_takes(tmp_path, times=3, seed=5)


@pytest.mark.long
def test_a_state_that_is_killed_200_times_loses_nothing(tmp_path: Path) -> None:
    killed_while_it_takes(tmp_path, times=200, seed=6)


def test_the_last_batch_is_found() -> None:
    db = rv.Database()
    for number in range(70):
        assert last_batch(db) == number - 1
        with db.transaction(batch_id=number):
            pass
