"""SQL over Spark DataFrames, on a local Spark, against DuckDB."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle import comparable
from test_docs import check

pytest.importorskip("pyspark", minversion="3.5")

from any_pyspark import arrow_table, from_arrow
from pyspark.sql import DataFrame, SparkSession
from ringview import errors
from ringview.cli.commands import app
from ringview.job import embedded, load
from ringview.job.read import Source
from ringview.spark import evaluate, prepare, raising, views
from ringview.spark.releases import release
from ringview.spark.types import spark_schema
from typer.testing import CliRunner

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch_stream" / "job.toml"

SCHEMAS = {
    "orders": pa.schema(
        {
            "id": pa.int64(),
            "customer": pa.int32(),
            "day": pa.date32(),
            "at": pa.timestamp("us"),
            "urgent": pa.bool_(),
        }
    ),
    "items": pa.schema(
        {
            "id": pa.int64(),
            "product": pa.string(),
            "price": pa.decimal128(12, 2),
            "discount": pa.decimal128(4, 2),
            "units": pa.int32(),
            "weight": pa.float64(),
        }
    ),
    # An int64 that joins an int32.
    "customers": pa.schema({"customer": pa.int64(), "country": pa.string(), "parent": pa.int64()}),
}


def tables(seed: int, orders: int = 200) -> dict[str, pa.Table]:
    """Random rows: NULLs everywhere, one customer with half of all orders."""
    draw = random.Random(seed)

    def maybe(value: object) -> object:
        return None if draw.random() < 0.1 else value

    rows: dict[str, list[tuple[object, ...]]] = {"orders": [], "items": [], "customers": []}
    for number in range(orders):
        customer = 1 if draw.random() < 0.5 else draw.randrange(20)
        day = date(2026, 1, 1) + timedelta(days=draw.randrange(60))
        at = datetime(2026, 1, 1) + timedelta(seconds=draw.randrange(3))
        rows["orders"].append(
            (maybe(number), maybe(customer), maybe(day), maybe(at), maybe(draw.random() < 0.5))
        )
        for _ in range(draw.randrange(4)):
            price, discount = Decimal(draw.randrange(-999, 99999)), Decimal(draw.randrange(11))
            rows["items"].append(
                (
                    maybe(number),
                    maybe(draw.choice(["tea", "", "ünïcode", "cup'"])),
                    maybe(price / 100),
                    maybe(discount / 100),
                    maybe(draw.randrange(5)),
                    maybe(draw.randrange(-8, 8) / 4),
                )
            )
    for number in range(20):
        country = draw.choice(["FR", "US", "ZZ"])
        rows["customers"].append((maybe(number), maybe(country), maybe(draw.randrange(20))))
    return {
        name: pa.Table.from_pylist(
            [dict(zip(SCHEMAS[name].names, row, strict=True)) for row in found], SCHEMAS[name]
        )
        for name, found in rows.items()
    }


def frames(spark: SparkSession, data: dict[str, pa.Table]) -> dict[str, DataFrame]:
    return {name: frame(spark, table) for name, table in data.items()}


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    schema = spark_schema(table.schema)
    if not table.num_rows:
        return spark.createDataFrame([], schema)
    # Without the schema, timestamps without a zone would get one.
    return from_arrow(spark, table, schema)


def expected(sql: str, data: dict[str, pa.Table]) -> list[tuple[object, ...]]:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    for name, table in data.items():
        connection.register(name, table)
    return comparable(connection.sql(sql).to_arrow_table())


QUERIES = {
    "total": "SELECT COUNT(*) AS n, SUM(price) AS s, AVG(price) AS a, COUNT(units) AS u FROM items",
    "grouped": "SELECT product, SUM(price * (1 - discount)) AS s, AVG(weight) AS w FROM items "
    "GROUP BY product",
    "by the root": "SELECT o.id, SUM(i.price) AS s, COUNT(*) AS n, AVG(i.units) AS a "
    "FROM orders o JOIN items i USING (id) GROUP BY o.id",
    "by others": "SELECT o.day, o.at, o.urgent, i.product, SUM(i.price * i.units) AS s, "
    "AVG(i.price) AS a, COUNT(i.weight) AS n FROM orders o JOIN items i ON o.id = i.id "
    "GROUP BY o.day, o.at, o.urgent, i.product",
    "not a key in sight": "SELECT SUM(i.weight * o.customer) AS s, AVG(i.discount) AS a "
    "FROM orders o JOIN items i USING (id)",
    "keys not shown": "SELECT COUNT(*) AS n FROM orders GROUP BY customer, urgent",
    "broadcast": "SELECT c.country, SUM(i.price) AS s, COUNT(*) AS n FROM customers c "
    "JOIN orders o ON c.customer = o.customer JOIN items i ON i.id = o.id GROUP BY c.country",
    "widths": "SELECT c.customer, COUNT(*) AS n FROM customers c, orders o "
    "WHERE c.customer = o.customer GROUP BY c.customer",
    "self-join": "SELECT a.country, COUNT(*) AS n, SUM(b.customer) AS s "
    "FROM customers a JOIN customers b ON a.parent = b.customer GROUP BY a.country",
    "self-join on one side": "SELECT COUNT(*) AS n FROM orders a JOIN orders b USING (customer)",
    "filters": "SELECT o.customer, SUM(i.price) AS s FROM orders o JOIN items i USING (id) "
    "WHERE o.day BETWEEN DATE '2026-01-10' AND DATE '2026-02-10' AND i.product LIKE 't%' "
    "AND o.at >= TIMESTAMP '2026-01-01 00:00:01' AND i.units IS NOT NULL GROUP BY o.customer",
    "product": "SELECT COUNT(*) AS n, SUM(c.customer) AS s FROM customers c, customers d",
    "no columns": "SELECT COUNT(*) AS n FROM orders",
    "rows of a join": "SELECT c.country, o.urgent, i.* FROM customers c "
    "JOIN orders o ON c.customer = o.customer JOIN items i ON i.id = o.id WHERE i.units > 1",
    "rows of a table": "SELECT product, weight FROM items",
    "rows, each once": "SELECT DISTINCT customer, product FROM orders JOIN items USING (id)",
}


@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES)
def test_a_query_equals_duckdb(spark: SparkSession, sql: str) -> None:
    data = tables(seed=1)
    found = evaluate(sql, frames(spark, data), partitions=3)
    assert comparable(arrow_table(found)) == expected(sql, data)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("total", "items"),
        ("grouped", "items"),
        ("by the root", "orders"),
        ("not a key in sight", "all"),
        ("broadcast", "customers"),
    ],
)
def test_empty_tables(spark: SparkSession, name: str, missing: str) -> None:
    data = {
        table: rows.slice(0, 0) if missing in (table, "all") else rows
        for table, rows in tables(seed=2, orders=30).items()
    }
    found = evaluate(QUERIES[name], frames(spark, data), partitions=2)
    assert comparable(arrow_table(found)) == expected(QUERIES[name], data)


def test_the_result_is_a_dataframe_like_any(spark: SparkSession) -> None:
    data = tables(seed=3, orders=50)
    result = evaluate(QUERIES["broadcast"], frames(spark, data))
    kinds = [field.dataType.simpleString() for field in result.schema.fields]
    assert kinds == ["string", "decimal(38,2)", "bigint"]
    rows = result.where("country IS NOT NULL").orderBy("country").collect()
    assert [row.country for row in rows] == sorted(row.country for row in rows) != []


def test_rows_with_multiplicities(spark: SparkSession) -> None:
    sql = (
        "SELECT o.customer, SUM(i.price) AS s, AVG(i.units) AS a, COUNT(*) AS n "
        "FROM orders o JOIN items i USING (id) GROUP BY o.customer"
    )
    data, draw = tables(seed=4), random.Random(4)
    changes, left = {}, {}
    for name, table in data.items():
        gone = pa.array([draw.random() < 0.4 for _ in range(table.num_rows)])
        deleted = table.filter(gone)
        left[name] = pa.concat_tables([table, table]).filter(
            pa.concat_arrays(
                [pa.array([not g.as_py() for g in gone]), pa.array([True] * len(gone))]
            )
        )
        # Inserted twice; deletes are first: Spark keeps no order, and none is needed.
        changes[name] = pa.concat_tables(
            [
                deleted.append_column("how often", pa.array([-1] * len(deleted), pa.int8())),
                table.append_column("how often", pa.array([2] * len(table), pa.int8())),
            ]
        )
    found = evaluate(sql, frames(spark, changes), multiplicity="how often", partitions=2)
    assert comparable(arrow_table(found)) == expected(sql, left)
    only = {**frames(spark, data), "items": from_arrow(spark, changes["items"])}
    found = evaluate(sql, only, multiplicity={"items": "how often"}, partitions=2)
    assert comparable(arrow_table(found)) == expected(sql, {**data, "items": left["items"]})


def test_everything_deleted_leaves_nothing(spark: SparkSession) -> None:
    rows = [(1, "x", -1), (1, "x", 1), (2, "y", 1), (2, "y", -1)]
    frame = spark.createDataFrame(rows, "a long, b string, m long")
    found = evaluate("SELECT b, SUM(a) AS a FROM r GROUP BY b", {"r": frame}, multiplicity="m")
    assert found.collect() == []


def test_plain_map_partitions(spark: SparkSession) -> None:
    data = tables(seed=5)
    for name in ("broadcast", "by the root", "total"):
        steps = prepare(QUERIES[name], frames(spark, data), partitions=3)
        partials = steps.slots().rdd.mapPartitions(steps.partition.on_rows)
        found = steps.merge(spark.createDataFrame(partials, steps.partial_schema))
        assert comparable(arrow_table(found)) == expected(QUERIES[name], data)


def test_types_that_ringview_does_not_hold_may_be_there(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, [1, 2])], "a long, `an.array` array<long>")
    assert evaluate("SELECT SUM(a) AS s FROM r", {"r": frame}).collect() == [(1,)]
    with pytest.raises(errors.UnknownColumnError) as caught:
        evaluate('SELECT SUM("an.array") AS s FROM r', {"r": frame})
    assert "an.array (array<bigint>)" in caught.value.__notes__[0]


def test_timestamps_with_a_zone_are_instants(spark: SparkSession) -> None:
    at = pa.array([datetime(2026, 1, 1), datetime(2026, 1, 2)], pa.timestamp("us", tz="UTC"))
    rows = pa.table({"at": at, "x": [1, 2]})
    sql = "SELECT a.at, SUM(b.x) AS s FROM r a JOIN r b USING (at) GROUP BY a.at"
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        found = arrow_table(evaluate(sql, {"r": frame(spark, rows)}))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert comparable(found) == comparable(rows)


def test_strange_names(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 2), (1, 3)], "`a.b c` long, `tick``` long")
    sql = 'SELECT "a.b c", SUM("tick`") AS "s.u m" FROM r GROUP BY "a.b c"'
    found = evaluate(sql, {"r": frame})
    assert found.columns == ["a.b c", "s.u m"]
    assert found.collect() == [(1, 5)]


def test_zeros_of_both_signs_meet(spark: SparkSession) -> None:
    left = spark.createDataFrame([(0.0,), (-0.0,), (1.5,)], "k double")
    sql = "SELECT COUNT(*) AS n FROM l JOIN r USING (k)"
    assert evaluate(sql, {"l": left, "r": left}, partitions=7).collect() == [(5,)]


def test_sums_do_not_wrap(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(2**62, 1.5e308)] * 3, "a long, x double")
    whole = evaluate("SELECT SUM(a) AS s FROM r", {"r": frame}, partitions=2)
    assert whole.schema["s"].dataType.simpleString() == "decimal(38,0)"
    assert [tuple(row) for row in whole.collect()] == [(3 * 2**62,)]
    with pytest.raises(Exception, match="ArithmeticOverflowError"):
        evaluate("SELECT SUM(x) AS s FROM r", {"r": frame}).collect()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"partitions": 0}, errors.InvalidValueError, "at least 1"),
        ({"multiplicity": "m"}, errors.InvalidValueError, 'no column "m"'),
        ({"multiplicity": {"q": "a"}}, errors.UnknownTableError, 'no table "q"'),
        ({"rows": {}}, errors.UnknownTableError, "rows: "),
        ({"partitions": "4"}, errors.TypeMismatchError, "partitions='4' is not an integer"),
        ({"multiplicity": "f"}, errors.TypeMismatchError, 'column "f" of table "r" is double'),
    ],
)
def test_wrong_options(
    spark: SparkSession, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    frame = spark.range(3).selectExpr("id AS a", "CAST(id AS double) AS f")
    with pytest.raises(error, match=message):
        evaluate("SELECT COUNT(*) AS n FROM r", {"r": frame}, **options)


def test_wrong_sql_is_refused_before_anything_runs(spark: SparkSession) -> None:
    frame = spark.range(3).toDF("a")
    with pytest.raises(errors.UnknownTableError):
        evaluate("SELECT COUNT(*) AS n FROM s", {"r": frame})
    with pytest.raises(errors.UnsupportedError, match="random"):
        evaluate("SELECT random() AS a FROM r", {"r": frame})


def test_a_job_on_spark_ends_where_the_embedded_one_ends(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = EXAMPLE.read_text().replace('engine = "embedded"', 'engine = "spark"')
    text = text.replace("../data", str(EXAMPLE.parents[1] / "data"))
    outputs = "".join(f'{view} = "{view}.parquet"\n' for view in ("q1", "q3", "q5", "q10"))
    job = tmp_path / "job.toml"
    job.write_text(f"{text}\n[output]\n{outputs}")
    done = CliRunner().invoke(app, ["run", str(job)])
    assert done.exit_code == 0, done.stderr
    assert "spark: " in done.stdout
    here = load(EXAMPLE)
    wanted = embedded.run(here, [Source(spec) for spec in here.tables], lambda _: None)
    for view, table in wanted.results.items():
        assert comparable(pq.read_table(tmp_path / f"{view}.parquet")) == comparable(table)
    explained = CliRunner().invoke(app, ["explain", str(job)])
    routed = "routed by orderkey: o, l; sent along: c; 2 partitions; in one shuffle with q5, q10"
    assert routed in explained.stdout


def test_csv_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text('k,p,s\n1,1.50,"NA"\n1,,""\n2,2.25,\n')
    job = tmp_path / "job.toml"
    text = (
        '[[table]]\nname = "r"\npath = "r.csv"\ntypes = {p = "decimal128(12, 2)"}\n'
        '[[view]]\nname = "v"\n'
        'sql = "SELECT k, s, SUM(p) AS p, COUNT(*) AS n FROM r GROUP BY k, s"\n'
        '[output]\nv = "v.parquet"\n'
    )
    results = []
    for engine in ("embedded", "spark"):
        job.write_text(f'engine = "{engine}"\n{text}')
        done = CliRunner().invoke(app, ["run", str(job)])
        assert done.exit_code == 0, done.stderr
        results.append(comparable(pq.read_table(tmp_path / "v.parquet")))
    assert results[0] == results[1]
    assert len(results[0]) == 3


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_value_that_cannot_be_cast_ends_a_job(
    spark: SparkSession, tmp_path: Path, ansi: str
) -> None:
    before = str(spark.conf.get("spark.sql.ansi.enabled"))
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    pq.write_table(pa.table({"it's": [7, 300]}), tmp_path / "r.parquet")
    job = tmp_path / "job.toml"
    job.write_text(
        'engine = "spark"\n'
        '[[table]]\nname = "r"\npath = "r.parquet"\ntypes = {"it\'s" = "int8"}\n'
        '[[view]]\nname = "v"\nsql = "SELECT SUM(\\"it\'s\\") AS s FROM r"\n'
    )
    try:
        done = CliRunner().invoke(app, ["run", str(job)])
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert done.exit_code == 1
    assert "no tinyint: 300" in str(done.exception or "") + done.stderr
    assert """table "r": column "it's\"""" in str(done.exception or "") + done.stderr


