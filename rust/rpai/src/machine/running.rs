//! The aggregate-index optimisation (paper, section 4.3) for one relation: which of its rows pass, in O(log n).
//!
//! Invariant: one RPAI tree holds, by key, the rows of every block of a chain: innermost block first, each
//! correlated with the next by an inequality of keys (`b2.price <= b.price`), the outer relation last. At
//! equal keys ties put a block before the next where the inequality admits equals, else behind. So *the
//! running sum before an entry is the aggregate that its row is compared by*: adding a row moves the
//! aggregates of all rows behind it at once, by the sums of subtrees, as `shift_keys` would move them as keys. Where no
//! sum of an entry is negative, aggregates grow along the tree, and the rows that pass lie between two places
//! that `select` finds; of a block within a block they are clamped to its own two places first. Zeros and equal
//! aggregates need no care: nothing merges. Where some sum is negative, aggregates go up and down: the tree is
//! then walked, O(n), until it is negative no longer. Cost: O(log n) a change, and O(log n) a result for each
//! block of the chain.

use ringview_core::Result;
use ringview_ring::CommutativeMonoid;

use super::number::{Kind, Quantity};
use super::plan::{Comparison, Condition, Value};
use super::row::{Cell, Row};
use super::scope::{RowScope, holds_for, value_for};
use crate::payload::{Payload, Sums};
use crate::tree::{RpaiTree, overflow};

/// Rows of one block of a chain, or of the outer relation.
#[derive(Clone, Debug)]
pub(super) struct Role {
    pub(super) table: usize,
    pub(super) filter: Vec<Condition>,
    /// What its entries are ordered by; `None` where there is nothing to compare.
    pub(super) key: Option<Value>,
    pub(super) tie: i8,
    /// What is summed, with the scale of its units; a count comes first.
    pub(super) sums: Vec<(Value, u8)>,
}

/// A comparison of something closed with what grows along the tree.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// The closed side, left.
    pub(super) closed: Value,
    pub(super) how: Comparison,
    /// The other, growing with the block or the column in it; `None` for that itself.
    pub(super) growing: Option<Value>,
    /// The scale of the sum's units.
    pub(super) scale: u8,
    /// Whether the aggregate is a count, which is 0 where a sum is NULL.
    pub(super) counts: bool,
}

/// What an outer relation asks of how its rows are chosen.
pub(super) trait Part: std::fmt::Debug + Send + Sync {
    /// A row of a table comes or goes: in whole, or with an error not at all.
    fn change(&mut self, table: usize, row: &Row, times: i64) -> Result<()>;
    /// The count and the sums over the rows that pass, given the closed sides; more than there are, are 0.
    fn passing(&self, closed: &[Cell]) -> Result<[i128; 8]>;
    /// The stages whose closed sides it wants.
    fn stages(&self) -> &[Stage];
    /// Whether aggregates go up and down now, so that `passing` walks.
    fn walks(&self) -> bool;
    fn memory_usage(&self) -> usize;
    fn steps(&self) -> u64;
    fn copy(&self) -> Box<dyn Part>;
}

/// A relation whose rows are all chosen, or by a chain of blocks; payloads of N numbers: two for each block, then
/// those of the relation.
#[derive(Clone, Debug)]
pub(super) struct Running<const N: usize> {
    /// From the innermost block to the relation.
    roles: Vec<Role>,
    stages: Vec<Stage>,
    /// In which keys are compared, and whether they grow downwards.
    kind: Kind,
    mirrored: bool,
    tree: RpaiTree<i128, Sums<N>, i8>,
    /// Entries of blocks with a negative sum.
    negative: usize,
}

/// A part over payloads that are wide enough.
pub(super) fn part(
    roles: Vec<Role>,
    stages: Vec<Stage>,
    (kind, mirrored): (Kind, bool),
) -> Option<Box<dyn Part>> {
    let outer = roles.last().map_or(0, |role| role.sums.len());
    let width = 2 * (roles.len() - 1) + 1 + outer;
    fn made<const N: usize>(
        (roles, stages): (Vec<Role>, Vec<Stage>),
        (kind, mirrored): (Kind, bool),
    ) -> Box<dyn Part> {
        let tree = RpaiTree::new();
        Box::new(Running::<N> {
            roles,
            stages,
            kind,
            mirrored,
            tree,
            negative: 0,
        })
    }
    let (parts, order) = ((roles, stages), (kind, mirrored));
    match width {
        0..=2 => Some(made::<2>(parts, order)),
        3..=4 => Some(made::<4>(parts, order)),
        5..=6 => Some(made::<6>(parts, order)),
        7..=8 => Some(made::<8>(parts, order)),
        _ => None,
    }
}

