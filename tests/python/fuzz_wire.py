"""Sends mutated conversations to a server of PostgreSQL's protocol: `python fuzz_wire.py FIRST ..`.

The server answers or disconnects; it serves a client that follows the protocol afterwards, and the
rows of its table are whole. A panic is on the standard error output.
"""

from __future__ import annotations

import random
import struct

import psycopg
import pytest
import ringview as rv
from fuzzing import corpus, mutated, run, said
from ringview.serve.postgres import PostgresServer

SEEDS = corpus("wire")
STARTUP = struct.pack("!i", 196608) + b"user\0me\0\0"


def database() -> rv.Database:
    db = rv.Database(memory_limit="100MB")
    db.create_table("r", {"id": "int64", "a": "string", "x": "float64"}, unique="id")
    db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    db.insert("r", {"id": [0, 1, 2], "a": ["one", "one", "two"], "x": [0.5, 1.5, None]})
    return db


class Talk:
    """Two servers, one of which wants a password, and a case of both."""

    def __init__(self) -> None:
        self.db = database()
        options = {"writable": True, "statement_timeout": 1.0, "max_message": 1 << 20}
        self.open = PostgresServer(self.db, port=0, **options)  # type: ignore[arg-type]
        self.locked = PostgresServer(self.db, port=0, password="secret", **options)  # type: ignore[arg-type]

    def case(self, seed: int) -> None:
        at = random.Random(seed)
        is_kept = seed < len(SEEDS)
        data = SEEDS[seed] if is_kept else mutated(at, at.choice(SEEDS), SEEDS)
        # With the beginning, which may be mutated, or behind it.
        is_in = is_kept or at.random() < 0.7
        begun = struct.pack("!i", len(STARTUP) + 4) + STARTUP if is_in else b""
        said(self.open.address, begun + data, is_whole=False)
        said(self.locked.address, begun + data, is_whole=False)
        if seed % 20 == 0:
            self.check()

    def check(self) -> None:
        host, port = self.open.address
        with psycopg.connect(host=host, port=port, user="me", autocommit=True) as client:
            assert client.execute("SELECT 6 * 7").fetchall() == [(42,)]
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(host=host, port=self.locked.address[1], user="me", password="wrong")
        if "r" in self.db.tables and "v" in self.db.views:
            assert len(self.db.tables["r"]) == sum(self.db["v"].to_arrow()["n"].to_pylist())


if __name__ == "__main__":
    run(Talk().case)
