"""The TPC-H stream with deletes: every view equals DuckDB after every batch, down to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from amounts import some
from oracle import comparable
from ringview import Database
from ringview.job import Job, embedded, load
from ringview.job.read import Source
from ringview.job.stream import TableBatch

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch_stream" / "job.toml"


class Mirror:
    """The tables of a job in DuckDB, as they are after each batch."""

    def __init__(self, sources: list[Source]) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        for source in sources:
            self.connection.register("empty", source.schema.empty_table())
            self.connection.execute(f"CREATE TABLE {source.spec.name} AS SELECT * FROM empty")

    def apply(self, parts: Sequence[TableBatch]) -> None:
        """Insert and delete; a row is known by the table's unique columns."""
        for part in parts:
            spec = part.source.spec
            assert spec.unique
            same = " AND ".join(f"{spec.name}.{column} = batch.{column}" for column in spec.unique)
            self.connection.register("batch", part.rows)
            self.connection.execute(
                f"INSERT INTO {spec.name} SELECT * EXCLUDE (mult) FROM batch WHERE mult > 0"
            )
            self.connection.execute(
                f"DELETE FROM {spec.name} USING batch WHERE batch.mult < 0 AND {same}"
            )

    def rows(self, table: str) -> pa.Table:
        """Content of a table now."""
        return self.connection.sql(f"SELECT * FROM {table}").to_arrow_table()

    def check(self, job: Job, db: Database) -> None:
        """Every view holds what its SQL gives here."""
        for view in job.views:
            expected = self.connection.sql(view.sql).to_arrow_table()
            found = db[view.name].to_arrow()
            assert found.column_names == expected.column_names
            assert comparable(found) == comparable(expected), view.name


@pytest.mark.parametrize("trust_deletes", [False, True])
@pytest.mark.parametrize("batch_size", some([1000, 137]))
def test_views_equal_duckdb_after_every_batch(batch_size: int, trust_deletes: bool) -> None:
    job = replace(load(EXAMPLE), batch_size=batch_size, trust_deletes=trust_deletes)
    sources = [Source(spec) for spec in job.tables]
    mirror, db = Mirror(sources), embedded.database(job, sources)
    deletions = 0
    for step in embedded.steps(job, db, sources):
        mirror.apply(step.parts)
        deletions += sum(mult < 0 for part in step.parts for mult in part.rows["mult"].to_pylist())
        if all(view.name in db for view in job.views):
            mirror.check(job, db)
    assert deletions == 1200 + 4775
    assert len(mirror.rows("orders")) == 300
    mirror.check(job, db)

    changing = [source.spec.name for source in sources if not source.spec.static]
    for table in changing:
        db.delete(table, mirror.rows(table))
        mirror.connection.execute(f"DELETE FROM {table}")
        mirror.check(job, db)
    assert [len(db[view.name]) for view in job.views] == [0, 0, 0, 0]
    if not trust_deletes:
        assert [len(db.tables[table]) for table in changing] == [0, 0, 0, 0]


def test_the_demo_shows_rows_in_every_view() -> None:
    job = load(EXAMPLE)
    outcome = embedded.run(job, [Source(spec) for spec in job.tables], lambda _: None)
    assert outcome.progress.rows == outcome.progress.total == 13_670
    assert all(result.num_rows for result in outcome.results.values())
