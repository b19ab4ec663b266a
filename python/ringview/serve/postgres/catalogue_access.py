"""Queries that may reach the engine of the catalogue: the kinds of nodes, tables and functions.

The engine parses a text into a tree; this module reads that tree before the text is executed.

Invariant: a tree passes if each of its nodes is of a listed kind, each table is one of the
catalogue's or of the query's own WITH, and each function is listed. All else is refused, also what
a later release of the engine adds. No listed function reads or writes a file, a setting or a
connection. The engine charges the results of listed functions to its memory limit; `BOUNDED` has
macros in the place of the few whose results it does not charge. Cost: linear in the tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from .codes import SqlStateError
from .layout import INFORMATION, MACROS, TABLES, VIEWS

# Bodies of WITH may be planned once for each reference, so that references multiply.
_MOST_TABLES = 100

LONGEST = 1 << 16
"""The most characters of a query."""
# The parser's time and memory grow with the square of how deep these are in each other.
_MOST_SIGNS, _MOST_WORDS, _MOST_OPERATORS = 500, 200, 1500
_NESTING = re.compile(r"\b(?:with|join|union|intersect|except|case|select)\b", re.IGNORECASE)

_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE"}
_RELATIONS = {"BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY"}
_MODIFIERS = {
    *("ORDER_MODIFIER", "LIMIT_MODIFIER", "DISTINCT_MODIFIER"),
    *("ORDER_DEFAULT", "ASCENDING", "DESCENDING"),
}
_KINDS = _NODES | _RELATIONS | _MODIFIERS
_EXPRESSIONS = {
    *("BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT"),
    *("FUNCTION", "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE"),
    "WINDOW",
}

TABLE_FUNCTIONS = frozenset({"generate_series", "unnest"})
"""Functions that may be called as a table."""

OPERATORS = frozenset(
    {
        *("+", "-", "*", "/", "//", "%", "^", "**", "&", "|", "~", "<<", ">>", "@", "||"),
        *("=", "<", ">", "<=", ">=", "!=", "<@", "@>", "&&", "->>"),
        *("~~", "!~~", "~~*", "!~~*", "~~~"),
    }
)

_TEXTS = """
    ascii bit_length char_length character_length chr concat concat_ws contains ilike_escape left
    length like_escape lower ltrim md5 not_ilike_escape not_like_escape octet_length position
    prefix regexp_extract regexp_full_match regexp_matches regexp_split_to_array
    regexp_split_to_table reverse right rtrim sha256 split_part starts_with string_split
    string_to_array strlen strpos substr substring suffix to_hex translate trim upper
"""
_NUMBERS = """
    abs acos asin atan atan2 cbrt ceil ceiling cos degrees exp floor greatest isfinite isnan least
    ln log log10 mod pi pow power radians round sign sin sqrt tan trunc
"""
_TIMES = """
    age century current_date date_part date_trunc day epoch hour isfinite last_day make_date
    make_time make_timestamp minute month now quarter second timezone to_centuries to_days
    to_decades to_hours to_microseconds to_millennia to_milliseconds to_minutes to_months
    to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp week year
    get_current_time get_current_timestamp current_localtime current_localtimestamp
"""
_LISTS = """
    array_append array_cat array_concat array_contains array_extract array_has array_length
    array_position array_prepend array_slice array_to_json array_to_string cardinality flatten
    generate_subscripts json json_array json_array_length json_extract json_extract_path
    json_extract_path_text json_extract_string json_object json_type len list_concat list_contains
    list_extract list_has list_position list_slice list_value row_to_json struct_extract to_json
    unnest
"""
_AGGREGATES = """
    any_value array_agg avg bit_and bit_or bool_and bool_or count count_star first
    json_group_array json_group_object last list max min string_agg stddev stddev_pop stddev_samp
    sum var_pop var_samp variance
"""
_WINDOWS = """
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank
    row_number
"""
_SESSION = """
    coalesce current_catalog current_role current_user has_foreign_data_wrapper_privilege
    has_language_privilege has_server_privilege has_tablespace_privilege inet_client_addr
    inet_client_port nullif pg_conf_load_time pg_conversion_is_visible pg_opclass_is_visible
    pg_operator_is_visible pg_opfamily_is_visible pg_ts_config_is_visible pg_ts_dict_is_visible
    pg_ts_parser_is_visible pg_ts_template_is_visible pg_typeof session_user user
"""

# An argument that is an error where the result would be too long. It is within the call, for the
# engine evaluates calls of constants beforehand, in branches that are not taken, too.
_SIZED = "CASE WHEN {} > 1048576 THEN error('the text would be longer than 1 MiB') ELSE t END"
_REPLACED = _SIZED.format("strlen(t) * (1 + strlen(r))")
_PADDED = _SIZED.format("strlen(t) + n * strlen(f)")
_REPEATED = _SIZED.format("n * strlen(t)")
_SPECIFIED = (
    "CASE regexp_extract_all(form, '%[IsL]')[{at}] WHEN '%I' THEN quote_ident({of}::varchar) "
    "WHEN '%L' THEN quote_literal({of}) ELSE {of}::varchar END"
)


def _formatted(count: int) -> str:
    """PostgreSQL's format() of so many values."""
    names = ["a", "b", "c", "d"][:count]
    parts = ["replace(string_split_regex(form, '%[IsL]')[1], '%%', '%')"]
    for at, name in enumerate(names, 1):
        parts.append(_SPECIFIED.format(at=at, of=name))
        parts.append(f"replace(string_split_regex(form, '%[IsL]')[{at + 1}], '%%', '%')")
    return f"({', '.join(['form', *names])}) AS concat({', '.join(parts)})"


