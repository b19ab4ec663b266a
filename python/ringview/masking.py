"""Passwords in texts that people read: errors of drivers, which repeat what they were given.

Invariant: nothing else of a text changes. Cost: O(length of the text), when something fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = r"(?:ssl)?(?:password|passwd|pwd)|\w*secret\w*|\w*token|\w*access_key"
_VALUE = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s&,;'")}]+)"""
_PATTERNS = (
    # Of a URL, what is between the user and the last @ before the path.
    re.compile(r"""([a-zA-Z][\w+.-]*://[^\s:/@'"]*:)[^\s/'"]+(?=@)"""),
    # Of a connection in words, or of a query.
    re.compile(rf"(\b(?:{_NAMES})\s*=\s*){_VALUE}", re.IGNORECASE),
    # Of options as a dict or as JSON.
    re.compile(rf"""(["'](?:{_NAMES}|\w+\.password)["']\s*:\s*){_VALUE}""", re.IGNORECASE),
)


def masked(text: str) -> str:
    """A text without the passwords of URLs and of connections.

    >>> masked('cannot read "postgresql://ada:hunter2@db/shop"')
    'cannot read "postgresql://ada:***@db/shop"'
    >>> masked("host=db user=ada password='hun ter2' dbname=shop")
    'host=db user=ada password=*** dbname=shop'
    >>> masked("user:password at localhost")
    'user:password at localhost'
    """
    for pattern in _PATTERNS:
        text = pattern.sub(r"\1***", text)
    return text


@contextmanager
def masking() -> Iterator[None]:
    """Around calls of a driver: what it raises repeats no password.

    An error that does is raised as one of the same class that says the same without it.
    """
    try:
        yield
    except Exception as problem:
        said = masked(str(problem))
        if said == str(problem):
            raise
        # A message that repeats it is in no traceback of one that does not.
        raise _like(problem, said) from None


def _like(problem: Exception, said: str) -> Exception:
    try:
        return type(problem)(said)
    except Exception:
        return RuntimeError(f"{type(problem).__name__}: {said}")
