//! Semi-joins of static relations before they are joined: rows that join no row of another atom are left out.
//!
//! Smallest first, each atom is reduced by the atoms before it, then in reverse by the atoms behind it. If this order is
//! that of a join tree it is the full reducer (Bernstein and Chiu 1981; Yannakakis 1981), else it may leave more rows. Until
//! all atoms are reduced, only slots and join columns of rows are kept.
//!
//! Invariant: the remaining rows have the join of all rows, and a subquery's row that is left out is compared with none of
//! them. Cost: O(rows) for each atom and join column; a word a join column for rows that pass the filter.
//!
//! | file | holds |
//! |---|---|
//! | `joined` | which columns must be equal |
//! | `row_filter` | which rows pass: a filter, and sets of values |

mod joined;
mod row_filter;

use ringview_core::Batch;
use ringview_query::VarId;
use ringview_relation::ValueSet;

pub(crate) use joined::JoinColumns;
pub(crate) use row_filter::RowFilter;

/// The rows of an atom that are left.
#[derive(Debug, Default)]
pub(crate) struct AtomRows {
    /// The rows of a view; those of a table are where they are.
    pub(crate) batch: Option<Batch>,
    /// The remaining rows: of the batch, or slots of the table.
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

    /// Keeps the rows whose value of a join column is in a set. Returns whether rows were left out.
    fn retain(&mut self, column: usize, set: &ValueSet) -> bool {
        let keys = &mut self.keys;
        let passes: Vec<bool> = keys[column]
            .iter()
            .map(|&word| set.contains(word))
            .collect();
        let has_lost = passes.contains(&false);
        if has_lost {
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
        has_lost
    }
}

/// By class of join columns, the remaining values; absent while no row was left out.
#[derive(Debug)]
pub(crate) struct Values<'j> {
    joins: &'j JoinColumns,
    sets: Vec<Option<ValueSet>>,
    /// Whether values were restricted before any row was read.
    pub(crate) is_restricted: bool,
}

impl<'j> Values<'j> {
    /// All values, but of some variables those of a set.
    pub(crate) fn new(joins: &'j JoinColumns, restrictions: &[(VarId, &ValueSet)]) -> Self {
        let mut sets = vec![None; joins.classes];
        for (variable, set) in restrictions {
            let mut known = joins.variables.iter();
            if let Some((_, class)) = known.find(|(known, _)| known == variable) {
                sets[*class] = Some((*set).clone());
            }
        }
        Self {
            joins,
            sets,
            is_restricted: !restrictions.is_empty(),
        }
    }

    /// The join columns of an atom with the sets that their values are in.
    pub(crate) fn of(&self, atom: usize) -> Vec<(usize, &ValueSet)> {
        let columns = self.joins.atoms[atom].iter();
        let set = |of: &joined::JoinColumn| Some((of.column, self.sets[of.class].as_ref()?));
        columns.filter_map(set).collect()
    }

    /// Restricts values to those of the remaining rows of an atom, which has `of` rows. If no row was left out, unrestricted
    /// values stay so: they would be tested for nothing.
    pub(crate) fn take(&mut self, atom: usize, rows: &AtomRows, of: u64) {
        let has_all = rows.rows.len() as u64 >= of;
        for (column, keys) in self.joins.atoms[atom].iter().zip(&rows.keys) {
            let set = &mut self.sets[column.class];
            if !has_all || set.is_some() {
                *set = Some(ValueSet::of(keys));
            }
        }
    }

    /// Leaves only rows of an atom whose values are there. Returns whether rows were left out.
    pub(crate) fn reduce(&self, atom: usize, rows: &mut AtomRows) -> bool {
        let mut has_lost = false;
        for (at, column) in self.joins.atoms[atom].iter().enumerate() {
            if let Some(set) = &self.sets[column.class] {
                has_lost |= rows.retain(at, set);
            }
        }
        has_lost
    }

    /// Bytes held on the heap.
    pub(crate) fn memory_usage(&self) -> usize {
        self.sets.iter().flatten().map(ValueSet::memory_usage).sum()
    }
}
