"""Senders through kills at random moments: each change was sent once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import ringview as rv
import sink_driver
from ringview import sinks
from test_sinks import bag, of_view, read, replayed


def killed(folder: Path, draw: random.Random) -> list[str]:
    """Let a process change a view and send it, and kill it; what it said."""
    command = [sys.executable, sink_driver.__file__, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(draw.randrange(1, 60))]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines()
    return [line.strip() for line in lines]


def through_kills(folder: Path, seed: int, times: int) -> Counter[str]:
    draw, last = random.Random(seed), Counter[str]()
    for _ in range(times):
        last[killed(folder, draw)[-1].split(" ")[0]] += 1
    with rv.Database.open(folder / "db") as db:
        sinks.run(db, sink_driver.given(folder))
        assert bag(read(folder / "out.sqlite", "now")) == of_view(db)
        wanted = Counter(tuple(map(int, row.values())) for row in db["w"])
        assert replayed(read(folder / "out.sqlite", "log")) == wanted
        files = Counter[tuple[Any, ...]]()
        for row in sinks.ParquetSink(folder / "out").read("x").to_pylist():
            files[row["k"], row["most"]] += row["multiplicity"]
        assert +files == Counter(tuple(row.values()) for row in db["x"])
    return last


def test_after_kills_each_change_was_sent_once(tmp_path: Path) -> None:
    through_kills(tmp_path, seed=1, times=4)


@pytest.mark.long
def test_after_150_kills_each_change_was_sent_once(tmp_path: Path) -> None:
    last = through_kills(tmp_path, seed=2, times=150)
    # It died between all steps of a batch.
    assert len(last) >= 3
