//! Machines beside brute force: the paper's queries over an order book, and random queries over random streams.

mod common;

use common::brute::{Brute, Num, Rows};
use common::queries::{self, book, column, compare, decimal, ints, minus, sum_where, times};
use ringview_core::{Batch, Column as Words, Error};
use ringview_rpai::machine::{
    Aggregate, Block, Cell, ColumnType, Comparison, Condition, Machine, Plan, Quantity, Value, Way,
};

const BOOK: &str = include_str!("data/orderbook.csv");

/// Rows of one table as the engine gives them.
fn batch(rows: &[(&[Option<i64>], i64)]) -> Batch {
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

fn take(machine: &mut Machine, table: usize, row: &[Option<i64>], times: i64) {
    machine
        .apply(table, &batch(&[(row, times)]), 1)
        .expect("fits");
}

/// Table, multiplicity, row.
type Event = (usize, i64, Vec<Option<i64>>);

fn order_book() -> Vec<Event> {
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

fn keep(tables: &mut [Rows], (table, times, row): &Event) -> bool {
    let rows = &mut tables[*table];
    if *times > 0 {
        rows.extend((0..*times).map(|_| row.clone()));
        return true;
    }
    let found = rows.iter().position(|held| held == row);
    found.map(|at| rows.remove(at)).is_some()
}

fn same(cell: Cell, expected: Option<Num>) -> bool {
    match (cell.0, expected) {
        (None, None) => true,
        (Some(Quantity::Exact { units, scale }), Some(number @ Num::Exact(..))) => {
            common::brute::compare(Num::Exact(units, u32::from(scale)), number).is_eq()
        }
        (Some(Quantity::Real(value)), Some(Num::Real(expected))) => {
            (value - expected).abs() <= 1e-12 * (value.abs() + expected.abs())
        }
        _ => false,
    }
}

/// Holds a machine's result to brute force.
fn check(machine: &mut Machine, block: &Block, tables: &[Rows], place: &str) {
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
        assert_eq!(shown(group), key, "{place}");
        let equal = outputs
            .iter()
            .zip(wanted)
            .all(|(cell, wanted)| same(*cell, *wanted));
        assert!(
            equal,
            "{place}: {outputs:?} is not {wanted:?} for {block:#?} over {tables:?}"
        );
    }
}

#[test]
fn the_papers_queries_over_an_order_book() {
    let events = order_book();
    for (name, block, optimised) in queries::all() {
        let mut machine = Machine::new(book(block.clone()));
        let mut general = Machine::general(book(block.clone()));
        let told = machine.told();
        assert_eq!(told.way == Way::Indexed, optimised, "{name}: {told:?}");
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
        // All goes, and nothing is left.
        for (table, times, row) in &events {
            take(&mut machine, *table, row, -times);
        }
        assert_eq!(machine.scalar(), Ok(Cell(None)), "{name}");
        assert!(!machine.walks());
    }
}

/// Random numbers without a crate.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn comparison(&mut self) -> Comparison {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        [Less, LessOrEqual, Equal, NotEqual, GreaterOrEqual, Greater][self.below(6)]
    }

    /// A column of this block or of one around it.
    fn column(&mut self, around: &[usize]) -> Value {
        let depth = if self.below(2) == 0 {
            0
        } else {
            self.below(around.len())
        };
        let relation = self.below(around[around.len() - 1 - depth]);
        column(depth, relation, self.below(2))
    }

    fn value(&mut self, around: &mut Vec<usize>, deeper: usize) -> Value {
        match self.below(8) {
            0 => decimal([0, 5_000, 10_000, 20_000, -10_000][self.below(5)]),
            1 => times(decimal(5_000), self.value(around, deeper)),
            2 => minus(self.value(around, 0), self.value(around, deeper)),
            3 => Value::Over(
                Box::new(self.value(around, 0)),
                Box::new(self.value(around, 0)),
            ),
            4 | 5 if deeper > 0 => Value::Block(Box::new(self.block(around, deeper - 1, 1))),
            _ => self.column(around),
        }
    }

    fn condition(&mut self, around: &mut Vec<usize>, deeper: usize) -> Condition {
        match self.below(6) {
            0 => Condition::Or((0..2).map(|_| self.condition(around, deeper)).collect()),
            1 => Condition::And(
                (0..self.below(3))
                    .map(|_| self.condition(around, deeper))
                    .collect(),
            ),
            _ => {
                let how = self.comparison();
                compare(self.value(around, deeper), how, self.value(around, deeper))
            }
        }
    }

    fn block(&mut self, around: &mut Vec<usize>, deeper: usize, most: usize) -> Block {
        let relations: Vec<usize> = (0..1 + self.below(most)).map(|_| self.below(2)).collect();
        around.push(relations.len());
        let condition = self.condition(around, deeper);
        around.pop();
        let own = |random: &mut Self| column(0, random.below(relations.len()), random.below(2));
        let value = match self.below(3) {
            0 => times(own(self), own(self)),
            _ => own(self),
        };
        let aggregate = match self.below(7) {
            0 => Aggregate::Count,
            6 => Aggregate::Counted(value),
            1 => Aggregate::Average(value),
            2 => Aggregate::Min(value),
            3 => Aggregate::Max(value),
            _ => Aggregate::Sum(value),
        };
        Block::new(relations, condition, vec![aggregate])
    }

    /// What the optimisation is for: chains of inequalities, thresholds, filters.
    fn indexed(&mut self) -> Block {
        let relations: Vec<usize> = (0..1 + self.below(2)).map(|_| self.below(2)).collect();
        let mut all = Vec::new();
        for relation in 0..relations.len() {
            let total = sum_where(self.below(2), column(0, 0, self.below(2)), vec![]);
            let closed = times(decimal([2_500, 5_000, 10_000][self.below(3)]), total);
            let how = self.comparison();
            let other = match self.below(4) {
                0 => column(0, relation, 1),
                1 => self.chain(relation, 0),
                2 => self.chain(relation, 1),
                _ => times(decimal(20_000), self.chain(relation, 0)),
            };
            all.push(match self.below(2) {
                0 => compare(closed, how, other),
                _ => compare(other, how, closed),
            });
            if self.below(3) == 0 {
                all.push(compare(
                    column(0, relation, 0),
                    self.comparison(),
                    decimal(10_000),
                ));
            }
        }
        let last = relations.len() - 1;
        let value = minus(
            times(column(0, 0, 0), column(0, last, 1)),
            column(0, last, 0),
        );
        let aggregates = vec![Aggregate::Sum(value), Aggregate::Count];
        Block::new(relations, Condition::And(all), aggregates)
    }

    fn chain(&mut self, relation: usize, deeper: usize) -> Value {
        use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let hows = [
            Less,
            LessOrEqual,
            Greater,
            GreaterOrEqual,
            Comparison::Equal,
        ];
        let how = hows[self.below(5)];
        let mut all = vec![compare(column(0, 0, 1), how, column(1, relation, 1))];
        if deeper > 0 {
            let closed = decimal([0, 10_000, 30_000][self.below(3)]);
            all.push(compare(
                closed,
                self.comparison(),
                self.chain(0, deeper - 1),
            ));
        }
        let aggregate = match self.below(4) {
            0 => Aggregate::Count,
            _ => Aggregate::Sum(column(0, 0, 0)),
        };
        let block = Block::new(vec![self.below(2)], Condition::And(all), vec![aggregate]);
        Value::Block(Box::new(block))
    }

    fn row(&mut self, least: i64, nullable: bool) -> Vec<Option<i64>> {
        (0..2)
            .map(|_| {
                let number = self.below(5) as i64 + least;
                (!nullable || self.below(6) > 0).then_some(number)
            })
            .collect()
    }
}

