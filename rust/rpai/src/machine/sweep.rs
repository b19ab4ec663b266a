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

use super::feed::{Feed, Kinds};
use super::index::Index;
use super::number::{Kind, Quantity, floor, power_of_ten};
use super::part::Part;
use super::plan::{Comparison, Value};
use super::reach::Enough;
use super::row::{Cell, RowAt};
use super::stage::Stage;
use crate::payload::{Payload, Sums};
use crate::tree::overflow;

/// How a relation is chosen: what is the same for all its groups.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) feeds: Vec<Feed>,
    pub(super) kinds: Kinds,
    /// Whether keys grow downwards.
    pub(super) mirrored: bool,
    /// From the innermost block to the relation.
    pub(super) stages: Vec<Stage>,
    /// How something closed is compared with the key.
    pub(super) bounds: Vec<Comparison>,
    /// The closed values: those of stages, of bounds, and what must be equal.
    pub(super) closed: Vec<Value>,
    /// Sums of the relation, its count among them.
    pub(super) width: usize,
}

/// A place between entries: a key, and whether it is behind it.
type Place = (i128, bool);

const START: Place = (-i128::MAX, false);
const END: Place = (i128::MAX, true);

/// Keys from one place to another.
type Range = (Place, Place);

/// The rows of one group.
#[derive(Clone, Debug)]
struct Rows<const N: usize> {
    index: Index<N>,
    /// Entries with a negative sum of a block.
    negative: usize,
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

/// A part over payloads that are wide enough.
pub(super) fn part(shape: Shape) -> Option<Box<dyn Part>> {
    fn made<const N: usize>(shape: Shape) -> Box<dyn Part> {
        Box::new(Sweep::<N> {
            shape: Arc::new(shape),
            store: Store {
                all: Rows::new(),
                groups: HashMap::with_hasher(random_hasher()),
                walking: 0,
            },
            undo: Vec::new(),
        })
    }
    match 2 * shape.stages.len() + shape.width {
        0..=2 => Some(made::<2>(shape)),
        3..=4 => Some(made::<4>(shape)),
        5..=8 => Some(made::<8>(shape)),
        9..=16 => Some(made::<16>(shape)),
        _ => None,
    }
}

impl<const N: usize> Rows<N> {
    fn new() -> Self {
        Self {
            index: Index::new(),
            negative: 0,
        }
    }

    fn add(&mut self, key: i128, delta: Sums<N>, stages: usize) -> Result<()> {
        let (old, new) = self.index.add(key, delta)?;
        let is_negative =
            |sums: Sums<N>| usize::from(sums.0[..2 * stages].iter().any(|&sum| sum < 0));
        self.negative = self.negative + is_negative(new) - is_negative(old);
        Ok(())
    }

    /// The place from which on a stage is passed, with the sums before it.
    fn from(&self, enough: &Enough<i128>, admits: bool) -> (Place, Sums<N>) {
        let none = Sums::<N>::ZERO;
        if !admits && enough.reached(&none) {
            return (START, none);
        }
        match self.index.select(enough) {
            Some((key, before, _)) if admits => ((key, false), before),
            Some((key, _, with)) => ((key, true), with),
            None => (END, self.index.total()),
        }
    }

    /// The range of rows that pass the stages, with the sums before each end.
    fn range(&self, shape: &Shape, closed: &[Cell]) -> Result<Option<[(Place, Sums<N>); 2]>> {
        let total = self.index.total();
        let (mut low, mut high) = ((START, Sums::<N>::ZERO), (END, total));
        for (at, (stage, closed)) in shape.stages.iter().zip(closed).enumerate() {
            let Some(closed) = closed.0 else {
                return Ok(None);
            };
            let at = 2 * at;
            let mut enough = Enough {
                at,
                low: (low.1.0[at], low.1.0[at + 1]),
                high: (high.1.0[at], high.1.0[at + 1]),
                counts: stage.counts,
                bound: 0,
            };
            let most = match stage.counts {
                true => enough.count(&total),
                false => enough.sum(&total),
            };
            let mut from = |bound: i128| {
                enough.bound = bound;
                self.from(&enough, stage.admits)
            };
            let least = |strictly: bool| stage.least(closed, strictly, most);
            // A range that ends before it begins is empty.
            (low, high) = match stage.how {
                Comparison::Less => (from(least(true)?), (END, total)),
                Comparison::LessOrEqual => (from(least(false)?), (END, total)),
                Comparison::Greater => (from(i128::MIN), from(least(false)?)),
                Comparison::GreaterOrEqual => (from(i128::MIN), from(least(true)?)),
                Comparison::Equal | Comparison::NotEqual => {
                    (from(least(false)?), from(least(true)?))
                }
            };
        }
        Ok(Some([low, high]))
    }

