"""Everyday SQL: tables with NULLs and duplicates, random expressions over them, and queries.

An expression of a type is drawn from columns, constants and functions of that type; queries have
several shapes, so that each meets what the maker of another did not think of.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

SCHEMAS = {
    "r": pa.schema(
        {
            "a": pa.int64(),
            "b": pa.int32(),
            "s": pa.string(),
            "d": pa.date32(),
            "p": pa.decimal128(10, 2),
            "f": pa.float64(),
            "ts": pa.timestamp("us"),
        }
    ),
    "s": pa.schema({"a": pa.int64(), "c": pa.int32(), "t": pa.string()}),
}
_DAYS = [dt.date(2024, month, day) for month in (1, 2, 3) for day in (1, 15, 29)]
_MOMENTS = [dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(2024, 2, 29, 23, 0, 0)]
_PRICES = [Decimal("1.50"), Decimal("2.25"), Decimal("-3.10")]
_VALUES: dict[str, list[Any]] = {
    "a": [None, 1, 2, 3],
    "b": [None, 0, 1, 2, 5, -4],
    "s": [None, "x", "yy", "Zed", ""],
    "d": [None, *_DAYS],
    "p": [None, *_PRICES],
    "f": [None, 0.5, 1.25, -2.0],
    "ts": [None, *_MOMENTS],
    "c": [0, 1, 2],
    "t": [None, "x", "q"],
}


def rows(rng: random.Random, table: str, number: int) -> list[dict[str, Any]]:
    """Rows of small domains, so that they repeat."""
    return [
        {name: rng.choice(_VALUES[name]) for name in SCHEMAS[table].names} for _ in range(number)
    ]


class Expressions:
    """Random expressions over the columns of `r`, by type."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def of(self, kind: str, depth: int = 2) -> str:
        """An expression of a kind."""
        leaves, nodes = getattr(self, f"_{kind}")()
        if depth == 0 or self.rng.random() < 0.3:
            return str(self.rng.choice(leaves))
        node: Callable[[Callable[[str], str]], str] = self.rng.choice(nodes)
        return node(lambda other: self.of(other, depth - 1))

    def any(self) -> str:
        """An expression of any kind."""
        return self.of(self.rng.choice(["integer", "decimal", "double", "text", "day", "moment"]))

    def _integer(self) -> tuple[list[str], list[Any]]:
        return ["r.a", "r.b", "1", "3"], [
            lambda e: f"({e('integer')} + {e('integer')})",
            lambda e: f"({e('integer')} - {e('integer')})",
            lambda e: f"({e('integer')} * {e('integer')})",
            lambda e: f"({e('integer')} % 3)",
            lambda e: f"({e('integer')} // 2)",
            lambda e: f"abs({e('integer')})",
            lambda e: f"-{e('integer')}",
            lambda e: f"year({e('day')})",
            lambda e: f"extract(month FROM {e('moment')})",
            lambda e: f"date_part('dow', {e('day')})",
            lambda e: f"date_diff('day', {e('day')}, {e('day')})",
            lambda e: f"({e('day')} - {e('day')})",
            lambda e: f"length({e('text')})",
            lambda e: f"CAST({e('double')} AS INTEGER)",
            lambda e: f"CAST({e('decimal')} AS BIGINT)",
            lambda e: f"TRY_CAST({e('text')} AS INTEGER)",
            lambda e: f"CASE WHEN {e('truth')} THEN {e('integer')} ELSE {e('integer')} END",
            lambda e: f"CASE {e('integer')} WHEN 1 THEN {e('integer')} END",
            lambda e: f"COALESCE({e('integer')}, {e('integer')})",
            lambda e: f"NULLIF({e('integer')}, {e('integer')})",
            lambda e: f"GREATEST({e('integer')}, {e('integer')})",
            lambda e: f"LEAST({e('integer')}, {e('integer')})",
            lambda e: f"strpos({e('text')}, 'y')",
            lambda e: f"if({e('truth')}, {e('integer')}, 0)",
            lambda e: f"sign({e('integer')})",
        ]

    def _decimal(self) -> tuple[list[str], list[Any]]:
        return ["r.p", "1.25", "0.5"], [
            lambda e: f"({e('decimal')} + {e('decimal')})",
            lambda e: f"({e('decimal')} * 1.5)",
            lambda e: f"({e('decimal')} - {e('integer')})",
            lambda e: f"ROUND({e('decimal')}, 1)",
            lambda e: f"ABS({e('decimal')})",
            lambda e: f"CASE WHEN {e('truth')} THEN {e('decimal')} ELSE 0 END",
            lambda e: f"COALESCE({e('decimal')}, 0)",
            lambda e: f"CAST({e('integer')} AS DECIMAL(18, 2))",
        ]

    def _double(self) -> tuple[list[str], list[Any]]:
        return ["r.f", "2.5e0", "1e-1"], [
            lambda e: f"({e('double')} + {e('double')})",
            lambda e: f"({e('double')} * {e('integer')})",
            lambda e: f"({e('integer')} / 4)",
            lambda e: f"({e('decimal')} / 8)",
            lambda e: f"ROUND({e('double')}, 1)",
            lambda e: f"FLOOR({e('double')})",
            lambda e: f"SQRT(ABS({e('double')}))",
            lambda e: f"CAST({e('integer')} AS DOUBLE)",
            lambda e: f"COALESCE({e('double')}, 0.0)",
            lambda e: f"power({e('double')}, 2)",
        ]

    def _text(self) -> tuple[list[str], list[Any]]:
        return ["r.s", "'x'", "'Yy'"], [
            lambda e: f"upper({e('text')})",
            lambda e: f"lower({e('text')})",
            lambda e: f"({e('text')} || {e('text')})",
            lambda e: f"concat({e('text')}, '-', {e('text')})",
            lambda e: f"substring({e('text')}, 1, 2)",
            lambda e: f"replace({e('text')}, 'y', 'z')",
            lambda e: f"trim({e('text')})",
            lambda e: f"left({e('text')}, 1)",
            lambda e: f"split_part({e('text')}, 'y', 1)",
            lambda e: f"CAST({e('integer')} AS VARCHAR)",
            lambda e: f"CAST({e('day')} AS VARCHAR)",
            lambda e: f"strftime({e('day')}, '%Y-%m')",
            lambda e: f"monthname({e('day')})",
            lambda e: f"CASE WHEN {e('truth')} THEN {e('text')} ELSE 'other' END",
            lambda e: f"COALESCE({e('text')}, '?')",
            lambda e: f"regexp_replace({e('text')}, 'y', 'q')",
        ]

    def _day(self) -> tuple[list[str], list[Any]]:
        return ["r.d", "DATE '2024-02-10'"], [
            lambda e: f"({e('day')} + 3)",
            lambda e: f"({e('day')} - 40)",
            lambda e: f"last_day({e('day')})",
            lambda e: f"CAST({e('moment')} AS DATE)",
            lambda e: f"COALESCE({e('day')}, DATE '2024-01-01')",
            lambda e: f"time_bucket(INTERVAL '7 days', {e('day')})",
        ]

    def _moment(self) -> tuple[list[str], list[Any]]:
        return ["r.ts", "TIMESTAMP '2024-01-31 10:00:00'"], [
            lambda e: f"date_trunc('month', {e('moment')})",
            lambda e: f"date_trunc('hour', {e('moment')})",
            lambda e: f"date_trunc('week', {e('day')})",
            lambda e: f"({e('day')} + INTERVAL 1 MONTH)",
            lambda e: f"({e('moment')} - INTERVAL '3' DAY)",
            lambda e: f"({e('moment')} + INTERVAL 2 HOUR)",
        ]

    def _truth(self) -> tuple[list[str], list[Any]]:
        return ["r.a = 1", "r.b > 0", "r.s = 'x'", "r.d IS NULL"], [
            lambda e: f"({e('truth')} AND {e('truth')})",
            lambda e: f"({e('truth')} OR {e('truth')})",
            lambda e: f"NOT ({e('truth')})",
            lambda e: f"({e('integer')} < {e('integer')})",
            lambda e: f"({e('decimal')} >= {e('decimal')})",
            lambda e: f"({e('text')} <> {e('text')})",
            lambda e: f"({e('text')} LIKE '%y%')",
            lambda e: f"({e('text')} ILIKE 'X%')",
            lambda e: f"({e('integer')} IN (1, 2, NULL))",
            lambda e: f"({e('text')} NOT IN ('x', 'q'))",
            lambda e: f"({e('day')} BETWEEN DATE '2024-01-10' AND DATE '2024-03-01')",
            lambda e: f"({e('integer')} IS NULL)",
            lambda e: f"({e('text')} IS NOT NULL)",
            lambda e: f"starts_with({e('text')}, 'x')",
            lambda e: f"regexp_matches({e('text')}, '^[xy]')",
        ]