/// Runs a query over a random stream; whether the optimisation kept it, and ever walked.
fn stream(block: &Block, random: &mut Random, events: usize, nullable: bool) -> (Way, bool) {
    let mut columns: Vec<ColumnType> = ints(2);
    columns
        .iter_mut()
        .for_each(|column| column.nullable = nullable);
    let mut machine = Machine::new(Plan::new(vec![columns.clone(), columns], block.clone()));
    let mut tables = vec![Rows::new(), Rows::new()];
    let (least, mut walked) = ([-2, 0][random.below(2)], false);
    for at in 0..events {
        let undone = random.below(5) == 0;
        let before = tables.clone();
        for _ in 0..1 + random.below(2) {
            let table = random.below(2);
            let held = tables[table].len();
            let event = match random.below(3) {
                0 if held > 0 => (table, -1, tables[table][random.below(held)].clone()),
                _ => (
                    table,
                    1 + random.below(2) as i64,
                    random.row(least, nullable),
                ),
            };
            if event.1 > 0 && tables[table].len() > 7 {
                continue;
            }
            assert!(keep(&mut tables, &event));
            take(&mut machine, event.0, &event.2, event.1);
        }
        walked |= machine.walks();
        // What was read in between is undone too.
        if random.below(2) == 0 {
            check(&mut machine, block, &tables, &format!("within event {at}"));
        }
        if undone {
            machine.rollback();
            tables = before;
        } else {
            machine.commit();
        }
        check(&mut machine, block, &tables, &format!("event {at}"));
    }
    (machine.told().way, walked)
}

