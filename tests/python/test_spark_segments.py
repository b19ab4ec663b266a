"""Writes of a partition to Spark's state store, counted: proportional to changes, not to size."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="4.1")

from amounts import some
from partition_engines import DictState
from ringview.spark.streaming.partitioned.engine import PartitionEngine, rows_of, slices
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.routing import in_slots, message
from ringview.spark.streaming.partitioned.segments import (
    ROWS,
    Meta,
    Read,
    Segments,
    Sizes,
    Taken,
    select_segments,
    step,
)
from ringview.spark.streaming.partitioned.store import PartitionBatch, SnapshottedEngine, Store
from ringview.spark.streaming.plan import Plan, TablePlan

ITEMS = pa.schema({"id": pa.int64(), "price": pa.int64()})
KINDS = pa.schema(
    {
        "s": pa.string(),
        "f": pa.float64(),
        "d": pa.decimal128(9, 2),
        "t": pa.timestamp("us", tz="UTC"),
        "b": pa.bool_(),
        "e": pa.date32(),
        "i": pa.int8(),
    }
)
PLAN = Plan(
    (TablePlan("items", ITEMS, None, "rows", False),),
    {"v": "SELECT id, SUM(price) AS price, COUNT(*) AS n FROM items GROUP BY id"},
)
ROWS_A_BATCH = 1000
SIZES = Sizes()


class Counted(DictState):
    """A partition's share of a state store that counts what is put into it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0
        self.calls = 0

    def put(self, kind: str, number: int, batch: int, message: bytes) -> None:
        super().put(kind, number, batch, message)
        self.written += len(message)
        self.calls += 1

    def remove(self, kind: str, number: int) -> None:
        super().remove(kind, number)
        self.calls += 1

    def segments(self) -> Segments:
        found = [(*key, *value) for key, value in self.held.items()]
        return select_segments(self.said, found, self.base)

    @property
    def size(self) -> int:
        return sum(len(found) for _, found in self.held.values())


class Partition:
    """A partition in one process."""

    def __init__(self, sizes: Sizes = SIZES) -> None:
        self.kept, self.cache = Counted(), Cache[SnapshottedEngine[PartitionEngine]]()
        start = partial(PartitionEngine.start, PLAN, True)
        self.store = Store("stream", start, sizes)
        self.batch = 0

    def take(self, rows: pa.Table) -> Taken[None]:
        """A micro-batch; `kept` has counted what it wrote."""
        delta = [message(batch, PLAN.layout) for batch in in_slots(PLAN, 0, rows)]
        self.kept.written = self.kept.calls = 0

        def take(meta: Meta | None, read: Read) -> Taken[None]:
            of = PartitionBatch(0, meta, self.batch, delta)
            return self.store.take(self.cache, of, read, lambda _: None, lambda _: None)

        taken = step(self.kept, self.batch, take)
        self.batch += 1
        return taken

    def restored(self) -> PartitionEngine:
        return self.store.restore(self.kept.said, self.kept.segments())

    def check(self) -> None:
        """That the engine which lives is the one that a restart has."""
        assert self.kept.said is not None
        with self.cache.look("stream", 0, self.kept.said.token) as held:
            assert held is not None
            same(held.engine, self.restored())


def drawn(draw: np.random.Generator, count: int) -> pa.Table:
    found = {"id": draw.integers(0, 50_000, count), "price": draw.integers(1, 99, count)}
    return pa.table({**found, "multiplicity": np.ones(count, np.int64)})


def rows_in(found: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in found.to_pylist())


def same(one: PartitionEngine, other: PartitionEngine) -> None:
    assert rows_in(one.database["v"].to_arrow()) == rows_in(other.database["v"].to_arrow())
    tables = [each.database.tables["items"] for each in (one, other)]
    found = [rows_in(table.to_arrow(multiplicity="multiplicity")) for table in tables]
    assert found[0] == found[1]


