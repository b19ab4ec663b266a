"""One connection: its transaction, its settings, and how each of its statements is done.

Invariant: a transaction belongs to the connection that began it. It takes no lock: what it would
change is gathered, and applied at COMMIT, whole or not at all; where another was faster with the
same rows, COMMIT fails with 40001 and is to be tried again. Cost: of a statement, that of the
database; of a transaction, memory for its changes.
"""

from __future__ import annotations

import copy as copies
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ... import _native
from ...conditions import change_stated
from ...queries import Definition, Parameter
from ...transaction import Transaction
from . import copying
from .catalogue import Catalogue
from .codes import Report, SqlStateError, report
from .plan import CHANGES, Step, planned
from .settings import Settings
from .tokens import Piece, pieces

if TYPE_CHECKING:
    import pyarrow as pa

    from ...database import Database

Outcome = tuple[Any, ...]
Answer = tuple[list[Outcome], Report | None, list[Report], list[tuple[str, str]], str]

_ABORTED = "current transaction is aborted, commands ignored until end of transaction block"
# A value of each type of parameter, to bind a query by that has none yet.
_NUMBERS: dict[int, Parameter] = {
    **dict.fromkeys((20, 21, 23, 26), 0),
    **dict.fromkeys((700, 701), 0.5),
    16: True,
}
_SAMPLES: dict[int, Parameter] = {**_NUMBERS, 25: "", 1043: ""}


@dataclass
class _Said:
    """What a text of SQL comes to, bit by bit."""

    outcomes: list[Outcome] = field(default_factory=list)
    warnings: list[Report] = field(default_factory=list)
    settings: list[tuple[str, str]] = field(default_factory=list)


