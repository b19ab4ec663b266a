"""Classification of statements by their first words; the rest is read where it is done.

Invariant: no statement of a text is done before all are read, so that one that is none does
nothing. Cost: that of reading it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import _native
from ...errors import RingviewError
from .codes import SqlStateError, report
from .copying import read
from .cursors import declared, fetch, named
from .rewriting import is_of_catalogue
from .tokens import Piece

CHANGES = ("insert", "update", "delete")
_ROWS = ("select", "catalogue", "show", "fetch")
# Kind of a statement by its first word, and the command tag.
_BY_WORD: dict[str, tuple[str, str]] = {
    "begin": ("begin", "BEGIN"),
    "start": ("begin", "START TRANSACTION"),
    "commit": ("commit", "COMMIT"),
    "end": ("commit", "COMMIT"),
    "rollback": ("rollback", "ROLLBACK"),
    "abort": ("rollback", "ROLLBACK"),
    "set": ("set", "SET"),
    "reset": ("reset", "RESET"),
    "show": ("show", "SHOW"),
    "discard": ("discard", "DISCARD ALL"),
    "deallocate": ("deallocate", "DEALLOCATE"),
    "savepoint": ("savepoint", "SAVEPOINT"),
    "release": ("release", "RELEASE"),
}
_REFUSED: dict[str, str] = {
    "listen": "COPY (SUBSCRIBE view) TO STDOUT is told of each change",
    "notify": "COPY (SUBSCRIBE view) TO STDOUT is told of each change",
    "subscribe": "write COPY (SUBSCRIBE view) TO STDOUT",
    "explain": "View.explain() in Python tells how a view is kept",
    "prepare": "prepare statements by the extended protocol, as drivers do",
    "execute": "prepare statements by the extended protocol, as drivers do",
}


_CURSORS = ("declare", "fetch", "move", "close")


@dataclass(frozen=True)
class Step:
    """A statement: its kind, its command tag without numbers, and what was read of it."""

    piece: Piece
    kind: str
    tag: str
    statement: Any = None
    # The text as the database takes it.
    text: str = ""

    @property
    def asks(self) -> bool:
        """Whether it gives rows, and changes nothing."""
        return self.kind in _ROWS

    @property
    def changes(self) -> bool:
        """Whether it changes rows."""
        return self.kind in CHANGES

    @property
    def gives_rows(self) -> bool:
        """Whether it gives rows: a query, or a change that shows some."""
        return self.asks or (self.changes and "returning" in self.piece.words)


def planned(piece: Piece, parameters: Sequence[Any] | None, *, later: bool = False) -> Step:
    """Read a statement; None for parameters that have no values yet.

    A query that is read `later`, by the caller, is not read here.

    >>> from ringview.serve.postgres.tokens import pieces
    >>> planned(pieces("START TRANSACTION READ ONLY")[0], []).tag
    'START TRANSACTION'
    """
    words = piece.words
    first = words[0]
    if first == "rollback" and "to" in words:
        return Step(piece, "rollback_to", "ROLLBACK")
    if first == "copy":
        return Step(piece, "copy", "COPY", read(piece))
    if first in _CURSORS:
        return _of_cursor(piece, parameters, later)
    if first in _BY_WORD:
        return Step(piece, *_BY_WORD[first])
    if first in _REFUSED:
        why = f"{first.upper()} is not supported: {_REFUSED[first]}"
        raise SqlStateError("0A000", why, position=piece.start + 1)
    if first in ("select", "with", "values", "table", "("):
        if is_of_catalogue(piece):
            return Step(piece, "catalogue", "SELECT")
        if later or (parameters is None and piece.parameters):
            return Step(piece, "select", "SELECT", None, _text(piece))
    elif parameters is None and piece.parameters:
        return Step(piece, first, first.upper())
    text = _text(piece)
    try:
        [statement] = _native.script(text, "postgres", parameters)
    except RingviewError as problem:
        raise SqlStateError(*report(problem, piece.text, piece.start)) from problem
    tag = " ".join(words[:2]).upper().replace("CREATE OR", "CREATE")
    if statement.kind == "select":
        tag = "SELECT"
    elif first == "truncate":
        tag = "TRUNCATE TABLE"
    elif statement.kind in CHANGES:
        tag = statement.kind.upper()
    else:
        tag = statement.kind.replace("_", " ").upper()
    return Step(piece, statement.kind, tag, statement, text)


def _of_cursor(piece: Piece, parameters: Sequence[Any] | None, later: bool) -> Step:
    """DECLARE, with its query as a step; FETCH, MOVE, CLOSE."""
    first = piece.words[0]
    if first == "declare":
        of = declared(piece)
        query = planned(of.query, parameters, later=later)
        if query.kind not in ("select", "catalogue"):
            raise SqlStateError(
                "42P11", "a cursor has the rows of a query", position=of.query.start + 1
            )
        return Step(piece, first, "DECLARE CURSOR", (of, query))
    if first == "close":
        name = named(piece.tokens)
        return Step(piece, first, "CLOSE CURSOR" + (" ALL" if name is None else ""), name)
    return Step(piece, first, first.upper(), fetch(piece))


def _text(piece: Piece) -> str:
    """A statement as the database takes it: without TABLE."""
    is_table = piece.words[0] == "table"
    return f"SELECT * FROM {piece.text[5:]}" if is_table else piece.text
