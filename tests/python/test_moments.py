"""Dates and moments, their zones, texts and formats: each expression is DuckDB's."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv

BERLIN = pa.timestamp("us", "Europe/Berlin")
SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "ts": pa.timestamp("us"),
        "tz": pa.timestamp("us", "UTC"),
        "far": BERLIN,
        "d": pa.date32(),
        "s": pa.string(),
        "zone": pa.string(),
    }
)
ZONES = ["America/New_York", "europe/berlin", "Asia/Kolkata", "Pacific/Apia", "UTC", "EST"]
TEXTS = [
    "2024-03-10 07:30",
    "2024/7/1",
    "2024-03-10T02:30:15.1234567",
    " 2024-3-1 7:3:5 ",
    "2024-03-10 24:00:00",
    "99-03-15",
    "2024 03 10",
    "epoch",
    "2024-03-10 07:30:15+02",
    "2024-03-10T07:30:15-0530",
    "2024-03-10 07:30:15Z",
    "2024-03-10 07:30:15 Europe/Berlin",
]
NONE = ["", "2024-02-30", "20240310", "2024-3-1 7", "2024-03-10 07:60", "2024-03/10", "x"]

VALUES = [
    "ts AT TIME ZONE 'America/New_York'",
    "tz AT TIME ZONE 'America/New_York'",
    "far AT TIME ZONE zone",
    "ts AT TIME ZONE zone",
    "timezone(zone, tz)",
    "d AT TIME ZONE 'Europe/Berlin'",
    "tz AT TIME ZONE 'Asia/Kolkata' AT TIME ZONE 'UTC'",
    "CAST(tz AS VARCHAR)",
    "CAST(far AS VARCHAR)",
    "CAST(ts AS VARCHAR)",
    "'at ' || far",
    "concat(tz, ' ', ts)",
    "far::TIMESTAMP",
    "far::DATE",
    "ts::TIMESTAMPTZ",
    "hour(far)",
    "day(far)",
    "dayname(far)",
    "monthname(far)",
    "extract(epoch FROM far)",
    "epoch_ms(far)",
    "epoch_ms(i)",
    "epoch_us(far)",
    "last_day(far)",
    "date_diff('day', far, tz)",
    "date_trunc('day', far)",
    "date_trunc('hour', far)",
    "date_trunc('isoyear', ts)",
    "date_trunc('century', d)",
    "date_trunc('weeks', ts)",
    "date_trunc('milliseconds', ts)",
    "time_bucket(INTERVAL '1 day', far)",
    "time_bucket(INTERVAL '1 month', tz)",
    "time_bucket(INTERVAL '3 months', d)",
    "time_bucket(INTERVAL '2 weeks', ts)",
    "time_bucket(INTERVAL '1 hour', ts, INTERVAL '15 minutes')",
    "time_bucket(INTERVAL '1 hour', ts, TIMESTAMP '2024-01-01 00:05')",
    "time_bucket(INTERVAL '1 month', ts, TIMESTAMP '2000-01-10')",
    "far + INTERVAL '1 day'",
    "far - INTERVAL '1 month'",
    "far = tz",
    "far = ts",
    "d <= far",
    "coalesce(far, ts)::TIMESTAMPTZ",
    "far < '2024-03-10 12:02'",
    "d = '2024/03/10'",
    "ts BETWEEN '2024-3-1' AND '2024-07-01T23:59:59'",
    "strftime(ts, '%a %A %b %B %j %U %W %V %G %u %w %p %I %y %% %-d %-m %-H %-I %-M %-S %-j')",
    "strftime(ts, '%Y-%m-%d %H:%M:%S.%f|%g|%n|%c|%x|%X|%T|%h|%z|%Z|')",
    "strftime(far, '%H:%M %Z %z')",
    "strftime('%d.%m.%Y', d)",
    "strptime('2024-03-10 07:30:15.5', '%Y-%m-%d %H:%M:%S.%f')",
    "strptime('10/Mar/2024:07:30:15', '%d/%b/%Y:%H:%M:%S')",
    "strptime('2024-03-10 07:30 PM', '%Y-%m-%d %I:%M %p')",
    "strptime('12 am', '%I %p')",
    "strptime(' 99-070 ', '%y-%j')",
    "strptime('2024-W10-1', '%G-W%V-%u')",
    "strptime('2024 10 Sun', '%Y %U %a')",
    "strptime('2024 10 1', '%Y %W %w')",
    "strptime('Monday 2024-03-10', '%A %Y-%m-%d')",
    "strptime('2024-03-10 07:30 +02:30', '%Y-%m-%d %H:%M %z')",
    "strptime('2024-03-10 07:30 Europe/Berlin', '%Y-%m-%d %H:%M %Z')",
    "strptime('9999-12-31', '%Y-%m-%d')",
    "try_strptime(s, '%Y-%m-%d %H:%M')",
    "date_trunc('month', TIMESTAMP '9999-12-31 23:59:59')",
    "date_trunc('week', TIMESTAMP '0001-01-02')",
    "time_bucket(INTERVAL '1 day', TIMESTAMP '9999-12-31')",
    "time_bucket(INTERVAL '1 month', DATE '0001-01-01')",
    "make_timestamptz(2024, 1, 2, 3, 4, 5.5)",
    "TRY_CAST(s AS TIMESTAMP)",
    "TRY_CAST(s AS TIMESTAMPTZ)",
    "TRY_CAST(s AS DATE)",
]
# Around changes of the clocks of some zone, and far away.
MOMENTS = [
    "2024-03-10 02:30:00",
    "2024-03-10 07:30:15.5",
    "2024-03-31 00:59:59.999999",
    "2024-11-03 01:30:00",
    "2024-10-27 02:30:00",
    "2011-12-30 12:00:00",
    "1969-12-31 23:59:59.9995",
    "0044-03-15 12:00:00",
    "9999-12-31 00:00:01",
]


def rows() -> list[dict[str, Any]]:
    """One for each moment, text and zone, and one of NULLs."""
    drawn = random.Random(1)
    made: list[dict[str, Any]] = [dict.fromkeys(SCHEMA.names)]
    for at, text in enumerate([*MOMENTS, *TEXTS, *NONE]):
        moment = dt.datetime.fromisoformat(MOMENTS[at % len(MOMENTS)])
        instant = moment.replace(tzinfo=dt.UTC)
        kept = {"ts": moment, "tz": instant, "far": instant, "d": moment.date(), "s": text}
        made.append({"i": at, "zone": drawn.choice(ZONES), **kept})
    return made


def shown(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows in order, instants as what UTC's clock shows and that it does."""
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            zone = column.type.tz and "UTC"
            ticks = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
            columns.append([(of, zone) for of in ticks.to_pylist()])
        else:
            columns.append(column.to_pylist())
    return sorted(zip(*columns, strict=True), key=repr)


