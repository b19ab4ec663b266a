"""Job files: what is read, what is refused and with which words, the order of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from ringview.job import Job, JobError, embedded, load, parse
from ringview.job.read import Source
from ringview.job.stream import batches

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch_stream" / "job.toml"
TABLE = '[[table]]\nname = "r"\npath = "r.parquet"\n'
VIEW = '[[view]]\nname = "v"\nsql = "SELECT COUNT(*) AS n FROM r"\n'


def job_of(text: str) -> Job:
    return parse(text, Path("/jobs/job.toml"))


def test_the_example_is_read_whole() -> None:
    job = load(EXAMPLE)
    assert (job.engine, job.batch_size, job.trust_deletes) == ("embedded", 1000, False)
    assert [table.name for table in job.tables][:3] == ["region", "nation", "supplier"]
    assert job.tables[0].static
    assert job.tables[-1].unique == ("orderkey", "linenumber")
    assert [view.name for view in job.views] == ["q1", "q3", "q5", "q10"]
    assert [output.file for output in job.outputs] == [None] * 4


def test_defaults_and_relative_paths() -> None:
    job = job_of(TABLE + VIEW)
    assert (job.engine, job.batch_size) == ("embedded", 1000)
    assert job.tables[0].paths == (Path("/jobs/r.parquet"),)
    assert job.tables[0].format == "parquet"


def test_a_dialect_is_that_of_all_views(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([7, 8], pa.int64())}), tmp_path / "r.parquet")
    views = (
        '[[view]]\nname = "v"\nsql = "SELECT `a` div 2 AS q FROM r"\n'
        '[[view]]\nname = "w"\nsql = "SELECT SUM(`q`) AS q FROM `v`"\n'
    )
    assert job_of(TABLE + views).dialect == "duckdb"
    job = parse('dialect = "spark"\n' + TABLE + views, tmp_path / "job.toml")
    done = embedded.run(job, [Source(spec) for spec in job.tables], lambda _: None)
    assert done.results["w"].to_pylist() == [{"q": 7}]
    named = parse(
        'dialect = "spark"\n' + TABLE + views + 'engine = "viewtree"\n',
        tmp_path / "job.toml",
    )
    done = embedded.run(named, [Source(spec) for spec in named.tables], lambda _: None)
    assert done.results["w"].to_pylist() == [{"q": 7}]


def test_outputs_name_views() -> None:
    job = job_of(TABLE + VIEW + '[output]\nv = ["terminal", "out/v.csv"]\n')
    assert [output.file for output in job.outputs] == [None, Path("/jobs/out/v.csv")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch_sise = 5\n" + TABLE + VIEW, 'batch_sise: .* did you mean "batch_size"'),
        (TABLE + 'oder_by = "x"\n' + VIEW, r"table\[1\].oder_by: .* did you mean \"order_by\""),
        (TABLE + VIEW + 'querry = "x"\n', r"view\[1\].querry: .* known are name, sql, engine"),
        (TABLE + VIEW + "engine = 5\n", r"view\[1\].engine: must be text, not 5"),
        (TABLE + VIEW + "epsilon = true\n", r"view\[1\].epsilon: must be a number .* not true"),
        (TABLE + VIEW + 'epsilon = {r = "x"}\n', r"view\[1\].epsilon.r: must be a number"),
        (
            'engine = "spark"\n' + TABLE + VIEW + "epsilon = 0.5\n",
            r"view\[1\].epsilon: on Spark .* set engine = \"embedded\"",
        ),
        (
            'engine = "spark"\n' + TABLE + VIEW + 'refresh = "part"\n',
            r"view\[1\].refresh: on Spark how a view is kept",
        ),
        (TABLE + VIEW + VIEW, r'view\[2\].name: there is a view "v" already'),
        (VIEW, "table: the job has none"),
        (TABLE, "view: the job has none"),
        ('[[table]]\nname = "r"\n' + VIEW, r"table\[1\].path: is missing"),
        ('[[table]]\npath = "r.csv"\n' + VIEW, r"table\[1\].name: is missing"),
        ('[[table]]\nname = "r"\npath = []\n' + VIEW, r"table\[1\].path: must be text"),
        ('[[table]]\nname = "r"\npath = "r.dat"\n' + VIEW, "cannot tell the format"),
        ("batch_size = 0\n" + TABLE + VIEW, "batch_size: must be at least 1"),
        ("batch_size = true\n" + TABLE + VIEW, "batch_size: must be a whole number, not true"),
        ('batch_size = "x"\n' + TABLE + VIEW, "batch_size: must be a whole number, not 'x'"),
        ('engine = "sparc"\n' + TABLE + VIEW, 'engine: .* did you mean "spark"'),
        (TABLE + 'static = true\norder_by = "x"\n' + VIEW, "a static table is loaded whole"),
        (TABLE + 'multiplicity = "m"\ncolumns = ["m"]\n' + VIEW, "not a column of it"),
        (TABLE + 'types = {x = "int65"}\n' + VIEW, r"table\[1\].types.x: no type 'int65'"),
        (TABLE + VIEW + '[output]\nw = "terminal"\n', "output.w: .*known are v"),
        (TABLE + VIEW + '[output]\nv = "v.xlsx"\n', 'neither "terminal" nor'),
        ("x = = 1", "job.toml is not valid TOML: .*line 1"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(JobError, match=message):
        job_of(text)


def test_a_missing_job_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"cannot read the job file .*nothing\.toml"):
        load(tmp_path / "nothing.toml")


def source(
    tmp_path: Path, text: str, *, rows: dict[str, list[Any]], file: str = "r.parquet"
) -> Source:
    table = pa.table(rows)
    if file.endswith(".csv"):
        pyarrow.csv.write_csv(table, tmp_path / file)
    else:
        pq.write_table(table, tmp_path / file)
    head = f'[[table]]\nname = "r"\npath = "{file}"\n'
    return Source(parse(head + text + VIEW, tmp_path / "job.toml").tables[0])


def test_special_columns_are_not_columns_of_the_table(tmp_path: Path) -> None:
    rows = {"seq": [1, 2], "a": [3, 4], "m": [1, -1]}
    read = source(tmp_path, 'multiplicity = "m"\norder_by = "seq"\n', rows=rows)
    assert read.schema.names == ["a"]
    assert read.rows == 2
    [batch] = read.batches()
    assert batch.to_pydict() == {"a": [3, 4], "m": [1, -1]}


def test_columns_are_chosen_ordered_and_cast(tmp_path: Path) -> None:
    text = 'columns = ["b", "a"]\ntypes = {a = "decimal(12, 2)", b = "int32"}\n'
    read = source(tmp_path, text, rows={"a": ["1.50"], "b": [7], "c": [0]})
    assert read.schema == pa.schema([("b", pa.int32()), ("a", pa.decimal128(12, 2))])
    [batch] = read.batches()
    assert batch.schema == read.schema


def test_csv_is_read_like_parquet(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {"a": [1, 2], "p": ["1.25", "2.50"], "s": ["NA", ""]}
    read = source(tmp_path, 'types = {p = "decimal(12, 2)"}\n', rows=rows, file="r.csv")
    assert read.rows is None
    assert read.schema.field("p").type == pa.decimal128(12, 2)
    [batch] = read.batches()
    # A text is a text, quoted as the writer quotes: neither NA nor "" is NULL.
    assert batch.column("s").to_pylist() == ["NA", ""]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('columns = ["orderkez"]\n', 'columns: .* no column "orderkez"; did you mean "orderkey"'),
        ('multiplicity = "zzz"\n', 'multiplicity: .* no column "zzz"; it has orderkey, seq'),
        ('order_by = "sequ"\n', 'order_by: .* did you mean "seq"'),
        ('unique = ["q"]\n', 'unique: .* no column "q"'),
        ('types = {q = "int64"}\n', 'types: .* no column "q"'),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(JobError, match=message):
        source(tmp_path, text, rows={"orderkey": [1], "seq": [1]})


def test_files_that_are_not_there_or_not_what_they_say(tmp_path: Path) -> None:
    [spec] = parse(TABLE + VIEW, tmp_path / "job.toml").tables
    with pytest.raises(JobError, match=r"table \"r\": cannot read .*r\.parquet"):
        Source(spec)
    spec.paths[0].write_text("not Parquet at all")
    with pytest.raises(JobError, match=r"table \"r\": .*r\.parquet is not parquet"):
        Source(spec)


def test_a_value_that_cannot_be_cast_is_named(tmp_path: Path) -> None:
    read = source(tmp_path, 'types = {a = "int64"}\n', rows={"a": ["x"]})
    with pytest.raises(JobError, match='table "r": column "a" is string and cannot be read'):
        list(read.batches())


def test_rows_out_of_order_are_refused(tmp_path: Path) -> None:
    read = source(tmp_path, 'order_by = "seq"\n', rows={"seq": [2, 1]})
    with pytest.raises(JobError, match='not in the order of "seq"'):
        list(batches([read], 10))
    read = source(tmp_path, 'order_by = "seq"\n', rows={"seq": [None, 1]})
    with pytest.raises(JobError, match="holds nulls"):
        list(batches([read], 10))


def tables(tmp_path: Path, **rows: tuple[str, dict[str, list[Any]]]) -> list[Source]:
    text = ""
    for name, (options, columns) in rows.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", row_group_size=2)
        text += f'[[table]]\nname = "{name}"\npath = "{name}.parquet"\n{options}'
    return [Source(spec) for spec in parse(text + VIEW, tmp_path / "job.toml").tables]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_tables_interleave_in_the_order_of_the_sequence(tmp_path: Path, size: int) -> None:
    order = 'order_by = "seq"\ncolumns = ["seq"]\n'
    sources = tables(
        tmp_path,
        late=(order, {"seq": [2, 2, 3, 7, 9]}),
        early=(order, {"seq": [1, 2, 8, 9]}),
        whole=("", {"x": [10, 11, 12]}),
    )
    steps = [
        [(part.source.spec.name, part.rows.column(0).to_pylist()) for part in parts]
        for parts in batches(sources, size)
    ]
    assert all(1 <= sum(len(rows) for _, rows in parts) <= size for parts in steps)
    rows = [(value, name) for parts in steps for name, values in parts for value in values]
    whole, ordered = rows[:3], rows[3:]
    assert whole == [(10, "whole"), (11, "whole"), (12, "whole")]
    by_table = {"late": 0, "early": 1}
    expected = sorted(ordered, key=lambda row: (row[0], by_table[row[1]]))
    if size == 1:
        assert ordered == expected
    # In whatever batches: each is the next part of the one true order.
    cut, taken = [], 0
    for parts in steps[-(-3 // size) :]:
        count = sum(len(values) for _, values in parts)
        cut.append((sorted(expected[taken : taken + count]), sorted(_flat(parts))))
        taken += count
    assert all(wanted == found for wanted, found in cut)
    assert taken == len(expected) == 9


def _flat(parts: list[tuple[str, list[int]]]) -> list[tuple[int, str]]:
    return [(value, name) for name, values in parts for value in values]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('v = "v.csv"\nw = "v.csv"', 'output.w: v.csv: view "v" is written to it already'),
        ('v = ["v.csv", "./x/../v.csv"]', 'output.v: v.csv: view "v" is written'),
        ('v = "r.parquet"', 'output.v: r.parquet: table "r" is read from it already'),
    ],
)
def test_no_output_overwrites_another(text: str, message: str) -> None:
    second = VIEW.replace('"v"', '"w"')
    with pytest.raises(JobError, match=message):
        job_of(f"{TABLE}{VIEW}{second}[output]\n{text}\n")


def test_a_batch_size_beyond_all_counts_is_refused() -> None:
    with pytest.raises(JobError, match="batch_size: must be at most"):
        job_of(f"batch_size = {10**20}\n{TABLE}{VIEW}")
    assert job_of(f"batch_size = {2**63 - 1}\n{TABLE}{VIEW}").batch_size == 2**63 - 1


def test_a_value_of_a_csv_file_names_file_row_and_column(tmp_path: Path) -> None:
    path, job = tmp_path / "r.csv", tmp_path / "job.toml"
    types = 'types = {id = "int64", "the day" = "date32"}'
    job.write_text(f'[[table]]\nname = "r"\npath = "r.csv"\n{types}\n{VIEW}')
    day = "1,2026-01-01\n"
    for rows, said in [
        (day + "x,2026-01-02\n", ", row 1: column \"id\": 'x' is no int64"),
        (day + '2,"a\nb"\n', ", row 1: column \"the day\": 'a\\nb' is no date32[day]"),
        # Far behind the first block, which determines the types.
        (day * 300_000 + ",\nx,\n", ", row 300001: column \"id\": 'x' is no int64"),
        (day + "2\n", " is not csv: CSV parse error"),
    ]:
        path.write_text("id,the day\n" + rows)
        with pytest.raises(JobError) as raised:
            list(Source(load(job).tables[0]).batches())
        assert f'table "r": {path}{said}' in str(raised.value)
