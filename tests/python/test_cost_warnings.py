"""Views whose changes are dear say so once; what branches of an OR share is taken out."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest
import ringview as rv
from oracle import Oracle, comparable
from ringview import errors

SCHEMAS = {
    "l": {"k": "int64", "q": "int64", "m": "string", "x": "int64"},
    "p": {"k": "int64", "b": "string", "s": "int64"},
    "c": {"since": "int64"},
}

DEAR = {
    "a product": "SELECT l.q, p.s, COUNT(*) AS n FROM l, p GROUP BY l.q, p.s",
    "an inequality": "SELECT SUM(x) AS s FROM l, c WHERE l.q >= c.since",
    "the general algorithm": (
        "SELECT SUM(x) AS s FROM l WHERE x > (SELECT AVG(s) FROM p WHERE p.k < l.k AND p.s > l.q)"
    ),
    "a block": (
        "SELECT COUNT(*) AS n FROM (SELECT l.q, p.s, COUNT(*) AS n FROM l, p GROUP BY l.q, p.s) t"
    ),
}
CHEAP = {
    "a join": "SELECT p.b, SUM(x) AS s FROM l JOIN p USING (k) GROUP BY p.b",
    "many to many": "SELECT l.q, p.s, SUM(x) AS t FROM l JOIN p USING (k) GROUP BY l.q, p.s",
    "totals of a product": "SELECT SUM(x) AS s FROM l, p",
    "rows of a product": "SELECT l.q, p.s FROM l, p",
    "no row of another table": (
        "SELECT p.b, COUNT(DISTINCT x) AS n FROM l JOIN p USING (k) "
        "WHERE q NOT IN (SELECT since FROM c) GROUP BY p.b"
    ),
    "NOT IN under NULL": "SELECT COUNT(*) AS n FROM l WHERE m NOT IN (SELECT b FROM p)",
    "an index": (
        "SELECT SUM(x) AS s FROM l WHERE 2 * (SELECT SUM(s) FROM p WHERE p.k <= l.k) "
        "< (SELECT SUM(s) FROM p)"
    ),
}


def database() -> rv.Database:
    db = rv.Database()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
    return db


def warned(db: rv.Database, sql: str, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        db.create_view("v", sql, **options)
    assert all(one.category is errors.CostWarning for one in caught)
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("name", DEAR)
def test_a_dear_view_warns_once_with_cost_and_reason(name: str) -> None:
    db = database()
    [message] = warned(db, DEAR[name])
    assert message.startswith('view "v": a change may cost O(')
    what = message.removeprefix('view "v": ')
    assert what in db["v"].explain()
    assert what in db.explain(DEAR[name])
    # Once: not again with its rows, nor for who reads it.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.insert("l", {"k": [1], "q": [2], "m": ["a"], "x": [3]})
        db.create_view("above", "SELECT COUNT(*) AS n FROM v")


@pytest.mark.parametrize("name", CHEAP)
def test_a_cheap_view_does_not(name: str) -> None:
    assert warned(database(), CHEAP[name]) == []


def test_an_engine_that_is_named_silences() -> None:
    assert warned(database(), DEAR["an inequality"], engine="rpai") == []
    db = database()
    assert warned(db, DEAR["a product"], engine="viewtree") == []
    assert "costly" in db["v"].explain()


def test_a_table_that_never_changes_is_no_product() -> None:
    db = rv.Database()
    db.create_table("l", SCHEMAS["l"])
    db.create_table("months", {"month": "int64"}, static=True)
    assert warned(db, "SELECT q, month, COUNT(*) AS n FROM l, months GROUP BY q, month") == []


def test_an_inequality_costs_the_rows_of_the_other_table() -> None:
    """One row there, and a change is constant, as its steps say."""
    db = database()
    assert "O(rows of the other table)" in db.explain(DEAR["an inequality"])


SHARED = [
    # TPC-H's Q19.
    "SELECT SUM(x) AS s FROM l, p WHERE (l.k = p.k AND b = 'A' AND q BETWEEN 1 AND 5) "
    "OR (p.k = l.k AND b = 'B' AND q < 7) OR (L.K = p.k AND b IS NULL AND m = 'z')",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM l JOIN p ON ((l.k = p.k) AND m = 'z' AND b = 'A') "
    "OR (p.k = l.k AND (m = 'z') AND b = 'B')",
    # A branch without a further condition.
    "SELECT COUNT(*) AS n FROM l, p WHERE (l.k = p.k AND b = 'A') OR l.k = p.k",
    "SELECT COUNT(*) AS n FROM l, p WHERE l.k = p.k AND ((q = 1 AND s = 2) OR (q = 1 AND s = 3))",
    "SELECT q, COUNT(*) AS n FROM l GROUP BY q "
    "HAVING (COUNT(*) > 1 AND SUM(x) > 2) OR (COUNT(*) > 1 AND q = 3)",
    # Nothing is shared.
    "SELECT COUNT(*) AS n FROM l, p WHERE l.k = p.k AND (q = 1 OR s = 2)",
    "SELECT COUNT(*) AS n FROM l, p WHERE (l.k = p.k AND q = 1) OR (l.q = p.s AND q = 1)",
]


@pytest.mark.parametrize("sql", SHARED)
def test_what_branches_share_is_taken_out(sql: str) -> None:
    db = database()
    view = db.create_view("v", sql)
    oracle = Oracle({name: db.tables[name].schema for name in ("l", "p")})
    dice = random.Random(19)

    def some(*values: Any) -> Any:
        return dice.choice([None, *values])

    kept: dict[str, list[dict[str, Any]]] = {"l": [], "p": []}
    for _ in range(12):
        more = {
            "l": [
                {"k": some(1, 2, 3), "q": some(1, 2, 3, 6), "m": some("z", "y"), "x": some(1, -2)}
                for _ in range(4)
            ],
            "p": [{"k": some(1, 2, 3), "b": some("A", "B"), "s": some(1, 2, 3)} for _ in range(2)],
        }
        with db.transaction() as tx:
            for table, rows in more.items():
                tx.insert(table, rows)
                gone = [kept[table].pop(dice.randrange(len(kept[table]))) for _ in kept[table][:2]]
                tx.delete(table, gone)
                kept[table] += rows
        assert comparable(view.to_arrow()) == oracle.rows(sql, kept)


@pytest.mark.parametrize("sql", SHARED[:4])
def test_a_join_that_branches_share_is_a_join(sql: str) -> None:
    assert warned(database(), sql) == []
