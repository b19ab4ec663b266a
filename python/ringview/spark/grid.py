"""Targets of rows: a grid of cells, one engine each, and relations distributed in it (HyperCube).

A result row of a join has one value for each variable. The grid has a dimension for a variable, or
a few, with a number of shares; a row of a relation that has the variable is sent to the share of
its value, and one of a relation without it to every share. So each result row is made in exactly
one cell, and the results of cells add up in the ring to the whole. Of a value that is too frequent
for one share, the rows of one relation are spread over all shares, and those of the others copied
to all.

Invariant: along each dimension either all relations are copied, or those that are not agree on a
variable; at most one relation is scattered. Cost: a row is copied to as many cells as it has shares
of the dimensions that its relation does not hold, so relations without a variable travel more
often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Along:
    """Distribution of the rows of a relation along one dimension of ``share`` shares.

    By the values of ``columns``; without any, each row in one share (``scattered``), or in all.
    Rows with one of the ``heavy`` values lie as they would without columns.
    """

    share: int
    columns: tuple[str, ...] = ()
    scattered: bool = False
    heavy: tuple[object, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether a row is sent to one share, but for heavy ones."""
        return bool(self.columns) or self.scattered


Distribution = tuple[Along, ...]
"""How the rows of a relation lie in the whole grid."""


def distribution_of(along: Sequence[Along]) -> Distribution:
    """The same in a canonical form: dimensions of one share left out, copies together."""
    wide = tuple(each for each in along if each.share > 1)
    if not any(each.is_single for each in wide):
        return (Along(prod(each.share for each in wide)),) if wide else ()
    return wide


def copies(distribution: Distribution) -> int:
    """Number of cells that a row is sent to, if it is not heavy."""
    return prod(each.share for each in distribution if not each.is_single)


def cells(
    distribution: Distribution,
    row: Mapping[str, object],
    hashed: Callable[[tuple[object, ...]], int],
) -> list[int]:
    """The cells that a row is sent to; ``hashed`` gives a number for values.

    >>> cells((Along(2, ("a",)), Along(3)), {"a": 5}, hash_of := lambda values: values[0])
    [1, 3, 5]
    """
    found, stride = [0], 1
    for along in distribution:
        shares = _shares(along, row, hashed)
        found = [cell + stride * share for share in shares for cell in found]
        stride *= along.share
    return found


def _shares(
    along: Along, row: Mapping[str, object], hashed: Callable[[tuple[object, ...]], int]
) -> Sequence[int]:
    values = tuple(row[column] for column in along.columns)
    if values and not (along.heavy and values[0] in along.heavy):
        return [hashed(values) % along.share]
    if along.scattered:
        return [hashed(tuple(row.values())) % along.share]
    return range(along.share)
