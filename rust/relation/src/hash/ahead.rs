//! What a batch of hashes asks memory for before it gets there, and what it sees on the way.
//!
//! Invariant: where the entries of a hash were seen to begin is a lower bound of where they do as
//! long as entries are only put in; where some may have gone it is a guess, which whoever uses it
//! compares. Cost: a batch waits for memory once, not once a row; and where an entry was seen, no
//! second probe looks for it.

use super::HashDirectory;

/// Places that are remembered: a power of two, no less than rows are looked ahead.
const SEEN: usize = 16;

/// Where the entries of the rows to come were seen: of `NEAR` of them, and `FAR` rows ahead the
/// directory is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead<const NEAR: usize, const FAR: usize> {
    /// Each row at its number modulo `SEEN`.
    places: [usize; SEEN],
}

impl<const NEAR: usize, const FAR: usize> Ahead<NEAR, FAR> {
    /// Looks at the first rows of a batch from `row` on. `ask` asks for what a slot stands for.
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

    /// Looks ahead from a row, and tells where its own entries were seen to begin. Rows come one
    /// after the other.
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

/// Where the entries of a hash begin; what the first one points to is asked for.
#[inline(always)]
fn see(directory: &HashDirectory, hash: u64, ask: impl Fn(u32)) -> usize {
    let at = directory.first(hash);
    if let Some(slot) = directory.candidate_at(at, hash) {
        ask(slot);
    }
    at
}
