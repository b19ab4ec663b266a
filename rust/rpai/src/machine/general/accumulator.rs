//! An aggregate under inserts and deletes.
//!
//! Invariant: sums of exact numbers are exact, of doubles expansions; MIN and MAX keep their values
//! as an ordered multiset, so that deletes find the next. Cost: O(1), O(log n) for MIN and MAX.

use std::collections::BTreeMap;

use ringview_core::Result;
use ringview_ring::{CommutativeMonoid, Expansion};

use crate::machine::query::{Aggregate, Block, Cell, Quantity, Scope, summand, value_for};
use crate::tree::overflow;

#[derive(Clone, Debug, Default)]
pub(crate) struct Accumulator {
    /// Rows, or values that are not NULL.
    count: i128,
    /// Units of a scale.
    exact: (i128, u8),
    reals: Expansion,
    /// Number of values that are doubles.
    doubles: i128,
    values: BTreeMap<Cell, i128>,
}

impl Accumulator {
    /// Takes a value so many times.
    pub(crate) fn take(&mut self, what: &Aggregate, value: Cell, times: i128) -> Result<()> {
        if matches!(what, Aggregate::Count) {
            self.count += times;
            return Ok(());
        }
        let Some(number) = value.0 else {
            return Ok(());
        };
        if matches!(what, Aggregate::Counted(_)) {
            // Counted below.
        } else if matches!(what, Aggregate::Min(_) | Aggregate::Max(_)) {
            let held = self.values.entry(value).or_default();
            *held += times;
            if *held == 0 {
                self.values.remove(&value);
            }
        } else {
            self.add(number, times)?;
        }
        self.count += times;
        Ok(())
    }

    fn add(&mut self, number: Quantity, times: i128) -> Result<()> {
        match number {
            Quantity::Real(_) | Quantity::Sum(_) => {
                let times_value = Expansion::from(times).product(number.expansion());
                let sum = self.reals.plus(times_value);
                self.reals = sum.ok_or_else(|| overflow("a sum of doubles"))?;
                self.doubles += times;
            }
            exact => {
                let (units, scale) = self.exact;
                let so_far = Quantity::Exact { units, scale };
                let sum = so_far.plus(exact.times(Quantity::int(times))?)?;
                if let Quantity::Exact { units, scale } = sum {
                    self.exact = (units, scale);
                }
            }
        }
        Ok(())
    }

    /// Takes all that another took, so many times.
    pub(crate) fn merge(&mut self, other: &Self, times: i128) -> Result<()> {
        let too_much = || overflow("a sum");
        let (units, scale) = other.exact;
        let exact = Quantity::Exact { units, scale }.times(Quantity::int(times))?;
        let (units, scale) = self.exact;
        if let Quantity::Exact { units, scale } = (Quantity::Exact { units, scale }).plus(exact)? {
            self.exact = (units, scale);
        }
        let reals = other.reals.scaled(times as f64);
        self.reals = self.reals.plus(reals).ok_or_else(too_much)?;
        self.doubles += times * other.doubles;
        self.count += times * other.count;
        if self.doubles == 0 {
            self.reals = Expansion::ZERO;
        }
        for (value, held) in &other.values {
            let now = self.values.entry(*value).or_default();
            *now += times * held;
            if *now == 0 {
                self.values.remove(value);
            }
        }
        Ok(())
    }

    /// Whether it holds no row.
    pub(crate) fn is_vacant(&self) -> bool {
        self.count == 0 && self.values.is_empty()
    }

    /// Bytes of its values, nearly: a node of the ordered multiset is half full at least.
    pub(crate) fn memory_usage(&self) -> usize {
        2 * self.values.len() * size_of::<(Cell, i128)>()
    }

    /// Its value.
    pub(crate) fn value(&self, what: &Aggregate) -> Result<Cell> {
        if matches!(what, Aggregate::Count | Aggregate::Counted(_)) {
            return Ok(Cell(Some(Quantity::int(self.count))));
        }
        if self.count == 0 {
            return Ok(Cell(None));
        }
        let (units, scale) = self.exact;
        let exact = Quantity::Exact { units, scale };
        let sum = match self.doubles {
            0 => exact,
            _ => Quantity::Sum(self.reals.sum(Expansion::of_decimal(units, scale as i8))),
        };
        Ok(match what {
            Aggregate::Sum(_) => Cell(Some(sum)),
            Aggregate::Average(_) => Cell(sum.over(Quantity::int(self.count))),
            Aggregate::Min(_) => self.values.keys().next().copied().unwrap_or_default(),
            _ => self.values.keys().next_back().copied().unwrap_or_default(),
        })
    }
}

/// Takes a combination of rows into aggregates.
pub(crate) fn take(
    block: &Block,
    all: &mut [Accumulator],
    scope: &dyn Scope,
    times: i128,
) -> Result<()> {
    let values = values(block, scope)?;
    let mut each = block.aggregates.iter().zip(all).zip(values);
    each.try_for_each(|((aggregate, of), value)| of.take(aggregate, value, times))
}

/// The values of a combination of rows, by aggregate.
pub(crate) fn values(block: &Block, scope: &dyn Scope) -> Result<Vec<Cell>> {
    let value = |aggregate: &Aggregate| match aggregate.argument() {
        Some(value) if matches!(aggregate, Aggregate::Sum(_) | Aggregate::Average(_)) => {
            summand(value, scope)
        }
        Some(value) => value_for(value, scope),
        None => Ok(Cell(None)),
    };
    block.aggregates.iter().map(value).collect()
}
