"""Statements that are refused: with their place in the script and what to write, which is taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import ringview as rv
from ringview import errors

TABLES = """
CREATE TABLE r (id INT PRIMARY KEY, a TINYINT, s VARCHAR NOT NULL, day DATE);
CREATE TABLE bag (x INT, y INT);
INSERT INTO r VALUES (1, 1, 'x', '2024-01-01');
CREATE VIEW v AS SELECT a FROM r;
"""
# A statement, words of its refusal, and what is advised.
REFUSED = [
    ("CREATE TABLE t (a UUID)", "UUID is not stored", "CREATE TABLE t (a VARCHAR)"),
    ("CREATE TABLE t (a INT DEFAULT 'five')", "is no int32", "CREATE TABLE t (a INT DEFAULT 5)"),
    ("CREATE TABLE t (a INT CHECK (a > 0))", "CHECK is not checked", "CREATE TABLE t (a INT)"),
    ("CREATE TABLE t (a INT REFERENCES r (id))", "leave it out", "CREATE TABLE t (a INT)"),
    (
        "CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE)",
        "a table has one key",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
    ),
    (
        "CREATE TABLE t (a INT, PRIMARY KEY (b))",
        'no column "b"',
        "CREATE TABLE t (a INT, PRIMARY KEY (a))",
    ),
    ("CREATE TEMP TABLE t (a INT)", "kept until it is dropped", "CREATE TABLE t (a INT)"),
    (
        "CREATE TABLE t (a DATE, b DATE) WITH (keep_for = '1 day')",
        "time_column = 'name'",
        "CREATE TABLE t (a DATE, b DATE) WITH (keep_for = '1 day', time_column = 'b')",
    ),
    (
        "CREATE TABLE t (a DATE) WITH (keep_for = 7)",
        "a length of time in quotes",
        "CREATE TABLE t (a DATE) WITH (keep_for = '7 days')",
    ),
    (
        "CREATE TABLE t (a INT) WITH (fill = 1)",
        "WITH takes static",
        "CREATE TABLE t (a INT) WITH (static = true)",
    ),
    (
        "CREATE TABLE R (a INT)",
        "DROP it first",
        "DROP VIEW v; DROP TABLE r; CREATE TABLE R (a INT)",
    ),
    ("CREATE TABLE other.t (a INT)", "there is one schema, main", "CREATE TABLE main.t (a INT)"),
    (
        "CREATE TABLE t (b INT) AS SELECT a FROM r",
        "name and cast them there",
        "CREATE TABLE t AS SELECT a AS b FROM r",
    ),
    (
        "CREATE VIEW v AS SELECT id FROM r",
        "CREATE OR REPLACE VIEW",
        "CREATE OR REPLACE VIEW v AS SELECT id FROM r",
    ),
    (
        "CREATE VIEW r AS SELECT x FROM bag",
        "take another name",
        "CREATE VIEW q AS SELECT x FROM bag",
    ),
    (
        "CREATE VIEW w (b) AS SELECT a FROM r",
        "named in its SELECT",
        "CREATE VIEW w AS SELECT a AS b FROM r",
    ),
    ("DROP TABLE bag, r", "a statement for each", "DROP TABLE bag"),
    ("DROP TABLE r", "v", "DROP TABLE r CASCADE"),
    ("DROP TABLE v", "write DROP VIEW", "DROP VIEW v"),
    ("DROP INDEX i", "write DROP TABLE or DROP VIEW", "DROP TABLE bag"),
    ("INSERT INTO rr VALUES (1)", 'did you mean "r"', "INSERT INTO r VALUES (2, 1, 'x', NULL)"),
    ("INSERT INTO v VALUES (1)", '"v" is a view', "INSERT INTO r VALUES (2, 1, 'x', NULL)"),
    (
        "INSERT INTO bag VALUES (1)",
        "1 values are given for 2 columns",
        "INSERT INTO bag (x) VALUES (1)",
    ),
    (
        "INSERT INTO bag (x, z) VALUES (1, 2)",
        'no column "z"',
        "INSERT INTO bag (x, y) VALUES (1, 2)",
    ),
    ("INSERT INTO bag (x, x) VALUES (1, 2)", "given twice", "INSERT INTO bag (x) VALUES (1)"),
    ("INSERT INTO bag VALUES (1, 'one')", "'one' is no int32", "INSERT INTO bag VALUES (1, '1')"),
    (
        "INSERT INTO r VALUES (2, 300, 'x', NULL)",
        "'300' is no int8",
        "INSERT INTO r VALUES (2, 30, 'x', NULL)",
    ),
    (
        "INSERT INTO r VALUES (2, 1, NULL, NULL)",
        "not nullable",
        "INSERT INTO r VALUES (2, 1, '', NULL)",
    ),
    (
        "INSERT INTO r VALUES (NULL, 1, 'x', NULL)",
        "NULL in column",
        "INSERT INTO r VALUES (0, 1, 'x', NULL)",
    ),
    (
        "INSERT INTO r VALUES (2, 1, 'x', 5)",
        "date32",
        "INSERT INTO r VALUES (2, 1, 'x', '2024-05-05')",
    ),
    (
        "INSERT INTO r VALUES (1, 2, 'y', NULL)",
        "already holds",
        "INSERT OR REPLACE INTO r VALUES (1, 2, 'y', NULL)",
    ),
    (
        "INSERT INTO bag VALUES (1, 2) ON CONFLICT DO NOTHING",
        "no key",
        "INSERT INTO bag VALUES (1, 2)",
    ),
    (
        "INSERT INTO r VALUES (1, 2, 'y', NULL) ON CONFLICT (a) DO NOTHING",
        "ON CONFLICT (id)",
        "INSERT INTO r VALUES (1, 2, 'y', NULL) ON CONFLICT (id) DO NOTHING",
    ),
    (
        "INSERT INTO r VALUES (1, 2, 'y', NULL) ON CONFLICT DO UPDATE SET a = a + 1",
        "SET a = excluded.a",
        "INSERT INTO r VALUES (1, 2, 'y', NULL) ON CONFLICT DO UPDATE SET a = excluded.a",
    ),
    (
        "INSERT INTO r VALUES (1, 2, 'y', NULL) ON CONFLICT DO UPDATE SET id = excluded.id",
        "leaves the key as it is",
        "INSERT INTO r VALUES (1, 2, 'y', NULL) ON CONFLICT DO UPDATE SET s = excluded.s",
    ),
    (
        "INSERT INTO r VALUES (7, 2, 'y', NULL), (7, 3, 'y', NULL)"
        " ON CONFLICT DO UPDATE SET a = excluded.a",
        "INSERT OR REPLACE",
        "INSERT OR REPLACE INTO r VALUES (7, 2, 'y', NULL), (7, 3, 'y', NULL)",
    ),
    (
        "INSERT INTO bag VALUES (1, 2) RETURNING (SELECT MAX(id) FROM r)",
        "SELECT others",
        "INSERT INTO bag VALUES (1, 2) RETURNING x",
    ),
    ("UPDATE r SET z = 1", 'no column "z"', "UPDATE r SET a = 1"),
    ("UPDATE r SET a = 1, A = 2", "set twice", "UPDATE r SET a = 2"),
    ("UPDATE r SET a = z", 'no column "z"', "UPDATE r SET a = id"),
    ("UPDATE r SET a = 1000", "'1000' is no int8", "UPDATE r SET a = 100"),
    ("UPDATE r SET s = NULL", "not nullable", "UPDATE r SET s = ''"),
    (
        "UPDATE r SET a = x FROM bag",
        "subqueries: SET x = (SELECT ..)",
        "UPDATE r SET a = (SELECT MAX(x) FROM bag)",
    ),
    ("UPDATE r SET a = SUM(a)", "", "UPDATE r SET a = (SELECT SUM(a) FROM r)"),
    ("UPDATE v SET a = 1", "change these", "UPDATE r SET a = 1"),
    (
        "DELETE FROM bag USING r WHERE id = x",
        "WHERE x IN (SELECT ..)",
        "DELETE FROM bag WHERE x IN (SELECT id FROM r)",
    ),
    ("DELETE FROM nope", 'no table "nope"; known: r, bag', "DELETE FROM bag"),
    ("TRUNCATE bag, r", "a statement for each", "TRUNCATE bag; TRUNCATE r"),
    ("ALTER SEQUENCE s RESTART", "", "SELECT 1"),
    ("EXPLAIN SELECT 1", "this statement is not done here", "SELECT 1"),
    ("COMMIT", "without BEGIN", "BEGIN; COMMIT"),
    ("ROLLBACK", "without BEGIN", "BEGIN; ROLLBACK"),
    ("BEGIN; BEGIN", "begun already", "BEGIN; COMMIT; BEGIN; COMMIT"),
    ("BEGIN; SAVEPOINT one", "write ROLLBACK", "BEGIN; ROLLBACK"),
    ("SELECT ?", "pass parameters=", "SELECT 1"),
    ("", "there is no statement", "SELECT 1"),
    ("-- nothing\n;;", "there is no statement", "SELECT 1"),
    ("INSRT INTO bag VALUES (1, 2)", "did you mean INSERT", "INSERT INTO bag VALUES (1, 2)"),
    ("UPDATE bag SETT x = 1", "did you mean SET", "UPDATE bag SET x = 1"),
    ("SELECT 'open", "a quote is left open", "SELECT 'open'"),
    ("DELETE FROM bag WHERE x = 1 y", "end of statement", "DELETE FROM bag WHERE x = 1"),
]


def database() -> rv.Database:
    db = rv.Database()
    db.execute(TABLES)
    return db


def told(db: rv.Database) -> list[object]:
    tables = [sorted(map(str, table)) for table in db.tables.values()]
    return [list(db.tables), list(db.views), *tables]


@pytest.mark.parametrize(("sql", "words", "advised"), REFUSED)
def test_a_refusal_advises_what_is_taken(sql: str, words: str, advised: str) -> None:
    db = database()
    before = told(db)
    with pytest.raises(errors.RingviewError) as refused:
        db.execute(sql)
    assert words in str(refused.value)
    assert told(db) == before
    fresh = database()
    fresh.execute(advised)


def test_a_script_that_is_no_sql_does_nothing() -> None:
    db = database()
    with pytest.raises(errors.QueryError) as refused:
        db.execute("INSERT INTO bag VALUES (1, 2);\n\nUPDATE bag SET;\nSELECT 1")
    assert "line 3, column 12" in str(refused.value)
    assert str(refused.value).splitlines()[1:] == ["    UPDATE bag SET;", "               ^"]
    assert len(db.tables["bag"]) == 0


def test_what_is_before_a_statement_that_fails_stays() -> None:
    db = database()
    script = "INSERT INTO bag VALUES (1, 2);\nUPDATE bag\n  SET x = nope;\nTRUNCATE bag"
    with pytest.raises(errors.UnknownColumnError) as refused:
        db.execute(script)
    assert str(refused.value) == (
        'line 3, column 11: no column "nope"; known: x, y\n      SET x = nope;\n              ^'
    )
    [note] = refused.value.__notes__
    assert note == "in statement 2 of 3, at line 2; the 1 before it was done"
    assert len(db.tables["bag"]) == 1


def test_places_in_views_of_a_script() -> None:
    db = database()
    with pytest.raises(errors.UnknownTableError) as refused:
        db.execute("SELECT 1;\nCREATE VIEW w AS SELECT a FROM rr")
    assert 'line 2, column 32: no table or view "rr"' in str(refused.value)
    assert "w" not in db


def test_a_parameter_that_is_not_used() -> None:
    with pytest.raises(errors.InvalidValueError, match=r"no parameter \$2"):
        database().execute("SELECT ? AS x", [1, 2])


def test_the_row_and_the_column_of_a_value_that_does_not_fit() -> None:
    db = database()
    with pytest.raises(errors.InvalidValueError) as refused:
        db.execute("INSERT INTO bag (y) SELECT CASE WHEN id = 1 THEN 'no' END FROM r")
    assert str(refused.value) == 'row 0, column "y" of table "bag": \'no\' is no int32'


@pytest.mark.parametrize(
    "call",
    [
        lambda db: db.update("bag", {"x": "1, y = 2"}, where="true"),
        lambda db: db.update("bag", {"x": "1"}, where="true; DELETE FROM bag"),
        lambda db: db.update("bag", {"x": "1) WHERE true; DELETE FROM bag; --"}, where="true"),
        lambda db: db.delete("bag", where=""),
        lambda db: db.update("bag", {}, where="true"),
        lambda db: db.update("bag", {"x": 1}, where="true"),
        lambda db: db.delete("bag"),
        lambda db: db.delete("bag", {"x": 1}, where="true"),
        lambda db: db.update("bag", {"nope": "1"}, where="true"),
        lambda db: db.delete("nope", where="true"),
    ],
)
def test_parts_that_are_not_one_expression(call: Callable[[rv.Database], object]) -> None:
    db = database()
    db.execute("INSERT INTO bag VALUES (1, 1)")
    with pytest.raises(errors.RingviewError):
        call(db)
    assert list(db.tables["bag"]) == [{"x": 1, "y": 1}]


def test_rows_that_are_not_kept_cannot_be_asked_for() -> None:
    db = rv.Database(trust_deletes=True)
    db.execute("CREATE TABLE r (a INT); INSERT INTO r VALUES (1)")
    for sql in ("UPDATE r SET a = 2", "DELETE FROM r WHERE a = 1", "TRUNCATE r"):
        with pytest.raises(errors.UnsupportedError, match="trust_deletes"):
            db.execute(sql)
