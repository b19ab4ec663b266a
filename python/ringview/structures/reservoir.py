"""k uniform samples of a stream of any items, or of the rows of Arrow data.

Invariant: after each call the reservoir holds k of the items so far that pass the predicate, every
set of k with equal chances, or all of them if they are fewer; a call that raises has changed
nothing. The division of a stream into calls makes no difference. Cost: until k have passed, each
item is looked at; after that k ln(r / k) by the time that r have passed, if most pass. A skipped
item costs its iteration, and nothing in sequences and Arrow data.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from sys import maxsize
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from .._native import ReservoirState
from ..convert.arrow import is_arrow
from ..convert.sizes import whole
from ..errors import TypeMismatchError, UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


class Reservoir(Generic[T]):
    """A uniform sample without replacement of a stream.

    >>> import ringview as rv
    >>> even = rv.Reservoir(3, lambda number: number % 2 == 0, seed=7)
    >>> even.extend(range(5))
    >>> list(even)                              # no more than fit: all of them
    [0, 2, 4]
    >>> even.extend(range(5, 1_000_000))
    >>> len(even), all(number % 2 == 0 for number in even), even.seen
    (3, True, 1000000)
    """

    __slots__ = ("_k", "_predicate", "_seen", "_state", "_store")

    def __init__(
        self, k: int, predicate: Callable[[T], object] | None = None, *, seed: int
    ) -> None:
        """An empty reservoir.

        Args:
            k: How many items to hold, 1 to 2^53. Memory is taken as they are added.
            predicate: Which items count; all by default. It gets rows of Arrow data as dicts, and
                is called only for items that would be admitted, so it must depend on the item
                alone.
            seed: Of the random numbers, 0 to 2^64 - 1.

        Raises:
            InvalidValueError: `k` or `seed` is out of its range.
            TypeMismatchError: `k` or `seed` is not an integer, or `predicate` cannot be called.
        """
        whole("k", k, least=1, most="2^53")
        whole("seed", seed)
        if predicate is not None and not callable(predicate):
            raise TypeMismatchError(f"predicate={predicate!r} cannot be called with an item")
        self._k = k
        self._state = ReservoirState(k, seed)
        self._predicate = predicate
        self._seen = 0
        self._store: _Items[T] | _Rows | None = None

    def extend(self, items: Iterable[T] | Any) -> None:
        """Take the items that follow.

        Args:
            items: Any iterable, or Arrow data, table or stream: then the items are its rows.

        Raises:
            TypeMismatchError: Not iterable; rows after other items; rows of another schema.
            Exception: What the items or the predicate raise; the reservoir is then as before.

        >>> import pyarrow as pa, ringview as rv
        >>> sample = rv.Reservoir(2, lambda row: row["x"] > 7, seed=1)
        >>> sample.extend(pa.table({"x": range(10), "y": ["a"] * 10}))
        >>> sample.to_arrow().to_pylist()
        [{'x': 8, 'y': 'a'}, {'x': 9, 'y': 'a'}]
        """
        if is_arrow(items):
            self._extend_rows(items)
            return
        if not isinstance(items, Iterable):
            raise TypeMismatchError(
                f"a {type(items).__name__} is not iterable; pass a list, a generator or Arrow data"
            )
        store = self._store
        if isinstance(store, _Rows):
            raise TypeMismatchError(
                "this reservoir holds rows of Arrow data; make another for others"
            )
        store = store if store is not None else _Items()
        state = self._state.copy()
        undo: list[tuple[int, T]] = []
        held = len(store.items)
        try:
            if isinstance(items, Sequence):
                seen = self._sequence(state, store, items, undo)
            else:
                seen = self._iterable(state, store, items, undo)
        except BaseException:
            for place, item in reversed(undo):
                store.items[place] = item
            del store.items[held:]
            raise
        self._state, self._store = state, store
        self._seen += seen

    def add(self, item: T) -> None:
        """Take one more item. O(1), but for the predicate.

        Raises:
            TypeMismatchError: The reservoir holds rows of Arrow data.
        """
        self.extend((item,))

    def _sequence(
        self, state: ReservoirState, store: _Items[T], items: Sequence[T], undo: list[tuple[int, T]]
    ) -> int:
        at, length = 0, len(items)
        while (passed := state.advance(length - at)) is not None:
            store.put(self._stop(state, items[at + passed]), items[at + passed], undo)
            at += passed + 1
        return length

    def _iterable(
        self, state: ReservoirState, store: _Items[T], items: Iterable[T], undo: list[tuple[int, T]]
    ) -> int:
        rest, seen = iter(items), 0
        while True:
            if to_pass := state.to_pass():
                counter = count()
                passing = islice(zip(rest, counter, strict=False), min(to_pass, maxsize))
                deque(passing, maxlen=0)
                passed = next(counter)
                state.pass_(passed)
                seen += passed
                if passed < to_pass and passed < maxsize:
                    return seen
                if state.to_pass():
                    continue
            item = next(rest, _END)
            if item is _END:
                return seen
            seen += 1
            store.put(self._stop(state, cast("T", item)), cast("T", item), undo)

    def _stop(self, state: ReservoirState, item: T) -> int | None:
        return state.stop(self._predicate is None or bool(self._predicate(item)))

    def _extend_rows(self, data: Any) -> None:
        import pyarrow as pa

        if hasattr(data, "__arrow_c_stream__"):
            reader: Any = pa.RecordBatchReader.from_stream(data)
        else:
            batch = pa.record_batch(data)
            reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])
        store = self._store
        if isinstance(store, _Items):
            raise TypeMismatchError(
                "this reservoir holds other items than rows; make another for rows"
            )
        if store is not None and store.schema != reader.schema:
            raise TypeMismatchError(
                f"rows of ({_columns(reader.schema)}) cannot follow rows of "
                f"({_columns(store.schema)}); cast them before they get here"
            )
        state, seen = self._state.copy(), 0
        kept = _Rows(reader.schema) if store is None else store
        changed = kept.copy()
        for batch in reader:
            came = self._rows_that_come(state, batch)
            changed.put(came, batch)
            seen += batch.num_rows
        self._state, self._store = state, changed
        self._seen += seen

    def _rows_that_come(self, state: ReservoirState, batch: pa.RecordBatch) -> dict[int, int]:
        """The row of the batch for each place that gets another one."""
        if self._predicate is None:
            return {place: row for row, place in state.offer(batch.num_rows)}
        came: dict[int, int] = {}
        at = 0
        while (passed := state.advance(batch.num_rows - at)) is not None:
            at += passed
            row = batch.slice(at, 1).to_pylist()[0]
            place = state.stop(bool(self._predicate(cast("T", row))))
            if place is not None:
                came[place] = at
            at += 1
        return came

    @property
    def k(self) -> int:
        """The number of items that it holds once as many have passed."""
        return self._k

    @property
    def seen(self) -> int:
        """The number of items given, whether they passed the predicate or not."""
        return self._seen

    def to_arrow(self) -> pa.Table:
        """The sample as a table, in no particular order. O(k).

        Raises:
            UnsupportedError: The items were not rows of Arrow data.
        """
        if not isinstance(self._store, _Rows):
            raise UnsupportedError(
                "the items of this reservoir are not rows of Arrow data; iterate over it instead"
            )
        return self._store.table()

    def __iter__(self) -> Iterator[T]:
        """The sample as it is now, in no particular order; rows as dicts."""
        if isinstance(self._store, _Rows):
            return iter(self._store.table().to_pylist())
        return iter(list(self._store.items) if self._store is not None else [])

    def __len__(self) -> int:
        """The number of items held. O(1)."""
        return 0 if self._store is None else len(self._store)

    def __repr__(self) -> str:
        return f"<Reservoir: {len(self)} of {self._seen} items, k={self._k}>"


_END = object()


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


class _Items(Generic[T]):
    """Items by place."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[T] = []

    def put(self, place: int | None, item: T, undo: list[tuple[int, T]]) -> None:
        if place is None:
            return
        if place == len(self.items):
            self.items.append(item)
            return
        undo.append((place, self.items[place]))
        self.items[place] = item

    def __len__(self) -> int:
        return len(self.items)


class _Rows:
    """Rows by place: tables of rows that were put, and for each place its row in them.

    Rows that left stay until they are more than those that are held: O(1) amortised a row.
    """

    __slots__ = ("_parts", "_places", "_rows", "schema")

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._parts: list[pa.Table] = []
        self._places: list[int] = []
        self._rows = 0

    def copy(self) -> _Rows:
        other = _Rows(self.schema)
        other._parts, other._places, other._rows = list(self._parts), list(self._places), self._rows
        return other

    def put(self, came: dict[int, int], batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        if not came:
            return
        taken = batch.take(pa.array(came.values(), pa.int64()))
        self._parts.append(pa.Table.from_batches([taken]))
        for row, place in enumerate(came, self._rows):
            if place == len(self._places):
                self._places.append(row)
            else:
                self._places[place] = row
        self._rows += len(came)
        if self._rows > 2 * len(self._places) + 1024:
            table = self.table()
            self._parts, self._rows = [table], len(table)
            self._places = list(range(len(table)))

    def table(self) -> pa.Table:
        import pyarrow as pa

        if not self._parts:
            return self.schema.empty_table()
        return pa.concat_tables(self._parts).take(pa.array(self._places, pa.int64()))

    def __len__(self) -> int:
        return len(self._places)
