"""The edge to the engine: Arrow in every shape, threads, progress, Ctrl-C."""

from __future__ import annotations

import _thread
import json
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from ringview import errors
from ringview._native import Database

COUNT = {
    "atoms": [{"table": "r", "alias": "r"}],
    "group_by": [{"atom": 0, "column": "t"}],
    "outputs": [
        {"kind": "group", "name": "t", "column": {"atom": 0, "column": "t"}},
        {"kind": "aggregate", "name": "n", "function": "count"},
        {
            "kind": "aggregate",
            "name": "a",
            "function": "sum",
            "argument": '"0"."a"',
        },
    ],
}
SCHEMA = pa.schema({"a": pa.int64(), "t": pa.string()})


@pytest.fixture
def db() -> Database:
    made = Database()
    made.create_table("r", SCHEMA)
    made.create_view_of("v", json.dumps(COUNT))
    return made


def rows(db: Database) -> list[tuple[Any, ...]]:
    found = pa.table(db.view_result("v")).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def batch(n: int, text: str = "x") -> pa.RecordBatch:
    return pa.record_batch({"a": pa.array(range(n), pa.int64()), "t": pa.array([text] * n)})


@pytest.mark.parametrize(
    "texts",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
)
def test_slices_of_batches_tables_and_streams(db: Database, texts: pa.DataType) -> None:
    whole = pa.record_batch(
        {
            "t": pa.array(["p", "q", None, "p", "long enough not to be inlined"]).cast(texts),
            "a": pa.array([1, 2, 3, None, 5], pa.int64()),
        }
    )
    stream = pa.RecordBatchReader.from_batches(whole.schema, [whole.slice(4), whole.slice(5)])
    table = pa.Table.from_batches([whole.slice(0, 1), whole.slice(2, 1)])
    db.apply([("r", 1, whole.slice(1, 3), None), ("r", 1, table, None), ("r", 1, stream, None)])
    assert pa.table(db.view_result("v")).sort_by("t").to_pylist() == [
        {"t": "long enough not to be inlined", "n": 1, "a": 5},
        {"t": "p", "n": 2, "a": 1},
        {"t": "q", "n": 1, "a": 2},
        {"t": None, "n": 2, "a": 6},
    ]


def test_schemas_are_told_apart(db: Database) -> None:
    for kind in (pa.int64(), pa.int32(), pa.uint8(), pa.int64()):
        for names in (["a", "t"], ["t", "a"]):
            columns = {"a": pa.array([1], kind), "t": pa.array(["x"])}
            db.apply([("r", 1, pa.table({name: columns[name] for name in names}), None)])
    with pytest.raises(errors.TypeMismatchError, match='column "a"'):
        db.apply([("r", 1, pa.table({"a": ["1"], "t": ["x"]}), None)])
    with pytest.raises(errors.UnknownColumnError, match='"b"'):
        db.apply([("r", 1, pa.table({"b": [1], "t": ["x"]}), None)])
    assert rows(db) == [("x", 8, 8)]


def test_a_stream_is_read_once_and_its_exception_is_ours(db: Database) -> None:
    def broken() -> Any:
        yield batch(3)
        raise ValueError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(SCHEMA, broken())
    with pytest.raises(ValueError, match="the disk is gone"):
        db.apply([("r", 1, reader, None)])
    assert rows(db) == []


@pytest.mark.parametrize("thing", [5, pa.array([1]), [batch(1)]])
def test_what_is_no_rows(db: Database, thing: Any) -> None:
    with pytest.raises(errors.TypeMismatchError):
        db.apply([("r", 1, thing, None)])


def test_whole_rows_of_null_are_refused(db: Database) -> None:
    fields = [pa.field("a", pa.int64()), pa.field("t", pa.string())]
    with pytest.raises(errors.InvalidValueError, match="whole rows"):
        db.apply([("r", 1, pa.array([None], pa.struct(fields)), None)])


def test_results_are_read_any_number_of_times(db: Database) -> None:
    db.apply([("r", 1, batch(2), None)])
    result = db.view_result("v")
    db.apply([("r", 1, batch(2), None)])
    assert pa.table(result) == pa.table(result)
    assert pa.schema(result).names == ["t", "n", "a"]
    assert (len(result), repr(result)) == (1, "Rows([t, n, a], rows=1)")


def test_progress_counts_rows_and_its_exception_undoes_all(db: Database) -> None:
    seen: list[int] = []
    db.apply([("r", 1, batch(100_000), None), ("r", 1, batch(1), None)], seen.append)
    assert seen[-1] == 100_001
    assert seen == sorted(seen)

    def stop(done: int) -> None:
        raise RuntimeError(f"enough at {done}")

    before = rows(db)
    with pytest.raises(RuntimeError, match="enough at"):
        db.apply([("r", 1, batch(100_000), None)], stop)
    assert rows(db) == before
    assert db.table_info("r")["rows"] == 100_001


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard, even where the tests run in the background and start with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_undoes_all(db: Database) -> None:
    with pytest.raises(KeyboardInterrupt):
        db.apply([("r", 1, batch(200_000), None)], lambda _: _thread.interrupt_main())
    assert rows(db) == []
    db.apply([("r", 1, batch(3), None)])
    assert rows(db) == [("x", 3, 3)]


def test_a_call_from_within_a_call_is_refused(db: Database) -> None:
    with pytest.raises(errors.RingviewError, match="in the middle of a call"):
        db.apply([("r", 1, batch(1), None)], lambda _: db.tables())
    assert rows(db) == []


def test_threads_take_turns(db: Database) -> None:
    def work(number: int) -> None:
        for _ in range(50):
            db.apply([("r", 1, batch(100, f"t{number}"), None)])
            assert db.view_len("v") >= 1
            db.view_result("v")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert [(text, n) for text, n, _ in rows(db)] == [(f"t{number}", 5_000) for number in range(4)]


def test_a_sign_is_one_or_minus_one(db: Database) -> None:
    with pytest.raises(errors.InvalidValueError, match="1 or -1, not 2"):
        db.apply([("r", 2, batch(1), None)])


def test_queries_come_back_and_bad_ones_do_not_pass(db: Database) -> None:
    assert json.loads(db.view_query("v"))["atoms"][0]["table"] == "r"
    assert "view tree" in db.view_explain("v", "text")
    for text in ("{", "{}", '{"atoms": [], "outputs": [], "surprise": 1}'):
        with pytest.raises(errors.InvalidValueError):
            db.create_view_of("w", text)
    assert db.views() == ["v"]
