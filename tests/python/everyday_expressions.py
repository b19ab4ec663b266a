"""Random expressions over the columns of some tables, by type.

An expression of a type is drawn from columns, constants and functions of that type, so that each
function meets the results of all the others.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

Leaves = Mapping[str, list[str]]
_Of = Callable[[str], str]
_Node = Callable[[_Of], str]

KINDS = ["integer", "decimal", "double", "text", "day", "moment", "truth"]
NUMBERS = ["integer", "decimal", "double"]

_CONSTANTS: dict[str, list[str]] = {
    "integer": ["1", "3", "-2", "0"],
    "decimal": ["1.25", "0.5"],
    "double": ["2.5e0", "1e-1"],
    "text": ["'x'", "'Yy'", "'a-b'"],
    "day": ["DATE '2024-02-10'", "CAST('2024-01-31' AS DATE)"],
    "moment": ["TIMESTAMP '2024-01-31 10:00:00'"],
    "truth": ["TRUE", "NULL::BOOLEAN"],
}
_ANY: list[_Node] = [
    lambda e: f"CASE WHEN {e('truth')} THEN {e('same')} ELSE {e('same')} END",
    lambda e: f"CASE WHEN {e('truth')} THEN {e('same')} WHEN {e('truth')} THEN {e('same')} END",
    lambda e: f"CASE {e('integer')} WHEN 1 THEN {e('same')} WHEN 2 THEN {e('same')} END",
    lambda e: f"COALESCE({e('same')}, {e('same')})",
    lambda e: f"NULLIF({e('same')}, {e('same')})",
    lambda e: f"if({e('truth')}, {e('same')}, {e('same')})",
]
_ORDERED: list[_Node] = [
    lambda e: f"GREATEST({e('same')}, {e('same')})",
    lambda e: f"LEAST({e('same')}, {e('same')}, {e('same')})",
]
_NUMBER: list[_Node] = [
    lambda e: f"({e('same')} + {e('same')})",
    lambda e: f"({e('same')} - {e('same')})",
    lambda e: f"abs({e('same')})",
    lambda e: f"-{e('same')}",
]
_NODES: dict[str, list[_Node]] = {
    "integer": [
        *(_ANY + _ORDERED + _NUMBER),
        lambda e: f"({e('integer')} * {e('integer')})",
        lambda e: f"({e('integer')} % 3)",
        lambda e: f"({e('integer')} % {e('integer')})",
        lambda e: f"({e('integer')} // 2)",
        lambda e: f"({e('integer')} // {e('integer')})",
        lambda e: f"mod({e('integer')}, 2)",
        lambda e: f"({e('integer')} & {e('integer')})",
        lambda e: f"({e('integer')} | 5)",
        lambda e: f"xor({e('integer')}, 3)",
        lambda e: f"(abs({e('integer')}) % 8 << 2)",
        lambda e: f"({e('integer')} >> 1)",
        lambda e: f"~{e('integer')}",
        lambda e: f"({e('integer')} & -{e('integer')})",
        lambda e: f"(~{e('integer')} + {e('integer')} | {e('integer')} & 3)",
        lambda e: f"({e('integer')} - {e('integer')} * 2 % 5 << 1)",
        lambda e: f"year({e('day')})",
        lambda e: f"month({e('moment')})",
        lambda e: f"quarter({e('day')})",
        lambda e: f"week({e('day')})",
        lambda e: f"dayofweek({e('day')})",
        lambda e: f"hour({e('moment')})",
        lambda e: f"extract(month FROM {e('moment')})",
        lambda e: f"EXTRACT(day FROM {e('day')})",
        lambda e: f"date_part('dow', {e('day')})",
        lambda e: f"date_part('minute', {e('moment')})",
        lambda e: f"date_diff('day', {e('day')}, {e('day')})",
        lambda e: f"date_diff('month', {e('moment')}, {e('day')})",
        lambda e: f"({e('day')} - {e('day')})",
        lambda e: f"length({e('text')})",
        lambda e: f"strpos({e('text')}, 'y')",
        lambda e: f"position('e' IN {e('text')})",
        lambda e: f"CAST({e('double')} AS INTEGER)",
        lambda e: f"CAST({e('decimal')} AS BIGINT)",
        lambda e: f"CAST({e('truth')} AS INTEGER)",
        lambda e: f"{e('integer')}::SMALLINT",
        lambda e: f"TRY_CAST({e('text')} AS INTEGER)",
        lambda e: f"TRY_CAST({e('integer')} AS TINYINT)",
        lambda e: f"sign({e('integer')})",
        lambda e: f"ROUND({e('integer')})",
        lambda e: f"ifnull({e('integer')}, 0)",
    ],
    "decimal": [
        *(_ANY + _ORDERED + _NUMBER),
        lambda e: f"({e('decimal')} * 1.5)",
        lambda e: f"({e('decimal')} * {e('integer')})",
        lambda e: f"({e('decimal')} - {e('integer')})",
        lambda e: f"({e('decimal')} % 2)",
        lambda e: f"ROUND({e('decimal')}, 1)",
        lambda e: f"ROUND({e('decimal')})",
        lambda e: f"CEIL({e('decimal')})",
        lambda e: f"FLOOR({e('decimal')})",
        lambda e: f"CASE WHEN {e('truth')} THEN {e('decimal')} ELSE 0 END",
        lambda e: f"COALESCE({e('decimal')}, 0)",
        lambda e: f"CAST({e('integer')} AS DECIMAL(18, 2))",
        lambda e: f"CAST({e('decimal')} AS DECIMAL(12, 1))",
        lambda e: f"TRY_CAST({e('text')} AS DECIMAL(6, 2))",
    ],
    "double": [
        *(_ANY + _ORDERED + _NUMBER),
        lambda e: f"({e('double')} * {e('integer')})",
        lambda e: f"({e('double')} * {e('decimal')})",
        lambda e: f"({e('integer')} / 4)",
        lambda e: f"({e('integer')} + 3 * -{e('integer')} % 4 ^ 2)",
        lambda e: f"({e('integer')} / {e('integer')})",
        lambda e: f"({e('decimal')} / 8)",
        lambda e: f"({e('double')} % 2)",
        lambda e: f"({e('integer')} ^ 2)",
        lambda e: f"({e('integer')} ** 2)",
        lambda e: f"ROUND({e('double')}, 1)",
        lambda e: f"ROUND({e('double')})",
        lambda e: f"FLOOR({e('double')})",
        lambda e: f"CEIL({e('double')})",
        lambda e: f"SQRT(ABS({e('double')}))",
        lambda e: f"LN(ABS({e('double')}) + 1)",
        lambda e: f"CAST({e('integer')} AS DOUBLE)",
        lambda e: f"CAST(CAST({e('decimal')} AS FLOAT) AS DOUBLE)",
        lambda e: f"TRY_CAST({e('text')} AS DOUBLE)",
        lambda e: f"COALESCE({e('double')}, 0.0)",
        lambda e: f"power({e('double')}, 2)",
        lambda e: f"epoch({e('moment')})",
    ],
    "text": [
        *(_ANY + _ORDERED),
        lambda e: f"upper({e('text')})",
        lambda e: f"lower({e('text')})",
        lambda e: f"({e('text')} || {e('text')})",
        lambda e: f"({e('text')} || {e('integer')})",
        lambda e: f"concat({e('text')}, '-', {e('text')})",
        lambda e: f"concat({e('text')}, {e('integer')})",
        lambda e: f"concat_ws('/', {e('text')}, {e('text')})",
        lambda e: f"substring({e('text')}, 1, 2)",
        lambda e: f"substring({e('text')}, 2)",
        lambda e: f"SUBSTRING({e('text')} FROM 2 FOR 1)",
        lambda e: f"substr({e('text')}, -2)",
        lambda e: f"replace({e('text')}, 'y', 'z')",
        lambda e: f"trim({e('text')})",
        lambda e: f"trim({e('text')}, 'x')",
        lambda e: f"TRIM(LEADING 'x' FROM {e('text')})",
        lambda e: f"rtrim({e('text')})",
        lambda e: f"lpad({e('text')}, 3, '*')",
        lambda e: f"rpad({e('text')}, 3, '*')",
        lambda e: f"left({e('text')}, 1)",
        lambda e: f"right({e('text')}, 2)",
        lambda e: f"reverse({e('text')})",
        lambda e: f"repeat({e('text')}, 2)",
        lambda e: f"split_part({e('text')}, 'y', 1)",
        lambda e: f"split_part({e('text')}, '-', -1)",
        lambda e: f"CAST({e('integer')} AS VARCHAR)",
        lambda e: f"CAST({e('decimal')} AS VARCHAR)",
        lambda e: f"CAST({e('truth')} AS VARCHAR)",
        lambda e: f"CAST({e('day')} AS VARCHAR)",
        lambda e: f"{e('moment')}::TEXT",
        lambda e: f"strftime({e('day')}, '%Y-%m')",
        lambda e: f"strftime({e('moment')}, '%d.%m.%Y %H:%M:%S')",
        lambda e: f"monthname({e('day')})",
        lambda e: f"dayname({e('day')})",
        lambda e: f"regexp_replace({e('text')}, 'y', 'q')",
        lambda e: f"regexp_replace({e('text')}, '[aeiou]', '_', 'g')",
        lambda e: f"regexp_extract({e('text')}, '([a-z])y', 1)",
    ],
    "day": [
        *(_ANY + _ORDERED),
        lambda e: f"({e('day')} + 3)",
        lambda e: f"({e('day')} - 40)",
        lambda e: f"({e('day')} + {e('integer')} % 9)",
        lambda e: f"last_day({e('day')})",
        lambda e: f"CAST({e('moment')} AS DATE)",
        lambda e: f"date_trunc('month', {e('day')})::DATE",
        lambda e: f"COALESCE({e('day')}, DATE '2024-01-01')",
        lambda e: f"time_bucket(INTERVAL '7 days', {e('day')})",
        lambda e: f"TRY_CAST({e('text')} AS DATE)",
        lambda e: f"make_date(2024, 1 + abs({e('integer')} % 12), 5)",
    ],
    "moment": [
        *(_ANY + _ORDERED),
        lambda e: f"date_trunc('month', {e('moment')})",
        lambda e: f"date_trunc('hour', {e('moment')})",
        lambda e: f"date_trunc('week', {e('day')})",
        lambda e: f"date_trunc('quarter', {e('moment')})",
        lambda e: f"({e('day')} + INTERVAL 1 MONTH)",
        lambda e: f"({e('moment')} - INTERVAL '3' DAY)",
        lambda e: f"({e('moment')} + INTERVAL 2 HOUR)",
        lambda e: f"({e('moment')} + INTERVAL '1 month 2 days')",
        lambda e: f"time_bucket(INTERVAL '6 hours', {e('moment')})",
        lambda e: f"CAST({e('day')} AS TIMESTAMP)",
    ],
    "truth": [
        *_ANY,
        lambda e: f"({e('truth')} AND {e('truth')})",
        lambda e: f"({e('truth')} OR {e('truth')})",
        lambda e: f"NOT ({e('truth')})",
        lambda e: f"NOT {e('truth')}",
        lambda e: f"({e('integer')} < {e('integer')})",
        lambda e: f"({e('decimal')} >= {e('decimal')})",
        lambda e: f"({e('double')} > {e('integer')})",
        lambda e: f"({e('text')} <> {e('text')})",
        lambda e: f"({e('text')} != 'x')",
        lambda e: f"({e('moment')} >= {e('day')})",
        lambda e: f"({e('text')} LIKE '%y%')",
        lambda e: f"({e('text')} LIKE '_')",
        lambda e: f"({e('text')} NOT LIKE 'Z%')",
        lambda e: f"({e('text')} ILIKE 'X%')",
        lambda e: f"({e('text')} SIMILAR TO '[a-z]+')",
        lambda e: f"({e('integer')} IN (1, 2, NULL))",
        lambda e: f"({e('integer')} IN ({e('integer')}, {e('integer')}))",
        lambda e: f"({e('text')} NOT IN ('x', 'q'))",
        lambda e: f"({e('day')} BETWEEN DATE '2024-01-10' AND DATE '2024-03-01')",
        lambda e: f"({e('integer')} NOT BETWEEN 1 AND {e('integer')})",
        lambda e: f"({e('integer')} IS NULL)",
        lambda e: f"({e('text')} IS NOT NULL)",
        lambda e: f"({e('truth')} IS TRUE)",
        lambda e: f"((NOT {e('truth')}) IS NULL)",
        lambda e: f"(({e('truth')}) IS NOT NULL)",
        lambda e: f"((NOT {e('truth')}) < ({e('truth')}))",
        lambda e: f"(({e('truth')}) = ({e('integer')} IS NULL))",
        lambda e: f"((NOT {e('truth')}) IS NOT DISTINCT FROM ({e('truth')}))",
        lambda e: f"(({e('truth')}) IN (NOT {e('truth')}, ({e('text')} LIKE 'x%')))",
        lambda e: f"({e('truth')} IS NOT FALSE)",
        lambda e: f"({e('integer')} IS DISTINCT FROM {e('integer')})",
        lambda e: f"({e('text')} IS NOT DISTINCT FROM {e('text')})",
        lambda e: f"starts_with({e('text')}, 'x')",
        lambda e: f"ends_with({e('text')}, 'y')",
        lambda e: f"contains({e('text')}, 'e')",
        lambda e: f"regexp_matches({e('text')}, '^[xy]')",
        lambda e: f"regexp_full_match({e('text')}, '[a-z]*')",
        lambda e: f"(({e('integer')}, {e('text')}) IN ((1, 'x'), (2, 'yy')))",
    ],
}


# Of `own_functions`; their arguments have the declared types.
FUNCTIONS: dict[str, list[_Node]] = {
    "integer": [lambda e: f"bump(CAST({e('integer')} AS BIGINT))"],
    "double": [lambda e: f"scaled(CAST({e('decimal')} AS DECIMAL(10, 2)), {e('double')})"],
    "text": [
        lambda e: f"slug({e('text')})",
        lambda e: f"mix({e('text')}, CAST({e('integer')} AS BIGINT))",
    ],
    "truth": [lambda e: f"odd_or_null(CAST({e('integer')} AS BIGINT))"],
    "aggregate": [
        lambda e: f"spread(CAST({e('integer')} AS BIGINT))",
        lambda e: f"weighed(CAST({e('integer')} AS BIGINT))",
    ],
}


class Expressions:
    """Random expressions over columns of each kind; with functions of Python, one in six is one."""

    def __init__(
        self, rng: random.Random, leaves: Leaves, functions: Mapping[str, list[_Node]] | None = None
    ) -> None:
        self.rng = rng
        self.leaves = leaves
        self.functions = functions or {}

    def of(self, kind: str, depth: int = 2) -> str:
        """An expression of a kind."""
        if depth == 0 or self.rng.random() < 0.3:
            return self.leaf(kind)
        return self.call(kind, _NODES[kind], depth)

    def call(self, kind: str, nodes: list[_Node], depth: int) -> str:
        """One of these, or a function of Python, of expressions."""
        own = self.functions.get(kind)
        node = self.rng.choice(own if own and self.rng.random() < 1 / 6 else nodes)
        return node(lambda other: self.of(kind if other == "same" else other, depth - 1))

    def leaf(self, kind: str) -> str:
        """A column, or now and then a constant."""
        columns = self.leaves.get(kind, [])
        constant = not columns or self.rng.random() < 0.2
        return self.rng.choice(_CONSTANTS[kind] if constant else columns)

    def column(self, *kinds: str) -> str:
        """A column of one of these kinds."""
        return self.rng.choice([column for kind in kinds for column in self.leaves.get(kind, [])])

    def any(self, depth: int = 2) -> str:
        """An expression of any kind."""
        return self.of(self.rng.choice(KINDS), depth)

    def number(self, depth: int = 1) -> str:
        """A number."""
        return self.of(self.rng.choice(NUMBERS), depth)
