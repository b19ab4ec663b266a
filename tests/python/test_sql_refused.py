"""SQL that is refused: by which error, at which place, with which words."""

from __future__ import annotations

import pytest
import ringview as rv
from catalog import constant, query
from ringview import errors

REFUSED: list[tuple[str, type[Exception], int, int, str]] = [
    # names
    ("SELECT COUNT(*) FROM mixd", errors.UnknownTableError, 1, 22, "did you mean 'Mixed'?"),
    ("SELECT zona FROM mixed", errors.UnknownColumnError, 1, 8, "did you mean 'Zone'?"),
    ("SELECT SUM(total.a) FROM r totals", errors.QueryError, 1, 12, "did you mean 'totals'?"),
    (
        "SELECT COUNT(*) FROM zz",
        errors.UnknownTableError,
        1,
        22,
        "no table or view 'zz'; known: r, s",
    ),
    ("SELECT SUM(q) FROM r", errors.UnknownColumnError, 1, 12, "known: a, b, x, d"),
    ("SELECT SUM(r.q) FROM r", errors.UnknownColumnError, 1, 14, "in table 'r'"),
    ("SELECT SUM(z.a) FROM r", errors.QueryError, 1, 12, "no table or alias 'z'"),
    ("SELECT SUM(r.a) FROM r AS p", errors.QueryError, 1, 12, "in scope: p"),
    ('SELECT SUM("A") FROM r', errors.UnknownColumnError, 1, 12, "no column 'A'"),
    ("SELECT SUM(KEY) FROM mixed", errors.QueryError, 1, 12, "mixed.Key, mixed.key"),
    ("SELECT COUNT(b) FROM r, s", errors.QueryError, 1, 14, "write one of r.b, s.b"),
    ("SELECT COUNT(*)\nFROM r, s\nWHERE b = 1", errors.QueryError, 3, 7, "ambiguous"),
    (
        "SELECT COUNT(*) FROM r p, r q JOIN s USING (b), t WHERE b = 1",
        errors.QueryError,
        1,
        57,
        "p.b, q.b",
    ),
    (
        "SELECT COUNT(*) FROM r p CROSS JOIN r q JOIN s USING (b)",
        errors.QueryError,
        1,
        55,
        "ambiguous",
    ),
    ("SELECT COUNT(*) FROM r, s JOIN t ON r.a = t.a", errors.QueryError, 1, 37, "in scope: s, t"),
    ("SELECT COUNT(*) FROM r, r", errors.QueryError, 1, 25, "an alias"),
    ("SELECT COUNT(*) FROM main.r", errors.UnsupportedError, 1, 22, "schema"),
    ("SELECT SUM(a.b.c) FROM r", errors.UnsupportedError, 1, 12, "write table.column"),
    ("SELECT a, a AS a FROM r GROUP BY a", errors.QueryError, 1, 11, "two outputs"),
    # joins
    ("SELECT COUNT(*) FROM r LEFT JOIN s USING (b)", errors.UnsupportedError, 1, 34, "LEFT JOIN"),
    ("SELECT COUNT(*) FROM r NATURAL FULL JOIN s", errors.UnsupportedError, 1, 42, "FULL"),
    ("SELECT COUNT(*) FROM r SEMI JOIN s USING (b)", errors.UnsupportedError, 1, 34, "SEMI"),
    ("SELECT COUNT(*) FROM r ASOF JOIN s USING (b)", errors.UnsupportedError, 1, 34, "ASOF"),
    ("SELECT COUNT(*) FROM r JOIN s", errors.QueryError, 1, 29, "CROSS JOIN"),
    ("SELECT COUNT(*) FROM r p NATURAL JOIN mixed", errors.QueryError, 1, 39, "no column on both"),
    ("SELECT COUNT(*) FROM r JOIN s USING (a)", errors.UnknownColumnError, 1, 38, "no column 'a'"),
    ("SELECT COUNT(*) FROM r, s WHERE r.b = s.c", errors.TypeMismatchError, 1, 33, "number (b)"),
    ("SELECT COUNT(*) FROM range(3)", errors.UnsupportedError, 1, 22, "names of tables"),
    ("SELECT COUNT(*) FROM r TABLESAMPLE 10%", errors.UnsupportedError, 1, 22, "SAMPLE"),
    # clauses
    ("SELECT DISTINCT a FROM r GROUP BY a", errors.UnsupportedError, 1, 1, "GROUP BY"),
    ("SELECT a, COUNT(*) FROM r GROUP BY a ORDER BY a", errors.UnsupportedError, 1, 47, "sort"),
    ("SELECT COUNT(*) FROM r LIMIT 3", errors.UnsupportedError, 1, 30, "LIMIT"),
    ("SELECT a FROM r UNION SELECT b FROM s", errors.UnsupportedError, 1, 1, "UNION"),
    ("SELECT COUNT(*) FROM r; SELECT COUNT(*) FROM s", errors.UnsupportedError, 1, 25, "second"),
    ("DELETE FROM r", errors.UnsupportedError, 1, 13, "db.delete"),
    ("SELECT COUNT(*) FROM r GROUP BY ALL", errors.UnsupportedError, 1, 1, "GROUP BY ALL"),
    ("SELECT COUNT(*) FROM r GROUP BY ROLLUP (a)", errors.UnsupportedError, 1, 41, "grouping"),
    ("SELECT COUNT(*) FROM r GROUP BY a + 1", errors.UnsupportedError, 1, 33, "columns only"),
    ("SELECT COUNT(*) FROM r GROUP BY 2", errors.QueryError, 1, 33, "no output number 2"),
    ("SELECT COUNT(*) FROM r GROUP BY 1", errors.QueryError, 1, 33, "no aggregate"),
    ("SELECT 1", errors.UnsupportedError, 1, 1, "needs a FROM"),
    # outputs
    ("SELECT a, COUNT(*) FROM r", errors.QueryError, 1, 8, "neither in GROUP BY"),
    ("SELECT *, COUNT(*) FROM r", errors.UnsupportedError, 1, 8, "beside aggregates"),
    ("SELECT 1 FROM r", errors.UnsupportedError, 1, 8, "constant"),
    ("SELECT MEDIAN(x) FROM r", errors.UnsupportedError, 1, 8, "SUM, COUNT, AVG"),
    ("SELECT SUM(x) OVER () FROM r", errors.UnsupportedError, 1, 8, "window"),
    ("SELECT SUM(x) FILTER (WHERE a > 1) FROM r", errors.UnsupportedError, 1, 8, "FILTER"),
    ("SELECT COFACTOR() FROM r", errors.QueryError, 1, 8, "needs a feature"),
    ("SELECT COFACTOR(a + 1) FROM r", errors.UnsupportedError, 1, 17, "a feature is a column"),
    ("SELECT COFACTOR(d) FROM r", errors.TypeMismatchError, 1, 17, "needs numbers"),
    ("SELECT SUM(SUM(x)) FROM r", errors.UnsupportedError, 1, 12, "aggregate"),
    ("SELECT SUM(c) FROM s", errors.TypeMismatchError, 1, 8, "SUM needs numbers"),
    ("SELECT AVG(d) FROM r", errors.TypeMismatchError, 1, 8, "this is a date"),
    ("SELECT SUM(NULL) FROM r", errors.TypeMismatchError, 1, 8, "null"),
    ("SELECT COUNT() FROM r", errors.UnsupportedError, 1, 8, "COUNT(*)"),
    # expressions
    ("SELECT SUM(foo(x)) FROM r", errors.UnsupportedError, 1, 12, "no function 'FOO'"),
    ("SELECT SUM(ABS(x)) FROM r", errors.UnsupportedError, 1, 12, "no function 'ABS'"),
    ("SELECT SUM(x / 2) FROM r", errors.UnsupportedError, 1, 12, "rows are not divided"),
    ("SELECT SUM(x ** 2) FROM r", errors.UnsupportedError, 1, 12, "x * x"),
    ("SELECT SUM(CASE WHEN a = 1 THEN x END) FROM r", errors.UnsupportedError, 1, 12, "CASE"),
    (
        "SELECT SUM(CAST(x AS INT)) FROM r",
        errors.UnsupportedError,
        1,
        12,
        "compute it into a column",
    ),
    ("SELECT SUM(x + d) FROM r", errors.TypeMismatchError, 1, 16, "needs numbers"),
    ("SELECT SUM(a || b) FROM r", errors.UnsupportedError, 1, 12, "cannot be maintained"),
    ("SELECT SUM($1) FROM r", errors.UnsupportedError, 1, 8, "parameters"),
    ("SELECT SUM((SELECT 1)) FROM r", errors.UnsupportedError, 1, 13, "subqueries"),
    # conditions
    ("SELECT COUNT(*) FROM r WHERE x", errors.TypeMismatchError, 1, 30, "condition"),
    ("SELECT COUNT(*) FROM r WHERE a = 'abc'", errors.QueryError, 1, 34, "abc"),
    ("SELECT COUNT(*) FROM r WHERE d = '1995-02-30'", errors.QueryError, 1, 34, "day"),
    ("SELECT COUNT(*) FROM r WHERE d = 5", errors.TypeMismatchError, 1, 34, "date is not compared"),
    ("SELECT COUNT(*) FROM s WHERE c LIKE b", errors.UnsupportedError, 1, 37, "constant text"),
    ("SELECT COUNT(*) FROM r WHERE a LIKE 'x'", errors.TypeMismatchError, 1, 30, "LIKE needs"),
    ("SELECT COUNT(*) FROM s WHERE c LIKE 'x' ESCAPE 'ab'", errors.QueryError, 1, 48, "one char"),
    ("SELECT COUNT(*) FROM s WHERE c SIMILAR TO 'x'", errors.UnsupportedError, 1, 30, "SIMILAR"),
    (
        "SELECT COUNT(*) FROM r WHERE EXISTS (SELECT 1)",
        errors.UnsupportedError,
        1,
        38,
        "needs a FROM",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT b FROM s)",
        errors.UnsupportedError,
        1,
        42,
        "may have several rows",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(b), 1 FROM s)",
        errors.QueryError,
        1,
        35,
        "one column, not 2",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT MAX(c) FROM s)",
        errors.UnsupportedError,
        1,
        42,
        "a string of a subquery",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(b) FROM s GROUP BY c)",
        errors.UnsupportedError,
        1,
        65,
        "GROUP BY in a subquery",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(b) FROM s LIMIT 1)",
        errors.UnsupportedError,
        1,
        62,
        "LIMIT is not kept",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT VAR_POP(b) FROM s)",
        errors.UnsupportedError,
        1,
        42,
        "SUM, COUNT, AVG, MIN, MAX",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(r.x) FROM s)",
        errors.UnsupportedError,
        1,
        46,
        "of the query around",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(b) FROM s WHERE z.a = 1)",
        errors.QueryError,
        1,
        62,
        "no table or alias 'z'",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE ALL (SELECT b FROM s) > a",
        errors.UnsupportedError,
        1,
        35,
        "ALL and ANY",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a IN (SELECT b, ok FROM s)",
        errors.QueryError,
        1,
        36,
        "one column, this has 2",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a IN (SELECT c FROM s)",
        errors.TypeMismatchError,
        1,
        43,
        "not compared",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(b) OVER () FROM s)",
        errors.UnsupportedError,
        1,
        42,
        "window",
    ),
    ("SELECT COUNT(*) FROM r WHERE a IN (1, b)", errors.UnsupportedError, 1, 39, "constants"),
    (
        "SELECT COUNT(*) FROM r WHERE a IS DISTINCT FROM 1",
        errors.UnsupportedError,
        1,
        30,
        "DISTINCT",
    ),
    ("SELECT COUNT(*) FROM r WHERE SUM(x) > 1", errors.UnsupportedError, 1, 30, "aggregate"),
    (
        "SELECT COUNT(*) FROM r WHERE d + INTERVAL '1' DAY < '1995-01-01'",
        errors.TypeMismatchError,
        1,
        43,
        "other side",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE d < DATE '1995-01-01' + INTERVAL '1' LIGHTYEAR",
        errors.QueryError,
        1,
        63,
        "unit of time",
    ),
    (
        "SELECT COUNT(*) FROM t WHERE at < '1995-01-01 00:00:00.1234567'",
        errors.QueryError,
        1,
        35,
        "microsecond",
    ),
    (
        "SELECT COUNT(*) FROM mixed WHERE zone < '1995-01-01 00:00'",
        errors.QueryError,
        1,
        41,
        "offset",
    ),
    # syntax
    ("SELEC COUNT(*) FROM r", errors.QueryError, 1, 1, "not SQL at 'SELEC'; did you mean SELECT?"),
    ("SELECT COUNT(*) FORM r", errors.QueryError, 1, 17, "did you mean FROM?"),
    ("SELECT a FROM r GROUPE BY a", errors.QueryError, 1, 17, "did you mean GROUP?"),
    ("SELECT `a` FROM r", errors.QueryError, 1, 8, 'quote names like this: "name"'),
    ("SELECT SUM(x FROM r", errors.QueryError, 1, 14, "not SQL at 'FROM'"),
    ("SELECT COUNT(*) FROM r WHERE", errors.QueryError, 1, 24, "not SQL"),
]


