"""Handover of data: results without a copy, rows as they are, views into other tables."""

from __future__ import annotations

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors


def test_results_are_handed_over_without_copying() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    db.insert("r", {"a": range(10_000)})
    result = db._native.view_result("v")
    first, second = pa.table(result), pa.table(result)
    for name in ("a", "n"):
        addresses = {t[name].chunk(0).buffers()[1].address for t in (first, second)}
        assert len(addresses) == 1
    db.delete("r", {"a": range(10_000)})
    assert first.equals(second)
    assert first.num_rows == 10_000


def test_a_view_feeds_a_table() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    db.create_table("copy", {"a": "int64", "n": "int64"})
    db.insert("r", {"a": [1, 1, 2]})
    db.insert("copy", view)
    assert len(db.tables["copy"]) == 2


def test_changes_feed_a_table() -> None:
    """A copy that is fed the changes of a view stays equal to it."""
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    db.create_table("copy", {"a": "int64", "n": "int64"})
    copied = db.create_view("copied", "SELECT a, n FROM copy GROUP BY a, n")
    for rows in ({"a": [1, 1, 2]}, {"a": [2, 3]}, {"a": [3, 3, 3]}):
        db.insert("r", rows)
        db.insert("copy", view.changes(), multiplicity="multiplicity")
        assert sorted(copied.to_arrow().to_pylist(), key=str) == sorted(
            view.to_arrow().to_pylist(), key=str
        )


def test_rows_are_taken_as_they_are_when_handed_over() -> None:
    """Writing to an array after `insert` of a transaction does not reach the transaction."""
    import numpy as np
    import pandas as pd

    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    view = db.create_view("v", "SELECT SUM(a) FROM r")
    array, frame = np.array([1, 2, 3]), pd.DataFrame({"a": np.array([10, 20])})
    with db.transaction() as tx:
        tx.insert("r", {"a": array})
        tx.insert("r", frame)
        array[:] = 100
        frame.loc[:, "a"] = 100
    assert view.scalar() == 36


def test_a_static_table_is_filled_again_when_no_view_reads_it() -> None:
    db = rv.Database(trust_deletes=True)
    db.create_table("r", {"a": "int64"}, static=True)
    db.insert("r", {"a": [1, 2]})
    for name in ("one", "two"):
        db.create_view(name, "SELECT SUM(a) FROM r")
    for name in ("one", "two"):
        with pytest.raises(errors.StaticTableError, match=name):
            db.insert("r", {"a": [3]})
        db.drop_view(name)
    db.insert("r", {"a": [3]})
    assert db.create_view("again", "SELECT SUM(a) FROM r").scalar() == 6
