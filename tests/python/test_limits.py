"""Limits: memory that runs out is an error, long work on a row can be stopped; all is undone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors

PAIRS = "SELECT c, COUNT(*) AS n FROM r NATURAL JOIN s GROUP BY c"


def star(partners: int, **options: Any) -> rv.Database:
    """r(a, b), s(b, c): a row of r meets all rows of s."""
    db = rv.Database(**options)
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    db.insert("s", pa.table({"b": [0] * partners, "c": range(partners)}))
    return db


def test_one_row_that_meets_many_reports_and_can_be_stopped() -> None:
    db = star(300_000)
    view = db.create_view("v", PAIRS)
    calls: list[int] = []
    db.insert("r", [{"a": 1, "b": 0}], progress=calls.append)
    assert len(calls) > 3, "asked within the work of one row"
    before = view.to_arrow()

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.insert("r", [{"a": 2, "b": 0}], progress=stop)
    assert view.to_arrow() == before


def test_a_change_that_does_not_fit_raises_and_changes_nothing() -> None:
    db = star(1_000, memory_limit="2MB")
    view = db.create_view("v", "SELECT a, c FROM r NATURAL JOIN s", representation="listing")
    with pytest.raises(
        MemoryError, match=r"limit of 2\.0 MB.*nothing of this transaction"
    ) as raised:
        db.insert("r", pa.table({"a": range(1_000), "b": [0] * 1_000}))
    assert isinstance(raised.value, errors.OutOfMemoryError)
    assert isinstance(raised.value, rv.RingviewError)
    assert len(view) == 0
    db.insert("r", [{"a": 1, "b": 0}])
    assert len(view) == 1_000


def test_a_new_view_that_does_not_fit_is_not_there() -> None:
    db = star(20_000, memory_limit=3_000_000)
    db.insert("r", pa.table({"a": range(20), "b": [0] * 20}))
    listing = {"representation": "listing"}
    with pytest.raises(MemoryError, match="raise memory_limit"):
        db.create_view("v", "SELECT a, c FROM r NATURAL JOIN s", **listing)  # type: ignore[arg-type]
    assert not db.views
    db.create_view("v", "SELECT COUNT(*) AS n FROM r NATURAL JOIN s")


@pytest.mark.parametrize(
    ("given", "expected"),
    [(1, 1), ("7", 7), ("1kB", 1000), ("1 KiB", 1024), ("2.5gb", 2_500_000_000), ("1TiB", 1 << 40)],
)
def test_sizes(given: int | str, expected: int) -> None:
    assert rv.sizes.size(given) == expected


@pytest.mark.parametrize("given", ["", "GB", "-1", -1, 0, "0.1B", "1 parsec", 1.5, True, 1 << 64])
def test_what_is_no_size_is_refused(given: Any) -> None:
    with pytest.raises(errors.InvalidValueError, match="is not a size; write"):
        rv.Database(memory_limit=given)
