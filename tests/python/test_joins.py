"""The rows of joins, factorised and as listings, equal DuckDB's, however they are read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle, comparable
from queries import FROMS, SCHEMAS, From, _conditions, rows
from ringview import errors
from ringview.database import Representation
from test_streams import Batch, Tables, apply, batches, database, everything_leaves, twin_of

ORACLE = Oracle(SCHEMAS)
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


def check(sql: str, stream: list[Batch]) -> None:
    """However the rows are kept, after each batch they are DuckDB's, and the changes add up."""
    db, trusting, tables = database(), database(trust_deletes=True), Tables()
    views = [db.create_view(f"v{kept}", sql, representation=kept) for kept in KEPT]
    views += [trusting.create_view("v", sql, representation="factorised")]
    once = db.create_view("once", sql.replace("SELECT", "SELECT DISTINCT", 1))
    seen: list[Counter[tuple[Any, ...]]] = [Counter() for _ in views]
    for batch in [*stream, *everything_leaves()]:
        changes = tables.change(batch)
        apply(db, changes)
        apply(trusting, changes)
        expected = ORACLE.rows(sql, tables.rows)
        for view, moved in zip(views, seen, strict=True):
            assert comparable(view.to_arrow()) == expected
            assert len(view) == len(expected)
            for *row, multiplicity in comparable(view.changes()):
                assert multiplicity != 0
                moved[tuple(row)] += int(multiplicity)
            assert sorted(moved.elements(), key=repr) == expected
        assert comparable(once.to_arrow()) == sorted(set(expected), key=repr)
    late = db.create_view("late", sql)
    assert comparable(late.to_arrow()) == expected


@settings(max_examples=100, deadline=None)
@given(joins(), st.lists(batches(), max_size=5))
def test_joins_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@pytest.mark.long
@settings(max_examples=4_000, deadline=None)
@given(joins(), st.lists(batches(), max_size=8))
def test_joins_equal_duckdb_at_length(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(joins(), rows("t", 8), rows("u", 8), st.lists(batches(), max_size=4))
def test_static_tables(
    sql: str, t: list[dict[str, Any]], u: list[dict[str, Any]], stream: list[Batch]
) -> None:
    db, tables = rv.Database(), Tables()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema, static=name in ("t", "u"))
    apply(db, tables.change([("t", t), ("u", u)]))
    view = db.create_view("v", sql)
    for batch in [[], *stream]:
        apply(db, tables.change([(n, body) for n, body in batch if n in ("r", "s")]))
        assert comparable(view.to_arrow()) == ORACLE.rows(sql, tables.rows)


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


def small() -> tuple[rv.Database, rv.View]:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    return db, db.create_view("v", "SELECT * FROM r NATURAL JOIN s")


