"""Views found cell by cell equal DuckDB over all rows: routes, HyperCube, stages, without Spark."""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from oracle import comparable, plain_rows

pytest.importorskip("pyspark", minversion="3.5")

from amounts import examples
from cells import Tables, plan, run
from hypothesis import given
from hypothesis import strategies as st
from ringview.spark.explained import explained
from ringview.spark.grid import Along, cells, copies
from ringview.spark.plans import Plan
from ringview.spark.skew import Heavy
from ringview.spark.types import to_spark

SCHEMAS = {
    "r": pa.schema({"a": pa.int64(), "b": pa.int64(), "x": pa.int64()}),
    # An int32 that joins an int64.
    "s": pa.schema({"b": pa.int32(), "c": pa.int64(), "name": pa.string()}),
    "t": pa.schema({"c": pa.int64(), "a": pa.int64(), "y": pa.decimal128(12, 2)}),
}
LARGE = {"r": 10.0**6, "s": 10.0**6, "t": 10.0**6}
SIZES: list[Mapping[str, float] | None] = [None, LARGE, {"r": 1e6, "s": 1e3, "t": 10.0}]

QUERIES = [
    # Cyclic, and joins without a variable in all relations.
    "SELECT COUNT(*) AS n FROM r JOIN s USING (b) JOIN t ON s.c = t.c AND t.a = r.a",
    "SELECT r.a, SUM(t.y) AS y FROM r JOIN s USING (b) JOIN t ON s.c = t.c AND t.a = r.a "
    "GROUP BY r.a",
    "SELECT r.a, SUM(t.y) AS y FROM r JOIN s USING (b) JOIN t USING (c) GROUP BY r.a",
    "SELECT s.name, AVG(r.x) AS m FROM r JOIN s USING (b) JOIN t USING (c) GROUP BY s.name",
    "SELECT COUNT(*) AS n FROM r r1 JOIN r r2 ON r1.b = r2.a",
    "SELECT COUNT(*) AS n FROM r r1 JOIN r r2 ON r1.b = r2.a "
    "JOIN r r3 ON r2.b = r3.a AND r3.b = r1.a",
    "SELECT r1.x, COUNT(*) AS n FROM r r1 JOIN r r2 USING (a, b) WHERE r2.x > 1 GROUP BY r1.x",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM r, s",
    # Whole groups.
    "SELECT a, MIN(x) AS lo, MAX(x) AS hi FROM r GROUP BY a",
    "SELECT a, b, COUNT(DISTINCT x) AS n FROM r GROUP BY a, b HAVING COUNT(*) > 1",
    "SELECT b, SUM(x) / COUNT(*) AS m, VAR_POP(c) AS v FROM r JOIN s USING (b) GROUP BY b",
    "SELECT MAX(x) AS m FROM r JOIN s USING (b)",
    # Rows.
    "SELECT r.a, s.name FROM r JOIN s USING (b) WHERE r.x > s.c",
    "SELECT r.a, s.*, t.y FROM r JOIN s USING (b) JOIN t USING (c)",
    "SELECT DISTINCT r.a, s.c FROM r JOIN s USING (b)",
    "SELECT a, x FROM r WHERE x > 1",
    # Views over views.
    "SELECT b, MAX(n) AS m FROM s "
    "JOIN (SELECT b, COUNT(*) AS n FROM r GROUP BY b) q USING (b) GROUP BY b",
    "SELECT n, COUNT(*) AS m FROM (SELECT b, COUNT(*) AS n FROM r GROUP BY b) q GROUP BY n",
    "SELECT n, MAX(b) AS m FROM (SELECT b, COUNT(*) AS n FROM r GROUP BY b) q GROUP BY n",
    "SELECT p.b, p.n, q.m FROM (SELECT b, COUNT(*) AS n FROM r GROUP BY b) p "
    "JOIN (SELECT b, MAX(c) AS m FROM s GROUP BY b) q USING (b)",
    "WITH q AS (SELECT a, b, SUM(x) AS s FROM r GROUP BY a, b), m AS (SELECT MAX(s) AS s FROM q) "
    "SELECT q.a, q.b FROM q JOIN m ON q.s = m.s",
    "SELECT b, s, mean FROM (SELECT b, SUM(x) AS s FROM r GROUP BY b) q "
    "CROSS JOIN (SELECT AVG(x) AS mean FROM r) m",
    "SELECT q.c, COUNT(*) AS n FROM (SELECT r.a, s.c FROM r JOIN s USING (b)) q "
    "JOIN t ON q.c = t.c GROUP BY q.c",
    # Conditions.
    "SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b)",
    "SELECT a, COUNT(*) AS n FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.b = r.b) GROUP BY a",
    "SELECT b, SUM(x) AS s FROM r WHERE x < (SELECT AVG(c) FROM s WHERE s.b = r.b) GROUP BY b",
    "SELECT SUM(x) AS s FROM r WHERE x < (SELECT AVG(c) FROM s WHERE s.b = r.b)",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING COUNT(*) > (SELECT AVG(c) FROM s)",
    "SELECT a, COUNT(*) AS n FROM r "
    "WHERE b IN (SELECT b FROM s GROUP BY b HAVING SUM(c) > 2) GROUP BY a",
    "SELECT b, COUNT(*) AS n FROM r WHERE x <= (SELECT MAX(c) FROM s WHERE s.b = r.b "
    "AND s.c < (SELECT AVG(t.a) FROM t WHERE t.c = r.b)) GROUP BY b",
]


