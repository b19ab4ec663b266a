"""A process that gives micro-batches to the state of a stream and kills itself; no Spark runs.

Run as `python state_crashes.py FOLDER STEPS [letters]`: it is killed after so many calls of
functions, which is at the same place on every machine, however busy. As Spark does, it notes a
batch once it was taken, and after a start gives the first one that is not noted, which may have
been taken.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from ringview.spark import ParquetSink
from ringview.spark.slots import ATOM, MULTIPLICITY, PARTITION
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.letters import JsonLines
from ringview.spark.streaming.locations import write
from ringview.spark.streaming.plan import Plan, TablePlan

COLUMNS = pa.schema({"a": pa.int64(), "x": pa.float64()})
VIEWS = {
    "sums": "SELECT a, COUNT(*) AS n, SUM(x) AS x FROM t GROUP BY a",
    "above": "SELECT COUNT(*) AS groups, MAX(x) AS most FROM sums",
    "rows": "SELECT a, x FROM t",
}
PLAN = Plan((TablePlan("t", COLUMNS, None, "rows", False),), VIEWS)


class Frame:
    """The interface of a micro-batch."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows

    def toArrow(self) -> pa.Table:  # noqa: N802
        return self.rows


def inserted(number: int) -> list[tuple[int, float]]:
    """The rows that a batch inserts: always the same."""
    drawn = random.Random(number)
    return [(drawn.randrange(9), drawn.random()) for _ in range(drawn.randrange(60))]


def deleted(number: int) -> list[tuple[int, float]]:
    """The rows that it deletes: some of the batch before."""
    return inserted(number - 1)[::3] if number else []


def wrong(number: int) -> list[tuple[int, float, int | None]]:
    """Rows that break a contract, with their multiplicities."""
    drawn = random.Random(-number - 1)
    return [(-1, drawn.random(), drawn.choice([None, -1])) for _ in range(drawn.randrange(4))]


def frame(number: int, *, with_wrong: bool = False) -> Any:
    """A batch in slots."""
    rows: list[tuple[int, float, int | None]] = [(*row, 1) for row in inserted(number)]
    rows += [(*row, -1) for row in deleted(number)]
    rows += wrong(number) if with_wrong else []
    a, x, times = ([row[place] for row in rows] for place in range(3))
    places = [PLAN.layout.names[place] for place in PLAN.layout.places[0]]
    columns = dict(zip(places, (a, x), strict=True))
    same = {ATOM: [0] * len(rows), PARTITION: [0] * len(rows), MULTIPLICITY: times}
    return Frame(pa.table({**same, **columns}, PLAN.layout.schema))


def left(batches: int) -> list[tuple[int, float]]:
    """The rows after so many batches."""
    rows = [row for number in range(batches) for row in inserted(number)]
    for number in range(batches):
        for row in deleted(number):
            rows.remove(row)
    return rows


def noted(checkpoint: Checkpoint) -> int:
    """The first batch that is not noted."""
    path = checkpoint.spark / "offsets" / "0"
    return int(path.read_bytes() or 0) if path.exists() else 0


def state(checkpoint: Checkpoint, folder: Path, *, with_letters: bool = False) -> DriverState:
    """The state with a sink, as a start makes it."""
    letters = JsonLines(folder / "letters") if with_letters else None
    found = DriverState(PLAN, {}, checkpoint, ParquetSink(folder / "out"), letters)
    (checkpoint.spark / "offsets").mkdir(parents=True, exist_ok=True)
    if not (checkpoint.spark / "offsets" / "0").exists():
        write(checkpoint.spark / "offsets" / "0", b"")
    return found


def main() -> None:
    """Until it is killed."""
    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    is_wrong = sys.argv[3:] == ["letters"]
    checkpoint = Checkpoint(folder / "checkpoint")

    def step(*_: object) -> None:
        nonlocal steps
        steps -= 1
        if not steps:
            os.kill(os.getpid(), signal.SIGKILL)

    # Modules that are imported at first use are imported before the steps.
    with tempfile.TemporaryDirectory() as elsewhere:
        new = Checkpoint(Path(elsewhere) / "checkpoint")
        other = state(new, Path(elsewhere), with_letters=is_wrong)
        other.take(frame(0, with_wrong=is_wrong), 0)
        other.close()
    sys.setprofile(step)
    going = state(checkpoint, folder, with_letters=is_wrong)
    number = noted(checkpoint)
    while True:
        going.take(frame(number, with_wrong=is_wrong), number)
        number += 1
        write(checkpoint.spark / "offsets" / "0", str(number).encode())


if __name__ == "__main__":
    main()
