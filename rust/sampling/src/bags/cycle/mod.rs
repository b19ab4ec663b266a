//! A bag in the place of a cycle: rows of ids, each once, met a variable after the other.
//!
//! Invariant: a row of the bag is told for each set of ids that all parts have; how often a row of a part is there says
//! nothing. Rows of one part that come together do not meet each other, so all are entered first, then followed one
//! after the other, with what the next ones meet asked for. Cost: that of the steps (see `steps`), and of `partners`.
//!
//! | file | holds |
//! |---|---|
//! | `steps` | in which order a change meets the other relations |
//! | `state` | the parts, and a change on its way |
//! | `part` | the rows of a relation, and paths through them |
//! | `partners` | the ids that stand with others |

mod part;
mod partners;
mod state;
mod steps;

use ringview_core::{Budget, Error, Result};

use super::ground::{BagPlan, Ground, PartPlan, Tell};
use part::Part;
use state::{Scratch, State};
use steps::Compiler;

/// So many rows are entered before they are followed.
const TOGETHER: usize = 4096;
/// How many rows ahead what they touch is asked for.
const AHEAD: usize = 8;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    state: State,
    scratch: Scratch,
    events: Vec<Event>,
    /// The ids of their rows, one after the other.
    event_ids: Vec<u32>,
    steps: u64,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    part: usize,
    came: bool,
    /// Whether it was the first, or the last.
    flipped: bool,
}

impl Cycle {
    pub(super) fn new(plan: &BagPlan) -> Cycle {
        let of = |part: &PartPlan| part.variables.iter().map(|v| v.0).collect();
        let variables: Vec<Vec<usize>> = plan.parts.iter().map(of).collect();
        let mut compiler = Compiler {
            parts: variables.iter().map(|of| Part::new(of.len())).collect(),
            projections: Vec::new(),
            own: variables.len(),
            variables,
        };
        let ways = (0..compiler.own).map(|part| compiler.way(part, plan.variables));
        let ways = ways.collect();
        for part in &mut compiler.parts {
            part.close();
        }
        Cycle {
            state: State {
                parts: compiler.parts,
                projections: compiler.projections,
                variables: compiler.variables,
                ways,
            },
            scratch: Scratch {
                bound: vec![0; plan.variables],
                ..Scratch::default()
            },
            events: Vec::new(),
            event_ids: Vec::new(),
            steps: 0,
        }
    }

    /// Rows of a part come: tells the rows of the bag that do.
    pub(super) fn come(
        &mut self,
        ground: &mut Ground,
        (part, rows, count): (usize, &[u64], usize),
        budget: &Budget<'_>,
        told: &mut Tell<'_>,
    ) -> Result<()> {
        let columns = rows.len() / count.max(1);
        for first in (0..count).step_by(TOGETHER) {
            let together = TOGETHER.min(count - first);
            let rows = &rows[first * columns..][..together * columns];
            self.enter(ground, (part, rows, together))?;
            self.follow_new(ground, part, budget, told)?;
        }
        Ok(())
    }

    /// Enters rows, and notes which are new.
    fn enter(
        &mut self,
        ground: &mut Ground,
        (part, rows, count): (usize, &[u64], usize),
    ) -> Result<()> {
        let Scratch { ids, new, .. } = &mut self.scratch;
        ids.clear();
        new.clear();
        if !self.state.parts[part].has_capacity() {
            return Err(Error::Memory {
                what: "a relation of a sampled cycle".to_owned(),
                needed: self.state.memory_usage() as u64,
                limit: u64::MAX,
                instead: "sample a join of fewer rows",
            });
        }
        let columns = rows.len() / count.max(1);
        for nth in 0..count {
            if let Some(ahead) = rows.get((nth + AHEAD) * columns..) {
                ground.prefetch(part, ahead);
            }
            ground.enter(part, &rows[nth * columns..][..columns], ids);
        }
        let width = self.state.parts[part].ids;
        for nth in 0..count {
            for (distance, near) in [(AHEAD, false), (AHEAD / 2, true)] {
                if let Some(ahead) = ids
                    .get((nth + distance) * width..)
                    .filter(|a| !a.is_empty())
                {
                    self.state.parts[part].prefetch(ahead, near);
                }
            }
            let row = &ids[nth * width..][..width];
            let Some(flipped) = self.state.parts[part].more(row) else {
                let rest = (nth..count).map(|nth| &ids[nth * width..][..width]);
                rest.for_each(|row| ground.leave(part, row));
                return Err(Error::Overflow {
                    place: "how often a row of a sampled join is there".to_owned(),
                });
            };
            self.events.push(Event {
                part,
                came: true,
                flipped,
            });
            self.event_ids.extend(row);
            if flipped {
                self.state.project(part, row, true);
                new.push(nth as u32);
            }
        }
        Ok(())
    }

