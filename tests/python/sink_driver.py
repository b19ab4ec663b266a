"""A process that changes views and sends what moves until it is killed; it says where it is.

Run as `python sink_driver.py FOLDER`: the database is `FOLDER/db`, the sinks are
`FOLDER/out.sqlite` and files in `FOLDER/out`.
"""

from __future__ import annotations

import os
import random
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import ringview as rv
from ringview import sinks
from ringview.sinks.protocol import close

VIEWS = {
    "v": "SELECT k, SUM(x) AS x, COUNT(*) AS n FROM r GROUP BY k",
    "w": "SELECT COUNT(*) AS n, SUM(x) AS x FROM r",
    "x": "SELECT k, MAX(x) AS most FROM r GROUP BY k",
}
NOON = datetime(2026, 3, 9, 12)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bool": (pa.bool_(), [True, False, None]),
    "integer": (pa.int64(), [2**63 - 1, -5, None]),
    "unsigned": (pa.uint64(), [2**64 - 1, 1, None]),
    "double": (pa.float64(), [0.1, 1e300, None]),
    "decimal": (pa.decimal128(12, 2), [Decimal("12.34"), Decimal("-0.5"), None]),
    "text": (pa.string(), ["", "ü'\"\n", None]),
    "date": (pa.date32(), [date(2026, 3, 9), None]),
    "timestamp": (pa.timestamp("us"), [NOON, None]),
    "zoned": (pa.timestamp("us", "UTC"), [NOON.replace(tzinfo=UTC), None]),
}


class SinkError(Exception):
    """The sink is not there."""


class Failing:
    """A sink that fails before or after it took a batch."""

    def __init__(self, sink: Any, ends: str) -> None:
        self.sink, self.ends = sink, ends
        self.begin = sink.begin

    def close(self) -> None:
        """As the sink does, if it does."""
        close(self.sink)

    def __call__(self, view: str, batch: int, changes: pa.Table) -> None:
        """Fail, or hand it on, and fail then."""
        if self.ends == "before":
            raise SinkError
        self.sink(view, batch, changes)
        if self.ends == "after":
            raise SinkError


class Saying:
    """A sink that says before and after it took a batch."""

    def __init__(self, sink: Any) -> None:
        self.sink, self.begin = sink, sink.begin

    def __call__(self, view: str, batch: int, changes: pa.Table) -> None:
        """Hand it on."""
        say("sends", batch)
        self.sink(view, batch, changes)
        say("sent", batch)


def given(folder: Path) -> dict[str, Any]:
    """A table as the view is, a log of changes, and files of them."""
    file = folder / "out.sqlite"
    return {
        "v": Saying(sinks.sqlite(file, "now", key="k")),
        "w": Saying(sinks.sqlite(file, "log")),
        "x": Saying(sinks.ParquetSink(folder / "out")),
    }


def say(*words: object) -> None:
    """A line, whole."""
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


def main(folder: Path) -> None:
    """Until it is killed."""
    with rv.Database.open(folder / "db") as db:
        if "r" not in db.tables:
            db.create_table("r", {"k": "int64", "x": "int64"})
            db.create_views(VIEWS)
        sender = sinks.Sender(db, given(folder))
        number = 0
        while db.is_applied(number):
            number += 1
        while True:
            draw = random.Random(number)
            with db.transaction(batch_id=number) as tx:
                rows = [{"k": draw.randrange(5), "x": draw.randrange(9)} for _ in range(3)]
                tx.insert("r", rows)
                if number % 2:
                    tx.delete("r", rows[:2])
            say("changed", number)
            if draw.random() < 0.7:
                sender.step()
            if number % 9 == 8:
                db.snapshot()
            number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
