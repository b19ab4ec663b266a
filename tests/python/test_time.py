"""Time: the clock of a database, how long tables keep rows, views that are filtered by the clock.

No test reads a clock. Views are compared with DuckDB after every batch and every step of time.
"""

from __future__ import annotations

import datetime as dt
import random
import threading
from collections import Counter
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import some
from durable_twin import durable_twin
from timed import QUERIES, SCHEMAS, START, counted, define, expected, row

Rows = dict[str, list[dict[str, Any]]]


def at(*moments: str) -> list[dt.datetime]:
    """Moments from ISO texts."""
    return [dt.datetime.fromisoformat(moment) for moment in moments]


def batch(rng: random.Random, rows: Rows, now: dt.datetime) -> tuple[Rows, Rows]:
    """Rows to insert and rows to delete."""
    come = {table: [row(rng, table, now) for _ in range(rng.randrange(5))] for table in SCHEMAS}
    go = {
        table: rng.sample(rows[table], rng.randrange(min(4, len(rows[table]) + 1)))
        for table in SCHEMAS
    }
    return come, go


def changed(db: rv.Database, come: Rows, go: Rows, to: dt.datetime | None) -> None:
    """Apply a batch as one transaction, time among it."""
    with db.transaction() as tx:
        for table, rows in come.items():
            tx.insert(table, pa.Table.from_pylist(rows, schema=SCHEMAS[table]))
        if to is not None:
            tx.advance(to)
        for table, rows in go.items():
            tx.delete(table, pa.Table.from_pylist(rows, schema=SCHEMAS[table]))


def expired(rows: Rows, now: dt.datetime) -> None:
    """Removes the rows that a table with `keep_for` drops."""
    rows["r"] = [
        one for one in rows["r"] if one["ts"] is None or one["ts"] >= now - dt.timedelta(3)
    ]
    cut = now - dt.timedelta(hours=12)
    rows["s"] = [one for one in rows["s"] if one["until"] is None or one["until"] >= cut]


@pytest.mark.parametrize("seed", some(range(2)))
@pytest.mark.parametrize("keep_for", [False, True])
def test_views_are_what_duckdb_makes_of_the_moment(seed: int, keep_for: bool) -> None:
    rng = random.Random(seed)
    now: dt.datetime = START
    rows: Rows = {table: [] for table in SCHEMAS}
    db = rv.Database()
    define(db, QUERIES, keep_for)
    followed = [Counter[Any]() for _ in QUERIES]
    left = Counter[str]()
    with durable_twin(lambda file: define(file, QUERIES, keep_for)) as file:
        for _ in range(8):
            come, go = batch(rng, rows, now)
            to = None
            if rng.random() < 0.6:
                to = now + dt.timedelta(hours=6 * rng.choice([0, 1, 1, 2, 4, 5, 20, 110]))
            wrong = {"a": [77], "x": [1], "ts": [now], "d": [now.date()]}
            with pytest.raises(rv.errors.OverDeleteError), db.transaction() as tx:
                tx.insert("r", pa.Table.from_pylist(come["r"], schema=SCHEMAS["r"]))
                tx.advance(now + dt.timedelta(days=40))
                tx.delete("r", pa.table(wrong, schema=SCHEMAS["r"]))
            twin = file.next()
            assert db.now == twin.now == now.replace(tzinfo=dt.UTC)
            for one in (db, twin):
                changed(one, come, go, to)
            now = to or now
            for table in SCHEMAS:
                rows[table] += come[table]
                for gone in go[table]:
                    rows[table].remove(gone)
            before = Counter({table: len(rows[table]) for table in SCHEMAS})
            if keep_for:
                expired(rows, now)
            for table in SCHEMAS:
                left[table] += before[table] - len(rows[table])
                assert db.tables[table].expired == left[table]
                assert len(db.tables[table]) == len(twin.tables[table]) == len(rows[table])
            for number, sql in enumerate(QUERIES):
                right = expected(sql, rows, now)
                view = db[f"v{number}"]
                assert counted(view.to_arrow()) == right, (sql, now)
                assert counted(twin[f"v{number}"].to_arrow()) == right, (sql, now)
                moved = view.changes().to_pylist()
                for change in moved:
                    times = change.popitem()[1]
                    followed[number][tuple(change.values())] += times
                assert +followed[number] == right, (sql, now)
    fresh = rv.Database()
    fresh.advance(now)
    for table, schema in SCHEMAS.items():
        fresh.create_table(table, schema)
        fresh.insert(table, pa.Table.from_pylist(rows[table], schema=schema))
    for number, sql in enumerate(QUERIES):
        view = fresh.create_view(f"v{number}", sql)
        assert counted(view.to_arrow()) == expected(sql, rows, now), sql


