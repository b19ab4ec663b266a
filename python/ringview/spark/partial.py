"""One query as two: partial results of a partition, and their sum in the ring.

Invariant: SUM is kept as SUM (NULL over nothing), COUNT as COUNT, AVG as the pair of
both, and beside a SUM of floats what it lacks once it is a double, so adding partial
results gives what one engine would have given.
Cost: O(length of the query).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ringview.errors import UnsupportedError
from ringview.spark.variables import Query

PARTIALS = "partials"


@dataclass(frozen=True)
class Output:
    """One column of the result: a key, an aggregate, or an aggregate over a count."""

    name: str
    column: str
    count: str | None = None


@dataclass(frozen=True)
class Split:
    """The two steps: what each partition runs, and what adds their results."""

    first: Query
    second: Query
    keys: tuple[str, ...]
    outputs: tuple[Output, ...]

    def finish(self, summed: pa.Table, schema: pa.Schema) -> pa.Table:
        """The result with the columns of the original query, of the types of ``schema``."""
        columns = [_finish(summed, output) for output in self.outputs]
        return pa.table(columns, names=schema.names).cast(schema)


def split(query: Query, floats: Collection[str] = ()) -> Split:
    """Split ``query`` into its two steps; ``floats`` are sums of the first that are doubles."""
    _check(query)
    keys = [f"key{number}" for number in range(len(query["group_by"]))]
    first = [_group(name, column) for name, column in zip(keys, query["group_by"], strict=True)]
    outputs: list[Output] = []
    sums: list[str] = []
    for number, output in enumerate(query["outputs"]):
        if output["kind"] == "group":
            key = keys[query["group_by"].index(output["column"])]
            outputs.append(Output(output["name"], key))
            continue
        for function in _PARTS[output["function"]]:
            sums.append(f"{function}{number}")
            first.append({**output, "name": sums[-1], "function": function})
            if sums[-1] in floats:
                first.append({**output, "name": _rest(sums[-1]), "function": "sum_rest"})
        average = output["function"] == "avg"
        outputs.append(
            Output(output["name"], sums[-2], sums[-1])
            if average
            else Output(output["name"], sums[-1])
        )
    return Split(
        first={**query, "outputs": first},
        second=_second(keys, sums, floats),
        keys=tuple(keys),
        outputs=tuple(outputs),
    )


def _check(query: Query) -> None:
    """Refuse what partial results do not add up to."""
    others = [
        output["name"]
        for output in query["outputs"]
        if output["kind"] != "group" and output.get("function") not in _PARTS
    ]
    if others or query.get("having"):
        what = f"the output {others[0]!r}" if others else "HAVING"
        raise UnsupportedError(
            f"{what} is not supported over Spark yet, where views keep SUM, COUNT and AVG; "
            "compute it from those"
        )


_PARTS = {"sum": ("sum",), "count": ("count",), "avg": ("sum", "count")}


def floats(partial: pa.Schema) -> list[str]:
    """The sums of the first step that are doubles."""
    return [field.name for field in partial if field.name.startswith("sum") and field.type == _REAL]


_REAL = pa.float64()


def _rest(name: str) -> str:
    return f"rest_of_{name}"


def _second(keys: list[str], sums: list[str], floats: Collection[str]) -> Query:
    columns = {name: {"atom": 0, "column": name} for name in [*keys, *sums]}

    def summed(name: str) -> dict[str, Any]:
        column = {"op": "column", **columns[name]}
        if name not in floats:
            return column
        rest = {"op": "column", "atom": 0, "column": _rest(name)}
        return {"op": "add", "left": column, "right": rest}

    return {
        "atoms": [{"table": PARTIALS, "alias": PARTIALS, "filter": None}],
        "joins": [],
        "group_by": [columns[key] for key in keys],
        "outputs": [_group(key, columns[key]) for key in keys]
        + [
            {
                "kind": "aggregate",
                "name": name,
                "function": "sum",
                "argument": summed(name),
            }
            for name in sums
        ],
        "order": None,
    }


def _group(name: str, column: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "group", "name": name, "column": column}


def _finish(summed: pa.Table, output: Output) -> pa.ChunkedArray:
    column = summed.column(output.column)
    if output.count is None:
        return column
    # Over nothing the sum is NULL, and NULL by zero is NULL.
    count = summed.column(output.count)
    return pc.divide(column.cast(pa.float64()), count.cast(pa.float64()))
