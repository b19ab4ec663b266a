"""SQL to the logical query, case by case: what comes out, and what is refused where."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
import ringview as rv
from catalog import CATALOG, query
from ringview import errors


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
            {"table": "s", "alias": "s", "filter": '"ok"'},
        ],
        "joins": [[column(0, "b"), column(1, "b")]],
        "group_by": [column(0, "a")],
        "outputs": [
            {"kind": "group", "name": "k", "column": column(0, "a")},
            {
                "kind": "aggregate",
                "name": "total",
                "function": "sum",
                "argument": '("0"."x" * 2)',
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
    found = query("SELECT b, COUNT(*) FROM r JOIN s USING (b) GROUP BY b")
    assert found["group_by"] == [column(0, "b")]
    assert [output["name"] for output in found["outputs"]] == ["b", "count(*)"]
    # As DuckDB has it.
    with pytest.raises(errors.QueryError, match="neither in GROUP BY"):
        query("SELECT b, s.b AS sb, COUNT(*) FROM r JOIN s USING (b) GROUP BY b")


@pytest.mark.parametrize("clause", ["a", "r.a", "1", "key", "(a)", "A", '"a"'])
def test_group_by_name_alias_or_ordinal(clause: str) -> None:
    found = query(f"SELECT a AS key, COUNT(*) FROM r GROUP BY {clause}")
    assert found["group_by"] == [column(0, "a")]


def test_a_column_comes_before_an_alias_in_group_by() -> None:
    found = query("SELECT a AS b, COUNT(*) FROM r GROUP BY b, a")
    assert found["group_by"] == [column(0, "b"), column(0, "a")]


def test_names_without_case_and_quoted_names() -> None:
    assert query('SELECT SUM("Key") FROM MIXED')["outputs"][0]["argument"] == '"0"."Key"'
    assert query('SELECT SUM("key") FROM mixed')["outputs"][0]["argument"] == '"0"."key"'
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
    "text",
    [
        "1",
        "-9223372036854775808",
        "9223372036854775808",
        "0.10",
        "-.5",
        "2 * (3 + 4)",
        "1 - 0.05",
        "1.50 * 2.0",
    ],
)
def test_a_column_is_compared_with_any_constant(text: str) -> None:
    assert where(f"a < {text}") is not None


@pytest.mark.parametrize(
    "text",
    [
        "DATE '1995-12-01' + INTERVAL '3' MONTH",
        "DATE '1995-03-15' - INTERVAL '90 days'",
        "INTERVAL '1 year 2 days' + DATE '1995-01-01'",
        "DATE '1995-03-15' + 10",
        "'1995-03-15'::date",
        "'1995-03-15'",
        "DATE '1995-03-15' + INTERVAL '6' HOUR",
        "TIMESTAMP '1995-03-15 10:00:00.5'",
    ],
)
def test_dates(text: str) -> None:
    """The filter of an engine: no block computes the row."""
    assert where(f"d < {text}") is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-2", 0.01),
        ("CAST('1.235' AS DECIMAL(10, 2))", Decimal("1.24")),
        ("CAST(2 AS DOUBLE)", 2.0),
        ("DATE '1995-03-15' - DATE '1995-03-01'", 14),
    ],
)
def test_sums_of_constants(text: str, value: Any) -> None:
    db = rv.Database()
    db.create_table("r", CATALOG["r"])
    db.insert("r", [{"a": 1, "b": 1, "x": 1.0, "d": None}])
    assert db.create_view("v", f"SELECT SUM({text}) FROM r").scalar() == value


@pytest.mark.parametrize(
    ("condition", "table", "held"),
    [
        ("a = '5'", "r", [5, 6]),
        ("d < '1995-03-15'", "r", [date(1995, 3, 14), date(1995, 3, 15)]),
        ("'1995-03-15 10:00:00' <= at", "t", [datetime(1995, 3, 15, 10), datetime(1995, 3, 15, 9)]),
        ("ok IN ('true')", "s", [True, False]),
        ("word = '5'", "dict", ["5", "6"]),
        *(
            (
                f"zone = {text}",
                "Mixed",
                [datetime(1995, 3, 15, hour, tzinfo=UTC) for hour in (10, 12)],
            )
            for text in ("TIMESTAMPTZ '1995-03-15 12:00:00+02'", "'1995-03-15 10:00:00Z'")
        ),
    ],
)
def test_a_text_takes_the_kind_of_the_other_side(
    condition: str, table: str, held: list[Any]
) -> None:
    """The first value meets the condition, the second does not."""
    db = rv.Database()
    db.create_table(table, CATALOG[table])
    [name] = [n for n in CATALOG[table].names if n.lower() in condition.lower().split()]
    view = db.create_view("v", f'SELECT "{name}" AS found FROM {table} WHERE {condition}')
    empty = dict.fromkeys(CATALOG[table].names)
    db.insert(table, [{**empty, name: value} for value in held])
    assert [row["found"] for row in view.to_arrow().to_pylist()] == held[:1]


def test_count_of_a_constant_counts_rows() -> None:
    assert query("SELECT COUNT(1) FROM r")["outputs"][0]["argument"] is None
    assert query("SELECT COUNT(x) FROM r")["outputs"][0]["argument"] == '"0"."x"'


def test_conditions_without_a_table_filter_the_first() -> None:
    assert where("TRUE") == "true"
    assert where("FALSE AND a = 1") == '(false) AND (("a" = 1))'


def test_like_forms() -> None:
    found = where("c NOT ILIKE 'a!%' ESCAPE '!'", "s")
    assert found == "\"c\" NOT ILIKE 'a!%' ESCAPE '!'"


def test_long_chains_stay_flat() -> None:
    terms = " OR ".join(f"a = {i}" for i in range(3000))
    assert where(terms).count(" OR ") == 2999


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
    with pytest.raises((errors.InvalidValueError, errors.QueryError), match="order: "):
        query("SELECT COUNT(*) FROM r", order=order)


def test_order_with_an_unknown_column() -> None:
    with pytest.raises(errors.UnknownColumnError, match='no column "zz"'):
        query("SELECT COUNT(*) FROM r", order={"zz": {}})
