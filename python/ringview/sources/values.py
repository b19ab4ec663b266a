"""One value into the type of a column.

Invariant: the result has exactly the value that was given, or there is an error with the value and
the type. Only values for a column of floats are rounded, to the nearest; a double is accepted for a
column of decimals if it is the nearest one to a decimal of that scale. Cost: microseconds a value.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..convert.arrow import kind_of
from .batch import Casts, EpochUnit

if TYPE_CHECKING:
    import pyarrow as pa


class Epoch(NamedTuple):
    """A moment as so many units since 1970, in UTC."""

    units: int
    unit: EpochUnit


class MisfitError(ValueError):
    """A value is none of the type of its column; the text says why."""


class Kept(Enum):
    """The value that a column has already, which a message leaves out."""

    KEPT = "the value that is there"


def value_of(value: Any, kind: pa.DataType, casts: Casts) -> pa.Scalar:
    """A value as a scalar of `kind`.

    Raises:
        MisfitError: It is none.

    >>> import pyarrow as pa
    >>> plain = Casts()
    >>> value_of("12.5", pa.decimal128(12, 2), plain).as_py()
    Decimal('12.50')
    >>> value_of("BNI=", pa.decimal128(12, 2), Casts(decimals="base64")).as_py()
    Decimal('12.34')
    >>> value_of(20521, pa.date32(), plain).as_py().isoformat()
    '2026-03-09'
    >>> value_of("x", pa.int64(), plain)
    Traceback (most recent call last):
    ringview.sources.values.MisfitError: 'x' is no int64
    """
    import pyarrow as pa

    if value is None:
        return pa.scalar(None, kind)
    try:
        found = _value(value, kind, casts)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, InvalidOperation) as problem:
        said = str(problem)
        # pyarrow's own words repeat the value.
        more = f" ({said})" if isinstance(problem, MisfitError) and said else ""
        raise MisfitError(f"{_short(value)} is no {kind}{more}") from None
    return found


def _value(value: Any, kind: pa.DataType, casts: Casts) -> pa.Scalar:
    import pyarrow as pa

    want = kind_of(kind)
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if isinstance(value, str):
        return _text(value, plain, casts)
    if value is Kept.KEPT:
        _refuse(
            "its message leaves the value out, and no row of this key is here to take it from; set "
            "REPLICA IDENTITY FULL for the table of the source"
        )
    if isinstance(value, bool):
        if want != "bool":
            _refuse("it is a boolean")
        return pa.scalar(value, kind)
    if isinstance(value, Epoch):
        return _moment(value, plain)
    if isinstance(value, int):
        if want == "date":
            return pa.scalar(value, pa.int32()).cast(pa.date32()).cast(plain)
        if want in ("timestamp", "timestamptz"):
            if casts.epochs is None:
                _refuse("an integer has no unit: say epochs='ms', 'us', 's' or 'ns'")
            return _moment(Epoch(value, casts.epochs), plain)
    if isinstance(value, (int, float, Decimal)) and want == "number":
        return _number(value, plain)
    if isinstance(value, (bytes, bytearray)) and pa.types.is_decimal(kind):
        return pa.scalar(unscaled(bytes(value), plain.scale), plain)
    if isinstance(value, datetime):
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        if want in ("timestamp", "timestamptz"):
            return pa.scalar(aware, pa.timestamp("us", "UTC")).cast(plain)
        if want == "date" and aware.time() == time():
            return pa.scalar(aware.date(), plain)
        _refuse("it has a time of day" if want == "date" else "it is a timestamp")
    if isinstance(value, date):
        if want in ("date", "timestamp", "timestamptz"):
            return pa.scalar(value, pa.date32()).cast(plain)
        _refuse("it is a date")
    if want is None and not isinstance(value, (int, float, Decimal)):
        return pa.scalar(value, kind)
    _refuse(f"it is a {_NAMES.get(type(value), type(value).__name__)}")


def unscaled(data: bytes, scale: int) -> Decimal:
    r"""The decimal of a big-endian integer that is shifted by `scale` digits.

    >>> unscaled(b"\x04\xd2", 2), unscaled(b"\xff", 0), unscaled(b"", 2)
    (Decimal('12.34'), Decimal('-1'), Decimal('0.00'))
    """
    number = int.from_bytes(data, "big", signed=True)
    sign, digits, _ = Decimal(number).as_tuple()
    return Decimal((sign, digits, -scale))


def _text(value: str, kind: pa.DataType, casts: Casts) -> pa.Scalar:
    import pyarrow as pa

    want = kind_of(kind)
    if want == "text":
        return pa.scalar(value, kind)
    if casts.decimals == "base64" and pa.types.is_decimal(kind):
        try:
            data = base64.b64decode(value, validate=True)
        except binascii.Error:
            _refuse("it is no base64; say decimals='text' if its digits are written")
        return pa.scalar(unscaled(data, kind.scale), kind)
    if pa.types.is_decimal(kind) and not is_short(value):
        if not _NUMBER.fullmatch(value.strip()):
            _refuse("it is no number")
        return _number(Decimal(value.strip()), kind)
    try:
        found = pa.scalar(value).cast(kind)
        if pa.types.is_floating(kind) and _overflows(found, _NUMBER.fullmatch(value.strip())):
            _refuse("it is out of range")
        return found
    except pa.ArrowInvalid:
        if want not in ("timestamp", "timestamptz"):
            raise
        # pyarrow takes a zone in columns with a zone, and there alone.
        other = pa.timestamp(kind.unit, None if kind.tz else "UTC")
        return pa.scalar(value).cast(other).cast(kind)


def is_short(text: str) -> bool:
    """Whether pyarrow reads a text as a decimal right: of more digits it wraps some.

    >>> is_short("-12.50"), is_short("99e37"), is_short("9" * 39)
    (True, False, False)
    """
    return len(text) <= SHORT and "e" not in text and "E" not in text


def _moment(value: Epoch, kind: pa.DataType) -> pa.Scalar:
    import pyarrow as pa

    want = kind_of(kind)
    found = pa.scalar(value.units, pa.int64()).cast(pa.timestamp(value.unit))
    if want == "date":
        day = found.cast(pa.date32())
        if day.cast(found.type) != found:
            _refuse("it has a time of day")
        return day.cast(kind)
    if want not in ("timestamp", "timestamptz"):
        _refuse("it is a moment")
    return found.cast(kind)


def _number(value: int | float | Decimal, kind: pa.DataType) -> pa.Scalar:
    import pyarrow as pa

    if pa.types.is_floating(kind):
        found = pa.scalar(float(value), kind)
        if _overflows(found, not isinstance(value, float) or math.isfinite(value)):
            _refuse("it is out of range")
        return found
    # Its digits would be written out, of 1e999999999 for minutes.
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > _MOST_DIGITS:
        _refuse("it is out of range")
    if pa.types.is_integer(kind):
        if value != int(value):
            _refuse("it has digits behind the point")
        return pa.scalar(int(value), kind)
    if isinstance(value, float):
        # The decimal of the column's scale that this double represents, if there is one.
        near = round(Decimal(repr(value)), kind.scale)
        if float(near) != value:
            _refuse(f"it has more than {kind.scale} digits behind the point")
        value = near
    return pa.scalar(Decimal(value), kind)


def _overflows(found: pa.Scalar, was_finite: object) -> bool:
    """Whether a finite number became infinite in a column of floats."""
    return bool(was_finite) and math.isinf(found.as_py())


def _refuse(why: str) -> NoReturn:
    raise MisfitError(why)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


# The number of digits that any decimal of 128 bits holds.
SHORT = 38
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# More than any integer or decimal of a column has, on either side of the point.
_MOST_DIGITS = 100

_NAMES = {int: "number", float: "number", Decimal: "number", bytes: "row of bytes"}
