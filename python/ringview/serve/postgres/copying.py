"""Content of a COPY: its source, its direction, its format.

Invariant: all of it is read before any row is; what is not copied is refused with what is. Cost:
linear in the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from .codes import SqlStateError
from .copy_format import Format, format_of, read_options, truth
from .tokens import Piece, Token, literal, pieces

_FORMS = (
    "COPY table [(columns)] FROM STDIN, COPY table TO STDOUT, COPY (SELECT ..) TO STDOUT or "
    "COPY (SUBSCRIBE view) TO STDOUT"
)

# Start of a text whose places are none of the whole text.
_NOWHERE = -(1 << 40)


@dataclass(frozen=True)
class Copy:
    """A COPY out, of the rows of a query or the changes of a view; or into a table."""

    format: Format
    query: Piece | None = None
    # The view that is subscribed to, and whether its rows are sent first.
    view: str | None = None
    snapshot: bool = True
    # The table that receives the rows, and its columns; all of them where absent.
    into: str | None = None
    columns: tuple[str, ...] | None = None


def read(piece: Piece) -> Copy:
    """Read a COPY; raises SqlStateError for what is not copied.

    >>> from ringview.serve.postgres.tokens import pieces
    >>> copy = read(pieces("COPY (SUBSCRIBE v WITH (SNAPSHOT false)) TO STDOUT")[0])
    >>> copy.view, copy.snapshot
    ('v', False)
    >>> copy = read(pieces("COPY r (a, b) FROM STDIN (FORMAT csv)")[0])
    >>> copy.into, copy.columns, copy.format.kind
    ('r', ('a', 'b'), 'csv')
    """
    tokens = piece.tokens[1:]
    if tokens and tokens[0].word == "binary":
        tokens = [*tokens[1:], tokens[0]]
    end = _end(tokens)
    source, rest = tokens[:end], tokens[end:]
    words = [token.word for token in rest[:2]]
    if words == ["from", "stdin"]:
        return _into(piece, source, rest[2:])
    if words[:1] == ["from"]:
        raise _refused(piece, "rows come from STDIN alone; the server reads no files")
    if words != ["to", "stdout"]:
        raise _refused(piece, "rows go to STDOUT alone; the server writes no files")
    options = read_options(piece, rest[2:])
    if source[0].text != "(":
        names, columns = _columns(piece, source)
        return Copy(format_of(piece, options), query=_selected(piece, names, columns))
    inner = source[1:-1]
    if not inner or inner[0].word != "subscribe":
        query = Piece(_text(piece, inner), inner, inner[0].start)
        return Copy(format_of(piece, options), query=query)
    named = [token for token in inner[1:] if token.word != "to"]
    at = next((i for i, t in enumerate(named) if t.word in ("with", "(")), len(named))
    for option, value in read_options(piece, named[at:]).items():
        options.setdefault(option, value)
    snapshot = options.pop("snapshot", None)
    name = [token.named for token in named[:at] if token.text != "."]
    if not 1 <= len(name) <= 2:
        raise _refused(piece, "SUBSCRIBE takes the name of a view")
    first = snapshot is None or truth(piece, "SNAPSHOT", literal(snapshot[0]))
    return Copy(format_of(piece, options), view=name[-1], snapshot=first)


def _selected(piece: Piece, names: list[Token], columns: list[Token] | None) -> Piece:
    """The query of the rows of a table or view, with its name where that is in the text."""
    before = "SELECT " + ("*" if columns is None else _text(piece, columns)) + " FROM "
    [query] = pieces(before + _text(piece, names))
    start = names[0].start - len(before) if columns is None else _NOWHERE
    return Piece(query.text, query.tokens, start)


def _into(piece: Piece, source: list[Token], rest: list[Token]) -> Copy:
    if any(token.word == "where" for token in rest):
        raise _refused(piece, "COPY .. FROM takes all rows that it is sent, and no WHERE")
    names, columns = _columns(piece, source)
    name = [token.named for token in names if token.text != "."]
    if not 1 <= len(name) <= 2 or names[0].text == "(":
        raise _refused(piece, "rows are copied into a table")
    given = None
    if columns is not None:
        given = tuple(token.named for token in columns if token.text != ",")
    options = format_of(piece, read_options(piece, rest))
    return Copy(options, into=name[-1], columns=given)


def _columns(piece: Piece, source: list[Token]) -> tuple[list[Token], list[Token] | None]:
    """The name of a table, and the columns behind it."""
    opening = next((i for i, token in enumerate(source) if token.text == "("), None)
    if not opening:
        return source, None
    if len(source) < opening + 3:
        raise _refused(piece, "the columns are named in brackets")
    return source[:opening], source[opening + 1 : -1]


def _end(tokens: list[Token]) -> int:
    """End of the source: the index of TO or FROM."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.word in ("to", "from") and at > 0:
            return at
    return len(tokens)


def _refused(piece: Piece, why: str) -> SqlStateError:
    return SqlStateError("0A000", f"{why}; there is {_FORMS}", position=piece.start + 1)


def _text(piece: Piece, tokens: list[Token]) -> str:
    if not tokens:
        raise _refused(piece, "nothing is said to be copied")
    last = tokens[-1]
    start = tokens[0].start - piece.start
    return piece.text[start : last.start - piece.start + len(last.text)]