def test_a_clock_goes_on_and_never_back() -> None:
    db = rv.Database()
    assert db.now is None
    db.advance(dt.date(2026, 3, 9))
    assert db.now == dt.datetime(2026, 3, 9, tzinfo=dt.UTC)
    db.advance("2026-03-09T12:00:00+02:00")
    assert db.now == dt.datetime(2026, 3, 9, 10, tzinfo=dt.UTC)
    db.advance(dt.datetime(2026, 3, 9, 10))
    with pytest.raises(
        ValueError, match=r"cannot go back from 2026-03-09 10:00:00 to 2026-03-09 09"
    ):
        db.advance("2026-03-09T09:00:00")
    for wrong in ("yesterday", ""):
        with pytest.raises(rv.errors.InvalidValueError, match="is no moment"):
            db.advance(wrong)
    others: list[Any] = [5, None, 1.5, dt.time(3)]
    for other in others:
        with pytest.raises(rv.errors.TypeMismatchError, match="a moment is a datetime"):
            db.advance(other)
    assert db.now == dt.datetime(2026, 3, 9, 10, tzinfo=dt.UTC)


def test_a_step_of_time_is_applied_once() -> None:
    db = rv.Database()
    db.advance("2026-03-09", batch_id="monday")
    db.advance("2026-03-10", batch_id="monday")
    assert db.now == dt.datetime(2026, 3, 9, tzinfo=dt.UTC)


def test_rows_leave_a_table_as_deletes() -> None:
    db = rv.Database()
    table = db.create_table(
        "r",
        {"id": "int64 not null", "day": "date32", "s": "string"},
        unique="id",
        keep_for=("day", dt.timedelta(days=7)),
    )
    view = db.create_view("v", "SELECT COUNT(*) AS n, MAX(s) AS m FROM r")
    db.insert(
        "r",
        {
            "id": [1, 2, 3, 4],
            "day": [dt.date(2026, 3, d) for d in (1, 2, 3)] + [None],
            "s": ["z", "y", None, "a"],
        },
    )
    view.changes()
    db.advance("2026-03-08")
    assert len(table) == 4, "seven days are not more than seven days"
    db.advance("2026-03-08T00:00:00.000001")
    assert sorted(table.to_arrow()["id"].to_pylist()) == [2, 3, 4]
    assert [list(one.values()) for one in view.changes().to_pylist()] == [[4, "z", -1], [3, "y", 1]]
    with pytest.raises(rv.errors.OverDeleteError):
        db.delete("r", {"id": [1]})
    db.upsert(
        "r",
        {
            "id": [2, 3, 5],
            "day": [dt.date(2026, 3, 9), None, dt.date(2026, 2, 1)],
            "s": ["y", "b", "c"],
        },
    )
    assert sorted(table.to_arrow()["id"].to_pylist()) == [2, 3, 4], "what is too old leaves at once"
    db.update("r", {"id": [4], "day": [dt.date(2026, 2, 1)]})
    assert sorted(table.to_arrow()["id"].to_pylist()) == [2, 3]
    db.advance("2030-01-01")
    assert table.to_arrow()["id"].to_pylist() == [3]
    assert table.keep_for == ("day", "7 days")
    assert "keep_for=('day', '7 days')" in repr(table)
    assert "a row leaves when day < now() - INTERVAL '7 days'" in table.explain()


