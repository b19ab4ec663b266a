"""Checkpoints by the names that Spark takes: folders of this machine, and URIs.

Spark takes a path as it is written, and itself escapes what a URI may not hold: an escaped blank is
escaped again, and names another folder. Its reader of state escapes once too often (as of Spark
4.3), and finds only folders whose names need no escape; for others it gets a link.

Invariant: Spark finds the folder that is named here and no other. Cost: O(length); a link is made
once a folder and process.
"""

from __future__ import annotations

import os
import re
import tempfile
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import SparkSession

from ringview.errors import StorageError, UnsupportedError
from ringview.spark.session import cores
from ringview.spark.streaming.locations import Location, Remote

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")
# Of what a path may hold, these characters are the same in a URI.
_PLAIN = re.compile(r"[\w!.~'()*,;:$&+=@/-]*")


def local(path: str | os.PathLike[str]) -> Path:
    """The folder of this machine that a user names, by its path or by a URI.

    >>> local("a b#1%20"), local("file:///a%20b"), local("file:/a%23b")
    (PosixPath('a b#1%20'), PosixPath('/a b'), PosixPath('/a#b'))

    Raises:
        UnsupportedError: It is on another file system.
    """
    text = os.fspath(path)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return Path(text)
    rest = text[scheme.end() :]
    if rest.startswith("//"):
        host, slash, below = rest[2:].partition("/")
        rest = slash + below if host in ("", "localhost") else ""
    if scheme[1].lower() == "file" and rest:
        return Path(unquote(rest))
    raise UnsupportedError(
        f"checkpoint={text!r} is no folder of this machine; give one by its path, or a URI of a "
        "file system that Spark knows"
    )


def location(path: str | os.PathLike[str], spark: SparkSession | None) -> Location:
    """The folder that a user names, which is elsewhere only with a session to reach it by.

    Raises:
        UnsupportedError: It is on another file system, and there is no session.
        StorageError: Spark does not reach it.
    """
    text = os.fspath(path)
    scheme = _SCHEME.match(text)
    if spark is None or scheme is None or scheme[1].lower() == "file":
        return local(path)
    try:
        return Remote.of(text, spark)
    except OSError as problem:
        raise StorageError(f"cannot open the checkpoint {text}: {problem}") from problem


def for_spark(folder: Location) -> str:
    """Spark's name of a folder, whatever its default file system is.

    >>> for_spark(Path("/a b/ü#1%20"))
    'file:///a b/ü#1%20'
    """
    if isinstance(folder, Remote):
        return str(folder)
    return f"file:///{folder.absolute().as_posix().lstrip('/')}"


def for_state_reader(spark: SparkSession, folder: Location) -> str:
    """The same for Spark's reader of state.

    Raises:
        UnsupportedError: The reader would look for another folder, and Spark runs on other machines
            too, which have no link of this one.
        StorageError: No link can be made.
    """
    if isinstance(folder, Remote):
        is_plain = _PLAIN.fullmatch(str(folder).partition(":")[2]) is not None
    else:
        is_plain = _PLAIN.fullmatch(folder.absolute().as_posix()) is not None
    if is_plain:
        return for_spark(folder)
    if isinstance(folder, Remote) or cores(spark) is None:
        raise UnsupportedError(
            f"the checkpoint {folder.parent} has a character in its path that Spark's reader of "
            "state does not find folders by, such as a blank or %; give it a path of letters, "
            'digits, - and _, or keep it with mode="driver"'
        )
    return for_spark(_link(folder.absolute()))


@cache
def _links() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ringview-", ignore_cleanup_errors=True)


@cache
def _link(folder: Path) -> Path:
    """A link to a folder, with a plain name, for as long as the process lives."""
    link = Path(_links().name) / str(len(list(Path(_links().name).iterdir())))
    try:
        link.symlink_to(folder, target_is_directory=True)
    except OSError as problem:
        raise StorageError(
            f"cannot link {link} to {folder}, which Spark's reader of state does not find by its "
            f"own name: {problem}"
        ) from problem
    if not _PLAIN.fullmatch(link.as_posix()):
        raise StorageError(
            f"Spark's reader of state does not find the link {link} by its name; set TMPDIR to a "
            "folder whose path has letters, digits, - and _"
        )
    return link
