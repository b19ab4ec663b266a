"""The queries of `examples/order_book` on the life of a book: what DuckDB says of its orders."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import ringview as rv
from oracle import comparable

EXAMPLES = Path(__file__).parents[2] / "examples"
QUERIES = {path.stem: path.read_text() for path in sorted(EXAMPLES.glob("order_book/*.sql"))}
COLUMNS = ["t", "id", "broker_id", "volume", "price"]
# What the optimisation of the paper keeps, in its Table 1.
INDEXED = {"equality", "vwap", "mst", "psp", "sq2", "nq1"}


def check_book(batch: int, last: int) -> None:
    events = pq.read_table(EXAMPLES / "data" / "orderbook_5k.parquet").slice(0, last)
    fields = [field.with_nullable(False) for field in events.select(COLUMNS).schema]
    db, connection = rv.Database(), duckdb.connect(config={"threads": 1})
    numbered = events.append_column("place", pa.array(range(len(events)), pa.int64()))
    connection.register("events", numbered)
    for side in ("bids", "asks"):
        db.create_table(side, pa.schema(fields))
    views = {name: db.create_view(name, sql) for name, sql in QUERIES.items()}
    for at in range(0, len(events), batch):
        some = events.slice(at, batch)
        with db.transaction(net=True) as tx:
            for side in ("bids", "asks"):
                own = some.filter(pc.equal(some["side"].cast("string"), side))
                came = pc.greater(own["mult"], 0)
                tx.insert(side, own.filter(came).select(COLUMNS))
                tx.delete(side, own.filter(pc.invert(came)).select(COLUMNS))
        for side in ("bids", "asks"):
            names = ", ".join(COLUMNS)
            connection.execute(
                f"CREATE OR REPLACE TABLE {side} AS SELECT {names} FROM (SELECT {names}, "
                f"UNNEST(RANGE(SUM(mult)::BIGINT)) FROM events WHERE side = '{side}' "
                f"AND place < {at + batch} GROUP BY {names})"
            )
        for name, sql in QUERIES.items():
            expected = comparable(connection.sql(sql).to_arrow_table())
            assert comparable(views[name].to_arrow()) == expected, name


def test_the_book_equals_duckdb_after_every_batch() -> None:
    check_book(batch=199, last=2000)


@pytest.mark.long
def test_the_book_equals_duckdb_after_every_event() -> None:
    check_book(batch=1, last=5020)


def test_there_are_the_queries_of_the_paper() -> None:
    assert set(QUERIES) == INDEXED | {"sq1", "nq2"}
