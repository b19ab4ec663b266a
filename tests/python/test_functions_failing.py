"""Functions of the user that raise, return something else, are slow, or called by many threads."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import ringview as rv
from own_functions import INT, UnluckyError, bump, no_thirteen, small
from ringview import errors


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT fussy(x) AS y FROM t",
        "SELECT g FROM t WHERE fussy(x) > 3",
        "SELECT g, SUM(fussy(x)) AS n FROM t GROUP BY g",
        "SELECT g, fussy(MAX(x)) AS n FROM t GROUP BY g",
        "SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING fussy(MAX(x)) > 1",
        "SELECT a.g FROM t a JOIN t b ON fussy(a.x) = b.g",
        "SELECT g, MEDIAN(fussy(x)) AS n FROM t GROUP BY g",
        "SELECT x FROM t ORDER BY fussy(x) LIMIT 3",
    ],
)
def test_a_function_that_raises_undoes_the_transaction(sql: str, threads: int) -> None:
    db = small(threads=threads)
    db.create_function("fussy", no_thirteen, ["int64"], "int64")
    other = db.create_view("other", "SELECT g, SUM(x) AS n FROM t GROUP BY g")
    view = db.create_view("v", sql)
    db.insert("t", {"g": [1, 2], "x": [1, 2], "s": ["a", "b"]})
    view.changes()
    other.changes()
    before = [one.to_arrow() for one in (view, other)]
    with pytest.raises(errors.FunctionError) as caught, db.transaction() as tx:
        tx.delete("t", [{"g": 1, "x": 1, "s": "a"}])
        tx.insert("t", {"g": [3, 4, 5], "x": [4, 13, 5], "s": ["c", None, "e"]})
    message = str(caught.value)
    assert message.startswith(
        'the function "fussy" raised UnluckyError: thirteen for the arguments (13)'
    )
    assert 'in the view "' in message
    assert message.endswith("nothing was changed")
    assert isinstance(caught.value.__cause__, UnluckyError)
    assert isinstance(caught.value, RuntimeError)
    assert [one.to_arrow() for one in (view, other)] == before
    assert len(view.changes()) == len(other.changes()) == 0
    assert len(db.tables["t"]) == 2
    db.insert("t", {"g": [3], "x": [4], "s": ["c"]})
    assert len(db.tables["t"]) == 3


def test_a_view_whose_function_raises_as_it_is_filled_is_not_there() -> None:
    db = small(rows={"g": [1, 2], "x": [1, 13], "s": ["a", "b"]})
    db.create_function("fussy", no_thirteen, ["int64"], "int64")
    with pytest.raises(errors.FunctionError, match=r'\(13\), in the view "v"'):
        db.create_view("v", "SELECT fussy(x) AS y FROM t")
    with pytest.raises(errors.FunctionError, match="thirteen"):
        db.sql("SELECT fussy(x) AS y FROM t")
    # A constant is computed as the text is bound.
    with pytest.raises(errors.FunctionError, match=r"arguments \(13\)"):
        db.create_view("v", "SELECT fussy(13) AS y FROM t")
    assert list(db.views) == []


def test_an_aggregate_that_raises_tells_of_its_group() -> None:
    db = small()
    db.create_function("fussy", no_thirteen, ["int64"], "int64", kind="aggregate")
    view = db.create_view("v", "SELECT g, fussy(x) AS y FROM t GROUP BY g")
    with pytest.raises(errors.FunctionError, match=r"over 2 rows, of which \(7\) is the first"):
        db.insert("t", {"g": [1, 1], "x": [13, 7], "s": ["a", "b"]})
    assert len(view) == len(db.tables["t"]) == 0


ARRAYS: list[tuple[Any, str, str]] = [
    (lambda x: pa.array([1]), "int64", "returned 1 values for 3 rows; return one for each row"),
    (
        lambda x: None,
        "int64",
        "returned None, and a function of rows returns an array, of 3 values",
    ),
    (lambda x: 5, "int64", r"returned a int \(5\), and a function of rows"),
    (lambda x: np.float64(5), "int64", "and a function of rows returns an array"),
    (lambda x: "abc", "string", r"returned a str \('abc'\), and a function of rows"),
    (lambda x: pc.cast(x, "string"), "int64", "returned string, and is declared to return int64"),
    (lambda x: x, "string", "returned int64, and is declared to return string"),
    (lambda x: pa.array([[1]] * 3), "int64", r"returned list<.*>, and is declared to return int64"),
    (lambda x: pa.table({"a": x}), "int64", "returned struct<a: int64>, and is declared"),
    (lambda x: pc.multiply(x, 100), "int8", r"raised ArrowInvalid: .* for the arguments \(2\)"),
    (lambda x: [1.5] * 3, "int64", r"raised ArrowInvalid: Float value 1.5.* was truncated"),
]


@pytest.mark.parametrize(("function", "declared", "message"), ARRAYS)
def test_what_is_returned_must_be_what_is_declared(
    function: Any, declared: str, message: str
) -> None:
    db = small()
    db.create_function("f", function, ["int64"], declared)
    db.create_view("v", "SELECT f(x) AS y FROM t")
    with pytest.raises(errors.FunctionError, match=message):
        db.insert("t", {"g": [1, 1, 1], "x": [1, 2, 3], "s": ["a", "b", "c"]})
    assert len(db.tables["t"]) == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pa.array([1]), "returned a Int64Array .*, and an aggregate returns one value"),
        ([1, 2], r"returned a list \(\[1, 2\]\), and an aggregate returns one value"),
        (np.array([1]), "returned a ndarray"),
        ("5", "returned string, and is declared to return int64"),
        (True, "returned bool, and is declared to return int64"),
        (1.5, "raised ArrowInvalid"),
        (2**70, "raised"),
    ],
)
def test_an_aggregate_returns_one_value(value: Any, message: str) -> None:
    db = small()
    db.create_function("f", lambda x: value, ["int64"], "int64", kind="aggregate")
    db.create_view("v", "SELECT f(x) AS y FROM t")
    with pytest.raises(errors.FunctionError, match=message):
        db.insert("t", {"g": [1], "x": [1], "s": ["a"]})


@pytest.mark.parametrize(
    "returned",
    [
        lambda x: x,
        lambda x: pa.chunked_array([x.slice(0, 1), x.slice(1)]),
        lambda x: x.to_pylist(),
        lambda x: tuple(x.to_pylist()),
        lambda x: x.to_numpy(),
        lambda x: x.to_pandas(),
        lambda x: pd.Series(x.to_pandas(), dtype="float64"),
        lambda x: pl.from_arrow(x),
        lambda x: pc.cast(x, pa.int8()),
        lambda x: pc.cast(x, pa.decimal128(20, 0)),
    ],
)
def test_arrays_of_all_libraries_are_taken(returned: Any) -> None:
    db = small(rows={"g": [1, 1, 1], "x": [3, None, 5], "s": ["a", "b", "c"]})
    db.create_function("f", returned, ["int64"], "int64")
    assert sorted(db.sql("SELECT f(x) AS y FROM t WHERE x > 0")["y"].to_pylist()) == [3, 5]
    assert db.sql("SELECT f(x) AS y FROM t")["y"].null_count == 1


def test_values_of_all_libraries_are_taken() -> None:
    db = small(rows={"g": [1, 1], "x": [3, 4], "s": ["a", "b"]})
    for at, value in enumerate([7, 7.0, np.int32(7), pa.scalar(7, pa.int8()), pc.sum]):
        made: Any = value if callable(value) else lambda x, value=value: value
        db.create_function(f"f{at}", made, ["int64"], "int64", kind="aggregate")
        assert db.sql(f"SELECT f{at}(x) AS y FROM t")["y"].to_pylist() == [7]
    db.create_function("none", lambda x: None, ["int64"], "string", kind="aggregate")
    assert db.sql("SELECT none(x) AS y FROM t")["y"].to_pylist() == [None]
    wide = lambda x: 2**100  # noqa: E731
    db.create_function("wide", wide, ["int64"], "decimal128(38, 0)", kind="aggregate")
    assert db.sql("SELECT wide(x) AS y FROM t")["y"].to_pylist() == [2**100]


@pytest.mark.parametrize(
    "kind",
    [
        "bool",
        "int8",
        "uint64",
        "float32",
        "decimal128(12,2)",
        "string",
        "date32",
        "timestamp[us]",
        "timestamp[ns]",
        "timestamp[us,tz=UTC]",
        "large_string",
    ],
)
def test_all_types_go_in_and_come_out(kind: str) -> None:
    db = rv.Database()
    ty = rv.Function(len, [], kind).return_type
    values: dict[str, list[Any]] = {
        "bool": [True, None],
        "decimal128(12,2)": [Decimal("1.5"), None],
    }
    values |= {
        "string": ["a", None],
        "large_string": ["a", None],
        "date32": [date(2026, 3, 9), None],
    }
    rows = pa.table({"x": pa.array(values.get(kind, [7, None])).cast(ty)})
    db.create_table("t", rows.schema)
    db.create_function("same", lambda x: x, [kind], kind)
    view = db.create_view("v", "SELECT same(x) AS y FROM t")
    db.insert("t", rows)
    assert view.to_arrow()["y"].type == ty
    assert sorted(map(repr, view.to_arrow()["y"])) == sorted(map(repr, rows["x"]))
    with pytest.raises(errors.TypeMismatchError, match="expected"):
        db.create_function("other", lambda x: x, ["string" if kind == "bool" else "bool"], "bool")
        db.sql("SELECT other(x) AS y FROM t")


def test_a_function_does_not_use_its_database() -> None:
    for threads in (1, 3):
        db = small(threads=threads)
        db.create_function("f", lambda x, db=db: [len(db.tables["t"])] * len(x), [INT], INT)
        db.create_view("v", "SELECT f(x) AS y FROM t")
        db.create_view("w", "SELECT SUM(x) AS y FROM t")
        with pytest.raises(errors.FunctionError, match="is in the middle of a call"):
            db.insert("t", {"g": [1], "x": [1], "s": ["a"]})


@pytest.mark.parametrize("rows", [3, 200])
def test_threads_do_not_wait_for_each_other(rows: int) -> None:
    """Several views on several threads, each calling Python, while others read and write."""
    db = small(threads=3)
    db.create_function("bump", bump, ["int64"], "int64")
    views = [
        db.create_view(f"v{at}", f"SELECT g, SUM(bump(x) + {at}) AS y FROM t GROUP BY g")
        for at in range(5)
    ]

    def write(group: int) -> None:
        for _ in range(10):
            db.insert("t", {"g": [group] * rows, "x": range(rows), "s": ["a"] * rows})
            views[group].get({"g": group})

    threads = [threading.Thread(target=write, args=(group,)) for group in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = 10 * (rows * (rows - 1) + rows)
    for at, view in enumerate(views):
        expected = total + 10 * rows * at
        assert [row["y"] for row in view.to_arrow().to_pylist()] == [expected] * 4


def test_ctrl_c_stops_a_slow_function() -> None:
    code = """
    import os, signal, threading, time
    import ringview as rv
    for threads in (1, 3):
        db = rv.Database(threads=threads)
        db.create_table("t", {"x": "int64"})
        begun = threading.Event()
        def slow(x):
            begun.set()
            for _ in range(300):
                time.sleep(0.01)
            return x
        db.create_function("slow", slow, ["int64"], "int64")
        views = [db.create_view(f"v{at}", f"SELECT slow(x) + {at} AS y FROM t") for at in range(2)]
        def press():
            begun.wait()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press, daemon=True).start()
        try:
            db.insert("t", {"x": [1, 2]})
        except KeyboardInterrupt as interrupt:
            print(type(interrupt).__name__, len(db.tables["t"]), len(views[0]))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:2] == ["KeyboardInterrupt 0 0"] * 2, done.stderr
