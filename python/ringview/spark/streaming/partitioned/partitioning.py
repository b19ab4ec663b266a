"""Partitioning of computed rows: maps, unions, orders, windows, ASOF joins.

Invariant: rows that must meet are in one partition, and no row is in two. A map of rows leaves them
where they are; rows that it takes away are where the same rows were added. Cost: O(query).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ringview.spark.streaming.partitioned.heavy import Role

Rows = Mapping[str, Any]


@dataclass(frozen=True)
class Partitioning:
    """Partitioning of rows: by a value that each of these columns has; without any, anywhere.

    ``origins`` are tables of which each row is made of one row, and is where that one is.
    """

    kind: pa.DataType
    by: frozenset[str]
    origins: frozenset[str] = frozenset()
    is_split: bool = False
    """Whether groups have rows in several partitions: the driver adds them up."""
    heavy: Role | None = None
    """Where rows of heavy values are: each somewhere, or all everywhere."""
    is_on_driver: bool = False
    """Whether it is no partition's: the driver keeps it, over views that are whole there."""

    @property
    def is_apart(self) -> bool:
        """Whether partitions have rows that a view over it could read."""
        return not (self.is_split or self.is_on_driver)


class SplitError(Exception):
    """Why a view cannot be kept under a placement."""


def of_rows(rows: Rows, sources: Sequence[Partitioning | None]) -> Partitioning | None:
    """Partitioning of computed rows by that of their sources; raises `SplitError`.

    A source that is everywhere is `None`, and so are rows of such sources alone.
    """
    if not any(sources):
        return None
    kind = rows["kind"]
    heavy = {source.heavy for source in sources if source is not None}
    if "copied" in heavy:
        raise SplitError("rows of heavy values are in every partition")
    if heavy != {None} and kind not in ("computed", "map", "timed"):
        raise SplitError("rows of one heavy value are in several partitions")
    if kind == "computed":
        return _mapped(rows["names"], [rows["branch"]], [of_rows(rows["of"], sources)])
    if kind == "map":
        return _mapped(rows["names"], rows["branches"], sources)
    if kind == "latest":
        return _latest(rows, sources)
    if kind == "recursive":
        raise SplitError("WITH RECURSIVE follows rows through all partitions")
    (source,) = sources
    assert source is not None
    if kind == "timed":
        return source
    if not source.by.intersection(rows["partition"]):
        what = "an order" if kind == "ordered" else "a window"
        raise SplitError(f"{what} is over rows of several partitions")
    return Partitioning(source.kind, source.by.intersection(rows["names"]), source.origins)


def _mapped(
    names: Sequence[str], branches: Sequence[Rows], sources: Sequence[Partitioning | None]
) -> Partitioning | None:
    if not any(sources):
        return None
    routed = [source for source in sources if source is not None]
    if len(routed) < len(sources):
        raise SplitError("rows that every partition has are added to rows of one partition each")
    if len({source.kind for source in routed}) > 1:
        raise SplitError("rows that lie by columns of different types are added")
    shown = [
        {name for name, column in handed_on(names, branch) if column in source.by}
        for branch, source in zip(branches, routed, strict=True)
    ]
    by = frozenset(shown[0].intersection(*shown[1:]))
    heavy = routed[0].heavy
    added = [one for one, branch in zip(routed, branches, strict=True) if not branch.get("minus")]
    for one in routed:
        # The rows taken away are some of the rows that are added.
        if (heavy or not by) and not any(one.origins & other.origins for other in added):
            raise SplitError("rows are taken away in other partitions than they are added in")
    origins = added[0].origins.intersection(*(one.origins for one in added))
    return Partitioning(routed[0].kind, by, origins, heavy=heavy)


def _latest(rows: Rows, sources: Sequence[Partitioning | None]) -> Partitioning:
    one, other = rows["sides"]
    left, right = sources
    if left is None:
        raise SplitError("an ASOF join looks up rows of one partition for rows that all have")
    pairs = zip(one["keys"], other["keys"], strict=True)
    meets = right is None or any(a in left.by and b in right.by for a, b in pairs)
    if not meets:
        raise SplitError("an ASOF join looks up rows of other partitions")
    if right is not None and right.kind != left.kind:
        raise SplitError("columns of different types join")
    shown = zip(rows["names"], one["shown"], strict=False)
    by = frozenset(name for name, column in shown if column in left.by)
    return Partitioning(left.kind, by, left.origins)


def handed_on(names: Sequence[str], branch: Rows) -> Iterator[tuple[str, str]]:
    """The columns of a map that are columns of its source, with those."""
    for name, text in zip(names, branch["columns"], strict=True):
        if text is not None and text[:1] == text[-1:] == '"':
            column = text[1:-1].replace('""', '"')
            # A text such as `"a" + "b"` begins and ends so, too.
            if text == '"' + column.replace('"', '""') + '"' and len(text) > 1:
                yield name, column


def wanted_of_rows(rows: Rows, wanted: set[str]) -> Iterator[tuple[int, str]]:
    """Columns of sources by which these columns of computed rows are partitioned."""
    kind = rows["kind"]
    if kind == "computed":
        inner = {of for name, of in handed_on(rows["names"], rows["branch"]) if name in wanted}
        yield from wanted_of_rows(rows["of"], inner)
    elif kind == "map":
        for number, branch in enumerate(rows["branches"]):
            for name, column in handed_on(rows["names"], branch):
                if name in wanted:
                    yield number, column
    elif kind == "latest":
        yield from ((n, key) for n, side in enumerate(rows["sides"]) for key in side["keys"])
    elif kind == "timed":
        yield from ((0, name) for name in wanted)
    elif kind != "recursive":
        yield from ((0, name) for name in rows["partition"])
