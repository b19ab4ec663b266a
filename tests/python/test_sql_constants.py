"""Constants and conditions mean what rows mean, which is DuckDB's: nothing wraps around."""

from __future__ import annotations

import contextlib
import random

import pytest
import ringview as rv
from meanings import ROWS, check, database, statement

ARITHMETIC = """
9223372036854775807 + 1
100::TINYINT + 100::TINYINT
(-128)::TINYINT * (-1)::TINYINT
1 << 63
1 << 64
1 << -1
16 >> 64
16 >> -1
-16 >> 2
(-1) << 2
i << 3
n << 70
b << n
u >> 1
CASE WHEN i = 0 THEN 1 ELSE 9223372036854775807 + 1 END
CASE WHEN TRUE THEN 1 ELSE 9223372036854775807 + 1 END
CASE WHEN FALSE THEN CAST('a' AS INT) ELSE 3 END
coalesce(i, 9223372036854775807 + 1)
coalesce(n, i, 2.5)
ifnull(n, 5)
""".strip().splitlines()
CASTS = """
SELECT i FROM x WHERE CAST(m AS DECIMAL(9, 0)) = 2
SELECT i FROM x WHERE TRY_CAST(u AS TINYINT) < 2
TRY_CAST(u AS TINYINT) < 2
CAST(u AS TINYINT) < 2
CAST(s AS INT) < 2
TRY_CAST(s AS INT) < 2
CAST(ts AS DATE) = '2024-02-29'
CAST(f AS INT) = 2
CAST(i AS DOUBLE) = 1.5
n = 3000000000
b < 300
u > -1
n IN (1, 2, 3000000000)
i NOT IN (1, NULL)
i = ANY([2, NULL])
i = ANY([1, NULL])
i <> ALL([2, NULL])
coalesce(n, 'a')
CASE WHEN t THEN n ELSE 'a' END
CASE WHEN t THEN n ELSE '3' END
CASE WHEN t THEN d ELSE '2024-05-06' END
coalesce(n, f, '2.5')
list_contains([2, NULL], i)
array_has([2, NULL], i)
array_has_all([1, 2], [1, n])
nullif(s, 1)
nullif('1', 1)
1.23456::DECIMAL
ts + '1'::INTERVAL
'2024-01-01 01:01:01.123456'::TIMESTAMP(3)
'2024-01-01 01:01:01.123456'::TIMESTAMP(0)
n::FLOAT(53)
len(format('{:>1500}', s))
len(printf('%1500d', n))
""".strip().splitlines()
# Constants that make a call fail in each row.
NEVER = """
date_trunc('nope', ts)
date_trunc('nope', d)
date_part('nope', d)
extract(nope FROM ts)
date_diff('nope', ts, ts)
date_sub('nope', ts, ts)
regexp_matches(s, '(')
regexp_full_match(s, '(')
regexp_replace(s, '(', 'a')
regexp_extract(s, '(')
regexp_extract_all(s, '(')
string_split_regex(s, '(')
s SIMILAR TO '('
s ~ '('
strptime(s, '%Q')
strftime(ts, '%Q')
strftime(d, '%')
time_bucket(INTERVAL '1 month 1 day', ts)
time_bucket(INTERVAL '1 month 1 hour', ts)
time_bucket(INTERVAL '0 days', ts)
time_bucket(INTERVAL '-1 days', ts)
format('{', s)
printf('%', s)
to_timestamp(s, '%Y')
yearweek(d, 1)
to_char(ts, 'YYYY-MM-DD')
date_format(ts, 'yyyy-MM-dd')
array_remove([1, 2], 1)
cast_to_type(n, 1)
shift_left(n, 1)
""".strip().splitlines()
PLACES = """
SELECT i FROM x WHERE {}
SELECT a.i FROM x AS a JOIN x AS b ON a.i = b.i AND {}
SELECT a.i, b.n FROM x AS a LEFT JOIN x AS b ON a.i = b.i AND b.{}
SELECT i, count(*) AS c FROM x GROUP BY i HAVING max({})
SELECT sum(n) FILTER (WHERE {}) AS v FROM x
SELECT median(n) FILTER (WHERE {}) AS v FROM x
SELECT mode(1) FILTER (WHERE {}) AS v FROM x
SELECT sum(n) FILTER (WHERE {}) OVER () AS v FROM x
SELECT CASE WHEN {} THEN 1 ELSE 2 END AS v FROM x
SELECT NOT {} AS v FROM x
SELECT {} AND t AS v FROM x
SELECT {} OR t AS v FROM x
SELECT ({}) IS TRUE AS v FROM x
SELECT if({}, 1, 2) AS v FROM x
""".strip().splitlines()


