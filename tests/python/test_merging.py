"""Views over one join with other sums are one tree, those by other groups share inner views.

Random ones are created, dropped and replaced in the middle of random transactions, of which some
fail; they are followed, and their file is opened again. After every step they are compared with
DuckDB, as if each were alone.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import ringview as rv
from amounts import some
from oracle import Oracle, comparable

SCHEMAS = {
    "r": {"a": "int64", "b": "int64", "x": "float64"},
    "s": {"b": "int64", "c": "int64", "t": "string"},
}
JOINS = ("r", "r JOIN s USING (b)", "r JOIN s ON r.b = s.b AND s.c > 0")
SUMS = (
    *("COUNT(*)", "COUNT(x)", "SUM(a)", "SUM(x)", "AVG(a)", "SUM(a * a)", "SUM(2 * a + 1)"),
    *("MAX(a)", "COALESCE(SUM(a), 0)", "VAR_SAMP(a)", "SUM(CASE WHEN x > 0 THEN a END)"),
)
OF_BOTH = ("SUM(a * c)", "SUM(c)", "AVG(a + c)", "SUM(x * c)", "COUNT(t)", "COUNT(DISTINCT t)")


def small(**options: Any) -> rv.Database:
    db = rv.Database(**options)
    for name, columns in SCHEMAS.items():
        db.create_table(name, columns)
    db.insert("r", [{"a": 1, "b": 5, "x": 0.5}, {"a": 2, "b": 7, "x": 1.5}])
    db.insert("s", [{"b": 5, "c": 2, "t": "p"}, {"b": 7, "c": 1, "t": None}])
    return db


def query(rng: random.Random) -> str:
    join = rng.choice(JOINS)
    sums = SUMS if join == "r" else SUMS + OF_BOTH
    group = rng.choice(("", "a", "r.b", "c", "t") if join != "r" else ("", "a", "b"))
    shown = [f"{group} AS key"] if group else []
    shown += [f"{rng.choice(sums)} AS c{at}" for at in range(rng.randint(1, 3))]
    where = rng.choice(("", "", " WHERE a < 2"))
    having = rng.choice(("", "", " HAVING COUNT(*) > 1"))
    text = f"SELECT {', '.join(shown)} FROM {join}{where}"
    text += f" GROUP BY {group}" if group else ""
    text += having
    if rng.random() < 0.25:
        return f"WITH sums AS ({text}) SELECT COUNT(*) AS n, COUNT(c0) AS m FROM sums"
    return text


def row(rng: random.Random, table: str) -> dict[str, Any]:
    def one(values: list[Any]) -> Any:
        return rng.choice([*values, *values, None])

    if table == "r":
        return {"a": one([1, 2, 3]), "b": one([5, 7]), "x": one([-0.5, 0.5, 1.5])}
    return {"b": one([5, 7]), "c": one([0, 1, 2]), "t": one(["p", "q"])}


class Followed:
    """A view, and what its changes add up to."""

    def __init__(self, view: rv.View, sql: str) -> None:
        self.view, self.sql, self.told = view, sql, Counter[tuple[Any, ...]]()

    def check(self, expected: list[tuple[Any, ...]], share: bool) -> None:
        found = comparable(self.view.to_arrow())
        assert found == expected, (self.sql, share)
        for *changed, times in zip(*self.view.changes().to_pydict().values(), strict=True):
            self.told[tuple(changed)] += times
        self.told += Counter()
        rows = zip(*self.view.to_arrow().to_pydict().values(), strict=True)
        assert self.told == Counter(rows), (self.sql, share)


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("seed", some(range(6), 2))
def test_random_views_over_few_joins_are_duckdbs(seed: int, share: bool, tmp_path: Path) -> None:
    rng = random.Random(f"merging {seed}")
    path = tmp_path / "db"
    is_durable = share and seed % 2 == 1
    db = rv.Database.open(path) if is_durable else rv.Database(share=share)
    for name, columns in SCHEMAS.items():
        db.create_table(name, columns)
    schemas = {name: db.tables[name].schema for name in SCHEMAS}
    oracle = Oracle(schemas)
    held: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    views: dict[str, Followed] = {}
    for step in range(24):
        act = rng.random()
        if act < 0.15:
            texts = {f"v{step}.{at}": query(rng) for at in range(rng.randint(2, 4))}
            made = db.create_views(texts)
            views |= {name: Followed(made[name], sql) for name, sql in texts.items()}
        elif act < 0.35:
            name, sql = f"v{step}", query(rng)
            views[name] = Followed(db.create_view(name, sql), sql)
        elif act < 0.45 and views:
            name = rng.choice(list(views))
            views.pop(name)
            db.drop_view(name)
        elif act < 0.55 and views:
            name, sql = rng.choice(list(views)), query(rng)
            views[name] = Followed(db.create_view(name, sql, create_or_replace=True), sql)
        elif act < 0.65 and is_durable:
            db.close()
            db = rv.Database.open(path)
            views = {name: Followed(db[name], view.sql) for name, view in views.items()}
        else:
            fails, after = rng.random() < 0.2, {name: list(rows) for name, rows in held.items()}
            try:
                with db.transaction() as transaction:
                    for _ in range(rng.randint(1, 3)):
                        table = rng.choice(list(SCHEMAS))
                        if after[table] and rng.random() < 0.4:
                            gone = after[table].pop(rng.randrange(len(after[table])))
                            transaction.delete(table, [gone])
                        else:
                            new = [row(rng, table) for _ in range(rng.randint(1, 4))]
                            after[table] += new
                            transaction.insert(table, new)
                    if fails:
                        transaction.delete("r", [{"a": 99, "b": 99, "x": 0.0}])
                held = after
                assert not fails
            except rv.errors.OverDeleteError:
                assert fails
        for view in views.values():
            view.check(oracle.rows(view.sql, held), share)


def test_views_of_other_sums_are_one_tree() -> None:
    db = small()
    join = "FROM r JOIN s USING (b) GROUP BY a"
    first = db.create_view("first", f"SELECT a, SUM(c) AS total {join}")
    second = db.create_view("second", f"SELECT a, COUNT(*) AS n {join} HAVING COUNT(*) > 1")
    assert "one tree with first: 1 of its 3 sums are this view's" in str(second.explain())
    used = db.memory_usage()
    assert used["view second"] == 0 < used["view first"]
    assert (len(first), len(second)) == (2, 0)
    db.drop_view("first")
    assert db.memory_usage()["view second"] > 0
    apart = small(share=False)
    for at in range(2):
        apart.create_view(f"v{at}", f"SELECT a, SUM(c + {at}) AS total {join}")
    used = apart.memory_usage()
    assert used["view v0"] > 0 < used["view v1"]


def test_views_by_other_groups_share_inner_views(tmp_path: Path) -> None:
    groups = {"by_b": "b", "by_c": "c", "by_t": "t"}
    texts = {
        name: f"SELECT {key}, SUM(a) AS total FROM r JOIN s USING (b) GROUP BY {key}"
        for name, key in groups.items()
    }

    def told(db: rv.Database) -> str:
        used = db.memory_usage()
        assert used["view by_b"] > 0 == used["view by_c"] == used["view by_t"]
        return str(db["by_c"].explain())

    db = small()
    for name, sql in texts.items():
        db.create_view(name, sql)
    assert "of the 3 views of its tree are kept once for it and by_b, by_t" in told(db)
    assert "also of by#95;b, by#95;t" in db["by_c"].explain("mermaid")
    db.save(tmp_path / "db")
    again = rv.Database.load(tmp_path / "db")
    assert told(again)
    apart, parallel = small(share=False), small(threads=2)
    for other in (apart, parallel):
        other.create_views(texts)
        assert all(other.memory_usage()[f"view {name}"] > 0 for name in texts)
    for other in (db, again, apart, parallel):
        other.insert("s", [{"b": 5, "c": 1, "t": "q"}])
        other.delete("r", [{"a": 2, "b": 7, "x": 1.5}])
        shown = [comparable(other[name].to_arrow()) for name in texts]
        assert shown == [comparable(db[name].to_arrow()) for name in texts]


def test_several_views_come_together_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "db"
    db = rv.Database.open(path)
    for name, columns in SCHEMAS.items():
        db.create_table(name, columns)
    db.insert("r", [{"a": 1, "b": 5, "x": 0.5}, {"a": 2, "b": 7, "x": 1.5}])
    good = {
        "sums": "SELECT b, SUM(a) AS total FROM r GROUP BY b",
        "means": "SELECT b, AVG(a) AS mean FROM r GROUP BY b",
        "above": "SELECT COUNT(*) AS n FROM sums WHERE total > 1",
    }
    for bad, error in {
        "SELECT nothing FROM r": rv.errors.UnknownColumnError,
        "SELECT n FROM nowhere": rv.errors.UnknownTableError,
        "SELECT": rv.errors.QueryError,
    }.items():
        with pytest.raises(error):
            db.create_views({**good, "bad": bad})
        assert not db.views
    with pytest.raises(rv.errors.TypeMismatchError):
        db.create_views({**good, "bad": 7})  # type: ignore[dict-item]
    db.create_view("means", good["means"])
    with pytest.raises(rv.errors.ExistsError):
        db.create_views(good)
    assert list(db.views) == ["means"]
    db.drop_view("means")
    views = db.create_views(good)
    assert list(views) == list(db.views) == list(good)
    assert views["above"].scalar() == 1
    assert [view.sql for view in views.values()] == list(good.values())
    assert "one tree with means" in str(views["sums"].explain())
    db.close()
    again = rv.Database.open(path)
    assert list(again.views) == list(good)
    assert again["above"].scalar() == 1
    assert "one tree with means" in str(again["sums"].explain())
