"""Groups over cyclic joins: kept where a change is of one group, else computed as they are read."""

from __future__ import annotations

import random
from typing import Any

import pytest
import ringview as rv
from amounts import examples
from cyclic_tables import (
    CYCLE,
    EPSILONS,
    ORACLE,
    RST,
    SCHEMAS,
    Rows,
    change,
    database,
    one_row,
    tables_of,
)
from durable_twin import durable_twin
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparable
from ringview import errors


def test_groups_by_what_all_that_changes_has() -> None:
    """The third table is static: its rows were there before."""
    db, tables = rv.Database(), {table: list[dict[str, Any]]() for table in SCHEMAS}
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema, static=name == "s")
    dice = random.Random(3)
    tables["s"] = [one_row("s", dice, 5) for _ in range(30)]
    db.insert("s", tables["s"])
    sql = f"SELECT r.a, COUNT(*) AS n, SUM(y) AS y {RST} GROUP BY r.a"
    view = db.create_view("v", sql, engine="epsilon")
    for _ in range(20):
        for table in "rt":
            rows = [one_row(table, dice, 5) for _ in range(4)]
            db.insert(table, rows)
            tables[table] += rows
            assert comparable(view.to_arrow()) == ORACLE.rows(sql, tables)
    text = str(view.explain())
    assert "a change is of one group" in text
    assert view.get({"a": 0})


ON_READ = {
    "edges": f"SELECT r.a, s.b, COUNT(*) AS n, SUM(x * z) AS xz, AVG(y) AS y {RST} "
    "GROUP BY r.a, s.b",
    "vertices": f"SELECT t.c AS last, COUNT(*) AS n, SUM(d) AS d {RST} GROUP BY t.c",
    "HAVING": f"SELECT r.a, COUNT(*) AS n {RST} GROUP BY r.a HAVING COUNT(*) > 2",
    "a cycle": f"SELECT p.src, q.src AS mid, COUNT(*) AS n {CYCLE} GROUP BY p.src, q.src",
    "four in a row": "SELECT q.src, COUNT(*) AS n FROM e o JOIN e p ON o.dst = p.src "
    "JOIN e q ON p.dst = q.src JOIN e u ON q.dst = u.src GROUP BY q.src",
}


@examples(40)
@given(
    st.sampled_from(sorted(ON_READ)),
    st.sampled_from(EPSILONS[:7]),
    st.integers(0, 2**32),
    st.sampled_from([3, 6]),
)
def test_groups_of_one_relation_are_read_as_duckdb_has_them(
    name: str, epsilon: float | None, seed: int, wide: int
) -> None:
    dice, sql, db = random.Random(seed), ON_READ[name], rv.Database()
    tables: dict[str, Rows] = {table: [] for table in SCHEMAS}

    def define(db: rv.Database) -> rv.View:
        return tables_of(db).create_view("v", sql, engine="epsilon", epsilon=epsilon)

    view = define(db)
    tree = db.create_view("tree", sql)
    keys = sql[sql.index("GROUP BY") + 9 :].partition(" HAVING")[0].count(",") + 1
    with durable_twin(define) as file:
        for step in range(8):
            change([db, file.next()], tables, dice, wide=wide, most=9)
            names = view.schema.names[:keys]
            wanted = [
                {name: row[name] for name in names} for row in tree.to_arrow().to_pylist()[:4]
            ]
            if step % 2:
                # One by one before all were read.
                for key in wanted:
                    assert view.get(key) == tree.get(key)
                    assert comparable(view.where(**key)) == comparable(tree.where(**key))
                assert view.get(dict.fromkeys(names)) is None
            expected = ORACLE.rows(sql, tables)
            assert comparable(view.to_arrow()) == expected
            assert comparable(file.db["v"].to_arrow()) == expected
            assert len(view) == len(expected)
            for key in wanted:
                part = {names[0]: key[names[0]]}
                assert comparable(view.where(**part)) == comparable(tree.where(**part))


def test_groups_that_are_read_are_explained_and_tell_nothing_of_what_moved() -> None:
    db = database()
    view = db.create_view("v", ON_READ["edges"], engine="epsilon")
    db.insert("r", [{"a": 1, "b": "b", "x": 1, "d": None}])
    assert len(view) == 0
    text = str(view.explain())
    assert "computed as they are read, from the rows of r: O(N^0.5) for each" in text
    with pytest.raises(errors.UnsupportedError, match=r"computed as they are read.*get\(\)"):
        view.changes()
    with pytest.raises(errors.UnsupportedError, match="a view over this one"):
        db.create_view("above", "SELECT SUM(n) AS n FROM v")
    # The advice of the message.
    kept = db.create_view("kept", ON_READ["edges"])
    db.insert("s", [{"b": "b", "c": 2, "y": 1.0}])
    db.insert("t", [{"c": 2, "a": 1, "z": 3}])
    assert kept.changes().num_rows == 1
    assert view.get({"a": 1, "b": "b"}) == kept.get({"a": 1, "b": "b"})
    db.create_view("above", "SELECT SUM(n) AS n FROM kept")
