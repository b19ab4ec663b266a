"""From the text of a job file to a ``Job``.

Invariant: every key is checked for its name, its type and its meaning before
anything is opened; a mistake is reported with the place of the key
(``table[2].order_by``) and the nearest key that exists. Cost: O(length of the file).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeGuard, cast

import pyarrow as pa

from ringview.arrow import data_type
from ringview.errors import RingviewError, TypeMismatchError, did_you_mean
from ringview.job.model import Engine, Format, Job, OutputSpec, TableSpec, ViewSpec
from ringview.queries import Epsilon
from ringview.words import quoted

_JOB_KEYS = ("engine", "dialect", "batch_size", "trust_deletes", "table", "view", "output")
_TABLE_KEYS = (
    "name",
    "path",
    "format",
    "columns",
    "types",
    "multiplicity",
    "order_by",
    "unique",
    "static",
)
_VIEW_KEYS = ("name", "sql", "engine", "epsilon", "refresh")
_ENGINES = ("embedded", "spark")
_MOST_ROWS = 2**63 - 1
_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}


class JobError(RingviewError, ValueError):
    """A job file, or a file that it names, is not as it should be."""


def load(path: str | Path) -> Job:
    """Read and check the job file at ``path``.

    Example:
        >>> [view.name for view in load("examples/tpch_stream/job.toml").views]
        ['q1', 'q3', 'q5', 'q10']
    """
    place = Path(path).resolve()
    try:
        text = place.read_text(encoding="utf-8")
    except OSError as error:
        raise JobError(f"cannot read the job file {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise JobError(f"the job file {path} is not UTF-8 text: {error.reason}") from error
    return parse(text, place)


def parse(text: str, path: Path) -> Job:
    """Check the ``text`` of a job file; relative paths start from the folder of ``path``."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise JobError(f"{path.name} is not valid TOML: {error}") from error
    _check_keys(raw, _JOB_KEYS, "")
    tables = tuple(
        _table(entry, f"table[{number}]", path.parent)
        for number, entry in enumerate(_entries(raw, "table"), start=1)
    )
    views = tuple(
        _view(entry, f"view[{number}]")
        for number, entry in enumerate(_entries(raw, "view"), start=1)
    )
    _check_unique("table", [table.name for table in tables])
    _check_unique("view", [view.name for view in views])
    engine = _value(raw, "engine", str, "", default="embedded")
    if engine not in _ENGINES:
        raise JobError(f"engine: there is no '{engine}'{_nearest(engine, _ENGINES)}")
    for number, view in enumerate(views, start=1):
        for key in ("engine", "epsilon", "refresh"):
            if engine == "spark" and getattr(view, key) is not None:
                raise JobError(
                    f"view[{number}].{key}: on Spark how a view is kept is not chosen by hand; "
                    'leave it out, or set engine = "embedded" at the top'
                )
    batch_size = _value(raw, "batch_size", int, "", default=1000)
    if batch_size < 1:
        raise JobError(f"batch_size: must be at least 1, not {batch_size}")
    if batch_size > _MOST_ROWS:
        raise JobError(f"batch_size: must be at most 2^63 - 1, not {batch_size}")
    outputs = _outputs(raw, [view.name for view in views], path.parent)
    _check_files(tables, outputs)
    return Job(
        path=path,
        engine=cast(Engine, engine),
        dialect=_value(raw, "dialect", str, "", default="duckdb"),
        batch_size=batch_size,
        trust_deletes=_value(raw, "trust_deletes", bool, "", default=False),
        tables=tables,
        views=views,
        outputs=outputs,
    )


def _table(entry: Mapping[str, Any], place: str, base: Path) -> TableSpec:
    _check_keys(entry, _TABLE_KEYS, place)
    paths = tuple(base / text for text in _strings(entry, "path", place, required=True) or ())
    columns = _strings(entry, "columns", place)
    unique = _strings(entry, "unique", place)
    multiplicity = _value(entry, "multiplicity", str, place, default=None)
    static = _value(entry, "static", bool, place, default=False)
    order_by = _value(entry, "order_by", str, place, default=None)
    if static and order_by is not None:
        raise JobError(f"{place}: a static table is loaded whole, before the stream: drop order_by")
    if columns is not None and multiplicity in columns:
        raise JobError(
            f"{place}.columns: {quoted(multiplicity)} is the multiplicity of a row, not a column "
            "of it"
        )
    return TableSpec(
        name=_value(entry, "name", str, place),
        paths=paths,
        format=_format(entry, paths, place),
        columns=columns,
        types=_types(entry, place),
        multiplicity=multiplicity,
        order_by=order_by,
        unique=unique,
        static=static,
    )


def _view(entry: Mapping[str, Any], place: str) -> ViewSpec:
    _check_keys(entry, _VIEW_KEYS, place)
    return ViewSpec(
        name=_value(entry, "name", str, place),
        sql=_value(entry, "sql", str, place).strip(),
        engine=_value(entry, "engine", str, place, default=None),
        epsilon=_epsilon(entry, place),
        refresh=_value(entry, "refresh", str, place, default=None),
    )


