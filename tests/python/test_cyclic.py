"""Cyclic queries: triangles, squares with and without a chord, bow-ties and cliques, in every ring.

Self-joins of one table of edges, as a user writes them, against DuckDB after every batch, and the
count of triangles of a random graph with hubs against a count by sets.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import some
from durable_twin import durable_twin
from oracle import Oracle, comparable

SCHEMA = pa.schema({"src": pa.int32(), "dst": pa.int32(), "w": pa.int64()})
ORACLE = Oracle({"edge": SCHEMA})
TRIANGLE = """
    FROM edge r JOIN edge s ON r.dst = s.src JOIN edge t ON s.dst = t.src AND t.dst = r.src
"""
SQUARE = """
    FROM edge r JOIN edge s ON r.dst = s.src JOIN edge t ON s.dst = t.src
    JOIN edge u ON t.dst = u.src AND u.dst = r.src
"""
CHORD = """
    FROM edge r JOIN edge s ON r.dst = s.src JOIN edge t ON s.dst = t.src
    JOIN edge u ON t.dst = u.src AND u.dst = r.src JOIN edge e ON e.src = r.src AND e.dst = s.dst
"""
BOW_TIE = f"""
    {TRIANGLE} JOIN edge u ON u.src = r.src JOIN edge v ON u.dst = v.src
    JOIN edge x ON v.dst = x.src AND x.dst = r.src
"""
CLIQUE = """
    FROM edge p JOIN edge q ON p.src = q.src JOIN edge r ON r.src = p.src
    JOIN edge s ON s.src = p.dst AND s.dst = q.dst JOIN edge t ON t.src = p.dst AND t.dst = r.dst
    JOIN edge u ON u.src = q.dst AND u.dst = r.dst
