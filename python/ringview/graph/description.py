"""Descriptions of a graph at a moment, and of a vertex."""

from __future__ import annotations

from typing import NamedTuple


class Moment(NamedTuple):
    """A graph after a call that changed it."""

    changes: int
    """How many edges had come or gone by then."""
    edges: int
    """How many there were, each as often as it had come."""
    triangles: int
    """How many triangles there were."""


class Vertex(NamedTuple):
    """The neighbourhood of a vertex, in numbers."""

    degree: int
    """How many others it has an edge with."""
    triangles: int
    """How many triangles it is in."""

    @property
    def clustering(self) -> float:
        """Share of the pairs of its neighbours that have an edge between them."""
        pairs = self.degree * (self.degree - 1)
        return 2 * self.triangles / pairs if pairs else 0.0