def _epsilon(entry: Mapping[str, Any], place: str) -> Epsilon | None:
    """A number, or a table of numbers by alias."""
    found = entry.get("epsilon")
    named = found if isinstance(found, dict) else {"": found}
    for alias, value in named.items():
        # A TOML boolean is not a number, though Python's is.
        if found is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            where = _at(_at(place, "epsilon"), alias) if alias else _at(place, "epsilon")
            raise JobError(f"{where}: must be a number from 0 to 1, not {_toml_name(value)}")
    return found


def _format(entry: Mapping[str, Any], paths: tuple[Path, ...], place: str) -> Format:
    if "format" in entry:
        written = _value(entry, "format", str, place)
        if written not in ("parquet", "csv"):
            raise JobError(f"{place}.format: must be 'parquet' or 'csv', not '{written}'")
        return cast(Format, written)
    found = {_FORMATS.get(path.suffix.lower()) for path in paths}
    if len(found) > 1 or None in found:
        raise JobError(
            f"{place}.path: cannot tell the format by the names of the files: "
            "say format = 'parquet' or 'csv'"
        )
    return cast(Format, found.pop())


def _types(entry: Mapping[str, Any], place: str) -> dict[str, pa.DataType]:
    types: dict[str, pa.DataType] = {}
    for column, text in _value(entry, "types", dict, place, default={}).items():
        if not isinstance(text, str):
            raise JobError(f"{place}.types.{column}: must be text, not {_toml_name(text)}")
        try:
            types[column] = data_type(text)
        except TypeMismatchError as error:
            raise JobError(f"{place}.types.{column}: {error}") from error
    return types


def _outputs(raw: Mapping[str, Any], views: list[str], base: Path) -> tuple[OutputSpec, ...]:
    if "output" not in raw:
        return tuple(OutputSpec(view, None) for view in views)
    section = _value(raw, "output", dict, "")
    _check_keys(section, views, "output")
    return tuple(
        OutputSpec(view, _target(target, f"output.{view}", base))
        for view in section
        for target in _strings(section, view, "output") or ()
    )


def _target(target: str, place: str, base: Path) -> Path | None:
    if target == "terminal":
        return None
    if Path(target).suffix.lower() not in _FORMATS:
        raise JobError(f"{place}: '{target}' is neither 'terminal' nor a .parquet or .csv file")
    return base / target


def _check_files(tables: tuple[TableSpec, ...], outputs: tuple[OutputSpec, ...]) -> None:
    """No output may overwrite another, nor a file that a table is read from."""
    taken = {
        os.path.realpath(path): f"table {quoted(table.name)} is read from it"
        for table in tables
        for path in table.paths
    }
    for output in outputs:
        if output.file is None:
            continue
        place = os.path.realpath(output.file)
        if place in taken:
            raise JobError(f"output.{output.view}: {output.file.name}: {taken[place]} already")
        taken[place] = f"view {quoted(output.view)} is written to it"


def _entries(raw: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    entries: list[Mapping[str, Any]] = _value(raw, key, list, "", default=[])
    if not entries:
        raise JobError(f"{key}: the job has none; write at least one [[{key}]]")
    if not all(isinstance(entry, dict) for entry in entries):
        raise JobError(f"{key}: must be written as [[{key}]]")
    return entries


def _check_unique(kind: str, names: list[str]) -> None:
    for number, name in enumerate(names, start=1):
        if not name:
            raise JobError(f"{kind}[{number}].name: is empty")
        if name in names[: number - 1]:
            raise JobError(f"{kind}[{number}].name: there is a {kind} {quoted(name)} already")


def _check_keys(entry: Mapping[str, Any], known: Iterable[str], place: str) -> None:
    for key in entry:
        if key not in (names := list(known)):
            raise JobError(f"{_at(place, key)}: there is no such key{_nearest(key, names)}")


def _strings(
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
    raise JobError(f"{_at(place, key)}: {problem}")


def _is_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


_REQUIRED = object()


def _value(
    entry: Mapping[str, Any], key: str, kind: type, place: str, *, default: Any = _REQUIRED
) -> Any:
    """The value of ``key``, checked to be of ``kind``."""
    if key not in entry:
        if default is _REQUIRED:
            raise JobError(f"{_at(place, key)}: is missing")
        return default
    value = entry[key]
    # A TOML boolean is not an integer, though Python's is.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise JobError(f"{_at(place, key)}: must be {_NAMES[kind]}, not {_toml_name(value)}")
    return value


_NAMES = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def _toml_name(value: object) -> str:
    return f"{value!r}" if not isinstance(value, bool) else str(value).lower()


def _at(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return did_you_mean(name, names) or f"; known are {', '.join(names)}"
