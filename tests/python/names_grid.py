"""Queries whose names could mean several things: columns, merged columns, outputs, outer columns.

Four tables share names of columns, joins by name merge them, outputs take the names of columns, and
subqueries use names of the queries around. Most names are drawn from what is seen; a few are not,
and such queries are refused.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

TABLES = {"a": ["i", "x", "y"], "b": ["i", "k", "y"], "d": ["i", "x", "k"], "e": ["k", "v"]}
SCHEMAS = {
    table: pa.schema({name: pa.int64() for name in columns}) for table, columns in TABLES.items()
}
EVERY = ["i", "x", "y", "k", "v"]
OUTPUTS = ["o", "p", "x", "k", "i", "y"]
KINDS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
LIKE_ROWS = 4


class Names:
    """A query of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.aliases = 0
        # Names of a WITH, and their columns.
        self.given: dict[str, list[str]] = {}

    def query(self) -> str:
        """Its text."""
        rng = self.rng
        head = ""
        if rng.random() < 0.15:
            text, columns = self.select([], 1, is_inner=True)
            head = f"WITH w AS ({text}) "
            self.given = {"w": columns}
        text, columns = self.select([], 0)
        if rng.random() < 0.15:
            other, _ = self.select([], 1, width=len(columns))
            text = f"{text} {rng.choice(['UNION ALL', 'UNION', 'EXCEPT'])} {other}"
        return head + text

    def relation(self, depth: int) -> tuple[str, str, list[str]]:
        """A relation of FROM, what it is called, and its columns."""
        rng = self.rng
        if self.given and rng.random() < 0.3:
            return "w", "w", self.given["w"]
        if depth < 2 and rng.random() < 0.12:
            text, columns = self.select([], depth + 1, is_inner=True)
            self.aliases += 1
            alias = f"q{self.aliases}"
            if rng.random() < 0.3 and columns:
                columns = [rng.choice(EVERY), *columns[1:]]
                return f"({text}) {alias}({columns[0]})", alias, columns
            return f"({text}) {alias}", alias, columns
        table = rng.choice(list(TABLES))
        if rng.random() < 0.3:
            self.aliases += 1
            alias = f"t{self.aliases}"
            return f"{table} {alias}", alias, TABLES[table]
        return table, table, TABLES[table]

    def chain(self, depth: int) -> tuple[str, list[tuple[str, list[str]]], set[str]]:
        """A part of FROM, its relations, and the names that it merges."""
        rng = self.rng
        text, alias, columns = self.relation(depth)
        relations, merged, seen = [(alias, columns)], set(), list(columns)
        while rng.random() < 0.5 and len(relations) < 4:
            other, called, own = self.relation(depth)
            if called in [alias for alias, _ in relations]:
                continue
            shared = [name for name in own if name in seen]
            kind, way = rng.choice(KINDS), rng.random()
            if way < 0.35 and shared:
                names = rng.sample(shared, rng.randint(1, min(2, len(shared))))
                text += f" {kind} {other} USING ({', '.join(map(self.cased, names))})"
                merged |= set(names)
            elif way < 0.55 and shared:
                text += f" NATURAL {kind} {other}"
                merged |= set(shared)
            else:
                left = self.qualified(relations)
                text += f" {kind} {other} ON {left} = {called}.{rng.choice(own)}"
            relations.append((called, own))
            seen += own
        if rng.random() < 0.1 and len(relations) > 1:
            text = f"({text})"
        return text, relations, merged

    def qualified(self, relations: list[tuple[str, list[str]]]) -> str:
        alias, columns = self.rng.choice(relations)
        return f"{alias}.{self.rng.choice(columns)}"

    def cased(self, name: str) -> str:
        """In capitals now and then."""
        return name.upper() if self.rng.random() < 0.1 else name

    def value(self, seen: list[str], outer: list[str], depth: int, tables: Any) -> str:
        """An expression over names that are seen, or over those of the queries around."""
        rng, draw = self.rng, self.rng.random()
        if draw < 0.12 and depth < 2:
            return self.subquery(seen + outer, depth)
        if draw < 0.2:
            return str(rng.randint(0, 3))
        if draw < 0.35:
            return self.qualified(tables)
        if draw < 0.5:
            one = self.value(seen, outer, 2, tables)
            other = self.value(seen, outer, 2, tables)
            return f"{one} {rng.choice('+-')} {other}"
        if outer and draw < 0.65:
            return self.cased(rng.choice(outer))
        return self.cased(rng.choice(seen if rng.random() < 0.93 else EVERY + OUTPUTS))

    def subquery(self, outer: list[str], depth: int) -> str:
        """A subquery that is a value."""
        text, relations, merged = self.chain(depth + 1)
        seen = self.seen(relations, merged)
        shown = self.value(seen, outer, 2, relations)
        kept = self.condition(seen, outer, 2, relations)
        call = self.rng.choice(["max", "count", "sum"])
        return f"(SELECT {call}({shown}) FROM {text} WHERE {kept})"

    def condition(self, seen: list[str], outer: list[str], depth: int, tables: Any) -> str:
        rng = self.rng
        one = self.value(seen, outer, depth, tables)
        if depth < 2 and rng.random() < 0.2:
            text, relations, merged = self.chain(depth + 1)
            inner = self.seen(relations, merged)
            kept = self.condition(inner, seen + outer, 2, relations)
            if rng.random() < 0.5:
                return f"EXISTS (SELECT 1 FROM {text} WHERE {kept})"
            shown = self.value(inner, seen + outer, 2, relations)
            return f"{one} IN (SELECT {shown} FROM {text} WHERE {kept})"
        return f"{one} {rng.choice(['=', '<', '<>', '>='])} {self.value(seen, outer, 2, tables)}"

    def seen(self, relations: list[tuple[str, list[str]]], merged: set[str]) -> list[str]:
        """Names that one column has."""
        every = [name for _, columns in relations for name in columns]
        once = [name for name in every if every.count(name) == 1 or name in merged]
        return sorted(set(once)) or every

    def select(
        self, outer: list[str], depth: int, width: int = 0, is_inner: bool = False
    ) -> tuple[str, list[str]]:
        """A SELECT, and the names of its outputs."""
        rng = self.rng
        text, relations, merged = self.chain(depth)
        while rng.random() < 0.15 and len(relations) < 4:
            more, others, also = self.chain(depth)
            if not {alias for alias, _ in others} & {alias for alias, _ in relations}:
                text, relations, merged = f"{text}, {more}", relations + others, merged | also
        seen = self.seen(relations, merged)
        items: list[str] = []
        names: list[str] = []
        is_grouped = rng.random() < 0.3
        keys: list[str] = []
        if not is_grouped and not width and not is_inner and rng.random() < 0.15:
            items.append(
                rng.choice(["*", f"{rng.choice(relations)[0]}.*", f"* EXCLUDE ({seen[0]})"])
            )
        for at in range(width or rng.randint(1, 3)):
            sees = seen + [name for name in names if name not in seen]
            expr = self.value(sees, outer, depth, relations)
            if is_grouped and (at > 0 or rng.random() < 0.2):
                expr = f"{rng.choice(['sum', 'count', 'max'])}({expr})"
            name = rng.choice(OUTPUTS)
            is_bare = expr.lower() in EVERY
            if (is_inner and not is_bare) or rng.random() < 0.6:
                if name in names:
                    name = f"{name}{at}"
                items.append(f"{expr} AS {name}")
                names.append(name)
                if is_grouped and "(" not in expr:
                    keys.append(rng.choice([name, expr]))
            else:
                items.append(expr)
                names.append(expr.lower() if is_bare else f"n{at}")
                if is_grouped and "(" not in expr:
                    keys.append(expr)
        sees = seen + names if rng.random() < 0.5 else seen
        if rng.random() < 0.4:
            text += f" WHERE {self.condition(sees, outer, depth, relations)}"
        if is_grouped:
            keys = [key for key in keys if not key.isdigit()]
            if keys:
                text += f" GROUP BY {', '.join(keys)}"
            if rng.random() < 0.4:
                one = rng.choice([*names, f"max({self.value(sees, outer, 2, relations)})", *keys])
                text += f" HAVING {one} > {rng.randint(0, 2)}"
        elif rng.random() < 0.08:
            # A whole order: rows that are left are equal.
            every = [f"{alias}.{name}" for alias, columns in relations for name in columns]
            text += f" QUALIFY row_number() OVER (PARTITION BY {rng.choice(sees)} "
            text += f"ORDER BY {', '.join(every)}) = 1"
        distinct = "DISTINCT " if rng.random() < 0.08 and not is_grouped else ""
        text = f"SELECT {distinct}{', '.join(items)} FROM {text}"
        if depth == 0 and not width and "*" not in items[0] and rng.random() < 0.3:
            key = self.value([*names, *seen], outer, 2, relations)
            order = ", ".join([key, *(str(at + 1) for at in range(len(items)))])
            text += f" ORDER BY {order} LIMIT {rng.randint(1, 6)}"
        return text, names


def rows(rng: random.Random, table: str, count: int) -> list[dict[str, Any]]:
    """Rows of few values, NULL among them."""
    values = [None, 0, 1, 2, 3]
    return [{name: rng.choice(values) for name in TABLES[table]} for _ in range(count)]
