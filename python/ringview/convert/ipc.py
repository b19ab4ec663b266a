"""Streams and files of Arrow that others wrote, read so that no byte of them is believed.

Arrow's reader checks the structure of messages, and not what offsets, indices, views and
compressed lengths say; its kernels follow those wherever they point.

Invariant: a table that is returned passed Arrow's full validation, and none of its columns was
looked at before. With a limit, neither its buffers, nor its values, nor its texts as a column of
plain texts has them take more bytes than that. Cost: one look at each message and one pass over
the values; numbers are not looked at.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InvalidValueError

if TYPE_CHECKING:
    import os

# Of a decimal of 128 bits, which is what columns have.
_MOST_DIGITS = 38
_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
# In these types one stored value may represent many, and no table has a column of them.
_REFUSED = (
    pa.types.is_run_end_encoded,
    pa.types.is_union,
    lambda kind: isinstance(kind, pa.ListViewType | pa.LargeListViewType),
)
_TEXTS = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)
_RAISED = (
    *(pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError, MemoryError),
    *(struct.error, TypeError),
)


def read_stream(data: bytes | pa.Buffer, most: int | None = None) -> pa.Table:
    """The rows of a stream of Arrow.

    Args:
        data: The stream.
        most: The most bytes that its rows may take, and the most values; None for no limit.

    Raises:
        InvalidValueError: It is no stream of Arrow, or has more than that.

    >>> sink = pa.BufferOutputStream()
    >>> with pa.ipc.new_stream(sink, pa.schema({"a": pa.int64()})) as writer:
    ...     writer.write_batch(pa.record_batch({"a": [1, 2]}))
    >>> read_stream(sink.getvalue()).num_rows
    2
    >>> read_stream(sink.getvalue(), most=1)
    Traceback (most recent call last):
    ringview.errors.InvalidValueError: the rows take more than 1 bytes
    """
    try:
        if most is not None:
            _check_messages(data, most)
        with pa.ipc.open_stream(data) as reader:
            return _validated(reader.read_all(), most)
    except InvalidValueError:
        raise
    except _RAISED as problem:
        raise InvalidValueError(f"no stream of Arrow: {_first_line(problem)}") from problem


def read_file(path: str | os.PathLike[str]) -> pa.Table:
    """The rows of a file of Arrow.

    Raises:
        InvalidValueError: It is no file of Arrow.
        OSError: It cannot be read.
    """
    with pa.OSFile(str(path)) as file:
        try:
            with pa.ipc.open_file(file) as reader:
                return _validated(reader.read_all(), None)
        except _RAISED as problem:
            raise InvalidValueError(
                f"{path} is no file of Arrow: {_first_line(problem)}"
            ) from problem


def _validated(table: pa.Table, most: int | None) -> pa.Table:
    for field in table.schema:
        _check_type(field.type)
    table.validate(full=True)
    # Names and time zones are decoded when they are first read.
    str(table.schema)
    if most is None:
        return table
    if table.num_rows * table.num_columns > most:
        raise _too_many(most)
    total = 0
    for column in table.columns:
        for chunk in column.chunks:
            total += _size(chunk)
            if total > most:
                raise _too_many(most)
    return table


def _check_type(kind: pa.DataType) -> None:
    """Refuse the types that validation takes and kernels do not."""
    if any(refuses(kind) for refuses in _REFUSED):
        raise InvalidValueError(f"{kind} is no type of a column here")
    if isinstance(kind, pa.BaseExtensionType):
        _check_type(kind.storage_type)
    elif pa.types.is_decimal(kind):
        # Kernels look the power of ten up in a table.
        if abs(kind.scale) > _MOST_DIGITS:
            raise InvalidValueError(f"{kind} is no type of a column here")
    elif pa.types.is_dictionary(kind):
        _check_type(kind.value_type)
    else:
        for at in range(kind.num_fields):
            _check_type(kind.field(at).type)


def _size(array: Any) -> int:
    """The bytes of an array's values, each as often as it is there."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _size(array.storage)
    if pa.types.is_dictionary(kind):
        each = _sizes(array.dictionary)
        return int(pc.sum(each.take(array.indices.drop_null())).as_py() or 0)
    if pa.types.is_nested(kind):
        return sum(map(_size, array.flatten() if pa.types.is_struct(kind) else [array.flatten()]))
    if _is_text(kind):
        return int(pc.sum(_sizes(array)).as_py() or 0)
    return int(array.nbytes)


