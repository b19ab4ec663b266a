"""Cofactors, covariances, mutual information and coefficients on random streams of star, snowflake
and TPC-H joins equal NumPy and scikit-learn on the materialised join after every batch, down to
nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors, ml
from ringview.job import embedded, load
from ringview.job.read import Source
from ringview.stats.cofactor import Cofactor
from sklearn import linear_model
from sklearn.metrics import mutual_info_score
from test_examples_tpch import EXAMPLE, Mirror

Step = tuple[str, int, pd.DataFrame]

# The shapes of the paper's data: a star on the postcode, and a snowflake around Inventory.
HOUSING = {
    "house": ["postcode", "livingarea", "price", "kind"],
    "shop": ["postcode", "openinghours"],
    "institution": ["postcode", "typeeducation"],
    "restaurant": ["postcode", "openinghoursrest"],
    "demographics": ["postcode", "averagesalary"],
    "transport": ["postcode", "nbbuslines"],
}
RETAILER = {
    "inventory": ["locn", "dateid", "ksn", "units"],
    "location": ["locn", "zip", "area"],
    "census": ["zip", "population"],
    "item": ["ksn", "category", "prize"],
    "weather": ["locn", "dateid", "rain", "maxtemp"],
}
STREAMS = [
    (HOUSING, {"postcode": 4}, ["kind", "typeeducation"], "price", 6),
    (
        RETAILER,
        {"locn": 3, "zip": 2, "dateid": 3, "ksn": 4},
        ["category", "rain", "locn"],
        "units",
        4,
    ),
]
BATCHES = 30


def stream(
    tables: dict[str, list[str]], keys: dict[str, int], texts: Sequence[str], rows: int, seed: int
) -> Iterator[Step]:
    """Batches of inserts, now and then one of deletes; at the end all rows leave, mixed up."""
    random = np.random.default_rng(seed)
    kept = {name: pd.DataFrame() for name in tables}
    names = list(tables)
    for step in range(BATCHES):
        name = names[step % len(names)]
        if step % 3 == 2 and len(kept[name]):
            gone = kept[name].sample(frac=0.5, random_state=step)
            kept[name] = kept[name].drop(gone.index)
            yield name, -1, gone
            continue
        new = pd.DataFrame(
            {
                column: random.integers(0, keys.get(column, 3 if column in texts else 9), rows)
                for column in tables[name]
            }
        )
        for column in set(texts) & set(new.columns) - set(keys):
            new[column] = new[column].map(lambda value: f"{value} of them").astype("str")
        kept[name] = pd.concat([kept[name], new], ignore_index=True)
        yield name, 1, new
    for name in names[::-1]:
        yield name, -1, kept[name].sample(frac=1, random_state=seed)


def join(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The natural join, materialised."""
    return reduce(lambda left, right: left.merge(right), tables.values())


def check(found: Cofactor, joined: pd.DataFrame, numbers: list[str], texts: list[str]) -> None:
    """Every part of a cofactor, and what statistics make of it."""
    rows = joined[numbers].to_numpy(float).reshape(len(joined), len(numbers))
    assert found.count == len(joined)
    assert (found.names, list(found.categories)) == (numbers, texts)
    np.testing.assert_allclose(found.sums, rows.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.matrix, rows.T @ rows, rtol=1e-12)
    for name in texts:
        groups = joined.groupby(name)[numbers]
        assert found.categories[name] == sorted(joined[name].unique())
        np.testing.assert_array_equal(found.category_counts[name], groups.size())
        np.testing.assert_allclose(found.category_sums[name], groups.sum(), rtol=1e-12)
    for (a, b), counts in found.pair_counts.items():
        expected = pd.crosstab(joined[a], joined[b]).to_numpy()
        np.testing.assert_array_equal(counts, expected.reshape(counts.shape))
    if len(joined) > 1:
        np.testing.assert_allclose(found.covariance(), np.cov(rows.T), rtol=1e-8, atol=1e-8)


def check_models(view: rv.View, joined: pd.DataFrame, label: str, texts: list[str]) -> None:
    """Coefficients and mutual information, from the view alone."""
    if len(joined) < 2:
        with pytest.raises(errors.TooFewRowsError):
            ml.Ridge(label).fit(view) if joined.empty else view.cofactor().covariance()
        return
    features = view.cofactor().columns
    features.remove(label)
    ridge = ml.Ridge(label, alpha=0.5, features=features).fit(view)
    columns = []
    for name in features:
        values = sorted(joined[name].unique())
        columns += [joined[name] == v for v in values] if name in texts else [joined[name]]
    design = np.array(columns, dtype=float).T
    expected = linear_model.Ridge(alpha=0.5).fit(design, joined[label].astype(float))
    np.testing.assert_allclose(ridge.coef_, expected.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ridge.intercept_, expected.intercept_, rtol=1e-6, atol=1e-6)

    information = ml.MutualInformation(texts).fit(view).mutual_information_
    exact = [[mutual_info_score(joined[a], joined[b]) for b in texts] for a in texts]
    np.testing.assert_allclose(information, exact, atol=1e-10)
    edges = ml.ChowLiu(texts).fit(view).edges_
    assert len(edges) == len(texts) - 1
    weight = sum(exact[texts.index(a)][texts.index(b)] for a, b, _ in edges)
    assert weight == pytest.approx(heaviest(np.array(exact)), abs=1e-9)


