"""The command line, run as a user does, and what it prints and writes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import ringview as rv
from ringview import cli
from ringview.cli import show
from ringview.cli.commands import app
from ringview.job.run import routed
from typer.testing import CliRunner, Result

JOB = """
batch_size = 2
[[table]]
name = "orders"
path = "orders.parquet"
multiplicity = "mult"
order_by = "seq"
[[table]]
name = "items"
path = ["items1.csv", "items2.csv"]
types = {price = "decimal128(12, 2)"}
[[view]]
name = "spent"
sql = "SELECT o.customer, SUM(i.price) AS total FROM orders o JOIN items i USING (id) GROUP BY 1"
[[view]]
name = "count"
sql = "SELECT COUNT(*) AS n FROM orders"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    orders = {
        "seq": [1, 2, 3, 4, 5],
        "id": [1, 2, 3, 2, 4],
        "customer": ["ann", "bob", "ann", "bob", None],
        "mult": pa.array([1, 1, 1, -1, 1], pa.int8()),
    }
    pq.write_table(pa.table(orders), tmp_path / "orders.parquet")
    (tmp_path / "items1.csv").write_text("id,price\n1,1.50\n2,9.99\n1,0.25\n")
    (tmp_path / "items2.csv").write_text("id,price\n3,2.00\n4,7.77\n")
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_run_prints_results_and_the_final_table(folder: Path) -> None:
    done = run("run", folder / "job.toml")
    assert done.exit_code == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["ann", "3.75"] in lines
    assert ["NULL", "7.77"] in lines
    assert not any("bob" in line for line in lines)
    assert ["spent", "2"] in lines
    assert any(line[:5] == ["all,", "after", "every", "batch", "3"] for line in lines)
    assert any("rows/s" in line for line in lines)
    assert "embedded: 10 rows in " in done.stdout


def test_run_writes_files(folder: Path) -> None:
    output = '[output]\nspent = ["out/spent.parquet", "out/spent.csv"]\n'
    (folder / "job.toml").write_text(JOB + output)
    done = run("run", folder / "job.toml")
    assert done.exit_code == 0, done.stderr
    written = pq.read_table(folder / "out" / "spent.parquet")
    assert written.to_pydict()["customer"] == ["ann", None]
    assert [str(total) for total in written.to_pydict()["total"]] == ["3.75", "7.77"]
    assert (folder / "out" / "spent.csv").read_text() == '"customer","total"\n"ann",3.75\n,7.77\n'
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "spent.csv",
        "spent.parquet",
    ]
    # With [output], what is not named there is not printed.
    assert "ann" not in done.stdout


def test_only_the_first_rows_are_printed(folder: Path) -> None:
    pq.write_table(pa.table({"id": list(range(50))}), folder / "many.parquet")
    (folder / "job.toml").write_text(
        '[[table]]\nname = "r"\npath = "many.parquet"\n'
        '[[view]]\nname = "v"\nsql = "SELECT id, COUNT(*) AS n FROM r GROUP BY id"\n'
    )
    done = run("run", folder / "job.toml")
    assert "v, the first 20 of 50 rows" in done.stdout


def test_a_wide_result_is_turned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"quite_a_long_name_{number}" for number in range(9)]
    sums = ", ".join(f"AVG(x) AS {name}" for name in names)
    pq.write_table(pa.table({"x": [1, 2, 2]}), folder / "x.parquet")
    (folder / "job.toml").write_text(
        '[[table]]\nname = "r"\npath = "x.parquet"\n'
        f'[[view]]\nname = "v"\nsql = "SELECT {sums} FROM r"\n'
    )
    assert max(map(len, run("run", folder / "job.toml").stdout.splitlines())) > 80
    monkeypatch.setattr(show, "_PLAIN_WIDTH", 80)
    lines = [line.split() for line in run("run", folder / "job.toml").stdout.splitlines()]
    # A column a line, nothing cut, floats to 7 digits.
    assert all([name, "1.666667"] in lines for name in names)


def test_explain_names_every_view(folder: Path) -> None:
    done = run("explain", folder / "job.toml")
    assert done.exit_code == 0, done.stderr
    assert {"spent", "count"} <= set(done.stdout.split())


