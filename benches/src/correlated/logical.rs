//! VWAP, MST and PSP as the database takes them.

use serde_json::{Value as Json, json};

/// A column of a query so many further out, and an aggregate of those within, as JSON.
fn json_column(depth: usize, atom: usize, name: &str) -> Json {
    json!({"op": "column", "depth": depth, "atom": atom, "column": name})
}

fn json_sum(table: &str, condition: Option<Json>) -> Json {
    let argument = json!({"op": "column", "atom": 0, "column": "volume"});
    let mut query = json!({
        "atoms": [{"table": table, "alias": "w"}],
        "outputs": [{"kind": "aggregate", "name": "w", "function": "sum", "argument": argument}],
    });
    if let Some(condition) = condition {
        query["condition"] = condition;
    }
    json!({"op": "query", "query": query})
}

fn share(of: &str, table: &str) -> Json {
    let share = json!({"op": "literal", "value": {"type": "decimal", "value": of}});
    json!({"op": "multiply", "left": share, "right": json_sum(table, None)})
}

fn against(left: &Json, how: &str, right: &Json) -> Json {
    json!({"op": "compare", "comparison": how, "left": left, "right": right})
}

/// The sum of the volumes of the rows whose price compares so with that of the row around.
fn up_to(table: &str, how: &str, atom: usize) -> Json {
    let prices = against(
        &json_column(0, 0, "price"),
        how,
        &json_column(1, atom, "price"),
    );
    json_sum(table, Some(prices))
}

/// VWAP, MST and PSP as the database takes them.
pub(super) fn logical() -> Vec<(&'static str, Json)> {
    let plain = |atom: usize, name: &str| json!({"op": "column", "atom": atom, "column": name});
    let revenue = |atom: usize| json!({"op": "multiply", "left": plain(atom, "price"), "right": plain(atom, "volume")});
    let query = |tables: &[&str], argument: Json, condition: Json| {
        let atom = |table: &&str| json!({"table": table, "alias": table});
        json!({
            "atoms": tables.iter().map(atom).collect::<Vec<_>>(),
            "outputs": [{"kind": "aggregate", "name": "s", "function": "sum", "argument": argument}],
            "condition": condition,
        })
    };
    let both = |left: Json, right: Json| json!({"op": "and", "operands": [left, right]});
    let beyond =
        |atom: usize, table: &str| against(&share("0.25", table), "gt", &up_to(table, "gt", atom));
    let larger = |atom: usize, table: &str| {
        against(
            &json_column(0, atom, "volume"),
            "gt",
            &share("0.0001", table),
        )
    };
    let minus = |left: Json, right: Json| json!({"op": "subtract", "left": left, "right": right});
    let tables = ["bids", "asks"];
    let vwap = against(&share("0.75", "bids"), "lt", &up_to("bids", "le", 0));
    let mst = both(beyond(0, "bids"), beyond(1, "asks"));
    let psp = both(larger(0, "bids"), larger(1, "asks"));
    let spread = minus(plain(1, "price"), plain(0, "price"));
    vec![
        ("VWAP", query(&tables[..1], revenue(0), vwap)),
        ("MST", query(&tables, minus(revenue(1), revenue(0)), mst)),
        ("PSP", query(&tables, spread, psp)),
    ]
}