    fn passing(&self, shape: &Shape, closed: &[Cell]) -> Result<Sums<N>> {
        if closed.is_empty() {
            return Ok(self.index.total());
        }
        let (stages, bounds) = closed.split_at(shape.stages.len());
        let Some((cut, out)) = shape.cuts(bounds)? else {
            return Ok(Sums::<N>::ZERO);
        };
        if self.negative > 0 {
            return self.walk(shape, stages, (cut, &out));
        }
        let Some([mut low, mut high]) = self.range(shape, stages)? else {
            return Ok(Sums::<N>::ZERO);
        };
        let before = |place: Place| self.index.below(place.0, place.1);
        if cut.0 > low.0 {
            low = (cut.0, before(cut.0));
        }
        if cut.1 < high.0 {
            high = (cut.1, before(cut.1));
        }
        if low.0 >= high.0 {
            return Ok(Sums::<N>::ZERO);
        }
        let mut passed = high.1.without(low.1);
        for key in out {
            if low.0 <= (key, false) && (key, true) <= high.0 {
                let own = before((key, true)).without(before((key, false)));
                passed = passed.without(own);
            }
        }
        Ok(passed)
    }

    /// The same by walking, whatever the signs.
    fn walk(
        &self,
        shape: &Shape,
        closed: &[Cell],
        (cut, out): (Range, &[i128]),
    ) -> Result<Sums<N>> {
        let too_much = || overflow("a sum");
        let mut passed = Sums::<N>::ZERO;
        self.index.each(&mut |key, own| {
            let before = passed;
            let outer = shape.stages.len();
            for role in 0..=outer {
                if let Some(stage) = role.checked_sub(1).map(|at| &shape.stages[at]) {
                    let sums = if stage.admits { passed } else { before };
                    let at = 2 * (role - 1);
                    let units = sums.0[at + usize::from(!stage.counts)];
                    let is_null = !stage.counts && sums.0[at] == 0;
                    if is_null || !stage.passes(closed[role - 1], units)? {
                        continue;
                    }
                }
                if role == outer {
                    let within = cut.0 <= (key, false) && (key, true) <= cut.1;
                    if !within || out.contains(&key) {
                        continue;
                    }
                }
                let lanes = if role == outer { N } else { 2 * role + 2 };
                for at in 2 * role..lanes {
                    let sum = passed.0[at].checked_add(own.0[at]);
                    passed.0[at] = sum.ok_or_else(too_much)?;
                }
            }
            Ok(())
        })?;
        Ok(passed)
    }
}

impl Shape {
    /// The range of keys that bounds leave, and the keys that they leave out; `None` where one is NULL.
    fn cuts(&self, bounds: &[Cell]) -> Result<Option<(Range, Vec<i128>)>> {
        let (mut cut, mut out) = ((START, END), Vec::new());
        for (how, closed) in self.bounds.iter().zip(bounds) {
            let Some(closed) = closed.0 else {
                return Ok(None);
            };
            let upto = |inclusive| place(closed, self.kinds.key, inclusive);
            // The closed side stands left.
            let (mut low, mut high) = match how {
                Comparison::Less => (upto(true)?, END),
                Comparison::LessOrEqual => (upto(false)?, END),
                Comparison::Greater => (START, upto(false)?),
                Comparison::GreaterOrEqual => (START, upto(true)?),
                Comparison::Equal | Comparison::NotEqual => (upto(false)?, upto(true)?),
            };
            if self.mirrored {
                (low, high) = (mirror(high), mirror(low));
            }
            if *how == Comparison::NotEqual {
                if low < high && !out.contains(&low.0) {
                    out.push(low.0);
                }
                continue;
            }
            cut = (cut.0.max(low), cut.1.min(high));
        }
        Ok(Some((cut, out)))
    }
}

fn mirror((key, behind): Place) -> Place {
    (-key, !behind)
}

/// The place behind all keys less than a number, or at most it.
fn place(number: Quantity, kind: Kind, inclusive: bool) -> Result<Place> {
    let ends = |is_great: bool| if is_great { END } else { START };
    match (number, kind) {
        (number, Kind::Real) => Ok((number.ordinal(Kind::Real)?, inclusive)),
        (Quantity::Exact { units, scale: own }, Kind::Exact(scale)) => {
            let power = power_of_ten(own.abs_diff(scale));
            let power = power.ok_or_else(|| overflow("a number"))?;
            if own <= scale {
                let key = units.checked_mul(power).filter(|key| *key != i128::MIN);
                return Ok(key.map_or(ends(units > 0), |key| (key, inclusive)));
            }
            // Between two keys, unless the digits behind are zeros.
            let (key, is_key) = floor(units, power);
            Ok((key, inclusive || !is_key))
        }
        (number, Kind::Exact(scale)) => {
            let how = match inclusive {
                true => Comparison::Greater,
                false => Comparison::GreaterOrEqual,
            };
            let (mut low, mut high) = (i128::MIN / 2, i128::MAX / 2);
            while low < high {
                let middle = low + (high - low) / 2;
                let units = Quantity::Exact {
                    units: middle,
                    scale,
                };
                match how.holds(units.compare(number)) {
                    true => high = middle,
                    false => low = middle + 1,
                }
            }
            Ok((low, false))
        }
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
    fn change(&mut self, table: usize, row: &RowAt<'_>, times: i64) -> Result<()> {
        let Self { shape, store, undo } = self;
        for feed in shape.feeds.iter().filter(|feed| feed.table == table) {
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
            let delta = feed.delta::<N>(row, times)?;
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
        Ok(())
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
