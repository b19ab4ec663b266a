"""Casts of values of sources: the same value from any form, or a reason."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ringview.sources.batch import Casts
from ringview.sources.casts import cast
from ringview.sources.values import Epoch, MisfitError, unscaled, value_of

PLAIN = Casts()
MONEY = pa.decimal128(12, 2)
MICROS = pa.timestamp("us")
UTC_MICROS = pa.timestamp("us", "UTC")
NOON = datetime(2026, 3, 9, 12)
NOON_UTC = NOON.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        ("17", pa.int64(), 17),
        ("-128", pa.int8(), -128),
        ("1e3", pa.float64(), 1000.0),
        ("12.5", MONEY, Decimal("12.50")),
        ("true", pa.bool_(), True),
        ("2026-03-09", pa.date32(), NOON.date()),
        ("2026-03-09T12:00:00", MICROS, NOON),
        ("2026-03-09 12:00:00", MICROS, NOON),
        ("2026-03-09T14:00:00+02:00", MICROS, NOON),
        ("2026-03-09T12:00:00Z", UTC_MICROS, NOON_UTC),
        ("2026-03-09 12:00:00", UTC_MICROS, NOON_UTC),
        ("x", pa.string(), "x"),
        ("x", pa.dictionary(pa.int32(), pa.string()), "x"),
        ("", pa.string(), ""),
        (5, pa.int8(), 5),
        (5, pa.float64(), 5.0),
        (5, MONEY, Decimal("5.00")),
        (5.0, pa.int64(), 5),
        (Decimal("5"), pa.int64(), 5),
        (Decimal("0.1"), pa.float64(), 0.1),
        (Decimal("0.10"), MONEY, Decimal("0.10")),
        (12.34, MONEY, Decimal("12.34")),
        (0.1, pa.float32(), 0.10000000149011612),
        (20521, pa.date32(), NOON.date()),
        (True, pa.bool_(), True),
        (NOON, MICROS, NOON),
        (NOON_UTC.astimezone(timezone(timedelta(hours=2))), UTC_MICROS, NOON_UTC),
        (NOON_UTC, MICROS, NOON),
        (NOON.date(), MICROS, datetime(2026, 3, 9)),
        (datetime(2026, 3, 9), pa.date32(), NOON.date()),
        (Epoch(1_773_057_600, "s"), MICROS, NOON),
        (Epoch(1_773_057_600_000, "ms"), UTC_MICROS, NOON_UTC),
        (Epoch(1_773_057_600_000_000_000, "ns"), MICROS, NOON),
        (Epoch(1_773_014_400_000, "ms"), pa.date32(), NOON.date()),
        (b"\x04\xd2", MONEY, Decimal("12.34")),
        (None, pa.int64(), None),
    ],
)
def test_a_value_becomes_what_it_says(value: Any, kind: pa.DataType, wanted: Any) -> None:
    assert value_of(value, kind, PLAIN).as_py() == wanted
    for listed in ([value], [value, None, value]):
        found, misfits = cast(listed, kind, PLAIN)
        assert misfits == {}
        assert found.type == kind
        assert found.to_pylist() == [wanted if each is not None else None for each in listed]


@pytest.mark.parametrize(
    ("value", "kind", "why"),
    [
        ("x", pa.int64(), "'x' is no int64"),
        ("1.5", pa.int64(), "no int64"),
        ("300", pa.int8(), "no int8"),
        (" 1", pa.int64(), "no int64"),
        ("12.345", MONEY, "no decimal128"),
        ("12345678901.00", MONEY, "no decimal128"),
        ("2026-02-30", pa.date32(), "no date32"),
        ("2026-03-09T12:00:00.1234567", MICROS, "no timestamp"),
        ("yesterday", MICROS, "no timestamp"),
        (1.5, pa.int64(), "digits behind the point"),
        (float("nan"), pa.int64(), "no int64"),
        (float("inf"), MONEY, "no decimal128"),
        (12.345, MONEY, "more than 2 digits"),
        (Decimal("12.345"), MONEY, "no decimal128"),
        (2**63, pa.int64(), "no int64"),
        (-1, pa.uint8(), "no uint8"),
        (True, pa.int64(), "it is a boolean"),
        (1, pa.bool_(), "it is a number"),
        (1, pa.string(), "it is a number"),
        (1, MICROS, "has no unit: say epochs="),
        (1.5, pa.date32(), "it is a number"),
        (NOON, pa.date32(), "it has a time of day"),
        (NOON, pa.int64(), "it is a timestamp"),
        (NOON.date(), pa.int64(), "it is a date"),
        (Epoch(1, "ms"), pa.date32(), "it has a time of day"),
        (Epoch(1, "ms"), pa.int64(), "it is a moment"),
        (Epoch(1, "ns"), MICROS, "no timestamp"),
        (2**40, pa.date32(), "no date32"),
        (b"x", pa.string(), "row of bytes"),
        ({"a": 1}, pa.int64(), "it is a dict"),
        ([1], pa.string(), "it is a list"),
        ("x" * 500, pa.int64(), r"'xxx.*\.\.\. is no int64"),
    ],
)
def test_a_value_that_does_not_fit_is_named(value: Any, kind: pa.DataType, why: str) -> None:
    with pytest.raises(MisfitError, match=why):
        value_of(value, kind, PLAIN)
    found, misfits = cast([None, value], kind, PLAIN)
    assert found.to_pylist() == [None, None]
    assert list(misfits) == [1]


def test_integers_are_moments_in_the_unit_that_is_said() -> None:
    for unit, count in (("s", 1_773_057_600), ("ms", 1_773_057_600_000)):
        casts = Casts(epochs=unit)  # type: ignore[arg-type]
        for values in ([count, None], pa.array([count, None])):
            found, misfits = cast(values, MICROS, casts)
            assert (found.to_pylist(), misfits) == ([NOON, None], {})
    found, misfits = cast(pa.array([20521, 2**40]), pa.date32(), PLAIN)
    assert found.to_pylist() == [NOON.date(), None]
    assert list(misfits) == [1]


@given(st.integers(-(10**12) + 1, 10**12 - 1))
def test_decimals_in_base64_are_what_was_packed(number: int) -> None:
    length = (number.bit_length() + 8) // 8
    data = number.to_bytes(length, "big", signed=True)
    assert unscaled(data, 2) == Decimal(number) / 100
    found, misfits = cast([base64.b64encode(data).decode()], MONEY, Casts(decimals="base64"))
    assert (found.to_pylist(), misfits) == ([Decimal(number) / 100], {})


def test_what_is_no_base64_says_how_to_read_digits() -> None:
    _, misfits = cast(["12.34"], MONEY, Casts(decimals="base64"))
    assert "say decimals='text'" in misfits[0]


@given(st.decimals(-(10**9), 10**9, places=2), st.booleans())
def test_a_double_becomes_the_decimal_that_it_was_written_as(value: Decimal, arrow: bool) -> None:
    listed = [float(value)]
    found, misfits = cast(pa.array(listed) if arrow else listed, MONEY, PLAIN)
    assert (found.to_pylist(), misfits) == ([value], {})


KINDS = [pa.int8(), pa.int64(), pa.float64(), MONEY, pa.bool_(), pa.date32(), MICROS, UTC_MICROS]
TEXTS = st.one_of(
    st.integers(-200, 200).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
    st.sampled_from(["true", "FALSE", "x", "", "1e2", "nan", "2026-03-09", "2026-03-09 12:00"]),
    st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(datetime.isoformat),
)


@given(st.lists(TEXTS, max_size=6), st.sampled_from(KINDS))
def test_a_column_is_cast_as_its_values_are_one_by_one(texts: list[str], kind: Any) -> None:
    """Also if a whole column is cast by Arrow at once."""
    wanted: list[Any] = []
    for text in texts:
        try:
            wanted.append(value_of(text, kind, PLAIN))
        except MisfitError:
            wanted.append(None)
    for values in (texts, pa.array(texts, pa.string()), pa.array(texts).dictionary_encode()):
        found, misfits = cast(values, kind, PLAIN)
        assert found.equals(pa.array(wanted, kind)) or str(found) == str(pa.array(wanted, kind))
        assert set(misfits) == {at for at, value in enumerate(wanted) if value is None}


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        (pa.array([1, 300]), pa.int8(), [1, None]),
        (pa.array([1.0, 1.5]), pa.int64(), [1, None]),
        (pa.array([NOON, datetime(2026, 3, 9)]), pa.date32(), [None, date(2026, 3, 9)]),
        (pa.array([date(2026, 3, 9)]), MICROS, [datetime(2026, 3, 9)]),
        (pa.array([NOON]), UTC_MICROS, [NOON_UTC]),
        (pa.array([NOON_UTC], UTC_MICROS), MICROS, [NOON]),
        (pa.array([Decimal("1.234"), Decimal("1.230")]), MONEY, [None, Decimal("1.23")]),
        (pa.nulls(2), pa.int64(), [None, None]),
        (pa.array(["a", "b"]).dictionary_encode(), pa.string(), ["a", "b"]),
        (pa.array([1, 2], pa.uint8()), MONEY, [Decimal(1), Decimal(2)]),
    ],
)
def test_arrow_columns_of_other_types(values: pa.Array, kind: Any, wanted: list[Any]) -> None:
    found, misfits = cast(values, kind, PLAIN)
    assert found.to_pylist() == wanted
    nulls = {at for at, value in enumerate(wanted) if value is None and values[at].is_valid}
    assert set(misfits) == nulls


@pytest.mark.parametrize(
    "text",
    [
        *("9" * 39, "9" * 200, "170141183460469231731687303715884105728", "99e37", "0.99e39"),
        *(
            "1e999999999",
            "-1e999999999",
            "1e-999999999",
            "999999999999999999999e30",
            "12e",
            "1_0e2",
        ),
    ],
)
@pytest.mark.parametrize("kind", [pa.decimal128(38, 0), pa.decimal128(12, 2)])
def test_a_decimal_of_too_many_digits_never_wraps(text: str, kind: pa.DataType) -> None:
    for values in ([text], pa.array([text, None]), pa.array([text]).dictionary_encode()):
        found, misfits = cast(values, kind, Casts())
        assert found[0].as_py() is None
        assert list(misfits) == [0]


def test_long_texts_of_decimals_that_fit_are_read() -> None:
    texts = ["1e10", " 12.5E-1 ", "0" * 60 + "7.50", "+3.", "-.5e1", None]
    found, misfits = cast(pa.array(texts), pa.decimal128(20, 2), Casts())
    assert not misfits
    shown = [None if each is None else str(each) for each in found.to_pylist()]
    assert shown == ["10000000000.00", "1.25", "7.50", "3.00", "-5.00", None]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int8(), pa.decimal128(38, 0)])
@pytest.mark.parametrize("text", ["1e999999999", "-1e999999999", "1e-999999999", "1e101"])
def test_numbers_of_a_billion_digits_are_refused_at_once(text: str, kind: pa.DataType) -> None:
    found, misfits = cast([Decimal(text), Decimal(1)], kind, Casts())
    assert found.to_pylist() == [None, 1]
    assert list(misfits) == [0]


def test_moments_that_python_lacks_are_named_by_their_number() -> None:
    times = pa.array([2**62, 0], pa.timestamp("s"))
    found, misfits = cast(times, pa.timestamp("us"), Casts())
    assert list(misfits) == [0]
    assert found[1].as_py() is not None
    days = pa.array([2**30, 0], pa.date32())
    found, misfits = cast(days, pa.timestamp("us"), Casts())
    assert found[1].as_py() is not None
