//! A view whose answer is rows, each as often as its group counts, over whatever keeps the groups.
//!
//! Invariant: equal rows are one group. Cost: that of the view of groups; a read of all takes O(rows).

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Batch, Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::Bound;

use super::partial::write_listed;
use super::{GroupView, Grouped, Keeper};
use crate::answer::followers::Follower;
use crate::answer::{Answer, Key, listing};
use crate::rows::RowDelta;
use crate::view::View;

/// The rows that a keeper's groups count.
#[derive(Debug)]
pub struct ListedView<K>(GroupView<K>);

impl<K: Keeper> ListedView<K> {
    /// Those of a keeper without groups.
    #[must_use]
    pub fn new(keeper: K) -> Self {
        Self(GroupView::new(keeper))
    }

    /// What keeps the groups.
    pub(crate) fn keeper_mut(&mut self) -> &mut K {
        self.0.keeper_mut()
    }

    fn count(&self) -> Result<u64> {
        let part = self.0.grouped().part;
        listing::len(part.iter().map(|slot| part.payload(slot)[0] as i64))
    }
}

impl<K: Keeper> HoldsStrings for ListedView<K> {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.0.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.0.string_words()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.0.forget_strings(gone);
    }
}

impl<K: Keeper> Answer for ListedView<K> {
    fn schema(&self) -> SchemaRef {
        self.0.grouped().schema()
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        self.count()
    }

    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        let groups = self.0.grouped();
        groups.check_room(self.count()?, budget)?;
        let rows = groups.all();
        budget.work(rows.rows as u64)?;
        let rows = listing::repeated(&rows)?;
        groups.assembler(dictionary).batch(rows)
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        let groups = self.0.grouped();
        let rows = listing::repeated(&groups.rows_where(key, dictionary)?)?;
        groups.assembler(dictionary).batch(rows)
    }
}

impl<K: Keeper + 'static> View for ListedView<K> {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.0.apply(rows, budget)
    }

    fn seal(&mut self) {
        self.0.seal();
    }

    fn settle(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        self.0.settle(dictionary, budget)
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        self.0.commit(dictionary);
    }

    fn rollback(&mut self) {
        self.0.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn partial(
        &self,
        _query: &Bound,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        write_listed(self.0.grouped(), reading)
    }

    fn follow(&mut self, from_now: bool) -> Follower {
        self.0.follow(from_now)
    }

    fn changes(&self, follower: &Follower, dictionary: &Dictionary) -> Result<RecordBatch> {
        let (groups, log) = self.0.logged();
        let (rows, multiplicities) = log.since(groups, follower);
        let (rows, multiplicities) = listing::weighed(&rows, &multiplicities);
        groups.assembler(dictionary).changes(rows, multiplicities)
    }

    fn advance(&mut self, follower: &Follower) {
        self.0.advance(follower);
    }

    fn tidy(&mut self) {
        self.0.tidy();
    }

    fn has_moved(&self, follower: &Follower) -> bool {
        self.0.has_moved(follower)
    }

    fn feed(&mut self, needed: Option<&[bool]>) {
        self.0.feed(needed);
    }

    fn moved(&mut self, dictionary: &mut Dictionary, budget: &Budget<'_>) -> Result<Batch> {
        match self.0.fed() {
            Some(needed) => (self.0.grouped()).listing_moved(needed, (dictionary, budget)),
            None => Ok(Batch::new()),
        }
    }

    fn rows_from(
        &self,
        place: u64,
        needed: &[bool],
        dictionary: &mut Dictionary,
        budget: &Budget<'_>,
    ) -> Result<(Batch, Option<u64>)> {
        let groups = self.0.grouped();
        groups.listing_from(place, needed, (dictionary, budget))
    }

    fn explanation(&self) -> Explanation {
        let size = match self.count() {
            Ok(rows) => format!("{rows} rows"),
            Err(problem) => problem.to_string(),
        };
        Explanation {
            size: Some(size),
            ..self.0.explanation()
        }
    }

    fn memory_usage(&self) -> usize {
        self.0.memory_usage()
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn steps(&self) -> u64 {
        self.0.steps()
    }

    fn check(&self) {
        self.0.check();
    }
}