def test_explain_in_other_forms(folder: Path) -> None:
    job = folder / "job.toml"
    lines = run("explain", job, "--format", "json").stdout.splitlines()
    assert {json.loads(line)["view"] for line in lines} == {"spent", "count"}
    assert run("explain", job, "--format", "mermaid").stdout.count("graph BT") == 2
    assert run("explain", job, "--format", "graphviz").stdout.count("digraph") == 2
    refused = run("explain", job, "--format", "svg")
    assert refused.exit_code == 2
    assert "'mermaid'" in refused.stderr


def test_a_route_goes_where_each_form_has_room() -> None:
    route = 'routed by "a<b>": r'
    assert routed(route, "view", "text") == f"{route}\nview"
    assert routed(route, "graph BT", "mermaid") == f"%% {route}\ngraph BT"
    assert routed(route, "digraph {}", "graphviz") == f"// {route}\ndigraph {{}}"
    assert json.loads(routed(route, '{"view": "∃"}', "json")) == {"route": route, "view": "∃"}
    assert routed(route, "", "html") == "<div>routed by &quot;a&lt;b&gt;&quot;: r</div>"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("batch_size", "batchsize"), 'batchsize: there is no such key; did you mean "batch_size"'),
        (("SUM(i.price)", "SUM(i.prize)"), "prize"),
        (("orders.parquet", "order.parquet"), "cannot read"),
        (('"mult"', '"customer"'), "customer"),
    ],
)
def test_errors_are_one_clear_line(folder: Path, change: tuple[str, str], message: str) -> None:
    (folder / "job.toml").write_text(JOB.replace(*change))
    done = run("run", folder / "job.toml")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_deleting_what_is_not_there_stops_the_job(folder: Path) -> None:
    rows = {"seq": [1], "id": [1], "customer": ["ann"], "mult": [-1]}
    pq.write_table(pa.table(rows), folder / "orders.parquet")
    done = run("run", folder / "job.toml")
    assert done.exit_code == 1
    assert "orders" in done.stderr


def test_a_wrong_command_line_is_exit_status_2() -> None:
    assert run("rum", "job.toml").exit_code == 2


def test_without_typer_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "ringview.cli.commands", raising=False)
    with pytest.raises(SystemExit, match=r"pip install 'ringview\[cli\]'"):
        cli.main()


