"""Matrix chains of three under changes of the middle one; print JSON lines (paper, figure 9).

Invariant: all systems take the same changes in turns and must end with the same product. The clock
runs only inside calls of the system. `run.py` pins the process to one core before NumPy's BLAS
counts them; alone, say OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median
from typing import Any

import numpy as np
import ringview as rv
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
SIZES = (256, 1_024, 2_048, 4_096)
RANKS = (1, 4, 16, 64, 256)
SQL_SIZES = (64,)


class Recomputed:
    """The product anew after each change: two products of matrices."""

    def __init__(self, matrices: list[Matrix]) -> None:
        self.first, self.middle, self.last = (matrix.copy() for matrix in matrices)
        self.product = self.first @ self.middle @ self.last

    def change(self, u: Matrix, v: Matrix) -> None:
        """Add u v^T to the middle one."""
        self.middle += u @ v.T
        self.product = self.first @ self.middle @ self.last


class FirstOrder(Recomputed):
    """The change of the product as (A1 dA2) A3, without views: one product of matrices."""

    def change(self, u: Matrix, v: Matrix) -> None:
        """Add u v^T to the middle one; A1 dA2 reads the rows of dA2 that are not 0."""
        delta = u @ v.T
        rows = np.flatnonzero(delta.any(axis=1))
        self.middle += delta
        self.product += (self.first[:, rows] @ delta[rows]) @ self.last


class Chain:
    """`ringview.MatrixChain`."""

    def __init__(self, matrices: list[Matrix]) -> None:
        self.chain = rv.MatrixChain(matrices)

    @property
    def product(self) -> Matrix:
        """The product as it is now."""
        return self.chain.product()

    def change(self, u: Matrix, v: Matrix) -> None:
        """Add u v^T to the middle one."""
        self.chain.update(1, u, v)


class Sql:
    """A view in SQL over hash tables; a value of the middle matrix is p * q."""

    def __init__(self, matrices: list[Matrix]) -> None:
        self.size = len(matrices[0])
        self.db = rv.Database(trust_deletes=True)
        for name in ("a1", "a2", "a3"):
            self.db.create_table(name, {"r": "int32", "c": "int32", "p": "float64", "q": "float64"})
        self.view = self.db.create_view(
            "product",
            "SELECT a1.r, a3.c, SUM(a1.p * a2.p * a2.q * a3.p) AS p FROM a1 "
            "JOIN a2 ON a1.c = a2.r JOIN a3 ON a2.c = a3.r GROUP BY a1.r, a3.c",
        )
        rows, columns = np.indices((self.size, self.size), dtype=np.int32).reshape(2, -1)
        for name, matrix in zip(("a1", "a2", "a3"), matrices, strict=True):
            ones = np.ones(self.size**2)
            self.db.insert(name, {"r": rows, "c": columns, "p": matrix.ravel(), "q": ones})

    @property
    def product(self) -> Matrix:
        """The product as it is now."""
        found, table = np.zeros((self.size, self.size)), self.view.to_arrow()
        found[table["r"].to_numpy(), table["c"].to_numpy()] = table["p"].to_numpy()
        return found


class SqlFactors(Sql):
    """Changed by `update_factorised`."""

    def change(self, u: Matrix, v: Matrix) -> None:
        """Add u v^T to the middle one."""
        every = np.arange(self.size, dtype=np.int32)
        terms = []
        for left, right in zip(u.T, v.T, strict=True):
            rows = np.flatnonzero(left).astype(np.int32)
            terms.append({"u": {"r": rows, "p": left[rows]}, "v": {"c": every, "q": right}})
        self.db.update_factorised("a2", terms)


class SqlRows(Sql):
    """Changed by the rows of the product."""

    def change(self, u: Matrix, v: Matrix) -> None:
        """Add u v^T to the middle one."""
        delta = u @ v.T
        rows, columns = (index.astype(np.int32) for index in np.nonzero(delta))
        values = delta[rows, columns]
        self.db.insert("a2", {"r": rows, "c": columns, "p": values, "q": np.ones(len(values))})


SYSTEMS: dict[str, Any] = {
    "ringview": Chain,
    "first-order": FirstOrder,
    "recomputed": Recomputed,
    "sql-factors": SqlFactors,
    "sql-rows": SqlRows,
}
DENSE = ("ringview", "first-order", "recomputed")


def main() -> None:
    """Measure changes of one row at every size, and of every rank at the last but one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small matrices, once")
    options = parser.parse_args()
    sizes, ranks, sql = ((64, 128), (1, 4), (32,)) if options.quick else (SIZES, RANKS, SQL_SIZES)
    repeat = 1 if options.quick else 3
    for size in sizes:
        systems = [*DENSE, *(("sql-factors", "sql-rows") if size in sql else ())]
        measure(size, systems, [("row", 1)], repeat)
    for size in set(sql) - set(sizes):
        measure(size, ["sql-factors", "sql-rows"], [("row", 1)], repeat)
    measure(sizes[-2], ["ringview", "recomputed"], [("rank", rank) for rank in ranks], repeat)


def measure(size: int, systems: list[str], changes: list[tuple[str, int]], repeat: int) -> None:
    """Print the median seconds of each kind of change in each system."""
    rng = np.random.default_rng(0)
    matrices = [rng.normal(size=(size, size)) for _ in range(3)]
    running = {name: SYSTEMS[name](matrices) for name in systems}
    for kind, rank in changes:
        taken: dict[str, list[float]] = {name: [] for name in systems}
        for _ in range(repeat):
            u, v = rng.normal(size=(size, rank)), rng.normal(size=(size, rank))
            if kind == "row":
                u = np.zeros((size, 1))
                u[rng.integers(size)] = 1.0
            for name, system in running.items():
                start = time.perf_counter()
                system.change(u, v)
                taken[name].append(time.perf_counter() - start)
        for name, seconds in taken.items():
            line = {"workload": "chain", "size": size, "change": kind, "rank": rank, "system": name}
            print(json.dumps({**line, "seconds": median(seconds)}), flush=True)
    products = [system.product for system in running.values()]
    for other in products[1:]:
        if not np.allclose(products[0], other, rtol=0, atol=1e-8 * np.abs(other).max()):
            raise SystemExit(f"products of {systems} differ at size {size}")


if __name__ == "__main__":
    main()
