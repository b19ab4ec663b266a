"""The changes of a view: asked for, followed, forgotten.

Invariant: nobody is told of a change twice, or of none that is asked for. Cost: O(groups that moved
since the last look); what nobody follows costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .follower import Follower
from .view_rows import ViewRows

if TYPE_CHECKING:
    import pyarrow as pa


class Followed(ViewRows):
    """The part of a view that tells what moved."""

    __slots__ = ()

    def changes(self) -> pa.Table:
        """What moved since the last call: rows with a last column `multiplicity`.

        A row that came has multiplicity 1, one that left has -1; a row whose aggregate moved leaves
        and comes. So does a group that begins or ends to pass HAVING. What came and left again is
        not told. The first call gives the whole view. Of a join, each row that moved comes with how
        much its multiplicity did.

        All handles of a view share this place in its changes; `follow()` gives one of your own. A
        call that fails, or that Ctrl-C ends, loses nothing: the next one gives the whole. From the
        first call on the view remembers what moved, at most the rows that it had and has;
        `unfollow()` ends that. If the view has a column `multiplicity`, the last column is
        `multiplicity_`.

        Complexity: O(groups touched since the last call); of a join O(rows that moved).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> db.insert("r", {"a": [1, 2]})
        >>> _ = view.changes()
        >>> db.delete("r", {"a": [2]})
        >>> view.changes().to_pylist()
        [{'a': 2, 'n': 1, 'multiplicity': -1}]
        """
        import pyarrow as pa

        found: pa.Table = self._native.view_changes(self._handle, pa.table)
        return found

    def unfollow(self, name: str | None = None) -> None:
        """End what `changes()` began: nothing is remembered for it until it is called again. O(1).

        Args:
            name: Of a follower with a name, whose place is forgotten instead.

        Raises:
            StorageError: The file of the database cannot be written.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> db.insert("r", {"a": [1]})
        >>> _ = view.changes()
        >>> view.unfollow()
        >>> view.changes().to_pylist()
        [{'a': 1, 'n': 1, 'multiplicity': 1}]
        """
        if name is None:
            self._native.forget_changes(self._handle)
        else:
            self._native.forget_follower(self._handle, name)

    @property
    def followers(self) -> list[str]:
        """The names of those who follow the view under one, in the order of the alphabet."""
        return self._native.followers(self._handle)

    def follow(
        self, name: str | None = None, *, initial: bool = True, timeout: float | None = None
    ) -> Follower:
        """A reader with a place of its own in the changes of the view; any number at a time.

        A follower with a name has its place in the file of the database: followed under this name
        again, also after a crash, it is given all that moved since its last `commit`. The view
        remembers what that is until `unfollow(name)`, or until it is dropped or replaced. Of a name
        that is there, `initial` says nothing.

        Args:
            name: Whose place it is; all who follow under one name share it.
            initial: Whether it is given the whole view first, as it is at its first look; if not,
                only what moves from here on.
            timeout: How many seconds its iteration waits for the next change before it ends; for
                ever if None.

        Raises:
            UnsupportedError: A name, of a sample or a view that reads one: after a crash it may
                hold other rows, and nobody knows what moved.
            StorageError: A name, and the file cannot be written.

        Complexity: O(1), with a name a commit of the file. A transaction remembers what it moved
        once, however many follow.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> with view.follow() as early, view.follow(initial=False) as late:
        ...     db.insert("r", {"a": [1]})
        ...     _ = early.changes()
        ...     db.insert("r", {"a": [2]})
        ...     early.changes().to_pylist()
        ...     late.changes().num_rows
        [{'a': 2, 'n': 1, 'multiplicity': 1}]
        2
        """
        native = self._native.follow(self._handle, not initial, name)
        place = (id(self._native), self._handle, name)
        return Follower(native, self.name, name, timeout, place)

    def follow_partials(self, *, initial: bool = True, timeout: float | None = None) -> Follower:
        """A reader of what the view adds to the same view over more rows, as that changes.

        What its `changes()` gives are partials, as those of `partial()`; merged into another
        database's view of this query (`merge`), all that was given so far is what this view holds.
        So a view over rows that lie apart follows its parts. Sums, counts and the values of MIN,
        MAX and COUNT(DISTINCT) that went are told with numbers below 0, which databases with
        ``trust_deletes=True`` take. A group may come more than once; partials are kept until they
        are read, for each transaction those of the groups that it changed. Of a view of rows they
        are the rows, as `follow` gives them.

        Args:
            initial: Whether it is given the whole partial first, as it is at its first look; if
                not, only what changes from here on.
            timeout: As `follow`.

        Raises:
            UnsupportedError: The view is a sample, or its groups are computed as they are read.

        Complexity: O(1). A transaction remembers O(groups and values that it changed), once,
        however many follow.

        Source: the ring of payloads of "Incremental View Maintenance with Triple Lock
        Factorization Benefits" (Nikolic and Olteanu, SIGMOD 2018): deltas of views are views.

        >>> import ringview as rv
        >>> def database(**options: bool) -> rv.Database:
        ...     db = rv.Database(**options)
        ...     _ = db.create_table("r", {"a": "int64", "x": "int64"})
        ...     _ = db.create_view("v", "SELECT a, COUNT(*) AS n, MAX(x) AS m FROM r GROUP BY a")
        ...     return db
        >>> whole = database(trust_deletes=True)
        >>> parts = [database(), database()]
        >>> followers = [part["v"].follow_partials() for part in parts]
        >>> def gather() -> list[dict[str, int]]:
        ...     for follower in followers:
        ...         whole["v"].merge(follower.changes())
        ...     return whole["v"].to_arrow().to_pylist()
        >>> for part, x in zip(parts, (3, 5)):
        ...     part.insert("r", {"a": [1], "x": [x]})
        >>> gather()
        [{'a': 1, 'n': 2, 'm': 5}]
        >>> parts[1].delete("r", {"a": [1], "x": [5]})
        >>> gather()
        [{'a': 1, 'n': 1, 'm': 3}]
        """
        native = self._native.follow_partials(self._handle, not initial)
        place = (id(self._native), self._handle, None)
        return Follower(native, self.name, None, timeout, place)