@pytest.mark.parametrize("text", ARITHMETIC + CASTS)
def test_a_constant_means_what_it_means_in_duckdb(text: str) -> None:
    check(text)


@pytest.mark.parametrize("text", NEVER)
def test_a_call_that_no_row_computes_is_refused_at_creation(text: str) -> None:
    db = database()
    with pytest.raises(rv.RingviewError):
        db.create_view("v", statement(text))
    db.insert("x", ROWS)
    assert len(db.sql("SELECT i FROM x")) == len(ROWS)


@pytest.mark.parametrize("place", PLACES)
def test_a_condition_has_one_meaning_in_all_places(place: str) -> None:
    of_a_table = ["i", "n", "m", "f", "t", "d"]
    constants = ["1", "0", "NULL", "2.5", "'true'", "i + n", "(i)", "-1", "abs(i)"]
    for condition in of_a_table if "b.{}" in place else of_a_table + constants:
        if "ON" in place or "HAVING" in place:
            if condition in ("t", "'true'", "NULL") and "HAVING" in place:
                continue
            if "b.{}" not in place and condition.strip("()")[0] in "ina":
                continue
        check(place.format(condition))


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT GROUPING({', '.join(['i'] * 70)}) AS g FROM x GROUP BY ROLLUP (i)",
        "SELECT median(n) FILTER (WHERE 1) AS v FROM x",
        "SELECT mode(1) FILTER (WHERE NULL) AS v FROM x",
    ],
)
def test_no_query_leaves_the_database_unusable(text: str) -> None:
    db = database()
    db.insert("x", ROWS)
    for ask in (lambda: db.sql(text), lambda: db.create_view("v", text)):
        with contextlib.suppress(rv.RingviewError):
            ask()
        assert len(db.sql("SELECT i FROM x")) == len(ROWS)
    db.insert("x", ROWS[:1])


@pytest.mark.parametrize("seed", range(3))
def test_random_constants(seed: int) -> None:
    """Leaves at the ends of their types, under operators, casts and comparisons."""
    of = random.Random(seed)
    types = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63}

    def leaf(ty: str) -> str:
        most = 2 ** types[ty] - 1
        value = of.choice([0, 1, 2, most, most // 2 + 1, -1, -most])
        return f"CAST({value} AS {ty})"

    def tree(depth: int, ty: str) -> str:
        if depth == 0:
            return of.choice([leaf(ty), leaf(ty), f"CAST({of.choice('inb')} AS {ty})"])
        left, right = tree(depth - 1, ty), tree(depth - 1, ty)
        return f"({left} {of.choice('+-*')} {right})"

    for _ in range(40):
        ty = of.choice(list(types))
        whole = tree(of.choice([1, 2]), ty)
        to = of.choice([*types, "DOUBLE", "DECIMAL(9, 0)"])
        compare = of.choice(["=", "<", ">=", "<>", "IS DISTINCT FROM"])
        call = of.choice(["CAST", "TRY_CAST"])
        check(of.choice([whole, f"{call}({whole} AS {to}) {compare} {of.choice([0, 2, 127])}"]))
