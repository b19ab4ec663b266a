//! Random queries over random streams.

use proptest::prelude::ProptestConfig;
use ringview_core::Type;
use ringview_rpai::machine::{
    Aggregate, Block, ColumnType, Comparison, Condition, Machine, Plan, Strategy, Value,
};

use crate::common::brute::Rows;
use crate::common::queries::{column, compare, decimal, ints, minus, sum_where, times};
use crate::machine::{check, encoded, keep};

/// Random numbers without a crate.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    pub(crate) fn comparison(&mut self) -> Comparison {
        use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
        [Lt, Le, Eq, Ne, Ge, Gt][self.below(6)]
    }

    /// A column of this block or of one around it.
    pub(crate) fn column(&mut self, around: &[usize]) -> Value {
        let depth = if self.below(2) == 0 {
            0
        } else {
            self.below(around.len())
        };
        let relation = self.below(around[around.len() - 1 - depth]);
        column(depth, relation, self.below(2))
    }

    pub(crate) fn value(&mut self, around: &mut Vec<usize>, deeper: usize) -> Value {
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

    pub(crate) fn condition(&mut self, around: &mut Vec<usize>, deeper: usize) -> Condition {
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

    pub(crate) fn block(&mut self, around: &mut Vec<usize>, deeper: usize, most: usize) -> Block {
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

    /// A query that is optimised: chains of inequalities, thresholds, filters.
    pub(crate) fn indexed(&mut self) -> Block {
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

    pub(crate) fn chain(&mut self, relation: usize, deeper: usize) -> Value {
        use Comparison::{Ge, Gt, Le, Lt};
        let hows = [Lt, Le, Gt, Ge, Comparison::Eq];
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

    pub(crate) fn row(&mut self, least: i64, nullable: bool) -> Vec<Option<i64>> {
        (0..2)
            .map(|_| {
                let number = self.below(5) as i64 + least;
                (!nullable || self.below(6) > 0).then_some(number)
            })
            .collect()
    }
}

/// Runs a query over a random stream; whether the optimisation kept it, and ever walked.
pub(crate) fn stream(
    block: &Block,
    random: &mut Random,
    events: usize,
    nullable: bool,
) -> (Strategy, bool) {
    let mut columns: Vec<ColumnType> = ints(2);
    columns
        .iter_mut()
        .for_each(|column| column.nullable = nullable);
    stream_of(
        vec![columns.clone(), columns],
        block,
        random,
        events,
        nullable,
    )
}

/// The same over tables of two columns of these types, whose values are whole numbers.
pub(crate) fn stream_of(
    types: Vec<Vec<ColumnType>>,
    block: &Block,
    random: &mut Random,
    events: usize,
    nullable: bool,
) -> (Strategy, bool) {
    let mut machine = Machine::new(Plan::new(types.clone(), block.clone()));
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
            let rows = encoded(&types[event.0], &[(&event.2, event.1)]);
            machine.apply(event.0, &rows, 1).expect("fits");
        }
        walked |= machine.walks();
        // Results that were read in between are undone too.
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
    (machine.description().strategy, walked)
}

#[test]
fn random_queries_of_the_grammar() {
    for seed in 1..=u64::from(ProptestConfig::default().cases) {
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
        let (strategy, walks) = stream(&block, &mut random, 20, nullable);
        kept += usize::from(strategy == Strategy::Indexed);
        walked += usize::from(walks);
    }
    assert!(
        kept > 80 && walked > 10,
        "{kept} were optimised, {walked} walked"
    );
}

#[test]
fn random_queries_over_doubles_that_are_optimised() {
    let (mut kept, mut walked) = (0, 0);
    for seed in 1..=400u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let block = random.indexed();
        let nullable = seed % 4 == 0;
        let mut column = |_| ColumnType {
            ty: match random.below(3) {
                0 => Type::Int64,
                _ => Type::Float64,
            },
            nullable,
        };
        let types = (0..2).map(|_| (0..2).map(&mut column).collect()).collect();
        let (strategy, walks) = stream_of(types, &block, &mut random, 20, nullable);
        kept += usize::from(strategy == Strategy::Indexed);
        walked += usize::from(walks);
    }
    assert!(
        kept > 160 && walked > 20,
        "{kept} were optimised, {walked} walked"
    );
}
