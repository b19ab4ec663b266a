"""Names: what they may be, and what is listed by them while other threads drop some of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, get_args

import pytest
import ringview as rv
from ringview.errors import InvalidValueError, RingviewError, UnknownViewError
from ringview.view import Format

LONGEST = 1024


class Racing:
    """A native database of which another thread drops a view behind each look at what there is."""

    def __init__(self, native: Any, drop: Callable[[], None]) -> None:
        self._native, self._drop = native, drop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._native, name)
        if name not in ("views", "view_ids"):
            return found

        def look() -> Any:
            listed = found()
            thread = threading.Thread(target=self._drop)
            thread.start()
            thread.join()
            return listed

        return look


def racing() -> rv.Database:
    """A database of which each look at its views is followed by another thread's dropping one."""
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    for number in range(40):
        db.create_view(f"v{number}", "SELECT COUNT(*) AS n FROM r")
    native, left = db._native, list(range(40))

    def drop() -> None:
        native.drop_view(f"v{left.pop()}")

    db._native = Racing(native, drop)  # type: ignore[assignment]
    return db


@pytest.mark.parametrize(
    "look",
    [
        lambda db: dict(db.views),
        lambda db: list(db.views.items()),
        lambda db: list(db.views.values()),
        lambda db: {**db.tables, **db.views},
        lambda db: [db.views[name] for name in db.views if name < "v2"],
        lambda db: repr(db.views),
        lambda db: repr(db),
        lambda db: db._repr_html_(),
        lambda db: db.explain("SELECT SUM(a) AS a FROM r"),
        lambda db: db.create_view("new", "SELECT SUM(a) AS a FROM r").scalar(),
        lambda db: db.create_view("new", "SELECT n FROM v0", if_not_exists=True).scalar(),
        lambda db: db.create_view("v1", "SELECT SUM(n) AS n FROM v0", create_or_replace=True),
        lambda db: db.create_sample("s", "SELECT a FROM r", k=1, seed=0).to_arrow(),
    ],
)
def test_a_view_that_another_thread_drops_is_nobodys_concern(
    look: Callable[[rv.Database], object],
) -> None:
    look(racing())


def test_threads_that_make_and_drop_do_not_meet() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    failed: list[BaseException] = []
    start = threading.Barrier(3)

    def work(own: int) -> None:
        start.wait()
        try:
            for number in range(60):
                name = f"v{own}-{number}"
                db.create_view(name, "SELECT COUNT(*) AS n FROM r")
                assert name in dict(db.views)
                db.drop_view(name)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(own,)) for own in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_handle_of_what_was_dropped_says_so() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    db.create_view("v", "SELECT COUNT(*) AS n FROM r")
    views = db.views
    assert list(views) == ["v"]
    db.drop_view("v")
    with pytest.raises(UnknownViewError):
        views["v"].scalar()
    assert "v" not in views
    with pytest.raises(UnknownViewError):
        views["v"]


def test_names_may_be_long_but_not_too_long() -> None:
    name, more = "n" * LONGEST, "n" * (LONGEST + 1)
    db = rv.Database()

    def refused(call: Callable[..., object], *arguments: object, **options: object) -> None:
        with pytest.raises(InvalidValueError, match=r"at most 1024.*shorter"):
            call(*arguments, **options)

    for what in (more, "é" * (LONGEST // 2 + 1), "n" * 66_000):
        refused(db.create_table, what, {"a": "int64"})
        refused(db.create_table, "r", {what: "int64"})
    assert not db.tables
    db.create_table(name, {name: "int64"})
    db.create_table("r", {"a": "int64"})
    refused(db.create_view, more, "SELECT COUNT(*) AS n FROM r")
    refused(db.create_view, "v", f"SELECT COUNT(*) AS {more} FROM r")
    refused(db.create_view, "v", f"SELECT COALESCE({', '.join(['a'] * 600)}) FROM r")
    refused(db.create_sample, more, "SELECT a FROM r", k=1, seed=0)
    assert not db.views
    view = db.create_view(name[1:], f"SELECT SUM({name}) AS {name} FROM {name} GROUP BY {name}")
    db.insert(name, {name: [1, 2]})
    for form in get_args(Format):
        assert name[:40] in view.explain(form)


def test_explanations_of_long_names_panic_nowhere() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    alias = "x" * 66_000
    sql = f"SELECT {alias}.a, SUM(y.b) AS b FROM r {alias} JOIN r y USING (a) GROUP BY {alias}.a"
    for form in get_args(Format):
        assert db.explain(sql, format=form)
    view = db.create_view("v", sql)
    for form in get_args(Format):
        assert view.explain(form)
    assert max(map(len, view.explain().splitlines())) < 1_000


def test_a_panic_in_a_call_that_reads_leaves_data_alone() -> None:
    db = rv.Database()
    if not hasattr(db._native, "panic_for_tests"):
        pytest.skip("an extension that is built for release has no such call")
    db.create_table("r", {"a": "int64"})
    for _ in range(2):
        with pytest.raises(BaseException, match="asked for"):
            db._native.panic_for_tests(False)
        db.insert("r", {"a": [1]})
    assert len(db.tables["r"]) == 2
    with pytest.raises(BaseException, match="asked for"):
        db._native.panic_for_tests(True)
    for _ in range(2):
        with pytest.raises(RingviewError, match="cannot be relied on"):
            db.insert("r", {"a": [1]})
