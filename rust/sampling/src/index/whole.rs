//! All results of the join, by the keys of one hub.
//!
//! Invariant: a key that has results lies in the bucket of the power of two that covers the product of what
//! the hub's relations have for it; it is rounded as what a hub tells is. Cost: O(1) a key that changes, and
//! nothing at all until somebody asks.

use ringview_core::Result;

use super::Index;
use super::lists::NONE;
use super::record::{MOST, Record, ZERO, rounded};

/// All results.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    pub(super) record: Record,
    pub(super) places: Vec<u32>,
    pub(super) exponents: Vec<u8>,
}

impl Whole {
    pub(super) fn memory_usage(&self) -> usize {
        self.places.capacity() * 4 + self.exponents.capacity()
    }
}

impl Index {
    /// How many positions all results have. The first call is linear in the keys of a hub.
    ///
    /// # Errors
    /// `Overflow` if there are more than 2^126.
    pub fn len_upper(&mut self) -> Result<u128> {
        if self.whole.is_none() {
            self.whole = Some(Whole::default());
            let keys: Vec<u32> = (0..self.hubs[self.root].keys.len() as u32).collect();
            self.reweigh_whole(&keys);
            if self.broken {
                // Nothing else is wrong.
                self.broken = false;
                self.whole = None;
                return Err(Self::too_large());
            }
        }
        Ok(self.positions().unwrap_or_default())
    }

    /// The same, if they were asked for before.
    #[must_use]
    pub fn positions(&self) -> Option<u128> {
        self.whole.as_ref().map(|whole| whole.record.count)
    }

    /// What the root's relations have for these keys changed.
    pub(super) fn reweigh_whole(&mut self, keys: &[u32]) {
        let Some(whole) = &mut self.whole else { return };
        let hub = &self.hubs[self.root];
        whole.places.resize(hub.keys.len(), NONE);
        whole.exponents.resize(hub.keys.len(), ZERO);
        for &key in keys {
            let product = hub.product(key, None);
            let held = &mut whole.exponents[key as usize];
            let now = rounded(*held, product.unwrap_or(1 << MOST));
            let before = std::mem::replace(held, now);
            self.broken |= product.is_none();
            if before == now {
                continue;
            }
            let place = whole.places[key as usize];
            let (places, steps) = (&mut whole.places, &mut self.steps);
            let mut told = |key: u32, place| {
                *steps += 1;
                places[key as usize] = place;
            };
            let (record, lists) = (&mut whole.record, &mut self.lists);
            let fits = match (before, now) {
                (ZERO, _) => record.put(lists, now, key, &mut told),
                (_, ZERO) => {
                    record.take(lists, before, place, &mut told);
                    true
                }
                moved => record.shift(lists, moved, place, &mut told),
            };
            self.broken |= !fits;
        }
    }
}
