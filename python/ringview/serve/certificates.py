"""TLS of the port of HTTP: a certificate and its key, read again once their files change.

Invariant: a connection is served by the files as they were at its beginning, or, while they fit no
longer together, by those that last did; that is logged once. Cost: two looks at files a connection.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any

from ..errors import InvalidValueError
from ..log import log
from ..private_files import check_private

Files = tuple[str | os.PathLike[str], str | os.PathLike[str]]
"""The files of a certificate with those above it, and of its key, in PEM."""


class Certificate(ssl.SSLContext):
    """The TLS of a server whose files may be replaced.

    Args:
        files: The files of the certificate and of its key.

    Raises:
        InvalidValueError: The files are not there, are no certificate and its key, or others may
            read the key.

    Complexity: O(1) a connection, and O(bytes) of changed files.
    """

    def __new__(cls, files: Files) -> Certificate:
        """Make it of the protocols that servers speak."""
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, files: Files) -> None:
        self._files = files
        self._marks = _marks(files)
        self._refused: list[object] | None = None
        self._context = _read(files)

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Begin a connection, by the files as they are now."""
        return self._current().wrap_bio(*args, **options)

    def _current(self) -> ssl.SSLContext:
        # Taken before they are read: what changes meanwhile is seen the next time.
        marks = _marks(self._files)
        if marks != self._marks:
            try:
                self._context = _read(self._files)
                self._marks = marks
            except InvalidValueError as problem:
                # They are read again at the next connection, as they may be written just now.
                if marks != self._refused:
                    log("warning", "the changed certificate is not taken: %s", problem)
                self._refused = marks
        return self._context

    def __repr__(self) -> str:
        return f"Certificate({str(self._files[0])!r})"


def _marks(files: Files) -> list[object]:
    found: list[object] = []
    for path in files:
        try:
            at = Path(path).stat()
            found.append((at.st_ino, at.st_mtime_ns, at.st_size))
        except OSError:
            found.append(None)
    return found


def _read(files: Files) -> ssl.SSLContext:
    chain, key = files
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    check_key(files)
    try:
        # Without a password OpenSSL would wait for one at the terminal.
        made.load_cert_chain(chain, key, password=_no_password)
    except (OSError, ValueError) as problem:
        raise InvalidValueError(
            f"certificate {chain} with the key {key}: {problem}; give files in PEM"
        ) from problem
    return made


def check_key(files: Files) -> None:
    """Refuse a key that other users may read.

    Raises:
        InvalidValueError: They may, or it is not there.
    """
    try:
        check_private(files[1])
    except OSError as problem:
        raise InvalidValueError(f"the key of the certificate: {problem}") from problem


def _no_password() -> str:
    raise ValueError("the key has a password; give one without, which only this user may read")
