"""VWAP, MST and PSP over an order book, fresh after each batch; print JSON lines.

Invariant: all systems take the same events and must have the same result, read after each batch.
The input of a system is made of them before the clock runs. DuckDB runs the query again after a few
batches, and is timed there alone; first order means orders by price kept by hand, and summed over
all of them. The book is one that is given, or random: orders are placed around a price that
wanders, and two of five events take one back.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, Protocol

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ringview as rv
from numpy.typing import NDArray

Event = tuple[int, int, int, int]
UP_TO = "(SELECT SUM(w.volume) FROM {0} w WHERE w.price {1} {0}.price)"
TOTAL = "(SELECT SUM(w.volume) FROM {0} w)"
BEYOND = f"0.25 * {TOTAL} > {UP_TO}"
LARGER = f"{{0}}.volume > 0.0001 * {TOTAL}"
QUERIES = {
    "VWAP": "SELECT SUM(bids.price * bids.volume) AS s FROM bids WHERE 0.75 * "
    f"{TOTAL.format('bids')} < {UP_TO.format('bids', '<=')}",
    "MST": "SELECT SUM(asks.price * asks.volume - bids.price * bids.volume) AS s FROM bids, asks "
    f"WHERE {BEYOND.format('bids', '>')} AND {BEYOND.format('asks', '>')}",
    "PSP": "SELECT SUM(asks.price - bids.price) AS s FROM bids, asks "
    f"WHERE {LARGER.format('bids')} AND {LARGER.format('asks')}",
}
SIDES = ("bids", "asks")
DUCKDB_BATCHES = 3


class System(Protocol):
    """A system that is measured."""

    def prepare(self, events: list[Event]) -> Any:
        """Make what it takes of events."""

    def change(self, taken: Any) -> int | None:
        """Take them, and read the result."""


def book(events: int) -> list[Event]:
    """Events: 1 or -1, side, volume, price."""
    rng = np.random.default_rng(7)
    live: list[tuple[int, int, int]] = []
    made: list[Event] = []
    middle = 100_000
    for _ in range(events):
        middle += int(rng.integers(-20, 21))
        if live and rng.random() < 0.4:
            at = int(rng.integers(len(live)))
            live[at], live[-1] = live[-1], live[at]
            made.append((-1, *live.pop()))
        else:
            side = int(rng.integers(2))
            away = int(rng.integers(1, 4_000)) * (1 if side else -1)
            order = (side, int(rng.integers(1, 11)) * 10, middle + away)
            live.append(order)
            made.append((1, *order))
    return made


def given(path: Path) -> list[Event]:
    """The events of a book: side, mult, volume, price."""
    table = pq.read_table(path)
    sides = [SIDES.index(side) for side in table["side"].cast("string").to_pylist()]
    columns = (table[name].to_pylist() for name in ("mult", "volume", "price"))
    mult, volume, price = columns
    return list(zip(mult, sides, volume, price, strict=True))


def rows(events: list[Event], side: int, sign: int) -> pa.Table:
    """The rows of one table that are inserted, or deleted."""
    own = [event for event in events if event[1] == side and event[0] == sign]
    volume, price = ([event[at] for event in own] for at in (2, 3))
    return pa.table({"volume": pa.array(volume, pa.int64()), "price": pa.array(price, pa.int64())})


class Ringview:
    """A view of a database."""

    def __init__(self, query: str) -> None:
        self.db = rv.Database()
        for side in SIDES:
            self.db.create_table(side, {"volume": "int64", "price": "int64"})
        self.view = self.db.create_view("view", QUERIES[query])

    def prepare(self, events: list[Event]) -> list[tuple[str, int, pa.Table]]:
        """Rows by table and sign."""
        each = [(side, s, rows(events, at, s)) for at, side in enumerate(SIDES) for s in (1, -1)]
        return [(side, sign, some) for side, sign, some in each if some.num_rows]

    def change(self, taken: list[tuple[str, int, pa.Table]]) -> int | None:
        """One transaction, its net effect."""
        if len(taken) == 1:
            ((side, sign, some),) = taken
            (self.db.insert if sign > 0 else self.db.delete)(side, some)
            return whole(self.view.scalar())
        with self.db.transaction(net=True) as tx:
            for side, sign, some in taken:
                (tx.insert if sign > 0 else tx.delete)(side, some)
        return whole(self.view.scalar())


class Recomputed:
    """DuckDB on one thread: rows with their multiplicities, the query run again."""

    def __init__(self, query: str) -> None:
        self.query = QUERIES[query]
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        for side in SIDES:
            self.connection.execute(f"CREATE TABLE {side} (id BIGINT, volume BIGINT, price BIGINT)")
        self.ids: dict[tuple[int, int, int], list[int]] = {}
        self.next = 0

    def insert(self, events: list[Event]) -> None:
        """Bring the tables up to date."""
        come: list[list[tuple[int, int, int]]] = [[], []]
        for sign, side, volume, price in events:
            key = (side, volume, price)
            if sign > 0:
                self.next += 1
                self.ids.setdefault(key, []).append(self.next)
                come[side].append((self.next, volume, price))
            else:
                gone = self.ids[key].pop()
                kept = [row for row in come[side] if row[0] != gone]
                if len(kept) == len(come[side]):
                    self.connection.execute(f"DELETE FROM {SIDES[side]} WHERE id = {gone}")
                come[side] = kept
        for name, some in zip(SIDES, come, strict=True):
            if some:
                columns = zip(("id", "volume", "price"), zip(*some, strict=True), strict=True)
                come_now = pa.table(dict(columns))
                self.connection.execute(f"INSERT INTO {name} SELECT * FROM come_now")
                del come_now

    def prepare(self, events: list[Event]) -> list[Event]:
        """Bring the tables up to date."""
        self.insert(events)
        return events

    def change(self, _: list[Event]) -> int | None:
        """Run the query."""
        found = self.connection.execute(self.query).fetchone()
        return whole(found[0] if found else None)


class FirstOrder:
    """Volumes, revenues and counts by price kept by hand; the result summed over all prices."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.sides: tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]] = ({}, {})

    def prepare(self, events: list[Event]) -> list[Event]:
        """Events as they are."""
        return events

    def change(self, events: list[Event]) -> int | None:
        """Bring the counts up to date, and sum."""
        for sign, side, volume, price in events:
            held = self.sides[side]
            held[price, volume] = held.get((price, volume), 0) + sign
            if held[price, volume] == 0:
                del held[price, volume]
        bids, asks = (self.arrays(side) for side in self.sides)
        if self.query == "VWAP":
            prices, volumes, times = bids
            upto = np.searchsorted(prices, prices, side="right")
            sums = np.concatenate(([0], np.cumsum(volumes * times)))
            passes = 3 * sums[-1] < 4 * sums[upto]
            return total(passes, prices * volumes * times)
        chosen = [self.chosen(*side) for side in (bids, asks)]
        (_, b_count, b_sum), (_, a_count, a_sum) = chosen
        return a_sum * b_count - b_sum * a_count if a_count and b_count else None

    def chosen(
        self, price: NDArray[Any], volume: NDArray[Any], times: NDArray[Any]
    ) -> tuple[NDArray[Any], int, int]:
        """The rows of one side that pass, how many there are, and what they sum up to."""
        held = int((volume * times).sum())
        if self.query == "PSP":
            passes, value = 10_000 * volume > held, price
        else:
            above = np.searchsorted(price, price, side="right")
            sums = np.concatenate(([0], np.cumsum(volume * times)))
            over = sums[-1] - sums[above]
            # The sum over nothing is NULL.
            passes, value = (held > 4 * over) & (above < len(price)), price * volume
        return passes, int(times[passes].sum()), int((value * times)[passes].sum())

    @staticmethod
    def arrays(side: dict[tuple[int, int], int]) -> tuple[NDArray[Any], ...]:
        """Prices ascending, with volumes and how many orders there are of both."""
        if not side:
            return (np.zeros(0, np.int64),) * 3
        keys = np.array(list(side), np.int64)
        times = np.fromiter(side.values(), np.int64, len(side))
        order = np.argsort(keys[:, 0], kind="stable")
        return keys[order, 0], keys[order, 1], times[order]


