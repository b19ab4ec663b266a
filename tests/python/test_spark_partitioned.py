"""mode="partitioned" on a local Spark: state by partition, restarts, moves to more partitions."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="4.1")

from pyspark.sql import SparkSession
from ringview.errors import (
    InvalidValueError,
    OverDeleteError,
    StorageError,
    UnsupportedError,
)
from ringview.spark import CheckpointError, ParquetSink, stream
from ringview.spark.streaming import Stream, StreamQuery
from ringview.spark.streaming.partitioned.routing import labels
from ringview.spark.streaming.partitioned.segments import Sizes
from starting import through

VIEWS = {
    "spent": "SELECT o.id, c.country, SUM(l.price) AS price, MAX(l.price) AS most FROM orders o "
    "JOIN items l ON l.id = o.id JOIN customers c ON c.customer = o.customer "
    "GROUP BY o.id, c.country",
    "large": "SELECT id, country, price FROM spent WHERE price > 100",
    # Countries have rows in several partitions; for the others all partitions are read.
    "countries": "SELECT c.country, COUNT(*) AS n, AVG(l.price) AS price, COUNT(DISTINCT l.price) "
    "AS prices FROM orders o JOIN items l ON l.id = o.id JOIN customers c "
    "ON c.customer = o.customer GROUP BY c.country HAVING COUNT(*) > 1",
    "total": "SELECT COUNT(*) AS n, SUM(price) AS price, MIN(price) AS least FROM items",
    "first": "SELECT id, price FROM spent ORDER BY price DESC, id LIMIT 3",
    "rank": "SELECT country, RANK() OVER (ORDER BY prices) AS place FROM countries",
}
NAME = "Grüße #1, 50%20 + [2]"
CUSTOMERS = pa.table({"customer": [1, 2, 3], "country": ["FR", "US", "FR"]})


class Rows:
    """Files that arrive one after the other, and the sum of their rows."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.items: Counter[tuple[int, int]] = Counter()
        self.orders: list[tuple[int, int]] = []
        self.files = 0
        for name in ("orders", "items"):
            (folder / name).mkdir()

    def put(self, number: int = 12) -> None:
        """A file of each table; some of the items are deleted again."""
        for _ in range(number // 4):
            self.orders.append((len(self.orders), self.draw.randrange(1, 4)))
        new = self.orders[-(number // 4) :]
        self.write("orders", {"id": [o[0] for o in new], "customer": [o[1] for o in new]})
        gone = [row for row in sorted(self.items) if self.draw.random() < 0.2]
        come = [
            (self.draw.randrange(len(self.orders)), self.draw.randrange(90)) for _ in range(number)
        ]
        changes = [(row, 1) for row in come] + [(row, -1) for row in gone]
        self.draw.shuffle(changes)
        self.items.update(come)
        self.items.subtract(gone)
        self.items += Counter()
        self.put_items(changes)

    def put_items(self, changes: list[tuple[tuple[int, int], int]]) -> None:
        self.write(
            "items",
            {
                "id": [row[0] for row, _ in changes],
                "price": [row[1] for row, _ in changes],
                "times": [times for _, times in changes],
            },
        )

    def mend(self, changes: list[tuple[tuple[int, int], int]]) -> None:
        """Other rows in the last file: who keeps the source has mended it."""
        self.files -= 1
        self.items.update([row for row, _ in changes])
        self.put_items(changes)

    def write(self, table: str, columns: dict[str, list[int]]) -> None:
        self.files += 1
        draft = self.folder / f"{self.files}.part"
        pq.write_table(pa.table(columns), draft)
        draft.rename(self.folder / table / f"{self.files:04d}.parquet")

    def asked(self, spark: SparkSession, views: dict[str, str] = VIEWS) -> Stream:
        def read(name: str, schema: str) -> Any:
            return spark.readStream.schema(schema).parquet(str(self.folder / name))

        return stream(
            views,
            {
                "orders": read("orders", "id long, customer long").selectExpr(
                    "CAST(id AS int) AS id", "customer"
                ),
                "items": read("items", "id long, price long, times long"),
                "customers": spark.createDataFrame(CUSTOMERS),
            },
            multiplicity={"items": "times"},
        )

    def wanted(self) -> dict[str, Counter[tuple[Any, ...]]]:
        """The views over all rows, by DuckDB."""
        con = duckdb.connect(config={"threads": 1})
        items = list(self.items.elements())
        con.register("orders", columns(self.orders, "id", "customer"))
        con.register("items", columns(items, "id", "price"))
        con.register("customers", CUSTOMERS)
        found = {}
        for name, sql in VIEWS.items():
            rows = con.sql(sql).to_arrow_table()
            con.register(name, rows)
            found[name] = counted(rows)
        return found


def columns(rows: list[tuple[int, int]], *names: str) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


def counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(int(v) if isinstance(v, int) else v for v in r.values())
                   for r in rows.to_pylist())  # fmt: skip


def replayed(sink: ParquetSink, view: str) -> Counter[tuple[Any, ...]]:
    """Changes of a view in a sink, added up."""
    found: Counter[tuple[Any, ...]] = Counter()
    for *row, times in counted_rows(sink.read(view)):
        found[tuple(row)] += times
    assert min(found.values()) >= 0
    return +found


def counted_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows.to_pylist()]


def same(q: StreamQuery, rows: Rows, sink: ParquetSink) -> None:
    wanted = rows.wanted()
    for name in VIEWS:
        assert counted(q[name].to_arrow()) == wanted[name]
        assert replayed(sink, name) == wanted[name]


def bases(checkpoint: Path) -> set[str]:
    """Generations of the partitions' base snapshots."""
    found = (checkpoint / "ringview").glob("g*/p*")
    return {path.parent.name for path in found}


def test_state_by_partition(spark: SparkSession, tmp_path: Path) -> None:
    """From the first row over a sink that fails and a restart: views and the sink's changes are
    those of DuckDB, and the checkpoint resumes with nothing else."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    rows, sink = Rows(tmp_path, 1), ParquetSink(tmp_path / "out")
    checkpoint = tmp_path / "state"
    failing = [True]

    def fails_once(view: str, batch: int, changes: pa.Table) -> None:
        if batch == 1 and failing:
            failing.clear()
            raise RuntimeError("the sink is not there")
        sink(view, batch, changes)

    def start(asked: Stream, **options: Any) -> StreamQuery:
        return asked.write_stream(checkpoint, fails_once, mode="partitioned", **options).start()

    def first(q: StreamQuery) -> None:
        q.process_all_available()
        same(q, rows, sink)
        assert spark.conf.get("spark.sql.shuffle.partitions") == before
        progress = q.progress
        assert progress is not None
        assert progress["ringview"]["rows"] == {"orders": 3, "items": 12}
        assert progress["ringview"]["partitions"]["copied"] == ["customers"]
        with pytest.raises(StorageError):
            start(rows.asked(spark))

    def fails(q: StreamQuery) -> None:
        with pytest.raises(RuntimeError, match="is not there"):
            q.process_all_available()

    def goes_on(q: StreamQuery) -> None:
        q.process_all_available()
        same(q, rows, sink)

    rows.put()
    asked = rows.asked(spark)
    through(lambda: start(asked, partitions=3), first)
    rows.put()
    through(lambda: start(rows.asked(spark)), fails)
    rows.put()
    through(lambda: start(rows.asked(spark)), goes_on)
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"partitions": 4}, CheckpointError, r"has 3 partitions, not 4; .*repartition"),
        ({"mode": "driver"}, CheckpointError, "mode was partitioned and is driver now"),
    ]
    for options, error, message in refused:
        with pytest.raises(error, match=message):
            asked.write_stream(checkpoint, sink, **{"mode": "partitioned", **options}).start()


@pytest.mark.long
def test_a_checkpoint_of_any_name_and_of_another_life(quick: SparkSession, tmp_path: Path) -> None:
    """Over restarts, with a static table; a new one does not mix with an old one's changes."""
    rows, sink = Rows(tmp_path, 4), ParquetSink(tmp_path / "out")
    checkpoint = tmp_path / NAME / "state"

    def start() -> StreamQuery:
        asked = rows.asked(quick)
        return asked.write_stream(checkpoint, sink, mode="partitioned", partitions=2).start()

    def goes_on(q: StreamQuery) -> None:
        q.process_all_available()
        same(q, rows, sink)

    for _ in range(2):
        rows.put()
        through(start, goes_on)
    assert {path.name for path in tmp_path.iterdir()} == {NAME, "out", "orders", "items"}
    shutil.rmtree(checkpoint)
    with pytest.raises(CheckpointError, match=r"changes of another checkpoint, .* remove it"):
        start()
    shutil.rmtree(sink.folder)
    through(start, goes_on)


def test_only_a_plain_name_is_read_on_a_cluster(
    quick: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There a link of this machine would be none."""
    monkeypatch.setattr("ringview.spark.streaming.paths.cores", lambda spark: None)
    asked = Rows(tmp_path, 2).asked(quick)
    with pytest.raises(UnsupportedError, match=r"a path of letters, .* or keep it with mode="):
        asked.write_stream(tmp_path / NAME, mode="partitioned").start()
    assert not (tmp_path / NAME).exists()
    asked.write_stream(tmp_path / "plain_1-a", mode="partitioned").start().stop()


WORDS: list[list[tuple[Any, ...]]] = [
    [(1, 10, "c", 5), (2, 20, "c", 6), (3, 30, "c", 7)],
    [(2, None, "d", 9), (1, 9, "u", 4)],
    [(2, 21, "u", 8), (3, 31, "u", 8), (4, None, "d", 3)],
    [(4, 40, "c", 2), (2, 22, "c", 10)],
]
LEFT = [{1: 10, 2: 20, 3: 30}, {1: 10, 3: 30}, {1: 10, 3: 31}, {1: 10, 2: 22, 3: 31}]


@pytest.mark.long
def test_a_late_change_does_not_win(quick: SparkSession, tmp_path: Path) -> None:
    """Over restarts, and over a move to another number of partitions."""
    (tmp_path / "t").mkdir()
    sink, checkpoint = ParquetSink(tmp_path / "out"), tmp_path / "state"
    frame = quick.readStream.schema("id long, x long, op string, at long")
    asked = stream(
        {"v": "SELECT id, SUM(x) AS x FROM t GROUP BY id"},
        {"t": frame.parquet(str(tmp_path / "t"))},
        op="op",
        keys={"t": "id"},
        order="at",
    )
    for number, (words, left) in enumerate(zip(WORDS, LEFT, strict=True)):
        named = [dict(zip(("id", "x", "op", "at"), word, strict=True)) for word in words]
        pq.write_table(pa.Table.from_pylist(named), tmp_path / "draft")
        (tmp_path / "draft").rename(tmp_path / "t" / f"{number}.parquet")

        def goes_on(q: StreamQuery, left: dict[int, int] = left) -> None:
            q.process_all_available()
            found = q["v"].to_arrow().to_pylist()
            assert {row["id"]: row["x"] for row in found} == left
            assert replayed(sink, "v") == Counter(left.items())
            assert q.progress is not None

        through(lambda: asked.write_stream(checkpoint, sink, mode="partitioned").start(), goes_on)
        if number == 1:
            asked.repartition(checkpoint, partitions=3)
    noted = json.loads((checkpoint / "plan.json").read_text())
    state = quick.read.format("statestore").option("stateVarName", "meta")
    there = {row.key.label for row in state.load(str(checkpoint / "spark")).collect()}
    # The state of the partitions before the move is removed.
    assert there
    assert there <= set(noted["partitioned"]["labels"])
    del noted["partitioned"]["state"]
    (checkpoint / "plan.json").write_text(json.dumps(noted))
    with pytest.raises(CheckpointError, match=r"in files of snapshots, .* with an empty folder"):
        asked.write_stream(checkpoint, sink, mode="partitioned").start()


SMALL = Sizes(slice=300, entry=50, few=200, least=100)
"""So small that a stream of a few files has several snapshots."""


@pytest.mark.long
def test_snapshots_a_poison_batch_and_a_move(
    quick: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringview.spark.streaming.partitioned.layout.SIZES", SMALL)
    rows, sink = Rows(tmp_path, 1), ParquetSink(tmp_path / "out")
    checkpoint = tmp_path / "state"

    def start(**options: Any) -> StreamQuery:
        asked = rows.asked(quick)
        return asked.write_stream(checkpoint, sink, mode="partitioned", **options).start()

    def goes_on(q: StreamQuery) -> int:
        q.process_all_available()
        same(q, rows, sink)
        assert q.progress is not None
        snapshots: int = q.progress["ringview"]["partitions"]["snapshots"]
        return snapshots

    def is_poisoned(q: StreamQuery) -> None:
        with pytest.raises(OverDeleteError, match=r'table "items" holds 0 of the row'):
            q.process_all_available()
        assert isinstance(q.exception, OverDeleteError)

    snapshots = 0
    for _ in range(6):
        rows.put(40)
        snapshots += through(lambda: start(partitions=3), goes_on)
    assert snapshots >= 6
    # Snapshots of partitions have replaced the rows that they began with.
    assert not bases(checkpoint)
    rows.put_items([((0, 10**6), -1)])
    through(start, is_poisoned)
    rows.asked(quick).repartition(checkpoint, partitions=2)
    assert bases(checkpoint) == {"g2"}
    rows.mend([((0, 7), 1)])
    through(lambda: start(partitions=2), goes_on)
    for _ in range(4):
        rows.put(40)
        through(start, goes_on)


def test_labels_cover_all_partitions(quick: SparkSession) -> None:
    from pyspark.sql import functions as sf

    found = labels(quick, 7, 7, 3)
    lies = quick.createDataFrame([(label,) for label in found], "label long").select(
        sf.pmod(sf.hash("label"), sf.lit(7)).alias("lies")
    )
    assert [row.lies for row in lies.collect()] == list(range(7))
    assert not set(found) & set(labels(quick, 9, 7, 4))


def test_wrong_options(quick: SparkSession, tmp_path: Path) -> None:
    rows = Rows(tmp_path, 2)
    asked = rows.asked(quick, {"v": "SELECT SUM(price) AS s FROM items"})
    tried: list[tuple[Callable[[], object], type[Exception], str]] = [
        (
            lambda: asked.write_stream(tmp_path / "a", partitions=2),
            InvalidValueError,
            'goes with mode="partitioned"',
        ),
        (
            lambda: asked.write_stream(
                tmp_path / "a", mode="partitioned", partition_sink=print
            ).start(),
            UnsupportedError,
            r'view "v" .* give it sink= in the place of partition_sink=, or .* mode="driver"',
        ),
        (
            lambda: (
                rows.asked(quick)
                .write_stream(tmp_path / "b", mode="partitioned", partitions=0)
                .start()
            ),
            InvalidValueError,
            "1 or more",
        ),
        (lambda: asked.repartition(tmp_path / "c", 2), CheckpointError, "nothing to move"),
    ]
    for run, error, message in tried:
        with pytest.raises(error, match=message):
            run()
    assert not (tmp_path / "a").exists()


def test_a_view_that_is_refused_is_kept_as_advised(quick: SparkSession, tmp_path: Path) -> None:
    rows = Rows(tmp_path, 3)
    rows.put()
    asked = rows.asked(quick, {"v": "SELECT SUM(price) AS s FROM items"})
    wanted = sum(price for _, price in rows.items.elements())
    for mode in ("driver", "partitioned"):
        sink = ParquetSink(tmp_path / f"out of {mode}")
        at = tmp_path / mode
        with asked.write_stream(at, sink, mode=mode, partitions=None).start() as q:
            q.process_all_available()
            assert q["v"].scalar() == wanted
            assert replayed(sink, "v") == Counter([(wanted,)])
        assert json.loads((at / "plan.json").read_text())["mode"] == mode
    # Views that the driver adds up are not written by partitions from then on.
    with pytest.raises(UnsupportedError, match="give it sink= in the place of partition_sink="):
        asked.write_stream(
            tmp_path / "partitioned", mode="partitioned", partition_sink=print
        ).start()
