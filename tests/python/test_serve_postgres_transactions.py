"""Transactions over PostgreSQL's protocol: whose they are, what they see, how they end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import ringview as rv
from psycopg import errors as pg
from ringview.serve.postgres import PostgresServer
from wire_clients import connect, needs_psql, psql, shop


def status(client: psycopg.Connection[Any]) -> str:
    """Status of a connection's transaction, by its server."""
    return client.info.transaction_status.name


@pytest.fixture
def db() -> rv.Database:
    return shop()


@pytest.fixture
def server(db: rv.Database) -> Iterator[PostgresServer]:
    with PostgresServer(db, port=0, writable=True) as made:
        yield made


def test_a_transaction_is_seen_by_its_own_connection_until_it_commits(
    db: rv.Database, server: PostgresServer
) -> None:
    with connect(server) as one, connect(server) as two:
        count = "SELECT COUNT(*) FROM r"
        assert status(one) == "IDLE"
        one.execute("BEGIN")
        assert status(one) == "INTRANS"
        one.execute("INSERT INTO r VALUES (3, 'three', 1)")
        one.execute("UPDATE r SET x = 9 WHERE id = 0")
        one.execute("DELETE FROM r WHERE id = 1")
        assert one.execute("SELECT id, x FROM r ORDER BY id").fetchall() == [
            *((0, 9.0), (2, None), (3, 1.0)),
        ]
        assert two.execute(count).fetchone() == (3,)
        assert two.execute("SELECT n FROM v WHERE a = 'one'").fetchone() == (2,)
        assert len(db.tables["r"]) == 3
        one.execute("COMMIT")
        assert status(one) == "IDLE"
        assert two.execute("SELECT n FROM v WHERE a = 'one'").fetchone() == (1,)


def test_what_is_rolled_back_was_never_there(db: rv.Database, server: PostgresServer) -> None:
    with connect(server, autocommit=False) as client:
        client.execute("DELETE FROM r")
        client.rollback()
        assert client.execute("SELECT COUNT(*) FROM r").fetchone() == (3,)
    assert len(db.tables["r"]) == 3


def test_after_an_error_only_the_end_is_left(db: rv.Database, server: PostgresServer) -> None:
    with connect(server) as client:
        client.execute("BEGIN")
        client.execute("DELETE FROM r")
        with pytest.raises(pg.UndefinedTable):
            client.execute("SELECT * FROM nope")
        assert status(client) == "INERROR"
        with pytest.raises(pg.InFailedSqlTransaction):
            client.execute("SELECT 1")
        assert client.execute("COMMIT").statusmessage == "ROLLBACK"
        assert status(client) == "IDLE"
    assert len(db.tables["r"]) == 3


def test_an_error_of_the_protocol_fails_the_transaction_too(server: PostgresServer) -> None:
    with connect(server) as client:
        client.execute("BEGIN")
        result = client.pgconn.exec_prepared(b"nobody", [])
        assert result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"26000"
        assert status(client) == "INERROR"
        with pytest.raises(pg.InFailedSqlTransaction):
            client.execute("SELECT 1")
        client.execute("ROLLBACK")


def test_who_is_second_with_the_same_rows_tries_again(
    db: rv.Database, server: PostgresServer
) -> None:
    with connect(server) as one, connect(server) as two:
        for client in (one, two):
            client.execute("BEGIN")
            client.execute("UPDATE r SET x = x + 1 WHERE id = 0")
        one.execute("COMMIT")
        with pytest.raises(pg.SerializationFailure):
            two.execute("COMMIT")
        assert status(two) == "IDLE"
        two.execute("UPDATE r SET x = x + 1 WHERE id = 0")
    assert db.tables["r"].get({"id": 0}) == {"id": 0, "a": "one", "x": 2.5}


def test_a_key_that_came_meanwhile_is_a_violation_at_commit(server: PostgresServer) -> None:
    with connect(server) as one, connect(server) as two:
        for client in (one, two):
            client.execute("BEGIN")
            client.execute("INSERT INTO r VALUES (7, 'seven', 7)")
        one.execute("COMMIT")
        with pytest.raises(pg.UniqueViolation):
            two.execute("COMMIT")