"""
QUERIES = {
    "count": f"SELECT COUNT(*) AS n {TRIANGLE}",
    "sums": f"SELECT COUNT(*) AS n, SUM(r.w * s.w * t.w) AS x, AVG(r.w) AS y {TRIANGLE}",
    "groups": f"SELECT r.src, COUNT(*) AS n, SUM(s.w) AS x {TRIANGLE} GROUP BY r.src",
    "listing": f"SELECT r.src, s.src AS b, t.src AS c, COUNT(*) AS n {TRIANGLE}"
    " GROUP BY r.src, s.src, t.src",
    "extremes": f"SELECT r.src, MIN(r.w) AS least, MAX(t.w) AS most {TRIANGLE} GROUP BY r.src",
    "having": f"SELECT r.src, COUNT(*) AS n {TRIANGLE} GROUP BY r.src HAVING COUNT(*) > 2",
    "filtered": f"SELECT COUNT(*) AS n {TRIANGLE} WHERE r.w > 0 AND s.w IS NOT NULL",
    "square": f"SELECT s.src, COUNT(*) AS n, MAX(u.w) AS most {SQUARE} GROUP BY s.src",
    "chord": f"SELECT COUNT(*) AS n, SUM(e.w) AS x {CHORD}",
    "bow-tie": f"SELECT COUNT(*) AS n, SUM(v.w) AS x {BOW_TIE}",
    "clique": f"SELECT COUNT(*) AS n, SUM(u.w) AS x {CLIQUE}",
}
Row = dict[str, Any]


def edges(dice: random.Random, nodes: int, number: int) -> list[Row]:
    """Edges that are repeated, with hubs, loops and NULLs."""

    def node() -> int | None:
        return None if dice.random() < 0.03 else int(nodes * dice.random() ** 2)

    weights = [None, -1, 0, 2, 3]
    return [{"src": node(), "dst": node(), "w": dice.choice(weights)} for _ in range(number)]


ROWS = {
    "triangles": f"SELECT r.src, s.src AS b, t.src AS c, r.w, t.w AS x {TRIANGLE}",
    "corners": f"SELECT r.src, s.w {TRIANGLE}",
    "squares": f"SELECT r.src AS a, s.src AS b, t.src AS c, u.src AS d, t.w {SQUARE}",
    "chords": f"SELECT r.src AS a, s.src AS b, t.src AS c, u.src AS d, e.w {CHORD}",
    "bow-ties": f"SELECT r.src AS a, s.src AS b, t.src AS c, u.dst AS d, v.dst AS e {BOW_TIE}",
    "cliques": f"SELECT p.src AS a, p.dst AS b, q.dst AS c, r.dst AS d, u.w {CLIQUE}",
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("seed", some(range(2)))
def test_rows_of_cyclic_joins_equal_duckdb(name: str, seed: int) -> None:
    """Factorised, with each row as often as it is there and once; by place, and what moves."""
    dice = random.Random(f"{name} {seed}")
    sql = {"bag": ROWS[name], "set": ROWS[name].replace("SELECT", "SELECT DISTINCT", 1)}
    db = rv.Database()

    def define(db: rv.Database) -> dict[str, rv.View]:
        db.create_table("edge", SCHEMA)
        return {kind: db.create_view(kind, text) for kind, text in sql.items()}

    views = define(db)
    views["listed"] = db.create_view("listed", sql["bag"], representation="listing")
    assert "kept factorised" in views["bag"].explain()
    assert ("∃" in views["bag"].explain()) == (name != "squares")
    assert ("kept factorised" in views["set"].explain()) == (name != "corners")
    seen: dict[str, Counter[Any]] = {kind: Counter() for kind in views}
    held: list[Row] = []
    with durable_twin(define) as file:
        for batch in range(7):
            come = edges(dice, 6, 7)
            dice.shuffle(held)
            leaving = len(held) if batch == 6 else 4 * (batch % 3)
            go, held = held[:leaving], held[leaving:]
            # Some are inserted twice and deleted once, in one call.
            twice = [{**row, "n": times} for row in come for times in (2, -1)]
            for each in (db, file.next()):
                with each.transaction() as tx:
                    if batch % 2:
                        tx.delete("edge", go)
                    tx.insert("edge", twice, multiplicity="n")
                    if not batch % 2:
                        tx.delete("edge", go)
            held += come
            for kind, view in views.items():
                of = "bag" if kind == "listed" else kind
                expected = ORACLE.rows(sql[of], {"edge": held})
                assert comparable(view.to_arrow()) == expected, kind
                assert comparable(file.db[of].to_arrow()) == expected, kind
                assert len(view) == len(expected)
                assert [view[at] for at in range(0, len(view), 7)] == list(view)[::7]
                for *row, times in comparable(view.changes()):
                    seen[kind][tuple(row)] += int(times)
                assert sorted(seen[kind].elements(), key=repr) == expected, kind
            with pytest.raises(rv.errors.OverDeleteError), db.transaction() as tx:
                tx.delete("edge", held[:3])
                tx.insert("edge", edges(dice, 6, 9))
                tx.delete("edge", [{"src": 999, "dst": 0, "w": 1}])
            assert all(view.changes().num_rows == 0 for view in views.values())


def test_rows_of_a_join_over_a_star_take_linear_room() -> None:
    """Each pair of a centre's leaves joins in two relations, and no third one closes it."""

    def room(size: int) -> int:
        db = rv.Database(trust_deletes=True)
        for name in "rst":
            db.create_table(name, {"a": "int64", "b": "int64"})
        db.create_view(
            "v",
            "SELECT r.a, s.a AS b, t.a AS c "
            "FROM r JOIN s ON r.b = s.a JOIN t ON s.b = t.a AND t.b = r.a",
        )
        centre, leaves = [0] * size, list(range(1, size + 1))
        db.insert("r", {"a": centre, "b": leaves})
        db.insert("s", {"a": leaves, "b": centre})
        db.insert("t", {"a": centre, "b": leaves})
        assert len(db["v"]) == 0
        db.insert("r", {"a": [5], "b": [6]})
        assert [*db["v"]] == [{"a": 5, "b": 6, "c": 0}]
        return sum(db.memory_usage().values())

    assert room(8_000) < 10 * room(1_000)


