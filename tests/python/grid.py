"""A grid of subqueries: each body, in each place of a query, correlated in each way.

Tables are l (outside), r and s (inside), and m, which l is joined with. `queries` gives all of
them, `slice_of` each so many-th, which walks through all bodies, places and ways.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

COLUMNS = pa.schema({"k": pa.int64(), "a": pa.int64(), "b": pa.int64()})
TABLES = ("l", "r", "s", "m")

WAYS = {
    "equal": "r.k = l.k",
    "below": "r.k < l.k",
    "other": "r.k <> l.k",
    "either": "(r.k = l.k OR r.a = l.a)",
    "outer": "l.a = 1",
    "none": "r.a > 0",
    "nulls": "r.k IS NOT DISTINCT FROM l.k",
    "more": "r.k = l.k AND r.b > l.b",
}

BODIES = {
    "rows": "SELECT r.b FROM r WHERE {c}",
    "max": "SELECT MAX(r.b) FROM r WHERE {c}",
    "min": "SELECT MIN(r.b) FROM r WHERE {c}",
    "sum": "SELECT SUM(r.b) FROM r WHERE {c}",
    "count": "SELECT COUNT(*) FROM r WHERE {c}",
    "count of": "SELECT COUNT(r.b) FROM r WHERE {c}",
    "count distinct": "SELECT COUNT(DISTINCT r.b) FROM r WHERE {c}",
    "average": "SELECT AVG(r.b) FROM r WHERE {c}",
    "sum and outer": "SELECT SUM(r.b) + l.b FROM r WHERE {c}",
    "sum of both": "SELECT SUM(r.b * l.b) FROM r WHERE {c}",
    "greatest of both": "SELECT MAX(r.b + l.a) FROM r WHERE {c}",
    "filter of both": "SELECT COUNT(*) FILTER (WHERE r.b > l.b) FROM r WHERE {c}",
    "groups of both": "SELECT r.b + l.b FROM r WHERE {c} GROUP BY r.b + l.b",
    "filter": "SELECT COUNT(*) FILTER (WHERE r.b > 1) FROM r WHERE {c}",
    "coalesced": "SELECT COALESCE(SUM(r.b), -1) FROM r WHERE {c}",
    "groups": "SELECT r.b FROM r WHERE {c} GROUP BY r.b",
    "counts": "SELECT COUNT(*) FROM r WHERE {c} GROUP BY r.k",
    "groups having": "SELECT SUM(r.b) FROM r WHERE {c} GROUP BY r.k HAVING COUNT(*) > 1",
    "having": "SELECT MAX(r.b) FROM r WHERE {c} HAVING COUNT(*) > 1",
    "having nothing": "SELECT COUNT(*) FROM r WHERE {c} HAVING COUNT(*) = 0",
    "distinct": "SELECT DISTINCT r.b FROM r WHERE {c}",
    "first": "SELECT r.b FROM r WHERE {c} ORDER BY r.b LIMIT 1",
    "second": "SELECT r.b FROM r WHERE {c} ORDER BY r.b DESC NULLS LAST LIMIT 1 OFFSET 1",
    "union all": "SELECT r.b FROM r WHERE {c} UNION ALL SELECT s.b FROM s WHERE s.k = l.k",
    "union": "SELECT r.b FROM r WHERE {c} UNION SELECT s.b FROM s",
    "intersect": "SELECT r.b FROM r WHERE {c} INTERSECT SELECT s.b FROM s WHERE s.k = l.k",
    "except": "SELECT r.b FROM r WHERE {c} EXCEPT SELECT s.b FROM s",
    "join": "SELECT MAX(s.b) FROM r JOIN s ON r.a = s.a WHERE {c}",
    "join rows": "SELECT s.b FROM r JOIN s ON r.a = s.a WHERE {c}",
    "left join": "SELECT COUNT(s.b) FROM r LEFT JOIN s ON r.a = s.a WHERE {c}",
    "full join": "SELECT MAX(s.b) FROM r FULL JOIN s ON r.a = s.a WHERE {c}",
    "cte": "WITH w AS (SELECT * FROM r WHERE r.b > 0) SELECT SUM(r.b) FROM w r WHERE {c}",
    "derived": "SELECT x.m FROM (SELECT MAX(r.b) AS m FROM r WHERE {c}) x",
    "derived filter": "SELECT x.m FROM (SELECT COUNT(*) AS m FROM r WHERE {c}) x WHERE x.m <> 1",
    "two levels": "SELECT MAX(r.b) FROM r WHERE {c} "
    "AND r.a >= (SELECT MIN(s.a) FROM s WHERE s.k = l.k)",
    "exists within": "SELECT COUNT(*) FROM r WHERE {c} "
    "AND EXISTS (SELECT 1 FROM s WHERE s.k = r.k AND s.a = l.a)",
    "window": "SELECT ROW_NUMBER() OVER (ORDER BY r.b, r.a, r.k) FROM r WHERE {c}",
    "window sum": "SELECT SUM(r.b) OVER () FROM r WHERE {c}",
    "sets": "SELECT COUNT(*) FROM r WHERE {c} GROUP BY GROUPING SETS ((), (r.b))",
    "total": "SELECT SUM(r.b) FROM r WHERE {c} GROUP BY ROLLUP (r.b)",
    "unnest": "SELECT UNNEST([r.a, r.b]) FROM r WHERE {c}",
    "constant": "SELECT 1 FROM r WHERE {c}",
    "outer column": "SELECT l.b FROM r WHERE {c}",
    "values": "SELECT x FROM (VALUES (1), (2)) v(x) WHERE x = l.a",
}

PLACES = {
    "value": "SELECT l.k, l.a, ({q}) AS x FROM l",
    "value or": "SELECT l.k, COALESCE(({q}), 7) AS x FROM l",
    "value plus": "SELECT l.k, l.b + ({q}) AS x FROM l",
    "above": "SELECT l.k, l.b FROM l WHERE l.b > ({q})",
    "same": "SELECT l.k, l.b FROM l WHERE l.b = ({q})",
    "null": "SELECT l.k, l.b FROM l WHERE ({q}) IS NULL",
    "exists": "SELECT l.k, l.b FROM l WHERE EXISTS ({q})",
    "not exists": "SELECT l.k, l.b FROM l WHERE NOT EXISTS ({q})",
    "in": "SELECT l.k, l.b FROM l WHERE l.b IN ({q})",
    "not in": "SELECT l.k, l.b FROM l WHERE l.b NOT IN ({q})",
    "any": "SELECT l.k, l.b FROM l WHERE l.b < ANY ({q})",
    "all": "SELECT l.k, l.b FROM l WHERE l.b >= ALL ({q})",
    "or": "SELECT l.k, l.b FROM l WHERE l.b = 1 OR EXISTS ({q})",
    "or in": "SELECT l.k, l.b FROM l WHERE l.a = 1 OR l.b IN ({q})",
    "exists shown": "SELECT l.k, EXISTS ({q}) AS x FROM l",
    "in shown": "SELECT l.k, l.b, l.b IN ({q}) AS x FROM l",
    "case": "SELECT l.k, CASE WHEN l.b NOT IN ({q}) THEN 1 ELSE 0 END AS x FROM l",
    "lateral": "SELECT l.k, q.x FROM l, LATERAL ({q}) q(x)",
    "left lateral": "SELECT l.k, q.x FROM l LEFT JOIN LATERAL ({q}) q(x) ON TRUE",
    "argument": "SELECT l.k, SUM(({q})) AS x FROM l GROUP BY l.k",
    "grouped": "SELECT l.k, l.a, l.b, COUNT(*) AS n FROM l GROUP BY l.k, l.a, l.b "
    "HAVING COUNT(*) >= ({q})",
    "grouped exists": "SELECT l.k, l.a, l.b, COUNT(*) AS n FROM l GROUP BY l.k, l.a, l.b "
    "HAVING EXISTS ({q})",
    "key": "SELECT ({q}) AS x, COUNT(*) AS n FROM l GROUP BY 1",
    "below": "SELECT w.x, COUNT(*) AS n FROM (SELECT ({q}) AS x FROM l) w "
    "WHERE w.x > 0 GROUP BY w.x",
    "joined": "SELECT l.k, m.a FROM l JOIN m ON m.k = l.k AND m.b >= ({q})",
    "joined exists": "SELECT l.k, m.a FROM l JOIN m ON m.k = l.k WHERE EXISTS ({q})",
}


class Asked(NamedTuple):
    """A query, and where it is in the grid."""

    body: str
    place: str
    way: str

    @property
    def sql(self) -> str:
        """Its text."""
        body = BODIES[self.body].format(c=WAYS[self.way])
        return PLACES[self.place].format(q=body)


def queries() -> Iterator[Asked]:
    """All of them; a body without the place of a condition once."""
    for body, text in BODIES.items():
        for place in PLACES:
            for way in WAYS if "{c}" in text else ["equal"]:
                yield Asked(body, place, way)


def slice_of(number: int) -> list[Asked]:
    """So many of them, from all over the grid."""
    return random.Random(number).sample(list(queries()), number)


def rows(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows of few values, NULL among them."""
    values = [None, 0, 1, 2, 3]
    return [{column: rng.choice(values) for column in COLUMNS.names} for _ in range(count)]
