"""A state in objects that becomes one of another query, whatever fails on the way; no Java runs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark", minversion="3.5")

import evolve_crashes as crashes
from amounts import some
from evolve_crashes import become, plan
from evolving_streams import Stream, fail
from object_folder import KilledError, Steps, checkpoint
from ringview.errors import CheckpointError, StorageError
from ringview.spark.streaming import objects
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.plan import Plan


def stream(folder: Path, seed: int, *, has_sink: bool = True) -> tuple[Stream, Steps]:
    steps = Steps()
    of = Stream(folder, seed, checkpoint(folder / "checkpoint", steps))
    if not has_sink:
        of.sink = None
    return of, steps


@pytest.mark.parametrize("has_sink", [True, False])
def test_a_checkpoint_becomes_one_query_after_the_other(tmp_path: Path, has_sink: bool) -> None:
    """Also if the sink fails at the first batch behind it, and if there is no batch between."""
    for seed in (0, 1, 3):
        of, _ = stream(tmp_path / str(seed), seed, has_sink=has_sink)
        for number in range(len(crashes.QUERIES)):
            for _ in range(0 if number == 0 else of.drawn.randrange(1, 3)):
                of.of = become(of.checkpoint, number)
            if number == 0 or of.drawn.random() < 0.7 or number == len(crashes.QUERIES) - 1:
                of.take(fails=has_sink and bool(number) and of.drawn.random() < 0.5)
                of.take()
        assert of.of.tables[0].columns.names == ["a", "x", "y"]
        assert not list(of.checkpoint.state.glob("evolv*"))


@pytest.mark.parametrize(
    ("error", "is_done"), some([(KilledError, True), (KilledError, False), (OSError, True)])
)
def test_evolving_ends_at_any_step(
    tmp_path: Path, error: type[BaseException], is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is begun again; or, before the checkpoint records the change, continues as it was."""
    monkeypatch.setattr(objects, "PIECE", 20_000)
    at, kept = 0, 0
    while True:
        at += 1
        of, steps = stream(tmp_path / str(at), 7)
        of.take()
        is_over = True
        for number in (2, 3):
            # The last batch is in the log alone.
            of.take()
            steps.fail(at, is_done=is_done, error=error)
            try:
                become(of.checkpoint, number)
            except (KilledError, OSError, StorageError):
                is_over = False
            steps.fail(None, is_done=False)
            noted = of.checkpoint.noted()
            if "becoming" not in noted and noted["views"] == of.of.views:
                kept += 1
                of.take()
            elif "becoming" in noted:
                with pytest.raises(CheckpointError, match=r"between two queries, .* evolve it"):
                    of.start()
            of.of = become(of.checkpoint, number)
            of.take()
        of.take()
        if is_over:
            break
    assert at > 8
    assert kept


@pytest.mark.parametrize("is_local", [False, True])
def test_a_checkpoint_whose_first_start_ended_becomes_another(
    tmp_path: Path, is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no rows, and maybe no tables."""
    for ended in ("create_tables", "create_views"):
        folder = tmp_path / ended
        at = Checkpoint(folder / "c") if is_local else checkpoint(folder / "c")
        of = Stream(folder, 3, at)
        with monkeypatch.context() as patch:
            patch.setattr(Plan, ended, lambda *given: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                of.start()
        of.of = become(of.checkpoint, 1)
        of.start().close()
        (folder / "c" / "spark" / "offsets").mkdir(parents=True, exist_ok=True)
        (folder / "c" / "spark" / "offsets" / "0").write_bytes(b"")
        of.take()


def test_a_stream_that_runs_is_overtaken(tmp_path: Path) -> None:
    of, _ = stream(tmp_path, 3)
    of.take()
    running = of.start()
    of.of = become(of.checkpoint, 1)
    own, of.sink = of.sink, fail
    with pytest.raises(CheckpointError, match="another stream wrote to the checkpoint"):
        running.take(of.frame([(1, 2, 1)]), of.batch)
    running.close()
    of.sink = own
    of.take()


def test_a_killed_stream_evolves_where_spark_noted_its_batch_as_done(tmp_path: Path) -> None:
    of, steps = stream(tmp_path, 3)
    of.take()
    for is_noted in (True, False):
        running = of.start()
        if is_noted:
            # It is not closed.
            of.note("offsets")
            running.take(of.frame([(1, 2, 1)]), of.batch)
            of.rows.append((1, 2, None))
            of.note("commits")
            of.batch += 1
            of.of = become(of.checkpoint, 1)
            of.take()
            running.close()
            continue
        of.note("offsets")
        running.take(of.frame([(1, 3, 1)]), of.batch)
        with pytest.raises(CheckpointError, match=r"has not taken micro-batch .*; start the"):
            become(of.checkpoint, 2)
        steps.fail(1, is_done=False, error=OSError)
        running.close()
        steps.fail(None, is_done=False)
        running = of.start()
        running.take(of.frame([(1, 3, 1)]), of.batch)
        of.note("commits")
        running.close()
        of.rows.append((1, 3, None))
        of.batch += 1
        of.of = become(of.checkpoint, 2)
        of.take()
    assert of.of.views == plan(2).views
