"""Conditions across tables that are joined by key: filters above the join's rows."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import ringview as rv
from amounts import examples
from correlations import SCHEMAS, contents
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, comparable
from ringview import errors

ORACLE = Oracle(SCHEMAS)
# Only whole numbers: what is multiplied stays exact.
_COLUMNS = ("b.id", "b.j", "c.k", "c.l")
Rows = dict[str, list[dict[str, Any]]]


@st.composite
def filtered(draw: st.DrawFn) -> str:
    """A join by key whose rows a condition across the tables chooses."""

    def one_of(*choices: str) -> str:
        return draw(st.sampled_from(choices))

    def compared(deeper: int = 1) -> str:
        how = one_of("<", "<=", "<>", ">", ">=")
        form = draw(st.integers(0, 5 if deeper else 2))
        if form == 3:
            return f"NOT ({compared(0)})"
        if form == 4:
            return f"({compared(0)} {one_of('AND', 'OR')} {compared(0)})"
        if form == 5:
            return f"{one_of('b.j', 'b.d')} BETWEEN {one_of('c.k', 'c.l')} AND {one_of('c.e', '2')}"
        left = one_of("b.id", "b.j", "b.d", "b.j - 1")
        right = one_of("c.k", "c.l", "c.e", "c.l + 1", "2 * c.k")
        return f"{left} {how} {right}"

    joined = one_of("b.id = c.k", "b.j = c.l", "b.id = c.k AND b.j = c.l", "b.j = c.k")
    where = f"WHERE {joined} AND {compared()}" + one_of("", f" AND {compared()}")
    form = draw(st.integers(0, 3))
    columns = list(dict.fromkeys(one_of(*_COLUMNS, "b.d", "c.e") for _ in range(2)))
    named = ", ".join(f"{column} AS o{at}" for at, column in enumerate(columns))
    if form == 0:
        return f"SELECT {one_of('', 'DISTINCT ')}{named} FROM b, c {where}"
    sums = [f"SUM({one_of('b.j * c.l', 'b.d', 'c.l')}) AS s", "COUNT(*) AS n"]
    sums += [text for text in ("MAX(c.e) AS g", "AVG(c.l) AS m") if draw(st.booleans())]
    if form == 1:
        return f"SELECT {', '.join(sums)} FROM b, c {where}"
    having = one_of("", f" HAVING COUNT(*) {one_of('>', '<=')} 1")
    return (
        f"SELECT {named}, {', '.join(sums)} FROM b, c {where} GROUP BY {', '.join(columns)}{having}"
    )


@examples(80)
@given(filtered(), st.lists(st.tuples(contents(), st.integers(0, 3)), min_size=1, max_size=3))
def test_views_equal_duckdb_and_the_query_as_it_stands(
    sql: str, stream: list[tuple[Rows, int]]
) -> None:
    db = rv.Database()
    for table, schema in SCHEMAS.items():
        db.create_table(table, schema)
    view = db.create_view("v", sql)
    assert view.sql == sql
    views = [view]
    # Some conditions are equalities, and nothing else is left of them.
    with suppress(errors.UnsupportedError):
        views.append(db.create_view("w", sql, engine="rpai"))
        assert view.schema == views[1].schema
    held: Rows = {table: [] for table in SCHEMAS}
    last: tuple[Rows, int] = ({table: [] for table in SCHEMAS}, 100)
    for came, going in [*stream, last]:
        with db.transaction() as tx:
            for table in SCHEMAS:
                tx.insert(table, came[table])
                tx.delete(table, held[table][:going])
                held[table] = held[table][going:] + came[table]
        wanted = ORACLE.rows(sql, held)
        assert [comparable(each.to_arrow()) for each in views] == [wanted] * len(views)


NEXMARK = """
    SELECT category, AVG(final) AS price FROM (
        SELECT a.id, a.category, MAX(b.price) AS final
        FROM auctions a JOIN bids b ON a.id = b.auction
        WHERE b.ts BETWEEN a.ts AND a.expires GROUP BY a.id, a.category) q
    GROUP BY category"""


def nexmark() -> rv.Database:
    db = rv.Database()
    whole = {"id": "int64", "category": "int64", "ts": "int64", "expires": "int64"}
    db.create_table("auctions", whole)
    db.create_table("bids", {"auction": "int64", "price": "int64", "ts": "int64"})
    return db


def engines(view: rv.View) -> list[str]:
    """The engine of a view and of all below it."""

    def found(told: Any) -> list[str]:
        if isinstance(told, list):
            return [name for each in told for name in found(each)]
        if not isinstance(told, dict):
            return []
        own = told.get("engine")
        names = [own["name"]] if isinstance(own, dict) and "name" in own else []
        return names + [name for each in told.values() for name in found(each)]

    return found(json.loads(view.explain("json")))


def test_a_range_of_each_key_is_a_filter_above_the_join() -> None:
    db = nexmark()
    view = db.create_view("q4", NEXMARK)
    assert set(engines(view)) == {"viewtree"}
    assert "b  O(1)" in view.explain()
    db.insert("auctions", {"id": [1, 2], "category": [5, 5], "ts": [0, 5], "expires": [9, 9]})
    db.insert("bids", {"auction": [1, 1, 2], "price": [10, 100, 7], "ts": [3, 30, 5]})
    assert view.to_arrow().to_pylist() == [{"category": 5, "price": 8.5}]
    assert view.get({"category": 5}) == {"category": 5, "price": 8.5}
    db.delete("bids", {"auction": [1], "price": [10], "ts": [3]})
    assert view.to_arrow().to_pylist() == [{"category": 5, "price": 7.0}]


def test_tables_without_a_key_stay_as_they_stand() -> None:
    db = nexmark()
    sql = "SELECT COUNT(*) AS n FROM auctions a, bids b WHERE b.ts BETWEEN a.ts AND a.expires"
    assert "rpai" in engines(db.create_view("v", sql))
