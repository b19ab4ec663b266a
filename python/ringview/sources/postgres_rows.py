"""Net effect of several transactions on one table.

Invariant: behind the last transaction each key has the row that PostgreSQL has, also where keys are
swapped within a transaction; a table without a key has each row as often. A long value that an
update left alone is that of the row before: in these transactions, or as it is kept here. Cost:
O(changes), and a look-up by key an update that leaves a value alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError
from ..text import quoted
from .batch import Casts
from .casts import cast
from .debezium import OP
from .pgoutput import RowChange

if TYPE_CHECKING:
    from ..table import Table

TIMES = "ringview_times"
"""The column with the multiplicities, in rows of tables without a key."""

_Row = dict[str, Any]


class TableChanges:
    """Changes of one table, a row at a time; `rows` then has their net effect."""

    def __init__(self, table: Table) -> None:
        self.emptied = False
        self._table = table
        self._types = {field.name: field.type for field in table.schema}
        self._unique = table.unique
        # Of each key the rows that these transactions made and that are there.
        self._live: dict[tuple[Any, ...], list[_Row]] = {}
        # Keys whose rows before these transactions are no more.
        self._gone: dict[tuple[Any, ...], None] = {}
        self._bag = Counter[tuple[Any, ...]]()

    def truncate(self) -> None:
        """Empty the table, which supersedes all changes before."""
        self.emptied = True
        for part in (self._live, self._gone, self._bag):
            part.clear()

    def add(self, change: RowChange) -> None:
        """Add a change of a row.

        Raises:
            UnsupportedError: A value that it leaves alone is not kept here, or a row without a key
                is not whole; the text says what to do.
        """
        if self._unique is None:
            self._add_to_bag(change)
            return
        before: _Row | None = None
        if change.kind != "I":
            found = change.old if change.old is not None else change.new
            assert found is not None
            key = self._key(found, change)
            before = self._taken(key, change)
        if change.new is not None:
            new = self._used(change.new)
            for name in change.left:
                if name not in self._types:
                    continue
                if before is None or name not in before:
                    raise _lacking(name, change)
                new[name] = before[name]
            self._live.setdefault(self._key(new, change), []).append(new)

    def rows(self) -> list[_Row]:
        """Rows for `Database.apply`, or with multiplicities if the table has no key."""
        if self._unique is None:
            names = list(self._types)
            return [
                {**dict(zip(names, row, strict=True)), TIMES: times}
                for row, times in self._bag.items()
                if times
            ]
        live = [{OP: "upsert", **rows[-1]} for rows in self._live.values() if rows]
        gone = [key for key in self._gone if not self._live.get(key)]
        return [{OP: "d", **dict(zip(self._unique, key, strict=True))} for key in gone] + live

    def _add_to_bag(self, change: RowChange) -> None:
        if change.kind != "I":
            if change.old is None or not change.is_whole:
                raise UnsupportedError(
                    f"{change.relation.name} wrote no whole row before its change, and table "
                    f"{quoted(self._table.name)} has no key: ALTER TABLE {change.relation.name} "
                    "REPLICA IDENTITY FULL, or declare the table with unique"
                )
            self._bag[self._whole(change.old, change)] -= 1
        if change.new is not None:
            self._bag[self._whole({**(change.old or {}), **change.new}, change)] += 1

    def _whole(self, row: _Row, change: RowChange) -> tuple[Any, ...]:
        for name in self._types:
            if name not in row:
                raise _lacking(name, change)
        return tuple(row[name] for name in self._types)

    def _used(self, row: _Row) -> _Row:
        return {name: value for name, value in row.items() if name in self._types}

    def _key(self, row: _Row, change: RowChange) -> tuple[Any, ...]:
        assert self._unique is not None
        for name in self._unique:
            if name not in row:
                raise _lacking(name, change)
        return tuple(row[name] for name in self._unique)

    def _taken(self, key: tuple[Any, ...], change: RowChange) -> _Row | None:
        """Take the row of a key away, and return its values as far as a change needs them."""
        rows, old = self._live.get(key), change.old
        whole = self._used(old) if old is not None and change.is_whole else None
        if rows and (whole is None or whole in rows):
            # Within a transaction two rows may have one key, if that is checked at its end.
            return rows.pop() if whole is None else rows.pop(rows.index(whole))
        was_there = not self.emptied and key not in self._gone
        if was_there:
            self._gone[key] = None
        if whole is not None or not change.left or not was_there:
            return whole
        return self._kept(key)

    def _kept(self, key: tuple[Any, ...]) -> _Row | None:
        """The row with a key, as it is kept here."""
        assert self._unique is not None
        typed = [
            cast([value], self._types[name], Casts())[0].to_pylist()[0]
            for name, value in zip(self._unique, key, strict=True)
        ]
        return self._table.get_many([tuple(typed)])[0]


def _lacking(name: str, change: RowChange) -> UnsupportedError:
    table = change.relation.name
    return UnsupportedError(
        f"an update of {table} left its long value {quoted(name)} alone, which PostgreSQL then "
        "leaves out, and the row before is not kept here; let it write whole rows: ALTER TABLE "
        f"{table} REPLICA IDENTITY FULL"
    )
