"""The parts of streams that need no Java: changes, checkpoints, sinks, the state on the driver."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="4.1")

import ringview as rv
import state_crashes as crashes
from oracle import Oracle, comparable, plain_rows
from ringview.errors import (
    InvalidValueError,
    NullKeyError,
    RingviewError,
    StorageError,
    UnknownViewError,
    UnsupportedError,
)
from ringview.spark import CheckpointError, ParquetSink
from ringview.spark.slots import ATOM, MULTIPLICITY, PARTITION
from ringview.spark.streaming import driver, unsent
from ringview.spark.streaming.changes import decode, is_net
from ringview.spark.streaming.checkpoint import Checkpoint, difference
from ringview.spark.streaming.driver import DriverState, _last
from ringview.spark.streaming.plan import Changes, Plan, TablePlan
from ringview.spark.streaming.sinks import sink_of
from shop import replayed

COLUMNS = pa.schema({"id": pa.int64(), "x": pa.int64()})


def table(
    changes: Changes, *, name: str = "t", keys: tuple[str, ...] | None = None, ordered: bool = False
) -> TablePlan:
    order = pa.int64() if ordered else None
    return TablePlan(name, COLUMNS, keys, changes, False, order)


def plan(*tables: TablePlan, **views: str) -> Plan:
    return Plan(tables, views or {"v": "SELECT COUNT(*) AS n, SUM(x) AS x FROM t"})


def slots(of: Plan, *rows: tuple[Any, ...], atom: int = 0) -> pa.Table:
    """Rows of a stream in slots: their columns as they travel, and how often each comes."""
    travelling = of.streams[atom].travelling
    schema = of.layout.schema
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    places = [of.layout.names[place] for place in of.layout.places[atom]]
    for *values, times in rows:
        row = dict(zip(places, values, strict=True))
        assert len(values) == len(travelling)
        row |= {ATOM: atom, PARTITION: 0, MULTIPLICITY: times}
        for name, column in columns.items():
            column.append(row.get(name))
    return pa.table(columns, schema)


def after(of: Plan, *batches: pa.Table) -> list[dict[str, Any]]:
    """The rows of the first table once micro-batches are in."""
    db = rv.Database()
    of.create_tables(db)
    of.create_views(db)
    for number, batch in enumerate(batches):
        changes = decode(of, batch.to_batches(max_chunksize=2))
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
            "both are at 5 of what they are ordered by",
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
    of.create_views(db)
    for change in decode(of, pa.concat_tables(rows).to_batches()):
        change.apply(db)
    assert db["v"].to_arrow().to_pylist() == [{"n": 2, "s": 18}]


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


def begun(checkpoint: Checkpoint, of: Plan | None = None) -> Checkpoint:
    """As Spark leaves it once it noted what the first micro-batch has."""
    if of is not None:
        checkpoint.agree({**of.described(), "mode": "driver"})
    (checkpoint.spark / "offsets").mkdir(parents=True)
    (checkpoint.spark / "offsets" / "0").write_text("")
    return checkpoint


VIEWS = {
    "v": "SELECT id, COUNT(*) AS n, SUM(x) AS x FROM t GROUP BY id",
    "w": "SELECT COUNT(*) AS groups FROM v",
}


class Log:
    """A sink that keeps what it was told, and fails when it is told to."""

    def __init__(self) -> None:
        self.told: dict[tuple[str, int], list[tuple[Any, ...]]] = {}
        self.fails: set[tuple[str, int]] = set()

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        rows = plain_rows([tuple(row.values()) for row in changes.to_pylist()])
        assert self.told.setdefault((view, batch_id), rows) == rows, "a batch came twice, changed"
        if (view, batch_id) in self.fails:
            self.fails.discard((view, batch_id))
            raise ZeroDivisionError(view)

    def replayed(self, view: str) -> list[tuple[Any, ...]]:
        """What the changes of a view come to."""
        total: dict[tuple[Any, ...], int] = {}
        for (name, _), rows in self.told.items():
            for *row, times in rows if name == view else ():
                total[tuple(row)] = total.get(tuple(row), 0) + int(times)
        assert set(total.values()) <= {0, 1}
        return plain_rows([row for row, times in total.items() if times])


def shown(state: DriverState, view: str) -> list[tuple[Any, ...]]:
    rows = state.view(view).to_arrow().to_pylist()
    return plain_rows([tuple(row.values()) for row in rows])


@pytest.mark.parametrize("seed", range(10))
def test_a_state_counts_each_batch_once(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches that come again, sinks that fail, restarts in between, in a random order."""
    if seed % 2:
        # The file is written anew behind every batch.
        monkeypatch.setattr(driver, "_WORTH_IT", 0)
        monkeypatch.setattr(driver, "_GROWN", 0)
    drawn, log = random.Random(seed), Log()
    of = plan(table("rows"), **VIEWS)
    checkpoint = begun(Checkpoint(tmp_path / "checkpoint"), of)
    state = DriverState(of, {}, checkpoint, log)
    rows: list[tuple[int, int]] = []
    batch_id = 0
    while batch_id < 12:
        fresh = [(drawn.randrange(4), drawn.randrange(9)) for _ in range(drawn.randrange(5))]
        gone = drawn.sample(rows, min(len(rows), drawn.randrange(3)))
        batch = slots(of, *((*row, 1) for row in fresh), *((*row, -1) for row in gone))
        for row in gone:
            rows.remove(row)
        rows += fresh
        log.fails = {(name, batch_id) for name in VIEWS if drawn.random() < 0.3}
        again = True
        while again:
            with contextlib.suppress(ZeroDivisionError):
                state.take(crashes.Frame(batch), batch_id)  # type: ignore[arg-type]
                again = drawn.random() < 0.2
            if drawn.random() < 0.4:
                state.close()
                state = DriverState(of, {}, checkpoint, log)
                assert state.batch_id == batch_id
        batch_id += 1
        for name in VIEWS:
            assert log.replayed(name) == shown(state, name)
        assert len(shown(state, "v")) == len({row[0] for row in rows})
    assert not list(checkpoint.state.glob("unsent-*"))
    state.close()


