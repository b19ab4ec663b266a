"""Views over views in jobs, pictures, notebooks and on Spark, where they are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import ringview as rv
from ringview import plot
from ringview.cli.commands import app
from ringview.job import embedded, load
from ringview.job.model import ViewSpec
from ringview.job.read import Source
from typer.testing import CliRunner

TABLE = '[[table]]\nname = "orders"\npath = "orders.csv"\nmultiplicity = "mult"\n'
SPENT = (
    '[[view]]\nname = "spent"\n'
    'sql = "SELECT customer, SUM(price) AS price FROM orders GROUP BY 1"\n'
)
BEST = (
    '[[view]]\nname = "best"\nsql = "WITH top AS (SELECT MAX(price) AS price FROM Spent) '
    'SELECT customer FROM spent JOIN top USING (price)"\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = ["1,Ada,5,1", "2,Grace,7,1", "3,Ada,4,1", "3,Ada,4,-1"]
    (tmp_path / "orders.csv").write_text("\n".join(["id,customer,price,mult", *rows, ""]))
    return tmp_path


def run(folder: Path, text: str, command: str = "run") -> tuple[int, str, str]:
    (folder / "job.toml").write_text(text)
    done = CliRunner().invoke(app, [command, str(folder / "job.toml")])
    return done.exit_code, done.stdout, done.stderr


def test_a_job_s_views_read_those_above_them(folder: Path) -> None:
    status, out, err = run(folder, "batch_size = 1\n" + TABLE + SPENT + BEST)
    assert status == 0, err
    job = load(folder / "job.toml")
    results = embedded.run(job, [Source(spec) for spec in job.tables], lambda _: None).results
    assert results["best"].to_pylist() == [{"customer": "Grace"}]
    status, out, err = run(folder, TABLE + SPENT + BEST, "explain")
    assert status == 0, err
    assert "below it, view spent" in out


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_job_s_views_do_not_read_those_below_them(folder: Path, command: str) -> None:
    status, _, err = run(folder, TABLE + BEST + SPENT, command)
    assert status == 1
    assert err.startswith('error: view "best": line 1, column ')
    assert 'the view "spent" is written further down; write it above what reads it' in err
    # As advised.
    assert run(folder, TABLE + SPENT + BEST, command)[0] == 0
    itself = '[[view]]\nname = "v"\nsql = "SELECT COUNT(*) AS n FROM v"\n'
    status, _, err = run(folder, TABLE + itself, command)
    assert status == 1
    assert "a view does not read itself" in err


def test_what_a_view_s_text_names() -> None:
    view = ViewSpec("v", "WITH a AS (SELECT 1 FROM B) SELECT COUNT(*) FROM a, (SELECT c FROM d) e")
    others = {name: ViewSpec(name, "") for name in "bcde"}
    assert view.reads([others["c"], others["e"]]) is None
    assert view.reads([others["c"], others["d"], others["b"]]) == "d"
    assert view.reads([others["b"]]) == "b"


def stacked() -> tuple[rv.Database, rv.View]:
    db = rv.Database()
    db.create_table("r", {"g": "int64", "x": "int64"})
    db.create_view("sums", "SELECT g, SUM(x) AS x, MAX(x) AS m FROM r GROUP BY g")
    sql = "SELECT MAX(n) AS n FROM (SELECT x, COUNT(*) AS n FROM sums GROUP BY x) AS q"
    return db, db.create_view("top", sql)


def test_pictures_show_what_stands_below() -> None:
    db, top = stacked()
    db.insert("r", {"g": [1, 2], "x": [3, 3]})
    axes = plot.view_tree(top)
    axes.figure.canvas.draw()
    boxes = [text for text in axes.texts if text.get_bbox_patch() is not None]
    titles = [" ".join(t.get_text().split()) for t in axes.texts if t not in boxes]
    assert [title.split(", ")[0] for title in titles] == [
        "beside it",
        "below it",
        "beside view sums",
        "below it",
    ]
    assert titles[1] == "below it, view sums"
    assert titles[3].startswith("below it, block q")
    explanation = json.loads(top.explain("json"))
    views = [explanation, *(below["view"] for below in explanation["below"])]
    trees = [view["nodes"] for view in views]
    trees += [beside["view"]["nodes"] for view in views for beside in view["beside"]]
    assert len(boxes) == sum(map(len, trees))
    assert len({text.get_position() for text in boxes}) == len(boxes)


def test_notebooks_show_what_stands_below() -> None:
    db, top = stacked()
    db.insert("r", {"g": [1, 2], "x": [3, 3]})
    assert "below it, view sums" in top._repr_html_()
    shown = db._repr_html_()
    assert "<td>view</td><td>top</td>" in shown
    assert "<td>q</td>" not in shown
