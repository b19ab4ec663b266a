//! Positions in random order.
//!
//! Invariant: no position is returned twice. Cost: O(1) a position, of which only exchanged ones are kept.

use std::collections::HashMap;

/// Positions in random order, none twice: the walk of Fisher and Yates over an array of which only what
/// was exchanged is kept.
#[derive(Debug)]
pub(crate) struct Walk {
    /// Number of positions left.
    pub(crate) left: u128,
    exchanged: HashMap<u128, u128>,
}

impl Walk {
    pub(crate) fn new(positions: u128) -> Walk {
        Walk {
            left: positions,
            exchanged: HashMap::new(),
        }
    }

    /// The position at a place of those that are left.
    pub(crate) fn take(&mut self, place: u128) -> u128 {
        self.left -= 1;
        let last = self.exchanged.remove(&self.left).unwrap_or(self.left);
        if place == self.left {
            return last;
        }
        self.exchanged.insert(place, last).unwrap_or(place)
    }
}
