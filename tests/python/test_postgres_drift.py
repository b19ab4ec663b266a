"""A PostgreSQL source against everything that could make it silently incomplete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import postgres_server
import pytest
from postgres_tables import Pair

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server() -> Iterator[postgres_server.Server]:
    with postgres_server.Server() as started:
        yield started


@pytest.fixture
def pair(server: postgres_server.Server, request: pytest.FixtureRequest) -> Iterator[Any]:
    made: list[Pair] = []

    def make(**given: Any) -> Pair:
        name = f"s{abs(hash(request.node.name)) % 10**9}_{len(made)}"
        made.append(Pair(server, name, **{"unique": ["id"], **given}))
        return made[-1]

    yield make
    for each in made:
        each.done()


def test_a_table_added_to_the_source_is_loaded_then_followed(pair: Any) -> None:
    shop = pair()
    shop.follows()
    shop.ask("CREATE TABLE $.late (id INT PRIMARY KEY)", "INSERT INTO $.late VALUES (1), (2)")
    shop.db.create_table("late", {"id": "int64"}, unique=["id"])
    shop.tables[f"{shop.name}.late"] = "late"
    shop.source = shop.made()
    shop.follows()
    shop.ask("INSERT INTO $.late VALUES (3)", "DELETE FROM $.late WHERE id = 1")
    shop.follows()
    assert sorted(row["id"] for row in shop.db.tables["late"].to_arrow().to_pylist()) == [2, 3]


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (["DROP TABLE $.t"], r"t: it was dropped;"),
        (["ALTER TABLE $.t RENAME TO u"], r"t: it was renamed s.*\.u: name it so in tables="),
        (
            ["DROP TABLE $.t", "CREATE TABLE $.t (id INT PRIMARY KEY, x INT)"],
            "t: it was dropped and made anew;",
        ),
        (["ALTER PUBLICATION $ DROP TABLE $.t"], "taken out of the publication"),
        (
            ["ALTER PUBLICATION $ DROP TABLE $.t", "ALTER PUBLICATION $ ADD TABLE $.t"],
            "taken out of the publication",
        ),
        (["ALTER TABLE $.t DROP COLUMN x"], 'column "x" was dropped'),
        (["ALTER TABLE $.t RENAME x TO y"], 'column "x" was renamed "y"'),
        (
            ["ALTER TABLE $.t DROP COLUMN x", "ALTER TABLE $.t ADD COLUMN x INT"],
            'column "x" was dropped and made anew',
        ),
        (["ALTER TABLE $.t ALTER COLUMN x TYPE TEXT"], 'type of column "x" is text, not integer'),
    ],
)
@pytest.mark.parametrize("written", [False, True])
def test_a_table_that_is_another_one_ends_and_the_others_go_on(
    pair: Any, statements: list[str], why: str, written: bool
) -> None:
    shop = pair()
    shop.ask("INSERT INTO $.t VALUES (1, 10)")
    shop.follows()
    shop.ask("INSERT INTO $.t VALUES (2, 20)")
    shop.ask(*statements)
    if written and "it was dropped;" not in why and "renamed s" not in why:
        shop.ask("INSERT INTO $.t (id) VALUES (3)")
    shop.ends(why)
    rows = shop.db.tables["t"].to_arrow().to_pylist()
    assert {"id": 1, "x": 10} in rows
    assert all(row["x"] is not None for row in rows)


def test_a_table_that_ended_is_filled_anew(pair: Any) -> None:
    shop = pair()
    shop.ask("INSERT INTO $.t VALUES (1, 10)")
    shop.follows()
    shop.ask("DROP TABLE $.t", "CREATE TABLE $.t (id INT PRIMARY KEY, x INT)")
    shop.ask("INSERT INTO $.t VALUES (2, 20)")
    shop.ends("made anew")
    shop.source = shop.made(refill=True)
    shop.follows()
    shop.ask("UPDATE $.t SET x = 21")
    shop.source = shop.made()
    shop.follows()


def test_a_table_with_partitions_is_read_wholly(pair: Any) -> None:
    shop = pair()
    shop.ask(
        "DROP TABLE $.t", "CREATE TABLE $.t (id INT PRIMARY KEY, x INT) PARTITION BY RANGE (id)"
    )
    shop.ask("CREATE TABLE $.p1 PARTITION OF $.t FOR VALUES FROM (0) TO (10)")
    shop.ask("INSERT INTO $.t VALUES (1, 1), (2, 2)")
    shop.follows()
    shop.ask("CREATE TABLE $.p2 PARTITION OF $.t FOR VALUES FROM (10) TO (20)")
    shop.ask("INSERT INTO $.t VALUES (11, 11)", "UPDATE $.t SET id = 12 WHERE id = 1")
    shop.follows()
    shop.ask("CREATE TABLE $.p3 (id INT PRIMARY KEY, x INT)", "INSERT INTO $.p3 VALUES (21, 21)")
    shop.ask("ALTER TABLE $.t ATTACH PARTITION $.p3 FOR VALUES FROM (20) TO (30)")
    shop.follows()
    shop.ask("TRUNCATE $.p1")
    shop.follows()
    shop.ask("ALTER TABLE $.t DETACH PARTITION $.p2")
    shop.follows()
    assert shop.db["n"].to_arrow()["n"].to_pylist() == [1]
    shop.ask("UPDATE $.t SET x = 5")
    shop.follows()


def test_generated_columns_are_said_and_left_out(pair: Any) -> None:
    columns = "id INT PRIMARY KEY, x INT, y INT GENERATED ALWAYS AS (x + 1) STORED"
    types = {"id": "int64", "x": "int64", "y": "int64"}
    pair(columns=columns, types=types).ends('column "y" is generated')
    shop = pair(columns=columns)
    shop.ask("INSERT INTO $.t VALUES (1, 1)")
    shop.follows()
    shop.ask("UPDATE $.t SET x = 2")
    shop.follows()


def test_added_columns_are_left_out_or_added_with_their_values(pair: Any) -> None:
    for evolve in (None, "ignore", "add"):
        shop = pair(evolve=evolve)
        shop.ask("INSERT INTO $.t VALUES (1, 10)")
        shop.follows()
        shop.ask("ALTER TABLE $.t ADD COLUMN y NUMERIC(8, 2) DEFAULT 7.5")
        shop.ask("INSERT INTO $.t VALUES (2, 20, 1.25)", "UPDATE $.t SET x = 11 WHERE id = 1")
        shop.follows()
        shop.ask("UPDATE $.t SET x = 12 WHERE id = 1")
        shop.follows()
        names = ["id", "x", "y"] if evolve == "add" else ["id", "x"]
        assert shop.db.tables["t"].schema.names == names
    shop = pair(evolve="refuse")
    shop.follows()
    shop.ask("ALTER TABLE $.t ADD COLUMN y INT")
    shop.ends('column "y" was added')
    pair(columns="id INT PRIMARY KEY, x INT, y INT").ends('column "y" that the table here lacks')


def test_a_slot_made_anew_or_a_publication_is_refused(pair: Any) -> None:
    for statements, why in (
        (
            [
                "SELECT pg_drop_replication_slot('$')",
                "SELECT pg_create_logical_replication_slot('$', 'pgoutput')",
            ],
            "the slot was made anew",
        ),
        (["SELECT pg_drop_replication_slot('$')"], "lost the slot"),
        (["DROP PUBLICATION $"], "publication was dropped"),
        (["ALTER PUBLICATION $ SET (publish = 'insert')"], "publishes other things"),
    ):
        shop = pair()
        shop.follows()
        shop.ask("INSERT INTO $.t VALUES (1, 10)")
        for sql in statements:
            shop.ask(sql)
        shop.refused(why)
        shop.done()


def test_another_cluster_and_one_that_was_put_back_are_refused() -> None:
    with postgres_server.Server() as first:
        shop = Pair(first, "moved", unique=["id"])
        shop.ask("INSERT INTO $.t VALUES (1, 10)")
        shop.follows()
        first.stop()
        first.copy("data", "copy")
        first.start()
        for at in range(2, 40):
            shop.ask(f"INSERT INTO $.t VALUES ({at}, {at})")
        shop.follows()
        first.stop()
        first.copy("copy", "data")
        first.start()
        shop.refused("the log of the server ends before the place that was read")
        # A log that is long enough again has other transactions.
        for at in range(100, 300):
            shop.ask(f"INSERT INTO $.t VALUES ({at}, {at})")
        shop.refused("the cluster was put back")
        first.stop()
        first.copy("copy", "data")
        first.promote()
        for at in range(100, 300):
            shop.ask(f"INSERT INTO $.t VALUES ({at}, {at})")
        shop.refused("timeline 2, not 1")
        with postgres_server.Server() as second:
            other = Pair(second, "moved", unique=["id"])
            other.follows()
            shop.server, shop.source = second, other.source
            shop.refused("another cluster")


def test_keys_that_are_swapped_at_the_end_of_a_transaction(pair: Any) -> None:
    shop = pair(columns="id INT PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, x INT")
    shop.ask("ALTER TABLE $.t REPLICA IDENTITY FULL")
    shop.ask("INSERT INTO $.t VALUES (1, 10), (2, 20), (3, 30)")
    shop.follows()
    shop.ask("UPDATE $.t SET id = 3 - id WHERE id < 3")
    shop.follows()
    shop.ask("UPDATE $.t SET id = id % 3 + 1", "UPDATE $.t SET x = x + 1 WHERE id = 1")
    shop.ask("DELETE FROM $.t WHERE id = 2", "INSERT INTO $.t VALUES (2, 99)")
    shop.follows()


def test_the_position_of_an_earlier_version_is_read_on(pair: Any) -> None:
    shop = pair()
    shop.ask("INSERT INTO $.t VALUES (1, 10)")
    shop.follows()
    table = shop.db.tables["ringview_positions"]
    (row,) = table.to_arrow().to_pylist()
    kept = json.loads(row["position"])
    old = {
        "state": "following",
        "snapshot": kept["tables"][f"{shop.name}.t"]["snapshot"],
        "lsn": kept["lsn"],
    }
    table.delete([row])
    table.insert([{**row, "position": json.dumps(old)}])
    shop.ask("INSERT INTO $.t VALUES (2, 20)", "DELETE FROM $.t WHERE id = 1")
    shop.follows()
    shop.ask("ALTER TABLE $.t DROP COLUMN x")
    shop.ends('column "x" was dropped')
