"""The sources and sinks of a job, as `ringview.sources` and `ringview.sinks` make them.

Invariant: every key is checked for its name, its type and its words, and each source and sink is
made once, before anything is opened. Cost: O(keys).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ringview.errors import RingviewError
from ringview.job.checks import (
    JobError,
    at,
    check_keys,
    entries,
    nearest,
    strings,
    toml_name,
    value,
)
from ringview.text import quoted

if TYPE_CHECKING:
    from ringview.database import Database
    from ringview.sinks import Sender
    from ringview.sources import Reader, Source


class _Fillable(Protocol):
    @property
    def static(self) -> bool: ...


@dataclass(frozen=True)
class Key:
    """A key: its type, the words that it may have, whether it is needed, in `kind` a path."""

    of: type
    words: tuple[str, ...] = ()
    needed: bool = False
    is_path: bool = False


_TEXT, _NEEDED, _FLAG, _TEXTS = Key(str), Key(str, needed=True), Key(bool), Key(list)
_MAP, _COUNT = Key(dict), Key(int)
_HOW = Key(str, ("insert", "delete", "upsert"))
_EPOCHS = Key(str, ("s", "ms", "us", "ns"))
_DECIMALS = Key(str, ("text", "base64"))
_TABLES = Key(dict, needed=True)
_PATH = Key(str, needed=True, is_path=True)

_SOURCES: Mapping[str, Mapping[str, Key]] = {
    "folder": {
        "path": _PATH,
        "table": _NEEDED,
        "format": Key(str, ("parquet", "csv", "jsonl")),
        "watch": _FLAG,
        "order": Key(str, ("name", "mtime")),
        "how": _HOW,
        "op": _TEXT,
        "multiplicity": _TEXT,
        "ignore": _TEXTS,
        "epochs": _EPOCHS,
        "decimals": _DECIMALS,
        "rows": _COUNT,
        "delimiter": _TEXT,
        "quote": _TEXT,
        "encoding": _TEXT,
        "nulls": _TEXTS,
    },
    "query": {
        "connection": _NEEDED,
        "sql": _NEEDED,
        "table": _NEEDED,
        "key": _TEXT,
        "how": _HOW,
        "ignore": _TEXTS,
        "epochs": _EPOCHS,
        "rows": _COUNT,
    },
    "kafka": {
        "servers": _NEEDED,
        "topics": _TABLES,
        "format": Key(str, ("debezium", "json")),
        "watch": _FLAG,
        "how": _HOW,
        "op": _TEXT,
        "ignore": _TEXTS,
        "epochs": _EPOCHS,
        "decimals": _DECIMALS,
        "messages": _COUNT,
        "start": Key(str, ("earliest", "latest")),
        "columns": _MAP,
        "evolve": Key(str, ("ignore", "add", "refuse")),
        "unavailable": _TEXT,
        "config": _MAP,
    },
    "postgres": {
        "connection": _NEEDED,
        "tables": _TABLES,
        "slot": _TEXT,
        "watch": _FLAG,
        "ignore": _TEXTS,
        "evolve": Key(str, ("ignore", "add", "refuse")),
        "refill": _FLAG,
        "rows": _COUNT,
    },
    "delta": {
        "path": _PATH,
        "table": _NEEDED,
        "watch": _FLAG,
        "ignore": _TEXTS,
        "storage_options": _MAP,
    },
}
_SINKS: Mapping[str, Mapping[str, Key]] = {
    "sqlite": {"path": _PATH, "table": _TEXT, "key": _TEXTS},
    "postgres": {"connection": _NEEDED, "table": _TEXT, "key": _TEXTS},
    "delta": {"path": _PATH, "key": _TEXTS, "storage_options": _MAP},
    "kafka": {"servers": _NEEDED, "topic": _NEEDED, "key": _TEXTS, "config": _MAP},
    "parquet": {"path": _PATH},
}
_EVERY = Key(float)
_OF_SOURCE = {"kind": _NEEDED, "name": _TEXT, "dead_letters": _TEXT, "every": _EVERY}
_OF_SINK = {"kind": _NEEDED, "name": _TEXT, "view": _NEEDED, "every": _EVERY}
# For each kind of source the keys of its first argument, and then of the table that it fills.
_FIRST = {
    "folder": ("path",),
    "query": ("connection", "sql"),
    "kafka": ("servers", "topics"),
    "postgres": ("connection", "tables"),
    "delta": ("path",),
}


@dataclass(frozen=True)
class SourceSpec:
    """One source: its kind, and what it is made with."""

    kind: str
    given: Mapping[str, Any] = field(repr=False)
    dead_letters: str | None = None
    every: float = 1.0

    def make(self, watch: bool) -> Source:
        """The source, which opens nothing before it is read; `watch` if the job does not say."""
        from ringview import sources

        given = dict(self.given)
        if "watch" in _SOURCES[self.kind]:
            given.setdefault("watch", watch)
        first = [given.pop(key) for key in _FIRST[self.kind]]
        made: Source = getattr(sources, self.kind)(*first, **given)
        return made

    def create_tables(self, db: Database) -> None:
        """Make the tables whose columns are those of the other system, if they are not there."""
        if isinstance(self.given.get("tables"), list):
            made: Any = self.make(watch=False)
            made.create_tables(db)

    def differences(self, db: Database) -> list[str]:
        """Differences from what was read, of a source that finds them."""
        find = getattr(self.make(watch=False), "differences", None)
        found: list[str] = find(db) if find is not None else []
        return found

    def reader(self, db: Database, watch: bool) -> Reader:
        """The reader that applies it to a database."""
        from ringview import sources

        made = self.make(watch)
        return sources.Reader(db, [made], dead_letters=self.dead_letters, every=self.every)


@dataclass(frozen=True)
class SinkSpec:
    """One sink: its kind, the view that is sent there, and what it is made with."""

    kind: str
    view: str
    name: str
    given: Mapping[str, Any] = field(repr=False)
    every: float = 1.0

    def sender(self, db: Database) -> Sender:
        """The sender of the view to it."""
        from ringview import sinks

        given = dict(self.given)
        if self.kind == "parquet":
            sink: Any = sinks.ParquetSink(given["path"])
        elif self.kind == "kafka":
            sink = sinks.kafka(given.pop("servers"), given.pop("topic"), **given)
        elif self.kind == "delta":
            sink = sinks.delta(given.pop("path"), **given)
        else:
            where = given.pop("path" if self.kind == "sqlite" else "connection")
            table = given.pop("table", self.view)
            make = sinks.sqlite if self.kind == "sqlite" else sinks.postgres
            sink = make(where, table, **given)
        return sinks.Sender(db, {self.view: sink}, name=self.name, every=self.every)


def sources_of(
    raw: Mapping[str, Any], tables: Mapping[str, _Fillable], base: Path
) -> tuple[SourceSpec, ...]:
    """Check the sources, and the tables that they fill."""
    found, names = [], list[str]()
    for place, entry in entries(raw, "source", required=False):
        kind, given = _checked(entry, place, _SOURCES, _OF_SOURCE, base)
        filled = [*_filled(given, place)]
        for where, table in filled:
            if table not in tables:
                raise JobError(
                    f"{where}: there is no table {quoted(table)}{nearest(table, tables)}"
                )
            if tables[table].static:
                raise JobError(
                    f"{where}: table {quoted(table)} is static; take a table that changes"
                )
        every = given.pop("every", 1.0)
        spec = SourceSpec(kind, given, given.pop("dead_letters", None), every)
        try:
            name = spec.make(watch=False).name
        except RingviewError as error:
            raise JobError(f"{place}: {error}") from error
        if name in names:
            raise JobError(
                f"{place}.name: there is a source {quoted(name)} already; give it another one"
            )
        names.append(name)
        found.append(spec)
    return tuple(found)


def sinks_of(raw: Mapping[str, Any], views: Iterable[str], base: Path) -> tuple[SinkSpec, ...]:
    """Check the sinks, and the views that are sent to them."""
    found, names = [], list[tuple[str, str]]()
    for place, entry in entries(raw, "sink", required=False):
        kind, given = _checked(entry, place, _SINKS, _OF_SINK, base)
        view = given.pop("view")
        if view not in views:
            raise JobError(f"{place}.view: there is no view {quoted(view)}{nearest(view, views)}")
        where = entry.get("path") or entry.get("topic") or entry.get("table", view)
        name, every = given.pop("name", f"{kind} {where}"), given.pop("every", 1.0)
        if (view, name) in names:
            raise JobError(
                f"{place}.name: view {quoted(view)} is sent as {quoted(name)} already; "
                "give it another one"
            )
        names.append((view, name))
        found.append(SinkSpec(kind, view, name, given, every))
    return tuple(found)


def _checked(
    entry: Mapping[str, Any],
    place: str,
    kinds: Mapping[str, Mapping[str, Key]],
    common: Mapping[str, Key],
    base: Path,
) -> tuple[str, dict[str, Any]]:
    """The kind of an end, and its values, each of its type."""
    kind = value(entry, "kind", str, place)
    if kind not in kinds:
        raise JobError(f'{place}.kind: there is no "{kind}"{nearest(kind, kinds)}')
    keys = {**common, **kinds[kind]}
    check_keys(entry, keys, place)
    given: dict[str, Any] = {}
    for name, key in keys.items():
        if name not in entry and not key.needed:
            continue
        # Tables of PostgreSQL are a map, or a list of patterns.
        is_list = key.of is list or (name == "tables" and isinstance(entry.get(name), list))
        one: Any = (
            list(strings(entry, name, place) or ())
            if is_list
            else value(entry, name, key.of, place)
        )
        if key.words and one not in key.words:
            raise JobError(f'{at(place, name)}: must be {_either(key.words)}, not "{one}"')
        if key.of is int and one < 1:
            raise JobError(f"{at(place, name)}: must be at least 1, not {one}")
        if key.of is float and not 0 <= one < float("inf"):
            raise JobError(f"{at(place, name)}: must be a number from 0 on, not {one}")
        if key.needed and not one:
            raise JobError(f"{at(place, name)}: is empty")
        # An address, such as s3://.., is no path.
        given[name] = str(base / one) if key.is_path and "://" not in one else one
    del given["kind"]
    return kind, given


def _filled(given: Mapping[str, Any], place: str) -> Iterable[tuple[str, str]]:
    """The tables that a source fills, each with the place where it is named."""
    if "table" in given:
        yield at(place, "table"), given["table"]
    for key in ("tables", "topics"):
        if isinstance(given.get(key), list):
            continue
        for name, table in given.get(key, {}).items():
            where = at(at(place, key), name)
            if not isinstance(table, str):
                raise JobError(f"{where}: must be text, not {toml_name(table)}")
            yield where, table


def _either(words: tuple[str, ...]) -> str:
    *first, last = (f'"{word}"' for word in words)
    return f"{', '.join(first)} or {last}"
