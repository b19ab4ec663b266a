"""Random queries whose conditions compare values with aggregates of queries within, and their rows.

The grammar is that of section 4.1 of the RPAI paper: values are constants, columns, arithmetic and
aggregates of queries, which may be correlated with any query around them; comparisons are joined by
AND, OR and NOT with IN, EXISTS, ANY and ALL. Values are few: zeros, negatives, NULL.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

# A column that is never NULL, one that may be; decimals and doubles are few enough to be equal.
SCHEMAS = {
    "r": pa.schema(
        [
            pa.field("a", pa.int64(), nullable=False),
            pa.field("b", pa.int64()),
            pa.field("d", pa.decimal128(6, 2)),
        ]
    ),
    "s": pa.schema(
        [
            pa.field("b", pa.int64(), nullable=False),
            pa.field("y", pa.int64()),
            pa.field("f", pa.float64()),
        ]
    ),
}
_COMPARED = ("<", "<=", "=", "<>", ">=", ">")
_WHOLE = ("a", "b", "y")


@dataclass
class Query:
    """A query under construction: the aliases that it may name, its own last."""

    draw: st.DrawFn
    # The nearest query last; an alias and its table each.
    around: list[list[tuple[str, str]]] = field(default_factory=list)
    names: Iterator[int] = field(default_factory=itertools.count)

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def sources(self, most: int) -> list[tuple[str, str]]:
        """Tables, each with an alias that the text has once."""
        tables = [self.one_of("r", "s") for _ in range(self.draw(st.integers(1, most)))]
        return [(f"{table}{next(self.names)}", table) for table in tables]

    def column(self, query: list[tuple[str, str]], whole: bool = False) -> str:
        alias, table = self.one_of(*query)
        names = [name for name in SCHEMAS[table].names if not whole or name in _WHOLE]
        return f"{alias}.{self.one_of(*names)}"

    def argument(self, query: list[tuple[str, str]]) -> str:
        """An argument of an aggregate: of whole numbers if it is divided, so nothing is rounded."""
        form = self.draw(st.integers(0, 3))
        if form == 0:
            return f"{self.column(query)} * {self.column(query)}"
        if form == 1:
            return f"{self.column(query)} - {self.one_of('1', '0.25')}"
        return self.column(query)

    def aggregate(self, query: list[tuple[str, str]]) -> str:
        function = self.one_of("SUM", "SUM", "COUNT", "AVG", "MIN", "MAX", "*")
        if function == "*":
            return "COUNT(*)"
        if function in ("MIN", "MAX", "AVG"):
            return f"{function}({self.column(query, whole=function == 'AVG')})"
        return f"{function}({self.argument(query)})"

    def value(self, depth: int) -> str:
        """A value over the queries around, the nearest first."""
        form = self.draw(st.integers(0, 9))
        if form == 0:
            return str(self.one_of("0", "1", "-2", "2.5", "0.25", "NULL"))
        if form <= 3:
            return self.column(self.around[-1])
        if form == 4 and len(self.around) > 1:
            return self.column(self.one_of(*self.around[:-1]))
        if form <= 6 or depth == 0:
            left, right = self.column(self.around[-1]), self.one_of("2", "4")
            return f"({left} {self.one_of('+', '-', '*')} {right})"
        if form == 7 and self.draw(st.booleans()):
            divisor = self.column(self.around[-1], whole=True)
            # DuckDB divides by zero to infinity, and an engine to NULL, as NULLIF requires.
            return f"{self.subquery(depth - 1)} / {self.one_of('2', f'NULLIF({divisor}, 0)')}"
        if form == 7:
            return f"{self.one_of('0.5', '2', '-1')} * {self.subquery(depth - 1)}"
        return self.subquery(depth - 1)

    def subquery(self, depth: int) -> str:
        query = self.sources(2 if depth else 1)
        shown = self.aggregate(query)
        if self.draw(st.integers(0, 4)) == 0:
            shown = f"{shown} {self.one_of('+', '-', '*')} {self.one_of('1', '0.5')}"
        return f"(SELECT {shown}{self.rest(query, depth)})"

    def rest(self, query: list[tuple[str, str]], depth: int) -> str:
        """FROM and WHERE of a query within."""
        text = " FROM " + ", ".join(f"{table} {alias}" for alias, table in query)
        self.around.append(query)
        parts = []
        if len(self.around) > 1 and self.draw(st.integers(0, 3)):
            outer = self.column(self.one_of(*self.around[:-1]), whole=True)
            parts.append(f"{self.column(query, whole=True)} {self.one_of(*_COMPARED)} {outer}")
        if self.draw(st.integers(0, 2)) == 0:
            parts.append(self.condition(depth))
        self.around.pop()
        return text + (" WHERE " + " AND ".join(parts) if parts else "")

    def condition(self, depth: int, left: int = 2) -> str:
        form = self.draw(st.integers(0 if left else 3, 12))
        if form == 0:
            return f"NOT ({self.condition(depth, left - 1)})"
        if form <= 2:
            operator = self.one_of("AND", "OR")
            one, other = self.condition(depth, left - 1), self.condition(depth, left - 1)
            return f"({one} {operator} {other})"
        if form == 3 and depth:
            query = self.sources(1)
            word = self.one_of("EXISTS", "NOT EXISTS")
            return f"{word} (SELECT 1{self.rest(query, depth - 1)})"
        if form == 4 and depth:
            query = self.sources(1)
            word, shown = self.one_of("IN", "NOT IN"), self.column(query, whole=True)
            looked = self.column(self.around[-1], whole=True)
            return f"{looked} {word} (SELECT {shown}{self.rest(query, depth - 1)})"
        if form == 12 and depth:
            query = self.sources(1)
            word, shown = self.one_of("ANY", "ALL"), self.column(query, whole=True)
            looked, how = self.column(self.around[-1], whole=True), self.one_of(*_COMPARED)
            return f"{looked} {how} {word} (SELECT {shown}{self.rest(query, depth - 1)})"
        if form == 5:
            return f"{self.value(depth)} IS {self.one_of('', 'NOT ')}NULL"
        return f"{self.value(depth)} {self.one_of(*_COMPARED)} {self.value(depth)}"


@st.composite
def nested(draw: st.DrawFn, most: int = 2, depth: int = 2) -> str:
    """A query over at most `most` relations, with queries within it to some depth."""
    query = Query(draw)
    sources = query.sources(most)
    group = draw(st.sampled_from(["", "", query.column(sources, whole=True)]))
    sums = [f"SUM({query.argument(sources)}) AS s", "COUNT(*) AS n"]
    if draw(st.booleans()):
        sums.append(f"AVG({query.column(sources, whole=True)}) AS m")
    if draw(st.integers(0, 2)) == 0:
        function = query.one_of("MIN", "MAX", "COUNT")
        distinct = "DISTINCT " if function == "COUNT" else ""
        sums.append(f"{function}({distinct}{query.column(sources)}) AS v")
    query.around.append(sources)
    condition = f"{query.value(depth)} {query.one_of(*_COMPARED)} {query.subquery(depth - 1)}"
    if draw(st.integers(0, 2)) == 0:
        condition = f"{condition} {query.one_of('AND', 'OR')} {query.condition(depth)}"
    shown = ", ".join([*([f"{group} AS g"] if group else []), *sums])
    tables = ", ".join(f"{table} {alias}" for alias, table in sources)
    text = f"SELECT {shown} FROM {tables} WHERE {condition}"
    return f"{text} GROUP BY {group}" if group else text


def rows(table: str, most: int = 5) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of a table, some of them twice."""
    fields = {}
    for column in SCHEMAS[table]:
        values: st.SearchStrategy[Any] = st.integers(-2, 3)
        if pa.types.is_decimal(column.type):
            values = st.sampled_from([Decimal(v) for v in ("-1.00", "0.00", "0.25", "2.50")])
        elif pa.types.is_floating(column.type):
            values = st.sampled_from([-1.5, 0.0, 0.25, 2.0])
        fields[column.name] = st.none() | values if column.nullable else values
    return st.lists(st.fixed_dictionaries(fields), max_size=most)


def contents(most: int = 5) -> st.SearchStrategy[dict[str, list[dict[str, Any]]]]:
    """Rows of each table."""
    return st.fixed_dictionaries({table: rows(table, most) for table in SCHEMAS})
