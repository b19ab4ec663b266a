"""The state of a stream on the driver in objects, exact however it ends; no Java runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from amounts import some

pytest.importorskip("pyspark", minversion="3.5")

import ringview as rv
import state_crashes as crashes
from micro_batches import VIEWS, plan, slots, table
from object_folder import Folder, KilledError, Steps, checkpoint
from oracle import comparable
from ringview.errors import CheckpointError, StorageError
from ringview.spark.slots import MULTIPLICITY
from ringview.spark.streaming import objects
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.locations import write
from ringview.spark.streaming.objects import ObjectLog


class RecordingSink:
    """A sink that records its calls; each call is a step."""

    def __init__(self, steps: Steps) -> None:
        self.steps, self.order = steps, list[tuple[str, int]]()
        self.rows: dict[tuple[str, int], pa.Table] = {}
        self.is_new: list[bool] = []

    def begin(self, owner: str, views: list[str], is_new: bool) -> None:
        self.is_new.append(is_new)

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        self.steps.before()
        before = self.rows.setdefault((view, batch_id), changes)
        assert comparable(before) == comparable(changes), "a batch came twice, changed"
        self.order.append((view, batch_id))
        self.steps.after()

    def replayed(self, view: str) -> list[tuple[Any, ...]]:
        """The rows that its changes leave."""
        found = [rows for (name, _), rows in self.rows.items() if name == view]
        return replayed(pa.concat_tables(found)) if found else []


def replayed(changes: pa.Table) -> list[tuple[Any, ...]]:
    total: dict[tuple[Any, ...], int] = {}
    for row in changes.to_pylist():
        times = row.pop(MULTIPLICITY)
        total[tuple(row.items())] = total.get(tuple(row.items()), 0) + times
    assert min(total.values(), default=0) >= 0
    rows = [dict(row) for row, times in total.items() for _ in range(times)]
    *_, times = range(changes.num_columns)
    return comparable(pa.Table.from_pylist(rows, changes.schema.remove(times)))


class Life:
    """A stream, with what Spark does around its state: it notes a batch, and that it is done."""

    def __init__(self, folder: Path, *, has_letters: bool = True) -> None:
        self.steps = Steps()
        self.sink = RecordingSink(self.steps)
        self.letters = RecordingSink(self.steps) if has_letters else None
        self.folder, self.state = folder, None

    def at(self) -> Checkpoint:
        return checkpoint(self.folder, self.steps)

    def run(self, batches: int, check: Callable[[DriverState], None] | None = None) -> None:
        """Until so many batches are done."""
        at = self.at()
        state = DriverState(crashes.PLAN, {}, at, self.sink, self.letters)
        noted = [int(place.name) for place in (at.spark / "offsets").glob("*")]
        number = max(noted, default=0)
        number += bool(noted) and at.has_done(number)
        try:
            while number < batches:
                write(at.spark / "offsets" / str(number), b"")
                state.take(crashes.frame(number, with_wrong=self.letters is not None), number)
                write(at.spark / "commits" / str(number), b"")
                number += 1
            if check is not None:
                check(state)
        finally:
            state.close()

    def check(self, batches: int) -> None:
        """Run to the end; all is as if nothing had happened."""
        wanted = self.wanted(batches)

        def same(state: DriverState) -> None:
            for name, rows in wanted.items():
                assert comparable(state.view(name).to_arrow()) == rows, name
                assert self.sink.replayed(name) == rows, name

        self.run(batches, same)
        for told in filter(None, (self.sink, self.letters)):
            numbers = [batch for _, batch in told.order]
            assert numbers == sorted(numbers), "an earlier batch came again"
        if self.letters is not None:
            found = {batch: rows.num_rows for (_, batch), rows in self.letters.rows.items()}
            assert found == {n: len(crashes.wrong(n)) for n in range(batches) if crashes.wrong(n)}

    @staticmethod
    @cache
    def wanted(batches: int) -> dict[str, list[tuple[Any, ...]]]:
        db = rv.Database()
        crashes.PLAN.create_tables(db)
        names = crashes.COLUMNS.names
        db.insert("t", [dict(zip(names, row, strict=True)) for row in crashes.left(batches)])
        crashes.PLAN.create_views(db)
        return {name: comparable(db[name].to_arrow()) for name in crashes.VIEWS}


@pytest.fixture(params=["log", "anew"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the state is written anew behind every batch, in several pieces."""
    if request.param == "anew":
        monkeypatch.setattr(objects, "WORTH_IT", 0)
        monkeypatch.setattr(objects, "GROWN", 0)
    monkeypatch.setattr(objects, "PIECE", 20_000)
    found: str = request.param
    return found


