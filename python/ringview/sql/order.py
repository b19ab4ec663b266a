"""A variable order that the user gives: names of columns, nested.

Invariant: each name is a column of the query; that the order fits the query is checked when the
view is made. Cost: O(variables).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..errors import InvalidValueError
from .names import Scope
from .place import DIALECT, Text
from .scalars import Json

Order = Mapping[str, Any]


def order(given: Order, scope: Scope) -> list[Json]:
    """`{"postcode": {"h.house": {}, "s.shop": {}}}` as the logical query writes it."""
    return [_root(name, below, scope) for name, below in given.items()]


def _root(name: str, below: Any, scope: Scope) -> Json:
    if not isinstance(below, Mapping):
        raise InvalidValueError(
            f"order: below {name!r} stands {below!r}; write a dict of the variables below it, "
            "{} where there are none"
        )
    try:
        column = sqlglot.parse_one(name, dialect=DIALECT)
    except SqlglotError:
        column = None
    if not isinstance(column, exp.Column):
        raise InvalidValueError(f"order: {name!r} is not a column; write column or table.column")
    named = Scope(Text(name), scope.sources, scope.visible)
    return {"variable": named.column(column).json(), "children": order(below, scope)}
