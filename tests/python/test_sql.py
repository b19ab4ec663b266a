"""SQL to the logical query, case by case: what comes out, and what is refused where."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from ringview import errors
from ringview.sql import literals, translate

CATALOG = {
    "r": pa.schema({"a": pa.int64(), "b": pa.int64(), "x": pa.float64(), "d": pa.date32()}),
    "s": pa.schema({"b": pa.int64(), "c": pa.string(), "ok": pa.bool_()}),
    "t": pa.schema({"c": pa.string(), "a": pa.int32(), "at": pa.timestamp("us")}),
    "Mixed": pa.schema(
        {"Key": pa.int64(), "key": pa.int64(), "Zone": pa.timestamp("us", tz="UTC")}
    ),
    "dict": pa.schema({"word": pa.dictionary(pa.int32(), pa.string()), "größe": pa.int64()}),
}


def query(sql: str, **more: Any) -> dict[str, Any]:
    return translate(sql, CATALOG, **more)


def where(condition: str, tables: str = "r") -> Any:
    return query(f"SELECT COUNT(*) FROM {tables} WHERE {condition}")["atoms"][0]["filter"]


def constant(text: str) -> Any:
    return query(f"SELECT SUM({text}) FROM r")["outputs"][0]["argument"]["value"]


def column(atom: int, name: str) -> dict[str, Any]:
    return {"atom": atom, "column": name}


def pairs(sql: str) -> set[frozenset[tuple[int, str]]]:
    joins = query(sql)["joins"]
    return {frozenset((c["atom"], c["column"]) for c in join) for join in joins}


def test_the_whole_query() -> None:
    sql = "SELECT r.a AS k, SUM(x * 2) AS total FROM r JOIN s ON r.b = s.b WHERE ok GROUP BY k"
    assert query(sql) == {
        "atoms": [
            {"table": "r", "alias": "r", "filter": None},
            {
                "table": "s",
                "alias": "s",
                "filter": {
                    "op": "compare",
                    "comparison": "eq",
                    "left": {"op": "column", "atom": 1, "column": "ok"},
                    "right": {"op": "literal", "value": {"type": "bool", "value": True}},
                },
            },
        ],
        "joins": [[column(0, "b"), column(1, "b")]],
        "group_by": [column(0, "a")],
        "outputs": [
            {"kind": "group", "name": "k", "column": column(0, "a")},
            {
                "kind": "aggregate",
                "name": "total",
                "function": "sum",
                "argument": {
                    "op": "multiply",
                    "left": {"op": "column", "atom": 0, "column": "x"},
                    "right": {"op": "literal", "value": {"type": "int", "value": 2}},
                },
            },
        ],
        "order": None,
    }


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ("r NATURAL JOIN s", [((0, "b"), (1, "b"))]),
        ("r JOIN s USING (b)", [((0, "b"), (1, "b"))]),
        ("r, s WHERE s.b = (r.b)", [((0, "b"), (1, "b"))]),
        ("r JOIN s ON (r.b = s.b AND r.a > 1)", [((0, "b"), (1, "b"))]),
        ("r CROSS JOIN s", []),
        ("r p, r q WHERE p.a = q.b", [((0, "a"), (1, "b"))]),
        (
            "r NATURAL JOIN s NATURAL JOIN t",
            [((0, "b"), (1, "b")), ((1, "c"), (2, "c")), ((0, "a"), (2, "a"))],
        ),
        ("r JOIN s JOIN t ON s.c = t.c ON r.b = s.b", [((1, "c"), (2, "c")), ((0, "b"), (1, "b"))]),
        ("r, s NATURAL JOIN t", [((1, "c"), (2, "c"))]),
        ("r CROSS JOIN s NATURAL JOIN t", [((1, "c"), (2, "c")), ((0, "a"), (2, "a"))]),
        ("(r NATURAL JOIN s) JOIN t USING (c)", [((0, "b"), (1, "b")), ((1, "c"), (2, "c"))]),
    ],
)
def test_joins(tables: str, expected: list[tuple[Any, Any]]) -> None:
    assert pairs(f"SELECT COUNT(*) FROM {tables}") == {frozenset(pair) for pair in expected}


def test_merged_columns_need_no_table() -> None:
    sql = "SELECT b, s.b AS sb, COUNT(*) FROM r JOIN s USING (b) GROUP BY b"
    found = query(sql)
    assert found["group_by"] == [column(0, "b")]
    assert [output["name"] for output in found["outputs"]] == ["b", "sb", "count(*)"]


@pytest.mark.parametrize("clause", ["a", "r.a", "1", "key", "(a)", "A", '"a"'])
def test_group_by_name_alias_or_ordinal(clause: str) -> None:
    found = query(f"SELECT a AS key, COUNT(*) FROM r GROUP BY {clause}")
    assert found["group_by"] == [column(0, "a")]


def test_a_column_comes_before_an_alias_in_group_by() -> None:
    found = query("SELECT a AS b, COUNT(*) FROM r GROUP BY b, a")
    assert found["group_by"] == [column(0, "b"), column(0, "a")]


def test_names_without_case_and_quoted_names() -> None:
    assert query('SELECT SUM("Key") FROM MIXED')["outputs"][0]["argument"] == {
        "op": "column",
        "atom": 0,
        "column": "Key",
    }
    assert query("SELECT SUM(key) FROM mixed")["outputs"][0]["argument"]["column"] == "key"
    assert query("SELECT SUM(Größe) FROM dict")


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("SUM(x * 2)", "sum(x * 2)"),
        ("count( * )", "count(*)"),
        ("Avg(r.x) /* mean */", "avg(r.x)"),
        ('SUM(x) AS "My Sum"', "My Sum"),
        ("SUM(x) total", "total"),
    ],
)
def test_names_of_outputs(written: str, named: str) -> None:
    assert query(f"SELECT {written} FROM r")["outputs"][0]["name"] == named


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1", "int", 1),
        ("-9223372036854775808", "int", -(2**63)),
        ("9223372036854775808", "decimal", "9223372036854775808"),
        ("0.10", "decimal", "0.10"),
        ("-.5", "decimal", "-0.5"),
        ("1e-2", "float", 0.01),
        ("2 * (3 + 4)", "int", 14),
        ("1 - 0.05", "decimal", "0.95"),
        ("0.06 - 0.01", "decimal", "0.05"),
        ("1.50 * 2.0", "decimal", "3.000"),
        ("CAST('1.235' AS DECIMAL(10, 2))", "decimal", "1.24"),
        ("CAST(2 AS DOUBLE)", "float", 2.0),
        ("DATE '1995-03-15' - DATE '1995-03-01'", "int", 14),
    ],
)
def test_constants_are_folded(text: str, kind: str, value: Any) -> None:
    assert constant(text) == {"type": kind, "value": value}


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("'1995-03-15'", "date", "1995-03-15"),
        ("DATE '1995-12-01' + INTERVAL '3' MONTH", "date", "1996-03-01"),
        ("DATE '1996-01-31' + INTERVAL 1 MONTH", "date", "1996-02-29"),
        ("DATE '1995-03-15' - INTERVAL '90 days'", "date", "1994-12-15"),
        ("INTERVAL '1 year 2 days' + DATE '1995-01-01'", "date", "1996-01-03"),
        ("DATE '1995-03-15' + 10", "date", "1995-03-25"),
        ("'1995-03-15'::date", "date", "1995-03-15"),
        ("DATE '1995-03-15' + INTERVAL '6' HOUR", "timestamp", "1995-03-15T06:00:00"),
        ("TIMESTAMP '1995-03-15 10:00:00.5'", "timestamp", "1995-03-15T10:00:00.500000"),
    ],
)
def test_dates(text: str, kind: str, value: str) -> None:
    assert where(f"d < {text}")["right"]["value"] == {"type": kind, "value": value}


def test_a_text_takes_the_kind_of_the_other_side() -> None:
    assert where("a = '5'")["right"]["value"] == {"type": "int", "value": 5}
    assert where("'1995-03-15 10:00:00' <= at", "t")["left"]["value"]["type"] == "timestamp"
    assert where("ok IN ('true', 'f')", "s")["list"] == [
        {"type": "bool", "value": True},
        {"type": "bool", "value": False},
    ]
    assert where("word = '5'", "dict")["right"]["value"] == {"type": "text", "value": "5"}


def test_timestamps_with_an_offset_are_utc() -> None:
    for text in ["TIMESTAMPTZ '1995-03-15 12:00:00+02'", "'1995-03-15 10:00:00Z'"]:
        found = where(f"zone = {text}", "mixed")["right"]["value"]
        assert found == {"type": "timestamp", "value": "1995-03-15T10:00:00"}


def test_count_of_a_constant_counts_rows() -> None:
    assert query("SELECT COUNT(1) FROM r")["outputs"][0]["argument"] is None
    assert query("SELECT COUNT(x) FROM r")["outputs"][0]["argument"]["column"] == "x"


def test_conditions_without_a_table_filter_the_first() -> None:
    assert where("TRUE") == {"op": "constant", "value": True}
    assert where("FALSE AND a = 1")["op"] == "and"


def test_like_forms() -> None:
    found = where("c NOT ILIKE 'a!%' ESCAPE '!'", "s")
    assert found["op"] == "not"
    assert found["operand"]["escape"] == "!"
    assert found["operand"]["insensitive"]


def test_long_chains_stay_flat() -> None:
    terms = " OR ".join(f"a = {i}" for i in range(3000))
    assert len(where(terms)["operands"]) == 3000


def test_order() -> None:
    sql = "SELECT COUNT(*) FROM r JOIN s USING (b)"
    found = query(sql, order={"b": {"r.a": {}, "s.c": {"ok": {}}}})["order"]
    assert found == [
        {
            "variable": column(0, "b"),
            "children": [
                {"variable": column(0, "a"), "children": []},
                {
                    "variable": column(1, "c"),
                    "children": [{"variable": column(1, "ok"), "children": []}],
                },
            ],
        }
    ]


@pytest.mark.parametrize("order", [{"b": 3}, {"b +": {}}, {"1": {}}])
def test_order_that_is_none(order: Any) -> None:
    with pytest.raises(errors.InvalidValueError, match="order: "):
        query("SELECT COUNT(*) FROM r", order=order)


def test_order_with_an_unknown_column() -> None:
    with pytest.raises(errors.UnknownColumnError, match="no column 'zz'"):
        query("SELECT COUNT(*) FROM r", order={"zz": {}})


REFUSED: list[tuple[str, type[Exception], int, int, str]] = [
    # names
    ("SELECT COUNT(*) FROM zz", errors.UnknownTableError, 1, 22, "no table 'zz'; known: r, s"),
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
    ("SELECT COUNT(*) FROM r AS p(q)", errors.UnsupportedError, 1, 22, "SELECT .. AS"),
    ("SELECT a, a AS a FROM r GROUP BY a", errors.QueryError, 1, 11, "two outputs"),
    # joins
    ("SELECT COUNT(*) FROM r LEFT JOIN s USING (b)", errors.UnsupportedError, 1, 34, "LEFT JOIN"),
    ("SELECT COUNT(*) FROM r NATURAL FULL JOIN s", errors.UnsupportedError, 1, 42, "FULL"),
    ("SELECT COUNT(*) FROM r SEMI JOIN s USING (b)", errors.UnsupportedError, 1, 34, "SEMI"),
    ("SELECT COUNT(*) FROM r ASOF JOIN s USING (b)", errors.UnsupportedError, 1, 34, "ASOF"),
    ("SELECT COUNT(*) FROM r JOIN s", errors.QueryError, 1, 29, "CROSS JOIN"),
    ("SELECT COUNT(*) FROM r p NATURAL JOIN mixed", errors.QueryError, 1, 39, "no column on both"),
    ("SELECT COUNT(*) FROM r JOIN s USING (a)", errors.UnknownColumnError, 1, 38, "no column 'a'"),
    ("SELECT COUNT(*) FROM r, s WHERE r.b < s.b", errors.UnsupportedError, 1, 33, "equality only"),
    (
        "SELECT COUNT(*) FROM r, s WHERE r.b = s.b + 1",
        errors.UnsupportedError,
        1,
        33,
        "plain columns",
    ),
    ("SELECT COUNT(*) FROM r, s WHERE r.a = 1 OR s.b = 1", errors.UnsupportedError, 1, 33, "OR"),
    ("SELECT COUNT(*) FROM r, s WHERE r.b = s.c", errors.TypeMismatchError, 1, 33, "number (b)"),
    ("SELECT COUNT(*) FROM r, (SELECT 1) q", errors.UnsupportedError, 1, 26, "subqueries"),
    ("SELECT COUNT(*) FROM range(3)", errors.UnsupportedError, 1, 22, "names of tables"),
    ("SELECT COUNT(*) FROM r TABLESAMPLE 10%", errors.UnsupportedError, 1, 22, "SAMPLE"),
    # clauses
    ("SELECT DISTINCT a FROM r GROUP BY a", errors.UnsupportedError, 1, 1, "GROUP BY"),
    ("SELECT a, COUNT(*) FROM r GROUP BY a ORDER BY a", errors.UnsupportedError, 1, 47, "sort"),
    ("SELECT COUNT(*) FROM r LIMIT 3", errors.UnsupportedError, 1, 30, "LIMIT"),
    ("WITH q AS (SELECT 1) SELECT COUNT(*) FROM q", errors.UnsupportedError, 1, 6, "WITH"),
    ("SELECT a FROM r UNION SELECT b FROM s", errors.UnsupportedError, 1, 1, "UNION"),
    ("SELECT COUNT(*) FROM r; SELECT COUNT(*) FROM s", errors.UnsupportedError, 1, 25, "second"),
    ("DELETE FROM r", errors.UnsupportedError, 1, 13, "db.delete"),
    ("SELECT COUNT(*) FROM r GROUP BY ALL", errors.UnsupportedError, 1, 1, "GROUP BY ALL"),
    ("SELECT COUNT(*) FROM r GROUP BY ROLLUP (a)", errors.UnsupportedError, 1, 41, "columns"),
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
    ("SELECT SUM(CAST(x AS INT)) FROM r", errors.UnsupportedError, 1, 12, "in its table"),
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
    ("SELECT COUNT(*) FROM r WHERE a IN (SELECT b FROM s)", errors.UnsupportedError, 1, 30, "join"),
    ("SELECT COUNT(*) FROM r WHERE a IN (1, b)", errors.UnsupportedError, 1, 39, "constants"),
    ("SELECT COUNT(*) FROM r WHERE EXISTS (SELECT 1)", errors.UnsupportedError, 1, 30, "subq"),
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


def test_nested_too_deeply() -> None:
    with pytest.raises(errors.UnsupportedError, match="too deeply"):
        query(f"SELECT SUM({'(' * 3000}x{')' * 3000}) FROM r")


def test_decimals_of_too_many_digits() -> None:
    with pytest.raises(errors.QueryError, match="38 digits"):
        constant("1" * 39)


def test_literals_of_python_values() -> None:
    assert literals.multiply(Decimal("0.1"), 3) == Decimal("0.3")
    assert literals.add(None, 1) is None
    with pytest.raises(TypeError):
        literals.negate("x")
