"""Ends: of the interpreter while threads are in calls; of databases that refer to themselves."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv

# A daemon thread makes calls while the interpreter ends: the last object to be freed lets it run.
PROGRAM = """
import sys, threading, time
import ringview as rv

db = rv.Database()
db.create_table("r", {"a": "int64"})
view = db.create_view("v", "SELECT a, count(*) AS n FROM r GROUP BY a")
begun = threading.Event()
calls = {
    "insert": lambda at: db.insert("r", [{"a": at}] * 300),
    "query": lambda at: db.sql("SELECT sum(a) AS s FROM r"),
    "view": lambda at: view.to_arrow(),
    "function": lambda at: db.sql("SELECT f(a) AS s FROM r"),
}
db.create_function("f", lambda a: a, ["int64"], "int64")
db.insert("r", [{"a": 1}])

def work(call):
    at = 0
    while True:
        call(at)
        at += 1
        begun.set()

class Last:
    def __del__(self, sleep=time.sleep):
        sleep(0.2)

last = Last()
for _ in range(3):
    threading.Thread(target=work, args=(calls[sys.argv[1]],), daemon=True).start()
begun.wait()
"""


@pytest.mark.parametrize("call", ["insert", "query", "view", "function"])
def test_the_interpreter_ends_while_daemon_threads_are_in_calls(call: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, call], capture_output=True, timeout=120, text=True
    )
    # A call that the end interrupts raises in its thread.
    assert ended.returncode == 0, ended.stderr


def declared(**options: Any) -> tuple[rv.Database, list[Any]]:
    """A database whose function refers to it, and what the function refers to beside it."""
    db = rv.Database(**options)
    db.create_table("r", {"a": "int64"})
    held: list[Any] = [db]

    def f(a: pa.Array) -> pa.Array:
        assert held
        return a

    db.create_function("f", f, ["int64"], "int64")
    db.insert("r", [{"a": 1}])
    return db, held


def is_freed(of: weakref.ref[Any]) -> bool:
    gc.collect()
    return of() is None


def test_a_database_that_its_own_function_refers_to_is_freed() -> None:
    db, held = declared()
    db.create_view("v", "SELECT f(a) AS b FROM r")
    freed = weakref.ref(db)
    del db, held
    assert is_freed(freed)


def test_what_refers_to_a_database_keeps_it_and_no_longer() -> None:
    db, held = declared()
    view = db.create_view("v", "SELECT f(a) AS b FROM r")
    follower = view.follow()
    held.append(follower)
    freed = weakref.ref(db)
    db.insert("r", [{"a": 2}])
    del db, held
    gc.collect()
    assert sorted(view.to_arrow()["b"].to_pylist()) == [1, 2]
    del view, follower
    assert is_freed(freed)


def test_many_databases_that_refer_to_themselves_leave_nothing() -> None:
    def count() -> int:
        gc.collect()
        return sum(type(one).__name__ == "Database" for one in gc.get_objects())

    before = count()
    for _ in range(20):
        declared()
    assert count() == before