def _sizes(array: Any) -> pa.Array:
    """The bytes of each value."""
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        # A view is four words, of which the first is its length.
        words = pa.Array.from_buffers(
            pa.int32(), 4 * (array.offset + len(array)), [None, array.buffers()[1]]
        )
        views = pa.FixedSizeListArray.from_arrays(words, 4).slice(array.offset)
        lengths = pc.cast(pc.list_element(views, 0), pa.int64())
        return pc.if_else(pc.is_valid(array), lengths, 0)
    if _is_text(array.type):
        return pc.fill_null(pc.cast(pc.binary_length(array), pa.int64()), 0)
    each = _size(array) // max(len(array), 1)
    return pa.repeat(pa.scalar(each, pa.int64()), len(array))


def _is_text(kind: pa.DataType) -> bool:
    return any(is_one(kind) for is_one in _TEXTS)


def _check_messages(data: bytes | pa.Buffer, most: int) -> None:
    """Refuse a stream whose messages say that they take more than that, before they are read."""
    total = rows = 0
    for message in pa.ipc.MessageReader.open_stream(data):
        found = _Batch.of(bytes(message.metadata))
        if found is None:
            continue
        rows += found.rows
        total += found.expanded(message.body)
        if total > most or not 0 <= rows <= most:
            raise _too_many(most)


class _Batch:
    """The header of a message about a batch of records: flatbuffers, as Arrow defines them.

    A table begins with the distance to its vtable, which has the places of its fields; places that
    lie outside raise struct.error or IndexError.
    """

    def __init__(self, header: bytes, at: int) -> None:
        self._header = header
        self.rows = self._number("<q", at, 0)
        self._buffers = self._follow(at, 2)
        self._is_compressed = self._follow(at, 3) is not None

    @classmethod
    def of(cls, header: bytes) -> _Batch | None:
        """That of a message; None if it has no records."""
        made = cls.__new__(cls)
        made._header = header
        (root,) = struct.unpack_from("<I", header)
        kind, at = made._number("<B", root, 1), made._follow(root, 2)
        if at is not None and kind == _DICTIONARY_BATCH:
            at = made._follow(at, 1)
        elif kind != _RECORD_BATCH:
            return None
        return None if at is None else cls(header, at)

    def expanded(self, body: pa.Buffer) -> int:
        """The bytes of the buffers once they are not compressed any more."""
        if self._buffers is None:
            return 0
        (count,) = struct.unpack_from("<I", self._header, self._buffers)
        total = 0
        for at in range(count):
            place, length = struct.unpack_from("<qq", self._header, self._buffers + 4 + 16 * at)
            if not 0 <= length <= len(body) - place or place < 0:
                raise IndexError("a buffer lies outside its message")
            if self._is_compressed and length >= 8:
                (said,) = struct.unpack("<q", bytes(body[place : place + 8]))
                total += length - 8 if said == -1 else max(said, 0)
            else:
                total += length
        return total

    def _field(self, table: int, number: int) -> int | None:
        """The place of a field; None if it has its default."""
        (distance,) = struct.unpack_from("<i", self._header, table)
        vtable = table - distance
        if vtable < 0:
            raise IndexError("a table without fields")
        (size,) = struct.unpack_from("<H", self._header, vtable)
        if 4 + 2 * number >= size:
            return None
        (offset,) = struct.unpack_from("<H", self._header, vtable + 4 + 2 * number)
        return table + offset if offset else None

    def _number(self, format: str, table: int, number: int) -> int:
        place = self._field(table, number)
        return 0 if place is None else int(struct.unpack_from(format, self._header, place)[0])

    def _follow(self, table: int, number: int) -> int | None:
        """The place of what a field refers to."""
        place = self._field(table, number)
        if place is None:
            return None
        return place + int(struct.unpack_from("<I", self._header, place)[0])


def _too_many(most: int) -> InvalidValueError:
    return InvalidValueError(f"the rows take more than {most} bytes")


def _first_line(problem: BaseException) -> str:
    return str(problem).partition("\n")[0]
