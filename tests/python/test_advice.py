"""What a refusal advises, done: it comes to what DuckDB says of the SQL that was refused.

Over rows that come twice, overlap and hold NULL, one batch inserted before the views are made and
one after, with deletes. A message whose advice has no line here must give none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute
import pytest
import ringview as rv
from oracle import plain_rows
from ringview import errors
from ringview.sql import names, scalars, select

SCHEMAS = {
    "r": {"a": "int64", "b": "int64", "x": "float64", "d": "decimal128(10, 2)"},
    "s": {"b": "int64", "c": "int64", "t": "string"},
}
Row = dict[str, Any]
ROWS: dict[str, list[Row]] = {
    "r": [
        {"a": a, "b": b, "x": x, "d": None if x is None else Decimal(str(x))}
        for a, b, x in [
            *((1, 1, 1.5), (1, 1, 1.5), (1, 2, -2.25), (2, 2, 4.0), (2, 3, None)),
            *((None, 1, 8.5), (3, None, 1.0), (3, 4, -1.75), (3, 2, 2.5)),
        ]
    ],
    "s": [
        {"b": b, "c": c, "t": t}
        for b, c, t in [
            *((1, 1, "u"), (1, 2, "v"), (1, 2, "v"), (2, 1, None), (3, 7, "w")),
            *((None, 1, "u"), (9, 9, "u"), (2, None, "v")),
        ]
    ],
}


@dataclass
class Setting:
    """A database that is filled in two steps, and views of it kept as the advice says."""

    db: rv.Database
    views: list[rv.View] = field(default_factory=list)

    def view(self, sql: str) -> rv.View:
        self.views.append(self.db.create_view(f"v{len(self.db.views)}", sql))
        return self.views[-1]


Advised = Callable[[Setting], Callable[[], list[tuple[Any, ...]]]]


def rows_of(found: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.to_pylist()]


def read(sql: str) -> Advised:
    """Another view."""

    def advised(at: Setting) -> Callable[[], list[tuple[Any, ...]]]:
        view = at.view(sql)
        return lambda: rows_of(view.to_arrow())

    return advised


def computed(after: str, *views: str) -> Advised:
    """Something computed from what is read of views, called `v0`, `v1`, .. in `after`."""

    def advised(at: Setting) -> Callable[[], list[tuple[Any, ...]]]:
        made = [at.view(sql) for sql in views]

        def compute() -> list[tuple[Any, ...]]:
            with duckdb.connect(":memory:", config={"threads": 1}) as connection:
                for number, view in enumerate(made):
                    connection.register(f"v{number}", view.to_arrow())
                return rows_of(connection.sql(after).to_arrow_table())

        return compute

    return advised


def with_column(column: str, kind: str, function: Callable[[Row], Any], sql: str) -> Advised:
    """A view over `r`, or `s` if it has the column's prefix, with a column computed beforehand."""
    table, name = column.split(".")

    def advised(at: Setting) -> Callable[[], list[tuple[Any, ...]]]:
        more = at.db.create_table(f"{table}2", {**SCHEMAS[table], name: kind})
        view = at.view(sql)

        def compute() -> list[tuple[Any, ...]]:
            # As if its rows had come with the column: those that are there now.
            found = pa.table(at.db[f"all_{table}"]).to_pylist()
            assert len(more) == 0
            at.db.insert(f"{table}2", [{**row, name: function(row)} for row in found])
            result = rows_of(view.to_arrow())
            at.db.delete(f"{table}2", [{**row, name: function(row)} for row in found])
            return result

        return compute

    return advised


def null_or(function: Callable[..., Any], *names: str) -> Callable[[Row], Any]:
    return lambda row: None if None in (v := [row[n] for n in names]) else function(*v)


JOINED = "FROM r, s WHERE r.b = s.b"
AROUND = (
    "join in a subquery that shows the columns, and put the condition around it: "
    "FROM (SELECT .. FROM .. JOIN ..) AS q WHERE .."
)
COLUMN, GROUPS, ROWS_READ = scalars.IN_COLUMN, scalars.FROM_GROUPS, scalars.FROM_ROWS

# The rows of one table, and the groups of the other.
APART = ("SELECT a, b, x FROM r", "SELECT b, COUNT(*) AS n, SUM(c) AS c FROM s GROUP BY b")

