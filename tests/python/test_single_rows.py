"""Rows one at a time: what forms they have, that pyarrow would read the same, and writers."""

from __future__ import annotations

import asyncio
import random
from collections import namedtuple
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors
from ringview.convert.rows import _Reader

KINDS: dict[str, list[Any]] = {
    "bool": [True, False],
    "int8": [-128, 127],
    "int16": [-(2**15), 5],
    "int32": [2**31 - 1, -1],
    "int64": [-(2**63), 2**63 - 1],
    "uint8": [0, 255],
    "uint16": [65_535],
    "uint32": [2**32 - 1],
    "uint64": [2**63 - 1, 2**64 - 1],
    "float32": [0.1, 2, float("inf")],
    "float64": [0.1, -7, 2**53, float("nan")],
    "string": ["", "abc", "\u00e4\U0001f600"],
    "date32": [date(1969, 12, 31), date(2024, 2, 29)],
    "timestamp[us]": [datetime(2020, 1, 1, 3)],
    "decimal128(8, 2)": [Decimal("1.50")],
}
WRONG = [1.5, "x", b"x", True, 300, -1, 2**70, date(2020, 1, 1), np.int64(3), np.float64(0.5), [1]]


def every_kind() -> tuple[rv.Database, rv.Table]:
    db = rv.Database()
    return db, db.create_table("r", {f"c{at}": kind for at, kind in enumerate(KINDS)})


def drawn(generator: random.Random) -> tuple[Any, ...]:
    return tuple(generator.choice([*values, None]) for values in KINDS.values())


def named(row: tuple[Any, ...]) -> dict[str, Any]:
    return {f"c{at}": value for at, value in enumerate(row)}


@pytest.mark.parametrize("seed", range(20))
def test_plain_rows_are_what_pyarrow_reads(seed: int) -> None:
    generator = random.Random(seed)
    _, table = every_kind()
    rows = [drawn(generator) for _ in range(generator.randrange(1, 9))]
    for row in rows:
        generator.choice([table.insert, lambda row: table.insert([row])])(
            generator.choice([row, named(row)])
        )
    expected = _Reader(table._native, table._handle).dicts([named(row) for row in rows])
    db, other = every_kind()
    db.insert("r", expected)
    assert repr(table.to_arrow().to_pylist()) == repr(other.to_arrow().to_pylist())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_a_value_is_refused_as_in_a_column(kind: str, value: Any) -> None:
    outcomes = []
    for rows in ({"a": [value]}, [{"a": value}], [(value,)]):
        table = rv.Database().create_table("r", {"a": kind})
        try:
            table.insert(rows)
            outcomes.append(repr(table.to_arrow().to_pylist()))
        except errors.RingviewError as refused:
            assert len(table) == 0
            outcomes.append(f"{type(refused)} {refused}")
    assert outcomes[0] == outcomes[1] == outcomes[2]


@dataclass
class Trade:
    stock: str
    units: int


@dataclass(slots=True, frozen=True)
class Slotted:
    units: int
    stock: str | None


Named = namedtuple("Named", ["units", "stock"])


def trades(**more: Any) -> tuple[rv.Table, rv.View]:
    db = rv.Database(**more)
    table = db.create_table("trades", {"stock": "string", "units": "int64"})
    return table, db.create_view("total", "SELECT SUM(units) AS units FROM trades")


@pytest.mark.parametrize(
    "row",
    [
        {"units": 3, "stock": "x"},
        ("x", 3),
        Trade("x", 3),
        Slotted(3, "x"),
        Named(3, "x"),
        {"units": np.int64(3), "stock": "x"},
        ("x", np.int64(3)),
    ],
)
def test_one_row_in_every_form(row: Any) -> None:
    table, view = trades()
    table.insert(row)
    assert table.to_arrow().to_pylist() == [{"stock": "x", "units": 3}]
    table.insert([row, row])
    assert view.scalar() == 9
    with table.writer() as writer:
        writer.insert(row)
    table.delete([row] * 3)
    table.delete(row)
    assert len(table) == 0


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"units": 3}, errors.RingviewError),
        ({"units": 3, "stock": "x", "more": 1}, errors.UnknownColumnError),
        ({"units": 3, "stuck": "x"}, errors.UnknownColumnError),
        (("x",), errors.InvalidValueError),
        (("x", "y"), errors.TypeMismatchError),
        (5, errors.TypeMismatchError),
    ],
)
def test_what_is_no_row_is_refused(row: Any, error: type[Exception]) -> None:
    table, _ = trades()
    table.insert(("x", 3))
    with pytest.raises(error):
        table.insert(row)
    writer = table.writer()
    writer.insert(("x", 4))
    with pytest.raises(error):
        writer.insert(row)
        writer.flush()
    assert len(table) == 1


def test_a_row_by_its_key() -> None:
    table = rv.Database().create_table("r", {"id": "int64", "a": "int64"}, unique="id")
    table.insert({"id": 1, "a": 10})
    table.upsert({"id": 1, "a": 11})
    table.upsert((2, 20))
    table.update({"id": 2, "a": 21})
    table.delete({"id": 1})
    assert table.to_arrow().to_pylist() == [{"id": 2, "a": 21}]
    with pytest.raises(errors.DuplicateKeyError):
        table.insert((2, 0))


