//! All results of the join, by the keys of one hub.
//!
//! Invariant: a key that has results lies in the bucket of the power of two that covers the product of what
//! the hub's relations have for it; it is rounded as what a hub tells is. Cost: O(1) a key that changes, and
//! nothing at all until somebody asks.

use super::hub::Hub;
use super::lists::{Lists, NONE};
use super::record::{MOST, Record, ZERO, rounded};

/// All results.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    pub(super) record: Record,
    pub(super) places: Vec<u32>,
    pub(super) exponents: Vec<u8>,
}

impl Whole {
    /// The counts of these keys of the hub by which all results are listed have changed. Returns the
    /// number of groups moved, and whether all counts fit.
    pub(super) fn update(&mut self, hub: &Hub, lists: &mut Lists, keys: &[u32]) -> (u64, bool) {
        self.places.resize(hub.keys.len(), NONE);
        self.exponents.resize(hub.keys.len(), ZERO);
        let (mut steps, mut fits) = (0, true);
        for &key in keys {
            let product = hub.product(key, None);
            let held = &mut self.exponents[key as usize];
            let now = rounded(*held, product.unwrap_or(1 << MOST));
            let before = std::mem::replace(held, now);
            fits &= product.is_some();
            if before == now {
                continue;
            }
            let place = self.places[key as usize];
            let places = &mut self.places;
            let mut moved = |key: u32, place| {
                steps += 1;
                places[key as usize] = place;
            };
            let record = &mut self.record;
            fits &= match (before, now) {
                (ZERO, _) => record.put(lists, now, key, &mut moved),
                (_, ZERO) => {
                    record.take(lists, before, place, &mut moved);
                    true
                }
                exponents => record.shift(lists, exponents, place, &mut moved),
            };
        }
        (steps, fits)
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.places.capacity() * 4 + self.exponents.capacity()
    }
}
