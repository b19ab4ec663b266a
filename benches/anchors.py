"""Speed of F-IVM's own compiled C++, measured elsewhere on the same class of machine.

Batches of 1,000 unless a size is said; million tuples a second, and bytes a tuple of its views.
Batches of 1,000 have int keys, as the tables here do; Housing's others have the double keys of the
original, which are slower.
"""

from __future__ import annotations

SIZES = (1, 100, 1_000, 10_000, 100_000)


def _by_size(*speeds: float) -> dict[int, float]:
    return dict(zip(SIZES, speeds, strict=True))


def _of(nanoseconds: float) -> float:
    """Million tuples a second, of the nanoseconds that one takes."""
    return 1_000 / nanoseconds


SPEED: dict[tuple[str, str], dict[int, float]] = {
    ("retailer", "sorted"): _by_size(3.3, 9.3, _of(131), 8.1, 6.9),
    ("retailer", "shuffled"): _by_size(1.2, 2.1, _of(343), 3.2, 2.2),
    ("retailer-fact", "sorted"): {1_000: 50.0},
    ("retailer-fact", "shuffled"): {1_000: 13.2},
    ("housing", "sorted"): _by_size(5.9, 39.0, _of(13.7), 50.0, 42.0),
    ("housing", "shuffled"): _by_size(2.3, 9.5, _of(68), 11.0, 20.0),
    ("retailer-cofactor", "sorted"): _by_size(1.15, 6.3, _of(186), 6.0, 5.3),
    ("retailer-cofactor", "shuffled"): _by_size(0.35, 0.54, _of(1_460), 0.92, 1.03),
    ("retailer-fact-cofactor", "sorted"): {1_000: 23.8},
    ("retailer-fact-cofactor", "shuffled"): {1_000: 0.95},
    ("housing-cofactor", "sorted"): _by_size(2.8, 15.0, _of(58), 17.0, 15.0),
    ("housing-cofactor", "shuffled"): _by_size(0.72, 1.65, _of(638), 1.43, 2.9),
    ("housing-join", "sorted"): {1_000: _of(250)},
    ("housing-join", "shuffled"): {1_000: _of(970)},
    # Of Epinions, without indicators.
    ("triangles", "sorted"): {1_000: 0.029},
    ("triangles", "shuffled"): {1_000: 0.013},
}
BYTES = {
    "retailer": 109,
    "retailer-fact": 0,
    "housing": 13,
    "retailer-cofactor": 160,
    "retailer-fact-cofactor": 0,
    "housing-cofactor": 36,
    "housing-join": 123,
    "triangles": 1_550,
}
# 100,000 samples of joins of Epinions: million tuples a second and MB of the authors' programs.
SAMPLES: dict[str, tuple[float, int | None]] = {
    "line-3": (0.118, 363),
    "line-4": (0.063, None),
    "line-5": (0.042, None),
    "star-4": (1.94, None),
    "star-6": (1.87, None),
    "dumbbell": (0.099, 763),
}
# The figures are those of Housing at this scale.
SCALE = 20
