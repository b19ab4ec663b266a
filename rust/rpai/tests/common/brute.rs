//! Queries by brute force: every combination of rows, every block anew. Nothing is shared with what
//! it checks but the plan's words.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ringview_rpai::machine::{Aggregate, Block, Column, Comparison, Condition, Quantity, Value};

/// A number in units, or a double.
#[derive(Clone, Copy, Debug)]
pub enum Num {
    Exact(i128, u32),
    Real(f64),
}

pub type Rows = Vec<Vec<Option<i64>>>;
type Cell = Option<Num>;
type Frame<'a> = Vec<&'a Vec<Option<i64>>>;

fn aligned(a: Num, b: Num) -> Option<(i128, i128, u32)> {
    let (Num::Exact(a, s), Num::Exact(b, t)) = (a, b) else {
        return None;
    };
    let scale = s.max(t);
    Some((a * 10i128.pow(scale - s), b * 10i128.pow(scale - t), scale))
}

fn real(number: Num) -> f64 {
    match number {
        Num::Exact(units, scale) => units as f64 / 10f64.powi(scale as i32),
        Num::Real(value) => value,
    }
}

fn plus(a: Num, b: Num, sign: i128) -> Num {
    match aligned(a, b) {
        Some((a, b, scale)) => Num::Exact(a + sign * b, scale),
        None => Num::Real(real(a) + sign as f64 * real(b)),
    }
}

fn times(a: Num, b: Num) -> Num {
    match (a, b) {
        (Num::Exact(a, s), Num::Exact(b, t)) => Num::Exact(a * b, s + t),
        _ => Num::Real(real(a) * real(b)),
    }
}

pub fn compare(a: Num, b: Num) -> Ordering {
    match aligned(a, b) {
        Some((a, b, _)) => a.cmp(&b),
        None => real(a).partial_cmp(&real(b)).expect("no NaN"),
    }
}

/// The rows of each table.
pub struct Brute<'a>(pub &'a [Rows]);

impl Brute<'_> {
    /// Outputs by group.
    pub fn groups(&self, block: &Block) -> Vec<(Vec<Option<i64>>, Vec<Cell>)> {
        let mut groups = BTreeMap::new();
        if block.group.is_empty() {
            groups.insert(Vec::new(), vec![Vec::new(); block.aggregates.len()]);
        }
        self.combine(block, &mut Vec::new(), &[], &mut groups);
        let shown = |all: &Vec<Vec<Cell>>| self.outputs(block, all);
        groups
            .iter()
            .map(|(group, all)| (group.clone(), shown(all)))
            .collect()
    }

    fn combine<'b>(
        &'b self,
        block: &Block,
        frame: &mut Frame<'b>,
        outer: &[Frame<'b>],
        groups: &mut BTreeMap<Vec<Option<i64>>, Vec<Vec<Cell>>>,
    ) {
        if let Some(&table) = block.relations.get(frame.len()) {
            for row in &self.0[table] {
                frame.push(row);
                self.combine(block, frame, outer, groups);
                frame.pop();
            }
            return;
        }
        let mut frames = outer.to_vec();
        frames.push(frame.clone());
        if !self.holds(&block.condition, &frames) {
            return;
        }
        let key = block
            .group
            .iter()
            .map(|of| frame[of.relation][of.column])
            .collect();
        let all = groups
            .entry(key)
            .or_insert_with(|| vec![Vec::new(); block.aggregates.len()]);
        for (aggregate, values) in block.aggregates.iter().zip(all) {
            values.push(match aggregate {
                Aggregate::Count => Some(Num::Exact(1, 0)),
                Aggregate::Counted(value)
                | Aggregate::Sum(value)
                | Aggregate::Average(value)
                | Aggregate::Min(value)
                | Aggregate::Max(value) => self.value(value, &frames, &[]),
            });
        }
    }

    fn outputs(&self, block: &Block, all: &[Vec<Cell>]) -> Vec<Cell> {
        let aggregates: Vec<Cell> = (block.aggregates.iter().zip(all))
            .map(|(aggregate, values)| {
                let known: Vec<Num> = values.iter().copied().flatten().collect();
                let sum = known.iter().copied().reduce(|a, b| plus(a, b, 1));
                match aggregate {
                    Aggregate::Count | Aggregate::Counted(_) => {
                        Some(Num::Exact(known.len() as i128, 0))
                    }
                    Aggregate::Sum(_) => sum,
                    Aggregate::Average(_) => {
                        sum.map(|sum| Num::Real(real(sum) / known.len() as f64))
                    }
                    Aggregate::Min(_) => known.into_iter().min_by(|&a, &b| compare(a, b)),
                    Aggregate::Max(_) => known.into_iter().max_by(|&a, &b| compare(a, b)),
                }
            })
            .collect();
        block
            .outputs
            .iter()
            .map(|output| self.value(output, &[], &aggregates))
            .collect()
    }

    fn value(&self, value: &Value, frames: &[Frame<'_>], aggregates: &[Cell]) -> Cell {
        let both = |a: &Value, b: &Value| {
            self.value(a, frames, aggregates)
                .zip(self.value(b, frames, aggregates))
        };
        match value {
            Value::Constant(Quantity::Exact { units, scale }) => {
                Some(Num::Exact(*units, u32::from(*scale)))
            }
            Value::Constant(real) => Some(Num::Real(real.real())),
            Value::Column(Column {
                depth,
                relation,
                column,
            }) => {
                let cell = frames[frames.len() - 1 - depth][*relation][*column];
                cell.map(|value| Num::Exact(i128::from(value), 0))
            }
            Value::Present(columns) => {
                let known = columns.iter().all(|&column| {
                    let column = Value::Column(column);
                    self.value(&column, frames, &[]).is_some()
                });
                known.then_some(Num::Exact(1, 0))
            }
            Value::Aggregate(at) => aggregates[*at],
            Value::Plus(a, b) => both(a, b).map(|(a, b)| plus(a, b, 1)),
            Value::Minus(a, b) => both(a, b).map(|(a, b)| plus(a, b, -1)),
            Value::Times(a, b) => both(a, b).map(|(a, b)| times(a, b)),
            Value::Over(a, b) => {
                let (a, b) = both(a, b)?;
                (real(b) != 0.0).then(|| Num::Real(real(a) / real(b)))
            }
            Value::Block(block) => {
                let mut groups = BTreeMap::new();
                groups.insert(Vec::new(), vec![Vec::new(); block.aggregates.len()]);
                self.combine(block, &mut Vec::new(), frames, &mut groups);
                self.outputs(block, &groups[&Vec::new()])[0]
            }
        }
    }

    fn holds(&self, condition: &Condition, frames: &[Frame<'_>]) -> bool {
        match condition {
            Condition::And(all) => all.iter().all(|one| self.holds(one, frames)),
            Condition::Or(all) => all.iter().any(|one| self.holds(one, frames)),
            Condition::Row(..) => unreachable!("rows here tell nothing alone"),
            Condition::IsNull(value, null) => self.value(value, frames, &[]).is_none() == *null,
            Condition::Compare(left, how, right) => {
                let sides = self
                    .value(left, frames, &[])
                    .zip(self.value(right, frames, &[]));
                sides.is_some_and(|(left, right)| {
                    let order = compare(left, right);
                    match how {
                        Comparison::Lt => order.is_lt(),
                        Comparison::Le => order.is_le(),
                        Comparison::Eq => order.is_eq(),
                        Comparison::Ne => order.is_ne(),
                        Comparison::Ge => order.is_ge(),
                        Comparison::Gt => order.is_gt(),
                    }
                })
            }
        }
    }
}
