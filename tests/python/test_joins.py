"""The rows of joins, factorised and as listings, equal DuckDB's, however they are read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pytest
import ringview as rv
from amounts import examples
from durable_twin import DurableTwin, durable_twin
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparable
from queries import FROMS, SCHEMAS, From, _conditions, rows
from ringview import errors
from ringview.database import Representation
from streams import (
    ORACLE,
    Batch,
    Tables,
    apply,
    batches,
    check_static,
    database,
    everything_leaves,
    small,
    tables_of,
    twin_of,
)

KEPT: tuple[Representation | None, ...] = ("factorised", "listing", None)


@st.composite
def joins(draw: st.DrawFn) -> str:
    """A SELECT of columns over one of `FROMS`."""
    source: From = draw(st.sampled_from(FROMS))
    columns = [
        f"{a}.{name}" for a, table in source.aliases.items() for name in SCHEMAS[table].names
    ]
    columns += source.bare
    chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=6))
    outputs = [f"{column} AS c{i}" for i, column in enumerate(chosen)]
    if draw(st.booleans()):
        # All that a table has, under names of its own.
        alias = draw(st.sampled_from(sorted(source.aliases)))
        names = SCHEMAS[source.aliases[alias]].names
        outputs += [f"{alias}.{name} AS {alias}_{name}" for name in names]
    where = " AND ".join([*source.where, *draw(st.lists(_conditions(source), max_size=1))])
    return f"SELECT {', '.join(outputs)} FROM {source.text}" + (f" WHERE {where}" if where else "")


def once(db: rv.Database, trusting: rv.Database, sql: str) -> list[rv.View]:
    """DISTINCT of the same, kept in every way that it can be."""
    sql = sql.replace("SELECT", "SELECT DISTINCT", 1)
    found = [db.create_view("once", sql), db.create_view("listed", sql, representation="listing")]
    try:
        found.append(trusting.create_view("once", sql, representation="factorised"))
    except errors.UnsupportedError:
        if "kept factorised" in found[0].explain():
            raise
    return found


def check(sql: str, stream: list[Batch]) -> None:
    """In memory or in a file, the rows are DuckDB's after each batch, and the changes add up."""
    with durable_twin(lambda db: (tables_of(db), db.create_view("v", sql))) as file:
        _check(sql, stream, file)


def _check(sql: str, stream: list[Batch], file: DurableTwin) -> None:
    db, trusting, tables = database(), database(trust_deletes=True), Tables()
    views = [db.create_view(f"v{kept}", sql, representation=kept) for kept in KEPT]
    views += [trusting.create_view("v", sql, representation="factorised")]
    sets = once(db, trusting, sql)
    seen: list[Counter[tuple[Any, ...]]] = [Counter() for _ in [*views, *sets]]
    for batch in [*stream, *everything_leaves()]:
        changes = tables.change(batch)
        apply(db, changes)
        apply(trusting, changes)
        apply(file.next(), changes)
        expected = ORACLE.rows(sql, tables.rows)
        assert comparable(file.db["v"].to_arrow()) == expected
        distinct = sorted(set(expected), key=repr)
        for at, (view, moved) in enumerate(zip([*views, *sets], seen, strict=True)):
            rows = expected if at < len(views) else distinct
            assert comparable(view.to_arrow()) == rows
            assert len(view) == len(rows)
            for *row, multiplicity in comparable(view.changes()):
                assert multiplicity != 0
                moved[tuple(row)] += int(multiplicity)
            assert sorted(moved.elements(), key=repr) == rows
    late = db.create_view("late", sql)
    assert comparable(late.to_arrow()) == expected


@examples(100)
@given(joins(), st.lists(batches(), max_size=5))
def test_joins_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@st.composite
def whole_joins(draw: st.DrawFn) -> str:
    """A SELECT of all columns that join, at least, over several tables."""
    source: From = draw(st.sampled_from([source for source in FROMS if len(source.aliases) > 1]))
    columns = [(a, name) for a, table in source.aliases.items() for name in SCHEMAS[table].names]
    # The columns that FROMS joins, and names.
    keys = [column for column in columns if column[1] in ("a", "b", "c", "name", "day", "x")]
    others = draw(st.lists(st.sampled_from(columns), max_size=3))
    outputs = [f"{a}.{name} AS {a}_{name}" for a, name in dict.fromkeys([*keys, *others])]
    where = f" WHERE {' AND '.join(source.where)}" if source.where else ""
    return f"SELECT {', '.join(outputs)} FROM {source.text}{where}"


