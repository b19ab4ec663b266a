"""Random statements: tables and views after each are what DuckDB says, which is given the same."""

from __future__ import annotations

import duckdb
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparable
from ringview import errors

TABLES = """
CREATE TABLE r (a INTEGER, x BIGINT, s VARCHAR);
CREATE TABLE k (id INTEGER PRIMARY KEY, b SMALLINT, d DECIMAL(9, 2), f DOUBLE);
CREATE TABLE m (id INTEGER NOT NULL, day DATE, ts TIMESTAMP, ok BOOLEAN);
"""
VIEWS = {
    "sums": "SELECT a, SUM(x) AS x, COUNT(*) AS n FROM r GROUP BY a",
    "joined": "SELECT s, COUNT(*) AS n, MAX(d) AS d FROM r JOIN k ON a = id GROUP BY s",
    "moments": "SELECT day, COUNT(ok) AS n, MIN(ts) AS ts FROM m GROUP BY day",
    "listed": "SELECT x, b FROM r LEFT JOIN k ON r.a = k.id",
}
SMALL = st.sampled_from(["NULL", "0", "1", "2", "3"])
TEXT = st.sampled_from(["NULL", "'u'", "'v'", "'it''s'", "'1'"])
SETS = {
    "r": [
        *("x = x + 1", "x = a", "a = 3 - a", "s = s || '!'", "s = NULL, x = 7", "a = x % 4"),
        *("x = (SELECT COUNT(*) FROM k)", "s = CASE WHEN x > 1 THEN 'big' ELSE s END", "x = '5'"),
        *("x = 2.5", "a = (SELECT MAX(id) FROM k WHERE id < r.x)"),
    ],
    "k": [
        *("b = b + 1", "d = d * 2", "d = f", "f = d", "id = id + 1", "id = 3 - id", "d = 1.005"),
        *("b = NULL", "id = -id, f = b", "b = 300 * b", "d = id / 3"),
    ],
    "m": [
        *("day = day + 1", "ts = day", "ok = NOT ok", "day = ts", "id = id + 1", "ok = id > 1"),
        *("ts = TIMESTAMP '2024-02-29 12:00:00'", "day = '2024-03-01'", "id = NULL"),
    ],
}
WHERES = {
    "r": [
        *("x > 1", "a = 1", "s LIKE 'u%'", "x IS NULL", "a IN (SELECT id FROM k)", "true"),
        *("EXISTS (SELECT 1 FROM k WHERE id = r.a AND d > 1)", "x = (SELECT MAX(x) FROM r)"),
        "NOT (a < 2)",
    ],
    "k": ["id < 2", "d > 1", "b IS NOT NULL", "id IN (SELECT a FROM r)", "f = 1", "true"],
    "m": ["day > '2024-02-28'", "ok", "ts IS NULL", "id = 1", "true", "NOT ok"],
}
ROWS = {
    "r": st.tuples(SMALL, SMALL, TEXT),
    "k": st.tuples(
        SMALL,
        st.sampled_from(["NULL", "1", "2"]),
        st.sampled_from(["1.5", "2", "0.005", "'3.25'", "NULL"]),
        st.sampled_from(["1", "0.5", "NULL"]),
    ),
    "m": st.tuples(
        SMALL,
        st.sampled_from(["'2024-02-28'", "DATE '2024-02-29'", "NULL"]),
        st.sampled_from(["'2024-02-28 10:00:00'", "DATE '2024-02-29'", "NULL"]),
        st.sampled_from(["true", "false", "NULL", "1"]),
    ),
}
COLUMNS = {"r": ["a", "x", "s"], "k": ["id", "b", "d", "f"], "m": ["id", "day", "ts", "ok"]}
QUERIES = {
    "r": ["SELECT x, a, s FROM r", "SELECT id, b, 'k' FROM k", "SELECT a, n, NULL FROM sums"],
    "k": [
        "SELECT a, x, 1, 2 FROM r WHERE a IS NOT NULL",
        "SELECT id + 2, b, d, f FROM k",
        "SELECT MAX(id) + 1, COUNT(*), SUM(d), AVG(f) FROM k",
    ],
    "m": ["SELECT id, day, ts, ok FROM m", "SELECT x, NULL, NULL, a > 1 FROM r"],
}


