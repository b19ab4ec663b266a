"""Steps of workers in mode="partitioned", one call behind the other, without Spark: Spark's state
store is a dictionary here. Views are merged, and rows moved, as the real one does."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="4.1")

import ringview as rv
from amounts import some
from ringview.errors import OverDeleteError, UnsupportedError
from ringview.spark.slots import ATOM, PARTITION
from ringview.spark.streaming.partitioned import routing
from ringview.spark.streaming.partitioned.bases import FileBases
from ringview.spark.streaming.partitioned.client import engines
from ringview.spark.streaming.partitioned.engine import as_rows
from ringview.spark.streaming.partitioned.gathered import Gathered
from ringview.spark.streaming.partitioned.heavy import Heavy
from ringview.spark.streaming.partitioned.layout import queries, setting
from ringview.spark.streaming.partitioned.placement import choose_placement, spread
from ringview.spark.streaming.partitioned.routing import LABEL, in_slots, messages, unpacked
from ringview.spark.streaming.partitioned.segments import Sizes
from ringview.spark.streaming.partitioned.worker import (
    COUNTS,
    LETTERS,
    Begin,
    Empty,
    Keep,
    Look,
)
from ringview.spark.streaming.plan import Plan, TablePlan
from ringview.spark.streaming.sinks import PartitionSinks

TABLES = (
    TablePlan("o", pa.schema({"k": pa.int64(), "c": pa.string()}), None, "rows", False),
    TablePlan("l", pa.schema({"k": pa.int64(), "p": pa.int64()}), None, "rows", False),
    TablePlan("n", pa.schema({"c": pa.string(), "t": pa.string()}), None, "rows", True),
)
WHOLE = {
    "v": "SELECT o.k, n.t, SUM(l.p) AS s, MAX(l.p) AS m FROM o JOIN l ON o.k = l.k "
    "JOIN n ON n.c = o.c GROUP BY o.k, n.t",
    "w": "SELECT k, s FROM v WHERE s > 4",
}
COMPUTED = {
    "v": "SELECT o.k, o.c, l.p FROM o LEFT JOIN l ON o.k = l.k",
    "w": "SELECT k, COUNT(*) AS n, MAX(p) AS m FROM v GROUP BY k",
    "x": "SELECT k, p FROM l QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) <= 2",
    "y": "SELECT k, c AS a FROM o UNION ALL SELECT k, 'p' FROM l WHERE p > 4",
}
SPLIT = {
    "v": "SELECT n.t, SUM(l.p) AS s, MAX(l.p) AS m, AVG(l.p) AS a, COUNT(DISTINCT l.p) AS d "
    "FROM o JOIN l ON o.k = l.k JOIN n ON n.c = o.c GROUP BY n.t HAVING COUNT(*) > 1",
    "w": "SELECT COUNT(*) AS n, SUM(p) AS s, MIN(p) AS m FROM l",
    "x": "SELECT o.k, COUNT(*) AS n FROM o JOIN l ON o.k = l.k GROUP BY o.k",
    "y": "SELECT k, n FROM x ORDER BY n DESC, k LIMIT 2",
}

SMALL = Sizes(slice=200, entry=100, few=2000, least=500)


class Value:
    def __init__(self) -> None:
        self.held: Any = None

    def exists(self) -> bool:
        return self.held is not None

    def get(self) -> Any:
        return self.held

    def update(self, new: Any) -> None:
        self.held = new


class Mapped:
    def __init__(self) -> None:
        self.held: dict[tuple[str, int], tuple[int, bytes]] = {}
        self.written = 0

    def getValue(self, key: tuple[str, int]) -> tuple[int, bytes] | None:  # noqa: N802
        return self.held.get(key)

    def updateValue(self, key: tuple[str, int], value: tuple[int, bytes]) -> None:  # noqa: N802
        self.held[key] = value
        self.written += len(value[1])

    def removeKey(self, key: tuple[str, int]) -> None:  # noqa: N802
        del self.held[key]

    def clear(self) -> None:
        self.held = {}


class Streamed:
    """A stream in partitions, as `PartitionedState` and Spark would run it."""

    def __init__(
        self, views: dict[str, str], folder: Path, count: int, patch: pytest.MonkeyPatch
    ) -> None:
        self.plan = Plan(TABLES, views)
        self.asked = queries(self.plan)
        self.placement = choose_placement(self.plan, self.asked, ())
        self.folder, self.patch, self.batch = folder, patch, -1
        self.heavy: Heavy | None = None
        self.sinks = b""
        self.data: dict[str, Counter[tuple[Any, ...]]] = {t.name: Counter() for t in TABLES}
        self.told: dict[str, Counter[tuple[Any, ...]]] = {name: Counter() for name in views}
        self.state: dict[int, tuple[Value, Mapped]] = {}
        self.split_into(count, 1)

    def split_into(self, count: int, generation: int) -> None:
        names = {(generation << 32) + 7 * number: number for number in range(count)}
        folder = self.folder / f"g{generation}"
        self.bases = FileBases(folder)
        lies = self.placement, self.heavy
        self.setting = setting(self.plan, lies, str(folder), names, generation == 1, SMALL)
        self.over = [name for name in self.plan.views if name not in self.setting.plan.views]
        self.gathered: Gathered | None = None

    def start(self) -> Gathered:
        """Views on the driver; reported changes are not reported again."""
        found = Gathered(self.plan, self.setting.gathered, self.over)
        if self.batch >= 0:
            found.add(self.looked(self.setting.gathered, told=True))
        return found

    def packed(self, rows: Plan, changes: dict[str, pa.Table]) -> dict[int, list[bytes]]:
        """Rows with their multiplicities, by label, as the shuffle returns them."""
        labels = list(self.setting.partitions)
        found: dict[int, list[bytes]] = {}
        for atom, table in enumerate(rows.streams):
            if table.name not in changes:
                continue
            listed = changes[table.name].drop_columns("multiplicity").to_pylist()
            places = [self.places(table.name, row, len(labels)) for row in listed]
            for batch in in_slots(rows, atom, changes[table.name]):
                for number, label in enumerate(labels):
                    here = [number in place for place in places]
                    mine = batch.filter(pa.array(here, pa.bool_()))
                    named = pa.RecordBatch.from_arrays(
                        [pa.array([label] * len(mine), pa.int64()), *mine.columns],
                        names=[LABEL, *mine.schema.names],
                    )
                    assert named.schema.names[1:3] == [ATOM, PARTITION]
                    for name, message in messages(named, rows.layout):
                        found.setdefault(name, []).append(message)
        return found

    def places(self, table: str, row: dict[str, Any], count: int) -> list[int]:
        """The partitions that need a row."""
        by = self.placement[table]
        role = None if self.heavy is None else self.heavy.role(table)
        if self.heavy is None or by is None or row[by] not in self.heavy.values:
            role = None
        if by is None or role == "copied":
            return list(range(count))
        # Python's own hash of a string is another one in each process.
        return [crc32(repr(row if role == "spread" else row[by]).encode()) % count]

    def split(self, table: str, values: list[int]) -> None:
        """Spread rows of a table with these values from the next move on, if they can be."""
        try:
            self.heavy = spread(self.plan, self.asked, self.placement, table, values)
        except UnsupportedError:
            self.heavy = None

    def begin(self, rows: Plan, changes: dict[str, pa.Table]) -> None:
        packed = self.packed(rows, changes)
        listed = [{"label": name, "message": m} for name, all_ in packed.items() for m in all_]
        assert list(Begin(self.setting, self.bases, rows)(iter(batches(listed)))) == []

    def take(
        self, changes: dict[str, pa.Table], *, leaves_out: bool = False
    ) -> list[dict[str, Any]]:
        """A micro-batch; its dead letters."""
        self.gathered = self.gathered or self.start()
        parts: list[tuple[str, pa.Table]] = []
        self.batch += 1
        letters: list[dict[str, Any]] = []
        context = SimpleNamespace(getLocalProperty=lambda name: str(self.batch))
        self.patch.setattr(routing, "TaskContext", SimpleNamespace(get=lambda: context))
        keep = Keep(self.setting, self.bases, True, leaves_out, self.sinks)
        views = list(self.setting.plan.views)
        for label, delta in self.packed(self.plan, changes).items():
            meta, segments = self.state.setdefault(label, (Value(), Mapped()))
            for row in keep(meta, segments, label, [SimpleNamespace(message=m) for m in delta]):
                if row.view == LETTERS:
                    letters += unpacked([row.message]).to_pylist()
                elif row.view != COUNTS:
                    rows = unpacked([row.message])
                    if (view := views[row.view]) in self.setting.gathered:
                        parts.append((view, rows))
                    else:
                        self.tell(view, rows)
        for view, rows in self.gathered.add(parts).items():
            self.tell(view, rows)
        return letters

    def tell(self, view: str, rows: pa.Table) -> None:
        for *values, times in tuples(rows):
            self.told[view][tuple(values)] += times

    def versions(self) -> list[pa.RecordBatch]:
        """Rows of Spark's reader of the state, in any order."""
        rows: list[dict[str, Any]] = []
        for label, number in self.setting.partitions.items():
            rows.append({"partition": number})
            meta, segments = self.state.get(label, (Value(), Mapped()))
            if meta.held is not None:
                names = ("token", "has_base", "slice", "rows", "log")
                said = dict(zip(names, meta.held, strict=True))
                rows.append({"partition": number, **said})
            rows += [
                dict(zip(("partition", "kind", "number", "batch", "message"), each, strict=True))
                for each in ((number, *key, *value) for key, value in segments.held.items())
            ]
        random.Random(self.batch).shuffle(rows)
        return batches(rows)

    def looked(
        self, names: Collection[str], *, told: bool = False
    ) -> Iterator[tuple[str, pa.Table]]:
        """Rows of views in partitions."""
        views = tuple(names)
        found = rows_in(Look(self.setting, self.bases, views, False, told)(iter(self.versions())))
        lacking = {row["partition"] for row in found if row["message"] is None}
        whole = rows_in(Look(self.setting, self.bases, views, True, told)(iter(self.versions())))
        found += [row for row in whole if row["partition"] in lacking]
        for row in found:
            if row["message"] is not None:
                yield row["view"], unpacked([row["message"]])

    def view(self, name: str) -> list[tuple[Any, ...]]:
        is_over = name in self.over
        parts = self.setting.gathered if is_over else [name]
        gathered = Gathered(self.plan, parts, self.over if is_over else [])
        gathered.add(self.looked(parts))
        return tuples(gathered[name].to_arrow())

    def check(self) -> None:
        db = rv.Database()
        self.plan.create_tables(db)
        for name, rows in self.data.items():
            db.insert(name, table_of(name, rows), multiplicity="multiplicity")
        self.plan.create_views(db)
        for name in self.plan.views:
            wanted = Counter(tuples(db[name].to_arrow()))
            assert Counter(self.view(name)) == wanted
            if self.batch >= 0:
                assert +self.told[name] == wanted
                assert min(self.told[name].values(), default=0) >= 0


