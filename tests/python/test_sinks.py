"""Sinks: what is sent is the view as it is, each change once, whatever fails or is killed."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
import sink_driver
from ringview import errors, sinks
from sink_driver import SinkError

VIEWS = {
    "groups": ("SELECT k, SUM(x) AS x, COUNT(*) AS n FROM r GROUP BY k", ["k"]),
    "one row": ("SELECT SUM(x) AS x, MAX(x) AS most FROM r", ["x", "most"]),
    "two columns": ("SELECT k, x % 3 AS m, COUNT(*) AS n FROM r GROUP BY k, x % 3", ["m", "k"]),
    "nothing but the key": ("SELECT DISTINCT k FROM r", ["k"]),
}
Rows = list[dict[str, Any]]


def opened(path: Path | None, sql: str) -> rv.Database:
    db = rv.Database() if path is None else rv.Database.open(path)
    if "r" not in db.tables:
        db.create_table("r", {"k": "string", "x": "int64"})
        db.create_view("v", sql)
    return db


def moves(db: rv.Database, draw: random.Random) -> None:
    rows = db.tables["r"].to_arrow().to_pylist()
    gone = draw.sample(rows, min(len(rows), draw.randrange(4)))
    came = [
        {"k": draw.choice(["a", "b", "c", None]), "x": draw.randrange(9)}
        for _ in range(draw.randrange(4))
    ]
    with db.transaction() as tx:
        if gone:
            tx.delete("r", gone)
        if came:
            tx.insert("r", came)


def bag(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in rows)


def of_view(db: rv.Database) -> Counter[tuple[Any, ...]]:
    return bag(row.values() for row in db["v"])


def read(file: Path, table: str = "t") -> list[tuple[Any, ...]]:
    with sqlite3.connect(file) as con:
        return con.execute(f"SELECT * FROM {table}").fetchall()


def replayed(log: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Sum of a log of changes: rows, their multiplicities, and their batch."""
    found = Counter[tuple[Any, ...]]()
    for *row, times, _ in log:
        found[tuple(row)] += times
    assert min(found.values(), default=0) >= 0
    return +found


@pytest.mark.parametrize("where", ["memory", "file"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_table_with_a_key_is_the_view(tmp_path: Path, name: str, where: str) -> None:
    sql, key = VIEWS[name]
    draw = random.Random(name)
    db = opened(None if where == "memory" else tmp_path / "db", sql)
    moves(db, draw)
    file = tmp_path / "out.sqlite"
    sender = sinks.Sender(db, {"v": sinks.sqlite(file, "t", key=key)})
    for _ in range(40):
        for _ in range(draw.randrange(3)):
            moves(db, draw)
        sender.step()
        assert not sender.step()
        if sender.batches:
            assert bag(read(file)) == of_view(db)
    assert sender.batches > 5
    db.close()


@pytest.mark.parametrize("name", ["groups", "one row"])
def test_each_change_is_in_the_log_once_however_a_life_ends(tmp_path: Path, name: str) -> None:
    live(tmp_path, name, times=12)


@pytest.mark.long
@pytest.mark.parametrize("name", VIEWS)
def test_each_change_is_in_the_log_once_however_200_lives_end(tmp_path: Path, name: str) -> None:
    live(tmp_path, name, times=200)


def live(tmp_path: Path, name: str, times: int) -> None:
    """Lives end behind each step of a batch, and the next one continues like another process."""
    sql, _ = VIEWS[name]
    draw, file = random.Random(name), tmp_path / "out.sqlite"
    lives = Counter[str]()
    for _ in range(times):
        with opened(tmp_path / "db", sql) as db:
            moves(db, draw)
            ends = draw.choice(["never", "before", "after"])
            sink = sink_driver.Failing(sinks.sqlite(file, "t"), ends)
            sender = sinks.Sender(db, {"v": sink})
            for _ in range(draw.randrange(1, 4)):
                try:
                    sender.step()
                except SinkError:
                    lives[ends] += 1
                moves(db, draw)
                if draw.random() < 0.3:
                    db.snapshot()
            sender.close()
    with opened(tmp_path / "db", sql) as db:
        sinks.run(db, {"v": sinks.sqlite(file, "t")})
        log = read(file)
        assert replayed(log) == of_view(db)
        numbers = [row[-1] for row in log]
        assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))
    assert min(lives["before"], lives["after"]) > 0


