"""Connections of PostgreSQL's protocol: who is let in, how many, how long, and how they end."""

from __future__ import annotations

import gc
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
import ringview as rv
from psycopg import errors as pg
from ringview import errors
from ringview.serve.postgres import PostgresServer
from tls_files import certified
from wire_clients import by_hand, connect, message, needs_psql, psql, read_until, shop, until

# A query that takes as long as a computer lives.
LONG = "SELECT COUNT(*) FROM big a, big b, big c WHERE a.k + b.k + c.k < 0"


def large() -> rv.Database:
    db = rv.Database()
    db.create_table("big", {"k": "int64"})
    db.insert("big", {"k": range(20_000)})
    return db


def test_a_password_is_asked_for() -> None:
    with PostgresServer(shop(), port=0, password="pässword") as server:
        with connect(server, password="pässword") as client:
            assert client.execute("SELECT 1").fetchone() == (1,)
        for wrong in ("password", ""):
            with pytest.raises(psycopg.OperationalError, match=r"uthentication|password"):
                connect(server, password=wrong)
        until(lambda: server.connections == 0)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_others_reach_wants_a_password(host: str) -> None:
    with pytest.raises(errors.InvalidValueError, match="give a password, or listen on"):
        PostgresServer(shop(), host=host, port=0)
    try:
        with pytest.warns(UserWarning, match="without TLS"):
            server = PostgresServer(shop(), host=host, port=0, password="secret", plain=True)
    except errors.StorageError:
        pytest.skip("there is no such address here")
    server.close()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"port": -1}, "port=-1"),
        ({"port": 70_000}, "port=70000"),
        ({"max_connections": 0}, "max_connections=0"),
        ({"max_message": 10}, "max_message=10"),
        ({"statement_timeout": 0}, "statement_timeout=0"),
        ({"idle_timeout": -1.0}, "idle_timeout"),
        ({"password": ""}, "a password has characters"),
        ({"certificate": ("/nowhere/a.pem", "/nowhere/b.pem")}, "/nowhere/b.pem"),
    ],
)
def test_what_a_server_is_not_started_with(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(errors.InvalidValueError, match=problem):
        PostgresServer(shop(), **{"port": 0, **options})
    with pytest.raises(errors.TypeMismatchError, match="port="):
        PostgresServer(shop(), port="5432")  # type: ignore[arg-type]


def test_an_address_that_is_taken() -> None:
    with PostgresServer(shop(), port=0) as server:
        port = server.address[1]
        with pytest.raises(errors.StorageError, match=str(port)):
            PostgresServer(shop(), port=port)
    with pytest.raises(errors.StorageError, match="cannot serve at"):
        PostgresServer(shop(), host="nowhere.invalid", port=0)


def test_there_are_no_more_connections_than_the_limit() -> None:
    with PostgresServer(shop(), port=0, max_connections=2) as server:
        with connect(server), connect(server) as second:
            assert server.connections == 2
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                connect(server)
            second.close()
            until(lambda: server.connections == 1)
            connect(server).close()
        assert "PostgresServer(127.0.0.1:" in repr(server)


def test_a_statement_is_cancelled() -> None:
    with PostgresServer(large(), port=0) as server, connect(server) as client:
        stop = threading.Event()

        def cancel() -> None:
            while not stop.wait(0.2):
                client.cancel_safe()

        thread = threading.Thread(target=cancel)
        thread.start()
        try:
            with pytest.raises(pg.QueryCanceled, match="user request"):
                client.execute(LONG)
        finally:
            stop.set()
            thread.join()
        assert client.execute("SELECT 1").fetchone() == (1,)


def test_a_statement_that_takes_too_long_is_ended() -> None:
    server = PostgresServer(large(), port=0, statement_timeout=0.3)
    with server, connect(server) as client:
        with pytest.raises(pg.QueryCanceled, match="statement timeout"):
            client.execute(LONG)
        assert client.execute("SELECT 1").fetchone() == (1,)


def test_another_secret_cancels_nothing() -> None:
    with PostgresServer(shop(), port=0) as server, connect(server) as client:
        number = client.info.backend_pid
        with socket.create_connection(server.address, timeout=60) as made:
            made.sendall(struct.pack("!iiii", 16, 80877102, number, 12345))
            assert made.recv(1) == b""
        assert client.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_goes_away_ends_its_statement() -> None:
    with PostgresServer(large(), port=0) as server:
        made = by_hand(server)
        made.sendall(message(b"Q", LONG.encode() + b"\0"))
        made.close()
        until(lambda: server.connections == 0)


def test_who_does_nothing_is_let_go() -> None:
    with PostgresServer(shop(), port=0, idle_timeout=0.2) as server, by_hand(server) as made:
        [(kind, body)] = read_until(made, b"?")
        assert kind == b"E"
        assert b"C57P05\0" in body


def test_a_message_that_is_too_long_is_not_read() -> None:
    with PostgresServer(shop(), port=0, max_message=2048) as server, by_hand(server) as made:
        made.sendall(b"Q" + struct.pack("!i", 1 << 20))
        [(kind, body)] = read_until(made, b"?")
        assert kind == b"E"
        assert b"SFATAL\0" in body


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x08\x00\x00\x00\x00", b"\xff" * 64, b"\0\0\0\x04"],
)
def test_what_is_no_client_harms_nobody(sent: bytes) -> None:
    with PostgresServer(shop(), port=0) as server:
        with socket.create_connection(server.address, timeout=60) as made:
            made.sendall(sent)
            made.shutdown(socket.SHUT_WR)
            while made.recv(1000):
                pass
        until(lambda: server.connections == 0)
        with by_hand(server) as made:
            made.sendall(message(b"?", b"what"))
            read_until(made, b"?")
        connect(server).close()


