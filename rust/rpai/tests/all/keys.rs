//! Queries within that equate columns: the same one twice, of several types and scales, in pairs,
//! with NULL.

use ringview_core::Type;
use ringview_rpai::machine::{
    Aggregate, Block, Column, ColumnType, Comparison, Condition, Strategy, Value,
};

use crate::common::queries::{column, compare, decimal};
use crate::random::{Random, stream_of};

use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};

/// Columns of each table.
const WIDTH: usize = 2;

impl Random {
    fn type_of(&mut self, nullable: bool, doubles: bool) -> ColumnType {
        let ty = match self.below(if doubles { 6 } else { 5 }) {
            0 => Type::Decimal {
                precision: 12,
                scale: 2,
            },
            1 => Type::Decimal {
                precision: 30,
                scale: 5,
            },
            5 => Type::Float64,
            _ => Type::Int64,
        };
        ColumnType { ty, nullable }
    }

    /// An equality as a correlation: mostly of an own column with one around, seldom of two around
    /// or two own.
    fn equality(&mut self, around: &[usize]) -> Condition {
        let depths = match self.below(8) {
            0 => (0, 0),
            1 => (around.len() - 1, around.len() - 1),
            _ => (0, 1 + self.below(around.len() - 1)),
        };
        let side = |random: &mut Self, depth: usize| {
            let relations = around[around.len() - 1 - depth];
            column(depth, random.below(relations), random.below(WIDTH))
        };
        let (left, right) = (side(self, depths.0), side(self, depths.1));
        match self.below(2) {
            0 => compare(left, Eq, right),
            _ => compare(right, Eq, left),
        }
    }

    /// A count or a sum over rows that equalities choose.
    fn counted(&mut self, around: &mut Vec<usize>, deeper: usize) -> Value {
        let relations: Vec<usize> = (0..1 + self.below(6) / 5).map(|_| self.below(2)).collect();
        around.push(relations.len());
        let mut all: Vec<Condition> = (0..1 + self.below(3))
            .map(|_| self.equality(around))
            .collect();
        if deeper > 0 && self.below(3) == 0 {
            all.push(self.chosen(around, deeper - 1));
        }
        if self.below(5) == 0 {
            let null = column(0, 0, self.below(WIDTH));
            let one = self.equality(around);
            all.push(Condition::Or(vec![Condition::IsNull(null, true), one]));
        }
        around.pop();
        let own = column(0, 0, self.below(WIDTH));
        let aggregate = match self.below(5) {
            0 => Aggregate::Sum(own),
            1 => Aggregate::Counted(own),
            _ => Aggregate::Count,
        };
        Value::Block(Box::new(Block::new(
            relations,
            Condition::And(all),
            vec![aggregate],
        )))
    }

    /// Counts against nothing, a constant, a column, or each other.
    fn chosen(&mut self, around: &mut Vec<usize>, deeper: usize) -> Condition {
        let how = [Eq, Eq, Ne, Gt, Le, Lt, Ge][self.below(7)];
        let left = self.counted(around, deeper);
        let right = match self.below(4) {
            0 => self.counted(around, deeper),
            1 => {
                let relations = around[around.len() - 1];
                column(0, self.below(relations), self.below(WIDTH))
            }
            _ => decimal([0, 0, 10_000][self.below(3)]),
        };
        compare(left, how, right)
    }

    fn by_columns(&mut self) -> Block {
        let relations: Vec<usize> = (0..1 + self.below(3) / 2).map(|_| self.below(2)).collect();
        let mut around = vec![relations.len()];
        let mut all: Vec<Condition> = (0..1 + self.below(2))
            .map(|_| match self.below(6) {
                0 => Condition::Or(vec![
                    self.chosen(&mut around, 1),
                    self.chosen(&mut around, 0),
                ]),
                _ => self.chosen(&mut around, 1),
            })
            .collect();
        if relations.len() > 1 || self.below(6) == 0 {
            let last = relations.len() - 1;
            let pair = (
                column(0, 0, self.below(WIDTH)),
                column(0, last, self.below(WIDTH)),
            );
            all.push(compare(pair.0, Eq, pair.1));
        }
        let own = Value::Column(Column {
            depth: 0,
            relation: 0,
            column: self.below(WIDTH),
        });
        let aggregates = vec![Aggregate::Count, Aggregate::Sum(own)];
        let mut block = Block::new(relations, Condition::And(all), aggregates);
        if self.below(3) == 0 {
            block.group.push(Column {
                depth: 0,
                relation: 0,
                column: self.below(WIDTH),
            });
        }
        block
    }
}

fn run(seeds: std::ops::Range<u64>, doubles: bool) -> usize {
    let mut parted = 0;
    for seed in seeds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let block = random.by_columns();
        let nullable = seed % 2 == 0;
        let types = (0..2)
            .map(|_| {
                (0..WIDTH)
                    .map(|_| random.type_of(nullable, doubles))
                    .collect()
            })
            .collect();
        let (strategy, _) = stream_of(types, &block, &mut random, 14, nullable);
        parted += usize::from(matches!(
            strategy,
            Strategy::Partitioned | Strategy::PartitionedGeneral
        ));
    }
    parted
}

#[test]
fn random_queries_that_equate_columns() {
    let parted = run(1..600, false);
    assert!(parted > 100, "{parted} were kept by keys");
}

#[test]
fn random_queries_that_equate_columns_of_doubles() {
    run(1..200, true);
}

#[test]
#[ignore = "minutes"]
fn random_queries_that_equate_columns_at_length() {
    run(1_000..40_000, false);
    run(1_000..10_000, true);
}
