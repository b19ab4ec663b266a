"""Limits: memory that runs out is an error, long work on a row can be stopped; all is undone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors

PAIRS = "SELECT c, COUNT(*) AS n FROM r NATURAL JOIN s GROUP BY c"


def star(partners: int, **options: Any) -> rv.Database:
    """r(a, b), s(b, c): a row of r meets all rows of s."""
    db = rv.Database(**options)
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    db.insert("s", pa.table({"b": [0] * partners, "c": range(partners)}))
    return db


def test_one_row_that_meets_many_reports_and_can_be_stopped() -> None:
    db = star(300_000)
    view = db.create_view("v", PAIRS)
    calls: list[int] = []
    db.insert("r", [{"a": 1, "b": 0}], progress=calls.append)
    assert len(calls) > 3, "asked within the work of one row"
    before = view.to_arrow()

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.insert("r", [{"a": 2, "b": 0}], progress=stop)
    assert view.to_arrow() == before


def test_a_change_that_does_not_fit_raises_and_changes_nothing() -> None:
    db = star(1_000, memory_limit="2MB")
    view = db.create_view("v", "SELECT a, c FROM r NATURAL JOIN s", representation="listing")
    with pytest.raises(
        MemoryError, match=r"limit of 2\.0 MB.*nothing of this transaction"
    ) as raised:
        db.insert("r", pa.table({"a": range(1_000), "b": [0] * 1_000}))
    assert isinstance(raised.value, errors.OutOfMemoryError)
    assert isinstance(raised.value, rv.RingviewError)
    assert len(view) == 0
    db.insert("r", [{"a": 1, "b": 0}])
    assert len(view) == 1_000


def test_a_new_view_that_does_not_fit_is_not_there() -> None:
    db = star(20_000, memory_limit=3_000_000)
    db.insert("r", pa.table({"a": range(20), "b": [0] * 20}))
    listing = {"representation": "listing"}
    with pytest.raises(MemoryError, match="raise memory_limit"):
        db.create_view("v", "SELECT a, c FROM r NATURAL JOIN s", **listing)  # type: ignore[arg-type]
    assert not db.views
    db.create_view("v", "SELECT COUNT(*) AS n FROM r NATURAL JOIN s")


@pytest.mark.parametrize(
    ("given", "expected"),
    [(1, 1), ("7", 7), ("1kB", 1000), ("1 KiB", 1024), ("2.5gb", 2_500_000_000), ("1TiB", 1 << 40)],
)
def test_sizes(given: int | str, expected: int) -> None:
    assert rv.convert.sizes.size(given) == expected


@pytest.mark.parametrize("given", ["", "GB", "-1", -1, 0, "0.1B", "1 parsec", 1.5, True, 1 << 64])
def test_what_is_no_size_is_refused(given: Any) -> None:
    with pytest.raises(errors.InvalidValueError, match="is not a size; write"):
        rv.Database(memory_limit=given)


LIMIT = 8_000_000
FEWEST = 512


def full(sql: str | None = None) -> tuple[rv.Database, int]:
    """A database that refused rows, with a view over it, and how many rows it has."""
    db = rv.Database(memory_limit=LIMIT)
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    db.insert("s", pa.table({"b": range(100), "c": [at % 7 for at in range(100)]}))
    if sql is not None:
        db.create_view("v", sql)
    rows, step = 0, 4096
    while step >= FEWEST:
        more = range(rows, rows + step)
        try:
            db.insert("r", pa.table({"a": more, "b": [at % 100 for at in more]}))
        except MemoryError:
            step //= 2
        else:
            rows += step
    return db, rows


@pytest.mark.parametrize(
    "sql",
    [
        None,
        "SELECT a, c FROM r JOIN s USING (b)",
        "SELECT b, count(*) AS n, min(a) AS least FROM r GROUP BY b",
        "SELECT a, a || 'x' AS t FROM r WHERE b < 50",
    ],
    ids=["table", "join", "groups", "computed"],
)
def test_at_the_limit_rows_are_deleted(sql: str | None) -> None:
    db, rows = full(sql)
    assert rows > 1000
    db.delete("r", [{"a": 0, "b": 0}])
    db.execute("DELETE FROM r WHERE a = 1")
    with db.transaction() as tx:
        tx.delete("r", [{"a": 2, "b": 2}])
        tx.delete("r", [{"a": 3, "b": 3}])
    db.execute("BEGIN; DELETE FROM r WHERE a = 4; COMMIT")
    assert db.delete("r", where=f"a < {rows // 2}") == rows // 2 - 5
    db.execute("TRUNCATE r")
    assert len(db.tables["r"]) == 0
    db.insert("r", pa.table({"a": range(1000), "b": [1] * 1000}))


def test_at_the_limit_time_passes_and_rows_that_are_too_old_go() -> None:
    db = rv.Database(memory_limit=LIMIT)
    moment = pa.timestamp("us")
    db.create_table("r", {"at": moment, "b": "int64"}, keep_for=("at", "1 day"))
    db.advance("2024-01-01")
    view = db.create_view("v", "SELECT count(*) AS n FROM r WHERE at > now() - INTERVAL 1 HOUR")
    rows, step = 0, 4096
    while step >= FEWEST:
        at = pa.array([1704067200_000000 + row for row in range(rows, rows + step)]).cast(moment)
        try:
            db.insert("r", pa.table({"at": at, "b": range(step)}))
        except MemoryError:
            step //= 2
        else:
            rows += step
    db.advance("2024-01-01 12:00:00")
    assert view.scalar() == 0
    db.advance("2024-01-03")
    assert len(db.tables["r"]) == 0


LONG = [
    "repeat(t, n)",
    "lpad(t, n, 'x')",
    "rpad(t, n, 'x')",
    "array_to_string(range(n), ',')",
    "list_sum(generate_series(1, n))",
    "replace(repeat(t, 1000), 'a', repeat('b', n))",
    "concat(repeat(t, 1000), repeat(t, n))",
    "length(repeat(t, n))",
]


@pytest.mark.parametrize("expression", LONG)
def test_results_that_do_not_fit_are_refused_before_they_are_made(expression: str) -> None:
    """As a query, and in a view, whose rows are inserted and deleted after a refusal."""
    db = rv.Database(memory_limit=LIMIT)
    db.create_table("r", {"t": "string", "n": "int64"})
    view = db.create_view("v", f"SELECT n, {expression} AS v FROM r")
    db.insert("r", [{"t": "a", "n": 3}])
    before = view.to_arrow()
    for n in (20_000_000, 10**12, 2**62):
        with pytest.raises(MemoryError, match="result of"):
            db.insert("r", [{"t": "a", "n": n}])
        if n == 20_000_000:
            # Constants are computed as a text is read, by the memory of the machine.
            continue
        query = expression.replace("n)", f"{n})").replace("n,", f"{n},")
        with pytest.raises(MemoryError, match="result of"):
            db.sql(f"SELECT {query} AS v FROM r")
    assert view.to_arrow() == before
    db.delete("r", [{"t": "a", "n": 3}])
    assert len(view) == 0


@pytest.mark.parametrize("n", [10**9, 10**15])
@pytest.mark.parametrize(
    "call",
    ["length(repeat('x', {}))", "length(lpad('x', {}, 'y'))", "list_sum(range({}))"],
)
def test_constants_that_do_not_fit_are_refused(call: str, n: int) -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    with pytest.raises(MemoryError, match="result of"):
        db.sql(f"SELECT {call.format(n)} AS v FROM r")
