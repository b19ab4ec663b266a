"""Ctrl-C at random moments: `python interrupts.py TIMES SEED [CALL ..]`; prints how calls ended.

Each call is repeated while a signal arrives at a random moment of it. The signal is handled where a
frame of ringview is running, as signals outside of it do not concern ringview. Then the database is
as before, or as after the call if the message says so; and works on either way.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import ringview as rv

State = Any
# The package's own folder: one of its name may hold all of this.
PACKAGE = os.path.join(os.path.dirname(rv.__file__), "")


def hear(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            raise KeyboardInterrupt
        frame = frame.f_back


def database(rows: int) -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    db.create_view(
        "sums", "SELECT b, SUM(a * c) AS t, COUNT(*) AS n FROM r JOIN s USING (b) GROUP BY b"
    )
    db.create_view("big", "SELECT b, SUM(a) AS t FROM r GROUP BY b HAVING SUM(a) > 10")
    db.create_view("rows", "SELECT a, c FROM r JOIN s USING (b)")
    db.insert("r", {"a": range(rows), "b": [i % 50 for i in range(rows)]})
    db.insert("s", {"b": [i % 50 for i in range(100)], "c": range(100)})
    return db


def state(db: rv.Database) -> State:
    """Sums that distinguish states."""
    sums, big = db["sums"].to_arrow(), db["big"].to_arrow()
    found = [len(db.tables["r"]), len(db.tables["s"]), len(db["rows"]), len(db["big"])]
    return [
        *found,
        sum(sums["t"].to_pylist()),
        sum(sums["n"].to_pylist()),
        sum(big["t"].to_pylist()),
    ]


class Calls:
    """The calls, each with a function of its state; `rows` is the size of a batch."""

    def __init__(self, rows: int) -> None:
        self.db = db = database(20_000)
        self.batch = pa.table({"a": range(rows), "b": [i % 50 for i in range(rows)]})
        ones = np.ones((60, 60))
        self.chain = chain = rv.MatrixChain([ones.copy() for _ in range(3)])
        factors = {"u": {"a": range(200)}, "v": {"b": range(50)}}
        self.names = iter(range(10**9))

        def create() -> None:
            db.create_view(f"v{next(self.names)}", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")

        def transaction() -> None:
            with db.transaction() as tx:
                tx.insert("r", self.batch)
                tx.delete("r", self.batch.slice(0, 5))

        def of_db() -> State:
            return state(db)

        def views() -> State:
            return sorted(db.views)

        def of_chain() -> State:
            return [float(np.sum(chain.product())), float(np.sum(chain[1]))]

        self.changing: dict[str, tuple[Callable[[], object], Callable[[], State]]] = {
            "insert": (lambda: db.insert("r", self.batch), of_db),
            "delete": (lambda: db.delete("r", self.batch), of_db),
            "transaction": (transaction, of_db),
            "factorised": (lambda: db.update_factorised("r", factors), of_db),
            "create_view": (create, views),
            "chain": (lambda: chain.update_dense(1, ones), of_chain),
            "chain_row": (lambda: chain.update_row(0, 3, ones[0]), of_chain),
        }
        self.reading: dict[str, Callable[[], Any]] = {
            "to_arrow": lambda: sum(db["rows"].to_arrow()["a"].to_pylist()),
            "slice": lambda: db["rows"][5:9_000].num_rows,
            "draw": lambda: db["rows"].draw(2_000, seed=3).to_pylist(),
            "len": lambda: [len(db["rows"]), len(db["big"])],
            "explain": lambda: db["sums"].explain(),
            "product": lambda: float(np.sum(chain.product())),
        }


def interrupted(call: Callable[[], object], at: random.Random) -> tuple[str, Any]:
    """The end of a call, with its result: whether it was done, stopped, or reported as done."""
    signal.setitimer(signal.ITIMER_REAL, 10 ** at.uniform(-5, -1.5))
    try:
        return "done", call()
    except KeyboardInterrupt as interrupt:
        return ("told" if "was done" in str(interrupt) else "stopped"), None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def changes(name: str, times: int, at: random.Random) -> Counter[str]:
    calls, ended = Calls(at.choice([10, 1_000, 1_000, 100_000])), Counter[str]()
    call, look = calls.changing[name]
    for _ in range(times):
        if name == "delete" and len(calls.db.tables["r"]) < 20_000 + len(calls.batch):
            calls.db.insert("r", calls.batch)
        if len(calls.db.tables["r"]) > 500_000 or len(calls.db.views) > 20:
            calls = Calls(1_000)
            call, look = calls.changing[name]
        before = look()
        how, _ = interrupted(call, at)
        ended[how] += 1
        assert (look() == before) == (how == "stopped"), (name, how, before, look())
    # The database works on.
    if name == "delete" and len(calls.db.tables["r"]) < 20_000 + len(calls.batch):
        calls.db.insert("r", calls.batch)
    before = look()
    call()
    assert look() != before
    return ended


def reads(name: str, times: int, at: random.Random) -> Counter[str]:
    calls, ended = Calls(10), Counter[str]()
    call = calls.reading[name]
    expected, before = call(), state(calls.db)
    for _ in range(times):
        how, found = interrupted(call, at)
        ended[how] += 1
        assert how != "told"
        assert how == "stopped" or found == expected
        assert call() == expected
    assert state(calls.db) == before
    return ended


def main(times: int, seed: int, *names: str) -> None:
    signal.signal(signal.SIGALRM, hear)
    known = Calls(1)
    for name in names or (*known.changing, *known.reading):
        run = changes if name in known.changing else reads
        print(name, dict(run(name, times, random.Random(f"{name} {seed}"))), flush=True)
    print("right", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
