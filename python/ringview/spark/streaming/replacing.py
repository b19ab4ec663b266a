"""Views that take the place of others, and the changes that this makes.

Invariant: replayed behind the changes that a sink was given of a view, those of its replacement
lead to the new view. Cost: that of both views.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ringview import Database
from ringview.errors import UnsupportedError
from ringview.spark.streaming.checkpoint import is_same_text
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.unsent import together


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The views that were dropped, or have another text."""
    return [
        name for name, sql in before.items() if name not in now or not is_same_text(sql, now[name])
    ]


def schemas(plan: Plan) -> dict[str, pa.Schema]:
    """The columns of the views of a plan."""
    draft = Database()
    plan.create_tables(draft)
    plan.create_views(draft)
    return {name: draft[name].schema for name in plan.views}


def check(before: Mapping[str, pa.Schema], now: Mapping[str, pa.Schema]) -> None:
    """Refuse views whose columns differ from those that a sink was given.

    Raises:
        UnsupportedError: One has.
    """
    for name, schema in now.items():
        if name in before and before[name] != schema:
            raise UnsupportedError(
                f'view "{name}" had the columns {_listed(before[name])}, of which its sink was '
                f"told, and has {_listed(schema)} now; give the new view another name"
            )


def delta(before: pa.Table | None, now: pa.Table) -> pa.Table:
    """The changes of a view that now holds ``now``, as changes from nothing.

    >>> held = pa.table({"a": [1, 2], "multiplicity": [1, 1]})
    >>> holds = pa.table({"a": [2, 3], "multiplicity": [1, 1]})
    >>> delta(held, holds).to_pylist()
    [{'a': 1, 'multiplicity': -1}, {'a': 3, 'multiplicity': 1}]
    """
    if before is None:
        return now
    times = before.num_columns - 1
    gone = before.set_column(times, before.field(times), pc.negate(before[times]))
    return together(gone, now)


def _listed(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
