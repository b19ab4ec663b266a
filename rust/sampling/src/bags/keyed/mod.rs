//! A bag of relations that are merged along keys: rows with all their words, as often as they are there.
//!
//! Invariant: the bag emits a row for each set of rows, one of each input, that agree on their variables, as often as the product
//! of their multiplicities. Rows have numbers while they are there, and codes are these numbers. Cost: O(1) a row inserted and
//! a row of the bag that it brings; 4 bytes an id, 12 or so more a row for finding it, 6 or so a path.
//!
//! | file | holds |
//! |---|---|
//! | `steps` | the order in which a change joins the other relations |
//! | `input` | the rows of a relation, and paths to them |

mod input;
mod steps;

use ringview_core::{Budget, Error, Result};

use super::context::{BagPlan, Context, Emit};
use input::Input;
use steps::{Compiler, Lookup};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Keyed {
    state: State,
    scratch: Scratch,
    events: Vec<Event>,
    /// Rows joined so far.
    steps: u64,
}

/// The inputs and orders of a bag.
#[derive(Clone, Debug)]
struct State {
    inputs: Vec<Input>,
    /// By input: the look-ups of a change.
    orders: Vec<Vec<Lookup>>,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    row: Vec<u32>,
    /// By variable, the id that it is bound to.
    bound: Vec<u32>,
    /// By input, the row that joins.
    rows: Vec<u32>,
    key: Vec<u32>,
    carried: Vec<u64>,
    out: Vec<u64>,
    steps: u64,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    input: usize,
    row: u32,
    inserted: bool,
    /// Whether the first was inserted, or the last deleted.
    toggled: bool,
}

