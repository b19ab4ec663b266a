"""Long values, tables without a key and tables by pattern, of a real PostgreSQL server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import postgres_server
import pytest
import ringview as rv
from postgres_tables import Pair
from ringview import errors, sources
from ringview.cli.commands import app
from typer.testing import CliRunner

pytestmark = pytest.mark.long

LONG = "SELECT string_agg(md5(i::text), '') FROM generate_series(1, 2000) g(i)"
TEXTS = {"id": "int64", "x": "int64", "text": "string"}
COLUMNS = "id INT PRIMARY KEY, x INT, text TEXT"


@pytest.fixture(scope="module")
def server() -> Iterator[postgres_server.Server]:
    with postgres_server.Server() as started:
        yield started


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_long_values_that_an_update_leaves_alone_are_those_of_the_row_before(
    server: postgres_server.Server, identity: str
) -> None:
    shop = Pair(server, f"long_{identity.lower()}", COLUMNS, TEXTS, ["id"])
    shop.ask(f"ALTER TABLE $.t REPLICA IDENTITY {identity}")
    shop.ask(f"INSERT INTO $.t VALUES (1, 1, ({LONG})), (2, 2, ({LONG}) || 'b')")
    shop.follows()
    shop.ask("UPDATE $.t SET x = 3")
    shop.follows()
    # The key changes, twice in a transaction, and the row is made in the batch that changes it.
    shop.ask("UPDATE $.t SET id = 11 WHERE id = 1", "UPDATE $.t SET id = 12, x = 4 WHERE id = 11")
    shop.ask(f"INSERT INTO $.t VALUES (5, 5, ({LONG}) || 'e')", "UPDATE $.t SET x = 6 WHERE id = 5")
    shop.ask("UPDATE $.t SET id = 6 WHERE id = 5")
    shop.follows()
    assert len(shop.db.tables["t"]) == 3
    shop.source.drop()


def test_a_long_value_that_is_not_kept_ends_its_table_alone(
    server: postgres_server.Server,
) -> None:
    shop = Pair(server, "lacking", COLUMNS, TEXTS, ["id"])
    shop.ask(f"INSERT INTO $.t VALUES (1, 1, ({LONG}))")
    shop.follows()
    shop.db.delete("t", shop.db.tables["t"].to_arrow())
    shop.ask("UPDATE $.t SET x = 3")
    shop.ends('long value "text" alone.*REPLICA IDENTITY FULL.*refill=True')
    shop.source = shop.made(refill=True)
    shop.follows()
    shop.source.drop()


def test_whole_rows_of_a_table_without_a_key(server: postgres_server.Server) -> None:
    shop = Pair(server, "bag", "x INT, text TEXT", {"x": "int64", "text": "string"})
    shop.ask("ALTER TABLE $.t REPLICA IDENTITY FULL")
    shop.ask(f"INSERT INTO $.t VALUES (1, 'a'), (1, 'a'), (NULL, NULL), (2, ({LONG}))")
    shop.follows()
    shop.ask(
        "DELETE FROM $.t WHERE ctid = (SELECT min(ctid) FROM $.t)",
        "INSERT INTO $.t VALUES (1, 'a'), (3, 'c')",
    )
    shop.ask("UPDATE $.t SET x = 7 WHERE x IS NULL OR x = 2")
    shop.follows()
    shop.ask("TRUNCATE $.t", "INSERT INTO $.t VALUES (9, 'z'), (9, 'z')")
    shop.follows()
    assert shop.db["n"].to_arrow()["n"].to_pylist() == [2]
    shop.source.drop()


def test_rows_that_are_only_added_need_no_key_which_is_said_at_the_start(
    server: postgres_server.Server, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Pair(server, "added", "x INT", {"x": "int64"})
    caplog.set_level(logging.INFO, "ringview")
    shop.ask("INSERT INTO $.t VALUES (1), (1)")
    shop.follows()
    assert "PostgreSQL refuses updates and deletes" in caplog.text
    shop.ask("INSERT INTO $.t VALUES (1), (2)")
    shop.follows()
    shop.source.drop()


def test_keys_that_differ_are_said_at_the_start(server: postgres_server.Server) -> None:
    shop = Pair(server, "nokey")
    shop.ends("declare it with unique=..id..")
    shop.source.drop()
    shop = Pair(server, "otherkey", unique=["x"])
    shop.ends("its key is id, and that of the table here x")
    shop.source.drop()


def test_tables_by_pattern_are_made_with_postgres_types(server: postgres_server.Server) -> None:
    shop = Pair(server, "named")
    shop.ask(
        "CREATE TABLE $.kinds (id BIGINT, day DATE, price NUMERIC(12, 2) NOT NULL, free NUMERIC, "
        "ok BOOLEAN, at TIMESTAMPTZ, code UUID, many INT[], PRIMARY KEY (day, id))",
        "INSERT INTO $.kinds VALUES (1, '2026-03-09', 1.5, 2.25, true, '2026-03-09 12:00+00', "
        "'12345678-1234-1234-1234-123456789012', '{1,2}')",
    )
    db = rv.Database()
    source = shop.made(tables=["named.*"])
    sources.run(db, [source])
    assert sorted(db.tables) == ["kinds", "other", "ringview_positions", "t"]
    kinds = db.tables["kinds"]
    assert sorted(kinds.unique or ()) == ["day", "id"]
    assert [str(field.type) for field in kinds.schema] == [
        *("int64", "date32[day]", "decimal128(12, 2)", "decimal128(38, 10)", "bool"),
        *("timestamp[us, tz=UTC]", "string", "string"),
    ]
    assert kinds.to_arrow()["code"].to_pylist() == ["12345678-1234-1234-1234-123456789012"]
    shop.ask("CREATE TABLE $.later (id INT PRIMARY KEY)", "INSERT INTO $.later VALUES (4)")
    sources.run(db, [source])
    assert db.tables["later"].to_arrow()["id"].to_pylist() == [4]
    assert source.differences(db) == []
    with pytest.raises(errors.InvalidValueError, match="PostgreSQL has no such table"):
        sources.run(rv.Database(), [sources.postgres(server.address, ["nowhere.*"], slot="x")])
    source.drop()


def test_a_job_takes_its_tables_from_postgres_and_checks_them(
    server: postgres_server.Server, tmp_path: Path
) -> None:
    shop = Pair(server, "job")
    shop.ask("INSERT INTO $.t VALUES (1, 10), (2, 20)")
    job = tmp_path / "job.toml"
    job.write_text(
        '[[table]]\nname = "few"\nschema = {k = "int64"}\n'
        '[[source]]\nkind = "postgres"\n'
        f'connection = "{server.address}"\nslot = "job"\ntables = ["job.*"]\n'
        '[[view]]\nname = "v"\nsql = "SELECT SUM(x) AS x FROM t"\n'
    )
    called = CliRunner().invoke(app, ["source", "check", str(job)])
    assert called.exit_code == 1, called.output
    assert "job.t: it is not loaded yet" in called.output
    ran = CliRunner().invoke(app, ["run", str(job)])
    assert ran.exit_code == 0, ran.output
    assert "30" in ran.output
    shop.source.drop()
