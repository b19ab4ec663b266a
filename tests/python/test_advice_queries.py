"""What a refusal of a query advises, done: subqueries, blocks, joins, windows, aggregates, groups.

The advice gives what DuckDB says of the SQL that was refused, over rows that come twice, overlap
and hold NULL, one batch inserted before the views are made and one after, with deletes. A message
whose advice has no line here must give none.
"""

from __future__ import annotations

from functools import partial

import pytest
from advice import (
    APART,
    AROUND,
    GROUPS,
    ROWS_READ,
    Advice,
    Advised,
    check,
    computed,
    named,
    read,
    rows_of,
    setting,
    take,
)
from ringview import errors
from ringview.sql import names, scalars, select

ADVICE: Advice = [
    (
        "SELECT COUNT(*) FROM r WHERE x < (SELECT SUM(s.c * r.x) FROM s)",
        names.OUTSIDE,
        read("SELECT COUNT(*) FROM r WHERE x < r.x * (SELECT SUM(s.c) FROM s)"),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT COUNT(DISTINCT b) FROM s WHERE c = 1)",
        select.ONE_VALUE,
        read(
            "SELECT COUNT(*) FROM r WHERE a > "
            "(SELECT MAX(q.n) FROM (SELECT COUNT(DISTINCT b) AS n FROM s WHERE c = 1) AS q)"
        ),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a < (SELECT c FROM s WHERE c = 7)",
        "aggregate it: MIN or MAX of the column",
        read("SELECT COUNT(*) FROM r WHERE a < (SELECT MIN(c) FROM s WHERE c = 7)"),
    ),
    (
        "SELECT a, SUM(x * (SELECT MAX(c) FROM s)) AS y FROM r GROUP BY a",
        scalars.IN_FROM,
        read(
            "SELECT a, SUM(x * q.m) AS y FROM r CROSS JOIN (SELECT MAX(c) AS m FROM s) AS q "
            "GROUP BY a"
        ),
    ),
    (
        "SELECT SUM(x * (SELECT COUNT(*) FROM s WHERE s.b = r.b)) FROM r",
        scalars.IN_FROM,
        computed("SELECT SUM(x * COALESCE(n, 0)) FROM v0 LEFT JOIN v1 USING (b)", *APART),
    ),
    *(
        (
            f"SELECT a, (SELECT {of} FROM s WHERE s.b = r.b) AS y FROM r",
            scalars.IN_FROM,
            computed(f"SELECT a, {read_as} FROM v0 LEFT JOIN v1 USING (b)", *APART),
        )
        for of, read_as in (("COUNT(*)", "COALESCE(n, 0)"), ("SUM(c)", "c"))
    ),
    (
        "SELECT a, COUNT(*) AS n, (SELECT SUM(c) FROM s WHERE s.b = r.a) AS c FROM r GROUP BY a",
        scalars.IN_FROM,
        computed(
            "SELECT a, v0.n, c FROM v0 LEFT JOIN v1 ON a = b",
            "SELECT a, COUNT(*) AS n FROM r GROUP BY a",
            APART[1],
        ),
    ),
    *(
        (
            f"SELECT r.a, q.c FROM r, {lateral}(SELECT c FROM s WHERE s.b = r.b) q",
            names.JOINED_ON,
            read("SELECT r.a, q.c FROM r JOIN (SELECT b, c FROM s) AS q USING (b)"),
        )
        for lateral in ("", "LATERAL ")
    ),
    *(
        (
            f"SELECT a, q.n FROM r, {lateral}(SELECT COUNT(*) AS n FROM s WHERE s.b = r.b) q",
            names.JOINED_ON,
            computed("SELECT a, COALESCE(n, 0) FROM v0 LEFT JOIN v1 USING (b)", *APART),
        )
        for lateral in ("", "LATERAL ")
    ),
    (
        "SELECT COUNT(*) FROM (SELECT b FROM r UNION SELECT b FROM s) AS q",
        scalars.READ_APART,
        computed(
            "SELECT COUNT(*) FROM (SELECT b FROM v0 UNION SELECT b FROM v1)",
            "SELECT b FROM r",
            "SELECT b FROM s",
        ),
    ),
    (
        "SELECT COUNT(a) FROM (SELECT a FROM r ORDER BY a LIMIT 4) AS q",
        scalars.READ_APART,
        computed("SELECT COUNT(a) FROM (SELECT a FROM v0 ORDER BY a LIMIT 4)", "SELECT a FROM r"),
    ),
    (
        "SELECT COUNT(a) FROM (SELECT a FROM r ORDER BY a) AS q",
        "leave it out",
        read("SELECT COUNT(a) FROM (SELECT a FROM r) AS q"),
    ),
    (
        "WITH RECURSIVE q AS (SELECT a FROM r) SELECT COUNT(a) FROM q",
        "leave RECURSIVE out where no name reads itself",
        read("WITH q AS (SELECT a FROM r) SELECT COUNT(a) FROM q"),
    ),
    (
        "WITH RECURSIVE q AS (SELECT a, b FROM r UNION SELECT q.a, r.b FROM q JOIN r ON q.b = r.a) "
        "SELECT COUNT(*) FROM q",
        "keep the rows that it starts from, and follow them in what you read",
        computed(
            "WITH RECURSIVE q AS (SELECT a, b FROM v0 UNION SELECT q.a, v0.b FROM q JOIN v0 "
            "ON q.b = v0.a) SELECT COUNT(*) FROM q",
            "SELECT a, b FROM r",
        ),
    ),
    (
        "SELECT b FROM r UNION SELECT b FROM s",
        "unite, intersect or subtract what you read",
        computed("SELECT b FROM v0 UNION SELECT b FROM v1", "SELECT b FROM r", "SELECT b FROM s"),
    ),
    (
        "SELECT b FROM r EXCEPT ALL SELECT b FROM s",
        "unite, intersect or subtract what you read",
        computed(
            "SELECT b FROM v0 EXCEPT ALL SELECT b FROM v1", "SELECT b FROM r", "SELECT b FROM s"
        ),
    ),
    (
        "SELECT COUNT(*), COUNT(c) FROM r LEFT JOIN s USING (b)",
        "keep the rows of each side as a view and join what you read",
        computed(
            "SELECT COUNT(*), COUNT(c) FROM v0 LEFT JOIN v1 USING (b)",
            "SELECT b FROM r",
            "SELECT b, c FROM s",
        ),
    ),
    (
        "SELECT COUNT(*) FROM r SEMI JOIN s USING (b)",
        "keep the rows of each side as a view and join what you read",
        computed(
            "SELECT COUNT(*) FROM v0 SEMI JOIN v1 USING (b)", "SELECT b FROM r", "SELECT b FROM s"
        ),
    ),
    (
        "SELECT a, SUM(x) OVER (PARTITION BY a) AS y FROM r",
        ROWS_READ,
        computed("SELECT a, SUM(x) OVER (PARTITION BY a) FROM v0", "SELECT a, x FROM r"),
    ),
    (
        "SELECT a, x, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b, x NULLS LAST) AS n FROM r",
        ROWS_READ,
        computed(
            "SELECT a, x, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b, x NULLS LAST) FROM v0",
            "SELECT a, b, x FROM r",
        ),
    ),
    (
        "SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY x) AS n FROM r) q",
        ROWS_READ,
        computed(
            "SELECT SUM(n) FROM "
            "(SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY x) AS n FROM v0)",
            "SELECT a, x FROM r",
        ),
    ),
    (
        "SELECT a, x FROM r QUALIFY COUNT(*) OVER (PARTITION BY a) > 1",
        "keep the rows and filter what you read",
        computed(
            "SELECT a, x FROM v0 QUALIFY COUNT(*) OVER (PARTITION BY a) > 1", "SELECT a, x FROM r"
        ),
    ),
    (
        "SELECT a, SUM(x) AS y, SUM(x) FILTER (WHERE b = 1) AS z, "
        "COUNT(*) FILTER (WHERE b = 1) AS n FROM r GROUP BY a",
        "make a second view with the filter in WHERE; groups that it lacks are NULL, 0 for COUNT",
        computed(
            "SELECT v0.a, v0.y, v1.z, COALESCE(v1.n, 0) "
            "FROM v0 LEFT JOIN v1 ON v0.a IS NOT DISTINCT FROM v1.a",
            "SELECT a, SUM(x) AS y FROM r GROUP BY a",
            "SELECT a, SUM(x) AS z, COUNT(*) AS n FROM r WHERE b = 1 GROUP BY a",
        ),
    ),
    (
        "SELECT a, SUM(DISTINCT x) FROM r GROUP BY a",
        "take the columns from a subquery that has each once: FROM (SELECT DISTINCT ..) AS q",
        read("SELECT a, SUM(x) AS y FROM (SELECT DISTINCT a, x FROM r) AS q GROUP BY a"),
    ),
    (
        "SELECT DISTINCT COUNT(*) AS n FROM r GROUP BY a",
        "put it around: SELECT DISTINCT .. FROM (SELECT ..) AS q",
        read("SELECT DISTINCT n FROM (SELECT COUNT(*) AS n FROM r GROUP BY a) AS q"),
    ),
    (
        "SELECT DISTINCT ON (a) a FROM r",
        "keep the rows and choose from them",
        computed("SELECT DISTINCT ON (a) a FROM v0", "SELECT a FROM r"),
    ),
    (
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) FROM r",
        ROWS_READ,
        computed("SELECT QUANTILE_CONT(x, 0.5) FROM v0", "SELECT x FROM r"),
    ),
    (
        "SELECT a, MEDIAN(x) FROM r GROUP BY a",
        ROWS_READ,
        computed("SELECT a, MEDIAN(x) FROM v0 GROUP BY a", "SELECT a, x FROM r"),
    ),
    (
        "SELECT SUM(x ORDER BY a) FROM r",
        "leave it out",
        read("SELECT SUM(x) FROM r"),
    ),
    (
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a ORDER BY SUM(x) DESC NULLS LAST, a LIMIT 2",
        "select what it sorts by, and sort what you read",
        computed(
            "SELECT a, n FROM v0 ORDER BY y DESC NULLS LAST, a LIMIT 2",
            "SELECT a, COUNT(*) AS n, SUM(x) AS y FROM r GROUP BY a",
        ),
    ),
    (
        "SELECT a, COUNT(*) AS n FROM r GROUP BY ROLLUP (a)",
        "make a view of each grouping",
        computed(
            "SELECT * FROM v0 UNION ALL SELECT NULL, n FROM v1",
            "SELECT a, COUNT(*) AS n FROM r GROUP BY a",
            "SELECT COUNT(*) AS n FROM r",
        ),
    ),
    (
        "SELECT a, COUNT(*) AS n FROM r GROUP BY ALL",
        "name the columns",
        read("SELECT a, COUNT(*) AS n FROM r GROUP BY a"),
    ),
    # Of groups, and of rows.
    *(
        (
            f"SELECT a, {expression('SUM(d)')} AS y FROM r GROUP BY a",
            GROUPS,
            computed(
                f"SELECT a, {expression('y')} FROM v0", "SELECT a, SUM(d) AS y FROM r GROUP BY a"
            ),
        )
        for expression in (
            "ROUND({}, 1)".format,
            "CAST({} AS DOUBLE)".format,
            "CASE WHEN {} > 2 THEN 1 ELSE 0 END".format,
            "ABS({})".format,
            "{} % 2".format,
        )
    ),
]


@named(ADVICE)
def test_advice_comes_to_what_was_refused(sql: str, words: str, advised: Advised) -> None:
    take(sql, words, advised)


def test_an_engine_without_conditions_across_tables_has_them_around_a_join() -> None:
    made = setting()
    sql = "SELECT MIN(x) AS y FROM r, s WHERE r.a < s.c"
    around = "SELECT MIN(x) FROM (SELECT a, c, x FROM r CROSS JOIN s) AS q WHERE a < c"
    with pytest.raises(errors.UnsupportedError) as refused:
        made.db.create_view("refused", sql, engine="viewtree")
    assert AROUND in str(refused.value)
    taken, advised = made.view(sql), made.view(around)
    for view in (taken, advised):
        check(made, sql, partial(rows_of, view.to_arrow()))
