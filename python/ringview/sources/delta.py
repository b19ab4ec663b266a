"""A table of Delta Lake as a source: its rows first, then the change feed of each version.

Invariant: a version is one transaction, and the place is the last one that was applied. Cost: the
first load has all rows in memory at once, then a version its changes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValueError, StorageError, UnsupportedError
from ..extras import load
from .batch import Batch, Casts, Change, Origin
from .folder import shaped

if TYPE_CHECKING:
    import pyarrow as pa

_CHANGE = "_change_type"
_OF_FEED = (_CHANGE, "_commit_version", "_commit_timestamp")
_GONE = ("delete", "update_preimage")
_ENABLED = "delta.enableChangeDataFeed"


class Delta:
    """A table of Delta Lake; made by `delta`."""

    def __init__(
        self,
        path: str,
        name: str,
        shape: Mapping[str, object],
        watch: bool,
        options: Mapping[str, str] | None,
    ) -> None:
        self.name = name
        self._path = path
        self._shape = shape
        self._watch = watch
        self._options = dict(options or {})

    def __repr__(self) -> str:
        return f"Delta({self._path!r}, table={self._shape['table']!r})"

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        """The versions behind `positions`; see `Source`."""
        version = json.loads(positions[""])["version"] if "" in positions else None
        while True:
            table = self._opened()
            if version is None:
                version = table.version()
                rows = table.to_pyarrow_table()
                yield self._batch(version, [("insert", rows)])
            if table.version() < version:
                raise InvalidValueError(
                    f"{self._path} is at version {table.version()} and was read to version "
                    f"{version}: it was made anew. Fill the table anew under another name="
                )
            for next_version in range(version + 1, table.version() + 1):
                feed = self._feed(table, next_version)
                gone = _those(feed, True)
                # Deleted rows were there before: they are deleted before any insert.
                yield self._batch(next_version, [("delete", gone), ("insert", _those(feed, False))])
                version = next_version
            if not self._watch:
                return
            yield None

    def _opened(self) -> Any:
        deltalake = load("deltalake", "sources.delta", "delta")
        try:
            return deltalake.DeltaTable(self._path, storage_options=self._options)
        except deltalake.exceptions.DeltaError as problem:
            raise StorageError(f"cannot read {self._path}: {problem}") from problem

    def _feed(self, table: Any, version: int) -> pa.Table:
        """The change feed of a version."""
        import deltalake
        import pyarrow as pa

        if table.metadata().configuration.get(_ENABLED) != "true":
            raise UnsupportedError(
                f"{self._path} has no change feed: ALTER TABLE .. SET TBLPROPERTIES ('{_ENABLED}' "
                "= 'true') before it changes, and fill the table anew under another name="
            )
        try:
            found = pa.table(table.load_cdf(starting_version=version, ending_version=version))
        except deltalake.exceptions.DeltaError as problem:
            raise StorageError(
                f"{self._path} no longer has the changes of version {version} ({problem}). Fill "
                "the table anew under another name=, and keep its files for longer"
            ) from problem
        # Arrow does not take rows of these views.
        plain = [
            field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field
            for field in found.schema
        ]
        return found.cast(pa.schema(plain))

    def _batch(self, version: int, parts: Sequence[tuple[str, pa.Table]]) -> Batch:
        changes = []
        for how, rows in parts:
            if rows.num_rows:
                origin = Origin(f"{self._path}, version {version}")
                shape: dict[str, Any] = {**self._shape, "how": how}
                changes.append(Change(rows=rows, origin=origin, **shape))
        return Batch(changes, {"": json.dumps({"version": version})})


def delta(
    path: str | os.PathLike[str],
    *,
    table: str,
    watch: bool = False,
    ignore: Sequence[str] = (),
    storage_options: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Delta:
    """A table of Delta Lake: its rows first, then what each version changed. Needs deltalake.

    It has its change feed enabled (`delta.enableChangeDataFeed`), unless it is only read once.

    Args:
        path: Where it is, a folder or an address that deltalake takes.
        table: The table that it fills, with a `unique` key or without.
        watch: Whether to wait for new versions for ever.
        ignore: As for `folder`.
        storage_options: How to reach it, as deltalake takes it.
        name: What its version is kept under; by default the path.

    Raises, when it is read:
        UnsupportedError: deltalake is not installed; the table has no change feed.
        StorageError: It cannot be read, or the next version was removed.
        InvalidValueError: It was made anew meanwhile; a row does not fit.
        UnknownColumnError, TypeMismatchError: Its columns are not those of the table.

    Complexity: O(rows), all in memory at once, then O(changes) a version.

    >>> from ringview import sources
    >>> sources.delta("/data/orders", table="orders")
    Delta('/data/orders', table='orders')
    """
    text = os.fspath(path)
    shape = shaped(table, "insert", None, None, ignore, Casts())
    return Delta(text, name or f"delta {text}", shape, watch, storage_options)


def _those(feed: pa.Table, gone: bool) -> pa.Table:
    """The rows of a feed that were deleted, or those that were inserted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_gone = pc.is_in(feed.column(_CHANGE), pa.array(_GONE))
    rows = feed.filter(is_gone if gone else pc.invert(is_gone))
    return rows.drop_columns([name for name in _OF_FEED if name in rows.column_names])
