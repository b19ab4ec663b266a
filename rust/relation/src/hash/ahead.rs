//! Prefetching for a batch of hashes: requests cache lines some rows ahead, and keeps the places of
//! entries found there.
//!
//! Invariant: the place kept for a hash is a lower bound of the place of its first entry, as long
//! as entries are only inserted. After removals it is a guess, and the caller compares the entry
//! there. Cost: a batch waits for memory once, not once a row; and where an entry was seen, no
//! second probe looks for it.

use super::HashDirectory;

/// Places that are remembered: a power of two, no less than rows are looked ahead.
const SEEN: usize = 16;

/// Places of the entries of the next `NEAR` rows; the directory is prefetched `FAR` rows ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead<const NEAR: usize, const FAR: usize> {
    /// Each row at its number modulo `SEEN`.
    places: [usize; SEEN],
}

impl<const NEAR: usize, const FAR: usize> Ahead<NEAR, FAR> {
    /// Looks at the first rows of a batch from `row` on. `ask` prefetches the contents of a slot.
    #[inline(always)]
    pub(crate) fn begin(
        directory: &HashDirectory,
        hashes: &[u64],
        row: usize,
        ask: impl Fn(u32),
    ) -> Self {
        const { assert!(NEAR <= SEEN) };
        let coming = &hashes[row..];
        let far = coming.iter().take(FAR);
        far.for_each(|&hash| directory.prefetch(hash));
        let mut places = [0; SEEN];
        for (next, &hash) in coming.iter().take(NEAR).enumerate() {
            places[(row + next) % SEEN] = see(directory, hash, &ask);
        }
        Self { places }
    }

    /// Looks ahead from a row, and returns the place kept for its own entries. Called for the rows
    /// in order.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        directory: &HashDirectory,
        hashes: &[u64],
        row: usize,
        ask: impl Fn(u32),
    ) -> usize {
        let seen = self.places[row % SEEN];
        if let Some(&hash) = hashes.get(row + FAR) {
            directory.prefetch(hash);
        }
        if let Some(&hash) = hashes.get(row + NEAR) {
            self.places[(row + NEAR) % SEEN] = see(directory, hash, &ask);
        }
        seen
    }
}

/// Place of the first entry of a hash; the slot in that entry is prefetched.
#[inline(always)]
fn see(directory: &HashDirectory, hash: u64, ask: impl Fn(u32)) -> usize {
    let at = directory.first(hash);
    if let Some(slot) = directory.candidate_at(at, hash) {
        ask(slot);
    }
    at
}
