-- Recursive queries over the tables of recursions.py: `-- kind: name`, then a query, then an empty line.
-- distinct: `UNION`, kept by derivations; bags: `UNION ALL`; anew: the step reads the rows of a round together.

-- distinct: closure
WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e
UNION SELECT r.a, e.b FROM r JOIN e ON r.b = e.a) SELECT a, b FROM r

-- distinct: closure to the right
WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e
UNION SELECT e.a, r.b FROM e JOIN r ON e.b = r.a) SELECT * FROM r

-- distinct: closure of both ways
WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e
UNION (SELECT r.a, e.b FROM r JOIN e ON r.b = e.a
UNION ALL SELECT r.b, r.a FROM r)) SELECT * FROM r

-- distinct: reached from a constant
WITH RECURSIVE r AS (SELECT 1 AS n
UNION SELECT e.b FROM r, e WHERE r.n = e.a) SELECT n FROM r

-- distinct: reached from a table
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION SELECT b FROM r JOIN e ON n = a WHERE b IS NOT NULL) SELECT n FROM r

-- distinct: not through some
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION SELECT b FROM r JOIN e ON n = a WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.a = e.b)) SELECT n
FROM r

-- distinct: with outer joins
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION SELECT COALESCE(b, 0) FROM r LEFT JOIN e ON n = a) SELECT n FROM r

-- distinct: hops
WITH RECURSIVE r(n, h) AS (SELECT n, 0 FROM s
UNION SELECT b, h + 1 FROM r JOIN e ON n = a WHERE h < 4) SELECT n, MIN(h) AS h FROM r GROUP BY n

-- distinct: pairs by hops
WITH RECURSIVE r(a, b, h) AS (SELECT a, b, 1 FROM e
UNION SELECT r.a, e.b, h + 1 FROM r JOIN e ON r.b = e.a WHERE h < 3) SELECT a, b, MIN(h) AS h FROM
r GROUP BY a, b

-- distinct: same generation
WITH RECURSIVE g(x, y) AS (SELECT p.b, q.b FROM d p JOIN d q ON p.a = q.a WHERE p.b <> q.b
UNION SELECT p.b, q.b FROM g JOIN d p ON p.a = g.x JOIN d q ON q.a = g.y) SELECT x, y FROM g

-- distinct: joined and counted
WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e
UNION SELECT r.a, e.b FROM r JOIN e ON r.b = e.a) SELECT name, COUNT(*) AS n FROM r JOIN p ON p.a
= r.b GROUP BY name

-- distinct: distinct within
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION SELECT DISTINCT b FROM r JOIN e ON n = a) SELECT n FROM r

-- distinct: two of them
WITH RECURSIVE r(n) AS (SELECT 1 AS n
UNION SELECT b FROM r JOIN e ON n = a), q(n) AS (SELECT n FROM r
UNION SELECT b FROM q JOIN d ON n = a) SELECT q.n, r.n AS m FROM q LEFT JOIN r ON q.n = r.n

-- distinct: read twice
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION SELECT b FROM r JOIN e ON n = a) SELECT (SELECT COUNT(*) FROM r) AS n, (SELECT MAX(n) FROM
r) AS m

-- distinct: over sums
WITH RECURSIVE q(a, b, n) AS (SELECT a, b, COUNT(*) FROM e GROUP BY a, b), r(a, n) AS (SELECT n,
CAST(1 AS BIGINT) FROM s
UNION SELECT q.b, q.n FROM r JOIN q ON r.a = q.a) SELECT * FROM r

-- distinct: names in both
WITH RECURSIVE e(n) AS (SELECT n FROM s
UNION SELECT d.b FROM e JOIN d ON e.n = d.a) SELECT n FROM e

-- distinct: NULL and texts
WITH RECURSIVE r(n, t) AS (SELECT a, name FROM p
UNION SELECT e.b, r.t FROM r JOIN e ON r.n = e.a WHERE r.t IS NULL OR r.t <> 'x') SELECT * FROM r

-- distinct: doubles
WITH RECURSIVE r(x) AS (SELECT n / 2 FROM s
UNION SELECT -x FROM r) SELECT x FROM r

-- distinct: the outer query filters
WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e
UNION SELECT r.a, e.b FROM r JOIN e ON r.b = e.a) SELECT s.n, r.b FROM s LEFT JOIN r ON r.a = s.n
AND r.b > 2

-- distinct: in a subquery
SELECT p.name FROM p WHERE p.a IN (WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION SELECT b FROM r JOIN e ON n = a) SELECT n FROM r)

-- distinct: IN
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION SELECT b FROM e WHERE a IN (SELECT n FROM r)) SELECT n FROM r

-- distinct: EXISTS
WITH RECURSIVE r(n) AS (SELECT 1 AS n
UNION SELECT b FROM e WHERE EXISTS (SELECT 1 FROM r WHERE r.n = e.a)) SELECT n FROM r

