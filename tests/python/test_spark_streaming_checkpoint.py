"""Checkpoints and sinks of streams: of one query, whole or not there; no Java runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="4.1")

from micro_batches import COLUMNS, VIEWS, begun, plan, table
from ringview.errors import InvalidValueError, StorageError, UnknownViewError, UnsupportedError
from ringview.spark import CheckpointError, ParquetSink
from ringview.spark.streaming import unsent
from ringview.spark.streaming.checkpoint import Checkpoint, difference
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
    noted = checkpoint.folder / "plan.json"
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
    with pytest.raises(UnsupportedError, match="give a folder that the driver has mounted"):
        Checkpoint("s3://bucket/folder")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot open the checkpoint"):
        Checkpoint(tmp_path / "file").agree(plan(table("rows")).described())


def test_what_a_sink_has_not_taken_is_kept_whole(tmp_path: Path) -> None:
    changes = {"v /": pa.table({"a": [1]}), "w": pa.table({"b": pa.array([], pa.string())})}
    assert unsent.kept(tmp_path, 3) is None
    for _ in range(2):
        unsent.keep(tmp_path, 3, changes)
    assert unsent.kept(tmp_path, 3) == changes
    assert unsent.kept(tmp_path, 4) is None
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
