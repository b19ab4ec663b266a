"""The progress of a run, and its outcome.

Plain data that both engines fill in and that the command line shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Progress:
    """Rows and batches applied so far; ``total`` rows if that is known beforehand."""

    rows: int
    total: int | None
    batches: int
    seconds: float

    @property
    def rate(self) -> float:
        """Rows a second so far."""
        return self.rows / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Outcome:
    """The last progress; for every view its result, the rows it read, the seconds it took."""

    progress: Progress
    results: dict[str, pa.Table]
    read: dict[str, int]
    seconds: dict[str, float]
