"""The page of functions: each example gives what it says, and what DuckDB gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
import ringview as rv

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| `(?P<call>.+?)` \| `(?P<gives>.*?)` \|", re.MULTILINE)
EXAMPLES = [
    (found["call"].replace(r"\|", "|"), found["gives"])
    for found in ROW.finditer((DOCS / "functions.md").read_text())
]
# DuckDB lacks two, and shows a decimal or the last bit of a root otherwise.
OTHERWISE = ("initcap(", "tumble(", "trunc(-", "cbrt(")


def shown(value: Any) -> str:
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.fixture(scope="module")
def db() -> rv.Database:
    db = rv.Database()
    db.create_table("one", {"k": "int64"})
    db.insert("one", [{"k": 1}])
    return db


@pytest.mark.parametrize(("call", "gives"), EXAMPLES)
def test_an_example_gives_what_it_says(db: rv.Database, call: str, gives: str) -> None:
    found = db.create_view("v", f"SELECT {call} AS v FROM one", create_or_replace=True)
    assert shown(found.to_arrow()["v"].to_pylist()[0]) == gives
    if not call.startswith(OTHERWISE):
        expected = duckdb.sql(f"SELECT {call}")
        assert expected is not None
        assert shown(expected.fetchall()[0][0]) == gives


def test_every_function_of_the_list_has_an_example() -> None:
    page = (DOCS / "functions.md").read_text().lower()
    listed = (DOCS / "sql.md").read_text().split("### Functions")[1].split("### Dialects")[0]
    rows = [line for line in listed.splitlines() if not line.startswith("| windows")]
    names = re.findall(r"`([A-Za-z_]\w+)`", "\n".join(rows))
    assert len(names) > 90
    assert [name for name in names if f"{name.lower()}" not in page] == []
