"""Queries of strangers to the catalogue: they reach no file, no network, no setting, no end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
from psycopg import errors as pg
from ringview.serve.postgres import PostgresServer
from ringview.serve.postgres.catalogue import Catalogue
from ringview.serve.postgres.catalogue_access import (
    BOUNDED,
    FUNCTIONS,
    OPERATORS,
    TABLE_FUNCTIONS,
)
from ringview.serve.postgres.catalogue_engine import CatalogueEngine
from ringview.serve.postgres.codes import SqlStateError
from ringview.serve.postgres.tokens import pieces
from wire_clients import by_hand, connect, message, shop, until

SECRET = "a text that nobody else may read"
# As long as a computer lives; each side of it is small, so that only time runs out.
LONG = (
    "SELECT count(*) FROM pg_catalog.pg_am, generate_series(1, 100000) AS i, "
    "generate_series(1, 100000) AS j, generate_series(1, 100000) AS k WHERE i + j + k < 0"
)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(shop(), port=0) as made:
        yield made


@pytest.fixture
def engine() -> Iterator[CatalogueEngine]:
    catalogue = Catalogue(shop(), "shop", {})
    [query] = pieces("SELECT relname FROM pg_class")
    catalogue.query(query, [], "me")
    yield catalogue._started
    catalogue.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "kept.json").write_text("{}")
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


READS = [
    "SELECT content FROM read_text('{0}/secret.txt'), pg_catalog.pg_am LIMIT 1",
    "SELECT * FROM pg_catalog.pg_am, '{0}/secret.txt'",
    'SELECT * FROM pg_catalog.pg_am, "{0}/secret.txt"',
    "SELECT * FROM pg_catalog.pg_am, read_csv('{0}/secret.txt')",
    "SELECT * FROM pg_catalog.pg_am, glob('{0}/*')",
    "SELECT * FROM pg_catalog.pg_am, query('SELECT * FROM read_text(''{0}/secret.txt'')')",
    "SELECT * FROM pg_catalog.pg_am, enable_profiling('json', save_location := '{0}/kept.json')",
    "SELECT * FROM pg_catalog.pg_am WHERE EXISTS (SELECT 1 FROM read_blob('{0}/secret.txt'))",
    "WITH a AS (SELECT * FROM read_text('{0}/secret.txt')) SELECT * FROM a, pg_catalog.pg_am",
    'SELECT 1 FROM pg_catalog.pg_am, (WITH "{0}/secret.txt" AS (SELECT 1) SELECT 2), '
    "'{0}/secret.txt'",
    'WITH a AS (SELECT * FROM "{0}/secret.txt"), "{0}/secret.txt" AS (SELECT 1) '
    "SELECT 1 FROM pg_catalog.pg_am, a",
    "SELECT * FROM pg_catalog.pg_am, duckdb_settings()",
    "SELECT * FROM pg_catalog.pg_am, duckdb_settings",
    "SELECT * FROM pg_catalog.pg_am, (DESCRIBE pg_am)",
    "SELECT * FROM pg_catalog.pg_am, (SHOW ALL TABLES)",
    "SELECT system.main.getvariable('a') FROM pg_catalog.pg_am",
    "SELECT * FROM pg_catalog.pg_am, view_texts",
    "WITH a AS (DELETE FROM pg_am RETURNING *) SELECT * FROM a, pg_catalog.pg_class",
    "WITH a AS (INSERT INTO pg_am (oid) VALUES (1) RETURNING *) SELECT * FROM a, pg_catalog.pg_am",
    "SELECT * FROM (PIVOT pg_am ON amname USING count(*)), pg_catalog.pg_am",
    "SELECT list_transform([1], x -> x) FROM pg_catalog.pg_am",
    "SELECT * FROM pg_catalog.pg_am, read_text('http://127.0.0.1:9/a')",
]


@pytest.mark.parametrize("query", READS)
def test_a_client_reaches_nothing_beside_the_catalogue(
    server: PostgresServer, folder: Path, query: str
) -> None:
    before = contents(folder)
    with connect(server) as client:
        with pytest.raises(psycopg.Error) as failure:
            client.execute(query.format(folder).encode())
        assert failure.value.sqlstate in ("42883", "42P01", "0A000", "42601")
        assert SECRET not in str(failure.value)
        known = "SELECT amname FROM pg_catalog.pg_am ORDER BY 1"
        assert client.execute(known).fetchall() == [("btree",), ("heap",)]
    assert contents(folder) == before


def test_only_one_query_reaches_the_engine(engine: CatalogueEngine, folder: Path) -> None:
    for text in (
        "SELECT 1; SELECT 2",
        "SELECT 1; COPY pg_am TO 'a'",
        f"COPY (SELECT 1) TO '{folder}/a'",
        f"ATTACH '{folder}/a'",
        f"EXPORT DATABASE '{folder}/a'",
        "SET threads = 8",
        "PRAGMA version",
        "CALL pragma_version()",
        "DELETE FROM pg_am",
        "CREATE TABLE a (b int)",
        "SET VARIABLE a = 1",
        "EXPLAIN ANALYZE SELECT 1",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PIVOT pg_am ON amname USING count(*)",
        "",
    ):
        with pytest.raises(SqlStateError):
            engine.query(text, [])
    assert set(contents(folder)) == {"secret.txt", "kept.json"}
    with pytest.raises(SqlStateError, match="letters"):
        engine.query("SELECT 1" + " " * (1 << 20), [])


def test_powers_are_gone_beneath_the_list(engine: CatalogueEngine, folder: Path) -> None:
    """A fault in the list alone lets nothing through."""
    rows = {"a": [1]}
    assert rows
    cursor = engine._duckdb.cursor()
    for text in (
        f"SELECT * FROM read_text('{folder}/secret.txt')",
        f"SELECT * FROM '{folder}/kept.json'",
        f"COPY (SELECT 1) TO '{folder}/a'",
        f"ATTACH '{folder}/a'",
        f"CALL enable_profiling('json', save_location := '{folder}/kept.json')",
        "SELECT * FROM rows",
        "SET enable_external_access = true",
        "SET python_enable_replacements = true",
        "SET memory_limit = '10GB'",
        "RESET lock_configuration",
        "INSTALL httpfs",
        "LOAD httpfs",
    ):
        with pytest.raises(duckdb.Error):
            cursor.execute(text).fetchall()
    cursor.execute("BEGIN TRANSACTION READ ONLY")
    with pytest.raises(duckdb.Error, match="read-only"):
        cursor.execute("DELETE FROM pg_am")
    assert contents(folder) == {"kept.json": "{}", "secret.txt": SECRET}


def _offered(engine: CatalogueEngine) -> list[tuple[str, str]]:
    """The functions that the engine has, and what they are."""
    listed = "SELECT DISTINCT function_name, function_type FROM duckdb_functions() ORDER BY ALL"
    found: list[tuple[str, str]] = engine._duckdb.cursor().execute(listed).fetchall()
    return found


def _outcome(engine: CatalogueEngine, text: str) -> object:
    """The rows of a query, or what it is refused with."""
    try:
        return engine.query(text, []).to_pylist()
    except (SqlStateError, duckdb.Error) as problem:
        return problem


def test_every_function_of_the_engine_is_refused_or_harmless(
    engine: CatalogueEngine, folder: Path
) -> None:
    """All of them are called with a file and an address; none of either is touched."""
    before = contents(folder)
    offered = _offered(engine)
    kinds = {kind for _, kind in offered}
    assert {"table", "pragma", "scalar", "macro", "aggregate", "window"} <= kinds
    through = set()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/a"
        given = [f"'{folder}/secret.txt'", f"'{folder}/kept.json'", f"'{address}'", "1"]
        for name, kind in offered:
            called = '"' + name.replace('"', '""') + '"'
            texts = [f"PRAGMA {called}"]
            listed = name in FUNCTIONS | TABLE_FUNCTIONS
            for first in given[:3] if listed else given[:1]:
                for count in range(4) if listed else (1,):
                    arguments = ", ".join([first, *given][:count])
                    texts.append(f"SELECT {called}({arguments}) FROM pg_am")
                texts.append(f"SELECT * FROM {called}({first})")
            if listed and kind in ("aggregate", "window"):
                texts.append(f"SELECT {called}() OVER () FROM pg_am")
            for text in texts:
                found = _outcome(engine, text)
                assert SECRET not in str(found), text
                if isinstance(found, list):
                    through.add((name, kind))
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert contents(folder) == before
    assert {kind for _, kind in through} >= {"scalar", "macro", "aggregate", "window"}
    assert {name for name, _ in through} <= TABLE_FUNCTIONS | FUNCTIONS | OPERATORS


def test_every_listed_function_is_no_pragma_and_has_no_side_effects(
    engine: CatalogueEngine,
) -> None:
    cursor = engine._duckdb.cursor()
    of = "SELECT DISTINCT function_name, function_type, has_side_effects FROM duckdb_functions()"
    found = cursor.execute(of).fetchall()
    known = {name for name, kind, _ in found if kind not in ("table", "pragma")}
    assert {name for name in FUNCTIONS | OPERATORS if name.lower() not in known} <= {
        "coalesce",
        "unnest",
    }
    effects = {name for name, kind, bad in found if bad and kind not in ("table", "pragma")}
    assert not effects & FUNCTIONS
    assert {"write_log", "setseed", "nextval"} <= effects
    assert known >= set(BOUNDED)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT length(repeat('x', 1000000000)) FROM pg_am",
        "SELECT length(lpad('x', 1000000000, 'y')) FROM pg_am",
        "SELECT length(format('%s', repeat('x', 10000000))) FROM pg_am",
        "SELECT replace(repeat('x', 100000), 'x', repeat('y', 100000)) FROM pg_am",
        "SELECT regexp_replace(repeat('x', 9999), 'x', repeat('y', 9999), 'g') FROM pg_am",
        "SELECT string_agg('xxxxxxxxxxxxxxxx', ',') FROM generate_series(1, 1000000000)",
        "SELECT a.generate_series FROM generate_series(1, 1000000000) a ORDER BY 1 DESC",
        "SELECT array_agg(a) FROM generate_series(1, 1000000000) AS b(a)",
        "SELECT length(a) FROM " + "(SELECT a || a AS a FROM " * 30 + "(SELECT amname AS a FROM "
        "pg_am)" + ")" * 30,
        "SELECT len(a) FROM " + "(SELECT list_concat(a, a) AS a FROM " * 30 + "(SELECT [amname] AS "
        "a FROM pg_am)" + ")" * 30,
        "WITH RECURSIVE t AS (SELECT 'x' AS a UNION ALL SELECT a || a FROM t) "
        "SELECT max(length(a)) FROM t",
    ],
)
def test_memory_is_bounded(engine: CatalogueEngine, query: str) -> None:
    with pytest.raises((duckdb.OutOfMemoryException, duckdb.InvalidInputException)) as failure:
        engine.query(query, [])
    assert "emory" in str(failure.value) or "1 MiB" in str(failure.value)
    assert engine.query("SELECT count(*) AS n FROM pg_am", []).to_pylist() == [{"n": 2}]


def test_a_result_is_bounded(engine: CatalogueEngine) -> None:
    with pytest.raises(SqlStateError, match="a result of the catalogue has at most") as failure:
        engine.query("SELECT * FROM generate_series(1, 10000000000)", [])
    assert failure.value.report[0] == "54000"
    assert engine.query("SELECT * FROM generate_series(1, 100000)", []).num_rows == 100_000


def test_definitions_that_multiply_are_refused(engine: CatalogueEngine) -> None:
    text = "WITH a0 AS (SELECT oid FROM pg_am)"
    for at in range(1, 30):
        text += f", a{at} AS NOT MATERIALIZED (SELECT x.oid FROM a{at - 1} x, a{at - 1} y)"
    with pytest.raises(SqlStateError, match="more than 100 tables"):
        engine.query(f"{text} SELECT count(*) FROM a29", [])
    with pytest.raises((SqlStateError, duckdb.Error)):
        engine.query("SELECT " + "(" * 5000 + "1" + ")" * 5000, [])
    with pytest.raises((SqlStateError, duckdb.Error)):
        engine.query("SELECT " + "1" + " + 1" * 5000, [])


# Texts that are deep in one way or another, by how deep.
DEEP: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "SELECT " + "(" * n + "1" + ")" * n,
    "lists": lambda n: "SELECT " + "[" * n + "1" + "]" * n,
    "minus": lambda n: "SELECT " + "- " * n + "1",
    "plus": lambda n: "SELECT 1" + " + 1" * n,
    "concat": lambda n: "SELECT ''" + " || ''" * n,
    "dots": lambda n: "SELECT a" + ".b" * n,
    "subqueries": lambda n: "SELECT " + "(SELECT " * n + "1" + ")" * n,
    "from": lambda n: "SELECT 1 FROM " + "(SELECT 1 FROM " * n + "pg_am" + ")" * n,
    "case": lambda n: "SELECT " + "CASE WHEN true THEN " * n + "1" + " END" * n,
    "unions": lambda n: "(" * n + "SELECT 1" + " UNION SELECT 1)" * n,
    "joins": lambda n: "SELECT 1 FROM " + "(" * n + "pg_am" + " CROSS JOIN pg_am)" * n,
    "commas": lambda n: "SELECT 1 FROM pg_am" + ", pg_am" * n,
    "with": lambda n: "WITH a AS (" * n + "SELECT 1" + ") SELECT 1" * n,
    "functions": lambda n: "SELECT " + "lower(" * n + "'a'" + ")" * n,
    "structs": lambda n: "SELECT NULL::" + "STRUCT(a " * n + "int" + ")" * n,
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("depth", [1600, 3000, 50_000])
def test_a_deep_text_is_refused_before_it_is_parsed(
    engine: CatalogueEngine, kind: str, depth: int
) -> None:
    with pytest.raises(SqlStateError) as failure:
        engine.query(DEEP[kind](depth), [])
    assert failure.value.report[0] == "54001"


def test_functions_that_are_bounded_say_what_postgresql_says(engine: CatalogueEngine) -> None:
    query = """SELECT format('%I.%I is %L, %s%%', 'Ab', 'c', 'd''e', 5) AS f,
        format('plain') AS p, replace('abcb', 'b', 'xy') AS r, lpad('a', 3, '.') AS l,
        rpad('a', 3, '.') AS q, repeat('ab', 2) AS t, regexp_replace('aab', 'a', 'c', 'g') AS g"""
    assert engine.query(query, []).to_pylist() == [
        {
            **{"f": "\"Ab\".c is 'd''e', 5%", "p": "plain", "r": "axycxy", "l": "..a", "q": "a.."},
            **{"t": "abab", "g": "ccb"},
        }
    ]


def test_a_query_of_the_catalogue_ends_at_the_timeout() -> None:
    server = PostgresServer(shop(), port=0, statement_timeout=0.3)
    with server, connect(server) as client:
        with pytest.raises(pg.QueryCanceled, match="statement timeout"):
            client.execute(LONG)
        assert client.execute("SELECT count(*) FROM pg_am").fetchone() == (2,)


def test_a_query_of_the_catalogue_holds_up_nobody_and_is_cancelled() -> None:
    with PostgresServer(shop(), port=0) as server, connect(server) as slow:
        ended: list[BaseException] = []

        def ask() -> None:
            try:
                slow.execute(LONG)
            except psycopg.Error as problem:
                ended.append(problem)

        thread = threading.Thread(target=ask)
        thread.start()
        with connect(server) as client:
            for _ in range(5):
                assert client.execute("SELECT count(*) FROM pg_am").fetchone() == (2,)
        assert not ended
        while thread.is_alive():
            slow.cancel_safe()
            thread.join(0.2)
        assert isinstance(ended[0], pg.QueryCanceled)


def test_a_client_that_goes_away_ends_its_query_of_the_catalogue() -> None:
    with PostgresServer(shop(), port=0) as server:
        made = by_hand(server)
        made.sendall(message(b"Q", LONG.encode() + b"\0"))
        made.close()
        until(lambda: server.connections == 0)
        running = [t for t in threading.enumerate() if t.name == "ringview catalogue"]
        until(lambda: not any(thread.is_alive() for thread in running))


def test_cursors_of_a_session_are_its_own() -> None:
    with PostgresServer(shop(), port=0) as server, connect(server) as one, connect(server) as two:
        one.execute("DECLARE mine CURSOR WITH HOLD FOR SELECT 1")
        asked = "SELECT name FROM pg_catalog.pg_cursors"
        assert one.execute(asked).fetchall() == [("mine",)]
        assert two.execute(asked).fetchall() == []
        assert one.execute(asked).fetchall() == [("mine",)]
