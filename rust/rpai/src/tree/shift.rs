//! `shift_keys`: all keys above a cut move by the same distance (paper, section 3.2).
//!
//! Invariant: as long as no moved entry meets or passes one that stays, order is kept, and moving the offsets right of
//! one path down moves them all: O(log n). Upwards that is always so. Downwards, entries that stay and lie where others
//! land are *crossed*: of those and of the entries that land among or below them, the fewer are taken out, the rest
//! slides, and they are inserted again, merging with their equals. In the paper's special case (a deletion, monotone
//! aggregates) at most one pair meets: O(log n); with m taken out O(m log n).

use ringview_core::Result;

use super::change::overflow;
use super::journal::Undo;
use super::read::Path;
use super::{RpaiTree, Tie};
use crate::cut::Cut;
use crate::key::Key;
use crate::payload::Payload;

impl<K: Key, P: Payload, T: Tie> RpaiTree<K, P, T> {
    /// Moves all keys above a cut by a distance, down where that is negative; equal entries merge,
    /// and those whose payloads sum to zero are removed. O(log n), or O(m log n) where m entries meet
    /// others.
    ///
    /// # Errors
    /// `Overflow` if a key would not fit.
    pub fn shift_keys(&mut self, cut: &Cut<K, T>, by: K) -> Result<()> {
        let path = self.locate(cut);
        let Some((key, tie, _)) = self.entry_at(&path.leaf) else {
            return Ok(());
        };
        // Order is kept among them, so all fit if the ends do.
        let last = self.greatest_key().unwrap_or(key);
        let (landing, furthest) = (key.shifted(by), last.shifted(by));
        let landing = landing.ok_or_else(|| overflow("a shifted key"))?;
        furthest.ok_or_else(|| overflow("a shifted key"))?;
        let stays = (by < K::ZERO).then(|| self.entry_before(&path)).flatten();
        match stays {
            Some((greatest, its, _)) if (greatest, its) >= (landing, tie) => {
                self.cross(cut, by, (landing, tie), (greatest, its));
            }
            _ if by == K::ZERO => {}
            _ => self.slide(&path, by),
        }
        Ok(())
    }

    /// Moves the entries above a cut, where order is kept.
    pub(super) fn slide_above(&mut self, cut: &Cut<K, T>, by: K) {
        let path = self.locate(cut);
        if self.entry_at(&path.leaf).is_some() {
            self.slide(&path, by);
        }
    }

    /// Moves the entries from the end of a path on, where there is one and order is kept.
    #[inline]
    fn slide(&mut self, path: &Path<K>, by: K) {
        for step in &path.inner[..self.height] {
            let (node, at) = (&mut self.inners[step.node], step.at as usize);
            // Below the child on the path some stay; its greatest entry moves.
            let last = &mut node.entries.keys[at];
            *last = last.offset_by(by);
            node.move_from(at + 1, by);
        }
        let (leaf, at) = (path.leaf.node, path.leaf.at as usize);
        self.leaves[leaf].move_from(at, by);
        let first = self.entry_at(&path.leaf).map(|(key, tie, _)| (key, tie));
        if let Some((journal, first)) = self.journal.as_mut().zip(first) {
            journal.push(Undo::Slide { first, by });
        }
    }

    /// Moves the entries above a cut down to `landing`, past `greatest` of those that stay.
    fn cross(&mut self, cut: &Cut<K, T>, by: K, landing: (K, T), greatest: (K, T)) {
        let (taken, distance) = match self.fewer(cut, by, landing, greatest) {
            Fewer::Staying(taken) => (taken, K::ZERO),
            Fewer::Moving(taken) => (taken, by),
        };
        for &(key, tie, _) in &taken {
            self.remove(key, tie);
        }
        self.slide_above(cut, by);
        for (key, tie, payload) in taken {
            let added = self.add(key.offset_by(distance), tie, payload);
            debug_assert!(added.is_ok(), "no sum is larger than before");
        }
    }

    /// The entries that stay although others land below them, or those that land below one that
    /// stays: whichever are fewer. O(m log n), walking both at once.
    fn fewer(&self, cut: &Cut<K, T>, by: K, landing: (K, T), greatest: (K, T)) -> Fewer<K, P, T> {
        let (mut staying, mut moving) = (Vec::new(), Vec::new());
        let mut below = *cut;
        let mut above = self.iter_from(cut);
        loop {
            match self.predecessor(&below) {
                Some((key, tie, payload)) if (key, tie) >= landing => {
                    staying.push((key, tie, payload));
                    below = Cut::before_entry(key, tie);
                }
                _ => return Fewer::Staying(staying),
            }
            match above.next() {
                Some((key, tie, payload)) if (key.offset_by(by), tie) <= greatest => {
                    moving.push((key, tie, payload));
                }
                _ => return Fewer::Moving(moving),
            }
        }
    }
}

/// The entries removed so that the rest can slide.
enum Fewer<K, P, T> {
    Staying(Vec<(K, T, P)>),
    Moving(Vec<(K, T, P)>),
}
