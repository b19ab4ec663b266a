"""Advice of refused queries, followed: subqueries, blocks, joins, windows, aggregates, groups.

The advised SQL gives DuckDB's result of the refused SQL, over rows that are repeated, overlap and
hold NULL, one batch inserted before the views are made and one after, with deletes. A message whose
advice has no line here must give none.
"""

from __future__ import annotations

from functools import partial

import pytest
from advice import advise, check, rows_of, setting, take

TAKEN = [
    "SELECT COUNT(*) FROM r WHERE a > (SELECT COUNT(DISTINCT b) FROM s WHERE c = 1)",
    "SELECT a, (SELECT COUNT(*) FROM s WHERE s.b = r.b) AS y FROM r",
    "SELECT a, (SELECT SUM(c) FROM s WHERE s.b = r.b) AS y FROM r",
    "SELECT a, COUNT(*) AS n, (SELECT SUM(c) FROM s WHERE s.b = r.a) AS c FROM r GROUP BY a",
    "SELECT r.a, q.c FROM r, LATERAL (SELECT c FROM s WHERE s.b = r.b) q",
    "SELECT a, q.n FROM r, LATERAL (SELECT COUNT(*) AS n FROM s WHERE s.b = r.b) q",
    "SELECT COUNT(*) FROM (SELECT b FROM r UNION SELECT b FROM s) AS q",
    "SELECT COUNT(a) FROM (SELECT a FROM r ORDER BY a LIMIT 4) AS q",
    "SELECT COUNT(a) FROM (SELECT a FROM r ORDER BY a) AS q",
    "WITH RECURSIVE q AS (SELECT a FROM r) SELECT COUNT(a) FROM q",
    "WITH RECURSIVE q AS (SELECT a, b FROM r UNION SELECT q.a, r.b FROM q JOIN r ON q.b = r.a) "
    "SELECT COUNT(*) FROM q",
    "SELECT b FROM r UNION SELECT b FROM s",
    "SELECT b FROM r EXCEPT ALL SELECT b FROM s",
    "SELECT COUNT(*), COUNT(c) FROM r LEFT JOIN s USING (b)",
    "SELECT COUNT(*) FROM r SEMI JOIN s USING (b)",
    "SELECT a, SUM(x) OVER (PARTITION BY a) AS y FROM r",
    "SELECT a, x, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b, x NULLS LAST) AS n FROM r",
    "SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY x) AS n FROM r) q",
    "SELECT a, x FROM r QUALIFY COUNT(*) OVER (PARTITION BY a) > 1",
    "SELECT a, SUM(x) AS y, SUM(x) FILTER (WHERE b = 1) AS z, COUNT(*) FILTER (WHERE "
    "b = 1) AS n FROM r GROUP BY a",
    "SELECT a, SUM(DISTINCT x) FROM r GROUP BY a",
    "SELECT DISTINCT COUNT(*) AS n FROM r GROUP BY a",
    "SELECT DISTINCT ON (a) a FROM r",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) FROM r",
    "SELECT a, MEDIAN(x) FROM r GROUP BY a",
    "SELECT SUM(x ORDER BY a) FROM r",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a ORDER BY SUM(x) DESC NULLS LAST, a LIMIT 2",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY ROLLUP (a)",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY ALL",
    "SELECT a, ROUND(SUM(d), 1) AS y FROM r GROUP BY a",
    "SELECT a, CAST(SUM(d) AS DOUBLE) AS y FROM r GROUP BY a",
    "SELECT a, CASE WHEN SUM(d) > 2 THEN 1 ELSE 0 END AS y FROM r GROUP BY a",
    "SELECT a, ABS(SUM(d)) AS y FROM r GROUP BY a",
    "SELECT a, SUM(d) % 2 AS y FROM r GROUP BY a",
]

ADVICE = [
    (
        "SELECT r.a, q.c FROM r, (SELECT c FROM s WHERE s.b = r.b) q",
        'no table or alias "r"',
        "SELECT r.a, q.c FROM r JOIN (SELECT b, c FROM s) AS q USING (b)",
    ),
    (
        "SELECT a, q.n FROM r, (SELECT COUNT(*) AS n FROM s WHERE s.b = r.b) q",
        'no table or alias "r"',
        "SELECT a, q.n FROM r, LATERAL (SELECT COUNT(*) AS n FROM s WHERE s.b = r.b) q",
    ),
]


@pytest.mark.parametrize("sql", TAKEN)
def test_what_was_refused_equals_duckdb(sql: str) -> None:
    take(sql)


@pytest.mark.parametrize(("sql", "words", "advised"), ADVICE)
def test_advice_comes_to_what_was_refused(sql: str, words: str, advised: str) -> None:
    advise(sql, words, advised)


def test_an_engine_without_conditions_across_tables_has_them_around_a_join() -> None:
    made = setting()
    sql = "SELECT MIN(x) AS y FROM r, s WHERE r.a < s.c"
    around = "SELECT MIN(x) FROM (SELECT a, c, x FROM r CROSS JOIN s) AS q WHERE a < c"
    by_tree = made.db.create_view("by_tree", sql, engine="viewtree")
    for view in (by_tree, made.view(sql), made.view(around)):
        check(made, sql, partial(rows_of, view.to_arrow()))
