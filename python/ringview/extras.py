"""Libraries that extras bring: loaded when they are needed.

Invariant: an error names the extra that brings what is missing. Cost: that of an import.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import MissingExtraError


def load(module: str, needed_by: str, extra: str | None = None) -> Any:
    """A library that is there once an extra is installed; without `extra`, once it is itself.

    Raises:
        MissingExtraError: It is not.

    >>> load("no_such_library", "sinks.kafka", "kafka")
    Traceback (most recent call last):
    ringview.errors.MissingExtraError: sinks.kafka needs no-such-library, which is not installed: \
pip install 'ringview[kafka]'
    """
    try:
        return import_module(module)
    except ImportError as problem:
        raise missing(module, needed_by, extra) from problem


def missing(module: str | None, needed_by: str, extra: str | None) -> MissingExtraError:
    """The error of a library that is not there.

    >>> missing("sklearn", "ringview.ml", "ml").args[0]
    "ringview.ml needs scikit-learn, which is not installed: pip install 'ringview[ml]'"
    """
    top = (module or "a library").partition(".")[0]
    name = {"sklearn": "scikit-learn"}.get(top, top.replace("_", "-"))
    wanted = name if extra is None else f"'ringview[{extra}]'"
    return MissingExtraError(
        f"{needed_by} needs {name}, which is not installed: pip install {wanted}"
    )
