"""Dropping a table or a view: it drops nothing else, or all its readers."""

from __future__ import annotations

from pathlib import Path

import pytest
import ringview as rv
from ringview import errors

SCRIPT = """
CREATE TABLE r (a INT, x INT);
CREATE TABLE s (a INT);
CREATE VIEW v AS SELECT a, SUM(x) AS x FROM r GROUP BY a;
CREATE VIEW w AS SELECT SUM(x) AS x FROM v;
CREATE VIEW both AS SELECT COUNT(*) AS n FROM w, s;
CREATE VIEW rest AS SELECT COUNT(*) AS n FROM s;
INSERT INTO r VALUES (1, 10), (2, 20);
INSERT INTO s VALUES (1);
"""


def told(db: rv.Database) -> tuple[list[str], list[str]]:
    return list(db.tables), list(db.views)


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("DROP TABLE r CASCADE", (["s"], ["rest"])),
        ("DROP VIEW v CASCADE", (["r", "s"], ["rest"])),
        ("DROP VIEW w CASCADE", (["r", "s"], ["v", "rest"])),
        ("DROP TABLE s CASCADE", (["r"], ["v", "w"])),
        ("DROP VIEW IF EXISTS none CASCADE", (["r", "s"], ["v", "w", "both", "rest"])),
        ("DROP VIEW rest CASCADE", (["r", "s"], ["v", "w", "both"])),
    ],
)
def test_with_cascade_goes_what_reads_it(
    tmp_path: Path, statement: str, left: tuple[list[str], list[str]]
) -> None:
    path = tmp_path / "rows.ringview"
    with rv.Database.open(path) as db:
        db.execute(SCRIPT)
        follower = db["both"].follow("mail")
        follower.changes()
        db.execute(statement)
        assert told(db) == left
        if "both" not in left[1]:
            with pytest.raises(errors.UnknownViewError):
                follower.changes()
        if "s" in db.tables:
            db.execute("INSERT INTO s VALUES (2)")
    with rv.Database.open(path) as db:
        assert told(db) == left
        for name in db.views:
            assert db[name].to_arrow().num_rows > 0
        # The names are free again.
        for name in ("r", "s"):
            db.execute(f"DROP TABLE IF EXISTS {name} CASCADE")
        db.execute(SCRIPT)
        assert db["both"].scalar() == 1


def test_a_view_that_was_replaced_goes_behind_those_that_read_it() -> None:
    db = rv.Database()
    db.execute(SCRIPT)
    db.execute("CREATE OR REPLACE VIEW v AS SELECT a, SUM(x) AS x FROM r WHERE a > 1 GROUP BY a")
    db.drop_table("r", cascade=True)
    assert told(db) == (["s"], ["rest"])


def test_what_is_not_there_is_told() -> None:
    db = rv.Database()
    db.execute(SCRIPT)
    before = told(db)
    with pytest.raises(errors.UnknownTableError):
        db.drop_table("v", cascade=True)
    with pytest.raises(errors.UnknownViewError):
        db.drop_view("r", cascade=True)
    with pytest.raises(errors.InUseError):
        db.drop_view("v")
    assert told(db) == before
