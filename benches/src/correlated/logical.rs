//! VWAP, MST and PSP as the database takes them.

use ringview_oracle::write::{all, binary, column, compare, query as made, subquery, text};
use ringview_query::Query;
use serde_json::{Value as Json, json};

/// An aggregate of the rows of a table that a condition chooses, as JSON.
fn json_sum(table: &str, condition: Option<Json>) -> Json {
    let mut query = json!({
        "atoms": [{"table": table, "alias": "w"}],
        "outputs": [{"kind": "aggregate", "name": "w", "function": "sum", "argument": column(0, 0, "volume")}],
    });
    if let Some(condition) = condition {
        query["condition"] = condition;
    }
    subquery(&query)
}

fn share(of: &str, table: &str) -> Json {
    binary(&text(of), "*", &json_sum(table, None))
}

/// The sum of the volumes of the rows whose price compares so with that of the row around.
fn up_to(table: &str, how: &str, atom: usize) -> Json {
    let prices = compare(&column(0, 0, "price"), how, &column(1, atom, "price"));
    json_sum(table, Some(prices))
}

/// VWAP, MST and PSP as the database takes them.
pub(super) fn logical() -> Vec<(&'static str, Query)> {
    let plain = |atom: usize, name: &str| column(0, atom, name);
    let revenue = |atom: usize| binary(&plain(atom, "price"), "*", &plain(atom, "volume"));
    let query = |tables: &[&str], argument: Json, condition: Json| {
        let atom = |table: &&str| json!({"table": table, "alias": table});
        made(&json!({
            "atoms": tables.iter().map(atom).collect::<Vec<_>>(),
            "outputs": [{"kind": "aggregate", "name": "s", "function": "sum", "argument": argument}],
            "condition": condition,
        }))
    };
    let both = |left: Json, right: Json| all(&[left, right]);
    let beyond =
        |atom: usize, table: &str| compare(&share("0.25", table), "gt", &up_to(table, "gt", atom));
    let larger = |atom: usize, table: &str| {
        compare(&column(0, atom, "volume"), "gt", &share("0.0001", table))
    };
    let minus = |left: Json, right: Json| binary(&left, "-", &right);
    let tables = ["bids", "asks"];
    let vwap = compare(&share("0.75", "bids"), "lt", &up_to("bids", "le", 0));
    let mst = both(beyond(0, "bids"), beyond(1, "asks"));
    let psp = both(larger(0, "bids"), larger(1, "asks"));
    let spread = minus(plain(1, "price"), plain(0, "price"));
    vec![
        ("VWAP", query(&tables[..1], revenue(0), vwap)),
        ("MST", query(&tables, minus(revenue(1), revenue(0)), mst)),
        ("PSP", query(&tables, spread, psp)),
    ]
}
