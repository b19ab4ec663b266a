"""Scripts of SQL: what each statement does, what it gives, and what a transaction of them is."""

from __future__ import annotations

import threading
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors

TYPES = {
    "BOOLEAN": "bool",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INT2": "int16",
    "INTEGER": "int32",
    "INT4": "int32",
    "BIGINT": "int64",
    "INT8": "int64",
    "HUGEINT": "decimal128(38, 0)",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "REAL": "float",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DOUBLE PRECISION": "double",
    "FLOAT8": "double",
    "DECIMAL": "decimal128(18, 3)",
    "DECIMAL(9)": "decimal128(9, 0)",
    "NUMERIC(9, 2)": "decimal128(9, 2)",
    "VARCHAR": "string",
    "VARCHAR(10)": "string",
    "CHAR(3)": "string",
    "TEXT": "string",
    "STRING": "string",
    "DATE": "date32[day]",
    "TIMESTAMP": "timestamp[us]",
    "DATETIME": "timestamp[us]",
    "TIMESTAMP_S": "timestamp[s]",
    "TIMESTAMP_MS": "timestamp[ms]",
    "TIMESTAMP_NS": "timestamp[ns]",
    "TIMESTAMP WITH TIME ZONE": "timestamp[us, tz=UTC]",
    "TIMESTAMPTZ": "timestamp[us, tz=UTC]",
}