def heaviest(weights: np.ndarray) -> float:
    """The weight of a heaviest spanning tree, after Prim."""
    reached, total = [0], 0.0
    while len(reached) < len(weights):
        rest = [i for i in range(len(weights)) if i not in reached]
        best = max(((weights[i, j], j) for i in reached for j in rest), key=lambda edge: edge[0])
        total += best[0]
        reached.append(best[1])
    return total


def rows_kept(view: rv.View) -> list[int]:
    """Number of rows of each node of the tree, by `explain`."""
    return [int(count) for count in re.findall(r" (\d+) rows, \d+ bytes", view.explain())]


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize(
    ("tables", "keys", "texts", "label", "rows"), STREAMS, ids=["housing", "retailer"]
)
def test_models_are_those_of_the_join_after_every_batch(
    tables: dict[str, list[str]],
    keys: dict[str, int],
    texts: list[str],
    label: str,
    rows: int,
    trust: bool,
) -> None:
    db = rv.Database(trust_deletes=trust)
    frames = {}
    for name, columns in tables.items():
        kinds = {c: "string" if c in texts and c not in keys else "int64" for c in columns}
        db.create_table(name, {column: f"{kind} not null" for column, kind in kinds.items()})
        frames[name] = pd.DataFrame({c: pd.Series(dtype=kinds[c]) for c in columns})
    numbers = [c for columns in tables.values() for c in columns if c not in (*keys, *texts)]
    features = [*numbers, *(f"CATEGORICAL({name})" for name in texts)]
    source = " NATURAL JOIN ".join(tables)
    view = db.create_view("v", f"SELECT COFACTOR({', '.join(features)}) FROM {source}")
    group = next(iter(keys))
    groups = db.create_view(
        "g", f"SELECT {group}, COFACTOR({label}, {numbers[0]}) FROM {source} GROUP BY {group}"
    )
    compared = 0
    for name, sign, batch in stream(tables, keys, texts, rows, seed=11):
        (db.insert if sign > 0 else db.delete)(
            name, pa.Table.from_pandas(batch, preserve_index=False)
        )
        frames[name] = after(frames[name], sign, batch)
        joined = join(frames)
        check(view.cofactor(), joined, numbers, texts)
        check_models(view, joined, label, texts)
        compared += len(joined) > 1
        found = dict(groups.cofactors())
        assert sorted(found) == [(value,) for value in sorted(joined[group].unique())]
        for (value,), one in found.items():
            check(one, joined[joined[group] == value], one.names, [])
    assert compared >= BATCHES // 3
    assert view.cofactor().categories == {name: [] for name in texts}
    assert not np.any(view.cofactor().matrix)
    # Of no groups, the root keeps a row for nothing or none.
    assert sum(rows_kept(view)) == 0
    assert sum(rows_kept(groups)) == 0


def after(frame: pd.DataFrame, sign: int, batch: pd.DataFrame) -> pd.DataFrame:
    """A bag of rows with others added, or one copy of each taken out."""
    if sign > 0:
        return pd.concat([frame, batch], ignore_index=True)
    columns = list(frame.columns)
    kept = frame.assign(copy=frame.groupby(columns).cumcount())
    gone = batch.assign(copy=batch.groupby(columns).cumcount())
    merged = kept.merge(gone, how="left", indicator=True)
    return merged.loc[merged["_merge"] == "left_only", columns].reset_index(drop=True)


TPCH = """
    SELECT COFACTOR(quantity, extendedprice, discount, tax, returnflag, linestatus,
                    mktsegment)
    FROM lineitem l, orders o, customer c
    WHERE l.orderkey = o.orderkey AND o.custkey = c.custkey
"""


def test_models_of_the_tpch_stream() -> None:
    job = replace(load(EXAMPLE), batch_size=1500)
    sources = [Source(spec) for spec in job.tables]
    mirror, db = Mirror(sources), embedded.database(job, sources)
    numbers = ["quantity", "extendedprice", "discount", "tax"]
    texts = ["returnflag", "linestatus", "mktsegment"]
    wanted = TPCH.replace("COFACTOR(", "").replace("mktsegment)", "mktsegment")
    view = None
    for step in embedded.steps(job, db, sources):
        mirror.apply(step.parts)
        if view is None and len(db.views) == len(job.views):
            view = db.create_view("model", TPCH)
        if view is not None:
            joined = mirror.connection.sql(wanted).df()
            check(view.cofactor(), joined, numbers, texts)
            check_models(view, joined, "extendedprice", texts)
    assert view is not None
    assert view.cofactor().count > 500
    for table in [source.spec.name for source in sources if not source.spec.static]:
        db.delete(table, mirror.rows(table))
        mirror.connection.execute(f"DELETE FROM {table}")
        check(view.cofactor(), mirror.connection.sql(wanted).df(), numbers, texts)
    assert view.cofactor().count == 0
