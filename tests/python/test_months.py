"""Databases that live for months: what is held is what is kept, by our count and the system's."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import ringview as rv

WINDOW = 2_000


def window_rows(start: int, stop: int) -> pa.Table:
    """Rows with a key, a string and a note of their own."""
    keys = pa.array(range(start, stop), pa.int64())
    text = keys.cast(pa.string())
    name = pc.binary_join_element_wise("the name of ", text, "")
    note = pc.binary_join_element_wise(text, " is noted here", "")
    return pa.table(
        {
            "id": keys,
            "name": name,
            "note": note,
            "x": pc.cast(pc.bit_wise_and(keys, 255), pa.float64()),
        }
    )


VIEWS = {
    "by_name": "SELECT name, SUM(x) AS x, COUNT(*) AS n FROM r GROUP BY name",
    "ends": "SELECT MIN(r.note) AS a, MAX(s.note) AS b, COUNT(DISTINCT r.name) AS n "
    "FROM r JOIN s USING (id)",
    "some": "SELECT COUNT(*) AS n FROM r WHERE note LIKE '%7 is%' AND name NOT LIKE '%00%'",
    "rows": "SELECT r.name, s.note FROM r JOIN s ON r.name = s.name",
}
JOINED = {
    "joined": "SELECT r.name, SUM(s.x) AS x, COUNT(*) AS n "
    "FROM r JOIN s ON r.name = s.name GROUP BY r.name"
}


def windowed(trust_deletes: bool, views: dict[str, str] = VIEWS) -> rv.Database:
    """Views over rows of fresh keys and strings, of several kinds by default."""
    db = rv.Database(trust_deletes=trust_deletes)
    schema = {"id": "int64", "name": "string", "note": "string", "x": "float64"}
    db.create_table("r", schema)
    db.create_table("s", schema)
    for name, sql in views.items():
        db.create_view(name, sql)
    return db


def slide(db: rv.Database, start: int, step: int, window: int) -> None:
    rows = window_rows(start, start + step)
    old = window_rows(start - window, start - window + step) if start >= window else None
    with db.transaction() as tx:
        for table in ("r", "s"):
            tx.insert(table, rows)
            if old is not None:
                tx.delete(table, old)


@pytest.mark.parametrize("trust_deletes", [False, True])
def test_a_window_takes_what_it_took(trust_deletes: bool) -> None:
    db = windowed(trust_deletes)
    step = WINDOW // 2
    most = []
    for start in range(0, 30 * WINDOW, step):
        slide(db, start, step, WINDOW)
        most.append(sum(db.memory_usage().values()))
    assert max(most[20:]) <= 1.2 * max(most[:20])
    left = range(30 * WINDOW - WINDOW, 30 * WINDOW)
    assert len(db["by_name"]) == len(db["rows"]) == WINDOW
    names = sorted(f"the name of {at}" for at in left)
    assert sorted(db["by_name"].to_arrow()["name"].to_pylist()) == names
    notes = sorted(f"{at} is noted here" for at in left)
    assert db["ends"].to_arrow().to_pylist() == [{"a": notes[0], "b": notes[-1], "n": WINDOW}]
    expected = sum(at % 10 == 7 and "00" not in str(at) for at in left)
    assert db["some"].scalar() == expected


def test_refused_strings_leave_at_once() -> None:
    db = windowed(trust_deletes=False)
    slide(db, 0, WINDOW, WINDOW)
    before = db.memory_usage()["dictionary"]
    for start in range(WINDOW, 20 * WINDOW, WINDOW):
        with pytest.raises(rv.errors.OverDeleteError):
            db.delete("r", window_rows(start, start + WINDOW))
    assert db.memory_usage()["dictionary"] <= 2 * before


MONTHS = """
import sys
sys.path.insert(0, "tests/python")
import test_months as months

def rss() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

views, total, step = getattr(months, sys.argv[1]), int(sys.argv[2]), 5_000
db = months.windowed(False, views)
for start in range(0, total // 2, step):
    months.slide(db, start, step, 10_000)
    rows = 2 * (start + step)
    if rows in (1_000_000, 10_000_000, 30_000_000, 100_000_000):
        print(rows, rss(), sum(db.memory_usage().values()) // 1024, flush=True)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says of a process")
@pytest.mark.parametrize(("views", "rows"), [("VIEWS", 30_000_000), ("JOINED", 100_000_000)])
def test_the_process_stays_as_it_was(views: str, rows: int) -> None:
    """So many rows through a window of 10^4 a table; of the system's count, not ours."""
    done = subprocess.run(
        [sys.executable, "-c", MONTHS, views, str(rows)], capture_output=True, text=True, check=True
    )
    early, *late = (int(line.split()[1]) for line in done.stdout.splitlines())
    assert late, "the process told of nothing"
    assert max(late) <= 1.2 * early