# The SQL that is refused, words of the advice, the advice.
ADVICE: list[tuple[str, str, Advised]] = [
    (
        "SELECT COUNT(*) FROM r WHERE x < (SELECT SUM(s.c * r.x) FROM s)",
        names.OUTSIDE,
        read("SELECT COUNT(*) FROM r WHERE x < r.x * (SELECT SUM(s.c) FROM s)"),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a > (SELECT COUNT(DISTINCT b) FROM s WHERE c = 1)",
        select.ONE_VALUE,
        read(
            "SELECT COUNT(*) FROM r WHERE a > "
            "(SELECT MAX(q.n) FROM (SELECT COUNT(DISTINCT b) AS n FROM s WHERE c = 1) AS q)"
        ),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a < (SELECT c FROM s WHERE c = 7)",
        "aggregate it: MIN or MAX of the column",
        read("SELECT COUNT(*) FROM r WHERE a < (SELECT MIN(c) FROM s WHERE c = 7)"),
    ),
    (
        "SELECT a, SUM(x * (SELECT MAX(c) FROM s)) AS y FROM r GROUP BY a",
        scalars.IN_FROM,
        read(
            "SELECT a, SUM(x * q.m) AS y FROM r CROSS JOIN (SELECT MAX(c) AS m FROM s) AS q "
            "GROUP BY a"
        ),
    ),
    (
        "SELECT SUM(x * (SELECT COUNT(*) FROM s WHERE s.b = r.b)) FROM r",
        scalars.IN_FROM,
        computed("SELECT SUM(x * COALESCE(n, 0)) FROM v0 LEFT JOIN v1 USING (b)", *APART),
    ),
    *(
        (
            f"SELECT a, (SELECT {of} FROM s WHERE s.b = r.b) AS y FROM r",
            scalars.IN_FROM,
            computed(f"SELECT a, {read_as} FROM v0 LEFT JOIN v1 USING (b)", *APART),
        )
        for of, read_as in (("COUNT(*)", "COALESCE(n, 0)"), ("SUM(c)", "c"))
    ),
    (
        "SELECT a, COUNT(*) AS n, (SELECT SUM(c) FROM s WHERE s.b = r.a) AS c FROM r GROUP BY a",
        scalars.IN_FROM,
        computed(
            "SELECT a, v0.n, c FROM v0 LEFT JOIN v1 ON a = b",
            "SELECT a, COUNT(*) AS n FROM r GROUP BY a",
            APART[1],
        ),
    ),
    *(
        (
            f"SELECT r.a, q.c FROM r, {lateral}(SELECT c FROM s WHERE s.b = r.b) q",
            names.JOINED_ON,
            read("SELECT r.a, q.c FROM r JOIN (SELECT b, c FROM s) AS q USING (b)"),
        )
        for lateral in ("", "LATERAL ")
    ),
    *(
        (
            f"SELECT a, q.n FROM r, {lateral}(SELECT COUNT(*) AS n FROM s WHERE s.b = r.b) q",
            names.JOINED_ON,
            computed("SELECT a, COALESCE(n, 0) FROM v0 LEFT JOIN v1 USING (b)", *APART),
        )
        for lateral in ("", "LATERAL ")
    ),
    (
        "SELECT COUNT(*) FROM (SELECT b FROM r UNION SELECT b FROM s) AS q",
        scalars.READ_APART,
        computed(
            "SELECT COUNT(*) FROM (SELECT b FROM v0 UNION SELECT b FROM v1)",
            "SELECT b FROM r",
            "SELECT b FROM s",
        ),
    ),
    (
        "SELECT COUNT(a) FROM (SELECT a FROM r ORDER BY a LIMIT 4) AS q",
        scalars.READ_APART,
        computed("SELECT COUNT(a) FROM (SELECT a FROM v0 ORDER BY a LIMIT 4)", "SELECT a FROM r"),
    ),
    (
        "SELECT COUNT(a) FROM (SELECT a FROM r ORDER BY a) AS q",
        "leave it out",
        read("SELECT COUNT(a) FROM (SELECT a FROM r) AS q"),
    ),
    (
        "WITH RECURSIVE q AS (SELECT a FROM r) SELECT COUNT(a) FROM q",
        "leave RECURSIVE out where no name reads itself",
        read("WITH q AS (SELECT a FROM r) SELECT COUNT(a) FROM q"),
    ),
    (
        "WITH RECURSIVE q AS (SELECT a, b FROM r UNION SELECT q.a, r.b FROM q JOIN r ON q.b = r.a) "
        "SELECT COUNT(*) FROM q",
        "keep the rows that it starts from, and follow them in what you read",
        computed(
            "WITH RECURSIVE q AS (SELECT a, b FROM v0 UNION SELECT q.a, v0.b FROM q JOIN v0 "
            "ON q.b = v0.a) SELECT COUNT(*) FROM q",
            "SELECT a, b FROM r",
        ),
    ),
    (
        "SELECT b FROM r UNION SELECT b FROM s",
        "unite, intersect or subtract what you read",
        computed("SELECT b FROM v0 UNION SELECT b FROM v1", "SELECT b FROM r", "SELECT b FROM s"),
    ),
    (
        "SELECT b FROM r EXCEPT ALL SELECT b FROM s",
        "unite, intersect or subtract what you read",
        computed(
            "SELECT b FROM v0 EXCEPT ALL SELECT b FROM v1", "SELECT b FROM r", "SELECT b FROM s"
        ),
    ),
    (
        "SELECT COUNT(*), COUNT(c) FROM r LEFT JOIN s USING (b)",
        "keep the rows of each side as a view and join what you read",
        computed(
            "SELECT COUNT(*), COUNT(c) FROM v0 LEFT JOIN v1 USING (b)",
            "SELECT b FROM r",
            "SELECT b, c FROM s",
        ),
    ),
    (
        "SELECT COUNT(*) FROM r SEMI JOIN s USING (b)",
        "keep the rows of each side as a view and join what you read",
        computed(
            "SELECT COUNT(*) FROM v0 SEMI JOIN v1 USING (b)", "SELECT b FROM r", "SELECT b FROM s"
        ),
    ),
    (
        "SELECT a, SUM(x) OVER (PARTITION BY a) AS y FROM r",
        ROWS_READ,
        computed("SELECT a, SUM(x) OVER (PARTITION BY a) FROM v0", "SELECT a, x FROM r"),
    ),
    (
        "SELECT a, x, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b, x NULLS LAST) AS n FROM r",
        ROWS_READ,
        computed(
            "SELECT a, x, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b, x NULLS LAST) FROM v0",
            "SELECT a, b, x FROM r",
        ),
    ),
    (
        "SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY x) AS n FROM r) q",
        ROWS_READ,
        computed(
            "SELECT SUM(n) FROM "
            "(SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY x) AS n FROM v0)",
            "SELECT a, x FROM r",
        ),
    ),
    (
        "SELECT a, x FROM r QUALIFY COUNT(*) OVER (PARTITION BY a) > 1",
        "keep the rows and filter what you read",
        computed(
            "SELECT a, x FROM v0 QUALIFY COUNT(*) OVER (PARTITION BY a) > 1", "SELECT a, x FROM r"
        ),
    ),
    (
        "SELECT a, SUM(x) AS y, SUM(x) FILTER (WHERE b = 1) AS z, "
        "COUNT(*) FILTER (WHERE b = 1) AS n FROM r GROUP BY a",
        "make a second view with the filter in WHERE; groups that it lacks are NULL, 0 for COUNT",
        computed(
            "SELECT v0.a, v0.y, v1.z, COALESCE(v1.n, 0) "
            "FROM v0 LEFT JOIN v1 ON v0.a IS NOT DISTINCT FROM v1.a",
            "SELECT a, SUM(x) AS y FROM r GROUP BY a",
            "SELECT a, SUM(x) AS z, COUNT(*) AS n FROM r WHERE b = 1 GROUP BY a",
        ),
    ),
    (
        "SELECT a, SUM(DISTINCT x) FROM r GROUP BY a",
        "take the columns from a subquery that has each once: FROM (SELECT DISTINCT ..) AS q",
        read("SELECT a, SUM(x) AS y FROM (SELECT DISTINCT a, x FROM r) AS q GROUP BY a"),
    ),
    (
        "SELECT DISTINCT COUNT(*) AS n FROM r GROUP BY a",
        "put it around: SELECT DISTINCT .. FROM (SELECT ..) AS q",
        read("SELECT DISTINCT n FROM (SELECT COUNT(*) AS n FROM r GROUP BY a) AS q"),
    ),
    (
        "SELECT DISTINCT ON (a) a FROM r",
        "keep the rows and choose from them",
        computed("SELECT DISTINCT ON (a) a FROM v0", "SELECT a FROM r"),
    ),
    (
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) FROM r",
        ROWS_READ,
        computed("SELECT QUANTILE_CONT(x, 0.5) FROM v0", "SELECT x FROM r"),
    ),
    (
        "SELECT a, MEDIAN(x) FROM r GROUP BY a",
        ROWS_READ,
        computed("SELECT a, MEDIAN(x) FROM v0 GROUP BY a", "SELECT a, x FROM r"),
    ),
    (
        "SELECT SUM(x ORDER BY a) FROM r",
        "leave it out",
        read("SELECT SUM(x) FROM r"),
    ),
    (
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a ORDER BY SUM(x) DESC NULLS LAST, a LIMIT 2",
        "select what it sorts by, and sort what you read",
        computed(
            "SELECT a, n FROM v0 ORDER BY y DESC NULLS LAST, a LIMIT 2",
            "SELECT a, COUNT(*) AS n, SUM(x) AS y FROM r GROUP BY a",
        ),
    ),
    (
        "SELECT a, COUNT(*) AS n FROM r GROUP BY ROLLUP (a)",
        "make a view of each grouping",
        computed(
            "SELECT * FROM v0 UNION ALL SELECT NULL, n FROM v1",
            "SELECT a, COUNT(*) AS n FROM r GROUP BY a",
            "SELECT COUNT(*) AS n FROM r",
        ),
    ),
    (
        "SELECT a, COUNT(*) AS n FROM r GROUP BY ALL",
        "name the columns",
        read("SELECT a, COUNT(*) AS n FROM r GROUP BY a"),
    ),
    # Of groups, and of rows.
    *(
        (
            f"SELECT a, {expression('SUM(d)')} AS y FROM r GROUP BY a",
            GROUPS,
            computed(
                f"SELECT a, {expression('y')} FROM v0", "SELECT a, SUM(d) AS y FROM r GROUP BY a"
            ),
        )
        for expression in (
            "ROUND({}, 1)".format,
            "CAST({} AS DOUBLE)".format,
            "CASE WHEN {} > 2 THEN 1 ELSE 0 END".format,
            "ABS({})".format,
            "{} % 2".format,
        )
    ),
    (
        "SELECT a, SUM(x) AS y FROM r GROUP BY a HAVING ABS(SUM(x)) > 3",
        GROUPS,
        computed("SELECT * FROM v0 WHERE ABS(y) > 3", "SELECT a, SUM(x) AS y FROM r GROUP BY a"),
    ),
    (
        "SELECT a || '!' AS y, COUNT(*) AS n FROM r GROUP BY a",
        GROUPS,
        computed("SELECT a || '!', n FROM v0", "SELECT a, COUNT(*) AS n FROM r GROUP BY a"),
    ),
    (
        "SELECT SUM(CASE WHEN a = 1 THEN x ELSE 2 END) FROM r",
        COLUMN,
        with_column(
            "r.k",
            "float64",
            lambda row: row["x"] if row["a"] == 1 else 2.0,
            "SELECT SUM(k) FROM r2",
        ),
    ),
    (
        "SELECT SUM(CAST(x AS INT)) FROM r",
        COLUMN,
        # Half to even, as DuckDB casts.
        with_column("r.k", "int64", null_or(round, "x"), "SELECT SUM(k) FROM r2"),
    ),
    (
        "SELECT SUM(x) FROM r WHERE ABS(x) > 2",
        COLUMN,
        with_column("r.k", "float64", null_or(abs, "x"), "SELECT SUM(x) FROM r2 WHERE k > 2"),
    ),
    (
        "SELECT SUM(x / a) FROM r",
        COLUMN,
        with_column(
            "r.k", "float64", null_or(lambda x, a: x / a, "x", "a"), "SELECT SUM(k) FROM r2"
        ),
    ),
    (
        "SELECT COUNT(x / 2) FROM r",
        COLUMN,
        with_column("r.k", "float64", null_or(lambda x: x / 2, "x"), "SELECT COUNT(k) FROM r2"),
    ),
    ("SELECT SUM(x / 2) FROM r", "divide the aggregate", read("SELECT SUM(x) / 2 FROM r")),
    ("SELECT AVG(a / 2) FROM r", "divide the aggregate", read("SELECT AVG(a) / 2 FROM r")),
    ("SELECT SUM(x ** 2) FROM r", "write x * x", read("SELECT SUM(x * x) FROM r")),
    (
        "SELECT SUM(x ** 0.5) FROM r WHERE x > 0",
        COLUMN,
        with_column(
            "r.k",
            "float64",
            null_or(lambda x: abs(x) ** 0.5, "x"),
            "SELECT SUM(k) FROM r2 WHERE x > 0",
        ),
    ),
    (
        "SELECT a, SUM(x) ** 2 AS y FROM r GROUP BY a",
        "write SUM(x) * SUM(x)",
        read("SELECT a, SUM(x) * SUM(x) AS y FROM r GROUP BY a"),
    ),
    (
        "SELECT a + b AS y FROM r",
        "select its columns and compute it from what you read",
        computed("SELECT a + b FROM v0", "SELECT a, b FROM r"),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a IN (1, b)",
        "write = and OR for columns",
        read("SELECT COUNT(*) FROM r WHERE a = 1 OR a = b"),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a IS DISTINCT FROM 1",
        COLUMN,
        with_column("r.k", "bool", lambda row: row["a"] != 1, "SELECT COUNT(*) FROM r2 WHERE k"),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a + 1",
        "compare it with something",
        read("SELECT COUNT(*) FROM r WHERE a + 1 <> 0"),
    ),
]


