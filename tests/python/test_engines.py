"""The engine by hand: a name that is known, one that is not, and what `explain` tells."""

from __future__ import annotations

import pytest
import ringview as rv


def database() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    return db


def test_an_engine_is_taken_by_its_name() -> None:
    db = database()
    view = db.create_view("v", "SELECT COUNT(*) AS n FROM r", engine="viewtree")
    db.insert("r", {"a": [1, 2]})
    assert view.scalar() == 2
    assert "engine: viewtree; asked for by name" in view.explain()
    db.create_view("v", "SELECT SUM(a) AS n FROM r", create_or_replace=True)
    assert "asked for" not in db["v"].explain()


def test_a_plan_is_told_for_an_engine_by_name() -> None:
    db = database()
    sql = "SELECT COUNT(*) AS n FROM r"
    assert "engine: viewtree; asked for by name" in db.explain(sql, engine="viewtree")
    assert "asked for" not in db.explain(sql)
    with pytest.raises(ValueError, match="known engines: viewtree"):
        db.explain(sql, engine="trees")
    assert list(db.views) == []


def test_an_unknown_engine_is_refused_with_those_known() -> None:
    db = database()
    with pytest.raises(ValueError, match="known engines: viewtree"):
        db.create_view("v", "SELECT COUNT(*) AS n FROM r", engine="trees")
    assert list(db.views) == []
