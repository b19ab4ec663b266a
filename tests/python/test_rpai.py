"""`RpaiTree` and `PaiMap` beside a dict that does the same slowly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from ringview import errors

Entries = dict[tuple[Fraction, int], Fraction]
Op = tuple[str, int, int, int, bool]

OPS = st.tuples(
    st.sampled_from(["add", "add", "put", "remove", "shift", "undone"]),
    st.integers(-12, 12),
    st.integers(-5, 5),
    st.integers(0, 2),
    st.booleans(),
)


def moved(entries: Entries, key: Fraction, by: Fraction, inclusive: bool) -> Entries:
    """The entries once those above a key, or from it on, have moved."""
    after: Entries = {}
    for (k, tie), payload in entries.items():
        moves = k > key or (inclusive and k == key)
        place = (k + by if moves else k, tie)
        after[place] = after.get(place, Fraction(0)) + payload
    return {place: payload for place, payload in after.items() if payload}


def number(kind: str, value: int) -> tuple[Any, Fraction]:
    """A number of a kind and what it is exactly."""
    given = value if kind == "int" else value * 0.1
    return given, Fraction(given)


def listed(entries: Entries, convert: Callable[[Fraction], Any]) -> list[tuple[Any, int, Any]]:
    return [(convert(k), tie, convert(p)) for (k, tie), p in sorted(entries.items())]


@pytest.mark.parametrize("kind", ["int", "float"])
@examples(60)
@given(ops=st.lists(OPS, max_size=60))
def test_tree_equals_a_dict(kind: Any, ops: list[Op]) -> None:
    tree = rv.RpaiTree(keys=kind, payloads=kind)
    naive: Entries = {}
    convert: Callable[[Fraction], Any] = int if kind == "int" else float
    for op, at, amount, tie, inclusive in ops:
        (key, exact_key), (value, exact) = number(kind, at), number(kind, amount)
        old = naive.get((exact_key, tie))
        shown = None if old is None else convert(old)
        assert tree.get(key, tie) == shown
        if op == "add":
            tree.add(key, value, tie)
            naive[exact_key, tie] = (old or 0) + exact
        elif op == "put":
            assert tree.put(key, value, tie) == shown
            naive[exact_key, tie] = exact
        elif op == "remove":
            assert tree.remove(key, tie) == shown
            naive.pop((exact_key, tie), None)
        elif op == "shift":
            tree.shift_keys(key, value, inclusive=inclusive)
            naive = moved(naive, exact_key, exact, inclusive)
        else:
            with pytest.raises(KeyError), tree.transaction():
                tree.shift_keys(key, -3 * abs(value))
                tree.add(key, value, tie)
                raise KeyError
        naive = {place: payload for place, payload in naive.items() if payload}
        assert list(tree.items()) == listed(naive, convert)
        below = [
            p for (k, _), p in naive.items() if k < exact_key or (inclusive and k == exact_key)
        ]
        assert tree.get_sum(key, inclusive=inclusive) == convert(sum(below, Fraction(0)))
        assert (key in tree) == any(k == exact_key for k, _ in naive)
    assert len(tree) == len(naive)
    assert tree.total == convert(sum(naive.values(), Fraction(0)))


@examples(60)
@given(ops=st.lists(OPS, max_size=60))
def test_map_equals_a_dict(ops: list[Op]) -> None:
    index = rv.PaiMap()
    naive: Entries = {}
    for op, at, amount, _, inclusive in ops:
        key, by = Fraction(at), Fraction(amount)
        old = naive.get((key, 0))
        if op == "add":
            index.add(at, amount)
            naive[key, 0] = (old or 0) + by
        elif op == "put":
            assert index.put(at, amount) == old
            naive[key, 0] = by
        elif op == "remove":
            assert index.remove(at) == old
            naive.pop((key, 0), None)
        elif op == "shift":
            index.shift_keys(at, amount, inclusive=inclusive)
            naive = moved(naive, key, by, inclusive)
        else:
            with pytest.raises(KeyError), index.transaction():
                index.shift(at, 3, amount)
                raise KeyError
        naive = {place: payload for place, payload in naive.items() if payload}
        assert list(index) == [(int(k), int(p)) for (k, _), p in sorted(naive.items())]
    assert (len(index), index.total) == (len(naive), sum(naive.values()))


def test_ranges_neighbours_and_places() -> None:
    tree = rv.RpaiTree(((key, 1) for key in range(0, 5000, 5)), payloads="float")
    assert tree.get_sum_between(10, 20) == 3
    assert tree.get_sum_between(10, 20, low_inclusive=False, high_inclusive=False) == 1
    assert tree.get_sum_between(20, 10) == 0
    assert tree.successor(12) == (15, 1.0)
    assert tree.successor(15, inclusive=True) == (15, 1.0)
    assert tree.predecessor(15) == (10, 1.0)
    assert tree.predecessor(0) is None
    assert tree.select(500) == (2500, 0, 500.0)
    assert tree.select(500, inclusive=True) == (2495, 0, 499.0)
    assert tree.select(1000) is None
    assert tree.first() == (0, 1.0)
    assert tree.last() == (4995, 1.0)
    assert sum(1 for _ in tree) == len(tree) == 1000
    tied = rv.RpaiTree([(5, 1, 0), (5, 2, 1), (5, 4, 2)])
    tied.shift_keys(5, 1, tie=1)
    assert list(tied.items()) == [(5, 0, 1), (5, 1, 2), (6, 2, 4)]


def test_what_is_refused_leaves_everything_as_it_was() -> None:
    tree = rv.RpaiTree([(5, 1), (2**126, 2)])
    cases: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (errors.ArithmeticOverflowError, "shifted key", lambda: tree.shift_keys(7, 2**126 * 1)),
        (errors.ArithmeticOverflowError, "magnitudes", lambda: tree.add(9, 2**127 - 1)),
        (errors.InvalidValueError, "128 bits", lambda: tree.add(2**127, 1)),
        (errors.TypeMismatchError, "expected an int", lambda: tree.add(1.5, 1)),
        (errors.TypeMismatchError, "neither", lambda: tree.add("a", 1)),  # type: ignore[arg-type]
        (errors.TypeMismatchError, "bool", lambda: tree.add(True, 1)),
        (errors.InvalidValueError, "no kind", lambda: rv.RpaiTree(keys="text")),  # type: ignore[arg-type]
        (errors.InvalidValueError, "NaN", lambda: rv.RpaiTree([(float("nan"), 1)], keys="float")),
        (
            errors.InvalidValueError,
            "no double",
            lambda: rv.RpaiTree([(2**60 + 1, 1)], keys="float"),
        ),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()
        assert list(tree) == [(5, 1), (2**126, 2)]
    rounded = rv.RpaiTree([(float(2**60 + 1), 1)], keys="float")  # as the message says
    assert len(rounded) == 1
    assert len(rv.RpaiTree([(2**60 + 1, 1)])) == 1


def test_steps_grow_as_the_logarithm() -> None:
    for entries, height in [(1_000, 3), (100_000, 4)]:
        tree = rv.RpaiTree((key * 4, 1) for key in range(entries))
        before = tree.steps()
        tree.shift_keys(entries * 2, 3)
        assert tree.steps() - before <= 3 * height
