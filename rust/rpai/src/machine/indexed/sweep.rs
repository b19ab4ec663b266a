//! The aggregate-index optimisation (paper, section 4.3) for one relation: which of its rows pass, in O(log n).
//!
//! Invariant: an index holds, by key, the sums of every block of a chain and of the outer relation side by side, blocks
//! innermost first, each correlated with the next by an inequality of keys (`b2.price <= b.price`). So *the
//! running sum through an entry (or before it, where equals are not admitted) is the aggregate that the next
//! one's rows are compared by*: adding a row moves the aggregates of all rows behind it at once, by the sums of subtrees, as
//! `shift_keys` would move them as keys. Where no sum of a block is negative, aggregates grow along the index, and the rows that
//! pass lie between two places that `select` finds; of a block within a block they are clamped to its own two places first.
//! Keys compared with something closed cut the range further. Zeros and equal aggregates need no care: nothing merges.
//! Where some sum is negative, aggregates go up and down: that index is then walked, O(n), until it is negative no longer.
//! Where columns must equal something known, there is an index for each of their values. Cost: O(log n) a change, and O(log n)
//! a result for each block of the chain.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use ringview_core::{Result, random_hasher};
use ringview_ring::{CommutativeMonoid, Group};

use crate::machine::indexed::correlation::Stage;
use crate::machine::indexed::reader::{Feeds, Kinds};
use crate::machine::indexed::relation::Part;
use crate::machine::indexed::rows::Rows;
use crate::machine::query::bound::place;
use crate::machine::query::plan::{Comparison, Value};
use crate::machine::query::row::{Cell, RowAt};
use crate::payload::Sums;
use crate::tree::overflow;

/// How a relation is chosen: what is the same for all its groups.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) feeds: Feeds,
    pub(crate) kinds: Kinds,
    /// Whether keys grow downwards.
    pub(crate) mirrored: bool,
    /// From the innermost block to the relation.
    pub(crate) stages: Vec<Stage>,
    /// How something closed is compared with the key.
    pub(crate) bounds: Vec<Comparison>,
    /// The closed values: those of stages, of bounds, and what must be equal.
    pub(crate) closed: Vec<Value>,
    /// Sums of the relation, its count among them.
    pub(crate) width: usize,
    /// Lanes of all sums, and of digits that came later.
    pub(crate) lanes: usize,
}

/// The rows of all groups.
#[derive(Clone, Debug)]
struct Store<const N: usize> {
    /// Where nothing must be equal.
    all: Rows<N>,
    groups: HashMap<Vec<i128>, Rows<N>, SeedableRandomState>,
    /// Groups with a negative sum of a block.
    walking: usize,
}

#[derive(Clone, Debug)]
struct Sweep<const N: usize> {
    shape: Arc<Shape>,
    store: Store<N>,
    /// Group, key and what was added, since the last commit.
    undo: Vec<(Vec<i128>, i128, Sums<N>)>,
}

/// Lanes of a part at most: the whole range of doubles for two sums, and less for more.
const MOST: usize = 64;

/// Whether a part may have so many lanes.
pub(crate) fn check_lanes(lanes: usize) -> Result<()> {
    match lanes <= MOST {
        true => Ok(()),
        false => Err(overflow("doubles of so many sizes in several sums")),
    }
}

