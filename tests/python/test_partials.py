"""Partials: views over parts of the rows, merged in any order, equal the view over all of them."""

from __future__ import annotations

import random
from typing import Any

import nested
import numpy as np
import pyarrow as pa
import pytest
import queries
import ringview as rv
from amounts import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from queries import FROMS, SCHEMAS, contents
from ringview import errors
from test_aggregates import views as aggregates

ROWS = dict[str, list[dict[str, Any]]]

# Queries that read each table once: then splitting one of them splits the rows of the join.
SINGLE = [source.text for source in FROMS if len({*source.aliases.values()}) == len(source.aliases)]
LISTED = [
    "SELECT * FROM r",
    "SELECT r.a, name, price FROM r JOIN s USING (b)",
    "SELECT DISTINCT r.a, s.day FROM r JOIN s USING (b)",
    "SELECT a, b, c FROM r NATURAL JOIN s NATURAL JOIN t",
    "SELECT r.b, t.w, ok FROM r CROSS JOIN t",
]


def database(
    sql: str, rows: ROWS, schemas: dict[str, pa.Schema] = SCHEMAS, **how: Any
) -> rv.Database:
    db = rv.Database()
    for name, schema in schemas.items():
        db.create_table(name, schema)
    for name, found in rows.items():
        db.insert(name, pa.Table.from_pylist(found, schema=schemas[name]))
    db.create_view("v", sql, **how)
    return db


def exact(table: pa.Table) -> list[str]:
    """Rows in any order, floats to the last bit."""
    return sorted(map(repr, table.to_pylist()))


@st.composite
def splits(draw: st.DrawFn, tables: list[str], rows: ROWS) -> list[ROWS]:
    """The rows of one table dealt to parts, those of all others in each."""
    split = draw(st.sampled_from(tables))
    parts: list[ROWS] = [{**rows, split: []} for _ in range(draw(st.integers(1, 8)))]
    for row in rows[split]:
        parts[draw(st.integers(0, len(parts) - 1))][split].append(row)
    return parts


def merged(sql: str, parts: list[ROWS], order: random.Random, **how: Any) -> rv.View:
    """Their sum: some by themselves into two views that are merged, in random order."""
    partials = [database(sql, rows, **how)["v"].partial() for rows in parts]
    order.shuffle(partials)
    halves = [database(sql, {}, **how)["v"] for _ in range(2)]
    for at, partial in enumerate(partials):
        halves[at % 2].merge(partial)
    whole = database(sql, {}, **how)["v"]
    for half in halves:
        whole.merge(half.partial())
    return whole


def tables_of(sql: str) -> list[str]:
    text = sql.replace(",", " ").replace("(", " ").replace(")", " ").split()
    return [name for name in SCHEMAS if name in text]


def check(data: st.DataObject, sql: str, rows: ROWS) -> None:
    parts = data.draw(splits(tables_of(sql), rows))
    order = data.draw(st.randoms(use_true_random=False))
    whole = database(sql, rows)["v"]
    assert exact(merged(sql, parts, order).to_arrow()) == exact(whole.to_arrow())


def reads_once(sql: str) -> bool:
    return any(f"FROM {text}" in sql for text in SINGLE) and not any(
        f"FROM {text}" in sql for text in ("r p", "r q")
    )


@examples(70)
@given(st.data(), queries.queries().filter(reads_once), contents())
def test_sums_of_random_parts(data: st.DataObject, sql: str, rows: ROWS) -> None:
    check(data, sql, rows)


@examples(90)
@given(st.data(), aggregates().filter(reads_once), contents())
def test_aggregates_of_random_parts(data: st.DataObject, sql: str, rows: ROWS) -> None:
    """MIN, MAX, COUNT(DISTINCT), statistics, expressions and HAVING."""
    check(data, sql, rows)


@examples(40)
@given(st.data(), st.sampled_from(LISTED), contents())
def test_rows_of_random_parts(data: st.DataObject, sql: str, rows: ROWS) -> None:
    check(data, sql, rows)