@examples(80)
@given(whole_joins(), st.lists(batches(), max_size=5))
def test_distinct_rows_of_all_that_joins_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    assert "kept factorised" in once(database(), database(trust_deletes=True), sql)[0].explain()
    check(sql, stream)


@examples(40)
@given(whole_joins(), st.lists(batches(), min_size=1, max_size=4), batches())
def test_distinct_rows_are_read_by_place(sql: str, stream: list[Batch], last: Batch) -> None:
    """And drawn; and a refused transaction moves none of them."""
    db, tables = database(), Tables()
    view = db.create_view("v", sql.replace("SELECT", "SELECT DISTINCT", 1))
    for batch in stream:
        apply(db, tables.change(batch))
        found = list(view)
        assert [view[i] for i in range(len(view))] == found
        assert len({repr(row) for row in found}) == len(found)
        if found:
            assert all(row in found for row in view.draw(5, seed=3).to_pylist())
        view.changes()
        absent = {"a": 99, "b": 99, "x": 99, "name": "absent"}
        with pytest.raises(errors.OverDeleteError):
            apply(db, [*twin_of(tables).change(last), ("r", -1, [absent])])
        assert list(view) == found
        assert view.changes().num_rows == 0


@pytest.mark.long
@examples(4_000)
@given(joins(), st.lists(batches(), max_size=8))
def test_joins_equal_duckdb_at_length(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@examples(60)
@given(joins(), st.lists(batches(), max_size=4), st.integers(0, 5))
def test_places_are_those_of_the_stream(sql: str, stream: list[Batch], cut: int) -> None:
    db, tables = database(), Tables()
    view = db.create_view("v", sql, representation="factorised")
    for batch in stream:
        apply(db, tables.change(batch))
        found = list(view)
        assert found == view.to_arrow().to_pylist()
        assert [view[i] for i in range(len(view))] == found
        assert [view[i - len(found)] for i in range(len(found))] == found
        assert view[cut:-cut].to_pylist() == found[cut:-cut]
        assert view[::-2].to_pylist() == found[::-2]
        assert view[cut + 100 :].num_rows == len(found[cut + 100 :])
        with pytest.raises(IndexError, match="no row"):
            view[len(found)]
        with pytest.raises(IndexError):
            view[-len(found) - 1]
        if found:
            assert all(row in found for row in view.draw(5, seed=cut).to_pylist())


@examples(40)
@given(joins(), st.lists(batches(), min_size=1, max_size=3), batches())
def test_a_refused_transaction_moves_nothing(sql: str, stream: list[Batch], last: Batch) -> None:
    """Rows, their order, what streams see and what changes say are as before."""
    db, tables = database(), Tables()
    view = db.create_view("v", sql, representation="factorised")
    for batch in stream:
        apply(db, tables.change(batch))
    view.changes()
    before, reader = list(view), view.to_reader()
    absent = {"a": 99, "b": 99, "x": 99, "name": "absent"}
    with pytest.raises(errors.OverDeleteError):
        apply(db, [*twin_of(tables).change(last), ("r", -1, [absent])])
    assert list(view) == before == reader.read_all().to_pylist()
    assert view.changes().num_rows == 0


def test_a_reader_of_no_rows_goes_on_after_a_refusal() -> None:
    db = database()
    view = db.create_view("v", "SELECT r.a AS c0 FROM r", representation="factorised")
    reader = view.to_reader()
    absent = {"a": 99, "b": 99, "x": 99, "name": "absent"}
    with pytest.raises(errors.OverDeleteError):
        apply(db, [("r", 1, [dict.fromkeys(absent)]), ("r", -1, [absent])])
    assert reader.read_all().num_rows == 0


@examples(40)
@given(joins(), rows("t", 8), rows("u", 8), st.lists(batches(), max_size=4))
def test_static_tables(
    sql: str, t: list[dict[str, Any]], u: list[dict[str, Any]], stream: list[Batch]
) -> None:
    check_static(sql, [("t", t), ("u", u)], stream)


STARS = [
    "SELECT * FROM r",
    "SELECT * FROM r NATURAL JOIN s",
    "SELECT * FROM r JOIN s USING (b) JOIN t USING (a, c)",
    "SELECT r.* FROM r JOIN s ON r.b = s.b",
    "SELECT s.*, name FROM r JOIN s ON r.b = s.b",
]


@pytest.mark.parametrize("sql", STARS)
def test_a_star_is_that_of_sql(sql: str) -> None:
    db, tables = database(), Tables()
    view = db.create_view("v", sql)
    found, expected = view.to_arrow(), ORACLE.query(sql, tables.rows)
    assert found.column_names == expected.column_names
    assert found.schema.types == expected.schema.types


TWICE = [
    ("SELECT * FROM r JOIN s ON r.b = s.b", ["a", "b", "b_1", "c"]),
    ("SELECT r.b, s.b FROM r JOIN s USING (b)", ["b", "b_1"]),
    ("SELECT b, a AS b, a AS b_1 FROM r", ["b", "b_1", "b_1_1"]),
    ("SELECT b, a AS b_1, a AS b FROM r", ["b", "b_1", "b_2"]),
    ("SELECT a, COUNT(*) AS a FROM r GROUP BY r.a", ["a", "a_1"]),
]


@pytest.mark.parametrize(("sql", "names"), TWICE)
def test_names_that_come_twice_are_numbered(sql: str, names: list[str]) -> None:
    db, _ = small()
    view = db.create_view("w", sql)
    db.insert("r", [{"a": 1, "b": 2}, {"a": 2, "b": 2}])
    db.insert("s", [{"b": 2, "c": 3}])
    found = view.to_arrow()
    assert found.column_names == names
    rows = {name: db.tables[name].to_arrow() for name in ("r", "s")}
    with duckdb.connect() as connection:
        for name, table in rows.items():
            connection.register(name, table)
        connection.execute(f"CREATE VIEW w AS {sql}")
        described = connection.execute("DESCRIBE w").fetchall()
        assert [name for name, *_ in described] == names
        assert comparable(found) == comparable(connection.sql(sql).to_arrow_table())


REFUSED = [
    ("SELECT z.* FROM r", errors.QueryError, 'no table or alias "z"'),
    ("SELECT *, COUNT(*) FROM r", errors.QueryError, "neither in GROUP BY"),
]


@pytest.mark.parametrize(("sql", "error", "message"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refused(sql: str, error: type[Exception], message: str) -> None:
    db, _ = small()
    with pytest.raises(error, match=message.replace("(", r"\(")):
        db.create_view("w", sql)
    assert "w" not in db


def test_representations_that_do_not_fit() -> None:
    db, _ = small()
    with pytest.raises(errors.UnsupportedError, match="has groups"):
        db.create_view("w", "SELECT a, COUNT(*) FROM r GROUP BY a", representation="listing")
    with pytest.raises(errors.InvalidValueError, match="'rows'"):
        db.create_view("w", "SELECT a FROM r", representation="rows")  # type: ignore[arg-type]


def test_distinct_rows_that_would_repeat_are_no_products() -> None:
    db, _ = small()
    sql = "SELECT DISTINCT a, c FROM r NATURAL JOIN s"
    with pytest.raises(errors.UnsupportedError, match='factorised without the column "b"'):
        db.create_view("w", sql, representation="factorised")
    assert "groups" in db.create_view("w", sql).explain()
    db.insert("r", {"a": [1, 1], "b": [1, 2]})
    db.insert("s", {"b": [1, 2], "c": [7, 7]})
    assert db["w"].to_arrow().to_pylist() == [{"a": 1, "c": 7}]


def test_the_planner_chooses() -> None:
    db, view = small()
    assert "kept factorised" in view.explain()
    once = db.create_view("once", "SELECT DISTINCT * FROM r NATURAL JOIN s")
    assert "kept factorised" in once.explain()
    db.insert("r", {"a": [1] * 50 + [2] * 50, "b": [1] * 100})
    db.insert("s", {"b": [1] * 100, "c": [*range(50)] * 2})
    assert (len(view), len(once)) == (10_000, 100)
    db.delete("r", {"a": [1] * 50, "b": [1] * 50})
    assert once[-1] == {"b": 1, "a": 2, "c": 49}
    assert (len(view), len(once)) == (5_000, 50)
    assert "listing" in db.create_view("w", "SELECT a FROM r").explain()
