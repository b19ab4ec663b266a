"""Random queries with window functions, over rows, joins, groups and subqueries."""

from __future__ import annotations

from everyday import columns
from everyday_sources import Sources
from windows import Windows


class WindowQueries(Sources):
    """Random queries with window functions."""

    def _window(self) -> str:
        """A window function over `r`. One a query: equal rows may swap its values."""
        return Windows(self.rng).window()

    def _of_peers(self) -> str:
        """A window function that is equal for equal rows."""
        value = self._of("r.b * 1.0 / SUM(r.b)", "SUM(r.b)", "MAX(r.s)", "COUNT(r.d)")
        number = self._of("RANK()", "DENSE_RANK()", "CUME_DIST()", "SUM(r.b)")
        by = self._of("r.b DESC", "r.s NULLS FIRST", "r.d, r.f")
        return self._of(
            f"{value} OVER (PARTITION BY r.a, r.s)",
            f"{number} OVER (PARTITION BY r.a ORDER BY {by})",
        )

    def shape_windows(self) -> str:
        e = self._over("r")
        shown = f"{e.any(1)} AS x, {self._window()} AS w, {self._of_peers()} AS v"
        qualify = self._of("", "", " QUALIFY COUNT(*) OVER (PARTITION BY r.a) > 1")
        return f"SELECT r.a, {shown} FROM {self._source('r')}{self._where(e)}{qualify}"

    def shape_windows_over_joins(self) -> str:
        # Rows of r that are equal may differ in s, which is not shown.
        kind = self._of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")
        e = self._over("r")
        shown = f"{e.any(1)} AS x, {self._of_peers()} AS v, {self._window()} AS w"
        tables = f"{self._source('r')} {kind} {self._source('s')} ON r.a = s.a"
        return f"SELECT {shown} FROM {tables}{self._where(e)}"

    def shape_windows_over_groups(self) -> str:
        e, aggregate = self._over("r"), self._aggregates("r")
        by = self._of("COUNT(*) DESC", "SUM(r.b)", "MAX(r.f) NULLS FIRST", "r.a DESC")
        over = self._of("", "PARTITION BY r.s ", "PARTITION BY r.a IS NULL ")
        number = self._of("RANK()", "DENSE_RANK()", "CUME_DIST()", "PERCENT_RANK()")
        summed = self._of("SUM(SUM(r.b))", "MAX(SUM(r.b))", "AVG(COUNT(*))", "SUM(COUNT(*))")
        frame = self._of("", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " GROUPS 1 PRECEDING")
        groups = self._of("r.a, r.s", "ROLLUP (r.a, r.s)", "GROUPING SETS ((r.a, r.s), (r.a))")
        having = self._of("", "", " HAVING COUNT(*) > 1")
        return (
            f"SELECT r.a, r.s, {aggregate.value()} AS v, {number} OVER ({over}ORDER BY {by}) AS k, "
            f"{summed} OVER ({over}ORDER BY r.a, r.s, COUNT(*), SUM(r.b){frame}) AS w "
            f"FROM {self._source('r')}{self._where(e)} GROUP BY {groups}{having}"
        )

    def shape_windows_within(self) -> str:
        everything = ", ".join(columns("r"))
        number = f"ROW_NUMBER() OVER (PARTITION BY r.a ORDER BY {everything})"
        rows = "(SELECT DISTINCT * FROM r) AS r"
        inner = f"SELECT r.a, r.b, {self._window()} AS w, {number} AS n FROM {rows}"
        value = self._of("COUNT(w)", "SUM(n)", "MAX(n)", "COUNT(DISTINCT w)", "MIN(w)")
        return self._of(
            f"SELECT a, {value} AS v FROM ({inner}) AS q WHERE n > 1 GROUP BY a",
            f"SELECT q.b, q.w, s.c FROM ({inner}) AS q LEFT JOIN s ON q.a = s.a AND q.n <= s.c",
            f"SELECT s.a, s.c FROM s WHERE s.c IN (SELECT n FROM ({inner}) AS q WHERE q.a = s.a)",
            f"SELECT s.a, (SELECT {value} FROM ({inner}) AS q WHERE q.a = s.a) AS v FROM s",
            f"SELECT a, w FROM ({inner}) q UNION ALL SELECT a, w FROM ({inner}) p WHERE n = 1",
            f"WITH q AS ({inner}) SELECT x.a, x.w, y.w AS v FROM q AS x JOIN q AS y "
            "ON x.a = y.a AND x.n = y.n + 1",
            f"WITH q AS ({inner}) SELECT a, n, SUM(b) OVER (PARTITION BY a ORDER BY n) AS t FROM q",
            "SELECT r.a, r.b, l.n, l.k FROM r CROSS JOIN LATERAL (SELECT s.c AS n, "
            f"RANK() OVER (ORDER BY s.c DESC) AS k FROM s WHERE {self._inner()}) AS l",
            f"SELECT r.a, r.s FROM r WHERE EXISTS (SELECT 1 FROM s WHERE {self._inner()} "
            f"QUALIFY SUM(s.c) OVER (ORDER BY s.c) > {self.rng.randrange(3)})",
            "SELECT r.a, r.b FROM r WHERE r.b IN (SELECT RANK() OVER (ORDER BY s.c, s.t) FROM s "
            f"WHERE {self._inner()})",
        )
