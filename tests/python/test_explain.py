"""Explanations in every form: well-formed whatever the names, and the same facts in each."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any, get_args

import matplotlib as mpl
import numpy as np
import pytest
import ringview as rv
from amounts import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from ringview import errors, plot
from ringview.view import Format

mpl.use("Agg")

VOID = {"br", "hr", "img", "meta", "link", "input"}
TABLES = {"r": "ab", "s": "bc", "t": "ca", "u": "cd"}
QUERIES = {
    "q-hierarchical": "SELECT b, SUM(a * c) AS x FROM r NATURAL JOIN s GROUP BY b",
    "free-connex": "SELECT b, c, COUNT(*) AS n FROM r NATURAL JOIN s NATURAL JOIN u GROUP BY b, c",
    "acyclic": "SELECT a, c, COUNT(*) AS n FROM r NATURAL JOIN s GROUP BY a, c",
    "cyclic": "SELECT COUNT(*) AS n, MIN(a) AS x FROM r NATURAL JOIN s NATURAL JOIN t",
    "rows": "SELECT * FROM r NATURAL JOIN s",
    "listing": "SELECT a FROM r",
    "triangles": "SELECT * FROM r NATURAL JOIN s NATURAL JOIN t",
    "distinct": "SELECT DISTINCT a, b, c FROM r NATURAL JOIN s",
    "cofactor": "SELECT COFACTOR(a, b, CATEGORICAL(c)) FROM r NATURAL JOIN s",
    "company": "SELECT COFACTOR(a, CATEGORICAL(b)), SUM(c) AS x, MAX(c) AS m FROM r NATURAL JOIN s",
}


def database(static: bool = False) -> rv.Database:
    db = rv.Database()
    for name, columns in TABLES.items():
        schema = dict.fromkeys(columns, "int64 not null")
        db.create_table(name, schema, static=static and name == "s")
    return db


def views(db: rv.Database) -> dict[str, rv.View]:
    return {name: db.create_view(name, sql) for name, sql in QUERIES.items()}


def facts(of: rv.View | rv.MatrixChain) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(of.explain("json"))
    return found


def fill(db: rv.Database) -> None:
    for name, columns in TABLES.items():
        db.insert(
            name, {c: [(i * (1 + at)) % 5 for i in range(12)] for at, c in enumerate(columns)}
        )


class Balanced(HTMLParser):
    """Every tag is closed where it should be; nothing runs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> Balanced:
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    known = {"div", "span", "b", "p", "details", "summary"}
    assert parser.tags <= known | {"table", "thead", "tbody", "tr", "th", "td"}
    return parser


def check_mermaid(text: str) -> list[str]:
    """The labels of a graph in which every node is declared once, before the arrows that use it."""
    lines = text.splitlines()
    assert lines[0] == "graph BT"
    declared: dict[str, str] = {}
    used: list[str] = []
    depth = 0
    for line in map(str.strip, lines[1:]):
        if node := re.fullmatch(r'(\w+)(?:\["([^"]*)"\]|\(\["([^"]*)"\]\))', line):
            assert node[1] not in declared
            declared[node[1]] = node[2] or node[3]
        elif arrow := re.fullmatch(r"(\w+) --> (\w+)", line):
            used += [arrow[1], arrow[2]]
        elif re.fullmatch(r'subgraph \w+\["[^"]*"\]', line):
            depth += 1
        elif line == "end":
            depth -= 1
        elif marked := re.fullmatch(r"class ([\w,]+) dashed", line):
            used += marked[1].split(",")
        elif told := re.fullmatch(r'engine>"(engine: [^"]*)"\]', line):
            # Beside the nodes: who else could keep it.
            assert "not taken" in told[1]
        else:
            assert line == "classDef dashed stroke-dasharray: 4 4", line
    assert depth == 0
    assert set(used) <= set(declared)
    for label in declared.values():
        # Nothing but line breaks is HTML, nothing but entities begins like one.
        plain = label.replace("<br/>", "")
        assert not set("<>`*_") & set(re.sub(r"#\w+;", "", plain))
        assert "#" not in re.sub(r"#\w+;", "", plain)
    return list(declared.values())