impl Keyed {
    pub(super) fn new(plan: &BagPlan) -> Keyed {
        let inputs = plan.inputs.iter();
        let variables = inputs
            .clone()
            .map(|input| input.variables.iter().map(|v| v.0).collect());
        let mut compiler = Compiler {
            variables: variables.collect(),
            inputs: inputs
                .map(|input| Input::new(input.variables.len(), input.words.len()))
                .collect(),
        };
        let orders = (0..plan.inputs.len()).map(|input| compiler.order(input));
        let orders = orders.collect();
        Keyed {
            scratch: Scratch {
                bound: vec![0; plan.variables],
                rows: vec![0; compiler.inputs.len()],
                ..Scratch::default()
            },
            state: State {
                inputs: compiler.inputs,
                orders,
            },
            events: Vec::new(),
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
        for nth in 0..count {
            let words = &rows[nth * columns..][..columns];
            let mut row = std::mem::take(&mut self.scratch.row);
            row.clear();
            context.acquire(input, words, &mut row);
            let columns = context.plan.inputs[input].words.iter();
            columns.for_each(|&column| row.extend(halves(words[column])));
            let number = self.state.inputs[input].number(&row);
            let count = self.state.inputs[input].count[number as usize];
            let full = count == u32::MAX || number >= u32::MAX - 1;
            if full {
                context.release(input, &row);
            }
            if full && count == 0 {
                self.state.inputs[input].rows.forget(number);
            }
            self.scratch.row = row;
            if full {
                return Err(Error::Overflow {
                    place: "how often a row of a sampled join is there".to_owned(),
                });
            }
            let toggled = self.state.inputs[input].increment(number);
            self.events.push(Event {
                input,
                row: number,
                inserted: true,
                toggled,
            });
            self.follow(context, (input, number), budget, emit)?;
        }
        Ok(())
    }

    /// Deletes a row of an input; emits the rows of the bag that it takes. False if it is not there.
    pub(super) fn delete(
        &mut self,
        context: &Context,
        (input, row): (usize, &[u64]),
        budget: &Budget<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        let of = &context.plan.inputs[input];
        let columns = of.variables.iter().map(|&(_, column)| column);
        let words: Vec<u64> = columns
            .chain(of.words.iter().copied())
            .map(|c| row[c])
            .collect();
        let Some(number) = self.find(context, input, &words) else {
            return Ok(false);
        };
        let toggled = self.state.inputs[input].decrement(number);
        self.events.push(Event {
            input,
            row: number,
            inserted: false,
            toggled,
        });
        self.follow(context, (input, number), budget, emit)?;
        Ok(true)
    }

    /// The number of an input's row by its words.
    pub(super) fn find(&self, context: &Context, input: usize, words: &[u64]) -> Option<u32> {
        let variables = &context.plan.inputs[input].variables;
        let (values, words) = words.split_at(variables.len());
        let ids = variables.iter().zip(values);
        let ids = ids.map(|(&(variable, _), &word)| context.values[variable].find(word));
        let mut row: Vec<u32> = ids.collect::<Option<_>>()?;
        words.iter().for_each(|&word| row.extend(halves(word)));
        self.state.inputs[input].rows.find(&row)
    }

    fn follow(
        &mut self,
        context: &Context,
        (input, number): (usize, u32),
        budget: &Budget<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        let mut work = std::mem::take(&mut self.scratch);
        let ids = self.state.inputs[input].rows.row(number);
        for (&(variable, _), &id) in context.plan.inputs[input].variables.iter().zip(ids) {
            work.bound[variable] = id;
        }
        work.rows[input] = number;
        let done = self
            .state
            .extend(context, (input, 0), &mut work, budget, emit);
        self.steps += std::mem::take(&mut work.steps);
        self.scratch = work;
        done
    }

    /// Ends a transaction.
    pub(super) fn commit(&mut self, context: &mut Context) {
        for event in self.events.drain(..) {
            if !event.inserted {
                self.state.forget(context, event);
            }
        }
    }

    /// Undoes a transaction; emits nothing.
    pub(super) fn rollback(&mut self, context: &mut Context) {
        for event in self.events.drain(..).rev() {
            let input = &mut self.state.inputs[event.input];
            match event.inserted {
                true => input.decrement(event.row),
                false => input.increment(event.row),
            };
            if event.inserted {
                self.state.forget(context, event);
            }
        }
    }

    /// A word of an input's row: its variables first.
    pub(super) fn word(&self, context: &Context, input: usize, row: u32, at: usize) -> u64 {
        let of = &self.state.inputs[input];
        match context.plan.inputs[input].variables.get(at) {
            Some(&(variable, _)) => context.values[variable].word(of.rows.row(row)[at]),
            None => of.word(row, at - of.ids),
        }
    }

    /// The rows of an input that are there.
    pub(super) fn rows(&self, input: usize) -> impl Iterator<Item = u32> {
        self.state.inputs[input].rows.linked()
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn memory_usage(&self) -> usize {
        let inputs = self.state.inputs.iter().map(Input::memory_usage);
        inputs.sum::<usize>() + self.events.capacity() * size_of::<Event>()
    }

    /// Checks the inputs. For tests.
    pub(super) fn check(&self) {
        self.state.inputs.iter().for_each(Input::check);
    }
}

/// The halves of a word, as in rows of ids.
fn halves(word: u64) -> [u32; 2] {
    [(word >> 32) as u32, word as u32]
}

impl State {
    /// Releases the ids of a row whose insert was undone, or whose delete was committed, and its number if it is no more.
    fn forget(&mut self, context: &mut Context, event: Event) {
        let input = &mut self.inputs[event.input];
        context.release(event.input, input.rows.row(event.row));
        if event.toggled {
            input.rows.forget(event.row);
        }
    }

    /// Extends the bound variables by the rest of an input's look-ups.
    fn extend(
        &self,
        context: &Context,
        (from, at): (usize, usize),
        work: &mut Scratch,
        budget: &Budget<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        let Some(lookup) = self.orders[from].get(at) else {
            return self.emit(context, from, work, emit);
        };
        work.key.clear();
        let bound = &work.bound;
        work.key
            .extend(lookup.by.iter().map(|&variable| bound[variable]));
        let input = &self.inputs[lookup.input];
        let rows = input.group(lookup.path, &work.key);
        budget.work(1 + rows.len() as u64)?;
        work.steps += 1 + rows.len() as u64;
        for &row in rows {
            work.rows[lookup.input] = row;
            let ids = input.rows.row(row);
            for &(variable, column) in &lookup.fetch {
                work.bound[variable] = ids[column];
            }
            self.extend(context, (from, at + 1), work, budget, emit)?;
        }
        Ok(())
    }

    fn emit(
        &self,
        context: &Context,
        from: usize,
        work: &mut Scratch,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        let others = self.inputs.iter().zip(&work.rows).enumerate();
        let counts = others
            .filter(|(at, _)| *at != from)
            .map(|(_, (input, &row))| u64::from(input.count[row as usize]));
        let copies = counts.fold(1, u64::saturating_mul);
        let carried = context.plan.carried.iter();
        work.carried.clear();
        let rows = &work.rows;
        work.carried
            .extend(carried.map(|&(input, word)| self.inputs[input].word(rows[input], word)));
        context.write(&work.bound, (&work.carried, &work.rows), &mut work.out);
        emit(&work.out, copies)
    }
}
