"""Destination of rows that break a contract, over restarts and kills; no Java runs."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import state_crashes as crashes
from dead_letters import BY_ID, Letters, held, opened, take
from micro_batches import plan, table
from oracle import Oracle, comparable
from ringview.errors import (
    CheckpointError,
    ExistsError,
    InvalidValueError,
    OverDeleteError,
    StorageError,
)
from ringview.spark import ParquetSink
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.letters import NAME, JsonLines, target_of
from ringview.spark.streaming.plan import TablePlan
from shop import replayed


def test_letters_may_be_asked_for_later_and_not_forgotten(tmp_path: Path) -> None:
    """A stream that ended resumes with letters; with waiting ones it does not resume without."""
    of, letters, sink = plan(table("rows"), v=BY_ID), Letters(), ParquetSink(tmp_path / "out")
    state = opened(tmp_path, of, None, sink)
    take(state, 0, (1, 10, 1), of=of)
    with pytest.raises(OverDeleteError):
        take(state, 1, (2, 20, -1), (3, 30, 1), of=of)
    state.close()
    letters.fails = True
    state = opened(tmp_path, of, letters, sink)
    with pytest.raises(ZeroDivisionError):
        take(state, 1, (2, 20, -1), (3, 30, 1), of=of)
    state.close()
    with pytest.raises(CheckpointError, match=r"dead letters that were not taken; give on_error="):
        opened(tmp_path, of, None, sink)
    state = opened(tmp_path, of, letters, sink)
    take(state, 1, (2, 20, -1), (3, 30, 1), of=of)
    assert len(letters.told[1]) == 1
    state.close()
    state = opened(tmp_path, of, None, sink)
    take(state, 2, (4, 40, 1), of=of)
    assert held(state) == Counter([(1, 10), (3, 30), (4, 40)])
    assert replayed(sink.read("v")) == comparable(state.view("v").to_arrow())
    state.close()


def test_letters_that_come_while_a_sink_waits_lose_nothing_of_it(tmp_path: Path) -> None:
    """The table for letters is made in a file whose last transaction the sink has not taken."""
    of, sink = plan(table("rows"), v=BY_ID), ParquetSink(tmp_path / "out")
    waits = [False]

    def fails(view: str, batch_id: int, changes: pa.Table) -> None:
        if waits[0]:
            raise ZeroDivisionError
        sink(view, batch_id, changes)

    state = opened(tmp_path, of, None, fails)
    take(state, 0, (1, 10, 1), of=of)
    waits[0] = True
    with pytest.raises(ZeroDivisionError):
        take(state, 1, (2, 20, 1), of=of)
    # As a kill leaves it, twice: the second one finds the file with a table more.
    for _ in range(2):
        state._database.close()
        state = opened(tmp_path, of, Letters(), fails)
    waits[0] = False
    take(state, 1, (2, 20, 1), of=of)
    assert replayed(sink.read("v")) == comparable(state.view("v").to_arrow())
    state.close()


def test_files_of_letters_belong_to_one_checkpoint(tmp_path: Path) -> None:
    of = plan(table("rows"), v=BY_ID)
    for target in (JsonLines(tmp_path / "lines"), ParquetSink(tmp_path / "parquet")):
        name = type(target).__name__
        state = opened(tmp_path / name, of, target)
        take(state, 0, (1, 10, -1), (2, 20, 1), of=of)
        take(state, 1, (1, 10, 1), of=of)
        state.close()
        opened(tmp_path / name, of, target).close()
        with pytest.raises(CheckpointError, match=r"of another checkpoint, .* remove it"):
            opened(tmp_path / f"{name} again", of, target)
    (line,) = (tmp_path / "lines" / "000000000000.jsonl").read_text().splitlines()
    letter = json.loads(line)
    assert json.loads(letter.pop("row")) == {"id": 1, "x": 10, "multiplicity": -1}
    assert letter == {
        "batch_id": 0,
        "table": "t",
        "error": "OverDeleteError",
        "reason": 'table "t" holds 0 of the row (id = 1, x = 10), so 1 cannot be deleted',
    }
    names = {path.name for path in (tmp_path / "lines").iterdir()}
    assert names == {"_checkpoint", "000000000000.jsonl"}
    found = ParquetSink(tmp_path / "parquet").read(NAME).to_pylist()
    assert [row["reason"] for row in found] == [letter["reason"]]
    JsonLines(tmp_path / "lines")(NAME, 0, pa.table({"multiplicity": pa.array([], pa.int64())}))
    assert not (tmp_path / "lines" / "000000000000.jsonl").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        JsonLines(tmp_path / "file")(NAME, 0, pa.table({"a": [1], "multiplicity": [1]}))
    with pytest.raises(StorageError, match="cannot write"):
        JsonLines(tmp_path / "file").begin("me", [NAME], True)


def test_values_of_a_letter_are_json(tmp_path: Path) -> None:
    from datetime import UTC, date, datetime
    from decimal import Decimal

    values: dict[str, tuple[pa.DataType, Any, Any]] = {
        "f": (pa.float64(), float("nan"), "nan"),
        "b": (pa.bool_(), True, True),
        "d": (pa.date32(), date(2026, 3, 1), "2026-03-01"),
        "t": (
            pa.timestamp("us", "UTC"),
            datetime(2026, 3, 1, 12, tzinfo=UTC),
            "2026-03-01T12:00:00+00:00",
        ),
        "m": (pa.decimal128(9, 2), Decimal("1.50"), "1.50"),
        "s": (pa.string(), "ü", "ü"),
        "n": (pa.int64(), None, None),
    }
    schema = pa.schema({name: kind for name, (kind, _, _) in values.items()})
    of = plan(TablePlan("t", schema, None, "rows", False), v="SELECT COUNT(*) AS n FROM t")
    letters = Letters()
    state = opened(tmp_path, of, letters)
    take(state, 0, (*(value for _, value, _ in values.values()), -1), of=of)
    ((letter,),) = letters.told.values()
    wanted = {name: shown for name, (_, _, shown) in values.items()}
    assert json.loads(letter["row"]) == {**wanted, "multiplicity": -1}
    state.close()


@pytest.mark.parametrize(
    ("on_error", "given", "views", "error", "said"),
    [
        ("skip", None, [], InvalidValueError, 'on_error is "fail" or "dead_letter", not \'skip\''),
        ("fail", "here", [], InvalidValueError, 'goes with on_error="dead_letter"'),
        ("dead_letter", None, [], InvalidValueError, "no place for letters; give a folder"),
        ("dead_letter", 7, [], InvalidValueError, "no place for letters; give a folder"),
        ("dead_letter", "here", [NAME], ExistsError, "give the view another name"),
    ],
)
def test_targets_that_are_none(
    on_error: str, given: object, views: list[str], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        target_of(on_error, given, views)


def test_where_letters_go() -> None:
    assert target_of("fail", None, [NAME]) is None
    assert repr(target_of("dead_letter", Path("a"), [])) == "JsonLines('a')"
    assert target_of("dead_letter", print, []) is print


def killed_while_letters_come(folder: Path, times: int, seed: int) -> None:
    """Each letter once, and each row that is none."""
    drawn = random.Random(seed)
    checkpoint = Checkpoint(folder / "checkpoint")
    for _ in range(times):
        steps = drawn.randrange(1, 25_000)
        command = [sys.executable, crashes.__file__, str(folder), str(steps), "letters"]
        assert subprocess.run(command).returncode == -signal.SIGKILL
    state = crashes.state(checkpoint, folder, with_letters=True)
    number = crashes.noted(checkpoint)
    state.take(crashes.frame(number, with_wrong=True), number)
    oracle = Oracle({"t": crashes.COLUMNS})
    rows = [dict(zip(("a", "x"), row, strict=True)) for row in crashes.left(number + 1)]
    for name, sql in crashes.VIEWS.items():
        found = comparable(state.view(name).to_arrow())
        if name == "above":
            sql = sql.replace("sums", f"({crashes.VIEWS['sums']})")
        assert found == oracle.rows(sql, {"t": rows}), name
        assert replayed(ParquetSink(folder / "out").read(name)) == found, name
    state.close()
    files = sorted((folder / "letters").glob("*.jsonl"))
    letters = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    found_rows = [json.loads(letter["row"]) for letter in letters]
    told = Counter(
        (letter["batch_id"], *row.values()) for letter, row in zip(letters, found_rows, strict=True)
    )
    wrong = [(batch, *row) for batch in range(number + 1) for row in crashes.wrong(batch)]
    assert told == Counter(wrong)
    assert number


@pytest.mark.long
def test_letters_of_a_state_that_is_killed_come_once(tmp_path: Path) -> None:
    killed_while_letters_come(tmp_path, times=4, seed=7)


@pytest.mark.long
def test_letters_of_a_state_that_is_killed_50_times_come_once(tmp_path: Path) -> None:
    killed_while_letters_come(tmp_path, times=50, seed=8)
