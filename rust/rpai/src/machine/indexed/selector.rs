//! A block whose relations are filtered each by itself: sums of products of their sums.
//!
//! Invariant: an expression is closed if it depends only on the outer row; the caller computes closed
//! ones, the rest is in the relations. Cost: that of the relations: O(log n) a change and a result.

use std::sync::Arc;

use ringview_core::Result;
use ringview_ring::{CommutativeMonoid, Expansion};

use crate::machine::indexed::digits;
use crate::machine::indexed::memo::Memo;
use crate::machine::indexed::relation::FilteredRelation;
use crate::machine::query;
use crate::machine::query::{Aggregate, Cell, Condition, Quantity, RowAt, Value, holds};
use crate::tree::overflow;

/// One product: of each relation its count (0) or one of its sums (from 1).
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) sign: i128,
    pub(crate) factors: Vec<usize>,
    pub(crate) scale: u8,
    /// Of which relations the sum is of doubles, in two words.
    pub(crate) reals: Vec<bool>,
}

/// The sums of products of an aggregate.
#[derive(Clone, Debug)]
pub(crate) struct Products {
    pub(crate) aggregate: Aggregate,
    /// Of each relation what counts the rows with a value.
    pub(crate) count: Vec<usize>,
    pub(crate) sum: Vec<Term>,
}

/// The constant part of a selector.
#[derive(Debug)]
struct Shape {
    /// Conditions of the whole.
    gates: Vec<Condition>,
    aggregates: Vec<Products>,
    /// Start of the numbers of each relation among those of all, and their count.
    starts: Vec<usize>,
    width: usize,
}

#[derive(Debug)]
pub(crate) struct Selector {
    relations: Vec<Box<dyn FilteredRelation>>,
    shape: Arc<Shape>,
}

/// Computes a closed value.
pub(crate) type Closed<'a> = &'a mut dyn FnMut(&Value) -> Result<Cell>;

impl Clone for Selector {
    fn clone(&self) -> Self {
        Self {
            relations: self
                .relations
                .iter()
                .map(|relation| relation.copy())
                .collect(),
            shape: Arc::clone(&self.shape),
        }
    }
}

impl Selector {
    pub(crate) fn new(
        relations: Vec<Box<dyn FilteredRelation>>,
        gates: Vec<Condition>,
        aggregates: Vec<Products>,
    ) -> Self {
        let mut width = 0;
        let starts = relations.iter().map(|relation| {
            width += relation.width();
            width - relation.width()
        });
        let starts = starts.collect();
        let shape = Shape {
            gates,
            aggregates,
            starts,
            width,
        };
        let shape = Arc::new(shape);
        Self { relations, shape }
    }

    /// Calls `visit` with all closed values.
    pub(crate) fn closed(&self, visit: &mut dyn FnMut(&Value)) {
        for relation in &self.relations {
            relation.closed().iter().for_each(&mut *visit);
        }
        for gate in &self.shape.gates {
            gate.values(visit);
        }
    }

    /// Inserts or deletes a row. After an error only `rollback` may follow.
    #[inline]
    pub(crate) fn change(&mut self, table: usize, row: &RowAt<'_>, times: i64) -> Result<()> {
        for relation in &mut self.relations {
            if let Some(wider) = relation.widen_for(table, row)? {
                *relation = wider;
            }
            relation.change(table, row, times)?;
        }
        Ok(())
    }

    pub(crate) fn commit(&mut self) {
        self.relations
            .iter_mut()
            .for_each(|relation| relation.commit());
    }

    pub(crate) fn rollback(&mut self) {
        self.relations
            .iter_mut()
            .for_each(|relation| relation.rollback());
    }

    pub(crate) fn clear(&mut self) {
        self.relations
            .iter_mut()
            .for_each(|relation| relation.clear());
    }

    /// Number of aggregates.
    pub(crate) fn len(&self) -> usize {
        self.shape.aggregates.len()
    }

    /// The aggregates; relations whose sums are memoised are not read.
    pub(crate) fn aggregates(
        &self,
        closed: Closed<'_>,
        memo: Option<&mut Memo>,
        into: &mut [Cell],
    ) -> Result<()> {
        let mut open = !self.relations.iter().any(|relation| relation.is_empty());
        for gate in &self.shape.gates {
            open = open && holds(gate, closed)?;
        }
        if !open {
            for (of, into) in self.shape.aggregates.iter().zip(into) {
                *into = match of.aggregate {
                    Aggregate::Count | Aggregate::Counted(_) => Cell(Some(Quantity::int(0))),
                    _ => Cell(None),
                };
            }
            return Ok(());
        }
        match memo {
            Some(memo) => {
                memo.refresh(|relation, numbers| self.read(relation, closed, numbers))?;
                self.values(memo.numbers(), into)
            }
            None => with_scratch::<i128, NUMBERS, _>(self.shape.width, |numbers| {
                for relation in 0..self.relations.len() {
                    self.read(relation, closed, numbers)?;
                }
                self.values(numbers, into)
            }),
        }
    }

