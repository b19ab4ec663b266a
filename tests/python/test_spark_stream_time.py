"""The clock of a stream, and rows that leave by it: in files and in objects, over restarts."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import object_folder
import ringview.spark as rs
from dead_letters import Letters, take
from micro_batches import slots
from oracle import comparable
from pyspark.sql import types as st
from ringview.errors import (
    CheckpointError,
    InvalidValueError,
    OverDeleteError,
    TypeMismatchError,
    UnknownColumnError,
    UnknownTableError,
)
from ringview.spark import ParquetSink
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.clock import delay
from ringview.spark.streaming.driver import DriverState
from ringview.spark.streaming.evolving import evolve
from ringview.spark.streaming.locations import write
from ringview.spark.streaming.plan import Changes, Plan, TablePlan
from shop import replayed
from state_crashes import Frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY, HOUR = 86_400, 3_600
BEGIN = datetime(2026, 3, 1)
MICROSECONDS = pa.timestamp("us")
VIEWS = {
    "v": "SELECT id, COUNT(*) AS n FROM t GROUP BY id",
    "recent": "SELECT COUNT(*) AS n FROM t WHERE ts > now() - INTERVAL '6 hours'",
}


def timed(
    name: str = "t",
    kind: pa.DataType = MICROSECONDS,
    changes: Changes = "rows",
    late: int = HOUR,
    keep_for: bool = True,
) -> TablePlan:
    columns = pa.schema({"id": pa.int64(), "ts": kind})
    keys = None if changes == "rows" else ("id",)
    stay = ("ts", "1 day") if keep_for else None
    return TablePlan(
        name, columns, keys, changes, False, keep_for=stay, watermark=("ts", late * 1_000_000)
    )


def opened(at: Checkpoint, of: Plan, sink: Any = None, letters: Any = None) -> DriverState:
    state = DriverState(of, {}, at, sink, letters)
    if not at.has_begun:
        (at.spark / "offsets").mkdir(parents=True, exist_ok=True)
        write(at.spark / "offsets" / "0", b"")
    return state


def clock(state: DriverState) -> datetime | None:
    found = state.metrics()["clock"]
    return None if found is None else datetime.fromisoformat(found)


def rows_of(state: DriverState, name: str = "t") -> list[tuple[Any, ...]]:
    return comparable(state._database.tables[name].to_arrow())


@pytest.mark.parametrize("where", ["file", "objects"])
@pytest.mark.parametrize("seed", range(4))
def test_rows_leave_as_the_clock_goes_on(tmp_path: Path, where: str, seed: int) -> None:
    of, sink = Plan((timed(),), VIEWS), ParquetSink(tmp_path / "out")
    drawn = random.Random(seed)

    def start() -> DriverState:
        local = Checkpoint(tmp_path / "checkpoint")
        at = local if where == "file" else object_folder.checkpoint(tmp_path / "checkpoint")
        return opened(at, of, sink)

    state, held, now, moved = start(), list[tuple[int, datetime | None]](), None, 0.0
    for number in range(8):
        moved += drawn.choice([0, 0.1, 1, 1, 5, 30])
        came = []
        for _ in range(drawn.randrange(1, 6)):
            at = BEGIN + timedelta(hours=moved - drawn.choice([0, 0.5, 2, 12, 25, 40]))
            came.append((drawn.randrange(3), drawn.choice([at, at, at, None])))
        gone = [held.pop()] if held and drawn.random() < 0.3 else []
        take(state, number, *((*r, 1) for r in came), *((*r, -1) for r in gone), of=of)
        times = [at for _, at in [*came, *gone] if at is not None]
        if times:
            now = max([max(times) - timedelta(hours=1), *([] if now is None else [now])])
        before = len(held) + len(came)
        held += came
        if now is not None:
            held = [r for r in held if r[1] is None or r[1] >= now - timedelta(days=1)]
            assert clock(state) == now.replace(tzinfo=UTC)
        assert state.metrics()["expired"] == {"t": before - len(held)}
        schema = pa.schema({"id": pa.int64(), "ts": pa.timestamp("us")})
        wanted = [dict(zip(schema.names, r, strict=True)) for r in held]
        assert rows_of(state) == comparable(pa.Table.from_pylist(wanted, schema))
        recent = sum(
            1 for _, at in held if at is not None and now and at > now - timedelta(hours=6)
        )
        assert state.view("recent").scalar() == recent
        for name in VIEWS:
            assert replayed(sink.read(name)) == comparable(state.view(name).to_arrow())
        if drawn.random() < 0.4:
            state.close()
            state = start()
            # A repeated micro-batch finds the clock where it was.
            take(state, number, *((*r, 1) for r in came), *((*r, -1) for r in gone), of=of)
            assert rows_of(state) == comparable(pa.Table.from_pylist(wanted, schema))
    state.close()


def test_the_clock_waits_for_the_slowest_stream(tmp_path: Path) -> None:
    tables = (timed("t"), timed("u", late=0, keep_for=False))
    of = Plan(tables, {"v": "SELECT COUNT(*) AS n FROM t, u WHERE t.id = u.id"})
    at = Checkpoint(tmp_path / "checkpoint")
    state = opened(at, of)

    def come(number: int, atom: int, hours: int) -> None:
        rows = slots(of, (1, BEGIN + timedelta(hours=hours), 1), atom=atom)
        state.take(Frame(rows), number)  # type: ignore[arg-type]

    come(0, 0, 100)
    assert clock(state) == datetime(1970, 1, 1, tzinfo=UTC)
    state.close()
    state = opened(at, of)
    come(1, 1, 10)
    assert clock(state) == (BEGIN + timedelta(hours=10)).replace(tzinfo=UTC)
    come(2, 1, 200)
    assert clock(state) == (BEGIN + timedelta(hours=99)).replace(tzinfo=UTC)
    assert len(rows_of(state, "t")) == 1
    come(3, 0, 300)
    assert clock(state) == (BEGIN + timedelta(hours=200)).replace(tzinfo=UTC)
    assert len(rows_of(state, "t")) == 1
    state.close()


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("ns")], ids=str
)
def test_times_of_each_type_move_the_clock(tmp_path: Path, kind: pa.DataType) -> None:
    of = Plan((timed(kind=kind, late=0),), {"v": VIEWS["v"]})
    state = opened(Checkpoint(tmp_path / "checkpoint"), of)
    days = [date(2026, 3, 3), None, date(2026, 3, 1), date(2026, 3, 2)]
    values = [
        day and (day if kind == pa.date32() else datetime(*day.timetuple()[:3])) for day in days
    ]
    take(state, 0, *((at, value, 1) for at, value in enumerate(values)), of=of)
    assert clock(state) == datetime(2026, 3, 3, tzinfo=UTC)
    assert [row[0] for row in rows_of(state)] == [0, 1, 3]
    assert state.metrics()["expired"] == {"t": 1}
    state.close()


def test_rows_by_key_leave_by_their_newest_time(tmp_path: Path) -> None:
    of = Plan((timed(changes="upserts"),), {"v": VIEWS["v"]})
    state = opened(Checkpoint(tmp_path / "checkpoint"), of)
    take(state, 0, (1, BEGIN, 1), (2, BEGIN, 1), of=of)
    take(state, 1, (1, BEGIN + timedelta(hours=20), 1), of=of)
    take(state, 2, (3, BEGIN + timedelta(hours=26), 1), of=of)
    assert [row[0] for row in rows_of(state)] == [1, 3]
    assert state.metrics()["expired"] == {"t": 1}
    state.close()


def test_a_batch_that_fails_leaves_the_clock(tmp_path: Path) -> None:
    of, far = Plan((timed(),), {"v": VIEWS["v"]}), BEGIN + timedelta(days=99)
    at = Checkpoint(tmp_path / "checkpoint")
    state = opened(at, of)
    take(state, 0, (1, BEGIN, 1), of=of)
    before = state._database.now
    with pytest.raises(OverDeleteError):
        take(state, 1, (1, far, -1), of=of)
    assert (state._database.now, len(rows_of(state))) == (before, 1)
    state.close()
    # A row that is left out does not move it either.
    letters = Letters()
    state = opened(at, of, letters=letters)
    take(state, 1, (1, far, -1), (2, BEGIN, 1), of=of)
    assert (state._database.now, len(rows_of(state))) == (before, 2)
    assert len(letters.told[1]) == 1
    state.close()


@pytest.mark.parametrize("where", ["file", "objects"])
def test_a_key_that_is_taken_moves_the_clock(tmp_path: Path, where: str) -> None:
    """Rows that the state refuses have arrived all the same: the clock depends on rows alone."""

    def start() -> DriverState:
        local = Checkpoint(tmp_path / "checkpoint")
        at = local if where == "file" else object_folder.checkpoint(tmp_path / "checkpoint")
        return opened(at, of, letters=letters)

    of, letters = Plan((timed(changes="words", late=0),), {"v": VIEWS["v"]}), Letters()
    late, far = BEGIN + timedelta(hours=30), BEGIN + timedelta(days=9)
    state = start()
    take(state, 0, (1, late, "insert", 1), (2, BEGIN + timedelta(hours=7), "insert", 1), of=of)
    taken = (1, BEGIN + timedelta(hours=40), "insert", 1)
    take(state, 1, taken, (None, far, "insert", 1), (3, far, "delete", 1), of=of)
    for _ in range(2):
        assert clock(state) == taken[1].replace(tzinfo=UTC)
        assert rows_of(state) == [(1, late)]
        state.close()
        state = start()
        take(state, 2, (4, BEGIN, "insert", 1), of=of)
    assert len(letters.told[1]) == 3
    state.close()


@pytest.mark.parametrize("where", ["file", "objects"])
def test_a_view_over_the_clock_may_come_later(tmp_path: Path, where: str) -> None:
    def at() -> Checkpoint:
        local = Checkpoint(tmp_path / "checkpoint")
        return local if where == "file" else object_folder.checkpoint(tmp_path / "checkpoint")

    of, sink = Plan((timed(),), {"v": VIEWS["v"]}), ParquetSink(tmp_path / "out")
    columns = [("id", st.LongType()), ("ts", st.TimestampNTZType())]
    row = st.StructType([st.StructField(*column) for column in columns])
    sources: Any = {"t": SimpleNamespace(row=row)}
    state = opened(at(), of, sink)
    take(state, 0, (1, BEGIN, 1), (2, BEGIN + timedelta(hours=30), 1), of=of)
    (at().spark / "commits").mkdir(parents=True, exist_ok=True)
    write(at().spark / "commits" / "0", b"")
    state.close()
    more = Plan((timed(),), VIEWS)
    evolve(more, sources, at(), {})
    state = opened(at(), more, sink)
    assert state._database.now == (BEGIN + timedelta(hours=29)).replace(tzinfo=UTC)
    assert state.view("recent").scalar() == 1
    take(state, 1, (3, BEGIN + timedelta(hours=60), 1), of=more)
    assert rows_of(state) == [(3, BEGIN + timedelta(hours=60))]
    for name in VIEWS:
        assert replayed(sink.read(name)) == comparable(state.view(name).to_arrow())
    state.close()
    forgetful = Plan((timed(keep_for=False),), VIEWS)
    with pytest.raises(CheckpointError, match='keep_for of table "t" was'):
        evolve(forgetful, sources, at(), {})


def test_a_time_beyond_the_calendar_is_the_last_one(tmp_path: Path) -> None:
    of = Plan((timed(kind=pa.timestamp("s"), late=0),), {"v": VIEWS["v"]})
    state = opened(Checkpoint(tmp_path / "checkpoint"), of)
    seconds = pa.array([2**40], pa.int64()).cast(pa.timestamp("s"))
    rows = slots(of, (1, BEGIN, 1))
    place = rows.column_names[[field.type for field in rows.schema].index(pa.timestamp("s"))]
    rows = rows.set_column(rows.column_names.index(place), place, seconds)
    state.take(Frame(rows), 0)  # type: ignore[arg-type]
    assert clock(state) == datetime.max.replace(tzinfo=UTC)
    state.close()


def test_delays() -> None:
    assert delay("1 day") == delay(timedelta(days=1)) == DAY * 1_000_000
    for wrong in ("soon", "-1 day", "1 month", timedelta(-1), 3, None):
        with pytest.raises(InvalidValueError, match="is no delay"):
            delay(wrong)


@pytest.mark.spark
def test_a_stream_of_spark_forgets(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()

    def write(number: int, *hours: int) -> None:
        times = [BEGIN + timedelta(hours=hour) for hour in hours]
        rows = pa.table({"id": [1] * len(times), "ts": pa.array(times, pa.timestamp("us", "UTC"))})
        pq.write_table(rows, tmp_path / "in" / f"{number}.parquet")

    frame = spark.readStream.schema("id long, ts timestamp").parquet(str(tmp_path / "in"))
    times: Any = {"keep_for": {"t": ("ts", "1 day")}, "watermark": {"t": ("ts", "1 hour")}}
    asked = rs.stream(VIEWS, {"t": frame}, **times)
    write(0, 0, 1, 2)
    with asked.write_stream(tmp_path / "checkpoint").start() as q:
        q.process_all_available()
        assert q["v"].to_arrow().to_pylist() == [{"id": 1, "n": 3}]
        write(1, 27)
        q.process_all_available()
        assert q["v"].to_arrow().to_pylist() == [{"id": 1, "n": 2}]
        progress = q.progress
        assert progress is not None
        assert progress["ringview"]["expired"] == {"t": 2}
        assert progress["ringview"]["clock"] == "2026-03-02T02:00:00+00:00"
    other = rs.stream(VIEWS, {"t": frame}, **{**times, "keep_for": {"t": ("ts", "2 days")}})
    with pytest.raises(rs.CheckpointError, match='keep_for of table "t" was'):
        other.write_stream(tmp_path / "checkpoint").start()
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (InvalidValueError, "nothing moves it", {"keep_for": {"t": ("ts", "1 day")}}),
        (UnknownTableError, 'no table "x"', {"watermark": {"x": ("ts", "1 day")}}),
        (UnknownColumnError, 'no column "at"', {"watermark": {"t": ("at", "1 day")}}),
        (TypeMismatchError, "must be a date", {"watermark": {"t": ("id", "1 day")}}),
        (TypeMismatchError, "a column and a length", {"watermark": {"t": "ts"}}),
        (InvalidValueError, "soon", {**times, "keep_for": {"t": ("ts", "soon")}}),
    ]
    for kind, said, given in wrong:
        with pytest.raises(kind, match=said):
            rs.stream({"v": VIEWS["v"]}, {"t": frame}, **given)
