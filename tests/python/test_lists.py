"""Lists, structs and maps as values: what DuckDB has, after every batch."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import everyday
import pyarrow as pa
import pytest
import ringview as rv
from everyday import SCHEMAS
from oracle import Oracle, comparable
from test_everyday_sql import Rows, database, follow, play, same

ORDER = "r.a, r.b, r.s, r.d, r.p, r.f, r.ts"
QUERIES = [
    f"SELECT a, ARRAY_AGG(b ORDER BY {ORDER}) AS l FROM r GROUP BY a",
    f"SELECT LIST(s ORDER BY {ORDER}) AS l FROM r",
    f"SELECT LIST(s ORDER BY s DESC NULLS LAST, {ORDER}) FILTER (WHERE b > 0) AS l FROM r",
    "SELECT a, LIST(DISTINCT d ORDER BY d) AS l FROM r GROUP BY a",
    "SELECT a, HISTOGRAM(s) AS h FROM r GROUP BY a",
    "SELECT HISTOGRAM(p) AS h FROM r WHERE b > 100",
    f"SELECT r.a, LIST(s.t ORDER BY s.c, s.t, {ORDER}) AS l FROM r JOIN s ON r.a = s.a "
    "GROUP BY r.a",
    f"SELECT a, len(LIST(b)) AS n, LIST(b ORDER BY {ORDER})[1] AS one, "
    f"LIST(b ORDER BY {ORDER})[-1] AS last, LIST(b ORDER BY {ORDER})[9] AS none FROM r GROUP BY a",
    "SELECT string_split(s, 'e') AS parts, string_split(s, '') AS all, s[1] AS first, "
    "s[2:3] AS two, s[-1] AS last, s[:-2] AS rest, s[2:] AS tail FROM r",
    "SELECT string_split(\"My Text\", ', ')[1] AS one, "
    "len(string_split(\"My Text\", ' ')) AS n FROM w",
    "SELECT [a, b, 3] AS l, [a, b][2] AS two, [a, b, 7, 8][2:3] AS part, len([a, b]) AS n FROM r",
    "SELECT {'x': a, 'y': s} AS one, {'x': a, 'y': s}.y AS y, {'x': a, 'y': s}['x'] AS x FROM r",
    "SELECT struct_pack(x := a, y := s) AS one FROM r",
    "SELECT q.one.x AS x FROM (SELECT {'x': a, 'y': b} AS one FROM r) q WHERE q.one.y > 0",
    "SELECT list_contains([1, 2], a) AS has, list_position([5, 1, 2], a) AS at FROM r",
    "SELECT list_sort([a, b, 1]) AS l, list_reverse_sort([a, b, 1]) AS r FROM r",
    "SELECT list_concat([a], [b, 1]) AS l, [a] || [b] AS m, list_append([a], 4) AS n FROM r",
    "SELECT list_min([a, b]) AS least, list_max([a, b]) AS most FROM r WHERE a > 0 AND b > 0",
    "SELECT array_to_string(['x', s, 'z'], '-') AS t FROM r",
    "SELECT MAP {'x': a, 'y': b} AS m, MAP {'x': a, 'y': b}['y'] AS y FROM r",
    "SELECT map_keys(h) AS k, map_values(h) AS v, cardinality(h) AS n "
    "FROM (SELECT a, HISTOGRAM(s) AS h FROM r GROUP BY a)",
    "SELECT l, COUNT(*) AS n FROM (SELECT [a, b] AS l FROM r) GROUP BY l",
    "SELECT DISTINCT [a, b] AS l FROM r",
    "SELECT l, COUNT(*) AS n FROM (SELECT a, LIST(b ORDER BY b) AS l FROM r GROUP BY a) GROUP BY l",
    "SELECT [a, b] AS l FROM r UNION SELECT [a, c] FROM s",
    "SELECT r.a, s.c FROM r JOIN s ON [r.a, 1] = [s.a, s.c]",
    "SELECT COUNT(*) AS n FROM r WHERE [a, b] = [1, 2] OR [a] IN ([2], [3])",
    "SELECT a, b FROM r WHERE len(string_split(s, 'e')) > 1",
    "SELECT MIN([a, b]) AS least, MAX([a, b]) AS most FROM r WHERE a IS NOT NULL AND b IS NOT NULL",
    "SELECT [a, b] AS l FROM r ORDER BY l, a, b",
    f"SELECT a, LAG([a, b]) OVER (ORDER BY {ORDER}) AS before FROM r",
    "SELECT r.a, x.l FROM r LEFT JOIN (SELECT a, LIST(c ORDER BY c, t) AS l FROM s GROUP BY a) x "
    "ON r.a = x.a",
    "SELECT COUNT(DISTINCT (a, b)) AS n FROM r",
    "SELECT a, list_distinct([a, a]) AS l, list_reverse([a, b]) AS m FROM r WHERE a > 0",
    "SELECT range(a) AS l, generate_series(1, a) AS m FROM r WHERE a > 0",
    "SELECT a, UNNEST([b, 7, NULL]) AS x FROM r",
    "SELECT a, UNNEST(string_split(s, 'e')) AS x, UNNEST([a, b, 1]) AS y FROM r",
    "SELECT x, COUNT(*) AS n FROM (SELECT UNNEST(string_split(s, '')) AS x FROM r) GROUP BY x",
    "SELECT r.a, u.x FROM r, UNNEST([r.b, r.a]) AS u(x) WHERE u.x > 0",
    "SELECT r.a, SUM(u.x) AS n FROM r CROSS JOIN UNNEST([r.b, 2]) AS u(x) GROUP BY r.a",
    "SELECT r.a, s.c, x FROM r JOIN s ON r.a = s.a, UNNEST([r.b, s.c]) AS u(x)",
    "SELECT r.a, i FROM r, range(r.a) AS t(i)",
    "SELECT r.a, u.x FROM r, LATERAL (SELECT r.b + 1 AS x) u",
    "SELECT a, UNNEST(l) AS x FROM (SELECT a, LIST(c ORDER BY c, t) AS l FROM s GROUP BY a)",
    "SELECT flatten([[a], [b, 1]]) AS l FROM r",
]


@pytest.mark.parametrize("part", range(4))
def test_values_of_many_equal_duckdb(part: int) -> None:
    rng = random.Random(part)
    oracle = Oracle(SCHEMAS)
    held: Rows = {table: everyday.rows(rng, table, 9) for table in SCHEMAS}
    db = database(held)
    asked = QUERIES[part::4]
    views = {sql: db.create_view(f"v{at}", sql) for at, sql in enumerate(asked)}
    shown = {sql: Counter[str]() for sql in asked}
    for _ in range(6):
        for sql, view in views.items():
            same(view, sql, oracle, held)
            follow(view, shown[sql])
        play(db, held, rng)


def test_lists_are_there_again_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lists.ring"
    lists = "SELECT k, LIST(x ORDER BY x) AS l FROM t GROUP BY k"
    sql = f"SELECT l, COUNT(*) AS n FROM ({lists}) GROUP BY l"
    with rv.Database.open(path) as db:
        db.create_table("t", {"k": "int64", "x": "int64"})
        db.create_view("v", sql)
        db.insert("t", {"k": [1, 1, 2, 2, 3], "x": [1, None, 1, None, 5]})
        before = comparable(db["v"].to_arrow())
    with rv.Database.open(path) as db:
        assert comparable(db["v"].to_arrow()) == before
        db.delete("t", [{"k": 2, "x": None}])
        rows = db["v"].to_arrow().to_pylist()
        expected = [{"l": [1], "n": 1}, {"l": [1, None], "n": 1}, {"l": [5], "n": 1}]
        assert sorted(rows, key=repr) == sorted(expected, key=repr)


def test_tables_hold_no_lists() -> None:
    db = rv.Database()
    with pytest.raises(rv.errors.TypeMismatchError, match="give each part a column, or a table"):
        db.create_table("t", pa.schema({"l": pa.list_(pa.int64())}))
    with pytest.raises(rv.errors.TypeMismatchError, match="no type 'list<int64>'"):
        db.create_table("t", {"l": "list<int64>"})
    assert not db.tables