def rows(found: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


@pytest.mark.parametrize("name", TYPES)
def test_the_names_of_types(name: str) -> None:
    db = rv.Database()
    assert db.execute(f"CREATE TABLE r (x {name}, y {name} NOT NULL)") is None
    schema = db.tables["r"].schema
    assert [str(field.type) for field in schema] == [TYPES[name]] * 2
    assert [field.nullable for field in schema] == [True, False]


@pytest.mark.parametrize(
    ("dialect", "name", "kind"),
    [
        ("postgres", "FLOAT", "double"),
        ("postgres", "DOUBLE PRECISION", "double"),
        ("postgres", "CHARACTER VARYING(10)", "string"),
        ("postgres", "TIMESTAMP WITHOUT TIME ZONE", "timestamp[us]"),
        ("spark", "STRING", "string"),
        ("spark", "DECIMAL", "decimal128(10, 0)"),
        ("bigquery", "INT64", "int64"),
        ("bigquery", "FLOAT64", "double"),
        ("mysql", "INT UNSIGNED", "uint32"),
        ("mysql", "DATETIME", "timestamp[us]"),
        ("snowflake", "NUMBER(10, 2)", "decimal128(10, 2)"),
        ("snowflake", "TIMESTAMP_NTZ", "timestamp[us]"),
    ],
)
def test_types_of_dialects(dialect: str, name: str, kind: str) -> None:
    db = rv.Database()
    db.execute(f"CREATE TABLE r (x {name})", dialect=dialect)
    assert str(db.tables["r"].schema.field("x").type) == kind


def test_keys_and_what_with_says() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE a (x INT PRIMARY KEY, y INT)")
    db.execute("CREATE TABLE b (x INT, y INT, UNIQUE (y, x))")
    db.execute("CREATE TABLE c (x INT NOT NULL, y INT DEFAULT NULL, PRIMARY KEY (X))")
    assert db.tables["a"].unique == ["x"]
    assert not db.tables["a"].schema.field("x").nullable
    assert db.tables["b"].unique == ["x", "y"]
    assert db.tables["b"].schema.field("x").nullable
    assert db.tables["c"].unique == ["x"]
    db.execute("CREATE TABLE d (ts TIMESTAMP, x INT) WITH (keep_for = '7 days')")
    db.execute("CREATE TABLE e (ts TIMESTAMP, t DATE) WITH (keep_for = '1 day', time_column = 't')")
    db.execute("CREATE TABLE f (x INT) WITH (static = true)")
    assert db.tables["d"].keep_for == ("ts", "7 days")
    assert db.tables["e"].keep_for == ("t", "1 day")
    assert db.tables["f"].static
    assert not db.tables["d"].static


def test_tables_and_views_come_and_go() -> None:
    db = rv.Database()
    db.execute('CREATE TABLE main.r (a INT, "select" INT)')
    db.execute("CREATE TABLE IF NOT EXISTS R (other TEXT)")
    assert db.tables["r"].columns == ["a", "select"]
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    db.execute("CREATE VIEW IF NOT EXISTS v AS SELECT a FROM r")
    assert db["v"].sql == "SELECT a, COUNT(*) AS n FROM r GROUP BY a"
    db.execute("CREATE OR REPLACE VIEW V AS\n  SELECT a -- the column\n FROM r;")
    assert db["v"].sql == "SELECT a -- the column\n FROM r"
    db.execute("DROP VIEW v; DROP VIEW IF EXISTS v; DROP TABLE R; DROP TABLE IF EXISTS r")
    assert (list(db.tables), list(db.views)) == ([], [])
    db.execute(
        "CREATE TABLE r (a INT); INSERT INTO r VALUES (1); CREATE OR REPLACE TABLE r (b INT)"
    )
    assert db.tables["r"].columns == ["b"]
    assert len(db.tables["r"]) == 0


def test_a_replaced_view_moves_those_that_read_it() -> None:
    db = rv.Database()
    db.execute("""
        CREATE TABLE r (a INT, b BIGINT); INSERT INTO r VALUES (1, 10), (2, 20);
        CREATE VIEW low AS SELECT a, b FROM r;
        CREATE VIEW high AS SELECT SUM(b) AS total FROM low""")
    with db["high"].follow(initial=False) as follower:
        db.execute("CREATE OR REPLACE VIEW low AS SELECT a, b * 2 AS b FROM r")
        assert db["high"].scalar() == 60
        assert [row["multiplicity"] for row in follower.changes().to_pylist()] == [-1, 1]
    with pytest.raises(errors.InUseError, match="high"):
        db.execute("CREATE OR REPLACE VIEW low AS SELECT a FROM r")
    assert db["high"].scalar() == 60


def test_a_table_of_a_query() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT NOT NULL, x DECIMAL(9, 2))")
    db.execute("INSERT INTO r VALUES (1, 1.5), (1, 2.5), (2, NULL)")
    made = db.execute("CREATE TABLE s AS SELECT a, SUM(x) AS x, COUNT(*) AS n FROM r GROUP BY a")
    assert made == 2
    assert rows(db.tables["s"].to_arrow()) == [(1, Decimal("4.00"), 2), (2, None, 1)]
    db.execute("INSERT INTO s VALUES (NULL, NULL, NULL)")
    db.execute("CREATE TABLE none AS SELECT * FROM r WHERE a > 5")
    assert db.tables["none"].schema.names == ["a", "x"]
    assert len(db.tables["none"]) == 0


def test_what_is_given_back() -> None:
    db = rv.Database()
    assert db.execute("CREATE TABLE r (a INT)") is None
    assert db.execute("INSERT INTO r VALUES (1), (2), (2)") == 3
    assert db.execute("UPDATE r SET a = a + 1 WHERE a = 2") == 2
    assert db.execute("UPDATE r SET a = 5 WHERE a > 100") == 0
    assert db.execute("DELETE FROM r WHERE a = 3") == 2
    found = db.execute("INSERT INTO r VALUES (7); SELECT a FROM r ORDER BY a; -- the end\n;")
    assert isinstance(found, pa.Table)
    assert found["a"].to_pylist() == [1, 7]
    assert db.execute("TRUNCATE TABLE r") == 2
    assert db.execute("BEGIN; INSERT INTO r VALUES (1)") == 1
    assert db.execute("COMMIT") is None


