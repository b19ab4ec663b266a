"""Subqueries and WITH as blocks of the logical query: what reads what, what is refused where."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from catalog import CATALOG, query
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, comparable
from ringview import _native, errors


def reads(found: dict[str, Any]) -> dict[str, list[str]]:
    """Tables that each block reads, and the query itself, which is called ""."""
    blocks = [*found.get("blocks", []), {"name": "", "query": found}]
    return {block["name"]: [atom["table"] for atom in block["query"]["atoms"]] for block in blocks}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT COUNT(*) FROM r", {"": ["r"]}),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT a FROM r) q", {"q": ["r"], "": ["q"]}),
        ("SELECT COUNT(*) FROM ((SELECT DISTINCT a FROM r)) q", {"q": ["r"], "": ["q"]}),
        ("SELECT COUNT(*) FROM (SELECT a FROM r GROUP BY a) q", {"q": ["r"], "": ["q"]}),
        (
            "SELECT COUNT(*) FROM s, (SELECT a FROM r GROUP BY a)",
            {"unnamed_subquery": ["r"], "": ["s", "unnamed_subquery"]},
        ),
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT a FROM r), (SELECT DISTINCT b FROM s)",
            {
                "unnamed_subquery": ["r"],
                "unnamed_subquery2": ["s"],
                "": ["unnamed_subquery", "unnamed_subquery2"],
            },
        ),
        ("WITH q AS (SELECT DISTINCT a FROM r) SELECT COUNT(*) FROM q", {"q": ["r"], "": ["q"]}),
        (
            "WITH q AS (SELECT DISTINCT a FROM r), p AS (SELECT DISTINCT a FROM q) "
            "SELECT COUNT(*) FROM p, q",
            {"q": ["r"], "p": ["q"], "": ["p", "q"]},
        ),
        (
            "WITH q AS (SELECT DISTINCT a FROM r) SELECT COUNT(*) FROM q JOIN q AS z USING (a)",
            {"q": ["r"], "": ["q", "q"]},
        ),
        (
            "WITH q AS MATERIALIZED (SELECT DISTINCT a FROM r), p AS (SELECT DISTINCT b FROM s) "
            "SELECT COUNT(*) FROM Q",
            {"q": ["r"], "": ["q"]},
        ),
        # Conditions that are joins with a block: one row each, or none.
        (
            "SELECT COUNT(*) FROM r WHERE a = (SELECT MAX(b) FROM s)",
            {"groups": ["s"], "": ["r", "groups"]},
        ),
        (
            "SELECT a FROM r WHERE b IN (SELECT s.b FROM s WHERE s.b = r.a AND ok)",
            {"computed": ["s"], "distinct": ["computed"], "": ["r", "distinct"]},
        ),
        (
            "SELECT a FROM r WHERE a > 1 AND EXISTS (SELECT 1 FROM s WHERE s.b = r.b)",
            {"distinct": ["s"], "": ["r", "distinct"]},
        ),
        (
            "SELECT COUNT(*) FROM r WHERE b IN (SELECT b FROM s GROUP BY b HAVING COUNT(*) > 1)",
            {"groups_2": ["s"], "": ["r", "groups_2"]},
        ),
        # Doubles are compared.
        (
            "SELECT COUNT(*) FROM r WHERE x = (SELECT MIN(x) FROM r)",
            {"": ["r"]},
        ),
        # NOT IN of what may be NULL: how many values there are, how many are NULL, and which.
        (
            "SELECT COUNT(*) FROM r WHERE b NOT IN (SELECT b FROM s)",
            {
                "groups": ["s"],
                "rows": ["r", "groups"],
                "rows_2": ["r", "groups"],
                "outer": ["rows", "r", "rows_2"],
                "groups_2": ["s"],
                "rows_3": ["outer", "groups_2"],
                "computed": ["rows_3"],
                "": ["computed"],
            },
        ),
        # HAVING with a subquery chooses among the groups, which are a block.
        (
            "SELECT a FROM r GROUP BY a HAVING SUM(x) > (SELECT SUM(x) * 0.1 FROM r)",
            {"groups": ["r"], "": ["groups"]},
        ),
        # A block that only unread blocks read is not read.
        (
            "WITH q AS (SELECT DISTINCT a FROM r), p AS (SELECT DISTINCT a FROM q) "
            "SELECT COUNT(*) FROM s",
            {"": ["s"]},
        ),
        # A name of WITH hides a table, but not from itself.
        (
            "WITH r AS (SELECT DISTINCT a FROM r), z AS (SELECT DISTINCT a FROM r) "
            "SELECT COUNT(*) FROM r, z",
            {"distinct": ["r"], "z": ["distinct"], "": ["distinct", "z"]},
        ),
        # An alias of a subquery is no table for the others.
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT b FROM s) AS r JOIN r AS z ON r.b = z.b",
            {"distinct": ["s"], "": ["distinct", "r"]},
        ),
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT a FROM (SELECT DISTINCT a, b FROM r) p) q "
            "JOIN s ON q.a = s.b",
            {"p": ["r"], "q": ["p"], "": ["q", "s"]},
        ),
        (
            "SELECT COUNT(*) FROM ((SELECT DISTINCT b FROM r) q JOIN s USING (b))",
            {"q": ["r"], "": ["q", "s"]},
        ),
    ],
)
def test_blocks(sql: str, expected: dict[str, list[str]]) -> None:
    assert reads(query(sql)) == expected


def test_columns_are_renamed_where_they_are_read() -> None:
    found = query(
        "WITH q(k) AS (SELECT one, SUM(x) AS y FROM r AS t(one) GROUP BY one) "
        "SELECT k, n, m FROM q AS w(m, n) JOIN (SELECT DISTINCT b FROM s) AS p(k) ON m = k"
    )
    columns = [(output["name"], output["column"]) for output in found["outputs"]]
    assert columns == [
        ("k", {"atom": 1, "column": "b"}),
        ("n", {"atom": 0, "column": "aggregate 0"}),
        ("m", {"atom": 0, "column": "a"}),
    ]
    (group,) = found["blocks"][0]["query"]["group_by"]
    assert group == {"atom": 0, "column": "a"}


def test_types_come_from_below() -> None:
    """A block's columns have the types that the engine gives them."""
    found = query(
        "SELECT COUNT(*) AS n FROM (SELECT d, MAX(x) AS m FROM r GROUP BY d) q "
        "WHERE d < '1995-01-01' AND m > 2"
    )
    # A text takes the type of what it is compared with.
    having = found["blocks"][0]["query"]["having"]
    assert having == """(("0"."d" < '1995-01-01') AND (max("0"."x") > 2))"""
    with pytest.raises(errors.TypeMismatchError, match="a sum needs numbers, this is a date"):
        query("SELECT SUM(m) FROM (SELECT MAX(d) AS m FROM r) q")


