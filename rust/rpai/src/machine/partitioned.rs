//! A query in parts (paper, TPC-H Q17: a tree for each part key): the rows of each key, by the key's
//! slot in a relation.
//!
//! Invariant: the result is the sum of the parts' results, each added to its group; the result of a
//! part is stored with its rows, so only parts with changed rows are evaluated again. A part of few
//! rows is these rows, packed, and its result is evaluated by one machine that all such parts
//! share; a part of many has a machine of its own. Once static relations have all
//! their rows, keys that they do not have can have no result, and rows of other tables with them
//! are skipped. Cost: some bytes a row of a part with few; O(`FEW`) a part that changed, or that of
//! its machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringview_core::{Batch, Budget, Result, empty};
use ringview_relation::{ABSENT, Keys};

use crate::machine::general::Group;
use crate::machine::general::accumulator::Accumulator;
use crate::machine::keyed::shape::{Route, Shape, Total};
use crate::machine::part::{FEW, RESULT, load};
use crate::machine::query::{Cell, Plan, Quantity, Row, RowAt};
use crate::machine::state::{Evaluator, Machine, Many, Part, Partitioned, Scratch, Touched};
use crate::machine::store::packed::pack_cells;

/// Marks of a part: whether rows changed since it was evaluated, whether it is among the touched,
/// and whether an index was walked when it was evaluated.
const STALE: u8 = 1;
const TOUCHED: u8 = 2;
const WALKED: u8 = 4;

impl Partitioned {
    /// The parts of a query; `None` where it does not fall into such, or keys are not exact.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let (shape, inner) = Shape::new(plan)?;
        let empty = Arc::new(Machine::in_one(inner));
        // A byte names a table.
        u8::try_from(shape.formats.len()).ok()?;
        let keys = shape.table();
        Some(Self {
            parts: Vec::new(),
            marks: Vec::new(),
            evaluator: Box::new(Evaluator {
                machine: empty.as_ref().clone(),
                batches: vec![Batch::new(); shape.formats.len()],
            }),
            groups: BTreeMap::new(),
            stale: Vec::new(),
            touched: Vec::new(),
            old_groups: BTreeMap::new(),
            is_frozen: false,
            scratch: Scratch {
                columns: vec![Vec::new(); keys.layout().fields()],
                ..Scratch::default()
            },
            keys,
            shape: Arc::new(shape),
            empty,
        })
    }

    /// The machine of each part, without rows.
    pub(crate) fn each(&self) -> &Machine {
        &self.empty
    }

    /// Applies rows of a table, by their positions in the batch of `row`, each so many times. After an
    /// error only `rollback` may follow.
    pub(crate) fn take(
        &mut self,
        table: usize,
        mut row: RowAt<'_>,
        rows: impl Iterator<Item = (usize, i64)> + Clone,
        budget: &Budget<'_>,
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
                        self.change(slot, (route, &row), (times, budget), body)?;
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

    /// Inserts or deletes a row of a part.
    fn change(
        &mut self,
        slot: u32,
        (route, row): (&Route, &RowAt<'_>),
        (times, budget): (i64, &Budget<'_>),
        body: &mut Vec<u8>,
    ) -> Result<()> {
        self.touch(slot);
        self.mark_stale(slot);
        let (shape, part) = (&*self.shape, &mut self.parts[slot as usize]);
        match part {
            Part::Many(many) => many.machine.change(route.local, row, (times, budget)),
            Part::Few(rows) => {
                body.clear();
                body.push(route.local as u8 + 1);
                shape.formats[route.local].pack(row, body);
                rows.change(body, times)?;
                if rows.iter().count() > FEW {
                    let mut machine = self.empty.as_ref().clone();
                    load(
                        &mut machine,
                        &mut self.evaluator.batches,
                        (shape, rows),
                        budget,
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

    /// Logs a part before it changes.
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
    fn mark_stale(&mut self, slot: u32) {
        let mark = &mut self.marks[slot as usize];
        if *mark & STALE == 0 {
            *mark |= STALE;
            self.stale.push(slot);
        }
    }

    /// Evaluates the parts whose rows changed.
    pub(crate) fn prepare(&mut self, budget: &Budget<'_>) -> Result<()> {
        while let Some(&slot) = self.stale.last() {
            budget.work(1)?;
            self.evaluate(slot, budget)?;
            self.stale.pop();
            self.marks[slot as usize] &= !STALE;
        }
        Ok(())
    }

    fn evaluate(&mut self, slot: u32, budget: &Budget<'_>) -> Result<()> {
        let shape = Arc::clone(&self.shape);
        let of = |machine: &mut Machine| Ok((machine.groups(budget)?, machine.walks()));
        let (groups, walks) = match &mut self.parts[slot as usize] {
            Part::Few(rows) => self.evaluator.with((&shape, rows), budget, of)?,
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

    /// Freezes static relations, which have all their rows.
    pub(crate) fn freeze(&mut self, is_static: &[bool]) {
        let shape = Arc::clone(&self.shape);
        let routes = shape.routes.iter();
        let locals: Vec<bool> = routes.map(|route| is_static[route.table]).collect();
        if !self.empty.lacks(&locals) {
            return;
        }
        self.commit();
        self.is_frozen = true;
        let slots: Vec<u32> = self.keys.iter().collect();
        let lacks = |slot: &u32| match &mut self.parts[*slot as usize] {
            Part::Many(many) => many.machine.lacks(&locals),
            Part::Few(rows) => {
                let lacks = |machine: &mut Machine| Ok(machine.lacks(&locals));
                let lacks = (self.evaluator).with((&shape, rows), &Budget::free(), lacks);
                // A sum that does not fit is an error when it is read.
                lacks.unwrap_or(false)
            }
        };
        let leaving: Vec<u32> = slots.into_iter().filter(lacks).collect();
        self.release(&leaving);
    }

    /// Removes keys with their parts.
    fn release(&mut self, leaving: &[u32]) {
        for &slot in leaving {
            self.parts[slot as usize] = Part::default();
            self.marks[slot as usize] = 0;
        }
        self.keys.commit(leaving, |_| true);
        self.stale.retain(|&slot| self.keys.is_live(slot));
        if let Some(moved) = self.keys.shrink() {
            moved.follow(&mut self.parts);
            moved.follow(&mut self.marks);
            let stale = self.stale.iter_mut();
            stale.for_each(|slot| *slot = moved.to(*slot));
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
            if part.is_vacant() && *mark & STALE == 0 && !self.is_frozen {
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
                // Its result may be of rows that were undone.
                self.mark_stale(slot);
            } else {
                self.marks[slot as usize] = 0;
            }
        }
        self.stale.retain(|&slot| self.keys.is_live(slot));
        self.parts.truncate(self.keys.slots());
        self.marks.truncate(self.keys.slots());
    }

    /// Number of keys that have rows, and of those whose aggregates are not monotone now. O(keys).
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
            + self.stale.capacity() * size_of::<u32>()
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

/// Whether a part has rows in a group.
fn is_some(all: &[Cell]) -> bool {
    !matches!(all[0].0, Some(Quantity::Exact { units: 0, .. }))
}
