"""Indexes by aggregate value: `RpaiTree`, whose keys shift by ranges, and `PaiMap`, hashed.

Invariant: no two entries are equal and none has payload zero; a call that raises has changed
nothing.
Cost: O(log n) an operation of the tree, O(1) of the map; what is dearer says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from .._native import PaiMap as _Map
from .._native import RpaiTree as _Tree
from ..errors import InvalidValueError

Number = int | float
Kind = Literal["int", "float"]
Entry = tuple[Number, Number]


class _Index:
    """Length, transactions, memory and text of both indexes."""

    __slots__ = ("_kinds", "_native")
    _native: _Tree | _Map
    _kinds: tuple[Kind, Kind]

    def __len__(self) -> int:
        """Entries."""
        return len(self._native)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes within, or, if something is raised, none.

        >>> tree = RpaiTree([(1, 1), (2, 1)])
        >>> try:
        ...     with tree.transaction():
        ...         tree.shift_keys(1, -1)
        ...         raise ValueError
        ... except ValueError:
        ...     list(tree)
        [(1, 1), (2, 1)]
        """
        self._native.begin()
        try:
            yield
        except BaseException:
            self._native.rollback()
            raise
        self._native.commit()

    def memory_usage(self) -> int:
        """Bytes held.

        >>> RpaiTree().memory_usage() > 0
        True
        """
        return self._native.memory_usage()

    def __repr__(self) -> str:
        keys, payloads = self._kinds
        return f"{type(self).__name__}({len(self)} entries, keys {keys}, payloads {payloads})"


