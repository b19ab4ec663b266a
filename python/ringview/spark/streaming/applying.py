"""Micro-batches into the database of a stream, each in one transaction.

Rows that break a contract, if they are left out, are found by attempts: transactions that end with
a delete of a row that is nowhere, so that each of them is undone.

Invariant: a micro-batch is applied once and whole, but for the rows that are handed back as
refused, or not at all. Cost: of the changes; what `refusals` says where some are refused.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringview import Database
from ringview.errors import OverDeleteError, RingviewError
from ringview.spark.streaming import letters
from ringview.spark.streaming.changes import changes_of, is_net
from ringview.spark.streaming.clock import (
    STAYS,
    Clock,
    Expiry,
    Greatest,
    Step,
    greatest_times,
)
from ringview.spark.streaming.latest import Latest
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.refusals import OF_ROWS, Refusals, Refused, Rows
from ringview.transaction import Transaction

Beside = Callable[[Transaction, Sequence[Refused]], None]
"""What else is in the transaction."""

_NOBODY = "nobody, by whom an attempt is undone"


@dataclass(frozen=True)
class Applied:
    """Result of a micro-batch."""

    rows: Mapping[str, int]
    """How many rows came, by table."""
    late: Mapping[str, int]
    """How many keys came late, by table."""
    kept: Rows
    """The rows that were applied, by table."""
    refused: Sequence[Refused]
    came: Greatest
    """The times that moved the clock, or would have, were they later than those before."""
    seconds: float
    """How long all of it took."""
    expired: Mapping[str, int]
    """How many rows left for their age, by table that keeps rows for a time."""


class Applier:
    """Applies micro-batches to a database that has the tables and views of a plan."""

    def __init__(self, plan: Plan, database: Database) -> None:
        self._plan, self._database = plan, database
        self._latest = Latest(plan, database)
        self._clock = Clock(plan, database)

    def apply(
        self,
        arrived: Rows,
        batch_id: int | None = None,
        *,
        leaves_out: bool = False,
        beside: Beside | None = None,
        came: Greatest | None = None,
    ) -> Applied:
        """Apply rows by table, as `Plan.arrived` gives them.

        `arrived` are the rows, and `batch_id` is the identity of the transaction, if any. If
        `leaves_out`, rows that break a contract are left out; `beside` adds to the transaction,
        given these rows. The clock moves by the times `came`, by default those of the rows.

        Raises:
            RingviewError: What the tables or views refuse; nothing has changed then.
        """
        start = time.perf_counter()
        rows = {name: found.num_rows for name, found in arrived.items()}
        expiry = Expiry(self._plan, self._database)
        if came is None:
            came = greatest_times(self._plan, arrived)
        step = self._clock.step(came)
        kept, refused = arrived, list[Refused]()
        try:
            late = self._commit(kept, batch_id, refused, beside, step)
        except OF_ROWS:
            if not leaves_out:
                raise
            kept, refused, late = self._commit_rest(arrived, batch_id, beside, step)
        seconds = time.perf_counter() - start
        return Applied(rows, late, kept, refused, came, seconds, expiry.counted())

    def _commit_rest(
        self, arrived: Rows, batch_id: int | None, beside: Beside | None, step: Step
    ) -> tuple[Rows, list[Refused], dict[str, int]]:
        letters.prepare(self._plan, self._database)
        found = Refusals(self._plan, arrived)
        found.find(self._attempt)
        try:
            late = self._commit(found.left, batch_id, found.refused, beside, step)
        except OF_ROWS:
            # Of no table's rows: what views make of them is seen at the end of a transaction.
            self._find_on_copy(found)
            late = self._commit(found.left, batch_id, found.refused, beside, step)
        return found.left, found.refused, late

    def _commit(
        self,
        rows: Rows,
        batch_id: int | None,
        refused: Sequence[Refused] = (),
        beside: Beside | None = None,
        step: Step = STAYS,
    ) -> dict[str, int]:
        changes, late = self._latest.resolve(changes_of(self._plan, rows))
        with self._database.transaction(net=is_net(changes), batch_id=batch_id) as transaction:
            for change in changes:
                change.apply(transaction)
            self._clock.advance(step, transaction)
            if beside is not None:
                beside(transaction, refused)
        self._clock.keep(step)
        return late

    def _attempt(self, rows: Rows) -> RingviewError | None:
        """Why the tables refuse rows, or None; nothing changes.

        The clock stays: it moves behind the rows, so a table refuses the same ones either way.
        """
        nobody = [dict.fromkeys(letters.SCHEMA.names, _NOBODY) | {"batch_id": -1}]

        def undo(transaction: Transaction, refused: Sequence[Refused]) -> None:
            transaction.delete(self._plan.letters, nobody)

        try:
            self._commit(rows, None, beside=undo)
        except OF_ROWS as problem:
            is_undone = isinstance(problem, OverDeleteError) and _NOBODY in str(problem)
            return None if is_undone else problem
        raise RingviewError(f"there is a dead letter of {_NOBODY}")

    def _find_on_copy(self, found: Refusals) -> None:
        with tempfile.TemporaryDirectory(prefix="ringview-") as folder:
            path = Path(folder) / "copy.ringview"
            self._database.save(path)
            copy = Applier(self._plan, Database.load(path))

            def apply(rows: Rows) -> RingviewError | None:
                try:
                    copy._commit(rows, None)
                except OF_ROWS as problem:
                    return problem
                return None

            found.find_on(apply)
