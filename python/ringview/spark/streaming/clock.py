"""The clock of a stream: it follows the times of the rows that come.

A table with a watermark says how late its rows may come. The clock is at the greatest time that
came in the table, less that; of several tables, at the least of these, so that it waits for the
slowest. It begins in 1970.

Invariant: the clock never goes back, and is a function of the rows that were applied, so a
micro-batch that is applied again finds it where it was. Cost: O(rows) a micro-batch, and a step of
time in its transaction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from ringview import Database
from ringview.clock import microseconds, moment
from ringview.errors import InvalidValueError
from ringview.spark.streaming.plan import GREATEST, Plan, TablePlan
from ringview.transaction import Transaction

CLOCK = "clock"
"""Under this name the metrics of a stream say where its clock is."""
EXPIRED = "expired"
"""Under this name they say how many rows left for their age, by table."""

Rows = Mapping[str, pa.Table]

_LAST = microseconds(datetime.max)
_UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_TEXT = re.compile(r"\s*(\d+)\s*([a-z]+?)s?\s*", re.IGNORECASE)


def delay(given: object) -> int:
    """How many microseconds a text such as "10 minutes", or a `timedelta`, is.

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
    """How far the rows of a micro-batch bring the clock."""

    greatest: Mapping[str, int]
    """By table, the greatest time that came, in microseconds, where it is a new one."""
    to: datetime | None
    """Where the clock goes; None if it stays."""


class Clock:
    """The clock of a database that has the tables of a plan."""

    def __init__(self, plan: Plan, database: Database) -> None:
        self._plan, self._database = plan, database
        self._greatest: dict[str, int] = {}
        if plan.watermarked:
            name = plan.greatest.replace('"', '""')
            known = database.sql(f'SELECT * FROM "{name}"').to_pylist()
            self._greatest = {row["table"]: row[GREATEST] for row in known}

    def step(self, rows: Rows) -> Step:
        """The step that rows cause; it is not taken yet."""
        new = {}
        for table in self._plan.watermarked:
            found = _greatest(table, rows.get(table.name))
            if found is not None and found > self._greatest.get(table.name, -1):
                new[table.name] = found
        if not new:
            return Step(new, None)
        seen = self._greatest | new
        tables = self._plan.watermarked
        if any(table.name not in seen for table in tables):
            return Step(new, None)
        at = min(seen[table.name] - (table.delay or 0) for table in tables)
        to = moment(max(at, 0))
        now = self._database.now
        return Step(new, None if now is not None and to <= now else to)

    def advance(self, step: Step, transaction: Transaction) -> None:
        """Go that far, in a transaction behind its other changes."""
        if step.greatest:
            rows = [{"table": name, GREATEST: at} for name, at in step.greatest.items()]
            transaction.upsert(self._plan.greatest, rows)
        if step.to is not None:
            transaction.advance(step.to)

    def keep(self, step: Step) -> None:
        """Remember it, once the transaction was committed."""
        self._greatest |= step.greatest


class Expiry:
    """How many rows leave tables for their age while something is done."""

    def __init__(self, plan: Plan, database: Database) -> None:
        tables = [table for table in plan.streams if table.keep_for and table.changes == "rows"]
        self._tables, self._database = tables, database
        self._before = {table.name: len(database.tables[table.name]) for table in tables}

    def counted(self, rows: Rows) -> dict[str, int]:
        """By table, those that left since, where some rows came."""
        found = {}
        for table in self._tables:
            came = rows.get(table.name)
            times = 0 if came is None else pc.sum(came[table.multiplicity]).as_py() or 0
            left = self._before[table.name] + times - len(self._database.tables[table.name])
            found[table.name] = left
        return found


def _greatest(table: TablePlan, rows: pa.Table | None) -> int | None:
    """The greatest time of rows in microseconds; None where there is none."""
    if rows is None or table.watermark is None:
        return None
    times = rows[table.watermark[0]]
    zone = getattr(times.type, "tz", None)
    greatest = pc.max(times).cast(pa.timestamp("us", zone), safe=False)
    return min(greatest.value, _LAST) if greatest.is_valid else None
