//! Conditions with queries within, by hand: what the oracle says of queries whose results one can
//! see.

use ringview_core::Type;
use ringview_oracle::write::{binary, column, compare, is_null, query as made, subquery, text};
use ringview_oracle::{Row, Table, Tables, Value, evaluate, ints};
use serde_json::{Value as Json, json};

/// `bids(price, volume)`: 10 at 3, 20 at 1, 30 twice at 4, and one of which the volume is not
/// known.
fn bids() -> Tables {
    let mut table = Table::new(&[("price", Type::Int64), ("volume", Type::Int64)]);
    let unknown: Row = vec![Value::Int(25), Value::Null];
    let rows = [
        (ints(&[10, 3]), 1),
        (ints(&[20, 1]), 1),
        (ints(&[30, 4]), 2),
        (unknown, 1),
    ];
    assert!(table.add(&rows));
    Tables::default()
        .with("bids", table)
        .with("none", Table::new(&[("price", Type::Int64)]))
}

fn query(table: &str, output: &Json, condition: Option<&Json>) -> Json {
    let mut query = json!({"atoms": [{"table": table, "alias": "t"}], "outputs": [output]});
    if let Some(condition) = condition {
        query["condition"] = condition.clone();
    }
    query
}

fn rows() -> Json {
    json!({"kind": "aggregate", "name": "s", "function": "count"})
}

fn sum(name: &str) -> Json {
    json!({"kind": "aggregate", "name": "s", "function": "sum", "argument": own(name)})
}

fn within(table: &str, output: &Json, condition: Option<&Json>) -> Json {
    subquery(&query(table, output, condition))
}

fn own(name: &str) -> Json {
    column(0, 0, name)
}

fn around(depth: usize, name: &str) -> Json {
    column(depth, 0, name)
}

fn int(value: i64) -> Json {
    text(&value.to_string())
}

fn count(condition: &Json) -> Value {
    let rows = evaluate(&made(&query("bids", &rows(), Some(condition))), &bids());
    assert_eq!(rows.len(), 1);
    rows[0][0].clone()
}

#[test]
fn the_upper_half_of_the_volume_stands_at_two_prices() {
    // The volume is 12 in all; up to the prices 10, 20, 25 and 30 it is 3, 4, 4 and 12.
    let total = within("bids", &sum("volume"), None);
    let half = binary(&total, "/", &int(2));
    let below = compare(&own("price"), "le", &around(1, "price"));
    let below = within("bids", &sum("volume"), Some(&below));
    assert_eq!(count(&compare(&half, "lt", &below)), Value::Int(2));
    assert_eq!(count(&compare(&half, "ge", &below)), Value::Int(3));
    assert_eq!(count(&compare(&below, "eq", &int(4))), Value::Int(2));
}

#[test]
fn over_nothing_a_sum_is_unknown_and_a_count_is_zero() {
    let same = compare(&own("price"), "eq", &around(1, "volume"));
    let sum = within("none", &sum("price"), Some(&same));
    assert_eq!(count(&compare(&sum, "le", &int(0))), Value::Int(0));
    assert_eq!(count(&compare(&sum, "gt", &int(0))), Value::Int(0));
    assert_eq!(count(&is_null(&sum)), Value::Int(5));
    assert_eq!(
        count(&compare(
            &within("none", &rows(), Some(&same)),
            "eq",
            &int(0)
        )),
        Value::Int(5)
    );
}

#[test]
fn a_query_sees_all_around_it() {
    // Bids so that as many others are above as the volume says, of which the innermost sees two
    // out.
    let above = compare(&own("price"), "gt", &around(2, "price"));
    let deepest = within("bids", &rows(), Some(&above));
    let middle = compare(&deepest, "eq", &around(1, "volume"));
    let chosen = compare(&within("bids", &rows(), Some(&middle)), "gt", &int(0));
    // Four bids are above 10, three above 20, two above 25, none above 30.
    assert_eq!(count(&chosen), Value::Int(0));
    let fewer = compare(&deepest, "ge", &around(1, "volume"));
    assert_eq!(
        count(&compare(
            &within("bids", &rows(), Some(&fewer)),
            "gt",
            &int(0)
        )),
        Value::Int(2)
    );
}
