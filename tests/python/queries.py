"""Random SQL of the family that views keep, and random rows to run it over.

Small domains, so that rows meet, repeat and vanish; NULL, zero and negative values in each; floats
are dyadic, so that their sums are exact in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

SCHEMAS: dict[str, pa.Schema] = {
    "r": pa.schema({"a": pa.int64(), "b": pa.int32(), "x": pa.int64(), "name": pa.string()}),
    "s": pa.schema(
        {"b": pa.int64(), "c": pa.int16(), "price": pa.decimal128(6, 2), "day": pa.date32()}
    ),
    "t": pa.schema({"c": pa.int64(), "a": pa.int64(), "w": pa.float64(), "ok": pa.bool_()}),
    "u": pa.schema(
        {"name": pa.string(), "day": pa.date32(), "at": pa.timestamp("us"), "x": pa.int64()}
    ),
}

_INTEGERS = [None, -2, -1, 0, 1, 2]
_KEYS = [None, 0, 1, 2]
DOMAINS: dict[str, list[Any]] = {
    "a": _KEYS,
    "b": _KEYS,
    "c": _KEYS,
    "x": _INTEGERS,
    "name": [None, "", "a", "ab", "A%"],
    "price": [None, Decimal("-1.50"), Decimal("0.00"), Decimal("0.25"), Decimal("12.00")],
    "day": [None, date(1995, 1, 31), date(1995, 2, 28), date(1996, 2, 29)],
    "w": [None, -1.5, 0.0, 0.25, 2.0],
    "ok": [None, True, False],
    "at": [None, datetime(1995, 1, 31, 0, 0), datetime(1995, 2, 28, 12, 30, 0, 500)],
}
NUMBERS = {"a", "b", "c", "x", "price", "w"}


@dataclass(frozen=True)
class From:
    """A FROM clause, the conditions it needs, what it calls its tables, its merged columns."""

    text: str
    aliases: dict[str, str]
    where: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()


FROMS = [
    From("r", {"r": "r"}, bare=("a", "b", "x")),
    From("s AS one", {"one": "s"}),
    From("t", {"t": "t"}),
    From("u", {"u": "u"}),
    From("r NATURAL JOIN s", {"r": "r", "s": "s"}, bare=("b", "a", "c")),
    From("r NATURAL JOIN u", {"r": "r", "u": "u"}, bare=("x", "name")),
    From("s JOIN u USING (day)", {"s": "s", "u": "u"}, bare=("day",)),
    From("r JOIN s ON r.b = s.b", {"r": "r", "s": "s"}),
    From("r JOIN s ON r.b = s.b AND r.x > 0 AND s.c IS NOT NULL", {"r": "r", "s": "s"}),
    From("r, s", {"r": "r", "s": "s"}, ("s.b = r.b",)),
    From("r CROSS JOIN t", {"r": "r", "t": "t"}),
    From("r, t", {"r": "r", "t": "t"}),
    From("r JOIN s USING (b) JOIN t ON s.c = t.c", {"r": "r", "s": "s", "t": "t"}, bare=("b",)),
    From("r NATURAL JOIN s NATURAL JOIN t", {"r": "r", "s": "s", "t": "t"}, bare=("a", "b", "c")),
    From("r JOIN s USING (b) JOIN t USING (a, c)", {"r": "r", "s": "s", "t": "t"}, bare=("c",)),
    From("r, s, t", {"r": "r", "s": "s", "t": "t"}, ("r.b = s.b", "s.c = t.c", "t.a = r.a")),
    From("r, s NATURAL JOIN t", {"r": "r", "s": "s", "t": "t"}, ("r.a = t.a",)),
    From("r p JOIN r q ON p.b = q.a", {"p": "r", "q": "r"}),
    From("r p, r q", {"p": "r", "q": "r"}, ("p.a = q.a", "p.b = q.b")),
    From("r p, r q", {"p": "r", "q": "r"}, ("p.a = q.b", "p.b = q.a", "p.a = p.b")),
    From("r p, r q, r o", {"p": "r", "q": "r", "o": "r"}, ("p.b = q.a", "q.b = o.a", "o.b = p.a")),
    From("r p JOIN r q USING (a) JOIN r o USING (a)", {"p": "r", "q": "r", "o": "r"}, bare=("a",)),
    From(
        "r JOIN s USING (b) JOIN t USING (c) JOIN u ON u.day = s.day AND u.name = r.name",
        {"r": "r", "s": "s", "t": "t", "u": "u"},
        bare=("b", "c"),
    ),
    From("(r JOIN s USING (b)) JOIN (t CROSS JOIN u) ON s.c = t.c", {"r": "r", "t": "t"}),
]


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A SELECT with aggregates or groups over one of `FROMS`."""
    source = draw(st.sampled_from(FROMS))
    columns = _columns(source)
    group = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True))
    outputs: list[str] = []
    keys: list[str] = []
    for i, column in enumerate(group):
        form = draw(st.sampled_from(["name", "ordinal", "alias", "hidden"]))
        if form == "hidden":
            keys.append(column)
            continue
        if form == "name" and _name(column) in map(_name, outputs):
            form = "alias"
        outputs.append(column if form == "name" else f"{column} AS g{i}")
        keys.append({"name": column, "alias": f"g{i}", "ordinal": str(len(outputs))}[form])
    least = 0 if outputs else 1
    aggregates = draw(st.lists(_aggregates(source), min_size=least, max_size=3))
    outputs += [f"{aggregate} AS v{i}" for i, aggregate in enumerate(aggregates)]
    wanted = draw(st.lists(_conditions(source), max_size=2))
    where = " AND ".join([*source.where, *wanted])
    text = f"SELECT {', '.join(outputs)} FROM {source.text}"
    text += f" WHERE {where}" if where else ""
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


