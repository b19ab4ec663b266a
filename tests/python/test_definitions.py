"""A file keeps what a view was defined by: the text, what was said beside it, the schemas."""

from __future__ import annotations

import json
import lzma
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import ringview as rv
from ringview.errors import (
    CostWarning,
    InvalidValueError,
    QueryError,
    TypeMismatchError,
    UnsupportedError,
)

LAYOUT_4 = Path(__file__).parent / "data" / "version-4.ringview.xz"


TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sums": ("SELECT c, SUM(x) AS x FROM r JOIN s USING (b) GROUP BY c", {}),
    "large": ("SELECT c FROM sums WHERE x > $1 ORDER BY x DESC LIMIT 2", {"parameters": [1.5]}),
    "rows": (
        "SELECT a, c FROM r JOIN s USING (b)",
        {"representation": "listing", "order": {"b": {"a": {}, "c": {}}}},
    ),
    "fit": ("SELECT COFACTOR(a, x) FROM r", {"nulls": "skip"}),
    "pairs": ("SELECT COUNT(*) AS n FROM r JOIN s ON r.b < s.b", {}),
    "round": (
        "SELECT COUNT(*) AS n FROM r p, r q, r o WHERE p.b = q.a AND q.b = o.a AND o.b = p.a",
        {"epsilon": {"p": 0.25, "q": 0.5, "o": 0.75}},
    ),
}
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "ticks": ("SELECT `c`, a div b AS q FROM r JOIN s USING (b)", {"dialect": "spark"}),
    "named": (
        "SELECT COUNT(*) AS n FROM r WHERE x < $most AND a > $least",
        {"parameters": {"most": 0.1 + 0.2 + 0.2, "least": -(2**62)}},
    ),
    "joined": ("SELECT r.a, c FROM r LEFT JOIN s ON s.b = r.a AND s.c > 'u'", {}),
    "inner": (
        "SELECT COUNT(*) AS n FROM r WHERE x > (SELECT AVG(q.x) FROM r q WHERE q.b = r.b)",
        {},
    ),
}
FIRST = {
    "r": {"a": [1, 2, 2, 3], "b": [2, 3, 3, 1], "x": [0.5, 1.5, 2.5, None]},
    "s": {"b": [1, 2, 3, 3], "c": ["u", "v", "w", "u"]},
}


