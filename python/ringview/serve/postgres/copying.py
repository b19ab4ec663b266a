"""COPY .. TO STDOUT: what it copies, and the sources that it is read from.

Invariant: a subscription is given each change of its view once, in the order of commits, and in
all what the view has; changes between two reads are one, so what is kept for a client that is
slow is at most the rows of the view, twice. Cost: of a look, the groups that moved since the last
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import RingviewError, UnknownViewError
from ...statements import spelt
from .codes import Report, SqlStateError, report
from .tokens import Piece, Token

if TYPE_CHECKING:
    import pyarrow as pa

    from ...follower import Follower
    from ...view import View

_FORM = "COPY (SUBSCRIBE view) TO STDOUT, COPY (SELECT ..) TO STDOUT or COPY table TO STDOUT"
_TRUTHS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


@dataclass(frozen=True)
class Copy:
    """What is copied out: the rows of a query, or the changes of a view, its rows first or not."""

    query: str | None
    view: str | None
    snapshot: bool


def read(piece: Piece) -> Copy:
    """Read a COPY; raises SqlStateError for what is not copied.

    >>> from ringview.serve.postgres.tokens import pieces
    >>> read(pieces("COPY (SUBSCRIBE v WITH (SNAPSHOT false)) TO STDOUT")[0])
    Copy(query=None, view='v', snapshot=False)
    """
    tokens = piece.tokens[1:]
    end = _end(tokens)
    source, rest = tokens[:end], tokens[end:]
    if [token.word for token in rest[:2]] != ["to", "stdout"]:
        raise _refused(piece, "COPY .. FROM is not taken; INSERT the rows")
    options = _options(piece, rest[2:])
    if source[0].text != "(":
        columns, names = "*", source
        opening = next((i for i, token in enumerate(source) if token.text == "("), None)
        if opening is not None:
            names = source[:opening]
            columns = _text(piece, source[opening + 1 : -1])
        _only(piece, options, {"format"})
        return Copy(f"SELECT {columns} FROM {_text(piece, names)}", None, True)
    inner = source[1:-1]
    if not inner or inner[0].word != "subscribe":
        _only(piece, options, {"format"})
        return Copy(_text(piece, inner), None, True)
    named = [token for token in inner[1:] if token.word != "to"]
    at = next((i for i, t in enumerate(named) if t.word in ("with", "(")), len(named))
    options = {**options, **_options(piece, named[at:])}
    _only(piece, options, {"format", "snapshot"})
    name = [token.named for token in named[:at] if token.text != "."]
    if not 1 <= len(name) <= 2:
        raise _refused(piece, "SUBSCRIBE takes the name of a view")
    snapshot = _TRUTHS.get(options.get("snapshot", "true"))
    if snapshot is None:
        raise _refused(piece, "SNAPSHOT is true or false")
    return Copy(None, name[-1], snapshot)


def _end(tokens: list[Token]) -> int:
    """Where the source ends and TO begins."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.word in ("to", "from") and at > 0:
            return at
    return len(tokens)


def _options(piece: Piece, tokens: list[Token]) -> dict[str, str]:
    words = [
        token for token in tokens if token.word not in ("with", "(", ")", ",", "=", "as", "of")
    ]
    if len(words) == 1:
        words = [Token("word", "format", words[0].start), words[0]]
    if len(words) % 2:
        raise _refused(piece, "an option is a name and a value")
    pairs = zip(words[::2], words[1::2], strict=True)
    return {name.word: value.text.strip("'").lower() for name, value in pairs}


def _only(piece: Piece, options: dict[str, str], known: set[str]) -> None:
    for name in options:
        if name not in known:
            raise _refused(piece, f"no option {name.upper()} is taken here")
    if options.get("format", "text") != "text":
        raise _refused(piece, "the format is text, no other")


def _refused(piece: Piece, why: str) -> SqlStateError:
    return SqlStateError("0A000", f"{why}; there is {_FORM}", position=piece.start + 1)


def _text(piece: Piece, tokens: list[Token]) -> str:
    if not tokens:
        raise _refused(piece, "nothing is said to be copied")
    last = tokens[-1]
    start = tokens[0].start - piece.start
    return piece.text[start : last.start - piece.start + len(last.text)]


class Once:
    """A source of rows that are there already."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows: pa.Table | None = rows

    def next(self) -> tuple[pa.Table | None, Report | None]:
        """The rows, and then nothing."""
        rows, self._rows = self._rows, None
        return rows, None

    def close(self) -> None:
        """Forget them."""
        self._rows = None

    def __repr__(self) -> str:
        return "Once()"


class Subscription:
    """A source of the changes of a view: their multiplicities, and the columns of the view."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def next(self) -> tuple[pa.Table | None, Report | None]:
        """What moved since the last look, waited for; nothing where the view is dropped."""
        try:
            found = self._follower.poll(timeout=None)
            return None if found is None else ordered(found), None
        except UnknownViewError:
            return None, None
        except RingviewError as problem:
            return None, None if self._follower.closed else report(problem)
        except KeyboardInterrupt as problem:
            return None, report(problem)

    def close(self) -> None:
        """Follow no longer."""
        self._follower.close()

    def __repr__(self) -> str:
        return f"Subscription({self._follower!r})"


def subscribe(copy: Copy, views: Mapping[str, View]) -> tuple[pa.Schema, Subscription]:
    """Follow the view of a COPY; its columns, and the source."""
    import pyarrow as pa

    name = spelt(copy.view or "", views)
    if name is None:
        known = ", ".join(views) or "none"
        raise SqlStateError(
            "42P01",
            f"no view {copy.view!r} to subscribe to; known: {known}",
            "of a table, subscribe to a view: CREATE VIEW v AS SELECT * FROM t",
        )
    view = views[name]
    schema = pa.schema([pa.field("multiplicity", pa.int64(), nullable=False), *view.schema])
    return schema, Subscription(view.follow(initial=copy.snapshot))


def ordered(changes: pa.Table) -> pa.Table:
    """Changes with their multiplicities, which come last, in the first column."""
    columns = changes.num_columns
    moved: pa.Table = changes.select([columns - 1, *range(columns - 1)])
    return moved
