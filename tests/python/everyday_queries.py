"""Random queries of many shapes, nested in one another.

A shape reads tables, or subqueries that have a table's columns; so each shape meets the rows of the
others. No query depends on what DuckDB leaves open (ties, the order of equal rows).
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from everyday import columns
from everyday_windows import WindowQueries


@dataclass(frozen=True)
class Asked:
    """A query, its shape, and whether its rows are ordered."""

    shape: str
    sql: str
    is_ordered: bool = False


class Queries(WindowQueries):
    """Random queries, with functions of Python or without."""

    def __init__(self, rng: random.Random, functions: bool = False) -> None:
        super().__init__(rng, functions)
        self.shapes = {
            name.removeprefix("shape_"): getattr(self, name)
            for name in dir(self)
            if name.startswith("shape_")
        }

    def one(self, shape: str | None = None) -> Asked:
        """A query, of a shape if one is given."""
        shape = shape or self.rng.choice(list(self.shapes))
        sql = self.shapes[shape]()
        return Asked(shape, sql, shape == "ordered")

    def shape_rows(self) -> str:
        table = self._table()
        e = self._over(table)
        shown = ", ".join(f"{e.any()} AS c{at}" for at in range(3))
        distinct = self._of("", "", "DISTINCT ")
        return f"SELECT {distinct}{shown} FROM {self._source(table)}{self._where(e)}"

    def shape_names(self) -> str:
        n = self._over("r").of("integer", 1)
        return self._of(
            f"SELECT * EXCLUDE (b) FROM r -- a remark\n WHERE {n} > 0",
            f"SELECT * REPLACE ({n} AS a) FROM r",
            f'SELECT r.* EXCLUDE (b, d), s.t AS "my t" FROM {self._source("r")} JOIN s USING (a)',
            f"SELECT {n} AS x, x + 1 AS y /* more */ FROM r WHERE x > 0",
            f"SELECT {n} AS k, COUNT(*) AS n FROM r GROUP BY k HAVING n > 1",
            f'SELECT "r"."a" AS "A b", {n} AS "select" FROM "r" ORDER BY ALL LIMIT 100',
            'SELECT W."my text" AS t, w.DAY, COUNT(*) FROM W GROUP BY w."My Text", day',
            f"SELECT x.k + 1 AS k FROM (SELECT {n} FROM r) AS x(k)",
            f"SELECT {n} AS k, SUM(b) AS t FROM r GROUP BY ALL HAVING t > 0 ORDER BY t, k",
            "SELECT R.A, S.T FROM R, S WHERE R.A = S.A",
            "FROM s SELECT t, a WHERE c > 0",
        )

    def shape_groups(self) -> str:
        table = self._table()
        e, aggregate = self._over(table), self._aggregates(table)
        keys = [e.any() for _ in range(self.rng.randrange(3))]
        shown = [f"{key} AS k{at}" for at, key in enumerate(keys)]
        shown += [f"{aggregate.value()} AS v{at}" for at in range(2)]
        numbers = ", ".join(str(at + 1) for at in range(len(keys)))
        names = ", ".join(f"k{at}" for at in range(len(keys)))
        group = f" GROUP BY {self._of(numbers, names, ', '.join(keys), 'ALL')}" if keys else ""
        having = f" HAVING {aggregate.truth()}" if keys and self.rng.random() < 0.4 else ""
        distinct = self._of("", "", "", "DISTINCT ")
        source, where = self._source(table), self._where(e)
        return f"SELECT {distinct}{', '.join(shown)} FROM {source}{where}{group}{having}"

    def shape_ordered_groups(self) -> str:
        table = self._of("r", "w")
        e, aggregate = self._over(table), self._aggregates(table)
        key = e.any(1)
        shown = [f"{aggregate.of_ordered()} AS v{at}" for at in range(3)]
        where = self._where(e)
        return f"SELECT {key} AS k, {', '.join(shown)} FROM {self._source(table)}{where} GROUP BY k"

    def shape_sets(self) -> str:
        e, aggregate = self._over("r"), self._aggregates("r")
        one, other = self._of("r.a", "r.b % 2", "year(r.d)"), self._of("r.s", "r.d", e.any(1))
        sets = self._of(
            f"ROLLUP ({one}, {other})",
            f"CUBE ({one}, {other})",
            f"GROUPING SETS (({one}, {other}), ({one}), ())",
            f"GROUPING SETS (({one}), ({other}))",
            f"GROUPING SETS (({one}, {other}), ({other}))",
        )
        shown = f"{one} AS k, {other} AS l, GROUPING({one}) AS g, GROUPING({one}, {other}) AS gg"
        having = self._of("", "", " HAVING COUNT(*) > 1", f" HAVING GROUPING({one}) = 0")
        return (
            f"SELECT {shown}, {aggregate.value()} AS v FROM {self._source('r')}{self._where(e)} "
            f"GROUP BY {sets}{having}"
        )

    def shape_ordered(self) -> str:
        table = self._table()
        e = self._over(table)
        direction = self._of("", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " DESC NULLS LAST")
        limit = self._of("", f" LIMIT {self.rng.randrange(6)}", " LIMIT 3 OFFSET 2", " OFFSET 3")
        if self.rng.random() < 0.4:
            aggregate = self._aggregates(table).value()
            key = self._of("v", "v + 1", "COUNT(*)") if self._is_number(aggregate) else "v"
            return (
                f"SELECT {e.any(1)} AS k, {aggregate} AS v FROM {self._source(table)} GROUP BY k "
                f"ORDER BY {key}{direction}, k, v{limit}"
            )
        everything = ", ".join(columns(table))
        shown = f"{e.any()} AS k, {everything}"
        by = self._of("k", e.any(1), e.any(1))
        return (
            f"SELECT {shown} FROM {self._source(table)}{self._where(e)} "
            f"ORDER BY {by}{direction}, k, {everything}{limit}"
        )

    @staticmethod
    def _is_number(aggregate: str) -> bool:
        return aggregate.startswith(("SUM", "AVG", "COUNT"))

    def shape_first_of_each(self) -> str:
        ranked = self._of("ROW_NUMBER", "RANK", "DENSE_RANK")
        e = self._over("r")
        by = ", ".join(columns("r")) if ranked == "ROW_NUMBER" else f"{e.any(1)} DESC"
        over = f"{ranked}() OVER (PARTITION BY {e.any()} ORDER BY {by})"
        upto = self._of("<= 2", "= 1", "< 3")
        if self.rng.random() < 0.5:
            shown = self._of("r.a, r.b, r.s", f"{e.any(1)} AS x, r.a")
            return f"SELECT {shown} FROM {self._source('r')}{self._where(e)} QUALIFY {over} {upto}"
        return (
            f"SELECT a, b, s FROM (SELECT r.a, r.b, r.s, {over} AS k FROM {self._source('r')}) q "
            f"WHERE k {upto}"
        )

    def shape_outer_join(self) -> str:
        kind = self._of("LEFT", "RIGHT", "FULL", "LEFT OUTER")
        e = self._over("r", "s")
        more = self._of("", "", " AND s.c > 0", " AND r.b > s.c", f" AND {e.of('truth', 1)}")
        tables = f"{self._source('r')} {kind} JOIN {self._source('s')} ON r.a = s.a{more}"
        if self.rng.random() < 0.5:
            key = self._of("r.a", "s.t", "COALESCE(r.s, s.t)", e.any(1))
            aggregate = self._aggregates("r", "s").value()
            return f"SELECT {key} AS k, {aggregate} AS v FROM {tables}{self._where(e)} GROUP BY 1"
        shown = f"{e.any()} AS x, s.c, COALESCE(s.t, 'none') AS t"
        return f"SELECT {shown} FROM {tables}{self._where(e)}"

    def shape_asof(self) -> str:
        # Each key and time has one row, so that the latest one is determined.
        kind = self._of("ASOF JOIN", "ASOF LEFT JOIN", "ASOF INNER JOIN")
        one = self._of("s", f"(SELECT * FROM s WHERE {self._over('s').of('truth', 1)}) AS s")
        latest = f"(SELECT a, c, MIN(t) AS t FROM {one} GROUP BY a, c) AS s"
        e = self._over("r", "s")
        later = self._of("r.b >= s.c", "r.b > s.c", "s.c >= r.b", "r.b + 1 < s.c", "r.b % 3 >= s.c")
        tables = f"{self._source('r')} {kind} {latest} ON r.a = s.a AND {later}"
        shown = f"r.a, r.b, s.c, s.t, {e.any(1)} AS x"
        where, value = self._where(e), self._aggregates("r", "s").value()
        of_q = self._of("COUNT(q.c)", "SUM(q.b)", "MAX(q.t)", "MIN(q.c)")
        return self._of(
            f"SELECT {shown} FROM {tables}{where}",
            f"SELECT {e.any(1)} AS k, {value} AS v FROM {tables}{where} GROUP BY k",
            f"SELECT a, {of_q} AS v FROM (SELECT {shown} FROM {tables}) AS q GROUP BY a",
            f"SELECT q.a, q.x, {of_q} OVER (PARTITION BY q.a) AS v FROM (SELECT {shown} "
            f"FROM {tables}) AS q",
            f"SELECT q.b, w.a FROM (SELECT {shown} FROM {tables}) AS q LEFT JOIN w ON w.a = q.c",
            f"SELECT r.a, s.c FROM {tables} EXCEPT SELECT a, c FROM s",
            f"SELECT s.a, s.c FROM s WHERE s.c IN (SELECT q.c FROM (SELECT {shown} FROM {tables}) "
            "AS q WHERE q.a = s.a)",
        )

    def shape_several_joins(self) -> str:
        kinds = [self._of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN") for _ in range(2)]
        e = self._over("r", "s", "w")
        tables = (
            f"{self._source('r')} {kinds[0]} {self._source('s')} ON r.a = s.a "
            f"{kinds[1]} {self._source('w')} ON {self._of('w.a = r.a', 'w.a = s.a', 'w.a = s.c')}"
        )
        if self.rng.random() < 0.5:
            aggregate = self._aggregates("r", "s", "w").value()
            return f"SELECT {e.any(1)} AS k, {aggregate} AS v FROM {tables} GROUP BY k"
        return f"SELECT {e.any(1)} AS x, r.b, s.c, w.u8 FROM {tables}{self._where(e)}"

    def shape_conditions_across(self) -> str:
        e = self._over("r", "s")
        condition = self._of(
            f"({e.of('truth', 1)} OR s.c = r.b)",
            "NOT (r.b = s.c)",
            "r.b BETWEEN s.c AND s.c + 2",
            "r.b NOT BETWEEN s.a AND s.c",
            "(r.s = s.t OR s.t IS NULL)",
            f"{e.of('truth')}",
        )
        tables = self._of(
            f"{self._source('r')}, {self._source('s')} WHERE r.a = s.a AND {condition}",
            f"r JOIN {self._source('s')} ON r.a = s.a AND {condition}",
            f"r CROSS JOIN s WHERE {condition}",
            f"r JOIN s ON {condition}",
        )
        if self.rng.random() < 0.5:
            return f"SELECT {self._aggregates('r', 's').value()} AS v, COUNT(*) AS n FROM {tables}"
        return f"SELECT r.a, s.c, {e.any(1)} AS x FROM {tables}"

    def _predicate(self) -> str:
        """A condition on a subquery."""
        e, inner = self._over("r"), self._inner()
        where = self._of("", " WHERE s.c > 0", f" WHERE {self._over('s').of('truth', 1)}")
        return self._of(
            f"EXISTS (SELECT 1 FROM s WHERE {inner})",
            f"NOT EXISTS (SELECT * FROM s WHERE {inner})",
            f"r.a IN (SELECT s.a FROM s{where})",
            f"r.b IN (SELECT s.c FROM s WHERE {inner})",
            f"r.b NOT IN (SELECT s.c FROM s{where})",
            f"{e.of('integer', 1)} NOT IN (SELECT s.a FROM s{where})",
            f"{e.of('text', 1)} IN (SELECT s.t FROM s{where})",
            f"(r.a, r.s) IN (SELECT s.a, s.t FROM s{where})",
            f"r.b {self._of('>', '<=', '<>', '=')} {self._of('ANY', 'ALL')} "
            f"(SELECT s.c FROM s{where})",
            "r.b >= ALL (SELECT s.c FROM s WHERE s.a = r.a)",
            f"EXISTS (SELECT 1 FROM s{where})",
            f"{self._scalar()} > {e.of('integer', 1)}",
            f"r.b = {self._scalar()}",
        )

    def _scalar(self) -> str:
        """A subquery that is one number."""
        aggregate = self._of("COUNT(*)", "MAX(s.c)", "MIN(s.a)", "SUM(s.c)", "COUNT(DISTINCT s.t)")
        where = self._of("", " WHERE s.c > 0", " WHERE s.a = r.a", f" WHERE {self._inner()}")
        more = self._of("", "", " + 1")
        return f"(SELECT {aggregate}{more} FROM s{where})"

    def shape_subquery_where(self) -> str:
        e = self._over("r")
        one = self._predicate()
        condition = self._of(
            one,
            one,
            f"NOT {one}",
            f"({one} OR {e.of('truth', 1)})",
            f"({one} AND {self._predicate()})",
            f"({one} OR {self._predicate()})",
        )
        if self.rng.random() < 0.3:
            value = self._aggregates("r").value()
            return f"SELECT r.s, {value} AS v FROM r WHERE {condition} GROUP BY r.s"
        return f"SELECT r.a, r.b, {e.any(1)} AS x FROM {self._source('r')} WHERE {condition}"

    def shape_subquery_shown(self) -> str:
        one = self._of(self._predicate(), self._scalar(), f"COALESCE({self._scalar()}, 0)")
        value = self._of(one, one, f"CASE WHEN {self._predicate()} THEN 'yes' ELSE 'no' END")
        return (
            f"SELECT r.a, r.b, {value} AS x FROM {self._source('r')}{self._where(self._over('r'))}"
        )

    def shape_subquery_having(self) -> str:
        condition = self._of(
            "COUNT(*) > (SELECT COUNT(*) FROM s) / 3",
            "r.a IN (SELECT s.a FROM s WHERE s.c > 0)",
            "r.a NOT IN (SELECT s.a FROM s WHERE s.c > 0) OR COUNT(*) > 1",
            "SUM(r.b) > ANY (SELECT s.c FROM s)",
            "EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
            "MAX(r.b) >= (SELECT MAX(s.c) FROM s WHERE s.a = r.a)",
        )
        value = self._aggregates("r").value()
        return f"SELECT r.a, {value} AS v FROM {self._source('r')} GROUP BY r.a HAVING {condition}"

    def shape_set_operations(self) -> str:
        how = self._of("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
        e, f = self._over("r"), self._over("s")
        kinds = [self._of("integer", "text") for _ in range(2)]
        one = ", ".join(f"{e.of(kind, 1)} AS c{at}" for at, kind in enumerate(kinds))
        other = ", ".join(f.of(kind, 1) for kind in kinds)
        more = self._of(
            "", "", f" {self._of('UNION', 'EXCEPT', 'UNION ALL')} SELECT {other} FROM s"
        )
        return f"SELECT {one} FROM {self._source('r')} {how} SELECT {other} FROM s{more}"

    def shape_sides(self) -> str:
        """A query of another shape on both sides of a set operation, in parentheses or bare."""
        shapes = ["rows", "names", "groups", "sets", "asof", "outer_join", "by_name", "lateral"]
        shapes += ["conditions_across", "subquery_where", "subquery_shown", "subquery_having"]
        one = self.one(self._of(*shapes)).sql
        how = self._of("UNION ALL", "UNION", "INTERSECT ALL", "EXCEPT ALL")
        bare = not re.search(r"ORDER BY [^)]*$|--", one)
        one = one if bare and self.rng.random() < 0.7 else f"({one})"
        whole = f"{one} {how} {one}"
        return self._of(whole, f"SELECT COUNT(*) AS n FROM ({whole}) AS q")

    def shape_by_name(self) -> str:
        kinds = [self._of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN") for _ in range(2)]
        sides = (self._source("r"), self._source("s"))
        tables = f"{sides[0]} {kinds[0]} {sides[1]} USING (a)"
        if self.rng.random() < 0.4:
            tables += f" {kinds[1]} (SELECT a, u1, ok FROM w) AS w USING (a)"
        e = self._over("r", "s")
        where = self._where(e)
        return self._of(
            f"SELECT a, r.a AS ra, s.a AS sa, b, c FROM {tables}{where}",
            f"SELECT * FROM {tables}{where}",
            f"SELECT * EXCLUDE (b, d) FROM {tables}{where}",
            f"SELECT a, {self._aggregates('r', 's').value()} AS v FROM {tables}{where} GROUP BY a",
            f"SELECT a + 1 AS k, COUNT(*) AS n FROM {tables} GROUP BY ALL HAVING n > 1",
            f"SELECT a FROM {tables} WHERE a IN (SELECT a FROM w)",
        )

    def shape_values(self) -> str:
        values = "(VALUES (1, 'one'), (2, 'two'), (NULL, 'none'), (2, 'two')) AS v(x, name)"
        return self._of(
            f"SELECT v.name, COUNT(r.a) AS n FROM {values} LEFT JOIN r ON r.a = v.x GROUP BY name",
            f"SELECT v.name, r.b FROM r JOIN {values} ON r.a = v.x",
            f"SELECT r.a, r.b FROM r WHERE r.a IN (SELECT x FROM {values})",
            f"WITH v(x, name) AS (VALUES (1, 'one'), (3, 'three')) SELECT r.a, v.name FROM r, v "
            f"WHERE r.a >= v.x AND {self._over('r').of('truth', 1)}",
            f"SELECT x + 1 AS y FROM {values} UNION ALL "
            f"SELECT {self._over('r').of('integer')} FROM r",
        )

    def shape_with(self) -> str:
        e = self._over("r")
        inner = f"SELECT {e.of('integer', 1)} AS k, {e.of('integer')} AS v FROM {self._source('r')}"
        value = self._of("SUM(v)", "COUNT(*)", "MAX(v)", "COUNT(DISTINCT v)")
        head = (
            f"WITH q AS ({inner}), g AS (SELECT k, {value} AS t, COUNT(*) AS n FROM q GROUP BY k)"
        )
        return f"{head} " + self._of(
            "SELECT g.k, g.t + 1 AS t, s.t AS u FROM g LEFT JOIN s ON g.k = s.a WHERE g.n > 0",
            "SELECT x.k, x.t - y.t AS d FROM g AS x JOIN g AS y ON x.k = y.k + 1",
            "SELECT q.k, q.v, g.t FROM q JOIN g ON q.k = g.k WHERE q.v >= g.t",
            "SELECT q.k, q.v * 100.0 / g.n AS x FROM q LEFT JOIN g USING (k)",
            "SELECT COUNT(*) AS n, MAX(t) AS hi, AVG(n) AS m FROM g",
            "SELECT k, v FROM q WHERE v = (SELECT MAX(v) FROM q)",
            "SELECT k, t FROM g WHERE t > (SELECT AVG(t) FROM g) ORDER BY k, t",
            "SELECT k FROM q EXCEPT SELECT k FROM g WHERE n > 1",
        )

    def shape_lateral(self) -> str:
        value = self._of("COUNT(*)", "MAX(s.c)", "SUM(s.c) + 1", "COUNT(DISTINCT s.t)")
        inner = f"SELECT {value} AS v, MIN(s.t) AS m FROM s WHERE {self._inner()}"
        first = "SELECT s.c, s.t FROM s WHERE s.a = r.a ORDER BY s.c DESC, s.t LIMIT 2"
        return self._of(
            f"SELECT r.a, r.b, l.v FROM r CROSS JOIN LATERAL ({inner}) AS l",
            f"SELECT r.a, r.b, l.v, l.m FROM r, LATERAL ({inner}) AS l WHERE l.v > 0",
            f"SELECT r.a, l.v FROM {self._source('r')} LEFT JOIN LATERAL ({inner}) AS l ON TRUE",
            f"SELECT r.a, r.b, l.c, l.t FROM r CROSS JOIN LATERAL ({first}) AS l",
            f"SELECT r.a, r.b, l.c FROM r LEFT JOIN LATERAL ({first}) AS l ON TRUE",
        )
