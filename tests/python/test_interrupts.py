"""Ctrl-C reports the truth: a stopped change has not happened, a completed one is reported."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
import ringview as rv

HERE = Path(__file__).parent


def python(*arguments: object) -> list[str]:
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=HERE)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("calls", [["insert"], ["delete", "transaction", "chain_row"]])
def test_an_interrupted_batch_is_undone_or_said_to_be_done(calls: list[str]) -> None:
    assert python("interrupts.py", 400 // len(calls), 1, *calls)[-1] == "right"


def test_every_call_is_interrupted() -> None:
    assert python("interrupts.py", 25, 2)[-1] == "right"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_every_call_is_interrupted_often(seed: int) -> None:
    assert python("interrupts.py", 400, seed)[-1] == "right"


def test_an_interrupt_that_comes_when_all_is_done_says_so() -> None:
    """Raised by the last report of progress: the signal is heard as the call returns."""
    code = """
        import _thread, signal
        import numpy as np, ringview as rv
        signal.signal(signal.SIGINT, signal.default_int_handler)
        db = rv.Database()
        table = db.create_table("r", {"a": "int64"})
        class Native:
            # What comes behind the last look of the engine.
            def __init__(self, native): self.native = native
            def __len__(self): return len(self.native)
            def __getattr__(self, name):
                def call(*arguments):
                    getattr(self.native, name)(*arguments)
                    raise KeyboardInterrupt
                return call if name in ("apply", "update_row") else getattr(self.native, name)
        db._native = Native(db._native)
        def said(call):
            try:
                call()
            except KeyboardInterrupt as interrupt:
                print(interrupt)
        said(lambda: db.insert("r", {"a": [1]}))
        print(len(table))
        def block():
            with db.transaction() as tx:
                tx.insert("r", {"a": [2]})
        said(block)
        print(len(table))
        said(lambda: db.insert("r", {"a": [1]}, progress=lambda rows: _thread.interrupt_main()))
        print(len(table))
        chain = rv.MatrixChain([np.eye(2)])
        chain._native = Native(chain._native)
        said(lambda: chain.update_row(0, 0, [1.0, 1.0]))
        print(chain[0].tolist())
    """
    applied = "interrupted after the call was done: the changes were applied, and stay"
    found = python("-c", textwrap.dedent(code))
    assert found[:4] == [applied, "1", applied, "2"]
    # Here a signal arrives in between: undone without a message, or done and reported.
    assert found[4:6] in ([applied, "3"], ["", "2"])
    assert found[6].endswith("the matrix was changed, and stays so")
    assert found[7] == "[[2.0, 1.0], [0.0, 1.0]]"


def test_ctrl_c_while_waiting_for_another_thread() -> None:
    code = """
        import os, signal, threading
        import ringview as rv
        signal.signal(signal.SIGINT, signal.default_int_handler)
        db = rv.Database()
        db.create_table("r", {"a": "int64"})
        inside, go_on = threading.Event(), threading.Event()
        def wait(rows):
            inside.set()
            go_on.wait()
        thread = threading.Thread(
            target=db.insert, args=("r", {"a": range(10)}), kwargs={"progress": wait})
        thread.start()
        inside.wait()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            len(db.tables["r"])
        except KeyboardInterrupt:
            print("heard")
        go_on.set()
        thread.join()
        print(len(db.tables["r"]))
    """
    assert python("-c", textwrap.dedent(code)) == ["heard", "10"]


def test_a_row_that_meets_many_lets_other_threads_run() -> None:
    """Few rows begin with the interpreter in their hands, and release it if they are much work."""
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    db.create_view("v", "SELECT c, SUM(a) AS t FROM r JOIN s USING (b) GROUP BY c")
    db.insert("s", pa.table({"b": [1] * 400_000, "c": range(400_000)}))
    ticks, stop = [0], threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=tick)
    before = sys.getswitchinterval()
    # No thread is made to yield: another runs only if one releases the interpreter.
    sys.setswitchinterval(1000)
    thread.start()
    try:
        met, row = [], pa.record_batch({"a": [1], "b": [1]})
        for _ in range(3):
            begun = ticks[0]
            db._native.apply([("r", 1, row, None)])
            met.append(ticks[0] - begun)
    finally:
        sys.setswitchinterval(before)
        stop.set()
        thread.join()
    # Passing the row may release it for a moment or two.
    assert max(met) > 30, met