/// A part over payloads that are wide enough.
pub(crate) fn part(shape: Shape) -> Option<Box<dyn Part>> {
    fn made<const N: usize>(shape: Shape) -> Box<dyn Part> {
        Box::new(Sweep::<N>::new(shape.into()))
    }
    match shape.lanes {
        0..=2 => Some(made::<2>(shape)),
        3..=4 => Some(made::<4>(shape)),
        5..=8 => Some(made::<8>(shape)),
        9..=16 => Some(made::<16>(shape)),
        _ => None,
    }
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
    fn wider<const M: usize>(&self) -> Result<Box<dyn Part>> {
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
        let stages = shape.stages.len();
        if shape.kinds.equal.is_empty() {
            return self.all.add(key, delta, stages);
        }
        let rows = match self.groups.get_mut(group) {
            Some(rows) => rows,
            None => self.groups.entry(group.to_vec()).or_insert_with(Rows::new),
        };
        let was = rows.negative > 0;
        let added = rows.add(key, delta, stages);
        let now = rows.negative > 0;
        self.walking = self.walking + usize::from(now) - usize::from(was);
        if rows.index.is_empty() {
            self.groups.remove(group);
        }
        added
    }

    /// The group of what must be equal; none where that is NULL, or no number of the kind.
    fn group(&self, shape: &Shape, equal: &[Cell]) -> Result<Option<&Rows<N>>> {
        let mut key = Vec::with_capacity(equal.len());
        for (cell, &kind) in equal.iter().zip(&shape.kinds.equal) {
            let Some(number) = cell.0 else {
                return Ok(None);
            };
            let (below, through) = (place(number, kind, false)?, place(number, kind, true)?);
            if below >= through {
                return Ok(None);
            }
            key.push(below.0);
        }
        Ok(self.groups.get(&key))
    }
}

impl<const N: usize> Part for Sweep<N> {
    #[inline]
    fn make_room(&mut self, table: usize, row: &RowAt<'_>) -> Result<Option<Box<dyn Part>>> {
        let missing = self.shape.feeds.missing(table, row)?;
        if missing.is_empty() {
            return Ok(None);
        }
        let lanes = self.shape.lanes + missing.len();
        check_lanes(lanes)?;
        let shape = Arc::make_mut(&mut self.shape);
        shape.feeds.extend(&missing, shape.lanes);
        shape.lanes = lanes;
        match lanes {
            _ if lanes <= N => Ok(None),
            0..=4 => self.wider::<4>().map(Some),
            5..=8 => self.wider::<8>().map(Some),
            9..=16 => self.wider::<16>().map(Some),
            17..=32 => self.wider::<32>().map(Some),
            _ => self.wider::<64>().map(Some),
        }
    }

    fn change(&mut self, table: usize, row: &RowAt<'_>, times: i64) -> Result<()> {
        let Self { shape, store, undo } = self;
        for feed in shape.feeds.of(table) {
            if !feed.takes(row)? {
                continue;
            }
            let (Some(group), Some(key)) = (feed.equal(row)?, feed.key(row)?) else {
                continue;
            };
            let key = match shape.mirrored {
                true => key.checked_neg().ok_or_else(|| overflow("a key"))?,
                false => key,
            };
            let delta = feed.delta::<N>(&shape.feeds, row, times)?;
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

    fn tables(&self, visit: &mut dyn FnMut(usize)) {
        self.shape
            .feeds
            .all
            .iter()
            .for_each(|feed| visit(feed.table));
    }

    fn closed(&self) -> &[Value] {
        &self.shape.closed
    }

    fn passing(&self, closed: &[Cell], into: &mut [i128]) -> Result<()> {
        let shape = &*self.shape;
        let (own, equal) = closed.split_at(shape.stages.len() + shape.bounds.len());
        let passed = match shape.kinds.equal.is_empty() {
            true => self.store.all.passing(shape, own)?,
            false => match self.store.group(shape, equal)? {
                Some(rows) => rows.passing(shape, own)?,
                None => Sums::<N>::ZERO,
            },
        };
        let first = 2 * shape.stages.len();
        into.copy_from_slice(&passed.0[first..first + shape.width]);
        shape.feeds.tell(&passed.0, first, into)
    }

    fn width(&self) -> usize {
        self.shape.width
    }

    fn is_empty(&self) -> bool {
        let count = self.store.all.index.total().0[2 * self.shape.stages.len()];
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

    fn copy(&self) -> Box<dyn Part> {
        Box::new(self.clone())
    }
}
