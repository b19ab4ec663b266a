//! The pairs of a delta's rows and their matches in a relation, a block at a time.
//!
//! Invariant: all blocks together hold each pair once, rows ascending, before `keep` drops some; a
//! block is no longer than its limit, whatever the groups are. Cost: constant delay a pair, after
//! one look-up of the group a row.

use super::path::Access;
use crate::delta::Delta;
use crate::directory::{KeyScratch, Keys};
use crate::keyed_table::KeyedTable;

/// Pairs in a block, and words of their payloads: what one propagation holds in memory.
const BLOCK: usize = if cfg!(debug_assertions) {
    1 << 8
} else {
    1 << 16
};
const BLOCK_WORDS: usize = 1 << 22;

/// Slots of the matches of a row.
#[derive(Debug, Default)]
enum MatchedSlots {
    /// In the group of the row in an index.
    Groups(usize),
    /// Everywhere.
    #[default]
    All,
}

/// The remaining pairs, and the current block of them. It keeps its memory from one walk to the
/// next.
#[derive(Debug, Default)]
pub struct Matches {
    matches: MatchedSlots,
    /// By row its group, or all slots.
    lists: Vec<u32>,
    fetch: Vec<(usize, usize)>,
    /// Pairs in a block.
    block: usize,
    row: usize,
    offset: usize,
    /// The rows of the pairs.
    pub rows: Vec<u32>,
    /// Their matches, by slot.
    pub slots: Vec<u32>,
}

impl Matches {
    /// Finds the matches of every row of `delta`; brings the index up to date first. The product of
    /// a pair has `words` words. A probe has no such pairs.
    pub fn find(
        &mut self,
        table: &mut KeyedTable,
        access: &Access,
        delta: &Delta,
        words: usize,
        scratch: &mut KeyScratch,
    ) {
        self.lists.clear();
        self.fetch.clear();
        self.matches = MatchedSlots::All;
        match access {
            Access::Walk {
                index,
                bound,
                fetch,
            } => {
                table.refresh_index(*index);
                let keys = Keys {
                    columns: &delta.columns,
                    fields: bound,
                    rows: delta.rows,
                };
                table.index_at(*index).find(keys, scratch, &mut self.lists);
                self.matches = MatchedSlots::Groups(*index);
                self.fetch.extend_from_slice(fetch);
            }
            Access::Scan { fetch } => {
                self.lists.extend(table.iter());
                self.fetch.extend_from_slice(fetch);
            }
            Access::Probe(_) => {}
        }
        self.block = (BLOCK_WORDS / words.max(1)).clamp(1 << 8, BLOCK);
        (self.row, self.offset) = (0, 0);
    }

    /// Whether a field of the relation's key fills a register.
    #[must_use]
    pub fn fills(&self, register: usize) -> bool {
        self.fetch.iter().any(|(_, to)| *to == register)
    }

    /// Fills a register of the pairs of the block: from the relation that is walked, if a field of
    /// its key does, else from the delta.
    pub fn fill(&self, register: usize, table: &KeyedTable, delta: &Delta, out: &mut Vec<u64>) {
        out.clear();
        match self.fetch.iter().find(|(_, to)| *to == register) {
            Some(&(field, _)) => table.append_column(&self.slots, field, out),
            None => {
                let from = &delta.columns[register];
                out.extend(self.rows.iter().map(|&row| from[row as usize]));
            }
        }
    }

    /// Keeps some pairs of the block, by their numbers.
    pub fn keep(&mut self, stays: impl Fn(usize) -> bool) {
        for list in [&mut self.rows, &mut self.slots] {
            let mut pair = 0..;
            list.retain(|_| pair.next().is_some_and(&stays));
        }
    }

    /// Fills `rows` and `slots` with the next pairs; true when none are left behind them. `rows`
    /// is how many rows the delta has.
    pub fn next_block(&mut self, table: &KeyedTable, rows: usize) -> bool {
        self.rows.clear();
        self.slots.clear();
        while self.row < rows {
            let list = match self.matches {
                MatchedSlots::Groups(index) => table.index_at(index).group(self.lists[self.row]),
                MatchedSlots::All => &self.lists,
            };
            let left = &list[self.offset..];
            let taken = left.len().min(self.block - self.slots.len());
            self.slots.extend_from_slice(&left[..taken]);
            self.rows
                .extend(std::iter::repeat_n(self.row as u32, taken));
            if taken < left.len() {
                self.offset += taken;
                return false;
            }
            self.row += 1;
            self.offset = 0;
            if self.slots.len() == self.block {
                return self.row == rows;
            }
        }
        true
    }
}
