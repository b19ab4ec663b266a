"""Cursors of SQL over PostgreSQL's protocol: their rows, their moves, their end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg
from ringview.serve.postgres import PostgresServer
from wire_clients import connect, needs_psql, psql, shop


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    db = shop()
    db.create_table("n", {"i": "int64"})
    db.insert("n", {"i": range(1, 8)})
    with PostgresServer(db, port=0, writable=True) as made:
        yield made


@pytest.fixture
def client(server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    with connect(server) as made:
        yield made


DECLARE = "DECLARE c CURSOR FOR SELECT i FROM n ORDER BY i"


@pytest.mark.parametrize(
    ("moves", "wanted"),
    [
        (["FETCH c", "FETCH NEXT FROM c", "FETCH 2 IN c"], [[1], [2], [3, 4]]),
        (["FETCH FORWARD 5 FROM c", "FETCH ALL c", "FETCH c"], [[1, 2, 3, 4, 5], [6, 7], []]),
        (["FETCH FORWARD ALL FROM c", "FETCH PRIOR c"], [[1, 2, 3, 4, 5, 6, 7], [7]]),
        (["FETCH 3 c", "FETCH BACKWARD 2 c", "FETCH PRIOR c"], [[1, 2, 3], [2, 1], []]),
        (["FETCH 3 c", "FETCH -1 c", "FETCH 0 c", "FETCH c"], [[1, 2, 3], [2], [2], [3]]),
        (["FETCH LAST c", "FETCH BACKWARD ALL c", "FETCH c"], [[7], [6, 5, 4, 3, 2, 1], [1]]),
        (["FETCH ABSOLUTE 3 c", "FETCH RELATIVE 2 c"], [[3], [5]]),
        (["FETCH ABSOLUTE -2 c", "FETCH RELATIVE -9 c", "FETCH FIRST c"], [[6], [], [1]]),
        (["FETCH ABSOLUTE 9 c", "FETCH ABSOLUTE 0 c", "FETCH 0 c"], [[], [], []]),
    ],
)
def test_how_cursors_go(
    client: psycopg.Connection[Any], moves: list[str], wanted: list[list[int]]
) -> None:
    with client.transaction():
        assert client.execute(DECLARE).statusmessage == "DECLARE CURSOR"
        found = [client.execute(move) for move in moves]
        assert [[row[0] for row in one.fetchall()] for one in found] == wanted
        assert [one.statusmessage for one in found] == [f"FETCH {len(rows)}" for rows in wanted]


def test_moves_pass_rows_and_give_none(client: psycopg.Connection[Any]) -> None:
    with client.transaction():
        client.execute(DECLARE)
        assert client.execute("MOVE 3 FROM c").statusmessage == "MOVE 3"
        assert client.execute("FETCH c").fetchall() == [(4,)]
        assert client.execute("MOVE FORWARD ALL IN c").statusmessage == "MOVE 3"
        assert client.execute("MOVE BACKWARD ALL IN c").statusmessage == "MOVE 7"
        assert client.execute("CLOSE c").statusmessage == "CLOSE CURSOR"
        with pytest.raises(pg.InvalidCursorName), client.transaction():
            client.execute("FETCH c")


def test_the_rows_are_those_of_the_moment(client: psycopg.Connection[Any]) -> None:
    with client.transaction():
        client.execute("DECLARE held CURSOR WITH HOLD FOR SELECT a FROM r ORDER BY id")
        client.execute("INSERT INTO r VALUES (7, 'seven', 1)")
        assert len(client.execute("FETCH ALL held").fetchall()) == 3
    client.execute("DELETE FROM r WHERE id = 7")
    assert client.execute("FETCH PRIOR held").fetchall() == [("two",)]
    assert client.execute("CLOSE ALL").statusmessage == "CLOSE CURSOR ALL"
    with pytest.raises(pg.InvalidCursorName):
        client.execute("FETCH held")


def test_cursors_end_with_their_transaction(client: psycopg.Connection[Any]) -> None:
    def is_there(name: str) -> bool:
        query = "SELECT 1 FROM pg_catalog.pg_cursors WHERE name = %s"
        return client.execute(query, [name]).fetchone() is not None

    def is_open(name: str) -> bool:
        try:
            with client.transaction():
                client.execute(f"FETCH {name}")
        except pg.InvalidCursorName:
            return False
        return True

    with client.transaction():
        client.execute(DECLARE)
        client.execute("DECLARE h CURSOR WITH HOLD FOR SELECT 1 AS one")
        assert is_there("c")
    assert (is_open("c"), is_open("h"), is_there("h")) == (False, True, True)
    with pytest.raises(ZeroDivisionError), client.transaction():
        client.execute("DECLARE i CURSOR WITH HOLD FOR SELECT 1 AS one")
        raise ZeroDivisionError
    assert (is_open("i"), is_open("h")) == (False, True)
    with client.transaction():
        client.execute(DECLARE)
        with pytest.raises(ZeroDivisionError), client.transaction():
            client.execute("DECLARE j CURSOR FOR SELECT 1 AS one")
            raise ZeroDivisionError
        assert (is_open("c"), is_open("j")) == (True, False)
    client.execute("DISCARD ALL")
    assert not is_there("h")


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        (DECLARE, pg.NoActiveSqlTransaction),
        ("DECLARE c BINARY CURSOR WITH HOLD FOR SELECT 1", pg.FeatureNotSupported),
        ("DECLARE c CURSOR WITH HOLD FOR DELETE FROM r", pg.InvalidCursorDefinition),
        ("DECLARE c CURSOR WITH HOLD FOR SHOW TimeZone", pg.InvalidCursorDefinition),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT * FROM nope", pg.UndefinedTable),
        ("DECLARE c CURSOR WITH HOLD", pg.SyntaxError),
        ("DECLARE c FOR SELECT 1", pg.SyntaxError),
        ("DECLARE c FAST CURSOR FOR SELECT 1", pg.SyntaxError),
        ("FETCH SIDEWAYS FROM c", pg.SyntaxError),
        ("FETCH FORWARD many FROM c", pg.SyntaxError),
        ("FETCH ABSOLUTE FROM c", pg.SyntaxError),
        ("FETCH 'c'", pg.SyntaxError),
        ("FETCH", pg.SyntaxError),
        ("MOVE c", pg.InvalidCursorName),
        ("CLOSE c", pg.InvalidCursorName),
    ],
)
def test_what_is_no_cursor(
    client: psycopg.Connection[Any], sql: str, error: type[psycopg.Error]
) -> None:
    with pytest.raises(error):
        client.execute(sql)
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_what_a_cursor_does_not_do(client: psycopg.Connection[Any]) -> None:
    client.execute("DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT 1 AS one")
    with pytest.raises(pg.DuplicateCursor):
        client.execute("DECLARE c CURSOR WITH HOLD FOR SELECT 1 AS one")
    client.execute("FETCH ALL c")
    with pytest.raises(pg.ObjectNotInPrerequisiteState, match="only scan forward"):
        client.execute("FETCH PRIOR c")
    with pytest.raises(psycopg.Error):
        client.execute("MOVE BACKWARD ALL c")


@pytest.mark.parametrize("binary", [False, True])
def test_cursors_of_psycopg(client: psycopg.Connection[Any], binary: bool) -> None:
    query = "SELECT i, i * 2 AS twice FROM n WHERE i > %s ORDER BY i"
    wanted = [(i, 2 * i) for i in range(3, 8)]
    with client.transaction(), client.cursor("named") as cursor:
        cursor.itersize = 2
        cursor.execute(query, [2], binary=binary)
        assert [column.name for column in cursor.description or []] == ["i", "twice"]
        assert list(cursor) == wanted
    with client.cursor("held", withhold=True, scrollable=True) as cursor:
        cursor.execute(query, [2], binary=binary)
        assert cursor.fetchmany(3) == wanted[:3]
        cursor.scroll(0, mode="absolute")
        assert cursor.fetchone() == wanted[0]
        cursor.scroll(2)
        assert cursor.fetchall() == wanted[3:]
    # One that SQL declared is taken over, too.
    with client.transaction():
        client.execute(DECLARE)
        with client.cursor("c") as cursor:
            assert cursor.fetchmany(2) == [(1,), (2,)]


def test_a_cursor_of_the_catalogue(client: psycopg.Connection[Any]) -> None:
    query = "DECLARE c CURSOR WITH HOLD FOR SELECT relname FROM pg_class WHERE relname = %s"
    client.execute(query, ["r"])
    assert client.execute("FETCH ALL c").fetchall() == [("r",)]


@needs_psql
def test_psql_fetches_in_parts(server: PostgresServer) -> None:
    script = "\\set FETCH_COUNT 2\nSELECT i FROM n ORDER BY i;\n"
    shown = psql(server, script, "-At")
    assert shown == "1\n2\n3\n4\n5\n6\n7\n"
