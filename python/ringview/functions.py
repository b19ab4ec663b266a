"""Functions of Python that the SQL of views calls, over Arrow arrays.

Invariant: what a function returns is of the type that it was declared to return, as many values as
there are rows; whatever it raises, nothing was changed. Cost: a call takes tens of microseconds
above what the function does, for a batch of rows or for a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from .convert import arrow
from .errors import InvalidValueError, TypeMismatchError, UnknownFunctionError, did_you_mean
from .text import quoted

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["scalar", "aggregate"]
NullHandling = Literal["default", "special"]


@dataclass(frozen=True)
class Function:
    """A function of Python with the types that it takes and returns, for `Database.open`.

    `db.functions` has those of a database. The arguments are those of `create_function`.

    >>> Function(len, ["string"], "int64", kind="aggregate").return_type
    DataType(int64)
    """

    function: Callable[..., Any]
    """What is called with an Arrow array for each parameter."""
    parameters: Sequence[str | pa.DataType]
    """The types of the arguments; once made, as `pyarrow.DataType`."""
    return_type: str | pa.DataType
    """The type of the values; once made, as `pyarrow.DataType`."""
    kind: Kind = "scalar"
    """Whether it computes a value of each row, or of all rows of a group."""
    null_handling: NullHandling = "default"
    """Whether rows with NULL are given to it: with "special" they are."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeMismatchError(f"a function is called, and {self.function!r} cannot be")
        if isinstance(self.parameters, str):
            raise TypeMismatchError(
                f"parameters is a list of types, as in [{self.parameters!r}], not a text"
            )
        for what, word, words in (
            ("kind", self.kind, ("scalar", "aggregate")),
            ("null_handling", self.null_handling, ("default", "special")),
        ):
            if word not in words:
                raise InvalidValueError(f'{what} is "{words[0]}" or "{words[1]}", not {word!r}')
        object.__setattr__(self, "parameters", tuple(_type(one) for one in self.parameters))
        object.__setattr__(self, "return_type", _type(self.return_type))

    def _evaluate(self, rows: _native.Rows) -> pa.RecordBatch | str:
        """The values of rows, in one column; what is wrong with them, in words."""
        import pyarrow as pa

        batch = pa.RecordBatchReader.from_stream(rows).read_next_batch()
        found = self.function(*batch.columns)
        if self.kind == "aggregate":
            values = self._value(found)
        else:
            values = self._array(found, batch.num_rows)
        return values if isinstance(values, str) else pa.record_batch([values], names=["0"])

    def _array(self, found: Any, rows: int) -> pa.Array | str:
        """Converts the result of a function of rows to an array of the declared type."""
        import pyarrow as pa

        if hasattr(found, "__arrow_c_array__"):
            values = found if isinstance(found, pa.Array) else pa.array(found)
        elif hasattr(found, "__arrow_c_stream__"):
            values = pa.chunked_array(found)
        elif isinstance(found, list | tuple) or getattr(found, "ndim", 0) == 1:
            values = pa.array(found)
        else:
            return (
                f"returned {_described(found)}, and a function of rows returns an array, of {rows} "
                "values for these: of pyarrow, NumPy, pandas or polars, or a list"
            )
        if len(values) != rows:
            return f"returned {len(values)} values for {rows} rows; return one for each row"
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks) if values.chunks else pa.array([], values.type)
        return self._fit(values)

    def _value(self, found: Any) -> pa.Array | str:
        """Converts the result of an aggregate to an array of the one value."""
        import pyarrow as pa

        is_array = hasattr(found, "__arrow_c_array__") or hasattr(found, "__arrow_c_stream__")
        if is_array or isinstance(found, list | tuple | dict) or getattr(found, "ndim", 0) > 0:
            return (
                f"returned {_described(found)}, and an aggregate returns one value of the group: "
                f"of Python, NumPy or pyarrow, such as pyarrow.compute.sum(values)"
            )
        if isinstance(found, pa.Scalar):
            return self._fit(pa.repeat(found, 1))
        try:
            values = pa.array([found])
        except (pa.ArrowInvalid, OverflowError):
            # Integers that 64 bits do not hold.
            values = pa.array([found], self.return_type)
        return self._fit(values)

    def _fit(self, values: pa.Array) -> pa.Array | str:
        import pyarrow as pa

        declared = self.return_type
        assert not isinstance(declared, str)
        kind = arrow.kind_of(values.type)
        if values.type == declared:
            return values
        if pa.types.is_null(values.type) or (kind is not None and kind == arrow.kind_of(declared)):
            return values.cast(declared)
        return (
            f"returned {values.type}, and is declared to return {declared}; cast what it returns, "
            "or declare it so"
        )


class Functions(dict[str, Function]):
    """Functions by name, which says what there is in the place of one that is not."""

    def __missing__(self, name: str) -> Function:
        known = ", ".join(self) or "none yet"
        near = did_you_mean(name, self)
        raise UnknownFunctionError(
            f"there is no function {quoted(name)}; known functions: {known}{near}"
        )


Given = Mapping[str, Function | Callable[..., Any]]


def declare(native: _native.Database, name: str, function: Function) -> None:
    """Makes a function known."""
    import pyarrow as pa

    takes = pa.schema([(str(at), one) for at, one in enumerate(function.parameters)])
    returns = pa.schema([("0", function.return_type)])
    special = function.null_handling == "special"
    native.create_function(name, function, function.kind, takes, returns, special)


def finder(given: Given) -> Callable[[str, list[str], str, Kind, NullHandling], Function | None]:
    """Returns a lookup of the function that a view of a file calls, by its declaration there."""
    for name, one in given.items():
        if not isinstance(one, Function) and not callable(one):
            raise TypeMismatchError(f"functions={{{name!r}: ..}} is a function, not {one!r}")
    by_name = {name.lower(): one for name, one in given.items()}

    def find(
        name: str, parameters: list[str], return_type: str, kind: Kind, nulls: NullHandling
    ) -> Function | None:
        one = by_name.get(name.lower())
        if one is None:
            return None
        was = Function(lambda: None, parameters, return_type, kind, nulls)
        if not isinstance(one, Function):
            return Function(one, parameters, return_type, kind, nulls)

        def declared(of: Function) -> tuple[object, ...]:
            return of.parameters, of.return_type, of.kind, of.null_handling

        return one if declared(one) == declared(was) else None

    return find


def declare_rest(native: _native.Database, given: Given) -> None:
    """Makes the functions known that no view of a file calls."""
    known = {name.lower() for name, _ in native.functions()}
    for name, one in given.items():
        if name.lower() in known:
            continue
        if not isinstance(one, Function):
            raise InvalidValueError(
                f"no view calls the function {quoted(name)}, so its types are not known: give "
                f"ringview.Function({name}, parameters, return_type), or declare it with "
                "create_function when the database is open"
            )
        declare(native, name, one)


def _type(of: object) -> pa.DataType:
    """A type of values as the engine has it."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(of, str):
        of = arrow.data_type(of)
    if not isinstance(of, pa.DataType):
        raise TypeMismatchError(f"{of!r} is not a type; write 'int64' or such")
    if types.is_dictionary(of) or types.is_large_string(of) or types.is_string_view(of):
        return pa.string() if arrow.kind_of(of) == "text" else of
    if types.is_decimal(of) and of.precision <= 38:
        return pa.decimal128(of.precision, of.scale)
    return of


def _described(found: object) -> str:
    if found is None:
        return "None"
    text = repr(found)
    text = " ".join(text.split())
    return f"a {type(found).__name__} ({text if len(text) <= 60 else text[:57] + '..'})"
