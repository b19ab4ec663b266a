"""Definitions of views: a text of SQL and what is said beside it, for the extension to bind.

Invariant: nothing is left out. Cost: O(length of what is said).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from .errors import InvalidValueError, TypeMismatchError

if TYPE_CHECKING:
    import pyarrow as pa

Json = dict[str, Any]
Order = Mapping[str, Any]
Epsilon = float | Mapping[str, float]
Parameter = None | bool | int | float | str | Decimal | date
Parameters = Sequence[Parameter] | Mapping[str, Parameter]
Refresh = Literal["incremental", "part", "full"]
OnError = Literal["refuse", "null", "suspend"]
_Order = list[tuple[str, Any]]


@dataclass(frozen=True)
class Definition:
    """The text of a view, and the options of its definition.

    Args:
        sql: One SELECT.
        order: A variable order to use: names of columns, nested; chosen by cost if None.
        representation: How the rows of a join are kept: "factorised" or "listing"; chosen if None.
        nulls: What COFACTOR does with rows that have NULL in a feature: "refuse" or "skip".
        epsilon: The thresholds of heavy values: one for all relations, or by alias.
        parameters: Values of `$1` and `?`, or by name of `$name` and `:name`.
        dialect: That of the text.
        in_blocks: Whether conditions across tables and with subqueries become joins with blocks
            alone, where an engine might keep them as they are.
        only_joins: Whether a condition marks rows without a partner, so that the query is one of
            joins and groups where it can be.
        refresh: How much a change may compute anew: "incremental", "part" or "full".
        errors_as_null: Whether casts and calls that cannot be computed for a row are NULL there.
    """

    sql: str
    order: Order | None = None
    representation: str | None = None
    nulls: str | None = None
    epsilon: Epsilon | None = None
    parameters: Parameters | None = None
    dialect: str = "duckdb"
    in_blocks: bool = False
    only_joins: bool = False
    refresh: Refresh = "full"
    errors_as_null: bool = False

    def native(self) -> _native._Definition:
        """The definition as the extension takes it."""
        return {
            "sql": self.sql,
            "order": None if self.order is None else _named(self.order),
            "representation": self.representation,
            "nulls": self.nulls,
            "epsilon": None if self.epsilon is None else _thresholds(self.epsilon),
            "parameters": self.parameters,
            "dialect": self.dialect,
            "in_blocks": self.in_blocks,
            "only_joins": self.only_joins,
            "refresh": self.refresh,
            "errors_as_null": self.errors_as_null,
        }

    def query(self, catalog: Mapping[str, pa.Schema]) -> Json:
        """The logical query over tables of these schemas, as JSON data.

        Returns:
            `atoms`, `joins`, `group_by`, `outputs`, `order`, `bag` for the rows of a join, `rows`
            for rows that are computed, `condition` for what compares across tables or with
            `subqueries`, `having`, and `blocks`, the queries that its atoms read; ready for
            `json.dumps`. Expressions are texts of SQL, in which `"0"."x"` is column x of the first
            atom.

        Raises:
            QueryError: The text is no SQL, a name is ambiguous, a value is out of place.
            UnknownTableError: No such table.
            UnknownColumnError: No such column.
            TypeMismatchError: Types do not fit, such as SUM of a text.
            UnsupportedError: SQL that a view cannot keep; says what to write instead.

        Complexity: O(length of the text + columns of its tables), and binding each block.

        >>> import pyarrow as pa
        >>> definition = Definition("SELECT SUM(x) AS total FROM r")
        >>> query = definition.query({"r": pa.schema({"x": pa.int64()})})
        >>> query["outputs"][0]["function"], query["atoms"][0]["table"]
        ('sum', 'r')
        """
        found: Json = json.loads(_native.translate(self.native(), [*catalog.items()]))
        return found


def _named(order: Order) -> _Order:
    def one(name: str, below: Any) -> tuple[str, _Order]:
        if not isinstance(below, Mapping):
            raise InvalidValueError(
                f"order: below {name!r} stands {below!r}; write a dict of the variables below it, "
                "{} where there are none"
            )
        return name, _named(below)

    if not isinstance(order, Mapping):
        raise TypeMismatchError(
            f"order is a dict of variables and those below each, such as {{'a': {{'b': {{}}}}}}, "
            f"not {order!r}"
        )
    return [one(name, below) for name, below in order.items()]


def _thresholds(epsilon: Epsilon) -> float | dict[str, float]:
    if not isinstance(epsilon, Mapping):
        return _number(epsilon, "epsilon")
    named = {alias: _number(one, f"epsilon of {alias!r}") for alias, one in epsilon.items()}
    for alias in named:
        if not isinstance(alias, str):
            raise TypeMismatchError(
                f"epsilon: a relation is named by a text, its alias in FROM, not {alias!r}"
            )
    return named


def _number(value: object, place: str) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeMismatchError(
            f"{place}: a number from 0 to 1, or a dict of them by alias, not {value!r}"
        )
    if not math.isfinite(value):
        raise InvalidValueError(f"{place}: is {value}, and must be a number from 0 to 1")
    return float(value)


def tables_of(query: Json) -> Iterator[str]:
    """Relations of the atoms of a query, and of the queries in its condition, O(its size)."""
    yield from (atom["table"] for atom in query["atoms"])
    for within in query.get("subqueries", ()):
        yield from tables_of(within)