@pytest.mark.parametrize(
    ("error", "is_done"), some([(KilledError, True), (KilledError, False), (OSError, True)])
)
def test_a_stream_that_ends_at_any_step_is_exact(
    tmp_path: Path, small: str, is_done: bool, error: type[BaseException]
) -> None:
    """Each write, removal, call of a sink, before and after it is done; killed, or with an error
    behind which the stream is closed."""
    at, batches = 0, 3 if small == "log" else 2
    while True:
        at += 1
        life = Life(tmp_path / str(at))
        life.steps.fail(at, is_done=is_done, error=error)
        try:
            life.run(batches)
            assert life.steps.done < at or error is OSError
        except (KilledError, OSError, StorageError):
            pass
        is_over = life.steps.done < at
        life.steps.fail(None, is_done=False)
        life.check(batches + 1)
        if is_over:
            break
    assert at > 20


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_that_ends_again_and_again_is_exact(tmp_path: Path, small: str, seed: int) -> None:
    drawn, life, ends = random.Random(seed), Life(tmp_path), 0
    for batches in range(1, 12):
        while drawn.random() < 0.7:
            error = drawn.choice([KilledError, OSError])
            life.steps.fail(drawn.randrange(1, 12), is_done=drawn.random() < 0.5, error=error)
            try:
                life.run(batches)
            except (KilledError, OSError, StorageError):
                ends += 1
        life.steps.fail(None, is_done=False)
        life.check(batches)
    assert ends > 3
    assert life.sink.is_new[0]
    assert not life.sink.is_new[-1]


def test_an_upload_is_tried_again(tmp_path: Path) -> None:
    """By the same process, whether or not it was done."""
    for is_done in (False, True):
        life = Life(tmp_path / str(is_done), has_letters=False)
        at = life.at()
        state = DriverState(crashes.PLAN, {}, at, life.sink)
        write(at.spark / "offsets" / "0", b"")
        for number in range(3):
            life.steps.fail(1, is_done=is_done, error=OSError)
            with pytest.raises(StorageError, match=r"cannot write .*log-"):
                state.take(crashes.frame(number), number)
            assert number not in [batch for _, batch in life.sink.order]
            life.steps.fail(None, is_done=False)
            state.take(crashes.frame(number), number)
        state.close()
        write(at.spark / "offsets" / "2", b"")
        write(at.spark / "commits" / "2", b"")
        life.check(5)


def test_what_is_missing_or_cut_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "PIECE", 20_000)
    life = Life(tmp_path)
    life.run(4)
    (at,) = (place for place in (tmp_path / "ringview").iterdir() if place.is_dir())
    advice = "bring back the checkpoint as it was, or start with an empty folder"
    for name in ("log-00000001", "piece-000001"):
        whole = (at / name).read_bytes()
        for broken in (whole[:-1], b"", whole[:9] + bytes([whole[9] ^ 1]) + whole[10:]):
            if broken[:29] != whole[:29] and name.startswith("log") and len(broken) == len(whole):
                continue  # The header names the writer, which does not affect the content.
            (at / name).write_bytes(broken)
            with pytest.raises(CheckpointError, match=f"{name} is cut or damaged; {advice}"):
                life.run(4)
        (at / name).unlink()
        with pytest.raises(CheckpointError, match=f"lacks .*{name}, .*; {advice}"):
            life.run(4)
        (at / name).write_bytes(whole)
    # The last one is a batch that Spark has noted as done.
    names = sorted(place.name for place in at.glob("log-*"))
    for name in names[-2:]:
        (at / name).rename(tmp_path / name)
    with pytest.raises(CheckpointError, match="is at micro-batch 4, and the state at 2"):
        life.run(5)
    for name in names[-2:]:
        (tmp_path / name).rename(at / name)
    manifest = tmp_path / "ringview" / "generation-000000"
    whole = manifest.read_bytes()
    for broken in (whole[:-1], b"[]", whole.replace(b'"format": 1', b'"format": 9')):
        manifest.write_bytes(broken)
        with pytest.raises(CheckpointError, match=f"generation-000000 is damaged: .*{advice}"):
            life.run(4)
    manifest.unlink()
    with pytest.raises(CheckpointError, match=r"lacks its state in .*, or start with an empty"):
        life.run(4)
    manifest.write_bytes(whole)
    life.check(6)


