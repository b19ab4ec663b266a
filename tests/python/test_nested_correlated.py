"""Subqueries that equate columns, in SQL: views equal DuckDB whatever is equated with what."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from correlations import REALS, SCHEMAS, contents, correlated
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, comparable

ORACLE = Oracle(SCHEMAS)

Rows = dict[str, list[dict[str, Any]]]
Batch = tuple[Rows, int]


def batches(most: int, doubles: bool = False) -> st.SearchStrategy[list[Batch]]:
    """Inserts, and the number of oldest rows of each table that are deleted after them."""
    batch = st.tuples(contents(most, doubles), st.integers(0, most))
    return st.lists(batch, min_size=1, max_size=3)


def database() -> rv.Database:
    db = rv.Database()
    for table, schema in SCHEMAS.items():
        db.create_table(table, schema)
    return db


def moved(db: rv.Database, held: Rows, batch: Batch) -> None:
    """One transaction: rows are inserted, and the oldest deleted."""
    came, going = batch
    gone = {table: rows[:going] for table, rows in held.items()}
    with db.transaction() as tx:
        for table in SCHEMAS:
            tx.insert(table, came[table])
            tx.delete(table, gone[table])
            held[table] = held[table][going:] + came[table]


def check_stream(sql: str, stream: list[Batch]) -> None:
    db = database()
    held: Rows = {table: [] for table in SCHEMAS}
    view = db.create_view("v", sql)
    for batch in stream:
        moved(db, held, batch)
        assert comparable(view.to_arrow()) == ORACLE.rows(sql, held)
    again = db.create_view("again", sql)
    assert comparable(again.to_arrow()) == comparable(view.to_arrow())
    for table, rows in held.items():
        db.delete(table, rows)
        held[table] = []
        assert comparable(view.to_arrow()) == ORACLE.rows(sql, held)


@examples(100)
@given(correlated(), batches(3))
def test_views_equal_duckdb_after_every_batch(sql: str, stream: list[Batch]) -> None:
    check_stream(sql, stream)


@pytest.mark.long
@examples(5_000)
@given(correlated(), batches(5))
def test_views_equal_duckdb_at_length(sql: str, stream: list[Batch]) -> None:
    check_stream(sql, stream)


# Each of these once had another answer.
ONCE_WRONG = [
    "SELECT COUNT(*) AS n FROM b WHERE b.id NOT IN (SELECT c.k FROM c WHERE c.k = b.j)",
    "SELECT COUNT(*) AS n FROM b WHERE NOT (b.id IN (SELECT c.k FROM c WHERE c.k = b.j))",
    "SELECT COUNT(*) AS n FROM b WHERE b.id <> ALL (SELECT c.k FROM c WHERE c.k = b.j)",
    "SELECT COUNT(*) AS n FROM b WHERE b.id >= ALL (SELECT c.k FROM c WHERE c.k = b.j)",
    "SELECT COUNT(*) AS n FROM b WHERE (SELECT COUNT(*) FROM c WHERE c.k = b.j AND c.k = b.id) "
    "= (SELECT COUNT(*) FROM c WHERE c.k = b.j)",
    "SELECT COUNT(*) AS n FROM b WHERE (SELECT COUNT(*) FROM c WHERE c.k = b.j AND b.id = b.j) "
    "= (SELECT COUNT(*) FROM c WHERE c.k = b.j)",
    # A count of decimals is no decimal.
    "SELECT COUNT(*) AS n FROM b WHERE 1 <= (SELECT COUNT(c.e) FROM c WHERE c.l = b.id)",
    "SELECT COUNT(*) AS n FROM b WHERE 1 <= (SELECT COUNT(c.e) FROM c WHERE c.l <= b.id)",
    # A subquery within a subquery that sees the outermost row alone.
    "SELECT COUNT(*) AS n FROM b WHERE 0 = (SELECT COUNT(*) FROM c WHERE c.k = b.j "
    "AND (SELECT COUNT(*) FROM c z WHERE z.k = b.id) = c.l)",
    # Keys of several scales, which are shown in that of their column.
    "SELECT b.id AS g, COUNT(*) AS n FROM b WHERE 0 < (SELECT COUNT(*) FROM c WHERE c.e = b.id) "
    "GROUP BY b.id",
    "SELECT b.d AS g, MIN(b.d) AS m, COUNT(DISTINCT b.id) AS n FROM b "
    "WHERE b.id = b.d AND b.j NOT IN (SELECT c.l FROM c WHERE c.e = b.id) GROUP BY b.d",
    # An atom that equates columns of its own of several types.
    "SELECT c.e AS g, c.k AS h, MAX(c.e) AS m, COUNT(*) AS n FROM b, c WHERE b.j = c.l "
    "AND b.j = c.e AND (b.id >= c.k OR b.id = c.e) GROUP BY c.e, c.k",
    "SELECT c.e AS g, MIN(c.e) AS m, COUNT(*) AS n FROM c WHERE c.l = c.e GROUP BY c.e",
    "SELECT MIN(b.id) AS m, COUNT(DISTINCT b.id) AS n FROM b "
    "WHERE b.j < (SELECT SUM(c.e) FROM c WHERE c.e = b.id)",
]


@pytest.mark.parametrize("sql", ONCE_WRONG)
@examples(25)
@given(stream=batches(4))
def test_forms_that_were_wrong_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    check_stream(sql, stream)


def test_not_in_where_a_column_is_equated_with_two() -> None:
    db = database()
    view = db.create_view("v", ONCE_WRONG[0])
    db.insert("b", [{"id": 1, "j": 2, "d": None, "x": None}])
    db.insert("c", [{"k": 2, "l": 0, "e": None, "y": None}])
    assert view.scalar() == 1


def check_reals(sql: str, stream: list[Batch]) -> None:
    """Sums are the nearest double to the exact ones, or as near as 150 bits of the largest are."""
    db = database()
    held: Rows = {table: [] for table in SCHEMAS}
    view = db.create_view("v", sql)
    is_exact = json.loads(view.explain("json"))["form"]["name"] == "aggregate indexes"
    largest = Fraction(0)
    rows_of = sql.replace("SUM(b.x) AS s", "LIST(b.x) AS s")
    last: Batch = ({table: [] for table in SCHEMAS}, 100)
    for batch in [*stream, last]:
        moved(db, held, batch)
        largest = max(largest, *(abs(Fraction(row["x"] or 0)) for row in held["b"]), Fraction(0))
        wanted = {row.get("g"): row["s"] for row in ORACLE.query(rows_of, held).to_pylist()}
        found = {row.get("g"): row["s"] for row in view.to_arrow().to_pylist()}
        assert found.keys() == wanted.keys()
        for group, values in wanted.items():
            known = [Fraction(value) for value in values or [] if value is not None]
            if not known:
                assert found[group] is None
            elif is_exact:
                assert found[group] == float(sum(known))
            else:
                exact = sum(known, Fraction(0))
                bound = abs(exact) / 2**53 + largest / 2**150
                assert abs(Fraction(found[group]) - exact) <= bound


@pytest.mark.parametrize("sql", REALS)
@examples(40)
@given(stream=batches(4, doubles=True))
def test_sums_of_doubles_of_any_size(sql: str, stream: list[Batch]) -> None:
    check_reals(sql, stream)


@pytest.mark.long
@pytest.mark.parametrize("sql", REALS)
@examples(2_000)
@given(stream=batches(6, doubles=True))
def test_sums_of_doubles_at_length(sql: str, stream: list[Batch]) -> None:
    check_reals(sql, stream)


@pytest.mark.parametrize("sql", REALS[:2])
@pytest.mark.parametrize("value", [1e-20, 1e-30, 1e-40, 5e-324, 1e31, -1e300])
def test_one_small_or_large_double_is_shown_as_it_came(sql: str, value: float) -> None:
    db = database()
    view = db.create_view("v", sql)
    db.insert("c", [{"k": 1, "l": 1, "e": None, "y": None}])
    db.insert("b", [{"id": 1, "j": 1, "d": None, "x": value}])
    assert view.to_arrow().to_pylist()[0]["s"] == value


@pytest.mark.parametrize("engine", ["rpai", None])
@pytest.mark.parametrize(
    "condition",
    [
        "(SELECT MAX(b.x) FROM r b WHERE b.k <= a.k) * a.x > 1e200",
        "a.x * 1e300 * 1e300 < (SELECT SUM(b.x) FROM r b WHERE b.k = a.k) * 1e300 * 1e300",
        "a.x * 1e300 - a.x * 1e300 * 1e10 >= (SELECT MAX(b.x) FROM r b WHERE b.k >= a.k)",
        "(SELECT MIN(b.x) FROM r b WHERE b.k <= a.k) * -1e300 <= a.x * a.x * -1e300",
        "(SELECT COUNT(*) FROM r b WHERE b.x * 1e308 > a.x * 1e308) > 1",
    ],
)
def test_doubles_leave_their_range_as_in_sql(condition: str, engine: str | None) -> None:
    schema = pa.schema({"k": pa.int64(), "x": pa.float64()})
    oracle, db = Oracle({"r": schema}), rv.Database()
    db.create_table("r", schema)
    sql = f"SELECT COUNT(*) AS n, SUM(a.k) AS s FROM r a WHERE {condition}"
    view = db.create_view("v", sql, engine=engine)
    numbers = [1e10, -1e10, 1e250, -1e250, 0.0, 3.5, 1e-10, None, 1e200]
    rows = [{"k": at % 5, "x": x} for at, x in enumerate(numbers)]
    for last in range(1, len(rows) + 1):
        db.insert("r", [rows[last - 1]])
        assert comparable(view.to_arrow()) == oracle.rows(sql, {"r": rows[:last]})
    for first in range(1, len(rows) + 1):
        db.delete("r", [rows[first - 1]])
        assert comparable(view.to_arrow()) == oracle.rows(sql, {"r": rows[first:]})
