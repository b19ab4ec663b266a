//! The rows of a join as an answer, kept as a listing: each key of the root as often as its count.
//!
//! Invariant: equal rows are one key. Cost: O(rows) a read of all; what moved is told a key at a time.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Batch, Dictionary, Meter, Result};
use ringview_view::answer::{ResultRows, listing};
use ringview_view::{Answer, Key};

use crate::logged::{Logged, Shows};
use crate::moved;
use crate::view_tree::{Kept, ViewTree};

/// A listing.
#[derive(Debug)]
pub(crate) struct Listing;

impl Shows for Listing {
    fn told(&self, rows: ResultRows, multiplicities: Vec<i64>) -> (ResultRows, Vec<i64>) {
        listing::weighed(&rows, &multiplicities)
    }

    fn moved(
        &self,
        kept: &Kept,
        needed: &[bool],
        reading: (&mut Dictionary, &Meter<'_>),
    ) -> Result<Batch> {
        moved::listing(kept, needed, reading)
    }

    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        reading: (&mut Dictionary, &Meter<'_>),
    ) -> Result<(Batch, Option<u64>)> {
        moved::listing_from(kept, place, needed, reading)
    }

    fn size(&self, kept: &Kept) -> String {
        match len(kept) {
            Ok(rows) => format!("{rows} rows kept as a listing"),
            Err(problem) => format!("kept as a listing; {problem}"),
        }
    }
}

fn len(kept: &Kept) -> Result<u64> {
    let Some(result) = kept.tree.result() else {
        return Ok(0);
    };
    listing::len(result.iter().map(|slot| result.payload(slot)[0] as i64))
}

impl Answer for ViewTree<Logged<Listing>> {
    fn schema(&self) -> SchemaRef {
        self.kept.schema_ref()
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        len(&self.kept)
    }

    fn rows(&self, dictionary: &Dictionary, meter: &Meter<'_>) -> Result<RecordBatch> {
        self.kept.check_room(len(&self.kept)?, meter)?;
        let rows = self.kept.grouped();
        meter.work(rows.rows as u64)?;
        self.kept
            .of_groups(dictionary)
            .batch(listing::repeated(&rows)?)
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        let rows = self.kept.rows_where(key, dictionary)?;
        self.kept
            .of_groups(dictionary)
            .batch(listing::repeated(&rows)?)
    }
}
