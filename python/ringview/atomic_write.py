"""Files that are there whole or not at all.

Invariant: after a crash of the machine a name leads to the old file or to the new one. The target
is a regular file, never a device, a pipe or a folder. The new file has the permissions of the old
one, also while it is written. Cost: the bytes, and two syncs.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


class NotAFileError(OSError):
    """The place of a file is taken by a device, a pipe, a socket or a folder."""


def write(path: Path, data: bytes) -> None:
    """Write a file that is there whole, or not at all, and survives a crash of the machine.

    Raises:
        OSError: It cannot be written; its place is taken by what is no file.
    """
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of another one once the block ends without an error.

    A new file has the mode that the umask gives; one that replaces another has its mode, and its
    owner and group where this process may give files away. A link stays, and leads to the file.

    Raises:
        OSError: It cannot be written; its place is taken by what is no file.
    """
    path = Path(os.path.realpath(path))
    before = check_file(path)
    draft = path.with_name(f".{path.name}.{uuid4().hex[:12]}.part")
    # Nobody else has it open with a mode that is not yet narrow enough.
    mode = 0o666 if before is None else 0o600
    how = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
    try:
        with open(os.open(draft, how | getattr(os, "O_BINARY", 0), mode), "wb") as file:
            if before is not None:
                _keep(draft, before)
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync(path.parent)


def check_file(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Status of a file that may be replaced; None if there is none.

    Raises:
        NotAFileError: There is something else.
        OSError: It cannot be looked at.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise NotAFileError(f"{os.fspath(path)} is no file, and is left as it is")
    return found


def _keep(draft: Path, before: os.stat_result) -> None:
    """Give a draft the owner and the mode of what it replaces, as far as this process may."""
    if hasattr(os, "chown"):
        now = draft.stat()
        for owner, group in ((before.st_uid, -1), (-1, before.st_gid)):
            if (owner, group) not in ((now.st_uid, -1), (-1, now.st_gid)):
                with suppress(PermissionError):
                    os.chown(draft, owner, group)
    # Afterwards: giving a file away takes some bits of its mode.
    draft.chmod(stat.S_IMODE(before.st_mode))


def sync(folder: Path) -> None:
    """Make the names in a folder durable, where folders can be synced."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