def test_columns_of_a_table_are_read_from_it() -> None:
    """No block where one would only choose columns and rows."""
    found = query(
        "WITH q(k, l) AS (SELECT a, b FROM r WHERE x > 1 AND a < 9), p AS (SELECT l, k FROM q "
        "WHERE k > 2) SELECT p.k, SUM(c.b) AS n FROM (FROM s WHERE ok) c JOIN p ON c.b = p.l "
        "WHERE p.k <> 5 GROUP BY p.k"
    )
    assert reads(found) == {"": ["s", "r"]}
    plain = query(
        "SELECT p.a AS k, SUM(c.b) AS n FROM s c JOIN r p ON c.b = p.b "
        "WHERE c.ok AND p.x > 1 AND p.a < 9 AND p.a > 2 AND p.a <> 5 GROUP BY p.a"
    )
    assert leaves(found["atoms"]) == leaves(plain["atoms"])
    for part in ("joins", "group_by", "outputs"):
        assert found[part] == plain[part]
    # Each row once is another matter.
    assert reads(query("SELECT COUNT(*) AS n FROM (SELECT DISTINCT a FROM r) q"))[""] == ["q"]
    assert reads(query("SELECT COUNT(*) AS n FROM (SELECT a FROM r, s) q")) == {"": ["r", "s"]}


