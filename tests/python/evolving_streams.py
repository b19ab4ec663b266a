"""A stream whose query changes, and the rows that it should have; no Java runs."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
import state_crashes
from evolve_crashes import plan
from micro_batches import begun, slots
from oracle import comparable
from ringview.spark import ParquetSink
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.locations import Remote, write


class Stream:
    """A stream whose query changes, and the rows that it should have."""

    def __init__(self, folder: Path, seed: int, checkpoint: Checkpoint | None = None) -> None:
        self.drawn, self.folder = random.Random(seed), folder
        self.of, self.batch = plan(0), 0
        self.checkpoint = checkpoint or begun(Checkpoint(folder / "checkpoint"), self.of)
        self.rows: list[tuple[Any, ...]] = []
        self.sink: Any = ParquetSink(folder / "out")

    def start(self) -> DriverState:
        return DriverState(self.of, {}, self.checkpoint, self.sink)

    def take(self, *, fails: bool = False) -> None:
        """A micro-batch, with a start of its own."""
        drawn, has_y = self.drawn, "y" in self.of.tables[0].columns.names
        new = [
            (drawn.randrange(4), drawn.randrange(8), drawn.randrange(3) if has_y else None)
            for _ in range(drawn.randrange(8))
        ]
        gone = drawn.sample(self.rows, min(len(self.rows), drawn.randrange(3)))
        for row in gone:
            self.rows.remove(row)
        self.rows += new
        width = len(self.of.tables[0].columns)
        changes = [(*row[:width], times) for rows, times in ((new, 1), (gone, -1)) for row in rows]
        batch = self.frame(changes)
        if fails:
            own, self.sink = self.sink, fail
            state = self.start()
            self.note("offsets")
            with pytest.raises(ZeroDivisionError):
                state.take(batch, self.batch)
            state.close()
            self.sink = own
        state = self.start()
        self.note("offsets")
        state.take(batch, self.batch)
        self.note("commits")
        self.batch += 1
        self.check(state)
        state.close()

    def frame(self, changes: list[tuple[Any, ...]]) -> Any:
        """Rows of a micro-batch."""
        return state_crashes.Frame(slots(self.of, *changes))

    def note(self, what: str) -> None:
        """As Spark does, that a batch begins, or is done."""
        if isinstance(self.checkpoint.spark, Remote):
            write(self.checkpoint.spark / what / str(self.batch), b"")

    def check(self, state: DriverState) -> None:
        db = rv.Database()
        self.of.create_tables(db)
        names = self.of.tables[0].columns.names
        if self.rows:
            db.insert("t", [dict(zip(names, row, strict=False)) for row in self.rows])
        self.of.create_views(db)
        for name in self.of.views:
            wanted = comparable(db[name].to_arrow())
            assert comparable(state.view(name).to_arrow()) == wanted, name
            if self.sink is not None:
                assert replayed(self.sink.read(name)) == wanted, name


def replayed(changes: pa.Table) -> list[tuple[Any, ...]]:
    """The rows that changes leave, each as often as they say."""
    found: Counter[tuple[Any, ...]] = Counter()
    for *row, times in (tuple(row.values()) for row in changes.to_pylist()):
        found[tuple(row)] += int(times)
    assert min(found.values(), default=0) >= 0
    *names, _ = changes.column_names
    rows = [dict(zip(names, row, strict=True)) for row in found.elements()]
    return comparable(pa.Table.from_pylist(rows, changes.schema.remove(len(names))))


def fail(view: str, batch_id: int, changes: pa.Table) -> None:
    """Take nothing."""
    raise ZeroDivisionError(view)
