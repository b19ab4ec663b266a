"""SQL that is refused: by which error, at which place, with which words."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv
from catalog import CATALOG, query
from oracle import comparable
from ringview import errors

# The text, the class, line and column, words.
REFUSED: list[tuple[str, type[Exception], int, int, str]] = [
    ("SELECT COUNT(*) FROM mixd", errors.UnknownTableError, 1, 22, 'did you mean "Mixed"?'),
    ("SELECT zona FROM mixed", errors.UnknownColumnError, 1, 8, 'did you mean "Zone"?'),
    ("SELECT SUM(total.a) FROM r totals", errors.QueryError, 1, 12, 'did you mean "totals"?'),
    (
        "SELECT COUNT(*) FROM zz",
        errors.UnknownTableError,
        1,
        22,
        'no table or view "zz"; known: Mixed, dict, r, s',
    ),
    ("SELECT SUM(q) FROM r", errors.UnknownColumnError, 1, 12, "known: a, b, x, d"),
    ("SELECT SUM(r.q) FROM r", errors.UnknownColumnError, 1, 14, 'in table "r"'),
    ("SELECT SUM(z.a) FROM r", errors.QueryError, 1, 12, 'no table or alias "z"'),
    ("SELECT SUM(r.a) FROM r AS p", errors.QueryError, 1, 12, "in scope: p"),
    ("SELECT COUNT(b) FROM r, s", errors.QueryError, 1, 14, "write one of r.b, s.b"),
    ("SELECT COUNT(*)\nFROM r, s\nWHERE b = 1", errors.QueryError, 3, 7, "ambiguous"),
    (
        "SELECT COUNT(*) FROM r p CROSS JOIN r q JOIN s USING (b)",
        errors.QueryError,
        1,
        55,
        "ambiguous",
    ),
    ("SELECT COUNT(*) FROM r, s JOIN t ON r.a = t.a", errors.QueryError, 1, 37, "in scope: s, t"),
    ("SELECT COUNT(*) FROM r, r", errors.QueryError, 1, 25, "an alias"),
    ("SELECT SUM(a.b.c) FROM r", errors.QueryError, 1, 12, "type Int64 is not Struct"),
    ("SELECT COUNT(*) FROM r JOIN s", errors.QueryError, 1, 29, "CROSS JOIN"),
    ("SELECT COUNT(*) FROM r JOIN s USING (a)", errors.UnknownColumnError, 1, 38, 'no column "a"'),
    (
        "SELECT COUNT(*) FROM r, s WHERE r.b = s.c",
        errors.TypeMismatchError,
        1,
        35,
        "expected int64, found string",
    ),
    ("SELECT COUNT(*) FROM glob('x')", errors.UnsupportedError, 1, 22, "Table Functions"),
    ("SELECT COUNT(*) FROM r TABLESAMPLE 10%", errors.QueryError, 1, 38, "not SQL at"),
    ("SELECT COUNT(*) FROM r; SELECT COUNT(*) FROM s", errors.UnsupportedError, 1, 25, "second"),
    ("DELETE FROM r", errors.UnsupportedError, 1, 1, "db.delete"),
    ("SELECT COUNT(*) FROM r GROUP BY 2", errors.QueryError, 1, 33, "no output number 2"),
    ("SELECT COUNT(*) FROM r GROUP BY 1", errors.QueryError, 1, 8, "two columns are called"),
    ("SELECT a, COUNT(*) FROM r", errors.QueryError, 1, 8, "neither in GROUP BY"),
    ("SELECT *, COUNT(*) FROM r", errors.QueryError, 1, 8, "neither in GROUP BY"),
    ("SELECT COFACTOR() FROM r", errors.QueryError, 1, 8, "needs a feature"),
    (
        "SELECT COFACTOR(a + 1) FROM r",
        errors.UnsupportedError,
        1,
        8,
        "a feature of COFACTOR is a column",
    ),
    ("SELECT COFACTOR(d) FROM r", errors.TypeMismatchError, 1, 8, "CATEGORICAL(d)"),
    ("SELECT SUM(SUM(x)) FROM r", errors.QueryError, 1, 16, "aggregate"),
    ("SELECT SUM(c) FROM s", errors.TypeMismatchError, 1, 8, "needs numbers"),
    ("SELECT AVG(d) FROM r", errors.TypeMismatchError, 1, 8, "this is a date"),
    ("SELECT SUM(NULL) FROM r", errors.TypeMismatchError, 1, 8, "null"),
    ("SELECT SUM(foo(x)) FROM r", errors.UnsupportedError, 1, 12, 'did you mean "floor"'),
    ("SELECT SUM(x + d) FROM r", errors.TypeMismatchError, 1, 12, "Cannot coerce"),
    (
        "SELECT SUM(a || b) FROM r",
        errors.TypeMismatchError,
        1,
        8,
        "a sum needs numbers",
    ),
    ("SELECT SUM($1) FROM r", errors.InvalidValueError, 1, 12, "parameters"),
    ("SELECT COUNT(*) FROM r WHERE d", errors.TypeMismatchError, 1, 30, "is no condition"),
    ("SELECT COUNT(*) FROM r WHERE a = 'abc'", errors.QueryError, 1, 34, "abc"),
    ("SELECT COUNT(*) FROM r WHERE d = '1995-02-30'", errors.QueryError, 1, 34, "is not a date"),
    ("SELECT COUNT(*) FROM r WHERE d = 5", errors.TypeMismatchError, 1, 30, "with a date"),
    ("SELECT COUNT(*) FROM s WHERE c LIKE b", errors.TypeMismatchError, 1, 30, "a common type"),
    (
        "SELECT COUNT(*) FROM r WHERE a LIKE 'x'",
        errors.TypeMismatchError,
        1,
        37,
        "common type",
    ),
    (
        "SELECT COUNT(*) FROM s WHERE c LIKE 'x' ESCAPE 'ab'",
        errors.QueryError,
        1,
        32,
        "single character",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(b), 1 FROM s)",
        errors.QueryError,
        1,
        35,
        "one column, this has more",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(r.x) FROM s)",
        errors.UnsupportedError,
        1,
        48,
        "of a query around is not read here",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT SUM(b) FROM s WHERE z.a = 1)",
        errors.QueryError,
        1,
        62,
        'no table or alias "z"',
    ),
    (
        "SELECT COUNT(*) FROM r WHERE ALL (SELECT b FROM s) > a",
        errors.QueryError,
        1,
        42,
        "not SQL at",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a IN (SELECT b, ok FROM s)",
        errors.QueryError,
        1,
        43,
        "one column, this has more",
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a IN (SELECT c FROM s)",
        errors.TypeMismatchError,
        1,
        30,
        "expected int64, found string",
    ),
    ("SELECT COUNT(*) FROM r WHERE SUM(x) > 1", errors.QueryError, 1, 30, "aggregate"),
    (
        "SELECT COUNT(*) FROM r WHERE d < DATE '1995-01-01' + INTERVAL '1' LIGHTYEAR",
        errors.QueryError,
        1,
        67,
        "not SQL at",
    ),
    ("SELEC COUNT(*) FROM r", errors.QueryError, 1, 1, 'not SQL at "SELEC"; did you mean SELECT?'),
    ("SELECT COUNT(*) FORM r", errors.QueryError, 1, 17, "did you mean FROM?"),
    ("SELECT a FROM r GROUPE BY a", errors.QueryError, 1, 17, "did you mean GROUP?"),
    ("SELECT `a` FROM r", errors.QueryError, 1, 8, 'quote names like this: "name"'),
    ("SELECT SUM(x FROM r", errors.QueryError, 1, 14, 'not SQL at "FROM"'),
    ("SELECT COUNT(*) FROM r WHERE", errors.QueryError, 1, 24, "not SQL"),
]

# Refused by the front end that this one has replaced.
TAKEN = [
    'SELECT SUM("A") FROM r',
    "SELECT COUNT(*) FROM main.r",
    "SELECT COUNT(*) FROM r LEFT JOIN s USING (b)",
    "SELECT COUNT(*) FROM r NATURAL FULL JOIN s",
    "SELECT COUNT(*) FROM r SEMI JOIN s USING (b)",
    "SELECT DISTINCT a FROM r GROUP BY a",
    "SELECT a, COUNT(*) FROM r GROUP BY a ORDER BY a",
    "SELECT COUNT(*) FROM r LIMIT 3",
    "SELECT a FROM r UNION SELECT b FROM s",
    "SELECT COUNT(*) FROM r GROUP BY ALL",
    "SELECT COUNT(*) FROM r GROUP BY ROLLUP (a)",
    "SELECT COUNT(*) FROM r GROUP BY a + 1",
    "SELECT 1",
    "SELECT 1 FROM r",
    "SELECT MEDIAN(x) FROM r",
    "SELECT SUM(x) OVER () FROM r",
    "SELECT SUM(x) FILTER (WHERE a > 1) FROM r",
    "SELECT COUNT() FROM r",
    "SELECT SUM(ABS(x)) FROM r",
    "SELECT SUM(x / 2) FROM r",
    "SELECT SUM(x ** 2) FROM r",
    "SELECT SUM(CASE WHEN a = 1 THEN x END) FROM r",
    "SELECT SUM(CAST(x AS INT)) FROM r",
    "SELECT COUNT(*) FROM s WHERE c SIMILAR TO 'x'",
    "SELECT COUNT(*) FROM r WHERE EXISTS (SELECT 1)",
    "SELECT COUNT(*) FROM r WHERE a > (SELECT VAR_POP(b) FROM s)",
    "SELECT COUNT(*) FROM r WHERE a IN (1, b)",
    "SELECT COUNT(*) FROM r WHERE a IS DISTINCT FROM 1",
    "SELECT COUNT(*) FROM r WHERE d + INTERVAL '1' DAY < '1995-01-01'",
    "SELECT COUNT(*) FROM t WHERE t.at < '1995-01-01 00:00:00.1234567'",
    "SELECT SUM((SELECT 1)) FROM r",
    "SELECT COUNT(*) FROM mixed WHERE zone < '1995-01-01 00:00'",
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
    assert message in text
    assert text.startswith(f"line {line}, column {place}: "), text
    excerpt, mark = text.splitlines()[1:]
    assert excerpt.strip() == sql.splitlines()[line - 1].strip()
    assert mark.index("^") - 4 == place - 1


ROWS: dict[str, list[dict[str, Any]]] = {
    "r": [
        {"a": 1, "b": 1, "x": 1.5, "d": date(1994, 12, 30)},
        {"a": 1, "b": 2, "x": -2.5, "d": date(1994, 12, 31)},
        {"a": 2, "b": 1, "x": None, "d": None},
        {"a": None, "b": None, "x": 4.0, "d": date(1996, 1, 1)},
    ],
    "s": [
        {"b": 1, "c": "x", "ok": True},
        {"b": 1, "c": None, "ok": False},
        {"b": 3, "c": "y", "ok": None},
    ],
    "t": [
        {"c": "x", "a": 1, "at": datetime(1994, 12, 31, 23, 59, 59, 999_999)},
        {"c": "z", "a": 2, "at": datetime(1995, 1, 1, 0, 0, 0, 123_456)},
    ],
    "Mixed": [
        {"Key": 1, "key": 2, "Zone": datetime(1994, 12, 31, 23, 59, tzinfo=UTC)},
        {"Key": 3, "key": 4, "Zone": datetime(1995, 1, 1, 0, 1, tzinfo=UTC)},
    ],
}


@pytest.mark.parametrize("sql", TAKEN)
def test_what_was_refused_equals_duckdb(sql: str) -> None:
    db = rv.Database()
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, rows in ROWS.items():
            table = pa.Table.from_pylist(rows, schema=CATALOG[name])
            db.create_table(name, CATALOG[name])
            db.insert(name, table.slice(0, 1))
            # DuckDB's names are without case.
            shown = table.select(["Key", "Zone"]) if name == "Mixed" else table
            connection.register("rows", shown)
            connection.execute(f"CREATE TABLE {name} AS FROM rows")
        view = db.create_view("v", sql)
        for name, rows in ROWS.items():
            db.insert(name, rows[1:])
        expected = connection.sql(sql).to_arrow_table()
    assert comparable(view.to_arrow()) == comparable(expected)


def test_values_of_subqueries_are_compared_with_their_kind() -> None:
    with pytest.raises(errors.TypeMismatchError, match="a text is not compared with a number"):
        query("SELECT COUNT(*) FROM r WHERE a > (SELECT MAX(c) FROM s)")


def test_of_columns_that_differ_in_case_one_is_meant() -> None:
    assert query("SELECT SUM(KEY) FROM mixed")["outputs"][0]["argument"] == '"0"."Key"'


def test_natural_joins_need_a_column_on_both_sides() -> None:
    with pytest.raises(errors.QueryError, match="no column on both"):
        query("SELECT COUNT(*) FROM r p NATURAL JOIN mixed")


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
    with pytest.raises(errors.TypeMismatchError, match="needs numbers"):
        query(f"SELECT SUM({'1' * 39}) FROM r")
