"""Each file of tests/logic beside DuckDB: one a kind of query that was once answered wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from logic import Beside, records

FILES = sorted((Path(__file__).parents[1] / "logic").glob("*.slt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_queries_and_views_equal_duckdb(path: Path) -> None:
    Beside(path).run()


def test_there_are_files() -> None:
    assert FILES


def test_a_stale_view_is_found(tmp_path: Path) -> None:
    """That these tests can fail."""
    path = tmp_path / "wrong.slt"
    path.write_text(
        "statement ok\nCREATE TABLE t (a INTEGER)\n\nquery\nSELECT count(*) AS n FROM t\n"
    )
    beside = Beside(path)
    beside.run()
    beside.duck.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(AssertionError, match="view_4 later"):
        beside.check("later")


def test_another_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.slt"
    path.write_text("query III rowsort\nSELECT 1\n")
    with pytest.raises(ValueError, match="begins no record"):
        records(path)
