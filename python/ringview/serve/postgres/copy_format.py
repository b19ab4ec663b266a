"""The format of a COPY: what its options say, in the forms that PostgreSQL has for them.

Invariant: what means something to who reads a line is a single byte, and none means two things;
an option that is not known is refused. Cost: linear in the options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...text import quoted
from .codes import SqlStateError
from .tokens import Piece, Token, literal

_TRUTHS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
_OF_CSV = ("quote", "escape", "force_quote", "force_not_null", "force_null")
_OF_LINES = ("delimiter", "null", "header", *_OF_CSV)
_KINDS = ("text", "csv", "binary")

# The names of columns, or * for all of them.
Columns = tuple[str, ...]


@dataclass(frozen=True)
class Format:
    """The format of the rows of a COPY; `of` says it of columns.

    >>> csv = Format(kind="csv", delimiter=",", null="", force_quote_names=("b",))
    >>> csv.of(["a", "b"]).force_quote
    [False, True]
    """

    kind: str = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    # "", "line", or "match".
    header: str = ""
    quote: str = '"'
    escape: str = '"'
    force_quote_names: Columns = ()
    force_not_null_names: Columns = ()
    force_null_names: Columns = ()
    force_quote: Sequence[bool] = ()
    force_not_null: Sequence[bool] = ()
    force_null: Sequence[bool] = ()

    def of(self, columns: Sequence[str]) -> Format:
        """The same with the places of its columns, as the extension takes it."""
        return Format(
            **{
                **vars(self),
                "force_quote": _selected("FORCE_QUOTE", self.force_quote_names, columns),
                "force_not_null": _selected("FORCE_NOT_NULL", self.force_not_null_names, columns),
                "force_null": _selected("FORCE_NULL", self.force_null_names, columns),
            }
        )


def _selected(option: str, names: Columns, columns: Sequence[str]) -> list[bool]:
    for name in names:
        if name not in (*columns, "*"):
            known = ", ".join(columns)
            what = f"{option}: no column {quoted(name)} is copied; there are {known}"
            raise SqlStateError("42703", what)
    return [bool({column, "*"} & {*names}) for column in columns]


def format_of(piece: Piece, options: dict[str, list[Token]]) -> Format:
    """The format that options say; raises SqlStateError for what none has."""
    kind = _word(piece, "FORMAT", options["format"]).lower() if "format" in options else "text"
    if kind not in _KINDS:
        raise _refused(piece, f"no FORMAT {quoted(kind)}; there are {', '.join(_KINDS)}")
    known = {"text": _OF_LINES[:3], "csv": _OF_LINES, "binary": ()}[kind]
    for name in options:
        if name == "format":
            continue
        if name == "encoding":
            _only_utf8(piece, _word(piece, "ENCODING", options[name]))
        elif name not in _OF_LINES:
            raise _refused(piece, f"no option {name.upper()} is taken here", "0A000")
        elif name not in known:
            raise _refused(piece, f"{name.upper()} is nothing of the format {kind}")
    one = {name: _word(piece, name.upper(), found) for name, found in options.items()}
    quote = _byte(piece, "QUOTE", one.get("quote", '"'))
    of = Format(
        kind=kind,
        delimiter=_byte(piece, "DELIMITER", one.get("delimiter", "," if kind == "csv" else "\t")),
        null=one.get("null", "" if kind == "csv" else "\\N"),
        header=_header(piece, one["header"].lower()) if "header" in one else "",
        quote=quote,
        escape=_byte(piece, "ESCAPE", one.get("escape", quote)),
        force_quote_names=_columns(options.get("force_quote", [])),
        force_not_null_names=_columns(options.get("force_not_null", [])),
        force_null_names=_columns(options.get("force_null", [])),
    )
    _check(piece, of)
    return of


def _check(piece: Piece, of: Format) -> None:
    """That no byte means two things."""
    if of.delimiter in "\r\n" or any(one in of.null for one in "\r\n"):
        raise _refused(piece, "DELIMITER and NULL have no line breaks")
    if of.delimiter in of.null:
        raise _refused(piece, "the DELIMITER must not be in the text of NULL")
    if of.kind == "text" and of.delimiter in "\\.abcdefghijklmnopqrstuvwxyz0123456789":
        raise _refused(piece, f"the DELIMITER of text cannot be {of.delimiter!r}; take another")
    if of.kind == "csv" and of.quote in (of.delimiter, *of.null, "\r", "\n"):
        raise _refused(piece, "QUOTE, DELIMITER and the text of NULL must differ")


def read_options(piece: Piece, tokens: Sequence[Token]) -> dict[str, list[Token]]:
    """Options by their names, from `(NAME value, ..)` or from the words of the older syntax.

    >>> from ringview.serve.postgres.tokens import pieces
    >>> [piece] = pieces("WITH CSV HEADER DELIMITER AS ';' FORCE QUOTE a, b")
    >>> {name: [t.text for t in found] for name, found in read_options(piece, piece.tokens).items()}
    {'format': ['CSV'], 'header': [], 'delimiter': ["';'"], 'force_quote': ['a', 'b']}
    """
    rest = list(tokens[1:] if tokens and tokens[0].word == "with" else tokens)
    if rest and rest[0].text == "(":
        if rest[-1].text != ")":
            raise _refused(piece, "nothing comes behind the options", "42601")
        found = _listed(piece, rest[1:-1])
    else:
        found = _worded(piece, rest)
    return found


def _listed(piece: Piece, tokens: list[Token]) -> dict[str, list[Token]]:
    found: dict[str, list[Token]] = {}
    part: list[Token] = []
    depth = 0
    for token in [*tokens, Token("sign", ",", piece.start)]:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and depth == 0:
            if not part:
                raise _refused(piece, "an option is a name and a value", "42601")
            _put(piece, found, part[0].word, [t for t in part[1:] if t.text not in "(,)="])
            part = []
        else:
            part.append(token)
    return found


def _worded(piece: Piece, tokens: list[Token]) -> dict[str, list[Token]]:
    found: dict[str, list[Token]] = {}
    at = 0
    while at < len(tokens):
        word = tokens[at].word
        at += 1
        value: list[Token] = []
        if word in ("csv", "binary", "text"):
            word, value = "format", [tokens[at - 1]]
        elif word == "force":
            words = [token.word for token in tokens[at : at + 2]]
            count = 2 if words[:1] == ["not"] else 1
            word = "_".join(["force", *words[:count]])
            at += count
            while at < len(tokens) and (not value or tokens[at - 1].text == ","):
                value += [tokens[at]] if tokens[at].text != "," else []
                at += 1
                if at < len(tokens) and tokens[at].text == ",":
                    at += 1
        elif word != "header":
            at += tokens[at : at + 1] != [] and tokens[at].word in ("as", "=")
            value = tokens[at : at + 1]
            at += 1
        _put(piece, found, word, value)
    return found


def _put(piece: Piece, into: dict[str, list[Token]], name: str, value: list[Token]) -> None:
    if name in into:
        raise _refused(piece, f"the option {name.upper()} is said twice", "42601")
    if not value and name != "header":
        raise _refused(piece, f"the option {name.upper()} has no value", "42601")
    into[name] = value


def truth(piece: Piece, name: str, said: str) -> bool:
    """Whether an option says yes."""
    found = _TRUTHS.get(said.lower())
    if found is None:
        raise _refused(piece, f"{name} is true or false")
    return found


def _word(piece: Piece, name: str, found: Sequence[Token]) -> str:
    """The one value of an option; a HEADER without one is true."""
    if not found:
        return "true"
    if len(found) > 1 and not name.startswith("FORCE"):
        raise _refused(piece, f"{name} has one value", "42601")
    return literal(found[0])


def _header(piece: Piece, said: str) -> str:
    return "match" if said == "match" else "line" if truth(piece, "HEADER", said) else ""


def _byte(piece: Piece, name: str, said: str) -> str:
    if len(said.encode()) != 1:
        raise _refused(piece, f"{name} is a single byte, not {said!r}")
    return said


def _columns(found: Sequence[Token]) -> Columns:
    return tuple(token.named for token in found)


def _only_utf8(piece: Piece, said: str) -> None:
    if said.lower() not in ("utf8", "utf-8", "unicode"):
        raise _refused(piece, f"ENCODING is UTF8, not {quoted(said)}", "0A000")


def _refused(piece: Piece, why: str, code: str = "22023") -> SqlStateError:
    return SqlStateError(code, why, position=piece.start + 1)
