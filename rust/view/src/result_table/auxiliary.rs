//! Auxiliary state of groups: the values of a column by group, for aggregates that have no inverse.
//!
//! MIN, MAX, COUNT(DISTINCT) and the categories of a COFACTOR are read from the same query with that column, or two,
//! among its groups. Invariant: each maintainer has taken the rows that the groups have taken; its keys, in order by
//! group, are the values. The order changes at the commit alone, so within a transaction only the tables do. Cost: that
//! of the maintainers, and O(log n) comparisons a value that appears or disappears.

use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_query::Companion;
use ringview_relation::{KeyedTable, SlotChange};

use super::{Maintainer, ResultTable};
use crate::answer::PayloadLayout;
use crate::answer::values::{GroupValues, Tallies, ValueSource, When, by_row};
use crate::rows::RowDelta;

/// The values of one column, or of two together, by group.
#[derive(Debug)]
pub struct Auxiliary<M> {
    /// Maintains groups of the values.
    pub maintainer: M,
    values: GroupValues,
    /// By field of the group's key here: which field of it that is, and of the key of the view's groups.
    key: Vec<(usize, usize)>,
}

/// All auxiliary state of the groups of a view.
#[derive(Debug)]
pub struct Auxiliaries<M> {
    /// Those of MIN, MAX and COUNT(DISTINCT), then those of categories.
    all: Vec<Auxiliary<M>>,
    /// Of the first: which companion of the query each is.
    summarized: Vec<usize>,
}

impl<M> Default for Auxiliaries<M> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            summarized: Vec::new(),
        }
    }
}

impl<M: Maintainer> Auxiliary<M> {
    /// The values of a companion of the query whose groups `of` has.
    pub fn new<P>(companion: &Companion<P>, of: ResultTable<'_>, maintainer: M) -> Self {
        let own = maintainer.grouped();
        let payload_layout = own.auxiliary.payload_layout();
        let words = |term| payload_layout.words(term);
        let source = ValueSource::new(
            companion,
            (of.fields, of.keys),
            (own.fields, own.keys),
            (words, own.outputs.columns),
        );
        let key = source.key.iter().copied().zip(source.asked.iter().copied());
        let key = key.collect();
        let values = GroupValues::new(source, own.table.layout());
        Self {
            maintainer,
            values,
            key,
        }
    }

    fn table(&self) -> &KeyedTable {
        self.maintainer.grouped().table
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        self.values
            .absorb(self.maintainer.grouped().table, dictionary);
        let shrunk = self.maintainer.commit(dictionary);
        self.values.follow(shrunk.as_ref());
    }

    /// The keys of the groups whose values may have changed, and their number; a key may be repeated.
    fn touched(&self) -> (Vec<Vec<u64>>, usize) {
        let table = self.table();
        let slots = table.changes().map(|change| match change {
            SlotChange::New(slot) | SlotChange::Was(slot, _) => slot,
        });
        let slots: Vec<u32> = slots.collect();
        let mut columns = vec![Vec::new(); self.key.len()];
        for &(own, asked) in &self.key {
            columns[asked] = slots.iter().map(|&slot| table.field(slot, own)).collect();
        }
        (columns, slots.len())
    }
}

impl<M: Maintainer> Auxiliaries<M> {
    /// Those that summaries are read from, each with the number of its companion in the query, then those of
    /// categories.
    #[must_use]
    pub fn new(summarized: Vec<(usize, Auxiliary<M>)>, tallied: Vec<Auxiliary<M>>) -> Self {
        let (summarized, mut all): (Vec<usize>, Vec<Auxiliary<M>>) = summarized.into_iter().unzip();
        for one in &mut all {
            one.values.read_ends_alone();
        }
        all.extend(tallied);
        Self { all, summarized }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All maintainers, in their order.
    pub fn maintainers(&self) -> impl Iterator<Item = &M> {
        self.all.iter().map(|one| &one.maintainer)
    }

    /// The same, to be changed.
    pub fn maintainers_mut(&mut self) -> impl Iterator<Item = &mut M> {
        self.all.iter_mut().map(|one| &mut one.maintainer)
    }

    /// The values by group, as rows.
    #[must_use]
    pub fn rows(&self) -> Vec<ResultTable<'_>> {
        self.maintainers().map(M::grouped).collect()
    }

    /// Takes rows of the relation at one atom.
    ///
    /// # Errors
    /// As [`Maintainer::apply`].
    pub fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.maintainers_mut()
            .try_for_each(|one| one.apply(rows, budget))
    }

    /// Static relations have all their rows.
    pub fn freeze(&mut self) {
        self.maintainers_mut().for_each(M::freeze);
    }

    /// Brings the values to those of the rows.
    ///
    /// # Errors
    /// As [`Maintainer::prepare`].
    pub fn prepare(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        self.maintainers_mut()
            .try_for_each(|one| one.prepare(dictionary, budget))
    }

    /// Keeps the changes since the last commit.
    pub fn commit(&mut self, dictionary: &Dictionary) {
        self.all.iter_mut().for_each(|one| one.commit(dictionary));
    }

    /// Undoes the changes since the last commit.
    pub fn rollback(&mut self) {
        self.maintainers_mut().for_each(M::rollback);
    }

    /// Fills the summaries in rows of these payload fields.
    pub fn fill(
        &self,
        payload_layout: &PayloadLayout,
        keys: &[Vec<u64>],
        rows: &mut [u64],
        when: When<'_>,
    ) {
        let width = payload_layout.width();
        let count = rows.len() / width;
        let summaries: Vec<_> = payload_layout.summaries().collect();
        for (one, &companion) in self.all.iter().zip(&self.summarized) {
            let words = &summaries[companion];
            let summaries = one.values.summaries(one.table(), keys, count, when);
            for (row, summary) in rows.chunks_exact_mut(width).zip(summaries) {
                row[words.clone()].copy_from_slice(&summary);
            }
        }
    }

    /// The tallies of the groups of some keys.
    #[must_use]
    pub fn tallies(&self, keys: &[Vec<u64>], rows: usize, when: When<'_>) -> Vec<Tallies> {
        let tallied = self.all[self.summarized.len()..].iter();
        let tally = |one: &Auxiliary<M>| one.values.tallies(one.table(), keys, rows, when);
        by_row(tallied.map(tally).collect(), rows)
    }

    /// As [`AuxiliaryPayload::touched`](crate::answer::AuxiliaryPayload::touched).
    #[must_use]
    pub fn touched(&self) -> Vec<(Vec<Vec<u64>>, usize)> {
        self.all.iter().map(Auxiliary::touched).collect()
    }

    /// Bytes that each takes, by what is quickly counted if `quick`.
    pub fn memory_usage(&self, quick: bool) -> impl Iterator<Item = usize> {
        self.all.iter().map(move |one| {
            if quick {
                return one.maintainer.bytes() + one.values.bytes(Some(one.table()));
            }
            one.maintainer.memory_usage() + one.values.memory_usage()
        })
    }

    /// Rows handled so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.maintainers().map(M::steps).sum()
    }

    /// Checks the invariants; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(&self) {
        for one in &self.all {
            one.table().check();
            one.maintainer.check();
            one.values.check(Some(one.table()));
        }
    }
}

/// Beside the keys of the maintainers nothing holds strings.
impl<M: Maintainer> HoldsStrings for Auxiliaries<M> {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.maintainers().for_each(|one| one.mark_strings(held));
    }

    fn string_words(&self) -> usize {
        self.maintainers().map(M::string_words).sum()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.maintainers_mut()
            .for_each(|one| one.forget_strings(gone));
    }
}
