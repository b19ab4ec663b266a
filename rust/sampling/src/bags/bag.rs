//! A bag: the join of some relations on some variables, of which every change is told and nothing kept.
//!
//! Invariant: what was told adds up to the join of the rows that are there: a row for each set of ids that all
//! parts agree on, as often as the rows of those parts that count by copies. The row is the words of the outer
//! variables, words that are carried, then codes, two to a word: of the other variables, and of rows that have further words. A transaction
//! that is undone leaves all numbers as they were, so that codes mean the same. Cost: that of
//! the steps (see `steps`), 4 bytes an id, 12 or so a row for finding it, 6 or so a path.

use ringview_core::{Error, Meter, Result};

use super::numbers::Values;
use super::part::Part;
use super::steps::{Compiler, Meet, Projection, Step};

/// What a bag is to be.
#[derive(Clone, Debug)]
pub(super) struct BagPlan {
    pub(super) parts: Vec<PartPlan>,
    /// How many variables there are; the first ones are outer.
    pub(super) variables: usize,
    pub(super) outer: usize,
    /// Further words that are needed as they are: of which part, and which of its further words.
    pub(super) carried: Vec<(usize, usize)>,
    pub(super) codes: Vec<Code>,
    /// Whether each relation is met as a whole.
    pub(super) whole: bool,
}

/// A relation in a bag.
#[derive(Clone, Debug)]
pub(super) struct PartPlan {
    /// Where its rows come from.
    pub(super) source: Source,
    /// Of each of its variables: the bag's number of it, and the column of the rows that come.
    pub(super) variables: Vec<(usize, usize)>,
    /// Columns of further words that are kept.
    pub(super) words: Vec<usize>,
    /// Whether a row counts as often as it is there; else what counts is that it is.
    pub(super) copies: bool,
}

/// Where rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A relation of the query.
    Relation(usize),
    /// A bag before this one.
    Bag(usize),
}

/// What stands behind the outer variables of a bag's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// The id of a variable.
    Value(usize),
    /// The number of a part's row.
    Row(usize),
}

/// A row of a bag, and how many copies of it come, or leave.
pub(super) type Told<'a> = dyn FnMut(&[u64], u64) -> Result<()> + 'a;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Bag {
    state: State,
    scratch: Scratch,
    journal: Vec<Event>,
    /// Rows met on the way.
    steps: u64,
}

/// What is read while a change is followed.
#[derive(Clone, Debug)]
struct State {
    plan: BagPlan,
    /// Those of the plan, then projections.
    parts: Vec<Part>,
    projections: Vec<Projection>,
    values: Vec<Values>,
    /// By part: how a change of it goes on.
    ways: Vec<Vec<Step>>,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    row: Vec<u32>,
    /// By variable, the id that it is bound to.
    bound: Vec<u32>,
    /// By part, the row that was chosen.
    chosen: Vec<u32>,
    key: Vec<u32>,
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

impl BagPlan {
    /// Where the codes begin in a row.
    pub(super) fn codes_at(&self) -> usize {
        self.outer + self.carried.len()
    }

    /// The words of a part's rows.
    pub(super) fn width(&self, part: usize) -> usize {
        self.parts[part].variables.len() + self.parts[part].words.len()
    }
}

impl Bag {
    pub(super) fn new(plan: BagPlan) -> Bag {
        let variables = plan
            .parts
            .iter()
            .map(|part| part.variables.iter().map(|v| v.0).collect());
        let parts = plan
            .parts
            .iter()
            .map(|p| Part::new(p.variables.len(), p.words.len()));
        let mut compiler = Compiler {
            variables: variables.collect(),
            projections: Vec::new(),
            parts: parts.collect(),
            own: plan.parts.len(),
        };
        let ways = (0..plan.parts.len()).map(|part| match plan.whole {
            true => compiler.whole(part),
            false => compiler.generic(part, plan.variables),
        });
        let ways = ways.collect();
        let scratch = Scratch {
            bound: vec![0; plan.variables],
            chosen: vec![0; compiler.parts.len()],
            ..Scratch::default()
        };
        let state = State {
            parts: compiler.parts,
            projections: compiler.projections,
            values: (0..plan.variables).map(|_| Values::new()).collect(),
            ways,
            plan,
        };
        Bag {
            state,
            scratch,
            journal: Vec::new(),
            steps: 0,
        }
    }