class Queries:
    """Random queries of several shapes."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.expressions = Expressions(rng)

    def one(self) -> str:
        """A query."""
        shapes = [
            self._rows,
            self._groups,
            self._groups,
            self._outer_join,
            self._union,
            self._first,
            self._first_of_each,
            self._nested,
            self._sets,
        ]
        return self.rng.choice(shapes)()

    def _where(self) -> str:
        truth = self.expressions.of("truth")
        return self.rng.choice(["", f" WHERE {truth}", f" WHERE {truth}"])

    def _aggregate(self, over: str = "") -> str:
        number = self.expressions.of(self.rng.choice(["integer", "decimal", "double"]), 1)
        chosen = self.rng.choice(
            [
                "COUNT(*)",
                f"COUNT({self.expressions.any()})",
                f"SUM({number})",
                f"AVG({number})",
                f"MIN({self.expressions.any()})",
                f"MAX({number})",
                f"COUNT(DISTINCT {self.expressions.of('text', 1)})",
                f"SUM({number}) FILTER (WHERE {self.expressions.of('truth', 1)})",
                f"COUNT(*) FILTER (WHERE {self.expressions.of('truth', 1)})",
                f"bool_or({self.expressions.of('truth', 1)})",
            ]
        )
        return chosen + over

    def _rows(self) -> str:
        shown = ", ".join(f"{self.expressions.any()} AS c{at}" for at in range(3))
        distinct = self.rng.choice(["", "DISTINCT "])
        return f"SELECT {distinct}{shown} FROM r{self._where()}"

    def _groups(self) -> str:
        keys = [self.expressions.any() for _ in range(self.rng.randrange(3))]
        shown = [f"{key} AS k{at}" for at, key in enumerate(keys)]
        shown += [f"{self._aggregate()} AS v{at}" for at in range(2)]
        if self.rng.random() < 0.4:
            shown.append("ROUND(SUM(r.p) / COUNT(*), 2) AS ratio")
        group = f" GROUP BY {', '.join(str(at + 1) for at in range(len(keys)))}" if keys else ""
        chosen = ["", " HAVING COUNT(*) > 1", " HAVING MAX(r.b) > 0 OR MIN(r.s) = 'x'"]
        having = self.rng.choice(chosen) if keys else ""
        return f"SELECT {', '.join(shown)} FROM r{self._where()}{group}{having}"

    def _outer_join(self) -> str:
        kind = self.rng.choice(["LEFT", "RIGHT", "FULL"])
        more = " AND s.c > 0" if kind == "LEFT" and self.rng.random() < 0.5 else ""
        if self.rng.random() < 0.5:
            key = self.rng.choice(["r.a", "s.t", "COALESCE(r.s, s.t)"])
            return (
                f"SELECT {key} AS k, COUNT(s.c) AS n, SUM(r.b) AS t FROM r {kind} JOIN s "
                f"ON r.a = s.a{more} GROUP BY 1"
            )
        shown = f"{self.expressions.any()} AS x, s.c, COALESCE(s.t, 'none') AS t"
        return f"SELECT {shown} FROM r {kind} JOIN s ON r.a = s.a{more}"

    def _union(self) -> str:
        how = self.rng.choice(["UNION ALL", "UNION"])
        number = self.expressions.of("integer")
        text = self.expressions.of("text")
        return f"SELECT {number} AS x, {text} AS y FROM r {how} SELECT c, t FROM s"

    def _sets(self) -> str:
        how = self.rng.choice(["INTERSECT", "EXCEPT"])
        return f"SELECT {self.expressions.of('integer', 1)} AS x FROM r {how} SELECT a FROM s"

    def _first(self) -> str:
        key = self.expressions.any()
        order = self.rng.choice(["", " DESC", " NULLS FIRST", " DESC NULLS FIRST"])
        number = self.rng.randrange(1, 6)
        return (
            f"SELECT {key} AS k, r.a, r.b FROM r{self._where()} "
            f"ORDER BY k{order}, r.a, r.b, r.s, r.d, r.p, r.f, r.ts LIMIT {number}"
        )

    def _first_of_each(self) -> str:
        ranked = self.rng.choice(["ROW_NUMBER", "RANK", "DENSE_RANK"])
        by = ", ".join(f"r.{name}" for name in SCHEMAS["r"].names)
        by = by if ranked == "ROW_NUMBER" else "r.b DESC"
        number = self.rng.randrange(1, 3)
        over = f"{ranked}() OVER (PARTITION BY {self.expressions.any()} ORDER BY {by})"
        return f"SELECT r.a, r.b, r.s FROM r QUALIFY {over} <= {number}"

    def _nested(self) -> str:
        inner = f"SELECT r.a AS k, {self.expressions.of('integer')} AS v FROM r{self._where()}"
        return (
            f"WITH q AS ({inner}), g AS (SELECT k, SUM(v) AS t, COUNT(*) AS n FROM q GROUP BY k) "
            "SELECT g.k, g.t + 1 AS t, s.t AS u FROM g LEFT JOIN s ON g.k = s.a WHERE g.n > 0"
        )
