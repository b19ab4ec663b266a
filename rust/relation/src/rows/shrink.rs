//! Releases the memory of base rows that lost most of their number.
//!
//! Between transactions, where three quarters of the slots are free, the rows that are left move to
//! the front, in the order that they had: nobody keeps slots but the directory and the rows that
//! wait for it. The directory shrinks with them; it never has capacity for more than some entries a
//! slot, but where rows are undone (`journal`). Cost: O(slots), so O(1) amortised a deleted row.

use super::RowStore;

/// Slots for each row where rows move.
const SPARSE: usize = 4;
/// Slots that are never too many.
const FEW: usize = 1 << 10;

impl RowStore {
    /// Releases the memory of deleted rows, if it is most of it.
    pub(super) fn shrink(&mut self) {
        let rows = self.counts.len() - self.free.len();
        if self.counts.len() > FEW + SPARSE * rows {
            self.close_up(rows);
        }
    }

    /// If the rows are in the first slots already, they stay: the last rows inserted were the first
    /// deleted.
    fn close_up(&mut self, rows: usize) {
        let behind = self.free.iter().all(|&slot| slot as usize >= rows);
        // Free slots lie below those that never entered the directory, which keep their order.
        self.pending.known -= self.free.len() as u32;
        if behind {
            self.directory.relocate(|slot| slot);
        } else {
            let to = self.move_up();
            let refilled = self.pending.refilled.iter_mut();
            refilled.for_each(|slot| *slot = to[*slot as usize]);
            self.directory.relocate(|slot| to[slot as usize]);
        }
        self.rows.truncate(rows);
        self.rows.fit();
        self.counts.truncate(rows);
        self.counts.fit();
        self.free = Vec::new();
        self.pending.refilled.shrink_to_fit();
    }

    /// Moves all rows to the front; returns the new slot of each.
    fn move_up(&mut self) -> Vec<u32> {
        let mut to = vec![crate::ABSENT; self.counts.len()];
        let mut next = 0;
        for slot in 0..self.counts.len() as u32 {
            let count = self.counts.get(slot);
            if count > 0 {
                self.rows.copy(slot, next);
                self.counts.set(next, count);
                to[slot as usize] = next;
                next += 1;
            }
        }
        to
    }
}
