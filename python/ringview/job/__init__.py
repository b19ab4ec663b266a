"""A job: tables fed from files, views in SQL, read from one TOML file and run.

Invariant: a job means the same on either engine. "embedded" applies the stream
batch by batch in this process and every view is exact after every batch;
"spark" evaluates the views once, over the whole stream.
Cost: O(rows) to read, plus what the views cost (see ``explain``). Tables with
``order_by`` keep their sequence numbers in memory while they run, 16 bytes a row.
"""

from ringview.job.checks import JobError
from ringview.job.ends import SinkSpec, SourceSpec
from ringview.job.model import Job, OutputSpec, TableSpec, ViewSpec
from ringview.job.parse import load, parse
from ringview.job.progress import Progress
from ringview.job.run import Report, ViewReport, explain, run
from ringview.job.serving import ServeSpec

__all__ = [
    "Job",
    "JobError",
    "OutputSpec",
    "Progress",
    "Report",
    "ServeSpec",
    "SinkSpec",
    "SourceSpec",
    "TableSpec",
    "ViewReport",
    "ViewSpec",
    "explain",
    "load",
    "parse",
    "run",
]
