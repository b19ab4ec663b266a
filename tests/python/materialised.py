"""The oracle of the estimators: cofactors of rows that are there, and tables as pandas frames.

`cofactor` counts with pandas, so it shares nothing with the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from ringview.stats.cofactor import Cofactor


def cofactor(frame: pd.DataFrame, categorical: Sequence[str] = ()) -> Cofactor:
    """The cofactor of the rows of a frame."""
    names = [name for name in frame.columns if name not in categorical]
    numbers = frame[names].to_numpy(float)
    values = {name: frame[name].drop_duplicates().tolist() for name in categorical}
    return Cofactor(
        names,
        len(frame),
        numbers.sum(axis=0),
        numbers.T @ numbers,
        values,
        {name: [(frame[name] == value).sum() for value in found] for name, found in values.items()},
        {
            name: np.array(
                [frame.loc[frame[name] == value, names].sum().to_numpy(float) for value in found]
            ).reshape(len(found), len(names))
            for name, found in values.items()
        },
        {
            (a, b): pd.crosstab(frame[a], frame[b]).reindex(values[a], columns=values[b])
            for a, b in combinations(categorical, 2)
        },
    )


class Database:
    """Tables as frames, changed as the engine's are."""

    def __init__(self) -> None:
        self.rows: dict[str, pd.DataFrame] = {}

    def create_table(
        self, name: str, schema: Mapping[str, str], unique: Sequence[str] = ()
    ) -> None:
        self.rows[name] = pd.DataFrame({column: [] for column in schema}, dtype="int64")

    def insert(self, name: str, rows: Any) -> None:
        self.rows[name] = pd.concat([self.rows[name], pa.table(rows).to_pandas()])

    def delete(self, name: str, rows: Any) -> None:
        """Drop one copy of each row."""
        kept, gone = self.rows[name], pa.table(rows).to_pandas()[self.rows[name].columns]
        keys = list(kept.columns)
        kept = kept.assign(copy=kept.groupby(keys).cumcount())
        gone = gone.assign(copy=gone.groupby(keys).cumcount())
        merged = kept.merge(gone, how="left", indicator=True)
        assert (merged["_merge"] == "both").sum() == len(gone)
        self.rows[name] = merged.loc[merged["_merge"] == "left_only", keys]
