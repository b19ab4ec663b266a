//! The deltas of a view as partials, as its log keeps them: what each transaction adds to the view over more rows.
//!
//! Invariant: the partials of a segment, added up, are what its transactions changed. Cost: O(groups and values that
//! a transaction changed), also in memory, until it is read.

use arrow_array::RecordBatch;
use ringview_core::Result;

use super::log::Logged;

/// The deltas of a view as partials.
#[derive(Debug)]
pub(crate) struct PartialDeltas;

impl Logged for PartialDeltas {
    type Segment = Vec<RecordBatch>;
    type Changes = Vec<RecordBatch>;

    fn none(&self) -> Vec<RecordBatch> {
        Vec::new()
    }

    fn record(&self, open: &mut Vec<RecordBatch>, changes: &Vec<RecordBatch>) {
        let changed = changes.iter().filter(|rows| rows.num_rows() > 0);
        open.extend(changed.cloned());
    }

    fn merge(&self, into: &mut Vec<RecordBatch>, later: &Vec<RecordBatch>) {
        into.extend_from_slice(later);
    }

    fn is_empty(segment: &Vec<RecordBatch>) -> bool {
        segment.is_empty()
    }

    fn read(&self, segment: &Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        Ok(segment.clone())
    }

    fn memory_usage(segment: &Vec<RecordBatch>) -> usize {
        segment.iter().map(RecordBatch::get_array_memory_size).sum()
    }
}
