"""Results of a text of SQL, as the extension takes them.

Invariant: outcomes have the order of their statements. Cost: none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .codes import Report

Outcome = tuple[Any, ...]
Answer = tuple[list[Outcome], Report | None, list[Report], list[tuple[str, str]], str]


@dataclass
class Results:
    """Results of a text of SQL, gathered statement by statement."""

    outcomes: list[Outcome] = field(default_factory=list)
    warnings: list[Report] = field(default_factory=list)
    settings: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, failure: Report | None, status: str) -> Answer:
        """All of it, the failure behind it, and where the session is now."""
        return self.outcomes, failure, self.warnings, self.settings, status
