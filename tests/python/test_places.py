"""Followers with names: each resumes where it committed, whatever happens to process and file."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from ringview.errors import (
    InvalidValueError,
    RingviewError,
    UnknownViewError,
    UnsupportedError,
)
from test_followers import VIEWS, change

STEPS = st.one_of(
    st.tuples(st.just("change"), st.lists(st.integers(0, 35), min_size=1, max_size=4)),
    st.tuples(st.sampled_from(["look", "look", "commit", "again", "fail"]), st.integers(0, 1)),
    st.tuples(st.sampled_from(["snapshot", "close", "crash"]), st.just(0)),
)


def rest(follower: rv.Follower) -> Counter[str]:
    """All its remaining changes, which are returned in parts."""
    found: Counter[str] = Counter()
    while (batch := follower.changes()).num_rows:
        replay(found, batch)
    return found


def replay(onto: Counter[str], batch: pa.Table) -> None:
    """Add what moved; alone, it may take rows that are not there."""
    for row in batch.to_pylist():
        times = row.pop("multiplicity")
        onto[plain(row)] += times


def bag(table: pa.Table) -> Counter[str]:
    return Counter(plain(row) for row in table.to_pylist())


def plain(row: dict[str, Any]) -> str:
    """A row, without the origin of a COFACTOR in this process: the first rows determine it."""
    for value in row.values():
        if isinstance(value, dict):
            value.pop("shifted", None)
    return str(row)


class Reader:
    """A follower, and what it has been given: until its last commit, and since."""

    def __init__(self, view: rv.View, name: str, initial: bool) -> None:
        self.name = name
        self.committed: Counter[str] = Counter() if initial else bag(view.to_arrow())
        self.given: Counter[str] = Counter(self.committed)
        self.follower = view.follow(name, initial=initial)

    def again(self, view: rv.View) -> None:
        """Follow once more, from where it committed."""
        self.follower = view.follow(self.name)
        self.given = Counter(self.committed)

    def check(self, view: rv.View) -> None:
        """Its committed changes and those after them are the view."""
        self.again(view)
        left = self.given + Counter()
        for row, times in rest(self.follower).items():
            left[row] += times
        assert +left == bag(view.to_arrow())
        assert all(times >= 0 for times in left.values())
        self.again(view)


# A killed process leaves a copy of its file: each in a name of its own.
_names = itertools.count()


@pytest.mark.parametrize("name", VIEWS)
@examples(8)
@given(steps=st.lists(STEPS, max_size=20))
def test_a_name_goes_on_where_it_committed(
    tmp_path_factory: pytest.TempPathFactory, name: str, steps: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("places")
    path = folder / "db"
    db = rv.Database.open(path)
    for table, schema in (("r", ("a", "b")), ("s", ("b", "c"))):
        first, second = schema
        db.create_table(table, {first: "int64", second: "int64 not null"})
    kind: Any = "listing" if name == "listing" else None
    view = db.create_view("v", VIEWS[name], representation=kind)
    rows: dict[str, list[dict[str, int]]] = {"r": [], "s": []}
    readers = [Reader(view, "whole", True), Reader(view, "from now", False)]
    for step, what in steps:
        if step == "change":
            with db.transaction() as tx:
                for code in what:
                    change(tx, rows, code)
        elif step == "look":
            replay(readers[what].given, readers[what].follower.changes())
        elif step == "commit":
            readers[what].follower.commit()
            readers[what].committed = Counter(readers[what].given)
        elif step == "again":
            readers[what].again(view)
        elif step == "fail":
            with pytest.raises(ZeroDivisionError):
                readers[what].follower._native.changes(lambda _: 1 // 0)
        elif step == "snapshot":
            db.snapshot()
        else:
            if step == "crash":
                left = folder / f"left {next(_names)}"
                left.write_bytes(path.read_bytes())
                path = left
            db.close()
            db = rv.Database.open(path)
            view = db["v"]
            assert view.followers == ["from now", "whole"]
            for reader in readers:
                reader.again(view)
    for reader in readers:
        reader.check(view)
    copy = folder / "copy"
    db.save(copy)
    loaded = rv.Database.load(copy)
    for reader in readers:
        reader.check(loaded["v"])
    db.close()


def opened(path: Path, **options: Any) -> rv.Database:
    db = rv.Database.open(path, **options)
    if "r" not in db.tables:
        db.create_table("r", {"a": "int64"})
        db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    return db


def test_what_was_given_and_not_committed_is_given_again_as_it_was(tmp_path: Path) -> None:
    with opened(tmp_path / "db") as db:
        view = db["v"]
        first = view.follow("mail")
        batches = []
        for a in (1, 2):
            db.insert("r", {"a": [a]})
            batches.append(first.changes())
        again = view.follow("mail")
        assert [again.changes(), again.poll()] == batches
        assert again.poll() is None
        # Both share one place.
        assert first.poll() is None
        first.commit()
        assert view.follow("mail").poll() is None
        assert repr(first) == "Follower('v', 'mail')"
        assert first.name == "mail"
        first.close()
        assert first.closed
        db.insert("r", {"a": [3]})
        assert view.follow("mail", timeout=0).changes()["a"].to_pylist() == [3]
        assert [len(batch) for batch in view.follow("mail", timeout=0)] == [1]
    with opened(tmp_path / "db") as db:
        assert db["v"].follow("mail").changes()["a"].to_pylist() == [3]


def test_a_place_goes_with_its_view_or_when_it_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "db"

    def left() -> list[str]:
        copy = tmp_path / "left"
        copy.write_bytes(path.read_bytes())
        with rv.Database.open(copy) as db:
            return db["v"].followers

    db = opened(path)
    view = db["v"]
    follower = view.follow("one")
    view.follow("two")
    assert view.followers == left() == ["one", "two"]
    view.unfollow("one")
    view.unfollow("nobody")
    assert view.followers == left() == ["two"]
    with pytest.raises(InvalidValueError, match=r'"one" of view "v": .*was forgotten; follow'):
        follower.changes()

    def drop() -> None:
        db.drop_view("v")
        db.create_view("v", "SELECT a FROM r")

    def put_in_its_place() -> None:
        db.create_view("v", "SELECT a FROM r", create_or_replace=True)

    for end in (put_in_its_place, drop):
        follower = db["v"].follow("one")
        end()
        assert db["v"].followers == left() == []
        with pytest.raises(UnknownViewError, match="was dropped"):
            follower.changes()
        with pytest.raises(UnknownViewError, match="was dropped"):
            follower.commit()
    db.close()
    with pytest.raises(RingviewError, match="closed"):
        follower.commit()


def test_what_is_kept_by_snapshots_goes_back_with_them(tmp_path: Path) -> None:
    path = tmp_path / "db"
    db = opened(path, durability="snapshot")
    follower = db["v"].follow("mail")
    db.insert("r", {"a": [1]})
    assert follower.changes().num_rows == 1
    follower.commit()
    db.snapshot()
    db.insert("r", {"a": [2]})
    assert follower.changes().num_rows == 1
    follower.commit()
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    db.close()
    for file, last in ((copy, 1), (path, 2)):
        with opened(file) as db:
            assert db["v"].follow("mail").poll() is None
            assert max(db["v"].to_arrow()["a"].to_pylist()) == last


def test_tables_without_rows_have_followers_too(tmp_path: Path) -> None:
    path = tmp_path / "db"
    db = opened(path, trust_deletes=True)
    db["v"].follow("mail", initial=False)
    db.insert("r", {"a": [1, 2]})
    for written in (False, True):
        if written:
            db.snapshot()
        db.close()
        db = opened(path, trust_deletes=True)
        assert sorted(db["v"].follow("mail").changes()["a"].to_pylist()) == [1, 2]
    db.close()


def test_who_cannot_have_a_name_is_told(tmp_path: Path) -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    view = db.create_view("v", "SELECT COUNT(*) AS n FROM r")
    with pytest.raises(UnsupportedError, match=r"without a name .* view\.follow\(name=\.\.\)"):
        view.follow().commit()
    # As is advised; a database in memory keeps places as long as it is there.
    view.follow(name="mail").commit()
    sample = db.create_sample("s", "SELECT a FROM r", k=2, seed=1)
    above = db.create_view("w", "SELECT COUNT(*) AS n FROM s")
    for each in (sample, above):
        with pytest.raises(UnsupportedError, match=r'sample "s" may hold other rows'):
            each.follow("mail")
        assert each.follow().changes() is not None
        assert each.followers == []


def test_views_that_change_behind_a_place_are_those_of_then(tmp_path: Path) -> None:
    """The records behind the first place are done one by one, definitions of views among them."""
    path = tmp_path / "db"
    db = opened(path)
    follower = db["v"].follow("mail", initial=False)
    db.create_view("w", "SELECT COUNT(*) AS n FROM r")
    db.insert("r", {"a": [1, 1]})
    db.create_view("x", "SELECT n FROM w")
    db.create_view("w", "SELECT COUNT(*) AS n, SUM(a) AS s FROM r", create_or_replace=True)
    db.create_table("t", {"b": "int64"})
    db.create_view("y", "SELECT COUNT(*) AS n FROM t")
    db.insert("t", {"b": [1]})
    db.drop_view("y")
    db.drop_table("t")
    moved = follower.changes()
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    db.close()
    with rv.Database.open(copy) as db:
        assert sorted(db.views) == ["v", "w", "x"]
        assert db["w"].to_arrow().to_pylist() == [{"n": 2, "s": 2}]
        assert db["x"].to_arrow().to_pylist() == [{"n": 2}]
        assert bag(db["v"].follow("mail").changes()) == bag(moved)


def test_a_view_that_replaced_another_behind_a_sample_is_there(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with opened(path) as db:
        db.create_sample("s", "SELECT a FROM r", k=2, seed=1)
        db.insert("r", {"a": [1, 2, 3]})
        db.create_view("gone", "SELECT COUNT(*) AS n FROM r")
    # The states of samples are in the file now.
    db = rv.Database.open(path)
    db.insert("r", {"a": [4]})
    db.create_view("v", "SELECT SUM(a) AS s FROM r", create_or_replace=True)
    db.drop_view("gone")
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    db.close()
    with rv.Database.open(copy) as db:
        assert sorted(db.views) == ["s", "v"]
        assert db["v"].to_arrow().to_pylist() == [{"s": 10}]
