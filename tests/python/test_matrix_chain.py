"""Matrix chains against NumPy: every kind of change, every shape, and what is refused."""

from __future__ import annotations

import re
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from ringview.structures.matrix_chain import Array

FEW = examples(60)


def chain_of(dimensions: list[int], rng: np.random.Generator) -> list[Array]:
    return [rng.integers(-4, 5, size=shape).astype(float) for shape in pairwise(dimensions)]


def multiplied(matrices: list[Array]) -> Array:
    product = matrices[0]
    for matrix in matrices[1:]:
        product = product @ matrix
    return product


def check(chain: rv.MatrixChain, matrices: list[Array], past: float = 0) -> float:
    """The matrices are small integers, which are kept exactly; the product, up to rounding.

    The rounding error covers all products so far: the result, and the `past` of the next check.
    """
    scale = past + 1 + float(multiplied([np.abs(matrix) for matrix in matrices]).max(initial=0))
    np.testing.assert_allclose(chain.product(), multiplied(matrices), rtol=0, atol=1e-13 * scale)
    for kept, matrix in zip(chain, matrices, strict=True):
        assert kept.tolist() == matrix.tolist()
    return scale


def change(chain: rv.MatrixChain, matrices: list[Array], at: int, rng: np.random.Generator) -> None:
    """One random change of matrix `at`, of the chain and of the matrices."""
    n, m = matrices[at].shape
    kind = rng.integers(6)

    def draw(*shape: int) -> Array:
        return rng.integers(-3, 4, size=shape).astype(float)

    if kind == 0:
        u, v = draw(n), draw(m)
        chain.update(at, u, v)
        delta = np.outer(u, v)
    elif kind == 1:
        rank = int(rng.integers(0, 14))
        u, v = draw(n, rank), draw(m, rank)
        chain.update(at, u, v)
        delta = u @ v.T
    elif kind == 2:
        row, v = int(rng.integers(n)), draw(m)
        chain.update_row(at, row, v)
        delta = np.zeros((n, m))
        delta[row] = v
    elif kind == 3:
        column, u = int(rng.integers(m)), draw(n)
        chain.update_column(at, column, u)
        delta = np.zeros((n, m))
        delta[:, column] = u
    elif kind == 4:
        delta = draw(n, m)
        delta[rng.random(n) < 0.5] = 0
        chain.update_dense(at, delta)
    else:
        delta = np.outer(draw(n), draw(m))
        chain.update_dense(at, delta)
    matrices[at] = matrices[at] + delta


