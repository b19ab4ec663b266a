"""SQL text to the logical query: the extension translates, what stands beside it is added.

Invariant: what comes out means what the text says, with the order, the thresholds and the
representation that were given. Cost: that of binding the text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import _native
from .errors import (
    InvalidValueError,
    QueryError,
    RingviewError,
    TypeMismatchError,
    UnsupportedError,
)

if TYPE_CHECKING:
    import pyarrow as pa

Json = dict[str, Any]
T = TypeVar("T")
Order = Mapping[str, Any]
Epsilon = float | Mapping[str, float]
Parameter = None | bool | int | float | str | Decimal | date
Parameters = Sequence[Parameter] | Mapping[str, Parameter]
Refresh = Literal["incremental", "part", "full"]
_Order = list[tuple[str, Any]]


def translate(
    sql: str,
    catalog: Mapping[str, pa.Schema],
    order: Order | None = None,
    representation: str | None = None,
    *,
    in_blocks: bool = False,
    only_joins: bool = False,
    parameters: Parameters | None = None,
    dialect: str = "duckdb",
    refresh: Refresh = "full",
) -> Json:
    """The logical query of a SELECT over tables of these schemas, as JSON data.

    Args:
        sql: One SELECT.
        catalog: The schema of every table and view that the text may name.
        order: A variable order to use: names of columns, nested; chosen by cost if None.
        representation: How the rows of a join are kept: "factorised" or "listing"; chosen if None.
        in_blocks: Whether conditions across tables and with subqueries become joins with blocks
            alone, where an engine might keep them as they stand.
        only_joins: Whether rows without a partner are told by a condition, so that the query is
            one of joins and groups where it can be.
        parameters: Values of `$1` and `?`, or by name of `$name` and `:name`.
        dialect: That of the text.
        refresh: How much a change may compute anew: "incremental", "part" or "full".

    Returns:
        `atoms`, `joins`, `group_by`, `outputs`, `order`, `bag` for the rows of a join, `rows` for
        rows that are computed, `condition` for what compares across tables or with `subqueries`,
        `having`, and `blocks`, the queries that its atoms read; ready for `json.dumps`. Expressions
        are texts of SQL, in which `"0"."x"` is column x of the first atom.

    Raises:
        QueryError: The text is no SQL, a name is ambiguous, a value is out of place.
        UnknownTableError: No such table.
        UnknownColumnError: No such column.
        TypeMismatchError: Types do not fit, such as SUM of a text.
        UnsupportedError: SQL that a view cannot keep; says what to write instead.

    Complexity: O(length of the text + columns of its tables), and binding each block.

    >>> import pyarrow as pa
    >>> query = translate("SELECT SUM(x) AS total FROM r", {"r": pa.schema({"x": pa.int64()})})
    >>> query["outputs"][0]["function"], query["atoms"][0]["table"]
    ('sum', 'r')
    """
    given = options(order, in_blocks, only_joins, parameters, dialect, refresh)
    found = _native.translate(sql, [*catalog.items()], given)
    return represented(json.loads(found), representation)


@dataclass(frozen=True)
class Definition:
    """The text of a view, and what is said beside it."""

    sql: str
    order: Order | None = None
    representation: str | None = None
    nulls: str | None = None
    epsilon: Epsilon | None = None
    parameters: Parameters | None = None
    dialect: str = "duckdb"
    only_joins: bool = False
    refresh: Refresh = "full"

    def query(self, database: _native.Database, own: str | None, in_blocks: bool) -> Json:
        """The logical query, over the tables and views of a database without the view `own`."""
        beside = (self.only_joins, self.parameters, self.dialect, self.refresh)
        given = options(self.order, in_blocks, *beside)
        query: Json = json.loads(database.translate(self.sql, own, given))
        query = represented(query, self.representation)
        if self.nulls is not None:
            query = treat_nulls(query, self.nulls)
        return query if self.epsilon is None else with_thresholds(query, self.epsilon)

    def kept(self, database: _native.Database, own: str | None, keep: Callable[[str], T]) -> T:
        """What an engine makes of the query as it stands; of its form in blocks if none takes it.

        Raises:
            UnsupportedError: Neither is kept: what is said of the query as it stands.
        """
        standing = self.query(database, own, in_blocks=False)
        try:
            return keep(json.dumps(standing))
        except UnsupportedError as refusal:
            with suppress(RingviewError):
                blocks = self.query(database, own, in_blocks=True)
                if blocks != standing:
                    return keep(json.dumps(blocks))
            raise refusal from None


def options(
    order: Order | None,
    in_blocks: bool,
    only_joins: bool = False,
    parameters: Parameters | None = None,
    dialect: str = "duckdb",
    refresh: Refresh = "full",
) -> _native._TextOptions:
    """What stands beside a text, as the extension takes it."""
    return {
        "order": None if order is None else _named(order),
        "in_blocks": in_blocks,
        "only_joins": only_joins,
        "parameters": parameters,
        "dialect": dialect,
        "refresh": refresh,
    }


def _named(order: Order) -> _Order:
    def one(name: str, below: Any) -> tuple[str, _Order]:
        if not isinstance(below, Mapping):
            raise InvalidValueError(
                f"order: below {name!r} stands {below!r}; write a dict of the variables below it, "
                "{} where there are none"
            )
        return name, _named(below)

    return [one(name, below) for name, below in order.items()]


def represented(query: Json, representation: str | None) -> Json:
    """The query whose rows of a join are kept so.

    Raises:
        InvalidValueError: There is no such representation.
        UnsupportedError: The query shows no rows of a join.
    """
    if representation is None:
        return query
    if representation not in ("factorised", "listing"):
        raise InvalidValueError(
            f"representation is 'factorised', 'listing' or None, not {representation!r}"
        )
    if query.get("bag") is None:
        raise UnsupportedError(
            "representation says how the rows of a join are kept; this view has groups, or rows "
            "that are computed: leave it out, or select plain columns"
        )
    query["bag"]["representation"] = representation
    return query


def treat_nulls(query: Json, nulls: str) -> Json:
    """The query with what its COFACTOR does with rows that have NULL in a feature.

    Raises:
        InvalidValueError: Neither "refuse" nor "skip".
        QueryError: The query has no COFACTOR.
    """
    if nulls not in ("refuse", "skip"):
        raise InvalidValueError(f"nulls={nulls!r}: write 'refuse' or 'skip'")
    outputs = query["outputs"]
    if not any(output["kind"] == "cofactor" for output in outputs):
        raise QueryError(f"nulls={nulls!r} is about the features of COFACTOR, and there is none")
    treated = [
        {**output, "nulls": nulls} if output["kind"] == "cofactor" else output for output in outputs
    ]
    return {**query, "outputs": treated}


def with_thresholds(query: Json, epsilon: Epsilon) -> Json:
    """The logical query with the thresholds: one for all relations, or by alias."""
    if isinstance(epsilon, Mapping):
        named = {alias: _number(one, f"epsilon of {alias!r}") for alias, one in epsilon.items()}
        for alias in named:
            if not isinstance(alias, str):
                raise TypeMismatchError(
                    f"epsilon: a relation is named by a text, its alias in FROM, not {alias!r}"
                )
        return {**query, "epsilon": named}
    return {**query, "epsilon": _number(epsilon, "epsilon")}


def _number(value: object, place: str) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeMismatchError(
            f"{place}: a number from 0 to 1, or a dict of them by alias, not {value!r}"
        )
    if not math.isfinite(value):
        raise InvalidValueError(f"{place}: is {value}, and must be a number from 0 to 1")
    return float(value)


def tables_of(query: Json) -> Iterator[str]:
    """What the atoms of a query read, and those of the queries in its condition, O(its size)."""
    yield from (atom["table"] for atom in query["atoms"])
    for within in query.get("subqueries", ()):
        yield from tables_of(within)


def only_joins(query: Json, what: str) -> Json:
    """The query, whose rows are those of joins and groups.

    Raises:
        UnsupportedError: A part of it is computed row by row, or in an order.
    """
    blocks = [block["query"] for block in query.get("blocks", ())]
    rows = next((one["rows"] for one in (*blocks, query) if one.get("rows")), None)
    if rows is None:
        return query
    kinds = {
        "map": "expressions over rows, outer joins and unions",
        "ordered": "ORDER BY and LIMIT",
        "parted": "window functions and ordered aggregates",
    }
    part = kinds.get(rows["kind"], "computed rows")
    raise UnsupportedError(
        f"{what} takes joins of tables, with filters and groups, and no {part}; compute that part "
        "into a column before the rows are inserted, or from what you read"
    )
