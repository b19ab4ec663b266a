//! Which rows can take part at an atom: those that pass its filter, and whose join columns have values that are there.
//!
//! Invariant: rows that are left out contribute nothing; others may stay. Cost: the columns of the filter are read of all
//! rows, those of each set of values only of the rows that are left, and whatever else is asked for of the last of these.

use std::borrow::Cow;

use ringview_core::{Batch, Dictionary, Result};
use ringview_query::PlanAtom;
use ringview_relation::{RowStore, ValueSet};
use ringview_view::read::{AtomProgram, Selection};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Sieve<'s> {
    filter: Option<Filter>,
    /// The columns whose values must be in a set.
    sets: Vec<(usize, &'s ValueSet)>,
    columns: usize,
    may_open: bool,
    batch: Batch,
    passing: Vec<u32>,
}

#[derive(Debug)]
struct Filter {
    program: AtomProgram,
    /// By column of the atom, whether the filter reads it.
    columns: Vec<bool>,
    selection: Selection,
}

impl<'s> Sieve<'s> {
    /// That of the filter of an atom, and of sets of values.
    ///
    /// # Errors
    /// What the filter cannot be compiled for.
    pub(crate) fn new(atom: &PlanAtom, sets: Vec<(usize, &'s ValueSet)>) -> Result<Self> {
        let mut columns = vec![false; atom.schema.len()];
        let not_null = atom.join_columns_not_null.iter();
        not_null.for_each(|&column| columns[column] = true);
        if let Some(filter) = &atom.filter {
            filter.each_column(&mut |column| columns[column] = true);
        }
        let filters = atom.filter.is_some() || columns.contains(&true);
        let program = filters.then(|| AtomProgram::compile(atom, &[], &[]));
        let filter = program.transpose()?.map(|program| Filter {
            program,
            columns,
            selection: Selection::default(),
        });
        Ok(Self {
            filter,
            ..Self::of(atom.schema.len(), sets)
        })
    }

    /// That of sets of values, of rows of so many columns.
    pub(crate) fn of(columns: usize, sets: Vec<(usize, &'s ValueSet)>) -> Self {
        Self {
            sets,
            columns,
            ..Self::default()
        }
    }

    /// The sets of values that a source has to meet which computes rows: `source_of` has the column that one is there.
    pub(crate) fn below(
        &self,
        columns: usize,
        source_of: impl Fn(usize) -> Option<usize>,
    ) -> Sieve<'s> {
        let sets = self.sets.iter();
        let sets = sets.filter_map(|&(column, set)| Some((source_of(column)?, set)));
        Sieve::of(columns, sets.collect())
    }

    /// Whether all rows pass.
    pub(crate) fn is_open(&self) -> bool {
        self.filter.is_none() && self.sets.is_empty()
    }

    /// The same, where the rows that pass are filtered again: it is opened where it lets most of them through.
    pub(crate) fn or_open(self) -> Self {
        Self {
            may_open: true,
            ..self
        }
    }

    /// Marks the columns that it reads.
    pub(crate) fn mark(&self, needed: &mut [bool]) {
        let filter = self
            .filter
            .iter()
            .flat_map(|filter| filter.columns.iter().enumerate());
        let filter = filter
            .filter(|(_, reads)| **reads)
            .map(|(column, _)| column);
        let sets = self.sets.iter().map(|(column, _)| *column);
        filter.chain(sets).for_each(|column| needed[column] = true);
    }

    /// Keeps the slots of the rows of a table that pass.
    ///
    /// # Errors
    /// Those of a row that the filter cannot decide.
    pub(crate) fn slots(
        &mut self,
        rows: &RowStore,
        dictionary: &Dictionary,
        slots: &mut Vec<u32>,
    ) -> Result<()> {
        let all = slots.len();
        let batch = &mut self.batch;
        if let Some(filter) = &mut self.filter {
            batch.reset(&filter.columns);
            rows.read(slots, batch);
            filter
                .program
                .select(batch, dictionary, &mut filter.selection)?;
            if let Some(chosen) = filter.selection.rows() {
                for (at, &row) in chosen.iter().enumerate() {
                    slots[at] = slots[row as usize];
                }
                slots.truncate(chosen.len());
            }
        }
        if self.may_open && slots.len() > all / 2 {
            self.filter = None;
        }
        for &(column, set) in &self.sets {
            let only: Vec<bool> = (0..self.columns).map(|one| one == column).collect();
            batch.reset(&only);
            rows.read(slots, batch);
            set.retain(&batch.column(column).words, slots);
        }
        Ok(())
    }

    /// The rows of a batch that pass, which has the columns that are [marked](Self::mark).
    ///
    /// # Errors
    /// As `slots`.
    pub(crate) fn rows<'b>(
        &mut self,
        batch: &'b Batch,
        dictionary: &Dictionary,
    ) -> Result<Cow<'b, Batch>> {
        if self.is_open() {
            return Ok(Cow::Borrowed(batch));
        }
        let passing = &mut self.passing;
        passing.clear();
        passing.extend(0..batch.rows as u32);
        if let Some(filter) = &mut self.filter {
            filter
                .program
                .select(batch, dictionary, &mut filter.selection)?;
            if let Some(chosen) = filter.selection.rows() {
                passing.clear();
                passing.extend(chosen);
            }
        }
        for &(column, set) in &self.sets {
            let words = &batch.column(column).words;
            passing.retain(|&row| set.contains(words[row as usize]));
        }
        Ok(match passing.len() == batch.rows {
            true => Cow::Borrowed(batch),
            false => Cow::Owned(batch.gather(passing)),
        })
    }
}
