"""Samples of joins: rows of DuckDB's join at every moment, all of them while they are few."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors
from sample_streams import Stream

TABLES: dict[str, dict[str, str]] = {
    "r": {"a": "int64", "b": "string", "x": "decimal128(20, 2)"},
    "s": {"b": "string", "c": "int64", "y": "float64"},
    "t": {"c": "int64", "z": "string"},
}
QUERIES = {
    "line": "SELECT r.a, r.x, s.c, s.y, t.z FROM r JOIN s USING (b) JOIN t USING (c)",
    "filtered": "SELECT a, z FROM r JOIN s USING (b) JOIN t USING (c) WHERE r.a > 1 AND s.y < 4",
    "self": "SELECT p.a AS p, q.a AS q FROM r p JOIN r q ON p.b = q.b",
    "product": "SELECT r.a, t.z FROM r CROSS JOIN t",
    "one": "SELECT b, x FROM r",
    "decimals": "SELECT p.x AS x, q.b AS b FROM r p JOIN r q ON p.x = q.x AND p.a = q.a",
}


def row(table: str, chance: random.Random) -> dict[str, Any]:
    from decimal import Decimal

    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.1 else value

    made = {
        "a": chance.randrange(4),
        "b": maybe(f"key {chance.randrange(3)}"),
        "c": maybe(chance.randrange(3)),
        "x": maybe(Decimal(chance.randrange(3)) + Decimal("0.25")),
        "y": maybe(chance.randrange(6) / 2),
        "z": maybe(chance.choice(["one", "two"])),
    }
    return {name: made[name] for name in TABLES[table]}


STREAM = Stream(TABLES, row, leave=2)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("k", [3, 10_000])
def test_rows_are_of_the_join_at_every_checkpoint(query: str, k: int) -> None:
    STREAM.check(QUERIES[query], k, steps=12, seed=query)


@pytest.fixture
def db() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    return db


JOIN = "SELECT a, b, c FROM r JOIN s USING (b)"


def fill(db: rv.Database, rows: int) -> None:
    db.insert("r", {"a": range(rows), "b": [x % 10 for x in range(rows)]})
    db.insert("s", {"b": [x % 10 for x in range(rows)], "c": range(rows)})


def test_the_same_seed_and_changes_give_the_same_sample(db: rv.Database) -> None:
    other = rv.Database()
    other.create_table("r", {"a": "int64", "b": "int64"})
    other.create_table("s", {"b": "int64", "c": "int64"})
    for each in (db, other):
        each.create_sample("few", JOIN, k=20, seed=9)
        fill(each, 300)
        each.delete("r", {"a": range(100), "b": [x % 10 for x in range(100)]})
    assert db["few"].to_arrow() == other["few"].to_arrow()
    db.create_sample("others", JOIN, k=20, seed=10)
    assert db["others"].to_arrow() != db["few"].to_arrow()


def test_a_transaction_that_fails_leaves_the_sample(db: rv.Database) -> None:
    sample = db.create_sample("few", JOIN, k=20, seed=9)
    fill(db, 300)
    before, told = sample.to_arrow(), sample.changes()
    with pytest.raises(errors.OverDeleteError), db.transaction() as tx:
        tx.delete("r", {"a": range(300), "b": [x % 10 for x in range(300)]})
        tx.insert("r", {"a": [1] * 1000, "b": [1] * 1000})
        tx.delete("s", {"b": [77], "c": [77]})
    assert sample.to_arrow() == before
    assert len(told) == 20
    assert len(sample.changes()) == 0
    assert sample.join_size() == 9000


def test_rows_come_with_their_multiplicity(db: rv.Database) -> None:
    sample = db.create_sample("few", JOIN, k=100, seed=9)
    rows = pa.table({"a": [1], "b": [2], "n": [3]})
    db.insert("r", rows, multiplicity="n")
    db.insert("s", {"b": [2, 2], "c": [5, 5]})
    assert sample.to_arrow().to_pylist() == [{"a": 1, "b": 2, "c": 5}] * 6
    db.delete("r", {"a": [1, 1], "b": [2, 2]})
    assert len(sample) == sample.join_size() == 2


def test_views_read_samples_and_samples_read_views(db: rv.Database) -> None:
    sample = db.create_sample("few", JOIN, k=50, seed=9)
    above = db.create_view("sums", "SELECT COUNT(*) AS n, SUM(a) AS a FROM few")
    db.create_view("sizes", "SELECT b, COUNT(*) AS n FROM r GROUP BY b")
    of_view = db.create_sample("of", "SELECT a, n FROM r JOIN sizes USING (b)", k=20, seed=1)
    for rows in (100, 300, 500):
        fill(db, rows)
        db.delete("r", {"a": [0, 1], "b": [0, 1]})
        sums = sum(sample.to_arrow().column("a").to_pylist())
        assert above.to_arrow().to_pylist() == [{"n": 50, "a": sums}]
        sizes = dict(zip(*db["sizes"].to_arrow().to_pydict().values(), strict=True))
        assert all(row["n"] == sizes[row["a"] % 10] for row in of_view.to_arrow().to_pylist())
        assert of_view.join_size() == len(db.tables["r"])


def test_estimates_hold_the_true_value_about_as_often_as_they_say(db: rv.Database) -> None:
    fill(db, 400)
    whole = db.create_view("whole", JOIN).to_arrow().to_pylist()
    large = [row["a"] for row in whole]
    true = {"count": len(whole), "sum": sum(large), "avg": sum(large) / len(large)}
    true["quantile"] = sorted(large)[len(large) // 2]
    hits = Counter[str]()
    runs = 60
    for seed in range(runs):
        sample = db.create_sample(f"few {seed}", JOIN, k=200, seed=seed)
        for what, value in true.items():
            of = None if what == "count" else "a"
            found = sample.estimate(what, of)  # type: ignore[arg-type]
            hits[what] += found.low <= value <= found.high
        groups = sample.estimate("count", by="b")
        hits["group"] += groups[3].low <= 1600 <= groups[3].high
        db.drop_view(f"few {seed}")
    assert hits.pop("count") == runs
    # Of 60 at 95%: 48 or fewer have a chance of 10^-5.
    assert min(hits.values()) > 48
    assert sum(hits.values()) < 4 * runs


def test_an_estimate_of_what_the_sample_has_not(db: rv.Database) -> None:
    fill(db, 400)
    sample = db.create_sample("few", JOIN, k=100, seed=1)
    found = sample.estimate("sum", lambda rows: pa.array([0.0] * len(rows)))
    assert found.high == -found.low == pytest.approx(16000 * 0.0428, rel=0.01)
    found = sample.estimate("sum", lambda rows: pa.array([False] * len(rows)), within=(0, 1))
    assert found == (0.0, 0.0, pytest.approx(16000 * 0.0361, rel=0.01))
    found = sample.estimate("sum", lambda rows: pa.array([0.0] * len(rows)), within=(0, 10))
    assert found.high == pytest.approx(160_000 * 0.0361, rel=0.01)
    found = sample.estimate("avg", lambda rows: pa.array([7.0] * len(rows)), within=(7, 7))
    assert found == (7, 7, 7)
    with pytest.raises(errors.InvalidValueError, match="least value"):
        sample.estimate("avg", "a", within=(8, 7))


def test_a_sample_that_is_opened_again_is_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "db.ringview"
    with rv.Database.open(path) as db:
        db.create_table("r", {"a": "int64", "b": "int64"})
        db.create_table("s", {"b": "int64", "c": "int64"})
        db.create_view("v", JOIN)
        made = db.create_sample("few", JOIN, k=50, seed=2)
        fill(db, 100)
        same = (db["few"], db.views["few"], dict(db.views)["few"])
        assert same == (made, made, made)
        assert all(type(each) is rv.Sample for each in same)
        drawn, rows = made.draw(5, seed=3), made.to_arrow()
    with rv.Database.open(path) as again:
        loaded = []
        again.save(tmp_path / "copy.ringview")
        loaded.append(rv.Database.load(tmp_path / "copy.ringview"))
        for db in (again, *loaded):
            sample = db["few"]
            assert isinstance(sample, rv.Sample)
            assert type(db["v"]) is rv.View
            assert sample.to_arrow() == rows
            assert sample.join_size() == 1000
            assert sample.draw(5, seed=3) == drawn
            assert sample.estimate("count") == (1000, 1000, 1000)
            assert repr(sample) == "Sample('few', rows=50)"


def test_estimates_of_a_whole_join_are_exact(db: rv.Database) -> None:
    import pyarrow.compute as pc

    fill(db, 20)
    sample = db.create_sample("all", JOIN, k=100, seed=1)
    rows = sample.to_arrow()
    total = sum(rows.column("a").to_pylist())
    assert sample.estimate("sum", "a") == (total, total, total)
    assert sample.estimate("count") == (40, 40, 40)
    assert sample.estimate("avg", lambda rows: pc.multiply(rows["a"], 2)).value == 2 * total / 40
    by_two = sample.estimate("quantile", "c", by=["b", "a"], q=1.0)
    assert by_two[3, 13] == (13, 13, 13)
    anything: Any = "mode"
    cases: list[tuple[Callable[[], object], type[Exception]]] = [
        (lambda: sample.estimate("sum"), errors.InvalidValueError),
        (lambda: sample.estimate(anything, "a"), errors.InvalidValueError),
        (lambda: sample.estimate("sum", "aa"), errors.UnknownColumnError),
        (lambda: sample.estimate("avg", "a", confidence=1), errors.InvalidValueError),
        (lambda: sample.estimate("avg", lambda rows: ["x"] * 40), errors.TypeMismatchError),
        (lambda: sample.estimate("avg", lambda rows: [1]), errors.InvalidValueError),
    ]
    for bad, error in cases:
        with pytest.raises(error):
            bad()


def test_what_cannot_be_sampled_says_what_can(db: rv.Database) -> None:
    cases = [
        ("SELECT COUNT(*) AS n FROM r", "estimate aggregates from the sample"),
        ("SELECT DISTINCT a, b, c FROM r JOIN s USING (b)", "leave out DISTINCT"),
    ]
    for sql, words in cases:
        with pytest.raises(errors.UnsupportedError, match=words):
            db.create_sample("few", sql, k=3, seed=1)
    for k, seed, error in [
        (0, 1, errors.InvalidValueError),
        (-1, 1, errors.InvalidValueError),
        (3, -1, errors.InvalidValueError),
        (2**50, 1, errors.OutOfMemoryError),
        (1.5, 1, errors.TypeMismatchError),
    ]:
        with pytest.raises(error):
            db.create_sample("few", JOIN, k=k, seed=seed)  # type: ignore[arg-type]
    assert "few" not in db
    db.create_view("v", JOIN)
    with pytest.raises(errors.ExistsError):
        db.create_sample("v", JOIN, k=3, seed=1)
    sample = db.create_sample("few", JOIN, k=3, seed=1)
    assert (len(sample), sample.join_size(), sample.to_arrow().num_rows) == (0, 0, 0)
    with pytest.raises(errors.InvalidValueError, match="no results"):
        sample.draw(1, seed=1)
    assert sample.draw(1, seed=1, replacement=False).num_rows == 0
    with pytest.raises(errors.InvalidValueError, match="no values"):
        sample.estimate("avg", "a")


def test_it_tells_how_it_is_kept(db: rv.Database) -> None:
    sample = db.create_sample("few", JOIN, k=20, seed=9)
    fill(db, 300)
    db.delete("r", {"a": range(200), "b": [x % 10 for x in range(200)]})
    told = sample.explain()
    assert "20 of 3000 results held, k = 20" in told
    assert "a sample of 20 rows was asked for, seed 9" in told
    assert "deleted" in told
    for form in ("json", "html", "mermaid", "graphviz"):
        assert sample.explain(form)
    assert sample.sql == JOIN
