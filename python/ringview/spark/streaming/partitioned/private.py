"""Folders, files and sockets that only this user reaches, checked where they are used.

Temporary files lie where others make files, too, under names that can be guessed.

Invariant: what passes belongs to this user, is what it should be and not a link to it, and nobody
else can read or write it; of a socket, its other end is a process of this user. Cost: a few calls
of the system.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from pathlib import Path

_MOST = 1 << 16
_CREDENTIALS = struct.Struct("3i")


def check_folder(folder: Path) -> None:
    """Raise PermissionError unless a folder is private.

    Raises:
        OSError: It is not there.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{folder} is not a folder")
    _check(folder, found)


def read(path: Path) -> bytes:
    """The content of a small file; raises PermissionError unless it and its folder are private.

    Raises:
        OSError: It is not there, or cannot be read.
    """
    check_folder(path.parent)
    # Without a reader's patience: a pipe in its place does not hold this up.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(f"{path} is not a file")
        _check(path, found)
        return os.read(file, _MOST)
    finally:
        os.close(file)


def write(path: Path, content: bytes) -> None:
    """Make a private file that is not there yet, in a private folder."""
    check_folder(path.parent)
    how = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, how, 0o600), "wb") as file:
        file.write(content)


def connect(path: Path) -> socket.socket:
    """A connection to a socket in a private folder, whose other end is this user.

    Raises:
        OSError: There is none, or nobody listens.
        PermissionError: The folder is not private, or somebody else listens.
    """
    check_folder(path.parent)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.connect(str(path))
        check_peer(made)
    except BaseException:
        made.close()
        raise
    return made


def check_peer(of: socket.socket) -> None:
    """Raise PermissionError if the other end of a socket is known to be another user."""
    peer = peer_user(of)
    if peer is not None and peer != os.geteuid():
        raise PermissionError(f"the other end of a socket is the user {peer}")


def peer_user(of: socket.socket) -> int | None:
    """The number of the user at the other end; None where the system does not say."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    found = of.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    return int(user)


def _check(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to the user {found.st_uid}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{path} is open to others")
