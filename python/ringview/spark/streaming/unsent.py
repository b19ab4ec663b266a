"""What a sink has not taken when a stream is stopped, kept beside the state.

A process that is killed leaves a file that still tells what its last transaction moved. One that
closes the file may write it anew, and keeps the changes here.

Invariant: a folder of changes is there whole or not at all. Cost: that of the changes, and only
where a sink failed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from ringview.errors import StorageError
from ringview.whole import sync


def keep(state: Path, batch_id: int, changes: Mapping[str, pa.Table]) -> None:
    """Write the changes of a batch by view."""
    folder, draft = _folder(state, batch_id), state / f".unsent.{os.getpid()}.part"
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
        sync(state)
    except OSError as problem:
        raise StorageError(f"cannot write {folder}: {problem}") from problem


def kept(state: Path, batch_id: int) -> dict[str, pa.Table] | None:
    """The changes of a batch by view; None if none were kept."""
    folder = _folder(state, batch_id)
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
    for folder in state.glob("unsent-*"):
        shutil.rmtree(folder, ignore_errors=True)


def _folder(state: Path, batch_id: int) -> Path:
    return state / f"unsent-{batch_id}"