@examples(20)
@given(st.data(), st.sampled_from(LISTED[1:3]), contents())
def test_listings_of_random_parts(data: st.DataObject, sql: str, rows: ROWS) -> None:
    assume("DISTINCT" not in sql)
    parts = data.draw(splits(tables_of(sql), rows))
    whole = database(sql, rows, representation="listing")["v"]
    found = merged(sql, parts, random.Random(1), representation="listing")
    assert exact(found.to_arrow()) == exact(whole.to_arrow())


EDGES = {name: pa.schema({"a": pa.int64(), "b": pa.int64()}) for name in ("e", "f", "g")}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n, SUM(e.a * g.b) AS s FROM e, f, g"
        " WHERE e.b = f.a AND f.b = g.a AND g.b = e.a",
        "SELECT e.a AS x, f.a AS y, g.a AS z FROM e, f, g"
        " WHERE e.b = f.a AND f.b = g.a AND g.b = e.a",
    ],
)
def test_heavy_and_light_parts(sql: str) -> None:
    """Of the engine epsilon; a view tree merges its partials, and it those of a view tree."""
    order = random.Random(5)
    rows: ROWS = {
        name: [{"a": order.randrange(6), "b": order.randrange(6)} for _ in range(40)]
        for name in EDGES
    }
    parts: list[ROWS] = [{**rows, "f": rows["f"][start::3]} for start in range(3)]
    expected = exact(database(sql, rows, EDGES)["v"].to_arrow())
    for engines in (["epsilon"] * 3, ["epsilon", "viewtree", "epsilon"]):
        both = zip(parts, engines, strict=True)
        partials = [database(sql, p, EDGES, engine=engine)["v"].partial() for p, engine in both]
        for engine in ("epsilon", "viewtree"):
            whole = database(sql, {}, EDGES, engine=engine)["v"]
            for partial in partials:
                whole.merge(partial)
            assert exact(whole.to_arrow()) == expected


@examples(40)
@given(st.data())
def test_floats_are_equal_to_the_last_bit(data: st.DataObject) -> None:
    """If three doubles hold the sum, the order of parts makes no difference."""
    numbers = st.sampled_from([0.1, -0.3, 1e16, -1e16, 1 / 3, 1e-5, 2.5e7, -1e10, 7.7])
    row = st.fixed_dictionaries({"g": st.integers(0, 2), "x": numbers, "y": numbers})
    schema = {"r": pa.schema({"g": pa.int64(), "x": pa.float64(), "y": pa.float64()})}
    sql = (
        "SELECT g, SUM(x) AS s, AVG(x * y) AS m, VAR_POP(x) AS v, CORR(x, y) AS c FROM r GROUP BY g"
    )
    rows = {"r": data.draw(st.lists(row, max_size=20))}
    parts = data.draw(splits(["r"], rows))
    order = data.draw(st.randoms(use_true_random=False))
    expected = exact(database(sql, rows, schema)["v"].to_arrow())
    assert exact(merged(sql, parts, order, schemas=schema).to_arrow()) == expected


COFACTOR = {
    "r": pa.schema({"g": pa.int64(), "k": pa.int64(), "x": pa.float64(), "c": pa.string()}),
    "s": pa.schema(
        [pa.field("k", pa.int64()), pa.field("y", pa.int64()), pa.field("d", pa.int64())]
    ),
}


