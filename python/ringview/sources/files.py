"""Rows of Parquet, CSV and JSON lines, chunk by chunk, from any row on.

Invariant: the chunks of a file, from its first row or from a later one, are its rows in their
order; a line that is no row is yielded as such, once. The values of CSV are texts, those of JSON
are Python's, with numbers as decimals; they are cast by the table that they are applied to. Cost:
one chunk in memory; to begin at a later row, reading the rows before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InvalidValueError, StorageError
from ..text import quoted
from .batch import Origin, Rejected

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["parquet", "csv", "jsonl"]
_SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_PACKED = frozenset({".gz", ".bz2", ".zst", ".lz4"})


@dataclass(frozen=True)
class CsvOptions:
    """Format of a CSV file.

    Args:
        delimiter: The character between two fields.
        quote: The character around a field that has delimiters or ends of lines; "" for none.
        encoding: Its encoding, as Python names it.
        nulls: Unquoted texts that are NULL.
    """

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    nulls: Sequence[str] = ("",)


@dataclass(frozen=True)
class Chunk:
    """Rows of a file, its lines that are no rows, and how many of both were read by then."""

    rows: pa.Table | Sequence[dict[str, Any]]
    origin: Origin
    rejected: Sequence[Rejected]
    done: int


def format_of(path: Path) -> Format:
    """The format that the name of a file says.

    Raises:
        InvalidValueError: It says none.

    >>> format_of(Path("orders.csv.gz")), format_of(Path("a/b.jsonl"))
    ('csv', 'jsonl')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    found = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if found is None:
        raise InvalidValueError(
            f"the name of {path} does not say its format; "
            'say format="parquet", "csv" or "jsonl", or name other files'
        )
    return found


def chunks(
    path: Path,
    name: str,
    format: Format,
    start: int,
    size: int,
    csv: CsvOptions | None = None,
) -> Iterator[Chunk]:
    """The rows of a file behind the first `start`, at most about `size` at a time.

    Args:
        path: The file; CSV and JSON lines may be packed, as their suffix says.
        name: What it is called in errors.
        format: How it is written.
        start: How many rows, and lines that are none, to leave out.
        size: Rows of a chunk.
        csv: How CSV is written, if that is another way.

    Raises:
        StorageError: It cannot be read.
        InvalidValueError: It is not of this format.
    """
    with _named(name, format):
        if format == "csv":
            yield from _csv(path, name, start, size, csv or CsvOptions())
        else:
            read = _parquet if format == "parquet" else _json_lines
            yield from read(path, name, start, size)


def _parquet(path: Path, name: str, start: int, size: int) -> Iterator[Chunk]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    done = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(size):
            skipped = min(max(start - done, 0), batch.num_rows)
            origin, done = Origin(name, first=done + skipped), done + batch.num_rows
            rows = pa.Table.from_batches([batch.slice(skipped)])
            if rows.num_rows:
                yield Chunk(rows, origin, (), done)


