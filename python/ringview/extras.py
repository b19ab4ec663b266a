"""Libraries that extras bring: loaded when they are needed.

Invariant: an error names the extra that brings what is missing. Cost: that of an import.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import UnsupportedError


def load(module: str, needed_by: str, extra: str) -> Any:
    """A library that is there once an extra is installed.

    Raises:
        UnsupportedError: It is not.

    >>> load("no_such_library", "sinks.kafka", "kafka")
    Traceback (most recent call last):
    ringview.errors.UnsupportedError: sinks.kafka needs no-such-library, which is not installed: \
pip install 'ringview[kafka]'
    """
    try:
        return import_module(module)
    except ImportError as problem:
        raise UnsupportedError(
            f"{needed_by} needs {module.replace('_', '-')}, which is not installed: "
            f"pip install 'ringview[{extra}]'"
        ) from problem
