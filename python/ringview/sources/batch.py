"""Items that a source yields: rows for tables, and the positions behind them.

Invariant: a batch is applied as a whole, and its positions in the same transaction. Cost: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

How = Literal["insert", "delete", "upsert", "apply", "truncate"]
EpochUnit = Literal["s", "ms", "us", "ns"]
Decimals = Literal["text", "base64"]
Evolve = Literal["ignore", "add", "refuse"]


@dataclass(frozen=True)
class Casts:
    """Conversion of values whose format does not state their unit or encoding.

    Args:
        epochs: The unit of integers in columns of timestamps; without it they are refused.
        decimals: Whether texts in columns of decimals are digits, or bytes in base64, big-endian,
            of the integer that the column's scale shifts.
    """

    epochs: EpochUnit | None = None
    decimals: Decimals = "text"


@dataclass(frozen=True)
class Letter:
    """A message of a topic as it is: its place, and its bytes."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Origin:
    """Origin of the rows of a change: a file or a topic, and the number of each row.

    >>> Origin("orders.csv", first=100).at(3), Origin("orders[0]", "offset", numbers=[7, 9]).at(1)
    ('orders.csv, row 103', 'orders[0], offset 9')
    """

    name: str
    unit: str = "row"
    first: int = 0
    numbers: Sequence[int] | None = None

    def at(self, row: int) -> str:
        """The place of a row of the change."""
        number = self.first + row if self.numbers is None else self.numbers[row]
        return f"{self.name}, {self.unit} {number}"

    def letter(self, row: int) -> Letter | None:
        """The message of a row of the change, if it is of a topic."""
        return None


@dataclass(frozen=True)
class Change:
    """Rows for one table, as they were read: cast into the table's types when they are applied.

    Args:
        table: Where to.
        rows: An Arrow table, or a list of dicts of Python's values.
        origin: Where they are from.
        how: What they do; "apply" needs `op`. "truncate" has no rows: it empties the table, as the
            first change of its batch.
        op: A further column of words, as `Database.apply` takes it.
        multiplicity: A further column of integers, as `Database.insert` takes it.
        ignore: Columns to leave out; `("*",)` all that the table lacks.
        casts: How texts and integers are read.
        net: Whether upserts and deletes by `op` have their net effect alone: a delete of a key that
            is not there does nothing.
        evolve: Whether a column that the table lacks is left out, is added to the table, or makes
            its row one that does not fit. Without it such a column is an error of the whole change.
    """

    table: str
    rows: pa.Table | Sequence[Mapping[str, Any]]
    origin: Origin
    how: How = "insert"
    op: str | None = None
    multiplicity: str | None = None
    ignore: Sequence[str] = ()
    casts: Casts = field(default_factory=Casts)
    net: bool = False
    evolve: Evolve | None = None


@dataclass(frozen=True)
class Rejected:
    """A row that cannot be applied: where it is from, the row as text, why, and its message."""

    place: str
    row: str
    reason: str
    letter: Letter | None = None


@dataclass(frozen=True)
class Batch:
    """Changes that are applied together, and the positions that are reached with them.

    Args:
        changes: In their order.
        positions: By part of the source (a file, a partition), its position then, which the source
            is given back when it resumes. A batch whose positions are stored already counts as sent
            again, and does nothing.
        rejected: Rows that could not even be read.
        batch_id: For sources without an order, such as queues that send again: the identity of the
            batch. One that was applied does nothing, see `Database.is_applied`; the database keeps
            all of them.
    """

    changes: Sequence[Change]
    positions: Mapping[str, str]
    rejected: Sequence[Rejected] = ()
    batch_id: int | str | None = None


class Source(Protocol):
    """A source of batches that can resume behind positions that it yielded.

    A source of your own is a class with these two members.

    >>> import ringview as rv
    >>> from ringview import sources
    >>> class Numbers:
    ...     name = "numbers"
    ...     def batches(self, positions):
    ...         for at in range(int(positions.get("", 0)), 3):
    ...             change = sources.Change("r", [{"a": at}], sources.Origin("numbers"))
    ...             yield sources.Batch([change], {"": str(at + 1)})
    >>> db = rv.Database()
    >>> table = db.create_table("r", {"a": "int64"})
    >>> for attempt in range(2):
    ...     _ = sources.run(db, [Numbers()])
    >>> table.to_arrow()["a"].to_pylist()
    [0, 1, 2]
    """

    @property
    def name(self) -> str:
        """Its name, unique among the sources of a database; its positions are kept under it."""

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        """The batches behind `positions`, one after the other; None where there is nothing now.

        The next one is requested when the one before is committed. It ends when there will never be
        more.
        """
