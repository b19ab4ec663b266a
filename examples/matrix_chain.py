"""A model of visitors in three steps, its end-to-end probabilities always fresh.

Three matrices have the probabilities that a visitor moves from a source to a page, from a page to
the next, and from there to an outcome. Their product says how likely each source leads to each
outcome. When visitors of one page change their ways, a row of the middle matrix changes; when a new
page draws visitors from all others, a change of rank 1 says so. The product follows without a
product of matrices.

prints

    MatrixChain((A1 (A2 A3)), 8 x 400 x 400 x 3)
    source 0 ends with a purchase: 0.332
    page 17 now sends everybody to page 3: 0.333, fresh: True
    every page sends a tenth of its visitors to page 5: 0.342, fresh: True
    undone: 0.333, fresh: True
"""

from __future__ import annotations

import numpy as np
import ringview as rv


def main() -> None:
    """Build the chain, change it, compare with NumPy."""
    rng = np.random.default_rng(7)
    steps = [stochastic(rng, 8, 400), stochastic(rng, 400, 400), stochastic(rng, 400, 3)]
    chain = rv.MatrixChain(steps)
    print(chain)
    print(f"source 0 ends with a purchase: {chain.product()[0, 0]:.3f}")

    everybody = np.zeros(400)
    everybody[3] = 1.0
    chain.update_row(1, 17, everybody - chain[1][17])
    print(f"page 17 now sends everybody to page 3: {state(chain)}")

    # P := 0.9 P + 0.1 (1 e^T). The first part has full rank, so it costs a product a level.
    before = chain[1]
    page = np.zeros(400)
    page[5] = 1.0
    chain.update_dense(1, -0.1 * before)
    chain.update(1, np.full(400, 0.1), page)
    print(f"every page sends a tenth of its visitors to page 5: {state(chain)}")

    chain.update(1, np.full(400, -0.1), page)
    chain.update_dense(1, before - chain[1])
    print(f"undone: {state(chain)}")


def stochastic(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """A random matrix whose rows sum to 1."""
    weights = rng.random((rows, columns))
    return weights / weights.sum(axis=1, keepdims=True)


def state(chain: rv.MatrixChain) -> str:
    """The first probability, and whether the product is what NumPy computes."""
    first, middle, last = chain
    fresh = np.allclose(chain.product(), first @ middle @ last, rtol=0, atol=1e-12)
    return f"{chain.product()[0, 0]:.3f}, fresh: {fresh}"


if __name__ == "__main__":
    main()
