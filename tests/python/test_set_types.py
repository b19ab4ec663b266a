"""Set operations of any two types are DuckDB's, or refused."""

from __future__ import annotations

import itertools

import duckdb
import pytest
import ringview as rv
from oracle import comparable

# Of each type two values; one is there in other types, too.
VALUES = {
    "BOOLEAN": "(true), (false)",
    "TINYINT": "(1), (2)",
    "INTEGER": "(1), (3)",
    "BIGINT": "(1), (4)",
    "UTINYINT": "(1), (5)",
    "REAL": "(1), (2.5)",
    "DOUBLE": "(1), (2.5)",
    "DECIMAL(9, 2)": "(1), (2.5)",
    "DECIMAL(18, 4)": "(1), (2.5)",
    "VARCHAR": "('1'), ('true')",
    "DATE": "('2024-01-01'), ('2024-01-02')",
    "TIMESTAMP": "('2024-01-01 00:00:00'), ('2024-01-02 01:00:00')",
    "TIMESTAMPTZ": "('2024-01-01 00:00:00+00'), ('2024-01-02 01:00:00+00')",
}


@pytest.mark.parametrize("operation", ["UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL"])
def test_two_types_meet_as_in_duckdb(operation: str) -> None:
    db, duck = rv.Database(), duckdb.connect(":memory:", config={"threads": 1})
    duck.execute("SET TimeZone = 'UTC'")
    for number, (of, values) in enumerate(VALUES.items()):
        for database in (db, duck):
            database.execute(f"CREATE TABLE t{number} (x {of})")
            database.execute(f"INSERT INTO t{number} VALUES {values}")
    taken = 0
    for one, other in itertools.product(range(len(VALUES)), repeat=2):
        sql = f"SELECT x FROM t{one} {operation} SELECT x FROM t{other}"
        try:
            wanted = comparable(duck.sql(sql).to_arrow_table())
        except duckdb.Error:
            wanted = None
        try:
            found = comparable(db.sql(sql))
        except rv.errors.RingviewError:
            continue
        assert found == wanted, sql
        taken += 1
    assert taken > 100
