"""The product of a chain of matrices, kept fresh under changes of any of them.

Invariant: after each call the product equals NumPy's over the matrices as they are, up to rounding;
a call that raises has changed nothing.
Cost: of a change of rank r, O(r p^2) for each level of the tree over p x p matrices, where
multiplying anew takes O(p^3) for each product. Memory: the matrices, and one product for each inner
view that a change reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._native import MatrixChain as _Native
from ..errors import InvalidValueError, TypeMismatchError, after

if TYPE_CHECKING:
    from .._native import Dense
    from ..view import Format

Array = NDArray[np.float64]


class MatrixChain(Sequence[Array]):
    """The product of matrices A1 A2 .. Ak, fresh after every change of one of them.

    The matrices are relations over two variables each, their product a view tree over them: the
    best bracketing, found by dynamic programming. A change in factors, u v^T, climbs the
    tree as two vectors and is multiplied out only where a view is stored. Matrices count from 0:
    `chain[0]` is what `order` calls A1.

    Rounding: each change adds errors of the size of doubles' precision times the product over
    magnitudes; `refresh()` computes all anew. The same calls give the same bits on every machine.

    >>> import numpy as np
    >>> import ringview as rv
    >>> chain = rv.MatrixChain([np.eye(3), np.ones((3, 2)), np.array([[1.0], [2.0]])])
    >>> chain.product().tolist()
    [[3.0], [3.0], [3.0]]
    >>> chain.update(1, u=[0, 1, 0], v=[10, 0])   # A2 += u v^T
    >>> chain.product().tolist()
    [[3.0], [13.0], [3.0]]
    >>> chain
    MatrixChain((A1 (A2 A3)), 3 x 3 x 2 x 1)
    """

    __slots__ = ("_native",)

    def __init__(
        self, matrices: Iterable[ArrayLike], *, changing: Iterable[int] | None = None
    ) -> None:
        """Compute the product of two-dimensional arrays.

        Args:
            matrices: One or more; the columns of each are as many as the rows of the next.
            changing: The positions of those that will change; all by default. Fewer views are
                kept for the others, and changes of them refused.

        Raises:
            InvalidValueError: No matrices, shapes that do not fit, a value that is not finite, a
                position that does not exist, or too little memory.
            TypeMismatchError: Something that is not an array of real numbers.
            ArithmeticOverflowError: A product leaves the range of doubles.
        """
        given = [_real(matrix, f"matrix {at}") for at, matrix in enumerate(matrices)]
        for at, matrix in enumerate(given):
            if matrix.ndim != 2:
                raise InvalidValueError(
                    f"matrix {at} of the chain has {matrix.ndim} dimensions; it must have 2"
                )
        moving = None if changing is None else [_position(at, len(given)) for at in changing]
        self._native = _Native(given, moving)

    def update(self, i: int, u: ArrayLike, v: ArrayLike) -> None:
        """Add u v^T to matrix i. O(r p^2) a level; see the class for the rounding.

        Args:
            i: Which matrix.
            u: A vector as long as the matrix is high, or r of them as columns.
            v: A vector as long as the matrix is wide, or r of them as columns.

        Raises:
            InvalidValueError: No such matrix, one that was not declared as changing, shapes that
                do not fit, or a value that is not finite.
            ArithmeticOverflowError: A value could leave the range of doubles.

        >>> import ringview as rv
        >>> chain = rv.MatrixChain([[[1.0, 2.0]], [[3.0], [4.0]]])
        >>> chain.update(0, [1.0], [0.0, 1.0])
        >>> chain.product().tolist()
        [[15.0]]
        """
        at = _position(i, len(self))
        self._change(self._native.update, at, _columns(u, "u"), _columns(v, "v"))

    def update_row(self, i: int, row: int, delta: ArrayLike) -> None:
        """Add a vector to one row of matrix i. O(p^2) a level, less where a row suffices.

        Raises:
            InvalidValueError, ArithmeticOverflowError: As `update`.

        >>> import ringview as rv
        >>> chain = rv.MatrixChain([[[1.0, 2.0], [3.0, 4.0]]])
        >>> chain.update_row(0, 1, [10.0, 20.0])
        >>> chain[0].tolist()
        [[1.0, 2.0], [13.0, 24.0]]
        """
        at = _position(i, len(self))
        place = _position(row, self._native.matrix(at).shape[0], f"row of matrix {at}")
        self._change(self._native.update_row, at, place, _vector(delta, "the delta of a row"))

    def update_column(self, i: int, col: int, delta: ArrayLike) -> None:
        """Add a vector to one column of matrix i. O(p^2) a level, less where a column suffices.

        Raises:
            InvalidValueError, ArithmeticOverflowError: As `update`.

        >>> import ringview as rv
        >>> chain = rv.MatrixChain([[[1.0, 2.0], [3.0, 4.0]]])
        >>> chain.update_column(0, -1, [10.0, 20.0])
        >>> chain[0].tolist()
        [[1.0, 12.0], [3.0, 24.0]]
        """
        at = _position(i, len(self))
        place = _position(col, self._native.matrix(at).shape[1], f"column of matrix {at}")
        self._change(self._native.update_column, at, place, _vector(delta, "the delta of a column"))

    def update_dense(self, i: int, delta: ArrayLike) -> None:
        """Add a matrix of the same shape to matrix i, in the factors that are found in it.

        A delta of rank 1, or with few rows or columns that are not 0, costs O(p^2) a level for
        each factor; any other a product of two matrices a level.

        Raises:
            InvalidValueError, ArithmeticOverflowError: As `update`.

        >>> import numpy as np
        >>> import ringview as rv
        >>> chain = rv.MatrixChain([np.eye(2), np.eye(2)])
        >>> chain.update_dense(0, [[1, 2], [2, 4]])
        >>> chain.product().tolist()
        [[2.0, 2.0], [2.0, 5.0]]
        """
        at = _position(i, len(self))
        given = _real(delta, "the delta")
        if given.ndim != 2:
            raise InvalidValueError(f"the delta has {given.ndim} dimensions; it must have 2")
        self._change(self._native.update_dense, at, given)

    def _change(self, call: Callable[..., None], *arguments: object) -> None:
        done: list[bool] = []
        try:
            call(*arguments, done)
        except KeyboardInterrupt as interrupt:
            after(interrupt, done, "the matrix was changed, and stays so")
            raise

    def refresh(self) -> None:
        """Recompute every view from the matrices, without the rounding of earlier changes.

        One product of matrices for each inner view, and room for both states of them meanwhile.

        Raises:
            ArithmeticOverflowError: A product leaves the range of doubles.
        """
        self._native.refresh()

    def product(self, *, copy: bool = True) -> Array:
        """The product as it is now. O(values).

        Args:
            copy: False gives an array that cannot be written and shares its memory: O(1), but as
                long as it is held, the next change copies the product first. Either way the
                array keeps the state of this moment.

        >>> import ringview as rv
        >>> chain = rv.MatrixChain([[[2.0]], [[3.0]]])
        >>> before = chain.product(copy=False)
        >>> chain.update_row(0, 0, [1.0])
        >>> before.item(), chain.product().item()
        (6.0, 9.0)
        """
        return _array(self._native.product(), copy)

    @property
    def order(self) -> str:
        """The bracketing, such as ((A1 A2) A3)."""
        return self._native.order()

    def explain(self, format: Format = "text") -> str:
        """The tree of views: shape, bytes, updates, why each is stored, what a change costs.

        Costs are the multiply-adds of a change of rank 1.

        Args:
            format: As for `View.explain`.

        Raises:
            InvalidValueError: There is no such format.

        >>> import numpy as np
        >>> import ringview as rv
        >>> chain = rv.MatrixChain([np.ones((2, 3)), np.ones((3, 4))], changing=[1])
        >>> costs, tree, why = chain.explain().split(chr(10) * 2)
        >>> print(costs)
        a change of rank 1, in multiply-adds
          A1  static: never changes
          A2  26
        >>> print(tree)
        view tree
          A1..A2[X1, X3]         stored: 2 x 4 reals  64 bytes, 0 updates
          ├─ A1[X1, X2], static  stored: 2 x 3 reals  48 bytes, 0 updates
          └─ A2[X2, X3]          stored: 3 x 4 reals  96 bytes, 0 updates
        """
        return self._native.explain(format)

    def _repr_html_(self) -> str:
        """The tree of views, for notebooks."""
        return self.explain("html")

    def memory_usage(self) -> int:
        """Bytes that the matrices and the views take."""
        return self._native.memory_usage()

    def __getitem__(self, i: int) -> Array:  # type: ignore[override]
        """A matrix as it is now, copied. O(values)."""
        try:
            at = _position(i, len(self))
        except InvalidValueError as error:
            # The protocol of sequences.
            raise IndexError(str(error)) from None
        return _array(self._native.matrix(at), copy=True)

    def __len__(self) -> int:
        """The number of matrices."""
        return len(self._native)

    def __iter__(self) -> Iterator[Array]:
        """The matrices as they are now, each copied."""
        return (self[at] for at in range(len(self)))

    def __repr__(self) -> str:
        shapes = [self._native.matrix(at).shape for at in range(len(self))]
        sizes = " x ".join(str(size) for size in (shapes[0][0], *(shape[1] for shape in shapes)))
        return f"MatrixChain({self.order}, {sizes})"


def _array(part: Dense, copy: bool) -> Array:
    return np.array(part, dtype=np.float64, copy=copy)


def _real(values: ArrayLike, name: str) -> Array:
    """Values as an array of doubles, row by row."""
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biuf" and given.size > 0:
            raise TypeMismatchError(
                f"{name}: expected real numbers, found {given.dtype}; cast it before it gets here"
            )
        return np.ascontiguousarray(given, dtype=np.float64) if given.ndim else given
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeMismatchError):
            raise
        raise TypeMismatchError(f"{name}: not an array of real numbers: {error}") from None


def _vector(values: ArrayLike, name: str) -> Array:
    given = _real(values, name)
    if given.ndim != 1:
        raise InvalidValueError(f"{name} has {given.ndim} dimensions; it must have 1")
    return given


def _columns(values: ArrayLike, name: str) -> Array:
    """A vector, or several as columns, as the rows of an array."""
    given = _real(values, name)
    if given.ndim not in (1, 2):
        raise InvalidValueError(f"{name} has {given.ndim} dimensions; it must have 1 or 2")
    return given[np.newaxis] if given.ndim == 1 else np.ascontiguousarray(given.T)


def _position(at: int, length: int, kind: str = "matrix of the chain") -> int:
    """A position from the start, given from the start or, if negative, from the end."""
    try:
        place = index(at)
    except TypeError:
        raise TypeMismatchError(f"{kind}: a position is an integer, not {at!r}") from None
    if not -length <= place < length:
        raise InvalidValueError(f"there is no {kind} at {at}: there are {length}")
    return place % length
