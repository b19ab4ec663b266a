"""The identities under which a database on the driver notes micro-batches, and what sinks took.

Invariant: a micro-batch has its own number, and that a sink took it has a negative one, so neither
takes room of its own. Cost: O(log batches) look-ups.
"""

from __future__ import annotations

from ringview import Database

LETTERS = "dead letters"
"""The commit that says that the target of dead letters took some."""


def sent(batch_id: int) -> int:
    """The identity of the commit that says that a sink took a batch; that of batch -1 is free."""
    return -2 - batch_id


def loaded(table: str) -> str:
    """The identity of the commit that has the rows of a static table."""
    return f"table {table}"


def is_waiting(database: Database, last: int) -> bool:
    """Whether a sink, if there is one, has not taken the last batch."""
    return last >= 0 and not database.is_applied(sent(last))


def has_sent(database: Database, last: int) -> bool:
    """Whether a sink took a batch, and no more than the last one waits for it."""
    return last >= 0 and any(database.is_applied(sent(batch)) for batch in (last, last - 1))


def last_batch(database: Database) -> int:
    """The last micro-batch that was applied, for there are no gaps; -1 if there was none."""
    known, above = -1, 1
    while database.is_applied(above - 1):
        known, above = above - 1, 2 * above
    # Applied up to `known`, and not from `above` - 1 on.
    above -= 1
    while above - known > 1:
        middle = (known + above) // 2
        if database.is_applied(middle):
            known = middle
        else:
            above = middle
    return known