def total(passes: NDArray[Any], value: NDArray[Any]) -> int | None:
    """SQL's SUM."""
    return int(value[passes].sum()) if passes.any() else None


def whole(value: Any) -> int | None:
    """A result as an integer."""
    return None if value is None else int(value)


def measure(query: str, events: list[Event], size: int, limit: float) -> None:
    """Print a line for each system."""
    batches = [events[at : at + size] for at in range(0, len(events), size)]
    agreed: dict[int, int | None] = {}
    for name, make in (("ringview", Ringview), ("first-order", FirstOrder), ("duckdb", Recomputed)):
        system: Any = make(query)
        seconds, used, done = 0.0, 0.0, 0
        every = max(len(batches) // DUCKDB_BATCHES, 1) if name == "duckdb" else 1
        for at, batch in enumerate(batches):
            if (at + 1) % every and at + 1 < len(batches):
                system.insert(batch)
                continue
            if seconds > limit:
                break
            taken = system.prepare(batch)
            start, cpu = time.perf_counter(), time.process_time()
            result = system.change(taken)
            seconds += time.perf_counter() - start
            used += time.process_time() - cpu
            done += len(batch)
            if agreed.setdefault(at, result) != result:
                raise SystemExit(f"{query}: {name} has {result} after batch {at}, not {agreed[at]}")
        line = {"workload": "order-book", "query": query, "batch": size, "system": name}
        # Other programs of a busy machine do not stretch the time on a core.
        speed = {"tuples_per_second": done / used, "seconds": seconds, "cpu_seconds": used}
        print(json.dumps({**line, "tuples": done, **speed}), flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Measure each query in batches of one and of a thousand."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="few events")
    parser.add_argument("--seconds", type=float, default=4.0, help="where a stream is cut")
    parser.add_argument("--book", type=Path, help="a book as Parquet: side, mult, volume, price")
    parser.add_argument("--export", type=Path, help="write the events there, and stop")
    options = parser.parse_args(arguments)
    count = 2_000 if options.quick else 100_000
    events = given(options.book)[:count] if options.book else book(count)
    if options.export:
        lines = [f"{side},{sign},{volume},{price}" for sign, side, volume, price in events]
        options.export.write_text("\n".join(["table,times,volume,price", *lines, ""]))
        return
    for query in QUERIES:
        for size in (1, 1_000):
            measure(query, events, size, options.seconds)


if __name__ == "__main__":
    main()
