"""The queries of `examples/order_book` on the life of a book, against DuckDB over its orders.

After every event DuckDB computes them in one pass over all events: the orders of each moment by
price, the aggregates that they are compared by as windows (`windows`). The queries themselves, run
at some moments, confirm that these have the same meaning.
"""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import ringview as rv
from durable_twin import durable_twin
from oracle import comparable

EXAMPLES = Path(__file__).parents[2] / "examples"
BOOK = EXAMPLES / "data" / "orderbook_5k.parquet"
# A longer book of the same columns, for the long tests.
LONG_BOOK = os.environ.get("RINGVIEW_ORDER_BOOK")
QUERIES = {path.stem: path.read_text() for path in sorted(EXAMPLES.glob("order_book/*.sql"))}
COLUMNS = ["t", "id", "broker_id", "volume", "price"]
SIDES = ("bids", "asks")
# Queries that the optimisation of the paper keeps, in its Table 1.
INDEXED = {"equality", "vwap", "mst", "psp", "sq2", "nq1"}
# The orders of each side at each moment, by price, with running volumes; the same by volume.
LEVELS = """
    CREATE TABLE levels AS
    WITH deltas AS (
        SELECT side, price, place, SUM(mult) AS n, SUM(mult * volume) AS v FROM events
        GROUP BY side, price, place),
    runs AS (
        SELECT side, price, place, LEAD(place, 1, {last}) OVER w AS stop,
            SUM(n) OVER w AS n, SUM(v) OVER w AS v
        FROM deltas WINDOW w AS (PARTITION BY side, price ORDER BY place)),
    moments AS (
        SELECT UNNEST(RANGE({first}, stop, {step})) AS moment, side, price, n, v, price * v AS value
        FROM runs WHERE n > 0)
    SELECT *, SUM(v) OVER (PARTITION BY moment, side) AS total,
        SUM(v) OVER (PARTITION BY moment, side ORDER BY price) AS upto
    FROM moments"""
SIZES = """
    CREATE TABLE sizes AS
    WITH deltas AS (
        SELECT side, volume, place, SUM(mult) AS n, SUM(mult * price) AS p FROM events
        GROUP BY side, volume, place),
    runs AS (
        SELECT side, volume, place, LEAD(place, 1, {last}) OVER w AS stop,
            SUM(n) OVER w AS n, SUM(p) OVER w AS p
        FROM deltas WINDOW w AS (PARTITION BY side, volume ORDER BY place)),
    moments AS (
        SELECT UNNEST(RANGE({first}, stop, {step})) AS moment, side, volume, n, p
        FROM runs WHERE n > 0)
    SELECT *, SUM(n * volume) OVER (PARTITION BY moment, side) AS total FROM moments"""
CHOSEN = """
    SELECT moment, SUM(value) FILTER ({condition}) AS value FROM ({of}) GROUP BY moment"""
BIDS = "SELECT * FROM levels WHERE side = 'bids'"
PAIRS = """
    WITH chosen AS (
        SELECT moment, side, SUM(n) AS n, SUM({value}) AS value FROM ({of}) WHERE {condition}
        GROUP BY moment, side)
    SELECT a.moment, a.value * b.n - b.value * a.n AS value
    FROM chosen a JOIN chosen b ON a.moment = b.moment AND a.side = 'asks' AND b.side = 'bids'"""