def test_views_over_views_in_few_shuffles(spark: SparkSession) -> None:
    data = tables(seed=8)
    sql = {
        "spent": "SELECT o.customer, SUM(i.price) AS spent, MAX(i.product) AS last, COUNT(*) AS n "
        "FROM orders o JOIN items i USING (id) GROUP BY o.customer",
        "best": "SELECT c.country, MAX(s.spent) AS best, COUNT(*) AS n FROM spent s "
        "JOIN customers c ON c.customer = s.customer GROUP BY c.country",
        "rare": "SELECT product, COUNT(DISTINCT units) AS u FROM items GROUP BY product "
        "HAVING COUNT(*) < (SELECT AVG(n) FROM spent)",
    }
    found = views(sql, frames(spark, data), partitions=3)
    given = ", ".join(f"{name} AS ({text})" for name, text in sql.items())
    for name, table in found.to_df().items():
        wanted = expected(f"WITH {given} SELECT * FROM {name}", data)
        assert comparable(arrow_table(table)) == wanted, found.explain()
    found.unpersist()
    with pytest.raises(errors.UnknownViewError, match='did you mean "best"'):
        found.to_df("bst")


def test_the_page_prints_what_it_shows(spark: SparkSession) -> None:
    check("docs/spark.md")


def test_what_a_worker_raises_is_raised_as_it_was(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 2), (1, None)], "a long, m long")
    found = evaluate("SELECT SUM(a) AS a FROM sales", {"sales": frame}, multiplicity="m")
    message = "'m' is NULL in a row of table \"sales\""
    with pytest.raises(errors.InvalidValueError, match=message), raising():
        found.collect()
    gone = spark.createDataFrame([(1, -1)], "a long, m long")
    found = evaluate("SELECT SUM(a) AS a FROM sales", {"sales": gone}, multiplicity="m")
    with pytest.raises(errors.OverDeleteError, match="sales"), raising():
        found.collect()