@pytest.fixture
def setting() -> Setting:
    db = rv.Database()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
        db.create_view(f"all_{name}", f"SELECT * FROM {name}")
        db.insert(name, ROWS[name][::2])
    return Setting(db)


@pytest.mark.parametrize(
    ("sql", "words", "advised"),
    ADVICE,
    ids=[f"{sql[:60]}-{words[:12]}" for sql, words, _ in ADVICE],
)
def test_advice_comes_to_what_was_refused(
    setting: Setting, sql: str, words: str, advised: Advised
) -> None:
    with pytest.raises(errors.RingviewError) as refused:
        setting.db.create_view("refused", sql)
    assert words in str(refused.value).splitlines()[0]
    answer = advised(setting)
    check(setting, sql, answer)
    for name in SCHEMAS:
        setting.db.insert(name, [*ROWS[name][1::2], *ROWS[name][:3]])
        setting.db.delete(name, ROWS[name][:2])
    check(setting, sql, answer)


def check(setting: Setting, sql: str, answer: Callable[[], list[tuple[Any, ...]]]) -> None:
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        for name in SCHEMAS:
            connection.register(name, setting.db[f"all_{name}"].to_arrow())
        expected = rows_of(connection.sql(sql).to_arrow_table())
    assert plain_rows(answer()) == plain_rows(expected)


