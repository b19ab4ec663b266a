//! A query in parts (paper, TPC-H Q17: a tree for each part key): what belongs to each key, beside the key's slot in a
//! relation.
//!
//! Invariant: the result is the sum of the parts' results, each added to its group; the result of a part stands with its
//! rows, so only parts that rows reached are evaluated again. A part of few rows is these rows, packed, and its result
//! is evaluated by one machine that all such parts lend themselves in turn; a part of many has a machine of its own. Once
//! static relations have all their rows, keys that they do not have can have no result, and rows of other tables with
//! them are skipped. Cost: some bytes a row of a part with few; O(`FEW`) a part that was reached, or that of its machine.

mod local;
mod shape;

use std::collections::BTreeMap;
use std::sync::Arc;

use ringview_core::{Batch, Meter, Result, empty};
use ringview_relation::{ABSENT, KeyScratch, Keys, Part as Table};

use crate::machine::general::Group;
use crate::machine::general::accumulator::Accumulator;
use crate::machine::query::number::Quantity;
use crate::machine::query::plan::{Aggregate, Plan};
use crate::machine::query::row::{Cell, Row, RowAt};
use crate::machine::store::packed::{PackedRows, pack_cells, unpack_cells};
use crate::machine::{Machine, Moved};
use shape::{Route, Shape, Total, own};

/// Different rows of a part without a machine of its own, at most.
const FEW: usize = 40;
/// The first byte of a row that is a result; of others it is their table, behind it.
const RESULT: u8 = 0;

/// What belongs to a key.
#[derive(Clone, Debug)]
enum Part {
    /// Its rows, and the groups of its result when it was last evaluated.
    Few(PackedRows),
    Many(Box<Many>),
}

#[derive(Clone, Debug)]
struct Many {
    machine: Machine,
    results: PackedRows,
}

/// A part that rows or its evaluation changed since the last commit, with its packed rows at that time.
#[derive(Clone, Debug)]
struct Touched {
    slot: u32,
    was: PackedRows,
    had_machine: bool,
}

/// Marks of a part: whether rows came since it was evaluated, whether it is among the touched, and whether an index was
/// walked when it was evaluated.
const REACHED: u8 = 1;
const TOUCHED: u8 = 2;
const WALKED: u8 = 4;

/// Evaluates parts of few rows, one after the other.
#[derive(Clone, Debug)]
struct Evaluator {
    machine: Machine,
    /// By local table.
    batches: Vec<Batch>,
}

#[derive(Clone, Debug)]
pub(crate) struct Partitioned {
    shape: Arc<Shape>,
    /// The keys; parts and marks stand beside them by slot.
    keys: Table,
    parts: Vec<Part>,
    marks: Vec<u8>,
    evaluator: Box<Evaluator>,
    /// Where a group may be of several parts.
    groups: BTreeMap<Row, Total>,
    reached: Vec<u32>,
    touched: Vec<Touched>,
    /// What groups were at the last commit.
    old_groups: BTreeMap<Row, Option<Total>>,
    /// Whether keys that are not there can have no result.
    is_frozen: bool,
    scratch: Scratch,
}

/// Memory for a batch.
#[derive(Clone, Debug, Default)]
struct Scratch {
    columns: Vec<Vec<u64>>,
    rows: Vec<(usize, i64)>,
    slots: Vec<u32>,
    keys: KeyScratch,
    body: Vec<u8>,
}

impl Default for Part {
    fn default() -> Self {
        Part::Few(PackedRows::default())
    }
}

impl Part {
    /// What is packed of it: of one with a machine only its result.
    fn packed(&self) -> &PackedRows {
        match self {
            Part::Few(rows) => rows,
            Part::Many(many) => &many.results,
        }
    }

    fn packed_mut(&mut self) -> &mut PackedRows {
        match self {
            Part::Few(rows) => rows,
            Part::Many(many) => &mut many.results,
        }
    }

    fn is_vacant(&self) -> bool {
        match self {
            Part::Few(rows) => rows.is_empty(),
            Part::Many(many) => many.results.is_empty() && many.machine.is_vacant(),
        }
    }

