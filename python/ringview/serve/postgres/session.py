"""One connection: its settings, and how each of its statements is done.

Invariant: no statement of a text is done before all are read; one that fails has changed nothing.
Cost: of a statement, that of the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _native
from ...changes import apply_changes, execute_change
from ...queries import Definition, Parameter
from ...statements import define, read_rows
from . import copy_in, copy_out
from .catalogue import Catalogue
from .classification import CHANGES, Step, planned
from .codes import Report, SqlStateError, report
from .copying import Copy
from .results import Answer, Results
from .settings import Settings
from .tokens import Piece, pieces
from .transactions import TransactionSession

if TYPE_CHECKING:
    import pyarrow as pa

    from ...database import Database

_ABORTED = "current transaction is aborted, commands ignored until end of transaction block"
# Kinds of statements that ROLLBACK undoes.
_UNDONE = (*CHANGES, "create_table", "create_view", "alter_table", "drop_table", "drop_view")
# A value of each type of parameter, to bind a query by that has none yet.
_NUMBERS: dict[int, Parameter] = {
    **dict.fromkeys((20, 21, 23, 26), 0),
    **dict.fromkeys((700, 701), 0.5),
    16: True,
}
_SAMPLES: dict[int, Parameter] = {**_NUMBERS, 25: "", 1043: ""}


class Session(TransactionSession):
    """A session of a client; calls are made by one thread at a time."""

    def __init__(
        self,
        db: Database,
        catalogue: Catalogue,
        settings: dict[str, str],
        user: str,
        writable: bool,
        limits: tuple[int, int],
    ) -> None:
        super().__init__(db)
        self._catalogue = catalogue
        self._settings = Settings(settings)
        self._user = user
        self._writable = writable
        # The most bytes and rows of a COPY from the client.
        self._limits = limits

    def prepare(self, sql: str) -> tuple[bool, bool, int, Report | None]:
        """Whether a statement gives rows, whether it changes some, how many parameters it has."""
        found = pieces(sql)
        if len(found) > 1:
            why = "cannot insert multiple commands into a prepared statement"
            return False, False, 0, ("42601", why, None, None)
        if not found:
            return False, False, 0, None
        try:
            step = planned(found[0], None)
        except SqlStateError as problem:
            return False, False, 0, problem.report
        return step.gives_rows, step.changes, found[0].parameters, None

    def describe(self, sql: str, oids: Sequence[int]) -> tuple[pa.Schema | None, Report | None]:
        """The columns of what gives rows; parameters have no values yet, so it is given some."""
        [piece] = pieces(sql)
        count = max(piece.parameters, len(oids))
        given = [*oids, *[0] * (count - len(oids))]
        failure: Report | None = None
        # Some places accept only some texts as values; NULL is accepted everywhere.
        for samples in (_SAMPLES, _NUMBERS):
            values = [samples.get(oid) for oid in given]
            try:
                return self._columns(planned(piece, values), values), None
            except (Exception, KeyboardInterrupt) as problem:
                failure = failure or report(problem, piece.text, piece.start)
        self.fail()
        return None, failure

    def _columns(self, step: Step, values: Sequence[object]) -> pa.Schema:
        import pyarrow as pa

        if step.kind == "fetch":
            return self._cursors.find(step.statement.name).rows.schema
        if step.changes:
            shown = self._seen._native.returning(step.statement)
        else:
            results = Results()
            self._query(step, values, results)
            shown = results.outcomes[0][2]
        return pa.RecordBatchReader.from_stream(shown).schema

    def cursor(self, name: str) -> tuple[pa.Schema | None, Report | None]:
        """The columns of a cursor of SQL."""
        try:
            return self._cursors.find(name).rows.schema, None
        except SqlStateError as problem:
            self.fail()
            return None, problem.report

    def run(self, sql: str, parameters: Sequence[object] | None) -> Answer:
        """Do the statements of a text; without parameters, a script, which is read whole first."""
        results, found = Results(), pieces(sql)
        if not found:
            results.outcomes.append(("empty",))
        failure: Report | None = None
        values = [] if parameters is None else parameters
        piece, together = Piece("", [], 0), False
        try:
            steps = []
            # Of several none is done before all are read; one alone is read as it is done.
            alone = len(found) == 1 and self._open is None
            for piece in found:
                steps.append(planned(piece, values, later=alone))
                _check_alone(steps[-1], found)
            # As in PostgreSQL, a script is one transaction, where all of it can be undone.
            together = self._open is None and _is_together(steps)
            if together:
                self._begin()
            for step in steps:
                piece = step.piece
                self._do(step, values, results)
            if together:
                self._commit()
        except (Exception, KeyboardInterrupt) as problem:
            failure = report(problem, piece.text, piece.start)
            if together:
                self._ended(False)
            self.fail()
        return results.answer(failure, self.status)

    def _do(self, step: Step, parameters: Sequence[object], results: Results) -> None:
        if step.kind in ("begin", "commit", "rollback"):
            self._bounded(step, results)
            return
        if step.kind == "rollback_to":
            self._back_to(step, results)
            return
        if self._failed:
            raise SqlStateError("25P02", _ABORTED)
        if step.kind in ("select", "catalogue", "show"):
            self._query(step, parameters, results)
        elif step.kind in ("declare", "fetch", "move", "close"):
            self._of_cursor(step, parameters, results)
        elif step.kind in ("savepoint", "release"):
            self._saves(step, results)
        elif step.kind == "copy":
            self._copy(step, results)
        elif step.kind == "set":
            results.settings += self._settings.set(step.piece)
            results.outcomes.append(("done", "SET"))
        elif step.kind in ("reset", "discard", "deallocate"):
            if step.kind != "deallocate":
                self._settings.reset(step.piece)
            if step.kind == "discard":
                self._cursors.close(None)
            results.outcomes.append(("done", step.tag))
        else:
            self._change(step, results)

    def _query(self, step: Step, parameters: Sequence[object], results: Results) -> None:
        rows: Any
        if step.kind == "catalogue" or self._is_of_nothing(step):
            settings, cursors = self._settings.all(), self._cursors.shown()
            rows = self._catalogue.query(step.piece, parameters, self._user, settings, cursors)
        elif step.kind == "show":
            rows = self._shown(step.piece)
        else:
            rows = self._selected(step, parameters)
        results.outcomes.append(("rows", "SHOW" if step.kind == "show" else "SELECT", rows))

    def _of_cursor(self, step: Step, parameters: Sequence[object], results: Results) -> None:
        """DECLARE, FETCH, MOVE, CLOSE."""
        if step.kind == "declare":
            of, query = step.statement
            rows, text = self._rows_of(query, parameters), step.piece.text
            self._cursors.declare(of, rows, self._open is not None, text)
        elif step.kind == "close":
            self._cursors.close(step.statement)
        else:
            name, how, count = step.statement
            rows = self._cursors.find(name).move(how, count)
            if step.kind == "fetch":
                results.outcomes.append(("rows", "FETCH", rows))
                return
            results.outcomes.append(("done", f"MOVE {rows.num_rows}"))
            return
        results.outcomes.append(("done", step.tag))

    def _rows_of(self, query: Step, parameters: Sequence[object]) -> pa.Table:
        """The rows of a query, in memory."""
        within, piece = Results(), query.piece
        try:
            self._query(query, parameters, within)
        except Exception as problem:
            # Its place is that in the whole text, if it has one there.
            code, what, hint, position = report(problem, piece.text, piece.start)
            place = position if position is not None and position > 0 else None
            raise SqlStateError(code, what, hint, place) from problem
        return read_rows(within.outcomes[0][2])

    def _is_of_nothing(self, step: Step) -> bool:
        """Whether it selects constants where there is no table, as clients do to say hello."""
        return step.kind == "select" and "from" not in step.piece.words and not self._db.tables

    def _selected(self, step: Step, parameters: Sequence[Any]) -> _native.Rows:
        """The rows of a query: those of `Database.sql`, or behind the transaction's changes."""
        if self._open is not None:
            return self._open.select(step.statement)
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

    def _copy(self, step: Step, results: Results) -> None:
        copy: Copy = step.statement
        if copy.into is not None:
            self._check_writable("COPY FROM")
            seen = self._seen
            table, schema = copy_in.target(copy, seen.tables, seen.views)
            sink = copy_in.Sink(self, table, schema.names)
            format = copy.format.of(schema.names)
            results.outcomes.append(("copy_in", schema, format, self._limits, sink))
            return
        source: copy_out.Subscription | copy_out.Once
        if copy.query is None:
            schema, source = copy_out.subscribe(copy, self._db.views)
        else:
            rows = self._copied(copy.query)
            schema, source = rows.schema, copy_out.Once(rows)
        results.outcomes.append(("copy", schema, copy.format.of(schema.names), source))

    def _copied(self, piece: Piece) -> pa.Table:
        """The rows of a query that are copied out."""
        asked = planned(piece, [])
        if not asked.asks:
            raise SqlStateError("0A000", f"{asked.tag} gives no rows to copy")
        return self._rows_of(asked, [])

    def take(self, table: str, columns: list[str], rows: _native.Rows) -> Answer:
        """Insert the rows of a COPY, in the transaction that is open if one is."""
        results, failure = Results(), None
        try:
            taken = self._seen._native.copied(table, columns, rows)
            if self._open is not None:
                self._open.insert(table, taken)
            else:
                apply_changes(self._db._native, [(table, 1, taken, None)])
            results.outcomes.append(("done", f"COPY {len(taken)}"))
        except (Exception, KeyboardInterrupt) as problem:
            failure = report(problem)
            self.fail()
        return results.answer(failure, self.status)

    def _check_writable(self, what: str) -> None:
        if not self._writable:
            raise SqlStateError(
                "25006",
                f"cannot execute {what} in a read-only transaction",
                "the server was started to be read alone; PostgresServer(.., writable=True) is not",
            )

    def _change(self, step: Step, results: Results) -> None:
        self._check_writable(step.tag)
        if step.statement is None:
            raise SqlStateError(
                "0A000", f"{step.tag} is not done here", position=step.piece.start + 1
            )
        if step.kind in CHANGES:
            if self._open is not None:
                count, rows = self._open.changed(step.statement)
            else:
                count, rows = execute_change(self._db._native, step.statement)
            oid = " 0" if step.kind == "insert" else ""
            if rows is not None:
                results.outcomes.append(("rows", f"{step.tag}{oid}", rows))
                return
            counted = "" if step.tag == "TRUNCATE TABLE" else f"{oid} {count}"
            results.outcomes.append(("done", f"{step.tag}{counted}"))
            return
        if self._open is not None:
            made = self._open.define(step.statement)
        else:
            made = define(self._db._native, step.statement)
        tag = step.tag if made is None else f"SELECT {made}"
        results.outcomes.append(("done", tag))

    def __repr__(self) -> str:
        return f"Session({self._user!r}, {self.status})"


def _is_together(steps: Sequence[Step]) -> bool:
    """Whether the statements of a script are one transaction of themselves."""
    done = sum(step.kind in _UNDONE for step in steps)
    return done > 1 and all(step.kind in (*_UNDONE, "select") for step in steps)


def _check_alone(step: Step, found: Sequence[Piece]) -> None:
    """That what waits for rows of the client is no statement among others."""
    if len(found) > 1 and step.kind == "copy" and step.statement.into is not None:
        raise SqlStateError(
            "0A000",
            "COPY .. FROM STDIN stands in a text of its own; send the others before or after it",
            position=step.piece.start + 1,
        )
