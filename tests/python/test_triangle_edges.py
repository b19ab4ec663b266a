"""Edges of every form and vertices of any kind that a counter of triangles takes, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import ringview as rv
from ringview.graph import Moment, TriangleCounter, Vertex
from small_graphs import EDGES, Edge, distinct

FORMS: dict[str, Callable[[list[Edge]], Any]] = {
    "pairs": list,
    "a generator": iter,
    "lists": lambda edges: [list(edge) for edge in edges],
    "columns": lambda edges: {"from": [u for u, _ in edges], "to": [v for _, v in edges]},
    "arrow": lambda edges: pa.table({"x": [u for u, _ in edges], "y": [v for _, v in edges]}),
    "a reader": lambda edges: FORMS["arrow"](edges).to_reader(max_chunksize=2),
    "pandas": lambda edges: pd.DataFrame(edges, columns=["src", "dst"]),
    "polars": lambda edges: pl.DataFrame(edges, schema=["src", "dst"], orient="row"),
    "numpy": np.array,
    "networkx": nx.Graph,
    "a digraph": nx.DiGraph,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vertex", [int, str, np.int64], ids=lambda of: of.__name__)
def test_edges_of_every_form(form: str, vertex: Callable[[Any], Any]) -> None:
    edges = [(vertex(u), vertex(v)) for u, v in EDGES]
    counter = TriangleCounter()
    assert counter.insert(FORMS[form](edges)) == 2
    assert distinct(counter) == {
        frozenset(map(vertex, (1, 2, 3))),
        frozenset(map(vertex, (1, 3, 4))),
    }
    assert counter.at(vertex(3)) == Vertex(3, 2)
    assert counter.delete(FORMS["pairs"](edges)) == -2
    assert counter.edges == 0


def test_vertices_of_any_kind() -> None:
    counter = TriangleCounter()
    north, south = ("house", 1), frozenset({"shop"})
    assert counter.insert([(north, south), (south, 2.5), (2.5, north), ("a", north)]) == 1
    assert distinct(counter) == {frozenset({north, south, 2.5})}
    assert counter.at(south) == Vertex(2, 1)
    assert counter.at("nobody") == Vertex(0, 0)
    with pytest.raises(rv.errors.OverDeleteError, match=r"'nobody' is no vertex"):
        counter.delete([("nobody", north)])
    with pytest.raises(rv.errors.OverDeleteError, match=r"edge \('a', 2.5\) cannot be deleted"):
        counter.delete([("a", 2.5)])
    for read in (counter.to_reader, counter.changes, counter.vertices):
        with pytest.raises(rv.errors.UnsupportedError, match=r"triangles\(\).* at\(v\)"):
            read()
    # Arrow types that are neither integers nor texts are objects.
    days = pa.array([1, 2, 3], pa.date32())
    other = TriangleCounter()
    assert other.insert({"u": days, "v": days.take(pa.array([1, 2, 0]))}) == 1


def test_categories_and_small_integers_are_texts_and_integers() -> None:
    texts = pa.array(["x", "y", "z"]).dictionary_encode()
    counter = TriangleCounter()
    assert counter.insert(pa.table({"u": texts, "v": texts.take(pa.array([1, 2, 0]))})) == 1
    assert counter.insert([("x", "w"), ("w", "y")]) == 1
    small = pa.array([1, 2, 3], pa.uint8())
    counter = TriangleCounter()
    assert counter.insert(pa.table({"u": small, "v": small.take(pa.array([1, 2, 0]))})) == 1
    assert counter.insert(pd.DataFrame({"u": [1, 7], "v": [7, 2]}, dtype="Int64")) == 1


def test_networkx_graphs_keep_their_parallel_edges_and_directions() -> None:
    parallel = nx.MultiGraph([(1, 2), (1, 2), (2, 3), (3, 1)])
    assert TriangleCounter().insert(parallel) == 1
    assert TriangleCounter(multigraph=True).insert(parallel) == 2
    # Without a direction an edge leads both ways: a cycle each way around.
    assert TriangleCounter(directed=True).insert(nx.Graph([(1, 2), (2, 3), (3, 1)])) == 2
    assert TriangleCounter(directed=True).insert(nx.DiGraph([(1, 2), (2, 3), (3, 1)])) == 1


@pytest.mark.parametrize(
    ("edges", "error", "reason"),
    [
        (None, None, ""),
        (5, TypeError, "no edges in 5"),
        ("ab", TypeError, "no edges in 'ab'"),
        ((1, 2), TypeError, r"edge 0 is 1, not a pair of vertices; write \[\(u, v\)\]"),
        (["ab"], TypeError, "edge 0 is 'ab', not a pair"),
        ([(1, 2), (1, 2, 3)], TypeError, r"edge 1 is \(1, 2, 3\)"),
        ([(1, 2), (3, None)], ValueError, "edge 1 has no vertex at one end"),
        ([(1.5, float("nan"))], ValueError, "edge 0 has no vertex at one end"),
        ([([], 2)], TypeError, r"\[\] cannot be a vertex, for it has no hash"),
        ([(2**63, 1)], ValueError, 'fit 64 bits .*vertices="object"'),
        (pa.table({"u": [1, None], "v": [2, 3]}), ValueError, "edge 1 has no vertex"),
        (pa.table({"u": pa.array([2**64 - 1], pa.uint64()), "v": [2]}), ValueError, "fit 64 bits"),
        (pa.table({"u": [1], "v": [2], "w": [3]}), ValueError, "here are: u, v, w; select two"),
        (pd.DataFrame({"u": [1]}), ValueError, "here are: u; select two"),
        (np.zeros((2, 3), int), ValueError, "here are: 0, 1, 2; select two"),
        ({"u": [1, 2], "v": [2]}, ValueError, r"different lengths \(2 and 1\)"),
        ({"u": "ab", "v": "cd"}, TypeError, "a column holds 'ab'"),
        ([("x", "y")], TypeError, 'are integers, and here are texts; .*vertices="object"'),
        ([(1, (2, 3))], TypeError, "are integers, and here are other values"),
    ],
)
def test_what_are_no_edges_changes_nothing(
    edges: Any, error: type[Exception] | None, reason: str
) -> None:
    counter = TriangleCounter(history=True)
    if error is None:
        assert counter.insert(edges) == 0
        return
    if "are integers" not in reason:
        with pytest.raises(error, match=reason):
            counter.insert(edges)
        assert repr(counter) == "TriangleCounter(0 triangles, 0 edges)"
    counter.insert(EDGES)
    # A graph of integers takes no others, whatever else is wrong with them.
    with pytest.raises((error, rv.errors.TypeMismatchError), match=f"{reason}|are integers"):
        counter.insert(edges)
    assert repr(counter) == "TriangleCounter(2 triangles, 5 edges)"
    assert counter.history == [Moment(5, 5, 2)]


def test_what_failed_at_first_does_not_say_what_vertices_are() -> None:
    counter = TriangleCounter()
    with pytest.raises(rv.errors.OverDeleteError):
        counter.update(insert=[("a", "b")], delete=[("c", "d")])
    assert counter.insert(EDGES) == 2


def test_mixed_kinds_are_taken_as_objects() -> None:
    counter = TriangleCounter(vertices="object")
    assert counter.insert([(1, "x"), ("x", (2, 3)), ((2, 3), 1), (2**70, 1)]) == 1
    assert sorted(map(str, next(counter.triangles()))) == ["(2, 3)", "1", "x"]
