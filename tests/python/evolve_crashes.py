"""A checkpoint that becomes one query after the other, and a process that does so and is killed.

Run as `python evolve_crashes.py FOLDER NUMBER STEPS`: the checkpoint becomes the query of a number,
or the process is killed after so many calls of functions.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark.sql import types as st
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.evolving import evolve, widened
from ringview.spark.streaming.plan import Plan, TablePlan

_SUMS = "SELECT a, COUNT(*) AS n, SUM(x) AS x FROM t GROUP BY a"
_FIRST = {"sums": _SUMS, "groups": "SELECT COUNT(*) AS n, MAX(x) AS x FROM sums"}
_MORE = {**_FIRST, "rows": "SELECT a, x FROM t"}
_OTHER = {**_MORE, "sums": "SELECT a, COUNT(*) AS n, SUM(x) AS x FROM t WHERE x > 3 GROUP BY a"}
_BY_Y = {**_OTHER, "by_y": "SELECT y, COUNT(*) AS n FROM t GROUP BY y"}

_LAST = {**_FIRST, "by_x": "SELECT x, COUNT(*) AS n FROM t GROUP BY x"}

QUERIES: list[tuple[dict[str, str], tuple[str, ...]]] = [
    (_FIRST, ("a", "x")),
    (_MORE, ("a", "x")),
    (_OTHER, ("a", "x")),
    (_BY_Y, ("a", "x", "y")),
    (_LAST, ("a", "x")),
]
NEW: dict[int, Mapping[str, list[str]]] = {3: {"t": ["y"]}}

SOURCES: Any = {
    "t": SimpleNamespace(
        row=st.StructType([st.StructField(name, st.LongType()) for name in ("a", "x", "y")])
    )
}


def plan(number: int) -> Plan:
    """The queries of a stream of a number, with the columns that its views read."""
    views, names = QUERIES[number]
    columns = pa.schema([pa.field(name, pa.int64()) for name in names])
    return Plan((TablePlan("t", columns, None, "rows", False),), views)


def become(checkpoint: Checkpoint, number: int) -> Plan:
    """Let a checkpoint be of the query of a number; the plan that it has then."""
    evolve(plan(number), SOURCES, checkpoint, NEW.get(number, {}))
    return widened(plan(number), SOURCES, checkpoint)


def main() -> None:
    """Until it is done, or killed."""
    checkpoint, number, steps = Checkpoint(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

    def step(*_: object) -> None:
        nonlocal steps
        steps -= 1
        if not steps:
            os.kill(os.getpid(), signal.SIGKILL)

    # Modules that are imported at first use are imported before the steps.
    pa.table({"a": [1]}).group_by("a").aggregate([("a", "sum")])
    sys.setprofile(step)
    become(checkpoint, number)
    sys.setprofile(None)


if __name__ == "__main__":
    assert Path(sys.argv[1]).exists()
    main()
