"""The clock of a stream in partitions: one for all, and as with the state on the driver."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="4.1")

from dead_letters import Letters
from micro_batches import begun, slots
from oracle import comparable
from partition_engines import PartitionEngines
from ringview.clock import microseconds
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.letters import in_order
from ringview.spark.streaming.partitioned import versions
from ringview.spark.streaming.plan import Changes, Plan, TablePlan
from shop import replayed
from state_crashes import Frame

HOUR = 3_600_000_000
BEGIN = datetime(2026, 3, 1)
COLUMNS = pa.schema({"id": pa.int64(), "ts": pa.timestamp("us")})
VIEWS = {
    "v": "SELECT id, COUNT(*) AS n, MAX(ts) AS last FROM t GROUP BY id",
    "recent": "SELECT id, COUNT(*) AS n FROM t WHERE ts > now() - INTERVAL '6 hours' GROUP BY id",
    "quiet": "SELECT id, COUNT(*) AS n FROM t GROUP BY id "
    "HAVING MAX(ts) < now() - INTERVAL '3 hours'",
    "both": "SELECT t.id, COUNT(*) AS n FROM t JOIN u ON t.id = u.id "
    "WHERE u.ts > now() - INTERVAL '12 hours' GROUP BY t.id",
}

Row = tuple[int, datetime | None]


def timed(name: str, changes: Changes = "rows", late: int = 1, stay: str = "1 day") -> TablePlan:
    keys = None if changes in ("rows", "signs") else ("id",)
    watermark = ("ts", late * HOUR)
    return TablePlan(
        name, COLUMNS, keys, changes, False, keep_for=("ts", stay), watermark=watermark
    )


class Model:
    """Tables as lists of rows, and a clock."""

    def __init__(self, stay: dict[str, timedelta], late: dict[str, timedelta]) -> None:
        self.rows: dict[str, list[Row]] = {name: [] for name in stay}
        self.greatest: dict[str, datetime] = {}
        self.now = datetime(1970, 1, 1)
        self.expired: dict[str, int] = {}
        self._stay, self._late = stay, late

    def take(self, changes: dict[str, list[tuple[Row, int]]]) -> None:
        for name, rows in changes.items():
            self.rows[name] += [row for row, times in rows if times > 0]
            for row, times in rows:
                if times < 0:
                    self.rows[name].remove(row)
                elif row[1] is not None:
                    self.greatest[name] = max(row[1], self.greatest.get(name, row[1]))
        if len(self.greatest) == len(self._late):
            to = min(at - self._late[name] for name, at in self.greatest.items())
            self.now = max(to, self.now)
        for name, held in self.rows.items():
            first = self.now - self._stay[name] if self.now.year > 1970 else self.now
            left = [row for row in held if row[1] is None or row[1] >= first]
            self.expired[name] = len(held) - len(left)
            self.rows[name] = left

    def views(self) -> dict[str, list[tuple[Any, ...]]]:
        with duckdb.connect(config={"threads": 1}) as con:
            for name, rows in self.rows.items():
                columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
                con.register(name, pa.table(columns, schema=COLUMNS))
            now = f"TIMESTAMP '{self.now}'"
            return {
                name: comparable(con.sql(sql.replace("now()", now)).to_arrow_table())
                for name, sql in VIEWS.items()
            }


def draw(drawn: random.Random, model: Model, moved: float) -> dict[str, list[tuple[Row, int]]]:
    """A micro-batch: rows of few ids, late ones, deletes, NULL times, often of one table alone."""
    found: dict[str, list[tuple[Row, int]]] = {}
    for name in drawn.choice([["t"], ["u"], ["t", "u"], ["t", "u"], []]):
        # Often of one id, so that most partitions get none.
        ids = drawn.choice([[0], [1], range(5)])
        changes = []
        for _ in range(drawn.randrange(4)):
            at = BEGIN + timedelta(hours=moved - drawn.choice([0, 0, 1, 5, 12, 26, 40]))
            changes.append(((drawn.choice(ids), drawn.choice([at, at, at, None])), 1))
        here = list(model.rows[name])
        drawn.shuffle(here)
        changes += [(row, -1) for row in here[: drawn.choice([0, 0, 1, 2])]]
        drawn.shuffle(changes)
        found[name] = changes
    return found


@pytest.mark.parametrize("seed", range(8))
def test_partitions_have_the_clock_of_the_driver(tmp_path: Path, seed: int) -> None:
    """After every micro-batch, over restarts: tables, views, clock, and how many rows left."""
    of = Plan((timed("t"), timed("u", late=2, stay="18 hours")), VIEWS)
    stay = {"t": timedelta(days=1), "u": timedelta(hours=18)}
    model = Model(stay, {"t": timedelta(hours=1), "u": timedelta(hours=2)})
    engines = PartitionEngines(of, 1 + seed % 4)
    told = {name: [none] for name, none in versions.nothing(of).items()}
    checkpoint = begun(Checkpoint(tmp_path / "checkpoint"), of)
    state, drawn, moved = DriverState(of, {}, checkpoint, None), random.Random(seed), 0.0
    expired = 0
    for number in range(20):
        moved += drawn.choice([0, 0.1, 1, 1, 3, 8, 20])
        changes = draw(drawn, model, moved)
        tables = [
            slots(of, *((*row, times) for row, times in changes[table.name]), atom=atom)
            for atom, table in enumerate(of.streams)
            if table.name in changes
        ]
        state.take(Frame(pa.concat_tables(tables or [slots(of)])), number)  # type: ignore[arg-type]
        reports = engines.take(number, tables, drawn.choice([1, 2, 4]), drawn)
        model.take(changes)
        wanted = model.views()
        for name in VIEWS:
            assert comparable(engines.view(name)) == wanted[name]
            assert comparable(state.view(name).to_arrow()) == wanted[name]
            told[name] += engines.moved(reports)[name]
            assert replayed(pa.concat_tables(told[name])) == wanted[name]
        for name, rows in model.rows.items():
            assert counted(engines.rows(name)) == Counter(rows)
        left = {name: sum(r.numbers[f"expired.{name}"] for r in reports) for name in model.rows}
        assert left == state.metrics()["expired"] == model.expired
        expired += sum(left.values())
        now = model.now.replace(tzinfo=UTC)
        assert state.metrics()["clock"] == now.isoformat()
        assert {r.numbers["clock"] for r in reports} <= {microseconds(now)}
        if drawn.random() < 0.3:
            engines.restart()
    assert expired > 5
    for name in VIEWS:
        assert comparable(engines.merged(name)) == wanted[name]
    state.close()


WORDS = ("insert", "update", "upsert", "delete", "?", None)


@pytest.mark.parametrize("changes", ["rows", "signs", "words"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_are_left_out(tmp_path: Path, changes: Changes, seed: int) -> None:
    """Of few ids, so that many rows are refused: what is left and refused is as on the driver."""
    of = Plan((timed("t", changes),), {"v": VIEWS["v"]})
    engines, letters = PartitionEngines(of, 3, leaves_out=True), Letters()
    state = DriverState(of, {}, begun(Checkpoint(tmp_path / "c"), of), None, letters)
    drawn, moved, refused, came = random.Random(seed), 0.0, 0, 0
    for number in range(20):
        moved += drawn.choice([0, 1, 5, 20])
        rows: list[tuple[Any, ...]] = []
        for _ in range(drawn.randrange(6)):
            at = BEGIN + timedelta(hours=moved - drawn.choice([0, 1, 5, 30]))
            row = (drawn.choice([0, 1, 2, 2]), drawn.choice([at, at, None]))
            if changes == "rows":
                rows.append((*row, drawn.choice([2, 1, 1, 0, -1, None])))
            else:
                rows.append((*row, drawn.choice(WORDS), 1))
        arrived = slots(of, *rows)
        state.take(Frame(arrived), number)  # type: ignore[arg-type]
        reports = engines.take(number, [arrived], 2, drawn)
        found = in_order(engines.letters(reports)).to_pylist()
        assert letters.told.get(number, []) == [{**each, "multiplicity": 1} for each in found]
        assert counted(engines.rows("t")) == counted(state._database.tables["t"].to_arrow())
        assert comparable(engines.view("v")) == comparable(state.view("v").to_arrow())
        assert state._database.now is not None
        assert {r.numbers["clock"] for r in reports} <= {microseconds(state._database.now)}
        refused, came = refused + len(found), came + len(rows)
        if drawn.random() < 0.3:
            engines.restart()
    assert 5 < refused < came
    state.close()


def counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())
