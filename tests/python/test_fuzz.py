"""Fuzzers of messages, bodies, files and texts: seconds before each change, an hour at length.

Each is a process of its own, which may die, hang or panic; that fails the test. Streams of Arrow
have theirs in `test_ipc.py`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from fuzzing import CORPUS, corpus, mutated

HERE = Path(__file__).parent
QUARTER = 900


def fuzzed(kind: str, first: int, count: str, seconds: int) -> None:
    """Run a fuzzer, which ends by itself if a case lasts."""
    command = [sys.executable, "-X", "faulthandler", f"fuzz_{kind}.py", str(first), count]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, cwd=HERE, check=False
    )
    said = done.stdout.split()
    assert done.returncode == 0, f"seed {said[-1:]}: {done.returncode}\n{done.stderr[-5000:]}"
    assert said[-1] == "done"
    assert "panicked" not in done.stderr, done.stderr[-5000:]


@pytest.mark.parametrize(
    ("kind", "count"), [("wire", 300), ("http", 300), ("durable", 150), ("sql", 1500)]
)
def test_mutated_inputs_harm_nobody(kind: str, count: int) -> None:
    fuzzed(kind, 0, str(count), 900)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["wire", "http", "durable", "sql"])
def test_mutated_inputs_harm_nobody_for_an_hour(kind: str) -> None:
    """A quarter of it each, other seeds each time."""
    first = int.from_bytes(os.urandom(4), "big") + 1_000_000
    fuzzed(kind, first, f"{QUARTER}s", 4 * QUARTER)


def test_the_corpus_is_read() -> None:
    kinds = {path.name for path in CORPUS.iterdir()}
    assert kinds == {"wire", "http", "sql"}
    for kind in kinds:
        assert len(corpus(kind)) == len(list((CORPUS / kind).iterdir())) >= 10
    assert b"\r\n\r\n" in corpus("http")[0]


def test_mutations_differ_and_are_the_same_each_time() -> None:
    data = corpus("http")
    found = [mutated(random.Random(seed), data[0], data) for seed in range(50)]
    assert len(set(found)) > 40
    assert found == [mutated(random.Random(seed), data[0], data) for seed in range(50)]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("raise ValueError('wrong')", "wrong"),
        ("import os; os.abort()", "SIGABRT|Aborted|-6"),
        ("import time; time.sleep(600)", "Timeout"),
    ],
)
def test_a_case_that_fails_dies_or_hangs_is_found(case: str, words: str) -> None:
    program = f"""
import fuzzing
fuzzing.LIMIT = 1
def case(seed):
    if seed == 3:
        {case}
fuzzing.run(case)
"""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program, "0", "10"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=HERE,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout.split()[-1] == "3"
    assert any(word in f"{done.stderr} {done.returncode}" for word in words.split("|"))