def test_a_poison_batch_changes_nothing(tmp_path: Path) -> None:
    of, log = plan(table("rows"), **VIEWS), Log()
    state = DriverState(of, {}, begun(Checkpoint(tmp_path), of), log)
    state.take(crashes.Frame(slots(of, (1, 10, 1))), 0)  # type: ignore[arg-type]
    before = {name: shown(state, name) for name in VIEWS}
    for poison, said in (
        ([(2, 5, 1), (1, 11, -1)], r'table "t" holds 0 of the row \(id = 1, x = 11\)'),
        ([(2, 5, None)], "NULL"),
        ([(1, 2**63 - 1, 3)], "overflow in a sum or count"),
    ):
        with pytest.raises(RingviewError, match=said):
            state.take(crashes.Frame(slots(of, *poison)), 1)  # type: ignore[arg-type]
        assert {name: shown(state, name) for name in VIEWS} == before
        assert state.batch_id == 0
    assert {batch for _, batch in log.told} == {0}
    state.take(crashes.Frame(slots(of, (1, 11, 1))), 1)  # type: ignore[arg-type]
    assert shown(state, "v") == log.replayed("v")
    state.close()


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    code = """
        import resource, signal, sys
        from pathlib import Path
        import pyarrow as pa
        import state_crashes as crashes
        from ringview.errors import StorageError
        from ringview.spark.streaming.checkpoint import Checkpoint
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        folder = Path(sys.argv[1])
        checkpoint = Checkpoint(folder / "checkpoint")
        state = crashes.state(checkpoint, folder)
        state.take(crashes.frame(0), 0)
        large = crashes.frame(1)
        large.rows = pa.concat_tables([large.rows, *[crashes.frame(0).rows] * 5_000])
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, hard))
        before = state.view("sums").to_arrow()
        try:
            state.take(large, 1)
        except StorageError as problem:
            print(problem)
        print(state.batch_id, state.view("sums").to_arrow() == before)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        state.close()
        state = crashes.state(checkpoint, folder)
        print(state.batch_id, sorted(state.view("rows").to_arrow().to_pylist(), key=str) ==
            [{"a": a, "x": x} for a, x in sorted(crashes.left(1), key=str)])
        state.take(crashes.frame(1), 1)
        print(state.batch_id)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=here)
    problem, *states = done.stdout.splitlines()
    assert "cannot write" in problem
    assert states == ["0 True", "0 True", "1"]


def test_a_sink_may_come_later_and_not_go(tmp_path: Path) -> None:
    of, log = plan(table("rows"), **VIEWS), Log()
    checkpoint = begun(Checkpoint(tmp_path), of)
    for number, sink in enumerate([None, None, log, log]):
        state = DriverState(of, {}, checkpoint, sink)
        for _ in range(2):
            state.take(crashes.Frame(slots(of, (number, 1, 1))), number)  # type: ignore[arg-type]
        if sink is not None:
            assert log.replayed("v") == shown(state, "v")
        state.close()
        state.close()
        with pytest.raises(RingviewError, match="stopped"):
            state.take(crashes.Frame(slots(of)), number + 1)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match=r"has a sink, .* give sink="):
        DriverState(of, {}, checkpoint, None)


def test_parts_of_different_times_are_refused(tmp_path: Path) -> None:
    of = plan(table("rows"), **VIEWS)
    checkpoint = begun(Checkpoint(tmp_path), of)
    state = DriverState(of, {}, checkpoint, None)
    with pytest.raises(StorageError, match="open elsewhere"):
        DriverState(of, {}, checkpoint, None)
    for number in range(3):
        state.take(crashes.Frame(slots(of, (1, 1, 1))), number)  # type: ignore[arg-type]
    for number in (1, 4):
        with pytest.raises(
            CheckpointError, match=f"is at micro-batch {number}, and the state at 2"
        ):
            state.take(crashes.Frame(slots(of, (1, 1, 1))), number)  # type: ignore[arg-type]
    assert shown(state, "v") == [(1, 3, 3)]
    state.close()
    (checkpoint.spark / "offsets" / "0").unlink()
    with pytest.raises(CheckpointError, match=r"behind micro-batch 2"):
        DriverState(of, {}, checkpoint, None)


def killed_while_it_takes(folder: Path, times: int, seed: int) -> None:
    drawn = random.Random(seed)
    checkpoint = Checkpoint(folder / "checkpoint")
    for _ in range(times):
        steps = drawn.randrange(1, 20_000)
        done = subprocess.run([sys.executable, crashes.__file__, str(folder), str(steps)])
        assert done.returncode == -signal.SIGKILL
    state = crashes.state(checkpoint, folder)
    number = crashes.noted(checkpoint)
    state.take(crashes.frame(number), number)
    oracle = Oracle({"t": crashes.COLUMNS})
    rows = [dict(zip(("a", "x"), row, strict=True)) for row in crashes.left(number + 1)]
    for name, sql in crashes.VIEWS.items():
        found = comparable(state.view(name).to_arrow())
        if name == "above":
            sql = sql.replace("sums", f"({crashes.VIEWS['sums']})")
        assert found == oracle.rows(sql, {"t": rows}), name
        assert replayed(ParquetSink(folder / "out").read(name)) == found, name
    state.close()
    assert number


def test_a_state_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    killed_while_it_takes(tmp_path, times=6, seed=5)


@pytest.mark.long
def test_a_state_that_is_killed_200_times_loses_nothing(tmp_path: Path) -> None:
    killed_while_it_takes(tmp_path, times=200, seed=6)


def test_the_last_batch_is_found() -> None:
    db = rv.Database()
    for number in range(70):
        assert _last(db) == number - 1
        with db.transaction(batch_id=number):
            pass


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
