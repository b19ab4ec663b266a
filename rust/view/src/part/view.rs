//! The view of whatever maintains a part whose keys are groups: they are shown, or the rows that they count.
//!
//! Invariant: once prepared, the part has the groups of the running transaction, and those that changed can be shown.
//! Cost: that of the maintainer, and O(groups touched) for the delta where one is wanted. A read of all takes O(rows).

use std::fmt::Debug;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Dictionary, Gone, Held, HoldsStrings, Meter, Result, Type};
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_relation::Moved;

use super::partial::{write_groups, write_listed};
use super::{Grouped, PartRows};
use crate::answer::{Answer, Cell, Fallible, Key, KeyValue, listing, no_key};
use crate::delta::{Context, Delta};
use crate::rows::{ProductDelta, RowDelta};
use crate::view::{View, multiplied_out};

/// Maintains groups in a part. Methods as those of a [`View`].
pub trait Maintainer: Grouped + HoldsStrings {
    /// Takes rows of the relation at one atom.
    ///
    /// # Errors
    /// As [`View::apply`].
    fn apply(&mut self, rows: RowDelta<'_>, meter: &Meter<'_>) -> Result<()>;

    /// Takes the product of some factors; false, and nothing done, where it must be multiplied out.
    ///
    /// # Errors
    /// As `apply`.
    fn apply_factors(&mut self, _product: ProductDelta<'_>, _meter: &Meter<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Brings the part to the groups of the rows.
    ///
    /// # Errors
    /// As [`View::prepare`].
    fn prepare(&mut self, dictionary: &Dictionary, meter: &Meter<'_>) -> Result<()>;

    /// Static relations have all their rows.
    fn freeze(&mut self) {}

    /// Keeps the changes since the last commit, those of the part too; where slots of the part went, if they moved.
    fn commit(&mut self, dictionary: &Dictionary) -> Option<Moved>;

    /// Undoes the changes since the last commit, those of the part too.
    fn rollback(&mut self);

    /// The groups of values beside the part that a partial has too.
    fn values(&self) -> Vec<PartRows<'_>> {
        Vec::new()
    }

    /// How it is kept; the view adds the number of groups, and bytes.
    fn explanation(&self) -> Explanation;

    /// Bytes that it takes.
    fn memory_usage(&self) -> usize;

    /// The same by what is quickly counted.
    fn bytes(&self) -> usize {
        self.memory_usage()
    }

    /// Rows handled so far.
    fn steps(&self) -> u64;

    /// Checks its invariants, those of the part left out; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    fn check(&self) {}
}

/// The view of a maintainer.
#[derive(Debug)]
pub struct PartView<M> {
    maintainer: M,
    kind: ResultKind,
}

/// What the groups of a part are to its view.
#[derive(Debug)]
enum ResultKind {
    /// A row each; which columns may not fit, for payloads of so many words.
    Groups(Option<Fallible>, usize),
    /// As many rows as they count.
    Listing,
}

impl<M: Maintainer> PartView<M> {
    /// Groups: those of a maintainer without rows.
    #[must_use]
    pub fn groups(maintainer: M) -> Self {
        let kind = ResultKind::groups(maintainer.grouped());
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

    /// What a query shows of them: groups, or the rows of a join, which are groups where each is there once.
    #[must_use]
    pub fn of(query: &Bound, maintainer: M) -> Self {
        if query.bag.is_some() && !query.distinct {
            return Self::listing(maintainer);
        }
        Self::groups(maintainer)
    }

    /// What maintains the groups.
    pub(crate) fn maintainer_mut(&mut self) -> &mut M {
        &mut self.maintainer
    }

    fn is_listing(&self) -> bool {
        matches!(self.kind, ResultKind::Listing)
    }

    fn rows_of(&self) -> PartRows<'_> {
        self.maintainer.grouped()
    }

    /// The rows of a listing.
    fn count(&self) -> Result<u64> {
        let part = self.rows_of().part;
        listing::len(part.iter().map(|slot| part.payload(slot)[0] as i64))
    }

