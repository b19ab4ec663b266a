"""Views that follow streams of Spark, exactly once.

    query = rs.stream(views={"v": sql}, tables={"r": stream, "s": static})
    with query.write_stream(checkpoint="folder", sink=rs.ParquetSink("out")).start() as q:
        q["v"].to_arrow()

Invariant: after each micro-batch every view is the result of its SQL over all rows received,
whatever failed or was killed on the way. Cost: of a micro-batch, the engine's for its rows.

| file | what it holds |
|---|---|
| face | the functions that a user calls |
| source | DataFrames: columns, types, Debezium's envelopes, one stream of slots |
| plan | what is kept, as data |
| changes | a micro-batch as changes of a database |
| applying, refusals | these changes in one transaction, without rows that break a contract |
| letters | such rows, and their target |
| checkpoint | the folder, and whether it is of the same query |
| paths, locations | folders as Spark names them, and files there |
| latest | changes by key that are received late |
| clock | the clock that follows the times of rows, and rows that leave by it |
| evolving, replacing | other views and columns for a checkpoint |
| state | the common part of every mode |
| driver, unsent, marks | the state in one database on the driver |
| persisting, entries, objects | how that survives: in a file, or by a log in objects |
| sinks | the targets of changes |
| query, progress | the handle of a stream that runs, and the metrics of its micro-batches |
"""

from ringview.errors import CheckpointError
from ringview.sinks.parquet import ParquetSink
from ringview.spark.streaming.face import Stream, StreamWriter, stream
from ringview.spark.streaming.progress import metrics
from ringview.spark.streaming.query import StreamQuery

__all__ = [
    "CheckpointError",
    "ParquetSink",
    "Stream",
    "StreamQuery",
    "StreamWriter",
    "metrics",
    "stream",
]
