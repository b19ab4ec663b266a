"""Functions of rows over random values, beside DuckDB: each value, and which values are refused."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv

SCHEMA = pa.schema(
    {
        "k": pa.int64(),
        "i": pa.int64(),
        "j": pa.int64(),
        "x": pa.float64(),
        "f": pa.float32(),
        "p": pa.decimal128(9, 2),
        "s": pa.string(),
        "u": pa.string(),
        "t": pa.timestamp("us"),
        "v": pa.timestamp("us"),
    }
)
ROWS = 300
FORMATS = [
    "{:d}",
    "{:,}",
    "{:>9}|",
    "{:<9}|",
    "{:^9}|",
    "{:*^9}|",
    "{:05d}",
    "{:+d}",
    "{: d}",
    "{:x}",
    "{:X}",
    "{:#x}",
    "{:o}",
    "{:b}",
    "{{{}}}",
    "{0} {0}",
]
DOUBLES = ["{}", "{:.0f}", "{:.2f}", "{:,.2f}", "{:e}", "{:.3e}", "{:g}", "{:.3g}", "{:10.3f}|"]
DOUBLES += ["{:<10.1f}|", "{:+.1f}", "{:010.2f}", "{:E}", "{:.1}"]
TEXTS = ["{}", "{:s}", "{:>6}|", "{:^6}|", "{:-<6}|", "{:.2}|"]
C_NUMBERS = ["%d", "%5d|", "%-5d|", "%05d", "%+d", "%x", "%X", "%i", "%,d", "%d%%"]
C_DOUBLES = ["%f", "%.2f", "%8.2f|", "%-8.2f|", "%e", "%g", "%.3g", "%08.2f"]
C_TEXTS = ["%s", "%5s|", "%-5s|", "%.1s|"]
L = "[i % 4, j % 3, k % 3, i % 3]"
CALLS = [
    *(f"format('{text}', i)" for text in FORMATS),
    *(f"format('{text}', x)" for text in DOUBLES),
    *(f"format('{text}', s)" for text in TEXTS),
    *(f"printf('{text}', i)" for text in C_NUMBERS),
    *(f"printf('{text}', x)" for text in C_DOUBLES),
    *(f"printf('{text}', s)" for text in C_TEXTS),
    "format('{} {} {}', i, s, j)",
    "format('{1}-{0}', i, s)",
    "format('{:.1f}', p)",
    "format('{}', t)",
    "printf('%s: %d', s, i)",
    *(f"round(x, {places})" for places in (-2, -1, 0, 1, 2, 3, 10, 20)),
    *(f"round(f, {places})" for places in (-1, 0, 1, 2)),
    "round(x / 8, 2)",
    "levenshtein(s, u)",
    "damerau_levenshtein(s, u)",
    "jaro_similarity(s, u)",
    "jaro_winkler_similarity(s, u)",
    "hamming(rpad(s, 4, '.'), rpad(u, 4, '.'))",
    "jaccard(s || 'a', u || 'b')",
    "md5(s)",
    "sha1(s)",
    "sha256(s)",
    "hex(s)",
    "hex(i)",
    "bin(i)",
    "bin(s)",
    "to_base(abs(i), 7)",
    "to_base(abs(j), 36, 5)",
    "bit_count(i)",
    "bit_count(i::TINYINT)",
    "bit_count(abs(j)::UINTEGER)",
    *(
        f"date_sub('{part}', t, v)"
        for part in ("hour", "day", "week", "month", "quarter", "year", "decade")
    ),
    "date_sub('month', t::DATE, v::DATE)",
    "make_timestamp(2000 + abs(i) % 50, 1 + abs(j) % 12, 7, abs(i) % 24, abs(j) % 60, 1.25)",
    "make_timestamp(i * 1000003)",
    "yearweek(t)",
    "julian(t)",
    "julian(t::DATE)",
    "era(t)",
    *(
        f"t + to_{part}(j)"
        for part in ("seconds", "minutes", "hours", "days", "weeks", "months", "years")
    ),
    "ucase(s) || lcase(u)",
    "string_to_array(s, 'a')",
    "regexp_extract_all(s || u, 'a+|b')",
    "regexp_extract_all(s || u, '(a)(b)?', 2)",
    "string_split_regex(s || u, '[ab]')",
    "regexp_split_to_array(s, '')",
    f"list_sum({L})",
    f"list_avg({L})",
    f"list_sort(list_distinct({L}))",
    f"list_unique({L})",
    f"list_aggregate({L}, 'sum')",
    f"list_aggregate({L}, 'max')",
    f"list_contains({L}, 2)",
    f"list_contains({L}, i)",
]


def texts(rng: random.Random) -> str | None:
    if rng.random() < 0.1:
        return None
    return "".join(rng.choice("abécx ") for _ in range(rng.randrange(6)))


def moment(rng: random.Random) -> datetime | None:
    if rng.random() < 0.1:
        return None
    hours = rng.choice((0, 9, 10))
    return datetime(2023, 1, 28) + timedelta(days=rng.randrange(900), hours=hours)


def row(rng: random.Random, key: int) -> dict[str, Any]:
    def sometimes(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    thousandths = rng.randrange(-(10**6), 10**6) / 1000
    single = pa.array([thousandths], pa.float32())[0].as_py()
    return {
        "k": key,
        "i": sometimes(rng.choice((0, 1, -1, 99, 12345, -1234567, rng.randrange(-127, 127)))),
        "j": sometimes(rng.randrange(-30, 30)),
        "x": sometimes(rng.choice((thousandths, rng.uniform(-2, 2), rng.uniform(-1e9, 1e9)))),
        "f": sometimes(single),
        "p": sometimes(pa.scalar(rng.randrange(-999, 999), pa.decimal128(7, 0)).as_py() / 100),
        "s": texts(rng),
        "u": texts(rng),
        "t": moment(rng),
        "v": moment(rng),
    }


@pytest.fixture(scope="module")
def both() -> tuple[rv.Database, duckdb.DuckDBPyConnection]:
    rng = random.Random(7)
    rows = pa.Table.from_pylist([row(rng, key) for key in range(ROWS)], schema=SCHEMA)
    db = rv.Database()
    db.create_table("r", SCHEMA)
    db.insert("r", rows)
    connection = duckdb.connect()
    connection.register("r", rows)
    return db, connection


@pytest.mark.parametrize("call", CALLS)
def test_a_function_gives_what_duckdb_gives(
    both: tuple[rv.Database, duckdb.DuckDBPyConnection], call: str
) -> None:
    db, connection = both
    view = "r WHERE i BETWEEN -128 AND 127" if "TINYINT" in call else "r"
    text = f"SELECT k, {call} AS v FROM {view}"
    found = {row["k"]: row["v"] for row in db.create_view("v", text, create_or_replace=True)}
    expected = dict(connection.sql(text).fetchall())
    assert found.keys() == expected.keys()
    assert [
        (key, found[key], value) for key, value in expected.items() if not alike(found[key], value)
    ] == []


def alike(found: Any, expected: Any) -> bool:
    """Whether values are equal, or doubles but for their last bits."""
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-14) or math.isnan(found + expected)
    return bool(found == expected)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("format('{:d}', s)", "a text is not shown as 'd'"),
        ("format('{:f}', i)", "an integer is not shown as 'f'"),
        ("format('{:s}', x)", "a double is not shown as 's'"),
        ("format('{} {}', i)", "asks for value 2"),
        ("format('{', i)", "ends with '}'"),
        ("format('}', i)", "without '{'"),
        ("printf('%', i)", "is followed by a kind"),
        ("printf('%d', x)", "a double is not shown as 'd'"),
        ("hamming(s, s || 'a')", "of the same length"),
        ("jaccard('', s)", "at least one character"),
        ("to_base(-1 - abs(i), 2)", "numbers from 0 on"),
        ("to_base(abs(i), 1)", "from 2 to 36"),
        ("make_timestamp(2024, 13, 1, 0, 0, 0)", "there is no moment"),
        ("make_timestamp(2024, 1, 1, 24, 1, 0)", "there is no moment"),
        ("regexp_extract_all(s, '(')", "is no regular expression"),
        ("date_sub('fortnight', t, v)", "is no part of a moment"),
    ],
)
def test_a_value_that_is_refused_says_why(
    both: tuple[rv.Database, duckdb.DuckDBPyConnection], call: str, why: str
) -> None:
    db, connection = both
    with pytest.raises(rv.errors.RingviewError, match=why.replace("{", r"\{")):
        db.create_view("w", f"SELECT k, {call} AS v FROM r")
    assert "w" not in db
    with pytest.raises(duckdb.Error):
        connection.sql(f"SELECT k, {call} AS v FROM r").fetchall()