def leaves(atoms: list[dict[str, Any]]) -> list[list[str]]:
    """The conditions of each atom's filter, however they are joined by AND."""

    return [sorted(re.findall(r"[^()]+", atom["filter"])) for atom in atoms]


COFACTOR = "(SELECT COUNT(*) AS n, COFACTOR(a, x) AS c FROM r) q"
REFUSED: list[tuple[str, type[Exception], int, int, str]] = [
    # names
    ("WITH q AS (SELECT a FROM z) SELECT b FROM s", errors.UnknownTableError, 1, 26, "known: "),
    ("WITH q AS (SELECT a FROM q) SELECT a FROM q", errors.UnknownTableError, 1, 26, 'view "q"'),
    (
        "WITH q AS (SELECT a FROM p),\n  p AS (SELECT a FROM r)\nSELECT a FROM q",
        errors.UnknownTableError,
        1,
        26,
        'no table or view "p"',
    ),
    (
        "SELECT a FROM (WITH p AS (SELECT a FROM r) SELECT a FROM p) q, p",
        errors.UnknownTableError,
        1,
        64,
        'no table or view "p"',
    ),
    (
        "WITH q AS (SELECT a FROM r), Q AS (SELECT a FROM r) SELECT a FROM q",
        errors.QueryError,
        1,
        30,
        'are called "Q"',
    ),
    ("SELECT z.a FROM (SELECT a FROM r) q", errors.QueryError, 1, 8, "in scope: q"),
    ("SELECT b FROM (SELECT a FROM r) q", errors.UnknownColumnError, 1, 8, "known: a"),
    ("SELECT a FROM r AS p(k)", errors.UnknownColumnError, 1, 8, "known: k, b, x, d"),
    # what is not read is checked too
    ("WITH q AS (SELECT c FROM r) SELECT b FROM s", errors.UnknownColumnError, 1, 19, "known"),
    # the tables around
    (
        "SELECT SUM(n) FROM r, (SELECT COUNT(*) AS n FROM s WHERE s.b = r.b) q",
        errors.QueryError,
        1,
        64,
        "in scope: s",
    ),
    (
        "SELECT SUM(n) FROM r, (SELECT COUNT(*) AS n FROM s WHERE s.b = a) q",
        errors.UnknownColumnError,
        1,
        64,
        'no column "a"',
    ),
    ("SELECT COUNT(*) FROM r AS p(k, l, m, n, o)", errors.QueryError, 1, 29, "5 names"),
    ("SELECT COUNT(*) FROM r AS p(k, k)", errors.QueryError, 1, 32, 'are called "k"'),
    ("WITH q(a, b) AS (SELECT a FROM r) SELECT a FROM q", errors.QueryError, 1, 8, "2 names"),
    (f"SELECT COUNT(c) FROM {COFACTOR}", errors.UnsupportedError, 1, 45, "is no value"),
    (
        f"SELECT COUNT(*) FROM {COFACTOR} GROUP BY q.c",
        errors.UnsupportedError,
        1,
        45,
        "is no value",
    ),
]
# Without a place: the binder does not report it.
TAKEN = [
    "WITH q AS (SELECT a, MEDIAN(x) AS m FROM r GROUP BY a) SELECT MAX(m) FROM q",
    "WITH q AS (SELECT 1) SELECT COUNT(*) FROM q",
    "SELECT COUNT(*) FROM r, (SELECT 1) q",
    "WITH q AS (SELECT a FROM r) SELECT 1",
    "SELECT a FROM (SELECT a FROM r ORDER BY a) q",
    "SELECT a FROM (SELECT a FROM r ORDER BY a LIMIT 2) q",
    "SELECT a FROM (SELECT a FROM r ORDER BY a OFFSET 2) q",
    "SELECT a FROM (SELECT a FROM r UNION ALL SELECT b FROM s) q",
    "WITH q AS (SELECT a FROM r EXCEPT SELECT b FROM s) SELECT a FROM q",
    "SELECT a FROM (VALUES (1)) q(a)",
    "SELECT COUNT(*) AS n FROM r, LATERAL (SELECT b FROM s) q",
    "SELECT k, b FROM r AS p(k)",
    "SELECT n, m FROM (SELECT a, b, x FROM r) AS q(n, m)",
    "WITH q AS NOT MATERIALIZED (SELECT DISTINCT a FROM r) SELECT COUNT(*) FROM q",
]


