//! One relation chosen by a block that is correlated by equalities (paper, section 2.1 and example 2.1).
//!
//! Invariant: rows of a group share the block's aggregate, and an index holds the relation's sums by it: where
//! aggregates are compared by equality a PAI map, else an RPAI tree. A row of the block moves its group from one
//! aggregate to another; groups whose aggregate is NULL are in no index. Nothing grows along anything, so
//! any signs will do. Cost: O(1) a change and a result with the map, O(log n) with the tree.

use std::collections::HashMap;

use foldhash::quality::SeedableRandomState;
use ringview_core::{Result, random_hasher};
use ringview_ring::{CommutativeMonoid, Group};

use super::number::{Kind, Quantity};
use super::plan::{Comparison, Value};
use super::row::{Cell, Row};
use super::running::{Part, Role, Stage, delta};
use super::scope::{RowScope, holds_for, value_for};
use crate::cut::Cut;
use crate::pai_map::PaiMap;
use crate::payload::{Payload, Sums};
use crate::tree::{RpaiTree, overflow};

#[derive(Clone, Debug)]
enum Index<const N: usize> {
    Map(PaiMap<i128, Sums<N>>),
    Tree(RpaiTree<i128, Sums<N>>),
}

/// The sums of a group: the block's, and the relation's.
type Both<const N: usize> = (Sums<2>, Sums<N>);

#[derive(Clone, Debug)]
pub(super) struct Grouped<const N: usize> {
    /// The block, then the relation, with the values that must be equal.
    roles: [(Role, Vec<Value>); 2],
    kinds: Vec<Kind>,
    stage: [Stage; 1],
    groups: HashMap<Vec<i128>, Both<N>, SeedableRandomState>,
    index: Index<N>,
}

/// A part over payloads that are wide enough.
pub(super) fn part(
    roles: [(Role, Vec<Value>); 2],
    kinds: Vec<Kind>,
    stage: Stage,
) -> Option<Box<dyn Part>> {
    fn made<const N: usize>(
        roles: [(Role, Vec<Value>); 2],
        kinds: Vec<Kind>,
        stage: Stage,
    ) -> Box<dyn Part> {
        let by_equality = matches!(stage.how, Comparison::Equal | Comparison::NotEqual);
        let index = match by_equality && stage.growing.is_none() {
            true => Index::Map(PaiMap::new()),
            false => Index::Tree(RpaiTree::new()),
        };
        let groups = HashMap::with_hasher(random_hasher());
        let stage = [stage];
        Box::new(Grouped::<N> {
            roles,
            kinds,
            stage,
            groups,
            index,
        })
    }
    match 1 + roles[1].0.sums.len() {
        0..=2 => Some(made::<2>(roles, kinds, stage)),
        3..=4 => Some(made::<4>(roles, kinds, stage)),
        5..=8 => Some(made::<8>(roles, kinds, stage)),
        _ => None,
    }
}

impl<const N: usize> Index<N> {
    fn add(&mut self, key: Option<i128>, payload: Sums<N>) -> Result<()> {
        match (self, key) {
            (_, None) => Ok(()),
            (Index::Map(map), Some(key)) => map.add(key, payload),
            (Index::Tree(tree), Some(key)) => tree.add(key, (), payload),
        }
    }

    /// Moves a payload, or leaves everything as it was.
    fn shift(&mut self, from: Option<i128>, to: Option<i128>, payload: Sums<N>) -> Result<()> {
        let less = payload.minus().ok_or_else(|| overflow("a payload"))?;
        self.add(from, less)?;
        let moved = self.add(to, payload);
        if moved.is_err() {
            self.add(from, payload)?;
        }
        moved
    }
}

impl<const N: usize> Grouped<N> {
    /// The units of a group's aggregate; `None` for NULL.
    fn aggregate(&self, sums: Sums<2>) -> Option<i128> {
        match (self.stage[0].counts, sums.0) {
            (true, [count, _]) => Some(count),
            (false, [0, _]) => None,
            (false, [_, sum]) => Some(sum),
        }
    }

    fn change_role(&mut self, role: usize, row: &Row, times: i64) -> Result<()> {
        let (of, values) = &self.roles[role];
        if !holds_for(&of.filter, row)? {
            return Ok(());
        }
        let mut key = Vec::with_capacity(values.len());
        for (value, &kind) in values.iter().zip(&self.kinds) {
            match value_for(value, &RowScope(row))?.0 {
                Some(number) => key.push(number.ordinal(kind)?),
                None => return Ok(()),
            }
        }
        let none = (Sums::ZERO, Sums::ZERO);
        let (block, own) = self.groups.get(&key).copied().unwrap_or(none);
        let (mut next_block, mut next_own) = (block, own);
        let too_much = || overflow("a sum");
        if role == 0 {
            next_block = block.plus(delta(of, 0, row, times)?).ok_or_else(too_much)?;
            let (from, to) = (self.aggregate(block), self.aggregate(next_block));
            if from != to {
                self.index.shift(from, to, own)?;
            }
        } else {
            let delta = delta(of, 0, row, times)?;
            next_own = own.plus(delta).ok_or_else(too_much)?;
            self.index.add(self.aggregate(block), delta)?;
        }
        if next_block.is_zero() && next_own.is_zero() {
            self.groups.remove(&key);
        } else {
            self.groups.insert(key, (next_block, next_own));
        }
        Ok(())
    }