BOUNDED: dict[str, list[str]] = {
    "format": [_formatted(count) for count in range(5)],
    "lpad": [f"(t, n, f) AS system.main.lpad({_PADDED}, n, f)"],
    "regexp_replace": [
        f"(t, p, r) AS system.main.regexp_replace({_REPLACED}, p, r)",
        f"(t, p, r, o) AS system.main.regexp_replace({_REPLACED}, p, r, o)",
    ],
    "repeat": [f"(t, n) AS system.main.repeat({_REPEATED}, n)"],
    "replace": [f"(t, a, r) AS system.main.replace({_REPLACED}, a, r)"],
    "rpad": [f"(t, n, f) AS system.main.rpad({_PADDED}, n, f)"],
}
"""Macros in the place of functions that allocate outside the engine's memory limit."""

FUNCTIONS = frozenset(
    " ".join((_TEXTS, _NUMBERS, _TIMES, _LISTS, _AGGREGATES, _WINDOWS, _SESSION)).split()
) | frozenset({*MACROS, *BOUNDED, "version", "current_database"})
"""Functions that may be called in an expression."""

# Tables of the catalogue: without a schema, or in the one that replaces information_schema.
_KNOWN = {("", name) for name in TABLES} | {(INFORMATION, name) for name in VIEWS}


def check_text(text: str) -> None:
    """Raise SqlStateError if a text is long, or may be nested so that parsing it takes long.

    Counts are those of the text as it is, strings and comments too, so that nothing hides in them.
    """
    if len(text) > LONGEST:
        raise SqlStateError("54001", f"a query of the catalogue has at most {LONGEST} letters")
    counts = Counter(text)
    words = Counter(word.lower() for word in _NESTING.findall(text))
    for shown, count, most in (
        *((sign, counts[sign], _MOST_SIGNS) for sign in "([{"),
        *((word, count, _MOST_WORDS) for word, count in words.items()),
        *((sign, counts[sign], _MOST_OPERATORS) for sign in "-+~!@|."),
    ):
        if count > most:
            raise SqlStateError("54001", f"a query of the catalogue has at most {most} {shown!r}")


def check(tree: Mapping[str, Any]) -> None:
    """Raise SqlStateError if a parsed text has anything that is not listed.

    Args:
        tree: The output of the engine's `json_serialize_sql`.
    """
    if tree.get("error"):
        message = str(tree.get("error_message", "the catalogue cannot read this query"))
        is_syntax = tree.get("error_type") == "parser"
        raise SqlStateError("42601" if is_syntax else "0A000", message)
    statements = tree.get("statements", [])
    if len(statements) != 1:
        raise SqlStateError("42601", "one query at a time")
    try:
        _check(statements[0], {})
    except RecursionError:
        raise SqlStateError("54001", "the query is nested too deeply") from None


def _check(part: object, named: Mapping[str, int]) -> int:
    """Check a part of the tree; the number of tables that it reads when it is planned.

    `named` has the tables of the WITH clauses around it, each with that number.
    """
    tables = 0
    if isinstance(part, list):
        tables = sum(_check(item, named) for item in part)
    elif isinstance(part, dict):
        if "cte_map" in part:
            named = _with(part, named)
        tables = _one(part, named)
        for name, item in part.items():
            if name == "function" and part.get("type") == "TABLE_FUNCTION":
                # `_one` checked its name, which is that of no function of an expression.
                tables += sum(_check(of, named) for of in item.values())
            elif name != "cte_map":
                tables += _check(item, named)
    if tables > _MOST_TABLES:
        raise SqlStateError("54001", f"the query reads more than {_MOST_TABLES} tables")
    return tables


def _with(node: Mapping[str, Any], around: Mapping[str, int]) -> Mapping[str, int]:
    """The tables that a query names, for its own parts: each sees those before it."""
    named = dict(around)
    for entry in node["cte_map"]["map"]:
        name, value = str(entry["key"]).lower(), entry["value"]
        body = value.get("query_node") or value.get("query")
        recursive = isinstance(body, dict) and body.get("type") == "RECURSIVE_CTE_NODE"
        within = {**named, name: 1} if recursive else named
        named[name] = 1 + _check(value, within)
    return named


def _one(node: Mapping[str, Any], named: Mapping[str, int]) -> int:
    """Check one node without its parts; the number of tables that it is."""
    kind = node.get("type")
    if "class" in node:
        if node["class"] not in _EXPRESSIONS:
            raise SqlStateError("0A000", f"the catalogue does not evaluate {kind}")
        if "function_name" in node:
            _function(str(node["function_name"]), FUNCTIONS | OPERATORS, node)
        return 0
    if not isinstance(kind, str):
        return 0
    if kind not in _KINDS:
        raise SqlStateError("0A000", f"the catalogue does not evaluate {kind}")
    if kind == "BASE_TABLE":
        return _table(node, named)
    if kind == "TABLE_FUNCTION":
        called = node["function"]
        _function(str(called.get("function_name")), TABLE_FUNCTIONS, called)
        return 1
    return 0


def _table(node: Mapping[str, Any], named: Mapping[str, int]) -> int:
    schema, name = str(node["schema_name"]).lower(), str(node["table_name"]).lower()
    catalogue = node["catalog_name"]
    if not schema and not catalogue and name in named:
        return named[name]
    if catalogue or (schema, name) not in _KNOWN:
        shown = ".".join(part for part in (catalogue, schema, name) if part)
        raise SqlStateError("42P01", f'relation "{shown}" does not exist in the catalogue')
    return 1


def _function(name: str, listed: frozenset[str], node: Mapping[str, Any]) -> None:
    if name.lower() not in listed or node.get("catalog"):
        raise SqlStateError("42883", f"function {name}() does not exist in the catalogue")
