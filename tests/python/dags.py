"""Random DAGs of views over the tables of `queries`: named views, subqueries and names of WITH.

Values that depend on the last digit of a float are shown and aggregated, but not grouped by, joined
or compared. Joins of rows upon joins of rows are bounded, so that no view has millions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from queries import SCHEMAS

DEEPEST = 4
# Rows of a table to which power a relation has at most.
WIDEST = 3
LATE = 3
GUARD = "SELECT SUM(g * g * g) AS z FROM (SELECT a, SUM(x) AS g FROM r GROUP BY a) AS q"
_KINDS = {"a": "key", "b": "key", "c": "key", "x": "number", "price": "number", "w": "float"}


@dataclass(frozen=True)
class Relation:
    """Input of a view: a table, or a view, by its name or by its SQL."""

    name: str
    columns: dict[str, str]
    depth: int = 0
    power: int = 1
    sql: str | None = None


@dataclass
class Dag:
    """The named views in the order of their creation, and all that may be read."""

    views: dict[str, str] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)


def tables() -> list[Relation]:
    return [
        Relation(name, {c: _KINDS.get(c, "text") for c in schema.names if c not in ("ok", "at")})
        for name, schema in SCHEMAS.items()
        if name != "u"
    ]


@st.composite
def dags(draw: st.DrawFn, most: int = 6) -> dict[str, str]:
    """The SQL of views by name, each over tables and those before it."""
    dag = Dag(relations=tables())
    for number in range(draw(st.integers(3, most))):
        name = f"v{number}"
        made = draw(_relation(name, dag))
        assert made.sql is not None
        if draw(st.sampled_from([True, True, False])):
            dag.views[name] = made.sql
            made = Relation(name, made.columns, made.depth, made.power)
        dag.relations.append(made)
    if not dag.views:
        dag.views["v"] = f"SELECT COUNT(*) AS n FROM ({dag.relations[-1].sql}) AS q"
    return {**dag.views, "guard": GUARD}


@st.composite
def _relation(draw: st.DrawFn, name: str, dag: Dag) -> Relation:
    """A view of one relation, or of two that join."""
    low = [relation for relation in dag.relations if relation.depth < DEEPEST]
    # The latest ones first and more often, so that it gets deep and ways meet again.
    late = low[: -1 - LATE : -1]
    one = draw(st.sampled_from([*late, *late, *low]))
    chosen, condition = [one], ""
    other = draw(st.sampled_from([*late[1:], *late[1:], *low]))
    keys = [[c for c, kind in r.columns.items() if kind == "key"] for r in (one, other)]
    joins = all(keys) and one.power + other.power <= WIDEST
    if joins and draw(st.sampled_from([True, True, False])):
        chosen.append(other)
        condition = " = ".join(
            f"{alias}.{draw(st.sampled_from(of))}" for alias, of in zip("pq", keys, strict=True)
        )
    defined: list[str] = []
    sources = [_source(draw, relation, defined) for relation in chosen]
    text = f"{sources[0]} AS p"
    if len(chosen) > 1:
        text += f" JOIN {sources[1]} AS q ON {condition}"
    columns = {
        f"{alias}.{column}": kind
        for alias, relation in zip("pq", chosen, strict=False)
        for column, kind in relation.columns.items()
    }
    where = draw(st.one_of(st.none(), _condition(columns)))
    text += f" WHERE {where}" if where else ""
    depth = 1 + max(relation.depth for relation in chosen)
    power = sum(relation.power for relation in chosen)
    body, shown, once = draw(st.one_of(_groups(columns, text), _rows(columns, text)))
    if defined:
        body = f"WITH {', '.join(defined)} {body}"
    return Relation(name, shown, depth, 1 if once else power, body)


def _source(draw: st.DrawFn, relation: Relation, defined: list[str]) -> str:
    if relation.sql is None:
        return relation.name
    if draw(st.booleans()):
        return f"({relation.sql})"
    text = f"{relation.name} AS ({relation.sql})"
    if text not in defined:
        defined.append(text)
    return relation.name


@st.composite
def _condition(draw: st.DrawFn, columns: dict[str, str]) -> str:
    exact = [column for column, kind in columns.items() if kind in ("key", "number")]
    if not exact:
        return "TRUE"
    column = draw(st.sampled_from(exact))
    shapes = [f"{column} > 0", f"{column} IS NOT NULL", f"{column} < 2 OR {column} IS NULL"]
    return draw(st.sampled_from(shapes))


@st.composite
def _groups(
    draw: st.DrawFn, columns: dict[str, str], text: str
) -> tuple[str, dict[str, str], bool]:
    """A SELECT of groups and aggregates, its columns, and that its rows are few."""
    exact = [column for column, kind in columns.items() if kind != "float"]
    group = draw(st.lists(st.sampled_from(exact), max_size=2, unique=True)) if exact else []
    outputs = [(column, columns[column]) for column in group]
    outputs += draw(st.lists(_aggregate(columns), min_size=1, max_size=3))
    shown = ", ".join(f"{output} AS c{at}" for at, (output, _) in enumerate(outputs))
    body = f"SELECT {shown} FROM {text}"
    if group:
        body += f" GROUP BY {', '.join(group)}"
        if draw(st.integers(0, 3)) == 0:
            body += " HAVING COUNT(*) > 1"
    return body, {f"c{at}": kind for at, (_, kind) in enumerate(outputs)}, True


@st.composite
def _aggregate(draw: st.DrawFn, columns: dict[str, str]) -> tuple[str, str]:
    column = draw(st.sampled_from(sorted(columns)))
    kind = columns[column]
    shapes = [("COUNT(*)", "key"), (f"COUNT({column})", "key")]
    shapes += [(f"MIN({column})", kind), (f"MAX({column})", kind)]
    if kind != "text":
        sums = "float" if kind == "float" else "number"
        shapes += [(f"SUM({column})", sums)] * 2 + [(f"AVG({column})", "float")]
    if kind != "float":
        shapes.append((f"COUNT(DISTINCT {column})", "key"))
    return draw(st.sampled_from(shapes))


@st.composite
def _rows(draw: st.DrawFn, columns: dict[str, str], text: str) -> tuple[str, dict[str, str], bool]:
    """A SELECT of columns, all rows or each once."""
    distinct = draw(st.booleans())
    usable = [c for c, kind in columns.items() if kind != "float" or not distinct]
    if not usable:
        return f"SELECT COUNT(*) AS c0 FROM {text}", {"c0": "key"}, True
    chosen = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=3, unique=True))
    shown = ", ".join(f"{column} AS c{at}" for at, column in enumerate(chosen))
    body = f"SELECT {'DISTINCT ' if distinct else ''}{shown} FROM {text}"
    return body, {f"c{at}": columns[column] for at, column in enumerate(chosen)}, distinct
