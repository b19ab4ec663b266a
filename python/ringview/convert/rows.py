"""Rows in any of their forms to Arrow.

Invariant: columns are named, but for tuples, which have all of them in the order of the table; a
Python value that does not fit its column's type is an error with its column and row, never a silent
conversion. Arrow data passes through as it is; rows of plain values are read by the extension, and
what it does not read by pyarrow. Cost: O(1) for Arrow data, O(values) else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from decimal import Decimal
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeAlias

from ..errors import InvalidValueError, TypeMismatchError, UnknownColumnError, did_you_mean
from ..text import quoted
from .arrow import Arrow, is_arrow, is_pandas, kind_of

if TYPE_CHECKING:
    import pyarrow as pa

    from .. import _native


class Frame(Protocol):
    """A frame of pandas, whose stubs may not say that it hands out Arrow data."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    @property
    def dtypes(self) -> Any:
        """Their types."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """The columns with their names."""


class DataClass(Protocol):
    """An object of a dataclass: its fields are columns."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Row: TypeAlias = Mapping[str, object] | tuple[object, ...] | DataClass
"""A row: a dict, a tuple of all columns in the table's order, or a dataclass."""

Rows: TypeAlias = Arrow | Frame | Row | Iterable[Row | Arrow]
"""Arrow data, a pandas or polars frame, a dict of columns; a row, or a list of rows, which are
dicts, tuples of all columns, or dataclasses; a list of Arrow data."""


Handle: TypeAlias = tuple[str, int]
"""A table: its name, and the number that tells it from others that had or will have the name."""


def to_arrow(
    rows: Rows,
    native: _native.Database,
    table: Handle,
    multiplicity: str | None = None,
    *,
    op: str | None = None,
) -> list[Arrow | _native.Batches]:
    """`rows` as Arrow data, in parts to be applied in turn.

    Args:
        rows: Anything with `__arrow_c_stream__` or `__arrow_c_array__`, a list of those, a pandas
            frame, a dict of columns, a row or a list of rows.
        native: The database.
        table: Table that receives the rows: its schema gives Python values their types.
        multiplicity: A further column of integers that says how often each row counts.
        op: A further column of texts that says what each row does.

    Raises:
        TypeMismatchError: The rows have none of these forms, or a value not its column's type.
        InvalidValueError: A value does not fit its column, or columns differ in length.
        UnknownColumnError: A column that the table lacks.
    """
    if multiplicity is None and op is None and (type(rows) is list or is_row(rows)):
        plain = native.plain_rows(table[0], rows)
        if plain is not None:
            return [plain]
    form: Any = rows
    if is_pandas(form):
        return [_Reader(native, table, multiplicity, op).pandas(form)]
    if is_arrow(form):
        return [form]
    if is_row(form):
        form = [form]
    if isinstance(form, Mapping):
        return [_Reader(native, table, multiplicity, op).columns(form)]
    if not isinstance(form, Iterable) or isinstance(form, (str, bytes)):
        _refuse(form)
    listed = list(form)
    if not listed:
        return []
    if all(is_arrow(part) for part in listed):
        return listed
    reader = _Reader(native, table, multiplicity, op)
    return [reader.dicts([reader.named(row, number) for number, row in enumerate(listed)])]


def is_row(rows: object) -> bool:
    """Whether it is one row: a tuple, a dataclass, or a dict of values, not of columns."""
    if isinstance(rows, Mapping):
        return bool(rows) and not any(
            hasattr(value, "__len__") and not isinstance(value, (str, bytes))
            for value in rows.values()
        )
    if isinstance(rows, tuple):
        return bool(rows) and not any(is_arrow(value) or is_row(value) for value in rows)
    return is_dataclass(rows) and not isinstance(rows, type)