class Session:
    """A session of a client; every call comes from one thread at a time."""

    def __init__(
        self,
        db: Database,
        catalogue: Catalogue,
        settings: dict[str, str],
        user: str,
        writable: bool,
    ) -> None:
        # A transaction that the process itself has open is none of this session's.
        self._db = copies.copy(db)
        self._db._open = None
        self._catalogue = catalogue
        self._settings = Settings(settings)
        self._user = user
        self._writable = writable
        self._open: Transaction | None = None
        # Savepoints: their names, and how many changes there were.
        self._saved: list[tuple[str, int]] = []
        self._failed = False

    def prepare(self, sql: str) -> tuple[bool, int, Report | None]:
        """Whether a statement gives rows, and how many parameters it has."""
        found = pieces(sql)
        if len(found) > 1:
            why = "cannot insert multiple commands into a prepared statement"
            return False, 0, ("42601", why, None, None)
        if not found:
            return False, 0, None
        try:
            step = planned(found[0], None)
        except SqlStateError as problem:
            return False, 0, problem.report
        return step.gives_rows, found[0].parameters, None

    def describe(self, sql: str, oids: Sequence[int]) -> tuple[pa.Schema | None, Report | None]:
        """The columns of a query whose parameters have no values yet: it is asked with some."""
        import pyarrow as pa

        [piece] = pieces(sql)
        count = max(piece.parameters, len(oids))
        given = [*oids, *[0] * (count - len(oids))]
        failure: Report | None = None
        # A text may stand where only some texts are values; NULL does everywhere.
        for samples in (_SAMPLES, _NUMBERS):
            values = [samples.get(oid) for oid in given]
            said = _Said()
            try:
                self._query(planned(piece, values), values, said)
                return pa.RecordBatchReader.from_stream(said.outcomes[0][2]).schema, None
            except (Exception, KeyboardInterrupt) as problem:
                failure = failure or report(problem, piece.text, piece.start)
        self.fail()
        return None, failure

    def run(self, sql: str, parameters: Sequence[object] | None) -> Answer:
        """Do the statements of a text; without parameters, a script, which is read whole first."""
        said, found = _Said(), pieces(sql)
        if not found:
            said.outcomes.append(("empty",))
        failure: Report | None = None
        values = [] if parameters is None else parameters
        piece, together = Piece("", [], 0), False
        try:
            steps = []
            # Of several none is done before all are read; one alone is read as it is done.
            alone = len(found) == 1 and self._open is None
            for piece in found:
                steps.append(planned(piece, values, later=alone))
            # As in PostgreSQL, a script is one transaction, where all of it can be undone.
            together = self._open is None and _is_together(steps)
            if together:
                self._begin()
            for step in steps:
                piece = step.piece
                self._do(step, values, said)
            if together:
                self._commit()
        except (Exception, KeyboardInterrupt) as problem:
            failure = report(problem, piece.text, piece.start)
            if together:
                self._open = None
            self.fail()
        return said.outcomes, failure, said.warnings, said.settings, self.status

    @property
    def status(self) -> str:
        """Whether it is in a transaction, and whether that failed, in PostgreSQL's letters."""
        return "E" if self._failed else "I" if self._open is None else "T"

    def fail(self) -> None:
        """Leave an open transaction with nothing but its end to come."""
        self._failed = self._open is not None

    def close(self) -> None:
        """Forget what its transaction would have changed."""
        self._open, self._failed, self._saved = None, False, []

    def _begin(self) -> None:
        self._open = Transaction(self._db).__enter__()

    def _do(self, step: Step, parameters: Sequence[object], said: _Said) -> None:
        if step.kind in ("begin", "commit", "rollback"):
            self._bounded(step, said)
            return
        if step.kind == "rollback_to":
            self._back_to(step, said)
            return
        if self._failed:
            raise SqlStateError("25P02", _ABORTED)
        if step.kind in ("select", "catalogue", "show"):
            self._query(step, parameters, said)
        elif step.kind in ("savepoint", "release"):
            self._saves(step, said)
        elif step.kind == "copy":
            self._copy(step, said)
        elif step.kind == "set":
            said.settings += self._settings.set(step.piece)
            said.outcomes.append(("done", "SET"))
        elif step.kind in ("reset", "discard", "deallocate"):
            if step.kind != "deallocate":
                self._settings.reset(step.piece)
            said.outcomes.append(("done", step.tag))
        else:
            self._change(step, said)

    def _bounded(self, step: Step, said: _Said) -> None:
        """BEGIN, COMMIT, ROLLBACK; out of place they are warned of, as in PostgreSQL."""
        if step.kind == "begin":
            if self._open is None:
                self._begin()
            else:
                said.warnings.append(
                    _warning("25001", "there is already a transaction in progress")
                )
            said.outcomes.append(("done", step.tag))
            return
        if self._open is None:
            said.warnings.append(_warning("25P01", "there is no transaction in progress"))
        failed, tag = self._failed, step.tag
        if step.kind == "commit" and not failed:
            self._commit()
        elif failed:
            tag = "ROLLBACK"
        self.close()
        said.outcomes.append(("done", tag))

    def _saves(self, step: Step, said: _Said) -> None:
        """SAVEPOINT, RELEASE."""
        if self._open is None:
            raise SqlStateError("25P01", f"{step.tag} can only be used in transaction blocks")
        name = step.piece.tokens[-1].named
        if step.kind == "savepoint":
            self._saved.append((name, len(self._open._collected())))
        else:
            del self._saved[self._savepoint(name) :]
        said.outcomes.append(("done", step.tag))

    def _back_to(self, step: Step, said: _Said) -> None:
        """ROLLBACK TO: the changes since the savepoint are forgotten; it stays itself."""
        if self._open is None:
            raise SqlStateError(
                "25P01", "ROLLBACK TO SAVEPOINT can only be used in transaction blocks"
            )
        at = self._savepoint(step.piece.tokens[-1].named)
        del self._open._collected()[self._saved[at][1] :]
        del self._saved[at + 1 :]
        self._failed = False
        said.outcomes.append(("done", step.tag))

    def _savepoint(self, name: str) -> int:
        """The place of the last savepoint of a name."""
        for at in reversed(range(len(self._saved))):
            if self._saved[at][0] == name:
                return at
        raise SqlStateError("3B001", f'savepoint "{name}" does not exist')

    def _commit(self) -> None:
        transaction, self._open = self._open, None
        if transaction is not None:
            transaction.__exit__(None, None, None)

    def _query(self, step: Step, parameters: Sequence[object], said: _Said) -> None:
        rows: Any
        if step.kind == "catalogue" or self._is_of_nothing(step):
            rows = self._catalogue.query(step.piece, parameters, self._user, self._settings.all())
        elif step.kind == "show":
            rows = self._shown(step.piece)
        else:
            rows = self._selected(step, parameters)
        said.outcomes.append(("rows", "SHOW" if step.kind == "show" else "SELECT", rows))

    def _is_of_nothing(self, step: Step) -> bool:
        """Whether it asks for constants where there is no table, as clients do to say hello."""
        return step.kind == "select" and "from" not in step.piece.words and not self._db.tables

    def _selected(self, step: Step, parameters: Sequence[Any]) -> _native.Rows:
        """The rows of a query: those of `Database.sql`, or behind the transaction's changes."""
        if self._open is not None:
            return self._db._native.select(step.statement, self._open._collected())
        of = Definition(step.text, parameters=list(parameters), dialect="postgres")
        return self._db._native.evaluate(of.native())

    def _shown(self, piece: Piece) -> pa.Table:
        import pyarrow as pa

        words = [token.word for token in piece.tokens[1:]]
        if words == ["all"]:
            every = self._settings.all()
            columns = [list(every), list(every.values()), [""] * len(every)]
            return pa.table(columns, names=["name", "setting", "description"])
        known = {"transaction isolation level": "transaction_isolation", "time zone": "TimeZone"}
        name = known.get(" ".join(words), "".join(words))
        return pa.table({name: [self._settings.show(name)]})

    def _copy(self, step: Step, said: _Said) -> None:
        copy = copying.read(step.piece)
        if copy.query is None:
            schema, source = copying.subscribe(copy, self._db.views)
            said.outcomes.append(("copy", schema, source))
            return
        import pyarrow as pa

        [piece] = pieces(copy.query)
        within, asked = _Said(), planned(piece, [])
        if not asked.gives_rows:
            raise SqlStateError("0A000", f"{asked.tag} gives no rows to copy")
        self._query(asked, [], within)
        rows = pa.RecordBatchReader.from_stream(within.outcomes[0][2]).read_all()
        said.outcomes.append(("copy", rows.schema, copying.Once(rows)))

    def _change(self, step: Step, said: _Said) -> None:
        if not self._writable:
            raise SqlStateError(
                "25006",
                f"cannot execute {step.tag} in a read-only transaction",
                "the server was started to be read alone; PostgresServer(.., writable=True) is not",
            )
        if step.statement is None:
            raise SqlStateError(
                "0A000", f"{step.tag} is not done here", position=step.piece.start + 1
            )
        if step.kind in CHANGES:
            if self._open is not None:
                count = self._open._do(step.statement)
            else:
                count = change_stated(self._db._native, step.statement, None)
            oid = " 0" if step.kind == "insert" else ""
            counted = "" if step.tag == "TRUNCATE TABLE" else f"{oid} {count}"
            said.outcomes.append(("done", f"{step.tag}{counted}"))
            return
        if self._open is not None:
            raise SqlStateError(
                "0A000",
                f"{step.tag} in a transaction is not supported: ROLLBACK would not undo it",
                "COMMIT first, or connect with autocommit",
            )
        made = self._db._done(step.statement, None)
        tag = step.tag if made is None else f"SELECT {made}"
        said.outcomes.append(("done", tag))

    def __repr__(self) -> str:
        return f"Session({self._user!r}, {self.status})"


def _is_together(steps: Sequence[Step]) -> bool:
    """Whether the statements of a script are one transaction of themselves."""
    changes = sum(step.kind in CHANGES for step in steps)
    return changes > 1 and all(step.kind in (*CHANGES, "select") for step in steps)


def _warning(code: str, what: str) -> Report:
    return (code, what, None, None)