class RpaiTree(_Index):
    """An ordered map from keys to payloads in which a range of keys moves at once.

    Keys are aggregate values, payloads what is summed over them: the index behind queries that
    compare, row by row, an aggregate of other rows (Abeysinghe, He and Rompf, SIGMOD 2022). Keys
    are kept relative to each other and every subtree has its sum, so `get_sum` and `shift_keys`
    take one way down the tree, O(log n). Entries whose keys become equal merge; a tie, an integer,
    keeps them apart. An entry leaves when its payload becomes 0.

    Numbers are ints of 128 bits, exact, or floats (`keys="float"`, `payloads="float"`), which add
    as sums of three doubles, exact where their binary digits span 148 places at most: there, a
    number that was added and subtracted leaves nothing behind. Such keys are compared by all their
    digits, and shown as the nearest double. Decimals: give units.

    >>> import ringview as rv
    >>> tree = rv.RpaiTree([(10, 1), (20, 2), (30, 4)])
    >>> tree.get_sum(20), tree.get_sum(20, inclusive=False)
    (3, 1)
    >>> tree.shift_keys(10, -10)      # all keys above 10: 20 meets 10, 30 becomes 20
    >>> list(tree)
    [(10, 3), (20, 4)]
    >>> tree
    RpaiTree(2 entries, keys int, payloads int)
    """

    __slots__ = ()
    _native: _Tree

    def __init__(
        self,
        entries: Iterable[Entry | tuple[Number, Number, int]] = (),
        *,
        keys: Kind = "int",
        payloads: Kind = "int",
    ) -> None:
        """Build a tree of entries in any order: (key, payload) or (key, payload, tie).

        Args:
            entries: Equal ones merge. O(n) if they are in order, else O(n log n).
            keys: "int" or "float".
            payloads: "int" or "float".

        Raises:
            InvalidValueError: NaN, an infinity, an int of more than 128 bits, or another kind.
            TypeMismatchError: Something that is no number of the kind.
            ArithmeticOverflowError: A payload does not fit, or the sum of all magnitudes.
        """
        triples = [_triple(entry) for entry in entries]
        self._native = _Tree(triples, _real(keys, "keys"), _real(payloads, "payloads"))
        self._kinds = (keys, payloads)

    def get(self, key: Number, tie: int = 0) -> Number | None:
        """The payload of an entry, None if there is none. O(log n).

        >>> RpaiTree([(5, 1), (5, 2, 7)]).get(5, 7)
        2
        """
        return self._native.get(key, tie)

    def put(self, key: Number, payload: Number, tie: int = 0) -> Number | None:
        """Give an entry a payload; 0 takes it away. The payload it had, or None. O(log n).

        Raises:
            ArithmeticOverflowError: The sum of all magnitudes does not fit.

        >>> RpaiTree([(5, 1)]).put(5, 3)
        1
        """
        return self._native.put(key, payload, tie)

    def add(self, key: Number, payload: Number, tie: int = 0) -> None:
        """Add to the payload of an entry; one that is not there counts as 0. O(log n).

        Raises:
            ArithmeticOverflowError: The payload does not fit, or the sum of all magnitudes.

        >>> tree = RpaiTree()
        >>> tree.add(5, 2); tree.add(5, 1); tree.get(5)
        3
        """
        self._native.add(key, payload, tie)

    def remove(self, key: Number, tie: int = 0) -> Number | None:
        """Take an entry away. The payload it had, or None. O(log n).

        >>> RpaiTree([(5, 1)]).remove(5)
        1
        """
        return self._native.remove(key, tie)

    @property
    def total(self) -> Number:
        """The sum of all payloads. O(1).

        >>> RpaiTree([(1, 2), (3, 4)]).total
        6
        """
        return self._native.sum(None, None)

    def get_sum(self, key: Number, *, inclusive: bool = True) -> Number:
        """The sum of the payloads of keys up to `key`, or below it. O(log n).

        >>> RpaiTree([(1, 2), (3, 4)]).get_sum(3, inclusive=False)
        2
        """
        return self._native.sum(None, (key, None, inclusive))

    def get_sum_between(
        self, low: Number, high: Number, *, low_inclusive: bool = True, high_inclusive: bool = True
    ) -> Number:
        """The sum of the payloads of keys from `low` to `high`; 0 if there are none. O(log n).

        >>> RpaiTree([(1, 2), (3, 4), (5, 8)]).get_sum_between(1, 4, low_inclusive=False)
        4
        """
        return self._native.sum((low, None, not low_inclusive), (high, None, high_inclusive))

    def shift_keys(
        self, key: Number, by: Number, *, inclusive: bool = False, tie: int | None = None
    ) -> None:
        """Move all keys above `key`, or from it on, by a distance; what meets merges.

        With a tie, only the entries of `key` above that tie, or from it on, move with those of
        greater keys. O(log n); O(m log n) where m entries meet others, or pass them.

        Raises:
            ArithmeticOverflowError: A key would not fit.

        >>> tree = RpaiTree([(1, 1), (2, 1), (3, 1)])
        >>> tree.shift_keys(2, 10, inclusive=True)
        >>> list(tree)
        [(1, 1), (12, 1), (13, 1)]
        """
        self._native.shift_keys((key, tie, not inclusive), by)

    def select(
        self, bound: Number, *, inclusive: bool = False
    ) -> tuple[Number, int, Number] | None:
        """The first entry at which the running sum of payloads passes a bound, or reaches it.

        Its key, its tie and the running sum before it; None if no sum does. Right where no payload
        is negative, so that the sum only grows. O(log n).

        >>> RpaiTree([(10, 3), (20, 3), (30, 3)]).select(3)
        (20, 0, 3)
        """
        return self._native.select(bound, inclusive)

    def first(self) -> Entry | None:
        """The entry with the least key. O(log n).

        >>> RpaiTree([(2, 1), (1, 5)]).first()
        (1, 5)
        """
        return _pair(self._native.neighbour(None, True))

    def last(self) -> Entry | None:
        """The entry with the greatest key. O(log n).

        >>> RpaiTree([(2, 1), (1, 5)]).last()
        (2, 1)
        """
        return _pair(self._native.neighbour(None, False))

    def successor(self, key: Number, *, inclusive: bool = False) -> Entry | None:
        """The first entry above `key`, or from it on. O(log n).

        >>> RpaiTree([(2, 1), (1, 5)]).successor(1)
        (2, 1)
        """
        return _pair(self._native.neighbour((key, None, not inclusive), True))

    def predecessor(self, key: Number, *, inclusive: bool = False) -> Entry | None:
        """The last entry below `key`, or up to it. O(log n).

        >>> RpaiTree([(2, 1), (1, 5)]).predecessor(2)
        (1, 5)
        """
        return _pair(self._native.neighbour((key, None, inclusive), False))

    def items(self) -> Iterator[tuple[Number, int, Number]]:
        """Key, tie and payload of each entry as they are now, in order. O(n).

        >>> list(RpaiTree([(2, 1), (1, 5, 3)]).items())
        [(1, 3, 5), (2, 0, 1)]
        """
        return iter(self._native.entries())

    def __iter__(self) -> Iterator[Entry]:
        """Key and payload of each entry, in order."""
        return ((key, payload) for key, _, payload in self.items())

    def __contains__(self, key: Number) -> bool:
        """Whether an entry has this key, whatever its tie. O(log n)."""
        return self._native.has(key)

    def steps(self) -> int:
        """Nodes visited so far, and entries where they are walked one by one.

        >>> tree = RpaiTree((key, 1) for key in range(10_000))
        >>> before = tree.steps(); _ = tree.get_sum(5_000); tree.steps() - before
        3
        """
        return self._native.steps()