ABOVE = "OVER (PARTITION BY moment, side ORDER BY price ROWS BETWEEN {0} AND UNBOUNDED FOLLOWING)"
# The first moment from an event on, where each of so many events is followed by one.
FIRST = "place + {step} - 1 - place % {step}"
# Each query as the aggregates of all moments.
WINDOWS = {
    "equality": CHOSEN.format(of=BIDS, condition="WHERE 0.5 * total = v"),
    "vwap": f"""SELECT moment, SUM(value) AS value, SUM(v) AS volume FROM ({BIDS})
        WHERE 0.75 * total < upto GROUP BY moment""",
    "mst": PAIRS.format(
        of=f"SELECT *, SUM(v) {ABOVE.format('1 FOLLOWING')} AS beyond FROM levels",
        value="value",
        condition="0.25 * total > beyond",
    ),
    "psp": PAIRS.format(of="SELECT * FROM sizes", value="p", condition="volume > 0.0001 * total"),
    "sq1": CHOSEN.format(
        of=f"SELECT *, SUM(v) {ABOVE.format('CURRENT ROW')} AS above FROM ({BIDS})",
        condition="WHERE 0.75 * above < upto",
    ),
    "sq2": CHOSEN.format(
        of=f"""SELECT b.moment, b.value, b.total, d.upto FROM ({BIDS}) b ASOF LEFT JOIN ({BIDS}) d
            ON b.moment = d.moment AND 3 * b.price - 5 >= 2 * d.price""",
        condition="WHERE 0.75 * total < upto",
    ),
    "nq1": CHOSEN.format(
        of=f"""SELECT *, SUM(v) FILTER (WHERE 0.25 * total < upto)
            OVER (PARTITION BY moment ORDER BY price) AS beyond FROM ({BIDS})""",
        condition="WHERE 0.75 * total < beyond",
    ),
    "nq2": CHOSEN.format(
        of=f"""SELECT b.moment, b.value, b.total, b.upto - COALESCE(d.upto, 0) AS beyond
            FROM ({BIDS}) b ASOF LEFT JOIN ({BIDS}) d
            ON b.moment = d.moment AND 0.25 * b.upto >= d.upto""",
        condition="WHERE 0.75 * total < beyond",
    ),
}


def events_of(book: Path, last: int) -> pa.Table:
    """The first events of a book, numbered."""
    events = pq.read_table(book).slice(0, last)
    return events.append_column("place", pa.array(range(len(events)), pa.int64()))


def windows(
    events: pa.Table, names: set[str], step: int = 1
) -> dict[str, dict[int, list[Decimal | None]]]:
    """Results of queries after each event, or each `step` events, by its number; nothing where all
    is NULL."""
    connection = duckdb.connect(config={"threads": 1, "memory_limit": "6GB"})
    connection.register("events", events)
    moments = {"last": len(events), "first": FIRST.format(step=step), "step": step}
    for table in (LEVELS, SIZES):
        connection.execute(table.format(**moments))
    found: dict[str, dict[int, list[Decimal | None]]] = {}
    for name in names:
        rows = connection.execute(WINDOWS[name]).fetchall()
        found[name] = {at: [exact(cell) for cell in cells] for at, *cells in rows}
    return found


def exact(cell: Any) -> Decimal | None:
    return None if cell is None else Decimal(cell)


def define(db: rv.Database, events: pa.Table, names: set[str]) -> dict[str, rv.View]:
    """A book in a database, with views of some queries."""
    fields = [field.with_nullable(False) for field in events.select(COLUMNS).schema]
    for side in SIDES:
        db.create_table(side, pa.schema(fields))
    return {name: db.create_view(name, QUERIES[name]) for name in sorted(names)}


def play(db: rv.Database, some: pa.Table) -> None:
    """Some events, in one transaction."""
    with db.transaction(net=True) as tx:
        for side in SIDES:
            own = some.filter(pc.equal(some["side"].cast("string"), side))
            came = pc.greater(own["mult"], 0)
            tx.insert(side, own.filter(came).select(COLUMNS))
            tx.delete(side, own.filter(pc.invert(came)).select(COLUMNS))


def cells(view: Any) -> list[Decimal | None]:
    row = view.get({})
    assert row is not None
    return [exact(cell) for cell in row.values()]