    /// A row of a part comes, or leaves: tells the rows of the bag that do. False if it should leave and is not
    /// there.
    pub(super) fn change(
        &mut self,
        part: usize,
        row: &[u64],
        comes: bool,
        meter: &Meter<'_>,
        told: &mut Told<'_>,
    ) -> Result<bool> {
        let Some(number) = self.number(part, row, comes) else {
            return Ok(false);
        };
        let state = &mut self.state;
        if comes && !state.has_room(part, number) {
            return Err(Error::Overflow {
                place: "how often a row of a sampled join is there".to_owned(),
            });
        }
        let flipped = match comes {
            true => state.parts[part].more(number),
            false => state.parts[part].fewer(number),
        };
        self.journal.push(Event {
            part,
            row: number,
            came: comes,
            flipped,
        });
        if flipped {
            state.project(part, number, comes);
        }
        if flipped || state.plan.parts[part].copies {
            self.follow(part, number, meter, told)?;
        }
        Ok(true)
    }

    /// The number of a row: one that comes has its values entered.
    fn number(&mut self, part: usize, row: &[u64], comes: bool) -> Option<u32> {
        let State {
            plan,
            parts,
            values,
            ..
        } = &mut self.state;
        let of = &plan.parts[part];
        let scratch = &mut self.scratch.row;
        scratch.clear();
        for &(variable, column) in &of.variables {
            let word = row[column];
            scratch.push(match comes {
                true => values[variable].enter(word),
                false => values[variable].find(word)?,
            });
        }
        for &column in &of.words {
            scratch.extend([(row[column] >> 32) as u32, row[column] as u32]);
        }
        match comes {
            true => Some(parts[part].number(scratch)),
            false => parts[part].rows.find(scratch),
        }
    }

    fn follow(
        &mut self,
        part: usize,
        number: u32,
        meter: &Meter<'_>,
        told: &mut Told<'_>,
    ) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let state = &self.state;
        let ids = state.parts[part].rows.row(number);
        for (&(variable, _), &id) in state.plan.parts[part].variables.iter().zip(ids) {
            scratch.bound[variable] = id;
        }
        scratch.chosen[part] = number;
        let done = state.extend(part, 0, &mut scratch, meter, told);
        self.steps += std::mem::take(&mut scratch.steps);
        self.scratch = scratch;
        done
    }

    /// Ends a transaction.
    pub(super) fn commit(&mut self) {
        for event in std::mem::take(&mut self.journal) {
            if !event.came {
                self.state.leave(event);
            }
        }
    }

    /// Undoes a transaction; nothing is told.
    pub(super) fn rollback(&mut self) {
        for event in std::mem::take(&mut self.journal).into_iter().rev() {
            let Event {
                part,
                row,
                came,
                flipped,
            } = event;
            let state = &mut self.state;
            match came {
                true => state.parts[part].fewer(row),
                false => state.parts[part].more(row),
            };
            if flipped {
                state.project(part, row, !came);
            }
            if came {
                state.leave(event);
            }
        }
    }

    /// The value of a variable by its id.
    pub(super) fn value(&self, variable: usize, id: u32) -> u64 {
        self.state.values[variable].word(id)
    }

    /// A word of a part's row: its variables first.
    pub(super) fn word(&self, part: usize, row: u32, at: usize) -> u64 {
        let of = &self.state.parts[part];
        match self.state.plan.parts[part].variables.get(at) {
            Some(&(variable, _)) => self.value(variable, of.rows.row(row)[at]),
            None => of.word(row, at - of.ids),
        }
    }

    /// Appends the words behind a row: those that it has, then, code by code, the value or the part's row.
    pub(super) fn decode(&self, row: &[u64], out: &mut Vec<u64>) {
        let plan = &self.state.plan;
        out.extend(&row[..plan.codes_at()]);
        for (at, code) in plan.codes.iter().enumerate() {
            let id = (row[plan.codes_at() + at / 2] >> (32 * (at % 2))) as u32;
            match *code {
                Code::Value(variable) => out.push(self.value(variable, id)),
                Code::Row(part) => {
                    out.extend((0..plan.width(part)).map(|word| self.word(part, id, word)));
                }
            }
        }
    }

