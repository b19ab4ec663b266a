//! A bag of relations that keys combine: rows with all that they have, as often as they are there.
//!
//! Invariant: a row of the bag is told for each set of rows, one of each part, that agree on their variables; a row
//! that is there twice counts twice. Rows have numbers, which codes are, while they are there. Cost: O(1) a row that comes and a row
//! of the bag that it brings; 4 bytes an id, 12 or so more a row for finding it, 6 or so a path.
//!
//! | file | holds |
//! |---|---|
//! | `steps` | in which order a change meets the other relations |
//! | `part` | the rows of a relation, and paths to them |

mod part;
mod steps;

use ringview_core::{Budget, Error, Result};

use super::ground::{BagPlan, Ground, Tell};
use part::Part;
use steps::{Compiler, Meet};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Keyed {
    state: State,
    scratch: Scratch,
    events: Vec<Event>,
    /// Rows met on the way.
    steps: u64,
}

/// What is read while a change is followed.
#[derive(Clone, Debug)]
struct State {
    parts: Vec<Part>,
    /// By part: how a change of it goes on.
    ways: Vec<Vec<Meet>>,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    row: Vec<u32>,
    /// By variable, the id that it is bound to.
    bound: Vec<u32>,
    /// By part, the row that was chosen.
    chosen: Vec<u32>,
    key: Vec<u32>,
    carried: Vec<u64>,
    out: Vec<u64>,
    steps: u64,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    part: usize,
    row: u32,
    came: bool,
    /// Whether it was the first, or the last.
    flipped: bool,
}