def as_dicts(rows: Any) -> list[dict[str, Any]]:
    """Rows in any of their forms as dicts of Python values. O(values).

    >>> as_dicts({"a": [1, 2]})
    [{'a': 1}, {'a': 2}]
    """
    import pyarrow as pa

    found: list[dict[str, Any]]
    if is_pandas(rows):
        found = pa.Table.from_pandas(rows, preserve_index=False).to_pylist()
    elif is_arrow(rows):
        found = pa.table(rows).to_pylist()
    elif isinstance(rows, Mapping):
        columns = {name: list(values) for name, values in rows.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise InvalidValueError("columns of different lengths are no rows")
        found = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    elif isinstance(rows, Iterable) and not isinstance(rows, (str, bytes)):
        found = []
        for row in rows:
            if not isinstance(row, Mapping):
                _refuse(row)
            found.append(dict(row))
    else:
        _refuse(rows)
    return found


class _Reader:
    """Reads Python values as the types of one table."""

    def __init__(
        self,
        native: _native.Database,
        table: Handle,
        multiplicity: str | None = None,
        op: str | None = None,
    ) -> None:
        import pyarrow as pa

        self.table = table[0]
        self.fields = {field.name: field for field in pa.schema(native.table_schema(table))}
        if multiplicity is not None:
            self.fields[multiplicity] = pa.field(multiplicity, pa.int64())
        if op is not None and op not in self.fields:
            self.fields[op] = pa.field(op, pa.string())

    def pandas(self, frame: Any) -> pa.Table:
        columns = {str(name): column for name, column in frame.items()}
        if len(columns) < len(frame.columns):
            raise InvalidValueError(
                f"table {quoted(self.table)}: the frame has two columns of one name; rename one "
                "of them"
            )
        return self._table(columns)

    def columns(self, columns: Mapping[str, Any]) -> pa.Table:
        for name, values in columns.items():
            if isinstance(values, (str, bytes, Set, Mapping)) or not hasattr(values, "__len__"):
                raise TypeMismatchError(
                    f"column {quoted(name)} holds {values!r}, not a list of values; "
                    "a dict is of columns if one of its values is a list, else it is a row"
                )
        return self._table(columns)

    def dicts(self, rows: list[Mapping[str, Any]]) -> pa.Table:
        names = rows[0].keys()
        for number, row in enumerate(rows):
            if row.keys() != names:
                name = min(row.keys() ^ names, key=str)
                what = "lacks" if name in names else "has"
                raise InvalidValueError(
                    f"table {quoted(self.table)}, row {number} {what} the column {quoted(name)}, "
                    "unlike row 0; write None for NULL"
                )
        return self._table({name: [row[name] for row in rows] for name in names})

    def named(self, row: Any, number: int) -> Mapping[str, Any]:
        """A row with the names of its columns."""
        if isinstance(row, Mapping):
            return row
        if hasattr(row, "_asdict"):
            return dict(row._asdict())
        if isinstance(row, tuple):
            if len(row) != len(self.fields):
                raise InvalidValueError(
                    f"table {quoted(self.table)}, row {number} is a tuple of {len(row)} values; "
                    f"one has all {len(self.fields)} columns: {', '.join(self.fields)}"
                )
            return dict(zip(self.fields, row, strict=True))
        if is_dataclass(row) and not isinstance(row, type):
            return {field.name: getattr(row, field.name) for field in fields(row)}
        _refuse(row)

    def _table(self, columns: Mapping[str, Any]) -> pa.Table:
        import pyarrow as pa

        arrays = {name: self._array(name, values) for name, values in columns.items()}
        lengths = {name: len(array) for name, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise InvalidValueError(
                f"table {quoted(self.table)}: columns of different lengths ({listed})"
            )
        return pa.table(arrays)

    def _array(self, name: str, values: Any) -> pa.Array:
        import pyarrow as pa

        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            return values
        if name not in self.fields:
            known = ", ".join(self.fields) + did_you_mean(name, self.fields)
            raise UnknownColumnError(
                f"table {quoted(self.table)} has no column {quoted(name)}; known: {known}"
            )
        kind = self.fields[name].type
        try:
            return _convert(values, kind)
        except _MISMATCHES as problem:
            self._refuse(name, values, kind, problem)

    def _refuse(self, name: str, values: Any, kind: pa.DataType, problem: Exception) -> NoReturn:
        """Raise with the first row that does not fit."""
        error = TypeMismatchError if isinstance(problem, TypeError) else InvalidValueError
        for row, value in enumerate(values):
            try:
                _convert([value], kind)
            except _MISMATCHES as mismatch:
                error = TypeMismatchError if isinstance(mismatch, TypeError) else InvalidValueError
                raise error(
                    f"table {quoted(self.table)}, column {quoted(name)}, row {row}: "
                    f"{value!r} is no {kind} ({mismatch})"
                ) from None
        raise error(f"table {quoted(self.table)}, column {quoted(name)}: {problem}") from None


def _convert(values: Any, kind: pa.DataType) -> pa.Array:
    """`values` as an array of `kind`; pyarrow alone would turn 1.5 into the integer 1."""
    import pyarrow as pa

    if type(values).__module__.split(".")[0] in ("numpy", "pandas"):
        # Arrow would point to memory that its owner may write to before the change is applied.
        values = values.copy()
    try:
        found = pa.array(values)
    except (OverflowError, pa.ArrowInvalid):
        # The type that pyarrow infers does not hold all values, as int64 does not hold 2**63.
        exact = Integral if pa.types.is_integer(kind) else (Integral, Decimal)
        fit = (v is None or (isinstance(v, exact) and not isinstance(v, bool)) for v in values)
        if pa.types.is_floating(kind) or not all(fit):
            raise
        return pa.array(values, type=kind)
    if found.type == kind or pa.types.is_dictionary(found.type):
        return found
    have, want = kind_of(found.type), kind_of(kind)
    if have not in ("null", want) and (have, want) not in _WIDENS:
        raise TypeError(f"it is a {found.type}")
    if pa.types.is_floating(kind) and pa.types.is_decimal(found.type):
        # Each becomes the nearest double, as Python has it.
        floats = [None if value is None else float(value) for value in found.to_pylist()]
        return pa.array(floats, type=kind)
    if have == "date" or (pa.types.is_integer(kind) and have == "number"):
        return found.cast(kind)
    return pa.array(values, type=kind)


# Kinds that become another kind without loss; a naive time counts as UTC, as in Arrow.
_WIDENS = {("date", "timestamp"), ("timestamp", "timestamptz"), ("timestamptz", "timestamptz")}

# pyarrow raises subclasses of these; OverflowError for integers beyond 64 bits.
_MISMATCHES = (TypeError, ValueError, OverflowError, NotImplementedError)


def _refuse(rows: object) -> NoReturn:
    raise TypeMismatchError(
        f"no rows in a {type(rows).__name__}; pass Arrow data, a pandas or polars frame, "
        "a dict of columns, a row or a list of rows: dicts, tuples or dataclasses"
    )
