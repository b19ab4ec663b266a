"""Tokens of a text of SQL, and the statements that it has.

Invariant: joined, the tokens are the text without its comments and blanks; a `;` in a string ends
no statement. Whatever is no token of PostgreSQL's is one of a single character. Cost: linear in
the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
  | (?P<text>[eE]'(?:[^'\\]|\\.|'')*'|[nN]?'(?:[^']|'')*'|\$(?P<tag>[A-Za-z_]?\w*)\$.*?\$(?P=tag)\$)
  | (?P<name>"(?:[^"]|"")*")
  | (?P<parameter>\$\d+)
  | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<sign>::|!~~\*?|~~\*?|!~\*?|~\*|<=|>=|<>|!=|\|\||=>|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token: its kind, its text, and the place of its first character in the whole text."""

    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """A word in lower case; of anything else, its text."""
        return self.text.lower() if self.kind == "word" else self.text

    @property
    def named(self) -> str:
        """The name that it is: without quotes, or in lower case."""
        if self.kind == "name":
            return self.text[1:-1].replace('""', '"')
        return self.word


@dataclass(frozen=True)
class Piece:
    """One statement of a script: its text, its tokens, and where it begins."""

    text: str
    tokens: list[Token]
    start: int

    @property
    def words(self) -> list[str]:
        """Its tokens, words in lower case."""
        return [token.word for token in self.tokens]

    @property
    def parameters(self) -> int:
        """The highest number of its parameters."""
        numbers = [int(t.text[1:]) for t in self.tokens if t.kind == "parameter"]
        return max(numbers, default=0)


def tokens(sql: str) -> list[Token]:
    """The tokens of a text.

    >>> [token.text for token in tokens("SELECT 'a;b' -- one")]
    ['SELECT', "'a;b'"]
    """
    found = []
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup or "sign"
        kind = "text" if kind == "tag" else kind
        if kind != "blank":
            found.append(Token(kind, match.group(), match.start()))
    return found


def pieces(sql: str) -> list[Piece]:
    """The statements of a script, without those that are empty.

    >>> [piece.text for piece in pieces("BEGIN; SELECT ';' ;; ")]
    ['BEGIN', "SELECT ';'"]
    """
    found: list[Piece] = []
    part: list[Token] = []
    for token in [*tokens(sql), Token("sign", ";", len(sql))]:
        if token.text != ";":
            part.append(token)
        elif part:
            start, last = part[0].start, part[-1]
            text = sql[start : last.start + len(last.text)]
            found.append(Piece(text, part, start))
            part = []
    return found
