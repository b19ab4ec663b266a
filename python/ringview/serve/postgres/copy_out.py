"""Rows that are copied out: the sources that COPY .. TO STDOUT reads from.

Invariant: a subscription is given each change of its view once, in the order of commits, and in
all what the view has; changes between two reads are one, so what is kept for a client that is
slow is at most the rows of the view, twice. Cost: of a look, the groups that moved since the last
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...errors import RingviewError, UnknownViewError
from ...statements import spelt
from .codes import Report, SqlStateError, report
from .copying import Copy

if TYPE_CHECKING:
    import pyarrow as pa

    from ...follower import Follower
    from ...view import View


class Once:
    """A source of rows that are there already."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows: pa.Table | None = rows

    def next(self) -> tuple[pa.Table | None, Report | None]:
        """The rows, and then nothing."""
        rows, self._rows = self._rows, None
        return rows, None

    def close(self) -> None:
        """Forget them."""
        self._rows = None

    def __repr__(self) -> str:
        return "Once()"


class Subscription:
    """A source of the changes of a view: their multiplicities, and the columns of the view."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def next(self) -> tuple[pa.Table | None, Report | None]:
        """Changes since the last call, waited for; nothing where the view is dropped."""
        try:
            found = self._follower.poll(timeout=None)
            return None if found is None else ordered(found), None
        except UnknownViewError:
            return None, None
        except RingviewError as problem:
            return None, None if self._follower.closed else report(problem)
        except KeyboardInterrupt as problem:
            return None, report(problem)

    def close(self) -> None:
        """Follow no longer."""
        self._follower.close()

    def __repr__(self) -> str:
        return f"Subscription({self._follower!r})"


def subscribe(copy: Copy, views: Mapping[str, View]) -> tuple[pa.Schema, Subscription]:
    """Follow the view of a COPY; its columns, and the source."""
    import pyarrow as pa

    name = spelt(copy.view or "", views)
    if name is None:
        known = ", ".join(views) or "none"
        raise SqlStateError(
            "42P01",
            f"no view {copy.view!r} to subscribe to; known: {known}",
            "of a table, subscribe to a view: CREATE VIEW v AS SELECT * FROM t",
        )
    view = views[name]
    schema = pa.schema([pa.field("multiplicity", pa.int64(), nullable=False), *view.schema])
    return schema, Subscription(view.follow(initial=copy.snapshot))


def ordered(changes: pa.Table) -> pa.Table:
    """Changes with their multiplicities, the last column, as the first column."""
    columns = changes.num_columns
    moved: pa.Table = changes.select([columns - 1, *range(columns - 1)])
    return moved