def test_months_are_those_of_the_calendar() -> None:
    db = rv.Database()
    table = db.create_table("r", {"ts": "timestamp[ns]"}, keep_for=("ts", "1 month"))
    table.insert({"ts": [dt.datetime(2026, 1, 31, 8), dt.datetime(2026, 2, 28, 8)]})
    db.advance("2026-02-28T08:00:00")
    assert len(table) == 2
    db.advance("2026-03-01T08:00:00")
    assert len(table) == 1


@pytest.mark.parametrize(
    ("keep_for", "error", "message"),
    [
        (("b", "7 days"), rv.errors.UnknownColumnError, "b"),
        (("a", "7 days"), rv.errors.TypeMismatchError, "a date or a timestamp"),
        (("ts", "7 moons"), rv.errors.InvalidValueError, "7 days"),
        (("ts", "-7 days"), rv.errors.InvalidValueError, "above 0"),
        (("ts", dt.timedelta(0)), rv.errors.InvalidValueError, "above 0"),
        (("ts", 7), rv.errors.TypeMismatchError, "timedelta"),
        ("ts", rv.errors.TypeMismatchError, "a column and a length of time"),
    ],
)
def test_a_bad_length_of_time_is_refused(
    keep_for: Any, error: type[Exception], message: str
) -> None:
    db = rv.Database()
    with pytest.raises(error, match=message):
        db.create_table("r", {"a": "int64", "ts": "timestamp"}, keep_for=keep_for)
    assert not db.tables


def test_rows_that_cannot_leave_are_not_kept_for_a_time() -> None:
    with pytest.raises(rv.errors.UnsupportedError, match="static"):
        rv.Database().create_table("r", {"ts": "timestamp"}, static=True, keep_for=("ts", "1 day"))
    trusting = rv.Database(trust_deletes=True)
    with pytest.raises(rv.errors.UnsupportedError, match="trust_deletes"):
        trusting.create_table("r", {"ts": "timestamp"}, keep_for=("ts", "1 day"))
    trusting.create_table("r", {"ts": "timestamp"})
    trusting.advance("2026-03-09")
    view = trusting.create_view("v", "SELECT COUNT(*) AS n FROM r WHERE ts > now()")
    trusting.insert("r", {"ts": at("2026-03-09T00:00:01", "2026-03-10")})
    trusting.advance("2026-03-09T12:00:00")
    assert view.scalar() == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT now() AS n FROM r",
        "SELECT COUNT(*) AS n FROM r WHERE ts > now() OR a > 1",
        "SELECT a, MAX(ts) > now() AS late FROM r GROUP BY a",
        "SELECT a FROM r WHERE ts > now() - a * INTERVAL '1 day'",
        "SELECT a FROM r WHERE year(now()) = a",
        "SELECT a FROM r WHERE ts NOT BETWEEN now() AND now() + INTERVAL '1 day'",
        "SELECT r.a FROM r JOIN r q ON r.a = q.a AND q.ts > now()",
        "SELECT COUNT(*) FILTER (WHERE ts > now()) AS n FROM r",
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a ORDER BY now()",
    ],
)
def test_other_uses_of_the_clock_are_refused(sql: str) -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "ts": "timestamp"})
    db.advance("2026-03-09")
    with pytest.raises(rv.errors.UnsupportedError, match="now"):
        db.create_view("v", sql)


def test_a_view_needs_a_clock() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "ts": "timestamp", "s": "string"})
    sql = "SELECT a FROM r WHERE ts > now() - INTERVAL '1 day'"
    with pytest.raises(rv.errors.UnsupportedError, match=r"set the clock first: db.advance\(..\)"):
        db.create_view("v", sql)
    db.advance("2026-03-09")
    view = db.create_view("v", sql)
    with pytest.raises(rv.errors.TypeMismatchError, match=r"which is compared with now\(\)"):
        db.create_view("w", "SELECT a FROM r WHERE s > now()")
    db.insert("r", {"a": [1, 2], "ts": at("2026-03-08T12:00:00", "2026-03-11"), "s": ["", ""]})
    told = view.explain()
    assert "rows while \"ts\" > now() - INTERVAL '1 day': 2 are visible, 0 to come;" in told
    assert "the next change is at 2026-03-09 12:00:00 UTC" in told
    assert "rows while \"ts\" > now() - INTERVAL '1 day'" in db.explain(sql)