def tables(draw: random.Random, rows: int = 40) -> Tables:
    """Random rows: a value that half of all have, NULLs, duplicates."""

    def key() -> int | None:
        return None if draw.random() < 0.1 else 1 if draw.random() < 0.4 else draw.randrange(6)

    def row(name: str) -> tuple[object, ...]:
        value = None if draw.random() < 0.1 else draw.randrange(5)
        if name == "r":
            return key(), key(), value
        if name == "s":
            return key(), key(), draw.choice(["x", "", None, "ünïcode"])
        return key(), key(), None if value is None else Decimal(value * 25) / 100

    return {
        name: pa.Table.from_pylist(
            [dict(zip(schema.names, row(name), strict=True)) for _ in range(draw.randrange(rows))],
            schema,
        )
        for name, schema in SCHEMAS.items()
    }


def expected(sql: str, data: Tables) -> list[tuple[object, ...]]:
    connection = duckdb.connect(config={"threads": 1})
    for name, table in data.items():
        connection.register(name, table)
    return comparable(connection.sql(sql).to_arrow_table())


@pytest.mark.parametrize("sql", QUERIES)
def test_cells_add_up_to_the_whole(sql: str) -> None:
    draw = random.Random(sql)
    for partitions, rows in [(1, None), (3, LARGE), *((8, rows) for rows in SIZES), (12, LARGE)]:
        data = tables(draw)
        made = plan({"v": sql}, data, rows, partitions)
        assert comparable(run(made, data, draw)["v"]) == expected(sql, data), made


def grid(made: Plan, view: str = "v") -> list[tuple[str, int]]:
    """The dimensions of a view and their shares."""
    stage, place = made.places[view]
    route = made.grids[stage].wanted[place].route
    return [("+".join(v.name for v in d.variables), d.share) for d in route.dimensions]


@pytest.mark.parametrize(
    ("sql", "partitions", "wanted"),
    [
        # The triangle: the cube of shares.
        (QUERIES[0], 8, [("a", 2), ("b", 2), ("c", 2)]),
        (QUERIES[0], 27, [("a", 3), ("b", 3), ("c", 3)]),
        # A key that groups, and one that joins all.
        (QUERIES[16], 8, [("b", 8)]),
        # Two columns together have more values than one.
        (QUERIES[9], 8, [("a+b", 8)]),
        # Correlated: the key of the inner query is that of the group.
        (QUERIES[25], 8, [("b", 8)]),
        # A relation that is compared with everything is sent everywhere.
        (QUERIES[27], 8, [("a", 8)]),
    ],
)
def test_shares(sql: str, partitions: int, wanted: list[tuple[str, int]]) -> None:
    assert grid(plan({"v": sql}, tables(random.Random(1)), LARGE, partitions)) == wanted