impl<const N: usize> Running<N> {
    /// Where the numbers of a role stand.
    fn at(&self, role: usize) -> usize {
        2 * role
    }

    fn change_role(&mut self, role: usize, row: &Row, times: i64) -> Result<()> {
        let (is_block, at) = (role + 1 < self.roles.len(), self.at(role));
        let of = &self.roles[role];
        if !holds_for(&of.filter, row)? {
            return Ok(());
        }
        let Some(key) = self.key(of, row)? else {
            return Ok(());
        };
        let delta = delta(of, at, row, times)?;
        let (old, new) = self.tree.add_telling(key, of.tie, delta)?;
        if is_block {
            let is_negative = |sums: Sums<N>| usize::from(sums.0[at] < 0 || sums.0[at + 1] < 0);
            self.negative = self.negative + is_negative(new) - is_negative(old);
        }
        Ok(())
    }

    /// The key of a row; `None` for NULL, which compares with nothing.
    fn key(&self, role: &Role, row: &Row) -> Result<Option<i128>> {
        let Some(key) = &role.key else {
            return Ok(Some(0));
        };
        let Some(number) = value_for(key, &RowScope(row))?.0 else {
            return Ok(None);
        };
        let key = number.ordinal(self.kind)?;
        let mirrored = if self.mirrored {
            key.checked_neg()
        } else {
            Some(key)
        };
        mirrored.map(Some).ok_or_else(|| overflow("a key"))
    }

    /// Sums before the first and behind the last row that passes.
    fn places(&self, closed: &[Cell]) -> Result<(Sums<N>, Sums<N>)> {
        let total = self.tree.total();
        let (mut low, mut high) = (Sums::ZERO, total);
        for (at, (stage, closed)) in self.stages.iter().zip(closed).enumerate() {
            let Some(closed) = closed.0 else {
                return Ok((total, total));
            };
            let at = self.at(at);
            let count = |sums: Sums<N>| sums.0[at].clamp(low.0[at], high.0[at]) - low.0[at];
            let sum = |sums: Sums<N>| {
                let place = at + usize::from(!stage.counts);
                sums.0[place].clamp(low.0[place], high.0[place]) - low.0[place]
            };
            let most = sum(total);
            // The place from which on the aggregate is not NULL, and at least so much.
            let from = |bound: i128| {
                let reached = |sums| (stage.counts || count(sums) > 0) && sum(sums) >= bound;
                self.tree
                    .select(reached)
                    .map_or(total, |(_, _, before)| before)
            };
            let least = |strictly: bool| stage.least(closed, strictly, most);
            let everywhere = if stage.counts { 0 } else { i128::MIN };
            (low, high) = match stage.how {
                Comparison::Less => (from(least(true)?), total),
                Comparison::LessOrEqual => (from(least(false)?), total),
                Comparison::Greater => (from(everywhere), from(least(false)?)),
                Comparison::GreaterOrEqual => (from(everywhere), from(least(true)?)),
                Comparison::Equal | Comparison::NotEqual => {
                    (from(least(false)?), from(least(true)?))
                }
            };
        }
        Ok((low, high))
    }

    /// The same by walking, whatever the signs.
    fn walk(&self, closed: &[Cell]) -> Result<[i128; 8]> {
        let outer = self.roles.len() - 1;
        let mut passed = [0; 8];
        let mut sums = [0i128; N];
        for (_, tie, payload) in self.tree.iter() {
            let role = self
                .roles
                .iter()
                .position(|role| role.tie == tie)
                .unwrap_or(outer);
            if role > 0 {
                let (stage, at) = (&self.stages[role - 1], self.at(role - 1));
                let units = sums[at + usize::from(!stage.counts)];
                let is_null = !stage.counts && sums[at] == 0;
                if is_null || !stage.passes(closed[role - 1], units)? {
                    continue;
                }
            }
            for (sum, number) in sums.iter_mut().zip(payload.0) {
                *sum = sum.checked_add(number).ok_or_else(|| overflow("a sum"))?;
            }
        }
        let own = &sums[self.at(outer)..];
        passed[..own.len()].copy_from_slice(own);
        Ok(passed)
    }
}

