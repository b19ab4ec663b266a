"""RETURNING of INSERT, UPDATE and DELETE: the rows as they are then, by `db.execute`."""

from __future__ import annotations

import random
from typing import Any

import pyarrow.compute as pc
import pytest
import ringview as rv
from ringview import errors


def shop() -> rv.Database:
    db = rv.Database()
    db.execute("""
        CREATE TABLE r (id BIGINT PRIMARY KEY, a VARCHAR DEFAULT 'x', n INTEGER);
        CREATE TABLE bag (k BIGINT, "K two" VARCHAR);
        INSERT INTO r VALUES (1, 'one', 10), (2, 'two', 20), (3, NULL, 30);
        INSERT INTO bag VALUES (1, 'y'), (1, 'y'), (2, NULL)""")
    return db


def rows(db: rv.Database, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Rows that a statement returns."""
    found = db.execute(sql, list(parameters)) if parameters else db.execute(sql)
    return [tuple(row.values()) for row in found.to_pylist()]


@pytest.mark.parametrize(
    ("sql", "names", "wanted"),
    [
        (
            "INSERT INTO r (id) VALUES (9), (8) RETURNING *",
            ["id", "a", "n"],
            [(9, "x", None), (8, "x", None)],
        ),
        ("INSERT INTO r (n, id) VALUES (1, 9) RETURNING ID", ["id"], [(9,)]),
        ("INSERT INTO r VALUES (9, 'a', 2) RETURNING n AS two, r.id", ["two", "id"], [(2, 9)]),
        ("INSERT INTO r VALUES (9, 'a', 2) RETURNING id, id", ["id", "id_1"], [(9, 9)]),
        (
            "INSERT INTO r SELECT id + 10, a, n FROM r ORDER BY id RETURNING n",
            ["n"],
            [(10,), (20,), (30,)],
        ),
        (
            "INSERT INTO r VALUES (1, 'z', 0), (9, 'z', 1) ON CONFLICT DO NOTHING RETURNING id",
            ["id"],
            [(9,)],
        ),
        (
            "INSERT INTO r VALUES (9, 'z', 0), (2, 'z', 1), (1, 'z', 2) "
            "ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING *",
            ["id", "a", "n"],
            [(9, "z", 0), (2, "two", 1), (1, "one", 2)],
        ),
        (
            "INSERT INTO r VALUES (9, 'a', 2) RETURNING r.*, r.n + id AS s",
            ["id", "a", "n", "s"],
            [(9, "a", 2, 11)],
        ),
        ("INSERT OR REPLACE INTO r VALUES (2, 'z', 1) RETURNING a", ["a"], [("z",)]),
        (
            "UPDATE r SET n = n + 1 WHERE id > 1 RETURNING n, a",
            ["n", "a"],
            [(21, "two"), (31, None)],
        ),
        (
            "UPDATE r AS t SET id = id + 1 WHERE n = 30 RETURNING upper(a) AS u, id",
            ["u", "id"],
            [(None, 4)],
        ),
        ("UPDATE r SET n = 0 WHERE id > 9 RETURNING *", ["id", "a", "n"], []),
        (
            "DELETE FROM r WHERE id = 2 RETURNING id * 100 AS c, *",
            ["c", "id", "a", "n"],
            [(200, 2, "two", 20)],
        ),
        ("DELETE FROM r RETURNING coalesce(a, '-')", None, [("-",), ("one",), ("two",)]),
        ('DELETE FROM bag RETURNING "K two", k', ["K two", "k"], [("y", 1), ("y", 1), (None, 2)]),
        ("DELETE FROM bag RETURNING k + 1 AS place", ["place"], [(2,), (2,), (3,)]),
    ],
)
def test_what_is_returned(sql: str, names: list[str] | None, wanted: list[tuple[Any, ...]]) -> None:
    for within in (False, True):
        db = shop()
        if within:
            db.execute("BEGIN")
        found = db.execute(sql)
        if names is not None:
            assert found.column_names == names
        read = [tuple(row.values()) for row in found.to_pylist()]
        # Rows that are found, by UPDATE and DELETE, have no order.
        assert (read if sql.startswith("INSERT") else sorted(read, key=str)) == (
            wanted if sql.startswith("INSERT") else sorted(wanted, key=str)
        )
        if within:
            db.execute("ROLLBACK")
            assert len(db.tables["r"]) == 3


def test_parameters_and_functions_of_the_user() -> None:
    db = shop()
    db.create_function("twice", lambda x: pc.add(x, x), ["int32"], "int32")
    found = rows(db, "UPDATE r SET n = ? WHERE id = ? RETURNING twice(n), n + ?", 7, 1, 100)
    assert found == [(14, 107)]


def test_rows_are_those_that_the_transaction_has() -> None:
    db = shop()
    db.execute("BEGIN; INSERT INTO r VALUES (4, 'four', 40); UPDATE r SET n = n + 1")
    assert rows(db, "DELETE FROM r WHERE id > 3 RETURNING n") == [(41,)]
    db.execute("COMMIT")
    assert sorted(rows(db, "SELECT n FROM r")) == [(11,), (21,), (31,)]


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DELETE FROM r RETURNING z", 'no column "z" in table "r"'),
        ("DELETE FROM r RETURNING z + 1", "z"),
        ("DELETE FROM r RETURNING s.id", 'the rows of "r" alone'),
        ("DELETE FROM r RETURNING s.*", 'the rows of "r" alone'),
        ("DELETE FROM r t RETURNING r.id", 'the rows of "t" alone'),
        ("DELETE FROM r RETURNING (SELECT MAX(k) FROM bag)", "a statement of their own"),
        ("DELETE FROM r RETURNING id IN (SELECT k FROM bag)", "a statement of their own"),
        (
            "DELETE FROM r RETURNING id, SUM(n) + 1",
            "line 1, column 29: RETURNING has no aggregates",
        ),
        ("DELETE FROM r RETURNING * EXCLUDE (id)", "name the columns"),
    ],
)
def test_what_is_not_returned_changes_nothing(sql: str, problem: str) -> None:
    db = shop()
    with pytest.raises(errors.RingviewError) as caught:
        db.execute(sql)
    assert problem in str(caught.value)
    assert len(db.tables["r"]) == 3


def test_a_condition_of_its_own_returns_nothing() -> None:
    db = shop()
    with pytest.raises(errors.QueryError):
        db.delete("r", where="id = 1) RETURNING (id")
    assert db.delete("r", where="id = 1") == 1


def test_files_have_what_was_returned(tmp_path: Any) -> None:
    path = tmp_path / "shop.ringview"
    with rv.Database.open(path) as db:
        db.execute("CREATE TABLE r (id BIGINT PRIMARY KEY, a VARCHAR)")
        assert rows(db, "INSERT INTO r VALUES (1, 'a'), (2, 'b') RETURNING id") == [(1,), (2,)]
        assert rows(db, "DELETE FROM r WHERE id = 1 RETURNING a") == [("a",)]
    with rv.Database.open(path) as db:
        assert rows(db, "SELECT * FROM r") == [(2, "b")]


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_return_what_they_change(seed: int) -> None:
    chosen, db = random.Random(seed), rv.Database()
    db.execute("CREATE TABLE r (id BIGINT PRIMARY KEY, n BIGINT)")
    held: dict[int, int] = {}
    for _ in range(30):
        low, step = chosen.randrange(12), chosen.randrange(5)
        kind = chosen.choice(["insert", "update", "delete"])
        if kind == "insert":
            given = {chosen.randrange(12): step for _ in range(3)}
            values = ", ".join(f"({id}, {n})" for id, n in given.items())
            upsert = "ON CONFLICT (id) DO UPDATE SET n = excluded.n"
            found = rows(db, f"INSERT INTO r VALUES {values} {upsert} RETURNING id, n * 2 AS m, *")
            held |= given
            assert found == [(id, 2 * n, id, n) for id, n in given.items()]
        elif kind == "update":
            found = rows(db, "UPDATE r SET n = n + ? WHERE id >= ? RETURNING *", step, low)
            held |= {id: n + step for id, n in held.items() if id >= low}
            assert sorted(found) == sorted((id, n) for id, n in held.items() if id >= low)
        else:
            found = rows(db, "DELETE FROM r WHERE id < ? RETURNING n, id", low)
            assert sorted(found) == sorted((n, id) for id, n in held.items() if id < low)
            held = {id: n for id, n in held.items() if id >= low}
    assert sorted(rows(db, "SELECT * FROM r")) == sorted(held.items())