def check_every_event(names: set[str], book: Path, last: int) -> None:
    events = events_of(book, last)
    expected = windows(events, names)
    db = rv.Database()
    views = define(db, events, names)
    sides, signs = events["side"].cast("string").to_pylist(), events["mult"].to_pylist()
    rows = events.select(COLUMNS).combine_chunks().to_batches()[0]
    seen = dict.fromkeys(names, 0)
    for at, (side, sign) in enumerate(zip(sides, signs, strict=True)):
        change = db.insert if sign > 0 else db.delete
        change(side, rows.slice(at, 1))
        for name, view in views.items():
            found = cells(view)
            wanted = expected[name].get(at, [None] * len(found))
            assert found == wanted, (name, at)
            seen[name] += wanted[0] is not None
    assert all(seen[name] > last // 2 for name in names - {"equality"})


def check_moments(book: Path, moments: int) -> None:
    """After batches of one size, as many as there are moments, in memory and in a file."""
    events = events_of(book, pq.read_metadata(book).num_rows)
    step = len(events) // moments
    db = rv.Database()
    define(db, events, set(QUERIES))
    every = windows(events, set(QUERIES), step)
    seen = dict.fromkeys(QUERIES, 0)
    with durable_twin(lambda db: define(db, events, set(QUERIES))) as file:
        for at in range(0, moments * step, step):
            for each in (db, file.next()):
                play(each, events.slice(at, step))
            for name in QUERIES:
                found = cells(db[name])
                wanted = every[name].get(at + step - 1, [None] * len(found))
                assert found == cells(file.db[name]) == wanted, (name, at)
                seen[name] += wanted[0] is not None
    assert all(seen[name] > moments // 2 for name in set(QUERIES) - {"equality"})


def check_book(book: Path, batch: int, last: int) -> None:
    """Against the queries as they are written, after each batch."""
    events = events_of(book, last)
    db, connection = rv.Database(), duckdb.connect(config={"threads": 1})
    views = define(db, events, set(QUERIES))
    connection.register("events", events)
    every = windows(events, set(QUERIES))
    for at in range(0, len(events), batch):
        play(db, events.slice(at, batch))
        end = min(at + batch, len(events))
        for side in SIDES:
            names = ", ".join(COLUMNS)
            connection.execute(
                f"CREATE OR REPLACE TABLE {side} AS SELECT {names} FROM (SELECT {names}, "
                f"UNNEST(RANGE(SUM(mult)::BIGINT)) FROM events WHERE side = '{side}' "
                f"AND place < {end} GROUP BY {names})"
            )
        for name, sql in QUERIES.items():
            table = connection.sql(sql).to_arrow_table()
            assert comparable(views[name].to_arrow()) == comparable(table), name
            (row,) = table.to_pylist()
            said = every[name].get(end - 1, [None] * len(row))
            assert said == [exact(cell) for cell in row.values()], name


def test_the_book_equals_duckdb_after_every_batch() -> None:
    check_book(BOOK, batch=199, last=2000)


@pytest.mark.parametrize(("names", "last"), [(INDEXED, 5020), (set(QUERIES) - INDEXED, 1000)])
def test_the_book_equals_duckdb_after_every_event(names: set[str], last: int) -> None:
    check_every_event(names, BOOK, last)


@pytest.mark.long
def test_the_book_equals_duckdb_after_every_event_at_length() -> None:
    check_every_event(set(QUERIES) - INDEXED, BOOK, 5020)


@pytest.mark.long
def test_the_queries_themselves_say_so_after_every_event() -> None:
    check_book(BOOK, batch=1, last=5020)


def test_the_book_equals_duckdb_at_some_moments() -> None:
    check_moments(BOOK, 20)


@pytest.mark.long
@pytest.mark.skipif(LONG_BOOK is None, reason="RINGVIEW_ORDER_BOOK names no book")
def test_a_long_book_equals_duckdb_at_two_hundred_moments() -> None:
    assert LONG_BOOK is not None
    check_moments(Path(LONG_BOOK), 200)


def test_there_are_the_queries_of_the_paper() -> None:
    assert set(QUERIES) == INDEXED | {"sq1", "nq2"} == set(WINDOWS)
