"""Placement of rows, without Spark: partitions are databases here, and together they are one."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from amounts import AT_LENGTH

pytest.importorskip("pyspark", minversion="4.1")

import ringview as rv
from ringview.errors import UnsupportedError
from ringview.spark.streaming.partitioned.gathered import Gathered
from ringview.spark.streaming.partitioned.heavy import Heavy
from ringview.spark.streaming.partitioned.layout import queries
from ringview.spark.streaming.partitioned.partitioning import (
    Partitioning,
    SplitError,
    handed_on,
    of_rows,
)
from ringview.spark.streaming.partitioned.placement import (
    Placement,
    choose_placement,
    locations_of,
    spread,
)
from ringview.spark.streaming.plan import Plan, TablePlan

COLUMNS = {
    "o": pa.schema({"k": pa.int32(), "c": pa.string(), "d": pa.int64()}),
    "l": pa.schema({"k": pa.int64(), "p": pa.int64(), "d": pa.int64()}),
    "n": pa.schema({"c": pa.string(), "name": pa.string()}),
}


def plan_of(
    views: dict[str, str], static: str = "", keys: dict[str, tuple[str, ...]] | None = None
) -> Plan:
    tables = [
        TablePlan(
            name,
            columns,
            (keys or {}).get(name),
            "words" if name in (keys or {}) else "rows",
            name in static,
        )
        for name, columns in COLUMNS.items()
        if any(f" {name}" in f"{sql} ".replace(",", " ") for sql in views.values())
    ]
    return Plan(tuple(tables), views)


def rows(draw: random.Random, name: str) -> pa.Table:
    number = draw.randrange(1, 25)
    columns: dict[str, Any] = {}
    for field in COLUMNS[name]:
        if field.type == pa.string():
            values: list[Any] = [draw.choice(["a", "b", None]) for _ in range(number)]
        else:
            values = [draw.choice([1, 2, 3, 4, 5, None]) for _ in range(number)]
        columns[field.name] = pa.array(values, field.type)
    return pa.table(columns)


def filled(plan: Plan, data: dict[str, pa.Table]) -> rv.Database:
    db = rv.Database()
    plan.create_tables(db)
    for name, table in data.items():
        db.insert(name, table)
    plan.create_views(db)
    return db


def shares(data: dict[str, pa.Table], placement: Placement, partitions: int) -> list[Any]:
    """The rows of each partition; Python's hash of a string is another one in each process."""
    found: list[dict[str, pa.Table]] = [{} for _ in range(partitions)]
    for name, table in data.items():
        column = placement[name]
        values = table[column].to_pylist() if column else [None] * len(table)
        for number, share in enumerate(found):
            here = [
                column is None or crc32(repr(value).encode()) % partitions == number
                for value in values
            ]
            share[name] = table.filter(pa.array(here, pa.bool_()))
    return found


