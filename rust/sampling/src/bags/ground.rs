//! What every bag stands on: what it is to be, and the ids of the values of its variables.
//!
//! Invariant: a value has an id as long as a row has it. Cost: O(1) expected a value, 8 bytes or so each.

use ringview_core::Result;

use crate::index::keys::Keys;

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
    /// What its relations are to each other.
    pub(super) kind: Kind,
}

/// What the relations of a bag are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A cycle: all that counts is which ids are in a row, and that it is there.
    Cycle,
    /// One meets all others by their keys: a row has whole rows of them, as often as they are there.
    Keys,
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

/// Who is told a row of a bag, and how many copies of it come, or leave.
pub(super) type Tell<'a> = dyn FnMut(&[u64], u64) -> Result<()> + 'a;

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

/// What every bag stands on: its plan, and the ids of the values of its variables, each as long as a row has it.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    pub(super) plan: BagPlan,
    pub(super) values: Vec<Keys>,
}

impl Ground {
    /// Asks for the ids of a row that will come.
    #[inline]
    pub(super) fn prefetch(&self, part: usize, row: &[u64]) {
        for &(variable, column) in &self.plan.parts[part].variables {
            if column < row.len() {
                self.values[variable].prefetch(row, &[column]);
            }
        }
    }

    /// Appends the ids of a row of a part that comes.
    #[inline]
    pub(super) fn enter(&mut self, part: usize, row: &[u64], ids: &mut Vec<u32>) {
        for &(variable, column) in &self.plan.parts[part].variables {
            ids.push(self.values[variable].acquire(row, &[column]));
        }
    }

    /// Appends the ids of a row; false if it has a value that no row has.
    pub(super) fn find(&self, part: usize, row: &[u64], ids: &mut Vec<u32>) -> bool {
        self.plan.parts[part]
            .variables
            .iter()
            .all(|&(variable, column)| {
                let id = self.values[variable].find(row[column]);
                ids.extend(id);
                id.is_some()
            })
    }

    /// A row that came and was undone, or one that left and stays away: its values are one row's fewer.
    pub(super) fn leave(&mut self, part: usize, ids: &[u32]) {
        for (&(variable, _), &id) in self.plan.parts[part].variables.iter().zip(ids) {
            self.values[variable].release(id);
        }
    }

    /// The row of the bag of these ids, with what is carried, and where parts have codes the rows that were chosen.
    #[inline]
    pub(super) fn write(
        &self,
        bound: &[u32],
        (carried, chosen): (&[u64], &[u32]),
        out: &mut Vec<u64>,
    ) {
        out.clear();
        let outer = self.values[..self.plan.outer].iter().zip(bound);
        out.extend(outer.map(|(values, &id)| values.word(id)));
        out.extend(carried);
        let code = |code: &Code| match *code {
            Code::Value(variable) => u64::from(bound[variable]),
            Code::Row(part) => u64::from(chosen[part]),
        };
        for pair in self.plan.codes.chunks(2) {
            out.push(code(&pair[0]) | pair.get(1).map_or(0, code) << 32);
        }
    }
}
