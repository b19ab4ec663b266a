"""Clients of a server of PostgreSQL's protocol: psycopg, psql, and a few messages by hand."""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import ringview as rv
from ringview.serve.postgres import PostgresServer

PSQL = shutil.which("psql")
needs_psql = pytest.mark.skipif(PSQL is None, reason="psql is not there")


def shop() -> rv.Database:
    """A database with a table that has a key, one that has none, and a view."""
    db = rv.Database()
    db.create_table("r", {"id": "int64", "a": "string", "x": "float64"}, unique="id")
    key = pa.field("k", pa.int64(), nullable=False)
    db.create_table("s", pa.schema([key, ("d", pa.decimal128(10, 2))]))
    db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    db.insert("r", {"id": [0, 1, 2], "a": ["one", "one", "two"], "x": [0.5, 1.5, None]})
    return db


def connect(server: PostgresServer, **options: Any) -> psycopg.Connection[Any]:
    """A connection, without transactions unless that is said."""
    host, port = server.address
    said = {"user": "me", "dbname": "shop", "autocommit": True, "connect_timeout": 30, **options}
    return psycopg.connect(host=host, port=port, **said)


def psql(server: PostgresServer, script: str, *options: str) -> str:
    """Output of psql for a script, its errors too."""
    host, port = server.address
    command = [str(PSQL), "-X", "-h", host, "-p", str(port), "-U", "me", "-d", "shop", *options]
    done = subprocess.run(
        command, input=script, capture_output=True, text=True, timeout=120, check=False
    )
    return done.stdout + done.stderr


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def message(kind: bytes, body: bytes) -> bytes:
    """A message of the protocol."""
    return kind + struct.pack("!i", len(body) + 4) + body


def by_hand(server: PostgresServer) -> socket.socket:
    """A connection that has been let in, to send messages by hand."""
    made = socket.create_connection(server.address, timeout=60)
    body = struct.pack("!i", 196608) + b"user\0me\0\0"
    made.sendall(struct.pack("!i", len(body) + 4) + body)
    read_until(made, b"Z")
    return made


def read_until(made: socket.socket, last: bytes) -> list[tuple[bytes, bytes]]:
    """The messages up to one of a kind, or to the end."""
    found: list[tuple[bytes, bytes]] = []
    while not found or found[-1][0] != last:
        head = _exactly(made, 5)
        if len(head) < 5:
            break
        found.append((head[:1], _exactly(made, struct.unpack("!i", head[1:])[0] - 4)))
    return found


def _exactly(made: socket.socket, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = made.recv(count - len(parts))
        if not part:
            break
        parts += part
    return parts
