"""Long calls: Ctrl-C, other threads, progress; and the import, which must not be one."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors

GROUPS = "SELECT b, SUM(a) AS total, COUNT(*) AS n FROM r GROUP BY b"


def database() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_view("groups", GROUPS)
    return db


def run(code: str) -> str:
    """Output of a fresh interpreter; it has a main thread of its own to interrupt."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120
    ).stdout.strip()


PRESS = """
    import os, signal, threading
    import pyarrow as pa, ringview as rv

    def interrupted(call):
        begun = threading.Event()
        def press():
            begun.wait()
            # Some work, so that the call is on its way; it needs the GIL, which the call gives.
            sum(range(300_000))
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press, daemon=True).start()
        # Calls are repeated until one is long enough to be met by the signal.
        try:
            begun.set()
            while True:
                call()
        except KeyboardInterrupt:
            return True

    rows = pa.table({"a": range(3_000_000), "b": range(3_000_000)})
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
"""


def test_ctrl_c_undoes_the_load_and_leaves_the_database_usable() -> None:
    code = """
        view = db.create_view("v", "SELECT b, COUNT(*) AS n FROM r GROUP BY b")
        print(interrupted(lambda: db.insert("r", rows)))
        done = len(db.tables["r"])
        counts = sum(view.to_arrow()["n"].to_pylist())
        db.insert("r", {"a": [1], "b": [-1]})
        print(done % 3_000_000, counts == done, len(db.tables["r"]) - done, view.changes().num_rows)
    """
    expected = {"True\n0 True 1 1", "True\n0 True 1 3000001"}
    assert run(PRESS + textwrap.indent(textwrap.dedent(code), "    ")) in expected


def test_ctrl_c_while_a_view_is_filled() -> None:
    code = """
        db.insert("r", rows)
        names = iter(range(1_000_000))
        sql = "SELECT b, SUM(a) AS s FROM r GROUP BY b"
        db.explain(sql)  # Loads the parser; an import that is interrupted stays broken.
        def create():
            name = f"v{next(names)}"
            db.create_view(name, sql)
            db.drop_view(name)
        print(interrupted(create))
        for name in db.views:
            db.drop_view(name)
        print(db.create_view("n", "SELECT COUNT(*) FROM r").scalar())
    """
    assert run(PRESS + textwrap.indent(textwrap.dedent(code), "    ")) == "True\n3000000"


def test_ctrl_c_while_a_chain_is_multiplied() -> None:
    """A change that is stopped has not happened; the chain works on."""
    code = """
        import numpy as np
        size = 500
        rng = np.random.default_rng(0)
        matrices = [rng.integers(-3, 4, (size, size)).astype(float) for _ in range(3)]
        chain = rv.MatrixChain(matrices)
        print(interrupted(chain.refresh))
        done, delta = [], rng.integers(-3, 4, (size, size)).astype(float)
        def change():
            chain.update_dense(1, delta)
            done.append(delta)
        print(interrupted(change))
        # The signal may come between a change and the note of it.
        sums = [matrices[1] + sum(done), matrices[1] + sum(done) + delta]
        matrices[1] = np.array(chain[1])
        print(any(np.array_equal(matrices[1], found) for found in sums))
        chain.update_row(0, 3, np.ones(size))
        matrices[0][3] += 1
        print(np.array_equal(chain.product(), matrices[0] @ matrices[1] @ matrices[2]))
        print(interrupted(lambda: rv.MatrixChain(matrices)))
    """
    assert run(PRESS + textwrap.indent(textwrap.dedent(code), "    ")) == "\n".join(["True"] * 5)


def test_other_threads_run_during_a_load() -> None:
    db = database()
    rows = pa.table({"a": range(1_000_000), "b": range(1_000_000)})
    ticks = 0
    seen: list[int] = []

    def look(_: int) -> None:
        seen.append(ticks)

    loader = threading.Thread(target=lambda: db.insert("r", rows, progress=look))
    loader.start()
    while loader.is_alive():
        ticks += 1
    # The loop ran between the looks, while the engine was at work.
    assert len(set(seen)) > 3
    assert len(db.tables["r"]) == 1_000_000


def test_threads_see_whole_transactions() -> None:
    """Four threads move rows about; whoever looks finds as many as there are in all."""
    db = database()
    total = db.create_view("total", "SELECT SUM(a) FROM r")
    db.insert("r", {"a": [1] * 100, "b": range(100)})
    wrong: list[int] = []

    def move(thread: int) -> None:
        for i in range(150):
            place = (25 * thread + i) % 25 + 25 * thread
            with db.transaction() as tx:
                tx.delete("r", {"a": [1], "b": [place]})
                tx.insert("r", {"a": [1], "b": [place]})
            if (found := total.scalar()) != 100:
                wrong.append(found)

    threads = [threading.Thread(target=move, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(db["groups"]) == 100


def test_progress_is_reported() -> None:
    db = database()
    part = pa.record_batch({"a": range(100_000), "b": range(100_000)})
    seen: list[int] = []
    db.insert(
        "r", pa.Table.from_batches([part, part, part.slice(0, 0), part]), progress=seen.append
    )
    assert seen == sorted(set(seen))
    assert len(seen) > 3
    assert seen[-1] == 300_000
    seen.clear()
    db.insert("r", {"a": [1, 2], "b": [1, 2]}, progress=seen.append)
    assert seen == [2]


def test_an_exception_in_progress_undoes_the_insert() -> None:
    db = database()

    def stop(rows: int) -> None:
        raise ZeroDivisionError(rows)

    for size in (3, 300_000):
        with pytest.raises(ZeroDivisionError):
            db.insert("r", {"a": range(size), "b": range(size)}, progress=stop)
        assert len(db.tables["r"]) == 0
        assert len(db["groups"]) == 0
    db.insert("r", {"a": [1], "b": [1]})
    assert db["groups"].to_arrow().to_pylist() == [{"b": 1, "total": 1, "n": 1}]


def test_a_call_from_within_a_call_is_refused() -> None:
    db = database()

    def look(rows: int) -> None:
        len(db["groups"])

    with pytest.raises(errors.RingviewError, match="in the middle of a call"):
        db.insert("r", {"a": [1], "b": [1]}, progress=look)
    assert len(db["groups"]) == 0


def test_importing_adds_little_to_pyarrow() -> None:
    """Few modules of its own, and nothing heavy of others, whatever small ones a Python adds."""
    code = """
        import sys, pyarrow
        before = set(sys.modules)
        import ringview
        ringview.Database()
        print(*sorted(set(sys.modules) - before))
    """
    added = run(code).split()
    assert len([name for name in added if name.startswith("ringview")]) < 40, added
    heavy = {"numpy", "pandas", "polars", "asyncio", "logging", "duckdb", "ssl"}
    assert not heavy & {name.partition(".")[0] for name in added}
    assert len(added) < 80, added


def test_importing_does_not_load_pyarrow() -> None:
    assert run("import sys, ringview; print('pyarrow' in sys.modules)") == "False"