def taking(at: Checkpoint, sink: Any) -> DriverState:
    return DriverState(crashes.PLAN, {}, at, sink)


@pytest.mark.parametrize("is_anew", [False, True])
def test_of_two_streams_one_goes_on(
    tmp_path: Path, is_anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(tmp_path, has_letters=False)
    life.run(1)
    first, second = (taking(life.at(), life.sink) for _ in range(2))
    if is_anew:
        monkeypatch.setattr(objects, "WORTH_IT", 0)
        monkeypatch.setattr(objects, "GROWN", 0)
    write(life.at().spark / "offsets" / "1", b"")
    second.take(crashes.frame(1), 1)
    told = list(life.sink.order)
    for _ in range(2):
        with pytest.raises(CheckpointError, match="another stream wrote to the checkpoint stand"):
            first.take(crashes.frame(1), 1)
    assert life.sink.order == told
    first.close()
    write(life.at().spark / "commits" / "1", b"")
    second.take(crashes.frame(2), 2)
    second.close()
    write(life.at().spark / "offsets" / "2", b"")
    life.check(4)


def test_of_two_that_begin_one_goes_on(tmp_path: Path) -> None:
    steps = Steps()
    first, second = (ObjectLog(Folder(tmp_path / "s", steps), "c") for _ in range(2))
    (tmp_path / "file").write_bytes(b"one")
    first.rewrite(tmp_path / "file")
    with pytest.raises(CheckpointError, match="another stream wrote to the checkpoint c, and has"):
        second.rewrite(tmp_path / "file")
    first.append(b"a")
    # One that was overtaken by a generation, of which nothing is left.
    stale = ObjectLog(Folder(tmp_path / "s", steps), "c")
    assert list(stale.entries()) == [b"a"]
    (tmp_path / "file").write_bytes(b"two")
    first.rewrite(tmp_path / "file")
    with pytest.raises(CheckpointError, match="another stream wrote"):
        stale.append(b"b")
    with pytest.raises(CheckpointError, match="another stream wrote"):
        stale.rewrite(tmp_path / "file")
    first.append(b"c")
    now = ObjectLog(Folder(tmp_path / "s", steps), "c")
    now.fetch(tmp_path / "read")
    assert (tmp_path / "read").read_bytes() == b"two"
    assert list(now.entries()) == [b"c"]


def test_bytes_follow_the_rows_of_a_batch(tmp_path: Path) -> None:
    """And not those that are there, but where a copy of these pays for a log of several times."""
    of = plan(table("rows"), **VIEWS)
    drawn, steps = random.Random(1), Steps()
    at = checkpoint(tmp_path, steps)
    sizes = []
    state = DriverState(of, {}, at, lambda *told: None)
    for number in range(60):
        rows = [(drawn.randrange(10_000), drawn.randrange(1 << 40), 1) for _ in range(1_000)]
        steps.written.clear()
        state.take(crashes.Frame(slots(of, *rows)), number)  # type: ignore[arg-type]
        assert [name[:4] for name in steps.written] == ["log-"]
        sizes.append(steps.written.total())
    assert max(sizes) < 20_000
    assert max(sizes[30:]) < 1.1 * max(sizes[:30])
    shown = comparable(state.view("v").to_arrow())
    state.close()
    (at.spark / "offsets").path.mkdir(parents=True)  # type: ignore[union-attr]
    write(at.spark / "offsets" / "59", b"")
    state = DriverState(of, {}, at, lambda *told: None)
    assert comparable(state.view("v").to_arrow()) == shown
    state.close()


def test_copies_are_amortised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "WORTH_IT", 200_000)
    monkeypatch.setattr(objects, "REQUEST", 1)
    of = plan(table("rows"), **VIEWS)
    drawn, steps = random.Random(1), Steps()
    state = DriverState(of, {}, checkpoint(tmp_path, steps), None)
    steps.written.clear()
    for number in range(200):
        rows = [(drawn.randrange(100), drawn.randrange(1 << 40), 1) for _ in range(1_000)]
        state.take(crashes.Frame(slots(of, *rows)), number)  # type: ignore[arg-type]
    state.close()
    sizes = {"log": 0, "piece": 0, "generation": 0}
    for name, size in steps.written.items():
        sizes[name.partition("-")[0]] += size
    assert 0 < sizes["piece"] < 2 * sizes["log"]
    assert len(list((tmp_path / "ringview").glob("*-*"))) == 2


