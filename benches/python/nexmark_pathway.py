"""Those of Nexmark's queries that Pathway can express, over the stream of nexmark.py.

    PYTHON benches/python/nexmark_pathway.py q3 --folder FOLDER --events 200000

PYTHON is an interpreter with Pathway (`pip install pathway`); ringview is not needed. A batch of
the stream is one logical time. The query runs twice: first its rows are counted, then it is timed,
its changes being discarded; both are printed as a line of JSON. Invariant: the same result as the
text of the query has, as far as the number of rows shows. The figure is time on the core of
`pw.run` alone, with one worker; rows are in Python before, and Pathway reads them from there, which
is part of the time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from nexmark_data import EPOCH, PROPORTIONS, SIDE

os.environ.setdefault("PATHWAY_THREADS", "1")
# By name: what checks types need not have it.
pw: Any = importlib.import_module("pathway")

BATCH = 1_000
TIME = pw.DateTimeNaive
# Pathway keeps the name `id` for itself.
SCHEMAS: dict[str, dict[str, Any]] = {
    "person": {
        **{"key": int, "name": str, "email": str, "city": str, "state": str},
        "date_time": TIME,
    },
    "auction": {
        **{"key": int, "item": str, "initial": int, "reserve": int},
        **{"date_time": TIME, "expires": TIME, "seller": int, "category": int},
    },
    "bid": {
        **{"auction": int, "bidder": int, "price": int, "channel": str, "url": str},
        **{"date_time": TIME, "extra": str},
    },
    "side": {"key": int, "value": str},
}


class Streams:
    """The tables of one graph."""

    def __init__(self, folder: Path, events: int) -> None:
        self.folder, self.events = folder, events

    def table(self, name: str) -> Any:
        """The rows of a stream, each at the time of its batch."""
        share = PROPORTIONS[name]
        rows = pq.read_table(self.folder / f"{name}.parquet").slice(0, self.events // EPOCH * share)
        a_batch = BATCH // EPOCH * share
        values = rows.to_pandas().itertuples(index=False, name=None)
        timed = [(*row, 2 * (at // a_batch), 1) for at, row in enumerate(values)]
        return made(name, timed)

    @property
    def bid(self) -> Any:
        """Bids."""
        return self.table("bid")

    @property
    def auction(self) -> Any:
        """Auctions."""
        return self.table("auction")

    @property
    def person(self) -> Any:
        """Persons."""
        return self.table("person")

    @property
    def side(self) -> Any:
        """The static table."""
        rows = [(row["key"], row["value"], 0, 1) for row in SIDE.to_pylist()]
        return made("side", rows)


def made(name: str, rows: list[tuple[Any, ...]]) -> Any:
    """A table of rows, which end with their times and the sign of their change."""
    schema = pw.schema_from_types(**SCHEMAS[name])
    return pw.debug.table_from_rows(schema, rows, is_stream=True)


def bucket(moment: Any) -> Any:
    """The ten seconds that a moment is in."""
    return moment.dt.floor(timedelta(seconds=10))


def day(moment: Any) -> Any:
    """The day of a moment, as text."""
    return moment.dt.strftime("%Y-%m-%d")


def q1(of: Streams) -> Any:
    """Prices in another currency."""
    b = of.bid
    return b.select(b.auction, b.bidder, b.date_time, b.extra, price=0.908 * b.price)


def q2(of: Streams) -> Any:
    """Bids for some auctions."""
    b = of.bid
    return b.filter(b.auction % 3 == 0).select(pw.this.auction, pw.this.price)


def q3(of: Streams) -> Any:
    """Sellers in some states."""
    a, p = of.auction, of.person
    a = a.filter(a.category == 10)
    p = p.filter((p.state == "OR") | (p.state == "ID") | (p.state == "CA"))
    return a.join(p, a.seller == p.key).select(p.name, p.city, p.state, auction=a.key)


def in_time(of: Streams) -> Any:
    """Bids for open auctions."""
    a, b = of.auction, of.bid
    both = a.join(b, a.key == b.auction).select(
        *(a.key, a.item, a.seller, a.category, a.expires, b.bidder, b.price),
        **{"opened": a.date_time, "bid_time": b.date_time},
    )
    return both.filter((both.bid_time >= both.opened) & (both.bid_time <= both.expires))


def q4(of: Streams) -> Any:
    """The mean of the winning prices by category."""
    b = in_time(of)
    best = b.groupby(b.key, b.category).reduce(b.category, final=pw.reducers.max(b.price))
    return best.groupby(best.category).reduce(best.category, mean=pw.reducers.avg(best.final))


def q7(of: Streams) -> Any:
    """The highest bids of ten seconds."""
    b = of.bid
    b = b.with_columns(start=bucket(b.date_time))
    w = b.groupby(b.start).reduce(b.start, most=pw.reducers.max(b.price))
    both = b.join(w, b.price == w.most, b.start == w.start)
    return both.select(b.auction, b.price, b.bidder, b.date_time, b.extra)


def q8(of: Streams) -> Any:
    """Persons who sell as soon as they are there."""
    p, a = of.person, of.auction
    p = p.with_columns(start=bucket(p.date_time))
    a = a.with_columns(start=bucket(a.date_time))
    p = p.groupby(p.key, p.name, p.start).reduce(p.key, p.name, p.start)
    a = a.groupby(a.seller, a.start).reduce(a.seller, a.start)
    return p.join(a, p.key == a.seller, p.start == a.start).select(p.key, p.name, p.start)


def q9(of: Streams) -> Any:
    """The winning bid of each auction."""
    b = in_time(of)
    b = b.with_columns(rank=pw.make_tuple(b.price, -b.bid_time.dt.timestamp(unit="us"), -b.bidder))
    best = b.groupby(b.key).reduce(which=pw.reducers.argmax(b.rank))
    return best.select(
        **{name: b.ix(best.which)[name] for name in ("key", "item", "seller", "bidder", "price")}
    )


def q13(of: Streams) -> Any:
    """Bids beside a static table."""
    b, s = of.bid, of.side
    b = b.with_columns(side=b.auction % 4)
    return b.join(s, b.side == s.key).select(b.auction, b.bidder, b.price, b.date_time, s.value)


def q17(of: Streams) -> Any:
    """Bids for an auction in a day."""
    b = of.bid
    b = b.with_columns(day=day(b.date_time))

    def count(condition: Any) -> Any:
        return pw.reducers.sum(pw.if_else(condition, 1, 0))

    return b.groupby(b.auction, b.day).reduce(
        *(b.auction, b.day),
        bids=pw.reducers.count(),
        low=count(b.price < 10_000),
        middle=count((b.price >= 10_000) & (b.price < 1_000_000)),
        high=count(b.price >= 1_000_000),
        least=pw.reducers.min(b.price),
        most=pw.reducers.max(b.price),
        mean=pw.reducers.avg(b.price),
        total=pw.reducers.sum(b.price),
    )


def q18(of: Streams) -> Any:
    """The last bid of each bidder for each auction."""
    b = of.bid
    b = b.with_columns(rank=b.date_time.dt.timestamp(unit="us"))
    last = b.groupby(b.bidder, b.auction).reduce(which=pw.reducers.argmax(b.rank))
    return last.select(
        **{
            name: b.ix(last.which)[name]
            for name in ("auction", "bidder", "price", "channel", "extra")
        }
    )


def q20(of: Streams) -> Any:
    """Bids with their auctions."""
    b, a = of.bid, of.auction
    a = a.filter(a.category == 10)
    return b.join(a, b.auction == a.key).select(
        *(b.auction, b.bidder, b.price, b.channel, b.url, b.date_time, b.extra),
        *(a.item, a.initial, a.reserve, a.expires, a.seller, a.category),
        opened=a.date_time,
    )


QUERIES: dict[str, Callable[[Streams], Any]] = {
    one.__name__: one for one in (q1, q2, q3, q4, q7, q8, q9, q13, q17, q18, q20)
}


def ran(end: Callable[[], None]) -> float:
    """Time on the core of a run of the graph."""
    end()
    start = time.process_time()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    took = time.process_time() - start
    pw.internals.parse_graph.G.clear()
    return took


def measured(query: Callable[[Streams], Any], of: Streams) -> Iterator[tuple[str, Any]]:
    """Its rows at the end, and seconds an event."""
    rows = 0

    def count(key: Any, row: Any, time: int, is_addition: bool) -> None:
        nonlocal rows
        rows += 1 if is_addition else -1

    ran(lambda: pw.io.subscribe(query(of), on_change=count))
    yield "rows", rows
    yield "event_seconds", ran(lambda: pw.io.null.write(query(of))) / of.events


def main() -> None:
    """Measure one query, or say that there is nothing to measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("query")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--events", type=int, required=True)
    options = parser.parse_args()
    query = QUERIES.get(options.query)
    of = Streams(options.folder, options.events)
    print(json.dumps(dict(measured(query, of)) if query else {}))


if __name__ == "__main__":
    main()