    /// The sums of the groups whose aggregate makes the growing side less than a number, or at most it. O(log n)
    /// steps of a search between the least and the greatest aggregate.
    fn below(
        &self,
        tree: &RpaiTree<i128, Sums<N>>,
        closed: Quantity,
        inclusive: bool,
    ) -> Result<Sums<N>> {
        let how = if inclusive {
            Comparison::GreaterOrEqual
        } else {
            Comparison::Greater
        };
        let (Some(first), Some(last)) = (tree.first(), tree.last()) else {
            return Ok(Sums::ZERO);
        };
        let (mut low, mut high) = (first.0, last.0.saturating_add(1));
        while low < high {
            let middle = low + (high - low) / 2;
            let growing = self.stage[0].growing(middle)?.0;
            let is_below = growing.is_some_and(|growing| how.holds(closed.compare(growing)));
            (low, high) = if is_below {
                (middle + 1, high)
            } else {
                (low, middle)
            };
        }
        Ok(tree.get_sum(&Cut::before(low)))
    }

    fn equal(&self, closed: Quantity) -> Result<Sums<N>> {
        let stage = &self.stage[0];
        match (&self.index, closed) {
            (Index::Map(map), Quantity::Exact { units, scale }) => {
                let power = 10i128.checked_pow(u32::from(scale.abs_diff(stage.scale)));
                let power = power.ok_or_else(|| overflow("a number"))?;
                let key = match scale > stage.scale {
                    true => (units.rem_euclid(power) == 0).then(|| units.div_euclid(power)),
                    false => units.checked_mul(power),
                };
                Ok(key.and_then(|key| map.get(key)).unwrap_or(Sums::ZERO))
            }
            (Index::Map(map), Quantity::Real(_)) => {
                let mut sum = Sums::ZERO;
                for (units, payload) in map.iter() {
                    let growing = stage.growing(units)?.0;
                    if growing.is_some_and(|growing| closed.compare(growing).is_eq()) {
                        sum = sum.with(payload);
                    }
                }
                Ok(sum)
            }
            (Index::Tree(tree), closed) => {
                let through = self.below(tree, closed, true)?;
                Ok(through.without(self.below(tree, closed, false)?))
            }
        }
    }
}

impl<const N: usize> Part for Grouped<N> {
    fn change(&mut self, table: usize, row: &Row, times: i64) -> Result<()> {
        let is_of = |role: usize| self.roles[role].0.table == table;
        let (of_block, of_relation) = (is_of(0), is_of(1));
        if of_block {
            self.change_role(0, row, times)?;
        }
        let changed = if of_relation {
            self.change_role(1, row, times)
        } else {
            Ok(())
        };
        if changed.is_err() && of_block {
            self.change_role(0, row, -times)?;
        }
        changed
    }

    fn passing(&self, closed: &[Cell]) -> Result<[i128; 8]> {
        let mut all = [0; 8];
        let Some(closed) = closed[0].0 else {
            return Ok(all);
        };
        let total = match &self.index {
            Index::Map(map) => map.total(),
            Index::Tree(tree) => tree.total(),
        };
        // The closed side stands left.
        let passed = match (self.stage[0].how, &self.index) {
            (Comparison::Less, Index::Tree(tree)) => total.without(self.below(tree, closed, true)?),
            (Comparison::LessOrEqual, Index::Tree(tree)) => {
                total.without(self.below(tree, closed, false)?)
            }
            (Comparison::Greater, Index::Tree(tree)) => self.below(tree, closed, false)?,
            (Comparison::GreaterOrEqual, Index::Tree(tree)) => self.below(tree, closed, true)?,
            (Comparison::NotEqual, _) => total.without(self.equal(closed)?),
            _ => self.equal(closed)?,
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
        let words = self.kinds.len() * size_of::<i128>() + size_of::<(Vec<i128>, Both<N>)>() + 1;
        let index = match &self.index {
            Index::Map(map) => map.memory_usage(),
            Index::Tree(tree) => tree.memory_usage(),
        };
        self.groups.capacity() * words + index
    }

    fn steps(&self) -> u64 {
        match &self.index {
            Index::Map(_) => 0,
            Index::Tree(tree) => tree.steps(),
        }
    }

    fn copy(&self) -> Box<dyn Part> {
        Box::new(self.clone())
    }
}
