"""Files of secrets: tokens, and keys of certificates.

Invariant: what another user of this machine may read or write is no secret, and is refused. Cost: a
look at the file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .errors import InvalidValueError

_GROUP_READ = 0o040


def check_private(path: str | os.PathLike[str]) -> None:
    """Refuse a file of a secret that others may read or write.

    A file of the superuser may be read by its group, too, as containers mount secrets. On Windows,
    whose files have no mode, nothing is checked.

    Args:
        path: The file.

    Raises:
        InvalidValueError: Its mode permits others, or it is of another user.
        OSError: It cannot be looked at.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     check_private(file.name)
    ...     os.chmod(file.name, 0o644)
    ...     check_private(file.name)
    Traceback (most recent call last):
    ringview.errors.InvalidValueError: ... may be read by other users: its mode is 0644; chmod 600
    """
    if os.name != "posix":
        return
    found = Path(path).stat()
    if found.st_uid not in (0, os.geteuid()):
        raise InvalidValueError(f"{path} is of another user, who may read and write it")
    mode = stat.S_IMODE(found.st_mode)
    allowed = 0o700 | (_GROUP_READ if found.st_uid == 0 else 0)
    if mode & ~allowed:
        raise InvalidValueError(
            f"{path} may be read by other users: its mode is {mode:04o}; chmod 600"
        )
