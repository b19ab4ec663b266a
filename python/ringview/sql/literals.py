"""Constants of a query: numbers, texts, dates, intervals, and arithmetic among them.

Invariant: arithmetic on constants is exact (integers, decimals; dates with a calendar), so what
reaches the engine is one literal. A number with a point is a decimal, one with an exponent a float.
Cost: O(1) each.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact
from typing import TypeVar

from ..arrow import Kind


@dataclass(frozen=True, slots=True)
class Interval:
    """A span of whole months and of days and smaller parts, as SQL has it."""

    months: int = 0
    span: timedelta = timedelta()

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.span)

    def added_to(self, day: date) -> date:
        """`day` moved by the interval: months first (the day of the month is clamped), then days.

        >>> Interval(1).added_to(date(2024, 1, 31))
        datetime.date(2024, 2, 29)
        """
        months = day.year * 12 + day.month - 1 + self.months
        year, month = divmod(months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        moved = day.replace(year=year, month=month + 1, day=min(day.day, last))
        if isinstance(moved, datetime) or not self.span % timedelta(days=1):
            return moved + self.span
        return datetime(moved.year, moved.month, moved.day) + self.span


Constant = None | bool | int | float | Decimal | str | date | Interval
Number = int | float | Decimal
N = TypeVar("N", int, Decimal)

_EXACT = Context(prec=200, traps=[Inexact])
_DIGITS = 38
_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}


def kind(value: Constant) -> Kind:
    """The kind of a constant.

    >>> kind(Decimal("1.5")), kind(date(1995, 3, 15)), kind(None)
    ('number', 'date', 'null')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float() | Decimal():
            return "number"
        case str():
            return "text"
        case datetime():
            return "timestamp" if value.tzinfo is None else "timestamptz"
        case date():
            return "date"
        case Interval():
            return "interval"


def json(value: Constant) -> dict[str, object]:
    """The literal as the logical query writes it.

    >>> json(Decimal("0.05"))
    {'type': 'decimal', 'value': '0.05'}
    """
    match value:
        case None:
            return {"type": "null"}
        case bool():
            return {"type": "bool", "value": value}
        case int() if -(2**63) <= value < 2**63:
            return {"type": "int", "value": value}
        case int() | Decimal():
            return {"type": "decimal", "value": format(Decimal(value), "f")}
        case float():
            return {"type": "float", "value": value}
        case str():
            return {"type": "text", "value": value}
        case datetime():
            utc = value if value.tzinfo is None else value.astimezone(UTC)
            return {"type": "timestamp", "value": utc.replace(tzinfo=None).isoformat()}
        case date():
            return {"type": "date", "value": value.isoformat()}
        case Interval():
            raise ValueError("an interval is only added to a date or a timestamp")


def number(text: str) -> Number:
    """The number that `text` writes; ValueError if none, or if it does not fit 38 digits.

    >>> number("12"), number("0.10"), number("1e3")
    (12, Decimal('0.10'), 1000.0)
    """
    plain = text.strip().replace("_", "")
    if re.fullmatch(r"[+-]?\d+", plain):
        return _fits(int(plain))
    if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+)", plain):
        return _fits(Decimal(plain))
    value = float(plain)
    if value - value != 0:
        raise ValueError(f"{text} is not a finite number")
    return value


def add(left: Constant, right: Constant) -> Constant:
    """`left + right` of constants; TypeError if SQL has no such sum here."""
    match left, right:
        case (None, _) | (_, None):
            return None
        case (date(), Interval()):
            return right.added_to(left)
        case (Interval(), date()):
            return left.added_to(right)
        case (Interval(), Interval()):
            return Interval(left.months + right.months, left.span + right.span)
        case (date(), int()) if _is_day(left) and not isinstance(right, bool):
            return left + timedelta(days=right)
        case _:
            a, b = _numbers(left, right)
            if isinstance(a, float) or isinstance(b, float):
                return float(a) + float(b)
            return _exact(a, b, _EXACT.add(Decimal(a), Decimal(b)))


def subtract(left: Constant, right: Constant) -> Constant:
    """`left - right` of constants; the difference of two dates is a number of days."""
    if isinstance(left, date) and isinstance(right, date):
        if _is_day(left) and _is_day(right):
            return (left - right).days
        raise TypeError("the difference of two timestamps is an interval")
    return add(left, negate(right))


