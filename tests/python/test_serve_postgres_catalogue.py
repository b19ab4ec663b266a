"""Catalogue queries of PostgreSQL's clients: psql, SQLAlchemy, JDBC, Grafana, Metabase."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest
import ringview as rv
import sqlalchemy as sa
import wire_queries
from ringview.serve.postgres import PostgresServer, catalogue
from ringview.serve.postgres.rewriting import rewritten
from ringview.serve.postgres.tokens import pieces, tokens
from wire_clients import connect, needs_psql, psql, shop


@pytest.fixture(scope="module")
def db() -> rv.Database:
    return shop()


@pytest.fixture(scope="module")
def server(db: rv.Database) -> Iterator[PostgresServer]:
    with PostgresServer(db, port=0, writable=True) as made:
        yield made


@pytest.fixture(scope="module")
def engine(server: PostgresServer) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.address[1]}/shop")
    yield made
    made.dispose()


@needs_psql
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (r"\dt", ["public|r|table|ringview", "public|s|table|ringview"]),
        (r"\dv", ["public|v|view|ringview"]),
        (r"\d", ["public|r|table|ringview", "public|v|view|ringview"]),
        (r"\d r", ["id|bigint|||", "a|text|||", "x|double precision|||", '"r_pkey" PRIMARY KEY']),
        (r"\d s", ["k|bigint||not null|", "d|numeric(10,2)|||"]),
        (r"\d v", ["a|text|||", "n|bigint||not null|"]),
        (r"\d+ v", ["View definition:", " SELECT a, COUNT(*) AS n FROM r GROUP BY a;"]),
        (r"\d+ r", ["Access method: heap"]),
        (r"\d r_pkey", ["id|bigint|yes|id", 'primary key, btree, for table "public.r"']),
        (r"\d nope", ['Did not find any relation named "nope".']),
        (r"\dt r*", ["public|r|table|ringview"]),
        (r"\di", ["public|r_pkey|index|ringview|r"]),
        (r"\l", ["ringview|ringview|UTF8"]),
        (r"\dn", ["public|ringview"]),
        (r"\dT", []),
        (r"\df", []),
        (r"\du", ["ringview|"]),
        (r"\dx", []),
        (r"\conninfo", ['as user "me"']),
    ],
)
def test_commands_of_psql(server: PostgresServer, command: str, shown: list[str]) -> None:
    found = psql(server, f"{command}\n", "-A", "-F", "|")
    assert "ERROR" not in found
    for line in shown:
        assert line in found


def test_sqlalchemy_reflects_tables_and_views(engine: sa.Engine) -> None:
    found = sa.inspect(engine)
    assert found.get_schema_names() == ["information_schema", "public"]
    assert (found.get_table_names(), found.get_view_names()) == (["r", "s"], ["v"])
    assert (found.has_table("r"), found.has_table("v"), found.has_table("nope")) == (
        *(True, True, False),
    )
    assert [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns("r")] == [
        ("id", "BIGINT", True),
        ("a", "TEXT", True),
        ("x", "DOUBLE PRECISION", True),
    ]
    assert [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns("s")] == [
        ("k", "BIGINT", False),
        ("d", "NUMERIC(10, 2)", True),
    ]
    assert found.get_pk_constraint("r")["constrained_columns"] == ["id"]
    assert found.get_pk_constraint("s")["constrained_columns"] == []
    assert found.get_view_definition("v") == " SELECT a, COUNT(*) AS n FROM r GROUP BY a;"
    assert [found.get_indexes("r"), found.get_foreign_keys("r")] == [[], []]
    assert [found.get_unique_constraints("r"), found.get_check_constraints("r")] == [[], []]
    with pytest.raises(sa.exc.NoSuchTableError):
        found.get_columns("nope")


def test_sqlalchemy_reads_and_writes_what_it_reflects(engine: sa.Engine) -> None:
    table = sa.Table("s", sa.MetaData(), autoload_with=engine)
    with engine.begin() as made:
        made.execute(table.insert(), [{"k": 1, "d": Decimal("1.50")}, {"k": 2, "d": None}])
        made.execute(table.update().where(table.c.k == 2).values(d=Decimal("2.25")))
        nested = made.begin_nested()
        made.execute(table.delete())
        nested.rollback()
    with engine.connect() as made:
        query = sa.select(table.c.k, table.c.d).where(table.c.d > 1).order_by(table.c.k)
        assert made.execute(query).all() == [(1, Decimal("1.50")), (2, Decimal("2.25"))]
    with engine.begin() as made:
        made.execute(table.delete())


@pytest.mark.parametrize("name", list(wire_queries.QUERIES))
def test_queries_of_other_clients(server: PostgresServer, name: str) -> None:
    query, names = wire_queries.QUERIES[name]
    with connect(server) as client:
        rows = client.execute(query).fetchall()
    values = {str(value) for row in rows for value in row}
    assert bool(rows) == bool(names)
    assert {told for told in names.split(", ") if told} <= values


def test_the_catalogue_follows_definitions(db: rv.Database, server: PostgresServer) -> None:
    asked = "SELECT relname, oid FROM pg_class WHERE relkind IN ('r', 'v') ORDER BY oid"
    with connect(server) as client:
        before = dict(client.execute(asked).fetchall())
        db.create_table("later", {"a": "int64"})
        assert set(dict(client.execute(asked).fetchall())) == {*before, "later"}
        db.drop_table("later")
        assert dict(client.execute(asked).fetchall()) == before


def test_names_that_are_no_plain_words(db: rv.Database, server: PostgresServer) -> None:
    db.create_table("Odd name", {'a"b': "int64", "ä": "string"}, unique='a"b')
    with connect(server) as client:
        listed = "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
        assert client.execute(listed, ["Odd name"]).fetchall() == [('a"b',), ("ä",)]
        made = "SELECT indexdef FROM pg_indexes WHERE tablename = 'Odd name'"
        assert client.execute(made).fetchone() == (
            'CREATE UNIQUE INDEX "Odd name_pkey" ON public."Odd name" USING btree ("a""b")',
        )
        client.execute("INSERT INTO \"Odd name\" VALUES (1, 'x')")
        assert client.execute('SELECT "ä" FROM "Odd name"').fetchone() == ("x",)
    db.drop_table("Odd name")


def test_a_view_of_any_type_is_listed(db: rv.Database, server: PostgresServer) -> None:
    db.create_view("cofactors", "SELECT COFACTOR(id, x) AS c FROM r WHERE x > 0")
    db.create_view("lists", "SELECT list(a) AS l FROM r")
    listed = "SELECT data_type FROM information_schema.columns WHERE table_name = %s"
    with connect(server) as client:
        for view, shown in (("cofactors", "json"), ("lists", "ARRAY")):
            assert client.execute(listed, [view]).fetchall() == [(shown,)]
        assert len(client.execute("SELECT * FROM lists").fetchall()) == 1
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="holds matrices"):
            client.execute("SELECT * FROM cofactors")
    db.drop_view("cofactors")
    db.drop_view("lists")


def test_a_table_of_a_user_is_no_catalogue(db: rv.Database, server: PostgresServer) -> None:
    db.create_table("tables", {"pg_class": "int64", "version": "int64"})
    db.insert("tables", {"pg_class": [1], "version": [2]})
    with connect(server) as client:
        found = client.execute("SELECT pg_class, version FROM tables WHERE pg_class = 1")
        assert found.fetchall() == [(1, 2)]
    db.drop_table("tables")


def test_an_empty_database_answers_too() -> None:
    with PostgresServer(rv.Database(), port=0) as server, connect(server) as client:
        assert client.execute("SELECT 1 AS one").fetchone() == (1,)
        assert client.execute("SELECT relname FROM pg_class").fetchall() == []


def test_tokens_are_told_apart() -> None:
    text = """select 'it''s', E'a\\'b', $$x;y$$, "a;""b", 1.5e3 -- c;\n /* d; */ , a::b ; next"""
    [first, second] = pieces(text)
    assert [t.text for t in first.tokens if t.kind in ("text", "name")] == [
        *("'it''s'", "E'a\\'b'", "$$x;y$$", '"a;""b"'),
    ]
    assert (second.text, text[second.start :]) == ("next", "next")
    assert [t.named for t in tokens('Ab "Cd""e"')] == ["ab", 'Cd"e']


def test_what_is_rewritten_and_what_is_not() -> None:
    [piece] = pieces(
        "SELECT 'r'::pg_catalog.regclass, current_user, pg_catalog.now() "
        "FROM information_schema.tables, generate_series(1, 2) AS i "
        "WHERE x IN (SELECT unnest(a), b)"
    )
    assert rewritten(piece, "o'me") == (
        "SELECT to_regclass('r') , 'o''me' , now ( ) FROM sql_information . tables , "
        "generate_series ( 1 , 2 ) AS i ( i ) WHERE x IN ( SELECT unnest ( a ) , b )"
    )


def test_duckdb_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    with pytest.raises(rv.errors.UnsupportedError, match=r"pip install 'ringview\[serve\]'"):
        PostgresServer(shop(), port=0)