def database() -> rv.Database:
    db = rv.Database()
    db.create_table("t", SCHEMA)
    return db


def expected(sql: str, held: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        con.register("t", pa.Table.from_pylist(held, schema=SCHEMA))
        return shown(con.sql(sql).to_arrow_table())


@pytest.mark.parametrize("value", VALUES)
def test_values_are_duckdbs(value: str) -> None:
    sql, all_rows = f"SELECT i, {value} AS x FROM t", rows()
    db = database()
    view = db.create_view("v", sql)
    db.insert("t", all_rows[:20])
    assert shown(view.to_arrow()) == expected(sql, all_rows[:20])
    db.insert("t", all_rows[20:])
    db.delete("t", all_rows[:7])
    wanted = expected(sql, all_rows[7:])
    assert shown(view.to_arrow()) == wanted
    assert shown(db.sql(sql)) == wanted


@pytest.mark.parametrize("text", [*TEXTS, *NONE])
@pytest.mark.parametrize("ty", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_a_text_is_cast_as_duckdb_casts_it(text: str, ty: str) -> None:
    sql = f"SELECT '{text}'::{ty} AS x"
    try:
        wanted = expected(sql, [])
    except duckdb.ConversionException:
        with pytest.raises(rv.errors.RingviewError, match="cannot cast"):
            rv.Database().sql(sql)
        return
    assert shown(rv.Database().sql(sql)) == wanted


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("ts AT TIME ZONE 'nope'", "there is no time zone 'nope'"),
        ("strftime(ts, '%q')", "%q in the format '%q' is no part of a moment"),
        ("strftime(ts, '%Y%')", "ends with %"),
        ("strptime(s, '%k')", "%k in the format '%k' is no part"),
        ("date_trunc('nope', ts)", 'there is no part "nope" of a moment'),
        ("time_bucket(INTERVAL '0 days', ts)", "width above zero"),
        ("time_bucket(INTERVAL '1 month 1 day', ts)", "of months, or of days and time"),
    ],
)
def test_calls_that_no_row_computes_are_refused(value: str, said: str) -> None:
    db = database()
    with pytest.raises(rv.errors.RingviewError, match=said):
        db.create_view("v", f"SELECT {value} AS x FROM t")
    assert list(db.views) == []


def test_a_text_that_is_no_moment_undoes_its_row() -> None:
    db = database()
    view = db.create_view("v", "SELECT strptime(s, '%Y-%m-%d') AS a, s::DATE AS b FROM t")
    good = {**rows()[1], "s": "2024-03-10"}
    db.insert("t", [good])
    with pytest.raises(rv.errors.RingviewError, match="cannot read '2024' by the format"):
        db.insert("t", [{**good, "s": "2024"}])
    assert len(view) == len(db.tables["t"]) == 1
