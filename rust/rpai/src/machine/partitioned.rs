//! A query in parts (paper, TPC-H Q17: a tree for each part key): a machine for each key.
//!
//! Invariant: the result is the sum of the parts' results, each added to its group; a part whose result was worked out is
//! remembered by it, so that only parts that rows reached are worked out again. Once static relations have all their
//! rows, keys that they do not have can have no result, and rows of other tables with them go nowhere. Cost: O(1) a
//! change beside that of its part's machine, and a result of each part that was reached.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use ringview_core::{Result, random_hasher};

use super::accumulator::Accumulator;
use super::exact::Exact;
use super::general::Group;
use super::local::{Local, Place};
use super::number::{Kind, Quantity};
use super::plan::{Aggregate, Column, Value, kind};
use super::row::{Cell, Row, RowAt};
use super::{Machine, Moved};

type Key = Vec<i128>;

/// How rows of a table reach parts.
#[derive(Debug)]
struct Way {
    table: usize,
    /// The table of the local plan.
    local: usize,
    key: Vec<Exact>,
}

#[derive(Debug)]
struct Shape {
    ways: Vec<Way>,
    group: Vec<Place>,
    /// The scales of the key.
    scales: Vec<u8>,
    aggregates: Vec<Aggregate>,
    /// Without rows.
    empty: Machine,
}

#[derive(Clone, Debug)]
struct Part {
    machine: Machine,
    /// What it gave when it was last worked out.
    last: Vec<Group>,
    is_reached: bool,
}

/// The sums of a group, and how many results of parts are in it.
#[derive(Clone, Debug, Default)]
struct Total {
    all: Vec<Accumulator>,
    parts: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Partitioned {
    shape: Arc<Shape>,
    parts: HashMap<Key, Part, SeedableRandomState>,
    groups: BTreeMap<Row, Total>,
    /// Parts that rows reached since they were worked out.
    reached: Vec<Key>,
    /// Parts that rows reached since the last commit.
    touched: Vec<Key>,
    /// What parts gave, and what groups were, at the last commit.
    old_parts: Vec<(Key, Vec<Group>)>,
    old_groups: BTreeMap<Row, Option<Total>>,
    /// Whether keys that are not there can have no result.
    is_sealed: bool,
}

impl Partitioned {
    /// The parts of a query; `None` where keys are not exact.
    pub(super) fn new(local: Local, aggregates: Vec<Aggregate>) -> Option<Self> {
        let width = local.tables.first()?.columns.len();
        let mut scales = vec![0; width];
        let types = &local.plan.tables;
        for (table, types) in local.tables.iter().zip(types) {
            for (scale, &column) in scales.iter_mut().zip(&table.columns) {
                match kind(&own(column), &|_| Kind::of(&types[column].ty)) {
                    Kind::Exact(finer) => *scale = finer.max(*scale),
                    Kind::Real => return None,
                }
            }
        }
        let mut ways = Vec::new();
        for (at, (table, types)) in local.tables.iter().zip(types).enumerate() {
            let exact = |(&column, &scale): (&usize, &u8)| {
                Exact::new(&own(column), types)?.at_scale(scale)
            };
            let key = table.columns.iter().zip(&scales).map(exact);
            ways.push(Way {
                table: table.table,
                local: at,
                key: key.collect::<Option<_>>()?,
            });
        }
        let shape = Shape {
            ways,
            group: local.group,
            scales,
            aggregates,
            empty: Machine::new(local.plan),
        };
        Some(Self {
            shape: Arc::new(shape),
            parts: HashMap::with_hasher(random_hasher()),
            groups: BTreeMap::new(),
            reached: Vec::new(),
            touched: Vec::new(),
            old_parts: Vec::new(),
            old_groups: BTreeMap::new(),
            is_sealed: false,
        })
    }

    /// The machine of each part, without rows.
    pub(super) fn each(&self) -> &Machine {
        &self.shape.empty
    }

    /// A row of a table comes or goes. After an error only `rollback` may follow.
    pub(super) fn change(&mut self, table: usize, row: &RowAt<'_>, times: i64) -> Result<()> {
        let shape = Arc::clone(&self.shape);
        'ways: for way in shape.ways.iter().filter(|way| way.table == table) {
            let mut key = Vec::with_capacity(way.key.len());
            for exact in &way.key {
                match exact.units(row)? {
                    Some(units) => key.push(units),
                    // NULL equals nothing.
                    None => continue 'ways,
                }
            }
            let part = match self.parts.get_mut(&key) {
                Some(part) => part,
                None if self.is_sealed => continue,
                None => self.parts.entry(key.clone()).or_insert_with(|| Part {
                    machine: shape.empty.clone(),
                    last: Vec::new(),
                    is_reached: false,
                }),
            };
            if !part.is_reached {
                part.is_reached = true;
                self.reached.push(key.clone());
                self.touched.push(key);
            }
            part.machine.change(way.local, row, times)?;
        }
        Ok(())
    }

