"""DEFAULT: of columns that a statement does not name, kept through files, copies and refusals."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
import ringview as rv
from oracle import comparable
from ringview import errors

TABLE = """CREATE TABLE r (
    id BIGINT PRIMARY KEY,
    a INT DEFAULT 1 + 1,
    s VARCHAR NOT NULL DEFAULT 'it''s',
    p DECIMAL(9, 2) DEFAULT 1.005,
    d DATE DEFAULT DATE '2024-02-29',
    t TIMESTAMP DEFAULT '2024-02-29 10:00:00',
    x DOUBLE DEFAULT -0.5,
    ok BOOLEAN DEFAULT true,
    u INT DEFAULT NULL)"""
GIVEN = {
    "a": 2,
    "s": "it's",
    "p": Decimal("1.01"),
    "d": date(2024, 2, 29),
    "t": datetime(2024, 2, 29, 10),
    "x": -0.5,
    "ok": True,
}
INSERTS = [
    "INSERT INTO r (id) VALUES (1), (2)",
    "INSERT INTO r (a, id) SELECT NULL, 3",
    "INSERT INTO r VALUES (4, DEFAULT, DEFAULT, 2, DEFAULT, NULL, DEFAULT, DEFAULT, DEFAULT)",
    "INSERT INTO r (id, s, a) VALUES (5, 'given', DEFAULT), (6, DEFAULT, 7), (7, DEFAULT, NULL)",
    "INSERT INTO r (id, x) VALUES (1 + 7, DEFAULT), (9, 1.5)",
    "INSERT INTO r (id) VALUES (1) ON CONFLICT DO NOTHING",
    "INSERT INTO r (id, a) VALUES (1, 9) ON CONFLICT (id) DO UPDATE SET a = excluded.a",
]


def test_rows_are_filled_as_duckdb_fills_them() -> None:
    db, duck = rv.Database(), duckdb.connect()
    for statement in (TABLE, *INSERTS):
        db.execute(statement)
        duck.execute(statement)
        expected = duck.sql("SELECT * FROM r").to_arrow_table()
        assert comparable(db.execute("SELECT * FROM r")) == comparable(expected), statement
    assert db.tables["r"].defaults == GIVEN


def test_a_file_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.ringview"
    with rv.Database.open(path) as db:
        db.execute(TABLE)
        db.execute("ALTER TABLE r ADD COLUMN y INT DEFAULT 8; ALTER TABLE r RENAME a TO b")
        db.execute("ALTER TABLE r ALTER COLUMN b TYPE BIGINT; ALTER TABLE r DROP COLUMN x")
        db.execute("ALTER TABLE r ALTER COLUMN ok DROP DEFAULT")
        db.execute("ALTER TABLE r ALTER COLUMN u SET DEFAULT 3")
    expected = {"b": 2, **GIVEN, "y": 8, "u": 3}
    for name in ("a", "x", "ok"):
        del expected[name]
    for _ in range(2):
        with rv.Database.open(path) as db:
            assert db.tables["r"].defaults == expected
            db.execute("INSERT OR REPLACE INTO r (id) VALUES (1)")
            row = db.tables["r"].get({"id": 1})
            assert row == {"id": 1, "ok": None, **expected}
            db.snapshot()
    with rv.Database.open(path) as db:
        copy = tmp_path / "copy.ringview"
        db.save(copy)
    with rv.Database.open(copy) as db:
        assert db.tables["r"].defaults == expected


def test_they_hold_between_begin_and_commit() -> None:
    db = rv.Database()
    db.execute(TABLE)
    db.execute("BEGIN; INSERT INTO r (id) VALUES (1); UPDATE r SET a = a + 1; COMMIT")
    assert db.execute("SELECT a, s FROM r").to_pylist() == [{"a": 3, "s": "it's"}]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("CREATE TABLE t (a INT DEFAULT 'five')", "'five'"),
        ("CREATE TABLE t (a TINYINT DEFAULT 300)", "300"),
        ("CREATE TABLE t (a INT DEFAULT b, b INT)", "b"),
        ("CREATE TABLE t (a INT DEFAULT random())", "random"),
        ("CREATE OR REPLACE TABLE r (a INT DEFAULT 'five')", "'five'"),
        ("ALTER TABLE r ALTER COLUMN a SET DEFAULT 'five'", "'five'"),
        ("ALTER TABLE r ALTER COLUMN zz SET DEFAULT 5", '"zz"'),
        ("ALTER TABLE r ALTER COLUMN zz DROP DEFAULT", '"zz"'),
        ("INSERT INTO r (a) VALUES (1)", "id"),
    ],
)
def test_what_is_refused_changes_nothing(sql: str, words: str) -> None:
    db = rv.Database()
    db.execute(TABLE)
    with pytest.raises(errors.RingviewError, match=words):
        db.execute(sql)
    assert list(db.tables) == ["r"]
    assert db.tables["r"].defaults == GIVEN
    assert len(db.tables["r"]) == 0


def test_rows_of_python_say_all_their_columns() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT, b INT DEFAULT 5)")
    with pytest.raises(errors.InvalidValueError, match="b"):
        db.insert("r", [{"a": 1}])
    db.insert("r", [{"a": 1, "b": None}])
    assert list(db.tables["r"]) == [{"a": 1, "b": None}]
