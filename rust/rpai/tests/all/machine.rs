//! Machines beside brute force: the paper's queries over an order book, and random queries over
//! random streams.

use crate::common::brute::{self, Brute, Num, Rows};
use crate::common::queries::{self, book, ints};
use crate::random::Random;
use ringview_core::{Batch, Column as Words, Error, Type};
use ringview_rpai::machine::{Block, Cell, ColumnType, Machine, Plan, Quantity, Strategy};

pub(crate) const BOOK: &str = include_str!("../data/orderbook.csv");

/// Rows of one table as the engine gives them.
pub(crate) fn batch(rows: &[(&[Option<i64>], i64)]) -> Batch {
    let width = rows.first().map_or(0, |row| row.0.len());
    let mut batch = Batch::new();
    batch.rows = rows.len();
    batch.multiplicity = Some(rows.iter().map(|row| row.1).collect());
    batch.columns = (0..width)
        .map(|column| {
            let words = rows.iter().map(|row| row.0[column].unwrap_or(0) as u64);
            let valid = rows.iter().map(|row| row.0[column].is_some());
            let words = Words {
                words: words.collect(),
                high: Vec::new(),
                valid: Some(valid.collect()),
            };
            Some(words)
        })
        .collect();
    batch
}

/// The same, where the numbers are of these types.
pub(crate) fn encoded(types: &[ColumnType], rows: &[(&[Option<i64>], i64)]) -> Batch {
    let mut all = batch(rows);
    for (column, of) in all.columns.iter_mut().flatten().zip(types) {
        let numbers = column.words.iter().map(|&word| i128::from(word as i64));
        let numbers: Vec<i128> = numbers.collect();
        match of.ty {
            Type::Decimal { scale, .. } => {
                let units = numbers.iter().map(|it| it * 10i128.pow(scale as u32));
                (column.words, column.high) =
                    units.map(|it| (it as u64, (it >> 64) as u64)).unzip();
            }
            Type::Float64 => {
                column.words = numbers.iter().map(|&it| (it as f64).to_bits()).collect();
            }
            _ => {}
        }
    }
    all
}

pub(crate) fn take(machine: &mut Machine, table: usize, row: &[Option<i64>], times: i64) {
    machine
        .apply(table, &batch(&[(row, times)]), 1)
        .expect("fits");
}

/// Table, multiplicity, row.
pub(crate) type Event = (usize, i64, Vec<Option<i64>>);

pub(crate) fn order_book() -> Vec<Event> {
    let number = |text: &str| text.parse::<i64>().expect("a number");
    let lines = BOOK.lines().skip(1);
    lines
        .map(|line| {
            let parts: Vec<i64> = line.split(',').map(number).collect();
            (
                parts[0] as usize,
                parts[1],
                vec![Some(parts[2]), Some(parts[3])],
            )
        })
        .collect()
}

pub(crate) fn keep(tables: &mut [Rows], (table, times, row): &Event) -> bool {
    let rows = &mut tables[*table];
    if *times > 0 {
        rows.extend((0..*times).map(|_| row.clone()));
        return true;
    }
    let found = rows.iter().position(|held| held == row);
    found.map(|at| rows.remove(at)).is_some()
}

pub(crate) fn same(cell: Cell, expected: Option<Num>) -> bool {
    match (cell.0, expected) {
        (None, None) => true,
        (Some(Quantity::Exact { units, scale }), Some(number @ Num::Exact(..))) => {
            brute::compare(Num::Exact(units, u32::from(scale)), number).is_eq()
        }
        (Some(real), Some(Num::Real(expected))) => {
            let value = real.real();
            (value - expected).abs() <= 1e-12 * (value.abs() + expected.abs())
        }
        // Brute force takes whole numbers in columns of doubles for whole numbers.
        (Some(real), Some(Num::Exact(expected, 0))) => real.real() == expected as f64,
        _ => false,
    }
}

/// Holds a machine's result to brute force.
pub(crate) fn check(machine: &mut Machine, block: &Block, tables: &[Rows], place: &str) {
    let result = machine.result().expect("fits");
    let expected = Brute(tables).groups(block);
    let shown = |row: &[Cell]| {
        row.iter()
            .map(|cell| cell.0.map(|it| it.real()))
            .collect::<Vec<_>>()
    };
    assert_eq!(result.len(), expected.len(), "{place}: groups");
    for ((group, outputs), (key, wanted)) in result.iter().zip(&expected) {
        let key: Vec<_> = key.iter().map(|cell| cell.map(|it| it as f64)).collect();
        assert_eq!(shown(group), key, "{place}: {block:?} over {tables:?}");
        let equal = outputs
            .iter()
            .zip(wanted)
            .all(|(cell, wanted)| same(*cell, *wanted));
        assert!(
            equal,
            "{place}: {outputs:?} is not {wanted:?} for {block:?} over {tables:?}"
        );
    }
}

