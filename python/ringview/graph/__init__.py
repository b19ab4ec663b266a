"""Graphs under inserts and deletes of edges.

    triangles = ringview.graph.TriangleCounter()
    triangles.insert([("Ada", "Grace"), ("Grace", "Mary"), ("Mary", "Ada")])
    triangles.count

| file | what it holds |
|---|---|
| triangles | `TriangleCounter`: a graph under inserts and deletes of edges, and its reads |
| store | its table and views |
| description | descriptions of a moment and of a vertex |
| counting | `count_triangles`: those of a graph that is not kept |
| edges | edges in any of their forms to columns of vertices |
"""

from .counting import count_triangles
from .description import Moment, Vertex
from .triangles import TriangleCounter

__all__ = ["Moment", "TriangleCounter", "Vertex", "count_triangles"]
