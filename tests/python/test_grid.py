"""Subqueries of every form in every place are DuckDB's, as queries and as views that changes keep.

Queries that one of the two refuses are left out: `docs/sql.md` lists refusals. A value of several
rows is refused by both, here if a row needs the value: if DuckDB refuses it, no view shows a row.
"""

from __future__ import annotations

import random
from typing import Any

import duckdb
import grid
import pytest
import ringview as rv
from oracle import Oracle, comparable

FEWEST_TAKEN = 0.85
# Of one body: some have several rows, which are no value in a third of the places.
FEWEST_TAKEN_OF_ONE = 0.5
SEVERAL = "a subquery that stands for a value gives"
SEVERAL_THERE = "More than one row returned by a subquery"


def outcome(asked: grid.Asked, seed: int) -> str | None:
    """A difference, "" for none; None where one of both refuses the query."""
    rng, oracle = random.Random(seed), Oracle(dict.fromkeys(grid.TABLES, grid.COLUMNS))
    db = rv.Database()
    held: dict[str, list[dict[str, Any]]] = {}
    for table in grid.TABLES:
        db.create_table(table, grid.COLUMNS)
        held[table] = grid.rows(rng, 4)
        db.insert(table, held[table])
    try:
        view = db.create_view("v", asked.sql)
    except rv.errors.RingviewError:
        return None
    for step in range(4):
        try:
            wanted = oracle.rows(asked.sql, held)
        except duckdb.Error as problem:
            is_shown = SEVERAL_THERE in str(problem) and len(view) > 0
            return f"shown, step {step}: {asked.sql}" if is_shown else None
        try:
            found = comparable(db.sql(asked.sql))
        except rv.errors.InvalidValueError as problem:
            return of_several(problem)
        if found != wanted:
            return f"query, step {step}: {asked.sql}"
        if comparable(view.to_arrow()) != wanted:
            return f"view, step {step}: {asked.sql}"
        try:
            with db.transaction() as tx:
                for table in grid.TABLES:
                    gone = held[table].pop(rng.randrange(len(held[table])))
                    come = grid.rows(rng, rng.randrange(3))
                    tx.delete(table, [gone])
                    if come:
                        tx.insert(table, come)
                    held[table] += come
        except rv.errors.InvalidValueError as problem:
            return of_several(problem)
    return ""


def of_several(problem: rv.errors.InvalidValueError) -> str | None:
    """None for a value of several rows; else what was refused."""
    return None if SEVERAL in str(problem) else str(problem)


def check(asked: list[grid.Asked], seed: int, fewest: float) -> None:
    outcomes = [outcome(one, seed + at) for at, one in enumerate(asked)]
    assert list(filter(None, outcomes)) == []
    assert sum(found == "" for found in outcomes) >= fewest * len(asked)


def test_a_slice_of_the_grid() -> None:
    check(grid.slice_of(100), 1, FEWEST_TAKEN)


@pytest.mark.long
@pytest.mark.parametrize("body", grid.BODIES)
def test_the_whole_grid(body: str) -> None:
    of_body = [asked for asked in grid.queries() if asked.body == body]
    check(of_body, 2, FEWEST_TAKEN_OF_ONE)
