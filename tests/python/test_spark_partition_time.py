"""The clock of a stream in partitions: one for all, and as with the state on the driver."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="4.1")

import partition_crashes
import ringview.spark as rs
import timed_crashes as crashes
from amounts import some
from dead_letters import Letters
from micro_batches import begun, slots
from oracle import comparable
from partition_engines import PartitionEngines
from ringview.convert.moments import microseconds
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.letters import in_order
from ringview.spark.streaming.partitioned import versions
from ringview.spark.streaming.plan import Changes, Plan
from shop import replayed
from starting import through
from state_crashes import Frame
from timed_streams import BEGIN, VIEWS, Batch, Model, Row, arrive, asked, batches, timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from ringview.spark.streaming import StreamQuery


EVERYWHERE = {
    "pairs": "SELECT t.id, COUNT(*) AS n FROM t, u "
    "WHERE u.ts > now() - INTERVAL '12 hours' GROUP BY t.id"
}


@pytest.mark.parametrize("views", [VIEWS, EVERYWHERE], ids=["by id", "everywhere"])
@pytest.mark.parametrize("seed", some(range(5), 2))
def test_partitions_have_the_clock_of_the_driver(
    tmp_path: Path, seed: int, views: dict[str, str]
) -> None:
    """After every micro-batch, over restarts: tables, views, clock, and how many rows left."""
    of = Plan((timed("t"), timed("u")), views)
    engines = PartitionEngines(of, 1 + seed % 4)
    assert (engines.placement["u"] is None) == (views is EVERYWHERE)
    told = {name: [none] for name, none in versions.nothing(of).items()}
    checkpoint = begun(Checkpoint(tmp_path / "checkpoint"), of)
    state, drawn, expired = DriverState(of, {}, checkpoint, None), random.Random(-seed - 1), 0
    for number, (model, changes) in enumerate(batches(seed, 20)):
        tables = [
            slots(of, *((*row, times) for row, times in changes[table.name]), atom=atom)
            for atom, table in enumerate(of.streams)
            if table.name in changes
        ]
        state.take(Frame(pa.concat_tables(tables or [slots(of)])), number)  # type: ignore[arg-type]
        reports = engines.take(number, tables, drawn.choice([1, 2, 4]), drawn)
        wanted = model.views(views)
        for name in views:
            assert comparable(engines.view(name)) == wanted[name]
            assert comparable(state.view(name).to_arrow()) == wanted[name]
            told[name] += engines.moved(reports)[name]
            assert replayed(pa.concat_tables(told[name])) == wanted[name]
        for name, rows in model.rows.items():
            assert counted(engines.rows(name)) == Counter(rows)
            came = len(changes.get(name, []))
            assert sum(r.numbers.get(f"rows.{name}", 0) for r in reports) == came
        left = {
            name: sum(r.numbers.get(f"expired.{name}", 0) for r in reports) for name in model.rows
        }
        assert left == state.metrics()["expired"] == model.expired
        expired += sum(left.values())
        now = model.now.replace(tzinfo=UTC)
        assert state.metrics()["clock"] == now.isoformat()
        assert {r.numbers["clock"] for r in reports} <= {microseconds(now)}
        if drawn.random() < 0.3:
            engines.restart()
    assert expired > 2
    for name in views:
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


def hours(*times: int | None) -> list[datetime | None]:
    return [None if time is None else BEGIN + timedelta(hours=time) for time in times]


def of_id(which: int, *times: int | None) -> list[tuple[Row, int]]:
    return [((which, at), 1) for at in hours(*times)]


def of_all(time: int) -> list[tuple[Row, int]]:
    return [row for which in range(5) for row in of_id(which, time)]


FIRST: list[Batch] = [
    {"t": of_all(0), "u": of_all(0)},
    # The clock waits for the other stream, and moves by it alone.
    {"t": of_id(0, 20)},
    {"u": of_id(0, 26)},
]
RESTARTED: list[Batch] = [{}, {"t": of_id(1, None, 27)}]
MOVED: list[Batch] = [
    # In partitions that have no row of the micro-batch nearly all rows leave.
    {"t": of_id(2, 40), "u": of_id(2, 41)},
    {"t": [*of_id(3, 1), ((2, hours(40)[0]), -1)]},
]
EVOLVED: list[Batch] = [{"t": of_id(4, 45, 66), "u": of_id(4, 65)}]
MORE = {
    **VIEWS,
    "days": "SELECT id, COUNT(*) AS n FROM t WHERE ts > now() - INTERVAL '30 hours' GROUP BY id",
}


@pytest.mark.long
def test_a_stream_in_partitions_forgets(quick: SparkSession, tmp_path: Path) -> None:
    """After each micro-batch, over a restart, a move to more partitions, and another view."""
    sink, checkpoint, told = rs.ParquetSink(tmp_path / "out"), tmp_path / "state", list[Batch]()

    def runs(views: dict[str, str], changes: list[Batch], **options: Any) -> None:
        first = len(told)
        told.extend(changes)
        # A query that runs might see the file of one table before that of the other.
        for number in range(first, len(told)):
            arrive(tmp_path, number, told[number])
        of = asked(quick, tmp_path, views)

        def goes_on(q: StreamQuery) -> None:
            q.process_all_available()
            for number in range(first, len(told)):
                model = Model.of(told[: number + 1])
                wanted = model.views(views)
                for name in views:
                    assert replayed(read(sink, name, number)) == wanted[name]
                known = q._state.metrics_of(number)
                if known is not None:
                    assert known["clock"] == model.now.replace(tzinfo=UTC).isoformat()
                    assert known["expired"] == model.expired
            assert known is not None
            assert q.batch_id == len(told) - 1
            for name in ("recent", "quiet"):
                assert comparable(q[name].to_arrow()) == wanted[name]

        through(
            lambda: of.write_stream(checkpoint, sink, mode="partitioned", **options).start(),
            goes_on,
        )

    runs(VIEWS, FIRST, partitions=2)
    runs(VIEWS, RESTARTED)
    asked(quick, tmp_path).repartition(checkpoint, partitions=3)
    runs(VIEWS, MOVED)
    asked(quick, tmp_path, MORE).evolve(checkpoint)
    runs(MORE, EVOLVED)
    assert Model.of(told).rows["t"]


def read(sink: rs.ParquetSink, view: str, last: int) -> pa.Table:
    """Changes of a view in a sink, up to a micro-batch."""
    files = sorted((sink.folder / view).glob("[0-9]*.parquet"))
    return pa.concat_tables(pq.read_table(path) for path in files if int(path.stem) <= last)


@pytest.mark.long
def test_a_stream_in_partitions_with_a_clock_is_killed(quick: SparkSession, tmp_path: Path) -> None:
    """Also in the sinks of partitions, from which rows leave that have none of the micro-batch."""
    files = partition_crashes.outlive(crashes.__file__, tmp_path, 4, 5, crashes.arrive)
    *_, (model, _) = batches(crashes.SEED, files)
    writer = crashes.asked(quick, tmp_path).write_stream(
        tmp_path / "checkpoint",
        mode="partitioned",
        partition_sink=partition_crashes.by_partition(tmp_path / "out"),
        on_error="dead_letter",
        dead_letters=tmp_path / "letters",
    )
    with writer.start() as q:
        q.process_all_available()
        assert q.batch_id == files - 1
        assert comparable(q["both"].to_arrow()) == model.views()["both"]
    assert sorted(partition_crashes.told(tmp_path / "out").elements()) == model.views()["both"]
    assert not list((tmp_path / "letters").glob("*.jsonl"))
