"""Cost of a fresh view against recomputing it, measured and shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from ringview.job import JobError, load, parse
from ringview.job.compare import compare_job
from typer.testing import CliRunner

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch_stream" / "job.toml"


def test_each_view_is_measured_over_the_whole_stream() -> None:
    found = compare_job(load(EXAMPLE))
    assert [each.name for each in found] == ["q1", "q3", "q5", "q10"]
    for each in found:
        assert each.batches * each.rows == 13_640
        assert each.batch > 0
        assert each.anew is not None
        assert each.ratio == each.anew / each.batch


def test_a_view_that_reads_views_is_kept_with_them(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a,b\n1,2\n1,3\n")
    text = '[[table]]\nname = "r"\npath = "r.csv"\n' + "".join(
        f'[[view]]\nname = "{name}"\nsql = "{sql}"\n'
        for name, sql in [
            ("v", "SELECT a, SUM(b) AS b FROM r GROUP BY a"),
            ("u", "SELECT COUNT(*) AS n FROM r"),
            ("w", "SELECT SUM(b) AS b FROM v"),
        ]
    )
    found = compare_job(parse(text, tmp_path / "job.toml"))
    assert [each.anew is None for each in found] == [False, False, True]
    assert found[2].ratio is None


@pytest.mark.parametrize("text", ['engine = "spark"\n', ""])
def test_what_cannot_be_streamed_again_is_refused(text: str) -> None:
    of = 'path = "r.csv"' if "spark" in text else 'schema = {a = "int64"}'
    text += f'[[table]]\nname = "r"\n{of}\n[[view]]\nname = "v"\n'
    text += 'sql = "SELECT COUNT(*) AS n FROM r"\n'
    if "spark" not in text:
        text += '[[source]]\nkind = "folder"\npath = "x.csv"\ntable = "r"\n'
    with pytest.raises(JobError, match="comparison"):
        compare_job(parse(text, Path("/jobs/job.toml")))


def test_the_command_shows_the_comparison_and_where_to_look() -> None:
    from ringview.cli.commands import app

    done = CliRunner().invoke(app, ["run", "--compare", str(EXAMPLE)])
    assert done.exit_code == 0, done.output
    assert "fresh against anew" in done.output
    assert "ratio" in done.output
    assert "ringview serve" in done.output