@pytest.mark.parametrize(
    ("sql", "error", "line", "place", "message"), REFUSED, ids=[case[0] for case in REFUSED]
)
def test_refused_with_its_place(
    sql: str, error: type[Exception], line: int, place: int, message: str
) -> None:
    with pytest.raises(error) as caught:
        query(sql)
    text = str(caught.value)
    assert text.startswith(f"line {line}, column {place}: "), text
    assert message in text
    excerpt, mark = text.splitlines()[1:]
    assert excerpt.strip() == sql.splitlines()[line - 1].strip()
    assert mark.index("^") - 4 == place - 1


@pytest.mark.parametrize("sql", ["", "  ", "-- only a comment", "SELECT 'open", "/* open"])
def test_no_statement(sql: str) -> None:
    with pytest.raises(errors.QueryError):
        query(sql)


def deep(form: str, depth: int) -> str:
    """A query that is nested."""
    sql = "SELECT SUM(b) FROM r AS q"
    if form == "subqueries":
        for at in range(depth):
            sql = f"SELECT SUM(b) FROM r AS q{at} WHERE a < ({sql})"
        return sql
    if form == "from":
        sql = "SELECT a, b FROM r"
        for at in range(depth):
            sql = f"SELECT a, b FROM ({sql}) AS q{at} WHERE a < {at}"
        return sql
    condition = "a < 1"
    for at in range(depth):
        condition = {
            "not": f"NOT ({condition})",
            "and, or": f"(a < {at} {'AND' if at % 2 else 'OR'} {condition})",
        }[form]
    return f"SELECT COUNT(*) FROM r WHERE {condition}"


@pytest.mark.parametrize("form", ["subqueries", "from", "not", "and, or"])
def test_how_deep_queries_are_nested(form: str) -> None:
    """As deep as the documents say; deeper, until it is refused."""
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    assert db.explain(deep(form, 25))
    with pytest.raises(errors.UnsupportedError, match="nested too deeply"):
        db.explain(deep(form, 400))


def test_nested_too_deeply() -> None:
    with pytest.raises(errors.UnsupportedError, match="too deeply"):
        query(f"SELECT SUM({'(' * 3000}x{')' * 3000}) FROM r")


def test_decimals_of_too_many_digits() -> None:
    with pytest.raises(errors.QueryError, match="38 digits"):
        constant("1" * 39)