@pytest.mark.parametrize("has_engine", some([True, False]))
def test_bytes_follow_what_changed(has_engine: bool) -> None:
    """From 20,000 rows to 200,000, half of whose batches take rows away again; also where no engine
    lives from one micro-batch to the next."""
    most = []
    for rows in (20_000, 200_000):
        draw = np.random.default_rng(1)
        partition = Partition()
        partition.take(drawn(draw, rows))
        written, left = [], []
        turned = {partition.kept.said.rows.first if partition.kept.said else 0}
        for number in range(24 if has_engine else 6):
            came = drawn(draw, ROWS_A_BATCH // 2)
            left.append(came)
            gone = left[number // 2] if number % 2 else came.slice(0, 0)
            times = pa.array([-1] * len(gone), pa.int64())
            both = pa.concat_tables([came, gone.set_column(2, "multiplicity", times)])
            if not has_engine:
                partition.cache = Cache()
            assert partition.take(both).was_live == has_engine
            assert partition.kept.said is not None
            written.append(partition.kept.written)
            turned.add(partition.kept.said.rows.first)
            assert partition.kept.calls < 40
        most.append(max(written))
        # None writes the whole, nor a large part of it.
        assert max(written) < 60_000
        partition.check()
        assert partition.kept.size < 3 * len(b"".join(whole(partition.restored()))) + 500_000
    assert most[1] < 1.5 * most[0]
    assert 10 * max(most) < 3 * len(b"".join(whole(partition.restored())))


def whole(engine: PartitionEngine) -> list[bytes]:
    return engine.slices(SIZES.slice)


def test_many_snapshots_one_behind_the_other() -> None:
    partition = Partition(Sizes(1 << 14, entry=100, few=4000, least=2000))
    draw, firsts = np.random.default_rng(2), set()
    for _ in range(120):
        partition.take(drawn(draw, 200))
        assert partition.kept.said is not None
        firsts.add(partition.kept.said.rows.first)
        if draw.random() < 0.1:
            partition.cache = Cache()
        there = [number for kind, number in partition.kept.held if kind == ROWS]
        span = partition.kept.said.rows
        assert sorted(there) == list(range(span.kept, span.end))
    assert len(firsts) > 3
    partition.check()


def test_slices_depend_on_the_rows_alone() -> None:
    """For any order of the rows, any origin of their arrays, and any skipped slots."""
    table = TablePlan("t", KINDS, None, "rows", False)
    rows = rows_of(Plan((table,), {}))
    draw = np.random.default_rng(3)
    count = 500
    columns: dict[str, Any] = {
        "s": [None if n % 7 == 0 else "x" * int(n) for n in draw.integers(0, 30, count)],
        "f": [[0.5, float("nan"), None, -1.0][n] for n in draw.integers(0, 4, count)],
        "d": [Decimal(int(n)) / 4 for n in draw.integers(0, 9, count)],
        "t": draw.integers(0, 9, count).tolist(),
        "b": [[True, False, None][n] for n in draw.integers(0, 3, count)],
        "e": draw.integers(0, 9, count).tolist(),
        "i": draw.integers(0, 9, count).tolist(),
    }
    arrays = [
        pa.array(columns[field.name]).cast(field.type) for field in KINDS if field.name != "e"
    ]
    arrays.insert(KINDS.names.index("e"), pa.array(columns["e"], pa.int32()).cast(pa.date32()))
    made = pa.table(arrays, KINDS)
    made = made.group_by(KINDS.names).aggregate([([], "count_all")])
    made = made.rename_columns([*KINDS.names, "multiplicity"])
    wanted = list(slices(rows, {"t": made}, 2000))
    assert len(wanted) > 10
    order = draw.permutation(made.num_rows)
    other = pa.concat_tables([made.take(order[:100]), made.take(order[100:])])
    assert list(slices(rows, {"t": other}, 2000)) == wanted
    assert list(slices(rows, {"t": other}, 2000, 4)) == wanted[4:]
    arrived = (part for each in wanted for part in pa.ipc.open_stream(each))
    found = rows.arrived(arrived)["t"]
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, made.to_pylist()))
