"""A view as a widget of notebooks: what it shows moves with the view."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ringview as rv
from browsers import browser, texts
from ringview.errors import InvalidValueError
from serving import PATIENCE

pytest.importorskip("anywidget")


@pytest.fixture
def db() -> Iterator[rv.Database]:
    with rv.Database() as made:
        made.create_table("r", {"a": "int64", "x": "decimal128(9, 2)"})
        made.create_view("v", "SELECT a, SUM(x) AS x, COUNT(*) AS n FROM r GROUP BY a")
        made.insert("r", [(1, 1), (2, 2)])
        yield made


def test_it_shows_the_first_rows_and_their_number(db: rv.Database) -> None:
    widget = db["v"].live(rows=1)
    assert widget.shown["total"] == 2
    assert widget.shown["rows"] == [{"a": 1, "x": "1.00", "n": 1}]
    assert [column["name"] for column in widget.shown["columns"]] == ["a", "x", "n"]
    assert "draw" in str(widget._esm)
    assert ".ringview-live" in str(widget._css)
    widget.close()
    widget.close()


def test_it_moves_by_itself(db: rv.Database) -> None:
    widget = db["v"].live(every=0.001)
    moved = threading.Event()
    widget.observe(lambda change: moved.set(), "shown")
    db.insert("r", [(1, 5)])
    assert moved.wait(PATIENCE)
    assert {row["a"]: row["x"] for row in widget.shown["rows"]} == {1: "6.00", 2: "2.00"}
    assert repr(widget) == f"LiveView('v', moves={widget.moves})"
    widget.close()
    db.insert("r", [(1, 5)])
    assert widget.refresh() is False


def test_it_looks_when_it_is_asked(db: rv.Database) -> None:
    widget = db["v"].live(every=10_000)
    db.insert("r", [(3, 5)])
    # Its thread or this one is first.
    widget._handle_custom_msg({"kind": "look"}, [])
    assert widget.shown["total"] == 3
    assert widget.moves == 1
    widget.close()


@pytest.mark.parametrize("how", ["drop", "close"])
def test_it_says_when_its_view_is_gone(db: rv.Database, how: str) -> None:
    widget = db["v"].live(every=0.001)
    ended = threading.Event()

    def look(change: dict[str, Any]) -> None:
        if change["new"]["ended"]:
            ended.set()

    widget.observe(look, "shown")
    if how == "drop":
        db.drop_view("v")
    else:
        db.close()
    assert ended.wait(PATIENCE)
    assert widget.shown["total"] == 2
    widget.close()


@pytest.mark.long
def test_the_page_draws_what_is_shown(db: rv.Database) -> None:
    widget = db["v"].live(every=10_000)
    # The interface of a notebook to the script, as far as it is used.
    script = """
        const [code, shown, done] = arguments;
        const model = window.model = {
            shown, sent: 0, on: (_, call) => { model.call = call; }, off: () => {},
            get: (name) => name === "every" ? 0.01 : model.shown, send: () => { model.sent += 1; },
        };
        const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
        import(url).then((module) => {
            window.end = module.default.render({ model, el: document.body });
            done(true);
        }, (problem) => done(String(problem)));
    """
    move = "model.shown = arguments[0]; model.call(); return model.sent"
    with browser() as page:
        code = (Path(rv.__file__).parent / "live" / "live.js").read_text()
        assert page.execute_async_script(script, code, widget.shown) is True
        assert texts(page, "td") == ["1", "1.00", "1", "2", "2.00", "1"]
        assert texts(page, "td.moved") == []
        db.insert("r", [(2, 1000)])
        widget.refresh()
        page.execute_script(move, widget.shown)
        assert texts(page, "td.moved") == ["1,002.00", "2"]
        assert "v: 2 rows, fresh at" in texts(page, ".note")[0]
        while not page.execute_script("return model.sent"):
            pass
        page.execute_script("window.end()")
    widget.close()


@pytest.mark.parametrize("given", [{"rows": 0}, {"every": 0}, {"every": float("nan")}])
def test_nothing_to_show_is_refused(db: rv.Database, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError):
        db["v"].live(**given)


@pytest.mark.parametrize(
    ("missing", "code", "extra"),
    [
        (
            "anywidget",
            "db = rv.Database(); db.create_table('r', {'a': 'int64'}); "
            "db.create_view('v', 'SELECT COUNT(*) AS n FROM r').live()",
            "ringview[notebook]",
        ),
        ("uvicorn", "rv.serve", "ringview[serve]"),
    ],
)
def test_what_is_not_installed_is_named(missing: str, code: str, extra: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; import ringview as rv; {code}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"needs {missing}" in done.stderr
    assert extra in done.stderr
