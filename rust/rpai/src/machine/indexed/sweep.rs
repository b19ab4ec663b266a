//! The aggregate-index optimisation (paper, section 4.3) for one relation: which of its rows pass,
//! in O(log n).
//!
//! Invariant: an index holds, by key, the sums of every block of a chain and of the outer relation side by side, blocks
//! innermost first, each correlated with the next by an inequality of keys (`b2.price <= b.price`). So *the running sum
//! through an entry (or before it, where equals are not admitted) is the aggregate that the next one's rows are
//! compared with*: adding a row moves the aggregates of all rows behind it at once, by the sums of subtrees, as
//! `shift_keys` would move them as keys. If no sum of a block is negative, aggregates grow along the index, and the
//! rows that pass lie between two bounds that `select` finds; of a subquery a block they are clamped to its own two
//! bounds first. Keys compared with a closed value cut the range, too. Zeros and equal aggregates need no care: nothing
//! merges. If some sum is negative, aggregates are not monotone: that index is then walked, O(n), until it is negative
//! no longer. If columns must equal closed values, there is an index for each of their values. Cost: O(log n) a change,
//! and O(log n) a result for each block of the chain.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use ringview_core::{Result, random_hasher};
use ringview_ring::{CommutativeMonoid, Group};

use crate::machine::indexed::equal::Equal;
use crate::machine::indexed::reader::RowReaders;
use crate::machine::indexed::relation::{FilteredRelation, MOST_AT_FIRST, with_lanes};
use crate::machine::indexed::rows::Rows;
use crate::machine::indexed::shape::Shape;
use crate::machine::query::{Cell, RowAt, Value, ranges, sole};
use crate::payload::Sums;
use crate::tree::overflow;

/// The rows of all groups.
#[derive(Clone, Debug)]
struct Store<const N: usize> {
    /// The rows, if no column must be equal.
    all: Rows<N>,
    groups: HashMap<Vec<i128>, Rows<N>, SeedableRandomState>,
    /// Groups with a negative sum of a block.
    walking: usize,
}

#[derive(Clone, Debug)]
struct Sweep<const N: usize> {
    shape: Arc<Shape>,
    store: Store<N>,
    /// Group, key and delta of each change since the last commit.
    undo: Vec<(Vec<i128>, i128, Sums<N>)>,
}

/// A relation over payloads that are wide enough.
pub(crate) fn relation(shape: Shape) -> Option<Box<dyn FilteredRelation>> {
    let (lanes, is_ordered) = (shape.readers.lanes, shape.is_ordered());
    let shape = Arc::new(shape);
    (lanes <= MOST_AT_FIRST).then(|| -> Box<dyn FilteredRelation> {
        if is_ordered || shape.kinds.equal.is_empty() {
            with_lanes!(lanes, M => Box::new(Sweep::<M>::new(shape)))
        } else {
            with_lanes!(lanes, M => Box::new(Equal::<M>::new(shape)))
        }
    })
}

impl<const N: usize> Sweep<N> {
    fn new(shape: Arc<Shape>) -> Self {
        Self {
            shape,
            store: Store {
                all: Rows::new(),
                groups: HashMap::with_hasher(random_hasher()),
                walking: 0,
            },
            undo: Vec::new(),
        }
    }

    /// The same with more lanes. O(n).
    fn wider<const M: usize>(&self) -> Result<Box<dyn FilteredRelation>> {
        let mut wide = Sweep::<M>::new(Arc::clone(&self.shape));
        let (shape, store) = (&self.shape, &mut wide.store);
        let groups = self.store.groups.iter();
        let groups = groups.map(|(group, rows)| (&group[..], rows));
        for (group, rows) in groups.chain([(&[][..], &self.store.all)]) {
            rows.index
                .each(&mut |key, sums| store.add(shape, group, (key, sums.widened())))?;
        }
        let undo = self.undo.iter();
        let undo = undo.map(|(group, key, delta)| (group.clone(), *key, delta.widened()));
        wide.undo.extend(undo);
        Ok(Box::new(wide))
    }
}

impl<const N: usize> Store<N> {
    /// Adds to a key of a group; empty for the only one.
    #[inline]
    fn add(&mut self, shape: &Shape, group: &[i128], (key, delta): (i128, Sums<N>)) -> Result<()> {
        if shape.kinds.equal.is_empty() {
            return self.all.add(shape, key, delta);
        }
        let rows = match self.groups.get_mut(group) {
            Some(rows) => rows,
            None => self.groups.entry(group.to_vec()).or_insert_with(Rows::new),
        };
        let was = rows.negative > 0;
        let added = rows.add(shape, key, delta);
        let now = rows.negative > 0;
        self.walking = self.walking + usize::from(now) - usize::from(was);
        if rows.index.is_empty() {
            self.groups.remove(group);
        }
        added
    }

