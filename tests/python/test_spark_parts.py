"""The parts of the Spark bridge that need no Java: routes, slots, Java."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import pyspark
from catalog import translate
from ringview.spark.planning import catalog_of
from ringview.spark.route import Asked, Route, choose, covers_all
from ringview.spark.session import JavaNotFoundError, check_java
from ringview.spark.slots import ATOM, MULTIPLICITY, NOBODY, Layout, rows_to_batches
from ringview.spark.variables import Variables

SCHEMAS = {
    "r": pa.schema({"a": pa.int64(), "b": pa.int64(), "x": pa.int64()}),
    "s": pa.schema({"b": pa.int64(), "c": pa.int64(), "name": pa.string()}),
    "t": pa.schema({"c": pa.int64(), "y": pa.decimal128(12, 2)}),
}


def query(sql: str) -> dict[str, Any]:
    return translate(sql, SCHEMAS)


PATH = "SELECT r.a, SUM(t.y) AS y FROM r JOIN s USING (b) JOIN t USING (c) GROUP BY r.a"
STAR = "SELECT b, COUNT(*) AS n FROM r JOIN s USING (b) GROUP BY b"


def variables(of: dict[str, Any]) -> list[dict[int, str]]:
    kind = catalog_of(of, SCHEMAS).kind
    return [variable.atoms for variable in Variables(of, kind).all() if len(variable.columns) > 1]


def route(sql: str, rows: dict[str, float] | None, partitions: int, **more: Any) -> Route:
    asked = query(sql)
    return choose(Asked(asked, catalog_of(asked, SCHEMAS), rows, partitions, splits=True, **more))


def routed(found: Route) -> list[tuple[str, int]]:
    return [(variable.name, d.share) for d in found.dimensions for variable in d.variables]


def test_a_variable_is_every_column_that_is_equal() -> None:
    assert variables(query(PATH)) == [{0: "b", 1: "b"}, {1: "c", 2: "c"}]
    merged = query("SELECT COUNT(*) AS n FROM r, s, t WHERE r.b = s.b AND t.c = s.c AND s.b = t.c")
    assert variables(merged) == [{0: "b", 1: "b", 2: "c"}]


def test_what_an_inner_query_equates_is_no_variable_of_the_outer_one() -> None:
    """Its rows with x <> b are there all the same, and compared with a sum of nothing."""
    asked = query(
        "SELECT COUNT(*) AS n FROM r "
        "WHERE x > (SELECT COUNT(*) FROM s WHERE s.b = r.b AND s.b = r.x)"
    )
    assert variables(asked) == []
    found = Variables(asked, catalog_of(asked, SCHEMAS).kind)
    (b,) = [variable for variable in found.all() if variable.name == "b"]
    assert found.holders(b, (0,)) == {0: "b"}
    # Nor is what it equates of the outer one alone.
    asked = query(
        "SELECT COUNT(*) AS n FROM r "
        "WHERE x > (SELECT COUNT(*) FROM s WHERE s.b = r.b AND r.b = r.x)"
    )
    found = Variables(asked, catalog_of(asked, SCHEMAS).kind)
    (b,) = [variable for variable in found.all() if variable.name == "b"]
    assert not found.is_of(b, 0, "x")
    assert found.holders(b, (0,)) == {0: "b"}


def test_a_variable_of_all_relations_routes_them_all() -> None:
    asked = query(STAR)
    assert covers_all(asked, catalog_of(asked, SCHEMAS))
    found = route(STAR, None, 4)
    assert (routed(found), found.whole, found.load) == ([("b", 4)], True, 0.5)


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ({"r": 10**6, "s": 10**6, "t": 10}, "b"),
        ({"r": 10, "s": 10**6, "t": 10**6}, "c"),
        ({"r": 10**6, "s": 10**3, "t": 10}, "b"),
    ],
)
def test_the_largest_relations_are_routed(rows: dict[str, float], wanted: str) -> None:
    asked = query(PATH)
    assert not covers_all(asked, catalog_of(asked, SCHEMAS))
    assert routed(route(PATH, rows, 8)) == [(wanted, 8)]


def test_few_values_do_not_hold_a_large_relation_back() -> None:
    found = route(STAR, {"r": 10**6, "s": 5}, 8)
    assert [d.scattered for d in found.dimensions] == [0]
    assert not found.whole


def test_a_product_scatters_its_largest_relation() -> None:
    found = route("SELECT COUNT(*) AS n FROM r, s", {"r": 5, "s": 50}, 8)
    assert [(d.scattered, d.share) for d in found.dimensions] == [(1, 8)]


def test_a_large_table_stays_in_place_where_all_else_is_small() -> None:
    rows: dict[str, float] = {"r": 10**7, "s": 10**3, "t": 10}
    found = route(PATH, rows, 8, movable={"r", "s", "t"}, small={"s", "t"})
    assert found.in_place == 0
    assert route(PATH, rows, 8, movable={"r"}, small={"t"}).in_place is None
    assert route(PATH, rows, 8, movable={"s", "t"}, small={"s", "t"}).in_place is None


def test_slots_are_shared_by_type_and_read_back() -> None:
    schemas = list(SCHEMAS.values())
    layout = Layout.of(schemas)
    assert layout.slots == (pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.decimal128(12, 2))
    assert layout.places == ((0, 1, 2), (0, 1, 3), (0, 4))
    rows = [
        (0, 0, 1, 1, 2, 3, None, None),
        (0, 0, -1, 4, 5, None, None, None),
        (NOBODY, 0, 0, None, None, None, None, None),
        (1, 0, 2, 6, 7, None, "x", None),
        (0, 0, 1, 8, 9, 10, None, None),
    ]
    [batch] = rows_to_batches(rows, layout.schema)
    read = [(atom, part.to_pylist()) for atom, part in layout.relations(batch, schemas)]
    assert [atom for atom, _ in read] == [0, 1, 0]
    assert read[0][1] == [
        {"a": 1, "b": 2, "x": 3, MULTIPLICITY: 1},
        {"a": 4, "b": 5, "x": None, MULTIPLICITY: -1},
    ]
    assert read[1][1] == [{"b": 6, "c": 7, "name": "x", MULTIPLICITY: 2}]
    assert batch.schema.names[0] == ATOM


def test_rows_come_in_batches() -> None:
    schema = pa.schema({"a": pa.int64()})
    batches = list(rows_to_batches(((i,) for i in range(5)), schema, size=2))
    assert [batch.num_rows for batch in batches] == [2, 2, 1]


def test_without_java_the_error_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaNotFoundError, match=r"none was found.*\n.*apt install openjdk-17"):
        check_java()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 1", "does not run"),
        ("echo 'openjdk version \"11.0.2\"' >&2", "a newer Java than 11"),
        ("echo 'java version \"1.8.0_292\"' >&2", "a newer Java than 8"),
    ],
)
def test_a_java_that_does_not_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(pyspark, "__version__", "4.1.0")
    with pytest.raises(JavaNotFoundError, match=message):
        check_java()


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ringview.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ImportError, match=r"pip install 'ringview\[spark\]'"):
        importlib.import_module("ringview.spark")


def test_an_older_pyspark_is_named_with_the_one_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ringview.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(pyspark, "__version__", "3.4.4")
    with pytest.raises(ImportError, match=r"needs PySpark 3\.5 or later, and 3\.4\.4 is installed"):
        importlib.import_module("ringview.spark")


def test_what_an_older_pyspark_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ringview.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"3\.5\.9 needs distutils.*pip install setuptools"):
        importlib.import_module("ringview.spark")