def test_equal_rows_change_as_often_as_they_are_there() -> None:
    db = rv.Database()
    db.execute(
        "CREATE TABLE r (a INT, b TEXT); CREATE VIEW v AS SELECT a, COUNT(*) n FROM r GROUP BY a"
    )
    db.insert("r", {"a": [1, 1, 2], "b": ["x", "x", None]})
    assert db.execute("UPDATE r SET a = 2 WHERE b = 'x'") == 2
    assert rows(db["v"].to_arrow()) == [(2, 3)]
    assert db.tables["r"].to_arrow(multiplicity="n").num_rows == 2


def test_keys_trade_places() -> None:
    db = rv.Database()
    db.execute(
        "CREATE TABLE r (id INT PRIMARY KEY, a TEXT); INSERT INTO r VALUES (1, 'x'), (2, 'y')"
    )
    assert db.execute("UPDATE r SET id = 3 - id") == 2
    assert rows(db.tables["r"].to_arrow()) == [(1, "y"), (2, "x")]
    assert db.execute("UPDATE r SET id = id + 1") == 2
    with pytest.raises(errors.DuplicateKeyError):
        db.execute("UPDATE r SET id = 7")
    assert rows(db.tables["r"].to_arrow()) == [(2, "y"), (3, "x")]


def test_rows_whose_key_is_there() -> None:
    db = rv.Database()
    db.execute(
        "CREATE TABLE r (id INT PRIMARY KEY, a TEXT, b INT); INSERT INTO r VALUES (1, 'x', 1)"
    )
    assert (
        db.execute(
            "INSERT INTO r VALUES (1, 'y', 2), (2, 'z', 3), (2, '', 4) ON CONFLICT DO NOTHING"
        )
        == 1
    )
    assert rows(db.tables["r"].to_arrow()) == [(1, "x", 1), (2, "z", 3)]
    into = "INSERT INTO r (id, a) VALUES ('1', 'new'), (3, 'w')"
    assert db.execute(f"{into} ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.a") == 2
    assert rows(db.tables["r"].to_arrow()) == [(1, "new", 1), (2, "z", 3), (3, "w", None)]
    assert db.execute("INSERT OR REPLACE INTO r VALUES (1, 'q', 9), (1, 'p', 8)") == 2
    assert db.execute("INSERT OR IGNORE INTO r VALUES (1, 'i', 0)") == 0
    assert db.tables["r"].get({"id": 1}) == {"id": 1, "a": "p", "b": 8}


def test_values_are_cast_to_their_columns() -> None:
    db = rv.Database()
    db.execute(
        "CREATE TABLE r (i TINYINT, d DECIMAL(5, 1), s TEXT, day DATE, at TIMESTAMP, f REAL)"
    )
    db.execute("INSERT INTO r VALUES ('12', 1.25, 5, '2024-02-29', '2024-02-29', '1e3')")
    db.execute("INSERT INTO r (s, i) VALUES (true, 2.5), (DEFAULT, DEFAULT)")
    found = db.execute("SELECT * FROM r WHERE i = 12").to_pylist()
    assert found == [
        {
            "i": 12,
            "d": Decimal("1.3"),
            "s": "5",
            "day": date(2024, 2, 29),
            "at": datetime(2024, 2, 29),
            "f": 1000.0,
        }
    ]
    assert db.execute("SELECT i, s FROM r WHERE i = 2 OR i = 3").to_pylist()[0]["s"] == "true"


@pytest.mark.parametrize("parameters", [[1, "x", 1], (1, "x", 1)])
def test_parameters_by_number(parameters: Any) -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT, s TEXT)")
    found = db.execute("INSERT INTO r VALUES (?, ?); SELECT s FROM r WHERE a = ?", parameters)
    assert found.to_pylist() == [{"s": "x"}]
    found = db.execute("SELECT $2 AS s FROM r; SELECT a FROM r WHERE a = $1", [1, "y"])
    assert found.to_pylist() == [{"a": 1}]


