"""Files of a folder as a source: those that are there, and those added later.

Invariant: each row of each file is applied once. A file is identified by its place below the folder
that the pattern begins with; a file of which rows were applied and whose size or time is another
since is an error. Files are read in their order, one after the other. Cost: a look at the folder
costs the files in it; a file costs its rows.
"""

from __future__ import annotations

import codecs
import glob
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from ..errors import InvalidValueError
from .batch import Batch, Casts, Change, Decimals, EpochUnit, How
from .files import Chunk, CsvOptions, Format, chunks, format_of

Order = Literal["name", "mtime"]


class Folder:
    """Files of Parquet, CSV or JSON lines; made by `folder`."""

    def __init__(
        self,
        pattern: str,
        name: str,
        shape: Mapping[str, object],
        format: Format | None,
        watch: bool,
        order: Order,
        rows: int,
        csv: CsvOptions,
    ) -> None:
        self.pattern = pattern
        self.name = name
        self._shape = shape
        self._format = format
        self._watch = watch
        self._order = order
        self._rows = rows
        self._csv = csv
        self._base = Path(_base(pattern))

    def __repr__(self) -> str:
        return f"Folder({self.pattern!r}, table={self._shape['table']!r})"

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        """The rows behind `positions`, a chunk of a file at a time; see `Source`."""
        known = dict(positions)
        while True:
            files = self._files()
            if not files and not known and not self._watch:
                raise InvalidValueError(
                    f"no file is named by {self.pattern}; correct it, or wait for files with "
                    "watch=True"
                )
            for path in files:
                for batch in self._read(path, known):
                    yield batch
                    # The next batch is requested, so this one was committed.
                    known.update(batch.positions)
            if not self._watch:
                return
            yield None

    def _files(self) -> list[Path]:
        found = []
        for text in glob.glob(self.pattern, recursive=True):
            path = Path(text)
            below = path.relative_to(self._base).parts
            # Spark and others write what is not finished under such names.
            if not path.is_dir() and not any(part.startswith(("_", ".")) for part in below[:-1]):
                hidden = below[-1].startswith(("_", ".")) and glob.has_magic(self.pattern)
                if not hidden:
                    found.append(path)
        if self._order == "name":
            return sorted(found)
        return [path for _, path in sorted((stat.st_mtime_ns, p) for p, stat in _stats(found))]

    def _read(self, path: Path, known: Mapping[str, str]) -> Iterator[Batch]:
        part = path.relative_to(self._base).as_posix()
        before = _Seen.of(path)
        if before is None or before.size == 0:
            # One without a byte is still to be written; it is read once it has some.
            return
        start = 0
        if part in known:
            old, start, is_done = _Seen.parsed(known[part])
            if old != before:
                _changed(path, start)
            if is_done:
                return
        format = self._format or format_of(path)
        last: Chunk | None = None
        for chunk in chunks(path, str(path), format, start, self._rows, self._csv):
            if last is not None:
                yield self._batch(part, before.text(last.done, False), last)
            last = chunk
        if _Seen.of(path) != before:
            _changed(path, start if last is None else last.done)
        yield self._batch(part, before.text(start if last is None else last.done, True), last)

    def _batch(self, part: str, position: str, chunk: Chunk | None) -> Batch:
        if chunk is None:
            return Batch((), {part: position})
        changes = []
        if len(chunk.rows):
            changes = [Change(rows=chunk.rows, origin=chunk.origin, **self._shape)]  # type: ignore[arg-type]
        return Batch(changes, {part: position}, chunk.rejected)