    /// Works out the parts that rows reached.
    pub(super) fn settle(&mut self) -> Result<()> {
        let reached = std::mem::take(&mut self.reached);
        for key in reached {
            let Some(part) = self.parts.get_mut(&key) else {
                continue;
            };
            part.is_reached = false;
            let groups = part.machine.groups()?;
            let groups = groups.into_iter().filter(|(_, all)| is_some(all));
            let now: Vec<Group> = groups
                .map(|(rest, all)| (self.shape.group(&key, &rest), all))
                .collect();
            if now == part.last {
                continue;
            }
            let was = std::mem::replace(&mut part.last, now.clone());
            for (times, groups) in [(-1, &was), (1, &now)] {
                for (group, all) in groups {
                    self.add(group, all, times)?;
                }
            }
            self.old_parts.push((key, was));
        }
        Ok(())
    }

    /// Adds what a part gave, or takes it out.
    fn add(&mut self, group: &Row, all: &[Cell], times: i128) -> Result<()> {
        let total = self.groups.get(group);
        (self.old_groups.entry(group.clone())).or_insert_with(|| total.cloned());
        let total = self.groups.entry(group.clone()).or_default();
        let aggregates = &self.shape.aggregates;
        total.all.resize_with(aggregates.len(), Accumulator::default);
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
    pub(super) fn moved(&mut self) -> Result<Moved> {
        self.settle()?;
        if self.shape.group.is_empty() {
            return self.groups().map(Moved::All);
        }
        let groups = self.old_groups.keys();
        let moved = groups.map(|group| {
            let total = self.groups.get(group);
            let all = total.map(|total| self.shape.values(Some(total))).transpose()?;
            Ok((group.clone(), all))
        });
        moved.collect::<Result<_>>().map(Moved::Some)
    }

    /// All groups.
    pub(super) fn groups(&mut self) -> Result<Vec<Group>> {
        self.settle()?;
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
    pub(super) fn seal(&mut self, is_static: &[bool]) {
        let ways = self.shape.ways.iter();
        let locals: Vec<bool> = ways.map(|way| is_static[way.table]).collect();
        if !self.shape.empty.lacks(&locals) {
            return;
        }
        self.is_sealed = true;
        self.parts.retain(|_, part| !part.machine.lacks(&locals));
    }

    pub(super) fn commit(&mut self) {
        for key in self.touched.drain(..) {
            let Some(part) = self.parts.get_mut(&key) else {
                continue;
            };
            part.machine.commit();
            if !self.is_sealed && !part.is_reached && part.machine.is_vacant() {
                self.parts.remove(&key);
            }
        }
        self.old_parts.clear();
        self.old_groups.clear();
    }

    pub(super) fn rollback(&mut self) {
        for (key, was) in self.old_parts.drain(..).rev() {
            if let Some(part) = self.parts.get_mut(&key) {
                part.last = was;
            }
        }
        for (group, total) in std::mem::take(&mut self.old_groups) {
            match total {
                Some(total) => self.groups.insert(group, total),
                None => self.groups.remove(&group),
            };
        }
        self.reached.clear();
        for key in self.touched.drain(..) {
            let Some(part) = self.parts.get_mut(&key) else {
                continue;
            };
            part.machine.rollback();
            part.is_reached = false;
            if !self.is_sealed && part.machine.is_vacant() {
                self.parts.remove(&key);
            }
        }
    }

    /// How many keys have rows, and in how many aggregates go up and down now. O(keys).
    pub(super) fn parts(&self) -> (usize, usize) {
        let walks = self.parts.values().filter(|part| part.machine.walks());
        (self.parts.len(), walks.count())
    }

    pub(super) fn is_vacant(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn memory_usage(&self) -> usize {
        let each = size_of::<(Key, Part)>() + self.shape.scales.len() * size_of::<i128>() + 1;
        let parts = self.parts.values().map(|part| part.machine.memory_usage());
        let group = size_of::<Row>() + size_of::<Total>();
        let all = self.shape.aggregates.len() * size_of::<Accumulator>();
        self.parts.capacity() * each
            + parts.sum::<usize>()
            + self.groups.len() * (group + all)
    }

    pub(super) fn steps(&self) -> u64 {
        self.parts.values().map(|part| part.machine.steps()).sum()
    }
}

/// Whether a part has rows in a group.
fn is_some(all: &[Cell]) -> bool {
    !matches!(all[0].0, Some(Quantity::Exact { units: 0, .. }))
}

fn own(column: usize) -> Value {
    Value::Column(Column {
        depth: 0,
        relation: 0,
        column,
    })
}

impl Shape {
    fn group(&self, key: &[i128], rest: &Row) -> Row {
        let cell = |place: &Place| match *place {
            Place::Key(at) => Cell(Some(Quantity::Exact {
                units: key[at],
                scale: self.scales[at],
            })),
            Place::Rest(at) => rest[at],
        };
        self.group.iter().map(cell).collect()
    }

    fn values(&self, total: Option<&Total>) -> Result<Vec<Cell>> {
        let none = Accumulator::default();
        let value = |(at, what): (usize, &Aggregate)| {
            let of = total.map_or(&none, |total| &total.all[at]);
            let value = of.value(&Aggregate::Sum(own(0)))?;
            Ok(match what {
                Aggregate::Count => Cell(Some(value.0.unwrap_or(Quantity::int(0)))),
                _ => value,
            })
        };
        self.aggregates.iter().enumerate().map(value).collect()
    }
}