def test_parameters_by_name_and_in_views() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT, s TEXT)")
    given: dict[str, int | str] = {"a": 3, "s": "it's", "least": 2}
    db.execute(
        "INSERT INTO r VALUES ($a, :s); CREATE VIEW v AS SELECT s FROM r WHERE a > $least", given
    )
    assert list(db["v"]) == [{"s": "it's"}]
    db.execute(
        "INSERT INTO r VALUES (?, ?); CREATE VIEW w AS SELECT s, ? AS k FROM r WHERE a < ?",
        [1, "one", "k", 2],
    )
    assert list(db["w"]) == [{"s": "one", "k": "k"}]
    assert db["w"].sql == "SELECT s, $1 AS k FROM r WHERE a < $2"


def test_quoted_names_and_other_dialects() -> None:
    db = rv.Database()
    db.execute('CREATE TABLE "a table" ("x y" INT, "group" TEXT)')
    db.execute("""INSERT INTO "a table" ("group", "x y") VALUES ('g', 1)""")
    db.execute("""UPDATE "a table" t SET "x y" = t."x y" + 1 WHERE "group" = 'g'""")
    assert rows(db.tables["a table"].to_arrow()) == [(2, "g")]
    db.execute("UPDATE `a table` SET `x y` = `x y` + 1", dialect="mysql")
    db.execute("""DELETE FROM "a table" WHERE "x y" / 2 = 1""", dialect="postgres")
    assert len(db.tables["a table"]) == 0


def test_a_transaction_over_several_calls() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT); CREATE VIEW v AS SELECT SUM(a) AS a FROM r")
    db.execute("BEGIN TRANSACTION")
    db.execute("INSERT INTO r VALUES (1), (2)")
    assert db.execute("SELECT a FROM v").to_pylist() == [{"a": 3}]
    assert db.execute("UPDATE r SET a = a * 10 WHERE a = 2") == 1
    assert db.execute("SELECT SUM(a) AS a FROM r").to_pylist() == [{"a": 21}]
    # Nobody else sees it.
    assert db["v"].scalar() is None
    assert len(db.tables["r"]) == 0
    db.execute("COMMIT")
    assert db["v"].scalar() == 21
    db.execute("BEGIN; DELETE FROM r; SELECT * FROM r")
    assert db.execute("SELECT COUNT(*) AS n FROM r").to_pylist() == [{"n": 0}]
    db.execute("ROLLBACK")
    assert db["v"].scalar() == 21


def test_views_move_once_at_commit() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT); CREATE VIEW v AS SELECT a FROM r")
    with db["v"].follow(initial=False) as follower:
        db.execute("BEGIN; INSERT INTO r VALUES (1); UPDATE r SET a = 2; INSERT INTO r VALUES (5)")
        assert follower.changes().num_rows == 0
        db.execute("DELETE FROM r WHERE a = 5; COMMIT")
        assert follower.changes().to_pylist() == [{"a": 2, "multiplicity": 1}]


def test_a_transaction_that_failed_is_rolled_back() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT)")
    db.execute("BEGIN; INSERT INTO r VALUES (1)")
    with pytest.raises(errors.UnknownColumnError):
        db.execute("UPDATE r SET b = 1")
    with pytest.raises(errors.QueryError, match="ROLLBACK ends it"):
        db.execute("INSERT INTO r VALUES (2)")
    db.execute("ROLLBACK")
    assert len(db.tables["r"]) == 0
    db.execute("BEGIN; INSERT INTO r VALUES (1)")
    with pytest.raises(errors.InvalidValueError):
        db.execute("INSERT INTO r VALUES ('x')")
    with pytest.raises(errors.QueryError, match="undone"):
        db.execute("COMMIT")
    db.execute("INSERT INTO r VALUES (3)")
    assert rows(db.tables["r"].to_arrow()) == [(3,)]


def test_what_must_not_be_null_is_told_at_once() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT NOT NULL, b INT); BEGIN; INSERT INTO r VALUES (1, 1)")
    with pytest.raises(errors.NullKeyError, match="row 1: NULL in column"):
        db.execute("INSERT INTO r VALUES (2, '2'), (NULL, 3)")
    db.execute("ROLLBACK")


