"""Cursors of SQL: DECLARE, FETCH, MOVE, CLOSE.

Invariant: the rows of a cursor are those of the moment at which it was declared, whatever changes
then. One that is not held ends with its transaction; a rollback drops one that its transaction
declared. Cost: memory for its rows until it is closed; O(rows) of a FETCH.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .codes import SqlStateError
from .tokens import Piece, Token

if TYPE_CHECKING:
    import pyarrow as pa

_DIRECTIONS = "NEXT, PRIOR, FIRST, LAST, ABSOLUTE n, RELATIVE n, FORWARD n, BACKWARD n, n or ALL"


class Declared(NamedTuple):
    """Content of a DECLARE."""

    name: str
    # None where neither SCROLL nor NO SCROLL is said, which is as SCROLL.
    scrolls: bool | None
    holds: bool
    query: Piece


class Fetch(NamedTuple):
    """Content of a FETCH or a MOVE: the cursor, the direction, the count; None for all rows."""

    name: str
    how: str
    far: int | None


def declared(piece: Piece) -> Declared:
    """Read a DECLARE.

    >>> from ringview.serve.postgres.tokens import pieces
    >>> [piece] = pieces('DECLARE "C" NO SCROLL CURSOR WITH HOLD FOR SELECT 1')
    >>> of = declared(piece)
    >>> of.name, of.scrolls, of.holds, of.query.text
    ('C', False, True, 'SELECT 1')
    """
    words = piece.words
    at = words.index("for") if "for" in words else len(words)
    said, query = words[2:at], piece.tokens[at + 1 :]
    if "cursor" not in said or not query:
        raise _wrong(piece, "DECLARE name [NO] SCROLL CURSOR [WITH HOLD] FOR query")
    cursor = said.index("cursor")
    before, behind = said[:cursor], said[cursor + 1 :]
    if "binary" in before:
        raise SqlStateError(
            "0A000",
            "BINARY cursors are not supported; a driver asks for rows in the binary format itself",
            position=piece.start + 1,
        )
    kept = [word for word in before if word not in ("insensitive", "asensitive")]
    scrolls = {(): None, ("scroll",): True, ("no", "scroll"): False}
    holds = {(): False, ("with", "hold"): True, ("without", "hold"): False}
    if tuple(kept) not in scrolls or tuple(behind) not in holds:
        raise _wrong(piece, "DECLARE name [NO] SCROLL CURSOR [WITH HOLD] FOR query")
    start = query[0].start
    inner = Piece(piece.text[start - piece.start :], query, start)
    return Declared(piece.tokens[1].named, scrolls[tuple(kept)], holds[tuple(behind)], inner)


def fetch(piece: Piece) -> Fetch:
    """Read a FETCH or a MOVE.

    >>> from ringview.serve.postgres.tokens import pieces
    >>> [fetch(piece) for piece in pieces("FETCH c; MOVE BACKWARD ALL IN c; FETCH -2 FROM c")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [Fetch(name='c', how='forward', far=1), Fetch(name='c', how='backward', far=None),
     Fetch(name='c', how='backward', far=2)]
    """
    *said, name = piece.tokens
    said = said[1:]
    if said and said[-1].word in ("from", "in"):
        said = said[:-1]
    if len(piece.tokens) == 1 or name.kind not in ("word", "name"):
        raise _wrong(piece, f"{piece.words[0].upper()} [{_DIRECTIONS}] FROM name")
    words = [token.word for token in said]
    how = words.pop(0) if words and words[0].isalpha() and words[0] != "all" else ""
    count = _count(piece, words)
    if how in ("next", "prior", "first", "last") and not words:
        named = {"next": ("forward", 1), "prior": ("backward", 1), "first": ("absolute", 1)}
        return Fetch(name.named, *named.get(how, ("absolute", -1)))
    if how in ("absolute", "relative") and count is not None and words:
        return Fetch(name.named, how, count)
    if how not in ("", "forward", "backward"):
        raise _wrong(piece, f"{piece.words[0].upper()} [{_DIRECTIONS}] FROM name")
    back = (how == "backward") != (count is not None and count < 0)
    far = None if count is None else abs(count)
    return Fetch(name.named, "backward" if back else "forward", far)


def _count(piece: Piece, words: list[str]) -> int | None:
    """The number of rows; one where none is given, None for all."""
    if words == ["all"]:
        return None
    text = "".join(words) or "1"
    if not text.lstrip("+-").isdecimal():
        raise _wrong(piece, f"{piece.words[0].upper()} [{_DIRECTIONS}] FROM name")
    return int(text)


def _wrong(piece: Piece, form: str) -> SqlStateError:
    return SqlStateError("42601", f"write {form}", position=piece.start + 1)


@dataclass
class Cursor:
    """Rows, and a place among them: 0 before the first one, one more than there are behind all.

    >>> import pyarrow as pa
    >>> cursor = Cursor(pa.table({"a": [1, 2, 3]}), None, False, "")
    >>> cursor.move("forward", 2).to_pydict(), cursor.move("forward", None).to_pydict()
    ({'a': [1, 2]}, {'a': [3]})
    >>> cursor.move("backward", 2).to_pydict()
    {'a': [3, 2]}
    """

    rows: pa.Table
    scrolls: bool | None
    holds: bool
    statement: str
    # Whether the transaction that declared it is still open.
    is_new: bool = False
    at: int = 0

    def move(self, how: str, count: int | None) -> pa.Table:
        """Move by rows; returns the rows that are passed, in the order in which they are."""
        import pyarrow as pa

        last = self.rows.num_rows
        end = last + 1
        if how in ("absolute", "relative"):
            base = self.at if how == "relative" else 0
            to = base + (count or 0)
            if how == "absolute" and to < 0:
                to += end
            self._go(min(max(to, 0), end))
            return self._row()
        if count == 0:
            return self._row()
        if how == "forward":
            start = min(self.at, last)
            self._go(end if count is None else min(self.at + count, end))
            return self.rows.slice(start, min(self.at, last) - start)
        start = self.at - 1
        self._go(0 if count is None else max(self.at - count, 0))
        places = range(min(start, last), max(self.at - 1, 0), -1)
        return self.rows.take(pa.array([place - 1 for place in places], pa.int64()))

    def _row(self) -> pa.Table:
        """The row at which it is."""
        is_row = 1 <= self.at <= self.rows.num_rows
        return self.rows.slice(self.at - 1, 1) if is_row else self.rows.slice(0, 0)

    def _go(self, to: int) -> None:
        if to < self.at and self.scrolls is False:
            raise SqlStateError(
                "55000", "cursor can only scan forward", "declare it with SCROLL to go back"
            )
        self.at = to


@dataclass
class Cursors:
    """Those of a session, by their names."""

    held: dict[str, Cursor] = field(default_factory=dict)

    def declare(self, of: Declared, rows: pa.Table, in_transaction: bool, text: str) -> None:
        """Begin one with its rows."""
        if of.name in self.held:
            raise SqlStateError("42P03", f'cursor "{of.name}" already exists')
        if not (in_transaction or of.holds):
            raise SqlStateError(
                "25P01",
                "DECLARE CURSOR can only be used in transaction blocks",
                "BEGIN first, or declare it WITH HOLD",
            )
        self.held[of.name] = Cursor(rows, of.scrolls, of.holds, text, in_transaction)

    def find(self, name: str) -> Cursor:
        """The one of a name; raises SqlStateError where there is none."""
        found = self.held.get(name)
        if found is None:
            raise SqlStateError("34000", f'cursor "{name}" does not exist')
        return found

    def close(self, name: str | None) -> None:
        """End one, or all."""
        if name is None:
            self.held.clear()
        else:
            self.find(name)
            del self.held[name]

    def end(self, committed: bool) -> None:
        """A transaction ended."""
        kept = {
            name: cursor
            for name, cursor in self.held.items()
            if cursor.holds and (committed or not cursor.is_new)
        }
        for cursor in kept.values():
            cursor.is_new = False
        self.held = kept

    def keep(self, names: set[str]) -> None:
        """Of those that the transaction declared only some are left."""
        self.held = {
            name: cursor for name, cursor in self.held.items() if not cursor.is_new or name in names
        }

    def shown(self) -> list[tuple[str, str, bool, bool]]:
        """Names, texts, and whether they hold and scroll, as `pg_cursors` has them."""
        return [
            (name, cursor.statement, cursor.holds, cursor.scrolls is not False)
            for name, cursor in self.held.items()
        ]


def named(tokens: list[Token]) -> str | None:
    """The cursor that a CLOSE names; None for ALL."""
    name = tokens[-1]
    return None if name.word == "all" and name.kind == "word" else name.named