def multiply(left: Constant, right: Constant) -> Constant:
    """`left * right` of constants."""
    if left is None or right is None:
        return None
    a, b = _numbers(left, right)
    if isinstance(a, float) or isinstance(b, float):
        return float(a) * float(b)
    return _exact(a, b, _EXACT.multiply(Decimal(a), Decimal(b)))


def negate(value: Constant) -> Constant:
    """`-value` of a constant."""
    if value is None or isinstance(value, Interval):
        return None if value is None else -value
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise TypeError(f"a minus before a {kind(value)}")
    return value.copy_negate() if isinstance(value, Decimal) else -value


def day(text: str) -> date:
    """The date that `text` writes as YYYY-MM-DD; ValueError if none."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text.strip()):
        raise ValueError(f"{text!r} is not a date; write YYYY-MM-DD")
    return date.fromisoformat(text.strip())


def moment(text: str) -> datetime:
    """The timestamp that `text` writes, to the microsecond; ValueError if none.

    >>> moment("1995-03-15 10:30:00.5")
    datetime.datetime(1995, 3, 15, 10, 30, 0, 500000)
    """
    clean = text.strip()
    fraction = re.search(r"\.(\d+)", clean)
    if fraction and len(fraction.group(1)) > 6:
        raise ValueError(f"{text!r} has parts smaller than a microsecond")
    if fraction:
        padded = fraction.group(1).ljust(6, "0")
        clean = clean[: fraction.start(1)] + padded + clean[fraction.end(1) :]
    if not re.match(r"\d{4}-\d{2}-\d{2}", clean):
        raise ValueError(f"{text!r} is not a timestamp; write YYYY-MM-DD HH:MM:SS")
    return datetime.fromisoformat(clean)


def instant(text: str) -> datetime:
    """The timestamp with an offset from UTC that `text` writes; ValueError if none.

    >>> instant("1995-03-15 12:30:00+02:00").isoformat()
    '1995-03-15T12:30:00+02:00'
    """
    found = moment(text)
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no offset from UTC; write '.. 10:30:00+00:00'")
    return found


def rounded(value: Decimal, precision: int, scale: int) -> Decimal:
    """`value` as a DECIMAL(precision, scale), half away from zero; ValueError if it is too large.

    >>> rounded(Decimal("1.235"), 4, 2)
    Decimal('1.24')
    """
    result = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=200))
    if abs(result) >= Decimal(10) ** (precision - scale):
        raise ValueError(f"{value} does not fit DECIMAL({precision}, {scale})")
    return result


def interval(text: str, unit: str | None) -> Interval:
    """The interval of `INTERVAL 'text' unit`, or of `INTERVAL '1 year 2 days'`.

    >>> interval("3", "MONTHS")
    Interval(months=3, span=datetime.timedelta(0))
    """
    pairs = [(text, unit)] if unit else re.findall(r"([+-]?\d+)\s*([A-Za-z]+)", text)
    rest = "" if unit else re.sub(r"[+-]?\d+\s*[A-Za-z]+", "", text).strip(" ,")
    if rest or not pairs:
        raise ValueError(f"{text!r} is not an interval; write INTERVAL '3' MONTH")
    total = Interval()
    for amount, name in pairs:
        step = _step(int(amount), name.lower().rstrip("s"))
        total = Interval(total.months + step.months, total.span + step.span)
    return total


def _step(amount: int, unit: str) -> Interval:
    if unit in _MONTHS:
        return Interval(amount * _MONTHS[unit])
    if unit in _MICROSECONDS:
        return Interval(0, timedelta(microseconds=amount * _MICROSECONDS[unit]))
    raise ValueError(f"{unit!r} is not a unit of time; write YEAR, MONTH, DAY, HOUR, ..")


def _is_day(value: date) -> bool:
    return not isinstance(value, datetime)


def _numbers(left: Constant, right: Constant) -> tuple[Number, Number]:
    for value in (left, right):
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise TypeError(f"no arithmetic between {kind(left)} and {kind(right)}")
    return left, right  # type: ignore[return-value]


def _exact(left: Number, right: Number, result: Decimal) -> int | Decimal:
    """An integer of integers, else a decimal that keeps its scale."""
    if isinstance(left, int) and isinstance(right, int):
        return _fits(int(result))
    return _fits(result)


def _fits(value: N) -> N:
    digits = Decimal(value).as_tuple()
    scale = -int(digits.exponent)
    if max(len(digits.digits), scale) > _DIGITS:
        raise ValueError(f"{value} has more than {_DIGITS} digits")
    return value
