"""Tokens of a text of SQL, and the statements that it has.

Invariant: joined, the tokens are the text without its comments and blanks; a `;` in a string ends
no statement. Any character that begins no token of PostgreSQL's is a token itself. Cost: linear in
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
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


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


def literal(token: Token) -> str:
    r"""The text that a token says: of a string its characters, of a name or word itself.

    >>> [literal(token) for token in tokens(r"'it''s' E'\t' $$a$$ Word")]
    ["it's", '\t', 'a', 'Word']
    """
    text = token.text
    if token.kind == "name":
        return token.named
    if token.kind != "text":
        return text
    if text[0] == "$":
        mark = text.index("$", 1) + 1
        return text[mark:-mark]
    quote = text.index("'")
    inner = text[quote + 1 : -1].replace("''", "'")
    return _ESCAPE.sub(_escaped, inner) if text[0] in "eE" else inner


def _escaped(found: re.Match[str]) -> str:
    said = found[1]
    if said[0] == "x" and len(said) > 1:
        return chr(int(said[1:], 16))
    if said[0] in "01234567":
        return chr(int(said, 8) & 255)
    return _CONTROLS.get(said, said)


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
