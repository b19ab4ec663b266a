"""The clock of a stream: it follows the times of the rows received.

A table with a watermark says how late its rows may be. The clock is at the greatest time received
in the table, less that; of several tables, at the least of these, so that it waits for the slowest.
It begins in 1970. Deletes do not move it, nor do rows that are wrong by themselves.

Invariant: the clock never moves back, and is a function of the rows received, whatever the state
does with them. So engines in partitions that are sent the same greatest times have the same clock,
and a micro-batch that is applied again finds it where it was. Cost: O(rows) a micro-batch, and a
step of time in its transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from ringview import Database
from ringview.convert.moments import microseconds, moment
from ringview.errors import InvalidValueError
from ringview.spark.streaming.changes import coming
from ringview.spark.streaming.plan import GREATEST, TABLE, Plan
from ringview.transaction import Transaction

CLOCK = "clock"
"""Under this name the metrics of a stream say where its clock is."""
EXPIRED = "expired"
"""Under this name they say how many rows left for their age, by table."""

Rows = Mapping[str, pa.Table]
Greatest = Mapping[str, int]
"""By table a greatest time, in microseconds since 1970."""

_LAST = microseconds(datetime.max)
_UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_TEXT = re.compile(r"\s*(\d+)\s*([a-z]+?)s?\s*", re.IGNORECASE)


def delay(given: object) -> int:
    """Number of microseconds of a text such as "10 minutes", or of a `timedelta`.

    Raises:
        InvalidValueError: It is none, or below 0.

    >>> from datetime import timedelta
    >>> delay("2 minutes"), delay(timedelta(milliseconds=5))
    (120000000, 5000)
    """
    if isinstance(given, timedelta) and given >= timedelta(0):
        return given // timedelta(microseconds=1)
    found = _TEXT.fullmatch(given) if isinstance(given, str) else None
    unit = _UNITS.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise InvalidValueError(
            f"watermark: {given!r} is no delay; give a text such as '10 minutes', '1 hour' or "
            "'0 seconds', or a timedelta"
        )
    return int(found[1]) * unit * 1_000_000


@dataclass(frozen=True)
class Step:
    """The move of the clock by the rows of a micro-batch."""

    greatest: Greatest
    """Those that are new."""
    to: datetime | None
    """Where the clock goes; None if it stays."""


STAYS = Step({}, None)
"""Of rows that do not move it."""


class Clock:
    """The clock of a database that has the tables of a plan."""

    def __init__(self, plan: Plan, database: Database) -> None:
        self._plan, self._database = plan, database
        self._greatest: dict[str, int] = {}
        if plan.watermarked:
            known = database.tables[plan.greatest.name].to_arrow().to_pylist()
            self._greatest = {row[TABLE]: row[GREATEST] for row in known}

    def step(self, came: Greatest) -> Step:
        """The step that times cause; it is not taken yet."""
        new = {name: at for name, at in came.items() if at > self._greatest.get(name, -1)}
        return Step(new, self._to(self._greatest | new))

    def restore(self) -> None:
        """Set the clock by the database's greatest times: its rows were copied, its clock not."""
        to = self._to(self._greatest)
        if to is not None:
            self._database.advance(to)

    def advance(self, step: Step, transaction: Transaction) -> None:
        """Advance the clock, in a transaction behind its other changes."""
        if step.greatest:
            rows = [{TABLE: name, GREATEST: at} for name, at in step.greatest.items()]
            transaction.upsert(self._plan.greatest.name, rows)
        if step.to is not None:
            transaction.advance(step.to)

    def keep(self, step: Step) -> None:
        """Remember it, once the transaction was committed."""
        self._greatest |= step.greatest

    def _to(self, seen: Greatest) -> datetime | None:
        """The new time of the clock by greatest times; None if it stays."""
        tables = self._plan.watermarked
        if not tables or any(table.name not in seen for table in tables):
            return None
        at = min(seen[table.name] - (table.delay or 0) for table in tables)
        to, now = moment(max(at, 0)), self._database.now
        return None if now is not None and to <= now else to


class Expiry:
    """Count of the rows that leave tables for their age during a transaction."""

    def __init__(self, plan: Plan, database: Database) -> None:
        self._plan, self._database = plan, database
        self._before = self._all()

    def counted(self) -> dict[str, int]:
        """By table, those that left since."""
        return {name: now - self._before[name] for name, now in self._all().items()}

    def _all(self) -> dict[str, int]:
        names = [table.name for table in self._plan.expiring]
        return {name: self._database.tables[name].expired for name in names}


def greatest_times(plan: Plan, rows: Rows) -> dict[str, int]:
    """The greatest times of rows by table, as `Plan.arrived` gives them, where there are some."""
    found = {}
    for table in plan.watermarked:
        if table.name not in rows:
            continue
        assert table.watermark is not None
        times = rows[table.name][table.watermark[0]].filter(coming(table, rows[table.name]))
        zone = getattr(times.type, "tz", None)
        greatest = pc.max(times).cast(pa.timestamp("us", zone), safe=False)
        if greatest.is_valid:
            found[table.name] = min(greatest.value, _LAST)
    return found


def greatest_of(parts: Iterable[Greatest]) -> dict[str, int]:
    """By table the greatest of several times.

    >>> greatest_of([{"r": 1, "s": 5}, {}, {"r": 3}])
    {'r': 3, 's': 5}
    """
    found: dict[str, int] = {}
    for part in parts:
        for name, at in part.items():
            found[name] = max(at, found.get(name, at))
    return found