#[test]
fn random_queries_of_the_grammar() {
    for seed in 1..=150u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let block = random.block(&mut Vec::new(), 2, 2);
        let nullable = random.below(2) == 0;
        stream(&block, &mut random, 12, nullable);
    }
}

#[test]
fn random_queries_that_are_optimised() {
    let (mut kept, mut walked) = (0, 0);
    for seed in 1..=200u64 {
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let block = random.indexed();
        let nullable = seed % 4 == 0;
        let (way, walks) = stream(&block, &mut random, 20, nullable);
        kept += usize::from(way == Way::Indexed);
        walked += usize::from(walks);
    }
    assert!(
        kept > 80 && walked > 10,
        "{kept} were optimised, {walked} walked"
    );
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

/// Many rows at once, of the columns that `row` gives.
fn many(rows: i64, width: usize, mut row: impl FnMut() -> Vec<i64>) -> Batch {
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

/// Steps of the dearest of some changes of one row, the result read after each, once each table has so many rows.
fn dearest(plan: Plan, rows: i64, row: &mut dyn FnMut(usize, i64) -> Vec<i64>) -> u64 {
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
type Costed = (&'static str, Plan, fn(i64) -> f64);

/// The queries of the paper's table 1.
fn table_1() -> Vec<Costed> {
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
fn row_of(random: &mut Random, name: &str, table: usize, rows: i64) -> Vec<i64> {
    let rows = rows as usize;
    let mut below = |bound: usize| random.below(bound) as i64;
    match (name, table) {
        // Half of all lines are of one part.
        ("Q17", 0) => vec![below(2) * below(rows), below(rows), 1],
        ("Q17", _) => vec![below(rows), 3],
        ("Q18", 0) => vec![below(rows)],
        ("Q18", 1) => vec![below(rows), below(rows)],
        ("Q18", _) => vec![below(rows), 1 + below(9)],
        _ => {
            let price = below(rows);
            vec![1 + price % 50, price]
        }
    }
}

fn grows(sizes: &[i64], slow: &[i64]) {
    for (name, plan, cost) in table_1() {
        let sizes = if ["SQ1", "NQ2"].contains(&name) {
            slow
        } else {
            sizes
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
    grows(&[1_000, 20_000], &[100, 400]);
}

#[test]
#[ignore = "ten million rows of each table"]
fn steps_grow_as_the_paper_says_to_ten_million() {
    grows(&[1_000, 1_000_000, 10_000_000], &[100, 1_000, 4_000]);
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