def test_shares_follow_sizes() -> None:
    """The small relation of a chain is copied, the large ones are not."""
    sql = "SELECT COUNT(*) AS n FROM r JOIN s USING (b) JOIN t USING (c)"
    data = tables(random.Random(2))
    assert grid(plan({"v": sql}, data, {"r": 1e6, "s": 1e6, "t": 10.0}, 16)) == [("b", 16)]
    assert grid(plan({"v": sql}, data, {"r": 1e3, "s": 1e6, "t": 1e6}, 16)) == [("c", 16)]
    assert grid(plan({"v": sql}, data, {"r": 1e6, "s": 1e6, "t": 1e6}, 16)) == [("b", 4), ("c", 4)]


def test_a_query_that_tells_nothing_apart_has_one_cell() -> None:
    made = plan({"v": QUERIES[26]}, tables(random.Random(3)), LARGE, 8)
    assert [stage.cells for stage in made.grids] == [1]


def test_a_block_that_cannot_lie_as_its_reader_asks_is_found_first() -> None:
    (sql,) = (sql for sql in QUERIES if "CROSS JOIN" in sql)
    made = plan({"v": sql}, tables(random.Random(4)), LARGE, 8)
    assert [[one.name for one in stage.wanted] for stage in made.grids] == [["m"], ["v"]]
    # If possible, one shuffle does for both.
    assert len(plan({"v": QUERIES[16]}, tables(random.Random(4)), LARGE, 8).grids) == 1


def test_views_share_a_shuffle_where_they_move_rows_alike() -> None:
    views = {
        "least": "SELECT b, MIN(x) AS x FROM r GROUP BY b",
        "most": "SELECT b, MAX(x) AS x, MAX(name) AS name FROM r JOIN s USING (b) GROUP BY b",
        "over": "SELECT least.b, least.x, most.name FROM least JOIN most USING (b)",
    }
    draw = random.Random(5)
    data = tables(draw)
    made = plan(views, data, LARGE, 4)
    assert [len(stage.wanted) for stage in made.grids] == [3]
    assert [relation.name for relation in made.grids[0].relations] == ["r", "s"]
    found = run(made, data, draw)
    for name in ("least", "most"):
        assert comparable(found[name]) == expected(views[name], data)
    below = ", ".join(f"{name} AS ({views[name]})" for name in ("least", "most"))
    assert comparable(found["over"]) == expected(f"WITH {below} {views['over']}", data)


def test_a_view_that_others_need_found_before_is_found_once() -> None:
    views = {
        "best": "SELECT n.n, MAX(n.b) AS b, COUNT(*) AS k FROM counts n JOIN t ON n.n = t.c "
        "GROUP BY n.n",
        "counts": "SELECT b, COUNT(*) AS n, MAX(x) AS x FROM r JOIN s USING (b) GROUP BY b",
        "rare": "SELECT a, COUNT(DISTINCT x) AS u FROM r GROUP BY a "
        "HAVING COUNT(*) < (SELECT AVG(n) FROM counts)",
        "rest": "SELECT c, COUNT(*) AS n FROM s GROUP BY c "
        "HAVING COUNT(*) > (SELECT AVG(a) FROM t)",
    }
    given = ", ".join(f"{name} AS ({views[name]})" for name in ("counts", "best", "rare", "rest"))
    draw = random.Random(11)
    for partitions in (1, 3, 8):
        for rows in SIZES:
            data = tables(draw)
            made = plan(views, data, rows, partitions, small=("t",))
            found = run(made, data, draw)
            for name in views:
                wanted = expected(f"WITH {given} SELECT * FROM {name}", data)
                assert comparable(found[name]) == wanted, (name, explained(made, None))


def test_small_tables_come_with_the_plan() -> None:
    sql = "SELECT s.name, SUM(r.x) AS x FROM r JOIN s USING (b) JOIN t USING (c) GROUP BY s.name"
    draw = random.Random(6)
    data = tables(draw)
    made = plan({"v": sql}, data, {"r": 1e7, "s": 1e3, "t": 10.0}, 4, small=("s", "t"))
    (stage,) = made.grids
    assert stage.in_place == "r"
    assert stage.sends == {"s", "t"}
    assert comparable(run(made, data, draw)["v"]) == expected(sql, data)


