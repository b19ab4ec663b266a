"""What F-IVM's own compiled C++ does, measured elsewhere on the same class of machine.

Batches of 1,000 unless a size is said; million tuples a second, and bytes a tuple of its views.
"""

from __future__ import annotations

SIZES = (1, 100, 1_000, 10_000, 100_000)


def _by_size(*speeds: float) -> dict[int, float]:
    return dict(zip(SIZES, speeds, strict=True))


SPEED: dict[tuple[str, str], dict[int, float]] = {
    ("retailer", "sorted"): _by_size(3.3, 9.3, 9.3, 8.1, 6.9),
    ("retailer", "shuffled"): _by_size(1.2, 2.1, 3.1, 3.2, 2.2),
    ("retailer-fact", "sorted"): {1_000: 50.0},
    ("retailer-fact", "shuffled"): {1_000: 13.2},
    ("housing", "sorted"): _by_size(5.9, 39.0, 51.0, 50.0, 42.0),
    ("housing", "shuffled"): _by_size(2.3, 9.5, 10.4, 11.0, 20.0),
    ("retailer-cofactor", "sorted"): _by_size(1.15, 6.3, 6.7, 6.0, 5.3),
    ("retailer-cofactor", "shuffled"): _by_size(0.35, 0.54, 0.64, 0.92, 1.03),
    ("retailer-fact-cofactor", "sorted"): {1_000: 23.8},
    ("retailer-fact-cofactor", "shuffled"): {1_000: 0.95},
    ("housing-cofactor", "sorted"): _by_size(2.8, 15.0, 18.0, 17.0, 15.0),
    ("housing-cofactor", "shuffled"): _by_size(0.72, 1.65, 1.41, 1.43, 2.9),
    ("housing-join", "sorted"): {1_000: 5.1},
    ("housing-join", "shuffled"): {1_000: 0.95},
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
