"""Heavy values: so many rows of a table have one that its partition would have too much to do.

Rows of one table with such a value lie in any partition, each by what it is, or by its key; those
of the tables that join it are copied to all of them. So each row of a join is made once, and what
partitions have of a group is added up on the driver.

    value      rows of the table that is spread   rows of the others
    heavy      each somewhere                     everywhere
    any other  where the value lies               where the value lies

Invariant: two rows that join meet in exactly one partition; a delete is sent to the partition of
its row. Cost: the rows that are copied, in each partition, and the partials that the driver adds
up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pyarrow as pa

from ringview.spark.streaming.plan import Plan
from ringview.spark.types import INTEGERS

Role = Literal["spread", "copied"]
Value = int | str


@dataclass(frozen=True)
class Heavy:
    """Heavy values of the column by which some tables lie."""

    spread: tuple[str, ...]
    """The table whose rows are spread; as rows move, that of the last changes of its keys too."""
    copied: tuple[str, ...]
    """The tables whose rows are copied: all that views join with it."""
    values: tuple[Value, ...]

    def role(self, table: str) -> Role | None:
        """Distribution of rows of a table that have such a value; None if it is as of any other."""
        if table in self.spread:
            return "spread"
        return "copied" if table in self.copied else None

    def described(self) -> dict[str, Any]:
        """Its form in a checkpoint."""
        return asdict(self)

    @staticmethod
    def read(noted: Mapping[str, Any] | None) -> Heavy | None:
        """Read from its form in a checkpoint."""
        if noted is None:
            return None
        return Heavy(tuple(noted["spread"]), tuple(noted["copied"]), tuple(noted["values"]))

    def with_histories(self, plan: Plan) -> Heavy:
        """The same with the tables of the last changes of keys, which lie as the rows do."""

        def of(tables: Sequence[str]) -> tuple[str, ...]:
            found = (plan.histories[name].name for name in tables if name in plan.histories)
            return (*tables, *found)

        return Heavy(of(self.spread), of(self.copied), self.values)


def can_be_heavy(kind: pa.DataType) -> bool:
    """Whether values of a type are looked at."""
    return kind in INTEGERS or pa.types.is_string(kind)
