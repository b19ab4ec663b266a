//! One relation filtered by a block that is correlated by equalities (paper, section 2.1 and
//! example 2.1).
//!
//! Invariant: rows of a group share the block's aggregate, and an index holds the relation's sums
//! by it: where aggregates are compared by equality a PAI map, else an RPAI tree. A row of the
//! block moves its group from one aggregate to another; groups whose aggregate is NULL are in no
//! index. Nothing must be monotone, so any signs are right. Cost: O(1) a change and a result with
//! the map, O(log n) with the tree.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use ringview_core::{Result, random_hasher};
use ringview_ring::{CommutativeMonoid, Group};

use crate::cut::Cut;
use crate::machine::indexed::correlation::Correlation;
use crate::machine::indexed::digits::Reals;
use crate::machine::indexed::reader::RowReaders;
use crate::machine::indexed::relation::{FilteredRelation, MOST_AT_FIRST, with_lanes};
use crate::machine::query::{Cell, Comparison, Kind, Quantity, RowAt, Value, floor, power_of_ten};
use crate::pai_map::PaiMap;
use crate::payload::{Payload, Sums};
use crate::tree::{RpaiTree, overflow};

#[derive(Clone, Debug)]
enum Index<const N: usize> {
    Map(PaiMap<i128, Sums<N>>),
    Tree(RpaiTree<i128, Sums<N>>),
}

/// The block's count and sum, then those of the relation.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) readers: RowReaders,
    pub(crate) correlation: Correlation,
    /// The closed side, as the one element that `closed` wants.
    pub(crate) closed: [Value; 1],
    /// The place of the block's sum among the sums of doubles, if it is one.
    pub(crate) real: Option<usize>,
    /// The first lane of the relation.
    pub(crate) first: usize,
    pub(crate) width: usize,
}

#[derive(Clone, Debug)]
struct Grouped<const N: usize> {
    shape: Arc<Shape>,
    groups: HashMap<Vec<i128>, Sums<N>, SeedableRandomState>,
    index: Index<N>,
    /// Group and delta of each change since the last commit.
    undo: Vec<(Vec<i128>, Sums<N>)>,
}

/// A relation over payloads that are wide enough.
pub(crate) fn relation(shape: Shape) -> Option<Box<dyn FilteredRelation>> {
    let lanes = shape.readers.lanes;
    (lanes <= MOST_AT_FIRST).then(|| -> Box<dyn FilteredRelation> {
        with_lanes!(lanes, M => Box::new(Grouped::<M>::new(shape.into())))
    })
}

impl Shape {
    /// The units of a group's aggregate; `None` for NULL.
    fn aggregate<const N: usize>(&self, sums: Sums<N>) -> Option<i128> {
        match (self.correlation.counts, sums.0[0], self.block_real()) {
            (true, count, _) => Some(count),
            (false, 0, _) => None,
            (false, _, None) => Some(sums.0[1]),
            (false, _, Some(real)) => Some(real.key(|lane| sums.0[lane])),
        }
    }

    /// The block's sum, if it is one of doubles.
    fn block_real(&self) -> Option<&Reals> {
        self.real.map(|real| self.readers.real(real))
    }

    /// The sums of the relation alone.
    fn own<const N: usize>(&self, sums: Sums<N>) -> Sums<N> {
        let mut own = sums;
        own.0[..self.first].fill(0);
        let more = self.block_real().into_iter().flat_map(Reals::lanes);
        more.for_each(|lane| own.0[lane] = 0);
        own
    }
}

impl<const N: usize> Index<N> {
    fn new(shape: &Shape) -> Self {
        let by_equality = matches!(shape.correlation.how, Comparison::Eq | Comparison::Ne);
        if by_equality && shape.correlation.growing.is_none() {
            Index::Map(PaiMap::new())
        } else {
            Index::Tree(RpaiTree::new())
        }
    }

    fn add(&mut self, key: Option<i128>, payload: Sums<N>) -> Result<()> {
        match (self, key) {
            (_, None) => Ok(()),
            (Index::Map(map), Some(key)) => map.add(key, payload),
            (Index::Tree(tree), Some(key)) => tree.add(key, (), payload),
        }
    }

