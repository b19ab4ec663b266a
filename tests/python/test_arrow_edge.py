"""Arrow data from anywhere: odd and wrong structures, producers that fail, wait, or call back."""

from __future__ import annotations

import contextvars
import subprocess
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ringview as rv
from c_arrow import Exported
from fuzz_arrow import Case, rows
from ringview import errors

HERE = Path(__file__).parent
BATCH = pa.record_batch({"a": [1, 2, 3]})


@pytest.fixture
def db() -> rv.Database:
    made = rv.Database()
    made.create_table("r", {"a": "int64"})
    made.create_view("v", "SELECT a FROM r")
    return made


def python(*arguments: object) -> list[str]:
    """Output of a process of its own, which neither dies nor hangs."""
    command = [sys.executable, "-X", "faulthandler", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=HERE)
    assert done.returncode == 0, (done.returncode, done.stdout[-200:], done.stderr)
    return done.stdout.split("\n")[:-1]


def script(code: str) -> list[str]:
    return python("-c", textwrap.dedent(code))


@pytest.mark.parametrize("first", range(0, 2400, 800))
def test_odd_data_is_read_and_wrong_data_refused(first: int) -> None:
    assert python("fuzz_arrow.py", first, 800)[-1] == "done"


@pytest.mark.long
@pytest.mark.parametrize("first", range(10_000, 60_000, 5_000))
def test_much_odd_and_wrong_data(first: int) -> None:
    assert python("fuzz_arrow.py", first, 5_000)[-1] == "done"


def streams(made: pa.RecordBatch) -> list[Callable[[], Any]]:
    """Ways to hand a batch over by a capsule that is requested twice."""

    class Array:
        capsules = made.__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
            return self.capsules

    class Stream:
        capsule = pa.table(made).__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return self.capsule

    return [Array, Stream]


@pytest.mark.parametrize("way", [0, 1])
def test_a_capsule_is_read_once(db: rv.Database, way: int) -> None:
    source = streams(BATCH)[way]()
    db.insert("r", source)
    for again in (db.insert, db.delete, db.transaction().__enter__().insert):
        with pytest.raises(ValueError, match="was read already"):
            again("r", source)
    assert len(db.tables["r"]) == 3


def test_what_was_handed_over_is_marked_as_released() -> None:
    from fuzz_arrow import database

    for seed in range(6):
        case = Case(seed)
        db = database()
        db.insert("r", Exported(case.maker, case.schema, case.array))
        assert case.array.release is None
        assert rows(db) == sorted(case.rows, key=repr)


REFUSED = [
    pa.array([[1]]),
    pa.array([[1]], pa.list_(pa.int64(), 1)),
    pa.array([{"x": 1}]),
    pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    pa.RunEndEncodedArray.from_arrays([1], [1]),
    pa.array([b"x"]),
    pa.array([1], pa.date64()),
    pa.array([1], pa.time64("us")),
    pa.array([1], pa.duration("s")),
    pa.array([1], pa.int64()).dictionary_encode(),
    pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
]


@pytest.mark.parametrize("column", REFUSED, ids=lambda column: str(column.type))
def test_types_that_no_table_holds(db: rv.Database, column: pa.Array) -> None:
    for source in (pa.table({"a": column}), pa.table({"a": [1], "b": column})):
        with pytest.raises(errors.TypeMismatchError, match=r'column "[ab]": '):
            db.insert("r", source)
    assert len(db.tables["r"]) == 0


class GoneError(Exception):
    pass


@pytest.mark.parametrize("raised", [GoneError("the disk is gone"), KeyboardInterrupt("stop")])
@pytest.mark.parametrize("after", [0, 2])
def test_an_exception_of_a_producer_is_that_exception(
    db: rv.Database, raised: BaseException, after: int
) -> None:
    def produce() -> Iterator[pa.RecordBatch]:
        for _ in range(after):
            yield BATCH
        raise raised

    def reader() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(BATCH.schema, produce())

    def insert(source: Any) -> None:
        with pytest.raises(type(raised)) as caught:
            db.insert("r", source)
        assert caught.value is raised
        assert "produce" in [frame.name for frame in traceback.extract_tb(raised.__traceback__)]
        assert len(db.tables["r"]) == 0

    insert(reader())
    insert(produce())
    failed: list[BaseException | None] = []
    threading.excepthook, hook = lambda found: failed.append(found.exc_value), threading.excepthook
    thread = threading.Thread(target=insert, args=(reader(),))
    thread.start()
    thread.join()
    threading.excepthook = hook
    assert not failed
    with pytest.raises(type(raised)), db.transaction() as tx:
        tx.insert("r", BATCH)
        tx.insert("r", reader())
    assert len(db.tables["r"]) == 0


def test_a_failed_stream_of_another_library_says_why(db: rv.Database) -> None:
    """The C interface hands on a text, no exception."""

    def produce() -> Iterator[pa.RecordBatch]:
        yield BATCH
        raise GoneError("the disk is gone")

    class Foreign:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            reader = pa.RecordBatchReader.from_batches(BATCH.schema, produce())
            return reader.__arrow_c_stream__()

    with pytest.raises(errors.InvalidValueError, match="the disk is gone"):
        db.insert("r", Foreign())
    assert len(db.tables["r"]) == 0


