//! The plan of a bag, and the ids of the values of its variables.
//!
//! Invariant: a value has an id as long as a row has it. Cost: O(1) expected a value, 8 bytes or so each.

use ringview_core::Result;

use crate::index::keys::Keys;

/// The plan of a bag.
#[derive(Clone, Debug)]
pub(super) struct BagPlan {
    pub(super) inputs: Vec<InputPlan>,
    /// Number of variables; the first ones are outer.
    pub(super) variables: usize,
    pub(super) outer: usize,
    /// Further words that are carried as they are: of which input, and which of its further words.
    pub(super) carried: Vec<(usize, usize)>,
    pub(super) codes: Vec<Code>,
    /// The kind of join.
    pub(super) kind: Kind,
}

/// The kind of join of a bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A cycle: rows are sets of ids, each once.
    Cycle,
    /// One relation joins all others by their keys: rows have all words, as often as they are there.
    Keys,
}

/// A relation in a bag.
#[derive(Clone, Debug)]
pub(super) struct InputPlan {
    /// The source of its rows.
    pub(super) source: Source,
    /// Of each of its variables: the bag's number of it, and the column of a row.
    pub(super) variables: Vec<(usize, usize)>,
    /// Columns of further words.
    pub(super) words: Vec<usize>,
}

/// A source of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A relation of the query.
    Relation(usize),
    /// A bag before this one.
    Bag(usize),
}

/// A code, behind the outer variables of a bag's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// The id of a variable.
    Value(usize),
    /// The number of an input's row.
    Row(usize),
}

/// Receives a row of a bag, and how many copies of it are inserted, or deleted.
pub(super) type Emit<'a> = dyn FnMut(&[u64], u64) -> Result<()> + 'a;

impl BagPlan {
    /// The first word of the codes in a row.
    pub(super) fn codes_at(&self) -> usize {
        self.outer + self.carried.len()
    }

    /// The words of an input's rows.
    pub(super) fn width(&self, input: usize) -> usize {
        self.inputs[input].variables.len() + self.inputs[input].words.len()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) plan: BagPlan,
    pub(super) values: Vec<Keys>,
}

impl Context {
    /// Prefetches the ids of a row that will be inserted.
    #[inline]
    pub(super) fn prefetch(&self, input: usize, row: &[u64]) {
        for &(variable, column) in &self.plan.inputs[input].variables {
            if column < row.len() {
                self.values[variable].prefetch(row, &[column]);
            }
        }
    }

    /// Appends the ids of a row that is inserted.
    #[inline]
    pub(super) fn acquire(&mut self, input: usize, row: &[u64], ids: &mut Vec<u32>) {
        for &(variable, column) in &self.plan.inputs[input].variables {
            ids.push(self.values[variable].acquire(row, &[column]));
        }
    }

    /// Appends the ids of a row; false if it has a value that no row has.
    pub(super) fn find(&self, input: usize, row: &[u64], ids: &mut Vec<u32>) -> bool {
        self.plan.inputs[input]
            .variables
            .iter()
            .all(|&(variable, column)| {
                let id = self.values[variable].find(row[column]);
                ids.extend(id);
                id.is_some()
            })
    }

    /// Releases the ids of a row whose insert was undone, or whose delete was committed.
    pub(super) fn release(&mut self, input: usize, ids: &[u32]) {
        for (&(variable, _), &id) in self.plan.inputs[input].variables.iter().zip(ids) {
            self.values[variable].release(id);
        }
    }

    /// Writes the row of the bag of these ids, with carried words, and the rows behind codes.
    #[inline]
    pub(super) fn write(
        &self,
        bound: &[u32],
        (carried, rows): (&[u64], &[u32]),
        out: &mut Vec<u64>,
    ) {
        out.clear();
        let outer = self.values[..self.plan.outer].iter().zip(bound);
        out.extend(outer.map(|(values, &id)| values.word(id)));
        out.extend(carried);
        let code = |code: &Code| match *code {
            Code::Value(variable) => u64::from(bound[variable]),
            Code::Row(input) => u64::from(rows[input]),
        };
        for pair in self.plan.codes.chunks(2) {
            out.push(code(&pair[0]) | pair.get(1).map_or(0, code) << 32);
        }
    }
}