-- bags: numbers
WITH RECURSIVE t(n) AS (SELECT 1 AS n
UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT n FROM t

-- bags: numbers from rows
WITH RECURSIVE t(n) AS (SELECT n FROM s
UNION ALL SELECT n + 1 FROM t WHERE n < 6) SELECT n, COUNT(*) AS k FROM t GROUP BY n

-- bags: days
WITH RECURSIVE t(d) AS (SELECT DATE '2026-01-30' AS d
UNION ALL SELECT d + 1 FROM t WHERE d < DATE '2026-02-03') SELECT d, n FROM t CROSS JOIN s

-- bags: walks
WITH RECURSIVE r(a, b, h) AS (SELECT a, b, 1 FROM e
UNION ALL SELECT r.a, e.b, h + 1 FROM r JOIN e ON r.b = e.a WHERE h < 3) SELECT a, b, h, COUNT(*)
AS n FROM r GROUP BY a, b, h

-- bags: walks as rows
WITH RECURSIVE r(b, h) AS (SELECT n, 0 FROM s
UNION ALL SELECT e.b, h + 1 FROM r JOIN e ON r.b = e.a WHERE h < 3) SELECT b, h FROM r

-- bags: paths
WITH RECURSIVE r(n, path) AS (SELECT a, name FROM p
UNION ALL SELECT d.b, r.path || '/' || p.name FROM r JOIN d ON r.n = d.a JOIN p ON p.a = d.b)
SELECT n, path FROM r

-- bags: parts
WITH RECURSIVE r(a, b, q) AS (SELECT d.a, d.b, d.a + 1 FROM d
UNION ALL SELECT r.a, d.b, r.q * (d.b + 1) FROM r JOIN d ON r.b = d.a) SELECT a, b, SUM(q) AS q
FROM r GROUP BY a, b

-- bags: lists
WITH RECURSIVE r(n, path) AS (SELECT n, [n] FROM s
UNION ALL SELECT e.b, list_append(path, e.b) FROM r JOIN e ON r.n = e.a WHERE NOT
list_contains(path, e.b)) SELECT n, len(path) AS h FROM r

-- bags: two steps
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION ALL (SELECT n + 1 FROM r WHERE n < 5
UNION ALL SELECT n + 2 FROM r WHERE n < 4)) SELECT n, COUNT(*) AS k FROM r GROUP BY n

-- bags: outer joins
WITH RECURSIVE r(n, h) AS (SELECT n, 0 FROM s
UNION ALL SELECT e.b, h + 1 FROM r LEFT JOIN e ON r.n = e.a WHERE h < 2) SELECT n, h FROM r

-- bags: each level once
WITH RECURSIVE r(n, h) AS (SELECT n, 0 FROM s
UNION ALL SELECT DISTINCT e.b, h + 1 FROM r JOIN e ON r.n = e.a WHERE h < 3) SELECT n, h FROM r

-- bags: narrower types
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION ALL SELECT n + 0.6 FROM r WHERE n < 4) SELECT n FROM r

-- bags: doubling
WITH RECURSIVE f(a, b) AS (SELECT 0, 1
UNION ALL SELECT b, a + b FROM f WHERE b < 50) SELECT a FROM f

-- bags: values
WITH RECURSIVE t(n) AS (VALUES (1), (2), (1)
UNION ALL SELECT n + 2 FROM t WHERE n < 4) SELECT n FROM t

-- anew: the greatest
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION ALL SELECT MAX(n) + 1 FROM r WHERE n < 5 HAVING MAX(n) IS NOT NULL) SELECT n FROM r

-- anew: not in
WITH RECURSIVE r(n) AS (SELECT 1 AS n
UNION SELECT b FROM e WHERE b IS NOT NULL AND a NOT IN (SELECT n FROM r)) SELECT n FROM r

-- anew: with itself
WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e
UNION SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a) SELECT a, b FROM r

-- anew: the first
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION ALL (SELECT n + 1 FROM r WHERE n < 5 ORDER BY n LIMIT 1)) SELECT n FROM r

-- anew: numbered
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION ALL SELECT n + ROW_NUMBER() OVER (ORDER BY n) FROM r WHERE n < 5) SELECT n FROM r

-- distinct: in common
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION SELECT n + 1 FROM r WHERE n < 5 INTERSECT SELECT b FROM e) SELECT n FROM r

-- anew: constant beside
WITH RECURSIVE r(n) AS (SELECT n FROM s
UNION (SELECT b FROM r JOIN e ON n = a
UNION SELECT a FROM p)) SELECT n FROM r

-- anew: grouped
WITH RECURSIVE r(n, k) AS (SELECT n, CAST(1 AS BIGINT) FROM s
UNION ALL SELECT e.b, COUNT(*) FROM r JOIN e ON r.n = e.a WHERE k < 4 AND e.b > e.a GROUP BY e.b)
SELECT n, k FROM r