def test_a_producer_sees_the_context_of_the_caller_and_may_ask_back(db: rv.Database) -> None:
    where = contextvars.ContextVar("where", default="nowhere")
    seen: list[object] = []

    def produce() -> Iterator[pa.RecordBatch]:
        seen.append(where.get())
        yield BATCH
        db.insert("r", {"a": [7]})
        seen.append(len(db["v"]))
        yield BATCH

    where.set("here")
    db.insert("r", pa.RecordBatchReader.from_batches(BATCH.schema, produce()))
    assert seen == ["here", 1]
    assert sorted(row["a"] for row in db["v"]) == [1, 1, 2, 2, 3, 3, 7]


def test_a_producer_that_is_bound_to_its_thread(db: rv.Database) -> None:
    import sqlite3

    rows = sqlite3.connect(":memory:").execute("SELECT 1 UNION SELECT 2")
    db.insert("r", (pa.record_batch({"a": [one]}) for (one,) in rows))
    assert sorted(row["a"] for row in db["v"]) == [1, 2]


def test_producers_in_python_do_not_hang() -> None:
    code = """
        import threading
        from gated_producers import *
        for make in (scanner, stream, produced, foreign):
            for insert in (db.insert, threading.Thread):
                if insert is db.insert:
                    db.insert("r", make(Gate())())
                else:
                    thread = threading.Thread(target=db.insert, args=("r", make(Gate())()))
                    thread.start()
                    thread.join()
                print(len(db.tables["r"]))
                db.delete("r", table)
    """
    assert script(code) == ["20000"] * 8


def test_ctrl_c_while_a_producer_waits_in_python() -> None:
    """The scanner waits in a thread of pyarrow, the others in the one that reads."""
    code = """
        import os
        from gated_producers import *
        for make in (scanner, stream, produced, foreign):
            gate = Gate()
            reader = make(gate)
            try:
                gate.shut = True
                db.insert("r", reader())
            except KeyboardInterrupt:
                print(len(db.tables["r"]), flush=True)
        db.insert("r", table)
        print(len(db.tables["r"]), flush=True)
        os._exit(0)  # What waits for ever is not waited for.
    """
    found = script(code)
    assert found == ["0", "0", "0", "0", "20000"]


def test_ctrl_c_while_a_producer_waits_outside_of_python() -> None:
    code = """
        import ctypes, os, signal, threading
        import pyarrow as pa, ringview as rv
        from fuzz_arrow import Case, Streamed, database

        signal.signal(signal.SIGINT, signal.default_int_handler)
        case, db = Case(1), database()
        source = Streamed(case.maker, case.schema, case.array)
        pause = ctypes.CDLL(None).pause
        source.stream.get_next = ctypes.cast(pause, ctypes.c_void_p).value
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            db.insert("r", source)
        except KeyboardInterrupt:
            print(len(db.tables["r"]), flush=True)
        db.insert("r", Case(5).source())
        os._exit(0)
    """
    assert script(code) == ["0"]


def whole(strings: pa.DataType) -> pa.RecordBatch:
    words = ["p", None, "long enough not to be inlined", "q", "another that is not inlined"]
    texts = pa.array(words * 5, strings if not pa.types.is_dictionary(strings) else None)
    return pa.record_batch({"t": texts.cast(strings), "a": pa.array(range(25))})


def scribble(batch: pa.RecordBatch) -> None:
    """Write over all memory of a batch, as its owner may."""
    import ctypes

    def buffers(array: pa.Array) -> Iterator[pa.Buffer]:
        yield from array.buffers()
        if isinstance(array, pa.DictionaryArray):
            yield from buffers(array.dictionary)

    for column in batch.columns:
        for buffer in buffers(column):
            if buffer is not None:
                ctypes.memset(buffer.address, 0xEE, buffer.size)


STRINGS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string()),
]


@pytest.mark.parametrize("strings", STRINGS, ids=str)
@pytest.mark.parametrize(("start", "stop"), [(0, 25), (3, 4), (9, 20), (8, 8)])
def test_a_transaction_takes_rows_as_they_are(strings: pa.DataType, start: int, stop: int) -> None:
    db = rv.Database()
    db.create_table("r", {"t": "string", "a": "int64"})
    view = db.create_view("v", "SELECT t, a FROM r")
    part = whole(strings).slice(start, stop - start)
    expected = sorted(part.to_pylist(), key=str)
    with db.transaction() as tx:
        tx.insert("r", part)
        tx.insert("r", pa.table(part))
        tx.insert("r", pa.RecordBatchReader.from_batches(part.schema, [part]))
        tx.delete("r", [part])
        scribble(part)
    assert sorted(view, key=str) == sorted(expected * 2, key=str)


def test_a_transaction_takes_factors_and_arrays_as_they_are() -> None:
    db = rv.Database()
    db.create_table("m", {"i": "int64", "j": "int64"})
    view = db.create_view("v", "SELECT SUM(i * j) FROM m")
    one, two = np.array([1, 2]), np.array([10, 20])
    with db.transaction() as tx:
        left, right = pa.table({"i": pa.array(one)}), pa.table({"j": pa.array(two)})
        tx.update_factorised("m", {"u": left, "v": right})
        one[:] = two[:] = -1
        tx.insert("m", pa.table({"i": pa.array(one), "j": pa.array(two)}))
        one[:] = two[:] = 7
    assert view.scalar() == 3 * 30 + 2


def test_a_stream_in_a_transaction_is_read_at_the_call(db: rv.Database) -> None:
    read: list[str] = []

    def produce() -> Iterator[pa.RecordBatch]:
        read.append("read")
        yield BATCH

    with db.transaction() as tx:
        tx.insert("r", pa.RecordBatchReader.from_batches(BATCH.schema, produce()))
        assert read == ["read"]
    assert len(db.tables["r"]) == 3
