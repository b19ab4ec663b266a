"""A committed transaction can be read; a value that does not fit in passing is no overflow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from durable_twin import durable_twin
from hypothesis import given
from hypothesis import strategies as st
from ringview.errors import ArithmeticOverflowError

MOST = 2**63 - 1
DIGITS = Decimal(10**38 - 1)


def rows(view: rv.View) -> Any:
    return view.to_arrow().to_pylist()


def decimals(*values: Decimal | int) -> pa.Table:
    digits = pa.array([Decimal(value) for value in values], pa.decimal128(38, 0))
    return pa.table({"k": pa.array([0] * len(values)), "d": digits})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(d) AS s FROM r",
        "SELECT k, SUM(d) AS s FROM r GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM r GROUP BY k HAVING SUM(d) > 7",
        "SELECT SUM(d) / 2 AS h, COUNT(*) AS n FROM r",
        "SELECT AVG(d) - SUM(d) AS a FROM r",
    ],
)
def test_a_decimal_that_cannot_be_shown_is_refused(sql: str) -> None:
    db = rv.Database()
    db.create_table("r", {"k": "int64", "d": "decimal128(38, 0)"})
    view = db.create_view("v", sql)
    view.changes()
    db.insert("r", decimals(3))
    before = rows(view)
    with pytest.raises(ArithmeticOverflowError, match="of the result"):
        db.insert("r", decimals(DIGITS, 5))
    assert rows(view) == before
    assert len(view) == len(before)
    assert len(db.tables["r"]) == 1
    db.delete("r", decimals(3))
    db.insert("r", decimals(DIGITS))
    assert rows(view)
    with pytest.raises(ArithmeticOverflowError):
        db.insert("r", decimals(1))
    with db.transaction() as tx:
        tx.insert("r", decimals(DIGITS, DIGITS))
        tx.delete("r", decimals(DIGITS, DIGITS))
    assert rows(view)


COMPUTED: dict[str, tuple[str, int, int]] = {
    # A further row makes a value that does not fit; the inserted value, and one that fits.
    "a sum of several terms": (
        "SELECT k, SUM(x * y + y) AS s FROM r NATURAL JOIN o GROUP BY k",
        MOST,
        1,
    ),
    "arithmetic": ("SELECT k, SUM(x) * SUM(x) * 2 AS s FROM r GROUP BY k", MOST, 1),
    "a minus": ("SELECT k, -SUM(x) * SUM(x) * 2 AS s FROM r GROUP BY k", -MOST - 1, 1),
    "having": (
        "SELECT k, COUNT(*) AS n FROM r GROUP BY k HAVING SUM(x) * SUM(x) * 3 > 0",
        MOST,
        1,
    ),
    "a maximum": ("SELECT k, MAX(x) + 5 AS m FROM r GROUP BY k", MOST, 1),
    "a minimum": ("SELECT MIN(x) - COUNT(DISTINCT x) AS m FROM r", -MOST - 1, 1),
    "having a maximum": ("SELECT k FROM r GROUP BY k HAVING MAX(x) * 3 > 1", MOST, 1),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_computed_of_a_group_is_checked_when_it_moves(name: str) -> None:
    sql, bad, good = COMPUTED[name]
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "int64"})
    db.create_table("o", {"k": "int64", "y": "int64"})
    # As many as make a product of 64 bits too large for 38 digits.
    db.insert("o", {"k": [0, 1] * 4, "y": [2**62] * 8})
    view = db.create_view("v", sql)
    view.changes()
    db.insert("r", {"k": [0], "x": [good]})
    before = rows(view)
    with pytest.raises(ArithmeticOverflowError, match="nothing of this transaction was applied"):
        db.insert("r", {"k": [1], "x": [bad]})
    assert rows(view) == before
    assert view.changes().num_rows == len(before) + (name == "a minimum")
    # In passing it is none, nor where the group has left.
    with db.transaction() as tx:
        tx.insert("r", {"k": [1, 1], "x": [bad, good]})
        tx.delete("r", {"k": [1], "x": [bad]})
    after = rows(view)
    with db.transaction() as tx:
        tx.insert("r", {"k": [2], "x": [bad]})
        tx.delete("r", {"k": [2], "x": [bad]})
    assert rows(view) == after
    db.delete("r", {"k": [0], "x": [good]})
    db.delete("r", {"k": [1], "x": [good]})
    with pytest.raises(ArithmeticOverflowError):
        db.insert("r", {"k": [0], "x": [bad]})
    rows(view)


def test_a_maximum_that_leaves_makes_room() -> None:
    """The extremes that the transaction leaves behind are looked at, not those before."""
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "int64"})
    view = db.create_view("v", "SELECT k, MAX(x) + MIN(x) AS m FROM r GROUP BY k")
    db.insert("r", {"k": [0] * 300, "x": list(range(300))})
    db.insert("r", {"k": [0, 0], "x": [MOST, -5]})
    assert rows(view) == [{"k": 0, "m": MOST - 5}]
    with pytest.raises(ArithmeticOverflowError):
        db.delete("r", {"k": [0, 0], "x": [-5, 0]})
    with db.transaction() as tx:
        tx.delete("r", {"k": [0, 0], "x": [-5, 0]})
        tx.delete("r", {"k": [0] * 2, "x": [MOST, 299]})
    assert rows(view) == [{"k": 0, "m": 299}]


def test_a_view_that_cannot_be_shown_is_not_created() -> None:
    db = rv.Database()
    db.create_table("r", {"k": "int64", "d": "decimal128(38, 0)"})
    db.insert("r", decimals(DIGITS, 5))
    with pytest.raises(ArithmeticOverflowError):
        db.create_view("v", "SELECT SUM(d) AS s FROM r")
    assert not db.views
    db.delete("r", decimals(5))
    assert db.create_view("v", "SELECT SUM(d) AS s FROM r").scalar() == DIGITS


@pytest.mark.parametrize("most", [MOST, -MOST - 1])
def test_sums_are_wide_within_a_batch(most: int) -> None:
    db = rv.Database()
    db.create_table("r", {"x": "int64"})
    view = db.create_view("v", "SELECT SUM(x) AS s FROM r")
    sign = 1 if most > 0 else -1
    db.insert("r", {"x": [most, sign, -5 * sign]})
    assert view.scalar() == most - 4 * sign
    db.insert("r", {"x": [5 * sign]})
    assert view.scalar() == most + sign
    db.delete("r", {"x": [5 * sign]})
    assert view.scalar() == most - 4 * sign
    with db.transaction() as tx:
        tx.insert("r", {"x": [most]})
        tx.insert("r", {"x": [most, most]})
        tx.delete("r", {"x": [most, most, most]})
    assert view.scalar() == most - 4 * sign


def test_an_overflow_names_its_view() -> None:
    db = rv.Database()
    db.create_table("t", {"k": "int64", "x": "float64"})
    db.create_view("sums", "SELECT k, SUM(x) AS s FROM t GROUP BY k")
    db.create_view("over", "SELECT SUM(s) AS s FROM sums")
    db.insert("t", {"k": [1], "x": [1.5e308]})
    with pytest.raises(ArithmeticOverflowError, match=r'sum or count of \S+, in the view "sums"'):
        db.insert("t", {"k": [1], "x": [1.5e308]})
    with pytest.raises(ArithmeticOverflowError, match=r'sum or count of \S+, in the view "over"'):
        db.insert("t", {"k": [2], "x": [1.5e308]})
    db.drop_view("over")
    db.insert("t", {"k": [2], "x": [1.5e308]})
    with pytest.raises(ArithmeticOverflowError, match=r'in the view "total"'):
        db.create_view("total", "SELECT SUM(x) AS s FROM t")
    assert list(db.views) == ["sums"]


SHAPES = {
    "total": "SELECT SUM(x) AS s, COUNT(*) AS n FROM r",
    "groups": "SELECT k, SUM(x) AS s FROM r GROUP BY k",
    "join": "SELECT SUM(x * y) AS s FROM r JOIN o USING (k)",
    "two columns": "SELECT SUM(x) AS s, SUM(y) AS t, AVG(w) AS u FROM r JOIN o USING (k)",
    "chain": "SELECT SUM(x * z) AS s FROM r JOIN o USING (k) JOIN q USING (l)",
}

VALUES = [MOST, -MOST - 1, MOST - 1, 2**62, -(2**62), 1, -1, 0, 5]


def total(values: Iterable[int]) -> int | None:
    listed = list(values)
    return sum(listed) if listed else None


def oracle(name: str, held: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Rows of the view."""
    r, o, q = held["r"], held["o"], held["q"]
    joined = [(a, b) for a in r for b in o if a[0] == b[0]]
    chain = [(a, b, c) for a, b in joined for c in q if b[1] == c[0]]
    if name == "total":
        out = [{"s": total(x for _, x in r), "n": len(r)}]
    elif name == "groups":
        keys = sorted({k for k, _ in r})
        out = [{"k": key, "s": total(x for k, x in r if k == key)} for key in keys]
    elif name == "join":
        out = [{"s": total(a[1] * b[2] for a, b in joined)}]
    elif name == "two columns":
        mean = sum(b[3] for _, b in joined) / len(joined) if joined else None
        out = [
            {
                "s": total(a[1] for a, _ in joined),
                "t": total(b[2] for _, b in joined),
                "u": mean,
            }
        ]
    else:
        out = [{"s": total(a[1] * c[1] for a, _, c in chain)}]
    return out


