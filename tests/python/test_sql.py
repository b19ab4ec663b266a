"""SQL to the logical query, case by case: what comes out, and what is refused where."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from catalog import constant, query
from ringview import errors
from ringview.sql import literals


def where(condition: str, tables: str = "r") -> Any:
    return query(f"SELECT COUNT(*) FROM {tables} WHERE {condition}")["atoms"][0]["filter"]


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


def test_literals_of_python_values() -> None:
    assert literals.multiply(Decimal("0.1"), 3) == Decimal("0.3")
    assert literals.add(None, 1) is None
    with pytest.raises(TypeError):
        literals.negate("x")
