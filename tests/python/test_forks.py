"""Forked processes: a copy of what nobody used, an error for what a thread was using."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


def run(code: str) -> list[str]:
    """Output of a process and its children, which neither die nor hang."""
    head = """
        import gc, os, threading
        import numpy as np, ringview as rv

        db = rv.Database()
        db.create_table("r", {"a": "int64"})
        view = db.create_view("v", "SELECT SUM(a) FROM r")
        db.insert("r", {"a": [1, 2, 3]})

        def child(run):
            number = os.fork()
            if number:
                _, status = os.waitpid(number, 0)
                print("exit", os.waitstatus_to_exitcode(status), flush=True)
                return
            try:
                run()
            except rv.errors.RingviewError as error:
                print(error, flush=True)
            os._exit(7)
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(head) + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_a_thread_in_the_engine_is_told_and_what_it_left_is_not_touched() -> None:
    code = """
        inside, go_on = threading.Event(), threading.Event()
        def wait(rows):
            inside.set()
            go_on.wait()
        thread = threading.Thread(
            target=db.insert, args=("r", {"a": range(1000)}), kwargs={"progress": wait})
        thread.start()
        inside.wait()
        child(lambda: print(view.scalar()))
        child(lambda: db.insert("r", {"a": [1]}))
        def drop():
            global db, view
            del db, view
            gc.collect()
            other = rv.Database()
            other.create_table("r", {"a": "int64"})
            other.insert("r", {"a": [1]})
            print(len(other.tables["r"]), flush=True)
        child(drop)
        go_on.set()
        thread.join()
        print(len(db.tables["r"]))
    """
    found = run(code)
    for said in (found[0], found[2]):
        assert said.startswith("this process was forked while a thread was using the database")
        assert "by spawn" in said
    assert [found[1], *found[3:]] == ["exit 7", "exit 7", "1", "exit 7", "1003"]


def test_a_database_that_nobody_used_is_a_copy() -> None:
    code = """
        def change():
            db.insert("r", {"a": [10]})
            print(view.scalar(), flush=True)
            child(lambda: print(view.scalar(), flush=True))
        child(change)
        print(view.scalar())
        import multiprocessing
        def total(extra):
            db.insert("r", {"a": [extra]})
            return view.scalar()
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.map(total, [100, 1000]))
        print(view.scalar())
    """
    expected = ["16", "16", "exit 7", "exit 7", "6", "[106, 1106]", "6"]
    assert run(code) == expected


def test_a_fork_within_a_call_goes_on_in_both() -> None:
    code = """
        def fork(rows):
            child(lambda: print(view.scalar()))
        db.insert("r", {"a": [4]}, progress=fork)
        print(view.scalar())
    """
    found = run(code)
    assert "in the middle of a call" in found[0]
    assert found[1:] == ["exit 7", "10"]


def test_a_thread_that_waits_is_no_trouble() -> None:
    """Many threads use a database and a chain; children of any moment get an answer."""
    code = """
        chain = rv.MatrixChain([np.eye(50), np.eye(50)])
        stop = []
        def work():
            while not stop:
                db.insert("r", {"a": range(200)})
                db.delete("r", {"a": range(200)})
                chain.update_row(0, 0, np.ones(50))
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        def use():
            for call in (view.scalar, chain.product, lambda: db.insert("r", {"a": [1]})):
                try:
                    call()
                except rv.errors.RingviewError as error:
                    assert "forked" in str(error), error
        for _ in range(20):
            child(use)
        stop.append(1)
        for thread in threads:
            thread.join()
        print(view.scalar())
    """
    assert run(code) == ["exit 7"] * 20 + ["6"]