def test_a_server_that_is_closed_ends_what_runs() -> None:
    server = PostgresServer(large(), port=0)
    client = connect(server)
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            client.execute(LONG)
        except psycopg.Error as problem:
            ended.append(problem)

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: server.connections == 1)
    server.close()
    thread.join(60)
    assert len(ended) == 1
    server.close()
    assert (repr(server), server.connections) == ("PostgresServer(closed)", 0)
    with pytest.raises(psycopg.OperationalError):
        connect(server)


def test_a_database_that_is_closed_is_said_to_be() -> None:
    db = shop()
    with PostgresServer(db, port=0) as server, connect(server) as client:
        db.close()
        with pytest.raises(psycopg.Error, match="closed"):
            client.execute("SELECT * FROM r")


def test_a_program_that_ends_does_not_wait_for_its_server() -> None:
    code = (
        "import ringview as rv; from ringview.serve.postgres import PostgresServer\n"
        "server = PostgresServer(rv.Database(), port=0)\n"
        "import psycopg\n"
        "client = psycopg.connect(host='127.0.0.1', port=server.address[1], user='me')\n"
        "print(client.execute('SELECT 1').fetchone())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "(1,)\n"
    gc.collect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_leaves_the_server_to_its_parent() -> None:
    code = (
        "import os, ringview as rv; from ringview.serve.postgres import PostgresServer\n"
        "server = PostgresServer(rv.Database(), port=0)\n"
        "child = os.fork()\n"
        "if child:\n"
        "    print(os.waitpid(child, 0)[1])\n"
        "    import psycopg\n"
        "    psycopg.connect(host='127.0.0.1', port=server.address[1], user='me').close()\n"
        "server.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "0\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certified(tmp_path_factory.mktemp("certificate"))


def test_connections_by_tls(certificate: tuple[Path, Path]) -> None:
    with PostgresServer(shop(), port=0, password="secret", certificate=certificate) as server:
        for mode in ("require", "prefer", "disable"):
            with connect(server, password="secret", sslmode=mode) as client:
                assert client.pgconn.ssl_in_use == (mode != "disable")
                assert client.execute("SELECT COUNT(*) FROM r").fetchone() == (3,)
        context = ssl.create_default_context(cafile=str(certificate[0]))
        assert context.cert_store_stats()["x509"] == 1
    with PostgresServer(shop(), port=0) as server, pytest.raises(psycopg.Error, match="SSL"):
        connect(server, sslmode="require")


@needs_psql
def test_psql_with_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with PostgresServer(shop(), port=0, password="secret") as server:
        monkeypatch.setenv("PGPASSWORD", "secret")
        assert "(1 row)" in psql(server, "SELECT 1;")
        monkeypatch.setenv("PGPASSWORD", "other")
        assert "assword authentication failed" in psql(server, "SELECT 1;")
