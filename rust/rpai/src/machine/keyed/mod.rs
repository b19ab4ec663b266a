//! A query in parts (paper, TPC-H Q17: a tree for each part key): a machine for each key.
//!
//! Invariant: the result is the sum of the parts' results, each added to its group; a part whose result was worked out is
//! remembered by it, so that only parts that rows reached are worked out again. Once static relations have all their
//! rows, keys that they do not have can have no result, and rows of other tables with them go nowhere. Cost: O(1) a
//! change beside that of its part's machine, and a result of each part that was reached.

pub(crate) mod local;
mod shape;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use ringview_core::{Meter, Result, random_hasher};

use crate::machine::general::Group;
use crate::machine::general::accumulator::Accumulator;
use crate::machine::keyed::local::Local;
use crate::machine::keyed::shape::{Key, NULL, Shape, Total, own};
use crate::machine::query::number::Quantity;
use crate::machine::query::plan::Aggregate;
use crate::machine::query::row::{Cell, Row, RowAt};
use crate::machine::{Machine, Moved};

#[derive(Clone, Debug)]
struct Part {
    key: Key,
    machine: Machine,
    /// What it gave when it was last worked out.
    last: Vec<Group>,
    /// Whether rows came since then.
    is_reached: bool,
    /// Whether rows came since the last commit.
    is_touched: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Partitioned {
    shape: Arc<Shape>,
    /// Where the parts of keys are.
    places: HashMap<Key, u32, SeedableRandomState>,
    parts: Vec<Part>,
    /// Places without a part.
    free: Vec<u32>,
    groups: BTreeMap<Row, Total>,
    /// Parts that rows reached since they were worked out.
    reached: Vec<u32>,
    /// The same since the last commit.
    touched: Vec<u32>,
    /// What parts gave, and what groups were, at the last commit.
    old_parts: Vec<(u32, Vec<Group>)>,
    old_groups: BTreeMap<Row, Option<Total>>,
    /// Whether keys that are not there can have no result.
    is_sealed: bool,
    /// The key at hand, for its memory.
    key: Key,
}

impl Partitioned {
    /// The parts of a query; `None` where keys are not exact.
    pub(crate) fn new(local: Local, aggregates: Vec<Aggregate>) -> Option<Self> {
        let shape = Shape::new(local, aggregates)?;
        Some(Self {
            shape: Arc::new(shape),
            places: HashMap::with_hasher(random_hasher()),
            parts: Vec::new(),
            free: Vec::new(),
            groups: BTreeMap::new(),
            reached: Vec::new(),
            touched: Vec::new(),
            old_parts: Vec::new(),
            old_groups: BTreeMap::new(),
            is_sealed: false,
            key: Key::new(),
        })
    }

    /// The machine of each part, without rows.
    pub(crate) fn each(&self) -> &Machine {
        &self.shape.empty
    }

    /// A row of a table comes or goes. After an error only `rollback` may follow.
    pub(crate) fn change(
        &mut self,
        table: usize,
        row: &RowAt<'_>,
        times: (i64, &Meter<'_>),
    ) -> Result<()> {
        let shape = Arc::clone(&self.shape);
        'ways: for way in shape.ways.iter().filter(|way| way.table == table) {
            self.key.clear();
            for (exact, &null) in way.key.iter().zip(&way.nulls) {
                match exact.units(row)? {
                    Some(units) => self.key.push(units),
                    None if null => self.key.push(NULL),
                    // It equals nothing.
                    None => continue 'ways,
                }
            }
            let Some(at) = self.place() else { continue };
            let part = &mut self.parts[at as usize];
            if !part.is_reached {
                part.is_reached = true;
                self.reached.push(at);
            }
            if !part.is_touched {
                part.is_touched = true;
                self.touched.push(at);
            }
            part.machine.change(way.local, row, times)?;
        }
        Ok(())
    }

    /// The place of the key at hand; none if it can have no result.
    fn place(&mut self) -> Option<u32> {
        if let Some(&at) = self.places.get(&self.key) {
            return Some(at);
        }
        if self.is_sealed {
            return None;
        }
        let part = Part {
            key: self.key.clone(),
            machine: self.shape.empty.clone(),
            last: Vec::new(),
            is_reached: false,
            is_touched: false,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.parts[at as usize] = part;
                at
            }
            None => {
                self.parts.push(part);
                self.parts.len() as u32 - 1
            }
        };
        self.places.insert(self.key.clone(), at);
        Some(at)
    }

    /// Lets a part go that has no rows.
    fn let_go(&mut self, at: u32) {
        let part = &mut self.parts[at as usize];
        let is_busy = part.is_reached || part.is_touched;
        if self.is_sealed || is_busy || !part.machine.is_vacant() {
            return;
        }
        // Once: it may be told twice.
        if self.places.remove(&part.key).is_some() {
            part.key = Key::new();
            self.free.push(at);
        }
    }

    /// Works out the parts that rows reached.
    fn settle(&mut self, meter: &Meter<'_>) -> Result<()> {
        while let Some(&at) = self.reached.last() {
            meter.work(1)?;
            self.settle_one(at, meter)?;
            self.reached.pop();
            self.let_go(at);
        }
        Ok(())
    }

