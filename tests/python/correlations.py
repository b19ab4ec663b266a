"""Random queries whose subqueries equate columns: twice, of several types, in pairs, with NULL.

Another shape than that of `nested`: what a subquery is correlated by is drawn first, mostly
equalities, several of them and of one column with several, of columns of unlike types and scales.
Above that are IN and NOT IN, ANY and ALL, and counts compared with counts. Columns of doubles hold
values from the whole range of doubles, each far from all others.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

# Compared columns are numbers everywhere, so that each column may meet each.
SCHEMAS = {
    "b": pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("j", pa.int32()),
            pa.field("d", pa.decimal128(12, 2)),
            pa.field("x", pa.float64()),
        ]
    ),
    "c": pa.schema(
        [
            pa.field("k", pa.int64()),
            pa.field("l", pa.int16(), nullable=False),
            pa.field("e", pa.decimal128(24, 5)),
            pa.field("y", pa.float64()),
        ]
    ),
}
_EXACT = {"b": ("id", "j", "d"), "c": ("k", "l", "e")}
_REAL = {"b": "x", "c": "y"}
_COMPARED = ("=", "<>", "<", "<=", ">=", ">")

# No two of these are near each other, so that a sum of some is one of them but for its last digits.
DOUBLES = [None, 0.0, 5e-324, -1e-300, 1e-40, 1e-30, -1e-20, 0.1, 2.0, -3.5e8, 1e31, -1e150, 1e300]


class Correlated:
    """A query under construction."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.aliases = 0

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def source(self) -> tuple[str, str]:
        self.aliases += 1
        table = self.one_of("b", "c")
        return f"{table}{self.aliases}", table

    def column(self, source: tuple[str, str]) -> str:
        alias, table = source
        return f"{alias}.{self.one_of(*_EXACT[table])}"

    def rows(self, around: list[tuple[str, str]], deeper: int) -> tuple[str, tuple[str, str]]:
        """FROM and WHERE of a subquery, and what it reads."""
        own = self.source()
        parts = []
        for _ in range(self.draw(st.integers(0 if deeper else 1, 3))):
            left = self.column(own)
            how = self.one_of("=", "=", "=", "=", "<>", "<=")
            right = self.column(self.one_of(*around))
            if self.one_of(*range(8)) == 0:
                left = self.column(self.one_of(*around))
            sides = (left, right) if self.one_of(True, False) else (right, left)
            if how == "<=":
                sides = (left, right)
            parts.append(f"{sides[0]} {how} {sides[1]}")
        if self.one_of(*range(5)) == 0:
            parts.append(f"({self.column(own)} IS NULL OR {self.column(own)} = 1)")
        if deeper and self.one_of(*range(3)) == 0:
            parts.append(self.condition([*around, own], deeper - 1))
        where = " WHERE " + " AND ".join(parts) if parts else ""
        return f" FROM {own[1]} {own[0]}{where}", own

    def value(self, around: list[tuple[str, str]], deeper: int) -> str:
        text, own = self.rows(around, deeper)
        column = self.column(own)
        shown = self.one_of("COUNT(*)", "COUNT(*)", f"COUNT({column})", f"SUM({column})")
        return f"(SELECT {shown}{text})"

    def condition(self, around: list[tuple[str, str]], deeper: int) -> str:
        form = self.draw(st.integers(0, 7))
        looked = self.column(around[-1])
        if form <= 1:
            left = self.value(around, deeper)
            return f"{left} {self.one_of(*_COMPARED)} {self.value(around, deeper)}"
        if form == 2:
            left, right = self.value(around, deeper), self.one_of(0, 1, looked)
            return f"{left} {self.one_of(*_COMPARED)} {right}"
        text, own = self.rows(around, deeper)
        shown = f"(SELECT {self.column(own)}{text})"
        if form == 3:
            return f"{looked} IN {shown}"
        if form <= 5:
            return f"{looked} NOT IN {shown}" if form == 4 else f"NOT ({looked} IN {shown})"
        if form == 6:
            return f"{looked} {self.one_of('<>', '<>', *_COMPARED)} ALL {shown}"
        return f"{self.one_of('', 'NOT ')}{looked} {self.one_of(*_COMPARED)} ANY {shown}"


@st.composite
def correlated(draw: st.DrawFn) -> str:
    """A query over one table, or two of a key, whose rows such conditions choose."""
    query = Correlated(draw)
    source = query.source()
    around, tables = [source], f"{source[1]} {source[0]}"
    parts = [query.condition(around, 1) for _ in range(draw(st.integers(1, 2)))]
    if query.one_of(*range(4)) == 0:
        parts = [f"({' OR '.join(parts)})"]
    if query.one_of(*range(3)) == 0:
        other = query.source()
        tables += f", {other[1]} {other[0]}"
        # Keys of a join are whole numbers, or of one type.
        pair = {"b": "id", "c": "k"}
        parts.append(f"{source[0]}.{pair[source[1]]} = {other[0]}.{pair[other[1]]}")
        if query.one_of(True, False):
            left, right = query.column(source), query.column(other)
            parts.append(f"{left} {query.one_of('<', '<=', '<>')} {right}")
    group = query.one_of("", "", query.column(source))
    shown = ["COUNT(*) AS n", f"SUM({query.column(source)}) AS s"]
    extreme = query.one_of("", "MIN", "MAX", "COUNT(DISTINCT")
    if extreme:
        closing = "))" if "(" in extreme else ")"
        opening = " " if "(" in extreme else "("
        shown.append(f"{extreme}{opening}{query.column(source)}{closing[:1]} AS v")
    if group:
        shown.insert(0, f"{group} AS g")
    text = f"SELECT {', '.join(shown)} FROM {tables} WHERE {' AND '.join(parts)}"
    return f"{text} GROUP BY {group}" if group else text


# Indexes of all forms, and the general algorithm, over doubles of any size.
REALS = [
    "SELECT SUM(b.x) AS s, AVG(b.x) AS m, COUNT(b.x) AS n FROM b "
    "WHERE 1 <= (SELECT COUNT(*) FROM c WHERE c.k <= b.id)",
    "SELECT SUM(b.x) AS s, COUNT(*) AS n FROM b "
    "WHERE 1 <= (SELECT COUNT(*) FROM c WHERE c.k = b.id)",
    "SELECT SUM(b.x) AS s FROM b WHERE (SELECT COUNT(*) FROM c) > b.id",
    "SELECT b.id AS g, SUM(b.x) AS s, COUNT(*) AS n FROM b "
    "WHERE 1 <= (SELECT COUNT(*) FROM c WHERE c.k = b.id) GROUP BY b.id",
    "SELECT SUM(b.x) AS s FROM b WHERE b.j NOT IN (SELECT c.l FROM c WHERE c.k = b.id)",
]


def rows(
    table: str, most: int = 4, doubles: bool = False
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of a table, some of them twice."""
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for column in SCHEMAS[table]:
        values: st.SearchStrategy[Any] = st.integers(0, 2)
        if pa.types.is_decimal(column.type):
            values = st.sampled_from([Decimal(v) for v in ("0", "1.00", "2.00", "1.50")])
        elif pa.types.is_floating(column.type):
            values = st.sampled_from(DOUBLES if doubles else [None, 1.0, 2.0])
        fields[column.name] = st.none() | values if column.nullable else values
    return st.lists(st.fixed_dictionaries(fields), max_size=most)


def contents(
    most: int = 4, doubles: bool = False
) -> st.SearchStrategy[dict[str, list[dict[str, Any]]]]:
    """Rows of each table."""
    return st.fixed_dictionaries({table: rows(table, most, doubles) for table in SCHEMAS})
