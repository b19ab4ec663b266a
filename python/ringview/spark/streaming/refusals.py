"""Rows of a micro-batch that break a contract, found once the micro-batch was refused.

Rows that are wrong whatever the state is (NULL keys, words that are none) are seen at once, for all
rows together. Rows that the state refuses (deletes of absent rows, keys that are taken) are found
by attempts, which are undone. In tables rows of different keys are independent, in bags different
rows: so sets of those are tried by themselves, and halved where they are refused. Rows that only a
view refuses are found on a copy of the state.

Invariant: the refused rows depend on the rows and the state, and not on the order of the rows: of a
repeated micro-batch the same rows are refused. Of a key or a bag's row no more is refused than must
be. Cost: if nothing is refused, none; else each row is tried O(log rows) times, and a row that is
refused costs O(log rows) attempts. The copy costs the state, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ringview.errors import (
    ArithmeticOverflowError,
    DuplicateKeyError,
    InvalidValueError,
    NullKeyError,
    OverDeleteError,
    RingviewError,
    UnknownKeyError,
)
from ringview.spark.streaming.changes import GOES, Problem, changes_of, rank_of
from ringview.spark.streaming.plan import Plan, TablePlan

OF_ROWS = (
    ArithmeticOverflowError,
    DuplicateKeyError,
    InvalidValueError,
    NullKeyError,
    OverDeleteError,
    UnknownKeyError,
)
"""What is raised where a row breaks a contract; all else is no row's fault."""

Rows = Mapping[str, pa.Table]
"""Rows by table, as `Plan.arrived` gives them."""

RowRef = tuple[str, int]
"""A row: its table, and its number there."""

Attempt = Callable[[Rows], RingviewError | None]
"""Why rows are refused; None if they are not."""

# Elements of so few rows are tried one row after the other.
_FEW = 8

_Element = list[RowRef]
"""Rows of which the first few may be taken: of a bag all that are equal, of a key a change."""
_Unit = list[_Element]
"""Rows that concern each other: those of one key, or of a bag's row."""


@dataclass(frozen=True)
class Refused:
    """A row that broke a contract."""

    table: TablePlan
    values: Mapping[str, Any]
    """The columns of the table, and those that say how the row counts."""
    error: RingviewError