@FEW
@given(st.lists(st.integers(1, 6), min_size=2, max_size=7), st.integers(0, 2**32))
def test_equals_numpy_after_every_change(dimensions: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrices = chain_of(dimensions, rng)
    chain = rv.MatrixChain(matrices)
    past = check(chain, matrices)
    for _ in range(8):
        change(chain, matrices, int(rng.integers(len(matrices))), rng)
        past = check(chain, matrices, past)
    chain.refresh()
    past = check(chain, matrices, past)


@FEW
@given(st.lists(st.integers(1, 6), min_size=3, max_size=7), st.integers(0, 2**32))
def test_a_chain_with_static_matrices_keeps_less(dimensions: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrices = chain_of(dimensions, rng)
    moving = [at for at in range(len(matrices)) if rng.random() < 0.4]
    chain = rv.MatrixChain(matrices, changing=moving)
    past = check(chain, matrices)
    for at in moving:
        change(chain, matrices, at, rng)
        past = check(chain, matrices, past)
    chain.refresh()
    past = check(chain, matrices, past)
    for at in set(range(len(matrices))) - set(moving):
        with pytest.raises(rv.errors.InvalidValueError, match="changing"):
            chain.update_row(at, 0, np.ones(matrices[at].shape[1]))
    past = check(chain, matrices, past)


@pytest.mark.parametrize("sizes", [(70, 300, 37, 90), (5, 1100, 40, 33), (300, 20, 280, 9)])
def test_sizes_beyond_every_block_and_strip(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    matrices = chain_of(list(sizes), rng)
    chain = rv.MatrixChain(matrices)
    past = check(chain, matrices)
    for rank in (1, 3, 30, 200):
        n, m = matrices[1].shape
        u, v = (rng.integers(-2, 3, size=(length, rank)).astype(float) for length in (n, m))
        chain.update(1, u, v)
        matrices[1] = matrices[1] + u @ v.T
        past = check(chain, matrices, past)
    for at in range(3):
        change(chain, matrices, at, rng)
        past = check(chain, matrices, past)


def test_real_numbers_stay_within_rounding() -> None:
    rng = np.random.default_rng(2)
    matrices = [rng.normal(size=(20, 20)) for _ in range(4)]
    chain = rv.MatrixChain(matrices)
    for step in range(200):
        at = step % 4
        u, v = rng.normal(size=20), rng.normal(size=20)
        for sign in (1, -1):
            chain.update_dense(at, sign * np.outer(u, v))
    magnitude = multiplied([np.abs(matrix) for matrix in matrices]).max()
    assert np.abs(chain.product() - multiplied(matrices)).max() < 1e-10 * magnitude
    chain.refresh()
    anew = rv.MatrixChain(list(chain)).product()
    assert chain.product().tolist() == anew.tolist()


def test_a_change_in_factors_costs_squares_not_cubes() -> None:
    def steps(size: int, rank: int, *, dense: bool) -> int:
        rng = np.random.default_rng(3)
        chain = rv.MatrixChain([np.ones((size, size))] * 4)
        before = chain._native.steps()
        if dense:
            chain.update_dense(1, rng.normal(size=(size, size)))
        elif rank == 0:
            chain.update_dense(1, np.outer(np.ones(size), np.arange(size)))
        else:
            chain.update(1, rng.normal(size=(size, rank)), rng.normal(size=(size, rank)))
        return chain._native.steps() - before

    # A product and two levels: at most two walks each, and the matrix itself.
    for size in (20, 40):
        assert steps(size, 1, dense=False) <= 6 * size**2
        assert steps(size, 0, dense=False) <= 6 * size**2
        assert steps(size, 3, dense=False) == 3 * steps(size, 1, dense=False)
        assert steps(size, 1, dense=True) >= 2 * size**3


def test_one_row_of_the_first_matrix_writes_one_row() -> None:
    size = 50
    chain = rv.MatrixChain([np.ones((size, size))] * 2)
    before = chain._native.steps()
    chain.update(0, np.eye(size)[7] * 2.0, np.ones(size))
    assert chain._native.steps() - before == size**2 + 2 * size
    assert chain.product()[7].tolist() == [3.0 * size] * size


def test_views_are_stored_only_where_a_change_reads_them() -> None:
    ones = np.ones((10, 10))
    everything = rv.MatrixChain([ones] * 4)
    assert everything.order == "((A1 A2) (A3 A4))"
    assert everything.memory_usage() == 7 * 800
    first = rv.MatrixChain([ones] * 4, changing=[0])
    assert first.memory_usage() == 6 * 800
    assert re.search(r"A2..A4\[X2, X5\], static +stored: 10 x 10 reals +800 bytes", first.explain())
    assert "not stored" in first.explain()


def test_a_refused_change_leaves_no_trace() -> None:
    big = 1e300
    matrices = [np.full((2, 2), big), np.eye(2), np.eye(2) * 1e-200]
    chain = rv.MatrixChain(matrices)
    before = chain.product().tolist(), [matrix.tolist() for matrix in chain]
    with pytest.raises(rv.errors.ArithmeticOverflowError):
        chain.update(1, [1e10, 1e10], [1.0, 1.0])
    with pytest.raises(rv.errors.ArithmeticOverflowError):
        chain.update(1, [1e200, 0], [1e200, 1.0])
    with pytest.raises(rv.errors.ArithmeticOverflowError):
        chain.update_row(0, 0, [1.5e308, 1.5e308])
    assert (chain.product().tolist(), [matrix.tolist() for matrix in chain]) == before
    with pytest.raises(rv.errors.ArithmeticOverflowError):
        rv.MatrixChain([[[big]], [[big]]])


def test_huge_values_may_leave_again() -> None:
    chain = rv.MatrixChain([[[4e307]], [[1.0]]])
    chain.update_row(0, 0, [-4e307])
    chain.update_row(0, 0, [3e307])
    chain.update_row(0, 0, [-3e307])
    assert chain.product().item() == 0.0


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([], "no matrices"),
        ([np.ones(3)], "1 dimensions"),
        ([3.0], "0 dimensions"),
        ([np.ones((2, 2, 2))], "3 dimensions"),
        ([np.ones((2, 3)), np.ones((2, 3))], "2 rows, but matrix 0 has 3 columns"),
        ([[[1.0, float("nan")]]], "matrix 0 of the chain, row 0, column 1: NaN"),
        ([[[1.0], [float("inf")]]], "row 1, column 0: inf"),
        ([np.ones((10**7, 1)), np.ones((1, 10**7))], "not enough memory"),
    ],
)
def test_wrong_chains_are_refused(matrices: Any, message: str) -> None:
    with pytest.raises(rv.errors.InvalidValueError, match=message):
        rv.MatrixChain(matrices)


@pytest.mark.parametrize(
    "matrices", [[[["a"]]], [[[1j]]], [[[1.0], [1.0, 2.0]]], [None], [[[None]]], [object()]]
)
def test_what_is_no_matrix_of_reals_is_refused(matrices: Any) -> None:
    with pytest.raises(rv.errors.TypeMismatchError):
        rv.MatrixChain(matrices)


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("update", (3, [1.0, 1.0], [1.0, 1.0, 1.0]), "there is no matrix"),
        ("update", (-3, [1.0, 1.0], [1.0, 1.0, 1.0]), "there is no matrix"),
        ("update", (0, [1.0], [1.0, 1.0, 1.0]), "u is 1 x 1"),
        ("update", (0, np.ones((2, 2)), np.ones((3, 1))), "must be 2 x r and 3 x r"),
        ("update", (0, np.ones((2, 1, 1)), np.ones((3, 1))), "3 dimensions"),
        ("update", (0, [1.0, float("nan")], [1.0, 1.0, 1.0]), "the factor u.*NaN"),
        ("update", (0, [1.0, 1.0], [1.0, 1.0, -float("inf")]), "the factor v.*inf"),
        ("update_row", (0, 2, [1.0, 1.0, 1.0]), "no row of matrix 0 at 2"),
        ("update_row", (0, 0, [1.0]), "1 values, not 3"),
        ("update_row", (0, 0, [1.0, 1.0, float("nan")]), "NaN"),
        ("update_row", (0, 0, [[1.0, 1.0, 1.0]]), "2 dimensions"),
        ("update_column", (0, 3, [1.0, 1.0]), "no column of matrix 0 at 3"),
        ("update_column", (0, 0, [1.0, 1.0, 1.0]), "3 values, not 2"),
        ("update_dense", (0, np.ones((3, 2))), "the delta is 3 x 2"),
        ("update_dense", (0, np.ones(3)), "1 dimensions"),
        ("update_dense", (0, [[1.0, 2.0, float("inf")]] * 2), "the delta.*inf"),
    ],
)
def test_wrong_changes_are_refused(method: str, arguments: Any, message: str) -> None:
    matrices = [np.ones((2, 3)), np.ones((3, 2))]
    chain = rv.MatrixChain(matrices)
    with pytest.raises(rv.errors.InvalidValueError, match=message):
        getattr(chain, method)(*arguments)
    check(chain, matrices)