REFUSED = [
    ("SELECT a + 1 FROM r", errors.UnsupportedError, "without an aggregate"),
    ("SELECT 1 FROM r", errors.UnsupportedError, "a constant"),
    ("SELECT r.b, s.b FROM r JOIN s USING (b)", errors.QueryError, "two columns are called 'b'"),
    ("SELECT * FROM r JOIN s ON r.b = s.b", errors.QueryError, "USING"),
    ("SELECT * FROM r ORDER BY a", errors.UnsupportedError, "ORDER BY"),
    ("SELECT * FROM r LIMIT 3", errors.UnsupportedError, "LIMIT"),
    ("SELECT DISTINCT ON (a) a, b FROM r", errors.UnsupportedError, "DISTINCT ON"),
    ("SELECT DISTINCT COUNT(*) FROM r", errors.UnsupportedError, "beside aggregates"),
    ("SELECT * EXCLUDE (a) FROM r", errors.UnsupportedError, "EXCLUDE"),
    ("SELECT z.* FROM r", errors.QueryError, "no table or alias 'z'"),
    ("SELECT *, COUNT(*) FROM r", errors.UnsupportedError, "beside aggregates"),
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


def test_the_planner_chooses() -> None:
    db, view = small()
    assert "kept factorised" in view.explain()
    assert "listing" in db.create_view("w", "SELECT a FROM r").explain()


def test_a_stream_sees_its_start_or_fails() -> None:
    db, view = small()
    db.insert("r", {"a": range(500), "b": [1] * 500})
    db.insert("s", {"b": [1] * 300, "c": range(300)})
    reader = view.to_reader()
    first = reader.read_next_batch()
    assert 0 < len(first) < 150_000
    db.insert("r", {"a": [1], "b": [2]})
    with pytest.raises(errors.ViewChangedError, match="changed"):
        reader.read_next_batch()
    half = view.to_reader()
    half.read_next_batch()
    del half
    dropped, replaced = view.to_reader(), view.to_reader()
    db.drop_view("v")
    with pytest.raises(errors.UnknownViewError):
        dropped.read_next_batch()
    db.create_view("v", "SELECT * FROM r NATURAL JOIN s")
    with pytest.raises(errors.ViewChangedError):
        replaced.read_next_batch()
    reader = db["v"].to_reader()
    del db
    assert reader.read_all().num_rows == 150_000


def test_a_listing_is_streamed_as_of_its_start() -> None:
    db, _ = small()
    view = db.create_view("w", "SELECT a FROM r")
    db.insert("r", {"a": [1, 1], "b": [0, 0]})
    reader = view.to_reader()
    db.insert("r", {"a": [2], "b": [0]})
    assert reader.read_all().to_pylist() == [{"a": 1}, {"a": 1}]


def test_more_rows_than_can_be_counted_are_refused() -> None:
    db = rv.Database()
    for name in "rst":
        db.create_table(name, {name: "int64"})
    view = db.create_view("v", "SELECT r, s, t FROM r CROSS JOIN s CROSS JOIN t")
    many = {"n": [2**31]}
    for name in "rs":
        db.insert(name, {name: [1], **many}, multiplicity="n")
    db.insert("t", {"t": [0]})
    assert len(view) == 2**62
    assert view[2**62 - 1] == view[-1] == {"r": 1, "s": 1, "t": 0}
    assert next(iter(view.to_reader())).num_rows == 65_536
    with pytest.raises(errors.InvalidValueError, match="stream"):
        view[:]
    with pytest.raises(errors.ArithmeticOverflowError):
        db.insert("t", {"t": [5]})
    assert len(view) == 2**62
    assert len(db.tables["t"]) == 1
    assert set(view.draw(100, seed=3).column("t").to_pylist()) == {0}


def test_draws_are_uniform() -> None:
    """Chi-square at 10^-6 over 60 rows of unequal groups; the same test tells a skewed draw."""
    from scipy.stats import chisquare

    db, view = small()
    db.insert("r", {"a": range(12), "b": [1] * 2 + [2] * 10})
    db.insert("s", {"b": [1] * 15 + [2] * 3, "c": range(18)})
    assert len(view) == 60
    drawn = view.draw(30_000, seed=7).to_pylist()
    counts = Counter(tuple(row.values()) for row in drawn)
    assert len(counts) == 60
    assert chisquare(list(counts.values())).pvalue > 1e-6
    # A draw that took each key of b first would give rows of b = 1 and b = 2 the same weight.
    skewed = [count * (1.05 if row[1] == 1 else 0.95) for row, count in counts.items()]
    total = sum(skewed)
    assert chisquare([count * 30_000 / total for count in skewed]).pvalue < 1e-6
    assert view.draw(50, seed=7).to_pylist() == drawn[:50]
    assert view.draw(50, seed=8).to_pylist() != drawn[:50]
    assert view.draw(0, seed=1).num_rows == 0


def test_draws_that_cannot_be() -> None:
    db, view = small()
    with pytest.raises(errors.InvalidValueError, match="there are none"):
        view.draw(1, seed=1)
    for bad in ({"m": -1, "seed": 1}, {"m": 1, "seed": -1}, {"m": 1, "seed": 2**64}):
        with pytest.raises(errors.InvalidValueError, match="must be 0"):
            view.draw(**bad)
    listing = db.create_view("w", "SELECT a FROM r")
    with pytest.raises(errors.UnsupportedError, match="factorised"):
        listing.draw(1, seed=1)


def test_numbers_that_are_no_numbers_are_shown_but_do_not_join() -> None:
    db = rv.Database()
    db.create_table("r", {"k": "float64", "x": "float64"})
    db.create_table("s", {"k": "float64", "y": "float32"})
    view = db.create_view("v", "SELECT x, y FROM r NATURAL JOIN s")
    db.insert("s", {"k": [0.5], "y": [1.5]})
    db.insert("r", {"k": [0.5], "x": [float("nan")]})
    (row,) = view
    assert row["x"] != row["x"]
    assert row["y"] == 1.5
    with pytest.raises(errors.NullKeyError, match="NaN"):
        db.insert("r", {"k": [float("nan")], "x": [0.0]})
    db.delete("r", {"k": [0.5], "x": [float("nan")]})
    assert len(view) == 0


def test_deletes_that_were_trusted_and_wrong() -> None:
    db = rv.Database(trust_deletes=True)
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64"})
    view = db.create_view("v", "SELECT a, b FROM r NATURAL JOIN s")
    db.insert("s", {"b": [1]})
    db.insert("r", {"a": [1, 2, 3], "b": [1, 1, 1]})
    absent = {"a": [6, 7, 8, 9], "b": [1] * 4}
    db.delete("r", absent)
    for read in (len, rv.View.to_arrow, lambda view: view[0]):
        with pytest.raises(errors.InvalidValueError, match="trust_deletes"):
            read(view)
    db.insert("r", absent)
    assert view.to_arrow().num_rows == len(view) == 3


def test_blocks_agree_with_one_read() -> None:
    """Results of several blocks, with groups that begin and end within them."""
    db = rv.Database()
    db.create_table("r", {"k": "int64", "a": "int64"})
    db.create_table("s", {"k": "int64", "b": "int32"})
    db.create_table("t", {"k": "int64", "c": "string"})
    view = db.create_view("v", "SELECT * FROM r NATURAL JOIN s NATURAL JOIN t")
    db.insert("r", {"k": [i % 7 for i in range(400)], "a": range(400)})
    db.insert("s", {"k": [i * i % 7 for i in range(360)], "b": [i // 2 for i in range(360)]})
    db.insert("t", {"k": [i % 5 for i in range(60)], "c": [f"t{i}" for i in range(60)]})
    whole = view.to_arrow()
    assert whole.num_rows == len(view) > 200_000
    expected = pa.table({"k": [i % 7 for i in range(400)], "a": range(400)})
    for right in (
        pa.table({"k": [i * i % 7 for i in range(360)], "b": [i // 2 for i in range(360)]}),
        pa.table({"k": [i % 5 for i in range(60)], "c": [f"t{i}" for i in range(60)]}),
    ):
        expected = expected.join(right, "k", join_type="inner")
    order = [(name, "ascending") for name in ("k", "a", "b", "c")]
    names = ["k", "a", "b", "c"]
    found = whole.select(names).sort_by(order).combine_chunks()
    wanted = expected.select(names).sort_by(order).cast(found.schema).combine_chunks()
    assert found.equals(wanted)
    for at in (0, 65_535, 65_536, 131_071, len(view) - 1):
        assert view[at] == whole.slice(at, 1).to_pylist()[0]
    assert (
        view[65_000:140_000].combine_chunks().equals(whole.slice(65_000, 75_000).combine_chunks())
    )
