"""Recursive queries over small graphs with cycles, loops, rows that come twice, and NULL; random changes of them.

``e`` has any edges, ``d`` edges from lower to higher nodes (so a recursion over them ends), ``p`` the names of nodes,
``s`` nodes to start at.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

NODES = 7
EDGE = pa.schema({"a": pa.int64(), "b": pa.int64()})
SCHEMAS = {
    "e": EDGE,
    "d": EDGE,
    "p": pa.schema({"a": pa.int64(), "name": pa.string()}),
    "s": pa.schema({"n": pa.int64()}),
}
Row = dict[str, Any]
Rows = dict[str, list[Row]]

# Kept by the derivations of their rows: `UNION`, each row once.
DISTINCT = {
    "closure": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e "
    "ON r.b = e.a) SELECT a, b FROM r",
    "closure to the right": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION SELECT e.a, r.b "
    "FROM e JOIN r ON e.b = r.a) SELECT * FROM r",
    "closure of both ways": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION (SELECT r.a, e.b "
    "FROM r JOIN e ON r.b = e.a UNION ALL SELECT r.b, r.a FROM r)) SELECT * FROM r",
    "reached from a constant": "WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT e.b FROM r, e "
    "WHERE r.n = e.a) SELECT n FROM r",
    "reached from a table": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT b FROM r JOIN e "
    "ON n = a WHERE b IS NOT NULL) SELECT n FROM r",
    "not through some": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT b FROM r JOIN e ON "
    "n = a WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.a = e.b)) SELECT n FROM r",
    "with outer joins": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT COALESCE(b, 0) FROM r "
    "LEFT JOIN e ON n = a) SELECT n FROM r",
    "hops": "WITH RECURSIVE r(n, h) AS (SELECT n, 0 FROM s UNION SELECT b, h + 1 FROM r JOIN e ON "
    "n = a WHERE h < 4) SELECT n, MIN(h) AS h FROM r GROUP BY n",
    "pairs by hops": "WITH RECURSIVE r(a, b, h) AS (SELECT a, b, 1 FROM e UNION SELECT r.a, e.b, "
    "h + 1 FROM r JOIN e ON r.b = e.a WHERE h < 3) SELECT a, b, MIN(h) AS h FROM r GROUP BY a, b",
    "same generation": "WITH RECURSIVE g(x, y) AS (SELECT p.b, q.b FROM d p JOIN d q ON p.a = q.a "
    "WHERE p.b <> q.b UNION SELECT p.b, q.b FROM g JOIN d p ON p.a = g.x JOIN d q ON q.a = g.y) "
    "SELECT x, y FROM g",
    "joined and counted": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b FROM "
    "r JOIN e ON r.b = e.a) SELECT name, COUNT(*) AS n FROM r JOIN p ON p.a = r.b GROUP BY name",
    "distinct within": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT DISTINCT b FROM r JOIN e "
    "ON n = a) SELECT n FROM r",
    "two of them": "WITH RECURSIVE r(n) AS (SELECT 1 AS n UNION SELECT b FROM r JOIN e ON n = a), "
    "q(n) AS (SELECT n FROM r UNION SELECT b FROM q JOIN d ON n = a) SELECT q.n, r.n AS m FROM q "
    "LEFT JOIN r ON q.n = r.n",
    "read twice": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT b FROM r JOIN e ON n = a) "
    "SELECT (SELECT COUNT(*) FROM r) AS n, (SELECT MAX(n) FROM r) AS m",
    "over sums": "WITH RECURSIVE q(a, b, n) AS (SELECT a, b, COUNT(*) FROM e GROUP BY a, b), r(a, n) "
    "AS (SELECT n, CAST(1 AS BIGINT) FROM s UNION SELECT q.b, q.n FROM r JOIN q ON r.a = q.a) "
    "SELECT * FROM r",
    "names in both": "WITH RECURSIVE e(n) AS (SELECT n FROM s UNION SELECT d.b FROM e JOIN d ON "
    "e.n = d.a) SELECT n FROM e",
    "NULL and texts": "WITH RECURSIVE r(n, t) AS (SELECT a, name FROM p UNION SELECT e.b, r.t FROM r "
    "JOIN e ON r.n = e.a WHERE r.t IS NULL OR r.t <> 'x') SELECT * FROM r",
    "doubles": "WITH RECURSIVE r(x) AS (SELECT n / 2 FROM s UNION SELECT -x FROM r) SELECT x FROM r",
    "the outer query filters": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b "
    "FROM r JOIN e ON r.b = e.a) SELECT s.n, r.b FROM s LEFT JOIN r ON r.a = s.n AND r.b > 2",
    "in a subquery": "SELECT p.name FROM p WHERE p.a IN (WITH RECURSIVE r(n) AS (SELECT n FROM s "
    "UNION SELECT b FROM r JOIN e ON n = a) SELECT n FROM r)",
    "IN": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT b FROM e WHERE a IN (SELECT n FROM r)) "
    "SELECT n FROM r",
    "EXISTS": "WITH RECURSIVE r(n) AS (SELECT 1 AS n UNION SELECT b FROM e WHERE EXISTS (SELECT 1 "
    "FROM r WHERE r.n = e.a)) SELECT n FROM r",
}

# The same with multiplicities: `UNION ALL`.
BAGS = {
    "numbers": "WITH RECURSIVE t(n) AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 9) "
    "SELECT n FROM t",
    "numbers from rows": "WITH RECURSIVE t(n) AS (SELECT n FROM s UNION ALL SELECT n + 1 FROM t WHERE "
    "n < 6) SELECT n, COUNT(*) AS k FROM t GROUP BY n",
    "days": "WITH RECURSIVE t(d) AS (SELECT DATE '2026-01-30' AS d UNION ALL SELECT d + 1 FROM t WHERE "
    "d < DATE '2026-02-03') SELECT d, n FROM t CROSS JOIN s",
    "walks": "WITH RECURSIVE r(a, b, h) AS (SELECT a, b, 1 FROM e UNION ALL SELECT r.a, e.b, h + 1 "
    "FROM r JOIN e ON r.b = e.a WHERE h < 3) SELECT a, b, h, COUNT(*) AS n FROM r GROUP BY a, b, h",
    "walks as rows": "WITH RECURSIVE r(b, h) AS (SELECT n, 0 FROM s UNION ALL SELECT e.b, h + 1 FROM r "
    "JOIN e ON r.b = e.a WHERE h < 3) SELECT b, h FROM r",
    "paths": "WITH RECURSIVE r(n, path) AS (SELECT a, name FROM p UNION ALL SELECT d.b, r.path || '/' "
    "|| p.name FROM r JOIN d ON r.n = d.a JOIN p ON p.a = d.b) SELECT n, path FROM r",
    "parts": "WITH RECURSIVE r(a, b, q) AS (SELECT d.a, d.b, d.a + 1 FROM d UNION ALL SELECT r.a, d.b, "
    "r.q * (d.b + 1) FROM r JOIN d ON r.b = d.a) SELECT a, b, SUM(q) AS q FROM r GROUP BY a, b",
    "lists": "WITH RECURSIVE r(n, path) AS (SELECT n, [n] FROM s UNION ALL SELECT e.b, "
    "list_append(path, e.b) FROM r JOIN e ON r.n = e.a WHERE NOT list_contains(path, e.b)) "
    "SELECT n, len(path) AS h FROM r",
    "two steps": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION ALL (SELECT n + 1 FROM r WHERE n < 5 "
    "UNION ALL SELECT n + 2 FROM r WHERE n < 4)) SELECT n, COUNT(*) AS k FROM r GROUP BY n",
    "outer joins": "WITH RECURSIVE r(n, h) AS (SELECT n, 0 FROM s UNION ALL SELECT e.b, h + 1 FROM r "
    "LEFT JOIN e ON r.n = e.a WHERE h < 2) SELECT n, h FROM r",
    "each level once": "WITH RECURSIVE r(n, h) AS (SELECT n, 0 FROM s UNION ALL SELECT DISTINCT e.b, "
    "h + 1 FROM r JOIN e ON r.n = e.a WHERE h < 3) SELECT n, h FROM r",
    "narrower types": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION ALL SELECT n + 0.6 FROM r WHERE "
    "n < 4) SELECT n FROM r",
    "doubling": "WITH RECURSIVE f(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM f WHERE b < 50) "
    "SELECT a FROM f",
    "values": "WITH RECURSIVE t(n) AS (VALUES (1), (2), (1) UNION ALL SELECT n + 2 FROM t WHERE n < 4) "
    "SELECT n FROM t",
}

# Computed anew: what follows UNION reads the rows of a round together.
ANEW = {
    "the greatest": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION ALL SELECT MAX(n) + 1 FROM r WHERE "
    "n < 5 HAVING MAX(n) IS NOT NULL) SELECT n FROM r",
    "not in": "WITH RECURSIVE r(n) AS (SELECT 1 AS n UNION SELECT b FROM e WHERE b IS NOT NULL AND a "
    "NOT IN (SELECT n FROM r)) SELECT n FROM r",
    "with itself": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION SELECT x.a, y.b FROM r x JOIN "
    "r y ON x.b = y.a) SELECT a, b FROM r",
    "the first": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION ALL (SELECT n + 1 FROM r WHERE n < 5 "
    "ORDER BY n LIMIT 1)) SELECT n FROM r",
    "numbered": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION ALL SELECT n + ROW_NUMBER() OVER (ORDER "
    "BY n) FROM r WHERE n < 5) SELECT n FROM r",
    "in common": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION SELECT n + 1 FROM r WHERE n < 5 "
    "INTERSECT SELECT b FROM e) SELECT n FROM r",
    "constant beside": "WITH RECURSIVE r(n) AS (SELECT n FROM s UNION (SELECT b FROM r JOIN e ON n = a "
    "UNION SELECT a FROM p)) SELECT n FROM r",
    "grouped": "WITH RECURSIVE r(n, k) AS (SELECT n, CAST(1 AS BIGINT) FROM s UNION ALL SELECT e.b, "
    "COUNT(*) FROM r JOIN e ON r.n = e.a WHERE k < 4 AND e.b > e.a GROUP BY e.b) SELECT n, k FROM r",
}


def rows(rng: random.Random, table: str, number: int) -> list[Row]:
    """Random rows of a table; few nodes, so that edges come twice and close cycles."""

    def node() -> int | None:
        return None if rng.random() < 0.05 else rng.randrange(NODES)

    def one() -> Row:
        if table == "d":
            a, b = sorted(rng.sample(range(NODES), 2))
            return {"a": a, "b": b}
        if table == "p":
            return {"a": node(), "name": rng.choice(["x", "y", "z", None])}
        if table == "s":
            return {"n": node()}
        return {"a": node(), "b": node()}

    return [one() for _ in range(number)]


def held(rng: random.Random) -> Rows:
    """Rows to start with."""
    sizes = {"e": 8, "d": 6, "p": 3, "s": 2}
    return {table: rows(rng, table, rng.randrange(size + 1)) for table, size in sizes.items()}


def changes(rng: random.Random, there: Rows) -> tuple[Rows, Rows, Rows]:
    """What comes, what goes, and what is there then; some of what goes comes again."""
    come: Rows = {}
    gone: Rows = {}
    then = {table: list(own) for table, own in there.items()}
    for table, own in then.items():
        if rng.random() < 0.4:
            come[table], gone[table] = [], []
            continue
        often = rng.randrange(min(3, len(own) + 1))
        gone[table] = [own.pop(rng.randrange(len(own))) for _ in range(often)]
        most = 3 if len(own) < 10 else 2
        come[table] = rows(rng, table, rng.randrange(most)) + gone[table][: rng.randrange(2)]
        own.extend(come[table])
    return come, gone, then


def everything() -> Iterator[tuple[str, str]]:
    """All queries by name."""
    for kind in (DISTINCT, BAGS, ANEW):
        yield from kind.items()
