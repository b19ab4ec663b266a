"""Garbage: cycles through objects of the extension are freed, counted by a mark that is in each."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
import ringview as rv
from ringview import serve
from ringview.serve.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
TIMES = 10


class Mark:
    """Counts those that are there."""

    there: ClassVar[weakref.WeakSet[Mark]] = weakref.WeakSet()

    def __init__(self) -> None:
        Mark.there.add(self)


Held = list[Any]


def database(held: Held) -> tuple[rv.Database, rv.View]:
    """A database whose function refers to `held`, which the case adds what it made to."""
    db = rv.Database()
    db.create_table("r", {"a": "int64"})

    def f(a: pa.Array) -> pa.Array:
        assert held
        return a

    held.append(Mark())
    db.create_function("f", f, ["int64"], "int64")
    view = db.create_view("v", "SELECT f(a) AS b, count(*) AS n FROM r GROUP BY f(a)")
    db.insert("r", [{"a": 1}])
    return db, view


def of_function(held: Held) -> None:
    held.append(database(held)[0])


def of_aggregate(held: Held) -> None:
    db, _ = database(held)

    def total(a: pa.Array) -> int:
        assert held
        return sum(a.to_pylist())

    db.create_function("g", total, ["int64"], "int64", kind="aggregate")
    db.create_view("w", "SELECT g(a) AS b FROM r")
    held.append(db)


def of_view(held: Held) -> None:
    held.append(database(held)[1])


def of_table(held: Held) -> None:
    held.append(database(held)[0].tables["r"])


def of_follower(held: Held) -> None:
    db, view = database(held)
    follower = view.follow()
    db.insert("r", [{"a": 2}])
    held.append(follower)


def of_polled_follower(held: Held) -> None:
    _, view = database(held)
    follower = view.follow()
    assert follower.poll() is not None
    held.append(follower)


def of_named_follower(held: Held) -> None:
    db, view = database(held)
    held += [db, view.follow("mail")]


def of_closed_follower(held: Held) -> None:
    _, view = database(held)
    follower = view.follow()
    follower.close()
    held.append(follower)


def of_stream(held: Held) -> None:
    # Before its end; a reader of Arrow's around it would hide its objects from the collector.
    db, view = database(held)
    db.insert("r", {"a": range(50_000)})
    rows = view._native.view_stream(view._handle)
    assert rows.next() is not None
    held.append(rows)


def of_transaction(held: Held) -> None:
    db, _ = database(held)
    with db.transaction() as transaction:
        transaction.insert("r", [{"a": 3}])
    held.append(transaction)


def of_progress(held: Held) -> None:
    db, _ = database(held)
    held.append(db)
    db.insert("r", {"a": range(2000)}, progress=lambda rows: held.append(db))


def of_failure(held: Held) -> None:
    db, _ = database(held)

    def fails(a: pa.Array) -> pa.Array:
        raise ValueError(held)

    db.create_function("h", fails, ["int64"], "int64")
    with pytest.raises(rv.errors.FunctionError) as raised:
        db.sql("SELECT h(a) AS x FROM r")
    # The exception has the frames of the function.
    held += [db, raised.value]


def of_reservoir(held: Held) -> None:
    held.append(Mark())
    made: rv.Reservoir[int] = rv.Reservoir(2, lambda item: bool(held), seed=1)
    made.extend(range(10))
    held.append(made)


def of_postgres(held: Held) -> None:
    db, _ = database(held)
    server = PostgresServer(db, port=0)
    held += [db, server]
    server.close()


def of_server(held: Held) -> None:
    db, _ = database(held)
    server = serve.Server(db, port=0)
    held += [db, server]
    server.close()


def of_two(held: Held) -> None:
    """Two databases whose functions refer to both."""
    one, _ = database(held)
    two, _ = database(held)
    held += [one, two]


CASES = [made for name, made in list(globals().items()) if name.startswith("of_")]


def left(make: Callable[[Held], object], times: int) -> int:
    """The number of marks that are left of so many cases."""
    gc.collect()
    before = len(Mark.there)
    for _ in range(times):
        make([])
    gc.collect()
    return len(Mark.there) - before


@pytest.mark.parametrize("make", CASES, ids=lambda made: made.__name__)
def test_cycles_are_freed(make: Callable[[Held], object]) -> None:
    assert left(make, 1 if make in (of_server, of_postgres) else TIMES) == 0


def test_a_mark_that_is_held_is_counted() -> None:
    """The count finds what is not freed."""
    kept: list[Held] = []

    def keeps(held: Held) -> None:
        of_function(held)
        kept.append(held)

    assert left(keeps, TIMES) == TIMES


def test_an_open_server_keeps_its_database() -> None:
    """Its threads use the database, so the collector must not break it."""
    held: Held = []
    db = database(held)[0]
    server = PostgresServer(db, port=0)
    held += [db, server]
    of, address = weakref.ref(db), server.address
    del db, held
    gc.collect()
    assert of() is not None
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(f"host={address[0]} port={address[1]} user=me") as session:
        assert session.execute("SELECT b, n FROM v").fetchall() == [(1, 1)]
    server.close()
    del server
    gc.collect()
    assert of() is None


# Classes with objects of Python that the collector need not see, and why.
EXEMPT = {
    "PostgresServer": "its threads use the backend until it is closed, when nothing is held",
    "RowBuffer": "names of columns, which refer to nothing",
}


def classes() -> dict[str, str]:
    """Classes of the extension, each with its fields."""
    found = {}
    for path in sorted((ROOT / "rust" / "bindings" / "src").rglob("*.rs")):
        for part in path.read_text().split("#[pyclass")[1:]:
            struct = re.search(r"struct (\w+) \{(.*?)\n\}", part, re.DOTALL)
            assert struct, path
            found[struct[1]] = struct[2]
    return found


def structs() -> dict[str, str]:
    """Structs and enums of the extension with their parts."""
    found = {}
    for path in sorted((ROOT / "rust" / "bindings" / "src").rglob("*.rs")):
        text = re.sub(r"//.*", "", path.read_text())
        for name, braces, round_ in re.findall(
            r"(?:struct|enum) (\w+)(?:<[^{(]*>)? ?(?:\{(.*?)\n\}|\((.*?)\);)", text, re.DOTALL
        ):
            found[name] = braces or round_
    return found


def holds(name: str, of: dict[str, str], seen: frozenset[str] = frozenset()) -> bool:
    """Whether a struct holds an object of Python, itself or by one of its parts."""
    parts = of.get(name, "")
    if re.search(r"\bPy<", parts):
        return True
    within = set(re.findall(r"\b[A-Z]\w+", parts)) & of.keys() - seen - {name}
    return any(holds(part, of, seen | {name}) for part in within)


def test_each_class_that_holds_objects_shows_them_to_the_collector() -> None:
    text = {path: path.read_text() for path in (ROOT / "rust" / "bindings" / "src").rglob("*.rs")}
    of = structs()
    holding = {name for name in classes() if holds(name, of)}
    assert {"Database", "Follower", "RowStream", "RowBuffer"} <= holding
    shown = {
        name
        for name in holding
        for one in text.values()
        for block in re.findall(rf"\nimpl {name} \{{\n(.*?)\n\}}", one, re.DOTALL)
        if "fn __traverse__" in block
    }
    assert holding - shown <= EXEMPT.keys(), holding - shown - EXEMPT.keys()
    # A cycle has a class that breaks it: each leads through a database.
    [clearing] = [one for one in text.values() if "fn __clear__" in one]
    assert "impl Database {" in clearing
    for name in shown - {"Database"}:
        assert re.search(r"Py<(\w+)>", of[name]) is not None
        assert set(re.findall(r"Py<(\w+)>", of[name])) == {"Database"}