def test_a_batch_that_failed_comes_again_as_it_was() -> None:
    """With what moved meanwhile behind it, under the next number."""
    db = opened(None, VIEWS["groups"][0])
    given: list[tuple[int, Rows]] = []
    fails = True

    def sink(view: str, batch: int, changes: pa.Table) -> None:
        given.append((batch, changes.to_pylist()))
        if fails:
            raise SinkError

    db.insert("r", [{"k": "a", "x": 1}])
    sender = sinks.Sender(db, {"v": sink})
    for _ in range(3):
        with pytest.raises(SinkError):
            sender.step()
        db.insert("r", [{"k": "b", "x": 1}])
    fails = False
    assert [sender.step() for _ in range(3)] == [True, True, False]
    first = [{"k": "a", "x": Decimal(1), "n": 1, "multiplicity": 1}]
    later = [{"k": "b", "x": Decimal(3), "n": 3, "multiplicity": 1}]
    assert given == [*[(1, first)] * 4, (2, later)]


def test_several_views_and_senders_have_places_of_their_own() -> None:
    db = opened(None, VIEWS["groups"][0])
    db.create_view("w", "SELECT COUNT(*) AS n FROM r")
    told: list[tuple[str, str, int]] = []

    def sink(name: str) -> Callable[[str, int, pa.Table], None]:
        return lambda view, batch, changes: told.append((name, view, batch))

    one = sinks.Sender(db, {"v": sink("one"), "w": sink("one")}, name="one")
    other = sinks.Sender(db, {"w": sink("other")}, name="other")
    db.insert("r", [{"k": "a", "x": 1}])
    one.step()
    db.insert("r", [{"k": "a", "x": 1}])
    one.step()
    other.step()
    wanted = [("one", view, batch) for batch in (1, 2) for view in "vw"]
    assert told == [*wanted, ("other", "w", 1)]
    assert repr(one) == "Sender(['v', 'w'], batches=4, rows=6)"


def test_a_thread_sends_until_it_is_stopped() -> None:
    import threading

    db = opened(None, VIEWS["groups"][0])
    came = threading.Event()
    db.insert("r", [{"k": "a", "x": 1}])
    with sinks.Sender(db, {"v": lambda view, batch, changes: came.set()}, every=3600):
        assert came.wait(60)

    def fails(view: str, batch: int, changes: pa.Table) -> None:
        raise SinkError

    db.insert("r", [{"k": "a", "x": 1}])
    sender = sinks.Sender(db, {"v": fails}, name="other").start()
    with pytest.raises(SinkError):
        sender.join(60)


def test_parquet_has_a_file_for_each_batch(tmp_path: Path) -> None:
    draw = random.Random(1)
    with opened(tmp_path / "db", VIEWS["groups"][0]) as db:
        for _ in range(10):
            moves(db, draw)
            sinks.run(db, {"v": sinks.ParquetSink(tmp_path / "out")})
    with opened(tmp_path / "db", VIEWS["groups"][0]) as db:
        sink = sinks.ParquetSink(tmp_path / "out")
        sinks.run(db, {"v": sink})
        found = Counter[tuple[Any, ...]]()
        for *row, times in (row.values() for row in sink.read("v").to_pylist()):
            found[tuple(row)] += times
        assert +found == of_view(db)
    other = opened(None, VIEWS["groups"][0])
    with pytest.raises(errors.CheckpointError, match="changes of another"):
        sinks.Sender(other, {"v": sink})


def test_a_table_of_another_life_is_filled_anew_with_a_key_and_refused_without(
    tmp_path: Path,
) -> None:
    file = tmp_path / "out.sqlite"
    for k in "ab":
        db = opened(None, VIEWS["groups"][0])
        db.insert("r", [{"k": k, "x": 1}])
        sinks.run(db, {"v": sinks.sqlite(file, "t", key="k")})
        assert read(file) == [(k, 1, 1)]
    with pytest.raises(errors.CheckpointError, match="rows of somebody else, or of another data"):
        sinks.Sender(opened(None, VIEWS["groups"][0]), {"v": sinks.sqlite(file, "t")})
    with sqlite3.connect(file) as con:
        con.execute("CREATE TABLE mine (k)")
        con.execute("INSERT INTO mine VALUES (1)")
    with pytest.raises(errors.CheckpointError, match="rows of somebody else"):
        sinks.Sender(db, {"v": sinks.sqlite(file, "mine", key="k")}, name="mine")
    assert read(file, "mine") == [(1,)]


