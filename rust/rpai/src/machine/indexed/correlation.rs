//! A comparison of something closed with an aggregate that grows along an index.
//!
//! Invariant: `least` is where the comparison turns, whatever arithmetic surrounds the
//! aggregate, as long as that grows with it. Cost: O(1) for the aggregate as it is, else a search
//! between the least and the greatest that it can be.

use ringview_core::Result;

use crate::machine::query::{
    Cell, Comparison, Kind, Quantity, Value, floor, power_of_ten, product, value_with,
};
use crate::tree::overflow;

/// A comparison.
#[derive(Clone, Debug)]
pub(crate) struct Correlation {
    /// The closed side, left.
    pub(crate) closed: Value,
    pub(crate) how: Comparison,
    /// The other, growing with the block in it; `None` for that itself.
    pub(crate) growing: Option<Value>,
    /// The kind of the aggregate, whose keys are the units of this module: a sum of doubles is its nearest one.
    pub(crate) kind: Kind,
    /// Whether the aggregate is a count, which is 0 where a sum is NULL.
    pub(crate) counts: bool,
    /// Whether rows with equal keys are summed too.
    pub(crate) admits: bool,
}

impl Correlation {
    /// The side that grows, of so many units.
    pub(crate) fn growing(&self, units: i128) -> Result<Cell> {
        let number = self.kind.number(units);
        match &self.growing {
            None => Ok(Cell(Some(number))),
            Some(value) => value_with(value, Cell(Some(number))),
        }
    }

    pub(crate) fn passes(&self, closed: Cell, units: i128) -> Result<bool> {
        Ok(match (closed.0, self.growing(units)?.0) {
            (Some(closed), Some(growing)) => self.how.holds(closed.compare(growing)),
            _ => false,
        })
    }

    /// The least units from 0 to more than `most` of which the growing side is at least, or more
    /// than, the closed one. O(1) for the aggregate as it is, else O(log most).
    pub(crate) fn least(&self, closed: Quantity, strictly: bool, most: i128) -> Result<i128> {
        let beyond = most.saturating_add(1);
        if let (None, Kind::Real) = (&self.growing, self.kind) {
            let least = self.kind.key(closed)? + i128::from(strictly);
            return Ok(least.clamp(0, beyond));
        }
        if let (None, Kind::Exact(own), Quantity::Exact { units, scale }) =
            (&self.growing, self.kind, closed)
        {
            let finer = power_of_ten(scale.abs_diff(own));
            let finer = finer.ok_or_else(|| overflow("a number"))?;
            let least = match scale > own {
                true => {
                    let (whole, is_whole) = floor(units, finer);
                    whole + i128::from(strictly || !is_whole)
                }
                false => match product(units, finer) {
                    Some(units) => units + i128::from(strictly),
                    None => return Ok(if units < 0 { 0 } else { beyond }),
                },
            };
            return Ok(least.clamp(0, beyond));
        }
        let how = match strictly {
            true => Comparison::Lt,
            false => Comparison::Le,
        };
        let (mut low, mut high) = (0, beyond);
        while low < high {
            let middle = low + (high - low) / 2;
            let is_met = (self.growing(middle)?.0).is_some_and(|it| how.holds(closed.compare(it)));
            (low, high) = match is_met {
                true => (low, middle),
                false => (middle + 1, high),
            };
        }
        Ok(low)
    }
}