    /// Writes the sums of a relation among those of all.
    #[inline(always)]
    fn read(&self, relation: usize, closed: Closed<'_>, numbers: &mut [i128]) -> Result<()> {
        let (start, relation) = (self.shape.starts[relation], &self.relations[relation]);
        let (values, own) = (relation.closed(), start..start + relation.width());
        with_scratch::<Cell, SIDES, _>(values.len(), |sides| {
            for (side, value) in sides.iter_mut().zip(values) {
                *side = closed(value)?;
            }
            relation.passing(sides, &mut numbers[own])
        })
    }

    /// The aggregates, from the sums of all relations.
    fn values(&self, numbers: &[i128], into: &mut [Cell]) -> Result<()> {
        // Mostly all aggregates are of the same rows.
        let mut counted = None;
        for (of, into) in self.shape.aggregates.iter().zip(into) {
            *into = of.value(&self.shape.starts, numbers, &mut counted)?;
        }
        Ok(())
    }

    /// A memo of the sums of the relations, where there are several, so that rows of one leave those
    /// of another.
    pub(crate) fn memo(&self) -> Option<Memo> {
        let reads = |relation: &dyn FilteredRelation| {
            let mut tables = Vec::new();
            relation.tables(&mut |table| tables.push(table));
            for value in relation.closed() {
                value.blocks(&mut |block| block.tables(&mut |table| tables.push(table)));
            }
            tables
        };
        let all = self.relations.iter().map(|relation| reads(&**relation));
        (self.relations.len() > 1).then(|| Memo::new(all.collect(), self.shape.width))
    }

    /// Of each relation, whether no row of it can pass.
    pub(crate) fn are_empty(&self) -> impl Iterator<Item = bool> {
        self.relations.iter().map(|relation| relation.is_empty())
    }

    /// Whether all of them hold nothing.
    pub(crate) fn are_vacant(&self) -> bool {
        self.relations.iter().all(|relation| relation.is_vacant())
    }

    /// Number of groups that are walked now.
    pub(crate) fn walks(&self) -> usize {
        self.relations.iter().map(|relation| relation.walks()).sum()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.relations
            .iter()
            .map(|relation| relation.memory_usage())
            .sum()
    }

    pub(crate) fn steps(&self) -> u64 {
        self.relations.iter().map(|relation| relation.steps()).sum()
    }
}

/// Sums and closed values that take no memory of their own.
const NUMBERS: usize = 16;
const SIDES: usize = 4;

/// Calls `act` with so many defaults, which are allocated only where they are more than `FEW`.
pub(crate) fn with_scratch<T: Copy + Default, const FEW: usize, R>(
    count: usize,
    act: impl FnOnce(&mut [T]) -> R,
) -> R {
    let mut few = [T::default(); FEW];
    match few.get_mut(..count) {
        Some(few) => act(few),
        None => act(&mut vec![T::default(); count]),
    }
}

/// The positions of counts whose product was the last one, and that.
type Counted<'a> = Option<(&'a [usize], i128)>;

impl Products {
    /// The value, from the numbers of all relations, which begin at these positions.
    fn value<'a>(
        &'a self,
        starts: &[usize],
        numbers: &[i128],
        counted: &mut Counted<'a>,
    ) -> Result<Cell> {
        let product = |places: &[usize], reals: &[bool]| {
            let mut product = 1i128;
            for (relation, (&at, &start)) in places.iter().zip(starts).enumerate() {
                if !reals.get(relation).is_some_and(|real| *real) {
                    product = query::product(product, numbers[start + at])?;
                }
            }
            Some(product)
        };
        let rows = match counted {
            Some((places, rows)) if *places == self.count => *rows,
            _ => product(&self.count, &[]).ok_or_else(|| overflow("a count"))?,
        };
        *counted = Some((&self.count, rows));
        match self.aggregate {
            Aggregate::Count | Aggregate::Counted(_) => {
                return Ok(Cell(Some(Quantity::int(rows))));
            }
            _ if rows == 0 => return Ok(Cell(None)),
            _ => {}
        }
        let (mut sum, mut reals) = (Quantity::int(0), None);
        for term in &self.sum {
            let units = product(&term.factors, &term.reals);
            let units = units.ok_or_else(|| overflow("a product of sums"))?;
            let scale = term.scale;
            if term.reals.contains(&true) {
                let exact = Expansion::of_decimal(term.sign * units, scale as i8);
                let mut product = exact;
                for ((&at, &start), &real) in term.factors.iter().zip(starts).zip(&term.reals) {
                    if real {
                        let relations = [numbers[start + at], numbers[start + at + 1]];
                        product = product.product(digits::unpacked(relations));
                    }
                }
                reals = Some(reals.unwrap_or(Expansion::ZERO).sum(product));
                continue;
            }
            let units = Quantity::Exact { units, scale };
            sum = match term.sign < 0 {
                true => sum.minus(units)?,
                false => sum.plus(units)?,
            };
        }
        if let Some(reals) = reals {
            let exact = match sum {
                Quantity::Exact { units, scale } => Expansion::of_decimal(units, scale as i8),
                other => other.expansion(),
            };
            sum = Quantity::Sum(reals.sum(exact));
        }
        Ok(match self.aggregate {
            Aggregate::Average(_) => Cell(sum.over(Quantity::int(rows))),
            _ => Cell(Some(sum)),
        })
    }
}
