//! The values of constant expressions, as DuckDB 2.0 gives them, written as texts.

use arrow_array::cast::AsArray;
use arrow_array::{Array, Date32Array, Int64Array};
use ringview_core::{Field, Schema, Type};
use ringview_expr::Projection;
use std::sync::Arc;

const NULL: &str = "NULL";

const VALUES: &[(&str, &str)] = &[
    // `/` is a double, `//` an integer.
    ("7 / 2", "3.5"),
    ("1.5 / 2", "0.75"),
    ("1 / 0", "inf"),
    ("7 // 2", "3"),
    ("-7 // 2", "-3"),
    ("-7 % 3", "-1"),
    ("2 ^ 3", "8.0"),
    ("1.5 * 2.25", "3.375"),
    ("0.1 + 0.2", "0.3"),
    // Casts to integers round: doubles to the even one, decimals away from zero.
    ("CAST(2.5 AS INT)", "3"),
    ("CAST(-2.5 AS INT)", "-3"),
    ("CAST(2.5::DOUBLE AS INT)", "2"),
    ("CAST(3.5::DOUBLE AS INT)", "4"),
    ("TRY_CAST('x' AS INT)", NULL),
    ("CAST(true AS INT)", "1"),
    ("round(2.345, 2)", "2.35"),
    ("round(-2.5)", "-3"),
    ("round(1234.5::DOUBLE, -2)", "1200.0"),
    ("sign(-2.5)", "-1"),
    // LIKE has no escape but the one that is written; NaN is greater than all numbers, and there is one zero.
    (r"'a\b' LIKE 'a\b'", "true"),
    ("'a%' LIKE 'a!%' ESCAPE '!'", "true"),
    ("'ab' NOT LIKE 'a!%' ESCAPE '!'", "true"),
    ("'ΟΔΟΣ' ILIKE 'οδος'", "true"),
    ("CAST('nan' AS DOUBLE) > CAST('inf' AS DOUBLE)", "true"),
    ("CAST('-0.0' AS DOUBLE) = 0", "true"),
    // Dates.
    ("DATE '2024-03-05' - DATE '2024-03-01'", "4"),
    ("DATE '2024-03-05' + 3", "2024-03-08"),
    ("3 + DATE '2024-03-05'", "2024-03-08"),
    (
        "CAST(DATE '2024-01-31' + INTERVAL 1 MONTH AS DATE)",
        "2024-02-29",
    ),
    (
        "CAST(date_trunc('month', DATE '2024-03-05') AS DATE)",
        "2024-03-01",
    ),
    ("year(DATE '2024-03-05')", "2024"),
    ("extract(dow FROM DATE '2024-03-03')", "0"),
    ("isodow(DATE '2024-12-29')", "7"),
    ("weekofyear(DATE '2024-12-30')", "1"),
    ("quarter(DATE '2024-12-30')", "4"),
    ("last_day(DATE '2024-02-05')", "2024-02-29"),
    (
        "date_diff('month', DATE '2024-01-31', DATE '2024-03-01')",
        "2",
    ),
    (
        "date_diff('week', DATE '2024-03-03', DATE '2024-03-11')",
        "1",
    ),
    (
        "date_diff('day', DATE '2024-03-05', DATE '2024-02-29')",
        "-5",
    ),
    (
        "time_bucket(INTERVAL '7 days', DATE '2024-02-08')",
        "2024-02-05",
    ),
    ("strftime(DATE '2024-03-05', '%Y-%m')", "2024-03"),
    ("monthname(DATE '2024-03-05')", "March"),
    // Texts.
    ("'a' || 1", "a1"),
    ("'a' || NULL", NULL),
    ("concat('a', NULL, 'b')", "ab"),
    ("length('abc')", "3"),
    ("substring('hello', 2, 3)", "ell"),
    ("left('hello', -2)", "hel"),
    ("split_part('a,b,c', ',', 2)", "b"),
    ("regexp_matches('abc', 'b.')", "true"),
    ("regexp_replace('abcabc', 'b', 'X')", "aXcabc"),
    ("'Abc' ILIKE 'a%'", "true"),
    // NULL.
    ("greatest(1, NULL, 3)", "3"),
    ("coalesce(NULL, 2)", "2"),
    ("nullif(1, 1)", NULL),
    ("if(1 > 0, 'a', 'b')", "a"),
    ("ifnull(NULL, 3)", "3"),
    ("CASE WHEN NULL THEN 1 ELSE 2 END", "2"),
    ("NULL IN (1, 2)", NULL),
    ("1 NOT IN (2, NULL)", NULL),
];

#[test]
fn values_are_those_of_duckdb() {
    let none = Schema::new(vec![]).unwrap();
    for (text, expected) in VALUES {
        let shown = format!("CAST({text} AS VARCHAR)");
        let of = Projection::read(None, &[&shown], &none).unwrap_or_else(|e| panic!("{text}: {e}"));
        let made = of
            .evaluate(vec![], 1)
            .unwrap_or_else(|e| panic!("{text}: {e}"));
        let column = made.columns[0].as_string::<i32>();
        let found = if column.is_null(0) {
            NULL
        } else {
            column.value(0)
        };
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn types_are_those_of_a_column() {
    let none = Schema::new(vec![]).unwrap();
    for (text, expected) in [
        ("1 / 2", Type::Float64),
        ("length('a')", Type::Int64),
        (
            "DATE '2024-01-01' + INTERVAL 1 DAY",
            "timestamp[us]".parse().unwrap(),
        ),
        (
            "round(1.25, 1)",
            Type::Decimal {
                precision: 3,
                scale: 1,
            },
        ),
        ("NULL", Type::Int32),
        ("1e3", Type::Float64),
    ] {
        let of = Projection::read(None, &[text], &none).unwrap();
        assert_eq!(of.types(), [expected], "{text}");
    }
}

#[test]
fn a_filter_passes_what_is_true_and_only_what_is_read_is_asked_for() {
    let schema = Schema::new(vec![
        Field::new("unread", Type::Utf8, true),
        Field::new("day", Type::Date32, true),
        Field::new("units", Type::Int64, true),
    ])
    .unwrap();
    let of = Projection::read(
        Some("\"units\" > 1"),
        &["\"day\" + 1", "\"units\" * 2"],
        &schema,
    )
    .unwrap();
    assert_eq!(of.inputs(), [1, 2]);
    let days = Arc::new(Date32Array::from(vec![Some(0), None, Some(2)]));
    let units = Arc::new(Int64Array::from(vec![Some(1), Some(2), None]));
    let made = of.evaluate(vec![days, units], 3).unwrap();
    let passes: Vec<bool> = made.passes.unwrap().values().iter().collect();
    assert_eq!(passes, [false, true, false]);
    assert_eq!(made.columns[0].len(), 1);
    assert!(made.columns[0].is_null(0));
}
