"""Functions of the user in views, against DuckDB with the same functions, after every batch."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import everyday
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import ringview as rv
from everyday import SCHEMAS
from own_functions import bump, declare, oracle, slug, small, spread
from ringview import errors
from test_everyday_sql import Rows, follow, play, same

# Queries that are the same in DuckDB have one text.
QUERIES: list[str | tuple[str, str]] = [
    "SELECT bump(a) AS b, slug(s) AS s FROM r WHERE bump(b) > 3",
    "SELECT mix(s, a) AS m, scaled(p, f) AS q FROM r WHERE odd_or_null(b) OR s = 'x'",
    "SELECT slug(s) AS s, SUM(bump(a)) AS n, COUNT(*) AS c FROM r GROUP BY slug(s)",
    "SELECT slug(s) AS s, bump(a) AS b FROM r GROUP BY ALL",
    "SELECT slug(s) AS s, SUM(b) AS n FROM r GROUP BY ALL",
    "SELECT r.b, s.c FROM r JOIN s ON bump(r.a) = s.c + 2",
    "SELECT r.a, s.t FROM r LEFT JOIN s ON r.a = s.a AND odd_or_null(s.c)",
    "SELECT a, bump(COUNT(b)) AS n, bump(MAX(b)) AS m FROM r GROUP BY a HAVING bump(COUNT(*)) > 3",
    "SELECT CASE WHEN odd_or_null(a) THEN mix(s, b) ELSE slug(s) END AS m FROM r",
    "SELECT a FROM r WHERE bump(b) IN (SELECT c FROM s)",
    "SELECT a, (SELECT SUM(bump(s.c)) FROM s WHERE s.a = r.a) AS n FROM r",
    "SELECT bump(a) AS x FROM r UNION ALL SELECT bump(c) FROM s",
    "SELECT DISTINCT bump(a) AS x FROM r",
    "SELECT bump(a) AS x, s FROM r ORDER BY bump(a), s LIMIT 4",
    "SELECT COUNT(DISTINCT bump(a)) AS n, MIN(slug(s)) AS l, MAX(mix(s, b)) AS m FROM r",
    "SELECT x, COUNT(*) AS n FROM (SELECT bump(bump(a)) AS x FROM r) GROUP BY x",
    "WITH q AS (SELECT a, bump(b) AS b FROM r) SELECT q.a, SUM(q.b * s.c) AS n "
    "FROM q JOIN s USING (a) GROUP BY q.a",
    "SELECT a, SUM(bump(b)) OVER (PARTITION BY slug(s)) AS n FROM r",
    "SELECT MEDIAN(bump(a)) AS m FROM r",
    "SELECT a FROM r WHERE slug(s) = 'zed'",
    "SELECT bump(3) AS x, bump(a) + bump(4) AS y FROM r",
    (
        "SELECT a, bump(SUM(b)) AS n FROM r GROUP BY a",
        "SELECT a, bump(SUM(b)::BIGINT) AS n FROM r GROUP BY a",
    ),
    (
        "SELECT a, spread(b) AS n, COUNT(*) AS c, SUM(f) AS f FROM r GROUP BY a",
        "SELECT a, MAX(b) - MIN(b) AS n, COUNT(*) AS c, SUM(f) AS f FROM r GROUP BY a",
    ),
    (
        "SELECT spread(bump(a)) AS n, joined(s ORDER BY s) AS j FROM r",
        "SELECT 2 * (MAX(a) - MIN(a)) AS n, STRING_AGG(s, '|' ORDER BY s) AS j FROM r",
    ),
    (
        "SELECT a, joined(DISTINCT s ORDER BY s) FILTER (WHERE b > 0) AS j FROM r GROUP BY a",
        "SELECT a, STRING_AGG(DISTINCT s, '|' ORDER BY s) FILTER (WHERE b > 0) AS j FROM r "
        "GROUP BY a",
    ),
    (
        "SELECT weighed(b) AS w FROM r",
        "SELECT COALESCE(SUM(b), 0) + 1000 * COUNT(*) FILTER (WHERE b IS NULL) AS w FROM r",
    ),
    (
        "SELECT s, longest(s, b) AS n FROM r GROUP BY ALL HAVING spread(a) > 0",
        "SELECT s, MAX(LENGTH(s)) FILTER (WHERE b IS NOT NULL) AS n FROM r GROUP BY s "
        "HAVING MAX(a) - MIN(a) > 0",
    ),
    (
        "SELECT a, spread(b) OVER (PARTITION BY a) AS n FROM r",
        "SELECT a, MAX(b) OVER w - MIN(b) OVER w AS n FROM r WINDOW w AS (PARTITION BY a)",
    ),
    (
        "SELECT a, spread(b) OVER (PARTITION BY a ORDER BY d, b ROWS 2 PRECEDING) AS n FROM r",
        "SELECT a, MAX(b) OVER w - MIN(b) OVER w AS n FROM r "
        "WINDOW w AS (PARTITION BY a ORDER BY d, b ROWS 2 PRECEDING)",
    ),
    (
        "SELECT r.a, spread(s.c) AS n FROM r JOIN s USING (a) GROUP BY r.a",
        "SELECT r.a, MAX(s.c) - MIN(s.c) AS n FROM r JOIN s USING (a) GROUP BY r.a",
    ),
    (
        "SELECT a FROM r WHERE b > (SELECT spread(c) FROM s)",
        "SELECT a FROM r WHERE b > (SELECT MAX(c) - MIN(c) FROM s)",
    ),
]


def filled(rng: random.Random, **options: Any) -> tuple[rv.Database, Rows]:
    held = {table: everyday.rows(rng, table, 8) for table in SCHEMAS}
    db = rv.Database(**options)
    for table, schema in SCHEMAS.items():
        db.create_table(table, schema)
        db.insert(table, pa.Table.from_pylist(held[table], schema=schema))
    return db, held


@pytest.mark.parametrize(("seed", "threads"), [(0, 1), (1, 1), (2, 3)])
def test_views_call_functions_as_duckdb_does(seed: int, threads: int) -> None:
    rng = random.Random(seed)
    db, held = filled(rng, threads=threads)
    declare(db)
    duckdb_ = oracle()
    views = []
    for at, query in enumerate(QUERIES):
        own, theirs = (query, query) if isinstance(query, str) else query
        view = db.create_view(f"v{at}", own)
        view.changes()
        shown = Counter(repr([*row.values()]) for row in view.to_arrow().to_pylist())
        views.append((view, own, theirs, shown))
    for _ in range(6):
        play(db, held, rng)
        for view, own, theirs, shown in views:
            same(view, theirs, duckdb_, held, is_ordered=own.endswith("LIMIT 4"))
            follow(view, shown)
            assert Counter(map(repr, db.sql(own).to_pylist())) == Counter(
                map(repr, view.to_arrow().to_pylist())
            )
    # Everything leaves: no residue.
    for table, schema in SCHEMAS.items():
        db.delete(table, pa.Table.from_pylist(held[table], schema=schema))
        held[table] = []
    for view, _, theirs, shown in views:
        same(view, theirs, duckdb_, held)
        follow(view, shown)


def test_names_are_found_in_any_case_and_once() -> None:
    db = small(rows={"g": [1], "x": [1], "s": ["A"]})
    db.create_function("Slug", slug, ["string"], "string")
    assert db.sql('SELECT sLUG(s) AS a, "slug"(s) AS b FROM t').to_pylist() == [
        {"a": "a", "b": "a"}
    ]
    for name in ("slug", "SLUG", "upper", "sum", "lag", "now"):
        with pytest.raises(errors.ExistsError, match=f'the function "{name}" exists already'):
            db.create_function(name, slug, ["string"], "string")
    for name in ("", "a b", "1a", "exists", "é"):
        with pytest.raises(errors.InvalidValueError, match="the function"):
            db.create_function(name, slug, ["string"], "string")
    with pytest.raises(errors.InvalidValueError, match="takes no argument"):
        db.create_function("f", slug, [], "string")
    with pytest.raises(errors.InvalidValueError, match='kind is "scalar" or "aggregate"'):
        db.create_function("f", slug, ["string"], "string", kind="table")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidValueError, match='null_handling is "default" or "special"'):
        db.create_function("f", slug, ["string"], "string", null_handling=None)  # type: ignore[arg-type]
    with pytest.raises(errors.TypeMismatchError, match="a function is called"):
        db.create_function("f", 5, ["string"], "string")  # type: ignore[arg-type]
    with pytest.raises(errors.TypeMismatchError, match=r"a list of types, as in \['string'\]"):
        db.create_function("f", slug, "string", "string")
    with pytest.raises(errors.TypeMismatchError, match="no type 'varchar'"):
        db.create_function("f", slug, ["varchar"], "string")
    with pytest.raises(errors.RingviewError):
        db.create_function("f", slug, [pa.list_(pa.int8())], "string")
    assert list(db.functions) == ["Slug"]
    assert db.functions["Slug"] == rv.Function(slug, ["string"], "string")
    with pytest.raises(errors.UnknownFunctionError, match='did you mean "Slug"'):
        db.functions["slugs"]


def test_a_function_is_dropped_when_no_view_calls_it() -> None:
    db = small(rows={"g": [1], "x": [1], "s": ["A"]})
    db.create_function("slug", slug, ["string"], "string")
    db.create_function("spread", spread, ["int64"], "int64", kind="aggregate")
    db.create_view("v", "SELECT g FROM t WHERE slug(s) = 'a'")
    db.create_view("w", "SELECT g, spread(x) AS y FROM t GROUP BY g")
    db.create_view("reads", "SELECT g FROM v")
    for name, view in (("SLUG", "v"), ("spread", "w")):
        with pytest.raises(errors.InUseError, match=f'"{name}" is in use by {view}; drop these'):
            db.drop_function(name)
    db.drop_view("w")
    db.drop_function("spread")
    db.drop_view("reads")
    db.drop_view("v")
    db.drop_function("slug")
    with pytest.raises(errors.UnknownFunctionError, match="there are no functions yet"):
        db.drop_function("slug")
    with pytest.raises(errors.UnsupportedError, match='no function "slug"'):
        db.sql("SELECT slug(s) AS s FROM t")


def test_another_function_of_a_name_is_another() -> None:
    """Results and plans of the old one are not used for the new one."""
    db = small(rows={"g": [1], "x": [3], "s": ["A"]})
    sql = "SELECT SUM(f(x)) AS y FROM t"
    for factor in (2, 5):
        db.create_function("f", lambda x, by=factor: pc.multiply(x, by), ["int64"], "int64")
        assert db.sql(sql)["y"].to_pylist() == [3 * factor]
        view = db.create_view("v", sql)
        assert view.scalar() == 3 * factor
        db.drop_view("v")
        db.drop_function("f")
    # Databases have functions of their own.
    one, other = small(), small()
    for db, by in ((one, 1), (other, 2)):
        db.create_function("f", lambda x, by=by: pc.multiply(x, by), ["int64"], "int64")
        db.create_view("v", sql)
        db.insert("t", {"g": [1], "x": [3], "s": ["A"]})
    assert (one["v"].scalar(), other["v"].scalar()) == (3, 6)


def test_explain_says_what_is_trusted() -> None:
    db = small()
    db.create_function("slug", slug, ["string"], "string")
    db.create_function("spread", spread, ["int64"], "int64", kind="aggregate")
    sql = "SELECT slug(s) AS s, spread(x) AS y FROM t GROUP BY slug(s)"
    view = db.create_view("v", sql)
    for text in (view.explain(), db.explain(sql)):
        line = "trusted: slug, spread to return the same for the same arguments, whenever called"
        assert line in text
        assert "$" not in text
    assert "$" not in view.explain(format="json")
    assert view.sql == sql
    assert "trusted" not in db.create_view("w", "SELECT x FROM t").explain()


def test_a_column_without_a_name_has_that_of_its_text() -> None:
    db = small(rows={"g": [1], "x": [3], "s": ["A"]})
    db.create_function("slug", slug, ["string"], "string")
    db.create_function("spread", spread, ["int64"], "int64", kind="aggregate")
    view = db.create_view("v", "SELECT slug(s), spread(x) FROM t GROUP BY ALL")
    assert list(view) == [{"slug(s)": "a", "spread(x)": 0}]
    with pytest.raises(errors.UnsupportedError, match="spread") as caught:
        db.create_view("w", "SELECT spread(x) FROM t", refresh="part")
    assert "$" not in str(caught.value)


def test_arguments_must_fit() -> None:
    db = small()
    db.create_function("slug", slug, ["string"], "string")
    db.create_function("bump", bump, ["int32"], "int64")
    with pytest.raises(errors.TypeMismatchError, match='argument 1 of "slug": expected string'):
        db.create_view("v", "SELECT slug(x) AS y FROM t")
    with pytest.raises(errors.TypeMismatchError, match='arguments of "slug": expected string'):
        db.create_view("v", "SELECT slug(s, s) AS y FROM t")
    with pytest.raises(errors.TypeMismatchError, match='arguments of "slug"'):
        db.create_view("v", "SELECT slug() AS y FROM t")
    with pytest.raises(errors.TypeMismatchError, match="expected int32, found float64"):
        db.create_view("v", "SELECT bump(x / 2) AS y FROM t")
    # The advice of the message: cast it.
    db.create_view("v", "SELECT slug(CAST(x AS VARCHAR)) AS y FROM t")
    view = db.create_view("w", "SELECT bump(x) AS y FROM t")
    with pytest.raises(errors.RingviewError, match='argument 1 of "bump"'):
        db.insert("t", {"g": [1], "x": [2**40], "s": ["a"]})
    db.insert("t", {"g": [1], "x": [4], "s": ["a"]})
    assert view.scalar() == 9


def test_a_group_is_computed_anew_where_it_changes() -> None:
    db = small()
    seen: list[list[int]] = []

    def noted(x: pa.Array) -> int:
        seen.append(sorted(x.to_pylist()))
        return len(x)

    db.create_function("noted", noted, ["int64"], "int64", kind="aggregate")
    view = db.create_view("v", "SELECT g, noted(x) AS n FROM t GROUP BY g")
    db.insert("t", {"g": [1, 1, 2, 3], "x": [1, 2, 3, 4], "s": ["a"] * 4})
    assert sorted(seen) == [[1, 2], [3], [4]]
    seen.clear()
    with db.transaction() as tx:
        tx.insert("t", {"g": [1], "x": [9], "s": ["a"]})
        tx.delete("t", [{"g": 3, "x": 4, "s": "a"}])
    assert seen == [[1, 2, 9]]
    assert sorted(row["n"] for row in view) == [1, 3]
    # Of each row once, whatever the number of rows.
    calls: list[int] = []

    def counted(x: pa.Array) -> pa.Array:
        calls.append(len(x))
        return x

    db.create_function("counted", counted, ["int64"], "int64")
    db.create_view("w", "SELECT counted(x) AS y FROM t")
    calls.clear()
    db.insert("t", {"g": [1] * 50, "x": range(50), "s": ["a"] * 50})
    assert calls == [50]


def test_samples_call_no_functions() -> None:
    db = small(rows={"g": [1, 2, 3], "x": [1, 2, 3], "s": ["a", "b", "c"]})
    db.create_function("bump", bump, ["int64"], "int64")
    with pytest.raises(
        errors.UnsupportedError, match="a sample takes joins of tables, with filters"
    ):
        db.create_sample("s", "SELECT g FROM t WHERE bump(x) > 3", k=5, seed=1)


def test_the_oracle_knows_the_functions() -> None:
    """A guard: DuckDB would fail by name where it did not."""
    con = oracle().connection
    with pytest.raises(duckdb.CatalogException):
        con.sql("SELECT joined(1)")
    assert con.sql("SELECT bump(3), odd_or_null(NULL)").fetchall() == [(7, True)]


def test_jobs_and_spark_know_no_functions_of_the_user(tmp_path: Path) -> None:
    from ringview import _native, job
    from ringview.queries import Definition

    text = "SELECT slug(s) AS s FROM t"
    with pytest.raises(
        errors.UnsupportedError, match='no function "slug"; compute it into a column'
    ):
        _native.translate(Definition(text).native(), [("t", pa.schema({"s": pa.string()}))])
    (tmp_path / "t.csv").write_text("s\na\n")
    (tmp_path / "job.toml").write_text(
        f'[[table]]\nname = "t"\npath = "t.csv"\n\n[[view]]\nname = "v"\nsql = "{text}"\n'
    )
    with pytest.raises(errors.UnsupportedError, match='line 1, column 8: no function "slug"'):
        job.run(job.load(tmp_path / "job.toml"))
