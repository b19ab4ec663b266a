"""Partials that are followed: views over parts of the rows, merged as they change."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
import queries
import ringview as rv
from amounts import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from queries import SCHEMAS, contents
from ringview import errors
from test_aggregates import views as aggregates
from test_partials import LISTED, ROWS, reads_once, tables_of

Step = list[tuple[str, dict[str, Any], int]]
"""Rows by table that come, or go where the number is negative."""


def created(views: Sequence[str], schemas: dict[str, pa.Schema], **options: Any) -> rv.Database:
    db = rv.Database(**options)
    for name, schema in schemas.items():
        db.create_table(name, schema)
    db.create_views({f"v{number}": sql for number, sql in enumerate(views)})
    return db


def applied(db: rv.Database, step: Step, schemas: dict[str, pa.Schema]) -> None:
    with db.transaction() as transaction:
        for table, row, times in step:
            rows = pa.Table.from_pylist([row], schema=schemas[table])
            rows = pa.concat_tables([rows] * abs(times))
            (transaction.insert if times > 0 else transaction.delete)(table, rows)


class Parts:
    """Databases with parts of a table each, what all their rows make, and one that follows them."""

    def __init__(
        self, views: Sequence[str], split: str, count: int, schemas: dict[str, pa.Schema] = SCHEMAS
    ) -> None:
        self.schemas, self.split = schemas, split
        self.names = [f"v{number}" for number in range(len(views))]
        self.all = created(views, schemas)
        self.parts = [created(views, schemas) for _ in range(count)]
        # Two parts pass through a database in between.
        self.between = created(views, schemas, trust_deletes=True)
        self.whole = created(views, schemas, trust_deletes=True)
        self.into = {
            name: [
                (self.between if number < 2 else self.whole, part[name].follow_partials())
                for number, part in enumerate(self.parts)
            ]
            for name in self.names
        }
        self.gather()
        self.through = {name: self.between[name].follow_partials() for name in self.names}

    def place(self, row: dict[str, Any]) -> int:
        return zlib.crc32(repr(row).encode()) % len(self.parts)

    def take(self, step: Step) -> None:
        applied(self.all, step, self.schemas)
        for number, part in enumerate(self.parts):
            own = [
                (table, row, times)
                for table, row, times in step
                if table != self.split or self.place(row) == number
            ]
            applied(part, own, self.schemas)

    def gather(self) -> None:
        for name, found in self.into.items():
            for into, follower in found:
                into[name].merge(follower.changes())

    def compare(self) -> None:
        self.gather()
        for name in self.names:
            self.whole[name].merge(self.through[name].changes())
            assert shown(self.whole[name]) == shown(self.all[name])


def shown(view: rv.View) -> list[str]:
    """Rows; of a matrix what it is, and not from where it is counted."""
    rows = view.to_arrow().to_pylist()
    for row in rows:
        for value in row.values():
            if isinstance(value, dict):
                value.pop("shifted", None)
                for category in value.get("categories", {}).values():
                    for each in category:
                        each.pop("shifted", None)
    return sorted(map(repr, rows))


@st.composite
def steps(draw: st.DrawFn, rows: ROWS) -> list[Step]:
    """Inserts and deletes, several in a transaction; no row is deleted oftener than it is there."""
    there: list[tuple[str, dict[str, Any]]] = []
    coming = [(table, row) for table, found in rows.items() for row in found]
    coming = draw(st.permutations(coming))
    found: list[Step] = []
    for _ in range(draw(st.integers(1, 6))):
        step: Step = []
        for _ in range(draw(st.integers(0, 4))):
            if draw(st.booleans()) and there:
                gone = there.pop(draw(st.integers(0, len(there) - 1)))
                # Rows that one transaction inserts and deletes cancel.
                step.append((*gone, -1))
            elif coming:
                one = coming.pop() if draw(st.booleans()) else draw(st.sampled_from(coming))
                there.append(one)
                step.append((*one, 1))
        found.append(step)
    return found


def check(data: st.DataObject, views: Sequence[str], rows: ROWS) -> None:
    common = set.intersection(*(set(tables_of(sql)) for sql in views))
    assume(common)
    split = data.draw(st.sampled_from(sorted(common)))
    parts = Parts(views, split, data.draw(st.integers(1, 4)))
    for step in data.draw(steps(rows)):
        # Deletes follow the inserts of their rows.
        parts.take(sorted(step, key=lambda change: -change[2]))
        if data.draw(st.booleans()):
            parts.compare()
    parts.compare()


@examples(60)
@given(st.data(), queries.queries().filter(reads_once), contents())
def test_sums_are_followed(data: st.DataObject, sql: str, rows: ROWS) -> None:
    check(data, [sql], rows)


@examples(90)
@given(st.data(), aggregates().filter(reads_once), contents())
def test_aggregates_are_followed(data: st.DataObject, sql: str, rows: ROWS) -> None:
    """MIN, MAX, COUNT(DISTINCT), statistics, expressions and HAVING."""
    check(data, [sql], rows)


@examples(40)
@given(st.data(), st.lists(aggregates().filter(reads_once), min_size=2, max_size=3), contents())
def test_views_that_share_are_followed(data: st.DataObject, views: list[str], rows: ROWS) -> None:
    check(data, views, rows)


@examples(40)
@given(st.data(), st.sampled_from(LISTED), contents())
def test_rows_are_followed(data: st.DataObject, sql: str, rows: ROWS) -> None:
    check(data, [sql], rows)


FEATURES = {
    "r": pa.schema([("a", pa.int64()), pa.field("x", pa.int64(), nullable=False)]),
    "s": pa.schema(
        [
            ("a", pa.int64()),
            pa.field("y", pa.float64(), nullable=False),
            pa.field("z", pa.string(), nullable=False),
        ]
    ),
}
COFACTORS = [
    "SELECT r.a, COFACTOR(x, y) AS c FROM r JOIN s USING (a) GROUP BY r.a",
    "SELECT COFACTOR(x, y, z) AS c, COUNT(DISTINCT z) AS n, MIN(y) AS m FROM r JOIN s USING (a)",
]


@examples(40)
@given(st.data(), st.sampled_from(COFACTORS))
def test_matrices_are_followed(data: st.DataObject, sql: str) -> None:
    """Of whole numbers they are exact, wherever each part counts from."""
    numbers = st.integers(-(10**6), 10**6)
    r = st.lists(st.fixed_dictionaries({"a": st.integers(0, 2), "x": numbers}), max_size=6)
    s = st.lists(
        st.fixed_dictionaries(
            {"a": st.integers(0, 2), "y": numbers.map(float), "z": st.sampled_from("pqä")}
        ),
        max_size=6,
    )
    parts = Parts([sql], data.draw(st.sampled_from("rs")), 3, FEATURES)
    for step in data.draw(steps({"r": data.draw(r), "s": data.draw(s)})):
        parts.take(sorted(step, key=lambda change: -change[2]))
        parts.compare()


ONE = {"r": pa.schema({"a": pa.int64(), "x": pa.int64()})}


def one(sql: str, **options: Any) -> tuple[rv.Database, rv.View]:
    db = created([sql], ONE, **options)
    return db, db["v0"]


def test_only_values_that_changed_are_told() -> None:
    db, view = one("SELECT MIN(x) AS m, COUNT(DISTINCT x) AS n FROM r")
    db.insert("r", {"a": [0] * 10_000, "x": range(10_000)})
    follower = view.follow_partials()
    everything = follower.changes().nbytes
    db.insert("r", {"a": [1], "x": [-5]})
    told = follower.changes()
    assert told.num_rows == 1
    assert told.nbytes < 200 < 100 * told.nbytes < everything * 10


def test_groups_that_did_not_change_are_not_told() -> None:
    db, view = one("SELECT a, SUM(x) AS s FROM r GROUP BY a")
    db.insert("r", {"a": range(100), "x": range(100)})
    follower = view.follow_partials(initial=False)
    db.insert("r", {"a": [7], "x": [1]})
    assert follower.changes()["a"].to_pylist() == [7]
    with db.transaction() as transaction:
        transaction.insert("r", {"a": [8], "x": [1]})
        transaction.delete("r", {"a": [8], "x": [1]})
    assert not follower.changes().num_rows


def test_a_change_that_having_hides_is_told() -> None:
    sql = "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING COUNT(*) > 1"
    (one_db, one_view), (other_db, other_view) = one(sql), one(sql)
    _, whole = one(sql, trust_deletes=True)
    followers = [one_view.follow_partials(), other_view.follow_partials()]
    for db in (one_db, other_db):
        db.insert("r", {"a": [1], "x": [1]})
    assert len(one_view) == len(other_view) == 0
    for follower in followers:
        whole.merge(follower.changes())
    assert whole.to_arrow().to_pylist() == [{"a": 1, "n": 2}]


def test_what_is_rolled_back_is_not_told() -> None:
    db, view = one("SELECT a, SUM(x) AS s FROM r GROUP BY a")
    follower = view.follow_partials(initial=False)
    with pytest.raises(errors.RingviewError):
        db.delete("r", {"a": [1], "x": [1]})
    with pytest.raises(ZeroDivisionError), db.transaction() as transaction:
        transaction.insert("r", {"a": [1], "x": [1]})
        raise ZeroDivisionError
    assert not follower.changes().num_rows


def test_rows_and_partials_are_followed_side_by_side() -> None:
    db, view = one("SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    rows, partials, late = view.follow(), view.follow_partials(), view.follow_partials()
    db.insert("r", {"a": [1, 2], "x": [0, 0]})
    assert rows.changes().num_rows == partials.changes().num_rows == 2
    db.insert("r", {"a": [1], "x": [0]})
    assert (rows.changes().num_rows, partials.changes().num_rows) == (2, 1)
    whole = one("SELECT a, COUNT(*) AS n FROM r GROUP BY a")[1]
    whole.merge(late.changes())
    assert whole.to_arrow().sort_by("a").to_pylist() == [{"a": 1, "n": 2}, {"a": 2, "n": 1}]
    assert late.poll() is None
    partials.close()
    late.close()
    assert partials.closed


def test_partials_that_nobody_needs_are_forgotten() -> None:
    db, view = one("SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    follower = view.follow_partials(initial=False)
    before = sum(db.memory_usage().values())
    db.insert("r", {"a": range(1000), "x": range(1000)})
    kept = sum(db.memory_usage().values())
    follower.changes()
    read = sum(db.memory_usage().values())
    assert before < read < kept - 20_000


EDGES = {"e": pa.schema({"src": pa.int64(), "dst": pa.int64()})}
CYCLE = "FROM e p JOIN e q ON p.dst = q.src JOIN e r ON q.dst = r.src AND r.dst = p.src"


def test_groups_that_are_computed_as_they_are_read_are_refused() -> None:
    db = created([], EDGES)
    sql = f"SELECT p.src, COUNT(*) AS n {CYCLE} GROUP BY p.src"
    view = db.create_view("v", sql, engine="epsilon")
    with pytest.raises(errors.UnsupportedError, match="leave engine= out"):
        view.follow_partials()
    db.insert("e", {"src": [1], "dst": [1]})
    assert view.to_arrow().to_pylist() == [{"src": 1, "n": 1}]


@pytest.mark.parametrize("engine", [None, "epsilon"])
def test_a_cycle_is_followed_whatever_keeps_it(engine: str | None) -> None:
    sql = f"SELECT COUNT(*) AS n {CYCLE}"
    one_db, whole_db = created([], EDGES), created([], EDGES, trust_deletes=True)
    view = one_db.create_view("v", sql, engine=engine)
    whole = whole_db.create_view("v", sql)
    follower = view.follow_partials()
    for step in range(40):
        one_db.insert("e", {"src": [step * 7 % 5], "dst": [step * 11 % 7 % 5]})
        if step % 8 == 7:
            one_db.delete("e", {"src": [(step - 3) * 7 % 5], "dst": [(step - 3) * 11 % 7 % 5]})
        whole.merge(follower.changes())
        assert whole.to_arrow().equals(view.to_arrow())
    assert view.to_arrow()["n"][0].as_py() > 20


def test_a_sample_is_refused() -> None:
    db = created([], ONE)
    sample = db.create_sample("s", "SELECT a, x FROM r", k=3, seed=1)
    with pytest.raises(errors.UnsupportedError, match="sample"):
        sample.follow_partials()


def test_a_view_that_was_dropped_ends_it() -> None:
    db, view = one("SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    follower = view.follow_partials()
    db.drop_view("v0")
    with pytest.raises(errors.UnknownViewError):
        follower.changes()


def test_what_went_is_refused_where_deletes_are_checked() -> None:
    sql = "SELECT a, COUNT(*) AS n FROM r GROUP BY a"
    db, view = one(sql)
    db.insert("r", {"a": [1], "x": [1]})
    follower = view.follow_partials(initial=False)
    db.delete("r", {"a": [1], "x": [1]})
    _, whole = one(sql)
    with pytest.raises(errors.InvalidValueError, match="trust_deletes=True"):
        whole.merge(follower.changes())
    assert not len(whole)
