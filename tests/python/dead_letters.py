"""States that leave out rows which break a contract, and a target of their letters."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import state_crashes as crashes
from micro_batches import begun, slots
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.letters import NAME
from ringview.spark.streaming.plan import Plan

Row = tuple[Any, ...]


class Letters:
    """A target that keeps its letters, and fails on demand."""

    def __init__(self) -> None:
        self.told: dict[int, list[dict[str, Any]]] = {}
        self.fails = False

    def __call__(self, name: str, batch_id: int, letters: pa.Table) -> None:
        assert name == NAME
        rows = letters.to_pylist()
        assert self.told.setdefault(batch_id, rows) == rows, "a batch came twice, changed"
        if self.fails:
            self.fails = False
            raise ZeroDivisionError(name)

    def rows(self, batch_id: int, *names: str) -> Counter[Row]:
        """The rows of a batch, in their order."""
        found = [json.loads(letter["row"]) for letter in self.told.get(batch_id, [])]
        return Counter(tuple(row[name] for name in names) for row in found)


def opened(folder: Path, of: Plan, letters: Any, sink: Any = None) -> DriverState:
    checkpoint = Checkpoint(folder / "checkpoint")
    if not checkpoint.spark.exists():
        begun(checkpoint, of)
    return DriverState(of, {}, checkpoint, sink, letters)


def take(state: DriverState, number: int, *rows: Row, of: Plan) -> None:
    state.take(crashes.Frame(slots(of, *rows)), number)  # type: ignore[arg-type]


def held(state: DriverState, name: str = "t") -> Counter[Row]:
    rows = state._database.tables[name].to_arrow().to_pylist()
    return Counter(tuple(row.values()) for row in rows)


BY_ID = "SELECT id, COUNT(*) AS n, SUM(x) AS x FROM t GROUP BY id"