#[test]
fn the_papers_queries_over_an_order_book() {
    let events = order_book();
    for (name, block, optimised) in queries::all() {
        let mut machine = Machine::new(book(block.clone()));
        let mut general = Machine::general(book(block.clone()));
        let description = machine.description();
        assert_eq!(
            description.strategy == Strategy::Indexed,
            optimised,
            "{name}: {description:?}"
        );
        let mut tables = vec![Rows::new(), Rows::new()];
        let (by_hand, compared) = if name == "NQ2" { (40, 60) } else { (70, 250) };
        for (at, event) in events.iter().take(compared).enumerate() {
            assert!(keep(&mut tables, event));
            take(&mut machine, event.0, &event.2, event.1);
            take(&mut general, event.0, &event.2, event.1);
            if at < by_hand {
                check(&mut machine, &block, &tables, &format!("{name} after {at}"));
            }
            let pair = (
                machine.scalar().expect("fits"),
                general.scalar().expect("fits"),
            );
            assert_eq!(pair.0, pair.1, "{name} after {at}");
        }
    }
}

#[test]
fn long_prefixes_of_the_order_book() {
    let events = order_book();
    for (name, block, _) in queries::all().into_iter().filter(|query| query.2) {
        let mut machine = Machine::new(book(block.clone()));
        for event in &events {
            take(&mut machine, event.0, &event.2, event.1);
            machine.scalar().expect("fits");
            machine.commit();
        }
        let mut general = Machine::general(book(block));
        for event in &events {
            take(&mut general, event.0, &event.2, event.1);
        }
        if !["MST", "PSP", "NQ1"].contains(&name) {
            assert_eq!(machine.scalar(), general.scalar(), "{name}");
        }
        // All rows are deleted, and nothing is left.
        for (table, times, row) in &events {
            take(&mut machine, *table, row, -times);
        }
        assert_eq!(machine.scalar(), Ok(Cell(None)), "{name}");
        assert!(!machine.walks());
    }
}

#[test]
fn tpch_17_and_18() {
    for seed in 1..=6u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let plans = [
            (vec![ints(3), ints(2)], queries::q17(), [3usize, 2, 0]),
            (vec![ints(1), ints(2), ints(2)], queries::q18(), [1, 2, 2]),
        ];
        for (columns, block, widths) in plans {
            let mut machine = Machine::new(Plan::new(columns.clone(), block.clone()));
            let mut tables = vec![Rows::new(); columns.len()];
            for at in 0..60 {
                let table = random.below(columns.len());
                let held = tables[table].len();
                let row = (0..widths[table])
                    .map(|_| Some(random.below(4) as i64 + 1))
                    .collect();
                let event = match random.below(4) {
                    0 if held > 0 => (table, -1, tables[table][random.below(held)].clone()),
                    _ => (table, 1, row),
                };
                assert!(keep(&mut tables, &event));
                take(&mut machine, event.0, &event.2, event.1);
                check(&mut machine, &block, &tables, &format!("event {at}"));
            }
        }
    }
}

#[test]
fn bad_rows_leave_everything_as_it_was() {
    let mut machine = Machine::new(book(queries::vwap()));
    take(&mut machine, 0, &[Some(10), Some(3)], 1);
    machine.commit();
    let before = machine.scalar();
    let rows: [(&[Option<i64>], i64); 2] = [
        (&[Some(5), Some(2)], 1),
        (&[Some(i64::MAX), Some(i64::MAX)], i64::MAX),
    ];
    let failed = machine.apply(0, &batch(&rows), 1);
    assert!(matches!(failed, Err(Error::Overflow { .. })), "{failed:?}");
    machine.rollback();
    assert_eq!(machine.scalar(), before);
    assert_eq!(machine.steps() > 0, machine.memory_usage() > 0);
    let real = ColumnType {
        ty: ringview_core::Type::Float64,
        nullable: false,
    };
    let mut machine = Machine::new(Plan::new(vec![vec![real; 2]; 2], queries::vwap()));
    let nan = f64::NAN.to_bits() as i64;
    let failed = machine.apply(0, &batch(&[(&[Some(nan), Some(nan)], 1)]), 1);
    assert!(matches!(failed, Err(Error::Value { .. })), "{failed:?}");
    machine.rollback();
    assert_eq!(machine.scalar(), Ok(Cell(None)));
}
