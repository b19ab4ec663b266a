"""Errors of a worker, raised on the driver as they were there.

Spark hands the driver the text of a worker's exception, in one of its own. Invariant: the raised
error has the class and the message of the worker's. Cost: one search in that text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ringview import errors

_SAID = re.compile(
    r"^\s*(?:ringview\.errors\.(\w+)|(ImportError)): (.*(?:\n(?!\s*$|\s+at ).*)*)", re.MULTILINE
)


def error_of(problem: BaseException) -> Exception | None:
    """The error of ringview that a worker raised; nothing if it was none of ringview's.

    >>> said = "Traceback ..:" + chr(10) + "ringview.errors.OverDeleteError: no"
    >>> error_of(RuntimeError(said))
    OverDeleteError('no')
    """
    found: Exception | None = None
    for name, missing, message in _SAID.findall(str(problem)):
        kind = getattr(errors, name, None) if name else None
        if isinstance(kind, type) and issubclass(kind, errors.RingviewError):
            found = kind(message.strip())
        elif missing and "ringview" in message:
            found = ImportError(message.strip())
    return found


@contextmanager
def raising() -> Iterator[None]:
    """Around an action of Spark: what a worker of ringview raised is raised as it was.

    Example:
        >>> with raising():  # doctest: +SKIP
        ...     evaluate(sql, tables).collect()
    """
    try:
        yield
    except errors.RingviewError:
        raise
    except Exception as problem:
        said = error_of(problem)
        if said is None:
            raise
        raise said from problem
