"""The exchange that brings rows to the partition whose number they name.

PySpark 4.1 has `repartitionById`. Before, Spark sends a row to the partition Murmur3(key) mod n, so
each number is replaced by a key that hashes to it. Both set the number of partitions, which
adaptive execution leaves as it is.

Invariant: a row with the number p, 0 <= p < n, is in partition p of n, and no other row is. Cost:
one shuffle; before 4.1 once O(n log n) hashes for each n, and a lookup for each row.
"""

from __future__ import annotations

from functools import lru_cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

_SEED = 42
"""Spark's, of the hash that a shuffle is by."""

_WORD = 0xFFFFFFFF


def to_partitions(frame: DataFrame, count: int, number: Column) -> DataFrame:
    """The rows in ``count`` partitions, each in that of its ``number``, an integer column."""
    # Looked up in the class: an instance takes a column of this name for an attribute.
    if hasattr(type(frame), "repartitionById"):
        return frame.repartitionById(count, number)
    return by_hash(frame, count, number)


def by_hash(frame: DataFrame, count: int, number: Column) -> DataFrame:
    """The same by the hash of a key, as it is done before PySpark 4.1."""
    # One text, for a literal of its own each key would cost a call to the JVM.
    listed = sf.expr(f"array({', '.join(map(str, keys(count)))})")
    return frame.repartition(count, sf.element_at(listed, number.cast("int") + 1))


@lru_cache(maxsize=64)
def keys(count: int) -> tuple[int, ...]:
    """For each partition the least integer from 0 on that Spark sends there.

    >>> keys(4)
    (12, 6, 2, 0)
    """
    found: dict[int, int] = {}
    key = 0
    while len(found) < count:
        found.setdefault(murmur3(key) % count, key)
        key += 1
    return tuple(found[number] for number in range(count))


def murmur3(value: int) -> int:
    """Spark's ``hash`` of an INT: 32-bit Murmur3 of its four bytes, with a sign.

    >>> murmur3(0), murmur3(1)
    (933211791, -559580957)
    """
    block = _rotated(value * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    mixed = (_rotated(_SEED ^ block, 13) * 5 + 0xE6546B64 & _WORD) ^ 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _WORD
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _WORD
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _WORD
