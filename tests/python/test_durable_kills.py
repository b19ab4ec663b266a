"""Databases in files through kills at random moments: there is what returned, wholly."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import crashes
import pytest
import ringview as rv


def killed(path: Path, threads: int, drawn: random.Random) -> list[tuple[str, Any]]:
    """Let a process change a file, kill it, and return its output."""
    command = [sys.executable, crashes.__file__, str(path), str(threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        # It dies within a transaction, behind one, in a commit of a place, or in a snapshot.
        lines = [process.stdout.readline() for _ in range(drawn.randrange(1, 48 * threads))]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines()
    split = (line.split(" ", 1) for line in lines if line.strip())
    return [(word, json.loads(more)) for word, more in split]


class Crashes:
    """A file that processes change until they are killed, and what must be in it."""

    def __init__(self, path: Path, threads: int) -> None:
        self.path, self.threads = path, threads
        self.model = rv.Database()
        crashes.define(self.model)
        self.done: set[int] = set()
        self.had: Counter[str] = Counter()

    def check(self, said: list[tuple[str, Any]]) -> None:
        """After a kill: what returned, and of each thread maybe one more."""
        began, ended = ({n for word, n in said if word == what} for what in ("begin", "end"))
        assert len(began - ended) <= self.threads
        with rv.Database.open(self.path) as db:
            now = ended | {number for number in began - ended if db.is_applied(number)}
            for number in sorted(now - self.done):
                crashes.change(self.model, number, self.threads)
            self.done |= now
            assert all(db.is_applied(number) for number in self.done)
            assert crashes.told(db) == crashes.told(self.model)
            self.check_follower(said, db["by_shop"])

    def check_follower(self, said: list[tuple[str, Any]], view: rv.View) -> None:
        """Rows that it committed, with or without its last ones, and later ones."""
        last: list[list[Any]] = []
        for word, more in said:
            if word == "given":
                last = more
            elif word == "committed":
                self.take(last)
                last = []
        before = self.had.copy()
        follower, rest = view.follow("mail"), []
        while (batch := follower.changes()).num_rows:
            rest += crashes.rows_of(batch)
        self.take(rest)
        if self.had != bag(view):
            # The commit was done, and nobody heard that it was.
            self.had = before.copy()
            self.take(last)
            before = self.had.copy()
            self.take(rest)
        assert self.had == bag(view)
        self.had = before

    def take(self, rows: list[list[Any]]) -> None:
        for *row, times in rows:
            self.had[str(row)] += times
            if not self.had[str(row)]:
                del self.had[str(row)]


def bag(view: rv.View) -> Counter[str]:
    return Counter(str(row) for row in crashes.rows_of(view.to_arrow()))


def crash(path: Path, times: int, threads: int, seed: int) -> None:
    drawn, of = random.Random(seed), Crashes(path, threads)
    for _ in range(times):
        of.check(killed(path, threads, drawn))
    # The number that each process ended before it was killed depends on the machine.
    assert of.done


@pytest.mark.parametrize("threads", [1, 4])
def test_after_a_kill_there_is_what_returned(tmp_path: Path, threads: int) -> None:
    crash(tmp_path / "db", times=3, threads=threads, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 4])
def test_after_200_kills_there_is_what_returned(tmp_path: Path, threads: int) -> None:
    crash(tmp_path / "db", times=200, threads=threads, seed=2)
