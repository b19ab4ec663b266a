"""Bad input ends in a clear error or an exact result, and never in a half-applied batch."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors

MOST = 2**63 - 1


def database(**options: Any) -> rv.Database:
    db = rv.Database(**options)
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    db.create_view("total", "SELECT SUM(a * c) AS total FROM r NATURAL JOIN s")
    db.create_view("groups", "SELECT b, SUM(a) AS total, COUNT(*) AS n FROM r GROUP BY b")
    return db


def state(db: rv.Database) -> Any:
    views = {name: sorted(view.to_arrow().to_pylist(), key=repr) for name, view in db.views.items()}
    return views, {name: len(table) for name, table in db.tables.items()}


def refuses(
    db: rv.Database, error: type[Exception], message: str, change: Callable[[], object]
) -> None:
    """`change` raises and leaves everything as it was, the next change included."""
    before = state(db)
    with pytest.raises(error, match=message):
        change()
    assert state(db) == before
    db.insert("r", {"a": [1], "b": [5]})
    db.delete("r", {"a": [1], "b": [5]})
    assert state(db) == before


@pytest.fixture
def db() -> rv.Database:
    db = database()
    db.insert("r", {"a": [2, 3, 3], "b": [1, 1, 2]})
    db.insert("s", {"b": [1, 2], "c": [10, 100]})
    return db


@pytest.mark.parametrize(
    "rows",
    [
        {"a": [9], "b": [9]},
        {"a": [2, 2], "b": [1, 1]},
        {"a": [2, 3, 9], "b": [1, 1, 9]},
        {"a": [None], "b": [1]},
    ],
)
def test_over_delete(db: rv.Database, rows: Any) -> None:
    refuses(db, errors.OverDeleteError, "r", lambda: db.delete("r", rows))


def test_over_delete_names_row_and_multiplicity(db: rv.Database) -> None:
    with pytest.raises(errors.OverDeleteError) as caught:
        db.delete("r", {"a": [2, 2, 2], "b": [1, 1, 1]})
    assert all(part in str(caught.value) for part in ("r", "2", "1"))


def test_over_delete_by_multiplicity(db: rv.Database) -> None:
    rows = {"a": [2], "b": [1], "m": [-2]}
    refuses(db, errors.OverDeleteError, "r", lambda: db.insert("r", rows, multiplicity="m"))


def test_delete_before_insert_in_one_transaction(db: rv.Database) -> None:
    def change() -> None:
        with db.transaction() as tx:
            tx.delete("r", {"a": [7], "b": [7]})
            tx.insert("r", {"a": [7], "b": [7]})

    refuses(db, errors.OverDeleteError, "r", change)


def test_the_same_row_inserted_and_deleted(db: rv.Database) -> None:
    before = state(db)
    with db.transaction() as tx:
        tx.insert("r", {"a": [7], "b": [1]})
        tx.delete("r", {"a": [7], "b": [1]})
    assert state(db) == before


def test_a_sum_past_64_bits_is_no_overflow() -> None:
    db = database()
    db.insert("r", {"a": [MOST, 5], "b": [1, 2]})
    db.insert("r", {"a": [MOST, 1], "b": [1, 1]})
    assert {row["b"]: row["total"] for row in db["groups"]} == {1: 2 * MOST + 1, 2: 5}
    db.delete("r", {"a": [MOST, 1], "b": [1, 1]})
    assert {row["b"]: row["total"] for row in db["groups"]} == {1: MOST, 2: 5}


def test_overflow_of_a_product_undoes_all_tables() -> None:
    db = database()
    db.insert("r", {"a": [2**62] * 8, "b": [1] * 8})

    def change() -> None:
        with db.transaction() as tx:
            tx.insert("r", {"a": [1], "b": [2]})
            tx.insert("s", {"b": [2, 1], "c": [1, 2**62]})

    refuses(db, errors.ArithmeticOverflowError, "overflow in", change)


def test_overflow_when_a_view_is_created() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    db.insert("r", {"a": [MOST, MOST, MOST]})
    with pytest.raises(errors.ArithmeticOverflowError):
        db.create_view("v", "SELECT SUM(a) * SUM(a) AS s FROM r")
    assert "v" not in db
    assert db.create_view("w", "SELECT SUM(a) FROM r").scalar() == 3 * MOST
    assert db.create_view("n", "SELECT COUNT(*) FROM r").scalar() == 3


def test_overflow_of_decimals() -> None:
    db = rv.Database()
    db.create_table("r", {"p": "decimal128(38, 0)"})
    view = db.create_view("v", "SELECT SUM(p) FROM r")
    most = Decimal(10**38 - 1)
    db.insert("r", {"p": [most]})
    with pytest.raises(errors.ArithmeticOverflowError):
        db.insert("r", {"p": [most]})
    assert view.scalar() == most


def test_null_where_none_may_be() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64 not null", "b": "int64"})
    view = db.create_view("v", "SELECT COUNT(*) FROM r")
    with pytest.raises(errors.NullKeyError, match="a"):
        db.insert("r", pa.table({"a": pa.array([1, None], pa.int64()), "b": [1, 2]}))
    assert view.scalar() == 0


def test_null_never_joins(db: rv.Database) -> None:
    db.insert("r", {"a": [5], "b": [None]})
    db.insert("s", {"b": [None], "c": [5]})
    assert db["total"].scalar() == 2 * 10 + 3 * 10 + 3 * 100
    assert None in db["groups"].to_arrow()["b"].to_pylist()


@pytest.mark.parametrize("nan", [float("nan"), -float("nan")])
def test_nan_in_keys_is_refused(nan: float) -> None:
    db = rv.Database()
    db.create_table("r", {"w": "float64", "a": "int64"})
    db.create_table("s", {"w": "float64"})
    db.create_view("j", "SELECT COUNT(*) FROM r NATURAL JOIN s")
    db.create_view("g", "SELECT w, COUNT(*) FROM r GROUP BY w")
    with pytest.raises(errors.RingviewError, match="w"):
        db.insert("r", {"w": [1.0, nan], "a": [1, 2]})
    assert len(db.tables["r"]) == 0
    assert len(db["g"]) == 0


def test_both_zeros_are_one_key() -> None:
    db = rv.Database()
    db.create_table("r", {"w": "float64"})
    view = db.create_view("g", "SELECT w, COUNT(*) AS n FROM r GROUP BY w")
    db.insert("r", {"w": [0.0, -0.0]})
    assert view.to_arrow().to_pylist() == [{"w": 0.0, "n": 2}]
    db.delete("r", {"w": [-0.0, 0.0]})
    assert len(view) == 0


def test_no_residue_of_floats() -> None:
    db = rv.Database()
    db.create_table("r", {"k": "int64", "w": "float64"})
    view = db.create_view("g", "SELECT k, SUM(w) AS s FROM r GROUP BY k")
    for w in (0.1, 0.2, 1e300):
        db.insert("r", {"k": [1], "w": [w]})
    for w in (0.1, 1e300, 0.2):
        db.delete("r", {"k": [1], "w": [w]})
    assert len(view) == 0
    db.insert("r", {"k": [1], "w": [0.5]})
    assert view.to_arrow().to_pylist() == [{"k": 1, "s": 0.5}]


def test_unique_keys() -> None:
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "int64"}, unique=["k"])
    view = db.create_view("v", "SELECT SUM(x) FROM r")
    db.insert("r", {"k": [1, 2], "x": [1, 2]})
    for rows in ({"k": [1], "x": [5]}, {"k": [3, 3], "x": [1, 2]}):
        with pytest.raises(errors.DuplicateKeyError, match=r"k|r"):
            db.insert("r", rows)
        assert view.scalar() == 3
    with pytest.raises(errors.OverDeleteError):
        db.delete("r", {"k": [1], "x": [5]})
    with db.transaction() as tx:
        tx.delete("r", {"k": [1], "x": [1]})
        tx.insert("r", {"k": [1], "x": [5]})
    assert view.scalar() == 7


def test_static_tables() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"}, static=True)
    db.insert("r", {"a": [1, 2]})
    view = db.create_view("v", "SELECT SUM(a) FROM r")
    for change in (db.insert, db.delete):
        with pytest.raises(errors.StaticTableError, match="r"):
            change("r", {"a": [1]})
    assert view.scalar() == 3
    db.drop_view("v")
    db.insert("r", {"a": [3]})


def test_views_over_trusted_rows_come_first() -> None:
    db = rv.Database(trust_deletes=True)
    db.create_table("r", {"a": "int64"})
    db.insert("r", {"a": [1]})
    with pytest.raises(errors.UnsupportedError, match="r"):
        db.create_view("v", "SELECT SUM(a) FROM r")


def test_ragged_arrow(db: rv.Database) -> None:
    with pytest.raises((errors.RingviewError, pa.ArrowInvalid, ValueError)):
        db.insert("r", {"a": pa.array([1, 2]), "b": pa.array([1])})
    assert len(db.tables["r"]) == 3


def test_empty_batches_between_full_ones(db: rv.Database) -> None:
    full = pa.record_batch({"a": [1], "b": [1]})
    db.insert("r", [full.slice(0, 0), full, full.slice(0, 0)])
    assert len(db.tables["r"]) == 4


def test_text_of_every_kind() -> None:
    texts = ["", " ", "é", "e\u0301", "\u0000", "a\u0000b", "🦀", "x" * 100_000]
    db = rv.Database()
    db.create_table("r", {"s": "string"})
    view = db.create_view("v", "SELECT s, COUNT(*) AS n FROM r GROUP BY s")
    db.insert("r", {"s": texts})
    assert sorted(view.to_arrow()["s"].to_pylist()) == sorted(texts)
    db.delete("r", {"s": texts})
    assert len(view) == 0


def test_integers_at_the_edges() -> None:
    db = rv.Database()
    db.create_table("r", {"i": "int64", "u": "uint64", "t": "int8"})
    view = db.create_view("v", "SELECT i, u, t, COUNT(*) AS n FROM r GROUP BY i, u, t")
    rows = {"i": [-(2**63), MOST], "u": [0, 2**64 - 1], "t": [-128, 127]}
    db.insert(
        "r",
        pa.table(
            {
                name: pa.array(v, getattr(pa, k)())
                for (name, v), k in zip(rows.items(), ["int64", "uint64", "int8"], strict=True)
            }
        ),
    )
    found = view.to_arrow().sort_by("i")
    assert found.select(["i", "u", "t"]).to_pydict() == rows


def test_deep_queries_are_refused_or_right(db: rv.Database) -> None:
    text = " + ".join(["a"] * 90)
    assert db.create_view("deep", f"SELECT SUM({text}) FROM r").scalar() == 90 * 8
    with pytest.raises(errors.RingviewError):
        db.create_view("deeper", f"SELECT SUM({'-(' * 500}a{')' * 500}) FROM r")
    assert "deeper" not in db


@pytest.mark.parametrize("threads", [0, -1, 2.0, "2", True, 2**40, None])
def test_a_number_of_threads_that_is_none(threads: object) -> None:
    with pytest.raises(
        errors.InvalidValueError, match=r"threads=.* write a whole number from 1 to 1,024"
    ):
        rv.Database(threads=threads)  # type: ignore[arg-type]
