"""Random queries with window functions, and with aggregates that need all rows of a group.

Rows are ordered in full where DuckDB's answer would depend on the order of inserts.
"""

from __future__ import annotations

import random

from everyday import SCHEMAS

_ALL = ", ".join(f"r.{name}" for name in SCHEMAS["r"].names)
_NUMBERS = ["r.a", "r.b", "r.p", "r.f", "r.a + r.b"]
_ANY = [*_NUMBERS, "r.s", "r.d", "r.ts"]
_NULLS = ["", " NULLS FIRST", " DESC", " DESC NULLS FIRST", " DESC NULLS LAST"]
_TRUE = ["r.b > 0", "r.s = 'x'", "r.a IS NULL", "r.f < 1"]


class Windows:
    """Random queries."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def one(self) -> str:
        """A query."""
        shapes = [
            self._rows,
            self._rows,
            self._named,
            self._chosen,
            self._over_groups,
            self._groups,
            self._running,
            self._running,
            self._shares,
        ]
        shapes += [self._groups, self._sets, self._within, self._joined]
        return self.rng.choice(shapes)()

    def _of(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def _partition(self) -> str:
        return self._of("", "PARTITION BY r.a ", "PARTITION BY r.s, r.b ", "PARTITION BY r.b % 2 ")

    def _order(self) -> str:
        first = self._of(*_ANY) + self._of(*_NULLS)
        return f"ORDER BY {first}, {_ALL}"

    def _rows_frame(self) -> str:
        start = self._of("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING")
        end = self._of("CURRENT ROW", "1 FOLLOWING", "3 FOLLOWING", "UNBOUNDED FOLLOWING")
        if start == "1 FOLLOWING" and end == "CURRENT ROW":
            end = "2 FOLLOWING"
        if self.rng.random() < 0.15:
            start, end = "3 PRECEDING", "1 PRECEDING"
        return f"BETWEEN {start} AND {end}"

    def over(self) -> str:
        """A partition, an order and a frame, in which every row has one answer."""
        kind = self.rng.randrange(8)
        if kind == 0:
            return f"({self._partition()})"
        if kind == 1:
            return f"({self._partition()}{self._order()})"
        if kind == 2:
            key = self._of(*_ANY) + self._of(*_NULLS)
            return f"({self._partition()}ORDER BY {key})"
        if kind == 3:
            key = self._of("r.a", "r.b", "r.f") + self._of(*_NULLS)
            return f"({self._partition()}ORDER BY {key} RANGE {self._rows_frame()})"
        if kind == 4:
            key = self._of(*_ANY) + self._of(*_NULLS)
            return f"({self._partition()}ORDER BY {key} GROUPS {self._rows_frame()})"
        if kind >= 6:
            return self._far(self._partition())
        return f"({self._partition()}{self._order()} ROWS {self._rows_frame()})"

    def _far(self, partition: str) -> str:
        """A frame by the distance of days, moments, decimals or doubles."""
        key, distances = self.rng.choice(
            [
                ("r.d", ["INTERVAL 14 DAYS", "INTERVAL '1 month'", "INTERVAL (36) HOURS", "30"]),
                ("r.ts", ["INTERVAL 1 HOUR", "INTERVAL '2 months'", "INTERVAL '45' DAY"]),
                ("r.p", ["1.5", "0.75", "4"]),
                ("r.f", ["0.5", "2"]),
            ]
        )
        start = self._of("UNBOUNDED PRECEDING", f"{self._of(*distances)} PRECEDING", "CURRENT ROW")
        end = self._of("UNBOUNDED FOLLOWING", f"{self._of(*distances)} FOLLOWING", "CURRENT ROW")
        return f"({partition}ORDER BY {key}{self._of(*_NULLS)} RANGE BETWEEN {start} AND {end})"

    def _summed(self, over: str) -> str:
        number, value = self._of(*_NUMBERS), self._of(*_ANY)
        aggregate = self._of(
            "COUNT(*)",
            f"COUNT({value})",
            f"SUM({number})",
            f"AVG({number})",
            f"MIN({value})",
            f"MAX({value})",
            f"COUNT(DISTINCT {value})",
            f"SUM({number}) FILTER (WHERE {self._of(*_TRUE)})",
            f"COUNT(*) FILTER (WHERE {self._of(*_TRUE)})",
            "STDDEV_POP(r.b)",
            "VAR_SAMP(r.f)",
            f"MEDIAN({number})",
            f"QUANTILE_DISC({value}, 0.3)",
            "BIT_XOR(r.a)",
            "BOOL_OR(r.b > 1)",
        )
        return f"{aggregate} OVER {over}"

    def _numbered(self) -> str:
        value = self._of(*_ANY)
        nulls = self._of("", " IGNORE NULLS", " RESPECT NULLS")
        function = self._of(
            "ROW_NUMBER()",
            "RANK()",
            "DENSE_RANK()",
            "PERCENT_RANK()",
            "CUME_DIST()",
            f"NTILE({self.rng.randrange(1, 5)})",
            f"LAG({value})",
            f"LEAD({value}, 2)",
            f"LAG({value}{nulls})",
            "LAG(r.b, 1, 0)",
            "LAG(r.b, 2, r.b)",
            "LEAD(r.a, 1, r.a * 2 + r.b)",
            "LAG(r.s, 1, CASE WHEN r.b > 0 THEN r.s ELSE 'none' END)",
            "LEAD(r.b, -1)",
            "LEAD(r.s, 1, 'none')",
            f"FIRST_VALUE({value}{nulls})",
            f"LAST_VALUE({value}{nulls})",
            f"NTH_VALUE({value}, 2)",
        )
        frame = f" ROWS {self._rows_frame()}" if "_VALUE" in function else ""
        return f"{function} OVER ({self._partition()}{self._order()}{frame})"

    def window(self) -> str:
        """A window function."""
        return self._of(self._summed(self.over()), self._numbered())

    def _where(self) -> str:
        return self._of("", "", f" WHERE {self._of(*_TRUE)}")

    def _rows(self) -> str:
        shown = ", ".join(f"{self.window()} AS w{at}" for at in range(self.rng.randrange(1, 4)))
        return f"SELECT r.a, {self._of(*_ANY)} AS x, {shown} FROM r{self._where()}"

    def _running(self) -> str:
        """Numbers and sums of the rows before each, over one partition and order, with ties."""
        order = f"ORDER BY {self._of(*_ANY)}{self._of(*_NULLS)}"
        over = f"{self._partition()}{order}"
        number, value = self._of(*_NUMBERS), self._of(*_ANY)
        alike = [
            f"RANK() OVER ({over})",
            f"DENSE_RANK() OVER ({over})",
            f"SUM({number}) OVER ({over})",
            f"AVG({number}) OVER ({over})",
            f"COUNT({value}) OVER ({over})",
            f"SUM(r.b) FILTER (WHERE {self._of(*_TRUE)}) OVER ({over} GROUPS UNBOUNDED PRECEDING)",
            f"MIN({value}) OVER ({over})",
            f"MAX(r.s) FILTER (WHERE {self._of(*_TRUE)}) OVER ({over})",
            f"SUM({number}) OVER ({over} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
        ]
        # Between rows that are equal in the order DuckDB takes any.
        full = f"{over}, {_ALL}"
        alone = [
            f"ROW_NUMBER() OVER ({full})",
            f"SUM({number}) OVER ({full} ROWS UNBOUNDED PRECEDING)",
            f"COUNT(*) OVER ({full} ROWS UNBOUNDED PRECEDING)",
            f"AVG(r.p) OVER ({full})",
            f"FIRST_VALUE({value}) OVER ({full})",
            f"LAST_VALUE({value}) OVER ({full})",
            f"NTH_VALUE({value}, {self.rng.randrange(1, 5)}) OVER ({full})",
            f"MIN({value}) OVER ({full} ROWS UNBOUNDED PRECEDING)",
        ]
        functions = self._of("alike", "alone")
        some = self.rng.sample(
            {"alike": alike, "alone": alone}[functions], self.rng.randrange(1, 4)
        )
        shown = ", ".join(f"{one} AS w{at}" for at, one in enumerate(some))
        columns = self._of("r.a, r.b", _ALL, "r.s AS other, r.a + 1 AS next")
        return f"SELECT {columns}, {shown} FROM r{self._where()}"

    def _shares(self) -> str:
        """Rows beside what their partition has in all."""
        over = f"OVER ({self._partition()})"
        number = self._of(*_NUMBERS)
        shown = self._of(
            f"r.b / SUM(r.b) {over}",
            f"{number} - AVG({number}) {over}",
            f"100.0 * r.b / NULLIF(SUM(r.b) {over}, 0)",
            f"CASE WHEN {number} = MAX({number}) {over} THEN 'most' END",
            f"COUNT(*) {over} * 2 + 1",
        )
        chosen = self._of("", f" QUALIFY COUNT(*) {over} > 2", f" QUALIFY SUM({number}) {over} > 1")
        return f"SELECT r.a, r.f, {shown} AS share FROM r{self._where()}{chosen}"

    def _named(self) -> str:
        frame = self.over()
        if self.rng.random() < 0.5:
            key = self._of(*_ANY) + self._of(*_NULLS)
            rows = f"ROWS {self._rows_frame()}"
            return (
                f"SELECT r.b, {self._summed('v')} AS v, "
                f"{self._summed(f'(w ORDER BY {key})')} AS u, "
                f"{self._summed(f'(W {self._order()} {rows})')} AS t FROM r{self._where()} "
                f"WINDOW w AS ({self._partition()}), v AS (w ORDER BY {self._of(*_ANY)})"
            )
        return (
            f"SELECT r.b, {self._summed('w')} AS v, {self._summed('w')} AS u FROM r{self._where()} "
            f"WINDOW w AS {frame}"
        )

    def _chosen(self) -> str:
        ranked = f"ROW_NUMBER() OVER ({self._partition()}{self._order()})"
        kind = self.rng.randrange(4)
        if kind == 0:
            return "SELECT r.a, r.b FROM r QUALIFY SUM(r.b) OVER (PARTITION BY r.a) > 2"
        if kind == 1:
            return f"SELECT r.a, r.s, {ranked} AS n FROM r QUALIFY n <= 2"
        if kind == 2:
            return f"SELECT * FROM (SELECT r.a, r.b, {ranked} AS n FROM r) q WHERE b > 0 AND n <= 3"
        inner = f"SELECT r.a, r.b, {self.window()} AS w, {ranked} AS n FROM r"
        return f"SELECT a, COUNT(w) AS c, SUM(n) AS t FROM ({inner}) q WHERE n > 1 GROUP BY a"

    def _over_groups(self) -> str:
        by = self._of("k DESC", "n, k NULLS FIRST", "n DESC NULLS LAST, k")
        return (
            "SELECT r.a AS k, COUNT(*) AS n, SUM(SUM(r.b)) OVER () AS t, "
            f"RANK() OVER (ORDER BY COUNT(*) DESC) AS p, SUM(COUNT(*)) OVER (ORDER BY r.a) AS c, "
            f"ROW_NUMBER() OVER (ORDER BY COUNT(*), r.a) AS m FROM r{self._where()} "
            f"GROUP BY r.a ORDER BY {by}"
        )

    def _aggregate(self) -> str:
        number, value = self._of(*_NUMBERS), self._of(*_ANY)
        order = f"ORDER BY {self._of(*_ANY)}{self._of(*_NULLS)}, {_ALL}"
        share = self._of("0", "0.25", "0.5", "0.9", "1")
        chosen = self._of(
            f"MEDIAN({self._of(*_NUMBERS, 'r.d', 'r.ts')})",
            f"QUANTILE_CONT({self._of(*_NUMBERS, 'r.d', 'r.ts')}, {share})",
            f"QUANTILE_DISC({value}, {share})",
            f"QUANTILE({value}, {share})",
            f"PERCENTILE_CONT({share}) WITHIN GROUP (ORDER BY {number}{self._of('', ' DESC')})",
            f"PERCENTILE_DISC({share}) WITHIN GROUP (ORDER BY {number})",
            f"MODE() WITHIN GROUP (ORDER BY {value})",
            f"FIRST({value} {order})",
            f"LAST({value} {order})",
            f"ANY_VALUE({value} {order})",
            f"FIRST({value} {order}) FILTER (WHERE {self._of(*_TRUE)})",
            "ARG_MIN(r.b, r.b)",
            "MAX_BY(r.f, r.f)",
            f"STRING_AGG(r.s, '-' {order})",
            f"LISTAGG(r.s, ',' {order})",
            f"GROUP_CONCAT(r.s {order})",
            "STRING_AGG(DISTINCT r.s, '+' ORDER BY r.s)",
            "BIT_AND(r.a)",
            "BIT_OR(r.b)",
            "BIT_XOR(r.a)",
            "PRODUCT(r.b)",
            f"SUM(DISTINCT {number})",
            f"AVG(DISTINCT {number})",
            f"COUNT(DISTINCT {value})",
            "APPROX_COUNT_DISTINCT(r.a)",
            f"SUM({number})",
            f"AVG({number})",
            "COUNT(*)",
            f"MIN({value})",
            "STDDEV(r.b)",
            "BOOL_AND(r.b > 0)",
        )
        return chosen

    def _groups(self) -> str:
        shown = ", ".join(f"{self._aggregate()} AS v{at}" for at in range(self.rng.randrange(1, 4)))
        keys = self._of("", "r.a", "r.s", "r.a, r.b % 2")
        if not keys:
            return f"SELECT {shown} FROM r{self._where()}"
        return f"SELECT {keys}, {shown} FROM r{self._where()} GROUP BY {keys}"

    def _sets(self) -> str:
        how = self._of("ROLLUP (r.a, r.s)", "CUBE (r.a, r.s)", "GROUPING SETS ((r.a), (r.s), ())")
        return f"SELECT r.a, r.s, {self._aggregate()} AS v FROM r{self._where()} GROUP BY {how}"

    def _within(self) -> str:
        inner = f"SELECT r.a AS k, {self._aggregate()} AS v FROM r GROUP BY r.a"
        return f"SELECT s.c, q.v FROM s LEFT JOIN ({inner}) q ON s.a = q.k"

    def _joined(self) -> str:
        inner = f"SELECT r.a AS k, r.b, {self.window()} AS w FROM r"
        return f"SELECT q.b, q.w, s.t FROM ({inner}) q JOIN s ON q.k = s.a"
