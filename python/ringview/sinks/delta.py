"""A table of Delta Lake as a sink.

Invariant: a batch and its number are one version of the table, and a batch whose number is in it
does nothing: so each counts once. Cost: a version a batch; with a key that of a merge.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CheckpointError, InvalidValueError
from ..extras import load
from ..text import quoted
from .keyed import by_key, checked
from .sql import BATCH

if TYPE_CHECKING:
    import pyarrow as pa

_GONE = "ringview_gone"


class DeltaSink:
    """A table of Delta Lake for the changes of one view; made by `delta`."""

    def __init__(
        self, path: str, key: str | Sequence[str] | None, options: Mapping[str, str] | None
    ) -> None:
        if key is not None and not key:
            raise InvalidValueError("key=[] names no column; leave it out for a log of changes")
        self._path = path
        self._key = [key] if isinstance(key, str) else key and list(key)
        self._options = dict(options or {})
        self._owner: str | None = None
        self._may_begin = False

    def __repr__(self) -> str:
        return f"DeltaSink({self._path!r}, key={self._key})"

    def begin(self, owner: str, views: Sequence[str], is_new: bool) -> None:
        """Take the table for who counts the batches, or find that it did.

        Raises:
            UnsupportedError: deltalake is not installed.
            InvalidValueError: More than one view.
            CheckpointError: The table has rows of somebody else.
        """
        if len(views) != 1:
            raise InvalidValueError(
                f"{self._path} takes the changes of one view, not of {', '.join(views)}; give each "
                "view a sink of its own"
            )
        self._owner = f"ringview {owner} {views[0]}"
        table = self._opened()
        if table is not None and table.transaction_version(self._owner) is not None:
            return
        # The first batch may have been numbered, but not have been written here.
        self._may_begin = is_new
        if table is not None and table.file_uris():
            raise CheckpointError(
                f"{self._path} has rows of somebody else, or of another database; remove it, or "
                "name another folder"
            )

    def __call__(self, view: str, batch: int, changes: pa.Table) -> None:
        """Write the changes of a batch as a version, unless they are there already.

        Raises:
            UnknownColumnError: The view lacks a column of the key.
            InvalidValueError: Two rows with the same key; nanoseconds.
            CheckpointError: The table has later batches, as the database that sends is older, or
                lacks those before this one.
            Exception: What deltalake raises; nothing was written.
        """
        import pyarrow as pa
        from deltalake import CommitProperties, Transaction, write_deltalake

        if self._owner is None:
            raise CheckpointError(f"nobody began to write {self._path}")
        columns = changes.column_names[:-1]
        checked(view, self._key or (), columns)
        table = self._opened()
        last = None if table is None else table.transaction_version(self._owner)
        if last is None and batch > 1 and not self._may_begin:
            raise CheckpointError(
                f"{self._path} has none of the batches before {batch}, which were sent to it; send "
                "under another name, which begins with the whole view"
            )
        if last is not None and batch <= last:
            if batch == last:
                return
            raise CheckpointError(
                f"{self._path} has batch {last} of view {quoted(view)} already and is given batch "
                f"{batch}: the database that sends is older than what it sent. Send under another "
                "name, which begins with the whole view"
            )
        noted = CommitProperties(app_transactions=[Transaction(self._owner, batch)])
        rows = _storable(changes)
        if self._key is None:
            rows = rows.append_column(BATCH, pa.array([batch] * rows.num_rows, pa.int64()))
        elif table is not None:
            self._merge(table, view, rows, noted)
            return
        else:
            by_key(view, self._key, columns, _values(rows))
            rows = rows.drop_columns(rows.column_names[-1:])
        write_deltalake(
            self._path,
            rows,
            mode="append",
            commit_properties=noted,
            storage_options=self._options,
        )

    def _opened(self) -> Any:
        """The table, or None if there is none."""
        deltalake = load("deltalake", "sinks.delta", "delta")
        if not deltalake.DeltaTable.is_deltatable(self._path, self._options):
            return None
        return deltalake.DeltaTable(self._path, storage_options=self._options)

    def _merge(self, table: Any, view: str, rows: pa.Table, noted: Any) -> None:
        """Put new rows in the place of those with their key, and take away those that left."""
        import pyarrow as pa

        key, columns = self._key or [], rows.column_names[:-1]
        new, moved = by_key(view, key, columns, _values(rows))
        schema = pa.schema([rows.schema.field(name).with_nullable(True) for name in columns])
        listed = [{**dict(zip(columns, row, strict=True)), _GONE: False} for row in new.values()]
        listed += [
            {**dict(zip(key, at, strict=True)), _GONE: True} for at in moved if at not in new
        ]
        source = pa.Table.from_pylist(listed, schema.append(pa.field(_GONE, pa.bool_())))
        # NULL equals nothing, and is a key of a group all the same.
        pairs = [(f"t.{_quoted(name)}", f"s.{_quoted(name)}") for name in key]
        same = " AND ".join(
            f"({there} = {here} OR ({there} IS NULL AND {here} IS NULL))" for there, here in pairs
        )
        sets = {_quoted(name): f"s.{_quoted(name)}" for name in columns}
        merge = table.merge(
            source, same, source_alias="s", target_alias="t", commit_properties=noted
        )
        merge = merge.when_matched_delete(f"s.{_GONE}")
        merge = merge.when_matched_update(sets, f"NOT s.{_GONE}")
        merge.when_not_matched_insert(sets, f"NOT s.{_GONE}").execute()


def delta(
    path: str | os.PathLike[str],
    *,
    key: str | Sequence[str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> DeltaSink:
    """A table of Delta Lake: the view as it is, or the log of its changes. Needs deltalake.

    Args:
        path: Where it is, a folder or an address that deltalake takes; it is made if it is not
            there, and else was written by the same sender.
        key: As for `sqlite`.
        storage_options: How to reach it, as deltalake takes it.

    Unsigned integers have the next longer type there.

    Raises:
        MissingExtraError: deltalake is not installed.

    Raises, when changes are sent:
        CheckpointError, InvalidValueError: As `sqlite`.
        deltalake.exceptions.DeltaError: What it raises; the batch is sent again with the next step.

    Complexity: a version a batch.

    >>> from ringview import sinks
    >>> sinks.delta("/data/totals", key="customer")
    DeltaSink('/data/totals', key=['customer'])
    """
    load("deltalake", "sinks.delta", "delta")
    return DeltaSink(os.fspath(path), key, storage_options)


def _values(rows: pa.Table) -> list[list[Any]]:
    return [list(row.values()) for row in rows.to_pylist()]


def _storable(changes: pa.Table) -> pa.Table:
    """In types that Delta Lake has.

    Raises:
        InvalidValueError: Nanoseconds, which would be lost.
    """
    import pyarrow as pa

    longer = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
    }
    fields = []
    for field in changes.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        kind = longer.get(kind, kind)
        if pa.types.is_timestamp(kind):
            kind = pa.timestamp("us", kind.tz)
        fields.append(field.with_type(kind))
    try:
        return changes.cast(pa.schema(fields))
    except pa.ArrowInvalid as problem:
        raise InvalidValueError(
            f"a column has nanoseconds, which a table there does not hold; truncate them in the "
            f"view ({problem})"
        ) from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
