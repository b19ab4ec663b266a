"""Micro-batches as changes of a database: net effects, words, keys, orders; no Java runs."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import ringview as rv
from micro_batches import COLUMNS, plan, slots, table
from ringview.errors import InvalidValueError, NullKeyError
from ringview.spark.streaming.changes import decode, is_net
from ringview.spark.streaming.latest import Latest
from ringview.spark.streaming.plan import Plan, TablePlan


def after(of: Plan, *batches: pa.Table) -> list[dict[str, Any]]:
    """The rows of the first table once micro-batches are in."""
    db = rv.Database()
    of.create_tables(db)
    of.create_histories(db)
    of.create_views(db)
    latest = Latest(of, db)
    for number, batch in enumerate(batches):
        changes, _ = latest.resolve(decode(of, batch.to_batches(max_chunksize=2)))
        with db.transaction(net=is_net(changes), batch_id=number) as tx:
            for change in changes:
                change.apply(tx)
    found: list[dict[str, Any]] = db.tables[of.tables[0].name].to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["id"] is None, *map(str, row.values())))


def test_a_micro_batch_of_a_bag_counts_by_its_net_effect() -> None:
    of = plan(table("rows"))
    first = slots(of, (1, 10, -1), (1, 10, 2), (2, 20, 3), (3, 30, 0), (2, 20, -2))
    assert after(of, first) == [{"id": 1, "x": 10}, {"id": 2, "x": 20}]
    assert after(of, first, slots(of, (2, 20, -1))) == [{"id": 1, "x": 10}]
    assert after(of) == after(of, slots(of)) == []


def test_a_null_multiplicity_names_table_and_row() -> None:
    of = plan(table("rows"))
    with pytest.raises(NullKeyError, match=r'table "t": the multiplicity .* \(id = 2, x = NULL\)'):
        after(of, slots(of, (1, 10, 1), (2, None, None)))


def test_words_without_a_key_bring_and_take_whole_rows() -> None:
    of = plan(table("signs"))
    words = [("D", 1), ("I", 1), ("-U", 2), ("+U", 3), ("c", 2), ("Read", 4)]
    rows = [(number, 0, word, 1) for word, number in words]
    assert [row["id"] for row in after(of, slots(of, *rows))] == [3, 4]
    for word in ("u", "upsert", "no", None):
        with pytest.raises(InvalidValueError, match=r'table "t": .* \(id = 7, x = 1\) needs a key'):
            after(of, slots(of, (7, 1, word, 1)))


def test_tombstones_say_nothing() -> None:
    for changes, keys in (("signs", None), ("words", ("id",))):
        of = plan(table(changes, keys=keys))  # type: ignore[arg-type]
        rows = slots(of, (1, 5, "c", 1), (None, None, None, 1))
        assert after(of, rows) == [{"id": 1, "x": 5}]


HISTORY = [
    [(1, 10, "c"), (2, 20, "c"), (3, 30, "c"), (1, 11, "u"), (3, None, "d")],
    [(2, 21, "-U"), (2, 22, "+U"), (4, 40, "c"), (4, None, "d")],
    [(1, None, "d"), (5, 50, "r"), (3, 31, "c")],
]
LEFT = [{"id": 2, "x": 22}, {"id": 3, "x": 31}, {"id": 5, "x": 50}]


@pytest.mark.parametrize("seed", range(20))
def test_words_make_sense_in_whatever_order_they_lie(seed: int) -> None:
    of, drawn = plan(table("words", keys=("id",))), random.Random(seed)
    batches = []
    for history in HISTORY:
        rows = [(*row, 1) for row in history]
        drawn.shuffle(rows)
        batches.append(slots(of, *rows))
    assert after(of, *batches) == LEFT


@pytest.mark.parametrize("seed", range(20))
def test_a_column_says_which_change_came_first(seed: int) -> None:
    """Random histories of few keys, each in a shuffled order, against a dict."""
    drawn = random.Random(seed)
    of, model = plan(table("words", keys=("id",), ordered=True)), dict[int, int]()
    batches = []
    at = 0
    for _ in range(4):
        rows = []
        for _ in range(drawn.randrange(12)):
            at += 1
            key, x = drawn.randrange(3), drawn.randrange(100)
            word = drawn.choice(["u", "d", "r"]) if key in model else drawn.choice(["c", "upsert"])
            if word == "d":
                del model[key]
            else:
                model[key] = x
            rows.append((key, x, word, at, 1))
        drawn.shuffle(rows)
        batches.append(slots(of, *rows))
    assert after(of, *batches) == [{"id": key, "x": model[key]} for key in sorted(model)]


def test_rows_with_a_key_take_the_place_of_those_before() -> None:
    of = plan(table("upserts", keys=("id",), ordered=True))
    found = after(of, slots(of, (1, 12, 8, 1), (1, 11, 7, 1), (2, 20, 1, 1)))
    assert found == [{"id": 1, "x": 12}, {"id": 2, "x": 20}]
    of = plan(table("upserts", keys=("id",)))
    assert after(of, slots(of, (1, 1, 1)), slots(of, (1, 2, 1))) == [{"id": 1, "x": 2}]


@pytest.mark.parametrize(
    ("of", "rows", "said"),
    [
        (table("upserts", keys=("id",)), [(1, 1, 1), (1, 2, 1)], r"say order=\{\"t\": \.\.\}"),
        (table("words", keys=("id",)), [(1, 1, "u", 1), (1, 2, "U", 1)], "in which Spark keeps no"),
        (
            table("words", keys=("id",), ordered=True),
            [(1, 1, "u", 5, 1), (1, 2, "u", 5, 1)],
            "are both at 5 of what they are ordered by",
        ),
    ],
)
def test_changes_of_a_key_in_no_order_are_refused(
    of: TablePlan, rows: list[tuple[Any, ...]], said: str
) -> None:
    with pytest.raises(InvalidValueError, match=said) as raised:
        after(plan(of), slots(plan(of), *rows))
    assert 'table "t": two changes of the key (id = 1)' in str(raised.value)


def test_no_order_at_all_is_refused() -> None:
    of = plan(table("upserts", keys=("id",), ordered=True))
    with pytest.raises(NullKeyError, match=r'table "t": .* is NULL in the row \(id = 1, x = 2\)'):
        after(of, slots(of, (1, 2, None, 1)))


ORDERS: dict[str, tuple[pa.DataType, Any]] = {
    "number": (pa.int64(), lambda n: n - 40),
    "text": (pa.string(), lambda n: "ä" * (n // 8) + "abcdefgh"[n % 8]),
    "time": (
        pa.timestamp("us", "UTC"),
        lambda n: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=n),
    ),
    "double": (pa.float64(), lambda n: (n - 40) / 8),
    "day": (pa.date32(), lambda n: date(2026, 1, 1) + timedelta(days=n)),
    "decimal": (pa.decimal128(20, 3), lambda n: Decimal(n - 40) / 1000),
}


@pytest.mark.parametrize("of_order", ORDERS)
@pytest.mark.parametrize("changes", ["words", "upserts"])
def test_the_cut_into_micro_batches_changes_no_result(
    of_order: str, changes: Any, tmp_path: Path
) -> None:
    """Changes in any order, cut anywhere, over restarts: the last one of each key counts."""
    kind, place = ORDERS[of_order]
    drawn = random.Random(f"{of_order} {changes}")
    of = plan(TablePlan("t", COLUMNS, ("id",), changes, False, kind))
    history: list[tuple[int, int | None, str, int]] = []
    model: dict[int, int] = {}
    for n in range(80):
        key, x = drawn.randrange(9), drawn.randrange(100)
        word = "upsert" if changes == "upserts" else drawn.choice(["c", "U", "d", "-U", "+u", "r"])
        model.pop(key, None)
        if word in ("d", "-U"):
            history.append((key, None, word, n))
        else:
            model[key] = x
            history.append((key, x, word, n))
    for turn in range(4):
        rows = history[:]
        drawn.shuffle(rows)
        cuts = sorted(drawn.sample(range(80), turn * 6))
        db, late = rv.Database(), 0
        latest: Latest | None = None
        for start, end in zip([0, *cuts], [*cuts, 80], strict=True):
            of.create_tables(db)
            of.create_histories(db)
            of.create_views(db)
            latest = latest or Latest(of, db)
            told = [
                (key, x, *([word] if changes == "words" else []), place(n), 1)
                for key, x, word, n in rows[start:end]
            ]
            found, missed = latest.resolve(decode(of, slots(of, *told).to_batches()))
            late += missed.get("t", 0)
            with db.transaction(net=is_net(found)) as tx:
                for change in found:
                    change.apply(tx)
            if drawn.random() < 0.2:
                db.save(tmp_path / "state")
                db, latest = rv.Database.load(tmp_path / "state"), None
        held = db.tables["t"].to_arrow().to_pylist()
        assert {row["id"]: row["x"] for row in held} == model
        assert len(held) == len(model)
        assert bool(late) == (turn > 0)


def test_a_change_at_the_place_of_an_earlier_one_is_refused_whatever_the_cut() -> None:
    of = plan(table("upserts", keys=("id",), ordered=True))
    with pytest.raises(InvalidValueError, match=r"changes of the key \(id = 1\) are both at 5 of"):
        after(of, slots(of, (1, 1, 5, 1)), slots(of, (2, 1, 5, 1)), slots(of, (1, 2, 5, 1)))
    # A word decides: the deleted row precedes the other.
    of = plan(table("words", keys=("id",), ordered=True))
    batches = [slots(of, (1, 1, "d", 5, 1)), slots(of, (1, 2, "c", 5, 1))]
    assert after(of, *batches) == after(of, *batches[::-1]) == []


def test_places_that_are_none_and_words_that_are_none_are_refused() -> None:
    of = plan(TablePlan("t", COLUMNS, ("id",), "words", False, pa.float64()))
    with pytest.raises(NullKeyError, match=r"ordered by is NaN in the row \(id = 1, x = 2\)"):
        after(of, slots(of, (1, 2, "c", float("nan"), 1)))
    for word in ("no", None):
        with pytest.raises(InvalidValueError, match=r"in the row \(id = 1, x = 2\) is no change"):
            after(of, slots(of, (1, 2, word, 1.0, 1), (1, 2, "c", 2.0, 1)))
    with pytest.raises(InvalidValueError, match=r"both at 0\.0"):
        after(of, slots(of, (1, 2, "c", -0.0, 1)), slots(of, (1, 2, "c", 0.0, 1)))


def test_streams_share_slots_and_may_have_any_names() -> None:
    odd = pa.schema({"multiplicity": pa.int64(), "op": pa.string(), "order": pa.int64()})
    tables = (
        TablePlan("a", odd, ("multiplicity",), "words", False, pa.int64()),
        TablePlan("b", odd, None, "rows", False),
    )
    of = plan(*tables, v='SELECT COUNT(*) AS n, SUM(a."order" + b."order") AS s FROM a, b')
    assert len(of.layout.slots) == 5
    rows = [slots(of, (1, "x", 2, "c", 0, 1)), slots(of, (5, "y", 7, 2), atom=1)]
    db = rv.Database()
    of.create_tables(db)
    of.create_histories(db)
    of.create_views(db)
    for change in Latest(of, db).resolve(decode(of, pa.concat_tables(rows).to_batches()))[0]:
        change.apply(db)
    assert db["v"].to_arrow().to_pylist() == [{"n": 2, "s": 18}]
