//! The rows of a join as an answer, kept as a listing: each key of the root as often as its count.
//!
//! Invariant: equal rows are one key. Cost: O(rows) a read of all; what moved is told a key at a time.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Batch, Budget, Dictionary, Result};
use ringview_query::Bound;
use ringview_view::answer::{ResultRows, listing};
use ringview_view::part::Reading;
use ringview_view::part::partial::write_listed;
use ringview_view::{Answer, Key};

use crate::logged::{Logged, Shows};
use crate::view_tree::{Kept, ViewTree};

/// A listing.
#[derive(Debug)]
pub(crate) struct Listing;

impl Shows for Listing {
    fn told(&self, rows: ResultRows, multiplicities: Vec<i64>) -> (ResultRows, Vec<i64>) {
        listing::weighed(&rows, &multiplicities)
    }

    fn moved(&self, kept: &Kept, needed: &[bool], reading: Reading<'_, '_>) -> Result<Batch> {
        kept.rows().listing_moved(needed, reading)
    }

    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        reading: Reading<'_, '_>,
    ) -> Result<(Batch, Option<u64>)> {
        kept.rows().listing_from(place, needed, reading)
    }

    fn partial(
        &self,
        kept: &Kept,
        _query: &Bound,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        write_listed(kept.rows(), reading)
    }

    fn size(&self, kept: &Kept) -> String {
        match len(kept) {
            Ok(rows) => format!("{rows} rows kept as a listing"),
            Err(problem) => format!("kept as a listing; {problem}"),
        }
    }
}

fn len(kept: &Kept) -> Result<u64> {
    let part = kept.rows().part;
    listing::len(part.iter().map(|slot| part.payload(slot)[0] as i64))
}

impl Answer for ViewTree<Logged<Listing>> {
    fn schema(&self) -> SchemaRef {
        self.kept.rows().schema()
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        len(&self.kept)
    }

    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        let kept = self.kept.rows();
        kept.check_room(len(&self.kept)?, budget)?;
        let rows = kept.all();
        budget.work(rows.rows as u64)?;
        let rows = listing::repeated(&rows)?;
        kept.assembler(dictionary).batch(rows)
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        let kept = self.kept.rows();
        let rows = listing::repeated(&kept.rows_where(key, dictionary)?)?;
        kept.assembler(dictionary).batch(rows)
    }
}
