//! Costs of changes, counted in steps.
use ringview_engine::{Direction, Op};
use ringview_oracle::Row;
use ringview_oracle::arrow::to_arrow;
use serde_json::{Value as Json, json};

use crate::correlated::cases::{row, vwap};
use crate::correlated::follow::{apply, database, parsed};
use crate::correlated::grammar::{Random, atoms, column, compare, decimal, within};
use crate::correlated::{COLUMNS, TABLES};

/// Steps of the dearest of some changes once so many rows are there, whose `v` is one of so many.
pub(crate) fn dearest(query: &Json, rows: i64, spread: usize) -> u64 {
    let mut db = database(false);
    let mut random = Random::new(3);
    let mut any = || {
        row(
            1 + random.below(spread) as i64,
            random.below(1 << 40) as i64,
        )
    };
    for table in TABLES {
        let all: Vec<Row> = (0..rows / 2).map(|_| any()).collect();
        let batch = to_arrow(&COLUMNS, &all, None);
        let op = Op {
            table,
            direction: Direction::Insert,
            rows: std::slice::from_ref(&batch),
            multiplicity: None,
        };
        db.apply(&[op], &mut |_| Ok(())).unwrap();
    }
    db.create_view("q", &parsed(query), &mut |_| Ok(()))
        .unwrap();
    let steps = (0..60).map(|at| {
        let before = db.view_steps("q").unwrap();
        apply(&mut db, &vec![(at % 2, any(), 1)]).unwrap();
        db.view_steps("q").unwrap() - before
    });
    steps.max().unwrap_or(0)
}

#[test]
fn steps_grow_as_the_logarithm() {
    let (small, large) = (
        dearest(&vwap("r"), 1_000, 50),
        dearest(&vwap("r"), 100_000, 50),
    );
    assert!(large <= small + 24, "{small}, {large}");
}

/// Orders whose lines sum up to more than 8, with what they join: `t` is a customer, `o` an order, `l` a line.
pub(crate) fn large_orders() -> Json {
    let order = compare(&column(0, 0, "v"), "eq", &column(1, 1, "v"));
    json!({
        "atoms": atoms(&["r", "s", "s"]),
        "joins": [[{"atom": 0, "column": "p"}, {"atom": 1, "column": "p"}],
                  [{"atom": 1, "column": "v"}, {"atom": 2, "column": "v"}]],
        "group_by": [{"atom": 0, "column": "p"}, {"atom": 1, "column": "v"}],
        "outputs": [{"kind": "group", "name": "p", "column": {"atom": 0, "column": "p"}},
                    {"kind": "aggregate", "name": "t", "function": "count"}],
        "condition": compare(&decimal("2.5"), "lt", &within("s", "count", None, Some(order))),
    })
}

#[test]
fn a_row_reaches_the_combinations_of_its_keys_alone() {
    let steps = |rows: i64| dearest(&large_orders(), rows, rows as usize / 4);
    let (small, large) = (steps(1_000), steps(16_000));
    assert!(large <= small + 20, "{small}, {large}");
}
