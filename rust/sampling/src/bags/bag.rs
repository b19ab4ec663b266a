//! A bag: the join of some relations on some variables, which emits every change and stores no result.
//!
//! Invariant: the changes emitted add up to the join of the rows that are there: a row for each set of ids on which all inputs
//! agree, as often as the rows of those inputs that count by copies. The row is the words of the outer variables, carried
//! words, then codes, two to a word: of the other variables, and of rows that have further words. A rollback restores all
//! numbers, so that codes mean the same. Cost: that of `cycle` or `keyed`, and 8 bytes or so a value of a variable.

use ringview_core::{Budget, Result};

use super::context::{BagPlan, Code, Context, Emit, Kind};
use super::cycle::Cycle;
use super::keyed::Keyed;
use crate::index::keys::Keys;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Bag {
    context: Context,
    inner: Inner,
}

/// The two kinds of join.
#[derive(Clone, Debug)]
enum Inner {
    Cycle(Cycle),
    Keyed(Keyed),
}

/// Calls a method that both kinds have.
macro_rules! inner {
    ($inner:expr, $of:ident => $result:expr) => {
        match $inner {
            Inner::Cycle($of) => $result,
            Inner::Keyed($of) => $result,
        }
    };
}

impl Bag {
    pub(super) fn new(plan: BagPlan) -> Bag {
        let inner = match plan.kind {
            Kind::Cycle => Inner::Cycle(Cycle::new(&plan)),
            Kind::Keys => Inner::Keyed(Keyed::new(&plan)),
        };
        let values = (0..plan.variables).map(|_| Keys::new(1)).collect();
        let context = Context { plan, values };
        Bag { context, inner }
    }

    /// Inserts so many rows of an input; emits the rows of the bag that they bring.
    pub(super) fn insert(
        &mut self,
        rows: (usize, &[u64], usize),
        budget: &Budget<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        inner!(&mut self.inner, of => of.insert(&mut self.context, rows, budget, emit))
    }

    /// Deletes a row of an input; emits the rows of the bag that it takes. False if it is not there.
    pub(super) fn delete(
        &mut self,
        row: (usize, &[u64]),
        budget: &Budget<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<bool> {
        inner!(&mut self.inner, of => of.delete(&self.context, row, budget, emit))
    }

    /// Ends a transaction.
    pub(super) fn commit(&mut self) {
        inner!(&mut self.inner, of => of.commit(&mut self.context))
    }

    /// Undoes a transaction; emits nothing.
    pub(super) fn rollback(&mut self) {
        inner!(&mut self.inner, of => of.rollback(&mut self.context))
    }

    /// The word of a code: its value, or a word of its row.
    pub(super) fn word(&self, row: &[u64], code: usize, word: usize) -> u64 {
        let plan = &self.context.plan;
        let id = (row[plan.codes_at() + code / 2] >> (32 * (code % 2))) as u32;
        match (plan.codes[code], &self.inner) {
            (Code::Row(input), Inner::Keyed(keyed)) => keyed.word(&self.context, input, id, word),
            (Code::Row(_), Inner::Cycle(_)) => unreachable!("a cycle has no rows behind codes"),
            (Code::Value(variable), _) => self.context.values[variable].word(id),
        }
    }

    /// Appends the words behind a row: its own, then, code by code, the value or the input's row.
    pub(super) fn decode(&self, row: &[u64], out: &mut Vec<u64>) {
        let plan = &self.context.plan;
        out.extend(&row[..plan.codes_at()]);
        for (at, code) in plan.codes.iter().enumerate() {
            let words = match *code {
                Code::Value(_) => 1,
                Code::Row(input) => plan.width(input),
            };
            out.extend((0..words).map(|word| self.word(row, at, word)));
        }
    }

    /// Appends the row that has these words behind it; None if there is none.
    pub(super) fn encode(&self, words: &[u64], out: &mut Vec<u64>) -> Option<()> {
        let plan = &self.context.plan;
        let (row, mut rest) = words.split_at(plan.codes_at());
        out.extend(row);
        let first = out.len();
        for (at, code) in plan.codes.iter().enumerate() {
            let (words, id) = match (*code, &self.inner) {
                (Code::Value(variable), _) => (1, self.context.values[variable].find(rest[0])),
                (Code::Row(input), Inner::Keyed(keyed)) => {
                    let width = plan.width(input);
                    (width, keyed.find(&self.context, input, &rest[..width]))
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

    /// Calls `see` with some words of each row of an input that is there.
    pub(super) fn each_word(&self, input: usize, words: &[usize], see: &mut dyn FnMut(u64)) {
        let variables = &self.context.plan.inputs[input].variables;
        match &self.inner {
            Inner::Keyed(keyed) => keyed.rows(input).for_each(|row| {
                let words = words.iter();
                words.for_each(|&word| see(keyed.word(&self.context, input, row, word)));
            }),
            Inner::Cycle(cycle) => cycle.each(input, &mut |ids| {
                for &word in words {
                    see(self.context.values[variables[word].0].word(ids[word]));
                }
            }),
        }
    }

    /// Number of rows of an input, each counted once.
    pub(super) fn rows(&self, input: usize) -> usize {
        match &self.inner {
            Inner::Cycle(cycle) => cycle.rows(input),
            Inner::Keyed(keyed) => keyed.rows(input).count(),
        }
    }

    /// Rows met so far, and changes followed.
    pub(super) fn steps(&self) -> u64 {
        inner!(&self.inner, of => of.steps())
    }

    pub(super) fn memory_usage(&self) -> usize {
        let values = self.context.values.iter().map(Keys::memory_usage);
        values.sum::<usize>() + inner!(&self.inner, of => of.memory_usage())
    }

    /// Checks the inputs. For tests.
    pub(super) fn check(&self) {
        inner!(&self.inner, of => of.check())
    }
}
