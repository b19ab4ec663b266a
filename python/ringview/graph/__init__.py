"""Graphs whose edges come and go.

    triangles = ringview.graph.TriangleCounter()
    triangles.insert([("Ada", "Grace"), ("Grace", "Mary"), ("Mary", "Ada")])
    triangles.count

| file | what it holds |
|---|---|
| triangles | `TriangleCounter`: tables and views of a graph, and what is read of them |
| counting | `count_triangles`: those of a graph that is not kept |
| edges | edges in any of their forms to columns of vertices |
"""

from .counting import count_triangles
from .triangles import Moment, TriangleCounter, Vertex

__all__ = ["Moment", "TriangleCounter", "Vertex", "count_triangles"]
