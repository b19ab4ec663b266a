//! The rows of a transaction in chunks, and their positions in the data of the user.
//!
//! Invariant: chunks are in the order of the rows. Cost: O(chunks); rows are not copied.

use std::borrow::Cow;

use arrow_array::RecordBatch;

use crate::CHUNK;

/// Positions of the rows of a batch in the data of the user.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowNumbers<'a> {
    /// One after the other, from this one on.
    From(usize),
    /// Here and there.
    Rows(&'a [u64]),
}

/// Rows in chunks, each with the number of rows before it; a batch without rows is one too, so that
/// its names and types are checked.
pub(crate) fn chunks(rows: &[RecordBatch]) -> impl Iterator<Item = (usize, Cow<'_, RecordBatch>)> {
    let mut before = 0;
    rows.iter().flat_map(move |batch| {
        let (first, all) = (before, batch.num_rows());
        before += all;
        (0..all.div_ceil(CHUNK).max(1)).map(move |chunk| {
            let start = chunk * CHUNK;
            let rows = CHUNK.min(all - start);
            let part = if rows == all {
                Cow::Borrowed(batch)
            } else {
                Cow::Owned(batch.slice(start, rows))
            };
            (first + start, part)
        })
    })
}