def folder(
    pattern: str | os.PathLike[str],
    *,
    table: str,
    format: Format | None = None,
    watch: bool = False,
    order: Order = "name",
    how: How = "insert",
    op: str | None = None,
    multiplicity: str | None = None,
    ignore: Sequence[str] = (),
    epochs: EpochUnit | None = None,
    decimals: Decimals = "text",
    rows: int = 65_536,
    delimiter: str = ",",
    quote: str = '"',
    encoding: str = "utf-8",
    nulls: Sequence[str] = ("",),
    name: str | None = None,
) -> Folder:
    r"""Files as a source: each row of each file once, also of files added later.

    A program that writes a file there writes it under another name and renames it when it is whole,
    or under a name that begins with a dot or `_`, which no `*` names here.

    Args:
        pattern: A path, or one with `*`, `?`, `[..]` and, over any folders, `**`.
        table: The table of the rows. Columns are matched by name, and cast as `docs/sources.md`
            says.
        format: How they are written; by default as their suffix says: `.parquet`, `.csv`, `.jsonl`,
            the last two also with `.gz`, `.bz2`, `.zst`, `.lz4` behind.
        watch: Whether to look for new files for ever.
        order: Files are read by name or by the time of their last change; those that were not there
            at a look are read at the next one.
        how: Whether rows are inserted, deleted, or take the place of those with their key.
        op: A column with words that say what each row does, as for `Database.apply`.
        multiplicity: A column that says how often each row counts, as for `Database.insert`.
        ignore: Columns of the files to leave out; `"*"` means all that the table lacks.
        epochs: The unit of integers in columns of timestamps.
        decimals: Whether decimals are written as digits or as bytes in base64.
        rows: How many rows a batch has at the most.
        delimiter: The character between two fields of CSV.
        quote: The character around fields of CSV that hold delimiters or ends of lines; "" for
            none.
        encoding: The encoding of CSV, as Python names it.
        nulls: Unquoted texts of CSV that are NULL.
        name: What its positions are kept under; by default the pattern.

    Raises, when it is read:
        StorageError: A file cannot be read.
        InvalidValueError: The pattern names no file, without `watch`; a file is not of its format,
            or is another than when it was read; a row does not fit, with its place and column.
        UnknownColumnError, TypeMismatchError: The columns of a file are not those of the table.

    Complexity: O(rows) a file, one batch in memory; a look O(files).

    >>> import tempfile
    >>> from pathlib import Path
    >>> import ringview as rv
    >>> from ringview import sources
    >>> folder = tempfile.TemporaryDirectory()
    >>> lines = '{"id": 1, "day": "2026-03-09"}\n{"id": 2, "day": 20522}\n'
    >>> _ = (Path(folder.name) / "a.jsonl").write_text(lines)
    >>> db = rv.Database()
    >>> table = db.create_table("r", {"id": "int64", "day": "date32"})
    >>> given = sources.folder(f"{folder.name}/*.jsonl", table="r")
    >>> sources.run(db, [given]), sources.run(db, [given])
    (Reader(batches=1, rows=2, rejected=0), Reader(batches=0, rows=0, rejected=0))
    >>> sorted(str(day) for day in table.to_arrow()["day"].to_pylist())
    ['2026-03-09', '2026-03-10']
    """
    text = os.fspath(pattern)
    if format not in (None, "parquet", "csv", "jsonl"):
        raise InvalidValueError(f'format is "parquet", "csv" or "jsonl", not {format!r}')
    if order not in ("name", "mtime"):
        raise InvalidValueError(f'order is "name" or "mtime", not {order!r}')
    if rows < 1:
        raise InvalidValueError(f"rows={rows!r}: a batch has at least 1 row")
    for option, value, fewest in (("delimiter", delimiter, 1), ("quote", quote, 0)):
        if not fewest <= len(value.encode()) <= 1:
            raise InvalidValueError(f"{option}={value!r} is not one character of ASCII")
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise InvalidValueError(f"encoding={encoding!r} is none that Python knows") from None
    csv = CsvOptions(delimiter, quote, encoding, [nulls] if isinstance(nulls, str) else nulls)
    casts = Casts(epochs, decimals)
    shape = shaped(table, how, op, multiplicity, ignore, casts)
    return Folder(text, name or f"folder {text}", shape, format, watch, order, rows, csv)


def shaped(
    table: str,
    how: How,
    op: str | None,
    multiplicity: str | None,
    ignore: Sequence[str],
    casts: Casts,
) -> dict[str, object]:
    """Fields that all changes of a source share.

    Raises:
        InvalidValueError: Two ways to say what a row does, or another word.
    """
    if op is not None and (how not in ("insert", "apply") or multiplicity is not None):
        raise InvalidValueError("op= says what each row does; leave out how= and multiplicity=")
    if multiplicity is not None and how == "upsert":
        raise InvalidValueError(
            "rows that are upserted have no multiplicity; leave one of both out"
        )
    if how not in ("insert", "delete", "upsert", "apply") or (how == "apply" and op is None):
        raise InvalidValueError(f'how is "insert", "delete" or "upsert", or give op=; not {how!r}')
    left = [ignore] if isinstance(ignore, str) else list(ignore)
    kind = "apply" if op is not None else how
    return {
        "table": table,
        "how": kind,
        "op": op,
        "multiplicity": multiplicity,
        "ignore": left,
        "casts": casts,
    }


class _Seen:
    """A file as it was when it was read: how long it was, and when it was last written."""

    def __init__(self, size: int, mtime: int) -> None:
        self.size, self.mtime = size, mtime

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and (self.size, self.mtime) == (other.size, other.mtime)

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def of(path: Path) -> _Seen | None:
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        return _Seen(found.st_size, found.st_mtime_ns)

    def text(self, rows: int, is_done: bool) -> str:
        kept = {"size": self.size, "mtime_ns": self.mtime, "rows": rows, "done": is_done}
        return json.dumps(kept)

    @staticmethod
    def parsed(text: str) -> tuple[_Seen, int, bool]:
        kept = json.loads(text)
        return _Seen(kept["size"], kept["mtime_ns"]), kept["rows"], kept["done"]


def _changed(path: Path, rows: int) -> None:
    raise InvalidValueError(
        f"{path} was changed after {rows} of its rows were read; what it had before is applied. "
        "Put it back as it was, or write what is new to another file, and files only when they are "
        "whole"
    )


def _stats(paths: Sequence[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    for path in paths:
        try:
            yield path, path.stat()
        except FileNotFoundError:
            continue


def _base(pattern: str) -> str:
    """The folder that a pattern begins with, before the first part with a `*` or such."""
    head = pattern
    while glob.has_magic(head):
        head = os.path.dirname(head)
    return head if head != pattern else os.path.dirname(pattern)