    /// Appends the row that has these words behind it; None if there is none.
    pub(super) fn encode(&self, words: &[u64], out: &mut Vec<u64>) -> Option<()> {
        let plan = &self.state.plan;
        let (row, mut rest) = words.split_at(plan.codes_at());
        out.extend(row);
        let first = out.len();
        for (at, code) in plan.codes.iter().enumerate() {
            let id = match *code {
                Code::Value(variable) => {
                    let (&word, others) = rest.split_first()?;
                    rest = others;
                    self.state.values[variable].find(word)?
                }
                Code::Row(part) => {
                    let (words, others) = rest.split_at(plan.width(part));
                    rest = others;
                    self.state.find(part, words)?
                }
            };
            if at % 2 == 0 {
                out.push(0);
            }
            out[first + at / 2] |= u64::from(id) << (32 * (at % 2));
        }
        Some(())
    }

    /// The rows of a part that are there.
    pub(super) fn rows(&self, part: usize) -> impl Iterator<Item = u32> {
        self.state.parts[part].rows.linked()
    }

    /// Rows met so far, and changes followed.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn memory_usage(&self) -> usize {
        let parts = self.state.parts.iter().map(Part::memory_usage);
        parts
            .chain(self.state.values.iter().map(Values::memory_usage))
            .sum::<usize>()
            + self.journal.capacity() * size_of::<Event>()
    }

    /// Checks the parts. For tests.
    pub(super) fn check(&self) {
        self.state.parts.iter().for_each(Part::check);
    }
}

impl State {
    /// The number of a part's row by its words.
    fn find(&self, part: usize, words: &[u64]) -> Option<u32> {
        let variables = &self.plan.parts[part].variables;
        let (values, further) = words.split_at(variables.len());
        let ids = variables.iter().zip(values);
        let ids = ids.map(|(&(variable, _), &word)| self.values[variable].find(word));
        let mut row: Vec<u32> = ids.collect::<Option<_>>()?;
        further
            .iter()
            .for_each(|&word| row.extend([(word >> 32) as u32, word as u32]));
        self.parts[part].rows.find(&row)
    }

    /// Whether one more of a row can be counted; else its values are as before.
    fn has_room(&mut self, part: usize, row: u32) -> bool {
        let count = self.parts[part].count[row as usize];
        let room = count < u32::MAX && row < u32::MAX - 1;
        if !room {
            self.leave(Event {
                part,
                row,
                came: true,
                flipped: count == 0,
            });
        }
        room
    }

    /// What a row that is there now, or no more, means for the projections of its part.
    fn project(&mut self, part: usize, row: u32, comes: bool) {
        let own = self.plan.parts.len();
        for (at, projection) in self.projections.iter().enumerate() {
            if projection.of != part {
                continue;
            }
            let (parts, behind) = self.parts.split_at_mut(own);
            let ids = parts[part].rows.row(row);
            let of = &self.plan.parts[part].variables;
            let column = |v: &usize| of.iter().position(|(other, _)| other == v);
            let ids: Vec<u32> = projection
                .variables
                .iter()
                .filter_map(column)
                .map(|c| ids[c])
                .collect();
            let projected = &mut behind[at];
            let number = projected.number(&ids);
            if comes {
                projected.more(number);
            } else if projected.fewer(number) {
                projected.rows.forget(number);
            }
        }
    }

    /// A row that came and was undone, or one that left and stays away: its values are one row's fewer,
    /// and its number is free if nobody else has it.
    fn leave(&mut self, event: Event) {
        let part = &mut self.parts[event.part];
        let ids = part.rows.row(event.row);
        for (&(variable, _), &id) in self.plan.parts[event.part].variables.iter().zip(ids) {
            self.values[variable].leave(id);
        }
        if event.flipped {
            part.rows.forget(event.row);
        }
    }