def test_streams_are_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(errors.InvalidValueError, match="is a stream, which has no end"):
        evaluate("SELECT COUNT(*) AS n FROM s", {"s": stream})


@pytest.mark.skipif(release() < (4, 0), reason="texts have no collations there")
def test_texts_with_a_collation_are_refused(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 'a' COLLATE UTF8_LCASE AS t, 1 AS n")
    with pytest.raises(errors.UnknownColumnError) as caught:
        evaluate("SELECT t, COUNT(*) AS n FROM s GROUP BY t", {"s": frame})
    assert "s.t (string collate UTF8_LCASE)" in caught.value.__notes__[0]


def test_columns_may_be_called_as_slots_are(spark: SparkSession) -> None:
    """One table's multiplicities may have the name of another's numbers."""
    t = spark.createDataFrame(
        [(1, 2, 2), (1, 3, 1), (1, 3, -1), (2, 5, 1)], "k long, x long, multiplicity long"
    )
    u = spark.createDataFrame([(1, 10, 7), (2, 20, 8)], "k long, multiplicity long, atom long")
    sql = "SELECT k, SUM(x * u.multiplicity + u.atom) AS s FROM t JOIN u USING (k) GROUP BY k"
    for partitions, rows in ((1, None), (3, {"t": 10**6, "u": 10**6})):
        found = evaluate(
            sql,
            {"t": t, "u": u},
            multiplicity={"t": "multiplicity"},
            partitions=partitions,
            rows=rows,
        )
        assert sorted(map(tuple, found.collect())) == [(1, 54), (2, 108)]
