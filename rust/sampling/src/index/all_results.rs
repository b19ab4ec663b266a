//! All results of the join, by the keys of one key node.
//!
//! Invariant: a key that has results lies in the bucket of the power of two that covers the product of the counts of
//! the key node's relations, rounded as `cnt~` is. Cost: O(1) a key that changes, and nothing at all until it is first
//! read.

use super::key_node::KeyNode;
use super::lists::{Lists, NONE};
use super::record::{MOST, Record, ZERO, rounded};

/// All results.
#[derive(Clone, Debug, Default)]
pub(super) struct AllResults {
    pub(super) record: Record,
    pub(super) places: Vec<u32>,
    pub(super) exponents: Vec<u8>,
}

impl AllResults {
    /// The counts of these keys of the key node by which all results are listed have changed. Returns the
    /// number of groups moved, and whether all counts fit.
    pub(super) fn update(
        &mut self,
        key_node: &KeyNode,
        lists: &mut Lists,
        keys: &[u32],
    ) -> (u64, bool) {
        self.places.resize(key_node.keys.len(), NONE);
        self.exponents.resize(key_node.keys.len(), ZERO);
        let (mut steps, mut fits) = (0, true);
        for &key in keys {
            let product = key_node.product(key, None);
            let held = &mut self.exponents[key as usize];
            let now = rounded(*held, product.unwrap_or(1 << MOST));
            let before = std::mem::replace(held, now);
            fits &= product.is_some();
            if before == now {
                continue;
            }
            let place = self.places[key as usize];
            let places = &mut self.places;
            let mut on_move = |key: u32, place| {
                steps += 1;
                places[key as usize] = place;
            };
            let [from, to] =
                [before, now].map(|weight| Some(weight).filter(|&weight| weight != ZERO));
            fits &= (self.record).reweigh(lists, (from, to), (key, place), &mut on_move);
        }
        (steps, fits)
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.places.capacity() * 4 + self.exponents.capacity()
    }
}