_COLUMNS = [("partition", pa.int32()), ("token", pa.string()), ("has_base", pa.bool_()),
            ("slice", pa.int32()), ("rows", pa.list_(pa.int64())), ("log", pa.list_(pa.int64())),
            ("kind", pa.string()), ("number", pa.int64()), ("batch", pa.int64()),
            ("message", pa.binary()), ("label", pa.int64())]  # fmt: skip


def rows_in(found: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in found for row in batch.to_pylist()]


def batches(rows: list[dict[str, Any]]) -> list[pa.RecordBatch]:
    schema = pa.schema(_COLUMNS)
    return pa.Table.from_pylist(rows, schema).to_batches(max_chunksize=2) if rows else []


def tuples(rows: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows.to_pylist()]


def table_of(name: str, rows: Counter[tuple[Any, ...]]) -> pa.Table:
    (table,) = [each for each in TABLES if each.name == name]
    schema = table.columns.append(pa.field("multiplicity", pa.int64()))
    found = [dict(zip(schema.names, (*row, n), strict=True)) for row, n in rows.items() if n]
    return pa.Table.from_pylist(found, schema)


def change(draw: random.Random, of: Streamed, name: str) -> pa.Table:
    """Inserts into a table, and some deletes; they are in its data."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for _ in range(draw.randrange(6)):
        key = draw.choice([1, 2, 3, 4, 5, None])
        rows[(key, draw.choice("abx") if name == "o" else draw.randrange(9))] += 1
    for row, times in of.data[name].items():
        if times and draw.random() < 0.2:
            rows[row] -= draw.randrange(1, times + 1)
    of.data[name].update(rows)
    of.data[name] += Counter()
    return table_of(name, rows)


@pytest.mark.parametrize("views", [WHOLE, SPLIT, COMPUTED], ids=["whole", "split", "computed"])
@pytest.mark.parametrize("seed", some(range(8)))
def test_a_stream_in_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, views: dict[str, str], seed: int
) -> None:
    monkeypatch.setattr("os.fsync", lambda number: None)
    draw = random.Random(seed)
    of = Streamed(views, tmp_path, draw.randrange(1, 5), monkeypatch)
    assert (of.placement["n"] is None) is (views is not COMPUTED)
    static = Counter({("a", "x"): 1, ("b", "y"): 2})
    of.data["n"] = static
    of.begin(as_rows(of.plan.static), {"n": table_of("n", static)})
    of.check()
    generation = 1
    for _ in range(12):
        of.take({name: change(draw, of, name) for name in ("o", "l")})
        if draw.random() < 0.5:
            engines.cache_clear()
        if draw.random() < 0.3:
            # Another driver.
            of.gathered = None
        of.check()
        if draw.random() < 0.3:
            # Another number of partitions, and maybe other heavy values.
            generation += 1
            rows = as_rows(of.plan.tables)
            copied: dict[str, Any] = {n: None for n, by in of.placement.items() if by is None}
            if of.heavy is not None:
                heavy = of.heavy
                copied |= {name: (of.placement[name], heavy.values) for name in heavy.copied}
            found = list(Empty(of.setting, of.bases, rows, copied)(iter(of.versions())))
            if draw.random() < 0.7:
                spread_one = draw.choice("oll")
                of.split(spread_one, draw.sample([1, 2, 3, 4, 5], draw.randrange(1, 4)))
                # Views that compute rows, and one over the copied table alone, do not allow it.
                allowed = views is WHOLE or (views is SPLIT and spread_one == "l")
                assert (of.heavy is not None) is allowed
            of.split_into(draw.randrange(1, 5), generation)
            moved: dict[str, pa.Table] = {}
            for atom, table in enumerate(rows.streams):
                parts = [pa.Table.from_batches([b]) for b in found if b[ATOM][0].as_py() == atom]
                if parts:
                    places = [rows.layout.names[p] for p in rows.layout.places[atom]]
                    chosen = pa.concat_tables(parts).combine_chunks()
                    chosen = chosen.select([*places, "multiplicity"])
                    moved[table.name] = chosen.rename_columns(
                        [*table.columns.names, "multiplicity"]
                    )
            of.begin(rows, moved)
            of.check()
    said = [meta.held for meta, _ in of.state.values() if meta.held]
    # Snapshots were written, and ones behind them.
    assert max(rows[1] for *_, rows, _ in said) > 0


def test_a_view_that_the_driver_reads_is_told_in_partitions_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(1)
    of = Streamed({name: SPLIT[name] for name in "xy"}, tmp_path, 3, monkeypatch)
    told: Counter[tuple[Any, ...]] = Counter()

    def sink(partition: int, batch: int, rows: pa.Table) -> None:
        pq.write_table(rows, tmp_path / f"{partition}-{batch}.parquet")

    sinks = PartitionSinks.of({"x": sink}, of.plan.views)
    assert sinks is not None
    of.sinks = sinks.pickled()
    for _ in range(6):
        of.take({name: change(draw, of, name) for name in ("o", "l")})
        of.check()
    for path in tmp_path.glob("*-*.parquet"):
        for *values, times in tuples(pq.read_table(path)):
            told[tuple(values)] += times
    assert +told == +of.told["x"] != Counter()


def test_a_poison_batch_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Streamed(WHOLE, tmp_path, 2, monkeypatch)
    of.data["l"] = Counter({(1, 5): 1, (2, 6): 1})
    of.take({"l": table_of("l", of.data["l"])})
    before = {label: (meta.held, dict(held.held)) for label, (meta, held) in of.state.items()}
    with pytest.raises(OverDeleteError, match='table "l"'):
        of.take({"l": table_of("l", Counter({(1, 5): -2}))})
    after = {label: (meta.held, dict(held.held)) for label, (meta, held) in of.state.items()}
    assert after == before
    of.check()


@pytest.mark.parametrize("seed", some(range(3)))
def test_wrong_rows_are_letters_of_whichever_attempt_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Attempts that are thrown away have the same letters; engines are rebuilt from a log without
    them, where nothing is left out."""
    monkeypatch.setattr("os.fsync", lambda number: None)
    draw = random.Random(seed)
    of = Streamed(WHOLE, tmp_path, 3, monkeypatch)
    of.data["n"] = Counter({("a", "x"): 1, ("b", "y"): 2})
    of.begin(as_rows(of.plan.static), {"n": table_of("n", of.data["n"])})
    for number in range(12):
        wrong: Counter[tuple[Any, ...]] = Counter()
        changes = {}
        for name in ("o", "l"):
            held = list(of.data[name].items())
            right = change(draw, of, name)
            bad: Counter[tuple[Any, ...]] = Counter()
            if held and draw.random() < 0.7:
                row, times = draw.choice(held)
                bad[row] = -times - 100
            if draw.random() < 0.7:
                bad[(77, "b" if name == "o" else 8)] = -1
            rows = pa.concat_tables([right, table_of(name, bad)])
            # A micro-batch of a partition of which nothing is left.
            if number == 5:
                of.data[name].subtract(_counted(right))
                of.data[name] += Counter()
                rows = table_of(name, bad)
            changes[name] = shuffled(draw, rows)
            wrong.update((name, *row, times) for row, times in bad.items())
        before = {label: (meta.held, dict(held.held)) for label, (meta, held) in of.state.items()}
        told = {name: Counter(rows) for name, rows in of.told.items()}
        letters = of.take(changes, leaves_out=True)
        if draw.random() < 0.5:
            # Spark resumes from the version before.
            for label, (meta, segments) in of.state.items():
                meta.held, segments.held = before.get(label, (None, {}))
            of.told, of.batch = told, of.batch - 1
            moved = {name: shuffled(draw, rows) for name, rows in changes.items()}
            again = of.take(moved, leaves_out=True)
            assert sorted(again, key=str) == sorted(letters, key=str)
        found = Counter(
            (letter["table"], *json.loads(letter["row"]).values()) for letter in letters
        )
        assert found == wrong
        assert {letter["batch_id"] for letter in letters} <= {number}
        if draw.random() < 0.5:
            engines.cache_clear()
        of.check()


def shuffled(draw: random.Random, rows: pa.Table) -> pa.Table:
    order = draw.sample(range(rows.num_rows), rows.num_rows)
    return rows.take(pa.array(order, pa.int64())).combine_chunks()


def _counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter({tuple(row): times for *row, times in tuples(rows)})


def test_a_stream_that_lets_nothing_pass_goes_on_from_one_that_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Streamed(WHOLE, tmp_path, 2, monkeypatch)
    of.data["l"] = Counter({(1, 5): 1})
    wrong = table_of("l", Counter({(2, 6): -1}))
    both = pa.concat_tables([table_of("l", of.data["l"]), wrong]).combine_chunks()
    letters = of.take({"l": both}, leaves_out=True)
    assert len(letters) == 1
    engines.cache_clear()
    of.take({"l": table_of("l", Counter({(1, 5): -1}))})
    of.data["l"] = Counter()
    of.check()
    with pytest.raises(OverDeleteError):
        of.take({"l": wrong})