def _csv(path: Path, name: str, start: int, size: int, options: CsvOptions) -> Iterator[Chunk]:
    import pyarrow as pa
    import pyarrow.csv as csv

    broken: list[tuple[int, Rejected]] = []

    def no_row(row: Any) -> str:
        # The header is the first line that it counts.
        number = row.number - 2
        reason = f"{row.actual_columns} fields, not {row.expected_columns}"
        broken.append((number, Rejected(f"{name}, row {number}", row.text, reason)))
        return "skip"

    def opened(types: dict[str, Any]) -> csv.CSVStreamingReader:
        return csv.open_csv(
            pa.input_stream(str(path), compression="detect"),
            # Numbers of lines are known where one thread reads.
            read_options=csv.ReadOptions(use_threads=False, encoding=options.encoding),
            parse_options=csv.ParseOptions(
                delimiter=options.delimiter,
                quote_char=options.quote or False,
                newlines_in_values=bool(options.quote),
                invalid_row_handler=no_row,
            ),
            # An empty text is a text: only an unquoted empty field is NULL.
            convert_options=csv.ConvertOptions(
                column_types=types,
                null_values=list(options.nulls),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    with opened({}) as reader:
        names = reader.schema.names
    broken.clear()
    if len(set(names)) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise InvalidValueError(
            f"{name} has two columns {quoted(twice)}; name one of them otherwise"
        )
    done = 0
    with opened(dict.fromkeys(names, pa.string())) as reader:
        # A block is read ahead: lines behind those that are handed over wait.
        for batch in reader:
            at = 0
            while at < batch.num_rows:
                rows = batch.slice(at, size)
                numbers, lines, end = _numbered(done, rows.num_rows, broken)
                at += rows.num_rows
                left = [place for place, number in enumerate(numbers) if number >= start]
                between = [line for number, line in lines if number >= start]
                if left or between:
                    kept = pa.Table.from_batches([rows]).take(pa.array(left, pa.int64()))
                    origin = Origin(name, numbers=[numbers[place] for place in left])
                    yield Chunk(kept, origin, between, end)
                done = end
    behind = [line for number, line in broken if number >= max(start, done)]
    if behind:
        nothing = pa.table({each: pa.array([], pa.string()) for each in names})
        yield Chunk(nothing, Origin(name), behind, broken[-1][0] + 1)


def _numbered(
    done: int, count: int, broken: list[tuple[int, Rejected]]
) -> tuple[list[int], list[tuple[int, Rejected]], int]:
    """The numbers of the next rows, the lines between them that are none, and where they end."""
    missing = [(number, line) for number, line in broken if number >= done]
    numbers: list[int] = []
    lines: list[tuple[int, Rejected]] = []
    while len(numbers) < count:
        if missing and missing[0][0] == done:
            lines.append(missing.pop(0))
        else:
            numbers.append(done)
        done += 1
    return numbers, lines, done


def _json_lines(path: Path, name: str, start: int, size: int) -> Iterator[Chunk]:
    import io

    import pyarrow as pa

    with pa.input_stream(str(path), compression="detect") as stream:
        lines = enumerate(io.BufferedReader(stream), start=1)
        done = sum(1 for _ in islice(lines, start))
        while block := list(islice(lines, size)):
            rows: list[dict[str, Any]] = []
            numbers: list[int] = []
            rejected: list[Rejected] = []
            for number, line in block:
                if not line.strip():
                    continue
                try:
                    rows.append(parsed(line))
                    numbers.append(number)
                except ValueError as problem:
                    text = line.decode(errors="replace").rstrip("\r\n")
                    rejected.append(Rejected(f"{name}, line {number}", text, str(problem)))
            done += len(block)
            yield Chunk(rows, Origin(name, "line", numbers=numbers), rejected, done)


def parsed(text: str | bytes) -> dict[str, Any]:
    """A JSON object, its numbers with a point as decimals.

    Raises:
        ValueError: It is none.

    >>> parsed('{"price": 0.1}')
    {'price': Decimal('0.1')}
    """
    try:
        plain = text if isinstance(text, str) else text.decode()
        found = json.loads(plain.removeprefix("\ufeff"), parse_float=Decimal)
        if "\\ud" in plain or "\\uD" in plain:
            json.dumps(found, default=str, ensure_ascii=False).encode()
    except UnicodeDecodeError as problem:
        raise ValueError(f"it is no UTF-8: {problem.reason}") from None
    except UnicodeEncodeError:
        raise ValueError(
            "it has half a surrogate pair (\\ud800 to \\udfff), which is no text"
        ) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"it is no JSON: {problem}") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object, as a row is")
    return found


@contextmanager
def _named(name: str, format: Format) -> Iterator[None]:
    """A block that reads a file, whose errors name it."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as problem:
        raise InvalidValueError(f"{name} is not {format}, or damaged: {problem}") from problem
    except OSError as problem:
        if isinstance(problem, StorageError):
            raise
        raise StorageError(f"cannot read {name}: {problem}") from problem