@pytest.mark.parametrize("seed", some(range(3)))
def test_cyclic_views_equal_duckdb_after_every_batch(seed: int) -> None:
    dice = random.Random(seed)
    db = rv.Database()

    def define(db: rv.Database) -> dict[str, rv.View]:
        db.create_table("edge", SCHEMA)
        return {name: db.create_view(name, sql) for name, sql in QUERIES.items()}

    views = define(db)
    held: list[Row] = []
    with durable_twin(define) as file:
        for batch in range(6):
            come = edges(dice, 7, 8)
            dice.shuffle(held)
            go, held = held[: 5 * (batch % 3)], held[5 * (batch % 3) :]
            for each in (db, file.next()):
                with each.transaction() as tx:
                    if go:
                        tx.delete("edge", go)
                    tx.insert("edge", come)
            held += come
            for name, view in views.items():
                expected = ORACLE.rows(QUERIES[name], {"edge": held})
                assert comparable(view.to_arrow()) == expected, name
                assert comparable(file.db[name].to_arrow()) == expected, name
    refused = {"src": 999, "dst": 0, "w": 1}
    with pytest.raises(rv.errors.OverDeleteError), db.transaction() as tx:
        tx.insert("edge", edges(dice, 6, 12))
        tx.delete("edge", [refused])
    for name, view in views.items():
        assert comparable(view.to_arrow()) == ORACLE.rows(QUERIES[name], {"edge": held}), name
    late = db.create_view("late", QUERIES["sums"])
    assert comparable(late.to_arrow()) == comparable(views["sums"].to_arrow())
    db.delete("edge", held)
    assert views["count"].scalar() == 0
    assert views["listing"].to_arrow().num_rows == 0


def test_cofactor_over_triangles() -> None:
    dice = random.Random(5)
    db = rv.Database()
    db.create_table("edge", {"src": "int32", "dst": "int32", "w": "float64"})
    view = db.create_view("c", f"SELECT COFACTOR(r.w, s.w, t.src) {TRIANGLE}")
    held: list[tuple[int, int, float]] = []
    for _ in range(5):
        come = [(dice.randrange(6), dice.randrange(6), float(dice.randrange(5))) for _ in range(9)]
        go, held = held[:4], held[4:]
        keys = ("src", "dst", "w")
        if go:
            db.delete("edge", [dict(zip(keys, row, strict=True)) for row in go])
        db.insert("edge", [dict(zip(keys, row, strict=True)) for row in come])
        held += come
        rows = [
            (r[2], s[2], float(t[0]))
            for r in held
            for s in held
            if r[1] == s[0]
            for t in held
            if s[1] == t[0] and t[1] == r[0]
        ]
        payload = view.cofactor()
        assert payload.count == len(rows)
        for i in range(3):
            assert payload.sums[i] == sum(row[i] for row in rows)
            for j in range(3):
                assert payload.matrix[i][j] == sum(row[i] * row[j] for row in rows)


def test_triangles_of_a_graph_with_hubs() -> None:
    dice = random.Random(7)
    found: set[tuple[int, int]] = set()
    while len(found) < 4_000:
        found.add((int(700 * dice.random() ** 3), int(700 * dice.random() ** 3)))
    stream = sorted(found)
    dice.shuffle(stream)
    db = rv.Database()
    db.create_table("edge", {"src": "int32", "dst": "int32"}, unique=["src", "dst"])
    view = db.create_view("triangles", f"SELECT COUNT(*) AS n {TRIANGLE}")

    def count(edges: list[tuple[int, int]]) -> int:
        after: dict[int, set[int]] = {}
        before: dict[int, set[int]] = {}
        for a, b in edges:
            after.setdefault(a, set()).add(b)
            before.setdefault(b, set()).add(a)
        return sum(len(after.get(b, set()) & before.get(a, set())) for a, b in edges)

    for start in range(0, len(stream), 1_000):
        rows = stream[start : start + 1_000]
        db.insert("edge", [{"src": a, "dst": b} for a, b in rows])
        assert view.scalar() == count(stream[: start + 1_000])
    db.delete("edge", [{"src": a, "dst": b} for a, b in stream[1_000:]])
    assert view.scalar() == count(stream[:1_000])


def test_explain_names_the_projection_and_the_smaller_group() -> None:
    db = rv.Database()
    for name, columns in {"r": "ab", "s": "bc", "t": "ca"}.items():
        db.create_table(name, dict.fromkeys(columns, "int64"))
    text = db.create_view(
        "v", "SELECT COUNT(*) AS n FROM r NATURAL JOIN s NATURAL JOIN t"
    ).explain()
    assert "cyclic" in text
    assert "views of O(N) keys" in text
    assert "∃[a, b] r" in text
    assert "min(group of (b) in s[b, c], group of (a) in t[a, c])" in text
