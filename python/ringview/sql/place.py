"""Where in the text of a query something stands, and how to say so.

Invariant: every refusal of a query names a line, a column and shows that line of the text
with a mark under the place, so a user never has to guess which part was meant.
Cost: O(size of the query) for a message; nothing before one is needed.
"""

from __future__ import annotations

from bisect import bisect_left
from difflib import get_close_matches
from typing import NoReturn

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError

from ..errors import QueryError, RingviewError, UnsupportedError

DIALECT = "duckdb"
_KEYWORDS: dict[type[exp.Expr], TokenType] = {
    exp.Select: TokenType.SELECT,
    exp.Case: TokenType.CASE,
}


_WORDS = (
    *("SELECT", "DISTINCT", "FROM", "NATURAL", "INNER", "CROSS", "JOIN", "USING", "WHERE"),
    *("GROUP", "HAVING", "BETWEEN", "AND", "LIKE", "NULL"),
)


def _near(word: str) -> list[str]:
    """The keyword that `word` looks like, but is not."""
    near = get_close_matches(word.upper(), _WORDS, n=1, cutoff=0.7)
    return [found for found in near if found != word.upper()]


class Text:
    """The text of one query: its tokens, its tree and its places.

    >>> Text("SELECT COUNT(*) FROM r").tree().sql()
    'SELECT COUNT(*) FROM r'
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._dialect = sqlglot.Dialect.get_or_raise(DIALECT)
        try:
            self._tokens: list[Token] = self._dialect.tokenize(text)
        except TokenError as error:
            raise QueryError(
                f"the text cannot be read as SQL ({error}); is a quote or a comment left open?"
            ) from None
        self._starts = [token.start for token in self._tokens]

    def __repr__(self) -> str:
        return f"Text({self.text!r})"

    def tree(self) -> exp.Expr:
        """The one statement of the text; raises QueryError with the place of a syntax error."""
        try:
            statements = self._dialect.parser().parse(self._tokens, self.text)
        except ParseError as error:
            self._syntax(error)
        found = [statement for statement in statements if statement is not None]
        if not found:
            raise QueryError("the text of the view is empty; write SELECT .. FROM ..")
        if len(found) > 1:
            self.refuse(
                found[1], "a view is one statement, this is a second", "make a view of each"
            )
        tree = found[0]
        assert isinstance(tree, exp.Expr)
        return tree

    def refuse(self, node: exp.Expr, what: str, instead: str = "") -> NoReturn:
        """Say that `node` cannot be maintained, where it stands, and what to do instead."""
        self.fail(node, what, instead, UnsupportedError)

    def fail(
        self,
        node: exp.Expr,
        what: str,
        instead: str = "",
        error: type[RingviewError] = QueryError,
    ) -> NoReturn:
        """Raise `error` with the place of `node` in front and its line of the text below."""
        raise error(self.message(self.start(node), what, instead))

    def message(self, offset: int, what: str, instead: str = "") -> str:
        """`line 1, column 8: what; instead`, then the line and a mark under the place.

        >>> print(Text("SELECT x FROM r").message(7, "no column 'x'"))
        line 1, column 8: no column 'x'
            SELECT x FROM r
                   ^
        """
        line = self.text.count("\n", 0, offset) + 1
        begin = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        excerpt = self.text[begin : end if end >= 0 else None].rstrip()
        indent = "".join(c if c == "\t" else " " for c in self.text[begin:offset])
        tail = f"; {instead}" if instead else ""
        return (
            f"line {line}, column {offset - begin + 1}: {what}{tail}\n    {excerpt}\n    {indent}^"
        )

    def misspelt(self, offset: int) -> str:
        """What to say of the first word from `offset` on if it looks like a keyword, else ''."""
        at = self._token_at(offset)
        words = [t for t in self._tokens[at : at + 1] if t.token_type == TokenType.VAR]
        near = [found for word in words for found in _near(word.text)]
        return f"did you mean {near[0]}?" if near else ""

    def start(self, node: exp.Expr) -> int:
        """Offset of the first character of `node` (of its nearest parent that has a place)."""
        here: exp.Expr | None = node
        while here is not None:
            own = self._own(here)
            if own is not None:
                return own
            starts = [start for part in here.walk() if (start := self._own(part)) is not None]
            if starts:
                return min(starts)
            here = here.parent
        return 0

    def after_comma(self, node: exp.Expr) -> bool:
        """Whether a comma stands before `node`: what tells `FROM a, b` from `FROM a JOIN b`."""
        at = self._token_at(self.start(node)) - 1
        while at >= 0 and self._tokens[at].token_type in (TokenType.L_PAREN, TokenType.WITH):
            at -= 1
        return at >= 0 and self._tokens[at].token_type == TokenType.COMMA

    def _own(self, node: exp.Expr) -> int | None:
        """Where `node` itself begins: at its first token, its keyword or its function's name."""
        if "start" in node.meta:
            first = int(node.meta["start"])
            # The * of `FROM r` alone stands nowhere.
            unwritten = isinstance(node, exp.Star) and self.text[first] != "*"
            return None if unwritten else first
        keyword = _KEYWORDS.get(type(node))
        if keyword is None and not isinstance(node, exp.Func):
            return None
        # What WITH holds stands before the SELECT.
        ahead = node.args.get("with_")
        parts = [
            part
            for part in node.walk(prune=lambda part: part is ahead)
            if part is not node and part is not ahead
        ]
        starts = [start for part in parts if (start := self._own(part)) is not None]
        if not starts:
            return None
        at = self._token_at(min(starts)) - 1
        if keyword is not None:
            return self._back_to(at, keyword)
        return self._back_to_name(at, node)

    def _back_to(self, at: int, keyword: TokenType) -> int | None:
        """The start of the last `keyword` at or before token number `at`, or of a FROM before it.

        That is where `(FROM r)` begins.
        """
        for here in range(at, -1, -1):
            token = self._tokens[here]
            first = here == 0 or self._tokens[here - 1].token_type == TokenType.L_PAREN
            if token.token_type == keyword or (token.token_type == TokenType.FROM and first):
                return token.start
        return None

    def _back_to_name(self, at: int, node: exp.Expr) -> int | None:
        """The start of the name of a function whose first argument follows token number `at`."""
        while at > 0 and self._tokens[at].token_type == TokenType.L_PAREN:
            at -= 1
        names = [node.name]
        if isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous):
            names = node.sql_names()
        word = self._tokens[at].text.upper() if at >= 0 else ""
        return int(self._tokens[at].start) if word in map(str.upper, names) else None

    def _token_at(self, offset: int) -> int:
        return bisect_left(self._starts, offset)

    def _quotes(self) -> None:
        """Refuse backticks, which quote names elsewhere."""
        for token in self._tokens:
            if token.token_type == TokenType.UNKNOWN and token.text == "`":
                raise QueryError(
                    self.message(
                        token.start, "a backtick is not SQL", 'quote names like this: "name"'
                    )
                ) from None

    def _syntax(self, error: ParseError) -> NoReturn:
        first = error.errors[0] if error.errors else {}
        word = first.get("highlight") or ""
        line, column = first.get("line"), first.get("col")
        if line is None or column is None:
            raise QueryError(f"not SQL: {error}") from None
        begin = 0
        for _ in range(line - 1):
            begin = self.text.find("\n", begin) + 1
        offset = max(begin, begin + column - len(word))
        self._quotes()
        # The parser stumbles behind a misspelt keyword: it takes it for a name.
        before = self._tokens[: bisect_left(self._starts, offset + 1)]
        for token in reversed(before[-4:]):
            if token.token_type == TokenType.VAR and (near := _near(token.text)):
                what = f"not SQL at {token.text!r}"
                raise QueryError(
                    self.message(token.start, what, f"did you mean {near[0]}?")
                ) from None
        what = f"not SQL at {word!r}" if word else "not SQL: the text ends too early"
        raise QueryError(self.message(offset, what, str(first.get("description", "")))) from None