HEAVY: Heavy = {("r", "b"): {1: 7e5, 0: 100.0}, ("s", "b"): {1: 3e5, 2: 4e5}, ("t", "c"): {1: 9e5}}


@pytest.mark.parametrize("sql", QUERIES)
def test_heavy_values_are_split(sql: str) -> None:
    draw = random.Random(sql)
    data = tables(draw)
    made = plan({"v": sql}, data, LARGE, 8, heavy=HEAVY)
    assert comparable(run(made, data, draw)["v"]) == expected(sql, data), made


def test_heavy_values_are_spread_on_the_larger_side() -> None:
    sql = "SELECT r.a, SUM(s.c) AS c FROM r JOIN s USING (b) GROUP BY r.a"
    data = tables(random.Random(8))
    made = plan({"v": sql}, data, LARGE, 8, heavy=HEAVY)
    (stage,) = made.grids
    spreads = {relation.name: relation.distribution for relation in stage.relations}
    assert spreads == {
        "r": (Along(8, ("b",), True, (1, 2)),),
        "s": (Along(8, ("b",), False, (1, 2)),),
    }
    assert "heavy values of b split: 1, 2" in explained(made, "v")
    told = explained(plan({"v": QUERIES[25]}, data, LARGE, 8, heavy=HEAVY), "v")
    assert "heavy values of b not split: they are compared" in told


@pytest.mark.parametrize("groups", [["r.a"], ["b"], []])
def test_cofactors_come_whole_or_in_parts(groups: list[str]) -> None:
    by = f" GROUP BY {groups[0]}" if groups else ""
    shown = "".join(f"{each} AS k, " for each in groups)
    sql = f"SELECT {shown}COFACTOR(a, c) AS f FROM r JOIN s USING (b){by}"
    draw = random.Random(10)
    data = tables(draw)
    data["r"] = data["r"].filter(pc.is_valid(data["r"]["a"]))
    data["s"] = data["s"].filter(pc.is_valid(data["s"]["c"]))
    made = plan({"v": sql}, data, LARGE, 8)
    assert all(to_spark(field.type) for field in made.grids[0].wanted[0].schema)
    found = run(made, data, draw)["v"].to_pylist()
    sums = f"{shown}COUNT(*) AS n, SUM(a) AS a, SUM(c) AS c"
    wanted = expected(f"SELECT {sums} FROM r JOIN s USING (b){by}", data)
    numbers = [
        (*list(row.values())[:-1], row["f"]["count"], *map(int, row["f"]["sums"])) for row in found
    ]
    assert plain_rows(numbers) == wanted


def test_multiplicities_meet_in_a_cell() -> None:
    """Rows with multiplicities are moved: inserts and deletes of a row must meet."""
    draw = random.Random(7)
    left = tables(draw)
    data = {}
    for name, table in left.items():
        often = [draw.choice([-1, 1, 2]) for _ in range(len(table))]
        changes = pa.concat_tables([table, table])
        counted = [*often, *(1 - number for number in often)]
        data[name] = changes.append_column("m", pa.array(counted, pa.int64()))
    for sql in (QUERIES[0], QUERIES[8], "SELECT COUNT(*) AS n, SUM(x) AS x FROM r"):
        for rows in (LARGE, {"r": 1e6, "s": 1e3, "t": 10.0}):
            made = plan({"v": sql}, data, rows, 8, multiplicity="m", small=("s", "t"))
            assert all(stage.in_place is None for stage in made.grids)
            assert comparable(run(made, data, draw)["v"]) == expected(sql, left)