def test_an_engine_without_conditions_across_tables_has_them_around_a_join(
    setting: Setting,
) -> None:
    sql = "SELECT MIN(x) AS y FROM r, s WHERE r.a < s.c"
    around = "SELECT MIN(x) FROM (SELECT a, c, x FROM r CROSS JOIN s) AS q WHERE a < c"
    with pytest.raises(errors.UnsupportedError) as refused:
        setting.db.create_view("refused", sql, engine="viewtree")
    assert AROUND in str(refused.value)
    taken, advised = setting.view(sql), setting.view(around)
    for view in (taken, advised):
        check(setting, sql, partial(rows_of, view.to_arrow()))


def test_a_row_that_is_deleted_is_given_whole() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.insert("r", {"a": [1], "b": [2]})
    with pytest.raises(errors.InvalidValueError) as refused:
        db.delete("r", {"a": [1]})
    assert "a delete gives rows as they are there, with every column" in str(refused.value)
    # NULL is no stand-in for what is not known.
    with pytest.raises(errors.OverDeleteError):
        db.delete("r", {"a": [1], "b": [None]})
    db.delete("r", {"a": [1], "b": [2]})
    assert len(db.tables["r"]) == 0


def test_the_engine_s_names_have_near_ones_too() -> None:
    db = rv.Database()
    db.create_table("orders", {"customer": "int64"})
    db.create_view("totals", "SELECT COUNT(*) AS n FROM orders")
    for call, near in (
        (lambda: db.drop_table("order"), "orders"),
        (lambda: db.drop_view("total"), "totals"),
        (lambda: db["totls"], "totals"),
        (lambda: db.tables["oders"], "orders"),
        (lambda: db.insert("orders", {"custmer": [1]}), "customer"),
        (lambda: db.insert("orders", pa.table({"customers": [1]})), "customer"),
        (lambda: db.create_table("t", {"key": "int64"}, unique=["kee"]), "key"),
    ):
        with pytest.raises(errors.RingviewError, match=f"did you mean '{near}'"):
            call()
    with pytest.raises(errors.UnknownTableError) as far:
        db.drop_table("xyz")
    assert "did you mean" not in str(far.value)


