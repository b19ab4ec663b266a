"""A change reads the caller's memory once: whatever it holds later, what fails is undone."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest
import ringview as rv

# Progress is reported after 2^16 rows, so in the midst of these.
ROWS = (1 << 16) + (1 << 12)


class StopError(Exception):
    """Error of the callbacks of these tests."""


def arrow(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Table:
    """The very memory of the arrays, as Arrow."""
    whole = pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])
    return pa.table({"a": whole})


def start(unique: bool) -> tuple[rv.Database, rv.Table, list[rv.View]]:
    db = rv.Database()
    table = db.create_table("r", {"a": "int64"}, unique=["a"] if unique else None)
    views = [
        db.create_view("total", "SELECT COUNT(*) AS n, SUM(a) AS a FROM r"),
        db.create_view("most", "SELECT MAX(a) AS a FROM r"),
    ]
    db.insert("r", {"a": list(range(-1000, 0))})
    return db, table, views


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("deletes", [False, True])
def test_memory_that_changes_before_the_failure(unique: bool, deletes: bool) -> None:
    db, table, views = start(unique)
    if deletes:
        db.insert("r", arrow(np.arange(ROWS)))
    before = [view.to_arrow() for view in views]
    values = np.arange(ROWS)

    def spoil(done: int) -> None:
        values[:] = values + ROWS
        raise StopError

    with pytest.raises(StopError):
        (db.delete if deletes else db.insert)("r", arrow(values), progress=spoil)
    assert [view.to_arrow() for view in views] == before
    assert len(table) == 1000 + deletes * ROWS
    # Neither the rows passed in nor the later values of their buffer were ever committed.
    for stray in (0, 1, ROWS, ROWS + 1, 2 * ROWS - 1):
        if not (deletes and stray < ROWS):
            with pytest.raises(rv.errors.OverDeleteError):
                db.delete("r", {"a": [stray]})
    if deletes:
        db.delete("r", arrow(np.arange(ROWS)))
    db.delete("r", {"a": list(range(-1000, 0))})
    assert len(table) == 0
    assert views[0].to_arrow().to_pylist() == [{"n": 0, "a": None}]
    assert views[1].scalar() is None


def test_memory_that_another_thread_writes_to() -> None:
    db, table, views = start(False)
    before = [view.to_arrow() for view in views]
    values = np.arange(ROWS)
    wrote = threading.Event()

    def write() -> None:
        while not wrote.is_set():
            values[:] += 1
        values[:] = -1

    def stop(done: int) -> None:
        if done >= ROWS // 2:
            raise StopError

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(StopError):
            db.insert("r", arrow(values), progress=stop)
    finally:
        wrote.set()
        writer.join()
    assert [view.to_arrow() for view in views] == before
    assert len(table) == 1000
    db.delete("r", {"a": list(range(-1000, 0))})
    with pytest.raises(rv.errors.OverDeleteError):
        db.delete("r", {"a": [-1]})


def test_a_product_that_fails_half_way_is_undone() -> None:
    db = rv.Database()
    table = db.create_table("m", {"i": "int64", "j": "int64"})
    view = db.create_view("v", "SELECT i, COUNT(*) AS n, SUM(j) AS j FROM m GROUP BY i")
    u, v = {"i": list(range(350))}, {"j": list(range(200))}
    db.update_factorised("m", {"u": u, "v": v})
    db.delete("m", [{"i": 349, "j": 199}])
    before = sorted(view.to_arrow().to_pylist(), key=str)
    with pytest.raises(rv.errors.OverDeleteError):
        db.update_factorised("m", {"u": u, "v": v}, delete=True)
    assert sorted(view.to_arrow().to_pylist(), key=str) == before
    assert len(table) == 350 * 200 - 1
    db.insert("m", [{"i": 349, "j": 199}])
    db.update_factorised("m", {"u": u, "v": v}, delete=True)
    assert len(table) == 0