impl Keyed {
    pub(super) fn new(plan: &BagPlan) -> Keyed {
        let parts = plan.parts.iter();
        let variables = parts
            .clone()
            .map(|part| part.variables.iter().map(|v| v.0).collect());
        let mut compiler = Compiler {
            variables: variables.collect(),
            parts: parts
                .map(|part| Part::new(part.variables.len(), part.words.len()))
                .collect(),
        };
        let ways = (0..plan.parts.len()).map(|part| compiler.way(part));
        let ways = ways.collect();
        Keyed {
            scratch: Scratch {
                bound: vec![0; plan.variables],
                chosen: vec![0; compiler.parts.len()],
                ..Scratch::default()
            },
            state: State {
                parts: compiler.parts,
                ways,
            },
            events: Vec::new(),
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
        for nth in 0..count {
            let words = &rows[nth * columns..][..columns];
            let mut row = std::mem::take(&mut self.scratch.row);
            row.clear();
            ground.enter(part, words, &mut row);
            let further = ground.plan.parts[part].words.iter();
            further.for_each(|&column| row.extend(halves(words[column])));
            let number = self.state.parts[part].number(&row);
            let count = self.state.parts[part].count[number as usize];
            let full = count == u32::MAX || number >= u32::MAX - 1;
            if full {
                ground.leave(part, &row);
            }
            if full && count == 0 {
                self.state.parts[part].rows.forget(number);
            }
            self.scratch.row = row;
            if full {
                return Err(Error::Overflow {
                    place: "how often a row of a sampled join is there".to_owned(),
                });
            }
            let flipped = self.state.parts[part].more(number);
            self.events.push(Event {
                part,
                row: number,
                came: true,
                flipped,
            });
            self.follow(ground, (part, number), budget, told)?;
        }
        Ok(())
    }

    /// A row of a part leaves: tells the rows of the bag that do. False if it is not there.
    pub(super) fn leave(
        &mut self,
        ground: &Ground,
        (part, row): (usize, &[u64]),
        budget: &Budget<'_>,
        told: &mut Tell<'_>,
    ) -> Result<bool> {
        let of = &ground.plan.parts[part];
        let columns = of.variables.iter().map(|&(_, column)| column);
        let words: Vec<u64> = columns
            .chain(of.words.iter().copied())
            .map(|c| row[c])
            .collect();
        let Some(number) = self.find(ground, part, &words) else {
            return Ok(false);
        };
        let flipped = self.state.parts[part].fewer(number);
        self.events.push(Event {
            part,
            row: number,
            came: false,
            flipped,
        });
        self.follow(ground, (part, number), budget, told)?;
        Ok(true)
    }

    /// The number of a part's row by its words.
    pub(super) fn find(&self, ground: &Ground, part: usize, words: &[u64]) -> Option<u32> {
        let variables = &ground.plan.parts[part].variables;
        let (values, further) = words.split_at(variables.len());
        let ids = variables.iter().zip(values);
        let ids = ids.map(|(&(variable, _), &word)| ground.values[variable].find(word));
        let mut row: Vec<u32> = ids.collect::<Option<_>>()?;
        further.iter().for_each(|&word| row.extend(halves(word)));
        self.state.parts[part].rows.find(&row)
    }

    fn follow(
        &mut self,
        ground: &Ground,
        (part, number): (usize, u32),
        budget: &Budget<'_>,
        told: &mut Tell<'_>,
    ) -> Result<()> {
        let mut work = std::mem::take(&mut self.scratch);
        let ids = self.state.parts[part].rows.row(number);
        for (&(variable, _), &id) in ground.plan.parts[part].variables.iter().zip(ids) {
            work.bound[variable] = id;
        }
        work.chosen[part] = number;
        let done = self
            .state
            .extend(ground, (part, 0), &mut work, budget, told);
        self.steps += std::mem::take(&mut work.steps);
        self.scratch = work;
        done
    }

    /// Ends a transaction.
    pub(super) fn commit(&mut self, ground: &mut Ground) {
        for event in self.events.drain(..) {
            if !event.came {
                self.state.forget(ground, event);
            }
        }
    }

    /// Undoes a transaction; nothing is told.
    pub(super) fn rollback(&mut self, ground: &mut Ground) {
        for event in self.events.drain(..).rev() {
            let part = &mut self.state.parts[event.part];
            match event.came {
                true => part.fewer(event.row),
                false => part.more(event.row),
            };
            if event.came {
                self.state.forget(ground, event);
            }
        }
    }

    /// A word of a part's row: its variables first.
    pub(super) fn word(&self, ground: &Ground, part: usize, row: u32, at: usize) -> u64 {
        let of = &self.state.parts[part];
        match ground.plan.parts[part].variables.get(at) {
            Some(&(variable, _)) => ground.values[variable].word(of.rows.row(row)[at]),
            None => of.word(row, at - of.ids),
        }
    }

    /// The rows of a part that are there.
    pub(super) fn rows(&self, part: usize) -> impl Iterator<Item = u32> {
        self.state.parts[part].rows.linked()
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn memory_usage(&self) -> usize {
        let parts = self.state.parts.iter().map(Part::memory_usage);
        parts.sum::<usize>() + self.events.capacity() * size_of::<Event>()
    }

    /// Checks the parts. For tests.
    pub(super) fn check(&self) {
        self.state.parts.iter().for_each(Part::check);
    }
}

/// A word as rows of ids have it.
fn halves(word: u64) -> [u32; 2] {
    [(word >> 32) as u32, word as u32]
}

impl State {
    /// A row that came and was undone, or one that left and stays away: its values are one row's fewer,
    /// and its number is free if nobody else has it.
    fn forget(&mut self, ground: &mut Ground, event: Event) {
        let part = &mut self.parts[event.part];
        ground.leave(event.part, part.rows.row(event.row));
        if event.flipped {
            part.rows.forget(event.row);
        }
    }

    /// Goes on from a step of a part's way with what is bound.
    fn extend(
        &self,
        ground: &Ground,
        (from, at): (usize, usize),
        work: &mut Scratch,
        budget: &Budget<'_>,
        told: &mut Tell<'_>,
    ) -> Result<()> {
        let Some(meet) = self.ways[from].get(at) else {
            return self.tell(ground, from, work, told);
        };
        work.key.clear();
        let bound = &work.bound;
        work.key
            .extend(meet.by.iter().map(|&variable| bound[variable]));
        let part = &self.parts[meet.part];
        let rows = part.group(meet.path, &work.key);
        budget.work(1 + rows.len() as u64)?;
        work.steps += 1 + rows.len() as u64;
        for &row in rows {
            work.chosen[meet.part] = row;
            let ids = part.rows.row(row);
            for &(variable, column) in &meet.fetch {
                work.bound[variable] = ids[column];
            }
            self.extend(ground, (from, at + 1), work, budget, told)?;
        }
        Ok(())
    }

    fn tell(
        &self,
        ground: &Ground,
        from: usize,
        work: &mut Scratch,
        told: &mut Tell<'_>,
    ) -> Result<()> {
        let others = self.parts.iter().zip(&work.chosen).enumerate();
        let counts = others
            .filter(|(at, _)| *at != from)
            .map(|(_, (part, &row))| u64::from(part.count[row as usize]));
        let copies = counts.fold(1, u64::saturating_mul);
        let carried = ground.plan.carried.iter();
        work.carried.clear();
        let chosen = &work.chosen;
        work.carried
            .extend(carried.map(|&(part, word)| self.parts[part].word(chosen[part], word)));
        ground.write(&work.bound, (&work.carried, &work.chosen), &mut work.out);
        told(&work.out, copies)
    }
}
