"""A job on Spark: every view evaluated once, over the whole stream.

Invariant: the result is what the embedded engine has after the last batch. Order,
``unique`` and ``static`` do not matter here: the rows of a table add up in the ring.
Cost: one shuffle of the needed columns a view.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from ringview.job.checks import JobError
from ringview.job.model import Job
from ringview.job.progress import Outcome, Progress
from ringview.job.read import Source
from ringview.spark import Views, session, views
from ringview.spark.frames import column, identifier
from ringview.spark.releases import arrow_table
from ringview.spark.types import spark_schema, to_spark
from ringview.text import quoted

_NO_TEXT = "\0"
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def run(job: Job, sources: Sequence[Source], progress: Callable[[Progress], None]) -> Outcome:
    """Evaluate the views one after another; a view is a step of the progress."""
    start = time.perf_counter()
    frames = _frames(sources)
    rows = _rows(sources, frames)
    found = _views(job, sources, frames, rows)
    read = {view.name: sum(rows[table] for table in found.reads(view.name)) for view in job.views}
    now = Progress(0, sum(read.values()), 0, 0.0)
    results: dict[str, pa.Table] = {}
    seconds: dict[str, float] = {}
    for name in read:
        begun = time.perf_counter()
        results[name] = arrow_table(found.to_df(name))
        ended = time.perf_counter()
        seconds[name] = ended - begun
        now = Progress(now.rows + read[name], now.total, now.batches + 1, ended - start)
        progress(now)
    found.unpersist()
    return Outcome(now, results, read, seconds)


def explain(job: Job, sources: Sequence[Source]) -> dict[str, str]:
    """Description of the routes that the rows of each view's tables take."""
    frames = _frames(sources)
    found = _views(job, sources, frames, _rows(sources, frames))
    return {view.name: found.explain(view.name) for view in job.views}


def _views(
    job: Job,
    sources: Sequence[Source],
    frames: Mapping[str, DataFrame],
    rows: Mapping[str, int],
) -> Views:
    multiplicity = {s.spec.name: s.spec.multiplicity for s in sources if s.spec.multiplicity}
    # An engine a core: more would copy more, and start more Python workers.
    cores = session().sparkContext.defaultParallelism
    sql = {view.name: view.sql for view in job.views}
    return views(
        sql,
        frames,
        multiplicity=multiplicity,
        partitions=cores,
        rows=rows,
        dialect=job.dialect,
    )


def _frames(sources: Sequence[Source]) -> dict[str, DataFrame]:
    spark = session("ringview", _QUIET)
    return {source.spec.name: _frame(spark, source) for source in sources}


def _rows(sources: Sequence[Source], frames: Mapping[str, DataFrame]) -> dict[str, int]:
    found = {}
    for source in sources:
        rows = source.rows
        found[source.spec.name] = frames[source.spec.name].count() if rows is None else rows
    return found


def _frame(spark: SparkSession, source: Source) -> DataFrame:
    spec = source.spec
    paths = [str(path) for path in spec.paths]
    if spec.format == "parquet":
        frame = spark.read.parquet(*paths)
    else:
        # The types that Arrow finds, so that both engines read the same.
        schema = _readable(source, source.file_schema)
        frame = spark.read.csv(
            paths,
            schema=spark_schema(schema),
            header=True,
            enforceSchema=False,
            # Left at "", it would make NULL of a quoted empty text too.
            nullValue=_NO_TEXT,
        )
    kept = [
        _cast(spec.name, field).alias(field.name)
        if field.name in spec.types
        else column(field.name)
        for field in _readable(source, source.schema)
    ]
    return frame.select(*kept, *([column(spec.multiplicity)] if spec.multiplicity else []))


def _cast(table: str, field: pa.Field) -> Column:
    """A column in another type; a value that has none ends the job, with ANSI mode on or off."""
    name, kind = identifier(field.name), to_spark(field.type).simpleString()
    place = f"table {quoted(table)}: column {quoted(field.name)}: no {kind}: "
    said = place.replace("\\", "\\\\").replace("'", "\\'")
    cast = f"TRY_CAST({name} AS {kind})"
    raised = f"raise_error(concat('{said}', CAST({name} AS STRING)))"
    return sf.expr(f"CASE WHEN {name} IS NULL OR {cast} IS NOT NULL THEN {cast} ELSE {raised} END")


_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


def _readable(source: Source, schema: pa.Schema) -> pa.Schema:
    """``schema`` in types that Spark has: it has no unsigned integers."""
    fields = [field.with_type(_WIDER.get(field.type, field.type)) for field in schema]
    for field in fields:
        try:
            to_spark(field.type)
        except TypeError as error:
            raise JobError(
                f"table {quoted(source.spec.name)}: column {quoted(field.name)} cannot be read on "
                f"Spark: {error}; leave it out with columns = [..], or cast it with types"
            ) from error
    return pa.schema(fields)
