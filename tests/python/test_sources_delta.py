"""Tables of Delta Lake as sources: each version once."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors, sources

deltalake = pytest.importorskip("deltalake")

FEED = {"delta.enableChangeDataFeed": "true"}
SCHEMA = pa.schema([("id", pa.int64()), ("k", pa.string()), ("x", pa.float64())])


def written(path: Path, rows: list[dict[str, Any]], **beside: Any) -> None:
    deltalake.write_deltalake(path, pa.Table.from_pylist(rows, SCHEMA), **beside)


def opened(path: Path, unique: bool) -> rv.Database:
    db = rv.Database.open(path)
    if "r" not in db.tables:
        db.create_table("r", SCHEMA, unique=["id"] if unique else None)
        db.create_view("v", "SELECT k, COUNT(*) AS n, SUM(id) AS id FROM r GROUP BY k")
    return db


def bag(rows: pa.Table) -> Counter[str]:
    return Counter(str(sorted(row.items())) for row in rows.to_pylist())


def row(draw: random.Random, key: int) -> dict[str, Any]:
    return {"id": key, "k": draw.choice(["a", "b", None]), "x": draw.choice([0.5, -1e300, None])}


def changes(path: Path, draw: random.Random, unique: bool) -> None:
    """A version of some kind."""
    table, what = deltalake.DeltaTable(path), draw.randrange(4)
    if what == 0:
        table.delete(f"id % 5 = {draw.randrange(5)}")
    elif what == 1:
        table.update({"k": "'c'"}, predicate=f"id % 4 = {draw.randrange(4)}")
    elif unique:
        new = pa.Table.from_pylist([row(draw, key) for key in draw.sample(range(30), 6)], SCHEMA)
        merge = table.merge(new, "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
    else:
        written(path, [row(draw, draw.randrange(9)) for _ in range(5)], mode="append")


@pytest.mark.parametrize("unique", [True, False])
def test_versions_are_read_once_through_restarts(tmp_path: Path, unique: bool) -> None:
    draw = random.Random(unique)
    path = tmp_path / "table"
    written(path, [row(draw, key) for key in range(12)], configuration=FEED)
    given = sources.delta(path, table="r")
    for _ in range(8):
        for _ in range(draw.randrange(3)):
            changes(path, draw, unique)
        with opened(tmp_path / "db", unique) as db:
            reader = sources.Reader(db, [given])
            reader.step()
            reader.close()
        with opened(tmp_path / "db", unique) as db:
            sources.run(db, [given])
            wanted = deltalake.DeltaTable(path).to_pyarrow_table()
            assert bag(db.tables["r"].to_arrow()) == bag(wanted)
            assert sum(each["n"] for each in db["v"]) == wanted.num_rows
            assert sources.run(db, [given]).batches == 0


def test_a_reader_that_watches_gets_versions_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "table"
    written(path, [{"id": 1}], configuration=FEED)
    with opened(tmp_path / "db", True) as db:
        reader = sources.Reader(db, [sources.delta(path, table="r", watch=True)])
        assert [reader.step(), reader.step()] == [True, False]
        written(path, [{"id": 2}], mode="append")
        written(path, [{"id": 3}], mode="append")
        assert [reader.step(), reader.step(), reader.step()] == [True, True, False]
        assert sorted(db.tables["r"].to_arrow()["id"].to_pylist()) == [1, 2, 3]
        reader.close()


def test_tables_that_cannot_be_followed(tmp_path: Path) -> None:
    db = rv.Database()
    db.create_table("r", SCHEMA)
    with pytest.raises(errors.StorageError, match=r"cannot read .*nowhere"):
        sources.run(db, [sources.delta(tmp_path / "nowhere", table="r")])
    path = tmp_path / "plain"
    written(path, [{"id": 1}])
    given = sources.delta(path, table="r", name="plain")
    assert sources.run(db, [given]).rows == 1
    written(path, [{"id": 2}], mode="append")
    with pytest.raises(errors.UnsupportedError, match="has no change feed: ALTER TABLE"):
        sources.run(db, [given])
    other = tmp_path / "other"
    written(other, [{"id": 1}], configuration=FEED)
    with pytest.raises(errors.InvalidValueError, match="at version 0 and was read to version 1"):
        sources.run(db, [sources.delta(path, table="r", name="moved")])
        sources.run(db, [sources.delta(other, table="r", name="moved")])
    with pytest.raises(errors.UnknownColumnError, match='version 1 has no column "z", which'):
        db.create_table("s", {"z": "int64"})
        sources.run(db, [sources.delta(path, table="s")])
    assert len(db.tables["s"]) == 0
