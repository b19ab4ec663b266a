"""Random statements that define and change, each possible in its place or not quite."""

from __future__ import annotations

import random

import ringview as rv
from ringview.text import quoted

TYPES = ["BIGINT", "INTEGER", "VARCHAR", "DECIMAL(9, 2)"]


class Migrations:
    """Writes statements for the tables and views that a database has."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._names = iter(range(10**6))

    def statement(self, db: rv.Database) -> str:
        """A statement that may be refused."""
        makers = [
            *(3 * [self._create_table]),
            *(3 * [self._create_view]),
            *(6 * [self._insert]),
            *(3 * [self._update]),
            *(2 * [self._delete]),
            *(4 * [self._alter]),
            self._drop_table,
            self._drop_view,
            self._replace_view,
            self._create_filled,
            self._select,
        ]
        return self.random.choice(makers)(db)

    def _new(self, kind: str) -> str:
        # Now and then a name that may be taken.
        if self.random.random() < 0.1:
            return f"{kind}{self.random.randrange(3)}"
        return f"{kind}{next(self._names)}"

    def _table(self, db: rv.Database) -> rv.Table | None:
        names = list(db.tables)
        return db.tables[self.random.choice(names)] if names else None

    def _value(self, kind: str) -> str:
        at = self.random
        if at.random() < 0.15:
            return "NULL"
        if kind == "string":
            return f"'{at.choice(['a', 'b', 'it', 'longer than what fits inside'])}'"
        if kind.startswith("decimal"):
            return f"{at.randrange(-3, 4)}.5"
        return str(at.randrange(-2, 4))

    def _create_table(self, db: rv.Database) -> str:
        at = self.random
        columns = [f"c{number} {at.choice(TYPES)}" for number in range(at.randrange(1, 4))]
        if at.random() < 0.3:
            columns[0] += f" DEFAULT {'NULL' if at.random() < 0.5 else self._literal(columns[0])}"
        key = ", PRIMARY KEY (c0)" if at.random() < 0.3 else ""
        replace = "OR REPLACE " if at.random() < 0.1 else ""
        return f"CREATE {replace}TABLE {self._new('t')} ({', '.join(columns)}{key})"

    def _literal(self, column: str) -> str:
        return "'d'" if "VARCHAR" in column else "7"

    def _create_filled(self, db: rv.Database) -> str:
        table = self._table(db)
        if table is None:
            return self._create_table(db)
        columns = ", ".join(table.schema.names)
        return f"CREATE TABLE {self._new('t')} AS SELECT {columns} FROM {table.name}"

    def _query(self, db: rv.Database) -> str | None:
        at = self.random
        names = [*db.tables, *db.views]
        if not names:
            return None
        one, two = at.choice(names), at.choice(names)
        columns = [self._column(db, name) for name in (one, two)]
        return at.choice(
            [
                f"SELECT {columns[0]} AS g, COUNT(*) AS n FROM {one} GROUP BY {columns[0]}",
                f"SELECT * FROM {one}",
                f"SELECT COUNT(*) AS n, MAX(x.{columns[0]}) AS m FROM {one} x",
                f"SELECT x.{columns[0]} AS g, COUNT(y.{columns[1]}) AS n "
                f"FROM {one} x, {two} y WHERE CAST(x.{columns[0]} AS VARCHAR) = "
                f"CAST(y.{columns[1]} AS VARCHAR) GROUP BY x.{columns[0]}",
            ]
        )

    def _column(self, db: rv.Database, name: str) -> str:
        schema = db.tables[name].schema if name in db.tables else db.views[name].schema
        return self.random.choice([quoted(column) for column in schema.names])

    def _create_view(self, db: rv.Database) -> str:
        query = self._query(db)
        return (
            self._create_table(db) if query is None else f"CREATE VIEW {self._new('v')} AS {query}"
        )

    def _replace_view(self, db: rv.Database) -> str:
        query = self._query(db)
        if query is None or not db.views:
            return self._create_table(db)
        return f"CREATE OR REPLACE VIEW {self.random.choice(list(db.views))} AS {query}"

    def _insert(self, db: rv.Database) -> str:
        table = self._table(db)
        if table is None:
            return self._create_table(db)
        at = self.random
        if at.random() < 0.2:
            other = self._table(db)
            assert other is not None
            columns = ", ".join(other.schema.names[: len(table.schema.names)])
            return f"INSERT INTO {table.name} SELECT {columns} FROM {other.name}"
        schema = table.schema
        rows = [
            f"({', '.join(self._value(str(kind)) for kind in schema.types)})"
            for _ in range(at.randrange(1, 4))
        ]
        or_replace = "OR REPLACE " if table.unique and at.random() < 0.7 else ""
        return f"INSERT {or_replace}INTO {table.name} VALUES {', '.join(rows)}"

    def _condition(self, table: rv.Table) -> str:
        column = self.random.randrange(len(table.schema.names))
        name, kind = table.schema.names[column], str(table.schema.types[column])
        return self.random.choice([f"{name} = {self._value(kind)}", f"{name} IS NULL", "true"])

    def _update(self, db: rv.Database) -> str:
        table = self._table(db)
        if table is None:
            return self._create_table(db)
        column = self.random.randrange(len(table.schema.names))
        name, kind = table.schema.names[column], str(table.schema.types[column])
        value = self._value(kind)
        return f"UPDATE {table.name} SET {name} = {value} WHERE {self._condition(table)}"

    def _delete(self, db: rv.Database) -> str:
        table = self._table(db)
        if table is None:
            return self._create_table(db)
        return f"DELETE FROM {table.name} WHERE {self._condition(table)}"

    def _alter(self, db: rv.Database) -> str:
        table = self._table(db)
        if table is None:
            return self._create_table(db)
        at, name = self.random, self.random.choice(table.schema.names)
        kind = at.choice(TYPES)
        default = f" DEFAULT {self._literal(kind)}" if at.random() < 0.5 else ""
        change = at.choice(
            [
                f"ADD COLUMN {self._new('c')} {kind}{default}",
                "ADD COLUMN multiplicity BIGINT",
                f"ADD COLUMN {self._new('c')} {kind} NOT NULL{default}",
                f"DROP COLUMN {name}",
                f"RENAME COLUMN {name} TO {self._new('c')}",
                f"RENAME COLUMN {name} TO multiplicity",
                f"RENAME TO {self._new('t')}",
                f"ALTER COLUMN {name} TYPE DECIMAL(20, 2)",
                f"ALTER COLUMN {name} SET DEFAULT NULL",
                f"ALTER COLUMN {name} DROP DEFAULT",
            ]
        )
        return f"ALTER TABLE {table.name} {change}"

    def _drop_table(self, db: rv.Database) -> str:
        table = self._table(db)
        if table is None:
            return self._create_table(db)
        cascade = " CASCADE" if self.random.random() < 0.5 else ""
        return f"DROP TABLE {table.name}{cascade}"

    def _drop_view(self, db: rv.Database) -> str:
        if not db.views:
            return self._create_view(db)
        cascade = " CASCADE" if self.random.random() < 0.5 else ""
        return f"DROP VIEW {self.random.choice(list(db.views))}{cascade}"

    def _select(self, db: rv.Database) -> str:
        query = self._query(db)
        return self._create_table(db) if query is None else query
