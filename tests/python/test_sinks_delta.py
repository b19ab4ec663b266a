"""Tables of Delta Lake as sinks: each batch is there once, however a life ends."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
import sink_driver
from ringview import errors, sinks

deltalake = pytest.importorskip("deltalake")

VIEW = 'SELECT k, SUM(x) AS x, MAX(x) AS "most of", COUNT(*) AS n FROM r GROUP BY k'


def opened(path: Path) -> rv.Database:
    db = rv.Database.open(path)
    if "r" not in db.tables:
        db.create_table("r", {"k": "string", "x": "int64"})
        db.create_view("v", VIEW)
    return db


def moves(db: rv.Database, draw: random.Random) -> None:
    rows = db.tables["r"].to_arrow().to_pylist()
    with db.transaction() as tx:
        gone = draw.sample(rows, min(len(rows), draw.randrange(4)))
        if gone:
            tx.delete("r", gone)
        tx.insert("r", [{"k": draw.choice(["a", "b", "c", None]), "x": draw.randrange(9)}])


def read(path: Path) -> list[tuple[Any, ...]]:
    found = deltalake.DeltaTable(path).to_pyarrow_table().to_pylist()
    return [tuple(row.values()) for row in found]


@pytest.mark.parametrize("key", ["k", None])
def test_a_table_follows_a_view_through_failures(tmp_path: Path, key: str | None) -> None:
    draw, path = random.Random(3), tmp_path / "out"
    for _ in range(10):
        with opened(tmp_path / "db") as db:
            moves(db, draw)
            ends = draw.choice(["never", "before", "after"])
            sink = sink_driver.Failing(sinks.delta(path, key=key), ends)
            sender = sinks.Sender(db, {"v": sink})
            for _ in range(2):
                try:
                    sender.step()
                except sink_driver.SinkError:
                    moves(db, draw)
    with opened(tmp_path / "db") as db:
        sinks.run(db, {"v": sinks.delta(path, key=key)})
        wanted = Counter(tuple(row.values()) for row in db["v"].to_arrow().to_pylist())
        found = read(path)
        if key is not None:
            assert Counter(found) == wanted
        else:
            log = Counter[tuple[Any, ...]]()
            for *row, times, _ in found:
                log[tuple(row)] += times
            assert +log == wanted
            numbers = {row[-1] for row in found}
            assert numbers == set(range(1, max(numbers) + 1))


def test_a_table_of_somebody_else_and_one_that_was_lost(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    deltalake.write_deltalake(mine, pa.table({"k": ["a"]}))
    with opened(tmp_path / "db") as db:
        with pytest.raises(errors.CheckpointError, match="rows of somebody else"):
            sinks.Sender(db, {"v": sinks.delta(mine, key="k")}, name="mine")
        db.insert("r", [{"k": "a", "x": 1}])
        sinks.run(db, {"v": sinks.delta(tmp_path / "out", key="k")})
        db.insert("r", [{"k": "a", "x": 1}])
        with pytest.raises(errors.CheckpointError, match="none of the batches before 2"):
            sinks.run(db, {"v": sinks.delta(tmp_path / "lost", key="k")})
        with pytest.raises(errors.UnknownColumnError, match='has no column "kk"'):
            sinks.run(db, {"v": sinks.delta(tmp_path / "kk", key="kk")}, name="kk")
        db.insert("r", [{"k": "b", "x": 1}, {"k": "b", "x": 1}])
        for _ in range(2):
            with pytest.raises(errors.InvalidValueError, match=r"the key \(n = 2\)"):
                sinks.run(db, {"v": sinks.delta(tmp_path / "n", key="n")}, name="n")


def test_types_that_delta_lacks_become_longer_ones(tmp_path: Path) -> None:
    kinds = {
        "small": (pa.uint8(), 2**8 - 1),
        "long": (pa.uint64(), 2**64 - 1),
        "text": (pa.dictionary(pa.int32(), pa.string()), "a"),
        "ms": (pa.timestamp("ms"), 1),
    }
    db = rv.Database()
    db.create_table("t", pa.schema([(name, kind) for name, (kind, _) in kinds.items()]))
    db.insert("t", pa.table({name: pa.array([v], kind) for name, (kind, v) in kinds.items()}))
    db.create_view("v", "SELECT small, long, text, ms, COUNT(*) AS n FROM t GROUP BY ALL")
    sinks.run(db, {"v": sinks.delta(tmp_path / "out", key="long")})
    ((small, long, text, ms, n),) = read(tmp_path / "out")
    assert (small, int(long), text, ms.microsecond, n) == (2**8 - 1, 2**64 - 1, "a", 1000, 1)
