"""Followers: each is given every change once, whatever fails; what is kept for them is bounded."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from ringview import errors

VIEWS = {
    "groups": "SELECT a, SUM(c) AS s, COUNT(*) AS n FROM r NATURAL JOIN s GROUP BY a",
    "having": "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING COUNT(*) > 1",
    "one row": "SELECT COUNT(*) AS n, SUM(b) AS s FROM r",
    "extremes": "SELECT a, MIN(c) AS low, COUNT(DISTINCT c) AS n FROM r NATURAL JOIN s GROUP BY a",
    "cofactor": "SELECT a, COFACTOR(c), COUNT(*) AS n FROM r NATURAL JOIN s GROUP BY a",
    "join": "SELECT * FROM r NATURAL JOIN s",
    "distinct": "SELECT DISTINCT a, b FROM r",
    "listing": "SELECT a, c FROM r NATURAL JOIN s",
}


def tables() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64 not null"})
    db.create_table("s", {"b": "int64 not null", "c": "int64 not null"})
    return db


def make(name: str) -> tuple[rv.Database, rv.View]:
    db = tables()
    kind: Any = "listing" if name == "listing" else None
    return db, db.create_view("v", VIEWS[name], representation=kind)


def bag(table: pa.Table) -> Counter[str]:
    return Counter(str(row) for row in table.to_pylist())


def replay(onto: Counter[str], batch: pa.Table) -> None:
    """Apply a batch of changes; no row may be there less than never."""
    assert batch.column_names[-1] == "multiplicity"
    for row in batch.to_pylist():
        times = row.pop("multiplicity")
        onto[str(row)] += times
    assert all(count >= 0 for count in onto.values())


STEPS = st.one_of(
    st.tuples(st.just("change"), st.lists(st.integers(0, 35), min_size=1, max_size=4)),
    st.tuples(
        st.sampled_from(["whole", "from now", "read", "close", "drop", "fail"]), st.integers(0, 3)
    ),
)


@pytest.mark.parametrize("name", VIEWS)
@examples(25)
@given(steps=st.lists(STEPS, max_size=25))
def test_each_follower_is_given_every_change_once(name: str, steps: list[Any]) -> None:
    """The changes of a follower, replayed, are the view at the time of its last read."""
    db, view = make(name)
    rows: dict[str, list[dict[str, int]]] = {"r": [], "s": []}
    following: list[tuple[rv.Follower, Counter[str]]] = []
    for step, what in steps:
        if step == "change":
            with db.transaction() as tx:
                for code in what:
                    change(tx, rows, code)
        elif step == "whole":
            following.append((view.follow(), Counter()))
        elif step == "from now":
            following.append((view.follow(initial=False), bag(view.to_arrow())))
        elif following and what < len(following):
            follower, seen = following[what]
            if step == "read":
                replay(seen, follower.changes())
                assert +seen == bag(view.to_arrow())
                assert follower.changes().num_rows == 0
            elif step == "fail":
                with pytest.raises(ZeroDivisionError):
                    follower._native.changes(lambda _: 1 // 0)
            else:
                if step == "close":
                    follower.close()
                del following[what], follower
    for follower, seen in following:
        replay(seen, follower.changes())
        assert +seen == bag(view.to_arrow())


def change(tx: rv.Transaction, rows: dict[str, list[dict[str, int]]], code: int) -> None:
    """The insert or delete of a number."""
    name, names = ("r", "ab") if code % 2 else ("s", "bc")
    held = rows[name]
    if code % 3 == 0 and held:
        tx.delete(name, [held.pop(code % len(held))])
        return
    row = {names[0]: code % 4, names[1]: code // 12}
    held.append(row)
    tx.insert(name, [row])


@pytest.mark.parametrize("name", ["groups", "join"])
def test_changes_that_are_interrupted_come_again(name: str) -> None:
    db, view = make(name)
    db.insert("r", {"a": [1], "b": [1]})
    follower = view.follow()
    for place in (follower._native.changes, lambda into: view._native.view_changes("v", into)):
        given: list[Any] = []

        def interrupted(rows: Any, given: list[Any] = given) -> Any:
            given.append(pa.table(rows))
            signal.raise_signal(signal.SIGINT)
            return given[0]

        for row in (1, 2):
            db.insert("s", {"b": [1], "c": [row]})
            with pytest.raises(KeyboardInterrupt):
                place(interrupted)
            again = place(pa.table)
            assert bag(again) == bag(given.pop())
            assert again.num_rows > 0
            given.clear()
        assert place(pa.table).num_rows == 0


def test_rows_that_are_too_many_to_be_handed_over_are_not_lost() -> None:
    db = rv.Database(memory_limit="1GB")
    for name in "rs":
        db.create_table(name, {name: "int64"})
        db.insert(name, {name: range(2**17)})
    view = db.create_view("v", "SELECT r, s FROM r CROSS JOIN s")
    with pytest.raises(errors.OutOfMemoryError, match="rows"):
        view.changes()
    for name in "rs":
        db.delete(name, {name: range(2, 2**17)})
    assert view.changes().num_rows == 4


@pytest.mark.parametrize("name", ["groups", "join", "extremes", "listing"])
def test_a_window_of_fresh_keys_takes_no_more_of_a_log_than_its_size(name: str) -> None:
    """After any inserts and deletes while followers are asleep, read in turn, or have left."""
    db, view = make(name)
    db.insert("s", {"b": [1], "c": [1]})
    view.changes()
    asleep, awake = view.follow(initial=False), view.follow()
    size = 300
    used = []
    for step in range(60):
        with db.transaction() as tx:
            tx.insert("r", {"a": range(step * size, (step + 1) * size), "b": [1] * size})
            if step:
                tx.delete("r", {"a": range((step - 1) * size, step * size), "b": [1] * size})
        if step % 3 == 0:
            awake.changes()
        used.append(db.memory_usage()["view v"])
    assert max(used[30:]) <= 1.3 * max(used[:10])
    last = range(59 * size, 60 * size)
    assert sorted(asleep.changes()["a"].to_pylist()) == list(last)
    assert sorted(view.changes()["a"].to_pylist()) == list(last)


def test_a_log_is_kept_as_long_as_somebody_follows() -> None:
    db, view = make("groups")
    db.insert("s", {"b": [1], "c": [1]})

    def grown() -> int:
        """Bytes that a change of 3000 groups adds."""
        before = db.memory_usage()["view v"]
        db.insert("r", {"a": range(3000), "b": [1] * 3000})
        db.delete("r", {"a": range(3000), "b": [1] * 3000})
        db.insert("r", {"a": range(3000), "b": [1] * 3000})
        after = db.memory_usage()["view v"]
        db.delete("r", {"a": range(3000), "b": [1] * 3000})
        return after - before

    grown()
    nobody = grown()
    for end in (rv.Follower.close, lambda follower: follower.__exit__(None, None, None)):
        follower = view.follow(initial=False)
        assert grown() > nobody + 3000 * 8
        end(follower)
        assert grown() <= nobody
    follower = view.follow(initial=False)
    del follower
    assert grown() <= nobody
    view.changes()
    assert grown() > nobody + 3000 * 8
    view.unfollow()
    assert grown() <= nobody


def test_waiting_sees_what_another_thread_inserts_and_lets_it_work() -> None:
    db, view = make("groups")
    db.insert("s", {"b": [1], "c": [7]})
    follower = view.follow(initial=False)
    waits = threading.Event()

    def insert() -> None:
        waits.wait()
        db.insert("r", {"a": [1], "b": [2]})  # moves nothing in the view
        db.insert("r", {"a": [1], "b": [1]})

    thread = threading.Thread(target=insert)
    thread.start()
    waits.set()
    found = follower.poll(timeout=None)
    assert found is not None
    assert found.to_pylist() == [{"a": 1, "s": 7, "n": 1, "multiplicity": 1}]
    thread.join()
    assert follower.poll() is None
    assert follower.poll(timeout=0.01) is None


def test_ctrl_c_ends_a_wait() -> None:
    _, view = make("groups")
    follower = view.follow(initial=False)
    killer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        follower.poll(timeout=None)
    killer.join()


@pytest.mark.parametrize("end", ["follower", "view", "database"])
def test_iteration_ends_when_nothing_more_can_come(end: str) -> None:
    db, view = make("join")
    db.insert("r", {"a": [1], "b": [1]})
    db.insert("s", {"b": [1], "c": [1]})
    assert [batch.num_rows for batch in view.follow(timeout=0)] == [1]
    with view.follow(initial=False) as follower:
        ends = {"follower": follower.close, "view": lambda: db.drop_view("v"), "database": db.close}
        ender = threading.Timer(0.02, ends[end])
        ender.start()
        assert list(follower) == []
        ender.join()
        with pytest.raises(
            errors.RingviewError, match="there is no view" if end == "view" else "closed"
        ):
            follower.changes()
        assert follower.closed == (end != "view")
        assert repr(follower).endswith(", closed)") == follower.closed


def test_a_column_named_multiplicity_keeps_its_name() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    view = db.create_view("v", "SELECT a, COUNT(*) AS multiplicity FROM r GROUP BY a")
    rows = db.create_view("w", "SELECT a AS multiplicity FROM r")
    db.insert("r", {"a": [5, 5]})
    assert view.changes().to_pylist() == [{"a": 5, "multiplicity": 2, "multiplicity_": 1}]
    assert set(rows.changes().column_names) == {"multiplicity", "multiplicity_"}


def test_a_handle_is_of_one_view() -> None:
    db = rv.Database()
    table = db.create_table("r", {"a": "int64"})
    view = db.create_view("v", "SELECT COUNT(*) AS n FROM r")
    follower = view.follow()
    assert view == db["v"] == db.views["v"]
    assert table == db.tables["r"]
    assert len({view, db["v"], table, db.tables["r"]}) == 2
    assert view not in (table, "v", rv.Database())
    db.drop_view("v")
    with pytest.raises(errors.UnknownViewError, match="there is no view"):
        view.to_arrow()
    new = db.create_view("v", "SELECT SUM(a) AS n FROM r")
    assert new != view
    stale: list[Any] = [
        view.to_arrow, view.changes, view.scalar, view.explain, view.follow, lambda: len(view),
        lambda: view[0], lambda: view.sql, lambda: view.schema, lambda: view.get({}),
        view.unfollow, follower.changes, follower.poll, lambda: view.where(n=0),
    ]  # fmt: skip
    for call in stale:
        with pytest.raises(errors.UnknownViewError, match="was dropped"):
            call()
    db.drop_view("v")
    db.drop_table("r")
    db.create_table("r", {"a": "int64"})
    for call in (table.to_arrow, lambda: len(table), lambda: table.insert({"a": [1]})):
        with pytest.raises(errors.UnknownTableError, match="was dropped"):
            call()
