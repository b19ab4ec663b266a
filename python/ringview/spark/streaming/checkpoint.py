"""The folder of a stream: Spark's own checkpoint, the state, and what they are of.

    checkpoint/plan.json    the query, written before anything else
    checkpoint/spark        which rows a micro-batch has, and which were done
    checkpoint/ringview     the state

Invariant: a stream continues only with the query that it began with; an error names each
difference. A checkpoint that is recreated is another one, whatever its path is: it has an identity
of its own. Cost: of a start.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from ringview._native import sql_tokens
from ringview.errors import CheckpointError, QueryError, RingviewError, StorageError
from ringview.spark.streaming import locations, paths
from ringview.spark.streaming.locations import Location

BECOMING = "becoming"
"""Where `plan.json` says that the state may be between two queries, and what the first one was."""

_FORMAT = 1
_IDENTITY = "identity"


class Checkpoint:
    """The location of all that a stream must keep."""

    def __init__(self, path: str | os.PathLike[str], spark: SparkSession | None = None) -> None:
        self.folder: Location = paths.location(path, spark)
        self.spark: Location = self.folder / "spark"
        self.state: Location = self.folder / "ringview"

    @property
    def location(self) -> str:
        """Spark's name of its part, whatever its default file system is."""
        return paths.for_spark(self.spark)

    @property
    def identity(self) -> str:
        """The identity of this checkpoint, unlike any other's; available once `agree` returned.

        Raises:
            CheckpointError: It has none yet.
        """
        found = self.noted().get(_IDENTITY)
        if not isinstance(found, str):
            raise CheckpointError(f"the checkpoint {self.folder} has no identity yet")
        return found

    @property
    def has_begun(self) -> bool:
        """Whether Spark has noted a micro-batch."""
        return any((self.spark / "offsets").glob("[0-9]*"))

    def has_noted(self, batch_id: int) -> bool:
        """Whether Spark has noted what rows a micro-batch has."""
        return (self.spark / "offsets" / str(batch_id)).exists()

    def has_done(self, batch_id: int) -> bool:
        """Whether Spark has noted a micro-batch as done, which it does once its sink took it."""
        return (self.spark / "commits" / str(batch_id)).exists()

    def clear(self) -> None:
        """Remove what Spark left of a start that noted no micro-batch, which it would stumble over.

        Raises:
            StorageError: It cannot be removed.
        """
        try:
            if self.spark.exists() and not self.has_begun:
                locations.remove(self.spark)
        except OSError as problem:
            raise StorageError(f"cannot remove {self.spark}: {problem}") from problem

    def agree(self, described: Mapping[str, Any]) -> None:
        """Note the query, or compare it with the one of which the checkpoint was made.

        Raises:
            CheckpointError: It is of another query; the message names what differs.
            StorageError: It cannot be read or written.
        """
        plan = self.folder / "plan.json"
        now = json.loads(json.dumps({**described, "format": _FORMAT}))
        now.pop(_IDENTITY, None)
        try:
            if not plan.exists():
                if self.has_begun or (self.folder / "offsets").exists():
                    raise CheckpointError(
                        f"the checkpoint {self.folder} is not of ringview: it has no plan.json; "
                        "start with an empty folder"
                    )
                self.state.mkdir(parents=True, exist_ok=True)
                self.note({**now, _IDENTITY: uuid4().hex})
                return
            before = self.noted()
        except OSError as problem:
            raise StorageError(f"cannot open the checkpoint {self.folder}: {problem}") from problem
        except ValueError as problem:
            if isinstance(problem, RingviewError):
                raise
            raise CheckpointError(f"{plan} is damaged: {problem}") from problem
        if before.get("format") != _FORMAT:
            raise CheckpointError(
                f"the checkpoint {self.folder} is of format {before.get('format')}, and this "
                f"version of ringview knows {_FORMAT}; use the version that wrote it"
            )
        if BECOMING in before:
            raise CheckpointError(
                f"the checkpoint {self.folder} is between two queries, for evolving it was ended "
                "on the way; evolve it once more"
            )
        if differs := difference(before, now):
            raise CheckpointError(
                f"the checkpoint {self.folder} is of another query: {differs}; ask what was asked, "
                "or start with an empty folder"
            )
        if isinstance(self.state, Path) and not self.state.is_dir():
            raise CheckpointError(
                f"the checkpoint {self.folder} lacks its folder {self.state.name}, which has the "
                "state; bring it back, or start with an empty folder"
            )
        if _IDENTITY not in before:
            self.note({**before, _IDENTITY: uuid4().hex})

    def note(self, described: Mapping[str, Any]) -> None:
        """Write what the checkpoint is of."""
        locations.write(self.folder / "plan.json", json.dumps(described, indent=2).encode())

    @property
    def is_made(self) -> bool:
        """Whether it is of a query."""
        return (self.folder / "plan.json").exists()

    def noted(self) -> dict[str, Any]:
        """The query of the checkpoint, as it was noted.

        Raises:
            OSError, ValueError: It cannot be read.
        """
        found = json.loads((self.folder / "plan.json").read_bytes())
        if not isinstance(found, dict):
            raise ValueError("it holds no object")
        return found


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first thing in which two described plans differ, in words.

    >>> tables = {"r": {"columns": {"a": "int64"}, "keys": None, "changes": "rows"}}
    >>> other = {"r": {"columns": {"a": "string"}, "keys": None, "changes": "rows"}}
    >>> difference({"tables": tables, "views": {}}, {"tables": other, "views": {}})
    'column "a" of table "r" was int64 and is string now'
    """
    if told := _names("table", before["tables"], now["tables"]):
        return told
    for name, table in now["tables"].items():
        old = before["tables"][name]
        if told := _names("column", old["columns"], table["columns"], f' of table "{name}"'):
            return told
        for column, kind in table["columns"].items():
            if (was := old["columns"][column]) != kind:
                return f'column "{column}" of table "{name}" was {was} and is {kind} now'
        for what in sorted((table.keys() | old.keys()) - {"columns"}):
            if (was := old.get(what)) != (given := table.get(what)):
                return f'{what} of table "{name}" was {was} and is {given} now'
    if told := _names("view", before["views"], now["views"]):
        return told
    for name, sql in now["views"].items():
        if not is_same_text(before["views"][name], sql):
            return f'view "{name}" was {before["views"][name]} and is {sql} now'
    for what in sorted(now.keys() - {"tables", "views"}):
        # Checkpoints that say nothing of texts have DuckDB's, without parameters.
        was = before.get(what, "duckdb" if what == "dialect" else None)
        if was != now[what]:
            return f"{what} was {was} and is {now[what]} now"
    return None


def _names(
    what: str, before: Mapping[str, Any], now: Mapping[str, Any], of: str = ""
) -> str | None:
    for name in now:
        if name not in before:
            return f'{what} "{name}"{of} is new'
    for name in before:
        if name not in now:
            return f'{what} "{name}"{of} is gone'
    return None


def is_same_text(before: str, now: str) -> bool:
    """Whether two texts of SQL are word for word the same.

    >>> is_same_text("SELECT a FROM r", "select a  from r -- all"), is_same_text("1", "2")
    (True, False)
    """
    return _tokens(before) == _tokens(now)


def _tokens(sql: str) -> list[str]:
    """The words of a text: blanks, comments and the case of keywords do not count."""
    try:
        return sql_tokens(sql)
    except QueryError:
        return [sql]