def test_positions_are_integers_from_either_end() -> None:
    chain = rv.MatrixChain([np.ones((2, 3)), np.ones((3, 2))])
    chain.update_row(-1, -1, [1.0, 0.0])
    assert chain[1].tolist() == chain[-1].tolist() == [[1, 1], [1, 1], [2, 1]]
    with pytest.raises(rv.errors.TypeMismatchError):
        chain.update_row(0.5, 0, [1.0])  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        chain[2]
    with pytest.raises(rv.errors.InvalidValueError):
        rv.MatrixChain([np.eye(2)], changing=[1])


def test_empty_and_single_sizes() -> None:
    assert rv.MatrixChain([np.ones((0, 3)), np.ones((3, 2))]).product().shape == (0, 2)
    hollow = rv.MatrixChain([np.ones((2, 0)), np.ones((0, 3))])
    assert hollow.product().tolist() == [[0.0] * 3] * 2
    hollow.update(0, np.ones(2), np.ones(0))
    hollow.update_row(0, 1, [])
    hollow.update_dense(1, np.ones((0, 3)))
    assert hollow.product().tolist() == [[0.0] * 3] * 2
    alone = rv.MatrixChain([np.eye(2)])
    alone.update(0, [1, 1], [2, 3])
    assert alone.product().tolist() == [[3, 3], [2, 4]]
    assert repr(alone) == "MatrixChain(A1, 2 x 2)"


def test_an_array_handed_out_keeps_its_state() -> None:
    chain = rv.MatrixChain([np.eye(2), np.eye(2)])
    shared, copied = chain.product(copy=False), chain.product()
    with pytest.raises(ValueError, match="read-only"):
        shared[0, 0] = 1.0
    copied[0, 0] = 5.0
    chain.update(0, [1, 1], [1, 1])
    assert shared.tolist() == np.eye(2).tolist()
    assert chain.product().tolist() == [[2, 1], [1, 2]]


def test_any_layout_and_type_of_numbers() -> None:
    wide = np.arange(12, dtype=np.int32).reshape(3, 4)
    chain = rv.MatrixChain([wide.T, np.asfortranarray(wide), wide[:, ::-1].T])
    expected = multiplied([wide.T.astype(float), wide.astype(float), wide[:, ::-1].T.astype(float)])
    assert chain.product().tolist() == expected.tolist()
    chain.update_dense(0, np.ones((4, 3), dtype=bool))
    assert chain[0].tolist() == (wide.T + 1).tolist()


def test_other_threads_run_during_a_product() -> None:
    size = 400
    ran = threading.Event()
    thread = threading.Thread(target=ran.set)
    chain = rv.MatrixChain([np.ones((size, size))] * 2)
    thread.start()
    chain.refresh()
    thread.join()
    assert ran.is_set()
    assert chain.product()[0, 0] == size