def comparable(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


KEPT = {
    "one table": {"v": "SELECT c, COUNT(*) AS n, MAX(d) AS m FROM o GROUP BY c"},
    "rows": {"v": "SELECT c, d FROM o"},
    "join": {"v": "SELECT o.k, SUM(l.p) AS s FROM o JOIN l ON o.k = l.k GROUP BY o.k"},
    "join and more": {
        "v": "SELECT l.k, o.c, SUM(l.p) AS s, COUNT(DISTINCT l.d) AS n FROM o JOIN l ON o.k = l.k "
        "GROUP BY l.k, o.c HAVING SUM(l.p) > 3"
    },
    "small table": {
        "v": "SELECT l.k, n.name, SUM(l.p) AS s FROM o JOIN l ON o.k = l.k JOIN n ON n.c = o.c "
        "GROUP BY l.k, n.name"
    },
    "rows of a join": {"v": "SELECT o.c, l.p FROM o JOIN l ON o.k = l.k"},
    "self-join": {
        "v": "SELECT a.k, SUM(a.p * b.p) AS s FROM l a JOIN l b ON a.k = b.k GROUP BY a.k"
    },
    "views over views": {
        "v": "SELECT k, SUM(p) AS s FROM l GROUP BY k",
        "w": "SELECT v.k, o.c, MAX(v.s) AS m FROM v JOIN o ON o.k = v.k GROUP BY v.k, o.c",
        "x": "SELECT k, m FROM w WHERE m > 2",
    },
    "blocks": {
        "v": "SELECT t.k, MAX(t.n) AS m FROM (SELECT k, COUNT(*) AS n FROM l GROUP BY k) t "
        "JOIN o ON o.k = t.k GROUP BY t.k"
    },
    "exists": {"v": "SELECT o.k, o.c FROM o WHERE EXISTS (SELECT 1 FROM l WHERE l.k = o.k)"},
    "distinct": {"v": "SELECT DISTINCT d, p FROM l"},
    "computed": {"v": "SELECT k, p + 1 AS p FROM l WHERE p * d > 4"},
    "union": {"v": "SELECT k, d FROM o UNION ALL SELECT k, p FROM l"},
    "groups of a union": {
        "v": "SELECT k, SUM(d) AS s FROM (SELECT k, d FROM o UNION ALL SELECT k, p FROM l) u "
        "GROUP BY k"
    },
    "distinct union": {"v": "SELECT k FROM o UNION SELECT k FROM l"},
    "left join": {"v": "SELECT o.k, o.c, l.p FROM o LEFT JOIN l ON o.k = l.k"},
    "groups of a left join": {
        "v": "SELECT o.k, COUNT(l.p) AS n FROM o LEFT JOIN l ON o.k = l.k GROUP BY o.k"
    },
    "full join": {"v": "SELECT o.d, l.p FROM o FULL JOIN l ON o.k = l.k"},
    "right join of groups": {
        "v": "SELECT o.d, t.s FROM (SELECT k, SUM(p) AS s FROM l GROUP BY k) t "
        "RIGHT JOIN o ON o.k = t.k"
    },
    "not exists": {"v": "SELECT d FROM o WHERE NOT EXISTS (SELECT 1 FROM l WHERE l.k = o.k)"},
    "except": {"v": "SELECT k, d FROM o EXCEPT SELECT k, p FROM l"},
    "rank": {
        "v": "SELECT k, p FROM l QUALIFY RANK() OVER (PARTITION BY k ORDER BY p DESC) <= 2",
    },
    "windows": {
        "v": "SELECT k, p, SUM(p) OVER (PARTITION BY k ORDER BY d, p) AS s FROM l",
        "w": "SELECT k, MAX(s) AS m FROM v GROUP BY k",
    },
    "latest": {"v": "SELECT o.k, o.d, l.p FROM o ASOF JOIN l ON o.k = l.k AND o.d >= l.d"},
    "aggregates in an order": {
        "v": "SELECT k, STRING_AGG(CAST(p AS VARCHAR), '-' ORDER BY p) AS l FROM l GROUP BY k"
    },
    "value of a subquery": {
        "v": "SELECT o.k, o.c FROM o WHERE o.d > (SELECT AVG(l.p) FROM l WHERE l.k = o.k)"
    },
    "two that agree": {
        "v": "SELECT d, SUM(p) AS s FROM l GROUP BY d",
        "w": "SELECT k, d, COUNT(*) AS n FROM l GROUP BY k, d",
    },
    "one that is everywhere": {
        "v": "SELECT n.c, COUNT(*) AS n FROM n GROUP BY n.c",
        "w": "SELECT l.k, n.name, SUM(l.p) AS s FROM o JOIN l ON o.k = l.k JOIN n ON n.c = o.c "
        "GROUP BY l.k, n.name",
    },
}


@pytest.mark.parametrize("name", KEPT)
def test_partitions_together_are_one(name: str) -> None:
    plan = plan_of(KEPT[name])
    queried = queries(plan)
    placement = choose_placement(plan, queried, plan.views)
    assert any(placement.values())
    copied = locations_of(plan, queried, placement).everywhere
    spread = 0
    seeds = range(40 if AT_LENGTH else 10)
    for seed in seeds:
        draw = random.Random(seed)
        data = {table.name: rows(draw, table.name) for table in plan.tables}
        whole = filled(plan, data)
        partitions = draw.randrange(1, 6)
        parts = [filled(plan, share) for share in shares(data, placement, partitions)]
        for view in plan.views:
            speak = parts[:1] if view in copied else parts
            found = [comparable(part[view].to_arrow()) for part in speak]
            assert sum(found, Counter()) == comparable(whole[view].to_arrow())
            spread += sum(bool(rows) for rows in found) > 1
    assert spread > len(seeds) // 4


GATHERED = {
    "one group": {"v": "SELECT SUM(p) AS s, COUNT(*) AS n, MAX(d) AS m FROM l"},
    "groups by another column": {
        "v": "SELECT o.c, SUM(l.p) AS s, COUNT(DISTINCT l.d) AS n FROM o JOIN l ON o.k = l.k "
        "GROUP BY o.c HAVING COUNT(*) > 1"
    },
    "groups that agree on no column": {
        "v": "SELECT d, SUM(p) AS s FROM l GROUP BY d",
        "w": "SELECT p, COUNT(*) AS n FROM l GROUP BY p",
    },
    "an order over groups": {
        "v": "SELECT k, SUM(p) AS s FROM l GROUP BY k",
        "w": "SELECT k, s FROM v ORDER BY s DESC, k LIMIT 2",
    },
    "windows, joins and groups over groups": {
        "v": "SELECT c, COUNT(*) AS n FROM o GROUP BY c",
        "w": "SELECT d, SUM(k) AS s, COUNT(*) AS n FROM o GROUP BY d",
        "x": "SELECT c, n, SUM(n) OVER (ORDER BY n, c) AS t FROM v",
        "y": "SELECT x.c, w.d, x.t + w.n AS more FROM x LEFT JOIN w ON w.n = x.n",
        "z": "SELECT MAX(more) AS m FROM y",
    },
    "a comparison with all groups": {
        "v": "SELECT k, SUM(p) AS s FROM l GROUP BY k",
        "w": "SELECT k FROM v WHERE s > (SELECT AVG(s) FROM v)",
    },
    "a path through rows": {
        "v": "SELECT k, p FROM l",
        "w": "WITH RECURSIVE r(a) AS (SELECT k FROM v UNION SELECT v.p FROM r JOIN v "
        "ON v.k = r.a) SELECT a FROM r",
    },
    "views beside": {
        "v": "SELECT k, COUNT(*) AS n FROM l GROUP BY k",
        "w": "SELECT v.k, o.c FROM v JOIN o ON o.k = v.k",
        "x": "SELECT k, n FROM v ORDER BY n DESC, k LIMIT 1",
    },
}


@pytest.mark.parametrize("name", GATHERED)
def test_the_driver_adds_up_what_partitions_have(name: str) -> None:
    """Also as it moves: rows are inserted into partitions, and deleted."""
    plan = plan_of(GATHERED[name])
    queried = queries(plan)
    placement = choose_placement(plan, queried, ())
    assert all(placement.values())
    of = locations_of(plan, queried, placement)
    assert of.gathered
    assert not of.everywhere
    own = Plan(plan.tables, {v: sql for v, sql in plan.views.items() if v not in of.on_driver})
    for seed in range(12):
        draw = random.Random(seed)
        whole, count = filled(plan, {}), draw.randrange(1, 5)
        parts = [filled(own, {}) for _ in range(count)]
        follow = [
            (view, part[view].follow_partials()) for part in parts for view in sorted(of.gathered)
        ]
        gathered = Gathered(plan, of.gathered, of.on_driver)
        told: dict[str, Counter[tuple[Any, ...]]] = {view: Counter() for view in plan.views}
        held: list[dict[str, pa.Table]] = []
        for _ in range(5):
            data = {table.name: rows(draw, table.name) for table in plan.tables}
            held.append(data)
            gone = held.pop(draw.randrange(len(held))) if draw.random() < 0.4 else {}
            for databases, come, go in [
                ([whole], [data], [gone]),
                (parts, shares(data, placement, count), shares(gone, placement, count)),
            ]:
                for database, coming, going in zip(databases, come, go, strict=True):
                    with database.transaction() as transaction:
                        for table, columns in coming.items():
                            transaction.insert(table, columns)
                        for table, columns in going.items():
                            transaction.delete(table, columns)
            moved = gathered.add((view, follower.changes()) for view, follower in follow)
            for view, changes in moved.items():
                for row in changes.to_pylist():
                    *values, times = row.values()
                    told[view][tuple(values)] += times
            for view in of.gathered | of.on_driver:
                wanted = comparable(whole[view].to_arrow())
                assert comparable(gathered[view].to_arrow()) == wanted
                assert +told[view] == wanted
                assert min(told[view].values(), default=0) >= 0
            for view in own.views.keys() - of.gathered:
                found = [comparable(part[view].to_arrow()) for part in parts]
                assert sum(found, Counter()) == comparable(whole[view].to_arrow())


def test_only_views_that_the_driver_reads_are_added_up() -> None:
    plan = plan_of(GATHERED["views beside"])
    of = locations_of(plan, queries(plan), choose_placement(plan, queries(plan), ()))
    assert [set(of.split), set(of.below), set(of.on_driver)] == [set(), {"v"}, {"x"}]


def test_what_the_advice_says_is_kept() -> None:
    """A view over rows of all partitions is refused, and over a view of them it is kept."""
    refused = plan_of({"v": "SELECT k, p FROM l ORDER BY p, k LIMIT 3"})
    with pytest.raises(UnsupportedError, match="let it read views in the place of tables"):
        choose_placement(refused, queries(refused), ())
    views = {"u": "SELECT k, p FROM l", "v": "SELECT k, p FROM u ORDER BY p, k LIMIT 3"}
    plan = plan_of(views)
    of = locations_of(plan, queries(plan), choose_placement(plan, queries(plan), ()))
    assert of.on_driver == {"v"}
    rows_of_l = pa.table({"k": [1, 2, 3, 4], "p": [4, 3, 2, 1], "d": [0, 0, 0, 0]})
    gathered = Gathered(plan, of.gathered, of.on_driver)
    own = Plan(plan.tables, {"u": views["u"]})
    gathered.add(
        ("u", filled(own, {"l": rows_of_l.slice(at, 1)})["u"].partial()) for at in range(4)
    )
    assert comparable(gathered["v"].to_arrow()) == comparable(
        filled(refused, {"l": rows_of_l})["v"].to_arrow()
    )


@pytest.mark.parametrize(
    "views",
    [
        {"v": "SELECT SUM(p) AS s FROM l WHERE p > (SELECT COUNT(*) FROM n)"},
        {
            "w": "SELECT k, make_timestamp(p) AS t FROM l",
            "v": "SELECT k, t FROM w WHERE t > NOW() - INTERVAL 1 DAY ORDER BY t LIMIT 3",
        },
        {"v": "SELECT n.name, l.p FROM l JOIN n ON n.c = 'a' ORDER BY l.p LIMIT 3"},
    ],
    ids=["a subquery in one table", "the clock", "a static table"],
)
def test_what_the_driver_cannot_keep_is_told(views: dict[str, str]) -> None:
    plan = plan_of(views, static="n")
    clocked = [replace(table, watermark=("d", 0)) for table in plan.streams]
    plan = replace(plan, tables=(*clocked, *plan.static))
    with pytest.raises(UnsupportedError, match=r'view "v" .*; keep it with mode="driver"'):
        choose_placement(plan, queries(plan), ())


JOINED = {"v": "SELECT o.k, SUM(l.p) AS s FROM o JOIN l ON o.k = l.k GROUP BY o.k"}
BESIDE = "SELECT c, COUNT(*) AS n FROM n GROUP BY c"


def test_rows_of_heavy_values_are_spread_and_those_that_join_them_copied() -> None:
    """Tables that join neither are left where they are; views over such groups are the driver's."""
    plan = plan_of({**JOINED, "w": "SELECT k, s FROM v WHERE s > 3", "x": BESIDE})
    queried = queries(plan)
    placement = choose_placement(plan, queried, ())
    heavy = spread(plan, queried, placement, "l", [3, 7])
    assert heavy == Heavy(("l",), ("o",), (3, 7)) == Heavy.read(heavy.described())
    assert [heavy.role(name) for name in "oln"] == ["copied", "spread", None]
    without, of = (
        locations_of(plan, queried, placement),
        locations_of(plan, queried, placement, heavy),
    )
    assert (without.split, without.on_driver) == (frozenset(), frozenset())
    assert (of.split, of.on_driver) == (frozenset("v"), frozenset("w"))
    with_history = plan_of(JOINED, keys={"o": ("k",)})
    table = replace(with_history.tables[0], order=pa.int64())
    with_history = replace(with_history, tables=(table, *with_history.tables[1:]))
    history = with_history.histories["o"].name
    found = heavy.with_histories(with_history)
    assert (found.spread, found.copied) == (("l",), ("o", history))
    assert Heavy(("o",), (), (1,)).with_histories(with_history).spread == ("o", history)


@pytest.mark.parametrize(
    "views",
    [
        {"v": "SELECT o.d, l.p FROM o LEFT JOIN l ON o.k = l.k"},
        {"v": "SELECT d FROM o WHERE EXISTS (SELECT 1 FROM l WHERE l.k = o.k)"},
        {"v": "SELECT a.k, SUM(a.p * b.p) AS s FROM l a JOIN l b ON a.k = b.k GROUP BY a.k"},
        {"v": "SELECT k, p FROM l QUALIFY RANK() OVER (PARTITION BY k ORDER BY p DESC) <= 2"},
        {"v": "SELECT k, p FROM l EXCEPT SELECT k, d FROM o"},
        {**JOINED, "w": "SELECT k, COUNT(*) AS n FROM o GROUP BY k"},
        {"v": "SELECT t.k, MAX(t.n) AS m FROM (SELECT k, COUNT(*) AS n FROM l GROUP BY k) t "
         "JOIN o ON o.k = t.k GROUP BY t.k"},
    ],
)  # fmt: skip
def test_heavy_values_that_views_need_together_are_not_spread(views: dict[str, str]) -> None:
    plan = plan_of(views)
    queried = queries(plan)
    placement = choose_placement(plan, queried, ())
    with pytest.raises(UnsupportedError, match=r"heavy value|several partitions"):
        spread(plan, queried, placement, "l", [1])


@pytest.mark.parametrize(
    ("views", "keys", "why"),
    [
        ({"v": "SELECT SUM(p) AS s FROM l"}, None, 'view "v" .* no GROUP BY'),
        ({"v": "SELECT k, p FROM l ORDER BY p LIMIT 3"}, None, "an order is over rows of several"),
        ({"v": "SELECT k, SUM(p) OVER (ORDER BY d) AS s FROM l"}, None, "a window is over rows"),
        (
            {"v": "SELECT k, p FROM l UNION ALL SELECT d, k FROM o",
             "w": "SELECT l.k, COUNT(*) AS n FROM l GROUP BY l.k",
             "x": "SELECT v.k, o.c FROM v JOIN o ON v.k = o.k"},
            None,
            "together|do not all join",
        ),
        (
            {"v": "WITH RECURSIVE r(a) AS (SELECT k FROM l UNION SELECT l.p FROM r JOIN l "
             "ON l.k = r.a) SELECT a FROM r"},
            None,
            "WITH RECURSIVE follows",
        ),
        (
            {"v": "SELECT o.c, SUM(l.p) AS s FROM o JOIN l ON o.k = l.k GROUP BY o.c"},
            None,
            "",
        ),
        (
            {"v": "SELECT l.p, COUNT(*) AS n FROM l WHERE l.p > (SELECT AVG(p) FROM l) "
             "GROUP BY l.p"},
            None,
            "needs all rows",
        ),
        (
            {"v": "SELECT c, COUNT(*) AS n FROM o GROUP BY c"},
            {"o": ("k",)},
            "found by their key",
        ),
        (
            {"v": "SELECT d, COUNT(*) AS n FROM l GROUP BY d",
             "w": "SELECT p, COUNT(*) AS n FROM l GROUP BY p"},
            None,
            "a stream and a checkpoint of its own",
        ),
        ({"w": "SELECT p, COUNT(*) AS n FROM l GROUP BY p",
          "v": "SELECT c, COUNT(*) AS n FROM n GROUP BY c"}, None, "reads no stream"),
    ],
)  # fmt: skip
def test_what_partitions_cannot_keep_is_told(
    views: dict[str, str], keys: dict[str, tuple[str, ...]] | None, why: str
) -> None:
    plan = plan_of(views, static="n", keys=keys)
    if not why:
        # A stream that is sent everywhere is the price of groups by a column of the other one.
        assert choose_placement(plan, queries(plan), plan.views) == {"o": "c", "l": None}
        return
    with pytest.raises(UnsupportedError, match=why):
        choose_placement(plan, queries(plan), plan.views)


def test_static_tables_are_copied_before_streams() -> None:
    views = KEPT["small table"]
    plan = plan_of(views, "n")
    for whole in (plan.views, ()):
        assert choose_placement(plan, queries(plan), whole) == {"o": "k", "l": "k", "n": None}


def test_integers_of_two_widths_are_alike_and_other_types_are_not() -> None:
    views = {"v": "SELECT o.k, l.p FROM o JOIN l ON o.k = l.k"}
    plan = plan_of(views)
    assert choose_placement(plan, queries(plan), plan.views) == {"o": "k", "l": "k"}


def map_of(*columns: str | None, minus: bool = False) -> dict[str, Any]:
    return {"columns": [c and f'"{c}"' for c in columns], "minus": minus}


BY_K = Partitioning(pa.int64(), frozenset(["k"]), frozenset(["l"]))


@pytest.mark.parametrize(
    ("branches", "sources", "why"),
    [
        ([map_of("k"), map_of("c")], [BY_K, None], "every partition has"),
        (
            [map_of("k"), map_of("k")],
            [BY_K, Partitioning(pa.string(), frozenset("k"))],
            "different types",
        ),
        (
            [map_of("d"), map_of("d", minus=True)],
            [BY_K, Partitioning(pa.int64(), frozenset("d"), frozenset("o"))],
            "taken away in other partitions",
        ),
    ],
)
def test_rows_of_several_sources_that_lie_apart_are_told(
    branches: list[dict[str, Any]], sources: list[Partitioning | None], why: str
) -> None:
    rows = {"kind": "map", "names": ["a"], "branches": branches}
    with pytest.raises(SplitError, match=why):
        of_rows(rows, sources)


def test_what_a_map_hands_on_is_told_from_what_it_computes() -> None:
    texts = ['"a"', '"a" + "b"', '"say ""b"""', None, "1", '"']
    found = handed_on("uvwxyz", {"columns": texts})
    assert list(found) == [("u", "a"), ("w", 'say "b"')]
    rows = {"kind": "map", "names": ["u", "v"], "branches": [{"columns": ['"k"', '"k" + "d"']}]}
    assert of_rows(rows, [BY_K]) == Partitioning(pa.int64(), frozenset("u"), frozenset("l"))
    assert of_rows(rows, [None]) is None
