"""Samples of cyclic joins and of joins by foreign keys: rows of DuckDB's join at every moment."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv
from kept import kept
from ringview import errors

Rows = list[dict[str, Any]]

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


def columns(rows: Rows, table: str) -> pa.Table:
    schema = pa.schema([(name, rv.arrow.data_type(kind)) for name, kind in TABLES[table].items()])
    return pa.Table.from_pylist(rows, schema)


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


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def truth(sql: str, tables: dict[str, Rows]) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as con:
        for name, rows in tables.items():
            con.register(name, columns(rows, name))
        return rows_of(con.sql(sql).to_arrow_table())


def tables_of(db: rv.Database) -> rv.Database:
    """A database, in which the tables are made."""
    for name, kinds in TABLES.items():
        db.create_table(name, kinds, unique=UNIQUE.get(name))
    return db


def database() -> rv.Database:
    return tables_of(rv.Database())


def comes(table: str, held: Rows, chance: random.Random) -> Rows:
    """Some rows that agree with no other in a key."""
    found: Rows = []
    for _ in range(chance.randrange(6)):
        made = row(table, chance)
        key = UNIQUE.get(table)
        if key is None or all(any(r[c] != made[c] for c in key) for r in held + found):
            found.append(made)
    return found


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("k", [3, 10_000])
def test_rows_are_of_the_join_at_every_checkpoint(query: str, k: int) -> None:
    chance = random.Random(f"{query} {k}")

    def define(db: rv.Database) -> rv.Sample:
        return tables_of(db).create_sample("few", QUERIES[query], k=k, seed=5)

    db = rv.Database()
    sample = define(db)
    held: dict[str, Rows] = {name: [] for name in TABLES}
    told: Counter[tuple[Any, ...]] = Counter()
    expected: Counter[tuple[Any, ...]] = Counter()
    seen = 0
    with kept(define) as file:
        for step in range(14):
            before = rows_of(file.db["few"].to_arrow())
            again = file.next()
            # One that is killed before it was ever written is filled anew.
            assert step == 1 or rows_of(again["few"].to_arrow()) == before
            with db.transaction() as tx, again.transaction() as other:
                for name, rows in held.items():
                    come = comes(name, rows, chance)
                    rows.extend(come)
                    chance.shuffle(rows)
                    gone = [rows.pop() for _ in range(min(len(rows), step % 3))]
                    for each in (tx, other):
                        each.insert(name, columns(come, name))
                        each.delete(name, columns(gone, name))
            # In memory alone: which rows come next may be others, and a file does not know of it.
            if step % 4 == 3:
                with pytest.raises(errors.OverDeleteError), db.transaction() as tx:
                    for name, rows in held.items():
                        tx.delete(name, columns(rows, name))
                    tx.delete("call", columns([{"src": "z", "dst": "z", "seconds": None}], "call"))
            expected = truth(QUERIES[query], held)
            seen += expected.total()
            for one in (again["few"], sample):
                assert isinstance(one, rv.Sample)
                found = rows_of(one.to_arrow())
                assert found <= expected
                assert one.join_size() == expected.total()
                assert len(one) == found.total() == min(k, expected.total())
                assert rows_of(one.draw(10**6, seed=step, replacement=False)) == expected
            for change in sample.changes().to_pylist():
                told[tuple(change.values())[:-1]] += change["multiplicity"]
            assert +told == found
            if expected:
                assert set(rows_of(sample.draw(5, seed=step))) <= set(expected)
    assert seen > 5, "nothing was tested"
    # Filled from the rows that are there.
    late = db.create_sample("late", QUERIES[query], k=k, seed=6)
    assert rows_of(late.to_arrow()) <= expected
    assert len(late) == len(sample)


def test_the_same_seed_and_changes_give_the_same_sample() -> None:
    edges = {"src": list("abcabcdd"), "dst": list("bcacabab")}
    held = []
    for _ in range(2):
        db = database()
        sample = db.create_sample("few", QUERIES["dumbbell"], k=4, seed=9)
        db.insert("edge", edges)
        db.delete("edge", {"src": ["a"], "dst": ["b"]})
        db.insert("edge", {"src": ["a"], "dst": ["b"]})
        held.append(sample.to_arrow())
    assert held[0] == held[1]
    assert len(held[0]) == 4


def test_strings_that_only_a_bag_holds_stay() -> None:
    db = database()
    sample = db.create_sample("few", QUERIES["triangle"], k=10, seed=9)
    for step in range(40):
        # Strings come and go, so that their ids are given anew.
        a, b, c = (f"{corner} {step}" for corner in "abc")
        db.insert("edge", {"src": [a, b, c], "dst": [b, c, a]})
        if step:
            a, b, c = (f"{corner} {step - 1}" for corner in "abc")
            db.delete("edge", {"src": [a, b, c], "dst": [b, c, a]})
        found = {tuple(row.values()) for row in sample.to_arrow().to_pylist()}
        corners = tuple(f"{corner} {step}" for corner in "abc")
        assert found == {corners[at:] + corners[:at] for at in range(3)}


def test_it_tells_of_bags_and_of_keys() -> None:
    db = database()
    told = db.create_sample("few", QUERIES["dumbbell"], k=4, seed=9).explain()
    assert "bags of width 3/2, the least, in the place of its cycles" in told
    assert "a bag of width 3/2 joins x, y, z" in told
    assert "N changes make O(N^3/2)" in told
    told = db.create_sample("more", QUERIES["calls"], k=4, seed=9).explain()
    assert "joins x, y with what z have in it" in told
    told = db.create_sample("sales", QUERIES["sales"], k=4, seed=9).explain()
    assert "s, i, k are kept as one relation, combined by their unique keys" in told
    assert "acyclic" in told