def test_sums_of_bools_are_of_columns_of_numbers() -> None:
    """COUNT would count FALSE, too, and be 0 where SUM is NULL."""
    db = rv.Database()
    db.create_table("r", {"k": "int64", "f": "bool"})
    db.create_table("n", {"k": "int64", "f": "int8"})
    for function in ("SUM", "AVG"):
        with pytest.raises(errors.TypeMismatchError, match="declare the column as int8"):
            db.create_view("v", f"SELECT k, {function}(f) AS s FROM r GROUP BY k")
    with pytest.raises(errors.TypeMismatchError) as text:
        db.create_table("t", {"t": "string"})
        db.create_view("v", "SELECT SUM(t) FROM t")
    assert str(text.value).splitlines()[0].endswith("this is a text")
    view = db.create_view("v", "SELECT k, SUM(f) AS s FROM n GROUP BY k")
    keys, flags = [1, 1, 1, 2, 2, 3], [True, False, True, False, None, None]
    db.insert("n", {"k": keys, "f": [None if f is None else int(f) for f in flags]})
    with duckdb.connect() as connection:
        connection.register("r", pa.table({"k": keys, "f": flags}))
        expected = connection.sql("SELECT k, SUM(f) FROM r GROUP BY k").to_arrow_table()
        assert plain_rows(rows_of(view.to_arrow())) == plain_rows(rows_of(expected))


