"""The 22 texts of TPC-H over DataFrames beside Spark SQL, in one session; print JSON lines.

    python benches/python/spark_tpch.py [--scale 0.1] [--cores 2] [--only q3,q21]

Invariant: as in `spark_batch.py`. A text that is refused has a line that says why.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ringview.errors import RingviewError
from spark_batch import arguments, compared, session, written
from tpch import queries
from tpch_data import Generator


def lines(options: Any) -> Iterator[dict[str, Any]]:
    """The lines of each text, one text after the other."""
    wanted = options.only.split(",") if options.only else None
    generator = Generator(options.scale)
    tables = generator.static()
    tables["orders"], tables["lineitem"] = generator.orders(0, generator.sizes.orders)
    with session(options.cores) as spark, tempfile.TemporaryDirectory() as folder:
        frames = written(spark, tables, Path(folder) / "tpch")
        for name, sql in queries().items():
            if wanted is not None and name not in wanted:
                continue
            known = {"workload": "spark-tpch", "tpch_scale": options.scale, "query": name}
            try:
                found = compared(spark, sql, frames, options)
            except RingviewError as error:
                found = [{"system": "ringview", "cores": options.cores, "failed": str(error)}]
            for line in found:
                yield {**known, **line}


def main(given: list[str] | None = None) -> None:
    """Measure."""
    parser = arguments()
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H's scale factor")
    parser.add_argument("--only", help="names of queries")
    for line in lines(parser.parse_args(given)):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