    fn total(&self) -> Sums<N> {
        match self {
            Index::Map(map) => map.total(),
            Index::Tree(tree) => tree.total(),
        }
    }
}

impl<const N: usize> Grouped<N> {
    fn new(shape: Arc<Shape>) -> Self {
        Self {
            index: Index::new(&shape),
            groups: HashMap::with_hasher(random_hasher()),
            undo: Vec::new(),
            shape,
        }
    }

    /// The same with more lanes. O(n).
    fn wider<const M: usize>(&self) -> Result<Box<dyn FilteredRelation>> {
        let mut wide = Grouped::<M>::new(Arc::clone(&self.shape));
        let undo = self.undo.iter();
        wide.undo = (undo.map(|(group, delta)| (group.clone(), delta.widened()))).collect();
        for (group, sums) in &self.groups {
            let sums = sums.widened();
            wide.groups.insert(group.clone(), sums);
            (wide.index).add(self.shape.aggregate(sums), self.shape.own(sums))?;
        }
        Ok(Box::new(wide))
    }

    /// Gives a group its sums.
    fn put(&mut self, group: &[i128], sums: Sums<N>) {
        if sums.is_zero() {
            self.groups.remove(group);
        } else if let Some(held) = self.groups.get_mut(group) {
            *held = sums;
        } else {
            self.groups.insert(group.to_vec(), sums);
        }
    }

    /// Moves a group in the index, whose sums change; with an error nothing is changed.
    fn shift(&mut self, old: Sums<N>, delta: Sums<N>) -> Result<()> {
        let new = old.plus(delta).ok_or_else(|| overflow("a sum"))?;
        let (from, to) = (self.shape.aggregate(old), self.shape.aggregate(new));
        let shape = &self.shape;
        let less = shape.own(old).minus();
        let less = less.ok_or_else(|| overflow("a payload"))?;
        if from == to {
            return self.index.add(to, shape.own(delta));
        }
        self.index.add(from, less)?;
        let moved = self.index.add(to, shape.own(new));
        if moved.is_err() {
            self.index.add(from, shape.own(old))?;
        }
        moved
    }

    /// The sums of the groups whose aggregate makes the growing side less than a number, or at most
    /// it. O(log n) steps of a search between the least and the greatest aggregate.
    fn below(
        &self,
        tree: &RpaiTree<i128, Sums<N>>,
        closed: Quantity,
        inclusive: bool,
    ) -> Result<Sums<N>> {
        let how = match inclusive {
            true => Comparison::Ge,
            false => Comparison::Gt,
        };
        let (Some(first), Some(last)) = (tree.first(), tree.last()) else {
            return Ok(Sums::<N>::ZERO);
        };
        let (mut low, mut high) = (first.0, last.0.saturating_add(1));
        while low < high {
            let middle = low + (high - low) / 2;
            let growing = self.shape.correlation.growing(middle)?.0;
            let is_below = growing.is_some_and(|growing| how.holds(closed.compare(growing)));
            (low, high) = match is_below {
                true => (middle + 1, high),
                false => (low, middle),
            };
        }
        Ok(tree.prefix_sum(&Cut::before(low)))
    }

