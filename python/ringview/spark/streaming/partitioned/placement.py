"""Placement of the rows of each table, so that every partition keeps its share of views alone.

A table lies by one of its columns (rows with equal values in one partition), or everywhere (all its
rows in each partition). A view over such tables is again such a table: it lies by the columns that
show what its rows are routed by, or everywhere. So views over views, and blocks, are one rule.

If a group has rows in several partitions, the driver adds up their partials. A view that partitions
cannot keep, and that reads views alone, is the driver's, over views that are whole there.

Invariant: no row of a join is made in two partitions, and if the caller requires it no group has
rows in two, unless the view is everywhere, where one partition reports for all. Cost: exponential
in the number of tables in the worst case; few columns of a table join or group, and choices that
fail are left at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ringview.errors import UnsupportedError
from ringview.spark.streaming.partitioned.heavy import Heavy, Role, Value
from ringview.spark.streaming.partitioned.partitioning import (
    Partitioning,
    SplitError,
    of_rows,
    wanted_of_rows,
)
from ringview.spark.streaming.partitioned.reading import (
    Query,
    inner_tables,
    is_timed,
    reads_directly,
    tables_of,
    with_what_it_reads,
)
from ringview.spark.streaming.plan import Plan, TablePlan
from ringview.spark.types import INTEGERS

Column = tuple[int, str]

EVERYWHERE = None
"""The column of a table whose rows are in every partition."""

ON_DRIVER = Partitioning(pa.null(), frozenset(), is_on_driver=True)

Placement = dict[str, str | None]

_ALTERNATIVE = 'keep it with mode="driver", in one engine'


@dataclass(frozen=True)
class ViewLocations:
    """The locations that keep views."""

    everywhere: frozenset[str]
    """By every partition whole, of which the first one speaks."""
    split: frozenset[str]
    """By partitions in parts, as their groups have rows in several ones."""
    below: frozenset[str]
    """By partitions, each group in one; the driver reads them."""
    on_driver: frozenset[str]
    """By the driver."""

    @property
    def gathered(self) -> frozenset[str]:
        """Those that the driver adds up."""
        return self.split | self.below


def choose_placement(plan: Plan, queries: Mapping[str, Query], whole: Collection[str]) -> Placement:
    """The placement that sends the fewest streams everywhere.

    Of several the one that leaves the driver the fewest views, then the one that sends the fewest
    static tables everywhere.

    Args:
        plan: The tables and views.
        queries: The logical query of each view, in the plan's order.
        whole: The views of which no group may have rows in several partitions: what moves in a
            partition is then what moves in the view.

    Raises:
        UnsupportedError: There is none; the message names the view that prevents it.
    """
    streams = {table.name for table in plan.streams}
    for name in queries:
        if not streams & tables_of(name, queries):
            raise UnsupportedError(
                f'view "{name}" reads no stream, so nothing of it moves; evaluate it once with '
                "ringview.spark.evaluate"
            )
    found = _best(plan, queries, whole)
    if found is not None:
        return found
    for name in queries:
        wanted = with_what_it_reads(name, queries)
        if _best(plan, {view: queries[view] for view in wanted}, whole) is None:
            raise UnsupportedError(
                f'view "{name}" is not kept in partitions: {_why(plan, queries, name, whole)}'
            )
    raise UnsupportedError(
        "these views are not kept in partitions together: they need a table to lie by different "
        f"columns; give each a stream and a checkpoint of its own, or {_ALTERNATIVE}"
    )


def spread(
    plan: Plan,
    queries: Mapping[str, Query],
    placement: Placement,
    table: str,
    values: Sequence[Value],
) -> Heavy:
    """These values of a table that lies by a column, as heavy ones.

    Raises:
        UnsupportedError: A view would not be what it is.
    """
    below = [tables_of(name, queries) for name in queries]
    joined, more = set[str](), {table}
    while more:
        joined |= more
        met = set[str]().union(*(each for each in below if each & joined))
        more = {name for name in met - joined if placement[name] is not None}
    names = (each.name for each in plan.tables if each.name in joined - {table})
    heavy = Heavy((table,), tuple(names), tuple(values))
    try:
        _layouts(queries, placement, plan, (), heavy)
    except SplitError as why:
        raise UnsupportedError(str(why)) from None
    return heavy


def locations_of(
    plan: Plan, queries: Mapping[str, Query], placement: Placement, heavy: Heavy | None = None
) -> ViewLocations:
    """The locations of views under a placement."""
    layouts = _layouts(queries, placement, plan, (), heavy)
    on_driver = {name for name in queries if layouts[name] == ON_DRIVER}
    below = {table for name in on_driver for table in reads_directly(queries[name])}
    split = {name for name in queries if (lies := layouts[name]) is not None and lies.is_split}
    return ViewLocations(
        frozenset(name for name in queries if layouts[name] is None),
        frozenset(split),
        frozenset(below - on_driver - split),
        frozenset(on_driver),
    )


def _best(plan: Plan, queries: Mapping[str, Query], whole: Collection[str]) -> Placement | None:
    tables = {table.name: table for table in plan.tables}
    # Streams first: they decide, and static tables follow.
    order = sorted(tables.values(), key=lambda table: table.static)
    wanted = {name: _candidates(table, queries) for name, table in tables.items()}
    below = {name: tables_of(name, queries) for name in queries}
    read: set[str] = set().union(*below.values())
    best: tuple[tuple[int, int, int], Placement] | None = None

    def search(placement: Placement) -> None:
        nonlocal best
        known = {n: q for n, q in queries.items() if below[n] <= placement.keys()}
        try:
            layouts = _layouts(known, placement, plan, whole)
        except SplitError:
            return
        copied = [tables[name].static for name, column in placement.items() if column is None]
        apart = sum(lies is None or lies.is_apart for lies in layouts.values())
        cost = len(copied) - sum(copied), len(layouts) - apart, sum(copied)
        if best is not None and cost >= best[0]:
            return
        if len(placement) == len(order):
            if any(placement[table.name] for table in plan.streams if table.name in read):
                best = cost, placement
            return
        name = order[len(placement)].name
        for column in [*wanted[name], EVERYWHERE]:
            search({**placement, name: column})

    search({})
    return None if best is None else best[1]


def _layouts(
    queries: Mapping[str, Query],
    placement: Placement,
    plan: Plan,
    whole: Collection[str],
    heavy: Heavy | None = None,
) -> dict[str, Partitioning | None]:
    """Partitioning of the placed tables and the views over them; raises `SplitError`."""
    layouts: dict[str, Partitioning | None] = {}
    for table in plan.tables:
        if (column := placement.get(table.name)) is not None:
            kind = table.columns.field(column).type
            kind = pa.int64() if kind in INTEGERS else kind
            role = heavy.role(table.name) if heavy is not None else None
            by, origins = frozenset([column]), frozenset([table.name])
            layouts[table.name] = Partitioning(kind, by, origins, heavy=role)
        elif table.name in placement:
            layouts[table.name] = EVERYWHERE
    for name, query in queries.items():
        try:
            layouts[name] = _partitioning(query, layouts, name in whole)
        except SplitError:
            if name in whole or not reads_directly(query) <= queries.keys() or is_timed(query):
                raise
            layouts[name] = ON_DRIVER
    return layouts


def _partitioning(
    query: Query, known: Mapping[str, Partitioning | None], whole: bool
) -> Partitioning | None:
    """Partitioning of the rows of a query; raises `SplitError`."""
    layouts = dict(known)
    for block in query.get("blocks") or ():
        layouts[block["name"]] = _partitioning(block["query"], layouts, True)
    atoms = [layouts[atom["table"]] for atom in query["atoms"]]
    routed = {number: lies for number, lies in enumerate(atoms) if lies is not None}
    if any(layouts[name] is not None for name in inner_tables(query.get("subqueries"))):
        raise SplitError("its condition compares with a subquery, which needs all rows")
    if not routed:
        return EVERYWHERE
    if not all(lies.is_apart for lies in routed.values()):
        raise SplitError("it reads a view whose groups have rows in several partitions")
    if query.get("rows") is not None:
        return of_rows(query["rows"], atoms)
    heavy = _heavy(routed)
    columns = _routing(query, routed)
    kind = next(iter(routed.values())).kind
    origins = frozenset[str]().union(*(lies.origins for lies in routed.values()))
    groups = [(c["atom"], c["column"]) for c in query["group_by"]]
    bag = query.get("bag")
    are_groups = bag is None or bag.get("distinct")
    if are_groups and (heavy or not columns.intersection(groups)):
        if not whole:
            if query.get("subqueries"):
                raise SplitError("its condition compares with a subquery, so groups are no sums")
            return Partitioning(kind, frozenset(), is_split=True)
        if not groups:
            raise SplitError("it has no GROUP BY, so each partition has a part of its one row")
        raise SplitError("a group has rows in several partitions")
    return Partitioning(
        kind,
        frozenset(
            output["name"]
            for output in query["outputs"]
            if output["kind"] == "group"
            and (output["column"]["atom"], output["column"]["column"]) in columns
        ),
        origins,
        heavy=heavy,
    )


def _heavy(routed: Mapping[int, Partitioning]) -> Role | None:
    """Role of rows of heavy values, by the roles of the rows that they are made of."""
    roles = [lies.heavy for lies in routed.values() if lies.heavy is not None]
    if not roles:
        return None
    if roles.count("spread") != 1:
        raise SplitError("rows of a heavy value meet in no partition, or in all of them")
    return "spread"


def _routing(query: Query, routed: Mapping[int, Partitioning]) -> set[Column]:
    """The columns that are equal to what rows are routed by."""
    classes: list[set[Column]] = []
    for join in query["joins"]:
        joined = {(column["atom"], column["column"]) for column in join}
        apart = [c for c in classes if not c & joined]
        classes = [*apart, joined.union(*(c for c in classes if c & joined))]
    own = {(atom, name) for atom, lies in routed.items() for name in lies.by}
    if len(routed) == 1:
        return own.union(*(c for c in classes if c & own))
    if len({lies.kind for lies in routed.values()}) > 1:
        raise SplitError("columns of different types join")
    for joined in classes:
        if all(any((atom, name) in joined for name in lies.by) for atom, lies in routed.items()):
            return own.union(*(c for c in classes if c & own))
    raise SplitError("its tables do not all join on one column")


def _candidates(table: TablePlan, queries: Mapping[str, Query]) -> list[str]:
    """The columns that a table may lie by; if it has a key, of that, for it is checked there."""
    used = _deciding(table, queries)
    found = [name for name in table.columns.names if name in used]
    # If no column decides, any will do to spread the rows.
    return found or list((table.keys or table.columns.names)[:1])


def _deciding(table: TablePlan, queries: Mapping[str, Query]) -> set[str]:
    """The columns of a table that decide where views over it lie."""
    wanted: dict[str, set[str]] = {name: set() for name in queries}
    for query in queries.values():
        for name in inner_tables(query):
            wanted.setdefault(name, set())
    for name in reversed([*queries]):
        _note_wanted(queries[name], wanted[name], wanted)
    found = wanted.get(table.name, set())
    return found.intersection(table.keys or found)


def _note_wanted(query: Query, wanted: set[str], below: Mapping[str, set[str]]) -> None:
    """Notes what a query wants of what it reads, where readers want some columns of it."""
    blocks = query.get("blocks") or ()
    scope = {**below, **{block["name"]: set[str]() for block in blocks}}
    rows = query.get("rows")
    columns = [*query["group_by"], *(column for join in query["joins"] for column in join)]
    own = [(column["atom"], column["column"]) for column in columns]
    for atom, name in own if rows is None else wanted_of_rows(rows, wanted):
        scope[query["atoms"][atom]["table"]].add(name)
    for block in reversed(blocks):
        _note_wanted(block["query"], scope[block["name"]], scope)


def _why(plan: Plan, queries: Mapping[str, Query], name: str, whole: Collection[str]) -> str:
    """The reason, as for each table by the first column that it may lie by."""
    chain = with_what_it_reads(name, queries)
    read = tables_of(name, queries)
    own = {view: queries[view] for view in chain}
    tables = [table for table in plan.tables if table.name in read]
    named = {table.name: _candidates(table, own) for table in tables}
    for table in tables:
        if name in whole and table.keys and not _deciding(table, own):
            return (
                f'rows of table "{table.name}" are found by their key '
                f"({', '.join(table.keys)}), so they can lie by a column of it alone, and by none "
                f"does this view join or group; {_ALTERNATIVE}"
            )
    try:
        _layouts(
            own,
            {table.name: named[table.name][0] for table in tables},
            plan,
            whole,
        )
        reason = "no column of a table that changes is in all of its groups"
    except SplitError as split:
        reason = str(split)
    direct = reads_directly(queries[name]) - queries.keys()
    instead = ""
    if name in whole:
        instead = (
            "group by a column that its tables join on, give it sink= in the place of "
            "partition_sink=, or "
        )
    elif direct and direct.isdisjoint(table.name for table in plan.static):
        instead = "let it read views in the place of tables, and the driver keeps it, or "
    return f"{reason}; {instead}{_ALTERNATIVE}"
