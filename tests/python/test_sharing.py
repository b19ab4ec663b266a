"""Views of equal queries are kept once: what a user sees, and random views with and without."""

from __future__ import annotations

import random
from pathlib import Path

import everyday
import everyday_queries
import pytest
import ringview as rv
from everyday import SCHEMAS
from oracle import comparable
from test_everyday_sql import database, play, taken

SPENT = "SELECT a, SUM(b) AS total FROM r GROUP BY a"


def small(**options: bool) -> rv.Database:
    db = rv.Database(**options)
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.insert("r", [{"a": 1, "b": 5}, {"a": 2, "b": 7}])
    return db


def test_a_view_that_shares_costs_nothing_and_is_one_of_its_own() -> None:
    db = small()
    first, second = (db.create_view(name, SPENT) for name in ("first", "second"))
    assert db.memory_usage()["view second"] == 0 < db.memory_usage()["view first"]
    assert "kept once for this view and first" in str(second.explain())
    assert first.changes().num_rows == 2
    db.insert("r", [{"a": 1, "b": 1}])
    assert first.changes().num_rows == 2
    # The other view begins with all its rows.
    assert second.changes().to_pylist() == [
        {"a": 1, "total": 6, "multiplicity": 1},
        {"a": 2, "total": 7, "multiplicity": 1},
    ]
    db.drop_view("first")
    with pytest.raises(rv.errors.UnknownViewError):
        first.to_arrow()
    db.insert("r", [{"a": 3, "b": 1}])
    assert len(second) == 3
    assert db.memory_usage()["view second"] > 0
    assert "kept once" not in str(second.explain())


def test_sharing_can_be_left() -> None:
    db = small(share=False)
    for name in ("first", "second"):
        db.create_view(name, SPENT)
    used = db.memory_usage()
    assert used["view first"] == used["view second"] > 0


def test_a_saved_database_shares_again(tmp_path: Path) -> None:
    db = small()
    for name in ("first", "second"):
        db.create_view(name, SPENT)
    path = tmp_path / "db"
    db.save(path)
    found = rv.Database.load(path)
    assert list(found.views) == ["first", "second"]
    assert found.memory_usage()["view second"] == 0
    found.insert("r", [{"a": 1, "b": 1}])
    assert found["second"].to_arrow() == found["first"].to_arrow()


@pytest.mark.parametrize("seed", range(4))
def test_random_views_are_what_they_are_apart(seed: int) -> None:
    rng = random.Random(seed)
    held = {table: everyday.rows(rng, table, 7) for table in SCHEMAS}
    asked = [everyday_queries.Queries(rng).one().sql for _ in range(10)]
    texts = {f"v{at}": rng.choice(asked) for at in range(16)}
    pair = [database(held), database(held, share=False)]
    names = [
        name
        for name, sql in texts.items()
        if [taken(db, name, sql) is None for db in pair] == [False, False]
    ]
    assert names
    for _ in range(4):
        for name in names:
            one, other = (db[name] for db in pair)
            assert comparable(one.to_arrow()) == comparable(other.to_arrow()), texts[name]
            assert comparable(one.changes()) == comparable(other.changes()), texts[name]
        if rng.random() < 0.5:
            dropped = names.pop(rng.randrange(len(names)))
            for db in pair:
                db.drop_view(dropped)
        moves, before = rng.randrange(2**30), held
        try:
            for db in pair:
                held = {table: list(rows) for table, rows in before.items()}
                play(db, held, random.Random(moves))
        except (rv.errors.RingviewError, OverflowError):
            # A row that a query cannot compute undoes the batch.
            break
