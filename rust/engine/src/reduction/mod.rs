//! Semi-joins of static relations, before their rows are joined: rows that meet none of another atom are left out.
//!
//! Smallest first, each atom keeps the rows whose join columns have values of the atoms before it, and then, the other way
//! round, of those behind it: the full reducer of a join tree (Bernstein and Chiu 1981; Yannakakis 1981) where that is the
//! order, else what a part of it would be. What is left of a row is its place and its join columns, until it is known which
//! rows go on.
//!
//! Invariant: the join of the rows that are left is that of all, and no row of a query within that is left out is compared
//! with any of them. Cost: O(rows) for each atom and join column, and a word for each that passes its filter.
//!
//! | file | holds |
//! |---|---|
//! | `joined` | which columns must be equal |
//! | `sieve` | which rows pass: a filter, and sets of values |

mod joined;
mod sieve;

use ringview_core::Batch;
use ringview_query::VarId;
use ringview_relation::ValueSet;

pub(crate) use joined::JoinColumns;
pub(crate) use sieve::Sieve;

/// The rows of an atom that are left.
#[derive(Debug, Default)]
pub(crate) struct AtomRows {
    /// The rows of a view; those of a table are where they are.
    pub(crate) batch: Option<Batch>,
    /// Which rows of the batch; slots of the table.
    pub(crate) rows: Vec<u32>,
    /// By join column, its value in each of these rows.
    pub(crate) keys: Vec<Vec<u64>>,
}

impl AtomRows {
    /// Bytes held on the heap.
    pub(crate) fn memory_usage(&self) -> usize {
        let keys = self.keys.iter().map(Vec::capacity).sum::<usize>();
        let batch = self.batch.as_ref().map_or(0, Batch::memory_usage);
        keys * 8 + self.rows.capacity() * 4 + batch
    }

    /// Takes the values of the join columns of further rows.
    pub(crate) fn take_keys(&mut self, columns: &[usize], batch: &Batch) {
        for (keys, &column) in self.keys.iter_mut().zip(columns) {
            keys.extend(&batch.column(column).words);
        }
    }

    /// Keeps the rows whose value of a join column is in a set.
    fn retain(&mut self, column: usize, set: &ValueSet) {
        let keys = &mut self.keys;
        let passes: Vec<bool> = keys[column]
            .iter()
            .map(|&word| set.contains(word))
            .collect();
        if passes.contains(&false) {
            let keep = |at: &mut usize| {
                *at += 1;
                passes[*at - 1]
            };
            let mut at = 0;
            self.rows.retain(|_| keep(&mut at));
            for key in keys {
                let mut at = 0;
                key.retain(|_| keep(&mut at));
            }
        }
    }
}

/// By class of join columns, the values that are left, where rows were left out with others.
#[derive(Debug)]
pub(crate) struct Values<'j> {
    joins: &'j JoinColumns,
    sets: Vec<Option<ValueSet>>,
    /// Whether some were left out before any row was read.
    pub(crate) is_within: bool,
}

impl<'j> Values<'j> {
    /// All values, but of some variables those of a set.
    pub(crate) fn new(joins: &'j JoinColumns, within: &[(VarId, &ValueSet)]) -> Self {
        let mut sets = vec![None; joins.classes];
        for (variable, set) in within {
            let mut known = joins.variables.iter();
            if let Some((_, class)) = known.find(|(known, _)| known == variable) {
                sets[*class] = Some((*set).clone());
            }
        }
        Self {
            joins,
            sets,
            is_within: !within.is_empty(),
        }
    }

    /// The join columns of an atom with the sets that their values are in.
    pub(crate) fn of(&self, atom: usize) -> Vec<(usize, &ValueSet)> {
        let columns = self.joins.atoms[atom].iter();
        let set = |of: &joined::JoinColumn| Some((of.column, self.sets[of.class].as_ref()?));
        columns.filter_map(set).collect()
    }

    /// Leaves only values of the rows of an atom that are left, of as many as it has: where none was left out, no value
    /// is, so that nobody looks for them.
    pub(crate) fn take(&mut self, atom: usize, rows: &AtomRows, of: u64) {
        let has_all = rows.rows.len() as u64 >= of;
        for (column, keys) in self.joins.atoms[atom].iter().zip(&rows.keys) {
            let set = &mut self.sets[column.class];
            if !has_all || set.is_some() {
                *set = Some(ValueSet::of(keys));
            }
        }
    }

    /// Leaves only rows of an atom whose values are there.
    pub(crate) fn reduce(&self, atom: usize, rows: &mut AtomRows) {
        for (at, column) in self.joins.atoms[atom].iter().enumerate() {
            if let Some(set) = &self.sets[column.class] {
                rows.retain(at, set);
            }
        }
    }

    /// Bytes held on the heap.
    pub(crate) fn memory_usage(&self) -> usize {
        self.sets.iter().flatten().map(ValueSet::memory_usage).sum()
    }
}
