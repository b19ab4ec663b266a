"""The engine epsilon: sums and rows of joins no view tree keeps in constant time, as in DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from cyclic_tables import (
    CYCLE,
    EPSILONS,
    ORACLE,
    RST,
    SCHEMAS,
    Rows,
    change,
    database,
    one_row,
    tables_of,
)
from durable_twin import durable_twin
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparable
from ringview import errors

QUERIES = {
    "a cycle": f"SELECT COUNT(*) AS n {CYCLE}",
    "a cycle the other way": "SELECT COUNT(*) AS n FROM e p JOIN e q ON p.src = q.dst "
    "JOIN e r ON q.src = r.dst AND r.src = p.dst",
    "a cycle, filtered alike": f"SELECT COUNT(*) AS n {CYCLE} "
    "WHERE p.w > 0 AND q.w > 0 AND r.w > 0",
    "a cycle, filtered at one place": f"SELECT COUNT(*) AS n {CYCLE} WHERE p.w > 0",
    "triangles without a direction": "SELECT COUNT(*) AS n FROM e p JOIN e q ON p.dst = q.src "
    "JOIN e r ON r.src = p.src AND r.dst = q.dst",
    "a cycle with weights": "SELECT SUM(p.w * q.w * r.w) AS w, AVG(p.w) AS m, COUNT(*) AS n "
    f"{CYCLE}",
    "three tables": f"SELECT COUNT(*) AS n {RST}",
    "sums": f"SELECT SUM(x * z) AS xz, SUM(2 * y) AS y, SUM(d * z) AS d, COUNT(x) AS k, "
    f"SUM(x) + COUNT(*) AS more {RST}",
    "doubles": f"SELECT SUM(y) AS y, SUM(x * y) AS xy, AVG(y * y) AS q {RST}",
    "HAVING": f"SELECT SUM(x) AS x {RST} HAVING COUNT(*) > 3",
    "a path": "SELECT COUNT(*) AS n, SUM(x * z) AS xz FROM r JOIN s ON r.b = s.b "
    "JOIN t ON r.a = t.a",
    "four relations without a column each": "SELECT COUNT(*) AS n, SUM(p.w) AS w FROM e p "
    "JOIN e q ON p.dst = q.src AND p.w = q.dst "
    "JOIN e s ON q.dst = s.src AND q.w = s.dst AND s.w = p.src "
    "JOIN e u ON u.src = s.dst AND u.dst = p.src AND u.w = p.dst",
    "four in a row": "SELECT COUNT(*) AS n, SUM(o.w * u.w) AS w FROM e o JOIN e p ON o.dst = p.src "
    "JOIN e q ON p.dst = q.src JOIN e u ON q.dst = u.src",
    "tuples": "SELECT COUNT(*) AS n, SUM(p.w) AS w FROM e p JOIN e q ON p.dst = q.src "
    "AND p.w = q.w JOIN e r ON q.dst = r.src AND r.dst = p.src AND r.w = p.w",
}
ROWS = {
    "three tables": f"SELECT r.a, s.b, t.c {RST}",
    "in another order, one column left out": f"SELECT t.c, r.a {RST}",
    "a column twice, and under a filter": f"SELECT s.b, r.a, s.b AS again, t.c {RST} AND x > 0",
    "a cycle": f"SELECT p.src, q.src AS mid, r.src AS last {CYCLE}",
    "tuples": "SELECT p.src, q.src AS mid, r.src AS last, p.w FROM e p JOIN e q ON p.dst = q.src "
    "AND p.w = q.w JOIN e r ON q.dst = r.src AND r.dst = p.src AND r.w = p.w",
}
TUPLES = (
    "FROM e p JOIN e q ON p.dst = q.src AND p.w = q.w "
    "JOIN e r ON q.dst = r.src AND r.dst = p.src AND r.w = p.w"
)
QUERIES |= {
    "groups": f"SELECT p.w, COUNT(*) AS n, SUM(q.src) AS x {TUPLES} GROUP BY p.w",
    "groups with HAVING": f"SELECT p.w AS day, COUNT(*) AS n {TUPLES} GROUP BY p.w "
    "HAVING COUNT(*) > 2",
}


@examples(60)
@given(
    st.sampled_from(sorted(QUERIES)),
    st.sampled_from(EPSILONS),
    st.integers(0, 2**32),
    st.sampled_from([3, 6]),
)
def test_it_shows_what_duckdb_shows_after_every_batch(
    name: str, epsilon: Any, seed: int, wide: int
) -> None:
    dice, sql, db = random.Random(seed), QUERIES[name], rv.Database()
    tables = {table: [one_row(table, dice, wide) for _ in range(4)] for table in SCHEMAS}
    before = {table: list(rows) for table, rows in tables.items()}

    def define(db: rv.Database) -> rv.View:
        tables_of(db)
        for table, rows in before.items():
            db.insert(table, rows)
        return db.create_view("v", sql, engine="epsilon", epsilon=by_alias(epsilon, sql))

    view = define(db)
    above = db.create_view("above", f"SELECT COUNT(*) AS rows, MAX({first(view)}) AS one FROM v")
    followed: list[tuple[Any, ...]] = []
    with durable_twin(define) as file:
        for _ in range(8):
            change([db, file.next()], tables, dice, wide=wide, most=9)
            expected = ORACLE.rows(sql, tables)
            assert comparable(view.to_arrow()) == expected
            assert comparable(file.db["v"].to_arrow()) == expected
            assert len(view) == len(expected)
            followed = moved(followed, view.changes())
            assert sorted(followed, key=repr) == expected
            assert comparable(above.to_arrow())[0][0] == len(expected)


@pytest.mark.parametrize("engine", ["epsilon", "viewtree"])
@pytest.mark.parametrize("kind", ["int64", "float64", "decimal128(9, 2)"])
@pytest.mark.parametrize("comes_first", [True, False])
def test_a_row_that_takes_the_place_of_another_moves_what_is_summed(
    engine: str, kind: str, comes_first: bool
) -> None:
    """The count of the two is 0, so the sum of a kind moves alone."""

    def row(number: int) -> dict[str, Any]:
        value = {"int64": number, "float64": number / 4}.get(kind, Decimal(number))
        return {"b": 1, "c": 1, "y": value}

    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64", "y": kind})
    db.create_table("t", {"c": "int64", "a": "int64"})
    db.insert("r", [{"a": 1, "b": 1}])
    db.insert("s", [row(6)])
    db.insert("t", [{"c": 1, "a": 1}])
    view = db.create_view("v", f"SELECT SUM(y) AS y, COUNT(*) AS n {RST}", engine=engine)
    now = 6
    for new in [0, -2, 3, 0, 5]:
        with db.transaction() as tx:
            changes = [(tx.insert, new), (tx.delete, now)]
            for change_of, number in changes if comes_first else reversed(changes):
                change_of("s", [row(number)])
        assert view.to_arrow().to_pylist() == [{"y": row(new)["y"], "n": 1}]
        now = new


@examples(20)
@given(st.integers(0, 2**32))
def test_upserts_move_sums_of_doubles(seed: int) -> None:
    dice, db = random.Random(seed), rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"id": "int64", "b": "int64", "c": "int64", "y": "float64"}, unique=["id"])
    db.create_table("t", {"c": "int64", "a": "int64"})
    sql = f"SELECT SUM(y) AS y, AVG(y) AS m, COUNT(*) AS n {RST}"
    view, tree = (db.create_view(name, sql, engine=name) for name in ("epsilon", "viewtree"))
    db.insert("r", [{"a": a, "b": dice.randrange(2)} for a in (0, 1, 1)])
    db.insert("t", [{"c": c, "a": dice.randrange(2)} for c in (0, 1, 1)])
    for _ in range(10):
        ids = dice.sample(range(8), dice.randrange(1, 7))
        rows = [{name: dice.randrange(2) for name in "bc"} for _ in ids]
        values = [dice.choice([0.0, 1.5, -2.25]) for _ in ids]
        db.upsert(
            "s", [{"id": i, **row, "y": y} for i, row, y in zip(ids, rows, values, strict=True)]
        )
        assert comparable(view.to_arrow()) == comparable(tree.to_arrow())


def by_alias(epsilon: Any, sql: str) -> Any:
    """One for each of the first three relations, where there are several."""
    if not isinstance(epsilon, tuple):
        return epsilon
    first = next(
        (names for names in ("opq", "pqs", "pqr") if all(f"e {n} " in sql for n in names)), "rst"
    )
    return dict(zip(first, epsilon, strict=True))


@examples(50)
@given(
    st.sampled_from(sorted(ROWS)),
    st.sampled_from(EPSILONS),
    st.integers(0, 2**32),
    st.sampled_from([3, 6]),
)
def test_rows_of_triangles_are_those_of_duckdb_after_every_batch(
    name: str, epsilon: Any, seed: int, wide: int
) -> None:
    dice, sql, db = random.Random(seed), ROWS[name], rv.Database()
    tables: dict[str, Rows] = {table: [] for table in SCHEMAS}

    def define(db: rv.Database) -> rv.View:
        of = by_alias(epsilon, sql)
        return tables_of(db).create_view("v", sql, engine="epsilon", epsilon=of)

    view = define(db)
    column = view.schema.names[-1]
    over = f"SELECT {column}, COUNT(*) AS n FROM v GROUP BY {column}"
    db.create_view("above", over)
    followed: Counter[tuple[Any, ...]] = Counter()
    with durable_twin(define) as file:
        for step in range(8):
            change([db, file.next()], tables, dice, wide=wide, most=12)
            expected = ORACLE.rows(sql, tables)
            assert comparable(view.to_arrow()) == expected
            assert comparable(file.db["v"].to_arrow()) == expected
            assert len(view) == len(expected)
            assert comparable(view.to_reader().read_all()) == expected
            middle = len(expected) // 2
            parts = [view[:middle], view[middle:]]
            assert comparable(pa.concat_tables(parts)) == expected
            if step % 3 != 1:
                for row in view.changes().to_pylist():
                    times = row.pop("multiplicity")
                    assert times != 0
                    followed[tuple(row.values())] += times
                found = [row for row, times in followed.items() for _ in range(times)]
                every = [tuple(row.values()) for row in view.to_arrow().to_pylist()]
                assert Counter(found) == Counter(every)
            groups = Counter(row[column] for row in view.to_arrow().to_pylist())
            shown = {row[column]: row["n"] for row in db["above"].to_arrow().to_pylist()}
            assert shown == dict(groups)


def test_a_stream_of_rows_ends_with_a_change_and_comes_in_batches() -> None:
    db = database()
    view = db.create_view("v", ROWS["a cycle"], engine="epsilon")
    edges = [{"src": a, "dst": b, "w": 1} for a in range(45) for b in range(45)]
    db.insert("e", edges)
    batches = list(view.to_reader())
    assert sum(batch.num_rows for batch in batches) == len(view) == 45**3
    assert max(batch.num_rows for batch in batches) <= 1 << 16
    reader = view.to_reader()
    assert reader.read_next_batch().num_rows > 0
    db.delete("e", edges[:1])
    with pytest.raises(rv.errors.ViewChangedError):
        reader.read_all()
    assert len(view) == 45**3 - 3 * 45 + 2
    assert "rows kept factorised" in str(view.explain())
    assert "each is read with constant delay" in str(view.explain())


def first(view: rv.View) -> str:
    return str(view.schema.names[0])


def moved(rows: list[tuple[Any, ...]], changes: pa.Table) -> list[tuple[Any, ...]]:
    """Rows with what moved in them."""
    rows = list(rows)
    for sign in (-1, 1):
        mask = [times == sign for times in changes.column(-1).to_pylist()]
        part = comparable(changes.filter(pa.array(mask, pa.bool_())).drop_columns(["multiplicity"]))
        for row in part:
            if sign < 0:
                rows.remove(row)
            else:
                rows.append(row)
    return rows


def test_what_fails_leaves_the_view_as_it_was() -> None:
    db = database()
    view = db.create_view("v", QUERIES["a cycle"], engine="epsilon")
    edges = [{"src": a, "dst": b, "w": 1} for a in range(6) for b in range(6)]
    db.insert("e", edges)
    assert view.scalar() == 6**3
    with pytest.raises(rv.errors.RingviewError, match="cannot be deleted"), db.transaction() as tx:
        tx.insert("e", [{"src": 7, "dst": vertex, "w": 1} for vertex in range(9)])
        tx.delete("e", [{"src": 99, "dst": 99, "w": 1}])
    assert view.scalar() == 6**3
    db.delete("e", edges)
    assert view.scalar() == 0


def test_an_overflow_in_the_middle_of_a_rebalancing_leaves_all_as_it_was() -> None:
    db = rv.Database()
    for name, columns in {"r": "abx", "s": "bcy", "t": "caz"}.items():
        db.create_table(name, dict.fromkeys(columns, "int64"))
    sql = (
        "SELECT SUM(r.x * s.y * t.z) AS xyz, COUNT(*) AS n FROM r JOIN s ON r.b = s.b "
        "JOIN t ON s.c = t.c AND t.a = r.a"
    )
    view = db.create_view("v", sql, engine="epsilon")
    db.insert("r", [{"a": 9, "b": 9, "x": 2}])
    db.insert("s", [{"b": 9, "c": 99, "y": 3}])
    db.insert("t", [{"c": 99, "a": 9, "z": 5}])
    for c in range(40):
        db.insert("s", [{"b": 0, "c": c, "y": 1 << 62}])
    # A vertex becomes heavy, and what is summed between it and the other is beyond 2^127.
    taken = 0
    with pytest.raises(errors.ArithmeticOverflowError, match="nothing of this transaction"):
        for c in range(40):
            db.insert("t", [{"c": c, "a": 0, "z": 1 << 62}])
            taken += 1
    assert 0 < taken < 40
    assert view.to_arrow().to_pylist() == [{"xyz": 30, "n": 1}]
    assert len(db.tables["t"]) == taken + 1
    # The view works on, and the rows that were too large are deleted.
    db.delete("t", [{"c": c, "a": 0, "z": 1 << 62} for c in range(taken)])
    for c in range(40):
        db.insert("t", [{"c": c, "a": 0, "z": 1}])
    db.insert("r", [{"a": 0, "b": 0, "x": 1}])
    assert view.to_arrow().to_pylist() == [{"xyz": 30 + 40 * (1 << 62), "n": 41}]
    assert "values moved between" in str(view.explain())


@examples(25)
@given(st.integers(0, 2**32), st.sampled_from(EPSILONS[:7]), st.sampled_from([0.0, 1e9]))
def test_cofactors_over_a_triangle_are_those_of_its_rows(
    seed: int, epsilon: float | None, far: float
) -> None:
    dice, db = random.Random(seed), rv.Database()
    tables: dict[str, Rows] = {table: [] for table in SCHEMAS}
    sql = f"SELECT COFACTOR(x, y, z, d) AS m {RST}"

    def define(db: rv.Database) -> rv.View:
        return tables_of(db).create_view("v", sql, engine="epsilon", epsilon=epsilon)

    define(db)
    with durable_twin(define) as file:
        for _ in range(6):
            for table in "rst":
                if tables[table] and dice.random() < 0.4:
                    gone = tables[table].pop(dice.randrange(len(tables[table])))
                    for each in (db, file.db):
                        each.delete(table, [gone])
                rows = [one_row(table, dice, 3) for _ in range(dice.randrange(1, 6))]
                for row in rows:
                    row.update(
                        {name: 1 for name in ("x", "z") if name in row and row[name] is None}
                    )
                    row.update({name: Decimal("1.5") for name in ("d",) if name in row})
                    if "y" in row:
                        row["y"] = far + (row["y"] or 0.25)
                for each in (db, file.next()):
                    each.insert(table, rows)
                tables[table] += rows
            # Not by what DuckDB sums, which has no digits left far from zero.
            joined = ORACLE.rows(
                f"SELECT x, y - {far} AS y, z, CAST(d AS DOUBLE) AS d {RST}", tables
            )
            matrix = np.array(joined, dtype=float).reshape(-1, 4)
            for each in (db, file.db):
                found = each["v"].cofactor()
                assert found.count == len(matrix)
                np.testing.assert_allclose(
                    found.sums - found.count * np.array([0, far, 0, 0]), matrix.sum(0)
                )
                if len(matrix) > 1:
                    expected = np.cov(matrix.T)
                    np.testing.assert_allclose(found.covariance(), expected, rtol=1e-9, atol=1e-12)


def test_a_feature_that_is_null_is_refused() -> None:
    db = database()
    view = db.create_view("v", f"SELECT COFACTOR(x, y) AS m {RST}", engine="epsilon")
    with pytest.raises(errors.InvalidValueError, match="x"):
        db.insert("r", [{"a": 1, "b": "n", "x": None, "d": None}])
    assert view.cofactor().count == 0


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "SELECT COUNT(*) AS n FROM r JOIN s ON r.b = s.b",
            "three relations or more, .* here are 2",
        ),
        (
            f"SELECT r.a, s.b, t.c, COUNT(*) AS n {RST} GROUP BY r.a, s.b, t.c",
            "GROUP BY .* no relation has all of",
        ),
        (f"SELECT x, COUNT(*) AS n {RST} GROUP BY x", "GROUP BY .* in one relation alone"),
        (f"SELECT MAX(x) AS x {RST}", "MIN, MAX"),
        ("SELECT r.a, s.c, t.z FROM r JOIN s ON r.b = s.b JOIN t ON s.c = t.c", "of one relation"),
        (
            "SELECT r.a, r.b FROM r JOIN s ON r.b = s.b JOIN t ON r.a = t.a",
            "rows of this join .*3R2",
        ),
        (f"SELECT DISTINCT r.a, s.b, t.c {RST}", "DISTINCT"),
        (
            "SELECT COUNT(*) AS n FROM e p JOIN e q ON p.dst = q.src JOIN e s ON q.dst = s.src "
            "JOIN e u ON s.dst = u.src AND u.dst = p.src",
            "is in 2 of 4 relations",
        ),
        (f"SELECT COFACTOR(x, r.b) AS m {RST}", "COFACTOR of strings"),
        (
            "SELECT COUNT(*) AS n FROM t p JOIN t q ON p.a = q.a JOIN t r ON r.a = p.a",
            "hierarchical.*view tree",
        ),
    ],
)
def test_other_queries_are_refused_with_the_condition_that_fails(sql: str, reason: str) -> None:
    db = database()
    with pytest.raises(rv.errors.UnsupportedError, match=reason):
        db.create_view("v", sql, engine="epsilon")
    # The advice of the message: a view tree keeps it.
    db.create_view("v", sql)


def test_explain_tells_class_bounds_and_parts() -> None:
    db = database()
    view = db.create_view("v", QUERIES["three tables"], engine="epsilon")
    hub = [{"a": 1, "b": "b", "x": 1, "d": None}]
    db.insert("r", hub)
    db.insert("t", [{"c": c, "a": 1, "z": 1} for c in range(40)])
    text = str(view.explain())
    assert "engine: epsilon; asked for by name; the join is of the class 3R3" in text
    assert "O(N^0.5) amortised" in text
    assert "41 tuples with N = " in text
    assert "rebalanced" in text
    assert "not taken: viewtree" in text
    # It is used by its name alone, and mentioned wherever it could be used.
    tree = db.create_view("w", QUERIES["three tables"])
    assert "engine: viewtree" in str(tree.explain())
    assert "not taken: epsilon" in str(tree.explain())
    groups = db.create_view("g", f"SELECT r.a, COUNT(*) AS n {RST} GROUP BY r.a")
    assert "engine: viewtree" in str(groups.explain())
    assert "taken by name alone" in str(groups.explain())
