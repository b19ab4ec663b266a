"""Many clients of PostgreSQL's protocol: readers, subscribers, a writer, some that die."""

from __future__ import annotations

import random
import threading
from collections import Counter

import psycopg
import pytest
import ringview as rv
from ringview.serve.postgres import PostgresServer
from test_serve_postgres_subscribe import Row, Subscriber
from wire_clients import by_hand, connect, message, until


def write(server: PostgresServer, rounds: int, seed: int) -> None:
    """Transactions of inserts, updates and deletes, some of which are rolled back."""
    chosen = random.Random(seed)
    with connect(server) as client:
        for number in range(rounds):
            client.execute("BEGIN")
            for _ in range(chosen.randrange(1, 5)):
                key, group = chosen.randrange(200), chosen.randrange(8)
                done = client.execute("UPDATE r SET a = %s WHERE id = %s", [f"g{group}", key])
                if done.rowcount == 0:
                    client.execute("INSERT INTO r VALUES (%s, %s, %s)", [key, f"g{group}", 0.5])
                elif chosen.random() < 0.3:
                    client.execute("DELETE FROM r WHERE id = %s", [key])
            client.execute("ROLLBACK" if number % 7 == 0 else "COMMIT")


def read(server: PostgresServer, stop: threading.Event, wrong: list[object]) -> None:
    """Reads in which the view and its table must agree: each is as of one commit."""
    query = """SELECT (SELECT COUNT(*) FROM r) AS rows, (SELECT SUM(n) FROM v) AS counted"""
    with connect(server) as client:
        while not stop.is_set():
            rows, counted = client.execute(query).fetchone() or (None, None)
            if rows != (counted or 0):
                wrong.append((rows, counted))
            client.execute("SELECT relname FROM pg_class WHERE relkind = 'v'").fetchall()


@pytest.mark.parametrize("rounds", [30, pytest.param(1500, marks=pytest.mark.long)])
def test_what_subscribers_replay_is_the_view(rounds: int) -> None:
    db = rv.Database()
    db.create_table("r", {"id": "int64", "a": "string", "x": "float64"}, unique="id")
    db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    db.create_view("w", "SELECT id, a FROM r")
    with PostgresServer(db, port=0, writable=True) as server:
        subscribers = [
            Subscriber(server, f"COPY (SUBSCRIBE {view}) TO STDOUT") for view in "vwvwvw"
        ]
        stop, wrong = threading.Event(), list[object]()
        readers = [threading.Thread(target=read, args=(server, stop, wrong)) for _ in range(3)]
        writer = threading.Thread(target=write, args=(server, rounds, rounds))
        for thread in (*readers, writer):
            thread.start()
        # Clients that die in the middle of what they are given.
        while writer.is_alive():
            with by_hand(server) as made:
                made.sendall(message(b"Q", b"COPY (SUBSCRIBE w) TO STDOUT\0"))
                made.recv(100)
            writer.join(0.5)
        stop.set()
        for thread in readers:
            thread.join()
        for view, all_of in (("v", subscribers[::2]), ("w", subscribers[1::2])):
            rows = [row.values() for row in db[view].to_arrow().to_pylist()]
            wanted = Counter[Row](tuple(str(value) for value in row) for row in rows)
            for subscriber in all_of:
                until(lambda of=subscriber, to=wanted: of.state == to)  # type: ignore[misc]
        for subscriber in subscribers:
            subscriber.end()
            assert isinstance(subscriber.failed, psycopg.errors.QueryCanceled)
        until(lambda: server.connections == 0)
    assert wrong == []
    assert db["v"].followers == db["w"].followers == []
