"""The graph whose triangles are counted: from a file, or the one that the Rust side generates.

Epinions (https://snap.stanford.edu/data/soc-Epinions1.html, 508,837 edges) is what the compiled C++
was measured on: `--edges soc-Epinions1.txt.gz`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

GENERATED = "a generated graph with hubs, 508,837 edges"


def prepare(path: Path | None, folder: Path) -> tuple[str, list[str]]:
    """The name of the graph, and the flags that give it to the Rust program, as raw int32.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file does not have two columns of numbers.
    """
    if path is None:
        return GENERATED, []
    if path.suffix == ".parquet":
        columns = pq.read_table(path).columns[:2]
        pairs = np.stack([column.to_numpy() for column in columns])
    else:
        pairs = np.loadtxt(path, dtype=np.int64, comments="#", ndmin=2).T[:2]
    if len(pairs) != 2:
        raise ValueError(f"{path} has not the two columns that edges are")
    raw = folder / "edges.i32"
    pairs.astype("<i4").tofile(raw)
    return f"{path.name.split('.')[0]}, {pairs.shape[1]:,} edges", ["--edges", str(raw)]
