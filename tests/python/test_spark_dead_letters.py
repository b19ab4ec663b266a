"""Rows that break a contract, and the rows beside them; no Java runs."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="4.1")

import ringview as rv
import state_crashes as crashes
from micro_batches import COLUMNS, begun, plan, slots, table
from oracle import Oracle, comparable
from ringview.errors import (
    ArithmeticOverflowError,
    CheckpointError,
    DuplicateKeyError,
    ExistsError,
    InvalidValueError,
    NullKeyError,
    OverDeleteError,
    StorageError,
    UnknownKeyError,
)
from ringview.spark import ParquetSink
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.letters import NAME, JsonLines, target_of
from ringview.spark.streaming.plan import Plan, TablePlan
from shop import replayed

Row = tuple[Any, ...]


class Letters:
    """A target that keeps what it was told, and fails when it is told to."""

    def __init__(self) -> None:
        self.told: dict[int, list[dict[str, Any]]] = {}
        self.fails = False

    def __call__(self, name: str, batch_id: int, letters: pa.Table) -> None:
        assert name == NAME
        rows = letters.to_pylist()
        assert self.told.setdefault(batch_id, rows) == rows, "a batch came twice, changed"
        if self.fails:
            self.fails = False
            raise ZeroDivisionError(name)

    def rows(self, batch_id: int, *names: str) -> Counter[Row]:
        """The rows of a batch, as they came."""
        found = [json.loads(letter["row"]) for letter in self.told.get(batch_id, [])]
        return Counter(tuple(row[name] for name in names) for row in found)


def opened(folder: Path, of: Plan, letters: Any, sink: Any = None) -> DriverState:
    checkpoint = Checkpoint(folder / "checkpoint")
    if not checkpoint.spark.exists():
        begun(checkpoint, of)
    return DriverState(of, {}, checkpoint, sink, letters)


def take(state: DriverState, number: int, *rows: Row, of: Plan) -> None:
    state.take(crashes.Frame(slots(of, *rows)), number)  # type: ignore[arg-type]


def held(state: DriverState, name: str = "t") -> Counter[Row]:
    rows = state._database.tables[name].to_arrow().to_pylist()
    return Counter(tuple(row.values()) for row in rows)


BY_ID = "SELECT id, COUNT(*) AS n, SUM(x) AS x FROM t GROUP BY id"
HUGE = 2**62

KINDS: list[tuple[str, TablePlan, str, list[Row], list[Row], list[tuple[type[Exception], str]]]] = [
    (
        "more of a row deleted than there is",
        table("rows"),
        BY_ID,
        [(1, 10, 1), (1, 10, 1)],
        [(2, 20, 1), (1, 10, -1), (1, 10, -3), (1, 10, -1), (9, 9, -1)],
        [
            (OverDeleteError, 'table "t" holds 2 of the row (id = 1, x = 10)'),
            (OverDeleteError, 'table "t" holds 0 of the row (id = 9, x = 9)'),
        ],
    ),
    (
        "NULL for a multiplicity",
        table("rows"),
        BY_ID,
        [],
        [(2, 20, 1), (1, 10, None)],
        [(NullKeyError, "the multiplicity of the row (id = 1, x = 10) is NULL")],
    ),
    (
        "a key that is taken",
        table("rows", keys=("id",)),
        BY_ID,
        [(1, 10, 1)],
        [(1, 11, 1), (2, 20, 1)],
        [(DuplicateKeyError, 'table "t" already holds a row with the unique key')],
    ),
    (
        "words of changes by key",
        table("words", keys=("id",)),
        BY_ID,
        [(1, 10, "c", 1)],
        [
            (1, 11, "c", 1),
            (2, 20, "u", 1),
            (3, 30, "c", 1),
            (4, 40, "no", 1),
            (5, 50, None, 1),
            (None, 60, "c", 1),
        ],
        [
            (DuplicateKeyError, "already holds a row with the unique key"),
            (UnknownKeyError, "holds no row with the unique key"),
            (InvalidValueError, '"no" in the row (id = 4, x = 40) is no change'),
            (InvalidValueError, "NULL in the row (id = 5, x = 50) is no change"),
            (NullKeyError, '"id", which is of its key, is NULL in the row'),
        ],
    ),
    (
        "words without a key",
        table("signs"),
        BY_ID,
        [(1, 10, "c", 1)],
        [(1, 10, "d", 1), (1, 10, "d", 1), (2, 20, "+U", 1), (3, 30, "u", 1)],
        [
            (OverDeleteError, "holds 1 of the row (id = 1, x = 10)"),
            (InvalidValueError, '"u" in the row (id = 3, x = 30) needs a key'),
        ],
    ),
    (
        "two changes of a key in no order",
        table("upserts", keys=("id",)),
        BY_ID,
        [(1, 10, 1)],
        [(1, 11, 1), (1, 12, 1), (2, 20, 1)],
        [(InvalidValueError, "two changes of the key (id = 1) came in one micro-batch")] * 2,
    ),
    (
        "no place in the order, and one that is taken",
        table("upserts", keys=("id",), ordered=True),
        BY_ID,
        [(1, 10, 5, 1), (2, 20, 5, 1)],
        [(1, 11, None, 1), (1, 12, 5, 1), (1, 13, 4, 1), (2, 21, 6, 1), (2, 22, 5, 1)],
        [
            (NullKeyError, "what changes are ordered by is NULL in the row (id = 1, x = 11)"),
            (InvalidValueError, "two changes of the key (id = 1) are both at 5"),
        ],
    ),
    (
        "a value that a view cannot cast",
        TablePlan("t", pa.schema({"id": pa.int64(), "x": pa.string()}), None, "rows", False),
        "SELECT id, SUM(CAST(x AS BIGINT)) AS x FROM t GROUP BY id",
        [(1, "10", 1)],
        [(1, "ten", 1), (2, "20", 1)],
        [(InvalidValueError, "ten")],
    ),
    (
        "a sum that leaves its type",
        TablePlan("t", pa.schema({"id": pa.int64(), "x": pa.int64()}), None, "rows", False),
        "SELECT SUM(x * x * x) AS x FROM t",
        [(1, 10, 1)],
        [(2, HUGE, 1), (3, 30, 1)],
        [(ArithmeticOverflowError, "overflow in")],
    ),
    (
        "NaN in a key of a view over a view",
        TablePlan("t", pa.schema({"id": pa.int64(), "x": pa.float64()}), None, "rows", False),
        "SELECT x, COUNT(*) AS n FROM (SELECT id, SUM(x) AS x FROM t GROUP BY id) GROUP BY x",
        [(1, 10.0, 1)],
        [(2, float("nan"), 1), (3, 30.0, 1)],
        [(InvalidValueError, "NaN")],
    ),
]


@pytest.mark.parametrize(
    ("of", "sql", "before", "rows", "said"),
    [kind[1:] for kind in KINDS],
    ids=[kind[0] for kind in KINDS],
)
def test_a_wrong_row_is_a_letter_and_the_others_count(
    tmp_path: Path,
    of: TablePlan,
    sql: str,
    before: list[Row],
    rows: list[Row],
    said: list[tuple[type[Exception], str]],
) -> None:
    """In whatever order the rows lie; without letters the same batch ends the stream."""
    asked = plan(of, v=sql)
    kept = []
    for turn in range(3):
        drawn, letters = random.Random(turn), Letters()
        drawn.shuffle(rows)
        state = opened(tmp_path / str(turn), asked, letters)
        take(state, 0, *before, of=asked)
        take(state, 1, *rows, of=asked)
        told = letters.told[1]
        assert not letters.told.get(0)
        for letter in told:
            assert letter["table"] == "t"
            assert letter["batch_id"] == letter["multiplicity"] == 1
            assert "nothing of this transaction" not in letter["reason"]
        missing = [(kind.__name__, text) for kind, text in said]
        for letter in told:
            fits = [e for e in missing if e[0] == letter["error"] and e[1] in letter["reason"]]
            assert fits, letter
            missing.remove(fits[0])
        assert missing == []
        assert state.metrics()[NAME] == {"t": len(said)}
        assert state.metrics()["rows"] == {"t": len(rows)}
        kept.append((told, held(state), comparable(state.view("v").to_arrow())))
        state.close()
        strict = opened(tmp_path / f"{turn} strict", asked, None)
        take(strict, 0, *before, of=asked)
        with pytest.raises(tuple({kind for kind, _ in said})):
            take(strict, 1, *rows, of=asked)
        assert strict.batch_id == 0
        strict.close()
    assert kept[0] == kept[1] == kept[2]


def as_bag(now: Counter[Row], rows: Sequence[Row]) -> tuple[Counter[Row], list[Row]]:
    """What comes of rows with multiplicities, and which are refused, one by one."""
    refused = [row for row in rows if row[-1] is None]
    net = Counter(now)
    for row in rows:
        if row[-1] is not None and row[-1] >= 0:
            net[row[:-1]] += row[-1]
    for row in sorted((row for row in rows if (row[-1] or 0) < 0), key=lambda row: -row[-1]):
        if net[row[:-1]] + row[-1] < 0:
            refused.append(row)
        else:
            net[row[:-1]] += row[-1]
    return +net, refused


WORDS = {"insert": 0, "c": 0, "-U": 1, "u": 2, "upsert": 2, "delete": 3, "no": 4}


def by_words(now: Counter[Row], rows: Sequence[Row]) -> tuple[Counter[Row], list[Row]]:
    """The same of words by key without an order."""
    model: dict[Any, Any] = dict(now.keys())
    wrong = [row for row in rows if row[0] is None or row[2] == "no"]
    left = [row for row in rows if row not in wrong]
    ranks = Counter((row[0], WORDS[row[2]]) for row in left)
    wrong += [row for row in left if ranks[row[0], WORDS[row[2]]] > 1]
    for row in sorted(left, key=lambda row: WORDS[row[2]]):
        key, x, word, _ = row
        if row in wrong:
            continue
        if (word in ("insert", "c") and key in model) or (
            word in ("u", "-U", "delete") and key not in model
        ):
            wrong.append(row)
        elif word in ("-U", "delete"):
            del model[key]
        else:
            model[key] = x
    return Counter(list(model.items())), wrong


def in_order(
    last: dict[int, tuple[int, int]], now: Counter[Row], rows: Sequence[Row]
) -> tuple[Counter[Row], list[Row]]:
    """The same of words with an order; `last` is where the last change of each key is."""
    model: dict[Any, Any] = dict(now.keys())
    wrong = [row for row in rows if row[0] is None or row[2] == "no" or row[3] is None]
    left = [row for row in rows if row not in wrong]
    places = Counter((row[0], row[3], WORDS[row[2]]) for row in left)
    wrong += [row for row in left if places[row[0], row[3], WORDS[row[2]]] > 1]
    left = [row for row in left if row not in wrong]
    for key in {row[0] for row in left}:
        for row in sorted(
            (row for row in left if row[0] == key), key=lambda row: (row[3], WORDS[row[2]])
        )[::-1]:
            place = row[3], WORDS[row[2]]
            if last.get(key) == place:
                wrong.append(row)
                continue
            if last.get(key, (-1, -1)) < place:
                last[key] = place
                model.pop(key, None)
                if row[2] not in ("-U", "delete"):
                    model[key] = row[1]
            break
    return Counter(list(model.items())), wrong


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["bag", "words", "ordered"])
def test_random_batches_with_wrong_rows(tmp_path: Path, kind: str, seed: int) -> None:
    """Against a model that takes rows one by one; targets fail and streams start again."""
    drawn, letters = random.Random(f"{kind} {seed}"), Letters()
    of = {
        "bag": plan(table("rows"), v=BY_ID),
        "words": plan(table("words", keys=("id",)), v=BY_ID),
        "ordered": plan(table("words", keys=("id",), ordered=True), v=BY_ID),
    }[kind]
    state, now, last = opened(tmp_path, of, letters), Counter[Row](), dict[int, tuple[int, int]]()
    for number in range(8):
        rows: list[Row] = []
        for _ in range(drawn.randrange(14)):
            key, x = drawn.choice([None, *range(5)]), drawn.randrange(2)
            word = drawn.choice(list(WORDS))
            if kind == "bag":
                rows.append((key, x, drawn.choice([None, 3, 1, 1, -1, -1, -2])))
            elif kind == "words":
                rows.append((key, x, word, 1))
            else:
                rows.append((key, x, word, drawn.choice([None, *range(20)]), 1))
        if kind == "bag":
            now, wrong = as_bag(now, rows)
        elif kind == "words":
            now, wrong = by_words(now, rows)
        else:
            now, wrong = in_order(last, now, rows)
        letters.fails = drawn.random() < 0.3
        again = True
        while again:
            try:
                take(state, number, *rows, of=of)
                again = drawn.random() < 0.2
            except ZeroDivisionError:
                pass
            drawn.shuffle(rows)
            if drawn.random() < 0.3:
                state.close()
                state = opened(tmp_path, of, letters)
        letters.fails = False
        names = {"bag": ["multiplicity"], "words": ["op"], "ordered": ["op", "order"]}[kind]
        wanted = [row if kind == "bag" else row[:-1] for row in wrong]
        assert letters.rows(number, "id", "x", *names) == Counter(wanted)
        assert held(state) == now
        check = rv.Database()
        check.create_table("t", COLUMNS)
        check.insert("t", [dict(zip(("id", "x"), row, strict=True)) for row in now.elements()])
        check.create_view("v", BY_ID)
        assert comparable(state.view("v").to_arrow()) == comparable(check["v"].to_arrow())
    assert not len(state._database.tables[of.letters])
    state.close()


def test_a_key_with_multiplicities_loses_no_more_than_it_must(tmp_path: Path) -> None:
    """Of what takes the place of a key, the old row must be the one that is there."""
    of = plan(table("rows", keys=("id",)), v=BY_ID)
    letters = Letters()
    state = opened(tmp_path, of, letters)
    take(state, 0, (1, 10, 1), (2, 20, 1), (3, 30, 1), of=of)
    take(state, 1, (1, 11, 1), (1, 10, -1), (1, 10, -1), (2, 21, 1), (3, 31, -1), of=of)
    assert letters.rows(1, "id", "x", "multiplicity") == Counter(
        [(1, 10, -1), (2, 21, 1), (3, 31, -1)]
    )
    assert held(state) == Counter([(1, 11), (2, 20), (3, 30)])
    take(state, 2, (1, 12, 1), (1, 12, -1), (1, 13, -1), of=of)
    assert letters.rows(2, "id", "x", "multiplicity") == Counter([(1, 13, -1)])
    state.close()


def test_many_equal_rows_cost_few_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of, letters = plan(table("rows"), v=BY_ID), Letters()
    state = opened(tmp_path, of, letters)
    take(state, 0, (1, 10, 700), of=of)
    tried: list[int] = []
    attempt = state._applier._attempt

    def counted(rows: Any) -> Any:
        tried.append(1)
        return attempt(rows)

    monkeypatch.setattr(state._applier, "_attempt", counted)
    take(state, 1, *[(1, 10, -1)] * 1000, *[(n, 0, 1) for n in range(2, 500)], of=of)
    assert letters.rows(1, "id", "x", "multiplicity") == Counter({(1, 10, -1): 300})
    assert len(tried) < 60
    state.close()


def test_letters_may_be_asked_for_later_and_not_forgotten(tmp_path: Path) -> None:
    """A stream that ended goes on with letters; with some that wait it does not go on without."""
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


def test_letters_of_a_state_that_is_killed_come_once(tmp_path: Path) -> None:
    killed_while_letters_come(tmp_path, times=2, seed=7)


@pytest.mark.long
def test_letters_of_a_state_that_is_killed_50_times_come_once(tmp_path: Path) -> None:
    killed_while_letters_come(tmp_path, times=50, seed=8)