def test_a_refused_step_leaves_all_as_it_was() -> None:
    db = rv.Database()
    db.advance("2026-03-09")
    table = db.create_table("r", {"ts": "timestamp", "x": "int64"}, keep_for=("ts", "1 day"))
    view = db.create_view("v", "SELECT SUM(x) AS x FROM r WHERE ts < now()")
    db.insert("r", {"ts": at("2026-03-08T12:00:00", "2026-03-09T12:00:00"), "x": [1, 2]})

    def stop(_: int) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        db.advance("2026-03-09T13:00:00", progress=stop)
    assert (view.scalar(), len(table), db.now) == (1, 2, dt.datetime(2026, 3, 9, tzinfo=dt.UTC))
    db.advance("2026-03-09T13:00:00")
    assert (view.scalar(), len(table)) == (2, 1)


def test_copies_keep_the_clock(tmp_path: Any) -> None:
    db = rv.Database()
    db.advance("2026-03-09")
    db.create_table("r", {"ts": "timestamp"}, keep_for=("ts", "1 day"))
    db.create_view("v", "SELECT COUNT(*) AS n FROM r WHERE ts > now()")
    db.insert("r", {"ts": at("2026-03-09T12:00:00")})
    db.save(tmp_path / "copy")
    copy = rv.Database.load(tmp_path / "copy")
    assert copy.now == db.now
    assert copy.tables["r"].keep_for == ("ts", "1 day")
    copy.advance("2026-03-10")
    assert (copy["v"].scalar(), db["v"].scalar()) == (0, 1)
    with pytest.raises(rv.errors.InvalidValueError, match="cannot go back"):
        copy.advance("2026-03-09")


def test_threads_that_write_a_file_together_leave_one_that_opens(tmp_path: Any) -> None:
    with rv.Database.open(tmp_path / "t") as db:
        db.advance(START)
        db.create_table("r", {"id": "int64", "ts": "timestamp"}, keep_for=("ts", "1 hour"))

        def write(thread: int) -> None:
            for number in range(12):
                rows = {"id": [thread], "ts": [START + dt.timedelta(minutes=10 * number)]}
                db.insert("r", rows)
                if number % 3 == thread % 3:
                    with suppress(rv.errors.InvalidValueError):
                        db.advance(START + dt.timedelta(minutes=15 * number))
                elif number % 3 == 1:
                    with suppress(rv.errors.OverDeleteError):
                        db.delete("r", rows)

        threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found, now = counted(db.tables["r"].to_arrow()), db.now
    with rv.Database.open(tmp_path / "t") as again:
        assert (counted(again.tables["r"].to_arrow()), again.now) == (found, now)


def test_a_limit_of_memory_counts_rows_by_their_age() -> None:
    plain, aged = rv.Database(), rv.Database()
    plain.create_table("r", {"ts": "timestamp"})
    aged.create_table("r", {"ts": "timestamp"}, keep_for=("ts", "1 hour"))
    for db in (plain, aged):
        db.insert("r", {"ts": [START + dt.timedelta(seconds=n) for n in range(2000)]})
    assert aged.tables["r"].nbytes > plain.tables["r"].nbytes + 2000 * 16
    small = rv.Database(memory_limit="200kB")
    small.advance(START)
    small.create_table("r", {"ts": "timestamp"}, keep_for=("ts", "1 hour"))
    with pytest.raises(MemoryError):
        small.insert("r", {"ts": [START + dt.timedelta(seconds=n) for n in range(20000)]})
    assert len(small.tables["r"]) == 0
    small.insert("r", {"ts": [START]})
    small.advance(START + dt.timedelta(hours=2))
    assert len(small.tables["r"]) == 0
