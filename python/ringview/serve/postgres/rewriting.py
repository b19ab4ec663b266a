"""Queries of PostgreSQL's catalogue, as DuckDB takes them.

Invariant: a rewritten query means what it did; text that no rule is about stays as it is, and
DuckDB raises where it does not support that. Cost: linear in the tokens.
"""

from __future__ import annotations

from collections.abc import Mapping

from .layout import INFORMATION, MACROS, TABLES
from .pg_types import FUNCTIONS
from .tokens import Piece, Token

# Casts of a text to what it names, as functions.
_LOOKED_UP = {
    "regclass": "to_regclass",
    "regtype": "to_regtype",
    "regnamespace": "to_regnamespace",
    "regproc": "to_regproc",
}
# Functions that have another name in DuckDB.
_RENAMED = {
    "json_build_object": "json_object",
    "json_agg": "json_group_array",
    "jsonb_agg": "json_group_array",
    "jsonb_build_object": "json_object",
}
_CLAUSES = {"select", "from", "join", "on", "where", "group", "order", "having", "limit", "union"}
# Columns that name functions; none is `-`, which is 0 as a number.
_OF_FUNCTIONS = set(FUNCTIONS)
_ITEMS = """ANY(string_split(regexp_replace({}, '[{{}}" ]', '', 'g'), ','))"""
_SERIES = {"generate_series", "unnest"}
_USERS = {"current_user", "session_user"}
_CLOCKS = {"now", "current_timestamp", "current_date", "localtimestamp", "clock_timestamp"}
_FUNCTIONS = {*MACROS, "version", "current_database", "array_to_string"} - {
    *("array_upper", "array_lower", "quote_literal", "numeric_precision", "numeric_scale"),
    "array_to_string",
}
_BARE = {"current_schema", "current_catalog", *_USERS}


def is_of_catalogue(piece: Piece) -> bool:
    """Whether a query is about the catalogue, or the session, and not about rows of a database.

    >>> from ringview.serve.postgres.tokens import pieces
    >>> [is_of_catalogue(piece) for piece in pieces(
    ...     "SELECT oid FROM pg_class; SELECT version(); SELECT pg_class FROM r; SELECT 1")]
    [True, True, False, False]
    """
    words = piece.words
    constant = "from" not in words
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        after = words[at + 1] if at + 1 < len(words) else ""
        if word in ("pg_catalog", "information_schema") and after == ".":
            return True
        if word in TABLES and before in ("from", "join", ","):
            return True
        if word in _FUNCTIONS and after == "(" and before != ".":
            return True
        if word in _BARE and before != "." and piece.tokens[at].kind == "word":
            return True
        if constant and word in _CLOCKS and before != ".":
            return True
    return False


def rewritten(piece: Piece, user: str, settings: Mapping[str, str] | None = None) -> str:
    """The query as DuckDB takes it, of a user with settings.

    >>> from ringview.serve.postgres.tokens import pieces
    >>> [piece] = pieces("SELECT c.oid FROM pg_catalog.pg_class c "
    ...     "WHERE relname OPERATOR(pg_catalog.~) '^(r)$' COLLATE pg_catalog.default")
    >>> rewritten(piece, "me")
    "SELECT c . oid FROM pg_class c WHERE relname ~ '^(r)$'"
    """
    texts = _with_columns(_without_schemas(_without_operators(piece.tokens)))
    known = {name.lower(): value for name, value in (settings or {}).items()}
    found: list[str] = []
    at = 0
    while at < len(texts):
        text, after = texts[at], [text.lower() for text in texts[at + 1 : at + 3]]
        if after[:1] == ["::"] and after[1:] and after[1] in _LOOKED_UP and _is_value(text):
            found.append(f"{_LOOKED_UP[after[1]]}({text})")
            at += 3
        elif text.lower() in _OF_FUNCTIONS and after in (["!=", "0"], ["<>", "0"], ["=", "0"]):
            found += [text, after[0], "'-'"]
            at += 3
        elif text.lower() == "any" and _is_array(texts[at + 1 : at + 4]):
            # The array is a text, `{"a", "b"}`.
            found.append(_ITEMS.format(texts[at + 2]))
            at += 4
        elif text.lower() in _USERS:
            found.append(_quoted(user))
            at += 1
        elif text.lower() == "current_setting" and after[1:] and after[1].strip("'") in known:
            found.append(_quoted(known[after[1].strip("'")]))
            at = _closing(texts, at + 1) + 1
        else:
            found.append(_RENAMED.get(text.lower(), text) if after[:1] == ["("] else text)
            at += 1
    return " ".join(found)


