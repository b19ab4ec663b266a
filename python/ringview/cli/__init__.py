"""The command line: ``ringview run JOB.toml`` and ``ringview explain JOB.toml``.

Invariant: results go to standard output, everything else to standard error; the exit
status is 0 if all went well, 1 for an error in the job or its data, 2 for a wrong
command line, 130 after Ctrl-C. Cost: that of the job.
"""

from __future__ import annotations

import sys


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
    app(prog_name="ringview")
