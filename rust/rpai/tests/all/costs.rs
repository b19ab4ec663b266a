//! Cost of a change, its result read, counted in steps: the queries of the paper's table 1.

use ringview_core::{Batch, Column as Words, Type};
use ringview_rpai::machine::{
    Aggregate, Block, ColumnType, Comparison, Condition, Machine, Plan, Quantity, Value,
};

use crate::common::queries::{self, book, ints};
use crate::random::Random;

/// Many rows at once, of the columns that `row` gives.
pub(crate) fn many(rows: i64, width: usize, mut row: impl FnMut() -> Vec<i64>) -> Batch {
    let mut columns = vec![Vec::new(); width];
    for _ in 0..rows {
        for (column, value) in columns.iter_mut().zip(row()) {
            column.push(value as u64);
        }
    }
    let mut batch = Batch::new();
    batch.rows = rows as usize;
    let column = |words| {
        let (high, valid) = (Vec::new(), None);
        Some(Words { words, high, valid })
    };
    batch.columns = columns.into_iter().map(column).collect();
    batch
}

/// Steps of the dearest of some changes of one row, the result read after each, once each table has
/// so many rows.
pub(crate) fn dearest(plan: Plan, rows: i64, row: &mut dyn FnMut(usize, i64) -> Vec<i64>) -> u64 {
    let tables = plan.widths();
    let mut machine = Machine::new(plan);
    for (table, &width) in tables.iter().enumerate() {
        let all = many(rows, width, || row(table, rows));
        machine.apply(table, &all, 1).expect("fits");
    }
    machine.result().expect("fits");
    machine.commit();
    let some: Vec<(usize, Batch)> = (0..60)
        .map(|at| {
            let table = at % tables.len();
            (table, many(1, tables[table], || row(table, rows)))
        })
        .collect();
    let mut most = 0;
    for sign in [1, -1] {
        for (table, one) in &some {
            let before = machine.steps();
            machine.apply(*table, one, sign).expect("fits");
            machine.result().expect("fits");
            most = most.max(machine.steps().saturating_sub(before));
            machine.commit();
        }
    }
    most
}

