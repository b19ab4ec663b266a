"""Tables, views and samples in libraries of frames: the rows, by long names and short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors
from ringview.relation import Relation

ROWS: list[dict[str, Any]] = [{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": 2, "b": "y"}]


@pytest.fixture(params=["table", "view", "join", "sample"])
def readable(request: pytest.FixtureRequest) -> Relation:
    db = rv.Database()
    table = db.create_table("r", {"a": "int64", "b": "string"})
    db.create_table("s", {"a": "int64"})
    db.insert("r", ROWS)
    db.insert("s", {"a": [1, 2]})
    made: dict[str, Callable[[], Relation]] = {
        "table": lambda: table,
        "view": lambda: db.create_view("v", "SELECT a, b FROM r GROUP BY a, b"),
        "join": lambda: db.create_view("v", "SELECT a, b FROM r JOIN s USING (a)"),
        "sample": lambda: db.create_sample("v", "SELECT a, b FROM r", k=9, seed=1),
    }
    return made[request.param]()


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    # In a column of texts, pandas 3 has NaN for what is missing.
    texts = [{**row, "b": row["b"] if isinstance(row["b"], str) else None} for row in rows]
    return sorted(texts, key=lambda row: (row["a"], row["b"] or ""))


def test_short_names_are_the_long_ones(readable: Relation) -> None:
    assert readable.arrow().equals(readable.to_arrow())
    assert readable.df().equals(readable.to_pandas())
    assert readable.pl().equals(readable.to_polars())
    assert ordered(readable.pl().to_dicts()) == ordered(readable.arrow().to_pylist()) == ROWS


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_narwhals_reads_the_stream(readable: Relation, backend: Any) -> None:
    frame = nw.from_arrow(readable, backend=backend)
    found = frame.filter(nw.col("a") == 2).rows(named=True)
    assert ordered(found) == ROWS[1:]
    # Without a stream of its own it takes frames alone.
    with pytest.raises(TypeError, match="Unsupported"):
        nw.from_native(readable)  # type: ignore[call-overload]
    assert nw.from_native(readable.pl()).shape == (3, 2)


def test_ibis_takes_it_as_a_table_in_memory(readable: Relation) -> None:
    table = ibis.memtable(readable)
    assert table.schema().names == ("a", "b")
    assert ordered(table.to_pyarrow().to_pylist()) == ROWS
    counts = table.group_by("a").agg(n=table.count()).order_by("a")
    assert counts.to_pyarrow().to_pylist() == [{"a": 1, "n": 1}, {"a": 2, "n": 2}]


def test_polars_and_pyarrow_take_it_as_it_is(readable: Relation) -> None:
    assert ordered(pl.DataFrame(readable).to_dicts()) == ROWS
    assert ordered(pa.table(readable).to_pylist()) == ROWS


def test_a_handle_of_what_is_gone_says_so(readable: Relation) -> None:
    native = readable._native
    native.close()
    for read in (readable.arrow, readable.df, readable.pl, lambda: ibis.memtable(readable)):
        with pytest.raises(errors.RingviewError, match="closed"):
            read()


def test_what_reads_says_how() -> None:
    """The common half has no rows of its own."""
    maker: Any = Relation
    with pytest.raises(TypeError, match="abstract"):
        maker(None, "r", 0)