MOMENTS = {"t": "timestamp[us]", "u": "timestamp[us]", "k": "int64"}


@pytest.mark.parametrize(
    ("sql", "words", "advised"),
    [
        (
            "SELECT COUNT(*) FROM r WHERE t + INTERVAL 1 DAY > TIMESTAMP '2020-01-02'",
            "move the interval to the constant on the other side",
            "SELECT COUNT(*) FROM r WHERE t > TIMESTAMP '2020-01-02' - INTERVAL 1 DAY",
        ),
        (
            "SELECT COUNT(*) FROM r WHERE u > t + INTERVAL 1 DAY",
            COLUMN,
            "SELECT COUNT(*) FROM later WHERE u > t",
        ),
        (
            "SELECT COUNT(*) FROM r WHERE t > now() - INTERVAL 1 DAY",
            scalars.AS_TIME_PASSES,
            "SELECT COUNT(*) FROM r WHERE t > TIMESTAMP '2020-01-02' - INTERVAL 1 DAY",
        ),
        (
            "SELECT COUNT(*) FROM r WHERE t::DATE > current_date",
            "",
            None,
        ),
        ("SELECT k, MAX(t) - MIN(t) AS d FROM r GROUP BY k", GROUPS, None),
    ],
)
def test_advice_on_moments(sql: str, words: str, advised: str | None) -> None:
    db = rv.Database()
    db.create_table("r", MOMENTS)
    # A column that was computed before the rows were inserted.
    db.create_table("later", MOMENTS)
    day = 86_400_000_000
    start = 1_577_836_800_000_000
    rows = pa.table(
        {
            "t": pa.array([start, start + day, start + day // 2], pa.timestamp("us")),
            "u": pa.array([start + 2 * day, start + day, start + 3 * day], pa.timestamp("us")),
            "k": [1, 1, 2],
        }
    )
    with pytest.raises(errors.RingviewError) as refused:
        db.create_view("v", sql)
    assert words in str(refused.value).splitlines()[0]
    if advised is None:
        return
    db.insert("r", rows)
    shifted = pa.compute.add(rows["t"], pa.scalar(day, pa.duration("us")))
    db.insert("later", rows.set_column(0, "t", shifted))
    found = db.create_view("v", advised).scalar()
    with duckdb.connect() as connection:
        connection.register("r", rows)
        asked = sql.replace("now()", "TIMESTAMP '2020-01-02'")
        assert [(found,)] == connection.sql(asked).fetchall()
