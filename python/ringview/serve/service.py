"""A job, or a file of a database, served: opened, fed and closed together.

Invariant: static tables are whole and all views are there before the first request is served. Rows
of sources are there once, in a file also after a kill. Closing ends readers, sources and sinks
behind the step that they are in, then the database. Cost: that of the job.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from ..database import Database
from ..errors import ExistsError
from ..job import JobError, ServeSpec
from ..job.embedded import create_source_tables, create_views
from ..job.read import Source
from ..sources import Reader, positions
from .authentication import Limits
from .connectors import Connector, Stepping
from .files import Files
from .server import Server, check
from .shutdown import Closing

if TYPE_CHECKING:
    from pathlib import Path

    from ..job import Job

Failed = Callable[[Connector, Exception], object]
_PATIENCE = 10.0
"""Seconds that a source or a sink has to end the step that it is in."""
_FILES, _STATIC = "job's files", "job's static files"


class Service(Closing):
    """A database that is served with its sources and sinks; made by `job` or `file`.

    >>> import ringview.job
    >>> from dataclasses import replace
    >>> made = ringview.job.load("examples/tpch_stream/job.toml")
    >>> with Service.job(replace(made, serve=ringview.job.ServeSpec(port=0))) as service:
    ...     sorted(service.db.views)
    ['q1', 'q10', 'q3', 'q5']
    """

    def __init__(
        self,
        stack: ExitStack,
        db: Database,
        spec: ServeSpec,
        connectors: list[Connector],
        loads: list[Connector],
    ) -> None:
        self.db = db
        self.connectors = connectors
        token = spec.secret()
        limits = Limits(spec.max_connections, spec.max_body, spec.max_rows, spec.timeout)
        ports = {} if spec.postgres is None else {"postgres": spec.postgres}
        self.server = stack.enter_context(
            Server(
                db,
                host=spec.host,
                port=spec.port,
                token=token,
                writable=spec.writable,
                followers=spec.followers,
                origins=spec.origins,
                limits=limits,
                connectors=connectors,
                ports=ports,
                certificate=spec.files(),
                plain=spec.plain,
            )
        )
        self.server.app.context.is_ready = lambda: all(connector.finished for connector in loads)
        for connector in connectors:
            connector.start()
            stack.callback(connector.end, _PATIENCE)
        # All are stopped first, so that none waits for another one.
        stack.callback(_request_stops, connectors)
        self._stack = stack

    @classmethod
    def job(cls, job: Job, failed: Failed | None = None) -> Self:
        """Open what a job describes, and serve it.

        Args:
            job: The job; its sources are read for ever, unless they say otherwise.
            failed: Called with a source or a sink whose step failed, and what it raised.

        Raises:
            JobError: Its files, or the file that keeps it, do not fit it.
            RingviewError: What opening, declaring, loading and listening raise.
        """
        spec = job.serve
        for is_said, said in (
            (job.engine == "spark", 'engine = "spark"'),
            (job.trust_deletes, "trust_deletes = true"),
        ):
            if is_said:
                raise JobError(f"{said} keeps no rows, which a server needs; leave it out")
        # Errors in these are raised before anything is read.
        check(spec.host, spec.secret(), spec.files(), spec.plain)
        with ExitStack() as stack:
            sources = [Source(table) for table in job.tables]
            db = stack.enter_context(Database() if spec.file is None else Database.open(spec.file))
            _declare(db, sources)
            positions.prepare(db)
            named = [source for source in sources if source.spec.paths]
            static = Files(job, [s for s in named if s.spec.static], _STATIC)
            moving = Files(job, [s for s in named if not s.spec.static], _FILES, spec.pace)
            for files in (static, moving):
                files.applied(positions.read(db, files.name))
            Reader(db, [static]).run()
            _views(job, db)
            loads = [
                Connector("source", _FILES, lambda: Reader(db, [moving]), every=0.02, failed=failed)
            ]
            connectors = list(loads)
            for source in job.sources:
                name = source.make(watch=True).name
                make: Callable[[], Stepping] = partial(source.reader, db, True)
                connectors.append(
                    Connector("source", name, make, every=source.every, failed=failed)
                )
            for sink in job.sinks:
                make = partial(sink.sender, db)
                connectors.append(
                    Connector("sink", sink.name, make, every=sink.every, failed=failed)
                )
            service = cls(stack, db, spec, connectors, loads)
            service._stack = stack.pop_all()
        return service

    @classmethod
    def file(cls, path: Path, spec: ServeSpec) -> Self:
        """Open the file of a database, and serve it.

        Raises:
            RingviewError: What `Database.open` and listening raise.
        """
        check(spec.host, spec.secret(), spec.files(), spec.plain)
        with ExitStack() as stack:
            db = stack.enter_context(Database.open(path))
            service = cls(stack, db, replace(spec, file=path), [], [])
            service._stack = stack.pop_all()
        return service

    def close(self) -> None:
        """End all of it, the database last; twice does nothing."""
        self._stack.close()

    def __repr__(self) -> str:
        return f"Service({self.server.url!r}, connectors={[one.name for one in self.connectors]})"


def _request_stops(connectors: list[Connector]) -> None:
    for connector in connectors:
        connector.request_stop()


def _declare(db: Database, sources: list[Source]) -> None:
    for source in sources:
        spec = source.spec
        unique = list(spec.unique) if spec.unique else None
        try:
            db.create_table(
                spec.name, source.schema, unique=unique, static=spec.static, if_not_exists=True
            )
        except ExistsError as error:
            raise JobError(
                f'table "{spec.name}": {db.path or "the database"} has one with other columns, or '
                "of another kind; serve another file, or take another name"
            ) from error


def _views(job: Job, db: Database) -> None:
    """Create the views that are not there yet, and anew those whose text is another."""
    create_source_tables(job, db)
    known = db.views
    if not any(view.name in known for view in job.views):
        create_views(job, db)
        return
    for view in job.views:
        with view.named():
            if view.name in known and known[view.name].sql == view.sql:
                continue
            db.create_view(
                view.name, view.sql, dialect=job.dialect, create_or_replace=True, **view.options
            )
