"""Changes that are yet to be sent to a sink, kept beside the state.

A process that is killed leaves a file that still holds the changes of its last transaction. One
that closes the file may rewrite it, and keeps the changes here; so does one that replaces views.

Invariant: a file of changes is there whole or not at all. Cost: that of the changes, and only
where a sink failed or a view is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc

from ringview.convert.ipc import read_stream
from ringview.errors import StorageError
from ringview.spark.streaming import locations
from ringview.spark.streaming.locations import Location

_SCHEMA = pa.schema({"view": pa.string(), "rows": pa.large_binary()})


def of_batch(state: Location, batch_id: int) -> Location:
    """Location of the changes of a batch."""
    return state / f"unsent-{batch_id}"


def of_evolution(state: Location, batch_id: int, number: int) -> Location:
    """Location of changes by new views, to be sent with a batch; several are sent in order."""
    return state / f"evolved-{batch_id}-{number:06d}"


def evolutions(state: Location, batch_id: int) -> list[Location]:
    """Changes by new views that are sent with a batch in addition to its own, in order."""
    found: list[Location] = [*state.glob(f"evolved-{batch_id}-[0-9]*")]
    return sorted(found, key=lambda place: place.name)


def forget_from(state: Location, number: int) -> None:
    """Remove evolutions from a number on, which were never completed."""
    for place in state.glob("evolved-*"):
        if int(place.name.rpartition("-")[2]) >= number:
            _remove(place)


def with_evolutions(
    state: Location, batch_id: int, moved: Mapping[str, pa.Table], views: Iterable[str]
) -> dict[str, pa.Table]:
    """Changes of views by a batch, behind those by new views before it."""
    found = dict(moved)
    for place in evolutions(state, batch_id)[::-1]:
        for name, before in (read(place) or {}).items():
            if name in found:
                found[name] = together(before, found[name])
            elif name in views:
                found[name] = before
    return found


def is_any(state: Location) -> bool:
    """Whether there are changes that are yet to be sent to a sink."""
    return any(True for name in ("unsent-*", "evolved-*") for _ in state.glob(name))


def keep(place: Location, changes: Mapping[str, pa.Table]) -> None:
    """Write changes by view, unless they are there."""
    try:
        if place.exists():
            return
        rows = []
        for table in changes.values():
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            rows.append(sink.getvalue().to_pybytes())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, _SCHEMA) as writer:
            writer.write_table(pa.table([list(changes), rows], schema=_SCHEMA))
        locations.write(place, sink.getvalue().to_pybytes())
    except OSError as problem:
        raise StorageError(f"cannot write {place}: {problem}") from problem


def read(place: Location) -> dict[str, pa.Table] | None:
    """The changes by view; None if none were kept."""
    if not place.exists():
        return None
    found = read_stream(place.read_bytes()).to_pydict()
    views = zip(found["view"], found["rows"], strict=True)
    return {view: read_stream(rows) for view, rows in views}


def forget(state: Location) -> None:
    """Remove all that was kept: the sink has it."""
    for place in (*state.glob("unsent-*"), *state.glob("evolved-*")):
        _remove(place)


def forget_before(state: Location, batch_id: int) -> None:
    """Remove changes that were to be sent with earlier batches."""
    for place in state.glob("evolved-*"):
        if int(place.name.split("-")[1]) < batch_id:
            _remove(place)


def _remove(place: Location) -> None:
    with suppress(OSError):
        locations.remove(place)


def together(first: pa.Table, second: pa.Table) -> pa.Table:
    """Changes and later ones as one: rows that were inserted and deleted again are none.

    >>> came = pa.table({"a": [1, 2], "multiplicity": [1, 1]})
    >>> went = pa.table({"a": [2, 3], "multiplicity": [-1, 1]})
    >>> together(came, went).to_pylist()
    [{'a': 1, 'multiplicity': 1}, {'a': 3, 'multiplicity': 1}]
    """
    rows = pa.concat_tables([first, second.cast(first.schema)])
    *names, times = rows.column_names
    try:
        grouped = rows.group_by(names, use_threads=False).aggregate([(times, "sum")])
    except pa.ArrowNotImplementedError:
        # Lists and structs; replayed in order, the rows have the same result.
        return rows
    grouped = grouped.rename_columns([*names, times]).cast(first.schema)
    return grouped.filter(pc.not_equal(grouped[times], 0))