    fn memory_usage(&self) -> usize {
        match self {
            Part::Few(rows) => rows.memory_usage(),
            Part::Many(many) => {
                size_of::<Many>() + many.results.memory_usage() + many.machine.memory_usage()
            }
        }
    }
}

impl Evaluator {
    /// Does something with a machine that has taken the packed rows.
    fn with<R>(
        &mut self,
        (shape, rows): (&Shape, &PackedRows),
        meter: &Meter<'_>,
        act: impl FnOnce(&mut Machine) -> Result<R>,
    ) -> Result<R> {
        let loaded = load(&mut self.machine, &mut self.batches, (shape, rows), meter);
        let done = loaded.and_then(|()| act(&mut self.machine));
        self.machine.clear();
        done
    }
}

/// Gives packed rows to a machine.
fn load(
    machine: &mut Machine,
    batches: &mut [Batch],
    (shape, rows): (&Shape, &PackedRows),
    meter: &Meter<'_>,
) -> Result<()> {
    let plan = Arc::clone(&machine.plan);
    for (body, times) in rows.iter().filter(|(body, _)| body[0] != RESULT) {
        let local = usize::from(body[0]) - 1;
        let batch = &mut batches[local];
        shape.formats[local].unpack(&body[1..], batch);
        let row = RowAt {
            batch,
            at: 0,
            types: &plan.tables[local],
            verdicts: &[],
        };
        machine.change(local, &row, (times, meter))?;
    }
    Ok(())
}

