"""The streams, graphs and joins that are measured, with their sizes. Runs and tables share it."""

from __future__ import annotations

import anchors

ORDERS = ("sorted", "shuffled")
# The streams of sums and matrices, with the scale of Housing.
STREAMS = (("retailer", None), ("retailer-fact", None), ("housing", anchors.SCALE))
SCALES = (1, 4, anchors.SCALE)
TRIANGLES = {
    "triangles": "COUNT",
    "triangles-own": "COUNT, one relation",
    "triangles-cofactor": "degree-3 matrix",
}
OF_EDGES = ("line-3", "line-4", "line-5", "star-4", "star-6", "dumbbell")
# The one that is measured by size of the sample and after each tenth of its stream.
SCALED = "line-3"
SAMPLE_SIZES = (1, 1_000, 10_000, 1_000_000)
SHAPED = ("QX", "QY", "QZ", "Q10")
SHAPED_SIZES = (0.01, 0.03, 0.1)
OVER_SPARK = "spark-"
SPARK = ("aggregates", "priority", "order", "chain", "self-join", "many-to-many", "triangles")
SPARK_CORES = (1, 2)
SPARK_TPCH = f"{OVER_SPARK}tpch"
SPARK_STREAM = f"{OVER_SPARK}stream"
# Rows before, with the micro-batches that are not counted and those that are.
STREAM_SIZES = {100_000: (12, 20), 1_000_000: (12, 20), 10_000_000: (6, 6)}
STREAM_MODES = ("driver", "partitioned", "recompute")
