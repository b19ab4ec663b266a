"""Mutual information against scikit-learn, Chow-Liu trees against all trees there are."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from materialised import cofactor
from ringview import errors
from ringview.ml import ChowLiu, MutualInformation
from sklearn.base import clone
from sklearn.metrics import mutual_info_score

NAMES = ["a", "b", "c", "d"]
ROWS = st.lists(st.tuples(*[st.sampled_from("xyz")] * 4), min_size=1, max_size=40)


def frame(rows: list[tuple[str, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES)


@given(ROWS)
def test_information_is_scikit_learns(rows: list[tuple[str, ...]]) -> None:
    found = frame(rows)
    model = MutualInformation().fit(cofactor(found, NAMES))
    for (i, a), (j, b) in product(enumerate(NAMES), repeat=2):
        expected = mutual_info_score(found[a], found[b])
        assert model.mutual_information_[i, j] == pytest.approx(expected, abs=1e-12)
    ranking = model.ranking()
    assert len(ranking) == 6
    assert [round(w, 12) for *_, w in ranking] == sorted(
        (round(w, 12) for *_, w in ranking), reverse=True
    )


def log_likelihood(rows: pd.DataFrame, parents: dict[str, str | None]) -> float:
    """Of the rows under a tree with their own frequencies, one conditional at a time."""
    total = 0.0
    for child, parent in parents.items():
        if parent is None:
            counts = rows[child].map(rows[child].value_counts())
            total += np.log(counts / len(rows)).sum()
        else:
            both = rows.groupby([parent, child])[child].transform("size")
            total += np.log(both / rows.groupby(parent)[parent].transform("size")).sum()
    return total


def trees() -> list[dict[str, str | None]]:
    """All 16 trees over four columns, from the first of them outwards."""
    found = []
    for edges in combinations(list(combinations(NAMES, 2)), 3):
        parents: dict[str, str | None] = {NAMES[0]: None}
        for _ in NAMES:
            for a, b in edges:
                if a in parents and b not in parents:
                    parents[b] = a
                elif b in parents and a not in parents:
                    parents[a] = b
        if len(parents) == len(NAMES):
            found.append(parents)
    return found


@given(ROWS)
@examples(30)
def test_no_tree_is_likelier(rows: list[tuple[str, ...]]) -> None:
    found = frame(rows)
    model = ChowLiu().fit(cofactor(found, NAMES))
    assert len(trees()) == 16
    best = max(log_likelihood(found, parents) for parents in trees())
    assert model.log_likelihood_ == pytest.approx(best, abs=1e-9)
    assert log_likelihood(found, model.parents_) == pytest.approx(best, abs=1e-9)


@given(ROWS, st.sampled_from(NAMES), st.randoms())
@examples(30)
def test_ties_are_broken_alike(rows: list[tuple[str, ...]], root: str, random: Any) -> None:
    edges = ChowLiu().fit(cofactor(frame(rows), NAMES)).edges_
    shuffled = random.sample(rows, len(rows))
    model = ChowLiu(root=root).fit(cofactor(frame(shuffled), NAMES))
    assert {frozenset(edge[:2]) for edge in model.edges_} == {frozenset(e[:2]) for e in edges}
    assert model.parents_[root] is None
    assert list(model.parents_)[1:] == [child for _, child, _ in model.edges_]
    seen = {root}
    for parent, child, _ in model.edges_:
        assert parent in seen
        seen.add(child)


def chain() -> pd.DataFrame:
    random = np.random.default_rng(0)
    found = {"a": random.integers(0, 3, 2000)}
    for last, name in zip("abc", "bcd", strict=True):
        keep = random.random(2000) < 0.8
        found[name] = np.where(keep, found[last], random.integers(0, 3, 2000))
    return pd.DataFrame(found)


def test_a_chain_is_found() -> None:
    found = cofactor(chain(), NAMES)
    model = ChowLiu(root="d").fit(found)
    assert model.parents_ == {"d": None, "c": "d", "b": "c", "a": "b"}
    assert MutualInformation().fit(found).ranking("a")[0][:2] == ("a", "b")
    assert ChowLiu(["d", "a", "c"]).fit(found).parents_ == {"d": None, "c": "d", "a": "c"}


def test_deleted_categories_count_for_nothing() -> None:
    rows = chain()
    gone = rows[rows["a"] == 1]
    left = cofactor(rows, NAMES) - cofactor(gone, NAMES)
    expected = MutualInformation().fit(cofactor(rows[rows["a"] != 1], NAMES))
    found = MutualInformation().fit(left).mutual_information_
    np.testing.assert_allclose(found, expected.mutual_information_, atol=1e-12)


@pytest.mark.parametrize("kind", [MutualInformation, ChowLiu])
def test_bad_input(kind: Any) -> None:
    rows = chain().assign(x=1.5)
    found = cofactor(rows, NAMES)
    with pytest.raises(errors.UnknownColumnError, match='no column "e"'):
        kind(["a", "e"]).fit(found)
    with pytest.raises(errors.InvalidValueError, match=r'"x" is a number; CATEGORICAL\(x\)'):
        kind(["a", "x"]).fit(found)
    with pytest.raises(errors.InvalidValueError, match="two categorical columns"):
        kind(["a"]).fit(found)
    with pytest.raises(errors.TooFewRowsError, match="no rows"):
        kind().fit(found - found)
    with pytest.raises(errors.TypeMismatchError, match="not DataFrame"):
        kind().fit(rows)
    with pytest.raises(errors.InvalidValueError, match=r"root 'e'|\"e\" among"):
        (ChowLiu(root="e") if kind is ChowLiu else kind()).fit(found).ranking("e")
    assert clone(kind(["a", "b"])).get_params()["features"] == ["a", "b"]
