"""PostgreSQL as a source and as a sink, with a real server."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import postgres_server
import pyarrow as pa
import pytest
import ringview as rv
import sink_driver
from ringview import errors, sinks, sources

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.long

ENDS = ["never", "before", "after"]
VIEW = "SELECT k, SUM(x) AS x, COUNT(*) AS n FROM r GROUP BY k"


@pytest.fixture(scope="module")
def server() -> Iterator[postgres_server.Server]:
    with postgres_server.Server() as started:
        yield started


def asked(server: postgres_server.Server, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(server.address, autocommit=True) as con:
        cursor = con.execute(sql)
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        return found


def opened(path: Path) -> rv.Database:
    db = rv.Database.open(path)
    if "r" not in db.tables:
        db.create_table("r", {"k": "string", "x": "int64"})
        db.create_view("v", VIEW)
    return db


def moves(db: rv.Database, draw: random.Random) -> None:
    rows = db.tables["r"].to_arrow().to_pylist()
    with db.transaction() as tx:
        gone = draw.sample(rows, min(len(rows), draw.randrange(4)))
        if gone:
            tx.delete("r", gone)
        tx.insert("r", [{"k": draw.choice(["a", "b", None]), "x": draw.randrange(9)}])


@pytest.mark.parametrize("key", ["k", None])
def test_a_table_follows_a_view_through_failures(
    server: postgres_server.Server, tmp_path: Path, key: str | None
) -> None:
    draw, table = random.Random(1), f"public.out_{key}".lower()
    for _ in range(40):
        with opened(tmp_path / "db") as db:
            moves(db, draw)
            real = sinks.postgres(server.address, table, key=key)
            sender = sinks.Sender(db, {"v": sink_driver.Failing(real, draw.choice(ENDS))})
            for _ in range(2):
                try:
                    sender.step()
                except sink_driver.SinkError:
                    moves(db, draw)
            real.close()
    with opened(tmp_path / "db") as db:
        sinks.run(db, {"v": sinks.postgres(server.address, table, key=key)})
        wanted = Counter(tuple(row.values()) for row in db["v"])
        found = asked(server, f"SELECT * FROM {table}")
        if key is not None:
            assert Counter(found) == wanted
        else:
            log = Counter[tuple[Any, ...]]()
            for *row, times, _ in found:
                log[tuple(row)] += times
            assert +log == wanted
        assert list(db["v"])


def test_values_of_all_types_arrive(server: postgres_server.Server) -> None:
    noon = datetime(2026, 3, 9, 12)
    row: dict[str, tuple[pa.DataType, Any]] = {
        "bool": (pa.bool_(), True),
        "integer": (pa.int64(), -(2**63)),
        "unsigned": (pa.uint64(), 2**64 - 1),
        "double": (pa.float64(), 0.1),
        "decimal": (pa.decimal128(38, 10), Decimal("1234567890123456789012345678.0123456789")),
        "text": (pa.string(), "ü'\"%s"),
        "date": (pa.date32(), date(2026, 3, 9)),
        "timestamp": (pa.timestamp("us"), noon),
        "zoned": (pa.timestamp("us", "UTC"), noon.replace(tzinfo=UTC)),
        "nothing": (pa.string(), None),
    }
    db = rv.Database()
    db.create_table("t", pa.schema([(name, kind) for name, (kind, _) in row.items()]))
    db.insert("t", pa.table({name: pa.array([v], kind) for name, (kind, v) in row.items()}))
    columns = ", ".join(f'"{name}"' for name in row)
    db.create_view("v", f'SELECT {columns}, ARRAY_AGG("text") AS list FROM t GROUP BY {columns}')
    sinks.run(db, {"v": sinks.postgres(server.address, "kinds", key=list(row))})
    (found,) = asked(server, "SELECT * FROM kinds")
    assert found == (*(value for _, value in row.values()), [row["text"][1]])


def test_a_table_of_somebody_else_is_refused(server: postgres_server.Server) -> None:
    asked(server, "CREATE TABLE mine (k TEXT)")
    asked(server, "INSERT INTO mine VALUES ('a')")
    db = rv.Database()
    db.create_table("r", {"k": "string", "x": "int64"})
    db.create_view("v", VIEW)
    with pytest.raises(errors.CheckpointError, match="rows of somebody else"):
        sinks.Sender(db, {"v": sinks.postgres(server.address, "mine", key="k")})
    with pytest.raises(psycopg.OperationalError):
        sinks.Sender(db, {"v": sinks.postgres("host=127.0.0.1 port=1", "mine")}, name="nowhere")


@pytest.mark.parametrize("how", ["psycopg", "url"])
def test_the_first_load_goes_on_where_it_was_ended(
    server: postgres_server.Server, how: str
) -> None:
    asked(server, "DROP TABLE IF EXISTS given")
    asked(
        server,
        "CREATE TABLE given AS SELECT i AS id, i / 100.0::numeric(12, 2) AS price, "
        "TIMESTAMPTZ '2026-03-09 12:00:00+00' AS ts FROM generate_series(1, 25) g(i)",
    )
    if how == "url":
        pytest.importorskip("sqlalchemy")
    con: Any = server.url if how == "url" else psycopg.connect(server.address)
    db = rv.Database()
    types = {"id": "int64", "price": "decimal128(12, 2)", "ts": "timestamp[us, tz=UTC]"}
    db.create_table("r", types)
    sql = "SELECT id, round(price, 2) AS price, ts FROM given WHERE 1 % 2 = 1"
    source = sources.query(con, sql, table="r", key="id", rows=4)
    for _ in range(3):
        reader = sources.Reader(db, [source])
        reader.step()
        reader.close()
    assert len(db.tables["r"]) == 12
    sources.run(db, [source])
    found = db.tables["r"].to_arrow().sort_by("id")
    assert found["id"].to_pylist() == list(range(1, 26))
    assert found["price"].to_pylist() == [Decimal(i) / 100 for i in range(1, 26)]
