//! What a batch of rows asks memory for before it gets there, and what it sees on the way.
//!
//! Invariant: a place that was seen is a guess, which whoever uses it compares: rows between may have moved
//! entries. Cost: a batch waits for memory once, not once a row; and where an entry was seen, no second
//! probe looks for it.

use super::RowStore;

/// How many rows ahead the directory, and behind it the rows, are asked for.
const DIRECTORY: usize = 24;
const ROWS: usize = 12;
/// Rows whose places are remembered: more than are looked ahead.
const SEEN: usize = 16;
/// Where no entry stands.
pub(super) const NOWHERE: usize = usize::MAX;

/// Where the entries of the rows to come were seen in the directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    places: [usize; SEEN],
}

impl RowStore {
    /// Looks at the first rows of a batch, of these hashes.
    pub(super) fn look_at_first(&self, hashes: &[u64]) -> Ahead {
        for &hash in hashes.iter().take(DIRECTORY) {
            self.directory.prefetch(hash);
        }
        let mut places = [NOWHERE; SEEN];
        for (row, place) in places.iter_mut().enumerate().take(ROWS) {
            *place = self.see(hashes, row);
        }
        Ahead { places }
    }

    /// Looks ahead from a row, and tells where its own entry was seen.
    #[inline(always)]
    pub(super) fn look_ahead(&self, ahead: &mut Ahead, hashes: &[u64], row: usize) -> usize {
        if let Some(&hash) = hashes.get(row + DIRECTORY) {
            self.directory.prefetch(hash);
        }
        ahead.places[(row + ROWS) % SEEN] = self.see(hashes, row + ROWS);
        ahead.places[row % SEEN]
    }

    /// Where the entry of a row seems to stand; the row that it names is asked for.
    #[inline(always)]
    fn see(&self, hashes: &[u64], row: usize) -> usize {
        let Some(&hash) = hashes.get(row) else {
            return NOWHERE;
        };
        let at = self.directory.first(hash);
        if let Some(slot) = self.directory.candidate_at(at, hash) {
            self.rows.prefetch(slot);
            self.counts.prefetch(slot);
        }
        at
    }
}
