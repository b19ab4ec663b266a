"""Coefficients from normal equations: by Cholesky, or by gradient descent.

Both minimise |y - X w|^2 + alpha |w|^2 given X'X and X'y alone (centred, if there is an intercept).
Invariant: the equations are solved in coordinates where X'X + alpha I has a unit diagonal, so the
units of a column do not matter for the conditioning. A pivot counts as zero only if rounding alone
may have made it: see `_redundant`. Such a system is refused without a penalty; with one, what is
only rounding is left out.
Cost: Cholesky p^3 / 3 for p columns, p^2 a step of the descent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..errors import SingularSystemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


# A pivot must be this many times its rounding, lest a ridge lose more than 6 digits with it.
_DOUBT = 1e6


class Equations(NamedTuple):
    """Normal equations, and the rounding that separates noise from signal in them."""

    names: list[str]
    gram: Array  # X'X, symmetric
    moment: Array  # X'y
    squares: Array  # the sums of squares whose rounding is on the diagonal of X'X
    rounding: float  # relative error of a sum


class Descent(NamedTuple):
    """Result of gradient descent."""

    coefficients: Array
    steps: int
    gradient: float  # largest component; coordinates of unit diagonal, label of unit norm
    converged: bool


def cholesky(equations: Equations, alpha: float) -> Array:
    """The one best w.

    Raises:
        SingularSystemError: `alpha` is 0 and columns are constant or depend on each other.
    """
    names, gram, moment, squares, rounding = equations
    diagonal = gram.diagonal() + alpha
    if not diagonal.all():
        constant = [name for name, size in zip(names, diagonal, strict=True) if size == 0]
        raise SingularSystemError(
            f"{_listed(constant)} {'is' if len(constant) == 1 else 'are'} constant, so the system "
            "is singular: leave it out, or use Ridge with alpha > 0"
        )
    scale = 1 / np.sqrt(diagonal)
    scaled = gram * scale
    scaled *= scale[:, None]
    np.fill_diagonal(scaled, 1)
    # dpotrf overwrites its input if that is in Fortran's order; a symmetric matrix always is.
    factor, stopped = lapack.dpotrf(scaled.T, lower=1, clean=0, overwrite_a=1)
    noise = np.sqrt(squares) * scale
    # With a penalty there is a slower way that loses no digits, so do not wait until all are lost.
    doubt = rounding * (_DOUBT if alpha else 1)
    # A bound for all columns at once; only what it cannot clear is looked at one by one.
    loose = 16 * len(names) * doubt * float(noise.max()) ** 2
    if stopped or float(factor.diagonal().min()) ** 2 <= loose:
        found = _redundant(factor, stopped, noise, doubt)
        if found is not None and alpha == 0:
            last, weights = found
            needed = np.flatnonzero(np.abs(weights) > 1e-6 * np.abs(weights).max())
            raise SingularSystemError(
                f"{names[last]!r} is a linear combination of {_listed([names[i] for i in needed])}"
                ", so the system is singular: leave one out, or use Ridge with alpha > 0"
            )
        if found is not None:
            return _minimum_norm(equations, alpha)
    solution, _ = lapack.dpotrs(factor, moment * scale, lower=1)
    return np.asarray(solution * scale)


def descend(
    equations: Equations,
    alpha: float,
    label_norm: float,
    start: Array,
    tol: float,
    max_iter: int,
) -> Descent:
    """Gradient descent with the step lengths of Barzilai and Borwein, from `start`.

    Ends when no component of the gradient is larger than `tol`. If many w are best, it finds one
    near the start.
    """
    _, gram, moment, _, _ = equations
    diagonal = gram.diagonal() + alpha
    scale = np.zeros_like(diagonal)
    np.divide(1, np.sqrt(diagonal), out=scale, where=diagonal > 0)
    scaled = gram * scale * scale[:, None]
    np.fill_diagonal(scaled, diagonal > 0)
    size = label_norm or 1.0
    target = moment * scale / size
    # A column that became constant has no scale; its coefficient rests at zero.
    point = np.divide(start, scale * size, out=np.zeros_like(start), where=scale > 0)
    gradient = scaled @ point - target
    step = 1 / max(
        1.0, float(np.abs(scaled).sum(axis=0).max(initial=0))
    )  # <= 1 / largest eigenvalue
    steps = 0
    while (steepest := float(np.abs(gradient).max(initial=0))) > tol and steps < max_iter:
        moved = -step * gradient
        point = point + moved
        change = scaled @ moved
        gradient = gradient + change
        curvature = float(moved @ change)
        if curvature > 0:
            step = float(moved @ moved) / curvature
        steps += 1
    return Descent(point * scale * size, steps, steepest, steepest <= tol)


def _redundant(
    factor: Array, stopped: int, noise: Array, rounding: float
) -> tuple[int, Array] | None:
    """The first column that is a combination of those before it, to rounding, and its weights.

    The pivot of column j is |x_j - sum w_i x_i|^2. An entry (i, k) of the scaled matrix has an
    error of at most rounding * noise_i * noise_k, so the pivot has one of at most
    rounding * (noise_j + sum |w_i| noise_i)^2.
    """
    last = stopped - 1 if stopped else len(factor) - 1
    for j in range(last + 1):
        weights = np.zeros(0)
        if j:
            # dpotrf has left the upper triangle as it was: column j of the matrix itself.
            weights, _ = lapack.dpotrs(factor[:j, :j], factor[:j, j], lower=1)
        bound = rounding * float(noise[j] + np.abs(weights) @ noise[:j]) ** 2
        pivot = 0.0 if stopped and j == last else float(factor[j, j]) ** 2
        if pivot <= bound:
            return j, weights
    return None


def _minimum_norm(equations: Equations, alpha: float) -> Array:
    """Ridge where alpha is near the rounding, without the directions of noise.

    X'X = A'A by its eigenvectors above the noise; A has the same ridge as X.
    """
    _, gram, moment, squares, rounding = equations
    deviation = np.sqrt(gram.diagonal())
    varies = deviation > 0
    scale = np.divide(1, deviation, out=np.zeros_like(deviation), where=varies)
    values, vectors = np.linalg.eigh(gram * scale * scale[:, None])
    noise = np.sqrt(squares) * scale
    kept = values > rounding * float(noise @ noise)
    roots = np.sqrt(values[kept])
    left, singular, right = np.linalg.svd(
        (vectors[:, kept] * roots).T * deviation, full_matrices=False
    )
    target = (vectors[:, kept].T @ (moment * scale)) / roots
    return np.asarray(right.T @ (singular / (singular**2 + alpha) * (left.T @ target)))


def _listed(names: list[str]) -> str:
    shown = [repr(name) for name in names[:6]]
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
