"""Parts of random queries: tables, subqueries in their place, expressions over their columns."""

from __future__ import annotations

import random

from everyday import LEAVES, columns
from everyday_aggregates import Aggregates
from everyday_expressions import FUNCTIONS, Expressions


class Sources:
    """Random parts of queries, with functions of Python or without."""

    def __init__(self, rng: random.Random, functions: bool = False) -> None:
        self.rng = rng
        self.functions = FUNCTIONS if functions else {}

    def _of(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def _over(self, *tables: str) -> Expressions:
        leaves: dict[str, list[str]] = {}
        for table in tables:
            for kind, found in LEAVES[table].items():
                leaves.setdefault(kind, []).extend(found)
        return Expressions(self.rng, leaves, self.functions)

    def _aggregates(self, *tables: str) -> Aggregates:
        order = [column for table in tables for column in columns(table)]
        return Aggregates(self.rng, self._over(*tables), order)

    def _source(self, table: str) -> str:
        """A table for FROM, or a subquery with its columns."""
        if self.rng.random() < 0.75:
            return table
        e = self._over(table)
        everything = ", ".join(columns(table))
        where = f" WHERE {e.of('truth', 1)}"
        inner = self._of(
            f"SELECT * FROM {table}{where}",
            f"FROM {table}{where}",
            f"SELECT DISTINCT * FROM {table}",
            f"SELECT * FROM {table} UNION ALL SELECT * FROM {table}{where}",
            f"SELECT * FROM {table} EXCEPT SELECT * FROM {table}{where}",
            f"SELECT {everything} FROM {table} GROUP BY ALL HAVING COUNT(*) < 3",
            f"SELECT * FROM {table} ORDER BY {everything} LIMIT 5",
            f"SELECT * FROM {table} QUALIFY ROW_NUMBER() OVER "
            f"(PARTITION BY {table}.a ORDER BY {everything}) <= 2",
            f"SELECT {table}.* FROM {table} LEFT JOIN s AS z ON {table}.a = z.a",
            f"SELECT * FROM {table} WHERE {table}.a IN (SELECT a FROM s)",
        )
        return f"({inner}) AS {table}"

    def _table(self) -> str:
        return self._of("r", "r", "w", "s")

    def _where(self, e: Expressions) -> str:
        return self._of("", f" WHERE {e.of('truth')}", f" WHERE {e.of('truth', 1)}")

    def _inner(self) -> str:
        """The conditions of a subquery over `s` on `r` around it."""
        e = self._over("s")
        more = self._of("", "", " AND s.c > 0", " AND s.c < r.b", f" AND {e.of('truth', 1)}")
        return f"s.a = r.a{more}"
