//! The rows of an atom that can join: they pass its filter, and their join columns have values that remain.
//!
//! Invariant: rows that are left out contribute nothing; others may stay. Cost: each part of the filter, then each set of
//! values, reads its columns of the rows that passed the parts before it.

use std::borrow::Cow;

use ringview_core::{Batch, Dictionary, Result};
use ringview_query::{PlanAtom, Predicate, all};
use ringview_relation::{RowStore, ValueSet};
use ringview_view::read::{AtomProgram, Selection};

/// A filter, and sets of values.
#[derive(Debug, Default)]
pub(crate) struct RowFilter<'s> {
    /// The conjuncts of the filter, grouped by the columns that they read.
    filters: Vec<Filter>,
    /// The columns whose values must be in a set.
    sets: Vec<(usize, &'s ValueSet)>,
    columns: usize,
    /// Whether the filter is dropped if most rows pass.
    may_open: bool,
    batch: Batch,
    passing: Vec<u32>,
}

#[derive(Debug)]
struct Filter {
    program: AtomProgram,
    /// By column of the atom, whether it is read.
    columns: Vec<bool>,
    batch: Batch,
    selection: Selection,
}

impl Filter {
    /// The parts of the filter of an atom, in their order; columns that may not be NULL first.
    fn of(atom: &PlanAtom) -> Result<Vec<Self>> {
        let mut parts: Vec<(Vec<bool>, Vec<Predicate>)> = Vec::new();
        for part in atom.filter.iter().flat_map(Predicate::conjuncts) {
            let mut columns = vec![false; atom.schema.len()];
            part.each_column(&mut |column| columns[column] = true);
            match parts.iter_mut().find(|(known, _)| *known == columns) {
                Some((_, parts)) => parts.push(part.clone()),
                None => parts.push((columns, vec![part.clone()])),
            }
        }
        let mut present = vec![false; atom.schema.len()];
        let not_null = &atom.join_columns_not_null;
        not_null.iter().for_each(|&column| present[column] = true);
        let present = (!not_null.is_empty()).then(|| (present, Vec::new()));
        let each = present.into_iter().chain(parts);
        each.map(|(columns, parts)| {
            let only = PlanAtom {
                join_columns_not_null: match parts.is_empty() {
                    true => not_null.clone(),
                    false => Vec::new(),
                },
                filter: (!parts.is_empty()).then(|| all(parts)),
                ..atom.clone()
            };
            let mut batch = Batch::new();
            batch.reset(&columns);
            Ok(Self {
                program: AtomProgram::compile(&only, &[], &[])?,
                columns,
                batch,
                selection: Selection::default(),
            })
        })
        .collect()
    }

    /// Keeps the slots of the rows of a table that pass.
    fn slots(
        &mut self,
        rows: &RowStore,
        dictionary: &Dictionary,
        slots: &mut Vec<u32>,
    ) -> Result<()> {
        rows.read(slots, &mut self.batch);
        let selection = &mut self.selection;
        self.program.select(&self.batch, dictionary, selection)?;
        if let Some(chosen) = selection.rows() {
            for (at, &row) in chosen.iter().enumerate() {
                slots[at] = slots[row as usize];
            }
            slots.truncate(chosen.len());
        }
        Ok(())
    }
}

impl<'s> RowFilter<'s> {
    /// The filter of an atom, and sets of values.
    ///
    /// # Errors
    /// Those of compiling the filter.
    pub(crate) fn new(atom: &PlanAtom, sets: Vec<(usize, &'s ValueSet)>) -> Result<Self> {
        Ok(Self {
            filters: Filter::of(atom)?,
            sets,
            columns: atom.schema.len(),
            ..Self::default()
        })
    }

    /// The filter of an atom of a block that computes the rows at hand. A set of values is kept if its column is a column
    /// of the atom, which `source_of` returns.
    ///
    /// # Errors
    /// As `new`.
    pub(crate) fn below(
        &self,
        atom: &PlanAtom,
        source_of: impl Fn(usize) -> Option<usize>,
    ) -> Result<RowFilter<'s>> {
        let sets = self.sets.iter();
        let sets = sets.filter_map(|&(column, set)| Some((source_of(column)?, set)));
        RowFilter::new(atom, sets.collect())
    }

    /// The same for rows that are filtered again later: it drops the filter if most rows pass.
    pub(crate) fn or_open(self) -> Self {
        Self {
            may_open: true,
            ..self
        }
    }

    /// Marks the columns that it reads.
    pub(crate) fn mark(&self, needed: &mut [bool]) {
        let filter = self
            .filters
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
        let before = slots.len();
        for filter in &mut self.filters {
            filter.slots(rows, dictionary, slots)?;
        }
        if self.may_open && slots.len() > before / 2 {
            self.filters.clear();
        }
        let batch = &mut self.batch;
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
        let mut left = Cow::Borrowed(batch);
        for Filter {
            program, selection, ..
        } in &mut self.filters
        {
            program.select(&left, dictionary, selection)?;
            if let Some(chosen) = selection.rows() {
                left = Cow::Owned(left.gather(chosen));
            }
        }
        let passing = &mut self.passing;
        for &(column, set) in &self.sets {
            passing.clear();
            passing.extend(0..left.rows as u32);
            set.retain(&left.column(column).words, passing);
            if passing.len() < left.rows {
                left = Cow::Owned(left.gather(passing));
            }
        }
        Ok(left)
    }
}
