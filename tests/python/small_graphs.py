"""A graph of two triangles, and the triangles that a counter lists, each once."""

from __future__ import annotations

from typing import Any

from ringview.graph import TriangleCounter

Edge = tuple[Any, Any]
EDGES: list[Edge] = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 1)]


def distinct(counter: TriangleCounter) -> set[frozenset[Any]]:
    found = [frozenset(triangle) for triangle in counter.triangles()]
    assert len(found) == len(set(found)), "each once"
    assert all(len(triangle) == 3 for triangle in found)
    return set(found)
