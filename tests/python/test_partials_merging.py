"""Merging partials one by one: all or nothing, what follows it, and what is refused."""

from __future__ import annotations

import random
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors
from test_partials import ROWS, database, exact

R: dict[str, pa.Schema] = {"r": pa.schema({"a": pa.string(), "x": pa.int64(), "w": pa.float64()})}
ALL = "SELECT a, SUM(x) AS s, MIN(x) AS lo, COUNT(DISTINCT w) AS d, SUM(w) AS f FROM r GROUP BY a"


def row(a: str | None, x: int | None = 1, w: float | None = 0.5) -> dict[str, Any]:
    return {"a": a, "x": x, "w": w}


def test_a_failed_merge_leaves_all_as_it_was() -> None:
    """Before the first merge and after it; the views above too."""
    db = database(ALL, {"r": [row("a", 5), row("b", 2)]}, R)
    above = db.create_view("above", "SELECT SUM(s) AS s, MIN(a) AS a FROM v")
    db.insert("r", [row("a", 5, 1e308)])
    view, big = db["v"], database(ALL, {"r": [row("a", 1, 1e308), row("new", 4)]}, R)["v"]
    before = exact(view.to_arrow())
    with pytest.raises(errors.ArithmeticOverflowError, match='in the view "v"'):
        view.merge(big.partial())
    assert (exact(view.to_arrow()), above.to_arrow().to_pylist()) == (before, [{"s": 12, "a": "a"}])
    # It is no view of partials yet.
    db.insert("r", [row("c", 1)])
    view.merge(database(ALL, {"r": [row("Z", 3)]}, R)["v"].partial())
    assert above.to_arrow().to_pylist() == [{"s": 16, "a": "Z"}]
    before = exact(view.to_arrow())
    with pytest.raises(errors.ArithmeticOverflowError, match='in the view "v"'):
        view.merge(big.partial())
    assert (exact(view.to_arrow()), above.to_arrow().to_pylist()) == (before, [{"s": 16, "a": "Z"}])
    with pytest.raises(errors.UnsupportedError, match="merge its partial"):
        db.insert("r", [row("c", 1)])
    assert exact(view.to_arrow()) == before


def test_changes_follow_merges() -> None:
    view = database(ALL, {}, R)["v"]
    view.merge(database(ALL, {"r": [row("a", 5)]}, R)["v"].partial())
    assert view.changes().num_rows == 1
    with view.follow(initial=False) as follower:
        view.merge(database(ALL, {"r": [row("a", 3), row("b")]}, R)["v"].partial())
        moved = sorted((r["a"], r["lo"], r["multiplicity"]) for r in follower.changes().to_pylist())
    assert moved == [("a", 3, 1), ("a", 5, -1), ("b", 1, 1)]
    assert view.get({"a": "a"}) == {"a": "a", "s": 8, "lo": 3, "d": 1, "f": 1.0}


def test_a_merged_view_is_told_of() -> None:
    view = database(ALL, {}, R)["v"]
    view.merge(database(ALL, {"r": [row("a", 5)]}, R)["v"].partial())
    assert "partials" in view.explain()
    for format in ("mermaid", "graphviz", "json", "html"):
        assert view.explain(format)
    assert "1 groups" in view.explain("html")
    assert [batch.num_rows for batch in view.to_reader()] == [1]
    assert view[0:1].num_rows == len(view.where(a="a")) == 1


def test_views_above_are_made_of_merged_ones() -> None:
    db = database(ALL, {"r": [row("a", 5)]}, R)
    db["v"].merge(database(ALL, {"r": [row("a", 7), row("b", 1)]}, R)["v"].partial())
    above = db.create_view("above", "SELECT lo, SUM(s) AS s FROM v GROUP BY lo")
    db["v"].merge(database(ALL, {"r": [row("b", 4), row("c", 5)]}, R)["v"].partial())
    assert exact(above.to_arrow()) == [
        "{'lo': 1, 's': Decimal('5')}",
        "{'lo': 5, 's': Decimal('17')}",
    ]


def test_a_view_that_is_followed_is_merged_into_elsewhere() -> None:
    view = database(ALL, {}, R)["v"]
    view.changes()
    with pytest.raises(errors.UnsupportedError, match="merge first"):
        view.merge(database(ALL, {}, R)["v"].partial())


@pytest.mark.parametrize("sql", [ALL, "SELECT a, x FROM r"])
def test_counts_below_zero(sql: str) -> None:
    """A part lost what another has: the whole is right where deletes are trusted, in any order."""
    inserted, deleted = rv.Database(trust_deletes=True), rv.Database(trust_deletes=True)
    for db in (inserted, deleted):
        db.create_table("r", R["r"])
        db.create_view("v", sql)
    inserted.insert("r", [row("a", 5, 0.25), row("a", 3), row("b", 7)])
    deleted.delete("r", [row("a", 3)])
    deleted.delete("r", [row("b", 7)])
    partials = [db["v"].partial() for db in (inserted, deleted)]
    expected = exact(database(sql, {"r": [row("a", 5, 0.25)]}, R)["v"].to_arrow())
    for one, other in (partials, partials[::-1]):
        trusting = rv.Database(trust_deletes=True)
        trusting.create_table("r", R["r"])
        whole = trusting.create_view("v", sql)
        whole.merge(one)
        whole.merge(other)
        assert exact(whole.to_arrow()) == expected
        checking = database(sql, {}, R)["v"]
        checking.merge(partials[0])
        with pytest.raises(errors.InvalidValueError, match="count below 0"):
            checking.merge(partials[1])


