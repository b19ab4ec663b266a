"""PostgreSQL's protocol: values in both formats, parameters, errors, scripts, settings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import ringview as rv
from psycopg import errors as pg
from ringview.serve.postgres import PostgresServer
from wire_clients import by_hand, connect, message, needs_psql, psql, read_until, shop


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(shop(), port=0, writable=True) as made:
        yield made


@pytest.fixture
def client(server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    with connect(server) as made:
        yield made


MOMENT = datetime(2024, 2, 29, 10, 30, 15, 250_000)
TYPED = pa.table(
    {
        "b": pa.array([True, None, False]),
        "i1": pa.array([-128, None, 127], pa.int8()),
        "i2": pa.array([-(2**15), None, 7], pa.int16()),
        "i4": pa.array([-(2**31), None, 7], pa.int32()),
        "i8": pa.array([-(2**63), None, 2**63 - 1], pa.int64()),
        "u8": pa.array([2**64 - 1, None, 0], pa.uint64()),
        "f4": pa.array([1.5, None, -0.25], pa.float32()),
        "f8": pa.array([1e300, None, 0.1], pa.float64()),
        "d": pa.array([Decimal("-12345678.90"), None, Decimal("0.05")], pa.decimal128(10, 2)),
        "t": pa.array(["tab\tline\nback\\ä", None, ""]),
        "day": pa.array([date(1969, 12, 31), None, date(2024, 2, 29)]),
        "at": pa.array([MOMENT, None, datetime(1950, 1, 1)], pa.timestamp("us")),
        "z": pa.array([MOMENT, None, datetime(1950, 1, 1)], pa.timestamp("us", "UTC")),
    }
)


@pytest.mark.parametrize("binary", [False, True])
def test_values_are_themselves_in_both_formats(binary: bool) -> None:
    db = rv.Database()
    db.create_table("r", TYPED.schema)
    db.insert("r", TYPED)
    with PostgresServer(db, port=0) as server, connect(server) as client:
        found = client.cursor(binary=binary).execute("SELECT * FROM r").fetchall()
    wanted = [tuple(row.values()) for row in TYPED.to_pylist()]
    assert sorted(found, key=str) == sorted(wanted, key=str)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT list(id ORDER BY id) FROM r", [0, 1, 2]),
        ("SELECT ARRAY['a', 'b,c', NULL, '', 'null', '\"']", ["a", "b,c", None, "", "null", '"']),
        ("SELECT SUM(id) + 99999999999999999999 FROM r", Decimal("100000000000000000002")),
        ("SELECT timestamptz '2024-01-02 03:04:05+02'", datetime(2024, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("SELECT '-Infinity'::float8", float("-inf")),
        ("SELECT NULL", None),
    ],
)
def test_what_queries_compute(
    client: psycopg.Connection[Any], binary: bool, query: str, wanted: object
) -> None:
    assert client.cursor(binary=binary).execute(query).fetchone() == (wanted,)


def test_a_struct_is_json(client: psycopg.Connection[Any]) -> None:
    [found] = client.execute("SELECT COFACTOR(id) AS c FROM r").fetchall()
    assert (found[0]["count"], found[0]["sums"]) == (3, [3.0])


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize(
    ("value", "column"),
    [
        (7, "i8"),
        (2**40, "i8"),
        (True, "b"),
        (0.1, "f8"),
        (Decimal("-12345678.90"), "d"),
        ("tab\tline\nback\\ä", "t"),
        (date(2024, 2, 29), "day"),
        (MOMENT, "at"),
    ],
)
def test_parameters_are_values(prepare: bool, value: object, column: str) -> None:
    db = rv.Database()
    db.create_table("r", TYPED.schema)
    with PostgresServer(db, port=0, writable=True) as server, connect(server) as client:
        for given in ("%s", "%b"):
            sql = f"INSERT INTO r ({column}) VALUES ({given})"
            assert client.execute(sql, [value], prepare=prepare).statusmessage == "INSERT 0 1"
            counted = f"SELECT COUNT(*) FROM r WHERE {column} = {given}"
            assert client.execute(counted, [value], prepare=prepare).fetchone() is not None
    assert db.tables["r"].to_arrow()[column].to_pylist() == [value, value]


def test_a_prepared_statement_is_asked_again(client: psycopg.Connection[Any]) -> None:
    query = "SELECT a FROM r WHERE id = %s"
    found = [client.execute(query, [at], prepare=True).fetchone() for at in (0, 1, 2, 3)]
    assert found == [("one",), ("one",), ("two",), None]
    assert client.execute(query, [None], prepare=True).fetchall() == []


@pytest.mark.parametrize(
    ("sql", "error", "position"),
    [
        ("SELEC 1", pg.SyntaxError, 1),
        ("SELECT *\nFROM nope", pg.UndefinedTable, 15),
        ("SELECT b FROM r", pg.UndefinedColumn, 8),
        ("SELECT foo(id) FROM r", pg.UndefinedFunction, 8),
        ("SELECT 'five'::int FROM r", pg.InvalidTextRepresentation, 8),
        ("SELECT 1 / (id - id) FROM r", pg.DivisionByZero, None),
        ("INSERT INTO r VALUES (0, 'a', 1)", pg.UniqueViolation, None),
        ("INSERT INTO s (d) VALUES (1)", pg.NotNullViolation, None),
        ("INSERT INTO s VALUES (1, 1e30)", pg.DataError, None),
        ("CREATE TABLE r (a bigint)", pg.DuplicateTable, None),
        ("DROP TABLE nope", pg.UndefinedTable, 12),
        ("DROP TABLE r", pg.DependentObjectsStillExist, None),
        ("GRANT ALL ON r TO me", pg.FeatureNotSupported, 1),
        ("LISTEN x", pg.FeatureNotSupported, 1),
        ("SELECT * FROM pg_catalog.nope", pg.UndefinedTable, None),
        ("SELECT nope FROM pg_class", pg.UndefinedColumn, None),
        ("SHOW nope", pg.UndefinedObject, None),
        ("SET client_encoding TO latin1", pg.InvalidParameterValue, None),
        ("COPY r FROM '/tmp/rows'", pg.FeatureNotSupported, 1),
        ("COPY (SUBSCRIBE r) TO STDOUT", pg.UndefinedTable, None),
        ("COPY (SELECT nope FROM r) TO STDOUT", pg.UndefinedColumn, 14),
        ("COPY nope TO STDOUT", pg.UndefinedTable, 6),
        ("COPY r (nope) TO STDOUT", pg.UndefinedColumn, None),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT nope FROM r", pg.UndefinedColumn, 39),
    ],
)
def test_errors_have_their_codes_and_places(
    client: psycopg.Connection[Any], sql: str, error: type[psycopg.Error], position: int | None
) -> None:
    with pytest.raises(error) as caught:
        client.execute(sql)
    assert caught.value.diag.statement_position == (str(position) if position else None)
    assert caught.value.diag.message_primary
    # The connection works on.
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_a_place_is_counted_in_the_whole_script(client: psycopg.Connection[Any]) -> None:
    with pytest.raises(pg.UndefinedTable) as caught:
        client.execute("SELECT 1; -- ä\nSELECT * FROM nope")
    assert caught.value.diag.statement_position == "30"


def test_a_parameter_that_is_no_value_of_its_type(server: PostgresServer) -> None:
    with by_hand(server) as made:
        parse = message(b"P", b"\0SELECT $1\0" + b"\0\1" + (23).to_bytes(4, "big"))
        bind = message(b"B", b"\0\0" + b"\0\0" + b"\0\1" + b"\0\0\0\4five" + b"\0\0")
        made.sendall(parse + bind + message(b"E", b"\0\0\0\0\0") + message(b"S", b""))
        kinds = read_until(made, b"Z")
        assert [kind for kind, _ in kinds] == [b"1", b"E", b"Z"]
        assert b"C22P02\0" in kinds[1][1]


def test_a_portal_hands_its_rows_out_bit_by_bit(server: PostgresServer) -> None:
    with by_hand(server) as made:
        parse = message(b"P", b"\0SELECT id FROM r ORDER BY id\0\0\0")
        bind = message(b"B", b"\0\0\0\0\0\0\0\0")
        two = message(b"E", b"\0\0\0\0\2")
        made.sendall(parse + bind + message(b"D", b"P\0") + two + two + message(b"S", b""))
        found = read_until(made, b"Z")
    assert b"".join(kind for kind, _ in found) == b"12TDDsDCZ"
    assert found[-2][1] == b"SELECT 1\0"


def test_a_described_statement_tells_its_columns_and_parameters(server: PostgresServer) -> None:
    with by_hand(server) as made:
        parse = message(b"P", b"q\0SELECT a, id FROM r WHERE id = $1 AND a = $2\0\0\1\0\0\0\x14")
        made.sendall(parse + message(b"D", b"Sq\0") + message(b"S", b""))
        found = dict(read_until(made, b"Z"))
    assert found[b"t"] == b"\0\2" + (20).to_bytes(4, "big") + (25).to_bytes(4, "big")
    assert found[b"T"].startswith(b"\0\2a\0")


@pytest.mark.parametrize(
    ("sql", "oids"),
    [
        ("SELECT 1 AS one", [20]),
        ("TABLE v", [25, 20]),
        ("SELECT COFACTOR(id) AS c FROM r", [114]),
        ("SELECT relname FROM pg_class WHERE oid = $1", [25]),
        ("SELECT id, $1 AS text FROM r WHERE x > $2 LIMIT 1", [20, 25]),
        ("SHOW server_version", [25]),
    ],
)
def test_what_is_described_is_what_comes(server: PostgresServer, sql: str, oids: list[int]) -> None:
    count = sql.count("$")
    types = b"".join(oid.to_bytes(4, "big") for oid in [25, 701][:count])
    values = b"".join(len(v).to_bytes(4, "big") + v for v in [b"7", b"0.1"][:count])
    number = count.to_bytes(2, "big")
    with by_hand(server) as made:
        parse = message(b"P", b"q\0" + sql.encode() + b"\0" + number + types)
        bind = message(b"B", b"\0q\0\0\0" + number + values + b"\0\0")
        made.sendall(parse + message(b"D", b"Sq\0") + bind + message(b"D", b"P\0"))
        made.sendall(message(b"E", b"\0\0\0\0\0") + message(b"S", b""))
        found = read_until(made, b"Z")
    assert b"".join(kind for kind, _ in found if kind != b"D") == b"1tT2TCZ"
    described = [_types(body) for kind, body in found if kind == b"T"]
    assert described == [oids, oids]


def _types(body: bytes) -> list[int]:
    """The types of a message that describes rows."""
    rest, found = body[2:], []
    while rest:
        _, _, rest = rest.partition(b"\0")
        found.append(int.from_bytes(rest[6:10], "big"))
        rest = rest[18:]
    return found


def test_nothing_is_an_empty_query(client: psycopg.Connection[Any]) -> None:
    result = client.pgconn.exec_(b" ; -- nothing\n")
    assert result.status == psycopg.pq.ExecStatus.EMPTY_QUERY


def test_a_script_gives_all_its_results(client: psycopg.Connection[Any]) -> None:
    cursor = client.execute("SELECT 1; SELECT 2, 3; SET application_name TO 'it'")
    found = [cursor.fetchall()]
    while cursor.nextset():
        found.append(cursor.fetchall() if cursor.description else [])
    assert found == [[(1,)], [(2, 3)], []]
    assert client.info.parameter_status("application_name") == "it"


def test_a_script_is_read_whole_before_any_of_it_is_done(client: psycopg.Connection[Any]) -> None:
    with pytest.raises(pg.SyntaxError):
        client.execute("INSERT INTO s VALUES (1, 1); SELEC 1")
    assert client.execute("SELECT COUNT(*) FROM s").fetchone() == (0,)


def test_the_changes_of_a_script_are_one_transaction(client: psycopg.Connection[Any]) -> None:
    with pytest.raises(pg.UniqueViolation):
        client.execute("INSERT INTO s VALUES (1, 1); INSERT INTO r VALUES (0, 'a', 1)")
    assert client.execute("SELECT COUNT(*) FROM s").fetchone() == (0,)


def test_settings_are_shown(client: psycopg.Connection[Any]) -> None:
    assert client.info.server_version == 140000
    assert client.execute("SHOW transaction isolation level").fetchone() == ("read committed",)
    client.execute("SET search_path = public")
    client.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    client.execute("SET extra_float_digits = 3")
    assert client.execute("SHOW extra_float_digits").fetchone() == ("3",)
    assert client.execute("SELECT current_setting('extra_float_digits')").fetchone() == ("3",)
    client.execute("RESET ALL")
    assert client.execute("SHOW extra_float_digits").fetchone() == ("1",)
    client.execute("DISCARD ALL")
    names = [row[0] for row in client.execute("SHOW ALL").fetchall()]
    assert "server_version" in names
    assert client.execute("SELECT version()").fetchone() == (
        f"PostgreSQL 14.0 (ringview {rv.__version__})",
    )
    found = client.execute("SELECT current_schema(), current_user, current_database()").fetchone()
    assert found == ("public", "me", "ringview")


def test_who_may_only_read_changes_nothing() -> None:
    db = shop()
    with PostgresServer(db, port=0) as server, connect(server) as client:
        assert client.execute("SHOW default_transaction_read_only").fetchone() == ("on",)
        for sql in (
            "INSERT INTO s VALUES (1, 1)",
            "UPDATE r SET x = 0",
            "DELETE FROM r",
            "TRUNCATE r",
            "CREATE TABLE t (a bigint)",
            "CREATE VIEW w AS SELECT a FROM r",
            "DROP VIEW v",
            "ALTER TABLE r DROP COLUMN x",
        ):
            with pytest.raises(pg.ReadOnlySqlTransaction):
                client.execute(sql)
        with client.transaction():
            assert client.execute("SELECT COUNT(*) FROM r").fetchone() == (3,)
    assert (len(db.tables["r"]), list(db.views)) == (3, ["v"])


def test_definitions_and_changes(client: psycopg.Connection[Any]) -> None:
    said = []
    for sql in (
        "CREATE TABLE t (id bigint PRIMARY KEY, b text)",
        "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'y')",
        "CREATE OR REPLACE VIEW w AS SELECT b, COUNT(*) AS n FROM t GROUP BY b",
        "UPDATE t SET b = 'z' WHERE id > 1",
        "DELETE FROM t WHERE id = 3",
        "TABLE w",
        "CREATE TABLE u AS SELECT * FROM t",
        "ALTER TABLE u ADD COLUMN c bigint",
        "TRUNCATE u",
        "DROP VIEW w",
        "DROP TABLE t",
        "DROP TABLE IF EXISTS u",
    ):
        said.append(client.execute(sql).statusmessage)
    assert said == [
        *("CREATE TABLE", "INSERT 0 3", "CREATE VIEW", "UPDATE 2", "DELETE 1", "SELECT 2"),
        *("SELECT 2", "ALTER TABLE", "TRUNCATE TABLE", "DROP VIEW", "DROP TABLE", "DROP TABLE"),
    ]


@needs_psql
def test_psql_shows_rows_errors_and_places(server: PostgresServer) -> None:
    shown = psql(server, "SELECT a, n FROM v ORDER BY a;\nSELECT a\nFROM nope;\n", "-A", "-t")
    assert "one|2\ntwo|1\n" in shown
    assert 'ERROR:  no table or view "nope"' in shown
    assert "LINE 2: FROM nope;\n             ^" in shown
