"""ALTER TABLE: rows as in DuckDB, views that stay fresh, refusals, files and kills."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import alter_crashes
import duckdb
import migration_crashes
import pytest
import ringview as rv
from amounts import examples, some
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparable
from ringview import errors

TABLE = """CREATE TABLE r (
    a INTEGER, b SMALLINT, c VARCHAR DEFAULT 'c', d DECIMAL(5, 1) DEFAULT -2.5, e REAL)"""
ROWS = "INSERT INTO r VALUES (1, 1, 'x', 1.5, 0.5), (1, 1, 'x', 1.5, 0.5), (2, NULL, NULL, 2, NULL)"
VIEW = "CREATE VIEW v AS SELECT a, COUNT(*) AS n, SUM(b) AS b FROM r GROUP BY a"
STEPS = [
    *("ADD COLUMN f BIGINT", "ADD COLUMN f BIGINT DEFAULT 7", "ADD f VARCHAR DEFAULT 'it''s'"),
    *("ADD COLUMN IF NOT EXISTS c DATE", "ADD COLUMN g DATE DEFAULT '2024-02-29'"),
    *("ADD h DOUBLE DEFAULT 1 + 0.5", "DROP COLUMN e", "DROP e", "DROP COLUMN IF EXISTS f"),
    *("DROP COLUMN c", "DROP COLUMN d", "RENAME COLUMN c TO text", "RENAME d TO c"),
    *("RENAME COLUMN e TO E2", "ALTER COLUMN e TYPE DOUBLE", "ALTER d SET DATA TYPE DECIMAL(9, 3)"),
    *("ALTER COLUMN d TYPE DECIMAL(5, 1)", "RENAME COLUMN f TO e"),
    *("ALTER COLUMN c SET DEFAULT 'd'", "ALTER d SET DEFAULT 1", "ALTER COLUMN e SET DEFAULT 0.5"),
    *("ALTER COLUMN c DROP DEFAULT", "ALTER d SET DEFAULT NULL", "ALTER COLUMN f DROP DEFAULT"),
]
CHANGES = [
    "INSERT INTO r (a, b) VALUES (1, 5), (3, NULL)",
    "INSERT INTO r (b, a) SELECT a, a FROM r WHERE b IS NOT NULL",
    "INSERT INTO r (c, a, d) VALUES (DEFAULT, 1, 1), ('e', 2, DEFAULT), (NULL, 3, NULL)",
    "INSERT INTO r (d, a) VALUES (DEFAULT, DEFAULT)",
    "UPDATE r SET b = a + 1 WHERE a > 1",
    "DELETE FROM r WHERE b = 1",
]


def refusal(db: rv.Database, statement: str) -> str:
    """Why a statement is not done; nothing if it was."""
    try:
        db.execute(statement)
    except errors.RingviewError as refused:
        return str(refused)
    return ""


@examples(60)
@given(
    st.lists(st.sampled_from([f"ALTER TABLE r {step}" for step in STEPS] + CHANGES), max_size=10)
)
def test_tables_are_altered_as_duckdb_does(script: list[str]) -> None:
    db, duck = rv.Database(), duckdb.connect(":memory:")
    for statement in (TABLE, ROWS, VIEW):
        db.execute(statement)
        if statement != VIEW:
            duck.execute(statement)
    seen: dict[str, int] = {}
    with db["v"].follow() as follower:
        for statement in script:
            why = refusal(db, statement)
            # DuckDB takes types that lack values, and evaluates a default when a row needs it.
            if "does not have all values" in why or (why and "SET DEFAULT" in statement):
                continue
            if why:
                with pytest.raises(duckdb.Error):
                    duck.execute(statement).fetchall()
                continue
            duck.execute(statement).fetchall()
            expected = duck.sql("SELECT * FROM r").to_arrow_table()
            assert db.tables["r"].columns == expected.column_names
            assert comparable(db.tables["r"].to_arrow()) == comparable(expected)
            assert comparable(db.execute("SELECT * FROM r")) == comparable(expected)
            sums = duck.sql("SELECT a, COUNT(*) AS n, SUM(b) AS b FROM r GROUP BY a")
            assert comparable(db["v"].to_arrow()) == comparable(sums.to_arrow_table())
            for row in follower.changes().to_pylist():
                times = row.pop("multiplicity")
                seen[repr(row)] = seen.get(repr(row), 0) + times
            assert sorted(row for row, times in seen.items() if times) == sorted(
                map(repr, db["v"].to_arrow().to_pylist())
            )


WIDER = [
    *(
        ("TINYINT", "SMALLINT"),
        ("TINYINT", "INTEGER"),
        ("SMALLINT", "BIGINT"),
        ("UTINYINT", "SMALLINT"),
    ),
    *(("UINTEGER", "BIGINT"), ("INTEGER", "DOUBLE"), ("SMALLINT", "REAL"), ("REAL", "DOUBLE")),
    *(
        ("INTEGER", "DECIMAL(10, 0)"),
        ("BIGINT", "DECIMAL(21, 2)"),
        ("DECIMAL(5, 1)", "DECIMAL(9, 3)"),
    ),
    *(("UBIGINT", "HUGEINT"), ("VARCHAR(3)", "TEXT"), ("INTEGER", "INTEGER")),
]
NARROWER = [
    *(("SMALLINT", "TINYINT"), ("BIGINT", "DOUBLE"), ("INTEGER", "REAL"), ("DOUBLE", "REAL")),
    *(("INTEGER", "DECIMAL(9, 0)"), ("DECIMAL(5, 1)", "DECIMAL(5, 2)"), ("UINTEGER", "INTEGER")),
    *(("INTEGER", "UINTEGER"), ("INTEGER", "VARCHAR"), ("VARCHAR", "INTEGER"), ("DATE", "INTEGER")),
    *(("DECIMAL(5, 1)", "DOUBLE"), ("BOOLEAN", "INTEGER")),
]


@pytest.mark.parametrize(("was", "becomes"), WIDER)
def test_a_type_that_has_all_values(was: str, becomes: str) -> None:
    db = rv.Database()
    db.execute(f"CREATE TABLE r (x {was}, y INT); CREATE TABLE s (x {becomes})")
    db.execute("INSERT INTO r VALUES (100, 1), (NULL, 2), (100, 1)")
    db.execute(f"ALTER TABLE r ALTER COLUMN x TYPE {becomes}")
    assert db.tables["r"].schema.field("x") == db.tables["s"].schema.field("x")
    found = sorted(
        map(repr, (None if row["x"] is None else float(row["x"]) for row in db.tables["r"]))
    )
    assert found == ["100.0", "100.0", "None"]
    assert db.execute("DELETE FROM r WHERE x = 100") == 2 if becomes != "TEXT" else True


@pytest.mark.parametrize(("was", "becomes"), NARROWER)
def test_a_type_that_lacks_values_is_refused(was: str, becomes: str) -> None:
    db = rv.Database()
    db.execute(f"CREATE TABLE r (x {was})")
    before = db.tables["r"].schema
    with pytest.raises(errors.UnsupportedError, match="does not have all values"):
        db.execute(f"ALTER TABLE r ALTER COLUMN x TYPE {becomes}")
    assert db.tables["r"].schema == before
    # The advised statements.
    db.execute(f"ALTER TABLE r ADD COLUMN y {becomes}")
    db.execute("ALTER TABLE r DROP COLUMN x; ALTER TABLE r RENAME COLUMN y TO x")
    assert db.tables["r"].columns == ["x"]


def database() -> rv.Database:
    db = rv.Database()
    db.execute("""
        CREATE TABLE r (id INT PRIMARY KEY, a INT, b INT, s TEXT);
        CREATE TABLE aged (t DATE, x INT) WITH (keep_for = '9 days');
        INSERT INTO r VALUES (1, 10, 100, 'x'), (2, 20, 200, 'y');
        CREATE VIEW v AS SELECT a, COUNT(*) AS n FROM r GROUP BY a;
        CREATE VIEW w AS SELECT SUM(n) AS n FROM v""")
    return db


REFUSED = [
    ("ALTER TABLE r DROP COLUMN a", "v", "DROP VIEW w; DROP VIEW v; ALTER TABLE r DROP COLUMN a"),
    (
        "ALTER TABLE r DROP COLUMN a CASCADE",
        "without CASCADE",
        "DROP VIEW w; DROP VIEW v; ALTER TABLE r DROP a",
    ),
    ("ALTER TABLE r RENAME COLUMN a TO z", "v", "ALTER TABLE r RENAME COLUMN b TO z"),
    ("ALTER TABLE r ALTER COLUMN a TYPE BIGINT", "v", "ALTER TABLE r ALTER COLUMN b TYPE BIGINT"),
    ("ALTER TABLE r RENAME TO q", "v", "DROP VIEW w; DROP VIEW v; ALTER TABLE r RENAME TO q"),
    ("ALTER TABLE r DROP COLUMN id", "rests on it", "CREATE TABLE q AS SELECT a, b, s FROM r"),
    ("ALTER TABLE aged DROP COLUMN t", "rests on it", "CREATE TABLE q AS SELECT x FROM aged"),
    ("ALTER TABLE r DROP COLUMN z", 'no column "z"', "ALTER TABLE r DROP COLUMN IF EXISTS z"),
    ("ALTER TABLE q DROP COLUMN z", 'no table "q"', "ALTER TABLE IF EXISTS q DROP COLUMN z"),
    ("ALTER TABLE v DROP COLUMN n", '"v" is a view', "ALTER TABLE r DROP COLUMN s"),
    (
        "ALTER TABLE r ADD COLUMN A TEXT",
        'a column "a" already',
        "ALTER TABLE r ADD COLUMN IF NOT EXISTS A TEXT",
    ),
    (
        "ALTER TABLE r RENAME COLUMN s TO B",
        'a column "b" already',
        "ALTER TABLE r RENAME COLUMN s TO S",
    ),
    ("ALTER TABLE aged RENAME TO R", '"r" already', "ALTER TABLE aged RENAME TO old"),
    (
        "ALTER TABLE r ADD COLUMN x INT NOT NULL",
        "not nullable",
        "ALTER TABLE r ADD COLUMN x INT NOT NULL DEFAULT 0",
    ),
    (
        "ALTER TABLE r ADD COLUMN x INT UNIQUE",
        "new table that has it",
        "ALTER TABLE r ADD COLUMN x INT",
    ),
    (
        "ALTER TABLE r ADD COLUMN x TINYINT DEFAULT 300",
        "'300' is no int8",
        "ALTER TABLE r ADD x TINYINT DEFAULT 30",
    ),
    (
        "ALTER TABLE r ADD COLUMN x INT, DROP COLUMN s",
        "a statement for each",
        "ALTER TABLE r ADD COLUMN x INT",
    ),
    (
        "ALTER TABLE r ALTER COLUMN s SET NOT NULL",
        "ALTER TABLE takes",
        "ALTER TABLE r DROP COLUMN s",
    ),
]


@pytest.mark.parametrize(("sql", "words", "advised"), REFUSED)
def test_a_refusal_advises_what_is_taken(sql: str, words: str, advised: str) -> None:
    db = database()
    before = [(name, table.schema, list(table)) for name, table in db.tables.items()]
    with pytest.raises(errors.RingviewError) as refused:
        db.execute(sql)
    assert words in str(refused.value)
    assert [(name, table.schema, list(table)) for name, table in db.tables.items()] == before
    assert db["w"].scalar() == 2
    database().execute(advised)


def test_a_column_before_others_that_views_read_stays() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT, b INT, c INT); CREATE VIEW v AS SELECT SUM(b) AS b FROM r")
    with pytest.raises(errors.InUseError, match="in use by v"):
        db.execute("ALTER TABLE r DROP COLUMN a")
    db.execute("ALTER TABLE r DROP COLUMN c; INSERT INTO r VALUES (1, 2)")
    assert db["v"].scalar() == 2


def test_views_keep_what_they_were_when_columns_come() -> None:
    db = database()
    view = db.create_view("all_of_r", "SELECT * FROM r")
    table, writer = db.tables["r"], db.tables["r"].writer(seconds=None)
    db.execute("ALTER TABLE r ADD COLUMN x DECIMAL(9, 2) DEFAULT 0.5")
    assert view.columns == ["id", "a", "b", "s"]
    assert table.get({"id": 2}) == {"id": 2, "a": 20, "b": 200, "s": "y", "x": Decimal("0.50")}
    table.insert({"id": 3, "a": 20, "b": 1, "s": None, "x": Decimal(1)})
    assert len(view) == 3
    assert db["w"].scalar() == 3
    writer.insert((4, 1, 1, "z"))
    with pytest.raises(errors.InvalidValueError, match="missing"):
        writer.flush()
    db.execute("ALTER TABLE r RENAME COLUMN x TO xx")
    table.upsert({"id": 3, "a": 30, "b": 1, "s": "new", "xx": None})
    assert db["v"].get({"a": 30}) == {"a": 30, "n": 1}


def test_equal_rows_without_a_column_are_one_row_twice() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT, s TEXT); INSERT INTO r VALUES (1, 'x'), (1, 'y'), (2, NULL)")
    db.execute("ALTER TABLE r DROP COLUMN s")
    assert db.tables["r"].to_arrow(multiplicity="n").sort_by("a").to_pylist() == [
        {"a": 1, "n": 2},
        {"a": 2, "n": 1},
    ]
    db.delete("r", {"a": [1, 1]})


def test_rows_leave_with_time_by_a_column_of_another_name() -> None:
    db = rv.Database()
    db.advance("2026-03-09")
    db.execute("CREATE TABLE r (t DATE, a INT) WITH (keep_for = '2 days')")
    db.execute("INSERT INTO r VALUES ('2026-03-08', 1); ALTER TABLE r RENAME COLUMN t TO day")
    db.execute(
        "ALTER TABLE r ADD COLUMN b INT DEFAULT 1; INSERT INTO r VALUES ('2026-03-09', 2, 2)"
    )
    assert db.tables["r"].keep_for == ("day", "2 days")
    db.advance("2026-03-10T12:00:00")
    assert list(db.tables["r"].where(b=1).to_pylist()) == []
    assert len(db.tables["r"]) == 1


def test_a_limit_of_memory_leaves_the_table_as_it_is() -> None:
    def filled(limit: int | None) -> rv.Database:
        db = rv.Database(memory_limit=limit)
        table = db.create_table("r", {"a": "int64", "b": "int64"})
        for start in range(0, 500_000, 5_000):
            rows = range(start, start + 5_000)
            table.insert({"a": rows, "b": rows})
        return db

    db = filled(int(1.8 * filled(None).tables["r"].nbytes))
    table = db.tables["r"]
    with pytest.raises(errors.OutOfMemoryError):
        db.execute("ALTER TABLE r ADD COLUMN c DOUBLE DEFAULT 1")
    assert table.columns == ["a", "b"]
    assert len(table) == 500_000


def test_an_altered_table_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "sales.ringview"
    with rv.Database.open(path) as db:
        db.execute("""
            CREATE TABLE r (a INT, b SMALLINT, c TEXT);
            INSERT INTO r VALUES (1, 2, 'x'), (3, 4, NULL);
            CREATE VIEW v AS SELECT SUM(a) AS a FROM r; CREATE VIEW everything AS SELECT a FROM r;
            ALTER TABLE r ADD COLUMN d TEXT DEFAULT 'new'; ALTER TABLE r RENAME COLUMN c TO text;
            ALTER TABLE r ALTER COLUMN b TYPE INT; ALTER TABLE r ADD COLUMN e INT;
            ALTER TABLE r DROP COLUMN e; CREATE TABLE q (z INT); ALTER TABLE q RENAME TO z""")
        with db["v"].follow("mail") as follower:
            follower.changes()
            follower.commit()
        db.execute("ALTER TABLE r ADD COLUMN f INT DEFAULT 9; INSERT INTO r (a, f) VALUES (10, 1)")
        before = sorted(map(str, db.tables["r"]))
    for is_anew in (False, True):
        with rv.Database.open(path) as db:
            assert db.tables["r"].columns == ["a", "b", "text", "d", "f"]
            assert sorted(map(str, db.tables["r"])) == before
            assert list(db.tables) == ["r", "z"]
            assert db["v"].scalar() == 14
            found = db["v"].follow("mail").changes()
            assert sorted(found["a"].to_pylist()) == [4, 14]
            if is_anew:
                assert len(db["everything"]) == 3
            db.snapshot()


@pytest.mark.parametrize("steps", [alter_crashes, migration_crashes], ids=["alter", "migrate"])
@pytest.mark.parametrize("seed", some(range(2)))
def test_a_kill_leaves_whole_alterations(steps: ModuleType, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "crashes.ringview"
    drawn = random.Random(seed)
    for _ in range(3):
        command = [sys.executable, str(steps.__file__), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(drawn.randrange(1, 30))]
            process.send_signal(signal.SIGKILL)
            said += process.stdout.read().splitlines()
        with rv.Database.open(path) as db:
            done = max((int(line) for line in said if line.strip()), default=0)
            steps.check(db, done)
