"""Views under random streams of inserts and deletes equal DuckDB after every batch."""

from __future__ import annotations

from typing import Any

import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparable
from queries import queries, rows
from streams import (
    ORACLE,
    Batch,
    Tables,
    apply,
    batches,
    check,
    check_static,
    database,
    twin_of,
)


@examples(75)
@given(queries(), st.lists(batches(), max_size=5))
def test_views_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@pytest.mark.long
@examples(5_000)
@given(queries(), st.lists(batches(), max_size=8))
def test_views_equal_duckdb_at_length(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


# Their joins are on bound variables; the free ones are below, in two relations or on both sides.
BELOW = [
    "SELECT r.a, s.c, COUNT(*) AS n, SUM(x * price) AS p FROM r JOIN s ON r.b = s.b "
    "GROUP BY r.a, s.c",
    "SELECT r.name, t.ok, SUM(w) AS s, AVG(r.x) AS v FROM r JOIN s ON r.b = s.b "
    "JOIN t ON s.c = t.c GROUP BY r.name, t.ok",
    "SELECT s.day, r.x, COUNT(w) AS n FROM r JOIN s ON r.b = s.b "
    "JOIN t ON s.c = t.c AND r.a = t.a GROUP BY s.day, r.x",
    "SELECT one.x, two.x AS y, COUNT(*) AS n, MIN(one.name) AS m FROM r one JOIN r two "
    "ON one.b = two.a GROUP BY one.x, two.x",
]


@pytest.mark.parametrize("sql", BELOW)
@examples(20)
@given(stream=st.lists(batches(), max_size=5))
def test_free_variables_below_bound_ones(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@examples(60)
@given(queries(), st.lists(batches(), max_size=4), st.lists(batches(), max_size=2))
def test_views_over_rows_that_are_there(sql: str, before: list[Batch], after: list[Batch]) -> None:
    db, tables = database(), Tables()
    for batch in before:
        apply(db, tables.change(batch))
    view = db.create_view("v", sql)
    for batch in [[], *after]:
        apply(db, tables.change(batch))
        assert comparable(view.to_arrow()) == ORACLE.rows(sql, tables.rows)


@examples(60)
@given(
    st.lists(queries(), min_size=2, max_size=4),
    st.lists(batches(), max_size=4),
)
def test_several_views_share_tables(sqls: list[str], stream: list[Batch]) -> None:
    db, tables = database(), Tables()
    views = [db.create_view(f"v{i}", sql) for i, sql in enumerate(sqls)]
    for batch in stream:
        apply(db, tables.change(batch))
        for sql, view in zip(sqls, views, strict=True):
            assert comparable(view.to_arrow()) == ORACLE.rows(sql, tables.rows)


@examples(60)
@given(
    queries(),
    rows("t", 8),
    rows("u", 8),
    st.lists(batches(), max_size=4),
)
def test_static_tables(
    sql: str, t: list[dict[str, Any]], u: list[dict[str, Any]], stream: list[Batch]
) -> None:
    check_static(sql, [("t", t), ("u", u)], stream)


@examples(60)
@given(queries(), st.lists(batches(), min_size=1, max_size=3), batches())
def test_a_refused_transaction_moves_nothing(sql: str, stream: list[Batch], last: Batch) -> None:
    """A delete of a row that is not there undoes the earlier changes of the transaction."""
    db, tables = database(), Tables()
    view = db.create_view("v", sql)
    for batch in stream:
        apply(db, tables.change(batch))
    before, sizes = comparable(view.to_arrow()), {n: len(t) for n, t in db.tables.items()}
    view.changes()
    absent = {"a": 99, "b": 99, "x": 99, "name": "absent"}
    with pytest.raises(rv.errors.OverDeleteError):
        apply(db, [*twin_of(tables).change(last), ("r", -1, [absent])])
    assert comparable(view.to_arrow()) == before == ORACLE.rows(sql, tables.rows)
    assert {n: len(t) for n, t in db.tables.items()} == sizes
    assert view.changes().num_rows == 0
