"""Views that a change makes fail and that are suspended, in the place of refusing the change."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import ringview as rv
from ringview.errors import (
    ArithmeticOverflowError,
    ExistsError,
    InvalidValueError,
    OverDeleteError,
    SuspendedError,
    UnsupportedError,
)

NUMBERS = "SELECT k, SUM(CAST(a AS BIGINT)) AS n FROM t GROUP BY k"


def database(**options: Any) -> tuple[rv.Database, rv.View, rv.View]:
    """A table of texts, a view of their numbers, and one that takes any text."""
    db = rv.Database(**options)
    db.create_table("t", {"k": "int64", "a": "string"})
    numbers = db.create_view("numbers", NUMBERS, on_error="suspend")
    return db, numbers, db.create_view("rows", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")


def rows(view: rv.View) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in view), key=repr)


def test_a_change_that_a_view_cannot_take_is_applied_without_it() -> None:
    db, numbers, others = database()
    db.insert("t", {"k": [1, 1], "a": ["2", "3"]})
    db.insert("t", {"k": [1, 2], "a": ["x", "4"]})
    assert rows(others) == [(1, 3), (2, 1)]
    assert repr(numbers) == "View('numbers', suspended)"
    assert numbers._repr_html_()
    suspension = numbers.suspension
    assert suspension is not None
    assert suspension.since.tzinfo is not None
    assert "'x'" in suspension.why
    assert "transaction" not in suspension.why
    for read in (numbers.to_arrow, numbers.explain, lambda: len(numbers), lambda: list(numbers)):
        with pytest.raises(SuspendedError, match=r"suspended since 20.* UTC: .*'x'.*resume"):
            read()
    with pytest.raises(SuspendedError):
        db.sql("SELECT * FROM numbers")
    db.insert("t", {"k": [2], "a": ["y"]})
    assert rows(others) == [(1, 3), (2, 2)]
    with pytest.raises(InvalidValueError, match="'x'"):
        numbers.resume()
    db.delete("t", {"k": [1], "a": ["x"]})
    with pytest.raises(InvalidValueError, match="'y'"):
        numbers.resume()
    assert numbers.suspension == suspension
    db.delete("t", {"k": [2], "a": ["y"]})
    assert numbers.resume() == ["numbers"]
    assert numbers.suspension is None
    assert rows(numbers) == [(1, 5), (2, 4)]
    db.insert("t", {"k": [2], "a": ["6"]})
    assert rows(numbers) == [(1, 5), (2, 10)]
    assert numbers.resume() == []


def test_by_default_the_change_is_refused() -> None:
    db, numbers, others = database()
    given: list[dict[str, Any]] = [{}, {"on_error": "refuse"}]
    for on_error in given:
        strict = db.create_view("strict", NUMBERS.replace("SUM", "MAX"), **on_error)
        with pytest.raises(InvalidValueError, match="'x'"):
            db.insert("t", {"k": [1], "a": ["x"]})
        # A view that fails with it is as it was.
        assert rows(others) == [] == rows(numbers)
        db.insert("t", {"k": [1], "a": ["1"]})
        db.delete("t", {"k": [1], "a": ["1"]})
        assert rows(strict) == [] == rows(numbers)
        db.drop_view("strict")
    with pytest.raises(InvalidValueError, match="'refuse', 'null' or 'suspend', not 'ignore'"):
        db.create_view("w", NUMBERS, on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="no rows are kept"):
        database(trust_deletes=True)


def test_views_above_are_suspended_with_it_or_hold_it() -> None:
    db, numbers, _ = database()
    above = db.create_view("above", "SELECT MAX(n) AS n FROM numbers", on_error="suspend")
    top = db.create_view("top", "SELECT n + 1 AS n FROM above", on_error="suspend")
    db.insert("t", {"k": [1], "a": ["1"]})
    db.insert("t", {"k": [2], "a": ["x"]})
    for view in (above, top):
        suspension = view.suspension
        assert suspension is not None
        assert suspension.why.startswith('it reads "numbers": ')
    with pytest.raises(SuspendedError):
        db.create_view("more", "SELECT * FROM top")
    with pytest.raises(ExistsError):
        db.create_view("top", "SELECT k FROM t")
    db.delete("t", {"k": [2], "a": ["x"]})
    assert sorted(top.resume()) == ["above", "numbers", "top"]
    assert (rows(numbers), rows(above), rows(top)) == ([(1, 1)], [(1,)], [(2,)])
    db.create_view("holds", "SELECT COUNT(*) AS n FROM top")
    with pytest.raises(InvalidValueError):
        db.insert("t", {"k": [2], "a": ["x"]})
    db.insert("t", {"k": [2], "a": ["7"]})
    assert (rows(numbers), rows(top)) == ([(1, 1), (2, 7)], [(8,)])


def test_a_change_that_is_refused_in_the_end_suspends_nothing() -> None:
    db, numbers, others = database()
    db.insert("t", {"k": [1], "a": ["1"]})
    follower = numbers.follow()
    follower.poll()
    with pytest.raises(OverDeleteError), db.transaction() as tx:
        tx.insert("t", {"k": [1], "a": ["x"]})
        tx.delete("t", {"k": [5], "a": ["5"]})
    db.create_view("strict", "SELECT COUNT(*) AS n FROM t WHERE CAST(a AS TINYINT) > 0")
    # The first of them may be suspended, the second refuses.
    with pytest.raises(InvalidValueError):
        db.insert("t", {"k": [1], "a": ["x"]})
    assert numbers.suspension is None
    db.insert("t", {"k": [1], "a": ["2"]})
    assert rows(numbers) == [(1, 3)]
    assert rows(others) == [(1, 2)]
    changes = follower.poll()
    assert changes is not None
    moved = changes.to_pylist()
    assert sorted((row["k"], row["n"], row["multiplicity"]) for row in moved) == [
        (1, 1, -1),
        (1, 3, 1),
    ]


def test_followers_are_given_the_difference() -> None:
    db, numbers, _ = database()
    twin = db.create_view("twin", NUMBERS, on_error="suspend")
    held: list[Counter[Any]] = [Counter(), Counter()]
    followers = [numbers.follow(), twin.follow()]

    def take() -> None:
        for follower, known in zip(followers, held, strict=True):
            moved = follower.poll()
            for row in [] if moved is None else moved.to_pylist():
                known[row["k"], row["n"]] += row["multiplicity"]

    db.insert("t", {"k": [1, 2, 3], "a": ["1", "2", "3"]})
    take()
    db.insert("t", {"k": [1], "a": ["5"]})
    db.insert("t", {"k": [2], "a": ["x"]})
    assert twin.suspension is not None
    with pytest.raises(SuspendedError):
        followers[0].poll()
    db.delete("t", {"k": [2, 3], "a": ["x", "3"]})
    assert sorted(twin.resume()) == ["numbers", "twin"]
    take()
    for known in held:
        assert +known == Counter({(1, 6): 1, (2, 2): 1})
        assert -known == Counter()
    db.insert("t", {"k": [3], "a": ["9"]})
    take()
    assert all(+known == Counter({(1, 6): 1, (2, 2): 1, (3, 9): 1}) for known in held)


def test_a_sum_that_overflows_leaves_those_it_shares_rows_with() -> None:
    db = rv.Database()
    db.create_table("t", {"k": "int64", "a": "int64"})
    small = "SELECT k, SUM(a)::BIGINT AS s FROM t GROUP BY k"
    large = "SELECT k, SUM(a) AS s, COUNT(*) AS n FROM t GROUP BY k"
    one = db.create_view("small", small, on_error="suspend")
    other = db.create_view("large", large)
    top = 2**63 - 1
    db.insert("t", {"k": [1, 1], "a": [top, 1]})
    assert one.suspension is not None
    assert rows(other) == [(1, top + 1, 2)]
    with pytest.raises((ArithmeticOverflowError, InvalidValueError)):
        one.resume()
    # A later view of the same rows does not depend on the suspended one.
    later = db.create_view("later", "SELECT k, MAX(a) AS m, SUM(a) AS s FROM t GROUP BY k")
    db.delete("t", {"k": [1], "a": [1]})
    assert one.resume() == ["small"]
    assert rows(one) == [(1, top)]
    assert rows(later) == [(1, top, top)]


def test_a_suspended_view_is_dropped_and_replaced() -> None:
    db, _numbers, others = database()
    db.insert("t", {"k": [1], "a": ["x"]})
    made = db.create_view(
        "numbers",
        "SELECT k, SUM(TRY_CAST(a AS BIGINT)) AS n FROM t GROUP BY k",
        create_or_replace=True,
        on_error="suspend",
    )
    assert rows(made) == [(1, None)]
    db.drop_view("numbers")
    db.create_view("numbers", "SELECT k, COUNT(a) AS n FROM t GROUP BY k")
    db.insert("t", {"k": [2], "a": ["7"]})
    strict = db.create_view(
        "last", NUMBERS.replace("FROM t", "FROM t WHERE k > 1"), on_error="suspend"
    )
    db.insert("t", {"k": [2], "a": ["x"]})
    assert strict.suspension is not None
    db.drop_view("last")
    with pytest.raises(InvalidValueError):
        # Rows that are there make its creation fail, which raises at once.
        db.create_view("last", NUMBERS, on_error="suspend")
    assert rows(others) == [(1, 1), (2, 2)]


def test_a_file_keeps_what_is_suspended(tmp_path: Path) -> None:
    path = tmp_path / "a.ringview"
    with rv.Database.open(path) as db:
        db.create_table("t", {"k": "int64", "a": "string"})
        db.create_view("numbers", NUMBERS, on_error="suspend")
        db.create_view("above", "SELECT SUM(n) AS n FROM numbers", on_error="suspend")
        db.create_view("rows", "SELECT COUNT(*) AS n FROM t")
        db.insert("t", {"k": [1, 2], "a": ["1", "2"]})
        db.insert("t", {"k": [1], "a": ["x"]})
    for snapshots in (False, True):
        with rv.Database.open(path) as db:
            assert {name for name in db.views if db.views[name].suspension} == {"numbers", "above"}
            assert rows(db.views["rows"]) == [(3,)]
            with pytest.raises(SuspendedError, match="'x'"):
                db.views["above"].to_arrow()
            if snapshots:
                db.snapshot()
    with rv.Database.open(path) as db:
        db.delete("t", {"k": [1], "a": ["x"]})
        assert sorted(db.views["above"].resume()) == ["above", "numbers"]
        assert rows(db.views["above"]) == [(3,)]
        db.insert("t", {"k": [1], "a": ["y"]})
        db.delete("t", {"k": [1], "a": ["y"]})
        assert db.views["numbers"].suspension is not None
    # The rows that made it fail were deleted, so the view is filled when the file is opened.
    with rv.Database.open(path) as db:
        assert db.views["numbers"].suspension is None
        assert rows(db.views["numbers"]) == [(1, 1), (2, 2)]


DEFINITIONS = [
    "SELECT k, SUM(CAST(a AS BIGINT)) AS n FROM t GROUP BY k",
    "SELECT k, SUM(CAST(a AS TINYINT)) AS n, COUNT(*) AS c FROM t GROUP BY k",
    "SELECT t.k, SUM(CAST(t.a AS SMALLINT) * u.b) AS n FROM t JOIN u ON t.k = u.k GROUP BY t.k",
    "SELECT MAX(CAST(a AS TINYINT)) AS n FROM t WHERE k > 1",
    "SELECT k, CAST(a AS TINYINT) AS n FROM t WHERE k < 3",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k",
    "SELECT k, SUM(b) AS n FROM u GROUP BY k",
    "SELECT t.k, COUNT(*) AS n FROM t JOIN u ON t.k = u.k GROUP BY t.k",
]


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.long] * (s > 3)) for s in range(40)]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_streams_that_make_views_fail(seed: int, threads: int) -> None:
    """Towers of views under changes with texts that are no numbers or too large: a view that is not
    suspended has the rows that it would have in a new database; a view that can be made there can
    be resumed."""
    draw = random.Random(seed)
    db = rv.Database(threads=threads)
    db.create_table("t", {"k": "int64", "a": "string"})
    db.create_table("u", {"k": "int64", "b": "int64"})
    views: dict[str, str] = {}
    for at in range(24):
        below = [name for name in views if at >= len(DEFINITIONS)]
        sql = DEFINITIONS[at] if at < len(DEFINITIONS) else draw.choice(DEFINITIONS)
        if below and draw.random() < 0.7:
            sql = f"SELECT COUNT(*) AS c, SUM(n) AS n FROM {draw.choice(below)}"
        views[f"v{at}"] = sql
        db.create_view(f"v{at}", sql, on_error="suspend")
    followed = {name: db.views[name].follow() for name in views if draw.random() < 0.3}
    held: dict[str, Counter[Any]] = {name: Counter() for name in followed}
    texts = ["1", "2", "-3", "40"]
    there: list[dict[str, Any]] = []
    suspended = 0
    for _ in range(20):
        with db.transaction() as tx:
            for _ in range(draw.randrange(1, 4)):
                if there and draw.random() < 0.5:
                    row = there.pop(draw.randrange(len(there)))
                    tx.delete("t", [row])
                else:
                    odd = ["x", "300", "99999999999999999999"]
                    text = draw.choice(odd if draw.random() < 0.4 else texts)
                    row = {"k": draw.randrange(5), "a": text}
                    there.append(row)
                    tx.insert("t", [row])
            tx.insert("u", [{"k": draw.randrange(5), "b": draw.randrange(100)}])
        fresh = rv.Database()
        for name in ("t", "u"):
            fresh.create_table(name, db.tables[name].schema)
            fresh.insert(name, db.tables[name].to_arrow())
        can_be: set[str] = set()
        for name, sql in views.items():
            try:
                fresh.create_view(name, sql)
                can_be.add(name)
            except Exception:
                continue
        for name in draw.sample(sorted(views), 16):
            if db.views[name].suspension is None:
                continue
            suspended += 1
            try:
                resumed = db.views[name].resume()
                assert name in resumed
                assert set(resumed) <= can_be
            except (InvalidValueError, ArithmeticOverflowError):
                pass
        for name in views:
            if db.views[name].suspension is None:
                assert rows(db.views[name]) == rows(fresh.views[name]), (name, views[name])
                if name in followed:
                    moved = followed[name].poll()
                    for change in [] if moved is None else moved.to_pylist():
                        times = change.pop("multiplicity")
                        held[name][tuple(change.values())] += times
                    now = Counter(rows(db.views[name]))
                    assert held[name] == now, name
    assert suspended