    fn with_key<T>(&self, look: impl FnOnce(PartRows<'_>) -> Result<T>) -> Result<T> {
        if self.is_listing() {
            Err(no_key())
        } else {
            look(self.rows_of())
        }
    }
}

impl ResultKind {
    fn groups(groups: PartRows<'_>) -> Self {
        let members = groups.further.members();
        Self::Groups(Fallible::of(groups.outputs, members), members.width())
    }
}

impl<M: Maintainer> HoldsStrings for PartView<M> {
    fn mark_strings(&self, held: &mut Held) {
        self.maintainer.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.maintainer.string_words()
    }

    fn forget_strings(&mut self, gone: &Gone) {
        self.maintainer.forget_strings(gone);
    }
}

impl<M: Maintainer> Answer for PartView<M> {
    fn schema(&self) -> SchemaRef {
        self.rows_of().schema()
    }

    fn len(&self, dictionary: &Dictionary) -> Result<u64> {
        if self.is_listing() {
            self.count()
        } else {
            self.rows_of().shown(dictionary)
        }
    }

    fn rows(&self, dictionary: &Dictionary, meter: &Meter<'_>) -> Result<RecordBatch> {
        let groups = self.rows_of();
        if !self.is_listing() {
            return groups.batch(dictionary, meter);
        }
        groups.check_room(self.count()?, meter)?;
        let rows = groups.all();
        meter.work(rows.rows as u64)?;
        let rows = listing::repeated(&rows)?;
        groups.assembler(dictionary).batch(rows)
    }

    fn scan(
        &self,
        place: u64,
        wanted: &[bool],
        reading: (&Dictionary, &Meter<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        let groups = self.rows_of();
        if self.is_listing() {
            return groups.scan_listing(place, wanted, reading);
        }
        groups.scan(place, wanted, reading)
    }

    fn key_columns(&self) -> Result<Vec<(&str, &Type)>> {
        if self.is_listing() {
            Err(no_key())
        } else {
            Ok(self.rows_of().key_columns())
        }
    }

    fn get(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Option<Vec<Cell>>> {
        self.with_key(|groups| groups.get(key, dictionary))
    }

    fn get_rows(
        &self,
        keys: &[Vec<(&str, KeyValue<'_>)>],
        dictionary: &Dictionary,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        self.with_key(|groups| groups.get_rows(keys, dictionary))
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        let groups = self.rows_of();
        let mut rows = groups.rows_where(key, dictionary)?;
        if self.is_listing() {
            rows = listing::repeated(&rows)?;
        }
        groups.assembler(dictionary).batch(rows)
    }
}

impl<M: Maintainer + 'static> View for PartView<M> {
    fn apply(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        self.maintainer.apply(rows, cx.meter)
    }

    fn apply_product(&mut self, product: ProductDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        if self.maintainer.apply_factors(product, cx.meter)? {
            return Ok(());
        }
        multiplied_out(product, cx.meter, |rows| self.apply(rows, cx))
    }

    fn freeze(&mut self) {
        self.maintainer.freeze();
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        self.maintainer.prepare(cx.dictionary, cx.meter)?;
        let groups = self.maintainer.grouped();
        if let ResultKind::Groups(_, width) = self.kind
            && width != groups.further.members().width()
        {
            // Sums have grown.
            self.kind = ResultKind::groups(groups);
        }
        match &self.kind {
            ResultKind::Listing => groups.listing_delta(cx),
            ResultKind::Groups(fallible, _) => {
                let mut fallible = fallible.iter();
                fallible.try_for_each(|fallible| fallible.check(&groups, cx.dictionary))?;
                groups.delta(cx)
            }
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

    fn partial(
        &self,
        query: &Bound,
        reading: (&Dictionary, &Meter<'_>),
    ) -> Result<Vec<RecordBatch>> {
        if query.bag.is_some() {
            return write_listed(self.rows_of(), reading);
        }
        write_groups(query, self.rows_of(), self.maintainer.values(), reading)
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
        self.rows_of().part.check();
        self.maintainer.check();
    }
}