def test_a_null_is_refused_where_none_may_be() -> None:
    table = rv.Database().create_table("r", {"a": "int64 not null"})
    with pytest.raises(errors.NullKeyError):
        table.insert({"a": None})
    with pytest.raises(errors.NullKeyError), table.writer() as writer:
        writer.insert((None,))
    assert len(table) == 0


def test_rows_of_a_transaction() -> None:
    _table, _view = trades()
    db = rv.Database()
    other = db.create_table("r", {"a": "int64"})
    row = {"a": 1}
    with db.transaction() as tx:
        tx.insert("r", row)
        row["a"] = 2
        tx.insert("r", (3,))
    assert sorted(other.to_arrow()["a"].to_pylist()) == [1, 3]


def test_a_table_made_anew_has_columns_of_its_own() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    db.insert("r", (1,))
    db.drop_table("r")
    table = db.create_table("r", {"b": "string", "a": "int64"})
    db.insert("r", ("x", 1))
    assert table.to_arrow().to_pylist() == [{"b": "x", "a": 1}]


class Clock:
    """Advances when a test sets it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_writer_flushes_by_number_and_by_time() -> None:
    clock = Clock()
    table, view = trades()
    writer = table.writer(rows=3, seconds=1.0, clock=clock)
    for number in range(1, 8):
        writer.insert(("x", number))
        assert (len(table), len(writer)) == (number // 3 * 3, number % 3)
    assert repr(writer) == "Writer('trades', rows=1 of 3, seconds=1.0)"
    clock.now = 0.5
    writer.insert(("x", 8))
    assert len(writer) == 2
    # The oldest was inserted at 0.
    clock.now = 1.0
    writer.insert({"stock": None, "units": 9})
    assert (len(writer), len(table)) == (0, 9)
    clock.now = 10.0
    writer.insert(("x", 10))
    assert len(writer) == 1
    writer.flush()
    writer.flush()
    assert (len(writer), view.scalar()) == (0, 55)


def test_rows_keep_their_order_whoever_reads_them() -> None:
    db = rv.Database()
    table = db.create_table("r", {"at": "int64", "p": "decimal128(8, 2)"})
    with table.writer(rows=4) as writer:
        for at in range(10):
            writer.insert((at, Decimal(at) if at % 3 == 0 else None))
            assert len(writer) == (at + 1) % 4
    assert table.to_arrow()["at"].to_pylist() == list(range(10))


def test_a_writer_reads_a_row_when_it_comes() -> None:
    table, view = trades()
    row = {"stock": "x", "units": 1}
    units = np.array([5])
    with table.writer() as writer:
        writer.insert(row)
        row["units"] = 100
        writer.insert({"stock": "y", "units": units[0]})
        units[0] = 1000
    assert view.scalar() == 6


def test_an_exception_drops_what_was_not_flushed() -> None:
    table, view = trades()
    with pytest.raises(ZeroDivisionError) as raised, table.writer(rows=2, seconds=None) as writer:
        for units in 1, 2, 4:
            writer.insert(("x", units))
        _ = 1 // 0
    assert raised.value.__notes__ == ['not inserted: 1 row gathered for table "trades"']
    assert (view.scalar(), len(writer)) == (3, 0)


def test_a_flush_that_fails_says_why_and_changes_nothing() -> None:
    table = rv.Database().create_table("r", {"id": "int64"}, unique="id")
    writer = table.writer(rows=3)
    writer.insert((1,))
    writer.insert((1,))
    with pytest.raises(errors.DuplicateKeyError):
        writer.insert((2,))
    assert (len(table), len(writer)) == (0, 0)
    writer.insert((3,))
    writer.flush()
    assert len(table) == 1


@pytest.mark.parametrize("bad", [{"rows": 0}, {"seconds": -1.0}, {"seconds": float("nan")}])
def test_a_writer_that_would_never_flush_is_refused(bad: Any) -> None:
    table, _ = trades()
    with pytest.raises(errors.InvalidValueError):
        table.writer(**bad)


def test_a_writer_under_asyncio_flushes_though_no_row_comes() -> None:
    clock = Clock()
    table, view = trades()

    async def write() -> None:
        async with table.writer(seconds=0.0, clock=clock) as writer:
            writer.insert(("x", 1))
            while len(writer):
                await asyncio.sleep(0)
            assert len(table) == 1
            writer.insert(("x", 2))
        assert len(table) == 2

    asyncio.run(write())
    assert view.scalar() == 3


def test_a_flush_by_asyncio_that_fails_is_raised_at_the_end() -> None:
    table = rv.Database().create_table("r", {"id": "int64"}, unique="id")

    async def write() -> None:
        async with table.writer(seconds=0.0, clock=Clock()) as writer:
            table.insert((1,))
            writer.insert((1,))
            while len(writer):
                await asyncio.sleep(0)

    with pytest.raises(errors.DuplicateKeyError):
        asyncio.run(write())
    assert len(table) == 1


def test_what_was_read_is_arrow_of_the_tables_types() -> None:
    db, table = every_kind()
    row = tuple(values[0] for values in KINDS.values())
    plain = db._native.plain_rows("r", (*row[:-2], None, None))
    assert plain is not None
    assert len(plain) == 1
    assert db._native.plain_rows("r", row) is None
    assert db._native.plain_rows("r", []) is None
    assert isinstance(table.schema, pa.Schema)
