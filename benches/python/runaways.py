"""Seconds until queries that would last or take all memory end; print a table.

    python benches/python/runaways.py [--only WORD]

Each kind of query is ended in four ways: by `memory_limit`, by Ctrl-C, by the `timeout` of HTTP
(`statement_timeout` of PostgreSQL's protocol), and by a client that disconnects. Invariant: each
run is a process of its own, as a query that does not end must not change the next. Seconds are from
the moment of the signal, the timeout or the disconnection to the moment at which the query has
ended; for `memory_limit` from the beginning. A dash: it ended before. `> 30`: it had not ended.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

import psycopg
import ringview as rv
from ringview.serve.postgres import PostgresServer

QUERIES = {
    "cross join of 10^12 pairs": "SELECT count(*) AS n FROM big a, big b WHERE a.k + b.k < 0",
    "`range(300000000)`": "SELECT sum(x) AS s FROM (SELECT unnest(range(300000000)) AS x FROM one)",
    "`repeat('x', 10^9)`": "SELECT max(length(repeat(s, 1000000000))) AS n FROM one",
    "`string_agg` of 100 MB": "SELECT length(string_agg(repeat('x', 1000), ',')) AS n FROM some",
    "regular expression, texts of 1 kB": (
        "SELECT count(*) AS n FROM some WHERE (repeat('a', 1000) || k) ~ '(a|aa)+b(a*)*c'"
    ),
    "regular expression, texts of 20 kB": (
        "SELECT count(*) AS n FROM some WHERE (repeat('a', 20000) || k) ~ '(a|aa)+b(a*)*c'"
    ),
}
WAYS = ("memory_limit", "Ctrl-C", "timeout", "client leaves")
LONGEST = 30.0
# Until the signal, the timeout or the disconnection.
BEFORE = 0.5
ROWS = {"big": 1_000_000, "some": 100_000}


def database(limit: str | None) -> rv.Database:
    db = rv.Database(memory_limit=limit)
    for name, rows in ROWS.items():
        db.create_table(name, {"k": "int64"})
        db.insert(name, {"k": range(rows)})
    db.create_table("one", {"s": "string"})
    db.insert("one", [{"s": "x"}])
    return db


def by_memory(sql: str) -> str:
    db = database("80MB")
    begin = time.monotonic()
    try:
        db.sql(sql)
    except rv.errors.OutOfMemoryError:
        return f"{time.monotonic() - begin:.2f}"
    except rv.errors.RingviewError as problem:
        return f"{time.monotonic() - begin:.2f} ({type(problem).__name__})"
    return "-"


def by_signal(sql: str) -> str:
    db = database(None)
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(BEFORE, send)
    timer.start()
    try:
        db.sql(sql)
    except KeyboardInterrupt:
        return f"{time.monotonic() - sent[0]:.2f}"
    except rv.errors.RingviewError as problem:
        timer.cancel()
        return f"- ({type(problem).__name__})"
    timer.cancel()
    return "-"


def by_timeout(sql: str) -> str:
    with PostgresServer(database(None), port=0, statement_timeout=BEFORE) as server:
        host, port = server.address
        with psycopg.connect(host=host, port=port, user="me", autocommit=True) as client:
            begin = time.monotonic()
            try:
                client.execute(sql)
            except psycopg.errors.QueryCanceled:
                return f"{time.monotonic() - begin - BEFORE:.2f}"
            except psycopg.Error as problem:
                return f"- ({problem.sqlstate})"
    return "-"


def by_leaving(sql: str) -> str:
    with PostgresServer(database(None), port=0) as server:
        text = sql.encode() + b"\0"
        startup = struct.pack("!i", 196608) + b"user\0me\0\0"
        with socket.create_connection(server.address) as client:
            client.sendall(struct.pack("!i", len(startup) + 4) + startup)
            while b"Z\0\0\0\x05I" not in client.recv(1 << 16):
                pass
            client.sendall(b"Q" + struct.pack("!i", len(text) + 4) + text)
            client.settimeout(BEFORE)
            try:
                return "-" if client.recv(1) else "closed"
            except TimeoutError:
                pass
        begin = time.monotonic()
        while server.connections:
            time.sleep(0.002)
        return f"{time.monotonic() - begin:.2f}"


RUNS: dict[str, Any] = dict(zip(WAYS, (by_memory, by_signal, by_timeout, by_leaving), strict=True))


def measured(query: str, way: str) -> str:
    """Run it in a process of its own."""
    command = [sys.executable, __file__, "--query", query, "--way", way]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LONGEST + 20, check=False
        )
    except subprocess.TimeoutExpired:
        return f"> {LONGEST:.0f}"
    found = done.stdout.split("\n")[0]
    return found or f"died: {done.returncode} {done.stderr[-200:]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--query")
    parser.add_argument("--way")
    parser.add_argument("--only", default="", help="kinds whose name has this")
    given = parser.parse_args()
    if given.query:
        print(RUNS[given.way](QUERIES[given.query]), flush=True)
        # A query that still runs is left alone.
        os._exit(0)
    print(f"| | {' | '.join(WAYS)} |\n|---|{'---|' * len(WAYS)}")
    for query in (query for query in QUERIES if given.only in query):
        cells = [measured(query, way) for way in WAYS]
        print(f"| {query} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
