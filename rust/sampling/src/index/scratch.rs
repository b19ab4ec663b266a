//! Buffers of a change that travels through the index.
//!
//! Invariant: each is empty between two changes. Cost: none; they keep their capacity.

use super::key_node::WeightChange;

/// A group, and the exponent that changed at one of its key nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) group: u32,
    pub(super) before: u8,
    pub(super) now: u8,
}

/// Buffers for what a change moves, one for each relation on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub(super) changes: Vec<Vec<WeightChange>>,
    pub(super) moves: Vec<Vec<Move>>,
}

impl Scratch {
    pub(super) fn memory_usage(&self) -> usize {
        let changes: usize = self.changes.iter().map(Vec::capacity).sum();
        let moves: usize = self.moves.iter().map(Vec::capacity).sum();
        (changes + moves) * size_of::<WeightChange>()
    }
}
