"""The state of a stream in one database on the driver, kept beside Spark's checkpoint.

Invariant: a micro-batch is one transaction, and its number is in the same commit, so each counts
once however often Spark sends it. Its changes are sent to the sink until the sink took them, which
is a commit of its own: a sink is given every batch, the last one maybe twice, with the same rows.
Cost: of a micro-batch, its rows to the driver as Arrow, the engine's work, and two synced commits
of a file, or by a URI one more file (`persisting`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.readwriter import DataStreamWriter

from ringview.errors import CheckpointError, RingviewError
from ringview.follower import Follower
from ringview.sinks.protocol import Sink, begin
from ringview.spark.releases import arrow_table
from ringview.spark.slots import ATOM
from ringview.spark.streaming import latest, letters, marks, persisting, source, unsent
from ringview.spark.streaming.applying import Applier
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.clock import CLOCK, EXPIRED
from ringview.spark.streaming.entries import Batch, Sent, Taken
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.refusals import Refused
from ringview.spark.streaming.source import Source
from ringview.spark.streaming.state import OBSERVED, State
from ringview.transaction import Transaction
from ringview.view import View


class DriverState(State):
    """The engine of a stream on the driver; it takes micro-batches until it is closed."""

    def __init__(
        self,
        plan: Plan,
        sources: Mapping[str, Source],
        checkpoint: Checkpoint,
        sink: Sink | None,
        letters: Sink | None = None,
        memory_limit: int | str | None = None,
    ) -> None:
        checkpoint.agree({**plan.described(), "mode": "driver"})
        super().__init__(plan, checkpoint, sink, letters)
        self._sources = sources
        self._closed = False
        self._persistence = persisting.opened(
            checkpoint, plan, plan.views, memory_limit=memory_limit
        )
        self._database = self._persistence.database
        try:
            self._open()
        except BaseException:
            self._persistence.close()
            raise

    def view(self, name: str) -> View:
        """A view of the database."""
        return self._database[name]

    def metrics(self) -> dict[str, Any]:
        """As `State.metrics`."""
        if self._closed:
            return dict(self._metrics)
        return {**self._metrics, "state_bytes": sum(self._database.memory_usage().values())}

    def writer(self) -> DataStreamWriter:
        """All streams as one, each micro-batch a transaction."""
        rows = [
            sf.count_if(sf.col(ATOM) == atom).alias(f"rows.{table.name}")
            for atom, table in enumerate(self._plan.streams)
        ]
        slots = source.slots(self._plan, self._sources).observe(OBSERVED, *rows)
        return slots.writeStream.foreachBatch(self.take)

    def close(self) -> None:
        """Wait for the micro-batch that runs, and release the state."""
        with self._lock:
            if self._closed:
                return
            self._keep_unsent()
            self._persistence.close()
            self._closed = True

    def _open(self) -> None:
        database = self._database
        self._plan.create_tables(database)
        self._plan.create_histories(database)
        self._applier = Applier(self._plan, database)
        for table in self._plan.static:
            loaded = marks.loaded(table.name)
            if not database.is_applied(loaded):
                rows, times = source.static_rows(table, self._sources[table.name])
                with database.transaction(net=times is not None, batch_id=loaded) as transaction:
                    transaction.insert(table.name, rows, multiplicity=times)
        self._plan.create_views(database)
        self._last = marks.last_batch(database)
        if self._last >= 0 and not self._checkpoint.has_begun:
            raise CheckpointError(
                f"the checkpoint {self._checkpoint.folder} lacks its part of Spark, which knows "
                f"what rows came behind micro-batch {self._last}; bring it back, or start with an "
                "empty folder"
            )
        self._checkpoint.clear()
        self._persistence.begin()
        self._followers: dict[str, Follower] = {}
        self._pending: dict[str, pa.Table] | None = None
        self._follow()
        self._open_letters()

    def _open_letters(self) -> None:
        """Have a place for dead letters, of which some may wait for their target."""
        if self._letters is not None:
            self._keep_unsent()
            letters.prepare(self._plan, self._database)
            is_new = not self._database.is_applied(marks.LETTERS)
            begin(self._letters, self._checkpoint.identity, [letters.NAME], is_new)
        elif letters.waiting(self._plan, self._database):
            raise CheckpointError(
                f"the checkpoint {self._checkpoint.folder} has dead letters that were not taken; "
                'give on_error="dead_letter" and dead_letters=.. once more'
            )

    def _follow(self) -> None:
        """Begin where the sink ended."""
        database, views = self._database, self._plan.views
        self._is_beside = unsent.is_any(self._checkpoint.state)
        self._has_sent = marks.has_sent(database, self._last)
        if self._sink is None:
            if self._has_sent:
                raise CheckpointError(
                    f"the stream of the checkpoint {self._checkpoint.folder} has a sink, which "
                    "would miss what moves without it; give sink=.., or start with an empty folder"
                )
            return
        begin(self._sink, self._checkpoint.identity, list(views), not self._has_sent)
        if self._has_sent and self._is_waiting():
            kept = unsent.read(unsent.of_batch(self._checkpoint.state, self._last))
            self._pending = kept or self._evolved(self._persistence.last_moved(views))
        for name in views:
            database[name].unfollow()
            self._followers[name] = database[name].follow(initial=not self._has_sent)

    def _take(self, rows: DataFrame, batch_id: int) -> None:
        if self._closed:
            raise RingviewError("the stream was stopped")
        if batch_id not in (self._last, self._last + 1):
            raise CheckpointError(
                f"Spark's part of the checkpoint {self._checkpoint.folder} is at micro-batch "
                f"{batch_id}, and the state at {self._last}: they are not of one time; bring back "
                "both, or start with an empty folder"
            )
        is_again = batch_id == self._last
        if not is_again:
            self._apply(rows, batch_id)
        # Also what an attempt left that ended here.
        self._persistence.flush()
        if self._sink is not None:
            self._send(self._sink)
        # Behind the sink: a reopened file holds the changes of its last transaction, and of no
        # other.
        self._send_letters()
        if is_again:
            # It may have been applied where there was no sink, and says so.
            self._persistence.flush(has_marks=True)
        self._persistence.compact()

    def _apply(self, rows: DataFrame, batch_id: int) -> None:
        applied = self._applier.apply(
            self._plan.arrived(arrow_table(rows).to_batches()),
            batch_id,
            leaves_out=self._letters is not None,
            beside=partial(self._keep_letters, batch_id),
        )
        refused = letters.letters(applied.refused, batch_id) if applied.refused else None
        came = applied.came if applied.refused else None
        self._persistence.note(Batch(batch_id, applied.kept, refused, self._sink is not None, came))
        self._last = batch_id
        self._metrics = {
            "batch_id": batch_id,
            "rows": dict(applied.rows),
            latest.LATE: dict(applied.late),
            letters.NAME: letters.counted(applied.refused),
            "engine_seconds": applied.seconds,
        }
        if self._plan.watermarked:
            now = self._database.now
            self._metrics[CLOCK] = None if now is None else now.isoformat()
            self._metrics[EXPIRED] = dict(applied.expired)

    def _keep_letters(
        self, batch_id: int, transaction: Transaction, refused: Sequence[Refused]
    ) -> None:
        if refused:
            transaction.insert(self._plan.letters, letters.letters(refused, batch_id))

    def _send_letters(self) -> None:
        """Hand on the dead letters that wait."""
        if self._letters is None:
            return
        for batch_id, found in letters.waiting(self._plan, self._database).items():
            letters.send(self._letters, batch_id, found)
            letters.taken(self._plan, self._database, found)
            self._persistence.note(Taken(batch_id))

    def _send(self, sink: Sink) -> None:
        """Hand on what the last batch moved, unless that was done."""
        if not self._is_waiting():
            return
        moved = self._batch_changes()
        for name, changes in moved.items():
            # The first time it is given every view, for the columns that they have.
            if changes.num_rows or not self._has_sent:
                sink(name, self._last, changes)
        done = Sent(self._last)
        done.apply(self._plan, self._database)
        self._persistence.note(done)
        self._pending, self._has_sent = None, True
        if self._is_beside:
            unsent.forget(self._checkpoint.state)
            self._is_beside = False
        self._metrics["moved"] = {name: changes.num_rows for name, changes in moved.items()}

    def _keep_unsent(self) -> None:
        """Write the changes of the file's last transaction beside it, if no sink has taken them.

        Once it is rewritten, or has one more table, it does not hold them.
        """
        if self._persistence.forgets and self._has_sent and self._is_waiting():
            self._is_beside = True
            unsent.keep(unsent.of_batch(self._checkpoint.state, self._last), self._batch_changes())

    def _is_waiting(self) -> bool:
        return marks.is_waiting(self._database, self._last)

    def _batch_changes(self) -> dict[str, pa.Table]:
        """Changes of the last batch; the first time, all rows of views."""
        if self._pending is None:
            moved = {name: each.changes() for name, each in self._followers.items()}
            self._pending = self._evolved(moved) if self._has_sent else moved
        return self._pending

    def _evolved(self, moved: dict[str, pa.Table]) -> dict[str, pa.Table]:
        """Changes of the last batch, behind those by new views before it."""
        if not self._is_beside:
            return moved
        return unsent.with_evolutions(self._checkpoint.state, self._last, moved, self._plan.views)
