"""Statistics, MIN, MAX, COUNT(DISTINCT), expressions over aggregates and HAVING against DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from catalog import translate
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, comparable
from queries import FROMS, NUMBERS, From, _columns, _conditions, _name, _numbers
from ringview import errors
from streams import Batch, batches, check

SINGLE = ["VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"]
PAIRS = [
    *("COVAR_POP", "COVAR_SAMP", "CORR"),
    *("REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_COUNT"),
]


@st.composite
def aggregates(draw: st.DrawFn, source: From) -> str:
    """An aggregate of any kind and type."""
    form = draw(st.sampled_from(["values", "values", "one", "pair", "plain"]))
    column = draw(st.sampled_from(_columns(source)))
    if form == "values":
        shape = draw(st.sampled_from(["MIN({})", "MAX({})", "COUNT(DISTINCT {})"]))
        return shape.format(column)
    if form == "one":
        return f"{draw(st.sampled_from(SINGLE))}({draw(_numbers(source))})"
    if form == "pair":
        return f"{draw(st.sampled_from(PAIRS))}({draw(_numbers(source))}, {draw(_numbers(source))})"
    return draw(numbers(source))


@st.composite
def numbers(draw: st.DrawFn, source: From) -> str:
    """An aggregate that is a number, with exact values."""
    column = draw(st.sampled_from([c for c in _columns(source) if _name(c) in NUMBERS]))
    shapes = [
        *("SUM({})", "SUM({})", "COUNT({})", "COUNT(*)", "MIN({})", "MAX({})"),
        *("AVG({})", "COUNT(DISTINCT {})"),
    ]
    return draw(st.sampled_from(shapes)).format(column)


@st.composite
def expressions(draw: st.DrawFn, source: From, group: list[str]) -> str:
    """Arithmetic over aggregates and numeric groups."""
    known = [column for column in group if _name(column) in NUMBERS]
    one, other, third = (
        draw(st.one_of(numbers(source), st.sampled_from(known)) if known else numbers(source))
        for _ in range(3)
    )
    shapes = [
        f"{one} / {other}",
        f"{one} - 2 * {other}",
        f"({one} + {other}) * {third}",
        f"-{one}",
        f"COALESCE({one}, 0)",
        f"COALESCE({one}, {other}, 1.5)",
        f"NULLIF({one}, {other})",
        f"{one} / NULLIF({other}, 0) + 0.5",
        f"1 / (1 + {one} * {one})",
    ]
    return draw(st.sampled_from(shapes))


@st.composite
def conditions(draw: st.DrawFn, source: From, group: list[str]) -> str:
    """A condition on groups. Thresholds lie where no rounding can reach them."""
    number = draw(st.one_of(numbers(source), expressions(source, group)))
    threshold = draw(st.sampled_from(["0", "1", "0.37", "-1.41", "3"]))
    comparison = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    shapes = [
        "COUNT(*) > 1",
        f"{number} {comparison} {threshold}",
        f"{number} IS NOT NULL",
        f"{number} BETWEEN -1.41 AND 1.39",
        f"{draw(numbers(source))} IN (0, 1, 2.5)",
    ]
    names = [c for c in _columns(source) if _name(c) == "name"]
    if names:
        column = draw(st.sampled_from(names))
        shapes += [f"MIN({column}) < 'ab'", f"MAX({column}) LIKE 'a%'"]
    days = [c for c in _columns(source) if _name(c) == "day"]
    if days:
        shapes.append(f"MAX({draw(st.sampled_from(days))}) > DATE '1995-02-01'")
    one, other = draw(st.sampled_from(shapes)), draw(st.sampled_from(shapes))
    return draw(st.sampled_from([one, f"{one} AND {other}", f"{one} OR NOT ({other})"]))


@st.composite
def views(draw: st.DrawFn) -> str:
    """A SELECT of the family that this file is about."""
    source = draw(st.sampled_from(FROMS))
    group = draw(st.lists(st.sampled_from(_columns(source)), max_size=2, unique=True))
    shown = draw(st.lists(st.sampled_from(group), unique=True)) if group else []
    one = st.one_of(aggregates(source), aggregates(source), expressions(source, group))
    found = draw(st.lists(one, min_size=1, max_size=3))
    outputs = [f"{column} AS g{i}" for i, column in enumerate(shown)]
    outputs += [f"{text} AS v{i}" for i, text in enumerate(found)]
    where = " AND ".join([*source.where, *draw(st.lists(_conditions(source), max_size=1))])
    having = draw(st.one_of(st.just(""), conditions(source, group)))
    text = f"SELECT {', '.join(outputs)} FROM {source.text}"
    text += f" WHERE {where}" if where else ""
    text += f" GROUP BY {', '.join(group)}" if group else ""
    return text + (f" HAVING {having}" if having else "")


@examples(100)
@given(views(), st.lists(batches(), max_size=5))
def test_views_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@pytest.mark.long
@examples(5_000)
@given(views(), st.lists(batches(), max_size=8))
def test_views_equal_duckdb_at_length(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tiny": (pa.int8(), [None, *range(-128, 128)]),
    "whole": (pa.int64(), [None, -(2**63), 2**63 - 1, *range(-20, 20)]),
    "natural": (pa.uint64(), [None, 0, 2**64 - 1, 2**63, *range(20)]),
    "price": (pa.decimal128(30, 2), [None, *(Decimal(n * 10**15) / 8 for n in range(-40, 40))]),
    "wide": (pa.decimal128(38, 0), [None, *(Decimal(n) * 3**70 for n in range(-40, 40))]),
    "real": (pa.float64(), [None, -1e300, -0.5, -0.0, 0.0, 0.1, 1e-300, 1e300]),
    "single": (pa.float32(), [None, -2.5, 0.0, 0.5, 1024.0]),
    "name": (pa.string(), [None, "", "Z", "a", "aa", "ab", "\u00e9", "z", "\u4e2d", "\U0001f600"]),
    "day": (pa.date32(), [None, *(date(1960 + n, 1 + n % 12, 1 + n % 28) for n in range(60))]),
    "at": (pa.timestamp("ms"), [None, *(datetime(1969, 12, 31, 23, 59, n) for n in range(60))]),
    "ok": (pa.bool_(), [None, False, True]),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("grouped", [False, True])
def test_the_current_extremes_leave(name: str, grouped: bool) -> None:
    """Each column type, deleting the least and the greatest over and over."""
    ty, domain = TYPES[name]
    generator = random.Random(f"{name} {grouped}")
    schema = pa.schema({"g": pa.int64(), "x": ty})
    oracle = Oracle({"r": schema})
    key, tail = ("g, ", " GROUP BY g") if grouped else ("", "")
    outputs = "MIN(x) AS lo, MAX(x) AS hi, COUNT(DISTINCT x) AS n, COUNT(x) AS c"
    sql = f"SELECT {key}{outputs} FROM r{tail}"
    db = rv.Database()
    db.create_table("r", schema)
    view = db.create_view("v", sql)
    rows: list[dict[str, Any]] = []
    seen: Counter[tuple[Any, ...]] = Counter()
    for round_ in range(30):
        new = [
            {"g": generator.choice([None, 1, 2]), "x": generator.choice(domain)}
            for _ in range(generator.randrange(30 if round_ < 15 else 6))
        ]
        known = [row["x"] for row in rows if row["x"] is not None]
        ends = {min(known), max(known)} if known else set()
        gone = [row for row in rows if row["x"] in ends] if round_ % 2 or round_ > 20 else []
        rows = [row for row in rows if row not in gone] + new
        with db.transaction() as tx:
            tx.insert("r", pa.Table.from_pylist(new, schema=schema))
            tx.delete("r", pa.Table.from_pylist(gone, schema=schema))
        expected = oracle.rows(sql, {"r": rows})
        assert comparable(view.to_arrow()) == expected
        for *row, multiplicity in comparable(view.changes()):
            seen[tuple(row)] += int(multiplicity)
        assert sorted(seen.elements(), key=repr) == expected
    assert view.to_arrow().schema.field("lo").type == ty
    db.delete("r", pa.Table.from_pylist(rows, schema=schema))
    assert comparable(view.to_arrow()) == oracle.rows(sql, {})


def database() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "x": "int64", "d": "decimal128(12, 2)", "s": "string"})
    db.create_table("t", {"a": "int64", "y": "float64", "day": "date32"})
    return db


def row(a: int, x: int | None, d: str = "0.00", s: str | None = None) -> dict[str, Any]:
    return {"a": a, "x": x, "d": Decimal(d), "s": s}


def test_many_values_in_one_group() -> None:
    """More values than a block of the ordered multiset holds, in and out in random order."""
    db = database()
    view = db.create_view("v", "SELECT MIN(x) AS lo, MAX(x) AS hi, COUNT(DISTINCT x) AS n FROM r")
    values = list(range(5_000))
    generator = random.Random(7)
    generator.shuffle(values)
    db.insert("r", [row(1, x) for x in values])
    while values:
        size = generator.randrange(1, 900)
        gone, values = values[:size], values[size:]
        db.delete("r", [row(1, x) for x in gone])
        [found] = view.to_arrow().to_pylist()
        expected = (min(values), max(values)) if values else (None, None)
        assert (found["lo"], found["hi"], found["n"]) == (*expected, len(values))


def test_a_refused_transaction_leaves_the_extremes() -> None:
    db = database()
    view = db.create_view("v", "SELECT a, MIN(x) AS lo, MAX(s) AS hi FROM r GROUP BY a")
    db.insert("r", [row(1, 5, s="m"), row(1, 7, s="k"), row(2, 1)])
    before, _ = view.to_arrow().to_pylist(), view.changes()
    with pytest.raises(errors.OverDeleteError), db.transaction() as tx:
        tx.insert("r", [row(1, 0, s="zz"), row(3, 3)])
        tx.delete("r", [row(1, 5, s="m"), row(2, 1)])
        tx.delete("r", [row(9, 9)])
    assert view.to_arrow().to_pylist() == before
    assert view.changes().num_rows == 0
    db.delete("r", [row(1, 5, s="m")])
    found = {r["a"]: (r["lo"], r["hi"]) for r in view.to_arrow().to_pylist()}
    assert found == {1: (7, "k"), 2: (1, None)}


def test_a_row_that_looks_the_same_has_not_moved() -> None:
    db = database()
    view = db.create_view("v", "SELECT a, MIN(x) AS lo FROM r GROUP BY a")
    db.insert("r", [row(1, 5)])
    view.changes()
    db.insert("r", [row(1, 6)])
    assert view.changes().num_rows == 0


def test_having_moves_groups_in_and_out() -> None:
    db = database()
    view = db.create_view(
        "v", "SELECT a, SUM(x) AS t FROM r GROUP BY a HAVING COUNT(*) >= 2 AND t > 3"
    )
    db.insert("r", [row(1, 2), row(2, 9)])
    assert (len(view), view.changes().num_rows) == (0, 0)
    db.insert("r", [row(1, 2)])
    assert view.changes().to_pylist() == [{"a": 1, "t": 4, "multiplicity": 1}]
    db.insert("r", [row(1, 3)])
    assert [r["multiplicity"] for r in view.changes().to_pylist()] == [-1, 1]
    db.delete("r", [row(1, 2), row(1, 3)])
    assert view.changes().to_pylist() == [{"a": 1, "t": 7, "multiplicity": -1}]
    assert (len(view), view.to_arrow().num_rows) == (0, 0)


def test_types_of_results() -> None:
    db = database()
    outputs = {
        "SUM(x) / COUNT(*)": pa.float64(),
        "SUM(x)": pa.decimal128(38, 0),
        "SUM(x) - 2 * COUNT(*)": pa.decimal128(38, 0),
        "COUNT(x) - 2 * COUNT(*)": pa.int64(),
        "SUM(d) / 2": pa.float64(),
        "SUM(d) * 2": pa.decimal128(38, 2),
        "SUM(x) + 0.5": pa.decimal128(38, 1),
        "SUM(y) + SUM(d)": pa.float64(),
        "MIN(d)": pa.decimal128(12, 2),
        "MAX(s)": pa.string(),
        "COALESCE(MIN(s), 'none')": pa.string(),
        "NULLIF(MAX(day), DATE '1995-01-01')": pa.date32(),
        "COUNT(DISTINCT s)": pa.int64(),
        "REGR_COUNT(x, y)": pa.int64(),
        "VAR_SAMP(x)": pa.float64(),
        "CORR(x, d)": pa.float64(),
    }
    text = ", ".join(f"{output} AS v{i}" for i, output in enumerate(outputs))
    view = db.create_view("v", f"SELECT {text} FROM r JOIN t USING (a)")
    assert view.to_arrow().schema.types == list(outputs.values())
    [found] = view.to_arrow().to_pylist()
    assert found["v10"] == "none"


def test_integer_statistics_are_exact() -> None:
    """Doubles would leave nothing of the variance."""
    db = database()
    view = db.create_view("v", "SELECT VAR_SAMP(x) AS v, CORR(x, a) AS c FROM r")
    db.insert("r", [row(a, 2**60 + a) for a in (1, 2, 3)])
    assert view.to_arrow().to_pylist() == [{"v": 1.0, "c": 1.0}]


def test_what_a_view_computes_may_overflow() -> None:
    db = database()
    view = db.create_view("v", "SELECT SUM(x) * SUM(x) AS square FROM r")
    db.insert("r", [row(1, 2**20)])
    with pytest.raises(errors.ArithmeticOverflowError, match="square"):
        db.insert("r", [row(1, 2**63 - 1), row(1, 2**63 - 1)])
    assert view.scalar() == 2**40
    db.delete("r", [row(1, 2**20)])
    assert view.scalar() is None


def test_memory_and_explain_know_the_values() -> None:
    db = database()
    db.create_view("count", "SELECT COUNT(x) FROM r")
    view = db.create_view("least", "SELECT MIN(x) FROM r")
    db.insert("r", [row(1, x) for x in range(20_000)])
    usage = db.memory_usage()
    assert usage["view least"] > usage["view count"] + 20_000 * 12
    assert "the values of r.x by group" in view.explain()


# By a query that is not cut into blocks.
REFUSED = [
    ("SELECT COUNT(*) FROM r WHERE SUM(x) > 1", errors.QueryError, 30, "HAVING"),
    ("SELECT COUNT(*) FROM r JOIN t ON MAX(x) = y", errors.QueryError, 38, "is an aggregate"),
    ("SELECT MAX(SUM(x)) FROM r", errors.QueryError, 16, "arguments of another"),
    ("SELECT COUNT(DISTINCT a, x) FROM r", errors.QueryError, 8, "without an argument"),
    ("SELECT MAX(x, 3, 4) FROM r", errors.TypeMismatchError, 8, "does not take"),
]


@pytest.mark.parametrize(("sql", "error", "place", "says"), REFUSED)
def test_refusals_name_the_place(
    sql: str, error: type[errors.RingviewError], place: int, says: str
) -> None:
    db = database()
    with pytest.raises(error) as caught:
        translate(sql, {name: table.schema for name, table in db.tables.items()})
    message = str(caught.value)
    assert message.startswith(f"line 1, column {place}: ")
    assert says in message


# Once refused; the text of a column, NULL and a row that repeats are among the rows.
TAKEN = [
    "SELECT SUM(DISTINCT x) AS v FROM r",
    "SELECT MIN(a + x) AS v FROM r",
    "SELECT COUNT(DISTINCT a + x) AS v FROM r",
    "SELECT a, MEDIAN(x) AS v FROM r GROUP BY a",
    "SELECT SUM(x / 2) AS v FROM r",
    "SELECT a, ROUND(SUM(x)) AS v FROM r GROUP BY a",
]


@pytest.mark.parametrize("sql", TAKEN)
def test_what_was_refused_equals_duckdb(sql: str) -> None:
    schema = pa.schema({"a": pa.int64(), "x": pa.float64(), "s": pa.string()})
    rows = [
        {"a": a, "x": x, "s": s}
        for a, x, s in [
            (1, 0.5, "u"),
            (1, 0.5, "u"),
            (2, 1.75, None),
            (None, 3.0, "w"),
            (2, None, "v"),
        ]
    ]
    oracle = Oracle({"r": schema})
    db = rv.Database()
    db.create_table("r", schema)
    view = db.create_view("v", sql)
    for number in range(len(rows) + 1):
        assert comparable(view.to_arrow()) == oracle.rows(sql, {"r": rows[:number]})
        db.insert("r", rows[number : number + 1])
    db.delete("r", rows[:2])
    assert comparable(view.to_arrow()) == oracle.rows(sql, {"r": rows[2:]})


SUM_AND_TEXT = r"Decimal128\(38, 0\) [+/] Utf8"


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        ("SELECT VAR_POP(s) FROM r", "Query", "line 1, column 8: var_pop takes 1 number"),
        ("SELECT CORR(x, s) FROM r", "Query", "line 1, column 8: corr takes 2 numbers"),
        ("SELECT SUM(x) + MAX(s) FROM r", "TypeMismatch", SUM_AND_TEXT),
        ("SELECT SUM(x) / MAX(s) FROM r", "TypeMismatch", SUM_AND_TEXT),
        ("SELECT SUM(x) + a FROM r", "Query", 'line 1, column 17: "a" is neither in GROUP BY'),
        (
            "SELECT a FROM r GROUP BY a HAVING x > 1",
            "Query",
            'line 1, column 35: "x" is neither in GROUP BY',
        ),
        (
            "SELECT a FROM r GROUP BY a HAVING MAX(s) > 1",
            "TypeMismatch",
            "a text is not compared with a number",
        ),
        (
            "SELECT a FROM r GROUP BY a HAVING LIST(x)",
            "TypeMismatch",
            "is no condition",
        ),
        (
            "SELECT SUM(x) + 1 AS n FROM r GROUP BY n",
            "Query",
            "line 1, column 31: GROUP BY holds no aggregate",
        ),
        ("SELECT COALESCE(SUM(x), 'a') FROM r", "Query", "line 1, column 25: .*Cannot cast .*'a'"),
        ("SELECT COFACTOR(x) + 1 FROM r", "TypeMismatch", r"Struct\(\) \+ Int64"),
    ],
)
def test_what_means_nothing_is_refused(sql: str, error: str, words: str) -> None:
    db = database()
    with pytest.raises(getattr(errors, f"{error}Error"), match=words):
        db.create_view("v", sql)
    assert "v" not in db
