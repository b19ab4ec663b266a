"""PostgreSQL as a source and as a sink, with a real server."""

from __future__ import annotations

import json
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


TYPES = {
    "id": "int64 not null",
    "x": "int64",
    "price": "decimal128(12, 2)",
    "ok": "bool",
    "day": "date32",
    "ts": "timestamp[us]",
    "zoned": "timestamp[us, tz=UTC]",
    "text": "string",
    "real": "float64",
}
COLUMNS = (
    "id BIGINT PRIMARY KEY, x INT, price NUMERIC(12, 2), ok BOOLEAN, day DATE, ts TIMESTAMP, "
    "zoned TIMESTAMPTZ, text TEXT, real DOUBLE PRECISION"
)


class Shop:
    """Two tables of PostgreSQL that change, and a database that reads them."""

    def __init__(self, server: postgres_server.Server, path: Path, name: str, seed: int) -> None:
        self.server, self.path, self.name = server, path, name
        self.draw = random.Random(seed)
        for table in "ab":
            asked(server, f"CREATE TABLE {name}_{table} ({COLUMNS})")
        tables = {f"{name}_a": "a", f"public.{name}_b": "b"}
        self.source = sources.postgres(
            server.address, tables, slot=f"slot_{name}", watch=False, rows=7
        )

    def happens(self, times: int) -> None:
        """So many transactions, some undone."""
        draw = self.draw
        # TRUNCATE waits for whoever reads the table.
        with psycopg.connect(self.server.address, options="-c lock_timeout=50") as con:
            for _ in range(times):
                try:
                    for _ in range(draw.randrange(1, 6)):
                        con.execute(*self.statement())
                except psycopg.errors.LockNotAvailable:
                    con.rollback()
                if draw.random() < 0.15:
                    con.rollback()
                con.commit()

    def statement(self) -> tuple[Any, ...]:
        draw = self.draw
        table, key = f"{self.name}_{draw.choice('ab')}", draw.randrange(20)
        what = draw.random()
        if what < 0.03:
            return (f"TRUNCATE {table}",)
        if what < 0.25:
            return f"DELETE FROM {table} WHERE id = %s", [key]
        if what < 0.4:
            # A row that gets another key, unless that is taken.
            other = draw.randrange(20, 40)
            return (
                f"UPDATE {table} SET id = %s WHERE id = %s "
                f"AND NOT EXISTS (SELECT 1 FROM {table} WHERE id = %s)",
                [other, key, other],
            )
        values = [
            key,
            draw.choice([None, draw.randrange(9)]),
            Decimal(draw.randrange(-999, 999)) / 100,
            draw.choice([True, False, None]),
            date(2026, 3, draw.randrange(1, 29)),
            datetime(2026, 3, 9, 12, 0, 0, draw.randrange(10**6)),
            datetime(2026, 3, 9, 12, 0, 0, draw.randrange(10**6), UTC),
            draw.choice(["", "ü'\"\\", "NULL", None]),
            draw.choice([0.1, -1e300, None]),
        ]
        marks = ", ".join(["%s"] * len(values))
        names = list(TYPES)[1:]
        sets = ", ".join(f"{name} = excluded.{name}" for name in names)
        return (
            f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {sets}",
            values,
        )

    def opened(self) -> rv.Database:
        db = rv.Database.open(self.path)
        if not db.tables:
            for table in "ab":
                db.create_table(table, TYPES, unique=["id"])
        return db

    def check(self, db: rv.Database) -> None:
        for table in "ab":
            wanted = Counter(asked(self.server, f"SELECT * FROM {self.name}_{table}"))
            rows = db.tables[table].to_arrow().to_pylist()
            assert Counter(tuple(row.values()) for row in rows) == wanted


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tables_follow_those_of_postgres_through_restarts(
    server: postgres_server.Server, tmp_path: Path, seed: int
) -> None:
    shop = Shop(server, tmp_path / "db", f"shop{seed}", seed)
    shop.happens(30)
    many = f"INSERT INTO shop{seed}_b (id, x) SELECT i, i FROM generate_series(100, 130) g(i)"
    asked(server, many)
    ends = Counter[str]()
    for life in range(15):
        with shop.opened() as db:
            reader = sources.Reader(db, [shop.source])
            # A life ends in the first load, or between two transactions.
            for _ in range(shop.draw.choice([2, 3, 12]) if life else 3):
                reader.step()
                shop.happens(shop.draw.randrange(4))
            reader.close()
            (place,) = db.tables["ringview_positions"].to_arrow()["position"].to_pylist()
            ends[json.loads(place)["tables"][f"public.shop{seed}_a"]["state"]] += 1
    assert min(ends["loading"], ends["following"]) > 0
    with shop.opened() as db:
        sources.run(db, [shop.source])
        shop.check(db)
        assert sources.run(db, [shop.source]).rows == 0
        slots = "SELECT slot_name FROM pg_replication_slots"
        assert (f"slot_shop{seed}",) in asked(server, slots)
        shop.source.drop()
        assert (f"slot_shop{seed}",) not in asked(server, slots)
        with pytest.raises(errors.InvalidValueError, match="lost the slot"):
            sources.run(db, [shop.source])


def test_transactions_that_the_snapshot_has_not_come_behind_it(
    server: postgres_server.Server, tmp_path: Path
) -> None:
    """One that is open when the snapshot is taken, and one that commits between slot and rows."""
    shop = Shop(server, tmp_path / "db", "open", 1)
    insert = "INSERT INTO open_a (id, x) VALUES ({}, {})"
    asked(server, insert.format(1, 1))
    with shop.opened() as db, psycopg.connect(server.address) as con:
        reader = sources.Reader(db, [shop.source])
        # The slot is not there yet, and then is before its first batch, as if it was killed there.
        assert reader.step()
        reader.close()
        asked(server, "SELECT pg_create_logical_replication_slot('slot_open', 'pgoutput')")
        # The first load begins anew, and so empties the tables.
        assert reader.step()
        assert reader.step()
        con.execute(insert.format(2, 2))
        # The snapshot is that of the last step.
        con.execute("UPDATE open_a SET x = 5 WHERE id = 1")
        asked(server, insert.format(3, 3))
        assert reader.step()
        assert db.tables["a"].to_arrow()["id"].to_pylist() == [1]
        con.commit()
        reader.run()
        shop.check(db)
        found = {row["id"]: row["x"] for row in db.tables["a"].to_arrow().to_pylist()}
        assert found == {1: 5, 2: 2, 3: 3}
    shop.source.drop()