CHANGES = st.lists(
    st.tuples(
        st.sampled_from("ro"),
        st.booleans(),
        st.lists(st.tuples(st.integers(0, 1), st.sampled_from(VALUES)), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("name", SHAPES)
@examples(40)
@given(stream=st.lists(CHANGES, min_size=1, max_size=5))
def test_sums_of_large_integers_are_exact(name: str, stream: Any) -> None:
    """Beyond 64 bits and back, in the result and below it, for readers, followers and files."""
    q = [(0, 1), (0, -1), (1, 2)]
    column = "n" if name == "total" else "s"

    def define(db: rv.Database) -> rv.View:
        db.create_table("r", {"k": "int64", "x": "int64"})
        db.create_table("o", {"k": "int64", "l": "int64", "y": "int64", "w": "float64"})
        db.create_table("q", {"l": "int64", "z": "int64"})
        db.insert("q", {"l": [a for a, _ in q], "z": [b for _, b in q]})
        view = db.create_view("v", SHAPES[name])
        db.create_view("above", f"SELECT COUNT(*) AS n, SUM({column}) AS s FROM v")
        return view

    db = rv.Database()
    view = define(db)
    view.changes()
    told: Counter[Any] = Counter(tuple(row.items()) for row in rows(view))
    held: dict[str, list[Any]] = {"r": [], "o": [], "q": q}
    with durable_twin(define) as file:
        for changes in stream:
            then = {table: list(kept) for table, kept in held.items()}
            ops = []
            for table, comes, picked in changes:
                if not comes:
                    # Some of what is there, so that no delete is refused.
                    picked_rows = then[table][: len(picked)]
                    del then[table][: len(picked)]
                else:
                    made = [
                        (k, x) if table == "r" else (k, x % 2, x >> 31, float(k)) for k, x in picked
                    ]
                    picked_rows = made
                    then[table].extend(made)
                ops.append((table, comes, picked_rows))
            for each in (db, file.next()):
                with each.transaction() as tx:
                    for table, comes, changed in ops:
                        names = ["k", "x"] if table == "r" else ["k", "l", "y", "w"]
                        if changed:
                            data = dict(
                                zip(names, map(list, zip(*changed, strict=True)), strict=True)
                            )
                            (tx.insert if comes else tx.delete)(table, data)
            held = then
            expected = oracle(name, then)
            shown = [row[column] for row in expected if row[column] is not None]
            over = [{"n": len(expected), "s": sum(shown) if shown else None}]
            for each in (db, file.db):
                found = sorted(rows(each["v"]), key=lambda row: row.get("k", 0))
                assert found == expected
                assert rows(each["above"]) == over
            for row in view.changes().to_pylist():
                times = row.pop("multiplicity")
                told[tuple(row.items())] += times
            assert +told == Counter(tuple(row.items()) for row in rows(view))


LARGE = st.lists(
    st.tuples(
        st.sampled_from("rst"), st.integers(0, 2), st.integers(0, 2), st.sampled_from(VALUES)
    ),
    min_size=1,
    max_size=6,
)


@examples(40)
@given(stream=st.lists(LARGE, min_size=1, max_size=5))
def test_sums_of_large_integers_over_triangles_are_exact(stream: Any) -> None:
    db = rv.Database()
    for name, columns in {"r": "abx", "s": "bcx", "t": "cax"}.items():
        db.create_table(name, dict.fromkeys(columns, "int64"))
    sql = (
        "SELECT SUM(r.x) AS x, COUNT(*) AS n FROM r, s, t "
        "WHERE r.b = s.b AND s.c = t.c AND t.a = r.a"
    )
    views = [db.create_view(name, sql, engine=name) for name in ("epsilon", "viewtree")]
    held: dict[str, list[tuple[int, int, int]]] = {"r": [], "s": [], "t": []}
    names = {"r": "abx", "s": "bcx", "t": "cax"}
    for batch in stream:
        with db.transaction() as tx:
            for table, one, other, value in batch:
                tx.insert(table, [dict(zip(names[table], (one, other, value), strict=True))])
                held[table].append((one, other, value))
        found = [
            x
            for a, b, x in held["r"]
            for b2, c, _ in held["s"]
            for c2, a2, _ in held["t"]
            if b == b2 and c == c2 and a == a2
        ]
        for view in views:
            assert rows(view) == [{"x": total(found), "n": len(found)}]
        if len(held["r"]) > 2:
            one, other, value = held["r"].pop(0)
            db.delete("r", [{"a": one, "b": other, "x": value}])
    db["epsilon"].explain()


def test_partials_of_large_sums_are_merged() -> None:
    """Those of views that grew, and of those that did not."""
    sql = "SELECT k, SUM(x) AS s, AVG(x) AS m FROM r GROUP BY k"
    parts = []
    for values in ([MOST, MOST], [1], [-MOST - 1, -5]):
        db = rv.Database()
        db.create_table("r", {"k": "int64", "x": "int64"})
        view = db.create_view("v", sql)
        db.insert("r", {"k": [1] * len(values), "x": values})
        parts.append((view.partial(), values))
    whole = rv.Database()
    whole.create_table("r", {"k": "int64", "x": "int64"})
    view = whole.create_view("v", sql)
    seen: list[int] = []
    for partial, values in parts:
        view.merge(partial)
        seen += values
        assert rows(view) == [{"k": 1, "s": sum(seen), "m": sum(seen) / len(seen)}]


def test_whole_decimals_join_with_integers() -> None:
    """A sum as a key beside a column of integers; what no integer equals has no partner."""
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "int64"})
    db.create_table("s", {"total": "int64", "name": "string"})
    view = db.create_view(
        "v",
        "SELECT name, q.total, COUNT(*) AS n, SUM(q.total) AS t FROM s JOIN "
        "(SELECT k, SUM(x) AS total FROM r GROUP BY k) AS q ON q.total = s.total GROUP BY 1, 2",
    )
    pairs = db.create_view(
        "pairs",
        "SELECT MAX(q.total) AS most, COUNT(*) AS n FROM "
        "(SELECT k, SUM(x) AS total FROM r GROUP BY k) AS q JOIN s USING (total)",
    )
    db.insert("s", {"total": [5, -1, MOST], "name": ["five", "minus", "most"]})
    db.insert("r", {"k": [1, 1, 2, 3, 3], "x": [2, 3, -1, MOST, MOST]})
    expected = [("five", 5, 1, 5), ("minus", -1, 1, -1)]
    assert sorted(tuple(row.values()) for row in rows(view)) == expected
    assert rows(pairs) == [{"most": 5, "n": 2}]
    # 2^64 - 2 has the low word of -2.
    db.insert("s", {"total": [-2], "name": ["low"]})
    assert sorted(tuple(row.values()) for row in rows(view)) == expected
    db.delete("r", {"k": [3], "x": [MOST]})
    assert ("most", MOST, 1, MOST) in [tuple(row.values()) for row in rows(view)]


@pytest.mark.parametrize("engine", ["viewtree", "epsilon"])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64"])
def test_whole_decimals_join_with_integers_of_all_widths(kind: str, engine: str) -> None:
    """A key holds as many bits as the integers have: what they cannot be has no partner."""
    bits = int(kind.removeprefix("u").removeprefix("int"))
    db = rv.Database()
    for name in ("r", "t"):
        db.create_table(name, {"d": "decimal128(38, 0)", "e": "decimal128(30, 0)"})
    db.create_table("s", {"d": kind, "e": kind})
    sql = "SELECT COUNT(*) AS n FROM r, s, t WHERE r.d = s.d AND s.e = t.e AND t.d = r.e"
    view = db.create_view("v", sql, engine=engine)
    values = [0, 5, 2**bits + 5, 5 - 2**bits, 2 ** (bits - 1), -1, 2**65 + 5]
    pairs = [(a, b) for a in values for b in values]
    for name in ("r", "t"):
        db.insert(name, {"d": [a for a, _ in pairs], "e": [b for _, b in pairs]})
    db.insert("s", {"d": [5, 0], "e": [0, 5]})
    # s(d, e) with r(d, x) and t(x, e), for each of the values x.
    assert view.scalar() == 2 * len(values)
    db.delete("s", {"d": [5], "e": [0]})
    assert view.scalar() == len(values)


def test_large_sums_beside_matrices_and_extremes() -> None:
    """The fields behind the sums in a payload move when the sums grow, for followers too."""
    db = rv.Database()
    db.create_table("r", {"k": "int64", "x": "int64", "y": "float64", "c": "string"})
    shows = "k, SUM(x) AS s, MIN(c) AS least, MAX(x) AS most, COFACTOR(y) AS m"
    view = db.create_view("v", f"SELECT {shows} FROM r GROUP BY k")
    follower = view.follow()
    db.insert("r", {"k": [1, 1], "x": [MOST, 1], "y": [1.5, 2.0], "c": ["b", "a"]})
    follower.changes()
    db.insert("r", {"k": [1, 2], "x": [MOST, 5], "y": [0.5, 4.0], "c": ["0", "z"]})

    def shown() -> dict[int, Any]:
        found = {row["k"]: row for row in rows(view)}
        return {
            k: (row["s"], row["least"], row["most"], row["m"]["count"], row["m"]["sums"])
            for k, row in found.items()
        }

    assert shown() == {1: (2 * MOST + 1, "0", MOST, 3, [4.0]), 2: (5, "z", 5, 1, [4.0])}
    moved = follower.changes().to_pylist()
    told = sorted((row["k"], row["multiplicity"], row["s"], row["least"]) for row in moved)
    assert told == [(1, -1, MOST + 1, "a"), (1, 1, 2 * MOST + 1, "0"), (2, 1, 5, "z")]
    db.delete("r", {"k": [1, 1], "x": [MOST, 1], "y": [0.5, 2.0], "c": ["0", "a"]})
    assert shown() == {1: (MOST, "b", MOST, 1, [1.5]), 2: (5, "z", 5, 1, [4.0])}
