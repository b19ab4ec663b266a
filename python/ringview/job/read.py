"""The files of one table, read as a stream of Arrow rows.

Invariant: a ``Source`` yields the rows of its files in the order of the job file,
with the table's columns (cast as the job says) and then the multiplicity.
Cost: one batch of rows in memory at a time.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from ringview.errors import did_you_mean
from ringview.job.checks import JobError
from ringview.job.model import TableSpec
from ringview.text import quoted

_READ_ROWS = 65_536


class Source:
    """The files of one table; of one with a schema there are none.

    Example:
        >>> import ringview.job
        >>> job = ringview.job.load("examples/tpch_stream/job.toml")
        >>> Source(job.tables[0]).schema.names
        ['regionkey', 'name']
    """

    def __init__(self, spec: TableSpec) -> None:
        self.spec = spec
        if spec.schema is not None:
            self.file_schema = self.schema = spec.schema
            return
        found = [_file_schema(spec, path) for path in spec.paths]
        for path, schema in zip(spec.paths[1:], found[1:], strict=True):
            if not schema.equals(found[0]):
                raise JobError(
                    f"table {quoted(spec.name)}: {path.name} has other columns than "
                    f"{spec.paths[0].name}"
                )
        self.file_schema = found[0]
        self._check_names()
        special = {spec.multiplicity, spec.order_by}
        names = spec.columns or tuple(n for n in found[0].names if n not in special)
        self.schema = pa.schema([self._field(name) for name in names])

    def __repr__(self) -> str:
        files = ", ".join(path.name for path in self.spec.paths)
        return f"Source({self.spec.name!r}, {files}, {self.schema.names})"

    @property
    def rows(self) -> int | None:
        """Number of rows, if the files hold it without being read."""
        if self.spec.format == "csv":
            return None
        counts: list[int] = [pq.read_metadata(path).num_rows for path in self.spec.paths]
        return sum(counts)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows: the columns of ``schema``, then the multiplicity column if there is one."""
        names = list(self.schema.names)
        fields = list(self.schema)
        if self.spec.multiplicity is not None:
            names.append(self.spec.multiplicity)
            fields.append(pa.field(self.spec.multiplicity, pa.int64()))
        wanted = pa.schema(fields)
        for batch in self._read(names):
            yield self._cast(batch, wanted)

    def sequence(self) -> pa.ChunkedArray:
        """The values of ``order_by``, which must not decrease."""
        column = self.spec.order_by
        assert column is not None
        chunks = [batch.column(0) for batch in self._read([column])]
        values = pa.chunked_array(chunks, type=self.file_schema.field(column).type)
        if values.null_count:
            raise JobError(
                f"table {quoted(self.spec.name)}: order_by: {quoted(column)} holds nulls"
            )
        if len(values) > 1 and not pc.all(pc.less_equal(values[:-1], values[1:])).as_py():
            raise JobError(
                f"table {quoted(self.spec.name)}: its rows are not in the order of "
                f"{quoted(column)}: sort the file by it, or drop order_by"
            )
        return values

    def _check_names(self) -> None:
        spec = self.spec
        said = [("columns", name) for name in spec.columns or ()]
        said += [("unique", name) for name in spec.unique or ()]
        said += [("types", name) for name in spec.types]
        said += [("multiplicity", spec.multiplicity)] if spec.multiplicity else []
        said += [("order_by", spec.order_by)] if spec.order_by else []
        for key, name in said:
            if name not in self.file_schema.names:
                found = self.file_schema.names
                raise JobError(
                    f"table {quoted(spec.name)}, {key}: {spec.paths[0].name} has no column "
                    f"{quoted(name)}"
                    + (did_you_mean(name, found) or f"; it has {', '.join(found)}")
                )

    def _field(self, name: str) -> pa.Field:
        found = self.file_schema.field(name)
        return pa.field(name, self.spec.types.get(name, found.type), found.nullable)

    def _read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        for path in self.spec.paths:
            # Errors of the consumer of the rows are not raised within this `with`.
            batches = self._read_file(path, names)
            while True:
                with _readable(self.spec, path):
                    batch = next(batches, None)
                if batch is None:
                    break
                yield batch

    def _read_file(self, path: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
        if self.spec.format == "parquet":
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(_READ_ROWS, columns=names)
        else:
            yield from _open_csv(self.spec, path, names)

    def _cast(self, batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
        # Parquet hands columns out in the order of the file.
        columns = []
        for field in wanted:
            column = batch.column(field.name)
            try:
                columns.append(column if column.type == field.type else column.cast(field.type))
            except pa.ArrowException as error:
                raise JobError(
                    f"table {quoted(self.spec.name)}: column {quoted(field.name)} is {column.type} "
                    f"and cannot be read as {field.type}: {error}"
                ) from error
        return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _file_schema(spec: TableSpec, path: Path) -> pa.Schema:
    with _readable(spec, path):
        if spec.format == "parquet":
            return pq.read_schema(path).remove_metadata()
        with _open_csv(spec, path, None) as reader:
            return reader.schema


@contextmanager
def _readable(spec: TableSpec, path: Path) -> Iterator[None]:
    """A block that reads a file, whose errors say which."""
    try:
        yield
    except pa.ArrowException as error:
        said = (_wrong_value(spec, path) if spec.format == "csv" else None) or (
            f"{path} is not {spec.format}: {error}"
        )
        raise JobError(f"table {quoted(spec.name)}: {said}") from error
    except OSError as error:
        raise JobError(f"table {quoted(spec.name)}: cannot read {path}: {error}") from error


def _open_csv(
    spec: TableSpec, path: Path, names: list[str] | None
) -> pyarrow.csv.CSVStreamingReader:
    return pyarrow.csv.open_csv(path, convert_options=_converted(spec, names))


def _converted(spec: TableSpec, names: list[str] | None) -> pyarrow.csv.ConvertOptions:
    # An empty text is a text: only an unquoted empty field is null.
    return pyarrow.csv.ConvertOptions(
        column_types=spec.types,
        include_columns=names,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


# Rows are counted from 1, the line of names among them.
_VALUE = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (.*): invalid value '(.*)'", re.S
)


def _wrong_value(spec: TableSpec, path: Path) -> str | None:
    """Message for a file of which one value has another type; None for any other error."""
    # Rows are counted by a reader in one thread alone, which is slower than it need be otherwise.
    alone = pyarrow.csv.ReadOptions(use_threads=False)
    try:
        pyarrow.csv.read_csv(path, read_options=alone, convert_options=_converted(spec, None))
    except (pa.ArrowException, OSError) as error:
        found = _VALUE.search(str(error))
        if found is None:
            return None
    else:
        return None
    column, row, kind, value = int(found[1]), int(found[2]) - 2, found[3], found[4]
    with path.open(newline="") as lines:
        name = next(csv.reader(lines))[column]
    return f"{path}, row {row}: column {quoted(name)}: {value!r} is no {kind}"
