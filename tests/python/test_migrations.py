"""Definitions between BEGIN and COMMIT: all of a transaction, or nothing, as if done one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import ringview as rv
from migrations import Migrations
from ringview import errors


def rows(found: Any) -> list[str]:
    return sorted(repr(tuple(row.values())) for row in found.to_arrow().to_pylist())


def state(db: rv.Database) -> dict[str, object]:
    """Everything that a database shows."""
    tables = {
        name: (
            table.schema,
            table.unique,
            rows(table),
            pa.RecordBatchReader.from_stream(db._native.table_defaults(name))
            .read_all()
            .to_pylist(),
        )
        for name, table in db.tables.items()
    }
    return {"tables": tables, "views": {n: (v.sql, v.schema, rows(v)) for n, v in db.views.items()}}


def replayed(history: list[str]) -> rv.Database:
    db = rv.Database()
    for text in history:
        db.execute(text)
    return db


@contextmanager
def opened(path: Path | None) -> Iterator[rv.Database]:
    if path is None:
        yield rv.Database()
    else:
        with rv.Database.open(path) as db:
            yield db


def checked(text: str, block: rv.Database, alone: rv.Database) -> str:
    """The outcome of a statement: in a transaction it is that of the statement alone.

    "late" is one whose key is taken, which a transaction may find at its end.
    """
    found: list[Any] = []
    for db in (alone, block):
        try:
            done = db.execute(text)
            found.append(
                done if not isinstance(done, pa.Table) else sorted(map(repr, done.to_pylist()))
            )
        except rv.RingviewError as problem:
            found.append(problem)
    one, other = found
    if isinstance(other, errors.UnsupportedError) and "in a transaction" in str(other):
        return "refused"
    if isinstance(one, errors.DuplicateKeyError) and not isinstance(other, Exception):
        return "late"
    if isinstance(one, Exception) or isinstance(other, Exception):
        assert type(one) is type(other), (text, one, other)
        return "refused"
    assert one == other, text
    return "done"


def run(seed: int, blocks: int, path: Path | None) -> int:
    """Random transactions, each compared with its statements one by one; how many were kept."""
    maker, history, kept = Migrations(seed), list[str](), 0
    at = maker.random
    with opened(path) as db:
        followed: dict[rv.View, tuple[rv.Follower, dict[str, int]]] = {}
        for _ in range(blocks):
            before, alone, texts = state(db), replayed(history), list[str]()
            db.execute("BEGIN")
            became = "done"
            for _ in range(at.randrange(1, 9)):
                text = maker.statement(alone)
                became = checked(text, db, alone)
                texts.append(text)
                assert state(db) == before
                if became != "done":
                    break
            end = at.random()
            new = set(alone.tables) - set(db.tables)
            if became == "late":
                with pytest.raises(errors.DuplicateKeyError):
                    db.execute("COMMIT")
            elif became == "refused" or end < 0.2:
                db.execute("ROLLBACK")
            elif end < 0.35 and new:
                # Somebody takes a name, so the end of the transaction is refused.
                name = at.choice(sorted(new))
                db.create_table(name, {"other": "int64"})
                with pytest.raises(rv.RingviewError):
                    db.execute("COMMIT")
                db.drop_table(name)
            else:
                db.execute("COMMIT")
                history += texts
                kept += 1
                assert state(db) == state(alone), texts
                before = state(db)
            assert state(db) == before, texts
            check_followers(db, followed)
    if path is not None:
        with rv.Database.open(path) as db:
            assert state(db) == state(replayed(history))
    return kept


def check_followers(
    db: rv.Database, followed: dict[rv.View, tuple[rv.Follower, dict[str, int]]]
) -> None:
    """The changes of each view since it was first seen add up to its rows."""
    for view in set(followed) - set(db.views.values()):
        del followed[view]
    for view in db.views.values():
        if view not in followed:
            followed[view] = view.follow(), {}
        follower, told = followed[view]
        changes = follower.changes()
        names = changes.schema.names
        for row in changes.to_pylist():
            times = row.pop(names[-1])
            key = repr(tuple(row.values()))
            told[key] = told.get(key, 0) + times
        shown = rows(view)
        assert {key: times for key, times in told.items() if times} == {
            key: shown.count(key) for key in shown
        }


@pytest.mark.parametrize("seed", range(12))
def test_random_transactions(seed: int) -> None:
    assert run(seed, 12, None) > 0


@pytest.mark.parametrize("seed", range(12, 16))
def test_random_transactions_in_a_file(seed: int, tmp_path: Path) -> None:
    assert run(seed, 8, tmp_path / "file.ringview") > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_transactions(seed: int, tmp_path: Path) -> None:
    assert run(seed, 40, None if seed % 2 else tmp_path / "file.ringview") > 0


def refused_at_commit(db: rv.Database, script: str) -> None:
    """A transaction whose end is refused, as somebody took the name of its table `taken`."""
    db.execute(f"BEGIN; {script}; CREATE TABLE taken (a BIGINT)")
    db.create_table("taken", {"b": "string"})
    with pytest.raises(errors.ExistsError, match="taken"):
        db.execute("COMMIT")
    db.drop_table("taken")


def shop() -> rv.Database:
    db = rv.Database()
    db.execute("""
        CREATE TABLE r (a BIGINT, b VARCHAR);
        CREATE TABLE s (a BIGINT PRIMARY KEY, c BIGINT DEFAULT 4);
        CREATE VIEW sums AS SELECT b, SUM(a) AS a FROM r GROUP BY b;
        CREATE VIEW counts AS SELECT b, COUNT(*) AS n FROM r GROUP BY b;
        CREATE VIEW above AS SELECT COUNT(*) AS n FROM sums WHERE a > 2;
        INSERT INTO r VALUES (1, 'x'), (2, 'x'), (3, 'y'), (NULL, NULL);
        INSERT INTO s VALUES (1, 10), (2, 20)""")
    return db


def test_views_that_were_dropped_are_what_they_were() -> None:
    db = shop()
    sample = db.create_sample("drawn", "SELECT r.a, s.c FROM r, s", k=3, seed=7)
    view, followers = db["sums"], {name: db[name].follow() for name in ("sums", "above")}
    for follower in followers.values():
        follower.changes()
    db.insert("r", {"a": [9], "b": ["z"]})
    before, drawn = state(db), rows(sample)
    refused_at_commit(db, "DROP TABLE r CASCADE; DROP TABLE s; CREATE TABLE r (other DATE)")
    assert state(db) == before
    assert rows(db["drawn"]) == drawn
    assert view.get({"b": "z"}) == {"b": "z", "a": 9}
    # Earlier and later changes are reported.
    db.insert("r", {"a": [1], "b": ["z"]})
    assert {row["a"]: row["multiplicity"] for row in followers["sums"].changes().to_pylist()} == {
        10: 1
    }
    assert [row["n"] for row in followers["above"].changes().to_pylist()] == [2, 3]


def test_a_follower_of_a_view_that_went_says_so() -> None:
    db = shop()
    follower = db["above"].follow()
    db.execute("BEGIN; DROP VIEW above; CREATE VIEW above AS SELECT b FROM sums; COMMIT")
    with pytest.raises(errors.UnknownViewError, match="dropped"):
        follower.changes()


def test_statements_see_what_those_before_them_defined() -> None:
    db = shop()
    found = db.execute("""
        BEGIN;
        ALTER TABLE s ADD COLUMN multiplicity BIGINT DEFAULT 3;
        INSERT INTO s (a) VALUES (7);
        UPDATE s SET multiplicity = a + c WHERE a < 3;
        ALTER TABLE s RENAME TO t;
        CREATE VIEW w AS SELECT t.a, t.multiplicity AS m, n FROM t, counts WHERE b = 'x';
        DELETE FROM t WHERE a = 2;
        SELECT * FROM w ORDER BY a""")
    expected = [{"a": 1, "m": 11, "n": 2}, {"a": 7, "m": 3, "n": 2}]
    assert found.to_pylist() == expected
    assert "w" not in db
    assert list(db.tables) == ["r", "s"]
    db.execute("COMMIT")
    assert db["w"].to_arrow().sort_by("a").to_pylist() == expected
    assert rows(db.tables["t"]) == ["(1, 10, 11)", "(7, 4, 3)"]


def test_what_others_change_meanwhile_counts() -> None:
    db = shop()
    db.execute("BEGIN; CREATE VIEW w AS SELECT MAX(a) AS a FROM r; INSERT INTO r VALUES (5, 'y')")
    db.insert("r", {"a": [8], "b": ["x"]})
    db.execute("COMMIT")
    assert db["w"].scalar() == 8
    assert db["sums"].get({"b": "y"}) == {"b": "y", "a": 8}


def test_static_tables() -> None:
    db = rv.Database()
    db.execute("""
        BEGIN;
        CREATE TABLE names (id BIGINT, name VARCHAR) WITH (static = true);
        INSERT INTO names VALUES (1, 'one'), (2, 'two');
        CREATE TABLE r (id BIGINT);
        CREATE VIEW v AS
            SELECT name, COUNT(*) AS n FROM r, names WHERE r.id = names.id GROUP BY name;
        INSERT INTO r VALUES (1), (1), (3);
        COMMIT""")
    assert rows(db["v"]) == ["('one', 2)"]
    db.execute("CREATE TABLE more (id BIGINT) WITH (static = true)")
    before = state(db)
    db.execute("BEGIN; INSERT INTO more VALUES (1); CREATE VIEW w AS SELECT * FROM more")
    with pytest.raises(errors.UnsupportedError, match="commit the changes of the table first"):
        db.execute("COMMIT")
    assert state(db) == before
    # As the message says.
    db.execute("BEGIN; INSERT INTO more VALUES (1); COMMIT; CREATE VIEW w AS SELECT * FROM more")
    assert rows(db["w"]) == ["(1,)"]


def test_a_view_that_others_read_is_not_replaced() -> None:
    db = shop()
    before = state(db)
    text = "CREATE OR REPLACE VIEW sums AS SELECT b, SUM(a) + 1 AS a FROM r GROUP BY b"
    with pytest.raises(errors.UnsupportedError, match="other views read it: above"):
        db.execute(f"BEGIN; {text}")
    db.execute("ROLLBACK")
    assert state(db) == before
    above = db["above"].sql
    db.execute(f"BEGIN; DROP VIEW above; {text}; CREATE VIEW above AS {above}; COMMIT")
    alone = shop()
    alone.execute(text)
    assert rows(db["above"]) == rows(alone["above"])
    assert rows(db["sums"]) == rows(alone["sums"])


def test_rows_that_are_not_kept() -> None:
    db = rv.Database(trust_deletes=True)
    db.execute("CREATE TABLE r (a BIGINT); CREATE VIEW v AS SELECT SUM(a) AS s FROM r")
    db.insert("r", {"a": [3]})
    db.execute("BEGIN; DROP VIEW v")
    with pytest.raises(errors.UnsupportedError, match="drop it outside of a transaction"):
        db.execute("COMMIT")
    assert db["v"].scalar() == 3
    db.execute("DROP VIEW v")
    db.execute(
        "BEGIN; CREATE TABLE s (a BIGINT); CREATE VIEW w AS SELECT SUM(a) FROM s;"
        "INSERT INTO s VALUES (4); COMMIT"
    )
    assert db["w"].scalar() == 4


def test_functions_of_the_user() -> None:
    db = shop()
    db.create_function("twice", lambda a: pc.multiply(a, 2), ["int64"], "int64")
    db.execute(
        "BEGIN; CREATE VIEW w AS SELECT SUM(twice(a)) AS a FROM r;"
        "UPDATE r SET a = twice(a) WHERE b = 'y'; COMMIT"
    )
    assert db["w"].scalar() == 18


def test_samples_are_not_read_beside_changes() -> None:
    db = shop()
    db.create_sample("drawn", "SELECT r.a FROM r", k=2, seed=1)
    db.execute("BEGIN; CREATE TABLE t (a BIGINT); INSERT INTO r VALUES (1, 'x')")
    with pytest.raises(errors.UnsupportedError, match="commit first"):
        db.execute("SELECT * FROM drawn")
    db.execute("ROLLBACK")


def test_keys_are_checked_at_the_end() -> None:
    db = shop()
    before = state(db)
    db.execute("BEGIN; ALTER TABLE s DROP COLUMN c; INSERT INTO s VALUES (1)")
    with pytest.raises(errors.DuplicateKeyError):
        db.execute("COMMIT")
    assert state(db) == before
    db.execute(
        "BEGIN; ALTER TABLE s DROP COLUMN c; INSERT OR IGNORE INTO s VALUES (1), (3); COMMIT"
    )
    assert rows(db.tables["s"]) == ["(1,)", "(2,)", "(3,)"]
