//! A bag in the place of a cycle: rows of ids, each once, joined a variable after the other.
//!
//! Invariant: the bag emits a row for each set of ids that all inputs have, whatever the multiplicities of their rows. Rows of
//! one input that are inserted together do not join each other, so all are inserted first, then followed one after the other,
//! with prefetches ahead. Cost: that of the steps (see `steps`), and of `matches`.
//!
//! | file | holds |
//! |---|---|
//! | `steps` | the order in which a change joins the other relations |
//! | `state` | the inputs, and a change on its way |
//! | `input` | the rows of a relation, and paths through them |
//! | `matches` | the ids that join with others |

mod input;
mod matches;
mod state;
mod steps;

use ringview_core::{Budget, Error, Result};

use super::context::{BagPlan, Context, Emit, InputPlan};
use input::Input;
use state::{Scratch, State};
use steps::Compiler;

/// So many rows are inserted before they are followed.
const BATCH: usize = 4096;
/// The distance of prefetches, in rows.
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
    input: usize,
    inserted: bool,
    /// Whether the first was inserted, or the last deleted.
    toggled: bool,
}

impl Cycle {
    pub(super) fn new(plan: &BagPlan) -> Cycle {
        let of = |input: &InputPlan| input.variables.iter().map(|v| v.0).collect();
        let variables: Vec<Vec<usize>> = plan.inputs.iter().map(of).collect();
        let mut compiler = Compiler {
            inputs: variables.iter().map(|of| Input::new(of.len())).collect(),
            projections: Vec::new(),
            own: variables.len(),
            variables,
        };
        let orders = (0..compiler.own).map(|input| compiler.order(input, plan.variables));
        let orders = orders.collect();
        for input in &mut compiler.inputs {
            input.close();
        }
        Cycle {
            state: State {
                inputs: compiler.inputs,
                projections: compiler.projections,
                variables: compiler.variables,
                orders,
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

    /// Inserts rows of an input; emits the rows of the bag that they bring.
    pub(super) fn insert(
        &mut self,
        context: &mut Context,
        (input, rows, count): (usize, &[u64], usize),
        budget: &Budget<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        let columns = rows.len() / count.max(1);
        for first in (0..count).step_by(BATCH) {
            let together = BATCH.min(count - first);
            let rows = &rows[first * columns..][..together * columns];
            self.store(context, (input, rows, together))?;
            self.follow_new(context, input, budget, emit)?;
        }
        Ok(())
    }

    /// Stores rows, and notes which are new.
    fn store(
        &mut self,
        context: &mut Context,
        (input, rows, count): (usize, &[u64], usize),
    ) -> Result<()> {
        let Scratch { ids, new, .. } = &mut self.scratch;
        ids.clear();
        new.clear();
        if !self.state.inputs[input].has_capacity() {
            return Err(Error::Memory {
                what: "a relation of a sampled cycle".to_owned(),
                needed: self.state.memory_usage() as u64,
                limit: u64::MAX,
                instead: "sample a join of decrement rows",
            });
        }
        let columns = rows.len() / count.max(1);
        for nth in 0..count {
            if let Some(ahead) = rows.get((nth + AHEAD) * columns..) {
                context.prefetch(input, ahead);
            }
            context.acquire(input, &rows[nth * columns..][..columns], ids);
        }
        let width = self.state.inputs[input].ids;
        for nth in 0..count {
            for (distance, near) in [(AHEAD, false), (AHEAD / 2, true)] {
                if let Some(ahead) = ids
                    .get((nth + distance) * width..)
                    .filter(|a| !a.is_empty())
                {
                    self.state.inputs[input].prefetch(ahead, near);
                }
            }
            let row = &ids[nth * width..][..width];
            let Some(toggled) = self.state.inputs[input].increment(row) else {
                let rest = (nth..count).map(|nth| &ids[nth * width..][..width]);
                rest.for_each(|row| context.release(input, row));
                return Err(Error::Overflow {
                    place: "how often a row of a sampled join is there".to_owned(),
                });
            };
            self.events.push(Event {
                input,
                inserted: true,
                toggled,
            });
            self.event_ids.extend(row);
            if toggled {
                self.state.project(input, row, true);
                new.push(nth as u32);
            }
        }
        Ok(())
    }

    fn follow_new(
        &mut self,
        context: &Context,
        input: usize,
        budget: &Budget<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        let mut work = std::mem::take(&mut self.scratch);
        let (ids, new) = (std::mem::take(&mut work.ids), std::mem::take(&mut work.new));
        let width = self.state.inputs[input].ids;
        let row = |nth: u32| &ids[nth as usize * width..][..width];
        let mut met = Vec::new();
        let mut done = Ok(());
        for (at, &nth) in new.iter().enumerate() {
            for (distance, near) in [(AHEAD, false), (AHEAD / 2, true)] {
                if let Some(&ahead) = new.get(at + distance) {
                    self.state.prefetch(input, row(ahead), near);
                }
            }
            self.state.bind(input, row(nth), &mut work);
            let order = &self.state.orders[input];
            done = self
                .state
                .extend(context, order, (&mut work, &mut met), budget, emit);
            if done.is_err() {
                break;
            }
        }
        self.steps += std::mem::take(&mut work.steps);
        (work.ids, work.new) = (ids, new);
        self.scratch = work;
        done
    }

    /// Deletes a row of an input; emits the rows of the bag that it takes. False if it is not there.
    pub(super) fn delete(
        &mut self,
        context: &Context,
        (input, row): (usize, &[u64]),
        budget: &Budget<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        let Scratch { ids, new, .. } = &mut self.scratch;
        ids.clear();
        new.clear();
        if !context.find(input, row, ids) || !self.state.inputs[input].has(ids) {
            return Ok(false);
        }
        let toggled = self.state.inputs[input].decrement(ids);
        self.events.push(Event {
            input,
            inserted: false,
            toggled,
        });
        self.event_ids.extend(&*ids);
        if toggled {
            new.push(0);
            self.state.project(input, ids, false);
        }
        self.follow_new(context, input, budget, emit).map(|()| true)
    }

    /// Ends a transaction.
    pub(super) fn commit(&mut self, context: &mut Context) {
        let mut rest = &self.event_ids[..];
        for event in self.events.drain(..) {
            let (row, behind) = rest.split_at(self.state.inputs[event.input].ids);
            if !event.inserted {
                context.release(event.input, row);
            }
            rest = behind;
        }
        ringview_core::empty(&mut self.event_ids);
        ringview_core::empty(&mut self.scratch.ids);
    }

    /// Undoes a transaction; emits nothing.
    pub(super) fn rollback(&mut self, context: &mut Context) {
        let mut rest = &self.event_ids[..];
        for event in self.events.drain(..).rev() {
            let input = &mut self.state.inputs[event.input];
            let (before, row) = rest.split_at(rest.len() - input.ids);
            match event.inserted {
                true => input.decrement(row),
                // It was there as often before.
                false => input.increment(row).unwrap_or_default(),
            };
            if event.toggled {
                self.state.project(event.input, row, !event.inserted);
            }
            if event.inserted {
                context.release(event.input, row);
            }
            rest = before;
        }
        self.event_ids.clear();
    }

    /// Calls `see` with the ids of each row of an input.
    pub(super) fn each(&self, input: usize, see: &mut dyn FnMut(&[u32])) {
        self.state.inputs[input].each(see);
    }

    pub(super) fn rows(&self, input: usize) -> usize {
        self.state.inputs[input].rows()
    }

    /// Ids walked so far, and lists begun.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.state.memory_usage()
            + self.events.capacity() * size_of::<Event>()
            + (self.event_ids.capacity() + self.scratch.ids.capacity()) * 4
    }

    /// Checks the inputs. For tests.
    pub(super) fn check(&self) {
        self.state.inputs.iter().for_each(Input::check);
    }
}
