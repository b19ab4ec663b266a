"""Files whose views call functions of the user: who opens one gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import ringview as rv
from own_functions import UnluckyError, bump, slug, spread
from ringview import errors


def in_file(path: Path) -> None:
    with rv.Database.open(path) as db:
        db.create_table("t", {"g": "int64", "x": "int64", "s": "string"})
        db.create_function("slug", slug, ["string"], "string")
        db.create_function("spread", spread, ["int64"], "int64", kind="aggregate")
        db.create_function("gone", bump, ["int64"], "int64")
        db.create_view("old", "SELECT gone(x) AS y FROM t")
        db.insert("t", {"g": [1, 1], "x": [3, 7], "s": ["A", "a"]})
        db.drop_view("old")
        db.drop_function("gone")
        db.create_view(
            "v", "SELECT slug(s) AS s, spread(x) AS y, COUNT(*) AS n FROM t GROUP BY slug(s)"
        )


@pytest.mark.parametrize("way", ["open", "load"])
def test_a_file_is_opened_with_its_functions(way: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ringview"
    in_file(path)
    opened: Any = getattr(rv.Database, way)
    missing = (
        r"not given, or given with other types: slug\(string\) -> string; "
        r"aggregate spread\(int64\) -> int64; give them as it is opened, as in functions="
    )
    with pytest.raises(errors.UnknownFunctionError, match=missing):
        opened(path)
    with pytest.raises(
        errors.UnknownFunctionError, match=r"other types: aggregate spread\(int64\)"
    ):
        opened(path, functions={"slug": slug})
    other = rv.Function(spread, ["float64"], "float64", kind="aggregate")
    with pytest.raises(errors.UnknownFunctionError, match=r"types: aggregate spread\(int64\)"):
        opened(path, functions={"slug": slug, "spread": other})
    with pytest.raises(errors.TypeMismatchError, match="is a function, not 5"):
        opened(path, functions={"slug": 5})
    with pytest.raises(errors.InvalidValueError, match='no view calls the function "rest"'):
        opened(path, functions={"slug": slug, "spread": spread, "rest": bump})
    rest = rv.Function(bump, ["int64"], "int64")
    db = opened(path, functions={"SLUG": slug, "spread": spread, "rest": rest})
    assert list(db["v"]) == [{"s": "a", "y": 4, "n": 2}]
    db.insert("t", {"g": [1], "x": [10], "s": ["A"]})
    assert list(db["v"]) == [{"s": "a", "y": 7, "n": 3}]
    assert sorted(db.functions) == ["rest", "slug", "spread"]
    assert db.sql("SELECT MAX(rest(x)) AS y FROM t")["y"].to_pylist() == [21]
    with pytest.raises(errors.InUseError):
        db.drop_function("slug")
    functions = db.functions
    if way == "open":
        db.snapshot()
    db.save(tmp_path / "copy.ringview")
    db.close()
    copy = rv.Database.load(tmp_path / "copy.ringview", functions=functions)
    assert list(copy["v"]) == [{"s": "a", "y": 7, "n": 3}]
    assert copy.functions == functions


def test_a_function_that_fails_as_a_file_is_opened_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.ringview"
    in_file(path)

    def broken(s: Any) -> Any:
        raise UnluckyError("again")

    with pytest.raises(errors.FunctionError, match='"slug" raised UnluckyError: again') as caught:
        rv.Database.open(path, functions={"slug": broken, "spread": spread})
    assert isinstance(caught.value.__cause__, UnluckyError)
    # The file is free, and whole.
    with rv.Database.open(path, functions={"slug": slug, "spread": spread}) as db:
        assert len(db["v"]) == 1


def test_a_view_without_rows_needs_its_functions_too(tmp_path: Path) -> None:
    path = tmp_path / "t.ringview"
    with rv.Database.open(path) as db:
        db.create_table("t", {"s": "string"})
        db.create_function("slug", slug, ["string"], "string")
        db.create_view("v", "SELECT slug(s) AS s FROM t")
    with pytest.raises(errors.UnknownFunctionError, match=r"slug\(string\) -> string"):
        rv.Database.open(path)
