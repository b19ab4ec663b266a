"""RETURNING over PostgreSQL's protocol, and what SQLAlchemy does with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import ringview as rv
from psycopg import errors as pg
from ringview.serve.postgres import PostgresServer
from wire_clients import by_hand, connect, message, needs_psql, psql, read_until, shop


@pytest.fixture
def db() -> rv.Database:
    return shop()


@pytest.fixture
def server(db: rv.Database) -> Iterator[PostgresServer]:
    with PostgresServer(db, port=0, writable=True) as made:
        yield made


@pytest.fixture
def client(server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    with connect(server) as made:
        yield made


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("prepare", [False, True])
def test_rows_that_changed_come_back(
    client: psycopg.Connection[Any], binary: bool, prepare: bool
) -> None:
    cursor = client.cursor(binary=binary)

    def run(sql: str, *values: Any) -> tuple[str | None, list[tuple[Any, ...]]]:
        cursor.execute(sql, values, prepare=prepare)
        return cursor.statusmessage, cursor.fetchall()

    insert = "INSERT INTO r VALUES (%s, 'seven', %s), (8, %s, 0) RETURNING id, x * 2 AS twice"
    assert run(insert, 7, 1.5, "a") == ("INSERT 0 2", [(7, 3.0), (8, 0.0)])
    assert [column.name for column in cursor.description or []] == ["id", "twice"]
    update = "UPDATE r SET x = x + %s WHERE id = %s RETURNING *"
    assert run(update, 1, 7) == ("UPDATE 1", [(7, "seven", 2.5)])
    delete = "DELETE FROM r WHERE id >= %s RETURNING a, id"
    status, found = run(delete, 7)
    assert (status, sorted(found)) == ("DELETE 2", [("a", 8), ("seven", 7)])
    assert run(delete, 7) == ("DELETE 0", [])


def test_what_is_described_is_not_done(db: rv.Database, server: PostgresServer) -> None:
    sql = b"\0DELETE FROM r WHERE id = $1 RETURNING a, id\0\0\1\0\0\0\x14"
    bind = message(b"B", b"\0\0\0\0\0\1\0\0\0\1" + b"1" + b"\0\0")
    with by_hand(server) as made:
        made.sendall(message(b"P", sql) + message(b"D", b"S\0") + bind + message(b"D", b"P\0"))
        made.sendall(message(b"S", b""))
        found = read_until(made, b"Z")
        assert b"".join(kind for kind, _ in found) == b"1tT2TZ"
        assert len(db.tables["r"]) == 3
        made.sendall(message(b"P", sql) + bind + message(b"D", b"P\0"))
        made.sendall(message(b"E", b"\0\0\0\0\0") + message(b"S", b""))
        found = read_until(made, b"Z")
    assert b"".join(kind for kind, _ in found) == b"12TDCZ"
    assert len(db.tables["r"]) == 2


def test_a_transaction_returns_what_it_would_change(
    db: rv.Database, client: psycopg.Connection[Any]
) -> None:
    with pytest.raises(ZeroDivisionError), client.transaction():
        found = client.execute("UPDATE r SET x = 9 RETURNING x").fetchall()
        assert found == [(9.0,)] * 3
        assert client.execute("DELETE FROM r WHERE x = 9 RETURNING id").rowcount == 3
        raise ZeroDivisionError
    assert len(db.tables["r"]) == 3


@pytest.mark.parametrize(
    ("sql", "error", "position"),
    [
        ("DELETE FROM r RETURNING z", pg.UndefinedColumn, "25"),
        ("DELETE FROM r RETURNING s.id", pg.UndefinedTable, "25"),
        ("DELETE FROM r RETURNING (SELECT 1)", pg.FeatureNotSupported, "13"),
    ],
)
@pytest.mark.parametrize("prepare", [False, True])
def test_what_is_not_returned(
    db: rv.Database,
    client: psycopg.Connection[Any],
    sql: str,
    error: type[psycopg.Error],
    position: str,
    prepare: bool,
) -> None:
    with pytest.raises(error) as caught:
        client.execute(sql, prepare=prepare)
    assert caught.value.diag.statement_position == position
    assert len(db.tables["r"]) == 3


@needs_psql
def test_psql_shows_what_is_returned(server: PostgresServer) -> None:
    shown = psql(server, "INSERT INTO r VALUES (7, 'x', 1), (8, NULL, 2) RETURNING id, a;\n", "-A")
    assert shown == "id|a\n7|x\n8|\n(2 rows)\nINSERT 0 2\n"


def test_the_orm_of_sqlalchemy_inserts_and_reads_back(
    db: rv.Database, server: PostgresServer
) -> None:
    sa = pytest.importorskip("sqlalchemy")
    orm = pytest.importorskip("sqlalchemy.orm")
    db.execute("""CREATE TABLE items (id BIGINT PRIMARY KEY, name VARCHAR, shop VARCHAR
        DEFAULT 'home', price DECIMAL(9, 2) DEFAULT 1.5)""")
    base = orm.declarative_base()

    class Item(base):  # type: ignore[valid-type, misc]
        __tablename__ = "items"
        id = sa.Column(sa.BigInteger, primary_key=True, autoincrement=False)
        name = sa.Column(sa.String)
        shop = sa.Column(sa.String, server_default="home")
        price = sa.Column(sa.Numeric(9, 2), server_default="1.5")

    host, port = server.address
    engine = sa.create_engine(f"postgresql+psycopg://me@{host}:{port}/shop")
    with orm.Session(engine) as session:
        one = Item(id=1, name="one")
        session.add(one)
        session.flush()
        assert (one.shop, str(one.price)) == ("home", "1.50")
        many = [Item(id=i, name=f"n{i}", price=i) for i in range(2, 40)]
        session.add_all(many)
        session.commit()
        assert [(item.shop, item.price) for item in many] == [("home", i) for i in range(2, 40)]
        many[0].name = "two"
        session.delete(one)
        session.commit()
        update = sa.update(Item).where(Item.id < 4).values(price=Item.price * 2)
        found = session.execute(update.returning(Item.id, Item.name, Item.price)).all()
        assert sorted(tuple(row) for row in found) == [(2, "two", 4), (3, "n3", 6)]
        gone = session.scalars(sa.delete(Item).where(Item.id > 3).returning(Item)).all()
        assert {item.id for item in gone} == {*range(4, 40)}
        session.commit()
    with engine.begin() as connection:
        table = Item.__table__
        rows = [{"id": i, "name": "x"} for i in range(50, 55)]
        insert = sa.insert(table).returning(table.c.id, table.c.shop, sort_by_parameter_order=True)
        found = connection.execute(insert, rows).all()
        assert [tuple(row) for row in found] == [(i, "home") for i in range(50, 55)]
    engine.dispose()
    assert len(db.tables["items"]) == 7
