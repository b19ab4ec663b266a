"""Checkpoints and sinks of streams: of one query, whole or not there; no Java runs."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import state_crashes as crashes
from micro_batches import COLUMNS, VIEWS, begun, plan, table
from ringview.errors import InvalidValueError, StorageError, UnknownViewError, UnsupportedError
from ringview.sinks import sqlite
from ringview.sinks.protocol import begin
from ringview.spark import CheckpointError, ParquetSink
from ringview.spark.streaming import unsent
from ringview.spark.streaming.checkpoint import Checkpoint, difference
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.locations import remove, write
from ringview.spark.streaming.plan import Plan, TablePlan
from ringview.spark.streaming.sinks import sink_of


def test_what_differs_in_a_plan_is_named() -> None:
    first = plan(table("rows"), v="SELECT COUNT(*) FROM t").described()
    wider = TablePlan("t", COLUMNS.append(pa.field("y", pa.string())), None, "rows", False)
    other = TablePlan("t", COLUMNS.set(1, pa.field("x", pa.string())), None, "rows", False)
    same = {"v": "select  COUNT( * ) -- of all\nfrom t"}
    assert (
        difference(first, Plan((table("rows"),), {"v": "SELECT COUNT( * )\nFROM t"}).described())
        is None
    )
    assert difference(first, Plan((table("rows"),), same).described()) is None
    for now, said in (
        (plan(wider), 'column "y" of table "t" is new'),
        (plan(other), 'column "x" of table "t" was int64 and is string now'),
        (plan(table("rows"), table("rows", name="s")), 'table "s" is new'),
        (plan(table("words", keys=("id",))), 'of table "t" was'),
        (plan(table("rows"), w="SELECT COUNT(*) FROM t"), 'view "w" is new'),
        (plan(table("rows"), v="SELECT SUM(x) FROM t"), 'view "v" was SELECT COUNT'),
    ):
        assert said in str(difference(first, now.described()))
    assert difference({**first, "mode": "a"}, {**first, "mode": "b"}) == "mode was a and is b now"


def test_a_checkpoint_is_of_one_query(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "new" / "folder")
    for _ in range(2):
        checkpoint.agree(plan(table("rows")).described())
    with pytest.raises(CheckpointError, match=r'of another query: view "v" was .*, or start with'):
        checkpoint.agree(plan(table("rows"), v="SELECT 1 + COUNT(*) FROM t").described())
    noted = tmp_path / "new" / "folder" / "plan.json"
    noted.write_text(noted.read_text()[:-9])
    with pytest.raises(CheckpointError, match=r"plan\.json is damaged"):
        checkpoint.agree(plan(table("rows")).described())
    noted.write_text(json.dumps({"format": 99}))
    with pytest.raises(CheckpointError, match="is of format 99"):
        checkpoint.agree(plan(table("rows")).described())
    noted.unlink()
    begun(checkpoint)
    with pytest.raises(CheckpointError, match=r"not of ringview: it has no plan\.json"):
        checkpoint.agree(plan(table("rows")).described())
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    with pytest.raises(CheckpointError, match="not of ringview"):
        Checkpoint(tmp_path / "spark").agree(plan(table("rows")).described())
    assert Checkpoint((tmp_path / "a b").as_uri()).folder == tmp_path / "a b"
    with pytest.raises(
        UnsupportedError, match="no folder of this machine; give one by its path, or"
    ):
        Checkpoint("s3://bucket/folder")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot open the checkpoint"):
        Checkpoint(tmp_path / "file").agree(plan(table("rows")).described())


def test_a_checkpoint_without_its_state_is_refused(tmp_path: Path) -> None:
    checkpoint = begun(Checkpoint(tmp_path / "c"), plan(table("rows")))
    remove(checkpoint.state)
    with pytest.raises(CheckpointError, match=r"lacks its folder ringview, .* empty folder"):
        checkpoint.agree({**plan(table("rows")).described(), "mode": "driver"})
    # As it says: brought back, or an empty folder.
    checkpoint.state.mkdir()
    checkpoint.agree({**plan(table("rows")).described(), "mode": "driver"})
    Checkpoint(tmp_path / "d").agree({**plan(table("rows")).described(), "mode": "driver"})


def test_an_order_that_is_new_or_gone_is_of_another_query(tmp_path: Path) -> None:
    ordered, plain = (plan(table("upserts", keys=("id",), ordered=by)) for by in (True, False))
    for number, (first, then) in enumerate([(ordered, plain), (plain, ordered)]):
        checkpoint = Checkpoint(tmp_path / str(number))
        checkpoint.agree(first.described())
        with pytest.raises(CheckpointError, match='order of table "t" was'):
            checkpoint.agree(then.described())


NAMES = ["a b", "Überfälle", "50% off", "a%20b", "a+b", "a#b", "a?b=c", "a[1]{2}", "a:b", "-"]


def test_a_path_is_a_path(tmp_path: Path) -> None:
    for name in NAMES:
        folder = tmp_path / name
        for given in (folder, str(folder), folder.as_uri(), f"file:{folder.as_uri()[7:]}"):
            assert Checkpoint(given).folder == folder
        assert Checkpoint(name).folder == Path(name)
        assert Checkpoint(folder).location == f"file://{folder}/spark"
    assert Checkpoint(f"file://localhost{tmp_path}").folder == tmp_path
    for other in ("s3a://bucket/folder", "file://host/folder", "hdfs:/folder"):
        with pytest.raises(
            UnsupportedError, match="no folder of this machine; give one by its path, or"
        ):
            Checkpoint(other)


def test_a_checkpoint_has_an_identity(tmp_path: Path) -> None:
    of = plan(table("rows")).described()
    first, second = Checkpoint(tmp_path / "c"), Checkpoint(tmp_path / "c")
    first.agree(of)
    identity = first.identity
    second.agree(of)
    assert second.identity == identity
    # One of a version that gave none is given one.
    noted = json.loads((tmp_path / "c" / "plan.json").read_text())
    assert noted.pop("identity") == identity
    (tmp_path / "c" / "plan.json").write_text(json.dumps(noted))
    with pytest.raises(CheckpointError, match="no identity yet"):
        _ = second.identity
    second.agree(of)
    assert first.identity == second.identity != identity
    # In the same place, another one.
    shutil.rmtree(tmp_path / "c")
    second.agree(of)
    assert len({identity, first.identity, second.identity}) == 2


def test_a_folder_of_changes_is_of_one_checkpoint(tmp_path: Path) -> None:
    sink, rows = ParquetSink(tmp_path), pa.table({"a": [1], "multiplicity": [1]})
    by_view = sink_of({"v": sink, "w": sink}, VIEWS)
    assert by_view is not None
    begin(by_view, "first", list(VIEWS), True)
    by_view("v", 0, rows)
    for is_new in (True, False):
        begin(sink, "first", ["v"], is_new)
        with pytest.raises(CheckpointError, match="holds changes of another checkpoint"):
            begin(sink, "second", ["v"], is_new)
    # Another view of another checkpoint, beside it; and what the message advises.
    begin(sink, "second", ["other"], True)
    begin(ParquetSink(tmp_path / "another"), "second", ["v"], True)
    assert sink.read("v") == rows
    shutil.rmtree(tmp_path / "v")
    begin(sink, "second", ["v"], True)
    # Files of an older version without an owner: a checkpoint may resume with them, not begin.
    (tmp_path / "v" / "_checkpoint").unlink()
    sink("v", 0, rows)
    with pytest.raises(CheckpointError, match="another checkpoint"):
        begin(sink, "second", ["v"], True)
    begin(sink, "second", ["v"], False)
    begin(sink, "second", ["v"], True)
    # A function has no such check.
    begin(lambda view, batch, changes: None, "third", ["v"], True)


def test_what_a_sink_has_not_taken_is_kept_whole(tmp_path: Path) -> None:
    changes = {"v /": pa.table({"a": [1]}), "w": pa.table({"b": pa.array([], pa.string())})}
    third, fourth = (unsent.of_batch(tmp_path, number) for number in (3, 4))
    assert unsent.read(third) is None
    for _ in range(2):
        unsent.keep(third, changes)
    assert unsent.read(third) == changes
    assert unsent.read(fourth) is None
    unsent.forget(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_sink_is_a_function_or_functions_by_view(tmp_path: Path) -> None:
    got: list[Any] = []
    rows = pa.table({"a": [1]})
    by_view = sink_of({"v": lambda *told: got.append(told)}, VIEWS)
    assert by_view is not None
    for name in VIEWS:
        by_view(name, 3, rows)
    assert got == [("v", 3, rows)]
    assert sink_of(None, VIEWS) is None
    parquet = ParquetSink(tmp_path)
    assert sink_of(parquet, VIEWS) is parquet
    with pytest.raises(UnknownViewError, match=r'no view "vv" in views; did you mean .v.\?'):
        sink_of({"vv": print}, VIEWS)
    for wrong in ("folder", {"v": 1}):
        with pytest.raises(InvalidValueError, match=r"is no (sink|function)"):
            sink_of(wrong, VIEWS)
    with pytest.raises(UnknownViewError, match='no changes of a view "v"'):
        parquet.read("v")
    (tmp_path / "v").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        parquet("v", 1, rows)


def test_a_table_of_sqlite_is_a_sink_of_streams(tmp_path: Path) -> None:
    """A repeated batch counts once, also in another life."""
    checkpoint, file = Checkpoint(tmp_path / "checkpoint"), tmp_path / "out.sqlite"
    for number in [0, 0, 1, 2, 2, 3]:
        sinks = {
            "sums": sqlite(file, "sums", key="a"),
            "rows": sqlite(file, "log"),
            "above": ParquetSink(tmp_path / "out"),
        }
        given = sink_of(sinks, crashes.VIEWS)
        state = DriverState(crashes.PLAN, {}, checkpoint, given)
        # As Spark notes what it began.
        (checkpoint.spark / "offsets").mkdir(parents=True, exist_ok=True)
        write(checkpoint.spark / "offsets" / "0", b"")
        state.take(crashes.frame(number), number)
        wanted = bag(state.view("sums").to_arrow())
        state.close()
    with sqlite3.connect(file) as con:
        con.row_factory = sqlite3.Row
        assert Counter(str(dict(row)) for row in con.execute("SELECT * FROM sums")) == wanted
        log = Counter[tuple[int, float]]()
        for a, x, times, _ in con.execute("SELECT * FROM log"):
            log[a, x] += times
        assert +log == Counter(crashes.left(4))


def bag(rows: pa.Table) -> Counter[str]:
    return Counter(str(row) for row in rows.to_pylist())