class PaiMap(_Index):
    """Partial aggregates by aggregate value, hashed: for comparisons by equality.

    A change of a group moves its part from one aggregate to another, O(1). Ranges are walked, O(n):
    who needs them often takes an `RpaiTree`. Listings are in order of the keys.

    >>> import ringview as rv
    >>> index = rv.PaiMap({5: 120})
    >>> index.shift(5, 2, 20)         # a group with aggregate 5 and payload 20 now has aggregate 7
    >>> list(index)
    [(5, 100), (7, 20)]
    """

    __slots__ = ()
    _native: _Map

    def __init__(
        self,
        entries: Iterable[Entry] | dict[Number, Number] = (),
        *,
        keys: Kind = "int",
        payloads: Kind = "int",
    ) -> None:
        """Build a map of entries (key, payload); equal keys merge. O(n).

        Raises:
            InvalidValueError: NaN, an infinity, an int of more than 128 bits, or another kind.
            TypeMismatchError: Something that is no number of the kind.
            ArithmeticOverflowError: A payload does not fit, or the sum of all magnitudes.
        """
        self._native = _Map(_real(keys, "keys"), _real(payloads, "payloads"))
        self._kinds = (keys, payloads)
        pairs = entries.items() if isinstance(entries, dict) else entries
        for key, payload in pairs:
            self._native.add(key, payload)

    def get(self, key: Number) -> Number | None:
        """The payload of a key, None if there is none. O(1).

        >>> PaiMap({1: 2}).get(1)
        2
        """
        return self._native.get(key)

    def put(self, key: Number, payload: Number) -> Number | None:
        """Give a key a payload; 0 takes it away. The payload it had, or None. O(1).

        Raises:
            ArithmeticOverflowError: The sum of all magnitudes does not fit.

        >>> PaiMap({1: 2}).put(1, 0)
        2
        """
        return self._native.put(key, payload)

    def add(self, key: Number, payload: Number) -> None:
        """Add to the payload of a key; one that is not there counts as 0. O(1).

        Raises:
            ArithmeticOverflowError: The payload does not fit, or the sum of all magnitudes.

        >>> index = PaiMap()
        >>> index.add(1, 2); index.add(1, -2); len(index)
        0
        """
        self._native.add(key, payload)

    def remove(self, key: Number) -> Number | None:
        """Take a key away. The payload it had, or None. O(1).

        >>> PaiMap({1: 2}).remove(1)
        2
        """
        return self._native.remove(key)

    def shift(self, key: Number, by: Number, part: Number) -> None:
        """Move part of the payload of a key to the key so far away. O(1).

        Raises:
            ArithmeticOverflowError: A key or payload does not fit.

        >>> index = PaiMap({1: 5})
        >>> index.shift(1, 1, 2); list(index)
        [(1, 3), (2, 2)]
        """
        self._native.shift(key, by, part)

    def shift_keys(self, key: Number, by: Number, *, inclusive: bool = False) -> None:
        """Move all keys above `key`, or from it on; what meets merges. O(n).

        Raises:
            ArithmeticOverflowError: A key would not fit.

        >>> index = PaiMap({1: 5, 2: 3})
        >>> index.shift_keys(1, -1); list(index)
        [(1, 8)]
        """
        self._native.shift_keys((key, not inclusive), by)

    @property
    def total(self) -> Number:
        """The sum of all payloads. O(1).

        >>> PaiMap({1: 5, 2: 3}).total
        8
        """
        return self._native.sum(None)

    def get_sum(self, key: Number, *, inclusive: bool = True) -> Number:
        """The sum of the payloads of keys up to `key`, or below it. O(n).

        >>> PaiMap({1: 5, 2: 3}).get_sum(1)
        5
        """
        return self._native.sum((key, inclusive))

    def __iter__(self) -> Iterator[Entry]:
        """Key and payload of each entry, in order of the keys. O(n log n)."""
        return iter(self._native.entries())

    def __contains__(self, key: Number) -> bool:
        """Whether the key has a payload. O(1)."""
        return self.get(key) is not None


def _real(kind: str, place: str) -> bool:
    if kind not in ("int", "float"):
        raise InvalidValueError(f'{place} of an index: {kind!r} is no kind; use "int" or "float"')
    return kind == "float"


def _triple(entry: Entry | tuple[Number, Number, int]) -> tuple[Number, int, Number]:
    if len(entry) == 2:
        return entry[0], 0, entry[1]
    return entry[0], entry[2], entry[1]


def _pair(entry: tuple[Number, int, Number] | None) -> Entry | None:
    return None if entry is None else (entry[0], entry[2])