def test_the_version_is_told() -> None:
    told = f"ringview {rv.__version__}\n"
    assert run("--version").stdout == told
    asked = [sys.executable, "-m", "ringview", "--version"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == told


def test_a_grouped_cofactor_is_shown_and_written(folder: Path) -> None:
    job = JOB.split("[[view]]", maxsplit=1)[0].replace(
        'types = {price = "decimal128(12, 2)"}', 'types = {id = "int64", price = "float64"}'
    )
    sql = "SELECT i.id, COFACTOR(i.price) AS c FROM items i GROUP BY i.id"
    (folder / "job.toml").write_text(
        f'{job}\n[[view]]\nname = "c"\nsql = "{sql}"\n'
        f'[[view]]\nname = "bare"\nsql = "{sql.replace("i.id, ", "")}"\n'
        '[output]\nc = ["terminal", "c.csv", "c.parquet"]\nbare = "bare.csv"\n'
    )
    done = run("run", folder / "job.toml")
    assert done.exit_code == 0, done.stderr or repr(done.exception)
    whole = pq.read_table(folder / "c.parquet")
    assert whole.column("id").to_pylist() == [1, 2, 3, 4]
    rows = pyarrow.csv.read_csv(folder / "c.csv").to_pylist()
    assert [json.loads(row["c"]) for row in rows] == whole.column("c").to_pylist()
    bare = pyarrow.csv.read_csv(folder / "bare.csv").column("c").to_pylist()
    assert sorted(bare) == sorted(row["c"] for row in rows)


def test_a_view_with_wrong_sql_is_named(folder: Path) -> None:
    text = (folder / "job.toml").read_text().replace("COUNT(*) AS n", "COUNT(*) AS n, idd")
    (folder / "job.toml").write_text(text)
    for command in ("run", "explain"):
        done = run(command, folder / "job.toml")
        assert done.exit_code == 1
        assert done.stderr.startswith('error: view "count": line 1, column ')
        assert "idd" in done.stderr


def test_corrupt_pages_are_an_error_of_the_file(folder: Path) -> None:
    path = folder / "big.parquet"
    pq.write_table(pa.table({"id": range(5000)}), path, compression="snappy")
    data = bytearray(path.read_bytes())
    for at in range(8, len(data) // 2):
        data[at] ^= 0x5A
    path.write_bytes(bytes(data))
    (folder / "job.toml").write_text(
        '[[table]]\nname = "big"\npath = "big.parquet"\n'
        '[[view]]\nname = "n"\nsql = "SELECT COUNT(id) AS n FROM big"\n'
    )
    done = run("run", folder / "job.toml")
    assert done.exit_code == 1, repr(done.exception)
    assert 'error: table "big": ' in done.stderr
    assert "big.parquet" in done.stderr


def test_a_terminated_run_leaves_nothing_half_written(folder: Path) -> None:
    with (folder / "job.toml").open("a") as job:
        job.write('[output]\nspent = "spent.csv"\n')
    # A write that never ends, once something is there.
    program = (
        "import signal, pyarrow.csv\n"
        "def write(table, file):\n"
        "    file.write(b'half')\n"
        "    print('writing', flush=True)\n"
        "    while True: signal.pause()\n"
        "pyarrow.csv.write_csv = write\n"
        "from ringview.cli import main\n"
        "main()\n"
    )
    before = {path.name for path in folder.iterdir()}
    arguments = [sys.executable, "-c", program, "run", str(folder / "job.toml")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        assert len({path.name for path in folder.iterdir()} - before) == 1
        process.terminate()
        assert process.wait() == 128 + signal.SIGTERM
    assert {path.name for path in folder.iterdir()} == before


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.ringview"
    with rv.Database.open(path) as db:
        db.create_table("r", {"a": "int64", "s": "string"})
        db.insert("r", [{"a": 1, "s": "x"}, {"a": 2, "s": None}])
        db.create_view("v", "SELECT COUNT(*) AS n FROM r")
    return path


def test_sql_answers_a_query_of_a_file(file: Path) -> None:
    done = run("sql", file, "SELECT a, s FROM r ORDER BY a DESC")
    assert done.exit_code == 0, done.output
    assert [line.split() for line in done.stdout.splitlines() if line.split()][-2:] == [
        ["2", "NULL"],
        ["1", "x"],
    ]


def test_sql_answers_what_is_piped_in(file: Path) -> None:
    queries = "SELECT n FROM v; -- one; more\nSELECT ';' || s AS t FROM r\nWHERE a = 1"
    done = CliRunner().invoke(app, ["sql", str(file)], input=queries)
    assert done.exit_code == 0, done.output
    assert done.stdout.split()[-1] == ";x"
    assert "2" in done.stdout.split()


def test_sql_changes_a_file_by_statements(file: Path) -> None:
    done = run("sql", file, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2), (3)")
    assert done.exit_code == 0, done.output
    assert done.stdout == "3 rows changed\n"
    script = "BEGIN; UPDATE t SET x = x + 10 WHERE x = 3;\nDELETE FROM t WHERE x = 1;\nCOMMIT;"
    done = CliRunner().invoke(app, ["sql", str(file)], input=script)
    assert done.stdout == "1 row changed\n1 row changed\n"
    assert "2 13" in " ".join(run("sql", file, "SELECT x FROM t ORDER BY x").stdout.split())


def test_sql_says_what_is_wrong(file: Path) -> None:
    done = run("sql", file, "SELECT nothing FROM r")
    assert done.exit_code == 1
    assert "nothing" in done.stderr
    done = run("sql", file, "DELETE FROM nothing")
    assert done.exit_code == 1
    assert 'no table "nothing"; known: r' in done.stderr
    done = run("sql", file, "DELETE FROM r; SELECT nothing FROM r")
    assert done.exit_code == 1
    assert "changed" in done.stdout
    assert run("sql", file, "SELECT COUNT(*) AS n FROM r").stdout.split()[-1] == "0"
    done = run("sql", file.parent / "none.ringview", "SELECT 1")
    assert done.exit_code == 2
    assert not (file.parent / "none.ringview").exists()
    assert "0" in run("sql", file, "SELECT n FROM v").stdout


def test_a_job_bounds_what_views_compute_anew(folder: Path) -> None:
    text = JOB.replace("SELECT COUNT(*) AS n FROM orders", "SELECT MEDIAN(id) AS n FROM orders")
    (folder / "job.toml").write_text(text + 'refresh = "part"\n')
    done = run("run", folder / "job.toml")
    assert done.exit_code == 1
    assert "MEDIAN" in done.stderr
    assert "count" in done.stderr
    (folder / "job.toml").write_text(text + 'refresh = "full"\n')
    assert run("run", folder / "job.toml").exit_code == 0