    fn equal(&self, closed: Quantity) -> Result<Sums<N>> {
        let correlation = &self.shape.correlation;
        match (&self.index, closed) {
            (Index::Map(map), closed) if correlation.kind == Kind::Real => {
                let found = map.get(correlation.kind.key(closed)?);
                Ok(found.unwrap_or(Sums::<N>::ZERO))
            }
            (Index::Map(map), Quantity::Exact { units, scale }) => {
                let Kind::Exact(own) = correlation.kind else {
                    return Ok(Sums::<N>::ZERO);
                };
                let power = power_of_ten(scale.abs_diff(own));
                let power = power.ok_or_else(|| overflow("a number"))?;
                let key = match scale > own {
                    true => {
                        let (key, is_key) = floor(units, power);
                        is_key.then_some(key)
                    }
                    false => units.checked_mul(power),
                };
                let found = key.and_then(|key| map.get(key));
                Ok(found.unwrap_or(Sums::<N>::ZERO))
            }
            (Index::Map(map), Quantity::Real(_) | Quantity::Sum(_)) => {
                let mut sum = Sums::<N>::ZERO;
                for (units, payload) in map.iter() {
                    let growing = correlation.growing(units)?.0;
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

impl<const N: usize> FilteredRelation for Grouped<N> {
    fn readers(&self) -> &RowReaders {
        &self.shape.readers
    }

    fn readers_mut(&mut self) -> &mut RowReaders {
        &mut Arc::make_mut(&mut self.shape).readers
    }

    fn capacity(&self) -> usize {
        N
    }

    fn widened(&self, lanes: usize) -> Result<Box<dyn FilteredRelation>> {
        with_lanes!(lanes, M => self.wider::<M>())
    }

    fn change(&mut self, table: usize, row: &RowAt<'_>, times: i64) -> Result<()> {
        let shape = Arc::clone(&self.shape);
        // Beside a hash table or two a row, counting a reference costs little.
        for reader in shape.readers.of(table) {
            if !reader.takes(row)? {
                continue;
            }
            let Some(group) = reader.equal(row)? else {
                continue;
            };
            let delta = reader.delta::<N>(&shape.readers, row, times)?;
            let old = self.groups.get(&group).copied();
            let old = old.unwrap_or(Sums::<N>::ZERO);
            self.shift(old, delta)?;
            self.put(&group, old.with(delta));
            self.undo.push((group, delta));
        }
        Ok(())
    }

    fn commit(&mut self) {
        self.undo.clear();
    }

    fn rollback(&mut self) {
        while let Some((group, delta)) = self.undo.pop() {
            let was = self.groups.get(&group).copied();
            let was = was.unwrap_or(Sums::<N>::ZERO);
            let undone = delta.minus().map(|less| self.shift(was, less));
            debug_assert!(matches!(undone, Some(Ok(()))), "what fitted fits again");
            self.put(&group, was.without(delta));
        }
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.undo.clear();
        self.index = Index::new(&self.shape);
    }

    fn closed(&self) -> &[Value] {
        &self.shape.closed
    }

    fn passing(&self, closed: &[Cell], into: &mut [i128]) -> Result<()> {
        let Some(closed) = closed[0].0 else {
            into.fill(0);
            return Ok(());
        };
        let total = self.index.total();
        // The closed side is the left one.
        let passed = match (self.shape.correlation.how, &self.index) {
            (Comparison::Lt, Index::Tree(tree)) => total.without(self.below(tree, closed, true)?),
            (Comparison::Le, Index::Tree(tree)) => total.without(self.below(tree, closed, false)?),
            (Comparison::Gt, Index::Tree(tree)) => self.below(tree, closed, false)?,
            (Comparison::Ge, Index::Tree(tree)) => self.below(tree, closed, true)?,
            (Comparison::Ne, _) => total.without(self.equal(closed)?),
            _ => self.equal(closed)?,
        };
        let first = self.shape.first;
        into.copy_from_slice(&passed.0[first..first + self.shape.width]);
        self.shape.readers.write_reals(&passed.0, first, into)
    }

    fn width(&self) -> usize {
        self.shape.width
    }

    fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    fn is_vacant(&self) -> bool {
        self.groups.is_empty()
    }

    fn walks(&self) -> usize {
        0
    }

    fn memory_usage(&self) -> usize {
        let words = self.shape.readers.keys() * size_of::<i128>();
        let each = words + size_of::<(Vec<i128>, Sums<N>)>() + 1;
        let index = match &self.index {
            Index::Map(map) => map.memory_usage(),
            Index::Tree(tree) => tree.memory_usage(),
        };
        self.groups.capacity() * each + index
    }

    fn steps(&self) -> u64 {
        match &self.index {
            Index::Map(_) => 0,
            Index::Tree(tree) => tree.steps(),
        }
    }

    fn copy(&self) -> Box<dyn FilteredRelation> {
        Box::new(self.clone())
    }
}