    /// Goes on from a step of a part's way with what is bound.
    fn extend(
        &self,
        from: usize,
        at: usize,
        work: &mut Scratch,
        meter: &Meter<'_>,
        told: &mut Told<'_>,
    ) -> Result<()> {
        let Some(step) = self.ways[from].get(at) else {
            return self.tell(from, work, told);
        };
        let Some((walked, rows)) = self.smallest(step, work) else {
            return Ok(());
        };
        let rows = rows.as_slice();
        meter.work(1 + rows.len() as u64)?;
        work.steps += 1 + rows.len() as u64;
        let meet = &step.meets[walked];
        for &row in rows {
            work.chosen[meet.part] = row;
            let ids = self.parts[meet.part].rows.row(row);
            for &(variable, column) in &meet.fetch {
                work.bound[variable] = ids[column];
            }
            if self.agree(step, walked, work) {
                self.extend(from, at + 1, work, meter, told)?;
            }
        }
        Ok(())
    }

    /// Which part has the fewest rows for what is bound, and these; none if one has none.
    fn smallest<'a>(&'a self, step: &Step, work: &mut Scratch) -> Option<(usize, Rows<'a>)> {
        let mut best: Option<(usize, Rows<'_>)> = None;
        for (at, meet) in step.meets.iter().enumerate() {
            let rows = self.group(meet, work)?;
            let fewer = |least: &Rows<'_>| rows.as_slice().len() < least.as_slice().len();
            if best.as_ref().is_none_or(|(_, least)| fewer(least)) {
                best = Some((at, rows));
            }
        }
        best
    }

    /// The rows of a part for what is bound, where there are any.
    #[inline]
    fn group<'a>(&'a self, meet: &Meet, work: &mut Scratch) -> Option<Rows<'a>> {
        let part = &self.parts[meet.part];
        work.key.clear();
        let variables = if meet.path.is_some() {
            &meet.by
        } else {
            &meet.key
        };
        work.key
            .extend(variables.iter().map(|&variable| work.bound[variable]));
        match meet.path {
            Some(path) => Some(part.group(path, &work.key))
                .filter(|rows| !rows.is_empty())
                .map(Rows::Many),
            None => part.rows.find(&work.key).map(|row| Rows::One([row])),
        }
    }

    /// Whether all other parts of a step have what is bound.
    #[inline]
    fn agree(&self, step: &Step, walked: usize, work: &mut Scratch) -> bool {
        step.meets.iter().enumerate().all(|(at, meet)| {
            if at == walked {
                return true;
            }
            work.key.clear();
            work.key
                .extend(meet.key.iter().map(|&variable| work.bound[variable]));
            let found = self.parts[meet.part].rows.find(&work.key);
            work.chosen[meet.part] = found.unwrap_or_default();
            found.is_some()
        })
    }

    fn tell(&self, from: usize, work: &mut Scratch, told: &mut Told<'_>) -> Result<()> {
        let mut copies = 1u64;
        for (at, part) in self.plan.parts.iter().enumerate() {
            if part.copies && at != from {
                let count = self.parts[at].count[work.chosen[at] as usize];
                copies = copies.saturating_mul(u64::from(count));
            }
        }
        let Scratch {
            bound, chosen, out, ..
        } = work;
        out.clear();
        let outer = self.values[..self.plan.outer].iter().zip(&*bound);
        out.extend(outer.map(|(values, &id)| values.word(id)));
        let carried = self.plan.carried.iter();
        out.extend(carried.map(|&(part, word)| self.parts[part].word(chosen[part], word)));
        let code = |code: &Code| match *code {
            Code::Value(variable) => u64::from(bound[variable]),
            Code::Row(part) => u64::from(chosen[part]),
        };
        for pair in self.plan.codes.chunks(2) {
            out.push(code(&pair[0]) | pair.get(1).map_or(0, code) << 32);
        }
        told(out, copies)
    }
}

/// Rows that a step goes through.
enum Rows<'a> {
    One([u32; 1]),
    Many(&'a [u32]),
}

impl Rows<'_> {
    fn as_slice(&self) -> &[u32] {
        match self {
            Rows::One(row) => row,
            Rows::Many(rows) => rows,
        }
    }
}
