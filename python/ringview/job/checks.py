"""Keys of a job file: their names, their types, and what is said of a mistake.

Invariant: a mistake is reported with the place of its key (``table[2].order_by``) and the nearest
key that exists. Cost: O(keys).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from ringview.errors import RingviewError, did_you_mean
from ringview.text import quoted


class JobError(RingviewError, ValueError):
    """A job file, or a file that it names, is not as it should be."""


def entries(
    raw: Mapping[str, Any], key: str, *, required: bool = True
) -> list[tuple[str, Mapping[str, Any]]]:
    """The tables of an array of tables, each with its place."""
    found: list[Any] = value(raw, key, list, "", default=[])
    if not found and required:
        raise JobError(f"{key}: the job has none; write at least one [[{key}]]")
    if not all(isinstance(entry, dict) for entry in found):
        raise JobError(f"{key}: must be written as [[{key}]]")
    return [(f"{key}[{number}]", entry) for number, entry in enumerate(found, start=1)]


def check_unique(kind: str, names: list[str]) -> None:
    """Refuse names that are empty or not unique."""
    for number, name in enumerate(names, start=1):
        if not name:
            raise JobError(f"{kind}[{number}].name: is empty")
        if name in names[: number - 1]:
            raise JobError(f"{kind}[{number}].name: there is a {kind} {quoted(name)} already")


def check_keys(entry: Mapping[str, Any], known: Iterable[str], place: str) -> None:
    """Refuse keys that are not among the `known`."""
    for key in entry:
        if key not in (names := list(known)):
            raise JobError(f"{at(place, key)}: there is no such key{nearest(key, names)}")


def strings(
    entry: Mapping[str, Any], key: str, place: str, *, required: bool = False
) -> tuple[str, ...] | None:
    """One string, or a list of them; ``None`` if the key is not there."""
    if key not in entry and not required:
        return None
    found = entry.get(key)
    if isinstance(found, str):
        return (found,)
    if _is_strings(found) and found:
        return tuple(found)
    problem = "is missing" if found is None else "must be text, or a non-empty list of texts"
    raise JobError(f"{at(place, key)}: {problem}")


def _is_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


_REQUIRED = object()


def value(
    entry: Mapping[str, Any], key: str, kind: type, place: str, *, default: Any = _REQUIRED
) -> Any:
    """The value of ``key``, checked to be of ``kind``."""
    if key not in entry:
        if default is _REQUIRED:
            raise JobError(f"{at(place, key)}: is missing")
        return default
    found = entry[key]
    allowed = (int, float) if kind is float else kind
    # A TOML boolean is not a number, though Python's is.
    if not isinstance(found, allowed) or (kind in (int, float) and isinstance(found, bool)):
        raise JobError(f"{at(place, key)}: must be {_NAMES[kind]}, not {toml_name(found)}")
    return found


_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def toml_name(value: object) -> str:
    """A value as TOML has it."""
    return f"{value!r}" if not isinstance(value, bool) else str(value).lower()


def at(place: str, key: str) -> str:
    """The place of a key within another one."""
    return f"{place}.{key}" if place else key


def nearest(name: str, known: Iterable[str]) -> str:
    """Text behind a name that is not among the `known`: the nearest of them, or all."""
    names = list(known)
    return did_you_mean(name, names) or f"; known are {', '.join(names)}"
