"""COPY over PostgreSQL's protocol: rows copied out, and views that are subscribed to."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest
import ringview as rv
from psycopg import errors as pg
from ringview.serve.postgres import PostgresServer
from wire_clients import by_hand, connect, message, needs_psql, psql, read_until, shop, until

Row = tuple[str | None, ...]


class Subscriber:
    """A client that subscribes in a thread of its own, and adds up what it is given."""

    def __init__(self, server: PostgresServer, copy: str) -> None:
        self.client = connect(server)
        self.rows: list[Row] = []
        self.state: Counter[Row] = Counter()
        self.failed: psycopg.Error | None = None
        self._thread = threading.Thread(target=self._read, args=(copy,))
        self._thread.start()

    def _read(self, copy: str) -> None:
        try:
            with self.client.cursor().copy(copy) as rows:
                for row in rows.rows():
                    self.rows.append(row)
                    self.state[row[1:]] += int(row[0])
                    if not self.state[row[1:]]:
                        del self.state[row[1:]]
        except psycopg.Error as problem:
            self.failed = problem

    def end(self) -> None:
        while self._thread.is_alive():
            self.client.cancel_safe()
            self._thread.join(0.2)
        self.client.close()


@pytest.fixture
def db() -> rv.Database:
    return shop()


@pytest.fixture
def server(db: rv.Database) -> Iterator[PostgresServer]:
    with PostgresServer(db, port=0, writable=True) as made:
        yield made


def test_a_subscriber_sees_what_is_committed(db: rv.Database, server: PostgresServer) -> None:
    reader = Subscriber(server, "COPY (SUBSCRIBE v) TO STDOUT")
    until(lambda: len(reader.rows) == 2)
    assert sorted(reader.rows, key=str) == [("1", "one", "2"), ("1", "two", "1")]
    writer = threading.Thread(target=db.insert, args=("r", {"id": [3], "a": ["one"], "x": [1.0]}))
    writer.start()
    until(lambda: len(reader.rows) == 4)
    assert sorted(reader.rows[2:], key=str) == [("-1", "one", "2"), ("1", "one", "3")]
    with connect(server) as client:
        client.execute("BEGIN")
        client.execute("DELETE FROM r WHERE a = 'one'")
        client.execute("INSERT INTO r (id) VALUES (9)")
        client.execute("COMMIT")
    until(lambda: reader.state == {("two", "1"): 1, (None, "1"): 1})
    reader.end()
    assert isinstance(reader.failed, pg.QueryCanceled)
    writer.join()


def test_without_its_rows_only_what_changes_comes(db: rv.Database, server: PostgresServer) -> None:
    reader = Subscriber(server, "COPY (SUBSCRIBE v WITH (SNAPSHOT false)) TO STDOUT")
    inserted = 3
    # It follows from some moment on, which only a change that it receives shows.
    while not reader.rows:
        db.insert("r", {"id": [inserted], "a": ["three"], "x": [1.0]})
        inserted += 1
        reader._thread.join(0.05)
    assert all(row[1] == "three" for row in reader.rows)
    reader.end()


def test_a_subscription_ends_with_its_view(db: rv.Database, server: PostgresServer) -> None:
    reader = Subscriber(server, 'COPY (SUBSCRIBE TO public."v") TO STDOUT WITH (FORMAT text)')
    until(lambda: len(reader.rows) == 2)
    db.drop_view("v")
    reader._thread.join(60)
    assert (reader.failed, reader._thread.is_alive()) == (None, False)
    assert reader.client.execute("SELECT 1").fetchone() == (1,)
    reader.client.close()


def test_a_client_that_is_killed_is_followed_no_longer(
    db: rv.Database, server: PostgresServer
) -> None:
    made = by_hand(server)
    made.sendall(message(b"Q", b"COPY (SUBSCRIBE v) TO STDOUT\0"))
    read_until(made, b"d")
    made.close()
    until(lambda: server.connections == 0)
    db.insert("r", {"id": [3], "a": ["one"], "x": [1.0]})


def test_a_subscription_by_the_extended_protocol(server: PostgresServer) -> None:
    with by_hand(server) as made:
        parse = message(b"P", b"\0COPY (SUBSCRIBE v) TO STDOUT\0\0\0")
        bind = message(b"B", b"\0\0\0\0\0\0\0\0") + message(b"E", b"\0\0\0\0\0")
        made.sendall(parse + bind + message(b"S", b""))
        found = read_until(made, b"d")
    assert [kind for kind, _ in found] == [b"1", b"2", b"H", b"d"]
    # Text, of three columns.
    assert found[2][1] == b"\0\0\3" + b"\0\0" * 3


def test_a_slow_client_holds_nobody_up(db: rv.Database, server: PostgresServer) -> None:
    db.create_view("w", "SELECT id, a, x FROM r")
    with by_hand(server) as made:
        made.sendall(message(b"Q", b"COPY (SUBSCRIBE w) TO STDOUT\0"))
        read_until(made, b"d")
        # More than what the sockets hold, and never read.
        for start in range(10, 50_010, 10_000):
            ids = range(start, start + 10_000)
            db.insert("r", {"id": ids, "a": ["x" * 100] * 10_000, "x": [1.0] * 10_000})
        with connect(server) as client:
            assert client.execute("SELECT COUNT(*) FROM r").fetchone() == (50_003,)
    until(lambda: server.connections == 0)


def test_rows_are_copied_out(server: PostgresServer) -> None:
    with connect(server) as client:
        for copied in (
            "COPY (SELECT id, x FROM r WHERE id > 0 ORDER BY id) TO STDOUT",
            "COPY s (k) TO STDOUT",
            "COPY (SELECT relname FROM pg_class WHERE relkind = 'v') TO STDOUT (FORMAT text)",
        ):
            with client.cursor().copy(copied) as rows:
                found = [bytes(row) for row in rows]
            wanted = {"COPY (SELECT id": [b"1\t1.5\n", b"2\t\\N\n"], "COPY s (k) TO S": []}
            assert found == wanted.get(copied[:15], [b"v\n"])


@pytest.mark.parametrize(
    ("copy", "error"),
    [
        ("COPY (SUBSCRIBE nope) TO STDOUT", pg.UndefinedTable),
        ("COPY (SUBSCRIBE v WITH (SNAPSHOT maybe)) TO STDOUT", pg.InvalidParameterValue),
        ("COPY (SUBSCRIBE v WITH (PROGRESS true)) TO STDOUT", pg.FeatureNotSupported),
        ("COPY (SUBSCRIBE v) TO STDOUT WITH (FORMAT json)", pg.InvalidParameterValue),
        ("COPY (SUBSCRIBE) TO STDOUT", pg.FeatureNotSupported),
        ("COPY v TO '/tmp/x'", pg.FeatureNotSupported),
        ("COPY v", pg.FeatureNotSupported),
        ("COPY (SELECT nope FROM r) TO STDOUT", pg.UndefinedColumn),
        ("COPY (BEGIN) TO STDOUT", pg.FeatureNotSupported),
        ("COPY (DELETE FROM r) TO STDOUT", pg.FeatureNotSupported),
        ("SUBSCRIBE v", pg.FeatureNotSupported),
    ],
)
def test_what_is_not_copied_is_refused(
    server: PostgresServer, copy: str, error: type[psycopg.Error]
) -> None:
    with connect(server) as client:
        with pytest.raises(error):
            client.execute(copy)
        assert client.execute("SELECT 1").fetchone() == (1,)


@needs_psql
def test_psql_copies(server: PostgresServer) -> None:
    script = "\\copy (SELECT a, n FROM v ORDER BY a) TO STDOUT\nCOPY v TO STDOUT;\n"
    shown = psql(server, script)
    assert shown.startswith("one\t2\ntwo\t1\n")
    assert len(shown.splitlines()) == 4
