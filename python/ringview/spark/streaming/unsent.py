"""What a sink is still to be told, kept beside the state.

A process that is killed leaves a file that still tells what its last transaction moved. One that
closes the file may write it anew, and keeps the changes here; so does one that replaces views.

Invariant: a folder of changes is there whole or not at all. Cost: that of the changes, and only
where a sink failed or a view is replaced.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ringview.errors import StorageError
from ringview.whole import sync


def of_batch(state: Path, batch_id: int) -> Path:
    """Where that is what a batch moved."""
    return state / f"unsent-{batch_id}"


def of_evolution(state: Path, batch_id: int, number: int) -> Path:
    """Where that is what moved by new views, to be told with a batch; several come in order."""
    return state / f"evolved-{batch_id}-{number:06d}"


def evolutions(state: Path, batch_id: int) -> list[Path]:
    """What is to be told with a batch beside what it moves, in order."""
    return sorted(state.glob(f"evolved-{batch_id}-[0-9]*"))


def forget_from(state: Path, number: int) -> None:
    """Remove evolutions from a number on, which never came to their end."""
    for folder in state.glob("evolved-*"):
        if int(folder.name.rpartition("-")[2]) >= number:
            shutil.rmtree(folder, ignore_errors=True)


def with_evolutions(
    state: Path, batch_id: int, moved: Mapping[str, pa.Table], views: Iterable[str]
) -> dict[str, pa.Table]:
    """What a batch moved in views, behind what moved by new views before it."""
    found = dict(moved)
    for folder in evolutions(state, batch_id)[::-1]:
        for name, before in (kept(folder) or {}).items():
            if name in found:
                found[name] = together(before, found[name])
            elif name in views:
                found[name] = before
    return found


def keep(folder: Path, changes: Mapping[str, pa.Table]) -> None:
    """Write changes by view, unless they are there."""
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    if folder.exists():
        return
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        for number, (name, rows) in enumerate(changes.items()):
            schema = rows.schema.with_metadata({"view": name})
            with (draft / str(number)).open("wb") as file:
                with pa.ipc.new_file(file, schema) as writer:
                    writer.write_table(rows.cast(schema))
                file.flush()
                os.fsync(file.fileno())
        draft.rename(folder)
        sync(folder.parent)
    except OSError as problem:
        raise StorageError(f"cannot write {folder}: {problem}") from problem


def kept(folder: Path) -> dict[str, pa.Table] | None:
    """The changes by view; None if none were kept."""
    if not folder.exists():
        return None
    found = {}
    for path in sorted(folder.iterdir()):
        with pa.ipc.open_file(path) as reader:
            name = reader.schema.metadata[b"view"].decode()
            found[name] = reader.read_all().replace_schema_metadata(None)
    return found


def forget(state: Path) -> None:
    """Remove all that was kept: the sink has it."""
    for folder in (*state.glob("unsent-*"), *state.glob("evolved-*")):
        shutil.rmtree(folder, ignore_errors=True)


def forget_before(state: Path, batch_id: int) -> None:
    """Remove what was to be told with earlier batches."""
    for folder in state.glob("evolved-*"):
        if int(folder.name.split("-")[1]) < batch_id:
            shutil.rmtree(folder, ignore_errors=True)


def together(first: pa.Table, second: pa.Table) -> pa.Table:
    """Changes and later ones as one: rows that came and went again are none.

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
        # Lists and structs; replayed in order, the rows come to the same.
        return rows
    grouped = grouped.rename_columns([*names, times]).cast(first.schema)
    return grouped.filter(pc.not_equal(grouped[times], 0))