@pytest.mark.parametrize("sql", TAKEN)
def test_what_is_within_equals_duckdb(sql: str) -> None:
    schemas = {name: CATALOG[name] for name in ("r", "s")}
    rows: dict[str, list[dict[str, Any]]] = {
        "r": [
            {"a": a, "b": b, "x": x, "d": None}
            for a, b, x in [(1, 1, 0.5), (1, 2, 2.0), (None, 1, 1.5), (3, None, None), (4, 4, 4.0)]
        ],
        "s": [{"b": b, "c": "z", "ok": True} for b in (1, 1, 2, None, 4)],
    }
    db = rv.Database()
    for name, schema in schemas.items():
        db.create_table(name, schema)
    view = db.create_view("v", sql)
    oracle = Oracle(schemas)
    held: dict[str, list[dict[str, Any]]] = {"r": [], "s": []}
    for number in range(5):
        assert comparable(view.to_arrow()) == oracle.rows(sql, held)
        for name in schemas:
            held[name].append(rows[name][number])
            db.insert(name, rows[name][number : number + 1])
    db.delete("r", rows["r"][:2])
    held["r"] = rows["r"][2:]
    assert comparable(view.to_arrow()) == oracle.rows(sql, held)


@pytest.mark.parametrize(
    ("sql", "error", "line", "place", "message"), REFUSED, ids=[case[0][:70] for case in REFUSED]
)
def test_refused_with_its_place(
    sql: str, error: type[Exception], line: int, place: int, message: str
) -> None:
    with pytest.raises(error) as caught:
        query(sql)
    text = str(caught.value)
    assert text.startswith(f"line {line}, column {place}: "), text
    assert message in text
    mark = text.splitlines()[2]
    assert mark.index("^") - 4 == place - 1


def test_cofactor_stands_below_what_does_not_read_it() -> None:
    assert reads(query(f"SELECT MAX(n) AS m FROM {COFACTOR}")) == {"q": ["r"], "": ["q"]}
    # The numbers and texts of * are those that can be read.
    found = query(f"SELECT COFACTOR(*) AS z FROM {COFACTOR}")
    assert found["outputs"][0]["columns"] == [{"atom": 0, "column": "aggregate 0"}]


def test_output_schema() -> None:
    found = query("SELECT a, AVG(b) AS m, COFACTOR(x) AS c, COUNT(*) AS n FROM r GROUP BY a")
    schema = pa.schema(_native.output_schema(json.dumps(found), [("r", CATALOG["r"])]))
    assert schema.names == ["a", "m", "c", "n"]
    assert [schema.field(name).type for name in "amn"] == [pa.int64(), pa.float64(), pa.int64()]
    assert [schema.field(name).nullable for name in "amn"] == [True, True, False]
    assert pa.types.is_struct(schema.field("c").type)
    with pytest.raises(errors.UnknownTableError):
        _native.output_schema(json.dumps(found), [])
    with pytest.raises(errors.InvalidValueError):
        _native.output_schema("{}", [])


@given(st.lists(st.sampled_from(["r", "q", "R", "s"]), min_size=1, max_size=4), st.booleans())
def test_names_of_blocks_mean_one_thing(names: list[str], nested: bool) -> None:
    """Blocks of any names: each is read by the one after it, never a table by mistake."""
    sql = "SELECT DISTINCT a FROM r"
    for name in names:
        inner = f"(WITH {name} AS ({sql}) SELECT a FROM {name})" if nested else f"({sql})"
        sql = f"SELECT DISTINCT a FROM {inner} AS {name}"
    found = query(sql)
    order = list(reads(found).values())
    blocks = [block["name"] for block in found["blocks"]]
    # Of the tables, the text names those that its blocks are called as, and r.
    read = {"r", *(name.lower() for name in names if nested and name.lower() in CATALOG)}
    assert len({name.lower() for name in (*blocks, *read)}) == len(blocks) + len(read)
    assert order == [["r"], *([name] for name in blocks)]
