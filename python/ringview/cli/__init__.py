"""The command line: ``ringview run JOB``, ``explain JOB``, ``serve JOB``, ``sql FILE``.

Invariant: results are written to standard output, everything else to standard error; the exit
status is 0 for success, 1 for an error in the job or its data, 2 for a wrong command line, 130
after Ctrl-C, 143 after SIGTERM; nothing half written is left. Cost: that of the job.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> None:
    """The console script ``ringview``."""
    try:
        from ringview.cli.commands import app
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(
            f"ringview: the command line needs {error.name}, which is not installed: "
            "pip install 'ringview[cli]'"
        )
    signal.signal(signal.SIGTERM, _terminate)
    app(prog_name="ringview")


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """End as an error does, so that what is half written is taken away."""
    sys.exit(128 + number)
