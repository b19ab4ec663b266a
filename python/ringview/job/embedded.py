"""A job on the engine in this process: views fresh after every batch.

Invariant: a batch is one transaction; after each every view is exact for the rows applied so far.
Static tables are filled before the views are created, as the engine stores less for tables that
stay as they are. Cost: that of the views, batch by batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

from ringview import Database
from ringview.errors import RingviewError, UnknownTableError
from ringview.job.model import Job
from ringview.job.progress import Outcome, Progress
from ringview.job.read import Source
from ringview.job.stream import TableBatch, batches
from ringview.text import quoted
from ringview.view import Format


@dataclass(frozen=True)
class Step:
    """One batch that was applied, and the seconds that the engine took for it."""

    parts: Sequence[TableBatch]
    seconds: float

    @property
    def rows(self) -> int:
        """The rows of the batch."""
        return sum(part.rows.num_rows for part in self.parts)


def database(job: Job, sources: Sequence[Source]) -> Database:
    """A database with the job's tables, and no rows and no views yet."""
    db = Database(trust_deletes=job.trust_deletes)
    for source in sources:
        spec = source.spec
        unique = list(spec.unique) if spec.unique else None
        db.create_table(spec.name, source.schema, unique=unique, static=spec.static)
    return db


def create_source_tables(job: Job, db: Database) -> None:
    """Create the tables whose columns are those of another system, which views may read."""
    for source in job.sources:
        source.create_tables(db)


def differences(job: Job, db: Database) -> dict[str, list[str]]:
    """Differences between each source of a job and what was read of it, by its name."""
    return {source.make(watch=False).name: source.differences(db) for source in job.sources}


def create_views(job: Job, db: Database) -> None:
    """Create the views of a job.

    Raises:
        RingviewError: What `create_view` raises, with the name of its view.
    """
    create_source_tables(job, db)
    # An error names its view, below.
    with suppress(RingviewError):
        if not any(view.options for view in job.views):
            db.create_views({view.name: view.sql for view in job.views}, dialect=job.dialect)
            return
    for at, view in enumerate(job.views):
        with view.named():
            try:
                db.create_view(view.name, view.sql, dialect=job.dialect, **view.options)
            except UnknownTableError as error:
                later = view.reads(job.views[at:], job.dialect)
                if later == view.name:
                    error.add_note("a view does not read itself")
                elif later is not None:
                    error.add_note(
                        f"the view {quoted(later)} is written further down; write it above what "
                        "reads it"
                    )
                raise


def steps(job: Job, db: Database, sources: Sequence[Source]) -> Iterator[Step]:
    """Create the views in ``db`` and apply the job; yields each batch once it is applied."""
    for static in (True, False):
        if not static:
            create_views(job, db)
        chosen = [source for source in sources if source.spec.static == static]
        for parts in batches(chosen, job.batch_size):
            start = time.perf_counter()
            _apply(db, parts)
            yield Step(parts, time.perf_counter() - start)


def run(job: Job, sources: Sequence[Source], progress: Callable[[Progress], None]) -> Outcome:
    """Stream the whole job through one database: its files, its sources, then to its sinks."""
    counts = [source.rows for source in sources]
    total = None if None in counts else sum(count for count in counts if count is not None)
    start = time.perf_counter()
    now = Progress(0, total, 0, 0.0)
    db = database(job, sources)
    engine = 0.0
    for step in steps(job, db, sources):
        engine += step.seconds
        rows = now.rows + step.rows
        now = Progress(rows, total, now.batches + 1, time.perf_counter() - start)
        progress(now)
    for rows, seconds in _read(job, db):
        engine += seconds
        now = Progress(now.rows + rows, None, now.batches + 1, time.perf_counter() - start)
        progress(now)
    for sink in job.sinks:
        sender = sink.sender(db)
        with closing(sender):
            while sender.step():
                pass
    return Outcome(
        now,
        {view.name: db[view.name].to_arrow() for view in job.views},
        {view.name: now.rows for view in job.views},
        {view.name: engine for view in job.views},
    )


def _read(job: Job, db: Database) -> Iterator[tuple[int, float]]:
    """Read the job's sources to their end, after its files: the rows and seconds of each batch."""
    for source in job.sources:
        reader = source.reader(db, watch=False)
        with closing(reader):
            while not reader.finished:
                rows, start = reader.rows, time.perf_counter()
                if reader.step():
                    yield reader.rows - rows, time.perf_counter() - start
                elif not reader.finished:
                    # With `watch = true` more may be added, until Ctrl-C.
                    time.sleep(source.every)


def explain(job: Job, sources: Sequence[Source], format: Format = "text") -> dict[str, str]:
    """The engine's own account of each view."""
    db = database(job, sources)
    create_views(job, db)
    return {view.name: db[view.name].explain(format) for view in job.views}


def _apply(db: Database, parts: Sequence[TableBatch]) -> None:
    with db.transaction() as transaction:
        for part in parts:
            spec = part.source.spec
            transaction.insert(spec.name, part.rows, multiplicity=spec.multiplicity)
