//! Numbers that few have: integers beyond 2^53, of which several equal one double.

use ringview_core::{Batch, Column as Words, Type};
use ringview_rpai::machine::{
    Aggregate, Block, Cell, ColumnType, Comparison, Condition, Machine, Plan, Quantity, Value,
};

use crate::common::queries::{column, compare, ints, sum_where};

use Comparison::{Eq, Lt};

/// The least double that two integers equal.
const GREAT: i64 = 1 << 53;

fn take(machine: &mut Machine, table: usize, row: [u64; 2], times: i64) {
    let mut batch = Batch::new();
    batch.rows = 1;
    let column = |&word: &u64| {
        let (high, valid) = (Vec::new(), None);
        let words = vec![word];
        Some(Words { words, high, valid })
    };
    batch.columns = row.iter().map(column).collect();
    machine.apply(table, &batch, times).expect("fits");
    machine.result().expect("fits");
    machine.commit();
}

/// The tables (double, integer) and (integer, integer).
fn plan(block: Block) -> Plan {
    let real = ColumnType {
        ty: Type::Float64,
        nullable: false,
    };
    Plan::new(vec![vec![real, ints(1)[0].clone()], ints(2)], block)
}

fn number(units: i128) -> Value {
    Value::Constant(Quantity::int(units))
}

/// The result over rows of both tables, in either order, and after one of the second has left.
fn results(block: &Block) -> Vec<Cell> {
    let reals = [GREAT, GREAT + 4, 5].map(|at| [(at as f64).to_bits(), 100 + at as u64 % 64]);
    let integers = [
        (GREAT, 1),
        (GREAT + 1, 2),
        (GREAT + 2, 4),
        (GREAT + 3, 8),
        (5, 16),
    ];
    let integers = integers.map(|(key, value)| [key as u64, value]);
    let mut found = Vec::new();
    for make in [Machine::new, Machine::general] {
        for first in [0, 1] {
            let mut machine = make(plan(block.clone()));
            for table in [first, 1 - first] {
                match table {
                    0 => reals.iter().for_each(|row| take(&mut machine, 0, *row, 1)),
                    _ => integers
                        .iter()
                        .for_each(|row| take(&mut machine, 1, *row, 1)),
                }
            }
            found.push(machine.scalar().expect("fits"));
            take(&mut machine, 1, integers[1], -1);
            found.push(machine.scalar().expect("fits"));
        }
    }
    found
}

fn check(block: &Block, whole: i128, without: i128) {
    let expected = [whole, without].map(|units| Cell(Some(Quantity::int(units))));
    assert_eq!(results(block), expected.repeat(4), "{block:?}");
}

#[test]
fn several_integers_equal_a_double() {
    let equal = |depth| compare(column(0, 0, 0), Eq, column(depth, 0, 0));
    let more_than_two = |all| compare(number(2), Lt, sum_where(1, column(0, 0, 1), all));
    let rows = |condition| {
        let sum = Aggregate::Sum(column(0, 0, 1));
        Block::new(vec![0], condition, vec![sum])
    };
    // 1 and 2 for the first, 8 for the second, 16 for the third.
    let (whole, without) = (100 + 104 + 105, 104 + 105);
    let bound = compare(column(0, 0, 1), Lt, column(1, 0, 1));
    let alone = more_than_two(vec![equal(1)]);
    let ordered = more_than_two(vec![equal(1), bound]);
    let either = |one: &Condition| Condition::Or(vec![one.clone(), one.clone()]);
    for condition in [alone.clone(), either(&alone), either(&ordered)] {
        check(&rows(condition), whole, without);
    }
}

#[test]
fn several_integers_join_a_double() {
    let equal = compare(column(0, 0, 0), Eq, column(0, 1, 0));
    let sum = vec![Aggregate::Sum(column(0, 1, 1))];
    check(
        &Block::new(vec![0, 1], equal, sum),
        1 + 2 + 8 + 16,
        1 + 8 + 16,
    );
}
