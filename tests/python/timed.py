"""Views that are filtered by the clock, beside DuckDB with the moment as a constant.

Tables with NULLs and duplicates, moments around the ends of months, where months are added; what
their rows are is kept here as a list, and the clock as a number.
"""

from __future__ import annotations

import datetime as dt
import random
import re
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import ringview as rv

START = dt.datetime(2024, 1, 27, 22)
SCHEMAS = {
    "r": pa.schema({"a": pa.int64(), "x": pa.int64(), "ts": pa.timestamp("us"), "d": pa.date32()}),
    "s": pa.schema({"a": pa.int64(), "since": pa.timestamp("us"), "until": pa.timestamp("us")}),
}
QUERIES = [
    "SELECT * FROM r WHERE ts > now() - INTERVAL '2 days'",
    "SELECT a, COUNT(*) AS n, SUM(x) AS s FROM r WHERE d = current_date GROUP BY a",
    "SELECT r.a, COUNT(*) AS n FROM r JOIN s ON r.a = s.a "
    "WHERE now() BETWEEN s.since AND s.until AND r.x > 0 GROUP BY r.a",
    "SELECT a, x FROM r WHERE date_trunc('month', ts) >= date_trunc('month', now())",
    "SELECT a, x, ts FROM r WHERE ts >= now() - INTERVAL '1 month'",
    "SELECT a, ts FROM r WHERE ts < now() + INTERVAL '1 month' "
    "AND ts > now() - INTERVAL '2 months'",
    "SELECT COUNT(*) AS n FROM r WHERE now() - ts < INTERVAL '36 hours'",
    "SELECT a, MAX(x) AS m FROM r WHERE current_date - d < 3 GROUP BY a",
    "SELECT x FROM r WHERE NOT (ts <= now() - INTERVAL '1 day') AND d <> current_date",
    "SELECT q.a, SUM(q.x) AS s FROM (SELECT a, x FROM r WHERE d >= current_date - 2) q "
    "GROUP BY q.a",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING MAX(ts) > now() - INTERVAL '1 day'",
    "SELECT a FROM r WHERE ts + INTERVAL '30 hours' > now() AND x IS NOT NULL",
    "SELECT p.a, COUNT(*) AS n FROM r p JOIN r q ON p.a = q.a "
    "WHERE p.ts > now() - INTERVAL '1 day' AND q.ts <= now() GROUP BY p.a",
    "SELECT time_bucket(INTERVAL '1 hour', ts) AS hour, COUNT(*) AS n FROM r "
    "WHERE ts >= time_bucket(INTERVAL '1 day', now()) GROUP BY hour",
    "SELECT a FROM r WHERE d > now()::DATE - 3 UNION ALL SELECT a FROM s WHERE until > now()",
    "SELECT r.a, s.since FROM r JOIN s ON r.a = s.a WHERE greatest(r.ts, s.since) > now()",
    "SELECT tumble(ts, INTERVAL '6 hours') AS t, COUNT(*) AS n FROM r WHERE ts <= now() GROUP BY t",
    "SELECT DISTINCT a FROM r WHERE d BETWEEN current_date - 4 AND current_date",
    "SELECT a, x FROM r WHERE CAST(ts AS DATE) = current_date - INTERVAL '1 day'",
    "SELECT a, x, row_number() OVER (PARTITION BY a ORDER BY x, ts, d) AS n FROM r "
    "WHERE ts < now()",
    "SELECT r.a, q.n FROM r LEFT JOIN "
    "(SELECT a, COUNT(*) AS n FROM s WHERE until > now() GROUP BY a) q ON r.a = q.a",
]


def moment(rng: random.Random, now: dt.datetime) -> dt.datetime | None:
    """A moment near the clock, in steps of six hours, or a month away; or NULL."""
    if rng.random() < 0.1:
        return None
    days = rng.choice([-31, -30, -29, -28, 0, 0, 0, 28, 29, 31])
    return now + dt.timedelta(days=days, hours=6 * rng.randrange(-14, 9))


def row(rng: random.Random, table: str, now: dt.datetime) -> dict[str, Any]:
    """A row of small domains."""
    if table == "s":
        since = moment(rng, now)
        length = dt.timedelta(hours=6 * rng.randrange(-1, 12))
        until = None if since is None or rng.random() < 0.1 else since + length
        return {"a": rng.choice([None, 1, 2, 3]), "since": since, "until": until}
    day = moment(rng, now)
    return {
        "a": rng.choice([None, 1, 2, 3]),
        "x": rng.choice([None, 0, 1, 5]),
        "ts": moment(rng, now),
        "d": None if day is None else day.date(),
    }


def constant(sql: str, now: dt.datetime) -> str:
    """The text with the moment in the place of the clock."""
    sql = sql.replace("current_date", f"DATE '{now.date()}'")
    sql = re.sub(r"tumble\((\w+), (INTERVAL '[^']*')\)", r"time_bucket(\2, \1)", sql)
    return re.sub(r"now\(\)", f"TIMESTAMP '{now}'", sql)


def expected(sql: str, rows: dict[str, list[dict[str, Any]]], now: dt.datetime) -> Counter[Any]:
    """DuckDB's result of the text at a moment."""
    connection = duckdb.connect()
    for table, schema in SCHEMAS.items():
        connection.register(table, pa.Table.from_pylist(rows[table], schema=schema))
    return counted(connection.sql(constant(sql, now)).to_arrow_table())


def counted(table: pa.Table) -> Counter[Any]:
    """The rows as a bag."""
    return Counter(tuple(plain(value) for value in one.values()) for one in table.to_pylist())


def plain(value: Any) -> Any:
    """A value as both say it."""
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


def define(db: rv.Database, queries: list[str], keep_for: bool = False) -> None:
    """Tables and views, with the clock at the start."""
    db.advance(START)
    for table, schema in SCHEMAS.items():
        columns = {"r": ("ts", "3 days"), "s": ("until", "12 hours")}
        db.create_table(table, schema, keep_for=columns[table] if keep_for else None)
    for number, sql in enumerate(queries):
        db.create_view(f"v{number}", sql)
