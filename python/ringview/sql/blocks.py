"""What FROM may read: tables and views, names of WITH, subqueries; the last two become blocks.

Invariant: a block stands before whatever reads it, and no name of a block means anything else in
the text or in the catalog; so the flat list of blocks means what the nested text says. A block that
nothing reads is checked and left out. What a block's columns are, the engine says. Columns of one
table need no block: whoever reads them reads the table, with the filter.
Cost: that of translating and binding each block once, and O(blocks * names) for their names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import pyarrow as pa
from sqlglot import exp

from .. import _native
from ..arrow import Kind
from ..errors import RingviewError, UnknownTableError, did_you_mean
from .names import Scope, Source, find
from .place import Text
from .scalars import READ_APART, Json, refuse

Catalog = Mapping[str, pa.Schema]


@dataclass(frozen=True, slots=True)
class Readable:
    """What an atom reads: by what name the engine knows it, and the columns that are seen of it.

    `called` are the names that the text gives to the columns. Of its rows those that pass the
    filter, which is written as that of atom 0, take part.
    """

    name: str
    schema: pa.Schema
    called: tuple[str, ...]
    filter: Json | None = None

    def renamed(self, names: Sequence[exp.Identifier], text: Text) -> Readable:
        """The same with other names for its first columns, as `AS t(a, b)` says."""
        if len(names) > len(self.called):
            has = len(self.called)
            text.fail(
                names[has],
                f"{len(names)} names for {has} {'column' if has == 1 else 'columns'}",
                f"its columns are {', '.join(self.called)}",
            )
        called = (*(str(name.this) for name in names), *self.called[len(names) :])
        for name in names:
            if called.count(str(name.this)) > 1:
                text.fail(name, f"two columns are called {name.this!r}", "give one another name")
        return replace(self, called=called)


def tables_of(query: Json) -> Iterator[str]:
    """What the atoms of a query read, and those of the queries in its condition, O(its size)."""
    yield from (atom["table"] for atom in query["atoms"])
    left: list[Any] = [query.get("condition")]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left += part
        elif isinstance(part, dict) and part.get("op") == "query":
            yield from tables_of(part["query"])
        elif isinstance(part, dict):
            left += part.values()


@dataclass(slots=True)
class Blocks:
    """The blocks of one text, in the order in which they were translated."""

    catalog: Catalog
    queries: dict[str, Json] = field(default_factory=dict)
    schemas: dict[str, pa.Schema] = field(default_factory=dict)

    def add(self, wanted: str, query: Json) -> Readable:
        """What reads a query: a block, called `wanted` or, if that means something else, alike."""
        return self._columns(query) or self._block(wanted, query)

    def _columns(self, query: Json) -> Readable | None:
        """A query that only chooses columns and rows of what its one atom reads."""
        if len(query["atoms"]) > 1 or query.get("bag", {}).get("distinct", True):
            return None
        if query.get("condition"):
            return None
        (atom,) = query["atoms"]
        stored = [output["column"]["column"] for output in query["outputs"]]
        if len(set(stored)) < len(stored):
            return None
        schema = self.schema(atom["table"])
        fields = [schema.field(schema.get_field_index(name)) for name in stored]
        called = tuple(output["name"] for output in query["outputs"])
        return Readable(atom["table"], pa.schema(fields), called, atom["filter"])

    def _block(self, wanted: str, query: Json) -> Readable:
        taken = {name.lower() for name in (*self.catalog, *self.queries)}
        # IN asks for the same rows twice.
        if self.queries.get(wanted) == query:
            schema = self.schemas[wanted]
            return Readable(wanted, schema, tuple(schema.names))
        name, number = wanted, 1
        while name.lower() in taken:
            number += 1
            name = f"{wanted}_{number}"
        tables = dict.fromkeys(tables_of(query))
        known = [(table, self.schema(table)) for table in tables]
        try:
            schema = pa.schema(_native.output_schema(json.dumps(query), known))
        except RingviewError as error:
            error.add_note(f"in the query that is called {wanted!r}")
            raise
        self.queries[name], self.schemas[name] = query, schema
        return Readable(name, schema, tuple(schema.names))

    def schema(self, table: str) -> pa.Schema:
        """The columns of a table, a view or a block."""
        found = self.schemas.get(table)
        return self.catalog[table] if found is None else found

    def read_by(self, query: Json) -> list[Json]:
        """The blocks that a query reads, those that they read before them."""
        wanted = set(tables_of(query))
        chosen: list[Json] = []
        for name, block in reversed(self.queries.items()):
            if name in wanted:
                wanted |= set(tables_of(block))
                chosen.append({"name": name, "query": block})
        return chosen[::-1]


@dataclass(frozen=True, slots=True)
class Selects:
    """How a SELECT is translated: as a query, as one value, as rows that are counted.

    The last two stand in a condition, of which they are given the scope.
    """

    query: Callable[[exp.Select, Reads], Json]
    value: Callable[[exp.Select, Reads, Scope], tuple[Json, Kind]]
    rows: Callable[[exp.Select, Reads, Scope], tuple[Json, Scope]]


@dataclass(frozen=True, slots=True)
class Reads:
    """What FROM may read at one place of a text.

    `defined` are the names of WITH that hold there, the innermost first found; `coming` are those
    that stand further on in it. `around` are the tables of the queries around, which a subquery in
    FROM does not see. `selects` translate a SELECT. `own` is what the whole text defines.
    """

    text: Text
    blocks: Blocks
    selects: Selects
    defined: Mapping[str, Readable] = field(default_factory=dict)
    coming: tuple[str, ...] = ()
    around: tuple[Source, ...] = ()
    own: str | None = None

    def named(self, node: exp.Table) -> Readable:
        """What a name in FROM means: of WITH, then of the catalog."""
        name = find(node.this, self.defined)
        if name is not None:
            return self.defined[name]
        catalog = self.blocks.catalog
        name = find(node.this, catalog)
        if name is not None and name == self.own:
            self.text.fail(
                node,
                f"the view {name!r} does not read itself",
                "give it another name, or write out what it reads",
            )
        if name is None:
            self._unknown(node)
        schema = catalog[name]
        return Readable(name, schema, tuple(schema.names))

    def _unknown(self, node: exp.Table) -> NoReturn:
        if find(node.this, self.coming) is not None:
            self.text.fail(
                node,
                f"no table or view {node.name!r}, and the one of WITH is not there yet",
                "a name of WITH is read by what stands after it; write it further up",
                UnknownTableError,
            )
        names = [*self.defined, *self.blocks.catalog]
        known = ", ".join(names) + did_you_mean(node.name, names) or "none yet"
        self.text.fail(
            node, f"no table or view {node.name!r}", f"known: {known}", UnknownTableError
        )

    def subquery(self, node: exp.Expr, called: str, around: tuple[Source, ...]) -> Readable:
        """The block of a SELECT in FROM; `around` stand before it there."""
        return self._block(node, called, replace(self, around=(*self.around, *around)))

    def within(self, tree: exp.Select) -> Reads:
        """What the FROM of a SELECT may read: the names of its own WITH too, each a block."""
        clause = tree.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            self.text.refuse(
                clause,
                "WITH RECURSIVE is not supported",
                "leave RECURSIVE out where no name reads itself; else keep the rows that it starts "
                "from, and follow them in what you read",
            )
        names = [node.alias for node in clause.expressions]
        here = replace(self, coming=(*names, *self.coming))
        for at, node in enumerate(clause.expressions):
            if find(node.args["alias"].this, names[:at]) is not None:
                self.text.fail(
                    node.args["alias"], f"two names of WITH are {node.alias!r}", "change one"
                )
            here = here.plus(node)
        return here

    def plus(self, node: exp.CTE) -> Reads:
        """The same and one more name of WITH."""
        if node.args.get("key_expressions"):
            self.text.refuse(node, "USING KEY is not supported", "leave it out")
        found = self._block(node.this, node.alias, self)
        found = found.renamed(node.args["alias"].args.get("columns") or [], self.text)
        # The same name of a WITH further out, or in other letters, does not hold here.
        rest = {n: r for n, r in self.defined.items() if n.lower() != node.alias.lower()}
        return replace(self, defined={node.alias: found, **rest}, coming=self.coming[1:])

    def _block(self, node: exp.Expr, called: str, reads: Reads) -> Readable:
        tree = node
        while isinstance(tree, exp.Subquery) and _is_parentheses(tree):
            tree = tree.this
        if isinstance(tree, exp.SetOperation):
            self.text.refuse(
                tree, "UNION, INTERSECT, EXCEPT are not supported in a query", READ_APART
            )
        if isinstance(tree, (exp.DML, exp.Delete)):
            self.text.refuse(tree, "a subquery is a SELECT", "change rows with db.insert")
        if not isinstance(tree, exp.Select):
            refuse(tree, self.text)
        return self.blocks.add(called, reads.selects.query(tree, reads))


def _is_parentheses(node: exp.Subquery) -> bool:
    return not any(value for key, value in node.args.items() if key != "this")