    /// The sums over the rows that pass, of the group of what must be equal: of several groups
    /// where several integers equal a double.
    fn passing(&self, shape: &Shape, closed: &[Cell], equal: &[Cell]) -> Result<Sums<N>> {
        let Some(ranges) = ranges(equal, &shape.kinds.equal)? else {
            return Ok(Sums::<N>::ZERO);
        };
        if let Some(key) = sole(&ranges) {
            let rows = self.groups.get(&key);
            return rows.map_or(Ok(Sums::<N>::ZERO), |rows| rows.passing(shape, closed));
        }
        let is_equal = |key: &[i128]| key.iter().zip(&ranges).all(|(at, of)| of.contains(at));
        let mut sum = Sums::<N>::ZERO;
        for (_, rows) in self.groups.iter().filter(|(key, _)| is_equal(key)) {
            let more = sum.plus(rows.passing(shape, closed)?);
            sum = more.ok_or_else(|| overflow("a sum"))?;
        }
        Ok(sum)
    }
}

impl<const N: usize> FilteredRelation for Sweep<N> {
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
        let Self { shape, store, undo } = self;
        for reader in shape.readers.of(table) {
            if !reader.takes(row)? {
                continue;
            }
            let (Some(group), Some(key)) = (reader.equal(row)?, reader.key(row)?) else {
                continue;
            };
            let key = match shape.mirrored {
                true => key.checked_neg().ok_or_else(|| overflow("a key"))?,
                false => key,
            };
            let delta = reader.delta::<N>(&shape.readers, row, times)?;
            store.add(shape, &group, (key, delta))?;
            undo.push((group, key, delta));
        }
        Ok(())
    }

    fn commit(&mut self) {
        self.undo.clear();
    }

    fn rollback(&mut self) {
        let Self { shape, store, undo } = self;
        for (group, key, delta) in undo.drain(..).rev() {
            let undone = delta
                .minus()
                .map(|less| store.add(shape, &group, (key, less)));
            debug_assert!(matches!(undone, Some(Ok(()))), "what fitted fits again");
        }
    }

    fn clear(&mut self) {
        let store = &mut self.store;
        store.all.clear();
        store.groups.clear();
        store.walking = 0;
        self.undo.clear();
    }

    fn closed(&self) -> &[Value] {
        &self.shape.closed
    }

    fn passing(&self, closed: &[Cell], into: &mut [i128]) -> Result<()> {
        let shape = &*self.shape;
        let (own, equal) = closed.split_at(shape.correlations.len() + shape.bounds.len());
        let passed = match shape.kinds.equal.is_empty() {
            true => self.store.all.passing(shape, own)?,
            false => self.store.passing(shape, own, equal)?,
        };
        into.copy_from_slice(&passed.0[shape.first..shape.first + shape.width]);
        shape.readers.write_reals(&passed.0, shape.first, into)
    }

    fn width(&self) -> usize {
        self.shape.width
    }

    fn is_empty(&self) -> bool {
        let count = self.store.all.index.total().0[self.shape.first];
        self.shape.kinds.equal.is_empty() && count == 0 && self.store.all.negative == 0
    }

    fn is_vacant(&self) -> bool {
        self.store.all.index.is_empty() && self.store.groups.is_empty()
    }

    fn walks(&self) -> usize {
        match self.shape.kinds.equal.is_empty() {
            true => usize::from(self.store.all.negative > 0),
            false => self.store.walking,
        }
    }

    fn memory_usage(&self) -> usize {
        let groups = self
            .store
            .groups
            .values()
            .map(|rows| rows.index.memory_usage());
        let words = self.shape.kinds.equal.len() * size_of::<i128>();
        let each = size_of::<(Vec<i128>, Rows<N>)>() + words + 1;
        self.store.all.index.memory_usage()
            + groups.sum::<usize>()
            + self.store.groups.capacity() * each
    }

    fn steps(&self) -> u64 {
        let groups = self.store.groups.values().map(|rows| rows.index.steps());
        self.store.all.index.steps() + groups.sum::<u64>()
    }

    fn copy(&self) -> Box<dyn FilteredRelation> {
        Box::new(self.clone())
    }
}
