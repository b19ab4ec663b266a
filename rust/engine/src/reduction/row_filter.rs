//! The rows of an atom that can join: they pass its filter, and their join columns have values that remain.
//!
//! Invariant: rows that are left out contribute nothing; others may stay. Cost: each conjunct reads its columns of the
//! rows that passed the ones before it. The conjunct that the fewest of the first rows pass is evaluated first from
//! then on.

use std::borrow::Cow;

use ringview_core::{Batch, Dictionary, Result};
use ringview_query::{PlanAtom, Predicate, all};
use ringview_relation::{RowStore, ValueSet};
use ringview_view::read::{AtomProgram, Selection};

/// A filter, and sets of values.
#[derive(Debug, Default)]
pub(crate) struct RowFilter<'s> {
    conjuncts: Vec<Conjunct<'s>>,
    /// Whether the filter is dropped if most rows pass.
    may_open: bool,
    /// Whether the conjuncts are in the order of the rows that they let through.
    is_ordered: bool,
    passing: Vec<u32>,
}

/// One of the conditions, all of which must hold.
#[derive(Debug)]
struct Conjunct<'s> {
    test: Test<'s>,
    /// By column of the atom, whether it is read.
    columns: Vec<bool>,
    batch: Batch,
}

#[derive(Debug)]
enum Test<'s> {
    /// Conjuncts of the filter over the same columns.
    Filter(Box<AtomProgram>, Selection),
    /// The values of a column are in a set.
    Set(usize, &'s ValueSet),
}

impl<'s> Conjunct<'s> {
    fn new(test: Test<'s>, columns: Vec<bool>) -> Self {
        let mut batch = Batch::new();
        batch.reset(&columns);
        Self {
            test,
            columns,
            batch,
        }
    }

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
            let program = Box::new(AtomProgram::compile(&only, &[], &[])?);
            let test = Test::Filter(program, Selection::default());
            Ok(Self::new(test, columns))
        })
        .collect()
    }

    const fn is_filter(&self) -> bool {
        matches!(self.test, Test::Filter(..))
    }

    /// Keeps the slots of the rows of a table that pass.
    fn slots(
        &mut self,
        rows: &RowStore,
        dictionary: &Dictionary,
        slots: &mut Vec<u32>,
    ) -> Result<()> {
        rows.read(slots, &mut self.batch);
        match &mut self.test {
            Test::Filter(program, selection) => {
                program.select(&self.batch, dictionary, selection)?;
                if let Some(chosen) = selection.rows() {
                    for (at, &row) in chosen.iter().enumerate() {
                        slots[at] = slots[row as usize];
                    }
                    slots.truncate(chosen.len());
                }
            }
            Test::Set(column, set) => set.retain(&self.batch.column(*column).words, slots),
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
        let mut conjuncts = Conjunct::of(atom)?;
        conjuncts.extend(sets.into_iter().map(|(column, set)| {
            let columns = (0..atom.schema.len()).map(|one| one == column);
            Conjunct::new(Test::Set(column, set), columns.collect())
        }));
        Ok(Self {
            conjuncts,
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
        let sets = self
            .conjuncts
            .iter()
            .filter_map(|conjunct| match conjunct.test {
                Test::Set(column, set) => Some((source_of(column)?, set)),
                Test::Filter(..) => None,
            });
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
        for conjunct in &self.conjuncts {
            let read = conjunct.columns.iter().zip(&mut *needed);
            read.for_each(|(reads, needed)| *needed |= reads);
        }
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
        let mut left = before;
        let mut shares = Vec::new();
        for conjunct in &mut self.conjuncts {
            conjunct.slots(rows, dictionary, slots)?;
            shares.push(slots.len() as f64 / left.max(1) as f64);
            left = slots.len();
        }
        if !std::mem::replace(&mut self.is_ordered, true) {
            let mut order: Vec<(f64, Conjunct<'_>)> =
                shares.into_iter().zip(self.conjuncts.drain(..)).collect();
            order.sort_by(|one, other| one.0.total_cmp(&other.0));
            self.conjuncts
                .extend(order.into_iter().map(|(_, conjunct)| conjunct));
        }
        if self.may_open && left > before / 2 {
            self.conjuncts.retain(|conjunct| !conjunct.is_filter());
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
        let passing = &mut self.passing;
        for conjunct in &mut self.conjuncts {
            match &mut conjunct.test {
                Test::Filter(program, selection) => {
                    program.select(&left, dictionary, selection)?;
                    if let Some(chosen) = selection.rows() {
                        left = Cow::Owned(left.gather(chosen));
                    }
                }
                Test::Set(column, set) => {
                    passing.clear();
                    passing.extend(0..left.rows as u32);
                    set.retain(&left.column(*column).words, passing);
                    if passing.len() < left.rows {
                        left = Cow::Owned(left.gather(passing));
                    }
                }
            }
        }
        Ok(left)
    }
}
