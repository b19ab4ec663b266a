"""COFACTOR and bad features: NULL, infinity, views of another kind; nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors, ml

JOIN = "SELECT COFACTOR(x, y, z) FROM r NATURAL JOIN s"
MOST = 1.7e308


def database(**options: Any) -> rv.Database:
    db = rv.Database(**options)
    db.create_table("r", {"k": "int64", "x": "float64", "y": "float64"})
    db.create_table("s", {"k": "int64", "z": "float64"})
    db.create_view("join", JOIN)
    db.create_view("groups", "SELECT k, COFACTOR(x, z) FROM r NATURAL JOIN s GROUP BY k")
    db.insert("r", {"k": [1, 1, 2], "x": [0.1, 0.7, 1.0], "y": [2.0, 0.3, 1.0]})
    db.insert("s", {"k": [1, 2], "z": [3.0, 0.3]})
    return db


def state(db: rv.Database) -> Any:
    views = [sorted(map(str, view.to_arrow().to_pylist())) for view in db.views.values()]
    return views, [len(table) for table in db.tables.values()]


def refuses(
    db: rv.Database, error: type[Exception], message: str, change: Callable[[], object]
) -> None:
    """`change` raises; views, tables and what moved are as before, and the next change is exact."""
    for view in db.views.values():
        view.changes()
    before = state(db)
    with pytest.raises(error, match=message):
        change()
    assert state(db) == before
    assert all(view.changes().num_rows == 0 for view in db.views.values())
    db.insert("r", {"k": [2], "x": [4.0], "y": [4.0]})
    assert db["join"].cofactor().count == 4
    db.delete("r", {"k": [2], "x": [4.0], "y": [4.0]})
    assert db["join"].cofactor().count == 3


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize(
    ("table", "rows", "message"),
    [
        ("r", {"k": [1, 1], "x": [1.0, None], "y": [1.0, 1.0]}, r'row 1 of table "r".*column "x"'),
        ("r", {"k": [9], "x": [None], "y": [1.0]}, r'row 0 of table "r".*column "x"'),
        ("s", {"k": [1, 2, 2], "z": [1.0, 2.0, None]}, r'row 2 of table "s".*column "z"'),
    ],
)
def test_null_features(table: str, rows: Any, message: str, trust: bool) -> None:
    db = database(trust_deletes=trust)
    refuses(db, errors.InvalidValueError, message, lambda: db.insert(table, rows))

    def late() -> None:
        with db.transaction() as tx:
            tx.insert("r", {"k": [1, 2], "x": [5.0, 6.0], "y": [5.0, 6.0]})
            tx.delete("s", {"k": [2], "z": [0.3]})
            tx.insert(table, rows)

    refuses(db, errors.InvalidValueError, message, late)


def test_the_row_of_a_null_is_counted_in_all_the_data() -> None:
    """For data of any length and in any pieces."""
    db = database()
    size, at = 150_000, 140_003
    x = np.ones(size)
    whole = pa.table(
        {"k": np.ones(size, int), "x": pa.array(x, mask=np.arange(size) == at), "y": x}
    )
    parts = pa.Table.from_batches(
        [*whole.slice(0, 7).to_batches(), *whole.slice(7).to_batches(max_chunksize=40_000)]
    )

    def insert(rows: pa.Table) -> Callable[[], None]:
        return lambda: db.insert("r", rows)

    for rows in (whole, parts):
        refuses(db, errors.InvalidValueError, f"row {at} of", insert(rows))
    factors = {"u": {"k": [7, 8]}, "v": {"x": [1.0, None], "y": [1.0, 1.0]}}
    refuses(
        db,
        errors.InvalidValueError,
        r'row 1 of table "r".*column "x"',
        lambda: db.update_factorised("r", factors),
    )


def test_a_null_that_is_there_when_the_view_is_created() -> None:
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "float64"})
    size = 70_000
    db.insert("r", {"k": range(size), "x": [1.0] * (size - 1) + [None]})
    with pytest.raises(errors.InvalidValueError, match=f"row {size - 1} of table .r.*nulls='skip'"):
        db.create_view("v", "SELECT COFACTOR(x) FROM r")
    assert "v" not in db
    for name, sql, nulls in (
        ("v", "SELECT COFACTOR(x) FROM r", "skip"),
        ("w", "SELECT COFACTOR(x) FROM r WHERE x IS NOT NULL", "refuse"),
    ):
        view = db.create_view(name, sql, nulls=nulls)  # type: ignore[arg-type]
        assert view.cofactor().count == size - 1


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        # A square, a product within a row, one across the join, and a sum of rows.
        ("r", {"k": [1], "x": [1e200], "y": [0.0]}),
        ("r", {"k": [1], "x": [1e160], "y": [-1e160]}),
        ("s", {"k": [1, 1], "z": [MOST**0.5, MOST**0.5]}),
        ("s", {"k": [1], "z": [-(MOST**0.5)], "n": [2**20]}),
    ],
)
def test_sums_that_go_to_infinity(table: str, rows: Any) -> None:
    db = database()
    multiplicity = "n" if "n" in rows else None
    refuses(
        db,
        errors.ArithmeticOverflowError,
        "overflow",
        lambda: db.insert(table, rows, multiplicity=multiplicity),
    )


def test_products_across_a_join_that_go_to_infinity() -> None:
    db = database()
    db.insert("r", {"k": [7], "x": [1e150], "y": [1.0]})

    def both() -> None:
        with db.transaction() as tx:
            tx.insert("r", {"k": [7] * 1_000, "x": [1e120] * 1_000, "y": [1e120] * 1_000})
            tx.insert("s", {"k": [7] * 2, "z": [1e150, 1e153]})
            tx.insert("s", {"k": [7], "z": [1e153], "n": [10**9]}, multiplicity="n")

    refuses(db, errors.ArithmeticOverflowError, "overflow", both)
    db.drop_view("groups")
    db.delete("r", {"k": [7], "x": [1e150], "y": [1.0]})
    assert db["join"].cofactor().count == 3


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan")])
def test_features_that_are_no_numbers(value: float) -> None:
    db = database()
    row = {"k": [1], "x": [1.0], "y": [value]}
    refuses(db, errors.InvalidValueError, "y of r", lambda: db.insert("r", row))


def test_views_of_another_kind() -> None:
    """Models and statistics say what they need where a view has another ring, or groups."""
    db = database()
    sums = db.create_view("sums", "SELECT SUM(x) AS x, COUNT(*) AS n FROM r")
    rows = db.create_view("rows", "SELECT x, y FROM r JOIN s USING (k)")
    readers: list[Callable[[rv.View], object]] = [
        rv.View.cofactor,
        lambda view: list(view.cofactors()),
        ml.Ridge("x").fit,
        ml.PCA().fit,
        ml.MutualInformation().fit,
        ml.ChowLiu().fit,
    ]
    for read in readers:
        for view in (sums, rows):
            with pytest.raises(errors.UnsupportedError, match="COFACTOR"):
                read(view)
    for read in readers[:1] + readers[2:]:
        with pytest.raises(errors.UnsupportedError, match="each group"):
            read(db["groups"])
    other = db.create_view("other", "SELECT COFACTOR(x, y) FROM r")
    with pytest.raises(errors.TypeMismatchError, match="different columns"):
        db["join"].cofactor() + other.cofactor()
    model = ml.Ridge("x").fit(db["join"])
    assert model.feature_names_in_.tolist() == ["y", "z"]
    assert model.fit(other).feature_names_in_.tolist() == ["y"]