def check_graphviz(text: str) -> list[str]:
    """As `check_mermaid`, after a reader of DOT's strings."""
    string = r'"((?:[^"\\]|\\.)*)"'
    lines = text.splitlines()
    assert re.fullmatch(rf"digraph {string} {{", lines[0])
    declared: dict[str, str] = {}
    used: list[str] = []
    depth = 1
    for line in map(str.strip, lines[1:]):
        style = r'(?:, style=(?:\w+|"[\w,]+"))?'
        if node := re.fullmatch(rf"(\w+) \[label={string}{style}\];", line):
            assert node[1] not in declared
            declared[node[1]] = node[2]
        elif arrow := re.fullmatch(r"(\w+) -> (\w+);", line):
            used += [arrow[1], arrow[2]]
        elif re.fullmatch(r"subgraph cluster_\w+ {", line):
            depth += 1
        elif line == "}":
            depth -= 1
        elif told := re.fullmatch(rf"engine \[label={string}, shape=note\];", line):
            assert "not taken" in told[1]
        elif not re.fullmatch(rf"label={string};", line):
            assert line in {"rankdir=BT;", 'node [shape=box, fontname="sans-serif"];'}
    assert depth == 0
    assert set(used) <= set(declared)
    return list(declared.values())


def edges(explanation: dict[str, Any]) -> int:
    own = sum(node["parent"] is not None for node in explanation["nodes"])
    return own + sum(edges(beside["view"]) for beside in explanation["beside"])


def nodes(explanation: dict[str, Any]) -> int:
    beside = explanation["beside"]
    return len(explanation["nodes"]) + sum(nodes(other["view"]) for other in beside)


@pytest.mark.parametrize("static", [False, True])
def test_every_form_of_every_view_is_well_formed(static: bool) -> None:
    db = database(static)
    found = views(db)
    if not static:
        fill(db)
    for view in found.values():
        explanation = facts(view)
        mermaid, dot = view.explain("mermaid"), view.explain("graphviz")
        assert len(check_mermaid(mermaid)) == len(check_graphviz(dot)) == nodes(explanation)
        assert mermaid.count(" --> ") == dot.count(" -> ") == edges(explanation)
        page = "".join(read(view._repr_html_()).text)
        text = view.explain()
        for node in explanation["nodes"]:
            assert node["label"] in page
            assert node["label"] in text
            sizes = f"{node['bytes']} bytes, {node['updates']} updates"
            if node["stored"]:
                assert f"{node['rows']} rows, {sizes}" in page
                assert f"{node['rows']} rows, {sizes}" in text
        fails = [condition for condition in explanation["conditions"] if not condition["holds"]]
        for condition in explanation["conditions"]:
            # Conditions that fail only with another one are not repeated.
            if condition["holds"] or condition == fails[0]:
                assert condition["name"] in page
                assert condition["because"] in page
                assert f"{condition['name']}: " in text
                assert condition["because"] in text
        for change in explanation["changes"]:
            assert change["cost"] in page
            assert change["cost"] in text
        assert view.explain("text") == text
        assert set(explanation["query"]) >= {"atoms", "outputs"}


