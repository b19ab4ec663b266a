"""The cost of keeping each view of a job fresh, against recomputing it.

Invariant: both are measured here, by one engine over the same rows. A batch is applied to the
tables and one view. The recomputation is the query of that view over the rows that are left at the
end, in a database that keeps no views; its planning is included, and reported separately. Cost: the
stream once for each view and once more, and each view six times.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ringview.database import Database
from ringview.job import embedded
from ringview.job.checks import JobError
from ringview.job.model import Job, ViewSpec
from ringview.job.read import Source

_TRIES = 3


@dataclass(frozen=True)
class Comparison:
    """One view: the mean seconds and rows of a batch, and the seconds to compute it anew.

    ``planning`` is what the same query takes over tables without rows. ``anew`` is None of a view
    that reads views.
    """

    name: str
    batches: int
    rows: float
    batch: float
    anew: float | None
    planning: float

    @property
    def ratio(self) -> float | None:
        """Number of batches that cost as much as one recomputation."""
        return None if self.anew is None or not self.batch else self.anew / self.batch


def check(job: Job) -> None:
    """Refuse jobs that cannot be streamed again.

    Raises:
        JobError: On Spark, or with sources.
    """
    if job.engine != "embedded" or job.sources:
        raise JobError(
            "a comparison streams the job several times, so it is of files alone, and of "
            'engine = "embedded"; run the job without it'
        )


def compare_job(job: Job) -> tuple[Comparison, ...]:
    """Measure each view of a job; raises JobError as `check`.

    >>> import ringview.job
    >>> found = compare_job(ringview.job.load("examples/tpch_stream/job.toml"))
    >>> [each.name for each in found], found[0].anew > 0
    (['q1', 'q3', 'q5', 'q10'], True)
    """
    check(job)
    sources = [Source(spec) for spec in job.tables]
    bare = replace(job, views=(), trust_deletes=False)
    rows, empty = embedded.database(bare, sources), embedded.database(bare, sources)
    for _ in embedded.steps(bare, rows, sources):
        pass
    found = []
    for view in job.views:
        batches, count, seconds = _incremental(replace(job, views=_needed(job, view)), sources)
        anew, planning = None, 0.0
        if view.reads(job.views, job.dialect) is None:
            planning = min(_anew(empty, view.sql, job.dialect) for _ in range(_TRIES))
            anew = min(_anew(rows, view.sql, job.dialect) for _ in range(_TRIES))
        each = max(1, batches)
        cost = count / each, seconds / each
        found.append(Comparison(view.name, batches, *cost, anew, planning))
    return tuple(found)


def _needed(job: Job, view: ViewSpec) -> tuple[ViewSpec, ...]:
    """A view and those above it that it reads, in the order of the job."""
    needed = [view]
    above = job.views[: job.views.index(view)]
    for other in reversed(above):
        if any(each.reads([other], job.dialect) for each in needed):
            needed.append(other)
    return tuple(reversed(needed))


def _incremental(job: Job, sources: Sequence[Source]) -> tuple[int, int, float]:
    """The batches, rows and seconds of the stream behind the static tables."""
    db = embedded.database(job, sources)
    steps = [
        (step.rows, step.seconds)
        for step in embedded.steps(job, db, sources)
        if not step.parts[0].source.spec.static
    ]
    return len(steps), sum(rows for rows, _ in steps), sum(seconds for _, seconds in steps)


def _anew(db: Database, sql: str, dialect: str) -> float:
    start = time.perf_counter()
    db.sql(sql, dialect=dialect)
    return time.perf_counter() - start
