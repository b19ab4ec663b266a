"""Models on a stream: fresh after every batch of inserts and deletes; the example; the pictures."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import ringview as rv
from materialised import Database, cofactor
from ringview import errors, ml, plot
from sklearn import linear_model
from test_examples import EXAMPLES, promised

mpl.use("Agg")
EXAMPLE = EXAMPLES / "live_regression.py"


TABLES = {"facts": "aby", "left_side": "ap", "right_side": "bq"}


def stream() -> tuple[rv.Database, Database]:
    """The engine, and the oracle that builds every join anew."""
    db, oracle = rv.Database(), Database()
    for name, columns in TABLES.items():
        db.create_table(name, dict.fromkeys(columns, "int64 not null"))
        oracle.create_table(name, dict.fromkeys(columns, "int64"))
    return db, oracle


def test_coefficients_are_fresh_after_every_batch() -> None:
    random = np.random.default_rng(3)
    db, oracle_db = stream()
    view = db.create_view(
        "v",
        "SELECT COFACTOR(y, p, q) FROM facts JOIN left_side USING (a) JOIN right_side USING (b)",
    )
    models = [ml.Ridge("y", alpha=0.5), ml.Ridge("y", alpha=0.5, solver="gradient", tol=1e-10)]
    kept: list[tuple[str, pd.DataFrame]] = []
    for step in range(25):
        if step % 4 == 3:
            gone = kept.pop(int(random.integers(len(kept))))
            db.delete(*gone)
            oracle_db.delete(*gone)
        else:
            name = ["facts", "left_side", "right_side"][step % 3]
            rows = pd.DataFrame(
                {c: random.integers(0, 4 if c in "ab" else 9, 12) for c in TABLES[name]}
            )
            kept.append((name, rows))
            db.insert(name, rows)
            oracle_db.insert(name, rows)
        rows_of = oracle_db.rows
        joined = rows_of["facts"].merge(rows_of["left_side"]).merge(rows_of["right_side"])
        expected, found = cofactor(joined[["y", "p", "q"]]), view.cofactor()
        assert found.count == expected.count
        np.testing.assert_array_equal(found.sums, expected.sums)
        np.testing.assert_array_equal(found.matrix, expected.matrix)
        for model in models:
            if joined.empty:
                with pytest.raises(errors.TooFewRowsError):
                    model.fit(view)
                continue
            oracle = linear_model.Ridge(alpha=0.5).fit(joined[["p", "q"]], joined["y"])
            np.testing.assert_allclose(model.fit(view).coef_, oracle.coef_, 1e-5, 1e-7)
            np.testing.assert_allclose(model.intercept_, oracle.intercept_, 1e-5, 1e-7)


def test_the_example(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "coefficients.png"
    runpy.run_path(str(EXAMPLE))["main"](str(picture))
    assert capsys.readouterr().out == promised(EXAMPLE)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_lines_of_coefficients() -> None:
    history = [{"intercept": 1.0, "a": 1.0}, {"a": 2.0, "b": 1.99}, {"a": 3.0, "b": 3.01}]
    axes = plot.coefficients(history, [10, 20, 30])
    lines = axes.get_lines()[1:]
    assert [line.get_xdata().tolist() for line in lines] == [[10, 20, 30]] * 2
    np.testing.assert_array_equal(lines[1].get_ydata(), [np.nan, 1.99, 3.01])
    names = {text.get_text(): text.xy[1] for text in axes.texts}
    low, high = axes.get_ylim()
    assert names["b"] - names["a"] > 0.02 * (high - low)
    assert plot.coefficients(history, names=["intercept"], ax=axes) is axes
    for wrong in ({"times": [1]}, {"names": ["c"]}):
        with pytest.raises(errors.InvalidValueError):
            plot.coefficients(history, **wrong)
    with pytest.raises(errors.InvalidValueError):
        plot.coefficients([])


def test_map_of_correlations() -> None:
    rows = pd.DataFrame({"x": [1, 2, 4], "y": [3, 1, 0], "k": [1, 1, 1]})
    axes = plot.correlation(cofactor(rows))
    np.testing.assert_allclose(axes.images[0].get_array(), rows.corr(), atol=1e-12)
    texts = [text.get_text() for text in axes.texts]
    assert texts[1] == f"\N{MINUS SIGN}{-rows.corr().iloc[0, 1]:.2f}"
    assert texts[2] == "\N{EN DASH}"
    assert len(plot.correlation(cofactor(rows), ["y", "x"]).texts) == 4


def test_picture_of_a_tree() -> None:
    random = np.random.default_rng(0)
    rows = pd.DataFrame({name: random.integers(0, 2, 30) for name in "abcdef"})
    model = ml.ChowLiu().fit(cofactor(rows, list("abcdef")))
    axes = plot.chow_liu(model)
    names = {t.get_text(): t.get_position() for t in axes.texts if t.get_text() in model.parents_}
    assert set(names) == set("abcdef")
    assert len(set(names.values())) == 6
    for parent, child, _ in model.edges_:
        assert names[child][1] == names[parent][1] + 1


@pytest.mark.parametrize(
    ("missing", "module", "extra"),
    [
        ("numpy", "stats", "ringview[ml]"),
        ("numpy", "ml", "ringview[ml]"),
        ("sklearn", "ml", "ringview[ml]"),
        ("matplotlib", "plot", "ringview[ml,plot]"),
    ],
)
def test_a_missing_extra_is_named(missing: str, module: str, extra: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; import ringview; ringview.{module}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ringview.errors.MissingExtraError")
    assert f"pip install '{extra}'" in done.stderr.splitlines()[-1]


def test_ringview_alone_imports_none_of_them() -> None:
    script = "import ringview, sys; print({'numpy', 'sklearn', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
