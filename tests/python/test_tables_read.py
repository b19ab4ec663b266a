"""Tables answer as views do: columns, head, slices, iteration, keys, values, Arrow's stream."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import ringview as rv
from hypothesis import given
from hypothesis import strategies as st
from ringview import errors

Handle = rv.Table | rv.View


def both() -> tuple[rv.Table, rv.View]:
    """A table, and the view of all that it has."""
    db = rv.Database()
    table = db.create_table("r", {"a": "int64", "s": "string", "d": "decimal128(9, 2)"})
    view = db.create_view("v", "SELECT a, s, d FROM r")
    rows = [
        (1, "x", Decimal("1.50")),
        (1, "x", Decimal("1.50")),
        (2, None, None),
        (None, "y", Decimal(3)),
    ]
    db.insert("r", rows)
    return table, view


QUESTIONS: list[Callable[[Handle], Any]] = [
    lambda of: of.columns,
    lambda of: len(of),
    lambda of: of.schema.names,
    lambda of: sorted(map(repr, of)),
    lambda of: sorted(map(repr, of.to_arrow().to_pylist())),
    lambda of: sorted(map(repr, of[:].to_pylist())),
    lambda of: sorted(map(repr, [of[at] for at in range(len(of))])),
    lambda of: sorted(map(repr, of[::-1].to_pylist())),
    lambda of: len(of[1:3]),
    lambda of: len(of.head()),
    lambda of: len(of.head(2)),
    lambda of: len(of.head(0)),
    lambda of: sorted(map(repr, of.where(a=1).to_pylist())),
    lambda of: of.where(a=1, s=None).to_pylist(),
    lambda of: of.where(s=None).to_pylist(),
    lambda of: of.where(d=Decimal(3)).to_pylist(),
    lambda of: sorted(map(repr, pa.table(of).to_pylist())),
    lambda of: sorted(map(repr, pl.DataFrame(of).to_dicts())),
    lambda of: sorted(map(repr, of.to_polars().to_dicts())),
    lambda of: sum(len(batch) for batch in of.to_reader()),
    lambda of: bool(of),
]


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_a_table_answers_as_a_view_of_all_its_rows(number: int) -> None:
    table, view = both()
    assert QUESTIONS[number](table) == QUESTIONS[number](view)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda of: of.where(z=1), errors.UnknownColumnError),
        (lambda of: of.where(a="x"), errors.TypeMismatchError),
        (lambda of: of[9], IndexError),
        (lambda of: of[-9], IndexError),
        (lambda of: of.head(-1), errors.InvalidValueError),
    ],
)
def test_a_table_refuses_as_a_view_does(
    call: Callable[[Handle], Any], kind: type[Exception]
) -> None:
    for of in both():
        with pytest.raises(kind):
            call(of)


def test_a_row_by_its_key() -> None:
    db = rv.Database()
    columns = {"id": "int32", "day": "date32", "name": "string", "x": "float64"}
    table = db.create_table("r", columns, unique=["day", "id"])
    table.insert([(1, date(2024, 2, 29), "a", 1.5), (2, date(2024, 2, 29), None, None)])
    assert table.get({"id": 1, "day": date(2024, 2, 29)}) == {
        "id": 1,
        "day": date(2024, 2, 29),
        "name": "a",
        "x": 1.5,
    }
    assert table.get({"id": np.int64(2), "day": date(2024, 2, 29)}) is not None
    assert table.get({"id": 3, "day": date(2024, 2, 29)}) is None
    assert table.get({"id": None, "day": date(2024, 2, 29)}) is None
    keys = {"id": [2, 9, None, 1], "day": [date(2024, 2, 29)] * 4}
    found = table.get_many(keys)
    assert [row and row["name"] for row in found] == [None, None, None, "a"]
    assert [row is None for row in found] == [False, True, True, False]
    assert table.get_many([]) == []
    assert table.where(id=1, day=date(2024, 2, 29)).num_rows == 1
    assert table.where(id=5, day=date(2024, 2, 29)).num_rows == 0
    assert table.where(id=5, day=date(2024, 2, 29)).schema == table.schema
    for key, kind in (
        ({"id": 1}, errors.InvalidValueError),
        ({"id": 1, "day": date(2024, 2, 29), "x": 1.5}, errors.UnknownColumnError),
        ({"id": "1", "day": date(2024, 2, 29)}, errors.TypeMismatchError),
        ({"id": 1, "day": "2024-02-29"}, errors.TypeMismatchError),
        ({"id": 2**40, "day": date(2024, 2, 29)}, errors.TypeMismatchError),
    ):
        with pytest.raises(kind):
            table.get(key)


def test_a_text_that_nobody_knows_is_no_key_and_stays_unknown() -> None:
    db = rv.Database()
    table = db.create_table("r", {"id": "string"}, unique="id")
    table.insert({"id": ["here"]})
    before = db.memory_usage()["dictionary"]
    assert [table.get({"id": f"none {at}"}) for at in range(1000)] == [None] * 1000
    assert table.get({"id": "here"}) == {"id": "here"}
    assert db.memory_usage()["dictionary"] <= 2 * before + 4096


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["u", "d"])), max_size=30))
def test_keys_are_found_whatever_came_and_went(steps: list[tuple[int, str]]) -> None:
    db = rv.Database()
    table = db.create_table("r", {"id": "int64", "n": "int64"}, unique="id")
    held: dict[int, int] = {}
    for n, (key, what) in enumerate(steps):
        if what == "u":
            table.upsert({"id": [key], "n": [n]})
            held[key] = n
        elif key in held:
            table.delete({"id": [key]})
            del held[key]
        expected = [{"id": k, "n": held[k]} if k in held else None for k in range(10)]
        assert table.get_many({"id": list(range(10))}) == expected


def test_a_table_without_a_key_says_how_to_read_it() -> None:
    table = rv.Database().create_table("r", {"a": "int64"})
    table.insert({"a": [1, 2]})
    with pytest.raises(errors.UnsupportedError, match=r"where\(column=value\)"):
        table.get({"a": 1})
    assert table.where(a=1).num_rows == 1


def test_rows_that_are_not_kept_are_not_read() -> None:
    db = rv.Database(trust_deletes=True)
    table = db.create_table("r", {"a": "int64"}, unique="a")
    table.insert({"a": [1]})
    for call in (
        table.head,
        lambda: list(table),
        lambda: table.get({"a": 1}),
        lambda: table.where(a=1),
    ):
        with pytest.raises(errors.UnsupportedError):
            call()


def test_a_table_is_rows_for_another() -> None:
    db = rv.Database()
    one = db.create_table("one", {"a": "int64", "at": "timestamp"})
    one.insert([(1, datetime(2024, 1, 1)), (1, datetime(2024, 1, 1))])
    two = db.create_table("two", one)
    two.insert(one)
    assert list(two) == list(one)
    assert two.schema == one.schema


def test_a_dropped_table_answers_nothing() -> None:
    db = rv.Database()
    table = db.create_table("r", {"a": "int64"}, unique="a")
    db.drop_table("r")
    for call in (table.head, lambda: len(table), lambda: list(table), lambda: table.get({"a": 1})):
        with pytest.raises(errors.UnknownTableError):
            call()
    assert repr(table) == "Table('r', dropped)"