def define(db: rv.Database, texts: Mapping[str, tuple[str, dict[str, Any]]]) -> rv.Database:
    db.create_table("r", {"a": "int64", "b": "int64", "x": "float64"})
    db.create_table("s", {"b": "int64", "c": "string"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostWarning)
        for name, (sql, said) in texts.items():
            db.create_view(name, sql, **said)
    db.create_sample("drawn", "SELECT a, c FROM r JOIN s USING (b)", k=2, seed=3)
    return db


def fill(db: rv.Database) -> None:
    for table, rows in FIRST.items():
        db.insert(table, rows)
    db.delete("r", {"a": [2], "b": [3], "x": [1.5]})


def change(db: rv.Database) -> None:
    db.insert("r", {"a": [4, 1], "b": [2, 1], "x": [8.0, None]})
    db.delete("s", {"b": [3], "c": ["w"]})


def held(db: rv.Database) -> dict[str, Any]:
    """Rows of every view, in its order if it has one, and the engine that keeps it."""
    found: dict[str, Any] = {}
    for name in sorted(set(db.views) - {"drawn"}):
        view = db[name]
        if name == "fit":
            model = view.cofactor()
            rows: Any = (model.count, model.names, model.sums.tolist(), model.matrix.tolist())
        else:
            rows = view.to_arrow().to_pylist()
            if "ORDER BY" not in (view.sql or ""):
                rows.sort(key=str)
        found[name] = (view.sql, rows, json.loads(view.explain("json"))["engine"])
    return found


def test_a_file_of_layout_4_is_read_and_goes_on(tmp_path: Path) -> None:
    model = define(rv.Database(), TEXTS)
    fill(model)
    path = tmp_path / "db"
    path.write_bytes(lzma.decompress(LAYOUT_4.read_bytes()))
    loaded = rv.Database.load(path)
    assert held(loaded) == held(model)
    drawn = loaded["drawn"].to_arrow().to_pylist()
    assert drawn == [{"a": 3, "c": "u"}, {"a": 2, "c": "u"}]
    # Views that have their queries in the file keep them, beside new ones that have texts.
    for round_ in range(3):
        with rv.Database.open(path) as db:
            assert held(db) == held(model)
            if round_ == 0:
                for one in (db, model):
                    change(one)
                    one.create_view(
                        "more", "SELECT MAX(x) AS x FROM sums WHERE x > ?", parameters=[0]
                    )
            if round_ == 1:
                db.snapshot()
    assert held(model)["more"][1] == [{"x": 8.5}]


@pytest.mark.parametrize("durability", ["transaction", "snapshot"])
def test_what_was_said_beside_a_text_holds_when_it_is_opened(
    tmp_path: Path, durability: Any
) -> None:
    texts = {**TEXTS, **MORE}
    model = define(rv.Database(), texts)
    fill(model)
    path = tmp_path / "db"
    with rv.Database.open(path, durability=durability) as db:
        define(db, texts)
        fill(db)
        drawn = db["drawn"].to_arrow()
    # The file has texts, and no query.
    assert b"SELECT c FROM sums WHERE x > $1" in path.read_bytes()
    assert b'"atoms"' not in path.read_bytes()
    with rv.Database.open(path, durability=durability) as db:
        assert held(db) == held(model)
        assert db["drawn"].to_arrow() == drawn
        for one in (db, model):
            change(one)
        assert held(db) == held(model)
    assert len(held(model)) == len(texts)


def test_tables_that_come_and_go_do_not_change_what_a_text_means(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with rv.Database.open(path) as db:
        for table in ("r", "unused"):
            db.create_table(table, {"a": "int64"})
        db.create_view("v", "WITH u AS (SELECT a FROM unused) SELECT COUNT(*) AS Total FROM R")
        db.create_view("w", "SELECT Total FROM V WHERE Total > 1")
        db.drop_table("unused")
        for table in ("R", "V"):
            db.create_table(table, {"total": "int64"})
        db.insert("r", {"a": [1, 2]})
        db.insert("R", {"total": [1]})
    for _ in range(2):
        with rv.Database.open(path) as db:
            assert db["v"].to_arrow().to_pylist() == [{"Total": 2}]
            assert db["w"].to_arrow().to_pylist() == [{"Total": 2}]
            db.snapshot()


def test_what_is_said_beside_a_text_is_checked() -> None:
    db = define(rv.Database(), {})
    rows, groups = "SELECT a FROM r", "SELECT SUM(a) AS a FROM r"
    cases: list[tuple[str, dict[str, Any], type[Exception], str]] = [
        (rows, {"representation": "column"}, InvalidValueError, "'factorised', 'listing' or None"),
        (rows, {"representation": 5}, InvalidValueError, "or None, not 5"),
        (groups, {"representation": "listing"}, UnsupportedError, "this view has groups"),
        (groups, {"nulls": "leave"}, InvalidValueError, "'refuse', 'skip' or None, not 'leave'"),
        (groups, {"nulls": "skip"}, QueryError, "features of COFACTOR, and there is none"),
        (groups, {"dialect": "klingon"}, InvalidValueError, "none of duckdb, postgres"),
        (groups, {"order": {"a": 1}}, InvalidValueError, "below 'a' stands 1"),
        (groups, {"epsilon": "x"}, TypeMismatchError, "a number from 0 to 1"),
        (groups, {"epsilon": {1: 0.5}}, TypeMismatchError, "named by a text"),
        (groups, {"epsilon": float("nan")}, InvalidValueError, "is nan"),
    ]
    for sql, said, error, words in cases:
        with pytest.raises(error, match=re.escape(words)):
            db.create_view("v", sql, **said)
    assert list(db.views) == ["drawn"]