@given(st.data())
@examples(200)
def test_two_rows_meet_in_one_cell_exactly(data: st.DataObject) -> None:
    """Along each dimension: both by a variable, or one of them anywhere, or with heavy values."""
    one, other = [], []
    for place in range(data.draw(st.integers(1, 3))):
        share, column = data.draw(st.integers(1, 4)), (f"v{place}",)
        heavy = tuple(data.draw(st.sets(st.integers(0, 3), max_size=2)))
        one_, other_ = data.draw(
            st.sampled_from(
                [
                    (Along(share, column), Along(share, column)),
                    (Along(share, column), Along(share)),
                    (Along(share, scattered=True), Along(share)),
                    (Along(share, column, True, heavy), Along(share, column, False, heavy)),
                ]
            )
        )
        one.append(one_)
        other.append(other_)
    row = {f"v{place}": data.draw(st.integers(0, 3)) for place in range(3)}
    hashes = data.draw(st.integers(0, 1000))

    def hashed(values: tuple[object, ...]) -> int:
        return hash((values, hashes))

    left = cells(tuple(one), {**row, "own": 1}, hashed)
    right = cells(tuple(other), {**row, "own": 2}, hashed)
    assert len({*left} & {*right}) == 1
    assert len(left) == len({*left})
    if not any(along.heavy for along in one):
        assert len(left) == copies(tuple(one))


NUMBERS = {"r": ["a", "b", "x"], "s": ["b", "c"], "t": ["c", "a"]}
COLUMNS = {name: schema.names for name, schema in SCHEMAS.items()}
AGGREGATES = ["SUM({n})", "MIN({c})", "MAX({c})", "COUNT({c})", "COUNT(DISTINCT {c})", "AVG({n})"]


def query(draw: random.Random) -> str:
    """A join of up to three tables, some twice, on anything or nothing, with groups and filters."""
    atoms = [draw.choice("rst") for _ in range(draw.choice([1, 2, 2, 3, 3]))]

    def one(of: dict[str, list[str]], among: int = len(atoms)) -> str:
        place = draw.randrange(among)
        return f"q{place}.{draw.choice(of[atoms[place]])}"

    conditions = [
        f"q{place}.{draw.choice(NUMBERS[table])} = {one(NUMBERS, place)}"
        for place, table in enumerate(atoms)
        if place
        for _ in range(draw.choice([0, 1, 1, 1, 2]))
    ]
    conditions += [f"{one(NUMBERS)} > {draw.randrange(3)}" for _ in range(draw.choice([0, 0, 1]))]
    groups = list(dict.fromkeys(one(COLUMNS) for _ in range(draw.choice([0, 1, 1, 2]))))
    asked = draw.sample(AGGREGATES, draw.choice([0, 1, 2]))
    values = [each.format(n=one(NUMBERS), c=one(COLUMNS)) for each in asked]
    shown = [f"{each} AS c{place}" for place, each in enumerate([*groups, *values, "COUNT(*)"])]
    tables = ", ".join(f"{table} q{place}" for place, table in enumerate(atoms))
    sql = f"SELECT {', '.join(shown)} FROM {tables}"
    if conditions:
        sql += f" WHERE {' AND '.join(conditions)}"
    if groups:
        sql += f" GROUP BY {', '.join(groups)}"
        sql += draw.choice(["", "", " HAVING COUNT(*) > 1"])
    if draw.random() < 0.2:
        count = f"c{len(shown) - 1}"
        return f"SELECT {count}, COUNT(*) AS n FROM ({sql}) AS below GROUP BY {count}"
    return sql


def check_random(seed: int) -> None:
    draw = random.Random(seed)
    data = tables(draw, rows=20)
    sql = query(draw)
    rows = {name: 10.0 ** draw.randrange(1, 8) for name in SCHEMAS}
    keys: Heavy = {(name, column): {1: 1e8} for name in SCHEMAS for column in NUMBERS[name]}
    made = plan(
        {"v": sql},
        data,
        draw.choice([None, rows, rows, rows]),
        draw.choice([1, 3, 8, 12]),
        small=draw.sample("rst", draw.randrange(4)),
        heavy=draw.choice([{}, keys]),
    )
    assert comparable(run(made, data, draw)["v"]) == expected(sql, data), (sql, made)


@pytest.mark.parametrize("block", range(4))
def test_random_queries_equal_duckdb(block: int) -> None:
    for seed in range(20):
        check_random(20 * block + seed)


@pytest.mark.long
def test_many_random_queries_equal_duckdb() -> None:
    for seed in range(1_000, 6_000):
        check_random(seed)