def _with_columns(texts: list[str]) -> list[str]:
    """The tokens with functions in FROM as tables of one column, named as the table."""
    found: list[str] = []
    # The clause of each bracket that is open.
    clauses = [""]
    at = 0
    while at < len(texts):
        word, before = texts[at].lower(), found[-1].lower() if found else ""
        if word == "(":
            clauses.append("")
        elif word == ")":
            clauses = clauses[:-1] or [""]
        elif word in _CLAUSES:
            clauses[-1] = word
        end = _closing(texts, at + 1) if texts[at + 1 : at + 2] == ["("] else 0
        tail = texts[end + 1 : end + 4] if end else []
        name = tail[1] if tail[:1] and tail[0].lower() == "as" and tail[1:] else "".join(tail[:1])
        skip = end + (3 if tail[:1] and tail[0].lower() == "as" else 2)
        starts = before in ("from", ",", "join") and clauses[-1] in ("from", "join", "on")
        is_table = starts and name.isidentifier()
        if is_table and word in _SERIES and texts[skip : skip + 1] != ["("]:
            found += [*texts[at : end + 1], "AS", name, "(", name, ")"]
            at = skip
        elif is_table and word == "string_to_array":
            found += ["(", "SELECT", *texts[at : end + 1], "AS", name, ")", name]
            at = skip
        else:
            found.append(texts[at])
            at += 1
    return found


def _closing(texts: list[str], opening: int) -> int:
    """The place of the bracket that closes one."""
    depth = 0
    for at in range(opening, len(texts)):
        depth += (texts[at] == "(") - (texts[at] == ")")
        if depth == 0:
            return at
    return len(texts) - 1


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _is_array(texts: list[str]) -> bool:
    return len(texts) == 3 and texts[0] == "(" and texts[1][:1] == "$" and texts[2] == ")"


def _is_value(text: str) -> bool:
    return text[-1:] == "'" or text[:1] == "$"


def _without_operators(tokens: list[Token]) -> list[str]:
    """The tokens with the operators of OPERATOR(..) in its place, and without collations."""
    texts = [token.text for token in tokens]
    words = [token.word for token in tokens]
    found: list[str] = []
    at = 0
    while at < len(texts):
        if words[at : at + 4] == ["operator", "(", "pg_catalog", "."]:
            end = words.index(")", at) if ")" in words[at:] else len(words) - 1
            found.append("".join(texts[at + 4 : end]))
            at = end + 1
        elif words[at] == "collate":
            at += 4 if words[at + 1 : at + 3] == ["pg_catalog", "."] else 2
        else:
            found.append(texts[at])
            at += 1
    return found


def _without_schemas(texts: list[str]) -> list[str]:
    """The tokens without `pg_catalog.`, and `information_schema` by another name."""
    found: list[str] = []
    at = 0
    while at < len(texts):
        word, after = texts[at].lower(), texts[at + 1 : at + 3]
        if word.strip('"') not in ("pg_catalog", "information_schema") or after[:1] != ["."]:
            found.append(texts[at])
            at += 1
            continue
        is_type = found[-1:] == ["::"]
        is_function = after[1:] and after[1].lower() in MACROS
        if word.strip('"') == "information_schema" and not is_type and not is_function:
            found += [INFORMATION, "."]
        at += 2
    return found
