"""Texts that tests of other systems hold: each means what DuckDB means by it, or is refused."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
import ringview as rv
from ringview import errors

TABLES = {
    "t": ("a INTEGER, b INTEGER", "(1, 2), (1, 3), (2, 3), (NULL, 4)"),
    "s": ("a INTEGER", "(1), (5)"),
    "d": ("y INTEGER", "(9)"),
    "e": ("a INTEGER", ""),
    "p": ("k INTEGER, x DOUBLE, y DOUBLE", "(1, 2, 3), (1, 2, 3), (2, 1, 5)"),
    "n": ("v DECIMAL(18, 17), f FLOAT", "(0.41000000000000003, 2e38), (0.99999999999999999, 1.5)"),
}

SAME = [
    # Decimals as doubles, and floats beside decimals.
    "SELECT 0.41000000000000003::DOUBLE AS x, 0.9999999999999999::DOUBLE AS y",
    "SELECT 100000000000000000000::DOUBLE < 99999999999999999999.99999::DOUBLE AS x",
    "SELECT v::DOUBLE AS x FROM n",
    "SELECT f / 0.1 AS x, f / 2 AS y, f / 2e0 AS z FROM n",
    "SELECT '0.1'::DECIMAL(3, 3)::VARCHAR AS x, '-0.1'::DECIMAL(3, 3)::VARCHAR AS y",
    # Joins are read from left to right, behind NATURAL JOIN too.
    "SELECT e.a, y FROM t NATURAL JOIN e RIGHT JOIN d ON true",
    "SELECT t.a, s.a AS sa, y FROM t NATURAL LEFT JOIN s JOIN d ON true",
    "SELECT t.a, y FROM t JOIN s JOIN d ON y > s.a ON t.a = s.a",
    # Groups.
    "SELECT a, b, count(*) AS n FROM t GROUP BY GROUPING SETS (a, b), (a, b)",
    "SELECT a, b, count(*) AS n FROM t GROUP BY GROUPING SETS (a, b, ()), (a)",
    "SELECT a, b, count(*) AS n FROM t GROUP BY (a, b)",
    "SELECT GROUPING() AS g, a, b, count(*) AS n FROM t GROUP BY CUBE (a, b)",
    "SELECT a, GROUPING() AS g FROM t GROUP BY ROLLUP (a) ORDER BY GROUPING() DESC, a LIMIT 2",
    # Lists.
    "SELECT count(*) AS n FROM UNNEST((SELECT list(range) FROM range(40))) AS u(i)",
    "SELECT i + 1 AS j, count(*) AS n FROM UNNEST((SELECT list(range) FROM range(4))) AS u(i) "
    "GROUP BY ALL",
    "SELECT a, i FROM t, UNNEST((SELECT list(range) FROM range(3))) AS u(i) WHERE i > a",
    "SELECT ([1, 2, 3, 4, 5])[1:5:2] AS x, ([1, 2, 3, 4, 5])[-4:-1:2] AS y, ([1, 2])[1:2:9] AS z",
    "SELECT NULL AS x UNION ALL SELECT NULL UNION ALL SELECT true",
    "SELECT concat([42]) AS x, concat([1], [2, NULL], []) AS y",
    "SELECT concat([42]::INT[1], [43]::INT[1]) AS x",
    "SELECT concat_ws('.', ['1', '2', '', '3']) AS x",
    "SELECT cardinality(MAP(list_value(1, 2), list_value(3, 4))) AS x",
    # Texts.
    "SELECT regexp_extract_all('aabca', 'a*') AS x, regexp_extract_all('щццф', 'ц*') AS y",
    "SELECT regexp_extract_all('this__test', '(.*?)(?:_|$)', 1) AS x",
    "SELECT overlay('33333rce' PLACING 'resou' FROM 1 FOR -1) AS x",
    "SELECT format('{}', 120381902481294715712::HUGEINT) AS x",
    # Moments.
    "SELECT INTERVAL 30 DAY = INTERVAL 1 MONTH AS x, INTERVAL 30 HOUR > INTERVAL 1 DAY AS y",
    "SELECT INTERVAL 31 DAY BETWEEN INTERVAL 1 MONTH AND INTERVAL 2 MONTH AS x",
    "SELECT INTERVAL '14 months 1 day'::VARCHAR AS x, INTERVAL '-1.5 seconds'::VARCHAR AS y",
    "SELECT INTERVAL '2 years 25 hours'::VARCHAR AS x, INTERVAL '0 days'::VARCHAR AS y",
    "SELECT generate_series(TIMESTAMP '2020-01-01', TIMESTAMP '2020-07-01', INTERVAL 3 MONTH) AS x",
    "SELECT date_part('century', DATE '0044-03-15 (BC)') AS x, "
    "date_part('millennium', DATE '1001-01-01 (BC)') AS y",
    "SELECT (DATE '1994-08-14 (BC)')::VARCHAR AS x, (TIMESTAMP '0020-01-01 (bc)')::VARCHAR AS y",
    "SELECT strftime(DATE '99999-01-01', '%Y') AS x, '30000-01-01'::DATE::VARCHAR AS y",
    "SELECT strptime('10/28/1910', ['%d-%m-%Y', '%m/%d/%Y']) AS x",
    "SELECT try_strptime('10.28.1910', ['%d-%m-%Y', '%m/%d/%Y']) AS x",
    "SELECT try_strptime('Jun 30 2003  2:03:10AM', '%b %d %Y %-I:%M:%S%p') AS x",
    "SELECT try_strptime('2020-01-01 +0', '%Y-%m-%d %z') AS x",
    "SELECT try_strptime('20 19', '%U %W') AS x, try_strptime('60', '%U') AS y",
    "SELECT try_strptime('11 PM', '%H %p') AS x, try_strptime('13 AM', '%H %p') AS y",
    # One value: of the groups of a row around, and of no others.
    "SELECT a, (SELECT max(b) FROM t WHERE t.a = s.a GROUP BY t.a) AS m FROM s",
    "SELECT a, (SELECT DISTINCT y FROM d WHERE d.y > 0) AS y FROM s",
    "SELECT a FROM s WHERE 3 = (SELECT max(b) FROM t WHERE t.a = s.a GROUP BY t.a, t.a + 1)",
    # Columns of the row around among those of aggregates and groups.
    "SELECT a, (SELECT sum(s.a * t.b) FROM t WHERE t.a = s.a) AS x FROM s",
    "SELECT a FROM s WHERE 7 < (SELECT max(s.a + t.b) FROM t WHERE t.b > s.a)",
    "SELECT a, (SELECT count(*) FILTER (WHERE t.b > s.a) FROM t) AS n FROM s",
    "SELECT a, (SELECT median(t.b - s.a) FROM t WHERE t.a <> s.a) AS m FROM s",
    "SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t GROUP BY t.b + s.a HAVING count(*) = 2)",
    # Statistics of what does not vary, as windows too.
    "SELECT k, corr(x, y) OVER (PARTITION BY k) AS c, regr_slope(x, y) OVER (PARTITION BY k) AS s "
    "FROM p",
]

REFUSED = [
    "SELECT {'a': 1} AS c UNION ALL SELECT {'b': 1} AS c",
    "SELECT {'a': 1} AS c UNION ALL BY NAME SELECT {'b': 1} AS c",
    "SELECT {'a': 1, 'A': 2} AS c",
    "SELECT corr(x, y) export_state FROM p",
    "SELECT '\\x20'::BYTEA AS x",
    "SELECT '2020-01-01 01:23:45.123456789'::TIMESTAMP(9) AS x",
    "SELECT concat_ws('.', ['1'], ['2']) AS x",
    "SELECT [{'a': 1, 'b': 2}] || [{'b': 3, 'a': 4}] AS x",
    "SELECT ([1, 2, 3])[1:3:-1] AS x",
    "SELECT 'abc'[1:3:2] AS x",
    "SELECT (SELECT sum(t.a)) AS x FROM t",
    "SELECT EXISTS (SELECT sum(t.a) FROM s) AS x FROM t",
]


SEVERAL = [
    "SELECT a, (SELECT max(b) FROM t WHERE t.a = s.a GROUP BY b) AS m FROM s",
    "SELECT a, (SELECT DISTINCT b FROM t WHERE t.a = s.a) AS m FROM s",
    "SELECT a, (SELECT median(b) FROM t WHERE t.a = s.a GROUP BY t.a, b) AS m FROM s",
    "SELECT a FROM s WHERE 3 = (SELECT max(b) FROM t WHERE t.a = s.a GROUP BY b)",
    "SELECT a FROM s WHERE 1 < (SELECT max(b) FROM t WHERE t.a = s.a GROUP BY b)",
    "SELECT a FROM s WHERE 3 = (SELECT DISTINCT b FROM t WHERE t.a = s.a)",
]


def filled() -> tuple[rv.Database, duckdb.DuckDBPyConnection]:
    db, oracle = rv.Database(), duckdb.connect()
    for name, (columns, rows) in TABLES.items():
        text = f"CREATE TABLE {name}({columns})"
        db.execute(text)
        oracle.execute(text)
        if rows:
            db.execute(f"INSERT INTO {name} VALUES {rows}")
            oracle.execute(f"INSERT INTO {name} VALUES {rows}")
    return db, oracle


def bag(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(tuple(row.values())) for row in rows)


@pytest.mark.parametrize("sql", SAME)
def test_a_text_means_what_duckdb_means(sql: str) -> None:
    db, oracle = filled()
    view = db.create_view("v", sql)
    changes = ["DELETE FROM t WHERE b = 3", "INSERT INTO e VALUES (2)", "DELETE FROM p WHERE k = 2"]
    for change in ["", *changes]:
        if change:
            db.execute(change)
            oracle.execute(change)
        expected = bag(oracle.sql(sql).to_arrow_table().to_pylist())
        assert bag(db.sql(sql).to_pylist()) == expected
        assert bag(view.to_arrow().to_pylist()) == expected


@pytest.mark.parametrize("sql", REFUSED)
def test_what_would_mean_something_else_is_refused(sql: str) -> None:
    db, _ = filled()
    with pytest.raises(errors.RingviewError):
        db.sql(sql)


@pytest.mark.parametrize("sql", SEVERAL)
def test_several_groups_are_no_value(sql: str) -> None:
    db, oracle = filled()
    with pytest.raises(duckdb.InvalidInputException, match="More than one row"):
        oracle.sql(sql).fetchall()
    with pytest.raises(errors.InvalidValueError, match="rows, not one"):
        db.sql(sql)
    with pytest.raises(errors.InvalidValueError, match="rows, not one"):
        db.create_view("v", sql)


def test_rows_that_are_replaced_keep_the_columns_that_are_not_given() -> None:
    db, oracle = rv.Database(), duckdb.connect()
    for text in (
        "CREATE TABLE q(k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'new')",
        "INSERT INTO q VALUES (1, 10, 'x'), (2, 20, 'y')",
        "INSERT OR REPLACE INTO q(k, a) VALUES (1, 11), (3, 30)",
        "INSERT OR REPLACE INTO q(b, k) VALUES ('z', 2), ('w', 4)",
        "INSERT OR REPLACE INTO q VALUES (4, 40, 'v')",
        "INSERT OR REPLACE INTO q(a, k, b) VALUES (31, 3, 'u')",
    ):
        db.execute(text)
        oracle.execute(text)
        expected = bag(oracle.sql("FROM q").to_arrow_table().to_pylist())
        assert bag(db.sql("SELECT * FROM q").to_pylist()) == expected