def _columns(source: From) -> list[str]:
    """Names of columns: qualified ones, and bare ones that USING or NATURAL merged."""
    found = [f"{alias}.{name}" for alias, t in source.aliases.items() for name in SCHEMAS[t].names]
    return found + list(source.bare)


def _name(column: str) -> str:
    return column.rsplit(".", maxsplit=1)[-1]


@st.composite
def _aggregates(draw: st.DrawFn, source: From) -> str:
    function = draw(st.sampled_from(["SUM", "SUM", "AVG", "COUNT", "COUNT(*)"]))
    if function == "COUNT(*)":
        return function
    if function == "COUNT":
        return f"COUNT({draw(st.sampled_from(_columns(source)))})"
    return f"{function}({draw(_numbers(source))})"


@st.composite
def _numbers(draw: st.DrawFn, source: From) -> str:
    """A numeric expression of at most three columns."""
    columns = st.sampled_from([c for c in _columns(source) if _name(c) in NUMBERS])
    one, other, third = draw(columns), draw(columns), draw(columns)
    shapes = [
        one,
        f"2 * {one}",
        f"-{one}",
        f"{one} * {other}",
        f"{one} + {other}",
        f"{one} - {other} + 1",
        f"{one} * (1 - {other})",
        f"({one} + 2) * ({other} - {third})",
        "3",
        f"0.5 * {one}",
    ]
    return draw(st.sampled_from(shapes))


@st.composite
def _conditions(draw: st.DrawFn, source: From) -> str:
    """A condition on one table."""
    alias = draw(st.sampled_from(sorted(source.aliases)))
    one = draw(_simple(alias, source.aliases[alias]))
    other = draw(_simple(alias, source.aliases[alias]))
    shapes = [one, f"({one} OR {other})", f"NOT ({one} AND {other})", f"({one} AND {other})"]
    return draw(st.sampled_from(shapes))


@st.composite
def _simple(draw: st.DrawFn, alias: str, table: str) -> str:
    name = draw(st.sampled_from(SCHEMAS[table].names))
    column = f"{alias}.{name}"
    if name == "ok":
        return draw(st.sampled_from([column, f"NOT {column}", f"{column} IS FALSE", "TRUE"]))
    first, second = (draw(_literal(name)) for _ in range(2))
    comparison = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    shapes = [
        f"{column} {comparison} {first}",
        f"{first} {comparison} {column}",
        f"{column} BETWEEN {first} AND {second}",
        f"{column} NOT BETWEEN {first} AND {second}",
        f"{column} IN ({first}, {second})",
        f"{column} NOT IN ({first}, NULL)",
        f"{column} IS NULL",
        f"{column} IS NOT NULL",
        "1 = 1",
        f"{column} {comparison} {column}",
    ]
    if name == "name":
        pattern = draw(st.sampled_from(["a%", "_", "%", "A!%", "%b", ""]))
        shapes += [
            f"{column} LIKE '{pattern}'",
            f"{column} NOT LIKE '{pattern}' ESCAPE '!'",
            f"{column} ILIKE '{pattern}'",
        ]
    if name in NUMBERS:
        shapes += [f"{column} + 1 {comparison} 2 * {column}", f"{column} * 2 > {first} - 1"]
    return draw(st.sampled_from(shapes))


def _literal(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from([_write(value) for value in DOMAINS[name] if value is not None])


def _write(value: Any) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"(DATE '{value.isoformat()}' + INTERVAL '1' DAY)"
    return f"'{value}'" if isinstance(value, str) else str(value)


def rows(table: str, max_size: int = 6) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of one table."""
    fields = {name: st.sampled_from(DOMAINS[name]) for name in SCHEMAS[table].names}
    return st.lists(st.fixed_dictionaries(fields), max_size=max_size)


def updates(table: str) -> st.SearchStrategy[list[tuple[int, dict[str, Any]]]]:
    """Numbers that choose rows of one table, and what some columns of them are from then on."""
    fields = {name: st.sampled_from(DOMAINS[name]) for name in SCHEMAS[table].names}
    new = st.fixed_dictionaries({}, optional=fields)
    return st.lists(st.tuples(st.integers(0, 30), new), min_size=1, max_size=3)


def contents(max_size: int = 6) -> st.SearchStrategy[dict[str, list[dict[str, Any]]]]:
    """Rows of every table."""
    return st.fixed_dictionaries({table: rows(table, max_size) for table in SCHEMAS})
