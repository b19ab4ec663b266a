"""Results of a job: put in order, written to Parquet or CSV.

Invariant: a file is there whole or not at all (written beside, then renamed), and
its rows are sorted by its columns from left to right. Cost: O(n log n).
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from ringview.atomic_write import replacing
from ringview.job.checks import JobError


def in_order(table: pa.Table) -> pa.Table:
    """``table`` sorted by all its columns, so that the order does not depend on the engine."""
    if table.num_rows < 2:
        return table
    keys = _flat(table)
    return table.take(pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]))


def to_file(table: pa.Table, path: Path) -> None:
    """Write ``table`` to ``path``, as Parquet or CSV by its suffix.

    In CSV what a COFACTOR holds is JSON in one field.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            if path.suffix.lower() == ".csv":
                pyarrow.csv.write_csv(_flat(table), file)
            else:
                pq.write_table(table, file)
    except OSError as error:
        raise JobError(f"cannot write {path}: {error}") from error
    except pa.ArrowException as error:
        raise JobError(f"cannot write {path}: {error}") from error


def _flat(table: pa.Table) -> pa.Table:
    """``table`` with nested columns as JSON text."""
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [
                None if value is None else json.dumps(value, default=str, ensure_ascii=False)
                for value in table.column(at).to_pylist()
            ]
            table = table.set_column(at, field.name, pa.array(texts, pa.string()))
    return table
