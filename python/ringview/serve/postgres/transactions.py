"""The transaction of a connection: BEGIN, COMMIT, ROLLBACK, savepoints.

Invariant: a transaction belongs to the connection that began it. It takes no lock: what it would
change is gathered, and applied at COMMIT, whole or not at all; where another was faster with the
same rows, COMMIT fails with 40001 and is to be tried again. Cursors end with it. Cost: memory for
its changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...transaction import Mark, SqlTransaction
from .classification import Step
from .codes import Report, SqlStateError
from .cursors import Cursors
from .results import Results

if TYPE_CHECKING:
    from ...database import Database


class TransactionSession:
    """The part of a session that has a transaction, or none."""

    def __init__(self, db: Database) -> None:
        # A transaction that the process itself has open is none of this session's.
        self._db = db._of(db._native)
        self._open: SqlTransaction | None = None
        # Savepoints: their names, how far the transaction was, and which cursors there were.
        self._saved: list[tuple[str, Mark, set[str]]] = []
        self._cursors = Cursors()
        self._failed = False

    @property
    def status(self) -> str:
        """Whether it is in a transaction, and whether that failed, in PostgreSQL's letters."""
        return "E" if self._failed else "I" if self._open is None else "T"

    def fail(self) -> None:
        """Mark an open transaction as failed, so that only its end is accepted."""
        self._failed = self._open is not None

    def close(self) -> None:
        """Forget what its transaction would have changed, and its cursors."""
        self._ended(False)
        self._cursors.close(None)

    def _ended(self, committed: bool) -> None:
        self._open, self._failed, self._saved = None, False, []
        self._cursors.end(committed)

    @property
    def _seen(self) -> Database:
        """The database with what the transaction defined so far."""
        return self._db if self._open is None else self._db._of(self._open.native)

    def _begin(self) -> None:
        self._open = SqlTransaction(self._db._native)

    def _bounded(self, step: Step, results: Results) -> None:
        """BEGIN, COMMIT, ROLLBACK; out of place they are warned of, as in PostgreSQL."""
        if step.kind == "begin":
            if self._open is None:
                self._begin()
            else:
                results.warnings.append(
                    _warning("25001", "there is already a transaction in progress")
                )
            results.outcomes.append(("done", step.tag))
            return
        if self._open is None:
            results.warnings.append(_warning("25P01", "there is no transaction in progress"))
        failed, tag = self._failed, step.tag
        if step.kind == "commit" and not failed:
            self._commit()
        elif failed:
            tag = "ROLLBACK"
        self._ended(step.kind == "commit" and not failed)
        results.outcomes.append(("done", tag))

    def _saves(self, step: Step, results: Results) -> None:
        """SAVEPOINT, RELEASE."""
        if self._open is None:
            raise SqlStateError("25P01", f"{step.tag} can only be used in transaction blocks")
        name = step.piece.tokens[-1].named
        if step.kind == "savepoint":
            kept = {*self._cursors.held}
            self._saved.append((name, self._open.mark(), kept))
        else:
            del self._saved[self._savepoint(name) :]
        results.outcomes.append(("done", step.tag))

    def _back_to(self, step: Step, results: Results) -> None:
        """ROLLBACK TO: what was done since the savepoint is forgotten; it stays itself."""
        if self._open is None:
            raise SqlStateError(
                "25P01", "ROLLBACK TO SAVEPOINT can only be used in transaction blocks"
            )
        at = self._savepoint(step.piece.tokens[-1].named)
        _, mark, cursors = self._saved[at]
        self._open.back(mark)
        self._cursors.keep(cursors)
        del self._saved[at + 1 :]
        self._failed = False
        results.outcomes.append(("done", step.tag))

    def _savepoint(self, name: str) -> int:
        """The place of the last savepoint of a name."""
        for at in reversed(range(len(self._saved))):
            if self._saved[at][0] == name:
                return at
        raise SqlStateError("3B001", f'savepoint "{name}" does not exist')

    def _commit(self) -> None:
        held, self._open = self._open, None
        if held is not None:
            try:
                held.commit()
            except BaseException:
                self._ended(False)
                raise


def _warning(code: str, what: str) -> Report:
    return (code, what, None, None)
