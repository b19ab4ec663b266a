"""The content of a job file, as plain data.

Invariant: a ``Job`` is complete and consistent: names are unique, every output
names a view, every path is absolute. ``parse`` is the only place that makes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from ringview._native import tables_named
from ringview.errors import RingviewError
from ringview.job.ends import SinkSpec, SourceSpec
from ringview.job.serving import ServeSpec
from ringview.queries import Epsilon
from ringview.text import quoted

Engine = Literal["embedded", "spark"]
Format = Literal["parquet", "csv"]


@dataclass(frozen=True)
class TableSpec:
    """One table and the files that feed it.

    ``columns`` are the columns to keep (``None``: all but ``multiplicity`` and
    ``order_by``); ``types`` casts columns as they are read. One with a ``schema`` has no files.
    """

    name: str
    paths: tuple[Path, ...]
    format: Format
    columns: tuple[str, ...] | None = None
    types: dict[str, pa.DataType] = field(default_factory=dict)
    multiplicity: str | None = None
    order_by: str | None = None
    unique: tuple[str, ...] | None = None
    static: bool = False
    schema: pa.Schema | None = None


@dataclass(frozen=True)
class ViewSpec:
    """One view: its name, its SQL, and what keeps it, as for `create_view`."""

    name: str
    sql: str
    engine: str | None = None
    epsilon: Epsilon | None = None
    refresh: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Its options beside the SQL, as `create_view` takes them."""
        said = {"engine": self.engine, "epsilon": self.epsilon, "refresh": self.refresh}
        return {name: value for name, value in said.items() if value is not None}

    def reads(self, views: Iterable[ViewSpec], dialect: str = "duckdb") -> str | None:
        """The name of the first of `views` that its SQL names."""
        names = {name.lower() for name in tables_named(self.sql, dialect)}
        return next((view.name for view in views if view.name.lower() in names), None)

    @contextmanager
    def named(self) -> Iterator[None]:
        """A block whose errors say that they are of this view."""
        try:
            yield
        except RingviewError as error:
            named = type(error)(f"view {quoted(self.name)}: {error}")
            for note in getattr(error, "__notes__", []):
                named.add_note(note)
            raise named from error


@dataclass(frozen=True)
class OutputSpec:
    """The target of a view's result: a Parquet or CSV file, or the terminal (``None``)."""

    view: str
    file: Path | None


@dataclass(frozen=True)
class Job:
    """A whole job file.

    Example:
        >>> import ringview.job
        >>> job = ringview.job.load("examples/tpch_stream/job.toml")
        >>> job.batch_size
        1000
    """

    path: Path
    engine: Engine
    dialect: str
    batch_size: int
    trust_deletes: bool
    tables: tuple[TableSpec, ...]
    views: tuple[ViewSpec, ...]
    outputs: tuple[OutputSpec, ...]
    sources: tuple[SourceSpec, ...] = ()
    sinks: tuple[SinkSpec, ...] = ()
    serve: ServeSpec = field(default_factory=ServeSpec)
