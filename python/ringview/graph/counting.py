"""Triangles counted at once, for a graph that is not kept.

Cost: O(m^1.5) for m edges, and far less on most graphs: vertices in the order of their degrees,
each edge walked from its lower end.
"""

from __future__ import annotations

from .. import _native
from .edges import Edges, Vertices, columns, kind


def count_triangles(edges: Edges, *, directed: bool = False, multigraph: bool = False) -> int:
    """Number of triangles of a graph, once: nothing of it is kept.

    Args:
        edges: As for `TriangleCounter.insert`: pairs, Arrow data, a frame, an array or a dict of
            two columns, a NetworkX graph. Loops are in no triangle.
        directed: Whether triangles are cycles a -> b -> c -> a.
        multigraph: Whether an edge that is given several times counts as often; else once.

    Raises:
        TypeMismatchError, InvalidValueError: As `TriangleCounter.insert`.
        UnsupportedError: More than 2^31 edges.
        KeyboardInterrupt: Ctrl-C.

    Complexity: O(m^1.5) for m edges, O(m) memory.

    >>> import ringview as rv
    >>> rv.graph.count_triangles([("Ada", "Grace"), ("Grace", "Mary"), ("Mary", "Ada")])
    1
    >>> rv.graph.count_triangles({"from": [1, 2, 3, 1], "to": [2, 3, 1, 3]}, directed=True)
    1
    """
    import pyarrow as pa

    ends = columns(edges, directed=directed)
    vertices = Vertices(kind(*ends) or "int64")
    u, v = vertices.arrays(*ends, new=True)
    if vertices.kind == "string":
        numbers = pa.concat_arrays([u, v]).dictionary_encode().indices.cast(pa.int64())
        u, v = numbers[: len(u)], numbers[len(u) :]
    return _native.count_triangles(pa.table({"u": u, "v": v}), directed, multigraph)
