"""Sixty plain views over one another are fresh after every change and every definition."""

from __future__ import annotations

from typing import Any

import pytest
import ringview as rv
from oracle import comparable
from towers import VIEWS, Tower

FAST, LONG = range(4), range(100, 160)
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"threads": 2}, {"share": False})


def run(seed: int, defined: bool) -> None:
    tower = Tower(seed, **OPTIONS[seed % len(OPTIONS)])
    for number in range(VIEWS):
        tower.create()
        # Some are created before any row, some are filled from rows, and some change between.
        if number % 20 == 19:
            tower.change()
    for _ in range(4):
        if defined:
            tower.define()
        tower.change()
        assert list(tower.stale()) == [], f"seed {seed}"


@pytest.mark.parametrize("defined", [False, True], ids=["undisturbed", "defined"])
@pytest.mark.parametrize("seed", FAST)
def test_towers_are_fresh(seed: int, defined: bool) -> None:
    run(seed, defined)


@pytest.mark.long
@pytest.mark.parametrize("defined", [False, True], ids=["undisturbed", "defined"])
@pytest.mark.parametrize("seed", LONG)
def test_many_towers_are_fresh(seed: int, defined: bool) -> None:
    run(seed, defined)


BELOW = {
    "w": "SELECT k, j, sum(a) AS n FROM t GROUP BY k, j",
    "v0": "SELECT k, count(*) AS c FROM w GROUP BY k",
    "v1": "SELECT k, sum(n) AS s FROM w GROUP BY k",
    "z": "SELECT s, count(*) AS c FROM v1 GROUP BY s",
    "y": "SELECT sum(s) AS total, count(*) AS groups FROM z",
}
BESIDE = {
    "o1": "SELECT j, max(n) AS m FROM w GROUP BY j",
    "o2": "SELECT count(*) AS n, sum(m) AS m FROM o1",
}


def filled(db: rv.Database) -> None:
    rows = [(1, 1, 5), (1, 2, 7), (2, 1, 3)]
    db.insert("t", [dict(zip("kja", row, strict=True)) for row in rows])


@pytest.mark.parametrize("followed", ["", "z"])
def test_a_union_in_anothers_place_keeps_its_level(followed: str) -> None:
    db = rv.Database()
    db.create_table("t", dict.fromkeys("kja", "int64"))
    for name, sql in {**BELOW, **BESIDE}.items():
        db.create_view(name, sql)
    if followed:
        db[followed].changes()
    filled(db)
    assert comparable(db["y"].to_arrow()) == [(15, 2)]
    # Its delta reached its own readers, and not those of another.
    assert comparable(db["o2"].to_arrow()) == [(2, 12)]
    assert comparable(db.sql(BELOW["y"])) == [(15, 2)]


DEFINITIONS = (
    "ALTER TABLE t ADD COLUMN extra BIGINT; ALTER TABLE t DROP COLUMN extra",
    "CREATE TABLE other (x BIGINT); DROP TABLE other",
    "CREATE OR REPLACE VIEW beside AS SELECT count(*) AS n FROM t",
    "DROP VIEW beside",
)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_a_subquery_that_planning_leaves_out_silences_nobody(definition: str) -> None:
    db = rv.Database()
    db.create_table("t", dict.fromkeys("kja", "int64"))
    db.create_view("u", "SELECT k, count(*) AS c FROM t GROUP BY k")
    db.create_view("beside", "SELECT sum(a) AS n FROM t")
    where = "k IS NOT NULL OR EXISTS (SELECT 1 FROM u WHERE u.k = t.k)"
    db.create_view("f", f"SELECT k, sum(a) AS n FROM t WHERE {where} GROUP BY k")
    db.create_view("above", "SELECT sum(n) AS total FROM f")
    followed = db["f"]
    followed.changes()
    db.execute(definition)
    filled(db)
    assert comparable(followed.to_arrow()) == [(1, 12), (2, 3)]
    assert sorted(tuple(row.values()) for row in followed.changes().to_pylist()) == [
        (1, 12, 1),
        (2, 3, 1),
    ]
    assert comparable(db["above"].to_arrow()) == [(15,)]


def test_what_a_text_names_is_in_use() -> None:
    db = rv.Database()
    db.create_table("t", {"k": "int64"})
    db.create_table("u", {"k": "int64", "x": "int64"})
    where = "1 = 1 OR EXISTS (SELECT 1 FROM u WHERE u.x = t.k)"
    db.create_view("f", f"SELECT count(*) AS n FROM t WHERE {where}")
    # No plan reads u, but a file binds the text again.
    for change in ("DROP TABLE u", "ALTER TABLE u DROP COLUMN x"):
        with pytest.raises(rv.errors.InUseError, match="f"):
            db.execute(change)
    db.insert("t", [{"k": 1}])
    assert db["f"].scalar() == 1
