"""Rows of a join as they are read: streams, places, draws, and what changes do to them."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import cycle
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors
from streams import small


def test_a_stream_sees_its_start_or_fails() -> None:
    db, view = small()
    db.insert("r", {"a": range(500), "b": [1] * 500})
    db.insert("s", {"b": [1] * 300, "c": range(300)})
    reader = view.to_reader()
    first = reader.read_next_batch()
    assert 0 < len(first) < 150_000
    db.insert("r", {"a": [1], "b": [2]})
    with pytest.raises(errors.ViewChangedError, match="changed"):
        reader.read_next_batch()
    half = view.to_reader()
    half.read_next_batch()
    del half
    dropped, replaced = view.to_reader(), view.to_reader()
    db.drop_view("v")
    with pytest.raises(errors.UnknownViewError):
        dropped.read_next_batch()
    db.create_view("v", "SELECT * FROM r NATURAL JOIN s")
    with pytest.raises(errors.ViewChangedError):
        replaced.read_next_batch()
    reader = db["v"].to_reader()
    del db
    assert reader.read_all().num_rows == 150_000


def test_a_listing_is_streamed_as_of_its_start() -> None:
    db, _ = small()
    view = db.create_view("w", "SELECT a FROM r")
    db.insert("r", {"a": [1, 1], "b": [0, 0]})
    reader = view.to_reader()
    db.insert("r", {"a": [2], "b": [0]})
    assert reader.read_all().to_pylist() == [{"a": 1}, {"a": 1}]


def test_rows_that_are_made_are_read_whatever_becomes_of_the_view() -> None:
    """Groups, listings and samples; rows of a join are made as they are read."""
    db, join = small()
    views = [
        db.create_view("groups", "SELECT a, COUNT(*) AS n FROM r GROUP BY a"),
        db.create_view("list", "SELECT a FROM r"),
        db.create_sample("few", "SELECT a FROM r", k=9, seed=1),
    ]
    db.insert("r", {"a": [1, 2], "b": [0, 0]})
    db.insert("s", {"b": [0], "c": [0]})
    before = [view.to_arrow() for view in views]
    readers = [[view.to_reader() for view in views] for _ in range(3)]
    lazy = [join.to_reader() for _ in range(2)]
    db.insert("r", {"a": [3], "b": [0]})
    assert [reader.read_all() for reader in readers[0]] == before
    with pytest.raises(errors.ViewChangedError):
        lazy[0].read_all()
    for view in (*views, join):
        db.drop_view(view.name)
    assert [reader.read_all() for reader in readers[1]] == before
    with pytest.raises(errors.UnknownViewError):
        lazy[1].read_all()
    db.close()
    for reader in readers[2]:
        with pytest.raises(errors.RingviewError, match="closed"):
            reader.read_all()


def test_what_is_gone_has_a_repr() -> None:
    db, view = small()
    table, sample = db.tables["r"], db.create_sample("few", "SELECT a FROM r", k=9, seed=1)
    other = db.create_table("other", {"a": "int64"})
    assert repr(sample) == "Sample('few', rows=0)"
    db.drop_view("few")
    db.drop_table("other")
    assert repr(sample) == "Sample('few', dropped)"
    assert repr(other) == "Table('other', dropped)"
    db.close()
    assert repr(view) == "View('v', closed)"
    assert repr(table) == "Table('r', closed)"
    assert view._repr_html_() == "View(&#x27;v&#x27;, closed)"


def test_streams_dropped_half_way_leave_nothing_behind() -> None:
    """Neither a stream that is dropped nor one that failed holds rows, or blocks others."""
    db, view = small()
    db.insert("r", {"a": range(400), "b": [1] * 400})
    db.insert("s", {"b": [1] * 400, "c": range(400)})
    usage, readers = db.memory_usage(), []
    before = pa.total_allocated_bytes()
    for turn in range(20):
        reader = view.to_reader()
        reader.read_next_batch()
        if turn % 2:
            readers.append(reader)
    assert db.memory_usage() == usage
    del reader
    # Ten that are half read: no rows but their places.
    assert pa.total_allocated_bytes() - before < 10_000
    db.insert("r", {"a": [-1], "b": [1]})
    for reader in readers:
        with pytest.raises(errors.ViewChangedError):
            reader.read_next_batch()
        with pytest.raises(errors.ViewChangedError):
            reader.read_all()
    db.delete("r", {"a": [-1], "b": [1]})
    assert view.to_reader().read_all().num_rows == len(view) == 160_000


def test_other_threads_never_see_a_mix() -> None:
    """Rows read while another thread changes the view are all of one state, or an error."""
    db, view = small()
    db.insert("s", {"b": [0, 1], "c": [0, 1]})
    width = 70_000
    rows = pa.table({"a": [0] * width, "b": [0] * width})
    db.insert("r", rows)
    stop = threading.Event()

    turns = threading.Semaphore(0)

    def turn() -> None:
        for b in cycle((0, 1)):
            turns.acquire()
            if stop.is_set():
                return
            with db.transaction() as tx:
                tx.delete("r", rows.set_column(1, "b", pa.array([b] * width)))
                tx.insert("r", rows.set_column(1, "b", pa.array([1 - b] * width)))

    thread = threading.Thread(target=turn)
    thread.start()
    whole = failed = 0

    def read() -> None:
        nonlocal whole
        found = view.to_reader().read_all()
        assert found.num_rows == width
        assert len(set(found["b"].to_pylist())) == 1
        whole += 1

    try:
        for _ in range(100):
            if whole >= 3 and failed >= 1:
                break
            turns.release()
            try:
                read()
            except errors.ViewChangedError:
                failed += 1
    finally:
        stop.set()
        turns.release()
        thread.join()
    # Nobody is in the way any more.
    read()


BAD_PLACES = [3, -4, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63), 2**64, 2**70, -(2**70)]


@pytest.mark.parametrize("place", BAD_PLACES)
def test_places_out_of_range(place: int) -> None:
    db, view = small()
    listing = db.create_view("w", "SELECT a FROM r")
    db.insert("r", {"a": [1, 2, 3], "b": [1, 1, 1]})
    db.insert("s", {"b": [1], "c": [1]})
    for kept in (view, listing):
        with pytest.raises(IndexError, match=f"3 rows, so there is no row {place}"):
            kept[place]
        behind = 0 if place > 0 else 3
        assert kept[place:].num_rows == behind
        assert kept[:place].num_rows == 3 - behind
    with pytest.raises(IndexError):
        small()[1][0]


@pytest.mark.parametrize("place", [1.0, b"a", None, (0, 1)])
def test_places_that_are_none(place: Any) -> None:
    _, view = small()
    with pytest.raises(TypeError):
        view[place]
    with pytest.raises(ValueError, match="zero"):
        view[::0]


def test_more_rows_than_can_be_counted_are_refused() -> None:
    db = rv.Database()
    for name in "rst":
        db.create_table(name, {name: "int64"})
    view = db.create_view("v", "SELECT r, s, t FROM r CROSS JOIN s CROSS JOIN t")
    many = {"n": [2**31]}
    for name in "rs":
        db.insert(name, {name: [1], **many}, multiplicity="n")
    db.insert("t", {"t": [0]})
    assert len(view) == 2**62
    assert view[2**62 - 1] == view[-1] == {"r": 1, "s": 1, "t": 0}
    assert next(iter(view.to_reader())).num_rows == 65_536
    with pytest.raises(errors.OutOfMemoryError, match="stream"):
        view[:]
    with pytest.raises(errors.ArithmeticOverflowError):
        db.insert("t", {"t": [5]})
    assert len(view) == 2**62
    assert len(db.tables["t"]) == 1
    assert set(view.draw(100, seed=3).column("t").to_pylist()) == {0}


def test_draws_are_uniform() -> None:
    """Chi-square at 10^-6 over 60 rows of unequal groups; the same test detects a skewed draw."""
    from scipy.stats import chisquare

    db, view = small()
    db.insert("r", {"a": range(12), "b": [1] * 2 + [2] * 10})
    db.insert("s", {"b": [1] * 15 + [2] * 3, "c": range(18)})
    assert len(view) == 60
    drawn = view.draw(30_000, seed=7).to_pylist()
    counts = Counter(tuple(row.values()) for row in drawn)
    assert len(counts) == 60
    assert chisquare(list(counts.values())).pvalue > 1e-6
    # A draw that took each key of b first would give rows of b = 1 and b = 2 the same weight.
    skewed = [count * (1.05 if row[1] == 1 else 0.95) for row, count in counts.items()]
    total = sum(skewed)
    assert chisquare([count * 30_000 / total for count in skewed]).pvalue < 1e-6
    assert view.draw(50, seed=7).to_pylist() == drawn[:50]
    assert view.draw(50, seed=8).to_pylist() != drawn[:50]
    assert view.draw(0, seed=1).num_rows == 0


def test_draws_that_cannot_be() -> None:
    db, view = small()
    with pytest.raises(errors.InvalidValueError, match="there are none"):
        view.draw(1, seed=1)
    for bad in ({"m": -1, "seed": 1}, {"m": 1, "seed": -1}, {"m": 1, "seed": 2**64}):
        with pytest.raises(errors.InvalidValueError, match="it is 0 to"):
            view.draw(**bad)
    listing = db.create_view("w", "SELECT a FROM r")
    with pytest.raises(errors.UnsupportedError, match="factorised"):
        listing.draw(1, seed=1)


def test_numbers_that_are_no_numbers_are_shown_but_do_not_join() -> None:
    db = rv.Database()
    db.create_table("r", {"k": "float64", "x": "float64"})
    db.create_table("s", {"k": "float64", "y": "float32"})
    view = db.create_view("v", "SELECT x, y FROM r NATURAL JOIN s")
    db.insert("s", {"k": [0.5], "y": [1.5]})
    db.insert("r", {"k": [0.5], "x": [float("nan")]})
    (row,) = view
    assert row["x"] != row["x"]
    assert row["y"] == 1.5
    with pytest.raises(errors.NullKeyError, match="NaN"):
        db.insert("r", {"k": [float("nan")], "x": [0.0]})
    db.delete("r", {"k": [0.5], "x": [float("nan")]})
    assert len(view) == 0


def test_deletes_that_were_trusted_and_wrong() -> None:
    db = rv.Database(trust_deletes=True)
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64"})
    view = db.create_view("v", "SELECT a, b FROM r NATURAL JOIN s")
    db.insert("s", {"b": [1]})
    db.insert("r", {"a": [1, 2, 3], "b": [1, 1, 1]})
    absent = {"a": [6, 7, 8, 9], "b": [1] * 4}
    db.delete("r", absent)
    for read in (len, rv.View.to_arrow, lambda view: view[0]):
        with pytest.raises(errors.InvalidValueError, match="trust_deletes"):
            read(view)
    db.insert("r", absent)
    assert view.to_arrow().num_rows == len(view) == 3


def test_blocks_agree_with_one_read() -> None:
    """Results of several blocks, with groups that begin and end within them."""
    db = rv.Database()
    db.create_table("r", {"k": "int64", "a": "int64"})
    db.create_table("s", {"k": "int64", "b": "int32"})
    db.create_table("t", {"k": "int64", "c": "string"})
    view = db.create_view("v", "SELECT * FROM r NATURAL JOIN s NATURAL JOIN t")
    db.insert("r", {"k": [i % 7 for i in range(400)], "a": range(400)})
    db.insert("s", {"k": [i * i % 7 for i in range(360)], "b": [i // 2 for i in range(360)]})
    db.insert("t", {"k": [i % 5 for i in range(60)], "c": [f"t{i}" for i in range(60)]})
    whole = view.to_arrow()
    assert whole.num_rows == len(view) > 200_000
    expected = pa.table({"k": [i % 7 for i in range(400)], "a": range(400)})
    for right in (
        pa.table({"k": [i * i % 7 for i in range(360)], "b": [i // 2 for i in range(360)]}),
        pa.table({"k": [i % 5 for i in range(60)], "c": [f"t{i}" for i in range(60)]}),
    ):
        expected = expected.join(right, "k", join_type="inner")
    order = [(name, "ascending") for name in ("k", "a", "b", "c")]
    names = ["k", "a", "b", "c"]
    found = whole.select(names).sort_by(order).combine_chunks()
    wanted = expected.select(names).sort_by(order).cast(found.schema).combine_chunks()
    assert found.equals(wanted)
    for at in (0, 65_535, 65_536, 131_071, len(view) - 1):
        assert view[at] == whole.slice(at, 1).to_pylist()[0]
    assert (
        view[65_000:140_000].combine_chunks().equals(whole.slice(65_000, 75_000).combine_chunks())
    )


def test_a_column_is_read_by_its_name(shop: tuple[rv.Table, rv.View]) -> None:
    table, view = shop
    assert sorted(view["units"].to_pylist()) == [1, 5]
    assert sorted(table["shop"].to_pylist()) == ["a", "b", "b"]
    for of in (table, view):
        with pytest.raises(errors.UnknownColumnError, match=r"has no column .shp.*did you mean"):
            of["shp"]
        wrong: Any
        for wrong in (None, 1.5, ("shop",)):
            with pytest.raises(errors.TypeMismatchError, match=r"such as \[\"(id|shop)\"\].*get"):
                of[wrong]


def test_a_key_may_be_its_values_alone(shop: tuple[rv.Table, rv.View]) -> None:
    table, view = shop
    assert view.get("b") == view.get(("b",)) == view.get({"shop": "b"}) == {"shop": "b", "units": 5}
    assert view.get(None) is None
    keys: list[Any] = ["a", ("b",), {"shop": "c"}]
    assert view.get_many(keys) == [view.get("a"), view.get("b"), None]
    assert table.get((2, "b")) == {"id": 2, "shop": "b", "units": 2}
    assert table.get_many([(2, "b"), (9, "b")]) == [table.get((2, "b")), None]
    for wrong in (2, (2,), (2, "b", 3)):
        with pytest.raises(errors.TypeMismatchError, match=r"a key is a dict, here \{'id'.*shop"):
            table.get(wrong)
    with pytest.raises(errors.TypeMismatchError, match="tuple of as many values"):
        view.get(("a", "b"))
    with pytest.raises(errors.TypeMismatchError, match="no rows in a str"):
        view.get_many("a")
    with pytest.raises(errors.TypeMismatchError):
        view.get(7)


def test_a_database_lists_its_views() -> None:
    db = rv.Database()
    assert list(db) == []
    db.create_table("r", {"a": "int64"})
    db.create_view("w", "SELECT COUNT(*) AS n FROM r")
    db.create_view("v", "SELECT COUNT(*) AS n FROM r")
    assert sorted(db) == ["v", "w"]
    assert all(name in db and db[name].name == name for name in db)
    db.close()
    with pytest.raises(errors.RingviewError, match="closed"):
        list(db)


@pytest.fixture
def shop() -> tuple[rv.Table, rv.View]:
    db = rv.Database()
    table = db.create_table(
        "sales", {"id": "int64", "shop": "string", "units": "int64"}, unique=["id", "shop"]
    )
    view = db.create_view("v", "SELECT shop, SUM(units) AS units FROM sales GROUP BY shop")
    table.insert([(1, "a", 1), (2, "b", 2), (3, "b", 3)])
    return table, view
