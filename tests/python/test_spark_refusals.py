"""Rows that break a contract, in any order; no Java runs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import ringview as rv
from dead_letters import BY_ID, Letters, Row, held, opened, take
from micro_batches import COLUMNS, plan, table
from oracle import comparable
from ringview.errors import (
    ArithmeticOverflowError,
    DuplicateKeyError,
    InvalidValueError,
    NullKeyError,
    OverDeleteError,
    UnknownKeyError,
)
from ringview.spark.streaming.letters import NAME
from ringview.spark.streaming.plan import TablePlan

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
    """The result of rows with multiplicities, and the refused ones, one by one."""
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