@pytest.mark.parametrize("features", ["x, y", "x, y, c", "x, c, d, y"])
@pytest.mark.parametrize("key", ["", "g"])
@pytest.mark.parametrize("far", [0.0, 1e9])
def test_cofactors_with_different_origins(features: str, key: str, far: float) -> None:
    """Each part is counted from an origin of its own; beside sums the payload is another tree."""
    order = random.Random(f"{features} {key} {far}")
    rows: ROWS = {
        "r": [
            {
                "g": order.randrange(3),
                "k": order.randrange(4),
                "x": far * order.randrange(1, 4) + order.randrange(-8, 9) / 4,
                "c": order.choice("abc"),
            }
            for _ in range(60)
        ],
        "s": [{"k": k, "y": int(far) + k * k, "d": k % 2} for k in (0, 1, 2, 3, 3)],
    }
    parts: list[ROWS] = [{**rows, "r": []} for _ in range(4)]
    for row in sorted(rows["r"], key=lambda row: row["x"]):
        parts[min(int(row["x"] / far) if far else order.randrange(4), 3)]["r"].append(row)
    for beside in ("", ", SUM(x) AS s, MAX(c) AS m"):
        tail = " GROUP BY g" if key else ""
        head = "g, " if key else ""
        sql = f"SELECT {head}COFACTOR({features}){beside} FROM r JOIN s USING (k){tail}"
        whole = database(sql, rows, COFACTOR)["v"]
        found = merged(sql, parts, order, schemas=COFACTOR)
        assert found.schema.equals(whole.schema, check_metadata=True)
        pairs = zip(
            sorted(found.cofactors() if key else [((), found.cofactor())], key=lambda at: at[0]),
            sorted(whole.cofactors() if key else [((), whole.cofactor())], key=lambda at: at[0]),
            strict=True,
        )
        for (group, one), (same, other) in pairs:
            assert (group, one.names, one.count) == (same, other.names, other.count)
            np.testing.assert_allclose(one.sums, other.sums, rtol=1e-14)
            np.testing.assert_allclose(one.covariance(), other.covariance(), rtol=1e-9, atol=1e-6)
            for name in one.categories:
                assert one.categories[name] == other.categories[name]
                np.testing.assert_array_equal(
                    one.category_counts[name], other.category_counts[name]
                )
                np.testing.assert_allclose(
                    one.category_sums[name], other.category_sums[name], rtol=1e-14
                )


def test_cofactors_of_whole_numbers_are_equal() -> None:
    schema = {"r": pa.schema({"x": pa.int64(), "y": pa.int64()})}
    order = random.Random(3)
    rows: ROWS = {"r": [{"x": order.randrange(10**5), "y": order.randrange(99)} for _ in range(90)]}
    parts: list[ROWS] = [{"r": rows["r"][start::4]} for start in range(4)]
    sql = "SELECT COFACTOR(x, y) FROM r"
    one = merged(sql, parts, order, schemas=schema).cofactor()
    other = database(sql, rows, schema)["v"].cofactor()
    np.testing.assert_array_equal(one.matrix, other.matrix)
    np.testing.assert_array_equal(one.sums, other.sums)


@examples(40)
@given(st.data(), nested.contents(), st.sampled_from(["b", "y"]))
def test_whole_groups_of_nested_queries(data: st.DataObject, rows: ROWS, key: str) -> None:
    """Parts by the column that groups and correlates: whole groups see all that they look at."""
    sql = (
        f"SELECT o.{key} AS g, SUM(o.f) AS s, COUNT(*) AS n FROM s o"
        f" WHERE 0.5 * (SELECT SUM(i.f) FROM s i WHERE i.{key} = o.{key})"
        f" < (SELECT SUM(i.f) FROM s i WHERE i.{key} = o.{key} AND i.f <= o.f) GROUP BY o.{key}"
    )
    place = {value: data.draw(st.integers(0, 3)) for value in (None, *range(-2, 4))}
    parts: list[ROWS] = [{"s": []} for _ in range(4)]
    for row in rows["s"]:
        parts[place[row[key]]]["s"].append(row)
    expected = database(sql, rows, nested.SCHEMAS)["v"]
    found = merged(sql, parts, random.Random(1), schemas=nested.SCHEMAS)
    assert exact(found.to_arrow()) == exact(expected.to_arrow())


def test_a_group_of_a_nested_query_in_two_parts_is_refused() -> None:
    sql = "SELECT SUM(o.y) AS s FROM s o WHERE o.y >= (SELECT AVG(i.y) FROM s i)"
    rows: ROWS = {"s": [{"b": 1, "y": 2, "f": None}]}
    whole = database(sql, rows, nested.SCHEMAS)["v"]
    with pytest.raises(errors.UnsupportedError, match="no sum of what its parts"):
        whole.merge(database(sql, rows, nested.SCHEMAS)["v"].partial())
    assert whole.scalar() == 2
    # Nothing is a part of any whole.
    whole.merge(database(sql, {}, nested.SCHEMAS)["v"].partial())
    assert whole.scalar() == 2