def test_keys_are_checked_at_commit_and_then_nothing_is_done() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT PRIMARY KEY); INSERT INTO r VALUES (1)")
    db.execute("BEGIN; INSERT INTO r VALUES (2); INSERT INTO r VALUES (1)")
    with pytest.raises(errors.DuplicateKeyError):
        db.execute("COMMIT")
    assert rows(db.tables["r"].to_arrow()) == [(1,)]
    db.execute("BEGIN; COMMIT")


def test_what_another_took_away_meanwhile_is_refused_at_commit() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT); INSERT INTO r VALUES (1)")
    db.execute("BEGIN; UPDATE r SET a = a + 1")
    db.delete("r", {"a": [1]})
    with pytest.raises(errors.OverDeleteError):
        db.execute("COMMIT")
    assert len(db.tables["r"]) == 0


def test_updates_of_several_threads_lose_nothing() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT); INSERT INTO r VALUES (0)")

    def add() -> None:
        for _ in range(50):
            db.execute("UPDATE r SET a = a + 1")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(db.tables["r"].to_arrow()) == [(200,)]


def test_update_and_delete_of_python() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (id INT PRIMARY KEY, x INT, s TEXT)")
    db.insert("r", {"id": [1, 2, 3], "x": [10, 20, 30], "s": ["a", "b", "c"]})
    changed = db.update(
        "r", {"x": "x + ?", "s": "s || 'z' -- so"}, where="id < ?", parameters=[5, 3]
    )
    assert changed == 2
    assert db.tables["r"].get({"id": 2}) == {"id": 2, "x": 25, "s": "bz"}
    assert db.update("r", {"x": "0"}, where="true", batch_id=7) == 3
    assert db.update("r", {"x": "x + 1"}, where="true", batch_id=7) == 0
    assert db.delete("r", where="s LIKE 'b%' -- these") == 1
    with db.transaction() as tx:
        tx.insert("r", {"id": [9], "x": [1], "s": ["n"]})
        assert tx.update("r", {"x": "x + 1"}, where="id = 9") == 1
        assert tx.delete("r", where="id = 1") == 1
        assert tx.delete("r", where="id = 1") == 0
    assert rows(db.tables["r"].to_arrow()) == [(3, 0, "c"), (9, 2, "n")]
    with db.transaction(net=True) as tx:
        tx.delete("r", {"id": [5], "x": [5], "s": [None]})
        tx.insert("r", {"id": [5, 6], "x": [5, 6], "s": [None, None]})
        assert tx.delete("r", where="x >= 5") == 1
    assert len(db.tables["r"]) == 2


def test_functions_of_the_user_in_statements() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a BIGINT); INSERT INTO r VALUES (1), (2)")
    db.create_function("twice", lambda a: [2 * x.as_py() for x in a], ["int64"], "int64")
    db.execute("UPDATE r SET a = twice(a) WHERE twice(a) > 2")
    db.execute("INSERT INTO r SELECT twice(a) FROM r")
    assert rows(db.tables["r"].to_arrow()) == [(1,), (2,), (4,), (8,)]


def test_rows_that_leave_with_time_leave_statements_too() -> None:
    db = rv.Database()
    db.advance("2026-03-09")
    db.execute("CREATE TABLE r (day DATE, a INT) WITH (keep_for = '2 days')")
    db.execute("INSERT INTO r VALUES ('2026-03-01', 1), ('2026-03-08', 2)")
    assert rows(db.tables["r"].to_arrow()) == [(date(2026, 3, 8), 2)]
    db.execute("UPDATE r SET day = day - 5")
    assert len(db.tables["r"]) == 0


def test_a_sample_is_not_read_behind_what_it_has_not_drawn() -> None:
    db = rv.Database()
    db.execute("CREATE TABLE r (a INT); INSERT INTO r VALUES (1)")
    db.create_sample("s", "SELECT a FROM r", k=1, seed=1)
    db.execute("BEGIN; SELECT * FROM s; INSERT INTO r VALUES (2)")
    with pytest.raises(errors.UnsupportedError, match="commit first"):
        db.execute("SELECT * FROM s")
    db.execute("ROLLBACK")
