//! The view of whatever maintains a table whose keys are groups: they are shown, or the rows that they count.
//!
//! Invariant: once prepared, the table has the groups of the running transaction, and those that changed can be shown.
//! Cost: that of the maintainer, and O(groups touched) for the delta where one is wanted. A read of all takes O(rows).

use std::fmt::Debug;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result, Type};
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_relation::Relocated;

use super::groups::{CheckedGroups, GroupAnswer};
use super::partial::{Since, write_groups, write_listed};
use super::{Grouped, ResultTable};
use crate::answer::{Answer, Cell, Key, KeyValue, listing, no_key};
use crate::delta::{Context, Delta};
use crate::rows::{ProductDelta, RowDelta};
use crate::view::{View, multiplied_out};

/// Maintains groups in a table. Methods as those of a [`View`].
pub trait Maintainer: Grouped + HoldsStrings {
    /// Takes rows of the relation at one atom.
    ///
    /// # Errors
    /// As [`View::apply`].
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()>;

    /// As [`View::load`].
    ///
    /// # Errors
    /// As [`View::apply`].
    fn load(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.apply(rows, budget)
    }

    /// As [`View::before_load`].
    fn before_load(&mut self, _atoms: &[usize]) {}

    /// As [`View::end_load`].
    ///
    /// # Errors
    /// As [`View::apply`].
    fn end_load(&mut self, _budget: &Budget<'_>) -> Result<()> {
        Ok(())
    }

    /// Takes the product of some factors; false, and nothing done, where it must be multiplied out.
    ///
    /// # Errors
    /// As `apply`.
    fn apply_factors(&mut self, _product: ProductDelta<'_>, _meter: &Budget<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Brings the table to the groups of the rows.
    ///
    /// # Errors
    /// As [`View::prepare`].
    fn prepare(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()>;

    /// As [`View::groups`]: by default one grouping, its own.
    fn grouping(&self, grouping: usize) -> Option<ResultTable<'_>> {
        (grouping == 0).then(|| self.grouped())
    }

    /// As [`View::retain_terms`].
    fn retain_terms(&mut self, _read: &[Option<Vec<bool>>]) -> bool {
        false
    }

    /// Static relations have all their rows.
    fn freeze(&mut self) {}

    /// Keeps the changes since the last commit, those of the table too; returns the new slots of the table, if they
    /// moved.
    fn commit(&mut self, dictionary: &Dictionary) -> Option<Relocated>;

    /// Undoes the changes since the last commit, those of the table too.
    fn rollback(&mut self);

    /// The groups of values beside the table that a partial has too.
    fn values(&self) -> Vec<ResultTable<'_>> {
        Vec::new()
    }

    /// Its layout; the view adds the number of groups, and bytes.
    fn explanation(&self) -> Explanation;

    /// As [`View::explanation_of`].
    fn explanation_of(&self, _grouping: usize, _names: &[Vec<String>]) -> Explanation {
        self.explanation()
    }

    /// Bytes that it takes.
    fn memory_usage(&self) -> usize;

    /// The same by what is quickly counted.
    fn bytes(&self) -> usize {
        self.memory_usage()
    }

    /// Rows handled so far.
    fn steps(&self) -> u64;

    /// Checks its invariants, those of the table left out; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    fn check(&self) {}
}

/// The view of a maintainer.
#[derive(Debug)]
pub struct MaintainerView<M> {
    maintainer: M,
    kind: ResultKind,
}

/// Kind of rows that the groups of a table are.
#[derive(Debug)]
enum ResultKind {
    /// A row each.
    Groups(CheckedGroups),
    /// As many rows as they count.
    Listing,
}

impl<M: Maintainer> MaintainerView<M> {
    /// Groups: those of a maintainer without rows.
    #[must_use]
    pub fn groups(maintainer: M) -> Self {
        let kind = ResultKind::Groups(CheckedGroups::of(maintainer.grouped()));
        Self { maintainer, kind }
    }

    /// The rows that the groups count.
    #[must_use]
    pub fn listing(maintainer: M) -> Self {
        Self {
            maintainer,
            kind: ResultKind::Listing,
        }
    }

    /// View of a query: groups, or the rows of a join, which are groups where each is there once.
    #[must_use]
    pub fn of(query: &Bound, maintainer: M) -> Self {
        if query.bag.is_some() && !query.distinct {
            return Self::listing(maintainer);
        }
        Self::groups(maintainer)
    }

    /// The maintainer of the groups.
    pub(crate) fn maintainer_mut(&mut self) -> &mut M {
        &mut self.maintainer
    }

    fn is_listing(&self) -> bool {
        matches!(self.kind, ResultKind::Listing)
    }

    fn rows_of(&self) -> ResultTable<'_> {
        self.maintainer.grouped()
    }

    fn as_groups(&self) -> GroupAnswer<'_> {
        GroupAnswer(self.rows_of())
    }

    fn with_key(&self) -> Result<GroupAnswer<'_>> {
        match self.is_listing() {
            true => Err(no_key()),
            false => Ok(self.as_groups()),
        }
    }

    /// The rows of a listing.
    fn count(&self) -> Result<u64> {
        let table = self.rows_of().table;
        listing::len(table.iter().map(|slot| table.payload(slot)[0] as i64))
    }
}

