"""Sources: each batch counts once; rows that do not fit are named or kept."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors, sources
from ringview.sources import Batch, Change, Origin


class Given:
    """A source of batches that a test lists; each has its number as position."""

    def __init__(self, *batches: list[Change], name: str = "given") -> None:
        self.name = name
        self.listed = list(batches)
        self.closed = 0

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        try:
            for at in range(int(positions.get("", 0)), len(self.listed)):
                yield Batch(self.listed[at], {"": str(at + 1)})
        finally:
            self.closed += 1


def rows(table: str, *listed: dict[str, Any], **beside: Any) -> Change:
    return Change(table, list(listed), Origin("here"), **beside)


def keyed(path: Path | None = None) -> rv.Database:
    db = rv.Database() if path is None else rv.Database.open(path)
    if "r" not in db.tables:
        db.create_table("r", {"id": "int64 not null", "x": "int64"}, unique=["id"])
        db.create_view("v", "SELECT COUNT(*) AS n, SUM(x) AS x FROM r")
    return db


def held(db: rv.Database, table: str = "r") -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.tables[table].to_arrow().to_pylist())


def test_a_step_takes_one_batch_of_each_source() -> None:
    db = keyed()
    first = Given([rows("r", {"id": 1, "x": 1})], [rows("r", {"id": 2, "x": 2})], name="first")
    second = Given([rows("r", {"id": 3, "x": 3})], name="second")
    reader = sources.Reader(db, [first, second])
    assert reader.step()
    assert held(db) == [(1, 1), (3, 3)]
    assert reader.step()
    assert held(db) == [(1, 1), (2, 2), (3, 3)]
    assert not reader.finished
    assert not reader.step()
    assert reader.finished
    assert (reader.batches, reader.rows, first.closed, second.closed) == (3, 3, 1, 1)


def test_the_tables_of_a_batch_move_together_or_not() -> None:
    db = keyed()
    db.create_table("s", {"id": "int64 not null"}, unique=["id"])
    both = Given([rows("r", {"id": 1, "x": 1}), rows("s", {"id": 7}, {"id": 7})])
    with pytest.raises(errors.DuplicateKeyError, match=r"source \"given\": here, row 1: .*id = 7"):
        sources.run(db, [both])
    assert held(db) == held(db, "s") == []
    both.listed[0][1] = rows("s", {"id": 7})
    sources.run(db, [both])
    assert (held(db), held(db, "s")) == ([(1, 1)], [(7,)])


def test_what_is_sent_again_counts_once() -> None:
    class Stutters(Given):
        def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
            for at, changes in enumerate(self.listed):
                for _ in range(3):
                    yield (
                        Batch(changes, {"": f"{at:03}"})
                        if f"{at:03}" >= positions.get("", "")
                        else None
                    )

    db = rv.Database()
    db.create_table("b", {"x": "int64"})
    given = Stutters(*([rows("b", {"x": at})] for at in range(5)))
    reader = sources.Reader(db, [given])
    for _ in range(7):
        reader.step()
    reader.close()
    sources.run(db, [given])
    assert held(db, "b") == [(at,) for at in range(5)]


def test_after_every_batch_another_process_may_go_on(tmp_path: Path) -> None:
    """The file is opened anew after each batch; now and then one is tried that fails."""
    draw = random.Random(1)
    listed, model = [], dict[int, int]()
    for _ in range(40):
        batch = []
        for _ in range(draw.randrange(1, 9)):
            key = draw.randrange(12)
            if key in model and draw.random() < 0.4:
                del model[key]
                batch.append({"op": "d", "id": key})
            else:
                op = "u" if key in model else "c"
                model[key] = draw.randrange(99)
                batch.append({"op": op, "id": key, "x": model[key]})
        listed.append([rows("r", *batch, how="apply", op="op")])
    given = Given(*listed)
    taken = 0
    while taken < len(listed):
        with keyed(tmp_path / "db") as db:
            if draw.random() < 0.3:
                broken = Given(*listed[:taken], [rows("r", {"op": "c", "id": 5, "x": "poison"})])
                with pytest.raises(errors.RingviewError):
                    sources.run(db, [broken])
            reader = sources.Reader(db, [given])
            for _ in range(draw.randrange(1, 3)):
                taken += reader.step()
            reader.close()
    with keyed(tmp_path / "db") as db:
        assert sources.run(db, [given]).rows == 0
        assert held(db) == sorted(model.items())
        assert list(db["v"]) == [{"n": len(model), "x": sum(model.values()) if model else None}]


def test_two_readers_of_one_source_do_not_both_count() -> None:
    db = rv.Database()
    db.create_table("b", {"x": "int64"})
    given = Given(*([rows("b", {"x": at})] for at in range(3)))
    one, other = sources.Reader(db, [given]), sources.Reader(db, [given])
    one.step()
    other.step()
    with pytest.raises(errors.RingviewError, match="somebody else"):
        one.step()
    assert held(db, "b") == [(0,), (1,)]
    one.run()
    assert held(db, "b") == [(0,), (1,), (2,)]


def test_rows_that_do_not_fit_are_kept_with_where_and_why() -> None:
    db = keyed()
    listed: list[dict[str, Any]] = [
        *({"id": at, "x": at} for at in range(5)),
        {"id": "six", "x": 6},
        {"id": 7, "x": 7.5},
        {"id": None, "x": 8},
        {"id": 3, "x": 9},
        {"id": 10},
    ]
    given = Given([rows("r", *listed)])
    with pytest.raises(
        errors.InvalidValueError, match="here, row 5: column \"id\": 'six' is no int"
    ):
        sources.run(db, [given])
    assert held(db) == []
    reader = sources.run(db, [given], dead_letters="rejected")
    assert repr(reader) == "Reader(batches=1, rows=6, rejected=4)"
    assert held(db) == [*((at, at) for at in range(5)), (10, None)]
    letters = db.tables["rejected"].to_arrow().to_pylist()
    found = {
        row["place"]: (row["source"], json.loads(row["row"]), row["reason"]) for row in letters
    }
    assert set(found) == {f"here, row {at}" for at in (5, 6, 7, 8)}
    assert found["here, row 6"] == (
        "given",
        {"id": 7, "x": 7.5},
        'column "x": 7.5 is no int64 (it has digits behind the point)',
    )
    assert "NULL" in found["here, row 7"][2]
    assert "already holds a row with the unique key (id = 3)" in found["here, row 8"][2]


@pytest.mark.parametrize("seed", range(15))
def test_the_engine_refuses_the_rows_that_it_refuses_one_by_one(seed: int) -> None:
    """A batch leaves the same rows as single changes, each refused or not."""
    draw = random.Random(seed)
    listed = [
        {"op": draw.choice("cud"), "id": draw.randrange(6), "x": at}
        for at in range(draw.randrange(1, 60))
    ]
    wanted, refused = keyed(), list[int]()
    for at, row in enumerate(listed):
        try:
            wanted.apply("r", [row], op="op")
        except errors.RingviewError:
            refused.append(at)
    db = keyed()
    cut = draw.randrange(len(listed) + 1)
    halves = [part for part in (listed[:cut], listed[cut:]) if part]
    changes = [rows("r", *part, how="apply", op="op") for part in halves]
    sources.run(db, [Given(changes)], dead_letters="rejected")
    assert held(db) == held(wanted)
    kept = Counter(json.loads(row[2])["x"] for row in held(db, "rejected"))
    assert kept == Counter(refused)


def test_a_batch_of_which_most_is_refused_is_an_error() -> None:
    db = keyed()
    given = Given([rows("r", *({"id": 1, "x": at} for at in range(200)))])
    with pytest.raises(errors.DuplicateKeyError, match="more than 100 rows"):
        sources.run(db, [given], dead_letters="rejected")
    assert held(db) == held(db, "rejected") == []


def test_a_thread_reads_until_it_is_stopped_and_says_what_was_raised() -> None:
    db = keyed()
    with sources.Reader(db, [Given([rows("r", {"id": 1, "x": 1})])]) as reader:
        assert reader.join(60)
    assert held(db) == [(1, 1)]
    given = Given([rows("r", {"id": 1, "x": 1})], [rows("r", {"id": 1, "x": 1})], name="other")
    broken = sources.Reader(db, [given]).start()
    with pytest.raises(errors.DuplicateKeyError):
        broken.join(60)
    assert not broken.running
    broken.stop()
    assert given.closed == 1


def test_a_reader_that_watches_is_stopped() -> None:
    class Waits(Given):
        def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
            yield from super().batches(positions)
            while True:
                waits.release()
                yield None

    import threading

    waits = threading.Semaphore(0)
    db = keyed()
    reader = sources.Reader(db, [Waits([rows("r", {"id": 1, "x": 1})])], every=3600).start()
    waits.acquire()
    assert held(db) == [(1, 1)]
    reader.stop()
    assert not reader.running
    with pytest.raises(errors.InvalidValueError, match="every"):
        sources.Reader(db, [], every=-1)


def test_what_cannot_be_is_refused_at_once() -> None:
    db = keyed()
    with pytest.raises(errors.InvalidValueError, match='two sources are named "given"'):
        sources.Reader(db, [Given(), Given()])
    with pytest.raises(errors.ExistsError):
        sources.Reader(db, [], dead_letters="r")
    with pytest.raises(errors.UnsupportedError, match="trust_deletes"):
        sources.Reader(rv.Database(trust_deletes=True), [])
    with pytest.raises(errors.UnknownTableError):
        sources.run(db, [Given([rows("nowhere", {"id": 1})])])


@pytest.mark.parametrize(
    ("columns", "beside", "error", "text"),
    [
        ({"id": [1]}, {}, errors.UnknownColumnError, 'here has no column "x", which table "r"'),
        ({"id": [1], "x": [1], "y": [1]}, {}, errors.UnknownColumnError, 'column "y" that table'),
        ({"id": [1.0], "x": [True]}, {}, errors.TypeMismatchError, 'column "x" holds values of'),
        ({"id": [1], "x": [[1]]}, {}, errors.TypeMismatchError, "do not go into int64"),
        ({"id": [1], "x": [1]}, {"op": "op", "how": "apply"}, errors.UnknownColumnError, '"op"'),
    ],
)
def test_columns_that_are_not_those_of_the_table(
    columns: dict[str, list[Any]], beside: dict[str, Any], error: type[Exception], text: str
) -> None:
    db = keyed()
    change = Change("r", pa.table(columns), Origin("here"), **beside)
    with pytest.raises(error, match=text):
        sources.run(db, [Given([change])], dead_letters="rejected")
    assert held(db) == []


def test_columns_are_left_out_when_they_are_named_or_all() -> None:
    db = keyed()
    for at, ignore in enumerate((["y"], ["*"], ["y", "*"])):
        change = Change(
            "r", pa.table({"id": [at], "x": [at], "y": [1]}), Origin("h"), ignore=ignore
        )
        sources.run(db, [Given([change], name=str(at))])
    assert held(db) == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(errors.UnknownColumnError, match="'y'"):
        sources.run(db, [Given([rows("r", {"id": 9, "y": 1})])])


def test_rows_that_delete_need_no_more_than_their_key() -> None:
    db = rv.Database()
    db.create_table("r", {"id": "int64 not null", "x": "int64 not null"}, unique=["id"])
    first = rows(
        "r", {"op": "c", "id": 1, "x": 1}, {"op": "c", "id": 2, "x": 2}, how="apply", op="op"
    )
    second = rows("r", {"op": "d", "id": 1}, {"op": "c", "id": 3}, how="apply", op="op")
    sources.run(db, [Given([first], [second])], dead_letters="rejected")
    assert held(db) == [(2, 2)]
    assert [json.loads(row[2]) for row in held(db, "rejected")] == [{"op": "c", "id": 3}]


def test_a_table_is_emptied_before_what_comes() -> None:
    """Also where the engine refuses rows behind that."""
    db = keyed()
    first = rows("r", {"id": 1, "x": 1}, {"id": 2, "x": 2})
    empties = rows("r", how="truncate")
    second = rows("r", {"id": 1, "x": 5}, {"id": 1, "x": 6})
    sources.run(db, [Given([first], [empties, second])], dead_letters="rejected")
    assert held(db) == [(1, 5)]
    assert [json.loads(row[2])["x"] for row in held(db, "rejected")] == [6]


def test_a_reader_that_was_stopped_runs_again() -> None:
    db = keyed()
    given = Given([rows("r", {"id": 1, "x": 1})], [rows("r", {"id": 2, "x": 2})])
    reader = sources.Reader(db, [given])
    reader.stop()
    with reader:
        reader.join(60)
    assert held(db) == [(1, 1), (2, 2)]
    given.listed.append([rows("r", {"id": 3, "x": 3})])
    again = sources.Reader(db, [given])
    again.stop()
    assert again.run().rows == 1
    with pytest.raises(errors.RingviewError, match="was started already"):
        again.start().start()
    again.stop()


@pytest.mark.parametrize("has_positions", [True, False])
def test_batches_with_an_identity_count_once_in_any_order(
    tmp_path: Path, has_positions: bool
) -> None:
    draw = random.Random(1)
    numbers = [draw.randrange(12) for _ in range(60)]

    class Queue(Given):
        def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
            for at, number in enumerate(numbers):
                where = {"": str(at)} if has_positions else {}
                yield Batch([rows("b", {"x": number})], where, batch_id=f"queue {number}")

    for _ in range(2):
        with rv.Database.open(tmp_path / "db") as db:
            if "b" not in db.tables:
                db.create_table("b", {"x": "int64"})
            sources.run(db, [Queue()])
            assert held(db, "b") == [(number,) for number in sorted(set(numbers))]
            assert db.is_applied(f"queue {numbers[0]}")
