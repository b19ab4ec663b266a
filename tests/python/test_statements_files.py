"""Statements on a database in a file: there when it is opened again, whole or not after a kill."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import ringview as rv
import statement_crashes
from ringview import errors


def test_what_statements_did_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "sales.ringview"
    with rv.Database.open(path) as db:
        db.execute("""
            CREATE TABLE r (id INT PRIMARY KEY, "a b" TEXT, at TIMESTAMP)
                WITH (keep_for = '9 days');
            CREATE TABLE s AS SELECT 1 AS x, 'it''s' AS t FROM r;
            INSERT INTO r VALUES (1, 'x', NULL), (2, 'y', NULL);
            INSERT INTO s SELECT id, "a b" FROM r""")
        db.execute("CREATE VIEW v AS SELECT t FROM s WHERE x > ?", [1])
        db.execute("UPDATE s SET t = t || '!' WHERE x = 2; DELETE FROM r WHERE id = 1")
        db.execute(
            "BEGIN; INSERT INTO s VALUES (7, 'seven'); UPDATE s SET x = x + 1 WHERE x = 7; COMMIT"
        )
        db.execute("BEGIN; TRUNCATE s; INSERT INTO s VALUES (0, 'lost')")
    with rv.Database.open(path) as db:
        assert db.tables["r"].keep_for == ("at", "9 days")
        assert db.tables["r"].unique == ["id"]
        assert sorted(row["t"] for row in db["v"]) == ["seven", "y!"]
        assert db.execute('SELECT "a b" FROM r').to_pylist() == [{"a b": "y"}]
        assert db.execute("SELECT x FROM s ORDER BY x").column(0).to_pylist() == [1, 2, 8]
        db.execute("CREATE OR REPLACE VIEW v AS SELECT x FROM s")
        db.execute("DROP TABLE r")
        with pytest.raises(errors.QueryError, match="without BEGIN"):
            db.execute("COMMIT")
    with rv.Database.open(path) as db:
        assert db["v"].columns == ["x"]
        assert list(db.tables) == ["s"]


def test_a_follower_with_a_name_goes_on_over_statements(tmp_path: Path) -> None:
    path = tmp_path / "sales.ringview"
    with rv.Database.open(path) as db:
        db.execute(
            "CREATE TABLE r (a INT); CREATE VIEW v AS SELECT a FROM r; INSERT INTO r VALUES (1)"
        )
        with db["v"].follow("mail") as follower:
            assert len(follower.changes()) == 1
            follower.commit()
        db.execute("UPDATE r SET a = a + 1")
    with rv.Database.open(path) as db:
        found = db["v"].follow("mail").changes().to_pylist()
        assert sorted((row["a"], row["multiplicity"]) for row in found) == [(1, -1), (2, 1)]


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_leaves_whole_statements(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "crashes.ringview"
    drawn = random.Random(seed)
    model = rv.Database()
    statement_crashes.define(model)
    done = 0
    for _ in range(4):
        command = [sys.executable, statement_crashes.__file__, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(drawn.randrange(1, 40))]
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.read().splitlines()
        said = [line.split() for line in lines if line.strip()]
        ended = {int(line[1]) for line in said if line[0] == "end"}
        began = {int(line[1]) for line in said if line[0] == "begin"}
        with rv.Database.open(path) as db:
            steps = len(db.tables["steps"])
            assert max(ended, default=done - 1) + 1 <= steps <= max(began, default=done - 1) + 1
            for number in range(done, steps):
                statement_crashes.step(model, number)
            done = steps
            assert statement_crashes.told(db) == statement_crashes.told(model)
            for name in set(db.tables) - {"r", "steps"}:
                # A copy is there with all its rows.
                assert sorted(map(str, db.tables[name])) == sorted(map(str, db.tables["r"]))
                db.execute(f"DROP TABLE {name}")
