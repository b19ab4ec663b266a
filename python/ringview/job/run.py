"""Runs a job on the engine that it names, and says what happened.

Invariant: results are read once, after the last row, and written only if the whole
stream was applied; rows of a result are sorted, so a job's output is the same
every time. Cost: the stream's, then O(n log n) for a result of n rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import pyarrow as pa

from ringview.job import embedded, write
from ringview.job.model import Job
from ringview.job.progress import Progress
from ringview.job.read import Source
from ringview.view import Format


@dataclass(frozen=True)
class ViewReport:
    """One view after the run: its result, the rows that it read, the seconds that took.

    The embedded engine keeps all views together, so they share one time: that of the
    transactions, without the reading of files.
    """

    name: str
    result: pa.Table
    read: int
    seconds: float
    to_terminal: bool


@dataclass(frozen=True)
class Report:
    """Summary of a run: rows of the stream, batches, seconds, and every view."""

    engine: str
    rows: int
    batches: int
    seconds: float
    views: tuple[ViewReport, ...]


def run(job: Job, progress: Callable[[Progress], None] | None = None) -> Report:
    """Run ``job`` to the end of its files and write its outputs.

    ``progress`` is called after every batch (embedded) or view (spark).

    Example:
        >>> import ringview.job
        >>> job = ringview.job.load("examples/tpch_stream/job.toml")
        >>> report = run(job)
        >>> report.rows
        13670
    """
    sources = [Source(spec) for spec in job.tables]
    if job.engine == "spark":
        # Spark is an optional extra: it is imported only for the jobs that use it.
        from ringview.job import on_spark

        outcome = on_spark.run(job, sources, progress or _silent)
    else:
        outcome = embedded.run(job, sources, progress or _silent)
    results = {name: write.in_order(result) for name, result in outcome.results.items()}
    for output in job.outputs:
        if output.file is not None:
            write.to_file(results[output.view], output.file)
    shown = {output.view for output in job.outputs if output.file is None}
    last = outcome.progress
    return Report(
        engine=job.engine,
        rows=last.rows,
        batches=last.batches,
        seconds=last.seconds,
        views=tuple(
            ViewReport(
                name=view.name,
                result=results[view.name],
                read=outcome.read[view.name],
                seconds=outcome.seconds[view.name],
                to_terminal=view.name in shown,
            )
            for view in job.views
        ),
    )


def explain(job: Job, format: Format = "text") -> dict[str, str]:
    """Plan of the maintenance of each view of ``job``: engine, tree, cost class.

    No row is read; only the schemas of the files are. ``format`` is as for `View.explain`.

    Example:
        >>> import ringview.job
        >>> job = ringview.job.load("examples/tpch_stream/job.toml")
        >>> sorted(explain(job))
        ['q1', 'q10', 'q3', 'q5']
    """
    sources = [Source(spec) for spec in job.tables]
    texts = embedded.explain(job, sources, format)
    if job.engine == "spark":
        from ringview.job import on_spark

        routes = on_spark.explain(job, sources)
        return {name: routed(routes[name], text, format) for name, text in texts.items()}
    return texts


def routed(route: str, text: str, format: Format) -> str:
    """An account with the route of its rows, as its language allows."""
    if format == "json":
        return json.dumps({"route": route, **json.loads(text)}, ensure_ascii=False)
    if format == "html":
        return f"<div>{escape(route)}</div>{text}"
    comment = {"text": "", "mermaid": "%% ", "graphviz": "// "}[format]
    return f"{comment}{route}\n{text}"


def _silent(_: Progress) -> None:
    pass