def test_facts_are_the_engine_s() -> None:
    db = database()
    found = views(db)
    fill(db)
    memory = db.memory_usage()
    for name, view in found.items():
        explanation = facts(view)
        assert explanation["view"] == name
        # Nodes of several views are counted at the oldest.
        shared = any("shared_with" in node for node in explanation["nodes"])
        assert memory[f"view {name}"] in {explanation["bytes"], 0 if shared else None}
        leaves = [node for node in explanation["nodes"] if node["kind"] == "relation"]
        assert [leaf["updates"] for leaf in leaves] == [12] * len(leaves)
        for beside in explanation["beside"]:
            taken = [n["updates"] for n in beside["view"]["nodes"] if n["kind"] == "relation"]
            assert taken == [12] * len(taken)
        assert all(node["rows"] is None for node in explanation["nodes"] if not node["stored"])
    held = {name: condition_names(facts(view)) for name, view in found.items()}
    assert "q-hierarchical" in held["q-hierarchical"]
    assert "free-connex" in held["free-connex"]
    assert "q-hierarchical" not in held["free-connex"]
    assert "alpha-acyclic" in held["acyclic"]
    assert "free-connex" not in held["acyclic"]
    assert held["cyclic"] == {"free-top"}
    assert facts(found["rows"])["form"]["name"] == "factorised"
    assert facts(found["listing"])["form"]["name"] == "listing"
    before = facts(found["cyclic"])["nodes"]
    with pytest.raises(errors.OverDeleteError), db.transaction() as tx:
        tx.insert("r", [{"a": 1, "b": 1}])
        tx.delete("s", [{"b": 77, "c": 77}])
    assert [node["updates"] for node in facts(found["cyclic"])["nodes"]] == [
        node["updates"] for node in before
    ]


def condition_names(explanation: dict[str, Any]) -> set[str]:
    return {c["name"] for c in explanation["conditions"] if c["holds"]}


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0"),
    min_size=1,
    max_size=8,
)
NASTY = ["<b>", '"', "a</script>", "#quot;", "`x`", "**", "&amp;", "'", "\\", "x\ny", "$", "]"]


@examples(40)
@given(st.lists(NAMES | st.sampled_from(NASTY), min_size=3, max_size=3, unique=True))
def test_no_name_breaks_a_form(names: list[str]) -> None:
    view, left, right = names
    assume(view not in {"r", "s"})
    native = rv.Database()
    native.create_table("r", {left: "int64", right: "int64"})
    native.create_table("s", {left: "int64"})
    column = {"atom": 0, "column": left}
    query = {
        "atoms": [{"table": "r", "alias": right}, {"table": "s", "alias": f"{right}2"}],
        "joins": [[column, {"atom": 1, "column": left}]],
        "group_by": [column],
        "outputs": [
            {"kind": "group", "name": left, "column": column},
            {
                "kind": "aggregate",
                "name": f"{right}3",
                "function": "min",
                "argument": '"0"."{}"'.format(right.replace('"', '""')),
            },
        ],
    }
    native._native.create_view_of(view, json.dumps(query))
    found = native[view]
    assert len(check_mermaid(found.explain("mermaid"))) == 6
    assert len(check_graphviz(found.explain("graphviz"))) == 6
    read(found._repr_html_())
    read(native._repr_html_())
    assert facts(found)["changes"][0]["relation"] == right
    assert "".join(read(found.explain("html")).text).count(f"[{left}]") >= 3


def test_a_format_that_is_not_there_is_refused_with_those_that_are() -> None:
    db = database()
    view = db.create_view("v", QUERIES["cyclic"])
    chain = rv.MatrixChain([np.eye(2), np.eye(2)])
    wrong: Any = "svg"
    for refused in (view.explain, chain.explain, lambda f: db.explain("SELECT a FROM r", format=f)):
        with pytest.raises(ValueError, match='no "svg"') as problem:
            refused(wrong)
        assert all(f'"{name}"' in str(problem.value) for name in get_args(Format))


def test_plans_have_no_sizes() -> None:
    db = database()
    plan = json.loads(db.explain(QUERIES["cyclic"], format="json"))
    assert plan["view"] is None
    assert {node["rows"] for node in plan["nodes"]} == {None}
    assert "updates" not in db.explain(QUERIES["cyclic"])
    for form in get_args(Format):
        assert db.explain(QUERIES["rows"], format=form)