    fn follow_new(
        &mut self,
        ground: &Ground,
        part: usize,
        budget: &Budget<'_>,
        told: &mut Tell<'_>,
    ) -> Result<()> {
        let mut work = std::mem::take(&mut self.scratch);
        let (ids, new) = (std::mem::take(&mut work.ids), std::mem::take(&mut work.new));
        let width = self.state.parts[part].ids;
        let row = |nth: u32| &ids[nth as usize * width..][..width];
        let mut met = Vec::new();
        let mut done = Ok(());
        for (at, &nth) in new.iter().enumerate() {
            for (distance, near) in [(AHEAD, false), (AHEAD / 2, true)] {
                if let Some(&ahead) = new.get(at + distance) {
                    self.state.prefetch(part, row(ahead), near);
                }
            }
            self.state.bind(part, row(nth), &mut work);
            let way = &self.state.ways[part];
            done = self
                .state
                .extend(ground, way, (&mut work, &mut met), budget, told);
            if done.is_err() {
                break;
            }
        }
        self.steps += std::mem::take(&mut work.steps);
        (work.ids, work.new) = (ids, new);
        self.scratch = work;
        done
    }

    /// A row of a part leaves: tells the rows of the bag that do. False if it is not there.
    pub(super) fn leave(
        &mut self,
        ground: &Ground,
        (part, row): (usize, &[u64]),
        budget: &Budget<'_>,
        told: &mut Tell<'_>,
    ) -> Result<bool> {
        let Scratch { ids, new, .. } = &mut self.scratch;
        ids.clear();
        new.clear();
        if !ground.find(part, row, ids) || !self.state.parts[part].has(ids) {
            return Ok(false);
        }
        let flipped = self.state.parts[part].fewer(ids);
        self.events.push(Event {
            part,
            came: false,
            flipped,
        });
        self.event_ids.extend(&*ids);
        if flipped {
            new.push(0);
            self.state.project(part, ids, false);
        }
        self.follow_new(ground, part, budget, told).map(|()| true)
    }

    /// Ends a transaction.
    pub(super) fn commit(&mut self, ground: &mut Ground) {
        let mut rest = &self.event_ids[..];
        for event in self.events.drain(..) {
            let (row, behind) = rest.split_at(self.state.parts[event.part].ids);
            if !event.came {
                ground.leave(event.part, row);
            }
            rest = behind;
        }
        ringview_core::empty(&mut self.event_ids);
        ringview_core::empty(&mut self.scratch.ids);
    }

    /// Undoes a transaction; nothing is told.
    pub(super) fn rollback(&mut self, ground: &mut Ground) {
        let mut rest = &self.event_ids[..];
        for event in self.events.drain(..).rev() {
            let part = &mut self.state.parts[event.part];
            let (before, row) = rest.split_at(rest.len() - part.ids);
            match event.came {
                true => part.fewer(row),
                // It was there as often before.
                false => part.more(row).unwrap_or_default(),
            };
            if event.flipped {
                self.state.project(event.part, row, !event.came);
            }
            if event.came {
                ground.leave(event.part, row);
            }
            rest = before;
        }
        self.event_ids.clear();
    }

    /// Calls `see` with the ids of each row of a part.
    pub(super) fn each(&self, part: usize, see: &mut dyn FnMut(&[u32])) {
        self.state.parts[part].each(see);
    }

    pub(super) fn rows(&self, part: usize) -> usize {
        self.state.parts[part].rows()
    }

    /// Ids met so far, and lists begun.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.state.memory_usage()
            + self.events.capacity() * size_of::<Event>()
            + (self.event_ids.capacity() + self.scratch.ids.capacity()) * 4
    }

    /// Checks the parts. For tests.
    pub(super) fn check(&self) {
        self.state.parts.iter().for_each(Part::check);
    }
}
