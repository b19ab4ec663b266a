"""Dead letters: rows that broke a contract, with the reasons, and their target.

Invariant: a target is given the letters of a micro-batch until it took them, the last ones maybe
twice, with the same letters: files have each of them once. Cost: that of the letters.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ringview import Database
from ringview.atomic_write import write
from ringview.errors import CheckpointError, ExistsError, InvalidValueError, StorageError
from ringview.sinks.protocol import Sink
from ringview.spark.slots import MULTIPLICITY
from ringview.spark.streaming import marks
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.refusals import Refused

NAME = "dead_letters"
"""What targets are told instead of the name of a view, and where progress counts them."""

SCHEMA = pa.schema(
    {
        "batch_id": pa.int64(),
        "table": pa.string(),
        "row": pa.string(),
        "error": pa.string(),
        "reason": pa.string(),
    }
)

_OWNER = "_checkpoint"
# Parts of a message about the transaction, or about a place among the rows that were tried.
_AROUND = re.compile(
    r"^row \d+: |; nothing (of this transaction was applied|was changed)$", re.MULTILINE
)


def letters(refused: Sequence[Refused], batch_id: int) -> pa.Table:
    """The letters of a micro-batch, in an order that depends on nothing else."""
    rows = [
        {
            "batch_id": batch_id,
            "table": each.table.name,
            "row": _row(each.values),
            "error": type(each.error).__name__,
            "reason": _AROUND.sub("", str(each.error)),
        }
        for each in refused
    ]
    return in_order(pa.Table.from_pylist(rows, SCHEMA))


def in_order(found: pa.Table) -> pa.Table:
    """Letters in the order in which targets are given them."""
    return found.sort_by([(name, "ascending") for name in SCHEMA.names])


def counted(refused: Sequence[Refused]) -> dict[str, int]:
    """Number of letters, by table."""
    return dict(Counter(each.table.name for each in refused))


def prepare(plan: Plan, database: Database) -> None:
    """Have a table for letters that no target took yet, behind all other tables."""
    database.create_table(plan.letters, SCHEMA, if_not_exists=True)


def waiting(plan: Plan, database: Database) -> dict[int, pa.Table]:
    """The letters that no target took yet, by micro-batch."""
    if plan.letters not in database.tables or not len(database.tables[plan.letters]):
        return {}
    found = in_order(database.tables[plan.letters].to_arrow())
    batches = pc.unique(found["batch_id"]).to_pylist()
    return {batch: found.filter(pc.equal(found["batch_id"], batch)) for batch in batches}


def taken(plan: Plan, database: Database, found: pa.Table) -> None:
    """Remove letters that a target took."""
    first = None if database.is_applied(marks.LETTERS) else marks.LETTERS
    with database.transaction(batch_id=first) as transaction:
        transaction.delete(plan.letters, found)


def send(target: Sink, batch_id: int, found: pa.Table) -> None:
    """Pass the letters of a micro-batch to a target.

    Raises:
        Exception: What the target raises.
    """
    ones = pa.repeat(pa.scalar(1, pa.int64()), found.num_rows)
    target(NAME, batch_id, found.append_column(MULTIPLICITY, ones))


def target_of(on_error: str, given: object, views: Iterable[str]) -> Sink | None:
    """The target of letters, from a user's argument; None where a wrong row ends the stream.

    Raises:
        InvalidValueError: The two exclude each other, or are none.
        ExistsError: A view has the name of the letters.
    """
    if on_error not in ("fail", "dead_letter"):
        raise InvalidValueError(f'on_error is "fail" or "dead_letter", not {on_error!r}')
    if on_error == "fail":
        if given is not None:
            raise InvalidValueError('dead_letters= goes with on_error="dead_letter"')
        return None
    if NAME in views:
        raise ExistsError(
            f'a view is named "{NAME}", which is what targets of dead letters are told; give the '
            "view another name"
        )
    if isinstance(given, str | os.PathLike):
        return JsonLines(given)
    if callable(given):
        found: Sink = given
        return found
    raise InvalidValueError(
        f'on_error="dead_letter" with dead_letters={given!r}, which is no place for letters; give '
        "a folder, a ParquetSink, or a function of name, batch and letters"
    )


class JsonLines:
    """A folder with a file of JSON lines for each micro-batch that has letters.

    A file is there whole or not at all, and a repeated batch replaces it, or removes it. The folder
    has letters of one checkpoint: another one counts its own batches.

    >>> import tempfile
    >>> found = pa.table({"batch_id": [7], "reason": ["no"], "multiplicity": [1]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = JsonLines(folder)
    ...     target("dead_letters", 7, found)
    ...     print(target.path(7).name, target.path(7).read_text())
    000000000007.jsonl {"batch_id": 7, "reason": "no"}
    <BLANKLINE>
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, batch_id: int) -> Path:
        """The file of a micro-batch."""
        return self.folder / f"{batch_id:012d}.jsonl"

    def begin(self, owner: str, views: Sequence[str], is_new: bool) -> None:
        """Take the folder for a checkpoint, or find that it did.

        Raises:
            CheckpointError: It has letters of another one.
            StorageError: It cannot be read or written.
        """
        note = self.folder / _OWNER
        try:
            if note.exists():
                is_own = note.read_text().strip() == owner
            else:
                is_own = not any(self.folder.glob("*.jsonl"))
            if not is_own:
                raise CheckpointError(
                    f"{self.folder} has dead letters of another checkpoint, some of which batches "
                    "that count anew would replace; remove it, or give another folder"
                )
            if not note.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                write(note, owner.encode())
        except OSError as problem:
            raise StorageError(f"cannot write {note}: {problem}") from problem

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        """Write the letters of a micro-batch."""
        path = self.path(batch_id)
        rows = changes.drop_columns([MULTIPLICITY]).to_pylist()
        try:
            if not rows:
                path.unlink(missing_ok=True)
                return
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            write(path, "".join(lines).encode())
        except OSError as problem:
            raise StorageError(f"cannot write {path}: {problem}") from problem

    def __repr__(self) -> str:
        return f"JsonLines({str(self.folder)!r})"


def _row(values: Mapping[str, Any]) -> str:
    return json.dumps({name: _cell(value) for name, value in values.items()}, ensure_ascii=False)


def _cell(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