def test_chains_have_the_same_forms() -> None:
    chain = rv.MatrixChain([np.ones((3, 3))] * 4, changing=[0, 2])
    chain.update(2, np.ones((3, 2)), np.ones((3, 2)))
    explanation = facts(chain)
    assert len(check_mermaid(chain.explain("mermaid"))) == len(explanation["nodes"]) == 7
    assert len(check_graphviz(chain.explain("graphviz"))) == 7
    assert "A1..A4[X1, X5]" in "".join(read(chain._repr_html_()).text)
    updates = {node["name"]: node["updates"] for node in explanation["nodes"]}
    assert (updates["A1"], updates["A3"], updates["A1..A4"]) == (0, 2, 2)
    assert [change["is_static"] for change in explanation["changes"]] == [False, True] * 2
    assert explanation["bytes"] == chain.memory_usage()
    # Too many to look at the class of: the rest is there.
    long = facts(rv.MatrixChain([np.ones((1, 1))] * 150, changing=[0]))
    assert long["conditions"] == []
    assert len(long["nodes"]) == 299


def test_a_view_tree_is_drawn() -> None:
    db = database()
    fill(db)
    db.create_table("$x^2$", {"a": "int64"})
    for sql in (*QUERIES.values(), 'SELECT a FROM "$x^2$"'):
        view = db.create_view("drawn", sql)
        axes = plot.view_tree(view)
        axes.figure.canvas.draw()
        explanation = facts(view)
        beside = explanation["beside"]
        trees = [explanation["nodes"], *(other["view"]["nodes"] for other in beside)]
        found = [node for tree in trees for node in tree]
        boxes = [text for text in axes.texts if text.get_bbox_patch() is not None]
        labels = [text.get_text().splitlines()[0] for text in boxes]
        assert [re.sub(" of .*", "", label) for label in labels] == [
            node["label"].replace("$", r"\$") for node in found
        ]
        titles = [" ".join(t.get_text().split()) for t in axes.texts if t not in boxes]
        assert titles == [f"beside it, {other['what']}" for other in beside]
        places = {text.get_position() for text in boxes}
        assert len(places) == len(found)
        assert len(axes.get_lines()) == len(found) - len(trees)
        db.drop_view("drawn")
    wrong: Any = db
    with pytest.raises(errors.TypeMismatchError, match=r"draws a view .* this is a Database"):
        plot.view_tree(wrong)
    given_axes = plot.view_tree(rv.MatrixChain([np.eye(2)] * 3), ax=axes)
    assert given_axes is axes


def test_a_database_is_shown_with_what_it_holds() -> None:
    db = rv.Database()
    db.create_table("<b>", {"a": "int64"})
    db.insert("<b>", {"a": [1, 2]})
    db.create_view("n", 'SELECT COUNT(*) AS n FROM "<b>"')
    text = read(db._repr_html_()).text
    assert text[:9] == ["name", "columns", "rows", "bytes", "table", "<b>", "a", "2", text[8]]
    assert text[9:13] == ["view", "n", "n", "1"]


def test_tables_and_cofactors_are_shown() -> None:
    db = rv.Database()
    schema = {"<a>": "int64 not null", "b": "float64 not null", "c": "string not null"}
    table = db.create_table("r", schema, unique=["<a>"])
    db.insert("r", {"<a>": [1, 2, 3], "b": [0.5, 2.0, 4.0], "c": ["x", "y", "<i>"]})
    shown = read(table._repr_html_()).text
    assert shown[0] == "r"
    assert shown[1].startswith(": 3 rows, ")
    assert (
        shown[-6:] == ["not null, unique", "b", "double", "not null", "c", "string", "not null"][1:]
    )
    one = db.create_view("one", 'SELECT COFACTOR("<a>", b, c) FROM r')
    grouped = db.create_view("grouped", "SELECT c, COFACTOR(b) AS m FROM r GROUP BY c")
    for page in (one._repr_html_(), one.cofactor()._repr_html_()):
        text = read(page).text
        for cell in ("3 rows", "sum", "<a>", "6", "6.5", "14", "16.5", "<i>"):
            assert cell in text
        assert "{" not in "".join(text)
    assert "{" not in "".join(read(grouped._repr_html_()).text)
    assert read(grouped._repr_html_()).text.count("1 rows") == 3
