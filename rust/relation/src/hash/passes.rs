//! Operations in one pass over a whole directory: shrinking, merging.
//!
//! Homes are monotone in the tag, whatever the capacity, so entries keep their order: each is put at its home, or
//! behind the one before it. Cost: one sequential pass over the entries, without rehashing. A table that is growing
//! finishes that first. A table that is made at once lies in large pages: its probes are spread over all of its memory,
//! and each would miss the map of small pages too. One that grows takes small ones: to fill a large one with zeros is a
//! pause.

use ringview_core::Slab;

use super::{EMPTY, HashDirectory, TAIL};

/// Entries that are lifted out at a time: what stays in the nearest cache.
const BLOCK: usize = 1024;

/// Moves entries to the front in their order; returns their number. Free of branches, since gaps
/// are at unpredictable places.
fn close_up(entries: &mut [u64]) -> usize {
    let mut live = 0;
    for at in 0..entries.len() {
        let entry = entries[at];
        entries[live] = entry;
        live += usize::from(entry != EMPTY);
    }
    live
}

impl HashDirectory {
    /// Adds entries in the order of their tags, all in one pass from left to right into a table of
    /// its own. `absorb(known, slot)` says whether two slots of one tag have the same key; it has
    /// seen to both when they do, and `slot` is not entered. Returns how many it has taken in: all,
    /// unless that left it strained.
    pub(crate) fn merge(
        &mut self,
        entries: &[u64],
        mut absorb: impl FnMut(u32, u32) -> bool,
    ) -> usize {
        self.finish();
        let mut merged = self.with_capacity_for(self.len + entries.len());
        (merged.len, merged.account) = (self.len, self.account);
        let (mut rest, mut next, mut taken) = (&self.entries[..], 0, 0);
        for &entry in entries {
            if merged.is_degraded() {
                break;
            }
            let tag = entry >> 32;
            while let Some((&known, after)) = rest.split_first()
                && (known >> 32 <= tag || known == EMPTY)
            {
                next = merged.put_entry(known, next);
                rest = after;
            }
            // Entries of one tag are neighbours.
            let equal = merged.entries[..next].iter().rev();
            let equal = equal.take_while(|&&known| known >> 32 == tag);
            let (mut compared, mut same) = (0, false);
            for &known in equal {
                compared += 1;
                same = absorb(known as u32, entry as u32);
                if same {
                    break;
                }
            }
            let mut distance = 0;
            if !same {
                next = merged.put_entry(entry, next);
                merged.len += 1;
                distance = next - 1 - merged.home(tag);
            }
            merged.note(compared, distance);
            taken += 1;
        }
        for &known in rest {
            next = merged.put_entry(known, next);
        }
        *self = merged;
        self.schedule();
        taken
    }

    /// An empty table with capacity for `keys` keys that continues the counters of this one.
    fn with_capacity_for(&self, keys: usize) -> Self {
        let capacity = keys * 7 / 5 + 1;
        let mut entries = Slab::new();
        entries.reserve_exact(capacity + TAIL);
        entries.in_large_pages();
        entries.resize(capacity + TAIL, EMPTY);
        Self {
            entries,
            capacity,
            ..self.successor()
        }
    }

    /// Removes the entries of the slots that `keep` does not hold for. One pass over all.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        self.finish();
        self.move_up(|entry| match keep(entry as u32) {
            true => entry,
            false => EMPTY,
        });
    }

    /// Lets every entry name the slot to which `to` sends its own, in as little room as they need.
    /// One pass over all, in place.
    pub(crate) fn relocate(&mut self, to: impl Fn(u32) -> u32) {
        self.finish();
        self.capacity = self.capacity.min(self.len * 7 / 5 + 1);
        let end = self.move_up(|entry| entry >> 32 << 32 | u64::from(to(entry as u32)));
        self.entries.truncate(end.max(self.capacity) + TAIL);
        self.entries.shrink_to_fit();
        self.schedule();
    }

    /// Makes each entry what `change` makes of it, or a gap, and moves what stays towards its home:
    /// never beyond where it was, for homes are where they were or further to the left. The place
    /// behind the last.
    fn move_up(&mut self, mut change: impl FnMut(u64) -> u64) -> usize {
        let (mut next, end) = (0, self.entries.len());
        self.len = 0;
        let mut block = Vec::with_capacity(BLOCK);
        for start in (0..end).step_by(BLOCK) {
            let places = start..end.min(start + BLOCK);
            block.clear();
            block.extend_from_slice(&self.entries[places.clone()]);
            self.entries[places].fill(EMPTY);
            let live = close_up(&mut block);
            for &entry in &block[..live] {
                let changed = change(entry);
                self.len += usize::from(changed != EMPTY);
                next = self.put_entry(changed, next);
            }
        }
        next
    }

    /// Puts an entry at its home, or at `next` if that is further, and returns the place behind it;
    /// a gap, which has all bits set, changes nothing where it is masked in.
    #[inline(always)]
    fn put_entry(&mut self, entry: u64, next: usize) -> usize {
        let home = if entry == EMPTY {
            next
        } else {
            self.home(entry >> 32)
        };
        let at = next.max(home);
        if at + 1 >= self.entries.len() {
            self.entries.resize(self.entries.len() + TAIL, EMPTY);
        }
        self.entries[at] &= entry;
        at + usize::from(entry != EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::HashDirectory;

    proptest! {
        /// Against a map from slots to hashes: more than a block of entries, most of which are
        /// removed, so that the rest moves. Moved entries are found, and removed ones are not.
        #[test]
        fn what_is_left_is_found_in_little_room(
            hashes in prop::collection::vec(any::<u64>(), 0..4_000), share in 1..9_u32, moved in 0..99_u32,
        ) {
            let mut directory = HashDirectory::new();
            let mut model: BTreeMap<u32, u64> = (0..).zip(hashes).collect();
            for (&slot, &hash) in &model {
                directory.insert_absent(hash, slot);
            }
            let gone: Vec<u64> = model.iter().filter(|(slot, _)| *slot % share > 0).map(|(_, &hash)| hash).collect();
            model.retain(|slot, _| slot % share == 0);
            directory.retain(|slot| slot % share == 0);
            directory.check();
            let room = directory.memory_usage();
            directory.relocate(|slot| slot + moved);
            directory.check();
            prop_assert_eq!(directory.len(), model.len());
            prop_assert!(directory.memory_usage() <= room.min(8 * (model.len() * 7 / 5 + 70)));
            for (&slot, &hash) in &model {
                prop_assert_eq!(directory.find(hash, |other| other == slot + moved), Some(slot + moved));
            }
            for hash in gone {
                prop_assert_eq!(directory.find(hash, |slot| model.get(&(slot - moved)) == Some(&hash)), None);
            }
            for (slot, hash) in model {
                prop_assert!(directory.remove(hash, slot + moved));
                directory.insert_absent(!hash, slot);
            }
            directory.check();
        }
    }
}