class Refusals:
    """The rows of a micro-batch that break a contract, and those that are left."""

    def __init__(self, plan: Plan, arrived: Rows) -> None:
        self._plan, self._arrived = plan, arrived
        self._why: dict[RowRef, RingviewError] = {}

    @property
    def left(self) -> dict[str, pa.Table]:
        """The rows that are not refused, by table."""
        return self._rows(list(self._row_refs()))

    @property
    def refused(self) -> list[Refused]:
        """The others, each with what is wrong with it, in an order of their own."""
        tables = {table.name: table for table in self._plan.streams}
        found = []
        for name, number in sorted(self._why, key=lambda place: (place[0], self._shown(place))):
            table = tables[name]
            (values,) = self._arrived[name].slice(number, 1).to_pylist()
            if table.changes != "rows":
                del values[table.multiplicity]
            found.append(Refused(table, values, self._why[name, number]))
        return found

    def find(self, attempt: Attempt) -> None:
        """Refuse what is wrong by itself, and what an attempt refuses that is undone.

        Raises:
            RingviewError: What an attempt raises beside `OF_ROWS`.
        """
        self._find_wrong()
        if attempt(self.left) is None:
            return
        for unit, problem in self._halved(list(self._units()), attempt, is_refused=True):
            self._find_in_unit(unit, problem, attempt)

    def find_on(self, apply: Attempt) -> None:
        """Refuse what cannot be applied; what can be stays applied, so the state is a copy."""
        for unit, problem in self._halved(list(self._units()), apply, is_refused=False):
            self._why |= {place: problem for element in unit for place in element}

    def _find_wrong(self) -> None:
        """Find the rows that `changes_of` refuses; the rows have their numbers with them."""
        number = "number"
        while any(number in rows.column_names for rows in self._arrived.values()):
            number += "_"

        def note(
            table: TablePlan, rows: pa.Table, wrong: pa.ChunkedArray, problem: Problem
        ) -> pa.Table:
            for at in pc.indices_nonzero(wrong).to_pylist():
                row = rows.slice(at, 1)
                self._why[table.name, row[number][0].as_py()] = problem(row)
            return rows.filter(pc.invert(wrong))

        numbered = {
            name: rows.append_column(number, pa.array(range(rows.num_rows), pa.int64()))
            for name, rows in self._arrived.items()
        }
        changes_of(self._plan, numbered, note)

    def _halved(
        self, units: list[_Unit], attempt: Attempt, *, is_refused: bool
    ) -> Iterator[tuple[_Unit, RingviewError]]:
        """The units that are refused, each with why; `is_refused` where all are known to be."""
        if is_refused and len(units) > 1:
            middle = len(units) // 2
            for half in (units[:middle], units[middle:]):
                yield from self._halved(half, attempt, is_refused=False)
            return
        problem = attempt(self._rows(_row_refs(units)))
        if problem is not None and len(units) == 1:
            yield units[0], problem
        elif problem is not None:
            yield from self._halved(units, attempt, is_refused=True)

    def _find_in_unit(self, unit: _Unit, problem: RingviewError, attempt: Attempt) -> None:
        """Refuse of a unit what must be: elements are tried until none more can be taken."""
        taken: list[RowRef] = []
        waiting = [(element, problem) for element in unit]
        is_moving = True
        while is_moving and waiting:
            is_moving, left = False, waiting
            waiting = []
            for element, _ in left:
                count, why = self._prefix(taken, element, attempt)
                taken += element[:count]
                is_moving |= count > 0
                if why is not None:
                    waiting.append((element[count:], why))
        self._why |= {place: why for element, why in waiting for place in element}

    def _prefix(
        self, taken: list[RowRef], element: _Element, attempt: Attempt
    ) -> tuple[int, RingviewError | None]:
        """Number of rows of an element that can be taken behind others, and why no more.

        Inserts precede deletes, of which the large ones are last: so the refused rows are the end
        of them. If a key is taken, inserts may be refused alone and not together with deletes: so
        few rows are tried from their end.
        """

        def refusal(count: int) -> RingviewError | None:
            return attempt(self._rows([*taken, *element[:count]]))

        why = refusal(len(element))
        if why is None:
            return len(element), None
        if len(element) <= _FEW:
            for count in range(len(element) - 1, 0, -1):
                shorter = refusal(count)
                if shorter is None:
                    return count, why
                why = shorter
            return 0, why
        low, high = 0, len(element)
        while high - low > 1:
            middle = (low + high) // 2
            found = refusal(middle)
            if found is None:
                low = middle
            else:
                high, why = middle, found
        return low, why

    def _units(self) -> Iterator[_Unit]:
        """The remaining rows in units, in an order that depends on the rows alone."""
        left = list(self._row_refs())
        for table in self._plan.streams:
            rows = self._arrived.get(table.name)
            if rows is None:
                continue
            names = list(table.keys or table.columns.names)
            keys = _texts(rows.select(names))
            found: dict[str, list[RowRef]] = {}
            for place in left:
                if place[0] == table.name:
                    found.setdefault(keys[place[1]], []).append(place)
            cells = rows.to_pylist() if found else []
            for key in sorted(found):
                ordered = sorted(found[key], key=lambda place: _order(table, cells[place[1]]))
                yield self._elements(table, cells, ordered)

    def _elements(
        self, table: TablePlan, cells: Sequence[Mapping[str, Any]], ordered: list[RowRef]
    ) -> _Unit:
        if table.changes not in ("rows", "signs"):
            return [[place] for place in ordered]
        if table.keys is None:
            return [ordered]
        equal: dict[str, _Element] = {}
        for place in ordered:
            row = [_plain(cells[place[1]][name]) for name in table.columns.names]
            equal.setdefault(repr(row), []).append(place)
        return list(equal.values())

    def _row_refs(self) -> Iterator[RowRef]:
        for name, rows in self._arrived.items():
            for number in range(rows.num_rows):
                if (name, number) not in self._why:
                    yield name, number

    def _rows(self, places: Sequence[RowRef]) -> dict[str, pa.Table]:
        numbers: dict[str, list[int]] = {}
        for name, number in places:
            numbers.setdefault(name, []).append(number)
        return {name: self._arrived[name].take(sorted(found)) for name, found in numbers.items()}

    def _shown(self, place: RowRef) -> str:
        return _texts(self._arrived[place[0]].slice(place[1], 1))[0]


def _row_refs(units: Sequence[_Unit]) -> list[RowRef]:
    return [place for unit in units for element in unit for place in element]


def _texts(rows: pa.Table) -> list[str]:
    """Rows as texts that are equal where the rows are."""
    columns = [column.to_pylist() for column in rows.columns]
    return [repr([_plain(value) for value in row]) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    # Both zeros are one value.
    return value + 0.0 if isinstance(value, float) else value


def _order(table: TablePlan, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sort key: inserts before deletes, small numbers before large ones."""
    times = row[table.multiplicity] if table.changes == "rows" else 1
    word = "" if table.op is None else str(row[table.op]).lower()
    if table.changes == "signs":
        times = -1 if word in GOES else 1
    return times < 0, abs(times), rank_of(word), repr([_plain(value) for value in row.values()])