impl Partitioned {
    /// The parts of a query; `None` where it does not fall into such, or keys are not exact.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let shape = Shape::new(plan)?;
        // A byte names a table.
        u8::try_from(shape.formats.len()).ok()?;
        let keys = shape.table();
        Some(Self {
            parts: Vec::new(),
            marks: Vec::new(),
            evaluator: Box::new(Evaluator {
                machine: shape.empty.clone(),
                batches: vec![Batch::new(); shape.formats.len()],
            }),
            groups: BTreeMap::new(),
            reached: Vec::new(),
            touched: Vec::new(),
            old_groups: BTreeMap::new(),
            is_frozen: false,
            scratch: Scratch {
                columns: vec![Vec::new(); keys.layout().fields()],
                ..Scratch::default()
            },
            keys,
            shape: Arc::new(shape),
        })
    }

    /// The machine of each part, without rows.
    pub(crate) fn each(&self) -> &Machine {
        &self.shape.empty
    }

    /// Takes rows of a table, by their places in the batch of `row`, each so many times. After an error only
    /// `rollback` may follow.
    pub(crate) fn take(
        &mut self,
        table: usize,
        mut row: RowAt<'_>,
        rows: impl Iterator<Item = (usize, i64)> + Clone,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let shape = Arc::clone(&self.shape);
        for route in shape.routes.iter().filter(|route| route.table == table) {
            let mut scratch = std::mem::take(&mut self.scratch);
            let located = self.locate(route, row, rows.clone(), &mut scratch);
            let taken = located.and_then(|()| {
                for (&(at, times), &slot) in scratch.rows.iter().zip(&scratch.slots) {
                    row.at = at;
                    if slot != ABSENT {
                        let body = &mut scratch.body;
                        self.change(slot, (route, &row), (times, meter), body)?;
                    }
                }
                Ok(())
            });
            self.scratch = scratch;
            taken?;
        }
        Ok(())
    }

    /// Finds the slots of the rows' keys, and makes those that are not there.
    fn locate(
        &mut self,
        route: &Route,
        mut row: RowAt<'_>,
        rows: impl Iterator<Item = (usize, i64)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { columns, .. } = scratch;
        columns.iter_mut().for_each(Vec::clear);
        scratch.rows.clear();
        for (at, times) in rows {
            row.at = at;
            match self.shape.push_key(route, &row, columns)? {
                true => scratch.rows.push((at, times)),
                // It equals nothing.
                false => {
                    let rows = scratch.rows.len();
                    columns.iter_mut().for_each(|all| all.truncate(rows));
                }
            }
        }
        let fields: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns,
            fields: &fields,
            rows: scratch.rows.len(),
        };
        if self.is_frozen {
            self.keys.find(keys, &mut scratch.keys, &mut scratch.slots);
            return Ok(());
        }
        (self.keys).locate(keys, &mut scratch.keys, &mut scratch.slots);
        self.parts.resize_with(self.keys.slots(), Part::default);
        self.marks.resize(self.keys.slots(), 0);
        Ok(())
    }

    /// A row of a part comes or goes.
    fn change(
        &mut self,
        slot: u32,
        (route, row): (&Route, &RowAt<'_>),
        (times, meter): (i64, &Meter<'_>),
        body: &mut Vec<u8>,
    ) -> Result<()> {
        self.touch(slot);
        self.reach(slot);
        let (shape, part) = (&*self.shape, &mut self.parts[slot as usize]);
        match part {
            Part::Many(many) => many.machine.change(route.local, row, (times, meter)),
            Part::Few(rows) => {
                body.clear();
                body.push(route.local as u8 + 1);
                shape.formats[route.local].pack(row, body);
                rows.change(body, times)?;
                if rows.iter().count() > FEW {
                    let mut machine = shape.empty.clone();
                    load(
                        &mut machine,
                        &mut self.evaluator.batches,
                        (shape, rows),
                        meter,
                    )?;
                    machine.commit();
                    rows.retain(|body| body[0] == RESULT);
                    let results = std::mem::take(rows);
                    *part = Part::Many(Box::new(Many { machine, results }));
                }
                Ok(())
            }
        }
    }

    /// Remembers what a part is before it changes.
    fn touch(&mut self, slot: u32) {
        let mark = &mut self.marks[slot as usize];
        if *mark & TOUCHED == 0 {
            *mark |= TOUCHED;
            let part = &self.parts[slot as usize];
            let was = part.packed().clone();
            let had_machine = matches!(part, Part::Many(_));
            self.touched.push(Touched {
                slot,
                was,
                had_machine,
            });
        }
    }

    /// A part is to be evaluated.
    fn reach(&mut self, slot: u32) {
        let mark = &mut self.marks[slot as usize];
        if *mark & REACHED == 0 {
            *mark |= REACHED;
            self.reached.push(slot);
        }
    }

    /// Evaluates the parts that rows reached.
    fn prepare(&mut self, meter: &Meter<'_>) -> Result<()> {
        while let Some(&slot) = self.reached.last() {
            meter.work(1)?;
            self.evaluate(slot, meter)?;
            self.reached.pop();
            self.marks[slot as usize] &= !REACHED;
        }
        Ok(())
    }

    fn evaluate(&mut self, slot: u32, meter: &Meter<'_>) -> Result<()> {
        let shape = Arc::clone(&self.shape);
        let of = |machine: &mut Machine| Ok((machine.groups(meter)?, machine.walks()));
        let (groups, walks) = match &mut self.parts[slot as usize] {
            Part::Few(rows) => self.evaluator.with((&shape, rows), meter, of)?,
            Part::Many(many) => of(&mut many.machine)?,
        };
        let mark = &mut self.marks[slot as usize];
        *mark = *mark & !WALKED | if walks { WALKED } else { 0 };
        let packed = |(rest, all): &Group| {
            let mut body = vec![RESULT];
            pack_cells(rest, &mut body);
            pack_cells(all, &mut body);
            body
        };
        let some = groups.iter().filter(|(_, all)| is_some(all));
        let now: Vec<Vec<u8>> = some.map(packed).collect();
        let was = self.results(slot);
        if !was.iter().eq(&now) {
            self.touch(slot);
            for (times, results) in [(-1, &was), (1, &now)] {
                for body in results {
                    self.add(slot, body, times)?;
                    (self.parts[slot as usize].packed_mut()).change(body, times as i64)?;
                }
            }
        }
        if self.parts[slot as usize].is_vacant() {
            self.touch(slot);
        }
        Ok(())
    }

    /// The packed groups of a part's result.
    fn results(&self, slot: u32) -> Vec<Vec<u8>> {
        results(self.parts[slot as usize].packed())
    }

    /// A group of a part's result: its key, and its aggregates, of which the first counts the rows of the part.
    fn group(&self, slot: u32, body: &[u8]) -> Group {
        let mut rest = unpack_cells(&body[1..]);
        let all = rest.split_off(self.shape.rest());
        (
            self.shape.group(&self.shape.key(&self.keys, slot), &rest),
            all,
        )
    }

    /// Adds a group of a part's result to those of all, or takes it out.
    fn add(&mut self, slot: u32, body: &[u8], times: i128) -> Result<()> {
        if self.shape.groups_are_keys() {
            return Ok(());
        }
        let (group, all) = self.group(slot, body);
        let total = self.groups.get(&group);
        (self.old_groups.entry(group.clone())).or_insert_with(|| total.cloned());
        let total = self.groups.entry(group.clone()).or_default();
        let aggregates = &self.shape.aggregates;
        total
            .all
            .resize_with(aggregates.len(), Accumulator::default);
        for (into, value) in total.all.iter_mut().zip(&all[1..]) {
            into.take(&Aggregate::Sum(own(0)), *value, times)?;
        }
        total.parts = total.parts.wrapping_add_signed(times as isize);
        if total.parts == 0 {
            self.groups.remove(&group);
        }
        Ok(())
    }

    /// The groups that moved since the last commit, those that went without aggregates.
    pub(crate) fn moved(&mut self, meter: &Meter<'_>) -> Result<Moved> {
        self.prepare(meter)?;
        if self.shape.has_no_groups() {
            return self.groups(meter).map(Moved::All);
        }
        if self.shape.groups_are_keys() {
            let mut moved = BTreeMap::new();
            for Touched { slot, was, .. } in &self.touched {
                let now = self.results(*slot);
                let was = results(was);
                for body in was.iter().filter(|body| !now.contains(body)) {
                    moved.entry(self.group(*slot, body).0).or_insert(None);
                }
                for body in now.iter().filter(|body| !was.contains(body)) {
                    let (group, all) = self.group(*slot, body);
                    moved.insert(group, Some(all[1..].to_vec()));
                }
            }
            return Ok(Moved::Some(moved.into_iter().collect()));
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
        self.prepare(meter)?;
        if self.shape.has_no_groups() {
            let all = self.shape.values(self.groups.values().next())?;
            return Ok(vec![(Row::new(), all)]);
        }
        if self.shape.groups_are_keys() {
            let mut groups = Vec::new();
            for slot in self.keys.iter() {
                for body in self.results(slot) {
                    let (group, all) = self.group(slot, &body);
                    groups.push((group, all[1..].to_vec()));
                }
            }
            groups.sort_by(|one, other| one.0.cmp(&other.0));
            return Ok(groups);
        }
        let groups = self.groups.iter();
        groups
            .map(|(group, total)| Ok((group.clone(), self.shape.values(Some(total))?)))
            .collect()
    }

    /// Static relations have all their rows.
    pub(crate) fn freeze(&mut self, is_static: &[bool]) {
        let shape = Arc::clone(&self.shape);
        let routes = shape.routes.iter();
        let locals: Vec<bool> = routes.map(|route| is_static[route.table]).collect();
        if !shape.empty.lacks(&locals) {
            return;
        }
        self.commit();
        self.is_frozen = true;
        let slots: Vec<u32> = self.keys.iter().collect();
        let lacks = |slot: &u32| match &mut self.parts[*slot as usize] {
            Part::Many(many) => many.machine.lacks(&locals),
            Part::Few(rows) => {
                let lacks = |machine: &mut Machine| Ok(machine.lacks(&locals));
                let lacks = (self.evaluator).with((&shape, rows), &Meter::free(), lacks);
                // A sum that does not fit is told when it is asked for.
                lacks.unwrap_or(false)
            }
        };
        let leaving: Vec<u32> = slots.into_iter().filter(lacks).collect();
        self.release(&leaving);
    }

    /// Keys leave with their parts.
    fn release(&mut self, leaving: &[u32]) {
        for &slot in leaving {
            self.parts[slot as usize] = Part::default();
            self.marks[slot as usize] = 0;
        }
        self.keys.commit(leaving, |_| true);
        self.reached.retain(|&slot| self.keys.is_live(slot));
        if let Some(moved) = self.keys.shrink() {
            moved.follow(&mut self.parts);
            moved.follow(&mut self.marks);
            let reached = self.reached.iter_mut();
            reached.for_each(|slot| *slot = moved.to(*slot));
        }
    }

    pub(crate) fn commit(&mut self) {
        let mut leaving = Vec::new();
        for Touched { slot, .. } in &self.touched {
            let (part, mark) = (
                &mut self.parts[*slot as usize],
                &mut self.marks[*slot as usize],
            );
            *mark &= !TOUCHED;
            if let Part::Many(many) = part {
                many.machine.commit();
            }
            if part.is_vacant() && *mark & REACHED == 0 && !self.is_frozen {
                leaving.push(*slot);
            }
        }
        empty(&mut self.touched);
        self.release(&leaving);
        self.old_groups.clear();
    }

    pub(crate) fn rollback(&mut self) {
        for (group, total) in std::mem::take(&mut self.old_groups) {
            match total {
                Some(total) => self.groups.insert(group, total),
                None => self.groups.remove(&group),
            };
        }
        self.keys.rollback();
        let mut touched = std::mem::take(&mut self.touched);
        for Touched {
            slot,
            was,
            had_machine,
        } in touched.drain(..)
        {
            let part = &mut self.parts[slot as usize];
            match part {
                Part::Many(many) if had_machine => {
                    many.machine.rollback();
                    many.results = was;
                }
                _ => *part = Part::Few(was),
            }
            self.marks[slot as usize] &= !TOUCHED;
            if self.keys.is_live(slot) {
                // What it gave may have been of rows that are gone again.
                self.reach(slot);
            } else {
                self.marks[slot as usize] = 0;
            }
        }
        self.reached.retain(|&slot| self.keys.is_live(slot));
        self.parts.truncate(self.keys.slots());
        self.marks.truncate(self.keys.slots());
    }

    /// How many keys have rows, and in how many aggregates go up and down now. O(keys).
    pub(crate) fn parts(&self) -> (usize, usize) {
        let walks = |slot: &u32| match &self.parts[*slot as usize] {
            Part::Many(many) => many.machine.walks(),
            Part::Few(_) => self.marks[*slot as usize] & WALKED != 0,
        };
        (self.keys.len(), self.keys.iter().filter(walks).count())
    }

    pub(crate) fn is_vacant(&self) -> bool {
        self.keys.is_empty()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let group = size_of::<Row>() + size_of::<Total>();
        let all = self.shape.aggregates.len() * size_of::<Accumulator>();
        let touched = self.touched.iter().map(|one| one.was.memory_usage());
        self.keys.memory_usage()
            + self.parts.capacity() * size_of::<Part>()
            + self.parts.iter().map(Part::memory_usage).sum::<usize>()
            + self.marks.capacity()
            + self.reached.capacity() * size_of::<u32>()
            + self.touched.capacity() * size_of::<Touched>()
            + touched.sum::<usize>()
            + self.groups.len() * (group + all)
    }

    pub(crate) fn steps(&self) -> u64 {
        let own = self.parts.iter().map(|part| match part {
            Part::Few(_) => 0,
            Part::Many(many) => many.machine.steps(),
        });
        self.evaluator.machine.steps() + own.sum::<u64>()
    }
}

/// The packed groups among packed rows.
fn results(rows: &PackedRows) -> Vec<Vec<u8>> {
    let results = rows.iter().filter(|(body, _)| body[0] == RESULT);
    results.map(|(body, _)| body.to_vec()).collect()
}

/// Whether a part has rows in a group.
fn is_some(all: &[Cell]) -> bool {
    !matches!(all[0].0, Some(Quantity::Exact { units: 0, .. }))
}
