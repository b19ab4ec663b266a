//! Buffers of a change that travels through the index.
//!
//! Invariant: each is empty between two changes. Cost: none; they keep their capacity.

use super::hub::Told;

/// A group, and the weight of what it is told by one hub.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) group: u32,
    pub(super) before: u8,
    pub(super) now: u8,
}

/// Buffers for what a change moves, one for each relation on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub(super) told: Vec<Vec<Told>>,
    pub(super) moves: Vec<Vec<Move>>,
}

impl Scratch {
    pub(super) fn memory_usage(&self) -> usize {
        let told: usize = self.told.iter().map(Vec::capacity).sum();
        let moves: usize = self.moves.iter().map(Vec::capacity).sum();
        (told + moves) * size_of::<Told>()
    }
}
