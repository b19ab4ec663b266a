"""Rows of a source into the types of a table, column by column.

Invariant: each row is cast wholly or named with its column and the reason; a column that no row can
be cast from is an error of the whole change. Cost: O(values), in pyarrow where all of a column
agree, else microseconds a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..convert.arrow import kind_of
from ..errors import InvalidValueError, TypeMismatchError, UnknownColumnError, did_you_mean
from ..text import quoted
from .batch import Casts, Change, Rejected
from .values import SHORT, Epoch, MisfitError, value_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ..table import Table

# The words of `Database.apply` for rows that need no more than their key.
DELETES = frozenset({"delete", "d", "-d", "-u", "update_preimage"})

# Casts between kinds: texts are parsed, integers count from 1970, a time without a zone is of UTC.
_GOES = {
    *(("text", want) for want in ("number", "bool", "date", "timestamp", "timestamptz")),
    *(("number", want) for want in ("date", "timestamp", "timestamptz")),
    *(("date", want) for want in ("timestamp", "timestamptz")),
    *(("timestamp", want) for want in ("date", "timestamptz")),
    *(("timestamptz", want) for want in ("date", "timestamp")),
}


@dataclass(frozen=True)
class Ready:
    """A change whose rows have the types of their table, and the rows that have not."""

    change: Change
    rows: pa.Table
    rejected: Sequence[Rejected]
    kept: Sequence[int]
    """Of each row of `rows`, its number in the change."""

    def rejects(self, row: int, reason: str) -> Rejected:
        """Description of a row of `rows` that the engine refuses."""
        return _rejected(self.change, self.kept[row], reason)

    def without(self, row: int) -> Ready:
        """The same without one of its rows."""
        import pyarrow as pa

        rest = pa.concat_tables([self.rows.slice(0, row), self.rows.slice(row + 1)])
        kept = [*self.kept[:row], *self.kept[row + 1 :]]
        return Ready(self.change, rest, self.rejected, kept)


def ready(change: Change, table: Table) -> Ready:
    """Cast the rows of a change into the types of its table.

    Raises:
        UnknownColumnError: They lack a column of the table, or have one that it lacks.
        TypeMismatchError: A column of Arrow data has a type that cannot be cast to the table's.
        InvalidValueError: A change has no column for its words or multiplicities.
    """
    import pyarrow as pa

    fields = {field.name: field for field in table.schema}
    if change.op is not None:
        fields[change.op] = pa.field(change.op, pa.string(), nullable=False)
    if change.multiplicity is not None:
        fields[change.multiplicity] = pa.field(change.multiplicity, pa.int64(), nullable=False)
    wrong = _check_names(change, fields)
    count = len(change.rows)
    columns: dict[str, pa.Array] = {}
    needed = _needed(change, table, fields)
    for name, field in fields.items():
        values = _values(change.rows, name)
        columns[name], misfits = cast(values, field.type, change.casts, _column_of(change, name))
        for row, reason in misfits.items():
            wrong.setdefault(row, f"column {quoted(name)}: {reason}")
        if not field.nullable and (columns[name].null_count or misfits):
            for row in _nulls(columns[name]):
                if row not in wrong and (name in needed[0] or row not in needed[1]):
                    wrong[row] = (
                        f"column {quoted(name)}: NULL, which table {quoted(table.name)} does not "
                        "take"
                    )
    rows = pa.table({name: columns[name] for name in fields})
    kept: Sequence[int] = range(count)
    if wrong:
        kept = [row for row in range(count) if row not in wrong]
        rows = rows.take(pa.array(kept, pa.int64()))
    rejected = [_rejected(change, row, wrong[row]) for row in sorted(wrong)]
    return Ready(change, rows, rejected, kept)


def cast(
    values: Any, kind: pa.DataType, casts: Casts, where: str = "a column"
) -> tuple[pa.Array, dict[int, str]]:
    """Values as an array of `kind`, NULL where one does not fit, and why those do not.

    Args:
        values: An Arrow array, or a list of Python's values.
        kind: The type that is wanted.
        casts: How texts and integers are read.
        where: What the error says of the column.

    Raises:
        TypeMismatchError: An Arrow array of a type that cannot be cast to `kind`.

    >>> import pyarrow as pa
    >>> array, misfits = cast(["1", "x", None], pa.int64(), Casts())
    >>> array.to_pylist(), misfits
    ([1, None, None], {1: "'x' is no int64"})
    """
    import pyarrow as pa

    if isinstance(values, list):
        uniform = _uniform(values, kind)
        if uniform is None:
            return _one_by_one(values, kind, casts)
        found, originals = uniform, values
    else:
        found = values
        if pa.types.is_dictionary(found.type):
            found = found.dictionary_decode()
        have, want = kind_of(found.type), kind_of(kind)
        whole = have != "number" or want == "number" or pa.types.is_integer(found.type)
        if found.type != kind and (
            not whole or (have not in ("null", want) and (have, want) not in _GOES)
        ):
            raise TypeMismatchError(
                f"{where} holds values of type {found.type}, which do not go into {kind}; "
                "write it anew as that type, or as text"
            )
        originals = None
    try:
        return _whole(found, kind, casts), {}
    except pa.ArrowException:
        return _one_by_one(_listed(found) if originals is None else originals, kind, casts)
    except MisfitError:
        return _one_by_one(_listed(found) if originals is None else originals, kind, casts)


def _listed(values: Any) -> list[Any]:
    """Arrow's values as Python's; a moment or day that Python has none for as its number."""
    import pyarrow as pa

    try:
        found: list[Any] = values.to_pylist()
    except (OverflowError, ValueError):
        if pa.types.is_timestamp(values.type):
            units = values.cast(pa.int64()).to_pylist()
            return [None if each is None else Epoch(each, values.type.unit) for each in units]
        if pa.types.is_date32(values.type):
            days = values.cast(pa.int32()).to_pylist()
            return [None if each is None else Epoch(86_400 * each, "s") for each in days]
        return [
            None if each is None else str(each) for each in values.cast(pa.string()).to_pylist()
        ]
    return found


def _uniform(values: list[Any], kind: pa.DataType) -> pa.Array | None:
    """Values of Python as an Arrow array, if all are of one type that Arrow casts likewise."""
    import pyarrow as pa

    types = {type(value) for value in values} - {type(None)}
    if not types:
        return pa.nulls(len(values))
    if len(types) > 1 or not types <= {str, int, float}:
        return None
    if types == {float} and not pa.types.is_floating(kind):
        return None
    try:
        return pa.array(values)
    except (OverflowError, UnicodeEncodeError, pa.ArrowException):
        return None


def _whole(found: pa.Array, kind: pa.DataType, casts: Casts) -> pa.Array:
    """All of a column at once; raises where a value does not fit, or must be looked at alone."""
    import pyarrow as pa

    if found.type == kind:
        return found
    have, want = kind_of(found.type), kind_of(kind)
    if have == "number" and want not in ("number", "text"):
        if not pa.types.is_integer(found.type):
            raise MisfitError
        if want == "date":
            return found.cast(pa.int32()).cast(pa.date32()).cast(kind)
        if casts.epochs is None:
            raise MisfitError
        return found.cast(pa.int64()).cast(pa.timestamp(casts.epochs)).cast(kind)
    alone = (
        (have == "text" and pa.types.is_decimal(kind) and not _are_short(found))
        or (have == "text" and casts.decimals == "base64" and pa.types.is_decimal(kind))
        or (pa.types.is_floating(found.type) and pa.types.is_decimal(kind))
        or (want == "date" and have in ("timestamp", "timestamptz"))
        or (have not in ("null", "text", want) and (have, want) not in _GOES)
    )
    if alone:
        raise MisfitError
    whole = found.cast(kind)
    if pa.types.is_floating(kind) and found.type != kind and _is_infinite(whole):
        # Of a number that is too large Arrow makes an infinity.
        raise MisfitError
    return whole


def _is_infinite(numbers: pa.Array) -> bool:
    import pyarrow.compute as pc

    # halffloat has no such function.
    return bool(pc.any(pc.is_inf(numbers.cast("float64"))).as_py())


def _are_short(texts: pa.Array) -> bool:
    """Whether each of them is short, see `is_short`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = texts.cast(pa.large_string())
    longest = pc.max(pc.utf8_length(plain)).as_py() or 0
    return longest <= SHORT and not pc.any(pc.match_substring(plain, "e", ignore_case=True)).as_py()


