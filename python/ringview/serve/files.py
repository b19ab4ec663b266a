"""The files of a job as a source, so that each of their batches is applied once.

Invariant: the number of applied batches is in the transaction of each. A database in a file
continues behind the last one, if the files are those that it began with. Cost: that of reading the
files; of batches that were applied before, too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..job import JobError
from ..job.read import Source
from ..job.stream import batches
from ..sources import Batch, Change, Origin

if TYPE_CHECKING:
    from ..job import Job

_A_SECOND = 5


class Files:
    """The files of some tables of a job, in the order in which `ringview run` applies them.

    Args:
        job: The job.
        sources: Those of its tables.
        name: What their position is kept under.
        pace: How many rows are applied in a second; as fast as may be if None.
    """

    def __init__(
        self, job: Job, sources: Sequence[Source], name: str, pace: float | None = None
    ) -> None:
        self.name = name
        self._job = job
        self._sources = list(sources)
        self._pace = pace
        # Several batches a second, so that a viewer sees the rows move.
        few = job.batch_size if pace is None else max(1, int(pace / _A_SECOND))
        self._size = min(job.batch_size, few)

    def __repr__(self) -> str:
        return f"Files({[source.spec.name for source in self._sources]})"

    def _mark(self) -> list[list[object]]:
        """Identity of these files, which differs once one of them was changed."""
        found: list[list[object]] = [[self._size]]
        for source in self._sources:
            for path in source.spec.paths:
                at = path.stat()
                found.append([source.spec.name, path.name, at.st_size, at.st_mtime_ns])
        return found

    def applied(self, positions: Mapping[str, str]) -> int:
        """The number of applied batches.

        Raises:
            JobError: Of files that were others then.
        """
        known = json.loads(positions[""]) if "" in positions else None
        if known is None:
            return 0
        if known["files"] != self._mark():
            raise JobError(
                f"the {self.name}, their batch_size or pace are others than those that "
                f"{self._job.serve.file} was filled by; serve another file, or bring rows that "
                "come later by a [[source]]"
            )
        done: int = known["batches"]
        return done

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        """The batches behind those that were applied; see `ringview.sources.Source`."""
        done, mark, due = self.applied(positions), self._mark(), time.monotonic()
        for number, parts in enumerate(batches(self._sources, self._size), start=1):
            if number <= done:
                continue
            while time.monotonic() < due:
                yield None
            changes, rows = [], 0
            for part in parts:
                spec = part.source.spec
                origin = Origin(f"batch {number} of the {self.name}, table {spec.name!r}")
                changes.append(Change(spec.name, part.rows, origin, multiplicity=spec.multiplicity))
                rows += part.rows.num_rows
            if self._pace is not None:
                due = time.monotonic() + rows / self._pace
            yield Batch(changes, {"": json.dumps({"files": mark, "batches": number})})