/// What a row adds to the sums of its role, which begin at a place.
pub(super) fn delta<const N: usize>(
    role: &Role,
    at: usize,
    row: &Row,
    times: i64,
) -> Result<Sums<N>> {
    let mut delta = Sums::ZERO;
    let times = i128::from(times);
    delta.0[at] = times;
    for (place, (value, scale)) in role.sums.iter().enumerate() {
        let value = value_for(value, &RowScope(row))?
            .0
            .unwrap_or(Quantity::int(0));
        let product = value.units_at(*scale)?.checked_mul(times);
        delta.0[at + 1 + place] = product.ok_or_else(|| overflow("a sum"))?;
    }
    Ok(delta)
}

impl Stage {
    /// The side that grows, of so many units.
    pub(super) fn growing(&self, units: i128) -> Result<Cell> {
        let number = Quantity::Exact {
            units,
            scale: self.scale,
        };
        match &self.growing {
            None => Ok(Cell(Some(number))),
            Some(value) => super::scope::value_with(value, Cell(Some(number))),
        }
    }

    fn passes(&self, closed: Cell, units: i128) -> Result<bool> {
        Ok(match (closed.0, self.growing(units)?.0) {
            (Some(closed), Some(growing)) => self.how.holds(closed.compare(growing)),
            _ => false,
        })
    }

    /// The least units from 0 to more than `most` of which the growing side is at least, or more than, the closed
    /// one. O(1) for the aggregate as it is, else O(log most).
    fn least(&self, closed: Quantity, strictly: bool, most: i128) -> Result<i128> {
        let beyond = most.saturating_add(1);
        if let (None, Quantity::Exact { units, scale }) = (&self.growing, closed) {
            let finer = 10i128.checked_pow(u32::from(scale.abs_diff(self.scale)));
            let finer = finer.ok_or_else(|| overflow("a number"))?;
            let least = match (scale > self.scale, strictly) {
                (true, true) => units.div_euclid(finer) + 1,
                (true, false) => units.div_euclid(finer) + i128::from(units.rem_euclid(finer) != 0),
                (false, strictly) => match units.checked_mul(finer) {
                    Some(units) => units + i128::from(strictly),
                    None => return Ok(if units < 0 { 0 } else { beyond }),
                },
            };
            return Ok(least.clamp(0, beyond));
        }
        let how = if strictly {
            Comparison::Less
        } else {
            Comparison::LessOrEqual
        };
        let (mut low, mut high) = (0, beyond);
        while low < high {
            let middle = low + (high - low) / 2;
            let reached = self
                .growing(middle)?
                .0
                .is_some_and(|it| how.holds(closed.compare(it)));
            (low, high) = if reached {
                (low, middle)
            } else {
                (middle + 1, high)
            };
        }
        Ok(low)
    }
}

impl<const N: usize> Part for Running<N> {
    fn change(&mut self, table: usize, row: &Row, times: i64) -> Result<()> {
        for role in 0..self.roles.len() {
            if self.roles[role].table != table {
                continue;
            }
            if let Err(error) = self.change_role(role, row, times) {
                for done in (0..role)
                    .filter(|&done| self.roles[done].table == table)
                    .collect::<Vec<_>>()
                {
                    self.change_role(done, row, -times)?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn passing(&self, closed: &[Cell]) -> Result<[i128; 8]> {
        if self.walks() {
            return self.walk(closed);
        }
        let (low, high) = self.places(closed)?;
        let passed = high.without(low);
        let own = &passed.0[self.at(self.roles.len() - 1)..];
        let mut all = [0; 8];
        // A range that ends before it begins is empty.
        if own[0] > 0 {
            all[..own.len()].copy_from_slice(own);
        }
        Ok(all)
    }

    fn stages(&self) -> &[Stage] {
        &self.stages
    }

    fn walks(&self) -> bool {
        self.negative > 0
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