@st.composite
def statements(draw: st.DrawFn) -> str:
    table = draw(st.sampled_from(sorted(ROWS)))
    kind = draw(
        st.sampled_from(["values", "values", "select", "update", "update", "delete", "key", "all"])
    )
    if kind == "values":
        rows = draw(st.lists(ROWS[table], min_size=1, max_size=3))
        listed = ", ".join(f"({', '.join(row)})" for row in rows)
        return f"INSERT INTO {table} VALUES {listed}"
    if kind == "select":
        return f"INSERT INTO {table} {draw(st.sampled_from(QUERIES[table]))}"
    if kind == "key":
        row = draw(ROWS["k"])
        rest = draw(
            st.sampled_from(
                [
                    "ON CONFLICT DO NOTHING",
                    "ON CONFLICT (id) DO UPDATE SET b = excluded.b",
                    "ON CONFLICT (id) DO UPDATE SET d = excluded.d, f = excluded.f",
                ]
            )
        )
        return f"INSERT INTO k VALUES ({', '.join(row)}) {rest}"
    where = draw(st.sampled_from(WHERES[table]))
    if kind == "update":
        return f"UPDATE {table} SET {draw(st.sampled_from(SETS[table]))} WHERE {where}"
    if kind == "all":
        return draw(st.sampled_from([f"TRUNCATE {table}", f"DELETE FROM {table}"]))
    return f"DELETE FROM {table} WHERE {where}"


class Both:
    """A database and DuckDB, given the same."""

    def __init__(self) -> None:
        self.db = rv.Database()
        self.duck = duckdb.connect(":memory:", config={"threads": 1})
        self.db.execute(TABLES)
        self.duck.execute(TABLES)
        for name, sql in VIEWS.items():
            self.db.execute(f"CREATE VIEW {name} AS {sql}")
            self.duck.execute(f"CREATE VIEW {name} AS {sql}")

    def run(self, statement: str) -> bool:
        """Whether it was taken: by both or by neither."""
        try:
            self.duck.execute(statement).fetchall()
            is_taken = True
        except duckdb.Error:
            is_taken = False
        try:
            self.db.execute(statement)
            why = None
        except errors.RingviewError as refused:
            why = refused
        assert is_taken == (why is None), (statement, why)
        return is_taken

    def check(self, statement: str) -> None:
        for name in (*COLUMNS, *VIEWS):
            sql = f"SELECT * FROM {name}"
            expected = comparable(self.duck.sql(sql).to_arrow_table())
            assert comparable(self.db.execute(sql)) == expected, (statement, name)
        for name in COLUMNS:
            assert comparable(self.db.tables[name].to_arrow()) == comparable(
                self.duck.sql(f"SELECT * FROM {name}").to_arrow_table()
            )


@examples(60)
@given(st.lists(statements(), min_size=1, max_size=12))
def test_statements_do_what_duckdb_does(script: list[str]) -> None:
    both = Both()
    for statement in script:
        both.run(statement)
        both.check(statement)


@examples(40)
@given(st.lists(statements(), min_size=1, max_size=6), st.booleans())
def test_transactions_do_what_duckdb_does(script: list[str], commits: bool) -> None:
    both = Both()
    for table, rows in (("r", "(1, 1, 'u'), (2, 2, 'v')"), ("k", "(1, 1, 1, 1), (2, 2, 2, 2)")):
        assert both.run(f"INSERT INTO {table} VALUES {rows}")
    both.db.execute("BEGIN")
    both.duck.execute("BEGIN")
    for statement in script:
        try:
            both.duck.execute(statement).fetchall()
        except duckdb.Error:
            both.duck.execute("ROLLBACK")
            both.db.execute("ROLLBACK")
            both.check(statement)
            return
        both.db.execute(statement)
        for name in (*COLUMNS, *VIEWS):
            sql = f"SELECT * FROM {name}"
            expected = comparable(both.duck.sql(sql).to_arrow_table())
            assert comparable(both.db.execute(sql)) == expected, (statement, name)
    end = "COMMIT" if commits else "ROLLBACK"
    both.duck.execute(end)
    both.db.execute(end)
    both.check(end)


@examples(40)
@given(st.lists(statements(), min_size=1, max_size=8))
def test_who_follows_a_view_is_told_of_statements(script: list[str]) -> None:
    both = Both()
    seen: dict[str, int] = {}
    with both.db["listed"].follow() as follower:
        for statement in script:
            both.run(statement)
            for row in follower.changes().to_pylist():
                times = row.pop("multiplicity")
                seen[repr(row)] = seen.get(repr(row), 0) + times
            now: dict[str, int] = {}
            for row in both.db["listed"]:
                now[repr(row)] = now.get(repr(row), 0) + 1
            assert {row: times for row, times in seen.items() if times} == now