def test_a_sink_that_lost_what_it_had_is_an_error(tmp_path: Path) -> None:
    db = opened(None, VIEWS["groups"][0])
    db.insert("r", [{"k": "a", "x": 1}])
    file = tmp_path / "out.sqlite"
    sinks.run(db, {"v": sinks.sqlite(file, "t", key="k")})
    file.unlink()
    with pytest.raises(errors.CheckpointError, match="send under another name"):
        sinks.Sender(db, {"v": sinks.sqlite(file, "t", key="k")})
    sinks.run(db, {"v": sinks.sqlite(file, "t", key="k")}, name="again")
    assert read(file) == [("a", 1, 1)]


def test_a_database_that_is_older_than_what_it_sent_is_an_error(tmp_path: Path) -> None:
    file, sql = tmp_path / "out.sqlite", VIEWS["groups"][0]
    with opened(tmp_path / "db", sql) as db:
        db.insert("r", [{"k": "a", "x": 1}])
        sinks.run(db, {"v": sinks.sqlite(file, "t")})
    copy = (tmp_path / "db").read_bytes()
    for _ in range(2):
        with opened(tmp_path / "db", sql) as db:
            db.insert("r", [{"k": "a", "x": 1}])
            sinks.run(db, {"v": sinks.sqlite(file, "t")})
    (tmp_path / "db").write_bytes(copy)
    with opened(tmp_path / "db", sql) as db:
        db.insert("r", [{"k": "b", "x": 7}])
        with pytest.raises(errors.CheckpointError, match="is older than what it sent"):
            sinks.run(db, {"v": sinks.sqlite(file, "t")})


def test_what_cannot_be_is_refused_at_once(tmp_path: Path) -> None:
    db = opened(None, VIEWS["groups"][0])
    file = tmp_path / "out.sqlite"
    with pytest.raises(errors.UnknownViewError):
        sinks.Sender(db, {"w": print})
    with pytest.raises(errors.InvalidValueError, match="no function"):
        sinks.Sender(db, {"v": "file"})  # type: ignore[dict-item]
    with pytest.raises(errors.InvalidValueError, match="every"):
        sinks.Sender(db, {"v": print}, every=-1)
    with pytest.raises(errors.InvalidValueError, match="names no column"):
        sinks.sqlite(file, "t", key=[])
    with pytest.raises(errors.UnsupportedError, match="trust_deletes"):
        sinks.Sender(rv.Database(trust_deletes=True), {})
    db["v"].follow("mail")
    with pytest.raises(errors.InvalidValueError, match='followed as "mail" already'):
        sinks.Sender(db, {"v": print}, name="mail")
    with (
        rv.Database.open(tmp_path / "db", durability="snapshot") as forgets,
        pytest.raises(errors.UnsupportedError, match='durability="transaction"'),
    ):
        forgets.create_table("r", {"a": "int64"})
        forgets.create_view("v", "SELECT COUNT(*) AS n FROM r")
        sinks.Sender(forgets, {"v": print})
    db.insert("r", [{"k": "a", "x": 1}])
    with pytest.raises(errors.UnknownColumnError, match='did you mean "k"'):
        sinks.run(db, {"v": sinks.sqlite(file, "t", key="kk")}, name="unknown")
    table = sinks.sqlite(file, "t", key="n")
    db.insert("r", [{"k": "b", "x": 1}])
    with pytest.raises(errors.InvalidValueError, match=r"two rows .* have the key \(n = 1\)"):
        sinks.run(db, {"v": table}, name="twice")
    with pytest.raises(errors.InvalidValueError, match="takes the changes of one view"):
        table.begin("me", ["v", "w"], True)