def test_what_is_no_partial_of_the_view_is_refused() -> None:
    view = database(ALL, {"r": [row("a"), row(None)]}, R)["v"]
    whole = database(ALL, {"r": [row("z")]}, R)["v"]
    partial, before = view.partial(), exact(whole.to_arrow())
    payload = partial["payload"].to_pylist()[0]

    def refused(payload: bytes | None, match: str) -> None:
        rows = {"a": ["a"], "payload": pa.array([payload], pa.binary())}
        with pytest.raises(errors.InvalidValueError, match=match):
            whole.merge(pa.table(rows))
        assert exact(whole.to_arrow()) == before

    for end in range(len(payload)):
        refused(payload[:end], "payload in row 0")
    order = random.Random(11)
    for _ in range(60):
        at, bit = order.randrange(1, len(payload)), 1 << order.randrange(8)
        damaged = bytes([*payload[:at], payload[at] ^ bit, *payload[at + 1 :]])
        refused(damaged, "damaged|other columns")
    refused(struct.pack("B", 9) + payload[1:], "of version 9")
    refused(None, "is NULL")
    other = database("SELECT a, SUM(x) AS t FROM r GROUP BY a", {"r": [row("a")]}, R)["v"]
    with pytest.raises(errors.InvalidValueError, match="same query"):
        whole.merge(other.partial())
    for wrong in (partial.drop_columns(["payload"]), partial.rename_columns(["b", "payload"])):
        with pytest.raises(errors.RingviewError, match=r"is missing|no column"):
            whole.merge(wrong)
    with pytest.raises(errors.TypeMismatchError):
        whole.merge(partial.set_column(0, "a", pa.array([1, 2])))
    assert exact(whole.to_arrow()) == before


def test_partials_in_other_forms_of_arrow() -> None:
    view = database(ALL, {"r": [row("a"), row(None), row("b", None, None)]}, R)["v"]
    expected, partial = exact(view.to_arrow()), view.partial()
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        whole = database(ALL, {}, R)["v"]
        payloads = partial["payload"].cast(kind)
        table = pa.table({"payload": payloads, "a": partial["a"].cast(pa.large_string())})
        whole.merge(table.slice(0, 1))
        whole.merge(pa.concat_tables([table.slice(1, 1), table.slice(2)]).to_reader())
        assert exact(whole.to_arrow()) == expected


def test_names_that_are_taken() -> None:
    schema = {"r": pa.schema({"payload": pa.int64(), "multiplicity": pa.int64()})}
    rows: ROWS = {"r": [{"payload": 1, "multiplicity": 7}]}
    for sql, names in (
        ("SELECT payload, COUNT(*) AS n FROM r GROUP BY payload", ["payload", "payload_"]),
        ("SELECT COUNT(*) AS n FROM r GROUP BY multiplicity", ["multiplicity", "payload"]),
        ("SELECT * FROM r", ["payload", "multiplicity", "multiplicity_"]),
    ):
        view = database(sql, rows, schema)["v"]
        assert view.partial().schema.names == names
        whole = database(sql, rows, schema)["v"]
        whole.merge(view.partial())
        assert len(whole) == (2 if "*) " not in sql else 1)


def test_key_and_value_types() -> None:
    kinds: dict[str, tuple[pa.DataType, list[Any]]] = {
        "tiny": (pa.int8(), [-128, None, 127]),
        "natural": (pa.uint64(), [0, 2**64 - 1, None]),
        "price": (pa.decimal128(38, 2), [Decimal("-1.25"), Decimal(10) ** 35, None]),
        "real": (pa.float64(), [-0.0, 1e300, None]),
        "single": (pa.float32(), [0.5, -2.5, None]),
        "day": (pa.date32(), [-1, 20_000, None]),
        "at": (pa.timestamp("us", "UTC"), [-1, 10**15, None]),
        "ok": (pa.bool_(), [True, False, None]),
        "word": (pa.string(), ["", "\u4e2d", None]),
    }
    for name, (kind, values) in kinds.items():
        schema = {"r": pa.schema({"k": kind, "x": kind})}
        table = pa.table({"k": pa.array(values, kind), "x": pa.array(values[::-1], kind)})
        sql = "SELECT k, MIN(x) AS lo, MAX(x) AS hi, COUNT(DISTINCT x) AS n FROM r GROUP BY k"
        parts = []
        for start in range(3):
            db = database(sql, {}, schema)
            db.insert("r", table.slice(start, 1))
            parts.append(db["v"].partial())
        assert parts[0].schema.field("k").type == kind
        whole, db = database(sql, {}, schema)["v"], database(sql, {}, schema)
        for part in parts:
            whole.merge(part)
            whole.merge(part)
        db.insert("r", table)
        assert exact(whole.to_arrow()) == exact(db["v"].to_arrow()), name


def test_a_merged_view_is_not_saved(tmp_path: Any) -> None:
    db = database(ALL, {}, R)
    db["v"].merge(database(ALL, {"r": [row("a")]}, R)["v"].partial())
    with pytest.raises(errors.UnsupportedError, match="partials were merged"):
        db.save(tmp_path / "x.ringview")
    with rv.Database.open(tmp_path / "y.ringview") as kept:
        kept.create_table("r", R["r"])
        view = kept.create_view("v", ALL)
        with pytest.raises(errors.UnsupportedError, match="with a file"):
            view.merge(db["v"].partial())


def test_a_sample_has_no_partial() -> None:
    db = rv.Database()
    db.create_table("r", R["r"])
    sample = db.create_sample("s", "SELECT a FROM r", k=2, seed=1)
    with pytest.raises(errors.UnsupportedError, match="no sum of samples"):
        sample._native.view_partials(sample._handle)