def test_nothing_stays_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    life = Life(tmp_path / "c")
    life.run(3)
    life.check(5)
    assert list(scratch.iterdir()) == []


def test_a_late_change_does_not_win_over_a_restart(tmp_path: Path) -> None:
    """Keys and their order are in the log, too."""
    of = plan(table("words", keys=("id",), ordered=True), v="SELECT id, x FROM t")
    batches: list[list[tuple[Any, ...]]] = [
        [(1, 10, "c", 5, 1), (2, 20, "c", 6, 1), (3, 30, "c", 7, 1)],
        [(2, None, "d", 9, 1), (1, 9, "u", 4, 1)],
        [(2, 21, "u", 8, 1), (3, 31, "u", 8, 1), (4, None, "d", 3, 1)],
        [(4, 40, "c", 2, 1), (2, 22, "c", 10, 1)],
    ]
    lefts = [[(1, 10), (2, 20), (3, 30)], [(1, 10), (3, 30)], [(1, 10), (3, 31)]]
    lefts.append([(1, 10), (2, 22), (3, 31)])
    steps = Steps()
    at, told = checkpoint(tmp_path, steps), RecordingSink(steps)
    for number, (rows, left) in enumerate(zip(batches, lefts, strict=True)):
        state = DriverState(of, {}, at, told)
        state.take(crashes.Frame(slots(of, *rows)), number)  # type: ignore[arg-type]
        write(at.spark / "offsets" / str(number), b"")
        assert comparable(state.view("v").to_arrow()) == told.replayed("v") == left
        assert state.metrics()["late"] == {"t": [0, 1, 1, 1][number]}
        state.close()


def test_a_sink_may_come_later_and_not_go(tmp_path: Path) -> None:
    of, steps = plan(table("rows"), **VIEWS), Steps()
    at, told = checkpoint(tmp_path, steps), RecordingSink(steps)
    for number, sink in enumerate([None, None, told, told]):
        state = DriverState(of, {}, at, sink)
        for _ in range(2):
            state.take(crashes.Frame(slots(of, (number, 1, 1))), number)  # type: ignore[arg-type]
        for name in ("offsets", "commits"):
            write(at.spark / name / str(number), b"")
        if sink is not None:
            assert told.replayed("v") == comparable(state.view("v").to_arrow())
        # The last one is killed.
        if number < 3:
            state.close()
    assert told.is_new == [True, False]
    with pytest.raises(CheckpointError, match=r"has a sink, .* give sink="):
        DriverState(of, {}, at, None)


def test_a_batch_that_had_no_sink_gets_one_when_it_comes_again(tmp_path: Path) -> None:
    """And the sink does not begin as a new one again, though the old state was not closed."""
    of, steps = plan(table("rows"), **VIEWS), Steps()
    at, told = checkpoint(tmp_path, steps), RecordingSink(steps)
    for number, (batch, sink) in enumerate([(0, None), (0, told), (1, told)]):
        state = DriverState(of, {}, at, sink)
        write(at.spark / "offsets" / str(batch), b"")
        state.take(crashes.Frame(slots(of, (batch, 1, 1))), batch)  # type: ignore[arg-type]
        if number:
            write(at.spark / "commits" / str(batch), b"")
            assert told.replayed("v") == comparable(state.view("v").to_arrow())
    assert told.is_new == [True, False]
