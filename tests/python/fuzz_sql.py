"""Executes mutated texts of SQL: `python fuzz_sql.py FIRST ..`.

A text is executed or refused with an error of ringview, in the memory that the database may take.
One that lasts is interrupted as by Ctrl-C, and ends; the database is usable afterwards. A panic is
on the standard error output.
"""

from __future__ import annotations

import _thread
import random
import re
import threading
from pathlib import Path

import ringview as rv
from fuzzing import corpus, run

HERE = Path(__file__).parent
PATIENCE = 1.0
"""Seconds until a text is interrupted."""


def texts() -> list[str]:
    """Queries that are right, from the corpora of other tests, and texts that were found."""
    found = [text.decode() for text in corpus("sql")]
    for name in ("everyday", "tpch", "recursive"):
        lines = (HERE / "data" / f"{name}.sql").read_text().splitlines()
        whole = "\n".join(line for line in lines if not line.startswith("--"))
        parts = whole.splitlines() if name == "everyday" else whole.split(";")
        found += [part.strip() for part in parts if part.strip()]
    return found


TEXTS = texts()
FOUND = len(corpus("sql"))
_TOKEN = re.compile(r"\s+|\w+|'(?:[^']|'')*'|\"[^\"]*\"|.", re.DOTALL)
TOKENS = [[token for token in _TOKEN.findall(text) if not token.isspace()] for text in TEXTS]
ALL = sorted({token for text in TOKENS for token in text})
_ODD = [
    *("NULL", "''", "0", "-1", "9223372036854775807", "170141183460469231731687303715884105728"),
    *("1e308", "1e-400", "'NaN'::DOUBLE", "DATE '9999-12-31'", "INTERVAL 1000000 YEAR", "'\\x'"),
    *("[]", "[NULL]", "{'a': 1}", "repeat('x', 1000000000)", "range(300000000)", "(SELECT 1)"),
    *("::TINYINT", "::DECIMAL(38, 38)", "::VARCHAR[]", "OVER ()", "?", "$1", "--", "/*", "é", "\0"),
]

_NESTED = [
    *(("(", ")"), ("[", "]"), ("abs(", ")"), ("NOT (", ")"), ("POSITION(", "IN s)")),
    *(("CAST(", "AS BIGINT)"), ("INTERVAL (", ") DAY"), ("EXISTS (SELECT 1 WHERE", ")")),
    *(("CASE WHEN", "THEN 1 END"), ("a IN (", ")"), ("(SELECT", ")"), ("FROM (", ")")),
]


def mutated(at: random.Random) -> str:
    """A text with tokens of others, of itself, or nested in itself."""
    tokens = list(at.choice(TOKENS))
    for _ in range(at.choice([1, 1, 2, 3, 6])):
        place = at.randrange(len(tokens) + 1)
        match at.randrange(7):
            case 0:
                del tokens[place : place + at.choice([1, 1, 2, 5])]
            case 1:
                tokens[place:place] = [at.choice(_ODD)]
            case 2:
                tokens[place : place + 1] = [at.choice(_ODD)]
            case 3:
                tokens[place : place + 1] = [at.choice(ALL)]
            case 4:
                other = at.choice(TOKENS)
                start = at.randrange(len(other))
                tokens[place:place] = other[start : start + at.choice([1, 3, 12])]
            case 5:
                part = tokens[place : place + at.choice([1, 2, 4])]
                tokens[place:place] = part * at.choice([1, 3, 40])
            case _:
                deep = at.choice([3, 30, 90, 600])
                opened, closed = at.choice(_NESTED)
                part = tokens[place : place + 3]
                tokens[place : place + 3] = [opened] * deep + part + [closed] * deep
    return " ".join(tokens)


def database() -> rv.Database:
    db = rv.Database(memory_limit="64MB")
    db.execute("""
        CREATE TABLE r (a BIGINT, b INTEGER, s VARCHAR, d DATE, p DECIMAL(9, 2), f DOUBLE,
            ts TIMESTAMP);
        CREATE TABLE s (a BIGINT, c INTEGER, t VARCHAR);
        CREATE TABLE edges (a BIGINT, b BIGINT);
        INSERT INTO r VALUES (1, 2, 'x', DATE '2024-01-31', 1.25, 0.5, TIMESTAMP '2024-01-01'),
            (2, NULL, 'yy', NULL, NULL, NULL, NULL), (3, -7, '', DATE '1970-01-01', -3, 1e9, NULL);
        INSERT INTO s VALUES (1, 5, 'x'), (3, 6, NULL);
        INSERT INTO edges VALUES (1, 2), (2, 3), (3, 1)""")
    return db


class Statements:
    """A database, and a case."""

    def __init__(self) -> None:
        self.db = database()

    def case(self, seed: int) -> None:
        at = random.Random(seed)
        text = TEXTS[seed] if seed < FOUND else mutated(at)
        way = seed % 3
        timer = threading.Timer(PATIENCE, _thread.interrupt_main)
        try:
            timer.start()
            try:
                if way == 0:
                    self.db.sql(text)
                elif way == 1:
                    self.db.create_view("fuzzed", text)
                else:
                    self.db.execute(text)
            except rv.errors.RingviewError as problem:
                if "report the bug" in str(problem):
                    raise AssertionError(text) from problem
            finally:
                timer.cancel()
                timer.join()
        except KeyboardInterrupt:
            pass
        if "fuzzed" in self.db.views:
            self.db.drop_view("fuzzed", cascade=True)
        if seed % 50 == 0 or len(self.db.views) > 20 or len(self.db.tables) != 3:
            assert self.db.sql("SELECT 6 * 7 AS n").to_pylist() == [{"n": 42}]
            self.db.close()
            self.db = database()


if __name__ == "__main__":
    run(Statements().case)
