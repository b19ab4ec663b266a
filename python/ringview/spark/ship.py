"""The code sent to Spark's workers, and its search for ringview there.

Invariant: this module is pickled by value, so a worker that cannot import ringview still runs it:
it looks where the driver has ringview (the same machine, or a shared folder), else it raises an
error that says what to do. Cost: one pickle on the driver, one import a worker.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle


class Shipped:
    """A step of `ringview.spark` that a worker runs, for ``mapInArrow`` and ``mapPartitions``."""

    def __init__(self, step: Any) -> None:
        # Named here alone: what methods name globally, a worker imports before it runs any.
        import ringview

        # Bytes, so that nothing is imported before the worker has the path.
        self._step = pickle.dumps(step)
        self._home = str(Path(ringview.__file__).parents[1])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The step over Arrow batches."""
        yield from self._found()(batches)

    def on_rows(self, rows: Iterable[Sequence[object]]) -> Iterator[tuple[Any, ...]]:
        """The step over plain rows."""
        yield from self._found().on_rows(rows)

    def _found(self) -> Any:
        if importlib.util.find_spec("ringview") is None:
            sys.path.append(self._home)
            importlib.invalidate_caches()
            if importlib.util.find_spec("ringview") is None:
                sys.path.remove(self._home)
                raise ImportError(
                    f"Spark's workers run {sys.executable}, which has no ringview: install the "
                    "same wheel there, let PYSPARK_PYTHON name a Python that has it, or ship an "
                    "environment with spark.archives"
                )
        return pickle.loads(self._step)


_by_value: Any = cloudpickle.register_pickle_by_value
_by_value(sys.modules[__name__])