    fn settle_one(&mut self, at: u32, meter: &Meter<'_>) -> Result<()> {
        let part = &mut self.parts[at as usize];
        let groups = part.machine.groups(meter)?;
        let groups = groups.into_iter().filter(|(_, all)| is_some(all));
        let now: Vec<Group> = groups
            .map(|(rest, all)| (self.shape.group(&part.key, &rest), all))
            .collect();
        part.is_reached = false;
        if are_same(&now, &part.last) {
            return Ok(());
        }
        if !part.is_touched {
            // Rows of before came to be read only now: whoever rolls back has to read them again.
            part.is_touched = true;
            self.touched.push(at);
        }
        let was = std::mem::replace(&mut part.last, now.clone());
        self.old_parts.push((at, was.clone()));
        for (times, groups) in [(-1, &was), (1, &now)] {
            for (group, all) in groups {
                if let Err(error) = self.add(group, all, times) {
                    self.parts[at as usize].is_reached = true;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Adds what a part gave, or takes it out.
    fn add(&mut self, group: &Row, all: &[Cell], times: i128) -> Result<()> {
        let total = self.groups.get(group);
        (self.old_groups.entry(group.clone())).or_insert_with(|| total.cloned());
        let total = self.groups.entry(group.clone()).or_default();
        let aggregates = &self.shape.aggregates;
        total
            .all
            .resize_with(aggregates.len(), Accumulator::default);
        // The first of the part counts its rows.
        for (into, value) in total.all.iter_mut().zip(&all[1..]) {
            into.take(&Aggregate::Sum(own(0)), *value, times)?;
        }
        total.parts = total.parts.wrapping_add_signed(times as isize);
        if total.parts == 0 {
            self.groups.remove(group);
        }
        Ok(())
    }

    /// The groups that moved since the last commit, those that went without aggregates.
    pub(crate) fn moved(&mut self, meter: &Meter<'_>) -> Result<Moved> {
        self.settle(meter)?;
        if self.shape.group.is_empty() {
            return self.groups(meter).map(Moved::All);
        }
        let groups = self.old_groups.keys();
        let moved = groups.map(|group| {
            let total = self.groups.get(group);
            let all = total
                .map(|total| self.shape.values(Some(total)))
                .transpose()?;
            Ok((group.clone(), all))
        });
        moved.collect::<Result<_>>().map(Moved::Some)
    }

    /// All groups.
    pub(crate) fn groups(&mut self, meter: &Meter<'_>) -> Result<Vec<Group>> {
        self.settle(meter)?;
        if self.shape.group.is_empty() {
            let all = self.shape.values(self.groups.values().next())?;
            return Ok(vec![(Row::new(), all)]);
        }
        let groups = self.groups.iter();
        groups
            .map(|(group, total)| Ok((group.clone(), self.shape.values(Some(total))?)))
            .collect()
    }

    /// Static relations have all their rows.
    pub(crate) fn seal(&mut self, is_static: &[bool]) {
        let ways = self.shape.ways.iter();
        let locals: Vec<bool> = ways.map(|way| is_static[way.table]).collect();
        if !self.shape.empty.lacks(&locals) {
            return;
        }
        self.is_sealed = true;
        for at in 0..self.parts.len() {
            let part = &mut self.parts[at];
            if part.machine.lacks(&locals) && self.places.remove(&part.key).is_some() {
                *part = Part {
                    key: Key::new(),
                    machine: self.shape.empty.clone(),
                    last: Vec::new(),
                    is_reached: false,
                    is_touched: false,
                };
                self.free.push(at as u32);
            }
        }
    }

    pub(crate) fn commit(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        for at in touched.drain(..) {
            let part = &mut self.parts[at as usize];
            part.machine.commit();
            part.is_touched = false;
            self.let_go(at);
        }
        self.touched = touched;
        self.old_parts.clear();
        self.old_groups.clear();
    }

    pub(crate) fn rollback(&mut self) {
        for (at, was) in self.old_parts.drain(..).rev() {
            self.parts[at as usize].last = was;
        }
        for (group, total) in std::mem::take(&mut self.old_groups) {
            match total {
                Some(total) => self.groups.insert(group, total),
                None => self.groups.remove(&group),
            };
        }
        let mut touched = std::mem::take(&mut self.touched);
        for at in touched.drain(..) {
            let part = &mut self.parts[at as usize];
            part.machine.rollback();
            part.is_touched = false;
            if !part.is_reached {
                // What it gave may have been of rows that are gone again.
                part.is_reached = true;
                self.reached.push(at);
            }
        }
        self.touched = touched;
    }

    /// How many keys have rows, and in how many aggregates go up and down now. O(keys).
    pub(crate) fn parts(&self) -> (usize, usize) {
        let walks = self.parts.iter().filter(|part| part.machine.walks());
        (self.places.len(), walks.count())
    }

    pub(crate) fn is_vacant(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let key = self.shape.scales.len() * size_of::<i128>();
        let parts = self.parts.iter().map(|part| part.machine.memory_usage());
        let group = size_of::<Row>() + size_of::<Total>();
        let all = self.shape.aggregates.len() * size_of::<Accumulator>();
        self.parts.capacity() * size_of::<Part>()
            + self.places.capacity() * (size_of::<(Key, u32)>() + 1)
            + 2 * self.places.len() * key
            + parts.sum::<usize>()
            + self.groups.len() * (group + all)
    }

    pub(crate) fn steps(&self) -> u64 {
        self.parts.iter().map(|part| part.machine.steps()).sum()
    }
}

/// Whether groups are the same to the last digit.
fn are_same(some: &[Group], others: &[Group]) -> bool {
    let same = |((one, all), (other, others)): (&Group, &Group)| {
        one == other && (all.iter().zip(others)).all(|(cell, other)| cell.is_same(*other))
    };
    some.len() == others.len() && some.iter().zip(others).all(same)
}

/// Whether a part has rows in a group.
fn is_some(all: &[Cell]) -> bool {
    !matches!(all[0].0, Some(Quantity::Exact { units: 0, .. }))
}