def test_savepoints(db: rv.Database, server: PostgresServer) -> None:
    with connect(server) as client, client.transaction():
        client.execute("INSERT INTO r VALUES (3, 'three', 1)")
        with pytest.raises(pg.UndefinedTable), client.transaction():
            client.execute("DELETE FROM r")
            client.execute("SELECT * FROM nope")
        with client.transaction():
            client.execute("INSERT INTO r VALUES (4, 'four', 1)")
        assert client.execute("SELECT COUNT(*) FROM r").fetchone() == (5,)
    assert len(db.tables["r"]) == 5
    with connect(server) as client:
        with pytest.raises(pg.NoActiveSqlTransaction):
            client.execute("SAVEPOINT a")
        client.execute("BEGIN")
        with pytest.raises(pg.InvalidSavepointSpecification):
            client.execute("ROLLBACK TO SAVEPOINT a")


def test_definitions_in_a_transaction(db: rv.Database, server: PostgresServer) -> None:
    with connect(server) as client, connect(server) as other:
        client.execute("BEGIN")
        client.execute("CREATE TABLE t (a bigint PRIMARY KEY, b text)")
        with client.cursor() as cursor, cursor.copy("COPY t (a, b) FROM STDIN") as copy:
            copy.write_row((1, "one"))
            copy.write_row((2, "two"))
        client.execute("CREATE VIEW w AS SELECT b, COUNT(*) AS n FROM t, r GROUP BY b")
        found = client.execute("UPDATE t SET b = b || %s RETURNING a, b", ["!"]).fetchall()
        assert sorted(found) == [(1, "one!"), (2, "two!")]
        with pytest.raises(pg.UndefinedTable), client.transaction():
            client.execute("DROP VIEW w")
            client.execute("SELECT * FROM w")
        assert client.execute("SELECT n FROM w ORDER BY b").fetchall() == [(3,), (3,)]
        with pytest.raises(pg.UndefinedTable):
            other.execute("SELECT * FROM t")
        client.execute("COMMIT")
        other.execute("ROLLBACK")
        assert other.execute("SELECT a FROM t ORDER BY a").fetchall() == [(1,), (2,)]
        # A script is one transaction, where it says nothing else.
        with pytest.raises(pg.UndefinedTable):
            client.execute("DROP VIEW w; CREATE TABLE x (a int); DELETE FROM nope")
        client.execute("BEGIN; DROP TABLE t CASCADE; ROLLBACK")
    assert sorted(db.views) == sorted({*db.views, "w"})
    assert "x" not in db.tables


def test_begin_and_commit_out_of_place_are_warned_of(server: PostgresServer) -> None:
    with connect(server) as client:
        said: list[str | None] = []
        client.add_notice_handler(lambda notice: said.append(notice.sqlstate))
        client.execute("COMMIT")
        client.execute("BEGIN")
        client.execute("START TRANSACTION READ ONLY")
        client.execute("ABORT")
        client.execute("END")
        assert said == ["25P01", "25001", "25P01"]


def test_a_connection_that_ends_takes_its_transaction_along(server: PostgresServer) -> None:
    gone = connect(server)
    gone.execute("BEGIN")
    gone.execute("DELETE FROM r")
    gone.close()
    with connect(server) as client:
        assert client.execute("SELECT COUNT(*) FROM r").fetchone() == (3,)


def test_a_transaction_of_the_process_is_no_client_s(
    db: rv.Database, server: PostgresServer
) -> None:
    db.execute("BEGIN; DELETE FROM r")
    with connect(server) as client:
        assert status(client) == "IDLE"
        client.execute("INSERT INTO r VALUES (3, 'three', 1)")
        assert client.execute("SELECT COUNT(*) FROM r").fetchone() == (4,)
    db.execute("ROLLBACK")
    assert len(db.tables["r"]) == 4


@needs_psql
def test_psql_knows_where_it_is(server: PostgresServer) -> None:
    script = "BEGIN;\nSELECT nope;\n\\echo :SQLSTATE\nROLLBACK;\nSELECT 1 AS one;\n"
    shown = psql(server, script)
    assert "42703" in shown
    assert "(1 row)" in shown