/// A query by its name, and what a change of one row is to cost.
pub(crate) type Costed = (&'static str, Plan, fn(i64) -> f64);

/// The queries of the paper's table 1.
pub(crate) fn table_1() -> Vec<Costed> {
    let logarithm = |rows: i64| (rows as f64).log2();
    let mut all: Vec<Costed> = Vec::new();
    for (name, block, optimised) in queries::all() {
        let cost = match (optimised, name) {
            (true, _) => logarithm,
            _ => |rows: i64| rows as f64 * (rows as f64).log2(),
        };
        all.push((name, book(block), cost));
    }
    all.push((
        "Q17",
        Plan::new(vec![ints(3), ints(2)], queries::q17()),
        logarithm,
    ));
    let columns = vec![ints(1), ints(2), ints(2)];
    all.push(("Q18", Plan::new(columns, queries::q18()), |_| 1.0));
    all
}

/// A row of a table of a query, of so many.
pub(crate) fn row_of(random: &mut Random, name: &str, table: usize, rows: i64) -> Vec<i64> {
    // Some lines of a part, or of an order, as in TPC-H.
    let (rows, keys) = (rows as usize, rows as usize / 4);
    let mut below = |bound: usize| random.below(bound) as i64;
    match (name, table) {
        // Half of all lines are of one part.
        ("Q17", 0) => vec![below(2) * below(keys), below(rows), 1],
        ("Q17", _) => vec![below(keys), 3],
        ("Q18", 0) => vec![below(keys)],
        ("Q18", 1) => vec![below(keys), below(keys)],
        ("Q18", _) => vec![below(keys), 1 + below(9)],
        _ => {
            let price = below(rows);
            vec![1 + price % 50, price]
        }
    }
}

/// Over sizes, and over those of queries that have a machine a key, and of those that no index
/// keeps.
pub(crate) fn grows(sizes: &[i64], by_key: &[i64], slow: &[i64]) {
    for (name, plan, cost) in table_1() {
        let sizes = match name {
            "SQ1" | "NQ2" => slow,
            "Q17" | "Q18" => by_key,
            _ => sizes,
        };
        let mut random = Random(7);
        let steps: Vec<f64> = (sizes.iter())
            .map(|&rows| {
                let mut row = |table, rows| row_of(&mut random, name, table, rows);
                dearest(plan.clone(), rows, &mut row) as f64
            })
            .collect();
        let last = sizes.len() - 1;
        let bound = 1.6 * (steps[0] + 8.0) * cost(sizes[last]) / cost(sizes[0]) + 24.0;
        assert!(steps[last] <= bound, "{name}: {steps:?}, at most {bound}");
    }
}

#[test]
fn steps_grow_as_the_paper_says() {
    grows(&[1_000, 20_000], &[1_000, 20_000], &[100, 400]);
}

/// The same where volumes and prices are doubles with digits behind the point.
#[test]
fn steps_grow_as_the_paper_says_with_doubles() {
    let column = ColumnType {
        ty: Type::Float64,
        nullable: false,
    };
    let columns = vec![column; 2];
    for (name, block, _) in queries::all().into_iter().filter(|(.., kept)| *kept) {
        let plan = Plan::new(vec![columns.clone(), columns.clone()], block);
        let mut random = Random(11);
        let [few, many] = [1_000, 20_000].map(|rows| {
            let mut row = |table, rows| {
                let row = row_of(&mut random, name, table, rows);
                let tenths = row.into_iter().map(|value| value as f64 * 0.1);
                tenths.map(|value| value.to_bits() as i64).collect()
            };
            dearest(plan.clone(), rows, &mut row) as f64
        });
        let bound = 1.6 * (few + 8.0) * 20_000f64.log2() / 1_000f64.log2() + 24.0;
        assert!(many <= bound, "{name}: {few} and {many}, at most {bound}");
    }
}

/// Rows compared with the greatest value of their table, which no index of sums maintains.
#[test]
fn steps_grow_as_the_logarithm_with_a_maximum() {
    let price = || queries::column(0, 0, 1);
    let most = Block::new(
        vec![0],
        Condition::And(Vec::new()),
        vec![Aggregate::Max(price())],
    );
    let share = queries::times(queries::decimal(9_000), Value::Block(Box::new(most)));
    let block = Block::new(
        vec![0],
        Condition::And(vec![queries::compare(share, Comparison::Lt, price())]),
        vec![Aggregate::Count],
    );
    let mut random = Random(17);
    let [few, many] = [1_000, 20_000].map(|rows| {
        let plan = Plan::new(vec![ints(2)], block.clone());
        let mut row = |table, rows| row_of(&mut random, "VWAP", table, rows);
        dearest(plan, rows, &mut row) as f64
    });
    let bound = 1.6 * (few + 8.0) * 20_000f64.log2() / 1_000f64.log2() + 24.0;
    assert!(many <= bound, "{few} and {many}, at most {bound}");
}

#[test]
#[ignore = "ten million rows of each table"]
fn steps_grow_as_the_paper_says_to_ten_million() {
    // Ten million rows of each table take a while.
    let by_key = [1_000, 100_000, 1_000_000];
    grows(
        &[1_000, 1_000_000, 10_000_000],
        &by_key,
        &[100, 1_000, 4_000],
    );
}

/// Steps of changes of the bids, the result read after each, beside a number of rows of `asks`.
fn beside(block: Block, asks: i64) -> u64 {
    let mut machine = Machine::new(book(block));
    for (table, rows) in [(0, 500), (1, asks)] {
        let mut random = Random(11);
        let all = many(rows, 2, || row_of(&mut random, "", table, 1_000));
        machine.apply(table, &all, 1).expect("fits");
    }
    machine.result().expect("fits");
    machine.commit();
    let (mut random, before) = (Random(13), machine.steps());
    for _ in 0..50 {
        let one = many(1, 2, || row_of(&mut random, "", 0, 1_000));
        machine.apply(0, &one, 1).expect("fits");
        machine.result().expect("fits");
        machine.commit();
    }
    machine.steps() - before
}

/// The sums of `asks` are not recomputed, for any number of its rows.
#[test]
fn rows_of_one_side_leave_the_other_alone() {
    for block in [queries::mst(), queries::psp()] {
        assert_eq!(beside(block.clone(), 50), beside(block, 20_000));
    }
}

/// Bytes a key of Q17 by the machine's own count, each key with ten different rows.
fn bytes_a_key(keys: i64) -> usize {
    let mut machine = Machine::new(Plan::new(vec![ints(3), ints(2)], queries::q17()));
    let mut key = -1;
    let parts = many(keys, 2, || {
        key += 1;
        vec![key, 3]
    });
    machine.apply(1, &parts, 1).expect("fits");
    let mut line = -1;
    let lines = many(10 * keys, 3, || {
        line += 1;
        vec![line % keys, 1 + line % 50, 90_000 + line]
    });
    machine.apply(0, &lines, 1).expect("fits");
    machine.result().expect("fits");
    machine.commit();
    machine.memory_usage() / keys as usize
}

#[test]
fn a_key_of_ten_rows_takes_less_than_200_bytes() {
    for keys in [3_000, 5_000, 20_000] {
        let bytes = bytes_a_key(keys);
        assert!(bytes < 200, "{bytes} bytes a key of {keys}");
    }
}

/// The same of Q18: an order of ten lines, each with its quantity; no order is large enough to be
/// shown.
#[test]
fn an_order_of_ten_lines_takes_less_than_300_bytes() {
    let orders = 20_000;
    let mut block = queries::q18();
    if let Condition::And(all) = &mut block.condition
        && let Condition::Compare(least, ..) = &mut all[2]
    {
        *least = Value::Constant(Quantity::int(1_000));
    }
    let columns = vec![ints(1), ints(2), ints(2)];
    let mut machine = Machine::new(Plan::new(columns, block));
    let numbered = |rows: i64, width: usize, row: &dyn Fn(i64) -> Vec<i64>| {
        let mut at = -1;
        many(rows, width, || {
            at += 1;
            row(at)
        })
    };
    let tables = [
        numbered(orders / 4, 1, &|at| vec![at]),
        numbered(orders, 2, &|at| vec![at, at % (orders / 4)]),
        numbered(10 * orders, 2, &|at| vec![at / 10, 1 + at % 10]),
    ];
    for (table, rows) in tables.iter().enumerate() {
        machine.apply(table, rows, 1).expect("fits");
    }
    machine.result().expect("fits");
    machine.commit();
    // The memory of a large transaction is freed with the next small one.
    let customer = many(1, 1, || vec![orders]);
    for sign in [1, -1] {
        for table in 0..3 {
            let row = many(1, 2, || vec![orders, orders]);
            let row = if table == 0 { &customer } else { &row };
            machine.apply(table, row, sign).expect("fits");
        }
        machine.result().expect("fits");
        machine.commit();
    }
    let bytes = machine.memory_usage() / orders as usize;
    assert!(bytes < 300, "{bytes} bytes an order");
}
