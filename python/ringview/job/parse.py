"""From the text of a job file to a ``Job``.

Invariant: every key is checked for its name, its type and its meaning before
anything is opened; a mistake is reported with the place of the key
(``table[2].order_by``) and the nearest key that exists. Cost: O(length of the file).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from ringview.convert.arrow import data_type, schema
from ringview.errors import RingviewError, TypeMismatchError
from ringview.job.checks import (
    JobError,
    at,
    check_keys,
    check_unique,
    entries,
    nearest,
    strings,
    toml_name,
    value,
)
from ringview.job.ends import sinks_of, sources_of
from ringview.job.model import Engine, Format, Job, OutputSpec, TableSpec, ViewSpec
from ringview.job.serving import serve_of
from ringview.queries import Epsilon
from ringview.text import quoted

_JOB_KEYS = (
    *("engine", "dialect", "batch_size", "trust_deletes"),
    *("table", "view", "output", "source", "sink", "serve"),
)
_TABLE_KEYS = (
    "name",
    "path",
    "schema",
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
    check_keys(raw, _JOB_KEYS, "")
    serve = serve_of(raw, path.parent)
    tables = tuple(_table(entry, place, path.parent) for place, entry in entries(raw, "table"))
    views = tuple(_view(entry, place) for place, entry in entries(raw, "view"))
    check_unique("table", [table.name for table in tables])
    check_unique("view", [view.name for view in views])
    engine = value(raw, "engine", str, "", default="embedded")
    if engine not in _ENGINES:
        raise JobError(f'engine: there is no "{engine}"{nearest(engine, _ENGINES)}')
    for number, view in enumerate(views, start=1):
        for key in ("engine", "epsilon", "refresh"):
            if engine == "spark" and getattr(view, key) is not None:
                raise JobError(
                    f"view[{number}].{key}: on Spark how a view is kept is not chosen by hand; "
                    'leave it out, or set engine = "embedded" at the top'
                )
    batch_size = value(raw, "batch_size", int, "", default=1000)
    if batch_size < 1:
        raise JobError(f"batch_size: must be at least 1, not {batch_size}")
    if batch_size > _MOST_ROWS:
        raise JobError(f"batch_size: must be at most 2^63 - 1, not {batch_size}")
    outputs = _outputs(raw, [view.name for view in views], path.parent)
    _check_files(tables, outputs)
    trusts = value(raw, "trust_deletes", bool, "", default=False)
    # [serve] is read by the server alone.
    for key in ("source", "sink"):
        if key in raw and (trusts or engine == "spark"):
            said = "trust_deletes = true" if trusts else 'engine = "spark"'
            raise JobError(f"{key}: does not go with {said}, which keeps no rows; leave out either")
    for number, table in enumerate(tables, start=1):
        if engine == "spark" and table.schema is not None:
            raise JobError(f"table[{number}].schema: on Spark tables are of files; give it a path")
    return Job(
        path=path,
        engine=cast(Engine, engine),
        dialect=value(raw, "dialect", str, "", default="duckdb"),
        batch_size=batch_size,
        trust_deletes=trusts,
        tables=tables,
        views=views,
        outputs=outputs,
        sources=sources_of(raw, {table.name: table for table in tables}, path.parent),
        sinks=sinks_of(raw, [view.name for view in views], path.parent),
        serve=serve,
    )


def _table(entry: Mapping[str, Any], place: str, base: Path) -> TableSpec:
    check_keys(entry, _TABLE_KEYS, place)
    if "schema" in entry:
        return _fed(entry, place)
    paths = tuple(base / text for text in strings(entry, "path", place, required=True) or ())
    columns = strings(entry, "columns", place)
    unique = strings(entry, "unique", place)
    multiplicity = value(entry, "multiplicity", str, place, default=None)
    static = value(entry, "static", bool, place, default=False)
    order_by = value(entry, "order_by", str, place, default=None)
    if static and order_by is not None:
        raise JobError(f"{place}: a static table is loaded whole, before the stream: drop order_by")
    if columns is not None and multiplicity in columns:
        raise JobError(
            f"{place}.columns: {quoted(multiplicity)} is the multiplicity of a row, not a column "
            "of it"
        )
    return TableSpec(
        name=value(entry, "name", str, place),
        paths=paths,
        format=_format(entry, paths, place),
        columns=columns,
        types=_types(entry, place),
        multiplicity=multiplicity,
        order_by=order_by,
        unique=unique,
        static=static,
    )


def _fed(entry: Mapping[str, Any], place: str) -> TableSpec:
    """A table that no file of the job fills: a source does, or the clients of a server."""
    for key in entry:
        if key not in ("name", "schema", "unique"):
            raise JobError(
                f"{at(place, key)}: is about files, and a table with a schema is fed by a source; "
                "leave out either"
            )
    columns = value(entry, "schema", dict, place)
    for name, kind in columns.items():
        if not isinstance(kind, str):
            raise JobError(f"{place}.schema.{name}: must be text, not {toml_name(kind)}")
    try:
        found = schema(columns)
    except RingviewError as error:
        raise JobError(f"{place}.schema: {error}") from error
    unique = strings(entry, "unique", place)
    for column in unique or ():
        if column not in columns:
            raise JobError(
                f'{place}.unique: there is no column "{column}"{nearest(column, columns)}'
            )
    return TableSpec(
        name=value(entry, "name", str, place),
        paths=(),
        format="parquet",
        unique=unique,
        schema=found,
    )


def _view(entry: Mapping[str, Any], place: str) -> ViewSpec:
    check_keys(entry, _VIEW_KEYS, place)
    return ViewSpec(
        name=value(entry, "name", str, place),
        sql=value(entry, "sql", str, place).strip(),
        engine=value(entry, "engine", str, place, default=None),
        epsilon=_epsilon(entry, place),
        refresh=value(entry, "refresh", str, place, default=None),
    )


def _epsilon(entry: Mapping[str, Any], place: str) -> Epsilon | None:
    """A number, or a table of numbers by alias."""
    found = entry.get("epsilon")
    named = found if isinstance(found, dict) else {"": found}
    for alias, one in named.items():
        # A TOML boolean is not a number, though Python's is.
        if found is not None and (isinstance(one, bool) or not isinstance(one, int | float)):
            where = at(at(place, "epsilon"), alias) if alias else at(place, "epsilon")
            raise JobError(f"{where}: must be a number from 0 to 1, not {toml_name(one)}")
    return found


def _format(entry: Mapping[str, Any], paths: tuple[Path, ...], place: str) -> Format:
    if "format" in entry:
        written = value(entry, "format", str, place)
        if written not in ("parquet", "csv"):
            raise JobError(f'{place}.format: must be "parquet" or "csv", not "{written}"')
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
    for column, text in value(entry, "types", dict, place, default={}).items():
        if not isinstance(text, str):
            raise JobError(f"{place}.types.{column}: must be text, not {toml_name(text)}")
        try:
            types[column] = data_type(text)
        except TypeMismatchError as error:
            raise JobError(f"{place}.types.{column}: {error}") from error
    return types


def _outputs(raw: Mapping[str, Any], views: list[str], base: Path) -> tuple[OutputSpec, ...]:
    if "output" not in raw:
        return tuple(OutputSpec(view, None) for view in views)
    section = value(raw, "output", dict, "")
    check_keys(section, views, "output")
    return tuple(
        OutputSpec(view, _target(target, f"output.{view}", base))
        for view in section
        for target in strings(section, view, "output") or ()
    )


def _target(target: str, place: str, base: Path) -> Path | None:
    if target == "terminal":
        return None
    if Path(target).suffix.lower() not in _FORMATS:
        raise JobError(f'{place}: "{target}" is neither "terminal" nor a .parquet or .csv file')
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
