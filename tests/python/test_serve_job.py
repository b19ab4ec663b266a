"""Jobs with sources, sinks and `[serve]`: what is read, what is refused before anything opens."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
import ringview as rv
from ringview.job import Job, JobError, parse, run

FED = '[[table]]\nname = "r"\nschema = {id = "int64 not null", x = "string"}\nunique = "id"\n'
VIEW = '[[view]]\nname = "v"\nsql = "SELECT x, COUNT(*) AS n FROM r GROUP BY x"\n'
FOLDER = '[[source]]\nkind = "folder"\npath = "in/*.csv"\ntable = "r"\n'


def job_of(text: str, base: Path = Path("/jobs")) -> Job:
    return parse(text, base / "job.toml")


def test_a_job_has_sources_sinks_and_says_how_it_is_served() -> None:
    job = job_of(
        FED
        + VIEW
        + FOLDER
        + '[[source]]\nkind = "kafka"\nservers = "k:9092"\ntopics = {"a.b" = "r"}\n'
        + '[[source]]\nkind = "postgres"\nconnection = "dbname=x"\ntables = {o = "r"}\n'
        + '[[source]]\nkind = "delta"\npath = "s3://bucket/t"\ntable = "r"\nname = "d"\nevery = 2\n'
        + '[[source]]\nkind = "query"\nconnection = "sqlite://"\nsql = "SELECT 1"\ntable = "r"\n'
        + '[[sink]]\nkind = "sqlite"\nview = "v"\npath = "out.sqlite"\nkey = "x"\n'
        + '[[sink]]\nkind = "parquet"\nview = "v"\npath = "out"\n'
        + '[serve]\nfile = "r.ringview"\nport = 0\nhost = "0.0.0.0"\ntoken = "t"\ntimeout = 5\n'
        + "postgres = 5432\nplain = true\n"
    )
    kinds = ["folder", "kafka", "postgres", "delta", "query"]
    assert [source.kind for source in job.sources] == kinds
    assert job.sources[0].make(True).name == "folder /jobs/in/*.csv"
    assert job.sources[3].given["path"] == "s3://bucket/t"
    assert job.sources[3].every == 2
    assert [(sink.kind, sink.name) for sink in job.sinks] == [
        ("sqlite", "sqlite out.sqlite"),
        ("parquet", "parquet out"),
    ]
    serve = job.serve
    assert (serve.file, serve.port, serve.timeout) == (Path("/jobs/r.ringview"), 0, 5)
    assert (serve.postgres, serve.secret()) == (5432, "t")
    assert "token" not in repr(serve)
    assert job.tables[0].schema is not None


def fifteen_lines() -> str:
    """The job that docs/serve.md begins with."""
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()
    return page.split("```toml\n")[1].split("```")[0]


def test_fifteen_lines_are_a_job() -> None:
    assert len(fifteen_lines().splitlines()) == 15
    job = job_of(fifteen_lines())
    assert [source.kind for source in job.sources] == ["postgres"]
    assert job.serve.host == "127.0.0.1"


def test_the_jobs_of_the_pages_are_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text()
    first, ends = (part.split("```")[0] for part in page.split("```toml\n")[1:3])
    assert [sink.name for sink in job_of(first + ends).sinks] == ["sqlite out.sqlite"]


BAD = [
    ("[serve]\nprot = 1\n", 'serve.prot: there is no such key; did you mean "port"'),
    ("[serve]\nport = 65536\n", "serve.port: must be a port from 0 to 65535, not 65536"),
    ("[serve]\nport = '80'\n", "serve.port: must be a whole number"),
    ("[serve]\nport = true\n", "serve.port: must be a whole number"),
    ("[serve]\npostgres = -1\n", "serve.postgres: must be a port"),
    ("[serve]\npostgres = 8080\n", "serve.postgres: port 8080 is that of HTTP"),
    ("[serve]\nhost = '0.0.0.0'\n", 'serve.host: "0.0.0.0" may be reached from a network'),
    ("[serve]\nhost = '::'\n", "so it needs a token"),
    ("[serve]\ntoken = ''\n", "serve.token: is empty"),
    ("[serve]\ntoken = 'a'\ntoken_file = 'b'\n", "serve.token_file: there is a token already"),
    ("[serve]\nmax_body = 0\n", "serve.max_body: must be at least 1"),
    ("[serve]\ntimeout = 0\n", "serve.timeout: must be above 0"),
    ("[serve]\ntimeout = nan\n", "serve.timeout: must be above 0"),
    ("[serve]\npace = inf\n", "serve.pace: must be above 0"),
    ("[serve]\norigins = 3\n", "serve.origins: must be text, or a non-empty list"),
    ("[serve]\nwritable = 'yes'\n", "serve.writable: must be true or false"),
    ("[[serve]]\nport = 1\n", "serve: must be a table"),
    (
        "[[source]]\nkind = 'foldr'\n",
        'source[1].kind: there is no "foldr"; did you mean "folder"',
    ),
    ("[[source]]\ntable = 'r'\n", "source[1].kind: is missing"),
    ("[source]\nkind = 'folder'\n", "source: must be a list"),
    (FOLDER + "pth = 'x'\n", 'source[1].pth: there is no such key; did you mean "path"'),
    (FOLDER.replace('"r"', '"R2"'), 'source[1].table: there is no table "R2"'),
    (FOLDER + "how = 'put'\n", 'must be "insert", "delete" or "upsert", not "put"'),
    (FOLDER + "op = 'o'\nhow = 'upsert'\n", "source[1]: op= says what each row does"),
    (FOLDER + "rows = 0\n", "source[1].rows: must be at least 1, not 0"),
    (FOLDER + "every = -1\n", "source[1].every: must be a number from 0 on"),
    (FOLDER + "every = '1'\n", "source[1].every: must be a number, not '1'"),
    (FOLDER + FOLDER, 'source[2].name: there is a source "folder /jobs/in/*.csv" already'),
    ("[[source]]\nkind = 'postgres'\nconnection = 'x'\n", "source[1].tables: is missing"),
    (
        "[[source]]\nkind = 'postgres'\nconnection = 'x'\ntables = {a = 'rr'}\n",
        'source[1].tables.a: there is no table "rr"; did you mean',
    ),
    (
        "[[source]]\nkind = 'postgres'\nconnection = 'x'\ntables = {a = 1}\n",
        "source[1].tables.a: must be text, not 1",
    ),
    (
        "[[source]]\nkind = 'kafka'\nservers = ''\ntopics = {a = 'r'}\n",
        "servers: is empty",
    ),
    ("[[sink]]\nkind = 'sqlite'\nview = 'w'\npath = 'x'\n", 'sink[1].view: there is no view "w"'),
    ("[[sink]]\nkind = 'mail'\nview = 'v'\n", 'sink[1].kind: there is no "mail"'),
    (
        2 * "[[sink]]\nkind = 'parquet'\nview = 'v'\npath = 'x'\n",
        'sink[2].name: view "v" is sent as "parquet x" already',
    ),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_mistakes_are_told_with_their_place(text: str, words: str) -> None:
    with pytest.raises(JobError) as raised:
        job_of(FED + VIEW + text)
    assert words in str(raised.value)


BAD_JOBS = [
    (FED + 'path = "r.csv"\n' + VIEW, "table[1].path: is about files"),
    (FED.replace("int64 not null", "int65") + VIEW, "table[1].schema"),
    (FED.replace('"string"', "3") + VIEW, "table[1].schema.x: must be text, not 3"),
    (FED.replace('unique = "id"', 'unique = "idd"') + VIEW, "table[1].unique: there is no column"),
    ("trust_deletes = true\n" + FED + VIEW + FOLDER, "source: does not go with trust_deletes"),
    ('engine = "spark"\n' + FED + VIEW + FOLDER, 'source: does not go with engine = "spark"'),
    ('engine = "spark"\n' + FED + VIEW, "table[1].schema: on Spark tables are of files"),
    (
        '[[table]]\nname = "r"\npath = "r.csv"\nstatic = true\n' + VIEW + FOLDER,
        'source[1].table: table "r" is static',
    ),
]


@pytest.mark.parametrize(("text", "words"), BAD_JOBS)
def test_tables_that_do_not_fit(text: str, words: str) -> None:
    with pytest.raises(JobError) as raised:
        job_of(text)
    assert words in str(raised.value)


def test_a_token_is_read_from_its_file(tmp_path: Path) -> None:
    job = job_of(FED + VIEW + "[serve]\ntoken_file = 'token'\n", tmp_path)
    with pytest.raises(JobError, match="cannot read"):
        job.serve.secret()
    (tmp_path / "token").write_text("\n")
    (tmp_path / "token").chmod(0o600)
    with pytest.raises(JobError, match="is empty"):
        job.serve.secret()
    (tmp_path / "token").write_text("open sesame\n")
    assert job.serve.secret() == "open sesame"


def test_a_run_reads_sources_to_their_end_and_sends_to_sinks(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("id,x\n1,a\n2,b\n3,a\n4\n")
    sink = '[[sink]]\nkind = "sqlite"\nview = "v"\npath = "out.sqlite"\nkey = "x"\n'
    text = FED + VIEW + FOLDER + 'dead_letters = "rejected"\n' + sink
    report = run(job_of(text, tmp_path))
    assert report.rows == 3
    assert report.views[0].result.to_pylist() == [{"x": "a", "n": 2}, {"x": "b", "n": 1}]
    rows = sqlite3.connect(tmp_path / "out.sqlite").execute("SELECT * FROM v ORDER BY x").fetchall()
    assert rows == [("a", 2), ("b", 1)]


def test_a_run_reads_and_writes_other_stores(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "x": ["a", "b"]})
    deltalake.write_deltalake(str(tmp_path / "in"), rows)
    with sqlite3.connect(tmp_path / "in.sqlite") as con:
        con.execute("CREATE TABLE r (id BIGINT, x VARCHAR)")
        con.execute("INSERT INTO r VALUES (3, 'a')")
    con.close()
    text = (
        '[[source]]\nkind = "delta"\npath = "in"\ntable = "r"\n'
        '[[source]]\nkind = "query"\ntable = "r"\nsql = "SELECT id, x FROM r"\n'
        f'connection = "sqlite:///{tmp_path / "in.sqlite"}"\n'
        '[[sink]]\nkind = "delta"\nview = "v"\npath = "out"\nkey = "x"\n'
        '[[sink]]\nkind = "parquet"\nview = "v"\npath = "log"\n'
    )
    report = run(job_of(FED + VIEW + text, tmp_path))
    assert report.rows == 3
    found = deltalake.DeltaTable(str(tmp_path / "out")).to_pyarrow_table()
    wanted = [{"x": "a", "n": 2}, {"x": "b", "n": 1}]
    assert found.select(["x", "n"]).sort_by("x").to_pylist() == wanted
    log = rv.sinks.ParquetSink(tmp_path / "log").read("v")
    assert log.select(["x", "n"]).sort_by("x").to_pylist() == wanted


def test_sinks_of_other_systems_are_made_and_open_nothing() -> None:
    text = (
        '[[sink]]\nkind = "kafka"\nview = "v"\nservers = "k:9092"\ntopic = "t"\nkey = ["x"]\n'
        '[[source]]\nkind = "kafka"\nservers = "k:9092"\ntopics = {t = "r"}\nformat = "json"\n'
    )
    job = job_of(FED + VIEW + text)
    with rv.Database() as db:
        db.create_table("r", {"id": "int64", "x": "string"})
        db.create_view("v", job.views[0].sql)
        assert repr(job.sinks[0].sender(db)) == "Sender(['v'], batches=0, rows=0)"
        assert repr(job.sources[0].reader(db, True)) == "Reader(batches=0, rows=0, rejected=0)"


def test_an_explained_job_reads_no_source() -> None:
    told = rv.job.explain(job_of(FED + VIEW + FOLDER))
    assert "O(1)" in told["v"]
