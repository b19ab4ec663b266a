"""Tables of a PostgreSQL server that change, and a database that reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import postgres_server
import pytest
import ringview as rv
from ringview import errors, sources

psycopg = pytest.importorskip("psycopg")


class Pair:
    """Table `t` of PostgreSQL, which changes, beside `other`, which is read whatever happens.

    Args:
        server: Where they are made, in a schema of their own.
        name: Of schema and slot.
        columns: Those of `t` in PostgreSQL.
        types: Those of `t` here.
        unique: The key of `t` here.
        more: Options of the source.
    """

    def __init__(
        self,
        server: postgres_server.Server,
        name: str,
        columns: str = "id INT PRIMARY KEY, x INT",
        types: Mapping[str, str] | None = None,
        unique: list[str] | None = None,
        **more: Any,
    ) -> None:
        self.server, self.name = server, name
        self.ask(f"CREATE SCHEMA {name}")
        self.ask(f"CREATE TABLE {name}.t ({columns})")
        self.ask(f"CREATE TABLE {name}.other (id INT PRIMARY KEY)")
        self.db = rv.Database()
        self.db.create_table("t", dict(types or {"id": "int64", "x": "int64"}), unique=unique)
        self.db.create_table("other", {"id": "int64"}, unique=["id"])
        self.db.create_view("n", "SELECT COUNT(*) AS n FROM t")
        self.tables = {f"{name}.t": "t", f"{name}.other": "other"}
        self.others = 0
        self.source = self.made(**more)

    def made(self, **more: Any) -> sources.Postgres:
        """The source with other options."""
        given = {"tables": self.tables, **more}
        return sources.postgres(self.server.address, slot=self.name, **given)

    def ask(self, *statements: str) -> list[tuple[Any, ...]]:
        """Do statements in one transaction; the rows of the last one."""
        with psycopg.connect(self.server.address) as con:
            for sql in statements:
                cursor = con.execute(sql.replace("$", self.name))
            found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
            return found

    def read(self) -> None:
        """Read to the end, and see that the other table is read."""
        self.others += 1
        self.ask(f"INSERT INTO $.other VALUES ({self.others})")
        try:
            sources.run(self.db, [self.source])
        finally:
            assert len(self.db.tables["other"]) == self.others

    def follows(self, table: str = "$.t") -> None:
        """Read, and compare all columns that are here with PostgreSQL's."""
        self.read()
        names = self.db.tables["t"].schema.names
        wanted = Counter(self.ask(f"SELECT {', '.join(names)} FROM {table}"))
        rows = self.db.tables["t"].to_arrow().to_pylist()
        assert Counter(tuple(row.values()) for row in rows) == wanted

    def ends(self, why: str) -> None:
        """Read: the table ends, each time it is read, and the other does not."""
        for _ in range(2):
            with pytest.raises(errors.InvalidValueError, match=why):
                self.read()
        assert any("it ended" in said for said in self.source.differences(self.db))

    def refused(self, why: str) -> None:
        """Nothing is read."""
        with pytest.raises(errors.InvalidValueError, match=why):
            sources.run(self.db, [self.source])
        assert self.source.differences(self.db)

    def done(self) -> None:
        """Drop the slot, of which a server has few."""
        self.source.drop()
