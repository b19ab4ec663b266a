"""Changes of views, sent to other systems: each change once where these can ensure it.

A sender gives each batch of changes to a sink, a function or one of those here, and commits the
place of its follower when the sink has it. `docs/sources.md` has an example. The sinks are also
those of `ringview.spark.stream`.

Invariant: a batch that was not committed is sent again, with the same rows and the same number.
Cost: that of the rows that moved.
"""

from .databases import postgres, sqlite
from .delta import DeltaSink, delta
from .kafka import KafkaSink, kafka
from .parquet import ParquetSink
from .protocol import Sink
from .sender import Sender, run
from .sql import SqlSink

__all__ = [
    "DeltaSink",
    "KafkaSink",
    "ParquetSink",
    "Sender",
    "Sink",
    "SqlSink",
    "delta",
    "kafka",
    "postgres",
    "run",
    "sqlite",
]
