"""`ringview.Reservoir`: exact while it fills, uniform after, from iterables and Arrow data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from ringview import errors


def even(number: int) -> bool:
    return number % 2 == 0


def table(start: int, stop: int) -> pa.Table:
    numbers = range(start, stop)
    columns = pa.array(numbers, pa.int64()), pa.array([f"row {x}" for x in numbers], pa.string())
    return pa.table(columns, names=["x", "name"])


def of_row(row: Any) -> bool:
    return even(row["x"])


@pytest.mark.parametrize("kind", ["list", "generator", "arrow"])
def test_all_subsets_are_equally_likely(kind: str) -> None:
    runs, counts = 4000, Counter[tuple[int, ...]]()
    for seed in range(runs):
        if kind == "arrow":
            rows: rv.Reservoir[Any] = rv.Reservoir(2, of_row, seed=seed)
            rows.extend(table(0, 7))
            rows.extend(table(7, 12).to_reader(max_chunksize=3))
            counts[tuple(sorted(row["x"] for row in rows))] += 1
            continue
        sample = rv.Reservoir(2, even, seed=seed)
        for part in (range(7), range(7, 12)):
            sample.extend(part if kind == "list" else (number for number in part))
        counts[tuple(sorted(sample))] += 1
    pairs = list(combinations(range(0, 12, 2), 2))
    expected = runs / len(pairs)
    statistic = sum((counts[pair] - expected) ** 2 for pair in pairs) / expected
    # 14 degrees: 52 is passed with a chance below 1 in 10^5.
    assert set(counts) == set(pairs)
    assert statistic < 52


@examples(50)
@given(
    k=st.integers(1, 20),
    seed=st.integers(0, 2**64 - 1),
    cuts=st.lists(st.integers(0, 300), max_size=5),
)
def test_however_the_stream_comes_the_sample_is_the_same(
    k: int, seed: int, cuts: list[int]
) -> None:
    bounds = [0, *sorted(cuts), 300]
    whole = rv.Reservoir(k, even, seed=seed)
    whole.extend(range(300))
    lists, streams = rv.Reservoir(k, even, seed=seed), rv.Reservoir(k, even, seed=seed)
    rows: rv.Reservoir[Any] = rv.Reservoir(k, of_row, seed=seed)
    for start, stop in pairwise(bounds):
        lists.extend(list(range(start, stop)))
        streams.extend(iter(range(start, stop)))
        rows.extend(table(start, stop))
    assert list(whole) == list(lists) == list(streams) == [row["x"] for row in rows]
    assert rows.to_arrow().column("name").to_pylist() == [f"row {x}" for x in whole]
    assert whole.seen == rows.seen == 300
    assert len(whole) == min(k, 150)


def test_without_a_predicate_all_count_and_few_are_looked_at() -> None:
    sample: rv.Reservoir[int] = rv.Reservoir(100, seed=3)
    sample.extend(range(10**6))
    assert len(set(sample)) == 100
    asked = 0

    def count(number: int) -> bool:
        nonlocal asked
        asked += 1
        return True

    rv.Reservoir(100, count, seed=3).extend(range(10**6))
    # k + k ln(N / k), and three deviations more.
    assert asked < 1200
    rows: rv.Reservoir[Any] = rv.Reservoir(100, seed=3)
    for start in range(0, 20_000, 100):
        rows.extend(table(start, start + 100))
    assert len({row["x"] for row in rows}) == len(rows) == 100


@pytest.mark.parametrize("kind", ["list", "generator", "arrow"])
def test_what_raises_leaves_the_reservoir_as_it_was(kind: str) -> None:
    def broken(item: Any) -> bool:
        number = item["x"] if kind == "arrow" else item
        if number >= 500:
            raise ZeroDivisionError(number)
        return even(number)

    def data(start: int, stop: int) -> Any:
        if kind == "arrow":
            return table(start, stop).to_reader(max_chunksize=50)
        return list(range(start, stop)) if kind == "list" else iter(range(start, stop))

    sample: rv.Reservoir[Any] = rv.Reservoir(50, broken, seed=9)
    twin: rv.Reservoir[Any] = rv.Reservoir(50, broken, seed=9)
    for one in (sample, twin):
        one.extend(data(0, 30))
    before = list(sample)
    with pytest.raises(ZeroDivisionError):
        sample.extend(data(30, 5000))
    assert list(sample) == before
    assert (len(sample), sample.seen) == (15, 30)
    for one in (sample, twin):
        one.extend(data(30, 400))
    assert list(sample) == list(twin)


def test_a_stream_that_breaks_leaves_the_reservoir_as_it_was() -> None:
    def numbers() -> Iterator[int]:
        yield from range(100)
        raise OSError("gone")

    sample: rv.Reservoir[int] = rv.Reservoir(5, seed=1)
    with pytest.raises(OSError, match="gone"):
        sample.extend(numbers())
    assert (list(sample), sample.seen) == ([], 0)
    sample.add(7)
    assert list(sample) == [7]
    assert repr(sample) == "<Reservoir: 1 of 1 items, k=5>"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"k": 0, "seed": 1}, errors.InvalidValueError, "k=0 is out of range"),
        ({"k": -1, "seed": 1}, errors.InvalidValueError, "k=-1 is out of range"),
        ({"k": 2**60, "seed": 1}, errors.InvalidValueError, "1 to 2\\^53"),
        ({"k": 2**70, "seed": 1}, errors.InvalidValueError, "out of range"),
        ({"k": 2.5, "seed": 1}, errors.TypeMismatchError, "not an integer"),
        ({"k": 2, "seed": -1}, errors.InvalidValueError, "seed=-1"),
        ({"k": 2, "seed": 1, "predicate": 3}, errors.TypeMismatchError, "cannot be called"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        rv.Reservoir(**arguments)


def test_items_are_of_one_kind() -> None:
    rows: rv.Reservoir[Any] = rv.Reservoir(3, seed=1)
    rows.extend(table(0, 2))
    with pytest.raises(errors.TypeMismatchError, match="holds rows"):
        rows.add(3)
    with pytest.raises(errors.TypeMismatchError, match="cannot follow"):
        rows.extend(pa.table({"x": [1.5]}))
    rows.extend(table(2, 4).to_batches()[0])
    assert rows.seen == 4
    others: rv.Reservoir[Any] = rv.Reservoir(3, seed=1)
    with pytest.raises(errors.TypeMismatchError, match="not iterable"):
        others.extend(7)
    others.extend("abc")
    with pytest.raises(errors.TypeMismatchError, match="other items"):
        others.extend(table(0, 2))
    with pytest.raises(errors.UnsupportedError, match="iterate over it instead"):
        others.to_arrow()
    assert list(others) == ["a", "b", "c"]