impl<M: Maintainer> HoldsStrings for MaintainerView<M> {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.maintainer.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.maintainer.string_words()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.maintainer.forget_strings(gone);
    }
}

impl<M: Maintainer> Answer for MaintainerView<M> {
    fn schema(&self) -> SchemaRef {
        self.rows_of().schema()
    }

    fn len(&self, dictionary: &Dictionary) -> Result<u64> {
        if self.is_listing() {
            self.count()
        } else {
            self.as_groups().len(dictionary)
        }
    }

    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        if !self.is_listing() {
            return self.as_groups().rows(dictionary, budget);
        }
        let groups = self.rows_of();
        groups.check_memory(self.count()?, budget)?;
        let rows = groups.all();
        budget.work(rows.rows as u64)?;
        let rows = listing::repeated(&rows)?;
        groups.assembler(dictionary).batch(rows)
    }

    fn scan(
        &self,
        place: u64,
        wanted: &[bool],
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        if self.is_listing() {
            return self.rows_of().scan_listing(place, wanted, reading);
        }
        self.as_groups().scan(place, wanted, reading)
    }

    fn key_columns(&self) -> Result<Vec<(&str, &Type)>> {
        self.with_key()?;
        Ok(self.rows_of().key_columns())
    }

    fn get(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Option<Vec<Cell>>> {
        self.with_key()?.get(key, dictionary)
    }

    fn get_rows(
        &self,
        keys: &[Vec<(&str, KeyValue<'_>)>],
        dictionary: &Dictionary,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        self.with_key()?.get_rows(keys, dictionary)
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        if !self.is_listing() {
            return self.as_groups().rows_where(key, dictionary);
        }
        let groups = self.rows_of();
        let rows = listing::repeated(&groups.rows_where(key, dictionary)?)?;
        groups.assembler(dictionary).batch(rows)
    }
}

impl<M: Maintainer + 'static> View for MaintainerView<M> {
    fn apply(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        self.maintainer.apply(rows, cx.budget)
    }

    fn before_load(&mut self, atoms: &[usize]) {
        self.maintainer.before_load(atoms);
    }

    fn load(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        self.maintainer.load(rows, cx.budget)
    }

    fn end_load(&mut self, cx: &Context<'_, '_>) -> Result<()> {
        self.maintainer.end_load(cx.budget)
    }

    fn apply_product(&mut self, product: ProductDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        if self.maintainer.apply_factors(product, cx.budget)? {
            return Ok(());
        }
        multiplied_out(product, cx.budget, |rows| self.apply(rows, cx))
    }

    fn retain_terms(&mut self, read: &[Option<Vec<bool>>]) -> bool {
        if self.is_listing() || !self.maintainer.retain_terms(read) {
            return false;
        }
        self.kind = ResultKind::Groups(CheckedGroups::of(self.maintainer.grouped()));
        true
    }

    fn freeze(&mut self) {
        self.maintainer.freeze();
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        self.maintainer.prepare(cx.dictionary, cx.budget)?;
        let groups = self.maintainer.grouped();
        match &mut self.kind {
            ResultKind::Listing => groups.listing_delta(cx),
            ResultKind::Groups(checked) => checked.prepare(groups, cx),
        }
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        self.maintainer.commit(dictionary);
    }

    fn rollback(&mut self) {
        self.maintainer.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn groups(&self, grouping: usize) -> Option<ResultTable<'_>> {
        let grouping = self.maintainer.grouping(grouping);
        grouping.filter(|_| !self.is_listing())
    }

    fn partial(
        &self,
        query: &Bound,
        since: Since,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        if query.bag.is_some() {
            return write_listed(self.rows_of(), since, reading);
        }
        write_groups(
            query,
            (self.rows_of(), None),
            self.maintainer.values(),
            since,
            reading,
        )
    }

    fn explanation(&self) -> Explanation {
        let size = match self.is_listing().then(|| self.count()) {
            None => format!("{} groups", self.rows_of().groups()),
            Some(Ok(rows)) => format!("{rows} rows kept as a listing"),
            Some(Err(problem)) => format!("kept as a listing; {problem}"),
        };
        Explanation {
            size: Some(size),
            bytes: Some(self.memory_usage() as u64),
            ..self.maintainer.explanation()
        }
    }

    fn explanation_of(&self, grouping: usize, names: &[Vec<String>]) -> Explanation {
        let Some(groups) = self.groups(grouping) else {
            return self.explanation();
        };
        Explanation {
            size: Some(format!("{} groups", groups.groups())),
            bytes: Some(self.memory_usage() as u64),
            ..self.maintainer.explanation_of(grouping, names)
        }
    }

    fn memory_usage(&self) -> usize {
        self.maintainer.memory_usage()
    }

    fn bytes(&self) -> usize {
        self.maintainer.bytes()
    }

    fn steps(&self) -> u64 {
        self.maintainer.steps()
    }

    fn check(&self) {
        self.rows_of().table.check();
        self.maintainer.check();
    }
}