def _one_by_one(
    values: Sequence[Any], kind: pa.DataType, casts: Casts
) -> tuple[pa.Array, dict[int, str]]:
    import pyarrow as pa

    scalars, misfits = [], {}
    for row, value in enumerate(values):
        try:
            scalars.append(value_of(value, kind, casts))
        except MisfitError as problem:
            scalars.append(None)
            misfits[row] = str(problem)
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    found = pa.array(scalars, plain)
    return (found if plain == kind else found.cast(kind)), misfits


def text_of(rows: pa.Table | Sequence[Mapping[str, Any]], row: int) -> str:
    """A row as JSON, for people to read."""
    if isinstance(rows, Sequence):
        found = rows[row]
    else:
        one = rows.slice(row, 1)
        found = {name: _listed(one.column(name))[0] for name in one.column_names}
    text = json.dumps(found, default=_said, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, which no text of a table can be.
        return json.dumps(found, default=_said)
    return text


def _rejected(change: Change, row: int, reason: str) -> Rejected:
    origin = change.origin
    return Rejected(origin.at(row), text_of(change.rows, row), reason, origin.letter(row))


def _said(value: object) -> object:
    if isinstance(value, Epoch):
        return f"{value.units} {value.unit}"
    return value.hex() if isinstance(value, bytes) else str(value)


def _check_names(change: Change, fields: Mapping[str, pa.Field]) -> dict[int, str]:
    """The rows with columns that the table lacks, if those are rows that do not fit."""
    rows, table = change.rows, change.table
    if isinstance(rows, Sequence):
        there = list(dict.fromkeys(name for row in rows for name in row))
        # A row of JSON leaves out what is NULL.
        lacking = [name for name in (change.op, change.multiplicity) if name and name not in there]
    else:
        there = rows.column_names
        lacking = [name for name in fields if name not in there]
    if twice := [name for name in there if there.count(name) > 1]:
        raise UnknownColumnError(f"{change.origin.name} has two columns {quoted(twice[0])}")
    if lacking and (len(rows) or not isinstance(rows, Sequence)):
        near = did_you_mean(lacking[0], there) or f"; it has {', '.join(there)}"
        raise UnknownColumnError(
            f"{change.origin.name} has no column {quoted(lacking[0])}, which table "
            f"{quoted(table)} needs{near}"
        )
    left = [name for name in there if name not in fields and name not in change.ignore]
    if not left or "*" in change.ignore or change.evolve == "ignore":
        return {}
    if change.evolve is not None and isinstance(rows, Sequence):
        unknown, wrong = set(left), dict[int, str]()
        for at, row in enumerate(rows):
            found = [name for name in row if name in unknown]
            # A column of NULL alone has no type to be added with.
            if found and (
                change.evolve == "refuse" or any(row[each] is not None for each in found)
            ):
                wrong[at] = (
                    f"it has a column {quoted(found[0])} that table {quoted(table)} lacks"
                    f"{did_you_mean(found[0], fields)}; leave it out with ignore= or "
                    'evolve="ignore", or add it with evolve="add"'
                )
        return wrong
    raise UnknownColumnError(
        f"{change.origin.name} has a column {quoted(left[0])} that table {quoted(table)} lacks"
        f"{did_you_mean(left[0], fields)}; leave it out with ignore=[{left[0]!r}], or make the "
        "table with it"
    )


def _values(rows: pa.Table | Sequence[Mapping[str, Any]], name: str) -> Any:
    if isinstance(rows, Sequence):
        return [row.get(name) for row in rows]
    found = rows.column(name)
    return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)


def _needed(
    change: Change, table: Table, fields: Mapping[str, pa.Field]
) -> tuple[set[str], set[int]]:
    """The columns that no row may lack, and the rows that need no others."""
    always = {*(table.unique or ()), change.op or "", change.multiplicity or ""}
    if change.op is None:
        return (always if change.how == "delete" else set(fields)), set()
    words = _values(change.rows, change.op)
    listed = words if isinstance(words, list) else words.to_pylist()
    return always, {row for row, word in enumerate(listed) if str(word).lower() in DELETES}


def _nulls(array: pa.Array) -> list[int]:
    import pyarrow.compute as pc

    found: list[int] = pc.indices_nonzero(pc.is_null(array)).to_pylist()
    return found


def _column_of(change: Change, name: str) -> str:
    return f"{change.origin.name}: column {quoted(name)}"


def refuse(rejected: Rejected, source: str) -> None:
    """Raise with the first row that cannot be applied."""
    raise InvalidValueError(
        f"source {quoted(source)}: {rejected.place}: {rejected.reason}; nothing of this batch was "
        "applied. Correct it, or keep such rows in a table with dead_letters="
    )
