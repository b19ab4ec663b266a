//! One relation whose rows are chosen by a column against something closed (`b.volume > 0.0001 * (SELECT ..)`).
//!
//! Invariant: a tree holds the relation's sums by that column, so the rows that pass lie on one side of a cut.
//! Cost: O(log n) a change and a result.

use ringview_core::Result;

use super::number::Quantity;
use super::plan::Comparison;
use super::row::{Cell, Row};
use super::running::{Part, Role, Stage, delta};
use super::scope::{RowScope, holds_for, value_for};
use crate::cut::Cut;
use crate::payload::{Payload, Sums};
use crate::tree::{RpaiTree, overflow};

#[derive(Clone, Debug)]
pub(super) struct Threshold<const N: usize> {
    role: Role,
    /// The comparison, as the one element that `stages` wants.
    stage: [Stage; 1],
    /// Of the units that keys are.
    scale: u8,
    tree: RpaiTree<i128, Sums<N>>,
}

/// A part over payloads that are wide enough.
pub(super) fn part(role: Role, stage: Stage, scale: u8) -> Option<Box<dyn Part>> {
    fn made<const N: usize>(role: Role, stage: Stage, scale: u8) -> Box<dyn Part> {
        let tree = RpaiTree::new();
        Box::new(Threshold::<N> {
            role,
            stage: [stage],
            scale,
            tree,
        })
    }
    match 1 + role.sums.len() {
        0..=2 => Some(made::<2>(role, stage, scale)),
        3..=4 => Some(made::<4>(role, stage, scale)),
        5..=8 => Some(made::<8>(role, stage, scale)),
        _ => None,
    }
}

impl<const N: usize> Threshold<N> {
    /// The sums of the rows whose column is less than a number, or at most it.
    fn below(&self, number: Quantity, inclusive: bool) -> Result<Sums<N>> {
        let (key, is_key) = match number {
            Quantity::Real(_) => {
                let key = first_beyond(number, inclusive, self.scale);
                return Ok(self.tree.get_sum(&Cut::before(key)));
            }
            Quantity::Exact { scale: finer, .. } if finer > self.scale => {
                // Between two keys, unless the digits behind are zeros.
                let power = 10i128.checked_pow(u32::from(finer - self.scale));
                let power = power.ok_or_else(|| overflow("a number"))?;
                let units = number.units_at(finer)?;
                (units.div_euclid(power), units.rem_euclid(power) == 0)
            }
            number => (number.units_at(self.scale)?, true),
        };
        Ok(self.tree.get_sum(&match inclusive || !is_key {
            true => Cut::after(key),
            false => Cut::before(key),
        }))
    }
}

/// The least units that are more than a double, or, not inclusive, at least it. O(1): the digits of a key.
fn first_beyond(number: Quantity, inclusive: bool, scale: u8) -> i128 {
    let how = if inclusive {
        Comparison::Greater
    } else {
        Comparison::GreaterOrEqual
    };
    let (mut low, mut high) = (i128::MIN / 2, i128::MAX / 2);
    while low < high {
        let middle = low + (high - low) / 2;
        let units = Quantity::Exact {
            units: middle,
            scale,
        };
        if how.holds(units.compare(number)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

impl<const N: usize> Part for Threshold<N> {
    fn change(&mut self, table: usize, row: &Row, times: i64) -> Result<()> {
        if table != self.role.table || !holds_for(&self.role.filter, row)? {
            return Ok(());
        }
        let Some(key) = &self.role.key else {
            return Ok(());
        };
        let Some(number) = value_for(key, &RowScope(row))?.0 else {
            return Ok(());
        };
        let delta = delta(&self.role, 0, row, times)?;
        self.tree.add(number.units_at(self.scale)?, (), delta)
    }

    fn passing(&self, closed: &[Cell]) -> Result<[i128; 8]> {
        let mut all = [0; 8];
        let Some(closed) = closed[0].0 else {
            return Ok(all);
        };
        let total = self.tree.total();
        // The closed side stands left.
        let passed = match self.stage[0].how {
            Comparison::Less => total.without(self.below(closed, true)?),
            Comparison::LessOrEqual => total.without(self.below(closed, false)?),
            Comparison::Greater => self.below(closed, false)?,
            Comparison::GreaterOrEqual => self.below(closed, true)?,
            Comparison::Equal => self
                .below(closed, true)?
                .without(self.below(closed, false)?),
            Comparison::NotEqual => {
                let equal = self
                    .below(closed, true)?
                    .without(self.below(closed, false)?);
                total.without(equal)
            }
        };
        all[..N].copy_from_slice(&passed.0);
        Ok(all)
    }

    fn stages(&self) -> &[Stage] {
        &self.stage
    }

    fn walks(&self) -> bool {
        false
    }

    fn memory_usage(&self) -> usize {
        self.tree.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.tree.steps()
    }

    fn copy(&self) -> Box<dyn Part> {
        Box::new(self.clone())
    }
}
