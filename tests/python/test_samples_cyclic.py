"""Samples of cyclic joins and of joins by foreign keys: rows of DuckDB's join at every moment."""

from __future__ import annotations

import random
from typing import Any

import pytest
import ringview as rv
from amounts import some
from ringview import errors
from sample_streams import Rows, Stream

TABLES: dict[str, dict[str, str]] = {
    "edge": {"src": "string", "dst": "string"},
    "call": {"src": "string", "dst": "string", "seconds": "decimal128(30, 1)"},
    "item": {"id": "int64", "kind": "int32", "name": "string"},
    "kind": {"id": "int32", "label": "string"},
    "sale": {"item": "int64", "who": "string", "price": "float64"},
}
UNIQUE = {"edge": ["src", "dst"], "item": ["id"], "kind": ["id"]}

TRIANGLE = "FROM edge x JOIN edge y ON x.dst = y.src JOIN edge z ON y.dst = z.src AND z.dst = x.src"
SALES = "FROM sale s JOIN item i ON s.item = i.id JOIN kind k ON i.kind = k.id"
QUERIES = {
    "triangle": f"SELECT x.src AS a, y.src AS b, z.src AS c {TRIANGLE}",
    "one corner": f"SELECT y.src AS b {TRIANGLE}",
    "filtered": f"SELECT x.src AS a, z.src AS c {TRIANGLE} WHERE x.src <> 'a' AND y.dst <> 'b'",
    "4-cycle": """
        SELECT w.src AS a, x.src AS b, y.src AS c, z.src AS d
        FROM edge w JOIN edge x ON w.dst = x.src JOIN edge y ON x.dst = y.src
        JOIN edge z ON y.dst = z.src AND z.dst = w.src""",
    "bow-tie": f"""
        SELECT x.src AS a, y.src AS b, u.src AS d, v.src AS e {TRIANGLE}
        JOIN edge u ON u.src = x.src JOIN edge v ON u.dst = v.src
        JOIN edge w ON v.dst = w.src AND w.dst = u.src""",
    "dumbbell": f"""
        SELECT x.src AS a, y.src AS b, z.src AS c, u.src AS d, v.src AS e, w.src AS f {TRIANGLE}
        JOIN edge bar ON bar.src = x.src JOIN edge u ON bar.dst = u.src
        JOIN edge v ON u.dst = v.src JOIN edge w ON v.dst = w.src AND w.dst = u.src""",
    "calls": """
        SELECT x.src AS a, z.seconds AS seconds FROM edge x JOIN edge y ON x.dst = y.src
        JOIN call z ON y.dst = z.src AND z.dst = x.src""",
    "calls alone": """
        SELECT x.src AS a, x.seconds AS s, y.dst AS c FROM call x JOIN call y ON x.dst = y.src
        JOIN call z ON y.dst = z.src AND z.dst = x.src""",
    "sales": f"SELECT s.who, s.price, i.name, k.label {SALES}",
    "prices": f"SELECT s.price {SALES} WHERE k.label <> 'one'",
    "sales of pairs": f"""
        SELECT s.who AS who, i.name AS name, t.who AS other {SALES}
        JOIN item j ON j.kind = k.id JOIN sale t ON t.item = j.id""",
}


def row(table: str, chance: random.Random) -> dict[str, Any]:
    from decimal import Decimal

    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.1 else value

    made: dict[str, Any] = {
        "src": chance.choice("abcd"),
        "dst": chance.choice("abcd"),
        "seconds": maybe(Decimal(chance.randrange(3)) * 10**20),
        "id": chance.randrange(5),
        "kind": maybe(chance.randrange(3)),
        "name": maybe(f"item {chance.randrange(3)}"),
        "label": chance.choice(["one", "two", "three"]),
        "item": maybe(chance.randrange(6)),
        "who": maybe(chance.choice("xyz")),
        "price": maybe(chance.randrange(4) / 4),
    }
    return {name: made[name] for name in TABLES[table]}


STREAM = Stream(TABLES, row, UNIQUE)


def fail(db: rv.Database, step: int, held: dict[str, Rows]) -> None:
    if step % 4 == 3:
        with pytest.raises(errors.OverDeleteError), db.transaction() as tx:
            for name, rows in held.items():
                tx.delete(name, STREAM.columns(rows, name))
            absent: Rows = [{"src": "z", "dst": "z", "seconds": None}]
            tx.delete("call", STREAM.columns(absent, "call"))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("k", some([3, 10_000]))
def test_rows_are_of_the_join_at_every_checkpoint(query: str, k: int) -> None:
    STREAM.check(QUERIES[query], k, steps=14, seed=query, between=fail)


def test_the_same_seed_and_changes_give_the_same_sample() -> None:
    edges = {"src": list("abcabcdd"), "dst": list("bcacabab")}
    held = []
    for _ in range(2):
        db = STREAM.create(rv.Database())
        sample = db.create_sample("few", QUERIES["dumbbell"], k=4, seed=9)
        db.insert("edge", edges)
        db.delete("edge", {"src": ["a"], "dst": ["b"]})
        db.insert("edge", {"src": ["a"], "dst": ["b"]})
        held.append(sample.to_arrow())
    assert held[0] == held[1]
    assert len(held[0]) == 4


def test_strings_that_only_a_bag_holds_stay() -> None:
    db = STREAM.create(rv.Database())
    sample = db.create_sample("few", QUERIES["triangle"], k=10, seed=9)
    for step in range(40):
        # Strings are inserted and deleted, so that their ids are reused.
        a, b, c = (f"{corner} {step}" for corner in "abc")
        db.insert("edge", {"src": [a, b, c], "dst": [b, c, a]})
        if step:
            a, b, c = (f"{corner} {step - 1}" for corner in "abc")
            db.delete("edge", {"src": [a, b, c], "dst": [b, c, a]})
        found = {tuple(row.values()) for row in sample.to_arrow().to_pylist()}
        corners = tuple(f"{corner} {step}" for corner in "abc")
        assert found == {corners[at:] + corners[:at] for at in range(3)}


def test_it_tells_of_bags_and_of_keys() -> None:
    db = STREAM.create(rv.Database())
    told = db.create_sample("few", QUERIES["dumbbell"], k=4, seed=9).explain()
    assert "bags of width 3/2, the least, in the place of its cycles" in told
    assert "a bag of width 3/2 joins x, y, z" in told
    assert "N changes make O(N^3/2)" in told
    told = db.create_sample("more", QUERIES["calls"], k=4, seed=9).explain()
    assert "joins x, y with what z have in it" in told
    told = db.create_sample("sales", QUERIES["sales"], k=4, seed=9).explain()
    assert "s, i, k are kept as one relation, combined by their unique keys" in told
    assert "acyclic" in told
