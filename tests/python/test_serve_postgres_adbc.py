"""The ADBC driver of PostgreSQL: views as Arrow, and rows of Arrow into tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview.serve.postgres import PostgresServer
from wire_clients import shop
from wire_values import SCHEMA, random_rows

adbc = pytest.importorskip("adbc_driver_postgresql.dbapi")

# Columns for which it has another type, or none at all.
READ = [name for name in SCHEMA.names if name not in ("d", "u8")]


@pytest.fixture
def db() -> rv.Database:
    db = shop()
    db.create_table("t", SCHEMA)
    db.insert("t", random_rows(3, 200))
    return db


@pytest.fixture
def client(db: rv.Database) -> Iterator[Any]:
    with PostgresServer(db, port=0, writable=True) as server:
        host, port = server.address
        with adbc.connect(f"postgresql://me@{host}:{port}/ringview") as made:
            yield made


def rows(table: pa.Table) -> list[str]:
    """Its rows, as they are said, in an order."""
    return sorted(str(tuple(row.values())) for row in table.to_pylist())


def test_a_view_is_read_as_arrow(client: Any) -> None:
    with client.cursor() as cursor:
        cursor.execute("SELECT * FROM v ORDER BY a")
        found = cursor.fetch_arrow_table()
    assert found.to_pydict() == {"a": ["one", "two"], "n": [2, 1]}
    assert found.schema.types == [pa.string(), pa.int64()]


def test_values_of_all_types_are_read(db: rv.Database, client: Any) -> None:
    with client.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(READ)} FROM t")
        found = cursor.fetch_arrow_table()
        cursor.execute("SELECT d, u8 FROM t WHERE d IS NOT NULL")
        decimals = cursor.fetch_arrow_table()
    assert rows(found) == rows(db.tables["t"].to_arrow().select(READ))
    assert len(decimals) == len(db.tables["t"].to_arrow()["d"].drop_null())


def test_parameters_are_bound(client: Any) -> None:
    with client.cursor() as cursor:
        cursor.execute("SELECT id, a FROM r WHERE id = $1::bigint", (2,))
        assert cursor.fetch_arrow_table().to_pylist() == [{"id": 2, "a": "two"}]


def test_rows_are_ingested_behind_those_that_are_there(db: rv.Database, client: Any) -> None:
    given = pa.table(
        {"id": pa.array([10, 11]), "a": pa.array(["ten", None]), "x": pa.array([0.5, None])}
    )
    with client.cursor() as cursor:
        assert cursor.adbc_ingest("r", given, mode="append") == 2
        assert len(db.tables["r"]) == 3
    client.commit()
    assert len(db.tables["r"]) == 5
    assert db.tables["r"].get(10) == {"id": 10, "a": "ten", "x": 0.5}
    with client.cursor() as cursor:
        with pytest.raises(Exception, match=r"23505|[Dd]uplicate|unique"):
            cursor.adbc_ingest("r", given, mode="append")
            client.commit()
        client.rollback()
    assert len(db.tables["r"]) == 5


def test_what_was_read_is_ingested_again(db: rv.Database, client: Any) -> None:
    names = [name for name in READ if name not in ("i1", "u1")]
    db.create_table("u", pa.schema([SCHEMA.field(name) for name in names]))
    with client.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(names)} FROM t")
        cursor.adbc_ingest("u", cursor.fetch_arrow_table(), mode="append")
    client.commit()
    assert rows(db.tables["u"].to_arrow()) == rows(db.tables["t"].to_arrow().select(names))


def test_the_driver_lists_what_there_is(client: Any) -> None:
    assert client.adbc_get_table_schema("r").names == ["id", "a", "x"]
    tables = client.adbc_get_objects(depth="tables").read_all().to_pylist()
    [schemas] = [of["catalog_db_schemas"] for of in tables if of["catalog_db_schemas"]]
    [public] = [of for of in schemas if of["db_schema_name"] == "public"]
    assert {of["table_name"] for of in public["db_schema_tables"]} >= {"r", "s", "t", "v"}
