//! Conditions with queries within, by hand: what the oracle says of queries whose results one can
//! see.

use ringview_core::Type;
use ringview_oracle::{Row, Table, Tables, Value, evaluate, ints};
use ringview_query::Query;

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

fn query(table: &str, output: &str, condition: &str) -> Query {
    let condition = match condition {
        "" => String::new(),
        condition => format!(r#", "condition": {condition}"#),
    };
    let atoms = format!(r#"[{{"table": "{table}", "alias": "t"}}]"#);
    let text = format!(
        r#"{{"atoms": {atoms}, "outputs": [{{"kind": "aggregate", "name": "s", {output}}}]{condition}}}"#
    );
    Query::from_json(&text).unwrap()
}

const COUNT: &str = r#""function": "count""#;
const SUM: &str =
    r#""function": "sum", "argument": {"op": "column", "atom": 0, "column": "volume"}"#;

fn within(table: &str, output: &str, condition: &str) -> String {
    let query = query(table, output, condition).to_json().unwrap();
    format!(r#"{{"op": "query", "query": {query}}}"#)
}

fn column(depth: usize, name: &str) -> String {
    format!(r#"{{"op": "column", "depth": {depth}, "atom": 0, "column": "{name}"}}"#)
}

fn int(value: i64) -> String {
    format!(r#"{{"op": "literal", "value": {{"type": "int", "value": {value}}}}}"#)
}

fn compare(left: &str, comparison: &str, right: &str) -> String {
    format!(
        r#"{{"op": "compare", "comparison": "{comparison}", "left": {left}, "right": {right}}}"#
    )
}

fn count(condition: &str) -> Value {
    let rows = evaluate(&query("bids", COUNT, condition), &bids());
    assert_eq!(rows.len(), 1);
    rows[0][0].clone()
}

#[test]
fn the_upper_half_of_the_volume_stands_at_two_prices() {
    // 12 in all; up to 10, 20, 25 and 30 stand 3, 4, 4 and 12.
    let total = within("bids", SUM, "");
    let half = format!(
        r#"{{"op": "divide", "left": {total}, "right": {}}}"#,
        int(2)
    );
    let below = compare(&column(0, "price"), "le", &column(1, "price"));
    let below = within("bids", SUM, &below);
    assert_eq!(count(&compare(&half, "lt", &below)), Value::Int(2));
    assert_eq!(count(&compare(&half, "ge", &below)), Value::Int(3));
    assert_eq!(count(&compare(&below, "eq", &int(4))), Value::Int(2));
}

#[test]
fn over_nothing_a_sum_is_unknown_and_a_count_is_zero() {
    let same = compare(&column(0, "price"), "eq", &column(1, "volume"));
    let sum = r#""function": "sum", "argument": {"op": "column", "atom": 0, "column": "price"}"#;
    let sum = within("none", sum, &same);
    assert_eq!(count(&compare(&sum, "le", &int(0))), Value::Int(0));
    assert_eq!(count(&compare(&sum, "gt", &int(0))), Value::Int(0));
    let is_null = format!(r#"{{"op": "is_null", "operand": {sum}}}"#);
    assert_eq!(count(&is_null), Value::Int(5));
    assert_eq!(
        count(&compare(&within("none", COUNT, &same), "eq", &int(0))),
        Value::Int(5)
    );
}

#[test]
fn a_query_sees_all_around_it() {
    // Bids so that as many others are above as the volume says, of which the innermost sees two
    // out.
    let above = compare(&column(0, "price"), "gt", &column(2, "price"));
    let deepest = within("bids", COUNT, &above);
    let middle = compare(&deepest, "eq", &column(1, "volume"));
    let chosen = compare(&within("bids", COUNT, &middle), "gt", &int(0));
    // Above 10 stand four, above 20 three, above 25 two, above 30 none.
    assert_eq!(count(&chosen), Value::Int(0));
    let fewer = compare(&deepest, "ge", &column(1, "volume"));
    assert_eq!(
        count(&compare(&within("bids", COUNT, &fewer), "gt", &int(0))),
        Value::Int(2)
    );
}
