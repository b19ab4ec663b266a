"""The logger `ringview` of Python's `logging`: files, readers and senders, never single changes.

Invariant: nothing is printed unless the user configures it; a transaction of its own is not logged,
so that the hot path has no call of it. Cost: a microsecond a message that nobody reads.
"""

from __future__ import annotations

from typing import Literal

Level = Literal["debug", "info", "warning", "error"]


def log(level: Level, text: str, *values: object) -> None:
    """Log a message of whoever calls this.

    >>> import logging
    >>> logger = logging.getLogger("ringview")
    >>> class Shown(logging.Handler):
    ...     def emit(self, record):
    ...         print(record.levelname, record.getMessage())
    >>> shown = Shown()
    >>> logger.addHandler(shown), logger.setLevel("INFO")
    (None, None)
    >>> log("info", "opened %s", "a.ringview"), log("debug", "a batch of %d", 7)
    INFO opened a.ringview
    (None, None)
    >>> logger.removeHandler(shown), logger.setLevel("NOTSET")
    (None, None)
    """
    # Programs that never open a file, read or send do not pay for its import.
    import logging

    logger = logging.getLogger("ringview")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    number: int = getattr(logging, level.upper())
    logger.log(number, text, *values, stacklevel=2)
