"""Changes by the unique key, feeds of changes and net transactions, against dicts and DuckDB."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, comparable
from ringview import errors

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("site", pa.string()),
        pa.field("city", pa.string()),
        pa.field("x", pa.int64(), nullable=False),
        pa.field("price", pa.decimal128(12, 2)),
    ]
)
KEY = ("id", "site")
CITIES = pa.schema({"city": pa.string(), "people": pa.int64()})
PEOPLE = [{"city": "a", "people": 3}, {"city": "b", "people": 5}, {"city": "b", "people": 7}]
VIEWS = [
    "SELECT COUNT(*) AS n, SUM(x) AS x, SUM(price) AS price, AVG(x) AS mean FROM t",
    "SELECT city, COUNT(*) AS n, SUM(x * people) AS x FROM t JOIN c USING (city) GROUP BY city",
    "SELECT city, MIN(x) AS least, MAX(price) AS most, COUNT(DISTINCT x) AS d FROM t GROUP BY city",
    "SELECT id, site, city, x, people FROM t JOIN c USING (city)",
    "SELECT SUM(t.x * u.x) AS x FROM t JOIN t AS u USING (city)",
]


def database(**options: Any) -> tuple[rv.Database, rv.Table, list[rv.View]]:
    db = rv.Database(**options)
    table = db.create_table("t", SCHEMA, unique=KEY)
    db.create_table("c", CITIES)
    views = [db.create_view(f"v{number}", sql) for number, sql in enumerate(VIEWS)]
    db.insert("c", PEOPLE)
    return db, table, views


class Model:
    """The rows by their key."""

    def __init__(self) -> None:
        self.rows: dict[tuple[Any, ...], Row] = {}

    def change(self, what: str, row: Row) -> None:
        key = tuple(row[name] for name in KEY)
        known = key in self.rows
        if what == "insert" and known:
            raise errors.DuplicateKeyError
        if what == "update" and not known:
            raise errors.UnknownKeyError
        if what in ("keys", "delete") and not known:
            raise errors.OverDeleteError
        if what == "delete" and self.rows[key] != row:
            raise errors.OverDeleteError
        if what in ("keys", "delete"):
            del self.rows[key]
        else:
            self.rows[key] = {**self.rows.get(key, {}), **row}


WORDS = {
    "insert": ["insert", "INSERT", "I", "+I", "c", "create"],
    "update": ["update", "U", "u"],
    "keys": ["delete", "D", "-D", "-U", "d", "update_preimage"],
    "upsert": ["upsert", "+U", "r", "read", "update_postimage"],
}

rows = st.fixed_dictionaries(
    {
        "id": st.integers(0, 2),
        "site": st.sampled_from(["p", "q"]),
        "city": st.sampled_from(["a", "b", None]),
        "x": st.integers(-2, 2),
        "price": st.sampled_from([None, Decimal("1.50"), Decimal("-2.25")]),
    }
)
words = st.sampled_from([(what, word) for what, all_ in WORDS.items() for word in all_])
steps = st.one_of(
    st.tuples(st.sampled_from(["upsert", "upsert", "insert"]), st.lists(rows, max_size=4)),
    st.tuples(st.sampled_from(["update", "part", "keys", "delete"]), st.lists(rows, max_size=2)),
    st.tuples(st.just("feed"), st.lists(st.tuples(words, rows), max_size=5)),
)


def only(row: Row, *names: str) -> Row:
    return {name: row[name] for name in names}


def take(target: Any, step: tuple[str, list[Any]], model: Model) -> None:
    """The step to a database or a transaction, and to the model; the model may raise."""
    what, given_ = step
    if what == "feed":
        feed = [
            {
                "what": word,
                **(dict.fromkeys(SCHEMA.names) | only(row, *KEY) if kind == "keys" else row),
            }
            for (kind, word), row in given_
        ]
        schema = pa.schema([pa.field(f.name, f.type) for f in SCHEMA]).append(
            pa.field("what", pa.string())
        )
        target.apply("t", pa.Table.from_pylist(feed, schema=schema), op="what")
        for (kind, _), row in given_:
            model.change(kind, row)
        return
    names = {"keys": KEY, "part": (*KEY, "price", "city")}.get(what, tuple(SCHEMA.names))
    given_ = [only(row, *names) for row in given_]
    call = {"keys": "delete", "part": "update"}.get(what, what)
    getattr(target, call)("t", given_)
    for row in given_:
        model.change("update" if what == "part" else what, row)


def check(views: list[rv.View], table: rv.Table, held: list[Row], oracle: Oracle) -> None:
    assert len(table) == len(held)
    for sql, view in zip(VIEWS, views, strict=True):
        assert comparable(view.to_arrow()) == oracle.rows(sql, {"t": held, "c": PEOPLE}), sql


@examples(30)
@given(st.lists(st.lists(steps, min_size=1, max_size=3), max_size=8))
def test_changes_by_key_equal_a_dict(transactions: list[list[tuple[str, list[Any]]]]) -> None:
    db, table, views = database()
    oracle = Oracle({"t": SCHEMA, "c": CITIES})
    held: dict[tuple[Any, ...], Row] = {}
    for transaction in transactions:
        model = Model()
        model.rows = dict(held)
        expected: type[Exception] | None = None
        failed: type[Exception] | None = None
        try:
            with db.transaction() as tx:
                for step in transaction:
                    try:
                        take(tx, step, model)
                    except errors.RingviewError as error:
                        expected = type(error)
                        break
        except errors.RingviewError as error:
            failed = type(error)
        assert failed == expected
        if failed is None:
            held = model.rows
        check(views, table, list(held.values()), oracle)


@examples(30)
@given(
    st.booleans(),
    st.lists(
        st.lists(
            st.tuples(st.booleans(), st.lists(st.tuples(rows, st.integers(-1, 2)), max_size=4)),
            max_size=4,
        ),
        max_size=6,
    ),
)
def test_the_net_effect_of_a_transaction_counts(
    unique: bool, transactions: list[list[tuple[bool, list[tuple[Row, int]]]]]
) -> None:
    db = rv.Database()
    table = db.create_table("t", SCHEMA, unique=KEY if unique else None)
    db.create_table("c", CITIES)
    views = [db.create_view(f"v{number}", sql) for number, sql in enumerate(VIEWS)]
    db.insert("c", PEOPLE)
    oracle = Oracle({"t": SCHEMA, "c": CITIES})
    held: dict[tuple[Any, ...], int] = {}
    for transaction in transactions:
        following = dict(held)
        for insert, changes in transaction:
            for row, count in changes:
                key = tuple(row[name] for name in SCHEMA.names)
                following[key] = following.get(key, 0) + (count if insert else -count)
        following = {key: count for key, count in following.items() if count}
        keys = [key[:2] for key in following]
        clash = unique and (len(set(keys)) < len(keys) or any(n > 1 for n in following.values()))
        expected: Any = None
        if any(count < 0 for count in following.values()):
            expected = errors.OverDeleteError
        elif clash:
            expected = errors.DuplicateKeyError
        failed = None
        try:
            with db.transaction(net=True) as tx:
                for insert, changes in transaction:
                    given_ = [{**row, "n": count} for row, count in changes]
                    (tx.insert if insert else tx.delete)("t", given_, multiplicity="n")
        except errors.RingviewError as error:
            failed = type(error)
        assert failed == expected
        if failed is None:
            held = following
        all_ = [
            dict(zip(SCHEMA.names, key, strict=True)) for key, n in held.items() for _ in range(n)
        ]
        check(views, table, all_, oracle)


ROW = {"id": 1, "site": "p", "city": "a", "x": 1, "price": Decimal("1.00")}


def refused(call: Any, error: type[Exception], *parts: str) -> None:
    with pytest.raises(error) as raised:
        call()
    for part in parts:
        assert part in str(raised.value), raised.value


def test_what_is_refused_and_what_it_says() -> None:
    db, table, views = database()
    db.insert("t", [ROW])
    before = [view.to_arrow() for view in views]
    null = {**ROW, "site": None}
    for call in (
        lambda: db.upsert("t", [ROW, null]),
        lambda: db.update("t", [ROW, null]),
        lambda: db.delete("t", [only(ROW, *KEY), only(null, *KEY)]),
        lambda: db.apply("t", [{"op": "d", **ROW}, {"op": "d", **null}], op="op"),
    ):
        refused(
            call, errors.NullKeyError, 'row 1: NULL in column "site"', 'unique key of table "t"'
        )
    key = "(id = 7, site = 'p')"
    gone = {**ROW, "id": 7}
    refused(lambda: db.update("t", [gone]), errors.UnknownKeyError, '"t"', key, "upsert")
    refused(lambda: db.update("t", [gone]), KeyError)
    refused(lambda: db.delete("t", [only(gone, *KEY)]), errors.OverDeleteError, '"t"', key)
    twice = [only(ROW, *KEY)] * 2
    refused(lambda: db.delete("t", twice), errors.OverDeleteError, "holds 1", "so 2 cannot")
    refused(
        lambda: db.delete("t", [only(ROW, *KEY, "x")]),
        errors.InvalidValueError,
        "(id, site) alone",
        "every column",
    )
    refused(lambda: db.delete("t", [{"id": 1}]), errors.InvalidValueError, '"site"', "unique key")
    refused(lambda: db.upsert("t", [only(ROW, *KEY)]), errors.InvalidValueError, "update")
    refused(
        lambda: db.delete("t", [{**only(ROW, *KEY), "n": 1}], multiplicity="n"),
        errors.InvalidValueError,
        "multiplicities go with whole rows",
    )
    refused(
        lambda: db.apply("t", [{"op": "I", **gone}, {"op": "t", **ROW}], op="op"),
        errors.InvalidValueError,
        'row 1, column "op"',
        '"t" is no change; write insert, update',
    )
    refused(lambda: db.apply("t", [{"op": None, **ROW}], op="op"), errors.InvalidValueError, "NULL")
    refused(lambda: db.apply("t", [ROW], op="op"), errors.InvalidValueError, '"op"', "missing")
    refused(
        lambda: db.apply("t", [ROW], op="site"), errors.InvalidValueError, "belongs to the rows"
    )
    refused(lambda: db.apply("t", [{"op": 1, **ROW}], op="op"), TypeError)
    refused(
        lambda: db.apply("t", [{"op": "I", **gone, "x": None}], op="op"),
        errors.NullKeyError,
        "row 0",
        '"x"',
    )
    refused(lambda: db.upsert("t", [{**ROW, "z": 1}]), errors.UnknownColumnError, "z")
    refused(lambda: db.upsert("c", PEOPLE), errors.UnsupportedError, '"c"', "unique")
    refused(lambda: db.apply("c", [{"op": "I", **PEOPLE[0]}], op="op"), errors.UnsupportedError)
    refused(lambda: db.update("nowhere", [ROW]), errors.UnknownTableError)
    # Without a key, a delete that lacks a column is no row.
    refused(lambda: db.delete("c", [{"city": "a"}]), errors.InvalidValueError, "unique")
    assert [view.to_arrow() for view in views] == before
    assert len(table) == 1


def test_without_base_rows_nothing_is_found_by_its_key() -> None:
    db, _, _ = database(trust_deletes=True)
    for call in (
        lambda: db.upsert("t", [ROW]),
        lambda: db.update("t", [ROW]),
        lambda: db.delete("t", [only(ROW, *KEY)]),
        lambda: db.apply("t", [{"op": "I", **ROW}], op="op"),
    ):
        refused(call, errors.UnsupportedError, "trust_deletes")
    db.insert("t", [ROW])
    db.delete("t", [ROW])


def test_static_tables_change_by_key_until_they_are_read() -> None:
    db = rv.Database(trust_deletes=True)
    db.create_table("t", SCHEMA, unique=KEY, static=True)
    db.upsert("t", [ROW])
    db.upsert("t", [{**ROW, "x": 5}])
    view = db.create_view("v", "SELECT SUM(x) AS x FROM t")
    assert view.scalar() == 5
    refused(lambda: db.upsert("t", [ROW]), errors.StaticTableError)


def test_an_upsert_of_what_is_there_moves_nothing() -> None:
    db, _, views = database()
    db.insert("t", [ROW])
    for view in views:
        view.changes()
    db.upsert("t", [ROW])
    db.update("t", [only(ROW, *KEY)])
    assert all(len(view.changes()) == 0 for view in views)
    # Views move once: of three versions of a row only the last shows.
    db.upsert("t", [{**ROW, "x": 2}, {**ROW, "x": 3}, {**ROW, "x": 9}])
    assert sorted(views[0].changes().to_pydict()["x"]) == [1, 9]


def test_a_net_transaction_of_several_tables_and_products() -> None:
    db = rv.Database()
    db.create_table("m", {"i": "int64", "j": "int64"})
    table = db.create_table("t", {"id": "int64", "a": "int64"}, unique=["id"])
    view = db.create_view("v", "SELECT SUM(i * j) AS s FROM m")
    factors = {"u": {"i": [1, 2]}, "v": {"j": [3, 4]}}
    with db.transaction(net=True) as tx:
        tx.delete("m", [{"i": 1, "j": 3}])
        tx.update_factorised("m", factors)
        tx.upsert("t", [{"id": 1, "a": 1}, {"id": 1, "a": 2}])
    assert (view.scalar(), len(table)) == (18, 1)
    with (
        pytest.raises(errors.UnsupportedError, match="both by key and by whole rows"),
        db.transaction(net=True) as tx,
    ):
        tx.upsert("t", [{"id": 1, "a": 3}])
        tx.insert("t", [{"id": 2, "a": 2}])
    with (
        pytest.raises(errors.OverDeleteError, match=r"holds 0 of the row \(i = 9, j = 9\), so 1"),
        db.transaction(net=True) as tx,
    ):
        tx.insert("m", [{"i": 5, "j": 5}])
        tx.delete("m", [{"i": 9, "j": 9}])
    with (
        pytest.raises(errors.DuplicateKeyError, match=r'table "t".*\(id = 1\)'),
        db.transaction(net=True) as tx,
    ):
        tx.insert("t", [{"id": 1, "a": 7}])
    assert (view.scalar(), len(table)) == (18, 1)


def test_many_rows_by_key_are_undone() -> None:
    """Chunk after chunk, with a failure in the last one."""
    db = rv.Database()
    table = db.create_table("t", {"id": "int64", "a": "int64"}, unique=["id"])
    view = db.create_view("v", "SELECT COUNT(*) AS n, SUM(a) AS a FROM t")
    many = 150_000
    ids = pa.array(range(many))
    db.insert("t", pa.table({"id": ids, "a": ids}))
    before = view.to_arrow()
    wrong = pa.table({"id": pa.array([*range(many), many]), "a": pa.array([5] * (many + 1))})
    for _ in range(2):
        with pytest.raises(errors.UnknownKeyError):
            db.update("t", wrong)
        with pytest.raises(errors.OverDeleteError):
            db.delete("t", wrong.select(["id"]))
        assert (view.to_arrow(), len(table)) == (before, many)
    db.upsert("t", wrong)
    assert view.to_arrow().to_pylist() == [{"n": many + 1, "a": 5 * (many + 1)}]
    db.delete("t", wrong.select(["id"]))
    assert len(table) == 0
