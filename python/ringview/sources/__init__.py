"""Data of other systems, read into tables: each change once.

A source yields batches of rows with the positions behind them; a reader applies each in one
transaction with its positions. So a database in a file resumes behind the last batch that was
committed, however its process ended. `docs/sources.md` begins with an example.

Invariant: a batch is applied once, wholly or not at all. Cost: that of its changes.
"""

from .batch import Batch, Casts, Change, Origin, Rejected, Source
from .debezium import decode
from .delta import Delta, delta
from .folder import Folder, folder
from .kafka import Kafka, kafka
from .postgres import Postgres, postgres
from .query import Query, query
from .reader import Reader, run

__all__ = [
    "Batch",
    "Casts",
    "Change",
    "Delta",
    "Folder",
    "Kafka",
    "Origin",
    "Postgres",
    "Query",
    "Reader",
    "Rejected",
    "Source",
    "decode",
    "delta",
    "folder",
    "kafka",
    "postgres",
    "query",
    "run",
]
