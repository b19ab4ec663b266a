"""COPY over PostgreSQL's protocol, out and in: formats, drivers, transactions, refusals."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import ringview as rv
from psycopg import errors as pg
from ringview.serve.postgres import PostgresServer
from wire_clients import by_hand, connect, message, needs_psql, psql, read_until, shop, until
from wire_values import SCHEMA, TYPES, random_rows


@pytest.fixture
def db() -> rv.Database:
    return shop()


@pytest.fixture
def server(db: rv.Database) -> Iterator[PostgresServer]:
    with PostgresServer(db, port=0, writable=True) as made:
        yield made


def copied(client: psycopg.Connection[Any], copy: str) -> bytes:
    """All bytes of a COPY .. TO STDOUT."""
    with client.cursor().copy(copy) as rows:
        return b"".join(bytes(part) for part in rows)


def send(client: psycopg.Connection[Any], copy: str, data: bytes) -> str | None:
    """Send the rows of a COPY .. FROM STDIN; what the server says."""
    cursor = client.cursor()
    with cursor.copy(copy) as rows:
        rows.write(data)
    return cursor.statusmessage


def shown(rows: list[tuple[Any, ...]]) -> list[str]:
    """Rows in an order, whatever objects say that a moment is of UTC, and a number whole."""

    def of(value: object) -> object:
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return str(value)
        return value.isoformat() if isinstance(value, datetime) else value

    return sorted(str([of(value) for value in row]) for row in rows)


FORMATS = [
    "(FORMAT text)",
    "(FORMAT csv)",
    "(FORMAT binary)",
    "(FORMAT csv, HEADER match, DELIMITER ';', NULL 'nil', QUOTE '''', ESCAPE E'\\\\')",
    "(FORMAT csv, FORCE_QUOTE *, HEADER)",
    "(DELIMITER '|', NULL '~', HEADER true)",
    "WITH CSV HEADER QUOTE AS '$' NULL AS '-'",
    "BINARY",
]


@pytest.mark.parametrize("options", FORMATS)
@pytest.mark.parametrize("count", [0, 60, pytest.param(20_000, marks=pytest.mark.long)])
def test_rows_of_all_types_go_out_and_come_back(options: str, count: int) -> None:
    db, rows = rv.Database(), random_rows(count, count)
    for name in ("r", "s"):
        db.create_table(name, SCHEMA)
    db.insert("r", rows)
    with PostgresServer(db, port=0, writable=True) as server, connect(server) as client:
        data = copied(client, f"COPY r TO STDOUT {options}")
        assert send(client, f"COPY s FROM STDIN {options}", data) == f"COPY {count}"
    found, wanted = (db.tables[name].to_arrow().to_pylist() for name in ("s", "r"))
    assert sorted(map(str, found)) == sorted(map(str, wanted))


@pytest.mark.parametrize("binary", [False, True])
def test_rows_that_psycopg_writes_are_those_that_it_reads(binary: bool) -> None:
    db, rows = rv.Database(), random_rows(7, 80)
    db.create_table("r", SCHEMA)
    values = [tuple(row.values()) for row in rows.to_pylist()]
    form = "(FORMAT binary)" if binary else ""
    with PostgresServer(db, port=0, writable=True) as server, connect(server) as client:
        with client.cursor().copy(f"COPY r FROM STDIN {form}") as into:
            if binary:
                into.set_types(TYPES)
            for row in values:
                into.write_row(row)
        assert sorted(map(str, db.tables["r"].to_arrow().to_pylist())) == sorted(
            map(str, rows.to_pylist())
        )
        with client.cursor().copy(f"COPY (SELECT * FROM r) TO STDOUT {form}") as out:
            out.set_types(TYPES)
            read = list(out.rows())
    assert shown(read) == shown(values)


def test_csv_is_what_other_readers_and_writers_mean_by_it(server: PostgresServer) -> None:
    texts = ["plain", 'say "so"', "a,b", "two\nlines", "", "\\.", "ä"]
    with connect(server) as client:
        written = io.StringIO()
        csv.writer(written).writerows([[i, text] for i, text in enumerate(texts, 10)])
        sent = written.getvalue().encode()
        copy = "COPY r (id, a) FROM STDIN (FORMAT csv, FORCE_NOT_NULL (a))"
        assert send(client, copy, sent) == "COPY 7"
        query = "SELECT id, a FROM r WHERE id >= 10 ORDER BY id"
        out = copied(client, f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)")
    rows = list(csv.reader(io.StringIO(out.decode(), newline="")))
    assert rows == [["id", "a"], *[[str(i), text] for i, text in enumerate(texts, 10)]]


@pytest.mark.parametrize(
    ("copy", "wanted"),
    [
        ("COPY v TO STDOUT", {b"one\t2\n", b"two\t1\n"}),
        ("COPY v (n, a) TO STDOUT CSV", {b"2,one\n", b"1,two\n"}),
        ("COPY v TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE (a))", {b'a,n\n"one",2\n'}),
        ("COPY v TO STDOUT (HEADER, DELIMITER 'A')", {b"aAn\noneA2\n"}),
        ("COPY (SELECT x FROM r WHERE id = 2) TO STDOUT (FORMAT csv, NULL 'x')", {b"x\n"}),
        ("COPY (SELECT '' AS e) TO STDOUT (FORMAT csv)", {b'""\n'}),
        ("COPY (SELECT '\\.' AS e) TO STDOUT (FORMAT csv)", {b'"\\."\n'}),
    ],
)
def test_what_rows_are_written_as(server: PostgresServer, copy: str, wanted: set[bytes]) -> None:
    with connect(server) as client:
        found = copied(client, copy)
    assert all(line in found for line in wanted)


def test_binary_rows_are_behind_a_signature_in_the_first_message(server: PostgresServer) -> None:
    head = b"PGCOPY\n\xff\r\n\0" + bytes(8)
    with by_hand(server) as made:
        for query, count in (("SELECT id FROM r", 3), ("SELECT id FROM r WHERE id > 9", 0)):
            copy = f"COPY ({query}) TO STDOUT (FORMAT binary)\0"
            made.sendall(message(b"Q", copy.encode()))
            found = read_until(made, b"Z")
            assert found[0] == (b"H", b"\1\0\1\0\1")
            parts = [body for kind, body in found if kind == b"d"]
            assert len(parts) == count + 1
            assert parts[0].startswith(head)
            assert parts[-1].endswith(b"\xff\xff")
            assert (b"C", b"COPY %d\0" % count) in found


def test_a_subscription_has_formats_too(db: rv.Database, server: PostgresServer) -> None:
    with (
        connect(server) as client,
        client.cursor().copy("COPY (SUBSCRIBE v) TO STDOUT (FORMAT csv, HEADER)") as copy,
    ):
        rows = iter(copy)
        first = [bytes(next(rows)) for _ in range(3)]
        assert first[0] == b"multiplicity,a,n\n"
        assert sorted(first[1:]) == [b"1,one,2\n", b"1,two,1\n"]
        db.delete("r", where="id = 2")
        assert bytes(next(rows)) == b"-1,two,1\n"
        client.cancel_safe()
        with pytest.raises(pg.QueryCanceled):
            next(rows)


def test_rows_are_taken_with_the_defaults_of_their_table(
    db: rv.Database, server: PostgresServer
) -> None:
    db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, at VARCHAR DEFAULT 'home', x DECIMAL(5, 2))")
    with connect(server) as client:
        assert send(client, "COPY public.T (X, ID) FROM STDIN", b"1.005\t1\n\\N\t2\n") == "COPY 2"
        assert send(client, "COPY t FROM STDIN", b"") == "COPY 0"
    assert sorted(map(str, db.tables["t"].to_arrow().to_pylist())) == [
        str({"id": 1, "at": "home", "x": Decimal("1.01")}),
        str({"id": 2, "at": "home", "x": None}),
    ]


def test_rows_are_of_the_transaction_that_is_open(db: rv.Database, server: PostgresServer) -> None:
    count = "SELECT COUNT(*) FROM r"
    with connect(server) as one, connect(server) as two:
        with pytest.raises(ZeroDivisionError), one.transaction():
            send(one, "COPY r FROM STDIN", b"7\tseven\t1\n")
            assert one.execute(count).fetchone() == (4,)
            assert two.execute(count).fetchone() == (3,)
            raise ZeroDivisionError
        with one.transaction():
            send(one, "COPY r FROM STDIN", b"7\tseven\t1\n")
            with pytest.raises(pg.BadCopyFileFormat), one.transaction():
                send(one, "COPY r FROM STDIN", b"8\teight\n")
            send(one, "COPY r FROM STDIN", b"9\tnine\t\\N\n")
        assert two.execute(count).fetchone() == (5,)
    assert db["v"].get({"a": "nine"}) == {"a": "nine", "n": 1}


@pytest.mark.parametrize(
    ("copy", "data", "error", "said"),
    [
        (
            "r FROM STDIN",
            b"5\ta\t1\nx\tb\t1\n",
            pg.InvalidTextRepresentation,
            'line 2, column "id"',
        ),
        ("r FROM STDIN", b"5\ta\t1\n6\tb\n", pg.BadCopyFileFormat, 'line 2, column "x"'),
        ("r FROM STDIN", b"5\ta\t1\t2\n", pg.BadCopyFileFormat, "line 1: it has more"),
        ("r FROM STDIN", b"\\N\ta\t1\n", pg.NotNullViolation, 'line 1, column "id"'),
        ("s FROM STDIN", b"\\N\t1\n", pg.NotNullViolation, 'line 1, column "k"'),
        ("s FROM STDIN", b"1\t1e30\n", pg.NumericValueOutOfRange, 'line 1, column "d"'),
        ("r FROM STDIN", b"5\ta\t1\n5\tb\t1\n", pg.UniqueViolation, "id"),
        ("r FROM STDIN", b"5\ta\t1\n0\tb\t1\n", pg.UniqueViolation, "id"),
        ("r FROM STDIN", b"5\t\xff\t1\n", pg.CharacterNotInRepertoire, 'column "a"'),
        ("r FROM STDIN CSV", b'5,"a,1\n', pg.BadCopyFileFormat, "quotes are not closed"),
        ("r FROM STDIN (FORMAT csv, HEADER match)", b"id,b,x\n", pg.BadCopyFileFormat, "line 1"),
        ("r FROM STDIN BINARY", b"5\ta\t1\n", pg.BadCopyFileFormat, "PGCOPY"),
    ],
)
def test_a_wrong_row_changes_nothing(
    db: rv.Database,
    server: PostgresServer,
    copy: str,
    data: bytes,
    error: type[psycopg.Error],
    said: str,
) -> None:
    with connect(server) as client:
        with pytest.raises(error) as caught:
            send(client, f"COPY {copy}", data)
        assert said in str(caught.value)
        assert client.execute("SELECT COUNT(*) FROM r").fetchone() == (3,)
    assert len(db.tables["s"]) == 0


@pytest.mark.parametrize(
    ("copy", "error", "said"),
    [
        ("nope FROM STDIN", pg.UndefinedTable, "known: r, s"),
        ("v FROM STDIN", pg.WrongObjectType, "is a view"),
        ("r (id, b) FROM STDIN", pg.UndefinedColumn, "known: id, a, x"),
        ("r (id, ID) FROM STDIN", pg.DuplicateColumn, "given twice"),
        ("r (a) FROM STDIN", pg.NotNullViolation, "must not be NULL"),
        ("s (d) FROM STDIN", pg.NotNullViolation, "must not be NULL"),
        ("r FROM '/tmp/x'", pg.FeatureNotSupported, "reads no files"),
        ("r TO '/tmp/x'", pg.FeatureNotSupported, "writes no files"),
        ("r FROM STDIN WHERE id > 1", pg.FeatureNotSupported, "no WHERE"),
        ("(SELECT 1) FROM STDIN", pg.FeatureNotSupported, "into a table"),
        ("r () FROM STDIN", pg.FeatureNotSupported, "in brackets"),
        ("r FROM STDIN (FORMAT json)", pg.InvalidParameterValue, "text, csv, binary"),
        ("r FROM STDIN (FREEZE true)", pg.FeatureNotSupported, "FREEZE"),
        ("r FROM STDIN (ENCODING latin1)", pg.FeatureNotSupported, "UTF8"),
        ("r FROM STDIN (QUOTE 'x')", pg.InvalidParameterValue, "nothing of the format text"),
        ("r FROM STDIN (FORMAT binary, NULL '')", pg.InvalidParameterValue, "format binary"),
        ("r FROM STDIN (DELIMITER 'ab')", pg.InvalidParameterValue, "single byte"),
        ("r FROM STDIN (DELIMITER 'a')", pg.InvalidParameterValue, "take another"),
        ("r FROM STDIN (DELIMITER E'\\n')", pg.InvalidParameterValue, "no line breaks"),
        ("r FROM STDIN (NULL '|', DELIMITER '|')", pg.InvalidParameterValue, "text of NULL"),
        ("r FROM STDIN (FORMAT csv, QUOTE ',')", pg.InvalidParameterValue, "must differ"),
        ("r FROM STDIN (HEADER maybe)", pg.InvalidParameterValue, "true or false"),
        ("r FROM STDIN (NULL 'a', NULL 'b')", pg.SyntaxError, "said twice"),
        ("r FROM STDIN (DELIMITER)", pg.SyntaxError, "no value"),
        ("r FROM STDIN (,)", pg.SyntaxError, "a name and a value"),
        ("r FROM STDIN (FORMAT csv) x", pg.SyntaxError, "behind the options"),
        ("v TO STDOUT (FORMAT csv, FORCE_QUOTE (z))", pg.UndefinedColumn, "FORCE_QUOTE"),
    ],
)
def test_what_is_not_copied_is_refused_before_any_row(
    server: PostgresServer, copy: str, error: type[psycopg.Error], said: str
) -> None:
    with connect(server) as client:
        with pytest.raises(error, match=said):
            client.execute(f"COPY {copy}")
        assert client.execute("SELECT 1").fetchone() == (1,)


def test_who_may_only_read_copies_nothing_in(db: rv.Database) -> None:
    with PostgresServer(db, port=0) as server, connect(server) as client:
        with pytest.raises(pg.ReadOnlySqlTransaction, match="COPY FROM"):
            client.execute("COPY r FROM STDIN")
        assert len(copied(client, "COPY r TO STDOUT").splitlines()) == 3


def test_copies_from_the_client_stand_alone(server: PostgresServer) -> None:
    with connect(server) as client, pytest.raises(pg.FeatureNotSupported, match="its own"):
        client.execute("SELECT 1; COPY r FROM STDIN")


def test_there_are_limits_of_bytes_and_rows(db: rv.Database) -> None:
    limited = PostgresServer(db, port=0, writable=True, max_body=100, max_rows=2)
    with limited as server, connect(server) as client:
        with pytest.raises(pg.ProgramLimitExceeded, match="max_rows"):
            send(client, "COPY r FROM STDIN", b"5\ta\t1\n6\ta\t1\n7\ta\t1\n")
        with pytest.raises(pg.ProgramLimitExceeded, match="max_body"):
            send(client, "COPY r FROM STDIN", b"5\t" + b"a" * 200 + b"\t1\n")
        assert send(client, "COPY r FROM STDIN", b"5\ta\t1\n6\ta\t1\n") == "COPY 2"


def test_a_client_that_gives_up_or_goes_away_changes_nothing(
    db: rv.Database, server: PostgresServer
) -> None:
    with connect(server) as client:
        with pytest.raises(ZeroDivisionError), client.cursor().copy("COPY r FROM STDIN") as rows:
            rows.write(b"5\ta\t1\n")
            raise ZeroDivisionError
        assert client.execute("SELECT COUNT(*) FROM r").fetchone() == (3,)
    made = by_hand(server)
    made.sendall(message(b"Q", b"COPY r FROM STDIN\0"))
    read_until(made, b"G")
    made.sendall(message(b"d", b"5\ta\t1\n"))
    made.close()
    until(lambda: server.connections == 0)
    assert len(db.tables["r"]) == 3


def test_a_table_that_changed_meanwhile_is_as_it_is_then(
    db: rv.Database, server: PostgresServer
) -> None:
    db.create_table("t", {"a": "int64"})
    with connect(server) as client:
        with pytest.raises(pg.UndefinedTable), client.cursor().copy("COPY t FROM STDIN") as rows:
            rows.write(b"1\n")
            db.drop_table("t")
        db.create_table("t", {"a": "int64"})
        with client.cursor().copy("COPY t FROM STDIN") as rows:
            rows.write(b"1\n")
            db.execute("ALTER TABLE t ADD COLUMN b VARCHAR DEFAULT 'x'")
    assert db.tables["t"].to_arrow().to_pylist() == [{"a": 1, "b": "x"}]


@needs_psql
def test_psql_copies_files_both_ways(
    db: rv.Database, server: PostgresServer, tmp_path: Path
) -> None:
    db.create_table("t", pa.schema([("k", pa.int64()), ("d", pa.string())]))
    rows = [(1, 'a,"b"'), (2, "two\nlines"), (3, None), (4, "")]
    db.insert("t", {"k": [row[0] for row in rows], "d": [row[1] for row in rows]})
    script = ""
    for number, options in enumerate(
        ("", "csv header", "(format binary)", "(format csv, null 'x')")
    ):
        file = tmp_path / f"file{number}"
        script += f"\\copy t to '{file}' {options}\nDELETE FROM t;\n"
        script += f"\\copy t from '{file}' {options}\n"
    said = psql(server, script)
    assert said == "COPY 4\nDELETE 4\nCOPY 4\n" * 4
    found = db.tables["t"].to_arrow().to_pylist()
    assert sorted((row["k"], row["d"]) for row in found) == rows
    said = psql(server, "COPY t (k) FROM STDIN;\n7\nx\n\\.\nSELECT COUNT(*) AS n FROM t;\n", "-At")
    assert 'ERROR:  line 2, column "k": "x" is no bigint' in said
    assert "HINT:  no row of this COPY was taken" in said
    assert said.startswith("4\n")
