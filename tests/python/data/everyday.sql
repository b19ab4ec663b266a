-- What people ask of tables r(a, b, s, d, p, f, ts) and s(a, c, t), a query a line; "--" begins a remark.
SELECT a, b FROM r WHERE a > 1
SELECT * FROM s
SELECT * EXCLUDE (c) FROM s
SELECT DISTINCT s FROM r
SELECT a + b AS x, upper(s) AS u, CASE WHEN b > 0 THEN 'pos' WHEN b < 0 THEN 'neg' ELSE 'zero' END AS sign FROM r
SELECT COALESCE(b, 0) AS b0, NULLIF(a, 2) AS a2, GREATEST(a, b) AS g, LEAST(a, b) AS l FROM r
SELECT CAST(p AS DOUBLE) AS pd, CAST(f AS INTEGER) AS fi, TRY_CAST(s AS INTEGER) AS si FROM r
SELECT date_trunc('month', d) AS m, year(d) AS y, EXTRACT(day FROM ts) AS dd FROM r
SELECT d + INTERVAL 1 MONTH AS next, d - DATE '2024-01-01' AS days, date_diff('day', d, DATE '2024-03-01') AS dd FROM r
SELECT strftime(d, '%Y-%m') AS ym, dayname(d) AS dn FROM r WHERE d IS NOT NULL
SELECT s || '!' AS e, length(s) AS n, substring(s, 1, 1) AS f, replace(s, 'y', 'z') AS z, trim(s) AS t FROM r
SELECT s LIKE 'y%' AS l, s ILIKE 'X' AS i, regexp_matches(s, '^[a-z]') AS m, starts_with(s, 'y') AS w FROM r
SELECT a / 2 AS h, a // 2 AS q, a % 2 AS r, round(f, 1) AS o, abs(b) AS c, a ^ 2 AS sq FROM r
SELECT a & 1 AS bit, a | 4 AS orr FROM r
SELECT COUNT(*) FROM r
SELECT COUNT(*) AS n, SUM(b) AS t, AVG(p) AS m, MIN(d) AS lo, MAX(ts) AS hi FROM r
SELECT a, COUNT(*) AS n FROM r GROUP BY a
SELECT a, COUNT(*) AS n FROM r GROUP BY a ORDER BY n DESC, a LIMIT 2
SELECT a, SUM(b) AS t FROM r GROUP BY a HAVING SUM(b) > 1 ORDER BY a
SELECT a % 2 AS odd, COUNT(*) AS n FROM r GROUP BY 1
SELECT a % 2 AS odd, s, SUM(p) AS t FROM r GROUP BY ALL
SELECT date_trunc('month', ts) AS m, SUM(f) AS t FROM r GROUP BY date_trunc('month', ts)
SELECT CASE WHEN b > 0 THEN 'pos' ELSE 'other' END AS k, COUNT(*) AS n, SUM(b) AS t FROM r GROUP BY k
SELECT year(d) AS y, month(d) AS m, COUNT(DISTINCT s) AS n FROM r GROUP BY y, m ORDER BY y, m
SELECT s, SUM(CASE WHEN b > 0 THEN 1 ELSE 0 END) AS pos, COUNT(*) FILTER (WHERE b < 0) AS neg FROM r GROUP BY s
SELECT s, SUM(b) FILTER (WHERE a = 1) AS one, SUM(b) FILTER (WHERE a = 2) AS two FROM r GROUP BY s
SELECT a, SUM(b) * 1.0 / COUNT(*) AS mean, ROUND(AVG(f), 2) AS m FROM r GROUP BY a
SELECT SUM(b) - MIN(b) AS x, COUNT(*) + 1 AS n FROM r
SELECT a, MAX(b) - MIN(b) AS spread FROM r GROUP BY a HAVING MAX(b) <> MIN(b) AND COUNT(*) > 1
SELECT a, bool_or(b > 1) AS o, bool_and(b > 1) AS al, count_if(b > 0) AS c FROM r GROUP BY a
SELECT a, s, SUM(b) AS t FROM r GROUP BY ROLLUP (a, s)
SELECT a, s, COUNT(*) AS n, GROUPING(a) AS ga FROM r GROUP BY CUBE (a, s)
SELECT a, s, COUNT(*) AS n FROM r GROUP BY GROUPING SETS ((a), (s), ())
SELECT a, COUNT(DISTINCT s) AS n, COUNT(DISTINCT b) AS m, SUM(b) AS t FROM r GROUP BY a
SELECT r.a, s.c FROM r JOIN s ON r.a = s.a
SELECT r.a, s.c FROM r JOIN s USING (a) WHERE r.b > s.c
SELECT r.a, SUM(r.b * s.c) AS t FROM r JOIN s ON r.a = s.a GROUP BY r.a
SELECT s.t, COUNT(*) AS n FROM r, s WHERE r.a = s.a AND (r.b > 1 OR s.c = 0) GROUP BY s.t
SELECT r.a, r.b, s.t FROM r LEFT JOIN s ON r.a = s.a
SELECT r.a, COUNT(s.a) AS n FROM r LEFT JOIN s ON r.a = s.a AND s.c > 0 GROUP BY r.a
SELECT s.a, SUM(r.b) AS t FROM r RIGHT JOIN s ON r.a = s.a GROUP BY s.a
SELECT r.a AS ra, s.a AS sa, r.b, s.c FROM r FULL JOIN s ON r.a = s.a
SELECT COALESCE(r.a, s.a) AS k, COUNT(*) AS n FROM r FULL JOIN s ON r.a = s.a GROUP BY 1
SELECT r.a, COALESCE(s.t, 'none') AS t FROM r LEFT JOIN s ON r.a = s.a WHERE s.t IS NULL OR s.t <> 'x'
SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a)
SELECT a, b FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND s.c > 0)
SELECT a, b FROM r WHERE a IN (SELECT a FROM s WHERE c > 0)
SELECT a, b FROM r WHERE a NOT IN (SELECT c FROM s)
SELECT a FROM r WHERE b > (SELECT AVG(c) FROM s)
SELECT a, b FROM r WHERE b = (SELECT MAX(b) FROM r AS o WHERE o.a = r.a)
SELECT a, (SELECT COUNT(*) FROM s WHERE s.a = r.a) AS n FROM r
SELECT a, b, (SELECT SUM(c) FROM s) AS t FROM r
SELECT r.a FROM r SEMI JOIN s ON r.a = s.a
SELECT r.a FROM r ANTI JOIN s ON r.a = s.a
SELECT a FROM r UNION SELECT a FROM s
SELECT a, s FROM r UNION ALL SELECT a, t FROM s
SELECT a FROM r INTERSECT SELECT a FROM s
SELECT a FROM r EXCEPT SELECT a FROM s
SELECT a FROM r INTERSECT ALL SELECT a FROM s
SELECT a FROM r EXCEPT ALL SELECT a FROM s
SELECT x, COUNT(*) AS n FROM (SELECT a AS x FROM r UNION ALL SELECT a FROM s) GROUP BY x
WITH t AS (SELECT a, SUM(b) AS v FROM r GROUP BY a) SELECT COUNT(*) AS n, MAX(v) AS hi FROM t
WITH t AS (SELECT a, SUM(b) AS v FROM r GROUP BY a) SELECT x.a, x.v - y.v AS d FROM t x JOIN t y ON x.a = y.a + 1
SELECT a, b, s FROM r ORDER BY b DESC NULLS LAST, a, s, d, p, f, ts LIMIT 3
SELECT a, b, s FROM r ORDER BY b, a, s, d, p, f, ts LIMIT 3 OFFSET 2
SELECT a, b FROM r ORDER BY a, b
SELECT DISTINCT a FROM r ORDER BY a DESC LIMIT 2
SELECT DISTINCT ON (a) a, b, s FROM r ORDER BY a, b DESC, s, d, p, f, ts
SELECT a, b FROM r QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC, s, d, p, f, ts) = 1
SELECT a, b FROM (SELECT a, b, RANK() OVER (PARTITION BY a ORDER BY b) AS k FROM r) WHERE k <= 2
SELECT a, b FROM r QUALIFY DENSE_RANK() OVER (ORDER BY b DESC) <= 2
SELECT a, b FROM r WHERE (a, b) IN ((1, 2), (2, 5))
SELECT a, b FROM r WHERE b BETWEEN 0 AND 2 AND s IN ('x', 'yy') AND NOT (a = 1)
SELECT a, AVG(b) AS m, STDDEV(b) AS sd, VAR_POP(b) AS v FROM r GROUP BY a
SELECT CORR(a, b) AS c, REGR_SLOPE(b, a) AS k FROM r
SELECT a, MEDIAN(b) AS m, QUANTILE_CONT(f, 0.25) AS q FROM r GROUP BY a
SELECT a, STRING_AGG(s, ', ' ORDER BY s) AS names FROM r GROUP BY a
SELECT a, ARG_MAX(s, p ORDER BY s) AS best FROM r WHERE s IS NOT NULL GROUP BY a
SELECT a, FIRST(b ORDER BY b) AS f, LAST(b ORDER BY b) AS l FROM r WHERE b IS NOT NULL GROUP BY a
SELECT a, BIT_AND(a) AS x, BIT_OR(a) AS y, BIT_XOR(a) AS z FROM r GROUP BY a
SELECT a, b, SUM(b) OVER (PARTITION BY a) AS t FROM r
SELECT a, b, b * 100.0 / SUM(b) OVER () AS share FROM r WHERE b > 0
SELECT a, b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b, s, d, p, f, ts) AS n FROM r
SELECT a, b, RANK() OVER (ORDER BY b) AS k, DENSE_RANK() OVER (ORDER BY b) AS dk FROM r
SELECT a, b, LAG(b) OVER (PARTITION BY a ORDER BY b, s, d, p, f, ts) AS before, LEAD(b, 1, -1) OVER (PARTITION BY a ORDER BY b, s, d, p, f, ts) AS after FROM r
SELECT a, b, SUM(b) OVER (PARTITION BY a ORDER BY b) AS running FROM r
SELECT a, b, AVG(b) OVER (PARTITION BY a ORDER BY b, s, d, p, f, ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS moving FROM r
SELECT a, SUM(b) AS t, SUM(SUM(b)) OVER () AS whole FROM r GROUP BY a
SELECT a, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS k FROM r GROUP BY a
SELECT r.* REPLACE (a + 1 AS a) FROM r
SELECT x AS y, y * 2 AS z FROM (SELECT a AS x FROM r WHERE a IS NOT NULL)
SELECT v.x, COUNT(r.a) AS n FROM (VALUES (1, 'one'), (2, 'two'), (7, 'seven')) AS v(x, name) LEFT JOIN r ON r.a = v.x GROUP BY v.x
SELECT a, b FROM r WHERE a > ALL (SELECT c FROM s WHERE c < 2)
SELECT a, b FROM r WHERE a = ANY (SELECT c FROM s)
SELECT a, b FROM r WHERE a IN (SELECT a FROM s) OR b > 2
SELECT a, EXISTS (SELECT 1 FROM s WHERE s.a = r.a) AS has FROM r
SELECT a, CASE WHEN EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND s.c = 1) THEN 'yes' ELSE 'no' END AS k FROM r
SELECT a, SUM(b) AS t FROM r WHERE d >= DATE '2024-01-01' AND d < DATE '2024-01-01' + INTERVAL '2 months' GROUP BY a
SELECT time_bucket(INTERVAL '7 days', d) AS w, COUNT(*) AS n FROM r GROUP BY w ORDER BY w
SELECT s, COUNT(*) AS n FROM r GROUP BY s HAVING COUNT(*) > (SELECT COUNT(*) FROM s) / 10
SELECT a, SUM(DISTINCT b) AS t, AVG(DISTINCT b) AS m FROM r GROUP BY a
SELECT r.a, r.b FROM r JOIN s ON r.a = s.a AND r.b > s.c ORDER BY 1, 2
SELECT r1.a, COUNT(*) AS n FROM r r1 JOIN r r2 ON r1.a = r2.a AND r1.b < r2.b GROUP BY r1.a
SELECT r.a, s.c FROM r CROSS JOIN s WHERE r.b > s.c
SELECT r.a, s.c FROM r LEFT JOIN s ON r.a = s.a AND r.b > s.c
SELECT MODE(b) AS m, PRODUCT(b) AS p FROM r WHERE b = 2
SELECT a, ANY_VALUE(a) AS x FROM r GROUP BY a
SELECT a, b FROM r WHERE b IS DISTINCT FROM 2 AND a IS NOT DISTINCT FROM 1
-- What differed from DuckDB once, shrunk.
SELECT a, s SIMILAR TO '[a-z]+' AS m, s NOT SIMILAR TO 'y' AS n FROM r
SELECT a, count_if(s = 'q' AND b > 100) AS n FROM r WHERE b IS NULL GROUP BY a
SELECT a, count_if(b > 1) FILTER (WHERE s = 'x') AS n FROM r GROUP BY a
SELECT substr(s, -2) AS x, substring(s, 0, 2) AS y, substring(s, b) AS z FROM r
SELECT a, b, b NOT IN (SELECT s.c FROM s WHERE s.a = r.a AND s.c < r.b) AS x FROM r
SELECT CAST(ts AS VARCHAR) AS x, s || ts AS y, concat(ts, f) AS z FROM r
SELECT CAST(f * 1e20 AS VARCHAR) AS x, CAST(f / 1e7 AS VARCHAR) AS y, CAST(f AS VARCHAR) AS z FROM r WHERE f <> 0
SELECT p // 2 AS x, f // 2 AS y, a // 2 AS z FROM r
SELECT date_diff('week', d, ts) AS w, date_diff('week', ts, d) AS v FROM r
SELECT (a, b) = (1, 2) AS x, (a, s) IN ((1, 'x'), (NULL, NULL)) AS y, NOT ((a, b) = (1, 2)) AS z FROM r
SELECT GREATEST(d, ts) AS x, LEAST(d, ts) AS y, COALESCE(d, ts) AS z FROM r
SELECT strftime(ts, '%f') AS x, upper(to_hex(a)) AS y, length(s) AS l, strlen(s) AS n FROM r
SELECT split_part(s, '', 1) AS x, split_part(s, 'y', b) AS y, lpad(s, b, '*') AS z FROM r
SELECT 1.25 AS k, MAX(b) AS m FROM r WHERE a > 100 GROUP BY ALL
SELECT 2 AS k, a AS v, COUNT(*) AS n FROM r GROUP BY k, v
SELECT a, b FROM r WHERE NOT b >= ALL (SELECT c FROM s WHERE s.a = r.a)
SELECT a, b FROM r WHERE (a, s) IN (SELECT a, t FROM s)
SELECT a, b, (SELECT COUNT(*) FROM s WHERE s.a = r.a AND s.c < r.b) AS n FROM r
SELECT a, b, (SELECT MAX(c) FROM s WHERE s.c < r.b) AS m FROM r
SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.c > r.b) OR a = 1
SELECT s, MIN(abs(b)) AS v FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a) OR TRUE GROUP BY s
SELECT s, MIN(abs(b)) AS v FROM r WHERE (SELECT COUNT(*) FROM s WHERE s.a = r.a) >= 0 OR 1 = 1 GROUP BY s
SELECT a, b, (SELECT t FROM s WHERE s.a = r.a ORDER BY c DESC, t LIMIT 1) AS t FROM r
SELECT r.a, l.n FROM r CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM s WHERE s.a = r.a HAVING COUNT(*) = 0) AS l
SELECT r.a, r.b, l.c FROM r LEFT JOIN LATERAL (SELECT c, t FROM s WHERE s.a = r.a ORDER BY c DESC, t LIMIT 2) AS l ON TRUE
SELECT r.a, l.m FROM r, LATERAL (SELECT MEDIAN(s.c) AS m FROM s WHERE s.a = r.a AND s.c <= r.b) AS l
SELECT ~b AS x, xor(a, 5) AS y, a ** 2 AS z, 1_000 AS k FROM r
SELECT x.a FROM (FROM r WHERE b > 0) AS x
SELECT d + INTERVAL (b) DAY AS x, d + b * INTERVAL '1 month' AS y FROM r
SELECT decade(d) AS x, century(d) AS y, date_trunc('decade', d) AS z, epoch_ms(ts) AS e FROM r
SELECT main.r.a, r."B" FROM main.r ORDER BY ALL
SELECT a, b, c FROM r RIGHT JOIN s USING (a)
SELECT a, COUNT(*) AS n FROM r FULL JOIN s USING (a) GROUP BY a
SELECT r.a IS NULL AS missing, a + 1 AS k, t FROM r NATURAL FULL JOIN s WHERE a > 1 OR a IS NULL
SELECT * FROM r FULL JOIN s USING (a)
-- Subqueries in the arguments of aggregates, and in what groups
SELECT b, SUM(a * (SELECT MAX(c) FROM s)) AS x, COUNT(*) AS n FROM r GROUP BY b
SELECT b, SUM((SELECT COUNT(*) FROM s WHERE s.a = r.a)) AS x, MAX((SELECT SUM(c) FROM s WHERE s.a = r.a)) AS y FROM r GROUP BY b
SELECT b, SUM((SELECT MAX(c) FROM s WHERE s.a = r.a AND s.c > r.b)) AS x FROM r GROUP BY b
SELECT COUNT(*) FILTER (WHERE a IN (SELECT a FROM s)) AS x, SUM(CASE WHEN EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND c > 0) THEN 1 ELSE 0 END) AS y FROM r
SELECT MEDIAN(a * (SELECT MAX(c) FROM s)) AS x, STRING_AGG(s || (SELECT MAX(t) FROM s), ',' ORDER BY s, a) AS y FROM r
SELECT GROUPING(b) AS g, b, SUM((SELECT MAX(c) FROM s WHERE s.a = r.a)) AS x FROM r GROUP BY ROLLUP (b)
SELECT a, (SELECT SUM(c * (SELECT MAX(b) FROM r)) FROM s WHERE s.a = w.a) AS x FROM w
SELECT (SELECT MAX(c) FROM s WHERE s.a = r.a) AS k, COUNT(*) AS n FROM r GROUP BY 1
-- Tuples IN subqueries, as values
SELECT a, b, (a, b) IN (SELECT a, c FROM s) AS x, (a, b) NOT IN (SELECT a, c FROM s WHERE t = 'x') AS y FROM r
SELECT a, b FROM r WHERE NOT ((a, b) IN (SELECT a, c FROM s))
SELECT a, COUNT(*) FILTER (WHERE (a, b) IN (SELECT a, c FROM s)) AS n FROM r GROUP BY a
SELECT a, CASE WHEN (a, b) IN (SELECT a, c FROM s) OR b = 5 THEN 'in' WHEN ((a, b) IN (SELECT a, c FROM s)) IS NULL THEN '?' ELSE 'out' END AS x FROM r
-- WITH within WITH that gives a name anew
WITH t AS (SELECT a FROM r), u AS (WITH t AS (SELECT a FROM s) SELECT a FROM t) SELECT t.a, u.a AS ua FROM t JOIN u ON t.a = u.a
WITH t AS (SELECT a FROM r) SELECT * FROM (WITH t AS (SELECT a + 10 AS a FROM t) SELECT a FROM t WHERE t.a > 10) x
WITH t AS (SELECT a FROM r) SELECT a FROM t WHERE a IN (WITH t AS (SELECT a FROM w) SELECT a FROM t)
WITH t AS (SELECT a FROM r) SELECT (SELECT COUNT(*) FROM (WITH t AS (SELECT a FROM s) SELECT * FROM t AS k WHERE k.a = t.a)) AS n FROM t
-- LATERAL with conditions
SELECT r.a, r.b, x.c FROM r LEFT JOIN LATERAL (SELECT c FROM s WHERE s.a = r.a) x ON x.c > 0 AND r.b > 1
SELECT r.a, r.b, x.c FROM r LEFT JOIN LATERAL (SELECT c FROM s WHERE s.a = r.a) x ON x.c = r.b
SELECT r.a, x.n FROM r LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM s WHERE s.a = r.a) x ON x.n > 1
SELECT r.a, x.n FROM r LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM s WHERE s.a = r.a HAVING SUM(c) > 1) x ON TRUE
SELECT r.a, x.m FROM r LEFT JOIN LATERAL (SELECT MAX(c) AS m FROM s WHERE s.c > r.b) x ON x.m > r.a
-- Joins by name of subqueries and names of WITH
SELECT * FROM (SELECT * FROM s) x FULL JOIN (SELECT a, b FROM r) y USING (a)
WITH x AS (SELECT a, c FROM s), y AS (SELECT r.* FROM r) SELECT a, c, b FROM x FULL JOIN y USING (a) FULL JOIN (SELECT a, ok FROM w) v USING (a)
SELECT a, SUM(c) AS c FROM (SELECT * FROM s) x NATURAL FULL JOIN (SELECT a, b FROM r) y GROUP BY a
SELECT k, b, v FROM (SELECT a, b FROM r) x(k) RIGHT JOIN (VALUES (1, 'one'), (9, 'nine')) y(k, v) USING (k)
-- Types
SELECT CAST('1e0' AS INTEGER) AS x, CAST(' -2.5 ' AS BIGINT) AS y, CAST('12e-1' AS DECIMAL(6, 2)) AS z, TRY_CAST(s AS INTEGER) AS v, TRY_CAST('1_0.6' AS SMALLINT) AS u FROM r
SELECT f ** p AS x, p ^ 2 AS y, a ^ 0.5 AS z, 2 ** b AS u FROM r WHERE f > 0
SELECT a, MIN(g) + 1 AS x, MAX(g) - MIN(g) AS y, MAX(g) * 2 AS z FROM w GROUP BY a
SELECT a FROM r WHERE ts > '2024-01-02 03:04:04.999999999' OR ts = '2024-02-29 23:00:00.000000400'
SELECT COUNT(*) AS n FROM w WHERE ok IS TRUE OR tiny > 1
SELECT a, COUNT(*) AS n FROM w WHERE ok OR ok IS FALSE GROUP BY a
SELECT COUNT(*) AS n FROM w WHERE NOT (ok IS NOT TRUE) AND a > 0
SELECT COUNT(*) AS n FROM w WHERE ok IS NOT FALSE
SELECT COUNT(*) AS n FROM w WHERE ok IS UNKNOWN OR NOT ok
SELECT a, COUNT(*) AS n FROM r WHERE (f > 0 OR p < 3) IS NOT TRUE GROUP BY a
SELECT COUNT(*) AS n, SUM(b) AS x FROM r WHERE (a > b) IS UNKNOWN OR (a + b > 3) IS FALSE
SELECT COUNT(*) AS n FROM r WHERE (a < b AND f > 1) IS NULL
SELECT COUNT(*) AS n FROM r WHERE (a IN (1, 2) OR b > 2) IS NOT UNKNOWN AND NOT ((a > 1) IS NOT FALSE)
SELECT a, b FROM r ORDER BY (SELECT COUNT(*) FROM s WHERE s.a = r.a) DESC, a, b
SELECT a, b FROM r ORDER BY (SELECT MAX(c) FROM s WHERE s.a = r.a) - b, a IN (SELECT a FROM s), a, b LIMIT 3
SELECT a, SUM(b) AS t FROM r GROUP BY a ORDER BY (SELECT MIN(c) FROM s WHERE s.a = r.a) NULLS FIRST, a
SELECT a FROM r ORDER BY a + (SELECT MAX(c) FROM s), a LIMIT 2
SELECT * FROM (r JOIN w USING (a)) FULL JOIN s USING (a)
SELECT TRY_CAST('-0.4' AS UINTEGER) AS x, TRY_CAST('-0' AS UTINYINT) AS y, TRY_CAST('0.4' AS UBIGINT) AS z, TRY_CAST('-0.6e0' AS USMALLINT) AS u FROM r
SELECT u8 // 2 AS x, u8 // -3 AS y, tiny // 2 AS z, a // u8 AS v FROM w WHERE u8 > 0
FROM r
FROM s SELECT a, COUNT(*) AS n GROUP BY a ORDER BY a
SELECT ok, MEDIAN(u8 % 3) AS m FROM w GROUP BY ok
SELECT MEDIAN(t) AS m FROM (SELECT a, SUM(b) AS t FROM r GROUP BY a) x
SELECT -(b | 5) AS x, b & -b AS y, a || b AS z, ~a + b AS u, a + b ^ 2 AS v FROM r
-- What stands on a side of a set operation, without parentheses.
SELECT * FROM s FULL JOIN (SELECT a, b FROM r) AS q USING (a) UNION ALL SELECT * FROM s FULL JOIN (SELECT a, b FROM r) AS q USING (a)
SELECT a, u8 FROM r FULL JOIN s USING (a) FULL JOIN w USING (a) EXCEPT ALL SELECT a, u8 FROM w
SELECT a, c FROM s SEMI JOIN r ON r.a = s.a UNION ALL SELECT a, c FROM s ANTI JOIN r USING (a)
SELECT a + 1 AS x, c FROM s WHERE x > 1 UNION SELECT a - 1 AS y, c FROM s WHERE y > 0
SELECT r.a, q.c FROM r ASOF JOIN (SELECT DISTINCT a, c FROM s) AS q ON r.a = q.a AND r.b >= q.c EXCEPT SELECT a, c FROM s
SELECT 1 AS x, COUNT(*) AS n FROM s GROUP BY ALL UNION ALL SELECT 2, COUNT(*) FROM r GROUP BY ALL
SELECT a, c FROM s WHERE (a, t) IN (SELECT a, s FROM r) INTERSECT SELECT a, c FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY a, c ORDER BY t) = 1
-- A star without some columns, over joins by name.
SELECT * EXCLUDE (b, d) FROM r FULL JOIN s USING (a) WHERE r.a > 1 OR r.a IS NULL
SELECT * EXCLUDE t REPLACE (a + 1 AS a, upper(r.s) AS s) FROM r RIGHT JOIN s USING (a)
SELECT n, COUNT(*) AS often FROM (SELECT * EXCLUDE (ts, f) REPLACE (b * 2 AS b) FROM r NATURAL JOIN (SELECT a, c AS n FROM s UNION SELECT * EXCLUDE (t) FROM s) AS z) AS q GROUP BY n
SELECT a FROM r JOIN (SELECT * FROM s UNION ALL SELECT * FROM s WHERE s.c > 0) AS s USING (a) WHERE a IN (SELECT a FROM w)
-- Truths that are operands.
SELECT x FROM (SELECT NOT s = 'x' AS x FROM r) AS q WHERE x IS NULL
SELECT NOT s.t = 'x' AS x FROM s EXCEPT ALL SELECT NOT s.t = 'x' AS x FROM s
SELECT (NOT a = 1) IS NULL AS x, (NOT b > 1) = (a IS NULL) AS y, (b = 1) = (s IS NULL) AS z, (NOT b = 1) < (a = 1) AS w FROM r
SELECT x, COUNT(*) AS n FROM (SELECT s LIKE 'x%' AS x, NOT b BETWEEN 0 AND 2 AS y FROM r) AS q WHERE y IS NOT TRUE OR x IN (y, NOT y) GROUP BY x
SELECT p.x, q.y FROM (SELECT NOT a > 1 AS x FROM r) AS p JOIN (SELECT NOT c > 0 AS y FROM s) AS q ON p.x IS NOT DISTINCT FROM q.y
-- A table around that is called as a column within.
SELECT a, (SELECT MAX(b) FROM r WHERE r.a = s.a) AS hi FROM s
SELECT s.*, EXISTS (SELECT 1 FROM r WHERE r.a = s.a AND s = 'x') AS there FROM s
SELECT s.a, l.x FROM s, LATERAL (SELECT MAX(b) AS x FROM r WHERE r.a = s.a) AS l
SELECT t, SUM(c) AS n FROM s WHERE s.c IN (SELECT b FROM r WHERE r.s = s.t) GROUP BY t