def test_two_senders_of_one_name_do_not_both_send() -> None:
    db = opened(None, VIEWS["groups"][0])
    db.insert("r", [{"k": "a", "x": 1}])
    told: list[int] = []
    one, other = (
        sinks.Sender(db, {"v": lambda view, batch, changes: told.append(batch)}) for _ in range(2)
    )
    one.step()
    db.insert("r", [{"k": "b", "x": 1}])
    with pytest.raises(errors.RingviewError, match="by somebody else"):
        other.step()
    one.step()
    assert told == [1, 2]


def test_values_of_all_types_arrive(tmp_path: Path) -> None:
    db = rv.Database()
    for name, row in sink_driver.VALUES.items():
        db.create_table(name, pa.schema([("v", row[0])]))
        db.insert(name, pa.table({"v": pa.array(row[1], row[0])}))
        db.create_view(f"of {name}", f"SELECT v, COUNT(*) AS n FROM {name} GROUP BY v")
    file = tmp_path / "out.sqlite"
    tables = {
        f"of {name}": sinks.sqlite(file, f"of {name}", key="v") for name in sink_driver.VALUES
    }
    sinks.run(db, tables)
    wanted: dict[str, list[Any]] = {
        "bool": [0, 1],
        "integer": [-5, 2**63 - 1],
        "unsigned": [1, str(2**64 - 1)],
        "double": [0.1, 1e300],
        "decimal": ["-0.50", "12.34"],
        "text": ["", "ü'\"\n"],
        "date": ["2026-03-09"],
        "timestamp": ["2026-03-09T12:00:00"],
        "zoned": ["2026-03-09T12:00:00+00:00"],
    }
    assert set(wanted) == set(sink_driver.VALUES)
    for name, values in wanted.items():
        found = [row[0] for row in read(file, f'"of {name}"')]
        assert sorted(found, key=str) == sorted([None, *values], key=str), name
    assert sink_driver.VALUES["zoned"][1][0] == datetime(2026, 3, 9, 12, tzinfo=UTC)
    assert sink_driver.VALUES["date"][1][0] == date(2026, 3, 9)


def test_lists_are_json_and_nanoseconds_are_refused(tmp_path: Path) -> None:
    db = opened(None, "SELECT k, ARRAY_AGG(x) AS x FROM r GROUP BY k")
    db.insert("r", [{"k": "a", "x": 1}, {"k": "a", "x": 1}])
    file = tmp_path / "out.sqlite"
    sinks.run(db, {"v": sinks.sqlite(file, "t", key="k")})
    assert read(file) == [("a", "[1, 1]")]
    db.create_table("fine", pa.schema([("ts", pa.timestamp("ns"))]))
    db.create_view("w", "SELECT ts, COUNT(*) AS n FROM fine GROUP BY ts")
    db.insert("fine", pa.table({"ts": pa.array([1], pa.timestamp("ns"))}))
    with pytest.raises(errors.InvalidValueError, match='"ts" has nanoseconds'):
        sinks.run(db, {"w": sinks.sqlite(file, "w", key="ts")})


@pytest.mark.parametrize("alive", [True, False])
def test_a_view_that_is_replaced_is_sent_anew(tmp_path: Path, alive: bool) -> None:
    file, out = tmp_path / "out.sqlite", tmp_path / "out"
    with opened(tmp_path / "db", VIEWS["groups"][0]) as db:
        db.insert("r", [{"k": "a", "x": 1}, {"k": "b", "x": 2}])
        given = {"v": sinks.sqlite(file, "t", key="k")}
        sender = sinks.Sender(db, given)
        assert sender.step()
        sinks.run(db, {"v": sinks.ParquetSink(out)}, name="files")
        db.drop_view("v")
        db.create_view("v", "SELECT k, MAX(x) AS x, 7 AS n FROM r WHERE k <> 'a' GROUP BY k")
        if not alive:
            sender = sinks.Sender(db, given)
        assert [sender.step(), sender.step()] == [True, False]
        assert read(file) == [("b", 2, 7)]
        with pytest.raises(errors.CheckpointError, match="changes of another checkpoint"):
            sinks.run(db, {"v": sinks.ParquetSink(out)}, name="files")
