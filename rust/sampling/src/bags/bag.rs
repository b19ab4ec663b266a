//! A bag: the join of some relations on some variables, of which every change is told and nothing kept.
//!
//! Invariant: what was told adds up to the join of the rows that are there: a row for each set of ids that all
//! parts agree on, as often as the rows of those parts that count by copies. The row is the words of the outer
//! variables, words that are carried, then codes, two to a word: of the other variables, and of rows that have further words. A transaction
//! that is undone leaves all numbers as they were, so that codes mean the same. Cost: that of `cycle` or `keyed`, and
//! 8 bytes or so a value of a variable.

use ringview_core::{Budget, Result};

use super::cycle::Cycle;
use super::ground::{BagPlan, Code, Ground, Kind, Tell};
use super::keyed::Keyed;
use crate::index::keys::Keys;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Bag {
    ground: Ground,
    inner: Inner,
}

#[derive(Clone, Debug)]
enum Inner {
    Cycle(Cycle),
    Keyed(Keyed),
}

impl Bag {
    pub(super) fn new(plan: BagPlan) -> Bag {
        let inner = match plan.kind {
            Kind::Cycle => Inner::Cycle(Cycle::new(&plan)),
            Kind::Keys => Inner::Keyed(Keyed::new(&plan)),
        };
        let values = (0..plan.variables).map(|_| Keys::new(1)).collect();
        let ground = Ground { plan, values };
        Bag { ground, inner }
    }

    /// So many rows of a part come: tells the rows of the bag that do.
    pub(super) fn come(
        &mut self,
        rows: (usize, &[u64], usize),
        budget: &Budget<'_>,
        told: &mut Tell<'_>,
    ) -> Result<()> {
        match &mut self.inner {
            Inner::Cycle(cycle) => cycle.come(&mut self.ground, rows, budget, told),
            Inner::Keyed(keyed) => keyed.come(&mut self.ground, rows, budget, told),
        }
    }

    /// A row of a part leaves: tells the rows of the bag that do. False if it is not there.
    pub(super) fn leave(
        &mut self,
        row: (usize, &[u64]),
        budget: &Budget<'_>,
        told: &mut Tell<'_>,
    ) -> Result<bool> {
        match &mut self.inner {
            Inner::Cycle(cycle) => cycle.leave(&self.ground, row, budget, told),
            Inner::Keyed(keyed) => keyed.leave(&self.ground, row, budget, told),
        }
    }

    /// Ends a transaction.
    pub(super) fn commit(&mut self) {
        match &mut self.inner {
            Inner::Cycle(cycle) => cycle.commit(&mut self.ground),
            Inner::Keyed(keyed) => keyed.commit(&mut self.ground),
        }
    }

    /// Undoes a transaction; nothing is told.
    pub(super) fn rollback(&mut self) {
        match &mut self.inner {
            Inner::Cycle(cycle) => cycle.rollback(&mut self.ground),
            Inner::Keyed(keyed) => keyed.rollback(&mut self.ground),
        }
    }

    /// The word behind a code: of its value, or of its row.
    pub(super) fn word(&self, row: &[u64], code: usize, word: usize) -> u64 {
        let plan = &self.ground.plan;
        let id = (row[plan.codes_at() + code / 2] >> (32 * (code % 2))) as u32;
        match (plan.codes[code], &self.inner) {
            (Code::Row(part), Inner::Keyed(keyed)) => keyed.word(&self.ground, part, id, word),
            (Code::Row(_), Inner::Cycle(_)) => unreachable!("a cycle has no rows behind codes"),
            (Code::Value(variable), _) => self.ground.values[variable].word(id),
        }
    }

    /// Appends the words behind a row: those that it has, then, code by code, the value or the part's row.
    pub(super) fn decode(&self, row: &[u64], out: &mut Vec<u64>) {
        let plan = &self.ground.plan;
        out.extend(&row[..plan.codes_at()]);
        for (at, code) in plan.codes.iter().enumerate() {
            let words = match *code {
                Code::Value(_) => 1,
                Code::Row(part) => plan.width(part),
            };
            out.extend((0..words).map(|word| self.word(row, at, word)));
        }
    }

    /// Appends the row that has these words behind it; None if there is none.
    pub(super) fn encode(&self, words: &[u64], out: &mut Vec<u64>) -> Option<()> {
        let plan = &self.ground.plan;
        let (row, mut rest) = words.split_at(plan.codes_at());
        out.extend(row);
        let first = out.len();
        for (at, code) in plan.codes.iter().enumerate() {
            let (words, id) = match (*code, &self.inner) {
                (Code::Value(variable), _) => (1, self.ground.values[variable].find(rest[0])),
                (Code::Row(part), Inner::Keyed(keyed)) => {
                    let width = plan.width(part);
                    (width, keyed.find(&self.ground, part, &rest[..width]))
                }
                (Code::Row(_), Inner::Cycle(_)) => unreachable!("a cycle has no rows behind codes"),
            };
            rest = &rest[words..];
            if at % 2 == 0 {
                out.push(0);
            }
            out[first + at / 2] |= u64::from(id?) << (32 * (at % 2));
        }
        Some(())
    }

    /// Calls `see` with some words of each row of a part that is there.
    pub(super) fn each_word(&self, part: usize, words: &[usize], see: &mut dyn FnMut(u64)) {
        let variables = &self.ground.plan.parts[part].variables;
        match &self.inner {
            Inner::Keyed(keyed) => keyed.rows(part).for_each(|row| {
                let words = words.iter();
                words.for_each(|&word| see(keyed.word(&self.ground, part, row, word)));
            }),
            Inner::Cycle(cycle) => cycle.each(part, &mut |ids| {
                for &word in words {
                    see(self.ground.values[variables[word].0].word(ids[word]));
                }
            }),
        }
    }

    /// How many rows of a part are there, each counted once.
    pub(super) fn rows(&self, part: usize) -> usize {
        match &self.inner {
            Inner::Cycle(cycle) => cycle.rows(part),
            Inner::Keyed(keyed) => keyed.rows(part).count(),
        }
    }

    /// Rows met so far, and changes followed.
    pub(super) fn steps(&self) -> u64 {
        match &self.inner {
            Inner::Cycle(cycle) => cycle.steps(),
            Inner::Keyed(keyed) => keyed.steps(),
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        let values = self.ground.values.iter().map(Keys::memory_usage);
        values.sum::<usize>()
            + match &self.inner {
                Inner::Cycle(cycle) => cycle.memory_usage(),
                Inner::Keyed(keyed) => keyed.memory_usage(),
            }
    }

    /// Checks the parts. For tests.
    pub(super) fn check(&self) {
        match &self.inner {
            Inner::Cycle(cycle) => cycle.check(),
            Inner::Keyed(keyed) => keyed.check(),
        }
    }
}
