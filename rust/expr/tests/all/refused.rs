//! Texts that are no expressions, and rows that cannot be computed.

use std::sync::Arc;

use arrow_array::{Int64Array, StringArray};
use ringview_core::{Error, Field, Schema, Type};
use ringview_expr::Projection;

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("x", Type::Int64, true),
        Field::new("t", Type::Utf8, true),
    ])
    .unwrap()
}

fn problem(text: &str) -> Error {
    Projection::read(None, &[text], &schema()).unwrap_err()
}

#[test]
fn what_is_no_expression_is_refused() {
    assert!(matches!(problem("\"y\" + 1"), Error::UnknownColumn { column, .. } if column == "y"));
    assert!(problem("frob(\"x\")").to_string().contains("frob"));
    assert!(problem("\"x\" +").to_string().contains("the expression"));
    // Neither a clock nor a die is a function of the row.
    assert!(problem("now()").to_string().contains("now"));
    assert!(problem("random()").to_string().contains("random"));
    assert!(problem("(SELECT 1)").to_string().contains("row expression"));
    let interval = problem("TIMESTAMP '2024-01-02' - TIMESTAMP '2024-01-01'");
    assert!(matches!(interval, Error::Unsupported { .. }), "{interval}");
    let filter = Projection::read(Some("DATE '2024-01-01'"), &["1"], &schema()).unwrap_err();
    assert!(matches!(filter, Error::Type { .. }), "{filter}");
}

#[test]
fn a_row_that_cannot_be_computed_is_an_error() {
    let one = |text: &str, x: i64, t: &str| {
        let of = Projection::read(None, &[text], &schema()).unwrap();
        let all: [arrow_array::ArrayRef; 2] = [
            Arc::new(Int64Array::from(vec![x])),
            Arc::new(StringArray::from(vec![t])),
        ];
        let inputs = of.inputs().iter().map(|&at| Arc::clone(&all[at]));
        of.evaluate(inputs.collect(), 1).unwrap_err()
    };
    assert!(matches!(
        one("\"x\" + 1", i64::MAX, ""),
        Error::Overflow { .. }
    ));
    assert!(matches!(
        one("\"x\" * 2", i64::MIN, ""),
        Error::Overflow { .. }
    ));
    let divided = one("1 // \"x\"", 0, "");
    assert!(divided.to_string().contains("Divide by zero"), "{divided}");
    let cast = one("CAST(\"t\" AS INTEGER)", 0, "many");
    assert!(cast.to_string().contains("many"), "{cast}");
}

#[test]
fn a_text_that_is_too_deep_is_refused() {
    // A thread of Python has as much.
    let thread = std::thread::Builder::new().stack_size(8 << 20);
    let read = thread.spawn(|| {
        let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(matches!(problem(&deep), Error::Value { .. }));
    });
    read.unwrap().join().unwrap();
}
